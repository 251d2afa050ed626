"""Allocators as policies: whom to serve, step after step, given needs and memory.

A policy is called with the needs, the number of resources, the memory's state, the number of the step (from 0) and a
random generator, and answers with the indices of exactly `k` agents, in ascending order. Policies hold rules and no
history: everything that changes is handed to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bygones._arrays import Array, Number
from bygones.allocation.decide import allocate
from bygones.allocation.problems import ChooseK
from bygones.allocation.ties import best_k
from bygones.memory import Memory, MemoryState
from bygones.welfare import Welfare


class AllocationPolicy(Protocol):
    """Whom to serve."""

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        """The indices of the k agents to serve, in ascending order."""


@dataclass(frozen=True, eq=False)
class OneStep:
    """The allocator as a policy: the agents whose being served now is best for welfare, without looking ahead.

    Resources that nobody has use for go to agents drawn by lot, since a policy serves exactly k.
    """

    memory: Memory
    welfare: str | Welfare
    entitlements: Array | None = None
    elapsed: Number = 1

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        if state is None:
            raise ValueError("state must be the memory's state, which a one-step allocator goes by, got None")
        problem = ChooseK(needs, k)
        decision = allocate(
            problem,
            self.memory,
            state,
            self.welfare,
            elapsed=self.elapsed,
            entitlements=self.entitlements,
            rng=rng,
        )
        served = decision.served
        if len(served) < k:
            others = np.setdiff1d(np.arange(problem.n_agents), served)
            served = np.sort(np.append(served, rng.choice(others, k - len(served), replace=False)))
        return served


@dataclass(frozen=True)
class Utilitarian:
    """The largest needs, blind to the past; ties by lot."""

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        problem = ChooseK(needs, k)
        return best_k([lambda who: problem.needs[who]], problem.n_agents, problem.k, rng)


@dataclass(frozen=True)
class Random:
    """Agents drawn by lot."""

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        problem = ChooseK(needs, k)
        return np.sort(rng.choice(problem.n_agents, problem.k, replace=False))


@dataclass(frozen=True)
class RoundRobin:
    """Each in turn, whatever the needs."""

    def __call__(
        self, needs: Array, k: int, state: MemoryState | None, step: int, rng: np.random.Generator
    ) -> np.ndarray:
        problem = ChooseK(needs, k)
        return np.sort((step * problem.k + np.arange(problem.k)) % problem.n_agents)
