"""Allocators as policies: which agents to serve at each step, given their needs and the memory.

A policy is called with the needs, the number of resources, the memory's state, the number of the step (from 0) and a
random generator, and returns the indices of exactly `k` agents, in ascending order. Policies have no state: everything
that changes is passed to them. Most rank agents, and many rows of needs can be ranked at once.

For burdens, the need of an agent is its load, and being served means taking it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from bygones._arrays import AnyArray, Array, Number
from bygones.allocation.decide import allocate
from bygones.allocation.pricing import Pricing, levels, price_form
from bygones.allocation.pricing import learning as learning_memory
from bygones.allocation.problems import ChooseK
from bygones.allocation.ties import best_k_of_row, best_k_of_rows
from bygones.kinds import Kind
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.memory.priced import Priced, PricedState
from bygones.welfare import AnyWelfare, parse_welfare


class AllocationPolicy(Protocol):
    """Which agents to serve."""

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        """The indices of the k agents to serve, in ascending order."""


class RankingPolicy(ABC):
    """A policy that serves the k agents whose keys are lexicographically largest; what ties is drawn by lot."""

    @abstractmethod
    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        """The numbers that agents are ranked by, agents along the last axis; leading axes are a batch."""

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return best_k_of_row(self.keys(problem.needs, problem.k, state, step), problem.k, rng)

    def rows(
        self, needs: np.ndarray, k: int, state: AnyState, step: int, rngs: list[np.random.Generator]
    ) -> np.ndarray:
        """The same for every row of needs, of shape (rows, n), with a generator and a row of the state for each.

        A single row may come without its axis, and is then answered without it.
        """
        keys = self.keys(needs, k, state, step)
        return best_k_of_row(keys, k, rngs[0]) if needs.ndim == 1 else best_k_of_rows(keys, k, rngs)


@dataclass(frozen=True, eq=False)
class OneStep:
    """The allocator as a policy: the agents for whom welfare is largest after this step, without looking ahead.

    Since a policy serves exactly k agents, resources that no agent has a use for go to agents drawn at random.
    """

    memory: Memory
    welfare: AnyWelfare
    entitlements: AnyArray | None = None
    elapsed: Number = 1
    kind: Kind = "good"

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        if state is None:
            raise ValueError("state must be the state of the memory, which a one-step allocator needs, got None")
        problem = ChooseK(needs, k, kind=self.kind)
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
class Utilitarian(RankingPolicy):
    """The agents with the largest needs, of burdens the smallest, whatever the past."""

    kind: Kind = "good"

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        return (-needs if self.kind == "burden" else needs,)


@dataclass(frozen=True)
class Random:
    """Agents drawn at random."""

    def __call__(self, needs: Array, k: int, state: AnyState, step: int, rng: np.random.Generator) -> np.ndarray:
        problem = ChooseK(needs, k)
        return np.sort(rng.choice(problem.n_agents, problem.k, replace=False))


@dataclass(frozen=True)
class RoundRobin(RankingPolicy):
    """Every agent in turn, whatever the needs."""

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        n = needs.shape[-1]
        turn = (np.arange(n) - step * k) % n
        return (np.broadcast_to(-turn.astype(float), needs.shape),)


class _ChoiceOfK(NamedTuple):
    """A choice of k agents, and what prices may need to know of it."""

    needs: np.ndarray
    k: int

    @property
    def worth_once(self) -> np.ndarray:
        return np.asarray(np.partition(self.needs, -self.k, axis=-1)[..., -self.k :].mean(axis=-1))

    @property
    def share_served(self) -> float:
        return self.k / int(self.needs.shape[-1])


@dataclass(frozen=True, eq=False)
class Prices(RankingPolicy):
    """The agents whose needs, times their prices, are largest (burdens: smallest), with prices learned on the way.

    Among equal priced needs, the lowest recent total per unit of entitlement comes first.

    Attributes:
        fairness_memory: how the past is remembered.
        welfare: what the prices serve.
        entitlements: per agent, or None.
        start: prices to start from, learned from a sample of needs; see `bygones.allocation.calibrate`.
        kind: `good` or `burden`.
        memory: the fairness memory, which also learns prices.
    """

    fairness_memory: Memory
    welfare: AnyWelfare
    entitlements: Array | None = None
    start: PricedState | None = None
    kind: Kind = "good"
    memory: Priced = field(init=False)

    def __post_init__(self) -> None:
        learning = learning_memory(self.fairness_memory, self.welfare, self.entitlements, self.kind)
        object.__setattr__(self, "memory", replace(learning, start=self.start))
        object.__setattr__(self, "welfare", parse_welfare(self.welfare))

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        worth = needs * self._pricing.prices(state, _ChoiceOfK(needs, k))
        level = _level(self.memory, state, self.entitlements, needs)
        return -worth if self.kind == "burden" else worth, -level

    @cached_property
    def _pricing(self) -> Pricing:
        return Pricing(self.memory, price_form(parse_welfare(self.welfare)), self.entitlements, self.kind)


@dataclass(frozen=True, eq=False)
class ProportionalFair(RankingPolicy):
    """The agents with the largest ratio of need to the recent totals per unit of entitlement, as in phone networks."""

    memory: Memory
    entitlements: Array | None = None

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        Z = _level(self.memory, state, self.entitlements, needs)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(needs > 0, needs / np.maximum(Z, 0.0), 0.0), needs


@dataclass(frozen=True, eq=False)
class DynamicMaxMin(RankingPolicy):
    """The agents of lowest remembered utility per unit of entitlement among those with a need, whatever its size.

    For burdens, these are the agents who have taken least.
    """

    memory: Memory
    kind: Kind = "good"
    entitlements: Array | None = None

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        Z = _level(self.memory, state, self.entitlements, needs)
        return (-Z,) if self.kind == "burden" else ((needs > 0).astype(float), -Z)


def _level(memory: Memory, state: AnyState, entitlements: AnyArray | None, needs: np.ndarray) -> np.ndarray:
    """The recent totals per unit of entitlement, of the shape of the needs."""
    Z = np.asarray(memory.read(state), dtype=float)
    if entitlements is not None:
        Z = levels(Z, np.asarray(entitlements, dtype=float))
    return Z if Z.shape == needs.shape else np.broadcast_to(Z, needs.shape)
