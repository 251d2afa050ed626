r"""Prices from past needs, before the first decision or for the next.

Past problems are decided again, one after the other, by a memory that learns prices (`bygones.memory.priced`). Only
needs matter, not who was served. A short past is gone through several times, until prices have settled. Where agents
tie, each gets the mean over the draw, so agents with equal needs have equal prices in whatever order they were served.
A few needs are weak evidence, so an agent who was in $c_i$ of the problems keeps the share $c_i/(c_i + 10)$ of the
logarithm of its price. The price of an agent who was in none is the (geometric) mean of the others'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bygones._arrays import AnyArray
from bygones.allocation.decide import expected_at_prices
from bygones.allocation.pricing import learning, price_form, prices
from bygones.allocation.problem_contract import Problem
from bygones.kinds import Kind
from bygones.memory import Memory, MemoryState, PerfectRecall
from bygones.memory.priced import EVEN, PricedState
from bygones.welfare import AnyWelfare, parse_welfare

FEW = 10.0
"""The number of problems after which the price learned for an agent counts half."""

ROUNDS = 2.0 * EVEN
"""After so many rounds, in each of which everyone could be served once, prices have settled."""

MOST = 1_000
"""A short past is gone through again only up to so many problems in all."""


class Learned(NamedTuple):
    """The prices learned from past requests, and the number of those requests."""

    prices: PricedState
    requests: int


def calibrate(
    problems: Iterable[Problem], memory: Memory, welfare: AnyWelfare, *, entitlements: AnyArray | None = None
) -> PricedState:
    """Prices from a sample of past problems, as if they had been decided by prices, one after the other.

    Args:
        problems: earlier problems, with everyone's needs; in any order.
        memory: how the past is remembered.
        welfare: what the prices serve.
        entitlements: per agent.

    Returns:
        The learned prices with an empty memory: the start of a `Priced` memory, or the `calibration` of `prices` and
        `allocate`.
    """
    sample = list(problems)
    if not sample:
        raise ValueError("problems must hold at least one problem to calibrate prices on, got none")
    everyone = np.arange(sample[0].n_agents)
    lesson = _Lesson(len(everyone), welfare, None if entitlements is None else np.asarray(entitlements, dtype=float))
    lesson.go_through([(everyone, problem) for problem in sample])
    return lesson.learned(everyone, memory)


def calibrate_by_name(
    requests: Iterable[Problem],
    agents: Sequence[str],
    memory: Memory,
    welfare: AnyWelfare,
    *,
    kind: Kind = "good",
    entitlements: Mapping[str, float] | None = None,
) -> Learned | None:
    """Prices for these agents from past requests, each of which may name others as well, or only some of them.

    A request teaches something about the agents who could have been served, if not all of them could.

    Args:
        requests: earlier requests, in any order.
        agents: the agents who need a price now.
        memory: how the past is remembered.
        welfare: what the prices serve.
        kind: whether goods were allocated, or burdens.
        entitlements: by name, 1 for those not named. Someone who is exempt now may have been needed then, and counts
            as 1 here.

    Returns:
        The learned prices, or None if there is nothing to learn: no such request, or a welfare under which all prices
        are 1.
    """
    form = price_form(parse_welfare(welfare))
    contests = [
        contest
        for request in requests
        if (contest := request.contest(kind)) and not set(agents).isdisjoint(contest.agent_names)
    ]
    if not contests or form.steepness == 0:
        return None
    names = list(dict.fromkeys([*agents, *(name for contest in contests for name in contest.agent_names)]))
    position = {name: i for i, name in enumerate(names)}
    weights = np.array([entitlements.get(name, 1.0) or 1.0 for name in names]) if entitlements else None
    lesson = _Lesson(len(names), welfare, weights)
    lesson.go_through([(np.array([position[name] for name in contest.agent_names]), contest) for contest in contests])
    return Learned(lesson.learned(np.arange(len(agents)), memory), len(contests))


class _Lesson:
    """Prices in the course of learning, of agents who need not be in every problem."""

    def __init__(self, n_agents: int, welfare: AnyWelfare, entitlements: np.ndarray | None) -> None:
        self._welfare, self._entitlements = parse_welfare(welfare), entitlements
        self._rng = np.random.default_rng(0)
        self._state = learning(PerfectRecall(), welfare).init(n_agents)
        self._seen: list[np.ndarray] = []
        self._counts = np.zeros(n_agents)

    def go_through(self, sample: Sequence[tuple[np.ndarray, Problem]]) -> None:
        """Learns from problems and the agents in them, several times if they are few."""
        round_ = len(sample) / sum(problem.share_served for _, problem in sample)
        times = math.ceil(min(ROUNDS * round_, MOST) / len(sample))
        for who, problem in [*sample] * times:
            self._take(problem, who)
        for who, _ in sample:
            self._counts[who] += 1

    def _take(self, problem: Problem, who: np.ndarray) -> None:
        weights = None if self._entitlements is None else self._entitlements[who]
        memory = learning(PerfectRecall(), self._welfare, weights, problem.kind)
        state = self._of(who)
        paid = prices(problem, memory, state, self._welfare, entitlements=weights)
        self._put(who, memory.update(state, expected_at_prices(problem, paid, self._rng, weights)))
        self._seen.append(np.asarray(self._state.log_prices))

    def learned(self, agents: np.ndarray, memory: Memory) -> PricedState:
        """The prices of these agents."""
        counts = self._counts[agents]
        # The last prices still move with every step; their mean over the later half is the centre.
        settled = np.mean(self._seen[len(self._seen) // 2 :], axis=0)[agents] * counts / (counts + FEW)
        settled = np.where(counts > 0, settled - settled[counts > 0].mean(), 0.0)
        return self._of(agents)._replace(remembered=memory.init(len(agents)), log_prices=settled)

    def _of(self, who: np.ndarray) -> PricedState:
        """The prices of these agents with an empty memory, since prices alone are to settle."""
        state = self._state
        assert isinstance(state.remembered, MemoryState)
        nothing = state.remembered._replace(Z=np.zeros(len(who)), Z_lost=np.zeros(len(who)))
        logs = state.log_prices[who]
        return state._replace(remembered=nothing, log_prices=logs - logs.mean(), drift=state.drift[who])

    def _put(self, who: np.ndarray, part: PricedState) -> None:
        """Some agents' prices move against one another; on average they stay where they were among everyone's."""
        state = self._state
        logs = part.log_prices + state.log_prices[who].mean()
        self._state = part._replace(
            log_prices=_with(state.log_prices, who, logs), drift=_with(state.drift, who, part.drift)
        )


def _with(values: AnyArray, who: np.ndarray, some: AnyArray) -> np.ndarray:
    changed = np.array(values)
    changed[who] = some
    return changed
