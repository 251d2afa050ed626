"""How a policy does: episodes played to their end, and the metrics that training reports."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from bygones._arrays import Array, Floats, check_count
from bygones.envs.batches import taken
from bygones.envs.dynamics import begin, proceed
from bygones.envs.problem import AllocationProblem, observe
from bygones.learn.environment import AllocationState, FunctionalAllocation
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
    problem: AllocationProblem | None = None,
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
    params, rows = problem.params(), (episodes, problem.n_agents)
    now, _ = begin(noise.random((2, *rows)), params)
    remembered, starts = None, np.ones(episodes, bool)
    for _ in range(problem.horizon):
        seen = observe(now.needs, now.memory, params)
        actions, remembered = predict(seen, state=remembered, episode_start=starts, deterministic=deterministic)
        now, _ = proceed(noise.random(rows), now, _one_per_row(actions, problem, episodes), params)
        starts = np.zeros(episodes, bool)
    environment = FunctionalAllocation.of(problem)
    ends = AllocationState(now.t, now.needs, now.needs_state, now.memory, now.cumulative)
    each = [environment.metrics(taken(ends, i), params) for i in range(episodes)]
    metrics = {name: np.array([float(one[name]) for one in each]) for name in each[0]}
    return Evaluation({name: float(values.mean()) for name, values in metrics.items()}, metrics)


def _one_per_row(actions: Any, problem: AllocationProblem, rows: int) -> np.ndarray:
    """The number of a subset per row, or the agents to serve per row; one for all stands for every row."""
    chosen = np.asarray(actions)
    if chosen.ndim == 2 or not problem.is_enumerable:
        return np.broadcast_to(chosen, (rows, problem.n_resources))
    return np.broadcast_to(chosen, (rows,))


def _predict_of(policy: Predicts | Predict, problem: AllocationProblem, draws: np.random.Generator) -> Predict:
    if isinstance(policy, TrainedPolicy):
        return functools.partial(policy.predict, rng=draws, n_resources=problem.n_resources)
    return policy.predict if hasattr(policy, "predict") else policy
