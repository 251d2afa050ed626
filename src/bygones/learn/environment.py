"""What the learner asks of an environment, and the paper's environment in that form.

An environment is a few pure functions. Inside the learner's step loop only `advance` and `observe` run; rewards and
episode metrics are worked out afterwards, for all steps of a rollout at once, from the states that were visited. That
is why `advance` gives a state and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp

import bygones.pytrees  # noqa: F401  (registers memories and welfare functions)
from bygones._arrays import Array
from bygones.envs import scenario_problem
from bygones.envs.dynamics import given
from bygones.envs.fair_problem import FairParams, FairProblem
from bygones.envs.problem import AllocationParams, AllocationProblem, ends, episode_metrics, observe, reward
from bygones.envs.scenario import Scenario
from bygones.envs.scenario_problem import ScenarioParams, ScenarioProblem, ScenarioState


class Environment(Protocol):
    """An environment of the learner. It is hashable and part of the compiled program; its numbers are in `params`."""

    @property
    def observation_size(self) -> int:
        """How many numbers an observation has."""

    @property
    def n_actions(self) -> int:
        """How many actions there are."""

    def noise(self, key: jax.Array, steps: int) -> Any:
        """All the randomness of `steps` steps at once, steps along the first axis."""

    def start(self, noise: Any, params: Any) -> Any:
        """The state at the start of an episode, from one step's noise."""

    def observe(self, state: Any, params: Any) -> jax.Array:
        """What the policy sees of a state."""

    def advance(self, noise: Any, state: Any, action: jax.Array, params: Any) -> Any:
        """The state after an action, before any new episode starts."""

    def ends(self, state: Any, params: Any) -> tuple[jax.Array, jax.Array]:
        """Whether the episode has terminated, and whether it was cut off, in this state."""

    def reward(self, before: Any, action: jax.Array, after: Any, params: Any) -> jax.Array:
        """The reward of one step between two states."""

    def utilities(self, before: Any, action: jax.Array, after: Any, params: Any) -> jax.Array:
        """What each agent receives in the step between two states."""

    def metrics(self, after: Any, params: Any) -> dict[str, jax.Array]:
        """What an episode comes to, from its last state."""


class AllocationNoise(NamedTuple):
    """Uniform noise of one step: for the needs that follow it, and for a new episode that may."""

    step: jax.Array
    start: jax.Array
    first: jax.Array


class AllocationState(NamedTuple):
    """Where an episode stands before the decision of step t + 1."""

    t: Array
    needs: Array
    needs_state: Array
    memory: Any
    cumulative: Array
    """The true, undiscounted utilities of the episode so far."""


@dataclass(frozen=True)
class FunctionalAllocation:
    """The paper's environment: the equations of `bygones.envs.problem`, split for the learner's loop."""

    n_agents: int
    n_actions: int
    observation_size: int

    @classmethod
    def of(cls, problem: AllocationProblem) -> FunctionalAllocation:
        """The environment of a problem; everything else about the problem is in its params."""
        n_agents = problem.n_agents
        return cls(n_agents, problem.n_actions, 2 * n_agents + problem.observe_denominator)

    def noise(self, key: jax.Array, steps: int) -> AllocationNoise:
        return AllocationNoise(*(jax.random.uniform(k, (steps, self.n_agents)) for k in jax.random.split(key, 3)))

    def start(self, noise: AllocationNoise, params: AllocationParams) -> AllocationState:
        memory = jax.tree.map(_single, params.memory.init(self.n_agents))
        needs, needs_state = params.needs.draw(noise.first, params.needs.start(noise.start), 1)
        return AllocationState(jnp.zeros((), jnp.int32), needs, needs_state, memory, jnp.zeros_like(needs))

    def observe(self, state: AllocationState, params: AllocationParams) -> jax.Array:
        return cast(jax.Array, observe(state.needs, state.memory, params))

    def advance(
        self, noise: AllocationNoise, state: AllocationState, action: jax.Array, params: AllocationParams
    ) -> AllocationState:
        utilities = given(action, state.needs, params)
        t = state.t + 1
        needs, needs_state = params.needs.draw(noise.step, state.needs_state, t + 1)
        memory = params.memory.advance(state.memory, utilities)
        return AllocationState(t, needs, needs_state, memory, state.cumulative + utilities)

    def ends(self, state: AllocationState, params: AllocationParams) -> tuple[jax.Array, jax.Array]:
        return cast("tuple[jax.Array, jax.Array]", ends(state.t >= params.horizon, params))

    def reward(
        self, before: AllocationState, action: jax.Array, after: AllocationState, params: AllocationParams
    ) -> jax.Array:
        total = self.utilities(before, action, after, params).sum(axis=-1)
        welfare_before, welfare = (params.welfare(params.memory.read(state.memory)) for state in (before, after))
        return cast(jax.Array, reward(total, welfare, welfare_before, params))

    def utilities(
        self, before: AllocationState, action: jax.Array, after: AllocationState, params: AllocationParams
    ) -> jax.Array:
        return cast(jax.Array, given(action, before.needs, params))

    def metrics(self, after: AllocationState, params: AllocationParams) -> dict[str, jax.Array]:
        return _metrics(after, params)


class ScenarioNoise(NamedTuple):
    """Uniform noise of one step: for what follows it, and for a new episode that may."""

    step: jax.Array
    start: jax.Array


@dataclass(frozen=True)
class FunctionalScenario:
    """A scenario: the equations of `bygones.envs.scenario_problem`, for the learner's loop."""

    scenario: Scenario
    n_actions: int
    observation_size: int

    @classmethod
    def of(cls, problem: ScenarioProblem) -> FunctionalScenario:
        """The environment of a problem; the numbers of its memory, welfare and reward are in its params."""
        return cls(problem.scenario, problem.n_actions, problem.observation_size)

    def noise(self, key: jax.Array, steps: int) -> ScenarioNoise:
        shape = (steps, self.scenario.n_noise)
        return ScenarioNoise(*(jax.random.uniform(k, shape) for k in jax.random.split(key)))

    def start(self, noise: ScenarioNoise, params: ScenarioParams) -> ScenarioState:
        state = scenario_problem.begin(noise.start, self.scenario, params)
        return state._replace(memory=jax.tree.map(_single, state.memory))

    def observe(self, state: ScenarioState, params: ScenarioParams) -> jax.Array:
        return cast(jax.Array, scenario_problem.observe(state, self.scenario, params))

    def advance(
        self, noise: ScenarioNoise, state: ScenarioState, action: jax.Array, params: ScenarioParams
    ) -> ScenarioState:
        return scenario_problem.proceed(noise.step, state, action, self.scenario, params)

    def ends(self, state: ScenarioState, params: ScenarioParams) -> tuple[jax.Array, jax.Array]:
        return cast("tuple[jax.Array, jax.Array]", ends(state.t >= params.horizon, params))

    def reward(
        self, before: ScenarioState, action: jax.Array, after: ScenarioState, params: ScenarioParams
    ) -> jax.Array:
        return cast(jax.Array, scenario_problem.fair_reward(before, after, self.scenario, params))

    def utilities(
        self, before: ScenarioState, action: jax.Array, after: ScenarioState, params: ScenarioParams
    ) -> jax.Array:
        return cast(jax.Array, after.utilities)

    def metrics(self, after: ScenarioState, params: ScenarioParams) -> dict[str, jax.Array]:
        return _metrics(after, params)


def environment_of(problem: FairProblem) -> Environment:
    """The environment of a problem, for the learner."""
    if isinstance(problem, ScenarioProblem):
        return FunctionalScenario.of(problem)
    assert isinstance(problem, AllocationProblem)
    return FunctionalAllocation.of(problem)


def _metrics(after: AllocationState | ScenarioState, params: FairParams) -> dict[str, jax.Array]:
    """What an episode comes to, from its last state."""
    per_step = after.cumulative / after.t
    metrics = {
        **episode_metrics(after.cumulative, after.t, params),
        "welfare_memory": params.welfare(params.memory.read(after.memory)),
        "utility_least": per_step.min(axis=-1),
        "utility_most": per_step.max(axis=-1),
    }
    return cast("dict[str, jax.Array]", metrics)


def _single(leaf: Any) -> jax.Array:
    """Numbers in single precision; counts and positions as they are."""
    return jnp.asarray(leaf, jnp.float32 if jnp.issubdtype(leaf.dtype, jnp.floating) else None)
