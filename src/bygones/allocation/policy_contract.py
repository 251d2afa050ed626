"""The interface of policies, which decide which agents to serve, and their names.

A policy is called with the needs, the number of resources, the memory's state, the number of the step (from 0) and a
random generator, and returns the indices of exactly `k` agents, in ascending order. Policies have no state: everything
that changes is passed to them. Most rank agents, and many rows of needs can be ranked at once.

A name stands for a function or class that makes the policy for a `Setting`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from bygones._arrays import Array
from bygones._registry import Registry
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import ChooseK
from bygones.allocation.ties import best_k_of_row, best_k_of_rows
from bygones.kinds import Kind
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.welfare import AnyWelfare


class Setting(NamedTuple):
    """The setting that a policy is made for."""

    memory: Memory
    welfare: AnyWelfare
    kind: Kind = "good"
    entitlements: np.ndarray | None = None
    sample: Callable[[], Sequence[Problem]] | None = None
    """Draws problems like those to come; None where they are not known."""


class AllocationPolicy(Protocol):
    """Which agents to serve."""

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        """The indices of the k agents to serve, in ascending order."""


class RankingPolicy(ABC):
    """A policy that serves the k agents whose keys are lexicographically largest; what ties is drawn by lot."""

    uses_memory: ClassVar[bool] = True
    """Whether its choices depend on the memory."""
    counts_steps: ClassVar[bool] = False
    """Whether its choices depend on the number of the step, which a single decision does not have."""

    @abstractmethod
    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        """The numbers that agents are ranked by, agents along the last axis; leading axes are a batch."""

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return self.rows(problem.needs, problem.k, state, step, [rng])

    def rows(
        self, needs: np.ndarray, k: int, state: AnyState, step: int, rngs: list[np.random.Generator]
    ) -> np.ndarray:
        """The same for every row of needs, of shape (rows, n), with a generator and a row of the state for each.

        A single row may come without its axis, and is then answered without it.
        """
        keys = self.keys(needs, k, state, step)
        return best_k_of_row(keys, k, rngs[0]) if needs.ndim == 1 else best_k_of_rows(keys, k, rngs)


policies: Registry[AllocationPolicy] = Registry(
    "policy",
    "a function or class that makes a policy for a Setting",
    given=1,
    synonyms={"dynamic-max-min": "max-min", "utilitarian": "largest-need"},
)
"""The policies by name, such as `max-min`. `policies.add` adds your own."""


def policy_of(text: str, setting: Setting) -> AllocationPolicy:
    """The policy that a text names, made for a setting.

    Raises:
        ValueError: no policy has this name, or it cannot be made for this setting.
    """
    policy = policies.read(text).build(setting)
    if not callable(policy):
        raise ValueError(f"policy {text} must make a function of needs, k, state, step and rng, got {policy!r}")
    return policy


def served_by(
    policy: AllocationPolicy, needs: np.ndarray, k: int, state: AnyState, step: int, rng: np.random.Generator
) -> np.ndarray:
    """The agents whom a policy serves, refused unless they are k different ones."""
    served = np.sort(np.asarray(policy(needs, k, state, step, rng)))
    if served.shape != (k,) or served.dtype.kind not in "iu" or not np.isin(served, np.arange(len(needs))).all():
        raise ValueError(f"a policy must return {k} of the agents 0 to {len(needs) - 1}, got {served.tolist()}")
    if (served[1:] == served[:-1]).any():
        raise ValueError(f"a policy must return {k} different agents, got {served.tolist()}")
    return served


def served_rows(policy: AllocationPolicy) -> Callable[..., np.ndarray]:
    """The policy for many rows of needs at once, or for the needs of a single row without its axis."""
    if isinstance(policy, RankingPolicy):
        return policy.rows

    def one_by_one(
        needs: np.ndarray, k: int, state: AnyState, step: int, rngs: list[np.random.Generator]
    ) -> np.ndarray:
        if needs.ndim == 1:
            return served_by(policy, needs, k, state, step, rngs[0])
        each = [served_by(policy, row, k, _row(state, i), step, rngs[i]) for i, row in enumerate(needs)]
        return np.stack(each)

    return one_by_one


def _row(state: Any, i: int) -> Any:
    """One row of every array in a state."""
    if not isinstance(state, tuple):
        return state[i]
    parts = [_row(part, i) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
