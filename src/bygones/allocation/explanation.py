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
from bygones.allocation.headline import headline
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.ties import SEEN
from bygones.document.document import Cell, Column, Document, Table
from bygones.kinds import words
from bygones.memory import Capped, Memory, Reset, SlidingWindow

if TYPE_CHECKING:
    from bygones.allocation.decision import Decision

MOST_ROWS = 20
"""The most agents in the table: those who are served, and those who came closest to it."""


class Circumstances(NamedTuple):
    """Facts about a decision that only a ledger knows.

    Attributes:
        asking: the indices of the agents who could have been served; None for all.
        last: per agent, when it was last served, as text; empty if that is not known.
        when: the day of the decision, as text.
        memory: how the past counts, in a sentence; empty to ask the memory of the decision.
        more: further sentences.
        has_draw: whether a seed for the draw is on record, so readers ask whether it was used.
    """

    asking: Collection[int] | None = None
    last: Sequence[str] = ()
    when: str = ""
    memory: str = ""
    more: Sequence[str] = ()
    has_draw: bool = False


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
    def table(self) -> Table:
        """Everyone who came into question, those who are served first, then those who came closest to it."""
        rows = self._rows
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
        return [*self._left_out, memory, *self._prices, *self._tie, *self._doubt, *self.about.more]

    @property
    def _rows(self) -> list[int]:
        """The agents in the table: half of a long one is for those who are not served."""
        order, count = self.compared.in_order(), len(self.decision.served)
        if len(order) <= MOST_ROWS:
            return order
        first = min(count, max(MOST_ROWS // 2, MOST_ROWS - (len(order) - count)))
        return [*order[:first], *order[count : count + MOST_ROWS - first]]

    def _columns(self) -> list[tuple[Column, Sequence[Cell]]]:
        """The columns of the table, each with a cell for every agent of the problem."""
        decision, compared, thing = self.decision, self.compared, self.decision.thing
        is_burden, is_place = decision.problem.is_burden, compared.worth is not None
        columns: list[tuple[Column, Sequence[Cell]]] = [(Column("agent", folds=True), decision.agent_names)]

        def add(name: str, values: object, measure: str = "") -> None:
            columns.append((Column(name, measure=measure), np.asarray(values, dtype=float).tolist()))

        if not is_place:
            gets = [decision.gets.get(name, "").removeprefix("the ") for name in decision.agent_names]
            columns.append((Column(words(decision.problem.kind).gets, folds=True), gets))
        if decision.unrounded is not None and not np.allclose(decision.given, decision.unrounded, rtol=SEEN, atol=SEEN):
            add("unrounded", decision.unrounded)
        if compared.has_shares:
            add("share", decision.entitlements)
        per = " per share" if compared.has_shares else ""
        add(f"{thing.with_unit('recent')}{per}", compared.recent, "total")
        if is_place and not compared.has_equal_needs and (compared.score is None or decision.prices is not None):
            add("load" if is_burden else "need", compared.worth)
        if decision.prices is not None:
            add("price", decision.prices)
        if compared.score is not None:
            add(*compared.score)
        add(f"{'with this' if is_place else 'after'}{per}", compared.with_this, "total")
        if self.about.last:
            columns.append((Column(f"last {thing.name or 'time'}", gives_way=1), self.about.last))
        return columns

    @property
    def _left_out(self) -> list[str]:
        """The agents who are not in the table, and anything that is left over."""
        decision, compared = self.decision, self.compared
        is_burden = decision.problem.is_burden
        hidden, left = len(compared.candidates) - len(self._rows), decision.problem.left_over(decision.given)
        notes = [f"The table leaves out {hidden:,} others {words(decision.problem.kind).others}."] if hidden else []
        notes += [f"{capitalized(left)} left over."] if left and len(decision.served) else []
        lowest = self._lowest(np.arange(decision.problem.n_agents))
        if not len(decision.served) or set(lowest) & set(compared.candidates.tolist()):
            return notes
        was = "was" if len(lowest) == 1 else "were"
        return [*notes, f"{self._has_least(lowest)} but {f'{was} not available' if is_burden else 'did not ask'}."]

    def _lowest(self, agents: np.ndarray) -> list[int]:
        """The agents with the lowest recent total among these."""
        recent = self.compared.recent[agents]
        if not np.isfinite(recent).any():
            return []
        least = float(np.nanmin(recent))
        return [int(agent) for agent in agents[recent <= least + SEEN * abs(least)]]

    def _has_least(self, agents: Sequence[int]) -> str:
        names, total = [self.decision.agent_names[i] for i in agents], float(self.compared.recent[agents[0]])
        per = " per share" if self.compared.has_shares else ""
        least = f"{words(self.decision.problem.kind).least} ({self.decision.thing.with_unit(amount(total))}{per})"
        return f"{listed(names, NAMED)} {'has' if len(names) == 1 else 'have'} the {least}"

    @property
    def _prices(self) -> list[str]:
        """Under prices, the agents with least if none of them is served, and the source of the prices."""
        decision, compared = self.decision, self.compared
        if decision.prices is None:
            return []
        lowest = self._lowest(compared.candidates)
        notes = [f"{self._has_least(lowest)}."] if lowest and not compared.is_served[lowest].any() else []
        return [*notes, *([f"Prices were learned from {decision.learned_from}."] if decision.learned_from else [])]

    @property
    def was_drawn(self) -> bool:
        """Whether a random draw decided."""
        return self.compared.is_tie

    @property
    def _tie(self) -> list[str]:
        """The agents among whom a draw decided; or that none was needed, where readers know of its seed."""
        compared = self.compared
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
    memory, each, unit = decision.memory, f"Each {decision.thing.name or 'entry'}", decision.time_unit
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
