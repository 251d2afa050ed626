"""The paper's environment as pure functions in JAX: `reset` and `step`, for `jit`, `vmap` and `scan`.

The equations are those of `bygones.envs.problem`. All numbers of a problem are in `AllocationParams`, a pytree, so one
compiled program serves every memory, welfare, horizon and switch, and many problems can be stacked and mapped over.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

import bygones.pytrees  # noqa: F401  (registers memories and welfare functions)
from bygones._arrays import Array
from bygones.envs.problem import (
    AllocationParams,
    AllocationProblem,
    episode_metrics,
    observe,
    reward,
    true_welfare,
)
from bygones.memory import MemoryState

__all__ = [
    "AllocationParams",
    "AllocationProblem",
    "EnvState",
    "StepResult",
    "reset",
    "reset_with",
    "step",
    "step_with",
]


class EnvState(NamedTuple):
    """Where an episode stands, before the decision of step t + 1."""

    t: Array
    """How many steps have been taken."""
    needs: Array
    needs_state: Array
    memory: MemoryState
    welfare: Array
    """W(Zᵗ), kept so that it is computed once a step."""
    cumulative: Array
    """The true, undiscounted utilities of the episode so far."""


class StepResult(NamedTuple):
    """What a step gives, in Gymnasium's order, with the state in front."""

    state: EnvState
    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Array]


def reset(key: Array, params: AllocationParams) -> tuple[EnvState, Array]:
    """The start of an episode, and its first observation."""
    return reset_with(jax.random.uniform(key, (2, params.served.shape[-1])), params)


def step(key: Array, state: EnvState, action: Array, params: AllocationParams) -> StepResult:
    """Serves the agents of an action; the key draws the needs of the next step.

    Ends an episode by saying so: whoever calls decides when to reset.
    """
    return step_with(jax.random.uniform(key, state.needs.shape), state, action, params)


def reset_with(uniforms: Array, params: AllocationParams) -> tuple[EnvState, Array]:
    """`reset` from uniform noise of shape (2, n) instead of a key."""
    memory = jax.tree.map(jnp.asarray, params.memory.init(params.served.shape[-1]))
    needs, needs_state = params.needs.draw(uniforms[1], params.needs.start(uniforms[0]), 1)
    needs = jnp.asarray(needs, uniforms.dtype)
    empty = jnp.zeros_like(needs)
    welfare = params.welfare(params.memory.read(memory))
    state = EnvState(jnp.zeros((), jnp.int32), needs, needs_state, memory, welfare, empty)
    return state, observe(needs, memory, params)


def step_with(uniforms: Array, state: EnvState, action: Array, params: AllocationParams) -> StepResult:
    """`step` from uniform noise of shape (n,) instead of a key."""
    utilities = params.served[action] * state.needs
    memory = params.memory.advance(state.memory, utilities)
    Z = params.memory.read(memory)
    welfare = params.welfare(Z)
    gain = reward(utilities.sum(axis=-1), welfare, state.welfare, params)
    cumulative = state.cumulative + utilities
    t = state.t + 1
    needs, needs_state = params.needs.draw(uniforms, state.needs_state, t + 1)
    over = t >= params.horizon
    info = {
        "utilities": utilities,
        "cumulative": cumulative,
        "memory": Z,
        "welfare_memory": welfare,
        "welfare_true": true_welfare(cumulative, t, params),
        **{f"episode_{name}": value for name, value in episode_metrics(cumulative, t, params).items()},
    }
    return StepResult(
        EnvState(t, needs, needs_state, memory, welfare, cumulative),
        observe(needs, memory, params),
        gain,
        over & params.terminates,
        over & jnp.logical_not(params.terminates),
        info,
    )
