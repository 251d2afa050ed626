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
from bygones.envs.dynamics import EnvState, account, begin, proceed
from bygones.envs.problem import AllocationParams, AllocationProblem, ends, episode_metrics, observe

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


class StepResult(NamedTuple):
    """The result of a step: the state, then what Gymnasium returns, in its order."""

    state: EnvState
    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Array]


def reset(key: jax.Array, params: AllocationParams) -> tuple[EnvState, Array]:
    """The state at the start of an episode and the first observation."""
    return reset_with(jax.random.uniform(key, (2, params.needs.n_agents)), params)


def step(key: jax.Array, state: EnvState, action: Array, params: AllocationParams) -> StepResult:
    """Serves the agents of an action. The key draws the needs of the next step.

    An action is the number of a subset, or the k agents themselves: an array of shape (k,), in any order.

    At the end of an episode it sets `terminated` or `truncated`. It does not reset: that is up to the caller.
    """
    return step_with(jax.random.uniform(key, state.needs.shape), state, action, params)


def reset_with(uniforms: Array, params: AllocationParams) -> tuple[EnvState, Array]:
    """`reset` from uniform noise of shape (2, n) instead of a key."""
    state, outcome = begin(jnp.asarray(uniforms), params)
    return state, observe(state.needs, state.memory, params, outcome.Z)


def step_with(uniforms: Array, state: EnvState, action: Array, params: AllocationParams) -> StepResult:
    """`step` from uniform noise of shape (n,) instead of a key."""
    state, outcome = proceed(uniforms, state, action, params)
    metrics = episode_metrics(state.cumulative, state.t, params)
    info = {
        **account(state, outcome),
        **{f"episode_{name}": value for name, value in metrics.items()},
    }
    return StepResult(
        state,
        observe(state.needs, state.memory, params, outcome.Z),
        outcome.reward,
        *ends(outcome.over, params),
        info,
    )
