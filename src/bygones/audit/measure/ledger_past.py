"""The past of a ledger under another half-life, by the ledger's own rules: its replay, clocks and newcomer rule.

Holds stop the clock if the rules define it so, offsets count, and agents who left are away. The start of each newcomer
is recorded in the ledger. If the newcomer rule gave that amount, the rule is applied again under the other half-life,
to the recent totals of the others then. Any other start stays as recorded. With the half-life of the rules the standing
is the ledger's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bygones._text import listed
from bygones.allocation.settling import settle
from bygones.audit.measure.pasts import Attendance, Past, PeriodEnd, Trajectory
from bygones.audit.measure.sums import Periods
from bygones.audit.read.history import History
from bygones.audit.read.ledger_events import NOBODY, LedgerEvents
from bygones.ledger.model import fold
from bygones.ledger.model.events import DECISIONS, KINDS, LARGEST, LARGEST_CORRECTION, PARTICIPATION, RECEIVED
from bygones.ledger.model.fold import Facts, Joining, Snapshot, Start
from bygones.ledger.model.owed_since import Watch
from bygones.ledger.model.participation import PRESENT, Participation, status
from bygones.ledger.model.rules import MEMORY_SETTINGS, Change, RuleBook, check_newcomers
from bygones.ledger.model.times import SECOND

_CLOSE = 1e-9

SHOWN = 5
"""The most events that a note names."""


class LedgerPast(Past):
    """The events of a ledger up to the moment of the audit, replayed by its own rules under any half-life."""

    def __init__(
        self,
        history: History,
        events: LedgerEvents,
        book: RuleBook,
        cut: Periods,
        entitlements: Mapping[str, float] | None,
        others: str | float | None,
        newcomers: str | None,
    ) -> None:
        """Takes the events and the rules; entitlements and a newcomer rule here replace the ledger's own."""
        self.cut, self.began = cut, np.zeros(cut.count)
        self._book, self._newcomers = book, newcomers
        past = _past(events, int(cut.end))
        self.n_events = int(((events.time <= cut.end) & ~events.are("rules", *DECISIONS)).sum())
        changes: dict[int, list[tuple[int, str]]] = {}
        for i in np.flatnonzero(past.are(*PARTICIPATION)).tolist():
            changes.setdefault(int(past.agent[i]), []).append((int(past.time[i]), KINDS[past.kind[i]]))
        joined = sorted(changes, key=lambda row: events.names[row])
        self._names = tuple(events.names[row] for row in joined)
        self._participation: tuple[Participation, ...] = tuple(tuple(changes[row]) for row in joined)
        self.joined = np.array([each[0][0] for each in self._participation], dtype=float)
        row_of = np.full(len(events.names) + 1, NOBODY, dtype=np.int64)
        row_of[joined] = np.arange(len(joined))
        counts = np.abs(past.amount) <= LARGEST_CORRECTION  # as in the ledger itself
        self._too_large = past.seq[~counts].tolist()
        amount = np.where(counts, past.amount, 0.0)
        who, is_received = row_of[past.agent], past.are(*RECEIVED)
        self._facts = Facts(who, past.time, amount, is_received, past.are(*PARTICIPATION, "rules"))
        self._joining = self._joins_by_rule(past, who)
        theirs = is_received & (who >= 0)
        self.received = np.bincount(who[theirs], amount[theirs], len(joined))
        rules = book.at(max(int(cut.end), book.began))
        self._weights = None if entitlements is None else self._settled(entitlements, others, history.source.label)
        weights = rules.entitlements_of(self._names) if self._weights is None else self._weights
        first = np.minimum(np.floor((cut.end - self.joined) / cut.length).astype(np.int64), cut.count - 1)
        rule = rules.newcomers if newcomers is None else check_newcomers(newcomers)
        by_rule = frozenset(each.name for each in self._joining)
        self.who = Attendance(self._names, weights, rule, first, by_rule=by_rule)
        self.notes = (self._note(),)

    def _joins_by_rule(self, past: LedgerEvents, who: np.ndarray) -> list[Joining]:
        """The agents who started by the newcomer rule, not with a recorded amount, as after an import."""
        corrected = set(past.refers[past.are("correction")].tolist())
        joins = [int(i) for i in np.flatnonzero(past.are("join")) if int(past.seq[i]) not in corrected]
        joining = [Joining(int(past.time[i]), self._names[int(who[i])], self._newcomers, i) for i in joins]
        if self._newcomers is not None:
            return joining
        recorded = self._facts.amount
        starts = self._starts(self._book, joining, lambda start: float(recorded[start.joining.key]))
        return [
            start.joining
            for start in starts
            if math.isclose(start.amount, recorded[start.joining.key], rel_tol=_CLOSE, abs_tol=1e-12)
        ]

    def _settled(self, entitlements: Mapping[str, float], others: str | float | None, label: str) -> np.ndarray:
        received = dict(zip(self._names, self.received.tolist(), strict=True))
        settled = settle(entitlements, received, others, label)
        unknown = sorted(set(settled) - set(self._names))
        if unknown:
            raise ValueError(f"entitlements must name agents of the ledger, got {unknown[0]!r}, who has not joined")
        return np.array([settled[name] for name in self._names])

    def course(self, half_life: float) -> Iterator[PeriodEnd]:
        return self._walk(self.cut, half_life)

    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        return {h: next(self._walk(self.cut.as_one(), h)).remembered for h in wanted}

    def status(self, row: int, is_present: bool) -> str:
        return status(self._participation[row], int(self._facts.time[-1]) if len(self._facts.time) else 0)

    def standing(self, half_life: float) -> Trajectory:
        # The ledger knows to the instant since when an agent has been owed.
        return replace(super().standing(half_life), since=self._since(half_life))

    def _under(self, half_life: float) -> RuleBook:
        """The rules as if this half-life, in microseconds, had always been in force."""
        text = "inf" if math.isinf(half_life) else f"{half_life / SECOND!r}s"
        first, *later = (change._replace(settings=_without_memory(change)) for change in self._book.changes)
        return RuleBook([first._replace(settings={**first.settings, "half_life": text}), *later])

    def _walk(self, cut: Periods, half_life: float) -> Iterator[PeriodEnd]:
        """The recent totals at the end of each period, the earliest first."""
        book = self._under(half_life)
        facts, state, done = self._with_starts(book), self._empty(book), 0
        for period in range(cut.count - 1, -1, -1):
            at = max(round(cut.end_of(period)), book.began)
            until = int(np.searchsorted(facts.time, at, side="right"))
            state, done = fold.add(state, book, facts.part(done, until)), until
            entitlements = book.at(at).entitlements_of(self._names) if self._weights is None else self._weights
            is_present = np.array([status(each, at) == PRESENT for each in self._participation], dtype=bool)
            yield PeriodEnd(period, fold.remembered(state, book, at), is_present, entitlements)

    def _since(self, half_life: float) -> np.ndarray:
        """Since when each agent has been owed without a break, NaN if it is not, as `ledger standing` reports it."""
        book = self._under(half_life)
        if self._weights is not None:
            given = dict(zip(self._names, self._weights.tolist(), strict=True))
            book = RuleBook([c._replace(settings={**c.settings, "entitlements": given}) for c in book.changes])
        watch = Watch(book, self._empty(book))
        watch.follow(self._with_starts(self._under(half_life)))
        return np.where(watch.owed_since < 0, math.nan, watch.owed_since.astype(float))

    def _note(self) -> str:
        """How the audit replays the ledger, in sentences."""
        own = self._book.history[-1]
        half_lives = [rules.half_life for rules in self._book.history]
        changed = len({rules.seconds for rules in self._book.history}) > 1
        past = f" It changed from {half_lives[0]}, and the ledger used each while it was in force." if changed else ""
        rule = own.newcomers if self._newcomers is None else self._newcomers
        return (
            "This history is a ledger, replayed by its own rules under each half-life: holds, offsets, departures"
            f"{f', entitlements and the newcomer rule ({rule})' if self._joining else ' and entitlements'} count. "
            f"Its own {'half-life is ' + half_lives[-1] if own.fades_alike else 'memory is ' + own.memory_in_words}."
            f"{past if own.fades_alike else ''}{self._beyond()}"
        )

    def _beyond(self) -> str:
        if not self._too_large:
            return ""
        which = "event" if len(self._too_large) == 1 else "events"
        numbers = listed([str(seq) for seq in self._too_large], SHOWN)
        return f" Amounts beyond {LARGEST:g} do not count ({which} {numbers}): correct them to the right amounts."

    def _with_starts(self, book: RuleBook) -> Facts:
        """The facts, with the starts of newcomers under these rules."""
        amount = self._facts.amount.copy()
        for start in self._starts(book, self._joining):
            amount[start.joining.key] = start.amount
        return self._facts._replace(amount=amount)

    def _starts(
        self, book: RuleBook, joining: Sequence[Joining], given: Callable[[Start], float] = lambda start: start.amount
    ) -> list[Start]:
        """The starts by the newcomer rule, from the recent totals of the others at each moment."""
        if not joining:
            return []
        amount = self._facts.amount.copy()
        amount[[each.key for each in joining]] = 0.0
        facts, done = self._facts._replace(amount=amount), 0
        # Events recorded after a join, even for the same instant, were not known to it.
        first_at = {each.time: each.key for each in reversed(joining)}

        def load(_: int | None, until: int) -> Iterable[Facts]:
            nonlocal done
            since, done = done, first_at.pop(until, int(np.searchsorted(facts.time, until, side="right")))
            return [facts.part(since, done)]

        return fold.fold(self._empty(book), book, load, None, joining[-1].time, joining, given)[1]

    def _empty(self, book: RuleBook) -> Snapshot:
        return fold.empty(self._names, self._participation, book.history[-1].remembering)


def _without_memory(change: Change) -> dict[str, Any]:
    """The settings of a change but for how the ledger remembers. Whether a hold stops the clock stays."""
    left_out = [name for name in MEMORY_SETTINGS if name != "hold_stops_clock"]
    return {name: value for name, value in change.settings.items() if name not in left_out}


def _past(events: LedgerEvents, until: int) -> LedgerEvents:
    """The events up to a moment in the order of time, and within an instant of recording, without decisions.

    A change of rules is of no agent, but it can change who is owed something.
    """
    past = events.only((events.time <= until) & ~events.are(*DECISIONS))
    return past.only(np.lexsort((past.seq, past.time)))
