"""How a policy does: episodes played to their end, and the metrics that training reports."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, TypeAlias

import jax
import numpy as np

from bygones._arrays import Array, Floats, check_count
from bygones.envs.batches import taken
from bygones.envs.dynamics import begin, proceed
from bygones.envs.fair_problem import FairProblem
from bygones.envs.problem import AllocationProblem, observe
from bygones.envs.scenario_problem import ScenarioProblem
from bygones.learn.actors import served_by
from bygones.learn.environment import (
    AllocationState,
    FunctionalAllocation,
    FunctionalScenario,
    ScenarioNoise,
)
from bygones.learn.policy import TrainedPolicy


class Predicts(Protocol):
    """A policy with Stable-Baselines3's `predict`, such as a `TrainedPolicy` or a model of Stable-Baselines3."""

    def predict(
        self, observation: Array, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]:
        """The actions, and what a recurrent policy remembers."""


Predict: TypeAlias = Callable[..., tuple[np.ndarray, Any]]
"""A function with the signature of `Predicts.predict`."""


class Evaluation(NamedTuple):
    """What a policy came to.

    The metrics are those of training: `gini`, `welfare` (of the true utilities), `utility_per_step`, `utility_least`
    and `utility_most` (per step, of the agents who received least and most) and `welfare_memory` (of what is remembered
    at the end).
    """

    mean: dict[str, float]
    """Each metric, averaged over the episodes."""
    episodes: dict[str, Floats]
    """Each metric of every episode."""


def evaluate(
    policy: Predicts | Predict,
    problem: FairProblem | None = None,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
) -> Evaluation:
    """Plays a policy for some episodes, side by side.

    Args:
        policy: a `TrainedPolicy`, anything else with Stable-Baselines3's `predict`, or a function like it. It is called
            with the observations of all episodes, one row each, and returns one action per row or one for all: the
            number of a subset of agents, or the k agents themselves.
        problem: what to play; by default the problem that the policy was trained on.
        episodes: how many episodes to play.
        seed: of the needs, which are equal for equal seeds whatever the policy, and of a `TrainedPolicy`'s draws.
        deterministic: whether the policy takes its most probable action instead of drawing one.
    """
    if problem is None:
        if not isinstance(policy, TrainedPolicy):
            raise ValueError("problem must be given: only a TrainedPolicy knows the problem it was trained on")
        problem = policy.problem
    check_count("episodes", episodes)
    noise, draws = (np.random.default_rng(s) for s in np.random.SeedSequence(check_count("seed", seed, 0)).spawn(2))
    predict = _predict_of(policy, problem, draws)
    game: _Allocation | _Scenario
    if isinstance(problem, ScenarioProblem):
        game = _Scenario(problem, episodes, noise)
    else:
        game = _Allocation(problem, episodes, noise)
    remembered, starts = None, np.ones(episodes, bool)
    for _ in range(problem.horizon):
        actions, remembered = predict(game.seen(), state=remembered, episode_start=starts, deterministic=deterministic)
        game.play(_one_per_row(actions, problem, episodes))
        starts = np.zeros(episodes, bool)
    metrics = game.metrics()
    return Evaluation({name: float(values.mean()) for name, values in metrics.items()}, metrics)


class _Allocation:
    """Episodes of the paper's problem, in NumPy."""

    def __init__(self, problem: FairProblem, episodes: int, noise: np.random.Generator) -> None:
        assert isinstance(problem, AllocationProblem)
        self._problem, self._params, self._noise = problem, problem.params(), noise
        self._rows = (episodes, problem.n_agents)
        self._now, _ = begin(noise.random((2, *self._rows)), self._params)

    def seen(self) -> Array:
        return observe(self._now.needs, self._now.memory, self._params)

    def play(self, actions: np.ndarray) -> None:
        self._now, _ = proceed(self._noise.random(self._rows), self._now, actions, self._params)

    def metrics(self) -> dict[str, Floats]:
        now, environment = self._now, FunctionalAllocation.of(self._problem)
        ends = AllocationState(now.t, now.needs, now.needs_state, now.memory, now.cumulative)
        each = [environment.metrics(taken(ends, i), self._params) for i in range(self._rows[0])]
        return {name: np.array([float(one[name]) for one in each]) for name in each[0]}


class _Scenario:
    """Episodes of a scenario, in JAX: a scenario's functions take one state, and `vmap` makes many of it."""

    def __init__(self, problem: ScenarioProblem, episodes: int, noise: np.random.Generator) -> None:
        self._params = problem.params()
        self._environment = FunctionalScenario.of(problem)
        self._noise, self._rows = noise, (episodes, problem.scenario.n_noise)
        self._now: Any = _many(self._environment, "start")(self._drawn(), self._params)

    def seen(self) -> Array:
        return np.asarray(_many(self._environment, "observe")(self._now, self._params))

    def play(self, actions: np.ndarray) -> None:
        self._now = _many(self._environment, "advance")(self._drawn(), self._now, actions, self._params)

    def metrics(self) -> dict[str, Floats]:
        found = _many(self._environment, "metrics")(self._now, self._params)
        return {name: np.asarray(values, float) for name, values in found.items()}

    def _drawn(self) -> ScenarioNoise:
        rows = jax.numpy.asarray(self._noise.random(self._rows), jax.numpy.float32)
        return ScenarioNoise(rows, rows)


@functools.cache
def _many(environment: Hashable, name: str) -> Callable[..., Any]:
    """A function of the environment for many states at once, compiled."""
    one = getattr(environment, name)
    mapped = {"start": (0, None), "observe": (0, None), "advance": (0, 0, 0, None), "metrics": (0, None)}[name]
    compiled: Callable[..., Any] = jax.jit(jax.vmap(one, in_axes=mapped))
    return compiled


def _one_per_row(actions: Any, problem: FairProblem, rows: int) -> np.ndarray:
    """The number of an action per row, or the agents to serve per row; one for all stands for every row."""
    chosen = np.asarray(actions)
    served = served_by(problem)
    if served is not None and (chosen.ndim == 2 or not problem.is_enumerable):
        return np.broadcast_to(chosen, (rows, served))
    return np.broadcast_to(chosen, (rows,))


def _predict_of(policy: Predicts | Predict, problem: FairProblem, draws: np.random.Generator) -> Predict:
    if isinstance(policy, TrainedPolicy):
        return functools.partial(policy.predict, rng=draws, n_resources=served_by(problem))
    return policy.predict if hasattr(policy, "predict") else policy
