"""Where an audit gets its numbers: from decayed sums that the engine computes, or from the replay of a ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from bygones.allocation.settling import settle
from bygones.audit import moments
from bygones.audit.conclusions import Ask
from bygones.audit.inputs.history import History
from bygones.audit.inputs.sources import constant
from bygones.audit.replays.ledger_replay import LedgerPast
from bygones.audit.sums import Periods, Sums, collect, expression
from bygones.audit.trajectory import Members, PeriodEnd, Trajectory, members, standing, walk
from bygones.ledger.rules import check_newcomers
from bygones.ledger.standing import owed

DATED_EVENTS = 10_000_000
"""In a longer history, the first event of a period is not looked up: its start is given instead."""

ASKED_AT_ONCE = 1_000_000
"""In a longer history, an approximation decides at which half-lives to compute exactly."""


class KnownPast(Protocol):
    """What an audit asks of a history, at the moment of the audit.

    Attributes:
        who: who takes part.
        n_events: the number of events.
        received: the true total of each agent.
        joined: when each agent joined.
        notes: what was assumed, in sentences.
    """

    who: Members
    n_events: int
    received: np.ndarray
    joined: np.ndarray
    notes: tuple[str, ...]

    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        """What is remembered at the end of each period, under a half-life of the audit."""

    def standing(self, half_life: float) -> Trajectory:
        """Everybody's standing under a half-life of the audit."""

    def owed_at(self, wanted: Sequence[float], is_present: np.ndarray) -> dict[float, np.ndarray]:
        """What each agent is owed per unit of entitlement at other half-lives, see `relative`."""

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """An approximation of `owed_at`, if that is slow."""

    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        """Whether each agent is present, away, on hold or exempt."""

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray | None:
        """What each agent would be owed per unit under another newcomer rule; None of a ledger, which has its own."""


def relative(missing: np.ndarray, remembered: np.ndarray, entitlements: np.ndarray) -> np.ndarray:
    """What is owed per unit of entitlement, as a share of everything remembered; a unit is the average entitlement."""
    counts = ~np.isnan(missing)
    total, unit = remembered[counts].sum() or 1.0, entitlements[counts].mean() if counts.any() else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(missing / total * (unit / entitlements))


class EnginePast:
    """A history whose decayed sums the engine computes."""

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
        self.who = members(sums, cut, weights, newcomers, gone_after)
        rows = self.who.rows(sums)
        self.received = np.bincount(rows, sums.received, len(self.who.names))
        self.joined = np.full(len(self.who.names), history.first, dtype=float)
        first = np.full(len(self.joined), math.inf)
        np.minimum.at(first, rows, sums.first)
        self.joined = np.where(np.isinf(first), self.joined, np.maximum(first, history.first))
        began = np.array([max(cut.start_of(period), history.first) for period in range(cut.count)], dtype=float)
        earliest = np.full(cut.count, math.inf)
        np.minimum.at(earliest, sums.period, sums.first)
        self._began = np.where(np.isinf(earliest), began, np.maximum(earliest, history.first))
        self.notes: tuple[str, ...] = ()

    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        """What is remembered at the end of each period, by the memory's recursion."""
        return walk(self._sums, self._cut, self.who, half_life)

    def standing(self, half_life: float) -> Trajectory:
        """Everybody's standing; nobody is owed anything before joining."""
        stood = standing(self.course(half_life), self._cut, half_life, self._began)
        return replace(stood, since=np.maximum(stood.since, self.joined))

    def owed_at(self, wanted: Sequence[float], is_present: np.ndarray) -> dict[float, np.ndarray]:
        """Asks the engine; if newcomers start with zero, only the events count, not the periods between."""
        plain = self.who.newcomers == "zero"
        within = self._cut.as_one() if plain else self._cut
        sums, present, found = self._ask(wanted, within), np.flatnonzero(is_present), {}
        for half_life in wanted:
            if plain:
                remembered = np.bincount(self.who.rows(sums), sums.decayed[half_life], len(self.who.names))
            else:
                *_, last = walk(sums, within, self.who, half_life)
                remembered = last.remembered
            found[half_life] = relative(
                owed(remembered, self.who.entitlements, present), remembered, self.who.entitlements
            )
        return found

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
        table = self._history.fetch(moments.expression(events, newest, shortest))
        agents = table["agent"].combine_chunks().dictionary_encode()
        row_of = {name: row for row, name in enumerate(self.who.names)}
        names = [self._history.clean_name(str(name)) for name in agents.dictionary.to_pylist()]
        rows = np.array([row_of[name] for name in names], dtype=np.int64)
        known = moments.Moments(table, rows[agents.indices.to_numpy(zero_copy_only=False)], len(row_of), shortest)
        present, weights = np.flatnonzero(is_present), self.who.entitlements

        def guessed(wanted: Sequence[float]) -> dict[float, np.ndarray]:
            found = {half_life: known.remembered(half_life) for half_life in wanted}
            return {h: relative(owed(Z, weights, present), Z, weights) for h, Z in found.items()}

        return guessed

    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        """Present, away or exempt."""
        pairs = zip(is_present.tolist(), self.who.entitlements.tolist(), strict=True)
        return tuple("present" if here else "away" if weight else "exempt" for here, weight in pairs)

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray:
        """Walks through the same sums once more, without another query."""
        who = replace(self.who, newcomers=newcomers)
        *_, last = walk(self._sums, self._cut, who, half_life)
        missing = owed(last.remembered, who.entitlements, np.flatnonzero(last.is_present))
        return relative(missing, last.remembered, who.entitlements)

    def _ask(self, wanted: Sequence[float], within: Periods, *, first: bool = False) -> Sums:
        table: pa.Table = self._history.fetch(expression(self._events, within, wanted, first=first))
        self._history.check_sums(table)
        found = collect(table, wanted, within)
        return replace(found, names=tuple(self._history.clean_name(name) for name in found.names))


class LedgerAudit:
    """A ledger, replayed by its own rules."""

    def __init__(
        self,
        history: History,
        cut: Periods,
        entitlements: Mapping[str, float] | None,
        others: str | float | None,
        newcomers: str | None,
    ) -> None:
        events = history.ledger
        if events is None:
            raise ValueError(f"{history.source.label} is not a ledger")
        self._past, self._cut, book = LedgerPast(events, int(cut.end), newcomers), cut, events.book
        names, self.received, self.joined = self._past.names, self._past.received, self._past.joined
        self.n_events = int(((events.time <= cut.end) & ~events.are("rules", "decision")).sum())
        rules = book.at(max(int(cut.end), book.began))
        self._weights = None
        weights = rules.entitlements_of(names)
        if entitlements is not None:
            received = dict(zip(names, self.received.tolist(), strict=True))
            settled = settle(entitlements, received, others, history.source.label)
            unknown = sorted(set(settled) - set(names))
            if unknown:
                raise ValueError(f"entitlements must name agents of the ledger, got {unknown[0]!r}, who has not joined")
            weights = self._weights = np.array([settled[name] for name in names])
        first = np.floor((cut.end - self.joined) / cut.length).astype(np.int64)
        rule = rules.newcomers if newcomers is None else check_newcomers(newcomers)
        self.who = Members(names, weights, np.minimum(first, cut.count - 1), rule, math.inf, self._past.by_rule)
        self.notes: tuple[str, ...] = (self._past.note(),)

    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        """What the ledger would remember at the end of each period."""
        return self._past.walk(self._cut, half_life, self._weights)

    def standing(self, half_life: float) -> Trajectory:
        """Everybody's standing, and since when they have been owed to the instant."""
        began = np.zeros(self._cut.count)
        stood = standing(self.course(half_life), self._cut, half_life, began)
        return replace(stood, since=self._past.since(half_life, self._weights))

    def owed_at(self, wanted: Sequence[float], is_present: np.ndarray) -> dict[float, np.ndarray]:
        """Replays the ledger to its end."""
        found, weights = {}, self.who.entitlements
        for half_life in wanted:
            *_, last = self._past.walk(self._cut.as_one(), half_life, self._weights)
            found[half_life] = relative(
                owed(last.remembered, weights, np.flatnonzero(is_present)), last.remembered, weights
            )
        return found

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """No approximation is needed."""
        return None

    def statuses(self, is_present: np.ndarray) -> tuple[str, ...]:
        """As in the ledger; or exempt."""
        pairs = zip(self._past.statuses, self.who.entitlements.tolist(), strict=True)
        return tuple(status if weight else "exempt" for status, weight in pairs)

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray | None:
        """None: what newcomers started with is recorded, or follows from the ledger's own rule."""
        return None
