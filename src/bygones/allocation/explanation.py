"""The explanation of a decision: a headline, a table of everyone who came into question, a line about the memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bygones._text import amount, capitalized, listed, plural
from bygones.allocation.comparison import Comparison
from bygones.allocation.headline import headline, reason
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.problems import Divide
from bygones.allocation.ties import SEEN
from bygones.document.document import Cell, Column, Document, Table
from bygones.kinds import words
from bygones.memory import Capped, Memory, Reset, SlidingWindow

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision

_ALIKE = 1e-6
"""Parts that differ by less from unrounded ones are shown once."""


class Circumstances(NamedTuple):
    """Facts about a decision that only a ledger knows.

    Attributes:
        asking: the indices of the agents who could have been served; None for all.
        last: per agent, when it was last served, as text; empty if that is not known.
        when: the day of the decision, as text.
        memory: how the past counts, in a sentence; empty to ask the memory of the decision.
        more: further sentences.
        on_hold: those on hold, each with its recent total and its entitlement.
        has_draw: whether a seed for the draw is on record, so readers ask whether it was used.
    """

    asking: Collection[int] | None = None
    last: Sequence[str] = ()
    when: str = ""
    memory: str = ""
    more: Sequence[str] = ()
    has_draw: bool = False
    on_hold: Sequence[tuple[str, float, float]] = ()


NOTHING_MORE = Circumstances()
"""The circumstances of a decision without a ledger."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons of a decision."""

    decision: Decision
    about: Circumstances = NOTHING_MORE

    @cached_property
    def compared(self) -> Comparison:
        """The agents who came into question."""
        return Comparison(self.decision, self.about.asking)

    @property
    def document(self) -> Document:
        """The explanation as people read it."""
        return Document(self.headline, [self.table, *self.notes], "Decision")

    @property
    def sentences(self) -> list[str]:
        """The headline and the notes."""
        return [self.headline, *self.notes]

    @property
    def headline(self) -> str:
        """Who gets what, and why."""
        return headline(self.compared, self.about.when)

    @property
    def brief_reason(self) -> str:
        """The reason alone, in a few words; empty if nobody gets anything."""
        return reason(self.compared, brief=True) if len(self.decision.served) else ""

    @property
    def table(self) -> Table:
        """Everyone who came into question, those who are served first, then those who came closest to it."""
        rows = self.compared.shown
        columns = self._columns() if rows else []
        return Table(
            "",
            [column for column, _ in columns],
            [[cells[agent] for _, cells in columns] for agent in rows],
            frozenset(i for i, agent in enumerate(rows) if self.compared.is_served[agent]),
        ).without_empty()

    @property
    def notes(self) -> list[str]:
        """Further sentences: agents who are not in the table, the memory, a tie, how sure it is."""
        memory = self.about.memory or memory_in_words(self.decision)
        return [*self._left_out, memory, *self._prices, *self._tie, *self._doubt, *self._without_load, *self.about.more]

    def _columns(self) -> list[tuple[Column, Sequence[Cell]]]:
        """The columns of the table, each with a cell for every agent of the problem."""
        decision, compared, thing = self.decision, self.compared, self.decision.thing
        is_burden, is_place = decision.problem.is_burden, compared.worth is not None
        columns: list[tuple[Column, Sequence[Cell]]] = [(Column("agent", folds=True), decision.agent_names)]

        def add(name: str, values: object, measure: str = "", gives_way: int = 0, exact: bool = False) -> None:
            columns.append((Column(name, gives_way, False, measure, exact), np.asarray(values, dtype=float).tolist()))

        def add_some(name: str, values: np.ndarray, are_shown: np.ndarray, exact: bool = False) -> None:
            cells = [value if is_shown else None for value, is_shown in zip(values.tolist(), are_shown, strict=True)]
            columns.append((Column(name, 2, exact=exact), cells))

        def add_score() -> None:
            if is_place and not compared.has_equal_needs and (compared.score is None or decision.prices is not None):
                add("load" if is_burden else "need", compared.worth, exact=True)
            if decision.prices is not None:
                add("price", decision.prices)
            if compared.score is not None:
                add(*compared.score, exact=decision.prices is None)

        if not is_place:
            gets = [decision.gets.get(name, "").removeprefix("the ") for name in decision.agent_names]
            columns.append((Column(words(decision.problem.kind).gets, folds=True), gets))
        if decision.unrounded is not None:
            is_same = np.isclose(decision.given, decision.unrounded, rtol=_ALIKE, atol=_ALIKE)
            add_some("unrounded", decision.unrounded, ~is_same)
        if isinstance(decision.problem, Divide):
            rates, caps = decision.problem.rates, decision.problem.caps
            if compared.score is None and np.ptp(rates[compared.candidates]) > 0:
                add("rate", rates, exact=True)
            add_some("cap", caps, np.isfinite(caps), exact=True)
        if decision.prices is not None:  # which decide, so they come before the recent totals
            add_score()
        per = ""
        if compared.has_shares:
            add("share", decision.entitlements, exact=True)
            add(thing.with_unit("recent"), compared.received, "total", gives_way=3)
            per = " per share"
        add(f"{thing.with_unit('recent')}{per}", compared.recent, "total")
        if decision.prices is None:
            add_score()
        add(f"{'with this' if is_place else 'after'}{per}", compared.with_this, "total")
        if self.about.last:
            columns.append((Column(f"last {thing.name or 'time'}", gives_way=1), self.about.last))
        return columns

    @property
    def _left_out(self) -> list[str]:
        """The agents who are not in the table, and anything that is left over."""
        decision, compared = self.decision, self.compared
        others = words(decision.problem.kind).others
        hidden, left = len(compared.candidates) - len(compared.shown), self._left_over
        notes = [f"The table leaves out {hidden:,} others {others}."] if hidden else []
        notes += [f"{capitalized(left)} left over."] if left and len(decision.served) else []
        return [*notes, *self._passed_over]

    @property
    def _left_over(self) -> str:
        """Anything that nobody gets, with a verb, in the words of those who hand it out."""
        decision, thing = self.decision, self.decision.thing
        left = decision.problem.left_over(decision.given)
        if left and isinstance(decision.problem, Divide) and (thing.name or thing.unit):
            number = left.removesuffix(" is")
            return f"{thing.with_unit(number) if thing.unit else f'{number} {plural(thing.name)}'} are"
        return left

    @property
    def _passed_over(self) -> list[str]:
        """The agents who did not come into question though their recent totals are lower than that of one served."""
        decision, compared = self.decision, self.compared
        served = compared.recent[decision.served]
        if not np.isfinite(served).any():
            return []
        highest = float(np.nanmax(served))
        highest -= SEEN * abs(highest)
        weights = np.ones(len(compared.recent)) if decision.entitlements is None else decision.entitlements
        is_out = compared.recent < highest
        is_out[compared.candidates] = False
        stood = [
            (decision.agent_names[i], float(compared.recent[i]), float(weights[i]))
            for i in np.flatnonzero(is_out).tolist()
        ]
        held = [(name, total / share, share) for name, total, share in self.about.on_hold if share > 0]
        held = [each for each in held if each[1] < highest]
        reasons = {"Not available" if decision.problem.is_burden else "Did not ask": stood, "On hold": held}
        notes = []
        for why, agents in reasons.items():
            agents.sort(key=lambda agent: agent[1])
            names = [f"{name} ({compared.total(total, share)})" for name, total, share in agents]
            notes += [f"{why}: {listed(names, NAMED)}."] if names else []
        return notes

    def _lowest(self, agents: np.ndarray) -> list[int]:
        """The agents with the lowest recent total among these."""
        recent = self.compared.recent[agents]
        if not np.isfinite(recent).any():
            return []
        least = float(np.nanmin(recent))
        return [int(agent) for agent in agents[recent <= least + SEEN * abs(least)]]

    def _has_least(self, agents: Sequence[int]) -> str:
        names = [self.decision.agent_names[i] for i in agents]
        total = self.compared.total(float(self.compared.recent[agents[0]]))
        least = f"{words(self.decision.problem.kind).least} ({total})"
        return f"{listed(names, NAMED)} {'has' if len(names) == 1 else 'have'} the {least}"

    @property
    def _prices(self) -> list[str]:
        """Under prices, the agents with least if none of them is served, and the source of the prices."""
        decision, compared = self.decision, self.compared
        if decision.prices is None:
            return []
        lowest = self._lowest(compared.candidates)
        notes = []
        if lowest and not compared.is_served[lowest].any():
            notes = [f"{self._has_least(lowest)}{self._but_a_worse_score(lowest)}."]
        unit, until = ("unit of work", "work more") if decision.problem.is_burden else ("unit", "get little")
        notes += [f"A price is how much a {unit} counts for someone. It rises while they {until}."]
        return [*notes, *([f"Prices were learned from {decision.learned_from}."] if decision.learned_from else [])]

    def _but_a_worse_score(self, agents: Sequence[int]) -> str:
        """Why agents with the least are not served, where they are compared by need × price."""
        if self.compared.score is None:
            return ""
        name, score = self.compared.score
        own, served = score[list(agents)], score[self.decision.served]
        is_burden = self.decision.problem.is_burden
        if not (own.min() > served.max() if is_burden else own.max() < served.min()):
            return ""
        number = f" ({self.compared.score_of(agents[0])})" if len(agents) == 1 else ""
        return f", but a {'higher' if is_burden else 'lower'} {name}{number}"

    @property
    def _without_load(self) -> list[str]:
        """That some work costs nothing, which is more often a mistake in the table."""
        compared, names = self.compared, self.decision.agent_names
        if not self.decision.problem.is_burden or compared.worth is None:
            return []
        idle = [names[agent] for agent in self.decision.served.tolist() if compared.worth[agent] == 0]
        if not idle:
            return []
        return [f"The load of {listed(idle, NAMED)} is 0. Leave the cell empty for someone who is not available."]

    @property
    def was_drawn(self) -> bool:
        """Whether a random draw decided."""
        return self.compared.is_tie or bool(self.compared.last_units)

    @property
    def _tie(self) -> list[str]:
        """The agents among whom a draw decided; or that none was needed, where readers know of its seed."""
        compared = self.compared
        if compared.last_units:
            names = listed([self.decision.agent_names[i] for i in compared.last_units], NAMED)
            verb = "took" if self.decision.problem.is_burden else "got"
            return [f"{names} were tied, so a random draw decided who {verb} one more."]
        if not compared.is_tie:
            return ["No tie, so no draw was needed."] if self.about.has_draw and compared.had_rivals else []
        if len(compared.tied) < 2:
            return ["Several choices were equally good, so a random draw decided."]
        names = listed([self.decision.agent_names[i] for i in compared.tied], NAMED)
        return [f"{names} were tied, so a random draw decided."]

    @property
    def _doubt(self) -> list[str]:
        """How far the decision may be from the best."""
        decision = self.decision
        if decision.optimal:
            return []
        if not math.isfinite(decision.gap):
            return ["There may be a better choice."]
        more = "lower burden" if decision.problem.is_burden else "higher welfare"
        return [f"There may be a better choice, with a {more} by at most {amount(decision.gap)}."]


def memory_in_words(decision: Decision) -> str:
    """How the past counts, in a sentence."""
    memory, each, unit = decision.memory, f"Each {decision.thing.entry(decision.problem.kind)}", decision.time_unit
    cap = ""
    if isinstance(memory, Capped):
        cap = f" No recent total counts above {decision.thing.with_unit(amount(float(memory.cap)))}."
        memory = memory.memory
    return f"{_fading_in_words(memory, each, unit)}.{cap}"


def _fading_in_words(memory: Memory, each: str, unit: str) -> str:
    if isinstance(memory, SlidingWindow):
        return f"{each} counts in full for {duration_in_words(memory.length, unit)}, then not at all"
    if isinstance(memory, Reset):
        period = duration_in_words(float(np.max(memory.every)), unit)
        return f"{each} counts in full, and counting starts over every {period}"
    known = memory.half_life
    if known is None:
        return f"The past counts by the memory {' '.join(repr(memory).split())}"
    half_lives = np.asarray(known, dtype=float)
    shortest, longest = float(half_lives.min()), float(half_lives.max())
    if longest == 0:
        return "The past does not count (no memory)"
    if shortest == math.inf:
        return f"{each} counts in full for ever (perfect recall)"
    if shortest < longest == math.inf:
        return f"{each} counts half after {duration_in_words(shortest, unit)} or never, depending on the agent"
    if shortest < longest:
        return f"{each} counts half after {shortest:.4g} to {duration_in_words(longest, unit)}, depending on the agent"
    return f"{each} counts half after {duration_in_words(shortest, unit)}"


def duration_in_words(length: float, unit: str) -> str:
    """A length of time in words; less than a day or an hour is given in the next smaller unit."""
    for larger, smaller, times in (("day", "hour", 24), ("hour", "minute", 60)):
        if unit == larger and length < 1 - 1e-9:
            length, unit = length * times, smaller
    number = f"{length:.4g}"
    return f"{number} {plural(unit, 1 if number == '1' else 2)}"
