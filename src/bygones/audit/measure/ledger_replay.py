"""The past of a ledger under another half-life, by the ledger's own rules: its replay, clocks and newcomer rule.

Holds stop the clock where the rules say so, offsets are remembered, and whoever left is away. What a newcomer started
with is recorded in the ledger. Where the newcomer rule gave that amount, the rule gives it again under the other
half-life, from what the others have then; any other amount stays as it was recorded. With the half-life of the rules
the standing is the ledger's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bygones._text import listed
from bygones.audit.measure.sums import Periods
from bygones.audit.measure.trajectory import PeriodEnd
from bygones.audit.read.ledger_events import NOBODY, LedgerEvents, are
from bygones.ledger.model import fold
from bygones.ledger.model.bounds import LARGEST, LARGEST_CORRECTION
from bygones.ledger.model.events import DECISIONS, KINDS, PARTICIPATION, RECEIVED
from bygones.ledger.model.fold import Facts, Joining, Snapshot, Start
from bygones.ledger.model.owed_since import Watch
from bygones.ledger.model.participation import PRESENT, Turns, status
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.model.times import SECOND

_CLOSE = 1e-9

SHOWN = 5
"""The most events that a note names."""


class LedgerPast:
    """The events of a ledger up to a moment, from which its past can be replayed under any half-life.

    Attributes:
        names: the agents who have joined by then, in alphabetical order.
        turns: when they took part.
        book: the ledger's rules.
    """

    def __init__(self, events: LedgerEvents, until: int, newcomers: str | None = None) -> None:
        """Takes the events up to a moment; a newcomer rule here replaces the ledger's own."""
        self.book, self._newcomers = events.book, newcomers
        past = _past(events, until)
        found: dict[int, list[tuple[int, str]]] = {}
        for i in np.flatnonzero(are(past.kind, *PARTICIPATION)).tolist():
            found.setdefault(int(past.agent[i]), []).append((int(past.time[i]), KINDS[past.kind[i]]))
        joined = sorted(found, key=lambda row: events.names[row])
        self.names = tuple(events.names[row] for row in joined)
        self.turns: tuple[Turns, ...] = tuple(tuple(found[row]) for row in joined)
        row_of = np.full(len(events.names) + 1, NOBODY, dtype=np.int64)
        row_of[joined] = np.arange(len(joined))
        counts = np.abs(past.amount) <= LARGEST_CORRECTION  # as in the ledger itself
        self._too_large = past.seq[~counts].tolist()
        amount = np.where(counts, past.amount, 0.0)
        who, is_join = row_of[past.agent], are(past.kind, "join")
        self._facts = Facts(
            who, past.time, amount, are(_original_kinds(past), *RECEIVED), are(past.kind, *PARTICIPATION, "rules")
        )
        corrected = set(past.refers[are(past.kind, "correction")].tolist())
        joins = [int(i) for i in np.flatnonzero(is_join) if int(past.seq[i]) not in corrected]
        self._joining = [Joining(int(past.time[i]), int(who[i]), newcomers, i) for i in joins]
        if newcomers is None:
            recorded = self._facts.amount
            starts = self._starts(self.book, lambda start: float(recorded[start.joining.key]))
            self._joining = [
                start.joining
                for start in starts
                if math.isclose(start.amount, recorded[start.joining.key], rel_tol=_CLOSE, abs_tol=1e-12)
            ]

    @property
    def by_rule(self) -> frozenset[str]:
        """Those who started with what the newcomer rule gives, not with an amount of their own, as imports record."""
        return frozenset(self.names[each.row] for each in self._joining)

    @property
    def received(self) -> np.ndarray:
        """The true total of each agent."""
        counts = self._facts.is_received & (self._facts.who >= 0)
        totals = np.bincount(self._facts.who[counts], self._facts.amount[counts], len(self.names))
        # What is corrected to nothing is nothing, whatever rounding leaves.
        return np.maximum(totals, 0.0)

    @property
    def joined(self) -> np.ndarray:
        """When each agent joined for the first time."""
        return np.array([turns[0][0] for turns in self.turns], dtype=float)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Whether each agent is present, on hold or away in the end."""
        until = int(self._facts.time[-1]) if len(self._facts.time) else 0
        return tuple(status(turns, until) for turns in self.turns)

    def under(self, half_life: float) -> RuleBook:
        """The rules as if this half-life, in microseconds, had always been in force."""
        text = "never" if math.isinf(half_life) else f"{half_life / SECOND!r}s"
        first, *later = self.book.changes
        changes = [Change(first.time, first.seq, {**first.settings, "half_life": text})]
        for change in later:
            settings = {name: value for name, value in change.settings.items() if name != "half_life"}
            changes.append(Change(change.time, change.seq, settings))
        return RuleBook(changes)

    def walk(self, cut: Periods, half_life: float, weights: np.ndarray | None = None) -> Iterator[PeriodEnd]:
        """What is remembered at the end of each period, the earliest first; `weights` replace the entitlements."""
        book = self.under(half_life)
        facts, state, done = self._with_starts(book), self._empty(), 0
        for period in range(cut.count - 1, -1, -1):
            at = max(round(cut.end_of(period)), book.began)
            until = int(np.searchsorted(facts.time, at, side="right"))
            state, done = fold.add(state, book, facts.part(done, until)), until
            entitlements = book.at(at).entitlements_of(self.names) if weights is None else weights
            yield PeriodEnd(period, self._read(state, book, at), self._present(at), entitlements)

    def since(self, half_life: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Since when each agent has been owed without a break, NaN if it is not, as `ledger standing` reports it."""
        book = self.under(half_life)
        if weights is not None:
            given = dict(zip(self.names, weights.tolist(), strict=True))
            book = RuleBook([Change(c.time, c.seq, {**c.settings, "entitlements": given}) for c in book.changes])
        watch = Watch(book, self._empty())
        watch.follow(self._with_starts(self.under(half_life)))
        return np.where(watch.owed_since < 0, math.nan, watch.owed_since.astype(float))

    def note(self) -> str:
        """What the audit does with the ledger, in sentences."""
        own = self.book.history[-1]
        half_lives = [rules.half_life for rules in self.book.history]
        changed = len({rules.seconds for rules in self.book.history}) > 1
        past = f" It changed from {half_lives[0]}, and the ledger used each while it was in force." if changed else ""
        rule = own.newcomers if self._newcomers is None else self._newcomers
        return (
            "This history is a ledger, replayed by its own rules under each half-life: holds, offsets, departures"
            f"{f', entitlements and the newcomer rule ({rule})' if self._joining else ' and entitlements'} count. "
            f"Its own half-life is {half_lives[-1]}.{past}{self._beyond()}"
        )

    def _beyond(self) -> str:
        if not self._too_large:
            return ""
        which = "event" if len(self._too_large) == 1 else "events"
        numbers = listed([str(seq) for seq in self._too_large], SHOWN)
        return (
            f" Amounts beyond {LARGEST:g} do not count ({which} {numbers}): correct them to what they should have been."
        )

    def _with_starts(self, book: RuleBook) -> Facts:
        """The facts with what newcomers would have started with under these rules."""
        amount = self._facts.amount.copy()
        for start in self._starts(book):
            amount[start.joining.key] = start.amount
        return self._facts._replace(amount=amount)

    def _starts(self, book: RuleBook, given: Callable[[Start], float] = lambda start: start.amount) -> list[Start]:
        """What the newcomer rule gives those who join by it, from what the others have at that moment."""
        if not self._joining:
            return []
        amount = self._facts.amount.copy()
        amount[[each.key for each in self._joining]] = 0.0
        facts, done = self._facts._replace(amount=amount), 0
        # What was recorded after a join, even for the same instant, was not known to it.
        first_at = {each.time: each.key for each in reversed(self._joining)}

        def load(_: int | None, until: int) -> Iterable[Facts]:
            nonlocal done
            since, done = done, first_at.pop(until, int(np.searchsorted(facts.time, until, side="right")))
            return [facts.part(since, done)]

        last = self._joining[-1].time
        return fold.fold(self._empty(), book, load, None, last, self._joining, given)[1]

    def _present(self, at: int) -> np.ndarray:
        return np.array([status(turns, at) == PRESENT for turns in self.turns], dtype=bool)

    def _empty(self) -> Snapshot:
        return fold.empty(self.names, self.turns)

    def _read(self, state: Snapshot, book: RuleBook, at: int) -> np.ndarray:
        """What is remembered at a moment; of those who join later, nothing."""
        known = replace(state, as_of=np.minimum(state.as_of, at))
        return fold.values(fold.fade(known, book, at).remembered)


def _past(events: LedgerEvents, until: int) -> LedgerEvents:
    """What has happened by a moment in the order of time, and within an instant of recording, without decisions.

    A change of rules is of no agent, but it can change who is owed something.
    """
    changes = [change for change in events.book.changes if change.time <= until]
    kept = (events.time <= until) & ~events.are("rules", *DECISIONS)
    none = [NOBODY] * len(changes)
    seq = _with(events.seq[kept], [change.seq for change in changes])
    time = _with(events.time[kept], [change.time for change in changes])
    order = np.lexsort((seq, time))
    return events._replace(
        seq=seq[order],
        time=time[order],
        kind=_with(events.kind[kept], [KINDS.index("rules")] * len(changes))[order],
        agent=_with(events.agent[kept], none)[order],
        amount=_with(events.amount[kept], [0.0] * len(changes))[order],
        refers=_with(events.refers[kept], none)[order],
    )


def _with(column: np.ndarray, added: Sequence[float]) -> np.ndarray:
    return np.concatenate([column, np.array(added, dtype=column.dtype)])


def _original_kinds(past: LedgerEvents) -> np.ndarray:
    """The kind of each event; of a correction, that of the event which it corrects."""
    by_number = np.argsort(past.seq)
    place = np.searchsorted(past.seq[by_number], past.refers)
    original = by_number[np.minimum(place, len(by_number) - 1)]
    is_known = are(past.kind, "correction") & (past.seq[original] == past.refers)
    return np.where(is_known, past.kind[original], np.where(are(past.kind, "correction"), NOBODY, past.kind))
