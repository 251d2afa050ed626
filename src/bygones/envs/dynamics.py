r"""How an episode of the paper's problem begins and goes on, for NumPy and JAX alike.

Two functions, `begin` and `proceed`, over the equations of `bygones.envs.problem`. They take uniform noise instead of
a generator, so that both shells, the functional one in JAX and the one for Gymnasium in NumPy, run the same lines
on the same noise. Leading axes are a batch of episodes.
"""

from __future__ import annotations

from typing import NamedTuple

from bygones._arrays import Array, namespace
from bygones.envs.batches import mapped
from bygones.envs.problem import AllocationParams, reward, true_utilities
from bygones.memory.contract import AnyState


class EnvState(NamedTuple):
    """The state of an episode before the decision of step t + 1."""

    t: Array
    """How many steps have been taken."""
    needs: Array
    needs_state: Array
    memory: AnyState
    welfare: Array
    """W(Zᵗ), kept so that it is computed once a step."""
    cumulative: Array
    """The true, undiscounted utilities of the episode so far."""


class Transition(NamedTuple):
    """The outcome of a step."""

    utilities: Array
    Z: Array
    """What is remembered after the step."""
    welfare_true: Array
    """The welfare of the true utilities."""
    reward: Array
    over: Array
    """Whether the episode has reached its horizon."""


def begin(uniforms: Array, params: AllocationParams) -> tuple[EnvState, Transition]:
    """The start of an episode, from uniform noise of shape (2, ..., n), and how nothing received is judged."""
    xp = namespace(uniforms)
    batch, n_agents = uniforms.shape[1:-1], uniforms.shape[-1]
    memory = mapped(lambda part: xp.broadcast_to(xp.asarray(part), batch + part.shape), params.memory.init(n_agents))
    t = xp.zeros(batch, dtype=int)
    needs, needs_state = params.needs.draw(uniforms[1], params.needs.start(uniforms[0]), t + 1)
    nothing, Z = xp.zeros_like(uniforms[0]), params.memory.read(memory)
    welfare = params.welfare.judge(Z)
    return (
        EnvState(t, needs, needs_state, memory, welfare, nothing),
        Transition(nothing, Z, params.welfare.judge(nothing), xp.zeros(batch), xp.zeros(batch, dtype=bool)),
    )


def proceed(
    uniforms: Array, state: EnvState, action: Array | int, params: AllocationParams
) -> tuple[EnvState, Transition]:
    """One step: the agents of the action (see `given`) are served; noise of shape (..., n) draws the next needs."""
    xp = namespace(action, state.needs)
    utilities = given(action, state.needs, params)
    memory = params.memory.advance(state.memory, utilities)
    cumulative, t = state.cumulative + utilities, state.t + 1
    Z = params.memory.read(memory)
    # Both are judged in one call, which costs little more than one of them.
    judged = params.welfare.judge(xp.array([Z, true_utilities(cumulative, t, params)]))
    welfare, welfare_true = judged[0], judged[1]
    gain = reward(utilities.sum(axis=-1), welfare, state.welfare, params)
    needs, needs_state = params.needs.draw(uniforms, state.needs_state, t + 1)
    return (
        EnvState(t, needs, needs_state, memory, welfare, cumulative),
        Transition(utilities, Z, welfare_true, gain, t >= params.horizon),
    )


def given(action: Array | int, needs: Array, params: AllocationParams) -> Array:
    """The utilities of a step: the needs of the agents that an action serves, and 0 for the others.

    Args:
        action: the number of a subset; or the k agents themselves, in any order, along one axis more.
        needs: the needs of all agents.
        params: the numbers of the problem.

    Raises:
        ValueError: the action is the number of a subset, and subsets are not enumerated.
    """
    xp = namespace(action, needs)
    chosen = xp.asarray(action)
    if chosen.ndim == needs.ndim:
        is_served = (xp.arange(needs.shape[-1])[:, None] == chosen[..., None, :]).any(axis=-1)
        return xp.where(is_served, needs, 0.0)
    if params.served is None:
        raise ValueError("action must be the agents to serve: this problem does not enumerate subsets of agents")
    return xp.asarray(params.served)[chosen] * needs


def account(state: EnvState, outcome: Transition) -> dict[str, Array]:
    """The `info` of a step: utilities, what was received so far, what is remembered, and the welfare of both."""
    return {
        "utilities": outcome.utilities,
        "cumulative": state.cumulative,
        "memory": outcome.Z,
        "welfare_memory": state.welfare,
        "welfare_true": outcome.welfare_true,
    }
