"""Allocators as policies: which agents to serve at each step, given their needs and the memory.

A policy is called with the needs, the number of resources, the memory's state, the number of the step (from 0) and a
random generator, and returns the indices of exactly `k` agents, in ascending order. Policies have no state: everything
that changes is passed to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from bygones._arrays import AnyArray, Array, Number
from bygones.allocation.decide import allocate
from bygones.allocation.prices import learning as learning_memory
from bygones.allocation.prices import prices
from bygones.allocation.problems import ChooseK
from bygones.allocation.ties import best_k
from bygones.memory import Memory
from bygones.memory.priced import Priced, PricedState
from bygones.welfare import AnyWelfare, named


class AllocationPolicy(Protocol):
    """Which agents to serve."""

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        """The indices of the k agents to serve, in ascending order."""


@dataclass(frozen=True, eq=False)
class OneStep:
    """The allocator as a policy: the agents for whom welfare is largest after this step, without looking ahead.

    Since a policy serves exactly k agents, resources that no agent has a use for go to agents drawn at random.
    """

    memory: Memory
    welfare: AnyWelfare
    entitlements: AnyArray | None = None
    elapsed: Number = 1

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        if state is None:
            raise ValueError("state must be the state of the memory, which a one-step allocator needs, got None")
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
    """The agents with the largest needs, whatever the past; ties are broken at random."""

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return best_k([lambda who: problem.needs[who]], problem.n_agents, problem.k, rng)


@dataclass(frozen=True)
class Random:
    """Agents drawn at random."""

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return np.sort(rng.choice(problem.n_agents, problem.k, replace=False))


@dataclass(frozen=True)
class RoundRobin:
    """Every agent in turn, whatever the needs."""

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return np.sort((step * problem.k + np.arange(problem.k)) % problem.n_agents)


@dataclass(frozen=True, eq=False)
class Prices:
    """The agents whose needs, times their prices, are largest, with prices that are learned on the way.

    Attributes:
        fairness_memory: how the past is remembered.
        welfare: what the prices serve.
        entitlements: per agent, or None.
        start: prices to start from, learned from a sample of needs; see `bygones.allocation.calibrate`.
        memory: remembers what the fairness memory does, and learns prices beside it.
    """

    fairness_memory: Memory
    welfare: AnyWelfare
    entitlements: Array | None = None
    start: PricedState | None = None
    memory: Priced = field(init=False)

    def __post_init__(self) -> None:
        learning = learning_memory(self.fairness_memory, self.welfare, self.entitlements)
        object.__setattr__(self, "memory", replace(learning, start=self.start))
        object.__setattr__(self, "welfare", named(self.welfare))

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        weights = prices(problem, self.memory, state, self.welfare, entitlements=self.entitlements)
        return best_k([lambda who: problem.needs[who] * weights[who]], problem.n_agents, problem.k, rng)


@dataclass(frozen=True, eq=False)
class ProportionalFair:
    """The agents with the largest ratio of need to remembered utility, as in cellular networks; ties by lot."""

    memory: Memory

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        Z = np.asarray(self.memory.read(state), dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(problem.needs > 0, problem.needs / np.maximum(Z, 0.0), 0.0)
        return best_k([lambda who: ratio[who], lambda who: problem.needs[who]], problem.n_agents, problem.k, rng)


@dataclass(frozen=True, eq=False)
class DynamicMaxMin:
    """The agents of lowest remembered utility among those with a need, whatever its size; ties by lot."""

    memory: Memory

    def __call__(self, needs: Array, k: int, state: Any, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        Z = np.asarray(self.memory.read(state), dtype=float)
        return best_k(
            [lambda who: (problem.needs[who] > 0).astype(float), lambda who: -Z[who]], problem.n_agents, problem.k, rng
        )
