"""Scenarios as pure functions in JAX: `reset` and `step` for `jit`, `vmap` and `scan`, and the learner's environment.

The equations are in `bygones.envs.episode`. All numbers of a problem are in `Params`, a pytree, so one compiled program
serves every memory, welfare, horizon and switch, and many problems can be stacked and mapped over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array
from bygones.envs import scenario
from bygones.envs.episode import (
    EpisodeState,
    begin,
    empty_memory,
    ends,
    episode_metrics,
    observe,
    outcome,
    proceed,
    reward,
)
from bygones.envs.problem import FairProblem, Params
from bygones.envs.scenario import Scenario
from bygones.pytrees import register

Noise: TypeAlias = Any
"""The randomness of one step, or of many along the first axis, as `Environment.noise` gives it."""

State: TypeAlias = Any
"""Where an episode of some environment stands."""

EnvParams: TypeAlias = Any
"""The numbers of an environment, a pytree: `Params`, or more than them in an environment around another."""


class StepResult(NamedTuple):
    """The result of a step: the state, then what Gymnasium returns, in its order."""

    state: EpisodeState
    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Array]


def reset(key: jax.Array, params: Params) -> tuple[EpisodeState, Array]:
    """The state at the start of an episode and the first observation."""
    return reset_with(jax.random.uniform(key, (params.scenario.start_rows, params.scenario.n_noise)), params)


def step(key: jax.Array, state: EpisodeState, action: Array, params: Params) -> StepResult:
    """Takes an action. The key is the randomness of the scenario.

    An action is the number of a row of `Scenario.actions`, or the k agents to serve: an array of shape (k,), in any
    order. At the end of an episode it sets `terminated` or `truncated`. It does not reset: that is up to the caller.
    """
    return step_with(jax.random.uniform(key, (params.scenario.n_noise,)), state, action, params)


def reset_with(uniforms: Array, params: Params) -> tuple[EpisodeState, Array]:
    """`reset` from uniform noise instead of a key: `Scenario.start_rows` rows of `Scenario.n_noise` numbers."""
    state = begin(jnp.asarray(uniforms).reshape(-1), params)
    return state, observe(state, params)


def step_with(uniforms: Array, state: EpisodeState, action: Array, params: Params) -> StepResult:
    """`step` from uniform noise, `Scenario.n_noise` numbers, instead of a key."""
    after = proceed(jnp.asarray(uniforms), state, action, params)
    Z_before, present = params.memory.read(state.memory), params.scenario.present(state.world)
    judged = outcome(after, params.welfare.judge(Z_before), Z_before, present, params)
    info = {
        "utilities": after.utilities,
        "cumulative": after.cumulative,
        "memory": judged.Z,
        "welfare_memory": judged.welfare,
        "welfare_true": judged.welfare_true,
        **{f"episode_{name}": value for name, value in episode_metrics(after, params).items()},
    }
    return StepResult(after, observe(after, params), judged.reward, *ends(after, params), info)


class StepNoise(NamedTuple):
    """Uniform noise of one step: for the scenario, and for a new episode; None where it is not needed."""

    step: Array | None
    start: Array | None


@dataclass(frozen=True)
class Environment:
    """The environment of a problem as the learner asks for it; all numbers of the problem are in its params.

    It is hashable and part of the compiled program. Inside the learner's step loop only `advance` and `observe` run.
    Rewards and metrics are worked out afterwards, for all steps of a rollout at once, from the states visited.

    Attributes:
        n_noise: uniform numbers per step.
        start_rows: rows of so many numbers for the start of an episode.
        n_actions: how many actions there are.
        observation_size: how many numbers an observation has.
    """

    n_noise: int
    start_rows: int
    n_actions: int
    observation_size: int

    @classmethod
    def of(cls, problem: FairProblem) -> Environment:
        """The environment of a problem."""
        world = problem.scenario
        return cls(world.n_noise, world.start_rows, world.n_actions, problem.observation_size)

    def noise(self, key: jax.Array, steps: int) -> Noise:
        """All the randomness of `steps` steps at once, steps along the first axis."""
        shape = (steps, self.n_noise)
        first, *rest = (jax.random.uniform(each, shape) for each in jax.random.split(key, 1 + self.start_rows))
        return StepNoise(first, jnp.concatenate(rest, axis=-1))

    def start(self, noise: Noise, params: EnvParams) -> State:
        """The state at the start of an episode, from one step's noise."""
        state = begin(noise.start, params)
        return state._replace(memory=jax.tree.map(_single, empty_memory(params, (), jnp)))

    def observe(self, state: State, params: EnvParams) -> jax.Array:
        """The observation of a state."""
        return cast(jax.Array, observe(state, params))

    def advance(self, noise: Noise, state: State, action: jax.Array, params: EnvParams) -> State:
        """The state after an action, before any new episode starts."""
        return proceed(noise.step, state, action, params)

    def ends(self, state: State, params: EnvParams) -> tuple[jax.Array, jax.Array]:
        """Whether the episode has terminated, and whether it was cut off, in this state."""
        return cast("tuple[jax.Array, jax.Array]", ends(state, params))

    def reward(self, before: State, action: jax.Array, after: State, params: EnvParams) -> jax.Array:
        """The reward of one step between two states."""
        return cast(jax.Array, reward(before, after, params))

    def utilities(self, before: State, action: jax.Array, after: State, params: EnvParams) -> jax.Array:
        """The utility of each agent in the step between two states."""
        return cast(jax.Array, after.utilities)

    def metrics(self, after: State, params: EnvParams) -> dict[str, jax.Array]:
        """The metrics of an episode, from its last state."""
        return cast("dict[str, jax.Array]", episode_metrics(after, params))


def arrays_of(problem: FairProblem, enumerates: bool | None = None) -> Params:
    """The params as arrays: equal types for every problem of a kind, hence one compiled program.

    Args:
        problem: whose params they are.
        enumerates: whether actions are listed, as of `FairProblem.params`.
    """
    kinds = {"b": np.bool_, "i": np.int32, "f": np.float32}
    params = problem.params(enumerates)
    return cast(Params, jax.tree.map(lambda leaf: np.asarray(leaf, kinds[np.asarray(leaf).dtype.kind]), params))


def _single(leaf: Array) -> jax.Array:
    """Numbers in single precision; counts and positions unchanged."""
    return jnp.asarray(leaf, jnp.float32 if jnp.issubdtype(leaf.dtype, jnp.floating) else None)


def _register(kind: type[Scenario]) -> None:
    register(*kind.traced, fixed=None)(kind)


def _register_all(kind: type[Scenario]) -> None:
    for each in kind.__subclasses__():
        _register(each)
        _register_all(each)


_register_all(Scenario)  # type: ignore[type-abstract]
scenario.DEFINED.append(_register)
