"""What `step` takes in Gymnasium's environments, in the form that `bygones.envs.dynamics` takes.

An action serves k of n agents. It can be given in three ways:

- the number of a subset, where subsets are few enough to be enumerated: the action space is `Discrete(n choose k)`;
- a priority for each agent, where they are not: the action space is `Box(0, 1, (n,))`, and the k agents with the
  highest priorities are served. Every point of the box is an action, and so is an indicator with k ones;
- the k agents themselves, as whole numbers, for any problem.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from bygones._arrays import Ints
from bygones.envs.problem import AllocationProblem

Action = np.int64 | NDArray[np.float32]


def action_space(problem: AllocationProblem) -> gym.Space[Action]:
    """Numbers of subsets where there are at most 100,000, else priorities."""
    space: Any = gym.spaces.Box(0.0, 1.0, (problem.n_agents,), np.float32)
    return gym.spaces.Discrete(problem.n_actions) if problem.is_enumerable else space


def named(action: object, problem: AllocationProblem, rows: tuple[int, ...] = ()) -> Ints:
    """The k agents that an action serves which is not the number of a subset: they, or a priority for each agent.

    Args:
        action: agents, or priorities.
        problem: what is played.
        rows: how many actions there are, as a shape.

    Raises:
        ValueError: it is neither of them.
    """
    n, k, given = problem.n_agents, problem.n_resources, np.asarray(action)
    is_whole = given.dtype.kind in "iu"
    if is_whole and given.shape == (*rows, k):
        ordered = np.sort(given, axis=-1)
        if ordered.min() >= 0 and ordered.max() < n and (ordered[..., 1:] > ordered[..., :-1]).all():
            return given.astype(np.intp)
    elif not problem.is_enumerable and (is_whole or given.dtype.kind in "fb") and given.shape == (*rows, n):
        priorities = given.astype(float)
        if not np.isnan(priorities).any():
            return np.argpartition(-priorities, k - 1, axis=-1)[..., :k]
    each = f"{k} different agents from 0 to {n - 1}"
    if problem.is_enumerable:
        other = f"a whole number from 0 to {problem.n_actions - 1}"
    else:
        other = f"an array of {n} priorities, of which the {k} highest are served"
    per_row = "" if not rows else f" for each of the {rows[0]} environments"
    raise ValueError(f"action must be {other}, or {each}{per_row}, got {_shown(action)}")


def _shown(action: object) -> str:
    text = repr(action)
    return text if len(text) <= 80 else f"{type(action).__name__} of shape {np.asarray(action).shape}"
