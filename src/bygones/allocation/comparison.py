"""The agents who came into question for a decision, with the numbers by which they are compared."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bygones._arrays import AnyArray
from bygones._text import amount, decimals_of, exact, rounded
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.ties import SEEN, first_apart, is_tied

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision, RunnerUp

MOST_ROWS = 20
"""The most agents in the table: those who are served, and those who came closest to it."""

_VISIBLE = 0.2
"""A number that rounding changes by a larger share of it gets digits of its own."""

_QUICK = 100
"""If the next best choice is slow to find and more agents are served, it is reported only if it is already known."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The agents of a decision, compared.

    Recent totals are per unit of entitlement. All arrays have one number per agent of the problem.

    Attributes:
        decision: the decision.
        asking: the indices of the agents who could have been served; None for all.
    """

    decision: Decision
    asking: Collection[int] | None = None

    @cached_property
    def recent(self) -> np.ndarray:
        """Each agent's recent total right before the decision."""
        decision = self.decision
        return np.asarray(decision.per_unit(decision.memory.faded(decision.state, decision.elapsed)), dtype=float)

    @cached_property
    def with_this(self) -> np.ndarray:
        """Each agent's recent total with its part or, where one place was to be had, with a place."""
        decision, after = self.decision, np.asarray(self.decision.after, dtype=float)
        if self.worth is None:
            return after
        if decision.memory.keeps_agents_apart:
            return np.asarray(decision.after_receiving(self.worth), dtype=float)
        return np.where(self.is_served, after, math.nan)

    @cached_property
    def worth(self) -> np.ndarray | None:
        """Each agent's need or load, where places are alike; otherwise None."""
        problem = self.decision.problem
        return np.asarray(problem.needs) if isinstance(problem, ChooseK) else None

    @cached_property
    def score(self) -> tuple[str, np.ndarray] | None:
        """The name and the numbers by which agents are compared instead of recent totals, such as `need × price`."""
        problem, prices = self.decision.problem, self.decision.prices
        if prices is None and self.decision.welfare.name == "utilitarian" and self.worth is not None:
            return "load" if problem.is_burden else "need", self.worth
        if prices is None or not isinstance(problem, ChooseK | Divide):
            return None
        if isinstance(problem, Divide):
            return "rate × price", problem.rates * np.asarray(prices)
        return f"{'load' if problem.is_burden else 'need'} × price", problem.needs * np.asarray(prices)

    @cached_property
    def is_served(self) -> np.ndarray:
        """Whether each agent is served."""
        return np.isin(np.arange(self.decision.problem.n_agents), self.decision.served)

    @cached_property
    def candidates(self) -> np.ndarray:
        """The indices of the agents who came into question: those who could be served, and asked."""
        problem, entitlements = self.decision.problem, self.decision.entitlements
        could = np.ones(problem.n_agents, dtype=bool)
        if self.asking is not None:
            could = np.isin(np.arange(problem.n_agents), list(self.asking))
        if isinstance(problem, Assign):
            agents, _, utilities = problem.pairs
            could &= np.bincount(agents[problem.is_burden | (utilities > 0)], minlength=problem.n_agents) > 0
        elif isinstance(problem, ChooseK | Divide):
            could &= True if problem.allowed is None else problem.allowed
            asked = problem.needs if isinstance(problem, ChooseK) else np.minimum(problem.rates, problem.caps)
            could &= problem.is_burden | (asked > 0)
        if problem.is_burden and entitlements is not None:
            could &= entitlements > 0
        return np.flatnonzero(could | self.is_served)

    @cached_property
    def others(self) -> np.ndarray:
        """The candidates who are not served."""
        return np.asarray(self.candidates[~self.is_served[self.candidates]])

    @property
    def is_enough(self) -> bool:
        """Whether every candidate gets as much as it can take."""
        problem, given = self.decision.problem, self.decision.given
        if isinstance(problem, Divide):
            caps = problem.caps[self.candidates]
            return not problem.is_burden and np.allclose(given[self.candidates], caps, rtol=SEEN, atol=0)
        return self.worth is not None and not len(self.others)

    @cached_property
    def has_equal_needs(self) -> bool:
        """Whether a place is worth the same, or as much work, to every candidate."""
        worth = np.zeros(0) if self.worth is None else self.worth[self.candidates]
        return bool(len(worth) and np.ptp(worth) <= SEEN * worth.max())

    @cached_property
    def has_shares(self) -> bool:
        """Whether a candidate is entitled to anything but a full share, so its recent total per share is another."""
        weights = self.decision.entitlements
        return weights is not None and bool((weights[self.candidates] != 1).any())

    @cached_property
    def received(self) -> np.ndarray:
        """Each agent's recent total, not per unit of entitlement."""
        weights = self.decision.entitlements
        return self.recent if weights is None else self.recent * weights

    def in_order(self) -> list[int]:
        """The candidates: those who are served first, then those who came closest to it."""
        key, is_burden = self.recent, self.decision.problem.is_burden
        if self.score is not None:
            key = self.score[1] if is_burden else -self.score[1]
        elif is_burden and self.worth is not None and self.decision.memory.keeps_agents_apart:
            key = self.with_this
        return sorted(self.candidates.tolist(), key=lambda agent: (not self.is_served[agent], key[agent]))

    @cached_property
    def shown(self) -> list[int]:
        """The agents in the table: half of a long one is for those who are not served."""
        order, count = self.in_order(), len(self.decision.served)
        if len(order) <= MOST_ROWS:
            return order
        first = min(count, max(MOST_ROWS // 2, MOST_ROWS - (len(order) - count)))
        return [*order[:first], *order[count : count + MOST_ROWS - first]]

    @cached_property
    def _decimals(self) -> int | None:
        """The decimals that recent totals have in the table."""
        columns = (self.recent, self.with_this, self.received) if self.has_shares else (self.recent, self.with_this)
        return decimals_of([float(column[agent]) for column in columns for agent in self.shown])

    def total(self, value: float, share: float = 1.0) -> str:
        """A recent total with its unit, with as many decimals as in the table.

        Args:
            value: the total.
            share: the share of the agent whose total it is.
        """
        per = " per share" if self.has_shares or share != 1 else ""
        number = rounded(value, self._decimals)
        if abs(float(number.replace(",", "")) - value) > _VISIBLE * abs(value):  # of an agent who is not in the table
            number = amount(value)
        return f"{self.decision.thing.with_unit(number)}{per}"

    def score_of(self, agent: int) -> str:
        """The number by which an agent is compared instead of its recent total, as in the table; empty if none is."""
        if self.score is None:
            return ""
        values = self.score[1]
        if self.decision.prices is None:
            return exact(float(values[agent]))
        return rounded(float(values[agent]), decimals_of([float(values[row]) for row in self.shown]))

    def come_first(self, *keys: np.ndarray) -> bool:
        """Whether the agents who are served have the smallest keys, of which a later one decides where those before are
        equal. An agent who is not served may be level with one who is only if a random draw decided between them.
        """
        served, others = self.decision.served.tolist(), self.others.tolist()
        if not served or not others or np.isnan([key[self.candidates] for key in keys]).any():
            return False

        def order(agent: int) -> tuple[float, ...]:
            return tuple(float(f"{key[agent]:.{DIGITS}e}") for key in keys)

        last, next_ = max(map(order, served)), min(map(order, others))
        if last != next_:
            return last < next_
        return self.is_tie and {agent for agent in others if order(agent) == next_} <= set(self.tied)

    @cached_property
    def rival(self) -> RunnerUp | None:
        """The next best choice if it is just as good, though leximin may tell them apart."""
        other = next_best(self.decision)
        return other if other is not None and is_tied(self.decision.welfare_after, other.welfare, other.cost) else None

    @property
    def is_tie(self) -> bool:
        """Whether a random draw decided."""
        return self.rival is not None and leximin_apart(self.decision, self.rival.after) is None

    @property
    def had_rivals(self) -> bool:
        """Whether it is known that there was another choice, so a random draw could have been needed."""
        return next_best(self.decision) is not None

    @cached_property
    def tied(self) -> list[int]:
        """The agents among whom a random draw decided, where one took the place of another."""
        if self.rival is None:
            return []
        now, then = set(self.decision.served.tolist()), set(self.decision.problem.served(self.rival.given).tolist())
        tied = (now | then) - (now & then)
        if self.worth is not None and now - then:
            agent = min(now - then)
            alike = [np.isclose(key, key[agent], rtol=SEEN, atol=0) for key in (self.recent, self.worth)]
            tied |= set(self.candidates[(alike[0] & alike[1])[self.candidates]].tolist())
        return sorted(tied)

    @cached_property
    def last_units(self) -> list[int]:
        """The agents of a division in whole units among whom a random draw decided who has one unit more."""
        decision, problem = self.decision, self.decision.problem
        if not isinstance(problem, Divide) or not problem.whole or decision.prices is not None:
            return []
        after, step = np.asarray(decision.after, dtype=float), np.asarray(decision.per_unit(problem.rates), dtype=float)
        weights = np.ones(len(after)) if decision.entitlements is None else decision.entitlements
        # Two agents of one share are alike if one unit moved from one to the other would swap their totals.
        with_unit: dict[tuple[str, str], list[int]] = {}
        without: dict[tuple[str, str], list[int]] = {}
        for agent in self.candidates.tolist():
            size = f"{step[agent]:.{DIGITS}e} {weights[agent]:.{DIGITS}e}"
            if decision.given[agent] >= 1:
                with_unit.setdefault((f"{after[agent]:.{DIGITS}e}", size), []).append(agent)
            if decision.given[agent] + 1 <= problem.caps[agent]:
                without.setdefault((f"{after[agent] + step[agent]:.{DIGITS}e}", size), []).append(agent)
        return sorted({agent for key in with_unit.keys() & without.keys() for agent in with_unit[key] + without[key]})


DIGITS = 9
"""Numbers that agree in as many decimal digits after the first are level."""


def next_best(decision: Decision) -> RunnerUp | None:
    """The next best choice, where there is one that is known or soon found."""
    problem = decision.problem
    is_known = "runner_up" in decision.__dict__
    is_quick = not problem.next_best_is_slow or len(decision.served) <= _QUICK
    return decision.runner_up if problem.has_next_best and (is_quick or is_known) else None


def leximin_apart(decision: Decision, other: AnyArray) -> tuple[int, float, float] | None:
    """Where a decision differs from other recent totals, from the worst-off or the heaviest load on; None if nowhere.

    The rank, and the values there after the decision and in the other.
    """
    chosen, instead = (np.sort(Z[np.isfinite(Z)]) for Z in (np.asarray(decision.after), np.asarray(other)))
    if decision.problem.is_burden:
        chosen, instead = chosen[::-1], instead[::-1]
    rank = first_apart(chosen, instead)
    return None if rank is None else (rank, float(chosen[rank]), float(instead[rank]))
