r"""The equations of an episode, for NumPy and JAX alike: its start, steps, observations, rewards and metrics.

The functions take uniform noise instead of a generator, so the shell for Gymnasium in NumPy and the functional one in
JAX run the same lines on the same noise. Leading axes are a batch of episodes, if the scenario takes batches.

Where agents come and go, the reward judges the agents present at the decision. An absent agent counts as if it had the
mean of those present, so it neither helps nor hurts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from bygones import inequality
from bygones._arrays import Array, ArrayModule, Ints, namespace, select
from bygones.envs.batches import mapped
from bygones.envs.problem import Params
from bygones.envs.scenario import WorldState
from bygones.memory.contract import AnyState
from bygones.memory.exact_sums import per_agent

State = TypeVar("State")


class EpisodeState(NamedTuple):
    """Where an episode stands before the decision of step t + 1."""

    t: Array
    """How many steps have been taken."""
    world: WorldState
    """The scenario's own state."""
    memory: AnyState
    cumulative: Array
    """The true, undiscounted utilities of the episode so far."""
    utilities: Array
    """The utilities of the last step."""


class Outcome(NamedTuple):
    """How a step is judged."""

    Z: Array
    """The memory after the step."""
    welfare: Array
    """W(Zᵗ)."""
    welfare_true: Array
    """The welfare of the true utilities."""
    reward: Array


def begin(noise: Array, params: Params) -> EpisodeState:
    """The start of an episode, from uniform noise for `Scenario.start`."""
    xp, scenario, batch = namespace(noise), params.scenario, noise.shape[:-1]
    world = scenario.start(noise)
    nothing = xp.zeros((*batch, scenario.n_agents), dtype=noise.dtype)
    memory = empty_memory(params, batch, xp)
    return EpisodeState(xp.zeros(batch, dtype=np.int32), world, memory, nothing, nothing)


def empty_memory(params: Params, batch: tuple[int, ...], xp: ArrayModule) -> AnyState:
    """The state of the memory before the first step of each episode of a batch."""
    state = params.memory.init(params.scenario.n_agents)
    return cast(AnyState, mapped(lambda part: xp.broadcast_to(xp.asarray(part), batch + np.shape(part)), state))


def proceed(noise: Array, state: EpisodeState, action: Array | int, params: Params) -> EpisodeState:
    """One step. An action is the number of a row of `Scenario.actions`, or the k agents to serve, in any order."""
    world, utilities = params.scenario.advance(noise, state.world, chosen(action, noise, params))
    return received(state, world, utilities, params)


def received(state: EpisodeState, world: WorldState, utilities: Array, params: Params) -> EpisodeState:
    """The episode after a step that brought these utilities."""
    memory = params.memory.advance(state.memory, utilities)
    return EpisodeState(state.t + 1, world, memory, state.cumulative + utilities, utilities)


def chosen(action: Array | int, noise: Array, params: Params) -> Array:
    """The row of an action, as `Scenario.advance` takes it.

    Raises:
        ValueError: the action is a number, and actions are not enumerated.
    """
    if isinstance(action, int) or action.ndim < noise.ndim:
        if params.actions is None:
            raise ValueError("action must be the agents to serve: this problem does not enumerate subsets of agents")
        return (
            params.actions[action]
            if isinstance(action, int)
            else namespace(action, noise).asarray(params.actions)[action]
        )
    xp, n = namespace(action, noise), params.scenario.n_agents
    if xp is np:
        served = np.zeros((*action.shape[:-1], n), noise.dtype)
        np.put_along_axis(served, cast(Ints, action), 1.0, axis=-1)
        return served
    is_served: Array = (xp.arange(n)[:, None] == action[..., None, :]).any(axis=-1)
    return is_served.astype(noise.dtype)


def visited(
    state: State, choose: Callable[[State, int], Any], advance: Callable[[State, Any], State], steps: int
) -> Iterator[State]:
    """The states after each step of episodes in which a policy is asked for its actions.

    Args:
        state: the start of the episodes.
        choose: the policy: the actions in a state, after so many steps.
        advance: the world: the state after actions.
        steps: how many steps are taken.
    """
    for t in range(steps):
        state = advance(state, choose(state, t))
        yield state


def observe(state: EpisodeState, params: Params) -> Array:
    """The observation of a state: the scenario, the memory Zᵗ⁻¹ at the chosen scale, and d where it is observed."""
    return observation(params.scenario.observe(state.world), state.memory, params)


def observation(seen: Array, memory: AnyState, params: Params, Z: Array | None = None) -> Array:
    """The observation in float32, from that of the scenario; Z can be passed on where it has been read."""
    Z = params.memory.read(memory) if Z is None else Z
    xp, scale = namespace(seen, Z), params.memory_scale
    # NumPy takes as long for a product with 1 as with any other number.
    scaled = Z if isinstance(scale, float) and scale == 1.0 else Z * scale
    if params.relative is not False:
        mean = Z.mean(axis=-1, keepdims=True)
        # A mean so small has lost its digits; nothing to speak of is remembered.
        is_empty = mean < 1e-30
        relative = xp.where(is_empty, 0.0, Z / xp.where(is_empty, 1.0, mean) - 1.0)
        scaled = select(params.relative, relative * scale, scaled)
    parts = [seen, scaled]
    if params.denominator_scale is not None:
        d = params.memory.denominator(memory)
        assert d is not None
        parts.append(d[..., None] * params.denominator_scale)
    return xp.concatenate(parts, axis=-1, dtype=np.float32)


def ends(state: EpisodeState, params: Params) -> tuple[Array, Array]:
    """Whether the episode has terminated, and whether it was truncated."""
    over = state.t >= params.horizon
    xp = namespace(over, params.terminates)
    return over & params.terminates, over & xp.logical_not(params.terminates)


def reward(before: EpisodeState, after: EpisodeState, params: Params) -> Array:
    """The reward of the step between two states."""
    present = params.scenario.present(before.world)
    judged = [among(present, params.memory.read(each.memory)) for each in (before, after)]
    W_before, W = params.welfare.judge(namespace(*judged).array(judged))
    return _reward(after.utilities, W_before, W, params)


def first_outcome(state: EpisodeState, params: Params) -> Outcome:
    """How the start of an episode is judged, when nothing has been received."""
    Z = params.memory.read(state.memory)
    return Outcome(
        Z, params.welfare.judge(Z), params.welfare.judge(state.cumulative), namespace(Z).zeros(state.t.shape)
    )


def outcome(
    after: EpisodeState, welfare_before: Array, Z_before: Array, present: Array | None, params: Params
) -> Outcome:
    """How a step is judged, in one call of the welfare function, which costs little more than judging once.

    Args:
        after: the state after the step.
        welfare_before: W(Zᵗ⁻¹), as of the outcome before.
        Z_before: Zᵗ⁻¹.
        present: who was present at the decision; None if all agents always take part.
        params: the numbers of the problem.
    """
    Z = params.memory.read(after.memory)
    xp, true = namespace(Z), true_utilities(after.cumulative, after.t, params)
    if present is None:
        both = params.welfare.judge(xp.array([Z, true]))  # not unpacked, which takes NumPy twice as long
        return Outcome(Z, both[0], both[1], _reward(after.utilities, welfare_before, both[0], params))
    welfare, welfare_true, W_before, W = params.welfare.judge(
        xp.array([Z, true, among(present, Z_before), among(present, Z)])
    )
    return Outcome(Z, welfare, welfare_true, _reward(after.utilities, W_before, W, params))


def _reward(utilities: Array, welfare_before: Array, welfare: Array, params: Params) -> Array:
    r"""$(1-\lambda)\,U_t + \lambda\,(c\,W(Z^t) - W(Z^{t-1}))$."""
    return (1 - params.weight) * utilities.sum(axis=-1) + params.weight * (params.shaping * welfare - welfare_before)


def among(present: Array | None, Z: Array) -> Array:
    """The memory, with the mean of the agents present in place of the absent."""
    if present is None:
        return Z
    xp = namespace(Z)
    mean = xp.where(present, Z, 0.0).sum(axis=-1, keepdims=True) / xp.maximum(present.sum(axis=-1, keepdims=True), 1)
    return xp.where(present, Z, mean)


def true_utilities(cumulative: Array, t: Array, params: Params) -> Array:
    """The true utilities as the fairness score sees them after t ≥ 1 steps: their mean if the memory averages."""
    average = params.memory.average
    if average is False:
        return cumulative
    steps = t if average is True else select(average, t, namespace(t).ones_like(t))
    return cumulative / per_agent(steps)


def episode_metrics(state: EpisodeState, params: Params) -> dict[str, Array]:
    """The metrics of an episode, from its last state.

    Returns:
        `gini` and `welfare` (the fairness score) of the true utilities, `utility_per_step` of all agents together,
        `utility_least` and `utility_most` of the agents who received least and most per step, and `welfare_memory`, the
        welfare of the memory at the end.
    """
    per_step = state.cumulative / state.t[..., None]
    return {
        "gini": inequality.gini(state.cumulative),
        "welfare": params.welfare.judge(true_utilities(state.cumulative, state.t, params)),
        "utility_per_step": state.cumulative.sum(axis=-1) / state.t,
        "welfare_memory": params.welfare.judge(params.memory.read(state.memory)),
        "utility_least": per_step.min(axis=-1),
        "utility_most": per_step.max(axis=-1),
    }
