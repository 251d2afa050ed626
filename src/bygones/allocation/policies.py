"""Allocators as policies: which agents to serve at each step, given their needs and the memory.

`bygones.allocation.policy_contract` has the interface, and the names. For burdens, the need of an agent is its load,
and being served means taking it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from bygones._arrays import AnyArray, Array, Number
from bygones.allocation.calibration import calibrate
from bygones.allocation.decide import allocate
from bygones.allocation.policy_contract import RankingPolicy, Setting, policies
from bygones.allocation.pricing import Pricing, levels, price_form
from bygones.allocation.pricing import learning as learning_memory
from bygones.allocation.problems import ChooseK
from bygones.kinds import Kind
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.memory.priced import Priced, PricedState
from bygones.welfare import AnyWelfare, parse_welfare

ALL_GO, BEHIND_GO = "everybody", "whoever-is-behind"
"""The names of two policies for scenarios in which agents go or stay."""


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

    uses_memory = False

    kind: Kind = "good"

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        return (-needs if self.kind == "burden" else needs,)


@dataclass(frozen=True)
class Random(RankingPolicy):
    """Agents drawn at random."""

    uses_memory = False

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        return (np.zeros(needs.shape),)

    def rows(
        self, needs: np.ndarray, k: int, state: AnyState, step: int, rngs: list[np.random.Generator]
    ) -> np.ndarray:
        drawn = [np.sort(rng.choice(needs.shape[-1], k, replace=False)) for rng in rngs]
        return drawn[0] if needs.ndim == 1 else np.stack(drawn)


@dataclass(frozen=True)
class RoundRobin(RankingPolicy):
    """Every agent in turn, whatever the needs."""

    uses_memory, counts_steps = False, True

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


@dataclass(frozen=True, eq=False)
class LargestNeed(RankingPolicy):
    """The agents with the largest needs, or the smallest for burdens; among equals, the ones who have received least.

    Least is per unit of entitlement.
    """

    memory: Memory
    kind: Kind = "good"
    entitlements: Array | None = None

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        Z = _level(self.memory, state, self.entitlements, needs)
        return -needs if self.kind == "burden" else needs, -Z


def _calibrated(setting: Setting) -> Prices:
    if setting.sample is None:
        raise ValueError("policy calibrated learns from a sample of needs, and none is known here: use prices")
    start = calibrate(setting.sample(), setting.memory, setting.welfare, entitlements=setting.entitlements)
    return Prices(setting.memory, setting.welfare, setting.entitlements, start, setting.kind)


def _proportional_fair(setting: Setting) -> ProportionalFair:
    if setting.kind == "burden":
        raise ValueError("policy 'proportional-fair' is for goods: for burdens use 'prices', 'one-step' or 'max-min'")
    return ProportionalFair(setting.memory, setting.entitlements)


def _level(memory: Memory, state: AnyState, entitlements: AnyArray | None, needs: np.ndarray) -> np.ndarray:
    """The recent totals per unit of entitlement, of the shape of the needs."""
    Z = np.asarray(memory.read(state), dtype=float)
    if entitlements is not None:
        Z = levels(Z, np.asarray(entitlements, dtype=float))
    return Z if Z.shape == needs.shape else np.broadcast_to(Z, needs.shape)


def _only_in_scenarios(name: str) -> NoReturn:
    raise ValueError(
        f"policy {name} takes the actions of a scenario, and does not serve agents by their needs: play it with "
        "`bygones evaluate` or `bygones leaderboard`"
    )


policies.add(lambda of: Prices(of.memory, of.welfare, of.entitlements, kind=of.kind), "prices")
policies.add(_calibrated, "calibrated")
policies.add(lambda of: OneStep(of.memory, of.welfare, of.entitlements, kind=of.kind), "one-step")
policies.add(_proportional_fair, "proportional-fair")
policies.add(lambda of: DynamicMaxMin(of.memory, of.kind, of.entitlements), "max-min")
policies.add(lambda of: Utilitarian(of.kind), "largest-need")
policies.add(lambda of: LargestNeed(of.memory, of.kind, of.entitlements), "largest-need-fair-ties")
policies.add(lambda of: RoundRobin(), "round-robin")
policies.add(lambda of: Random(), "random")
policies.add(lambda of: _only_in_scenarios(ALL_GO), ALL_GO)
policies.add(lambda of: _only_in_scenarios(BEHIND_GO), BEHIND_GO)
policies.add(lambda of, length: _only_in_scenarios("slices"), "slices")
policies.add(lambda of, length: _only_in_scenarios("turns"), "turns")
policies.add(lambda of, length: _only_in_scenarios("lookahead"), "lookahead")
