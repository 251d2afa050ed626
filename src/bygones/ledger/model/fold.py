r"""The fold: from events in the order of effect to what is known of every agent.

Everything that says where somebody stands comes from here: standings now, then or as they were known, decisions, plans,
decisions made again, what `verify` checks, and audits of a ledger. They differ in which events they read, and where.

For each agent the snapshot holds the memory $Z$ at the instant of its latest event. Exponential decay makes this
enough: later instants fade it. Of an agent of whom something is recorded late, corrected or made void, all events are
folded again, so that the order of recording does not matter.

The recursion is that of `bygones.memory`, as a batch of one-agent memories because each agent has a clock of its own,
counted in half-lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array
from bygones.ledger.model.newcomers import starts
from bygones.ledger.model.participation import PRESENT, Clocks, Turns, status
from bygones.ledger.model.rules import RuleBook
from bygones.memory import Discounted, Memory, MemoryState, PerfectRecall

REMEMBERED = Discounted(gamma=0.5)
"""The ledger's memory, whose step is one half-life."""

RECEIVED = PerfectRecall()
"""The true total."""

NEVER = -1
"""In place of an instant, where there is none."""


@dataclass(frozen=True)
class Snapshot:
    """What is known of some agents, one row each.

    Attributes:
        names: the agents.
        turns: when they took part.
        as_of: the instants of their latest events, at which `remembered` holds.
        received: the memory of all that they truly received.
        remembered: the memory that fades.
        last: the instants at which they last received something, or `NEVER`.
    """

    names: tuple[str, ...]
    turns: tuple[Turns, ...]
    as_of: np.ndarray
    received: MemoryState
    remembered: MemoryState
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: Sequence[int] | np.ndarray) -> Snapshot:
        """The rows of some agents."""
        rows = np.asarray(rows, dtype=np.int64)
        return Snapshot(
            tuple(self.names[row] for row in rows),
            tuple(self.turns[row] for row in rows),
            self.as_of[rows],
            MemoryState(*(part[rows] for part in self.received)),
            MemoryState(*(part[rows] for part in self.remembered)),
            self.last[rows],
        )

    def put(self, rows: np.ndarray, agents: Snapshot) -> Snapshot:
        """The snapshot with the rows of some agents replaced."""
        names, turns = list(self.names), list(self.turns)
        for row, name, each in zip(rows, agents.names, agents.turns, strict=True):
            names[row], turns[row] = name, each
        return Snapshot(
            tuple(names),
            tuple(turns),
            _put(self.as_of, rows, agents.as_of),
            MemoryState(*(_put(old, rows, new) for old, new in zip(self.received, agents.received, strict=True))),
            MemoryState(*(_put(old, rows, new) for old, new in zip(self.remembered, agents.remembered, strict=True))),
            _put(self.last, rows, agents.last),
        )


class Facts(NamedTuple):
    """What events say, one entry each.

    Attributes:
        who: the row of the agent, -1 for none.
        time: the instant.
        amount: what it counts with, corrections included; 0 where there is none.
        is_received: whether the amount was truly received, or only counts as remembered.
        is_change: whether somebody joins, leaves, goes on hold or resumes, or a rule changes.
    """

    who: np.ndarray
    time: np.ndarray
    amount: np.ndarray
    is_received: np.ndarray
    is_change: np.ndarray

    def part(self, first: int, end: int | None) -> Facts:
        """Some of them."""
        return Facts(*(column[first:end] for column in self))

    @classmethod
    def amounts(cls, who: Sequence[int], time: int, amounts: Sequence[float], *, is_received: bool) -> Facts:
        """Amounts of some agents at one instant."""
        n = len(who)
        rows, values = np.asarray(who, dtype=np.int64), np.asarray(amounts, dtype=float)
        return cls(rows, np.full(n, time, dtype=np.int64), values, np.full(n, is_received), np.zeros(n, dtype=bool))


class Joining(NamedTuple):
    """Somebody joins, and what they start with is not known before that instant.

    Attributes:
        time: the instant.
        row: the agent's.
        rule: the newcomer rule, or None for the one in force then.
        key: by which the caller knows them.
    """

    time: int
    row: int
    rule: str | None
    key: int


class Start(NamedTuple):
    """What somebody starts with: beyond what is still remembered of them, never less than nothing."""

    joining: Joining
    amount: float


Load = Callable[[int | None, int], Iterable[Facts]]
"""The facts after one instant, or all, up to another."""


def fold(
    agents: Snapshot,
    book: RuleBook,
    load: Load,
    after: int | None,
    until: int,
    joining: Sequence[Joining] = (),
    given: Callable[[Start], float] = lambda start: start.amount,
) -> tuple[Snapshot, list[Start]]:
    """The snapshot with what happens between two instants, and what those start with who join by a rule meanwhile.

    Facts are asked for up to each instant at which somebody joins, in the order of time. `given` says what they were
    really given to start with, where that is known.
    """
    found: list[Start] = []
    for time, some in groupby(joining, lambda each: each.time):
        for facts in load(after, time):
            agents = add(agents, book, facts)
        new = starts_at(agents, book, time, list(some))
        rows, amounts = [start.joining.row for start in new], [given(start) for start in new]
        agents = add(agents, book, Facts.amounts(rows, time, amounts, is_received=False))
        found, after = [*found, *new], time
    for facts in load(after, until):
        agents = add(agents, book, facts)
    return agents, found


def starts_at(agents: Snapshot, book: RuleBook, time: int, joining: Sequence[Joining]) -> list[Start]:
    """What those start with who join at one instant: the newcomer rule, applied to what the others have then.

    Whoever returns keeps what is still remembered, and is raised to the start, never lowered.
    """
    rules = book.at(time)
    known = replace(agents, as_of=np.minimum(agents.as_of, time))  # of those who join later, nothing is known
    remembered = values(fade(known, book, time).remembered)
    weights = rules.entitlements_of(agents.names)
    new = {each.row for each in joining}
    here = [row for row, each in enumerate(agents.turns) if status(each, time) == PRESENT and row not in new]
    found = []
    for each in joining:
        rule = rules.newcomers if each.rule is None else each.rule
        wanted = float(starts(rule, remembered[here], weights[here], weights[each.row]))
        found.append(Start(each, max(wanted - float(remembered[each.row]), 0.0)))
    return found


def empty(names: Sequence[str], turns: Sequence[Turns]) -> Snapshot:
    """Agents of whom nothing has been recorded yet but when they took part."""
    began = np.array([agent[0][0] for agent in turns], dtype=np.int64)
    n = len(names)
    return Snapshot(tuple(names), tuple(turns), began, _nothing(n), _nothing(n), np.full(n, NEVER))


def add(snapshot: Snapshot, book: RuleBook, facts: Facts) -> Snapshot:
    """The snapshot with more facts, none before the latest of its agent; it is not changed itself.

    Each agent's facts enter one after the other, in the order of time. So it makes no difference, to the last digit,
    in how many parts they come: whatever is read again from the events is the same as what was kept.
    """
    if (facts.who < 0).any():
        facts = Facts(*(column[facts.who >= 0] for column in facts))
    if not len(facts.who):
        return snapshot
    facts = Facts(*(column[np.lexsort((facts.time, facts.who))] for column in facts))
    who, times, amounts, is_received, _ = facts
    is_first = np.diff(who, prepend=-1) != 0
    since = np.where(is_first, snapshot.as_of[who], np.concatenate([[0], times[:-1]]))
    elapsed = Clocks(book, snapshot.turns).half_lives(who, since, np.maximum(times, since))
    received, remembered = (MemoryState(*map(np.array, each)) for each in (snapshot.received, snapshot.remembered))
    true = np.where(is_received, amounts, 0.0)
    start = np.flatnonzero(is_first)
    turn = np.arange(len(who)) - np.repeat(start, np.diff(np.append(start, len(who))))
    by_turn = np.argsort(turn, kind="stable")
    for some in np.split(by_turn, np.flatnonzero(np.diff(turn[by_turn])) + 1):
        _advance(REMEMBERED, remembered, who[some], amounts[some], elapsed[some])
        _advance(RECEIVED, received, who[some], true[some], np.zeros(len(some)))
    as_of, last = snapshot.as_of.copy(), snapshot.last.copy()
    np.maximum.at(as_of, who, times)
    counts = is_received & (amounts > 0)
    np.maximum.at(last, who[counts], times[counts])
    return replace(snapshot, as_of=as_of, last=last, received=received, remembered=remembered)


def _advance(
    memory: Memory[MemoryState], state: MemoryState, who: np.ndarray, amounts: np.ndarray, elapsed: np.ndarray
) -> None:
    """Adds an amount to the memory of each of some agents, in place."""
    new = memory.advance(MemoryState(*(part[who] for part in state)), amounts[:, None], elapsed)
    for part, changed in zip(state, new, strict=True):
        np.asarray(part)[who] = changed


def fade(snapshot: Snapshot, book: RuleBook, at: int) -> Snapshot:
    """The snapshot at an instant not before any agent's latest event, if nothing happens until then."""
    until = replace(snapshot, as_of=np.full(len(snapshot), at))
    elapsed = Clocks(book, snapshot.turns).half_lives(np.arange(len(snapshot)), snapshot.as_of, until.as_of)
    return replace(until, remembered=REMEMBERED.advance(snapshot.remembered, np.zeros((len(snapshot), 1)), elapsed))


def values(state: MemoryState) -> np.ndarray:
    """The totals of the agents, with what rounding dropped put back."""
    return np.asarray((state.Z + state.Z_lost)[:, 0])


def _put(old: Array, rows: np.ndarray, new: Array) -> np.ndarray:
    changed = np.array(old)
    changed[rows] = new
    return changed


def _nothing(n: int) -> MemoryState:
    return MemoryState(np.zeros((n, 1)), np.zeros(n), np.zeros((n, 1)), np.zeros(n))
