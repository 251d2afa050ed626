r"""Where an audit gets its numbers: every agent's standing at the end of every period, under any half-life.

The past of a table is in decayed sums that the engine computes (`bygones.audit.measure.sums`). The recent total
follows from them by the memory's own recursion,

$$ Z_p = 2^{-L/h}\, Z_{p+1} + S_p . $$

Periods count backwards from the moment of the audit, so $p+1$ is before $p$. An agent takes part from the start of the
period of its first event, and starts by the newcomer rule (`Members.starts`). If `gone_after` is set, an
agent without events for that long is away, and comes back as a newcomer who keeps its recent total.

The past of a ledger is replayed by its own rules (`bygones.audit.measure.ledger_past`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bygones.allocation.settling import settle
from bygones.audit.measure.flips import Ask
from bygones.audit.measure.sums import Moments, Periods, Sums, agents_of, collect, expression, moments_expression
from bygones.audit.read.history import History
from bygones.audit.read.sources import constant
from bygones.audit.replay.past_decisions import Measured, Members, measure
from bygones.ledger.model.owed_since import SETTLED
from bygones.ledger.model.standing import owed
from bygones.memory import Discounted

DATED_EVENTS = 10_000_000
"""In a longer history, the first event of a period is not looked up: its start is given instead."""

ASKED_AT_ONCE = 1_000_000
"""In a longer history, an approximation decides at which half-lives to compute exactly."""


@dataclass(frozen=True, eq=False)
class Attendance(Members):
    """Who takes part, and from when.

    Attributes:
        first: the period of each agent's first event; agents without events take part from the beginning.
        gone_after: how long after its last event an agent still takes part, in periods.
        by_rule: the agents to whom the newcomer rule was applied; None if to all who joined later.
    """

    first: np.ndarray
    gone_after: float = math.inf
    by_rule: frozenset[str] | None = None

    def rows(self, names: Sequence[str], codes: np.ndarray) -> np.ndarray:
        """The row of the agent of each entry, whose code is its place in other names."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return np.asarray(np.array([row_of[name] for name in names], dtype=np.int64)[codes])


class PeriodEnd(NamedTuple):
    """The end of a period: each agent's recent total and entitlement, and who takes part."""

    period: int
    remembered: np.ndarray
    is_present: np.ndarray
    entitlements: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Every agent's standing at the moment of the audit under one half-life, and the measures over time.

    Attributes:
        half_life: in microseconds or steps.
        remembered: the recent total of each agent.
        share: each agent's share of the recent total of all present; NaN for agents who are away.
        owed: how far each agent is below its entitled share, negative if above; NaN for agents who are away.
        since: the moment since which each agent has been owed without interruption; NaN if it is not owed.
        gini: the Gini coefficient of the recent totals per unit of entitlement, at the end of each period, the
            earliest first.
        egalitarian: the lowest recent total per unit of entitlement.
        nash: the geometric mean, which ranks like Nash welfare for any number of agents.
        mean: the mean, by which the two above become comparable between half-lives.
        heaviest: the highest recent total per unit of entitlement, the heaviest load of burdens.
    """

    half_life: float
    remembered: np.ndarray
    share: np.ndarray
    owed: np.ndarray
    since: np.ndarray
    gini: np.ndarray
    egalitarian: np.ndarray
    nash: np.ndarray
    mean: np.ndarray
    heaviest: np.ndarray


class Past(ABC):
    """The questions of an audit to a history, at the moment of the audit.

    Attributes:
        cut: the periods.
        who: who takes part.
        n_events: the number of events.
        received: the true total of each agent.
        joined: when each agent joined.
        began: for each period, the moment at which a change that is seen at its end began.
        notes: assumptions, in sentences.
    """

    cut: Periods
    who: Attendance
    n_events: int
    received: np.ndarray
    joined: np.ndarray
    began: np.ndarray
    notes: tuple[str, ...] = ()

    @abstractmethod
    def course(self, half_life: float) -> Iterable[PeriodEnd]:
        """The ends of the periods under a half-life of the audit, the earliest first."""

    @abstractmethod
    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        """Each agent's recent total under other half-lives."""

    @abstractmethod
    def status(self, row: int, is_present: bool) -> str:
        """Whether an agent is present, away or on hold."""

    def standing(self, half_life: float) -> Trajectory:
        """Every agent's standing under a half-life of the audit."""
        since = np.full(len(self.who.names), math.nan)
        measures = np.empty((len(Measured._fields), self.cut.count))
        for end in self.course(half_life):
            present = np.flatnonzero(end.is_present & (end.entitlements > 0))
            missing = owed(end.remembered, end.entitlements, present)
            total = end.remembered[present].sum()
            is_owed = missing > SETTLED * total
            since = np.where(is_owed, np.where(np.isnan(since), self.began[end.period], since), math.nan)
            measured = measure(end.remembered[present], end.entitlements[present])
            measures[:, self.cut.count - 1 - end.period] = measured
        share = np.where(np.isnan(missing), math.nan, end.remembered / (total or 1.0))
        # Nobody is owed anything before joining.
        return Trajectory(half_life, end.remembered, share, missing, np.maximum(since, self.joined), *measures)

    def owed_at(self, wanted: Sequence[float], is_present: np.ndarray) -> dict[float, np.ndarray]:
        """The amount owed to each agent per unit of entitlement at other half-lives, see `relative`."""
        return {half_life: self._owed(Z, is_present) for half_life, Z in self.remembered(wanted).items()}

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """An approximation of `owed_at`, if that is slow."""
        return None

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray | None:
        """The amount owed to each agent per unit under another newcomer rule; None for a ledger, which has its own."""
        return None

    def _owed(self, remembered: np.ndarray, is_present: np.ndarray) -> np.ndarray:
        weights = self.who.entitlements
        return relative(owed(remembered, weights, np.flatnonzero(is_present)), remembered, weights)


def relative(missing: np.ndarray, remembered: np.ndarray, entitlements: np.ndarray) -> np.ndarray:
    """The amount owed per unit of entitlement, as a share of the recent total; a unit is the average entitlement."""
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
        self._history, self.cut = history, cut
        self._events, self.n_events = history.events, history.n_events
        if cut.end < history.last:
            began = self._events.start if "start" in self._events.columns else self._events.time
            self._events = self._events.filter(began <= constant(cut.end, began.type()))
            self.n_events = int(history.fetch(self._events.count()).as_py())
        self._sums = sums = self._ask(half_lives, cut, first=self.n_events <= DATED_EVENTS)
        received = dict(zip(sums.names, np.bincount(sums.agent, sums.received, len(sums.names)).tolist(), strict=True))
        weights = {} if entitlements is None else settle(entitlements, received, others, history.source.label)
        names = tuple(sorted({*sums.names, *weights}))
        first, n = np.full(len(names), -1), len(names)
        entitled = np.array([weights.get(name, 1.0) for name in names])
        who = Attendance(names, entitled, newcomers, first, gone_after / cut.length)
        rows = who.rows(sums.names, sums.agent)
        np.maximum.at(first, rows, sums.period)
        self.who = replace(who, first=np.where(first < 0, cut.count - 1, first))
        self.received = np.bincount(rows, sums.received, n)
        self.joined = self._earliest(rows, np.full(n, history.first, dtype=float))
        starts = np.array([max(cut.start_of(period), history.first) for period in range(cut.count)], dtype=float)
        self.began = self._earliest(sums.period, starts)

    def _earliest(self, place: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """The time of the first event of each agent, or of each period; otherwise as given."""
        first = np.full(len(otherwise), math.inf)
        np.minimum.at(first, place, self._sums.first)
        return np.where(np.isinf(first), otherwise, np.maximum(first, self._history.first))

    def course(self, half_life: float) -> Iterator[PeriodEnd]:
        return self._walk(self._sums, self.who, half_life)

    def _walk(self, sums: Sums, who: Attendance, half_life: float) -> Iterator[PeriodEnd]:
        """The recent totals at the end of each period, the earliest first."""
        rows, count = who.rows(sums.names, sums.agent), self.cut.count
        order = np.argsort(-sums.period, kind="stable")
        edges = np.searchsorted(-sums.period[order], -np.arange(count)[::-1], side="left").tolist()
        amounts = sums.decayed[half_life]
        memory = Discounted(half_life=half_life / self.cut.length)
        state = memory.init(len(who.names))
        is_present, last = np.zeros(len(who.names), dtype=bool), who.first.astype(float)
        for period, low, high in zip(range(count - 1, -1, -1), edges, [*edges[1:], len(order)], strict=True):
            here = order[low:high]
            last[rows[here]] = period
            # The exempt have no share of a load to be compared with.
            takes_part = (who.first >= period) & (last - period <= who.gone_after) & (who.entitlements > 0)
            joins = np.flatnonzero(takes_part & ~is_present)
            if len(joins):
                state = memory.advance(state, who.starts(np.asarray(memory.read(state)), is_present, joins), 0)
            is_present = takes_part
            state = memory.advance(state, np.bincount(rows[here], amounts[here], len(who.names)))
            yield PeriodEnd(period, np.asarray(memory.read(state)), is_present, who.entitlements)

    def remembered(self, wanted: Sequence[float]) -> dict[float, np.ndarray]:
        if self.who.newcomers == "zero":
            # Only the events count then, not the periods between.
            sums = self._ask(wanted, self.cut.as_one())
            rows = self.who.rows(sums.names, sums.agent)
            return {h: np.bincount(rows, sums.decayed[h], len(self.who.names)) for h in wanted}
        sums = self._ask(wanted, self.cut)
        return {h: list(self._walk(sums, self.who, h))[-1].remembered for h in wanted}

    def status(self, row: int, is_present: bool) -> str:
        return "present" if is_present else "away"

    def guess(self, half_lives: Sequence[float], is_present: np.ndarray) -> Ask | None:
        """Approximates the amounts owed at any half-life from the shortest on, in one pass over the events."""
        if self.who.newcomers != "zero" or self.n_events <= ASKED_AT_ONCE:
            return None
        # All memories fade alike, so shares do not depend on how long after the last event the audit is.
        newest, shortest, events = min(self.cut.end, self._history.last), min(half_lives), self._events
        if "start" in events.columns:
            # Usage that lasts counts at its middle, which is close enough to choose where to look.
            events = events.mutate(time=((events.start + events.time) / 2).floor().cast(events.time.type()))
            events = events.filter(events.time <= newest)
        table = self._history.fetch(moments_expression(events, newest, shortest))
        names, codes = agents_of(table)
        rows = self.who.rows([self._history.source.clean_name(name) for name in names], codes)
        moments = Moments(table, rows, len(self.who.names), shortest)
        return lambda wanted: {h: self._owed(moments.remembered(h), is_present) for h in wanted}

    def owed_if(self, newcomers: str, half_life: float) -> np.ndarray:
        """Walks through the same sums once more, without another query."""
        *_, last = self._walk(self._sums, replace(self.who, newcomers=newcomers), half_life)
        return self._owed(last.remembered, last.is_present)

    def _ask(self, wanted: Sequence[float], within: Periods, *, first: bool = False) -> Sums:
        table: pa.Table = self._history.fetch(expression(self._events, within, wanted, first=first))
        self._history.check_sums(table)
        sums = collect(table, wanted, within)
        return replace(sums, names=tuple(self._history.source.clean_name(name) for name in sums.names))
