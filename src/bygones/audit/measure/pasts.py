"""Where an audit gets its numbers: from decayed sums that the engine computes, or from the replay of a ledger."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from bygones.allocation.settling import settle
from bygones.audit.measure import approximation
from bygones.audit.measure.flips import Ask
from bygones.audit.measure.ledger_replay import LedgerPast
from bygones.audit.measure.sums import Periods, Sums, collect, expression
from bygones.audit.measure.trajectory import Attendance, PeriodEnd, Trajectory, attendance, standing, walk
from bygones.audit.read.history import History
from bygones.audit.read.ledger_events import LedgerEvents
from bygones.audit.read.sources import constant
from bygones.ledger.model.rules import check_newcomers
from bygones.ledger.model.standing import owed

DATED_EVENTS = 10_000_000
"""In a longer history, the first event of a period is not looked up: its start is given instead."""

ASKED_AT_ONCE = 1_000_000
"""In a longer history, an approximation decides at which half-lives to compute exactly."""


class Past(ABC):
    """What an audit asks of a history, at the moment of the audit.

    Attributes:
        who: who takes part.
        n_events: the number of events.
        received: the true total of each agent.
        joined: when each agent joined.
        notes: what was assumed, in sentences.
    """

    who: Attendance
    n_events: int
    received: np.ndarray
    joined: np.ndarray
    notes: tuple[str, ...] = ()

    @abstractmethod
    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        """What is remembered at the end of each period, under a half-life of the audit."""

    @abstractmethod
    def standing(self, half_life: float) -> Trajectory:
        """Everybody's standing under a half-life of the audit."""

    @abstractmethod
    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        """What is remembered of each agent under other half-lives."""

    @abstractmethod
    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        """Whether each agent is present, away or on hold; the exempt are told apart by their entitlement."""

    def owed_at(self, wanted: Sequence[float], is_present: np.ndarray) -> dict[float, np.ndarray]:
        """What each agent is owed per unit of entitlement at other half-lives, see `relative`."""
        return {half_life: self._owed(Z, is_present) for half_life, Z in self.remembered(wanted).items()}

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """An approximation of `owed_at`, if that is slow."""
        return None

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray | None:
        """What each agent would be owed per unit under another newcomer rule; None of a ledger, which has its own."""
        return None

    def _owed(self, remembered: np.ndarray, is_present: np.ndarray) -> np.ndarray:
        weights = self.who.entitlements
        return relative(owed(remembered, weights, np.flatnonzero(is_present)), remembered, weights)


def relative(missing: np.ndarray, remembered: np.ndarray, entitlements: np.ndarray) -> np.ndarray:
    """What is owed per unit of entitlement, as a share of everything remembered; a unit is the average entitlement."""
    counts = ~np.isnan(missing)
    total, unit = remembered[counts].sum() or 1.0, entitlements[counts].mean() if counts.any() else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(missing / total * (unit / entitlements))


class TablePast(Past):
    """A table, whose decayed sums the engine computes."""

    def __init__(
        self,
        history: History,
        cut: Periods,
        half_lives: Sequence[float],
        entitlements: Mapping[str, float] | None,
        others: str | float | None,
        newcomers: str,
        gone_after: float,
    ) -> None:
        self._history, self._cut = history, cut
        self._events, self.n_events = history.events, history.n_events
        if cut.end < history.last:
            began = self._events.start if "start" in self._events.columns else self._events.time
            self._events = self._events.filter(began <= constant(cut.end, began.type()))
            self.n_events = int(history.fetch(self._events.count()).as_py())
        self._sums = sums = self._ask(half_lives, cut, first=self.n_events <= DATED_EVENTS)
        received = dict(zip(sums.names, np.bincount(sums.agent, sums.received, len(sums.names)).tolist(), strict=True))
        weights = {} if entitlements is None else settle(entitlements, received, others, history.source.label)
        self.who = attendance(sums, cut, weights, newcomers, gone_after)
        rows, n = self.who.rows(sums), len(self.who.names)
        self.received = np.bincount(rows, sums.received, n)
        self.joined = self._earliest(rows, np.full(n, history.first, dtype=float))
        starts = np.array([max(cut.start_of(period), history.first) for period in range(cut.count)], dtype=float)
        self._began = self._earliest(sums.period, starts)

    def _earliest(self, place: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """The time of the first event of each agent, or of each period; otherwise as given."""
        first = np.full(len(otherwise), math.inf)
        np.minimum.at(first, place, self._sums.first)
        return np.where(np.isinf(first), otherwise, np.maximum(first, self._history.first))

    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        return walk(self._sums, self._cut, self.who, half_life)

    def standing(self, half_life: float) -> Trajectory:
        stood = standing(self.course(half_life), self._cut, half_life, self._began)
        # Nobody is owed anything before joining.
        return replace(stood, since=np.maximum(stood.since, self.joined))

    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        if self.who.newcomers == "zero":
            # Only the events count then, not the periods between.
            sums = self._ask(wanted, self._cut.as_one())
            rows = self.who.rows(sums)
            return {h: np.bincount(rows, sums.decayed[h], len(self.who.names)) for h in wanted}
        sums = self._ask(wanted, self._cut)
        return {h: list(walk(sums, self._cut, self.who, h))[-1].remembered for h in wanted}

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """Approximates what is owed at any half-life from the shortest on, in one pass over the events."""
        if self.who.newcomers != "zero" or self.n_events <= ASKED_AT_ONCE:
            return None
        # All memories fade alike, so shares do not depend on how long after the last event the audit is.
        newest, shortest, events = min(self._cut.end, self._history.last), min(half_lives), self._events
        if "start" in events.columns:
            # Usage that lasts counts at its middle, which is close enough to choose where to look.
            events = events.mutate(time=((events.start + events.time) / 2).floor().cast(events.time.type()))
            events = events.filter(events.time <= newest)
        table = self._history.fetch(approximation.expression(events, newest, shortest))
        agents = table["agent"].combine_chunks().dictionary_encode()
        row_of = {name: row for row, name in enumerate(self.who.names)}
        names = [self._history.clean_name(str(name)) for name in agents.dictionary.to_pylist()]
        rows = np.array([row_of[name] for name in names], dtype=np.int64)
        known = approximation.Moments(table, rows[agents.indices.to_numpy(zero_copy_only=False)], len(row_of), shortest)
        return lambda wanted: {h: self._owed(known.remembered(h), is_present) for h in wanted}

    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        return tuple("present" if here else "away" for here in is_present.tolist())

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray:
        """Walks through the same sums once more, without another query."""
        *_, last = walk(self._sums, self._cut, replace(self.who, newcomers=newcomers), half_life)
        return self._owed(last.remembered, last.is_present)

    def _ask(self, wanted: Sequence[float], within: Periods, *, first: bool = False) -> Sums:
        table: pa.Table = self._history.fetch(expression(self._events, within, wanted, first=first))
        self._history.check_sums(table)
        found = collect(table, wanted, within)
        return replace(found, names=tuple(self._history.clean_name(name) for name in found.names))


class LedgerAudit(Past):
    """A ledger, replayed by its own rules."""

    def __init__(
        self,
        history: History,
        events: LedgerEvents,
        cut: Periods,
        entitlements: Mapping[str, float] | None,
        others: str | float | None,
        newcomers: str | None,
    ) -> None:
        self._past, self._cut, book = LedgerPast(events, int(cut.end), newcomers), cut, events.book
        names, self.received, self.joined = self._past.names, self._past.received, self._past.joined
        self.n_events = int(((events.time <= cut.end) & ~events.are("rules", "decision")).sum())
        rules = book.at(max(int(cut.end), book.began))
        self._weights, weights = None, rules.entitlements_of(names)
        if entitlements is not None:
            received = dict(zip(names, self.received.tolist(), strict=True))
            settled = settle(entitlements, received, others, history.source.label)
            unknown = sorted(set(settled) - set(names))
            if unknown:
                raise ValueError(f"entitlements must name agents of the ledger, got {unknown[0]!r}, who has not joined")
            weights = self._weights = np.array([settled[name] for name in names])
        first = np.floor((cut.end - self.joined) / cut.length).astype(np.int64)
        rule = rules.newcomers if newcomers is None else check_newcomers(newcomers)
        self.who = Attendance(names, weights, rule, np.minimum(first, cut.count - 1), by_rule=self._past.by_rule)
        self.notes = (self._past.note(),)

    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        return self._past.walk(self._cut, half_life, self._weights)

    def standing(self, half_life: float) -> Trajectory:
        stood = standing(self.course(half_life), self._cut, half_life, np.zeros(self._cut.count))
        # The ledger knows to the instant since when somebody has been owed.
        return replace(stood, since=self._past.since(half_life, self._weights))

    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        whole = self._cut.as_one()
        return {h: next(self._past.walk(whole, h, self._weights)).remembered for h in wanted}

    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        return self._past.statuses
