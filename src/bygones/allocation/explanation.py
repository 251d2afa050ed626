"""Why a decision came out as it did: a headline, a table of everyone who came into question, a line about the memory.

The headline gives a reason only if it is true of the numbers in the table: that those who are chosen have the lowest
recent totals, say, or the largest need × price. Where there is no such reason, it says what the decision optimises. So
a reader can check every word with the table alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bygones._arrays import AnyArray
from bygones._text import amount, capitalized, counted, listed
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.problems import ChooseK, Divide
from bygones.allocation.ties import SEEN, first_apart, is_tied
from bygones.document.document import Cell, Column, Document, Table
from bygones.kinds import of_the, words

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision, RunnerUp

MOST_ROWS = 20
"""The most agents in the table: those who are chosen, and those who came closest to it."""

_QUICK = 100
"""If finding the next best choice is slow and more agents are served, it is reported only if it is already known."""


class Circumstances(NamedTuple):
    """What a decision does not know by itself, such as a ledger does.

    Attributes:
        asking: the agents who could have been served, by their indices; None for all.
        last: per agent, when it was last served, as text; empty if that is not known.
        when: the day of the decision, as text.
        memory: how the past is remembered, in a sentence; empty to ask the memory of the decision.
        more: further sentences.
    """

    asking: Collection[int] | None = None
    last: Sequence[str] = ()
    when: str = ""
    memory: str = ""
    more: Sequence[str] = ()


NOTHING_MORE = Circumstances()
"""The circumstances of a decision that stands for itself."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons of a decision."""

    decision: Decision
    about: Circumstances = NOTHING_MORE

    @property
    def document(self) -> Document:
        """The explanation as people read it."""
        return Document(self.headline, [self.table, *self.notes], "Decision")

    @property
    def headline(self) -> str:
        """Who gets what, and why."""
        decision = self.decision
        if not len(decision.served):
            return "Nobody is served: no choice would raise welfare."
        when = f" on {self.about.when}" if self.about.when else ""
        return f"{self._who_gets_what}{when}: {self._why}."

    @property
    def notes(self) -> list[str]:
        """What else there is to say, a sentence each: the memory, a tie, how sure it is."""
        memory = self.about.memory or memory_in_words(self.decision)
        return [
            *self._hidden, *self._rounding, *self._left_over, *self._passed_over, memory, *self._prices, *self._tie,
            *self._doubt, *self.about.more,
        ]  # fmt: skip

    @property
    def sentences(self) -> list[str]:
        """The headline and the notes."""
        return [self.headline, *self.notes]

    # ------------------------------------------------------------------------------------------- the numbers

    @cached_property
    def recent(self) -> np.ndarray:
        """Each agent's recent total at the moment of the decision, before it; per unit of entitlement."""
        decision = self.decision
        return self._per_unit(decision.memory.faded(decision.state, decision.elapsed))

    @cached_property
    def with_this(self) -> np.ndarray:
        """Each agent's recent total if it is chosen; NaN for those of whom that is not known."""
        decision = self.decision
        after = np.asarray(decision.after, dtype=float)
        if isinstance(decision.problem, ChooseK) and decision.memory.keeps_agents_apart:
            needs = np.asarray(decision.problem.needs)
            return self._per_unit(decision.memory.ahead(decision.state, needs, decision.elapsed))
        return np.where(self._is_served, after, math.nan)

    @cached_property
    def candidates(self) -> np.ndarray:
        """The agents who came into question, by their indices."""
        decision, asking = self.decision, self.about.asking
        problem = decision.problem
        could = np.ones(problem.n_agents, dtype=bool)
        if asking is not None:
            could[:] = False
            could[list(asking)] = True
        allowed = getattr(problem, "allowed", None)
        if allowed is not None:
            could &= allowed if np.ndim(allowed) == 1 else np.asarray(allowed.any(axis=1)).ravel()
        if problem.is_burden and decision.entitlements is not None:
            could &= decision.entitlements > 0
        if self._worth is not None and not problem.is_burden:
            could &= self._worth > 0  # a need of zero asks for nothing
        return np.flatnonzero(could | self._is_served)

    @cached_property
    def _is_served(self) -> np.ndarray:
        served = np.zeros(self.decision.problem.n_agents, dtype=bool)
        served[self.decision.served] = True
        return served

    @cached_property
    def _others(self) -> np.ndarray:
        """The candidates who are not served."""
        others: np.ndarray = self.candidates[~self._is_served[self.candidates]]
        return others

    @cached_property
    def _worth(self) -> np.ndarray | None:
        """Each agent's need, where everyone is asked for one number."""
        problem = self.decision.problem
        return np.asarray(problem.needs) if isinstance(problem, ChooseK) else None

    @cached_property
    def priced(self) -> np.ndarray | None:
        """Need × price, or load × price, under the rule `prices`."""
        prices = self.decision.prices
        return None if prices is None or self._worth is None else self._worth * np.asarray(prices)

    def _per_unit(self, Z: AnyArray) -> np.ndarray:
        values, weights = np.asarray(Z, dtype=float), self.decision.entitlements
        if weights is None:
            return values
        return np.asarray(np.divide(values, weights, out=np.full(len(values), math.nan), where=weights > 0))

    @cached_property
    def _is_unequal(self) -> bool:
        weights = self.decision.entitlements
        return weights is not None and len(set(weights[weights > 0].tolist())) > 1

    # -------------------------------------------------------------------------------------------- the headline

    @property
    def _who_gets_what(self) -> str:
        """Everyone with what they get; those who get the same are named together."""
        decision, verb = self.decision, words(self.decision.problem.kind)
        by_thing: dict[str, list[str]] = {}
        for agent, thing in decision.gets.items():
            by_thing.setdefault(thing, []).append(agent)
        named, parts = 0, []
        for thing, agents in by_thing.items():
            if named >= NAMED:
                break
            shown = agents[: NAMED - named] if len(agents) > NAMED - named + 1 else agents
            more = [counted(len(agents) - len(shown), "other")] if len(shown) < len(agents) else []
            get = verb.gets if len(agents) == 1 else "each " + ("take" if decision.problem.is_burden else "get")
            parts.append(f"{listed([*shown, *more])} {get} {thing}")
            named += len(agents)
        rest = len(decision.gets) - named
        if rest > 0:
            parts.append(f"{counted(rest, 'other')} {'takes' if decision.problem.is_burden else 'gets'} something")
        return "; ".join(parts) if len(parts) > 2 else " and ".join(parts)

    @property
    def _why(self) -> str:
        """The reason, which the table bears out."""
        decision, kind = self.decision, self.decision.problem.kind
        if not len(self._others) and isinstance(decision.problem, ChooseK):
            everyone = "no one else is available" if kind == "burden" else "everyone who asked gets one"
            return everyone if len(self.candidates) > 1 or kind == "burden" else "no one else asked"
        group = of_the(len(self.candidates), kind)
        if decision.prices is not None:
            what = "load × price" if kind == "burden" else "need × price"
            if self.priced is None:
                return f"{'smallest' if kind == 'burden' else 'largest'} sum of {what}"
            return f"{'lowest' if kind == 'burden' else 'highest'} {what} {group}"
        if self._reason is None:
            return self._best
        share = " for their share" if self._is_unequal and "recent" in self._reason else ""
        drawn = ", after a random draw" if self._is_tie else ""
        return f"{self._reason}{share} {group}{drawn}"

    @cached_property
    def _reason(self) -> str | None:
        """The first reason that is true; None if there is none in these terms."""
        return next((reason for reason, is_true in self._reasons() if is_true()), None)

    def _reasons(self) -> Sequence[tuple[str, Callable[[], bool]]]:
        """Reasons that fit what is maximised, the simplest first, each with whether it is true."""
        worth, kind = self._worth, words(self.decision.problem.kind)
        if worth is None:
            return ()
        name = self.decision.welfare.name
        several = len(self.decision.served) > 1
        lowest = (f"{kind.least}s" if several and not self.decision.problem.is_burden else kind.least,
                  lambda: self._come_first(self.recent))  # fmt: skip
        if self.decision.problem.is_burden:
            lightest = ("least recent work including this", lambda: self._come_first(self.with_this))
            smallest = ("smallest load", lambda: self._come_first(worth))
            return (smallest,) if name == "utilitarian" else (lowest, lightest)
        largest = ("largest need", lambda: self._come_first(-worth))
        if name == "utilitarian":
            return (largest,)
        if name == "egalitarian" or float(np.ptp(worth[self.candidates])) <= SEEN * float(worth.max()):
            return (lowest,)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(self.recent > 0, self.with_this / self.recent, math.inf)
        return (("largest gain compared with the recent total", lambda: self._come_first(-relative)),)

    def _come_first(self, key: np.ndarray) -> bool:
        """Whether those who are served have the smallest keys; others may have equal ones only where a draw decided."""
        served, others = key[self.decision.served], key[self._others]
        if np.isnan(served).any() or np.isnan(others).any() or not len(others):
            return False
        slack = SEEN * abs(float(others.min()))
        return bool(served.max() < others.min() - slack or (self._is_tie and served.max() <= others.min() + slack))

    @property
    def _best(self) -> str:
        """What the decision optimises."""
        decision = self.decision
        if self._is_tie:
            return "one of several equally good choices, taken by a random draw"
        if not decision.optimal:
            return "the best choice found"
        if decision.welfare.name == "egalitarian":
            if decision.problem.is_burden:
                return "no other choice keeps the heaviest recent load lower"
            return "no other choice leaves the lowest recent total higher"
        if decision.problem.is_burden:
            return f"no other choice has a lower burden ({decision.welfare})"
        return f"no other choice has a higher {capitalized(str(decision.welfare))} welfare"

    # ----------------------------------------------------------------------------------------------- the table

    @property
    def table(self) -> Table:
        """Everyone who came into question, those who are chosen first, then those who came closest to it."""
        rows = self._shown
        chosen = frozenset(i for i, agent in enumerate(rows) if self._is_served[agent])
        columns = [(column, [cells[agent] for agent in rows]) for column, cells in self._columns()]
        return Table(
            "",
            [column for column, _ in columns],
            [[cells[i] for _, cells in columns] for i in range(len(rows))],
            chosen,
        ).without_empty()

    @cached_property
    def _shown(self) -> list[int]:
        """The agents in the table."""
        key = self._order
        served = sorted(self.decision.served.tolist(), key=lambda agent: key[agent])
        others = sorted(self._others.tolist(), key=lambda agent: key[agent])
        if len(served) + len(others) <= MOST_ROWS:
            return [*served, *others]
        first = served[: max(MOST_ROWS // 2, MOST_ROWS - len(others))]
        return [*first, *others[: MOST_ROWS - len(first)]]

    @property
    def _order(self) -> np.ndarray:
        """By what agents are put in order: the smallest comes first."""
        if self.priced is not None:
            return self.priced if self.decision.problem.is_burden else -self.priced
        if self.decision.problem.is_burden and isinstance(self.decision.problem, ChooseK):
            return self.with_this
        return self.recent

    def _columns(self) -> list[tuple[Column, Sequence[Cell]]]:
        decision, problem, thing = self.decision, self.decision.problem, self.decision.thing
        names, weights = decision.agent_names, decision.entitlements
        per = " per share" if self._is_unequal else ""
        columns: list[tuple[Column, Sequence[Cell]]] = [(Column("agent", folds=True), names)]
        if not isinstance(problem, ChooseK):
            gets = [decision.gets.get(name, "").removeprefix("the ") for name in names]
            columns.append((Column(words(problem.kind).gets, folds=True), gets))
        if weights is not None and self._is_unequal:
            columns.append((Column("share"), weights.tolist()))
        columns.append((Column(thing.with_unit(f"recent{per}"), measure="total"), self.recent.tolist()))
        worth = self._worth
        if worth is not None and float(np.ptp(worth[self.candidates])) > 0:
            name = "load" if problem.is_burden else "need"
            columns.append((Column(thing.with_unit(name)), worth.tolist()))
        if decision.prices is not None:
            columns.append((Column("price"), np.asarray(decision.prices, dtype=float).tolist()))
        if self.priced is not None:
            columns.append((Column("load × price" if problem.is_burden else "need × price"), self.priced.tolist()))
        after = f"with this{per}" if isinstance(problem, ChooseK) else f"after{per}"
        values = self.with_this if isinstance(problem, ChooseK) else np.asarray(decision.after, dtype=float)
        columns.append((Column(after, measure="total"), values.tolist()))
        if self.about.last:
            columns.append((Column(f"last {thing.name}".strip(), gives_way=1), self.about.last))
        return columns

    # ----------------------------------------------------------------------------------------------- the notes

    @property
    def _hidden(self) -> list[str]:
        hidden = len(self.candidates) - len(self._shown)
        return [f"{counted(hidden, 'more agent')} came into question."] if hidden else []

    @property
    def _left_over(self) -> list[str]:
        left = self.decision.problem.left_over(self.decision.given)
        return [f"{capitalized(left)} left over."] if left and len(self.decision.served) else []

    @property
    def _rounding(self) -> list[str]:
        """How the rounding to whole units fell."""
        decision = self.decision
        if decision.unrounded is None:
            return []
        apart = decision.given - decision.unrounded
        changed = np.flatnonzero(np.abs(apart) > SEEN * np.maximum(1.0, decision.given))
        if not len(changed):
            return ["All parts are whole numbers anyway; nothing had to be rounded."]
        order = changed[np.argsort(-apart[changed], kind="stable")].tolist()
        names = decision.agent_names
        parts = [f"{names[i]} {decision.given[i]:g} instead of {decision.unrounded[i]:.4g}" for i in order]
        return [f"In whole units: {listed(parts, NAMED)}."]

    @property
    def _passed_over(self) -> list[str]:
        """Who has the lowest recent total of all, but did not come into question."""
        if not np.isfinite(self.recent).any():
            return []
        least = float(np.nanmin(self.recent))
        lowest = np.flatnonzero(self.recent <= least + SEEN * abs(least)).tolist()
        if set(lowest) & set(self.candidates.tolist()):
            return []
        who = listed([self.decision.agent_names[i] for i in lowest], NAMED)
        has, was = ("has", "was") if len(lowest) == 1 else ("have", "were")
        why = f"{was} not available" if self.decision.problem.is_burden else "did not ask"
        return [f"{who} {has} less ({self.decision.thing.with_unit(amount(least))}) but {why}."]

    @property
    def _prices(self) -> list[str]:
        """Who had least, and what the prices were learned from."""
        decision = self.decision
        if decision.prices is None:
            return []
        notes = []
        if isinstance(decision.problem, Divide):
            notes += self._last_unit(decision.problem)
        could = self.candidates[np.isfinite(self.recent[self.candidates])]
        if len(could) > 1:
            lowest = int(could[self.recent[could].argmin()])
            total = decision.thing.with_unit(amount(float(self.recent[lowest])))
            notes.append(f"{decision.agent_names[lowest]} has the {words(decision.problem.kind).least} ({total}).")
        if decision.learned_from is not None:
            notes.append(f"Prices were learned from {decision.learned_from}.")
        return notes

    def _last_unit(self, problem: Divide) -> list[str]:
        """Who has the last unit of an amount, and who would be next."""
        decision = self.decision
        prices = np.asarray(decision.prices, dtype=float)
        priced = problem.rates * prices * (-1.0 if problem.is_burden else 1.0)
        may = True if problem.allowed is None else problem.allowed
        has = decision.given > 0
        waits = ~has & (problem.caps > 0) & may & ~np.isnan(np.asarray(decision.before, dtype=float))
        if not has.any() or not waits.any():
            return []
        last, next_ = int(np.where(has, priced, np.inf).argmin()), int(np.where(waits, priced, -np.inf).argmax())
        names = decision.agent_names
        mine, theirs = amount(abs(float(priced[last]))), amount(abs(float(priced[next_])))
        return [f"A unit counts {mine} for {names[last]} (rate × price), and {theirs} for {names[next_]}, the next."]

    @cached_property
    def _rival(self) -> RunnerUp | None:
        """The next best choice if it is just as good."""
        other = next_best(self.decision)
        if other is None or not is_tied(self.decision.welfare_after, other.welfare, other.cost):
            return None
        return other

    @property
    def _is_tie(self) -> bool:
        """Whether a random draw decided."""
        return self._rival is not None and leximin_apart(self.decision, self._rival.after) is None

    @property
    def was_drawn(self) -> bool:
        """Whether a random draw decided."""
        return self._is_tie

    @property
    def _tie(self) -> list[str]:
        """Between whom a draw decided, or that the next of the worst-off did."""
        decision, rival = self.decision, self._rival
        if rival is None:
            return []
        now, then = set(decision.served.tolist()), set(decision.problem.served(rival.given).tolist())
        names = decision.agent_names
        apart = leximin_apart(decision, rival.after)
        if apart is None:
            tied = self._as_good_as(min(now - then, default=-1), then - now)
            between = f"{listed(tied, NAMED)} were tied" if len(tied) > 1 else "Several choices were equally good"
            return [f"{between}: a random draw decided."]
        out = listed([names[i] for i in sorted(now - then)], NAMED)
        into = listed([names[i] for i in sorted(then - now)], NAMED)
        if decision.prices is not None:
            return [f"{out} and {into} are equal by price: the {words(decision.problem.kind).least} decided."]
        if self._reason is not None:
            return []
        rank, chosen, instead = apart
        which = f"{ordinal(rank)}{'heaviest' if decision.problem.is_burden else 'lowest'}"
        swap = f"With {into} instead of {out}" if out and into else "With the next best choice"
        return [f"{swap}, the {which} recent total would be {amount(instead)} instead of {amount(chosen)}."]

    def _as_good_as(self, agent: int, others: Collection[int]) -> list[str]:
        """The names of those who are in the same position as an agent that is served, and at least of these others."""
        names, worth = self.decision.agent_names, self._worth
        alike = set(others) | ({agent} if agent >= 0 else set())
        if worth is not None and agent >= 0:
            level, need = self.recent[agent], worth[agent]
            same = np.isclose(self.recent, level, rtol=SEEN, atol=0) & np.isclose(worth, need, rtol=SEEN, atol=0)
            alike |= set(self.candidates[same[self.candidates]].tolist())
        return [names[i] for i in sorted(alike)]

    @property
    def _doubt(self) -> list[str]:
        """How far the decision may be from the best."""
        decision = self.decision
        if decision.optimal:
            return []
        if not math.isfinite(decision.gap):
            return ["It is not proven that no choice is better."]
        what = "burden lower" if decision.problem.is_burden else "welfare higher"
        return [f"It is not proven that no choice is better; it would have a {what} by at most {decision.gap:.4g}."]


def memory_in_words(decision: Decision) -> str:
    """How the past counts, in a sentence."""
    known = decision.memory.half_life
    each = f"Each {decision.thing.name or 'entry'}"
    if known is None:
        return f"The past counts by the memory {decision.memory!r}."
    half_lives = np.asarray(known, dtype=float)
    shortest, longest = float(half_lives.min()), float(half_lives.max())
    if longest == 0:
        return "The past does not count (no memory)."
    if shortest == math.inf:
        return f"{each} counts in full for ever (perfect recall)."
    length = duration_in_words(shortest, decision.time_unit)
    if shortest < longest:
        length = f"{length} to {duration_in_words(longest, decision.time_unit)}, depending on the agent"
    return f"{each} counts half after {length}."


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


def ordinal(rank: int) -> str:
    """What stands before `lowest`, counting from 0: nothing, `second-`, `third-`, `4th-`, `21st-`."""
    n = rank + 1
    ending = "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return {0: "", 1: "second-", 2: "third-"}.get(rank, f"{n}{ending}-")


def duration_in_words(length: float, unit: str) -> str:
    """A length of time in words; less than a day or an hour is given in the next smaller unit."""
    for larger, smaller, times in (("day", "hour", 24), ("hour", "minute", 60)):
        if unit == larger and length < 1 - 1e-9:
            length, unit = length * times, smaller
    return f"{length:.4g} {unit}" if f"{length:.4g}" == "1" else f"{length:.4g} {unit}s"
