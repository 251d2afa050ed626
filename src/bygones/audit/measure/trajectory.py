r"""Computes everybody's standing at the end of every period from decayed sums, by the memory's own recursion.

$$ Z_p = 2^{-L/h}\, Z_{p+1} + S_p $$

Periods count backwards from the moment of the audit, so $p+1$ is before $p$. An agent takes part from the start of the
period of its first event, and starts with what the newcomer rule gives (`Members.starts`). If `gone_after` is set, an
agent without events for that long is away, and comes back as a newcomer who keeps what is still remembered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bygones.audit.measure.sums import Periods, Sums
from bygones.audit.replay.members import Measured, Members, measure
from bygones.ledger.model.owed_since import SETTLED
from bygones.ledger.model.standing import owed
from bygones.memory import Discounted


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

    def rows(self, sums: Sums) -> np.ndarray:
        """The agent of each entry of the sums, as a row of `names`."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return np.asarray(np.array([row_of[name] for name in sums.names], dtype=np.int64)[sums.agent])


class PeriodEnd(NamedTuple):
    """The end of a period: what is remembered of each agent, who takes part, and everybody's entitlement."""

    period: int
    remembered: np.ndarray
    is_present: np.ndarray
    entitlements: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Everybody's standing at the moment of the audit under one half-life, and the measures over time.

    Attributes:
        half_life: in microseconds or steps.
        remembered: what is remembered of each agent.
        share: each agent's share of everything remembered of those who take part; NaN for agents who are away.
        owed: how far each agent is below its entitled share, negative if above; NaN for agents who are away.
        since: the moment since which each agent has been owed without interruption; NaN if it is not owed.
        gini: the Gini coefficient of what is remembered per unit of entitlement, at the end of each period, the
            earliest first.
        egalitarian: the least remembered per unit of entitlement.
        nash: the geometric mean, which ranks like Nash welfare for any number of agents.
        mean: the mean, by which the two above become comparable between half-lives.
        heaviest: the most remembered per unit of entitlement: of burdens, the heaviest load.
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


def attendance(
    sums: Sums, cut: Periods, entitlements: Mapping[str, float], newcomers: str, gone_after: float = math.inf
) -> Attendance:
    """Everybody with an event or an entitlement; the default entitlement is 1."""
    names = tuple(sorted({*sums.names, *entitlements}))
    first = np.full(len(names), -1)
    weights = np.array([entitlements.get(name, 1.0) for name in names])
    who = Attendance(names, weights, newcomers, first, gone_after / cut.length)
    np.maximum.at(first, who.rows(sums), sums.period)
    return replace(who, first=np.where(first < 0, cut.count - 1, first))


def walk(sums: Sums, cut: Periods, who: Attendance, half_life: float) -> Iterator[PeriodEnd]:
    """What is remembered at the end of each period, the earliest first."""
    rows = who.rows(sums)
    order = np.argsort(-sums.period, kind="stable")
    edges = np.searchsorted(-sums.period[order], -np.arange(cut.count)[::-1], side="left").tolist()
    amounts = sums.decayed[half_life]
    memory = Discounted(half_life=half_life / cut.length)
    state = memory.init(len(who.names))
    is_present, last = np.zeros(len(who.names), dtype=bool), who.first.astype(float)
    for period, low, high in zip(range(cut.count - 1, -1, -1), edges, [*edges[1:], len(order)], strict=True):
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


def standing(course: Iterable[PeriodEnd], cut: Periods, half_life: float, began: np.ndarray) -> Trajectory:
    """Everybody's standing under one half-life.

    Args:
        course: the ends of the periods, the earliest first.
        cut: the periods.
        half_life: in microseconds or steps.
        began: for each period, the moment at which a change that is seen at its end began.
    """
    since: np.ndarray | None = None
    measures = np.empty((len(Measured._fields), cut.count))
    for end in course:
        present = np.flatnonzero(end.is_present & (end.entitlements > 0))
        missing = owed(end.remembered, end.entitlements, present)
        total = end.remembered[present].sum()
        is_owed = missing > SETTLED * total
        known = np.full(len(missing), math.nan) if since is None else since
        since = np.where(is_owed, np.where(np.isnan(known), began[end.period], known), math.nan)
        measures[:, cut.count - 1 - end.period] = measure(end.remembered[present], end.entitlements[present])
    share = np.where(np.isnan(missing), math.nan, end.remembered / (total or 1.0))
    return Trajectory(half_life, end.remembered, share, missing, np.asarray(since), *measures)


def entitled_shares(who: Attendance, is_present: np.ndarray) -> np.ndarray:
    """The entitled share of each agent who takes part; NaN for the others."""
    weights = np.where(is_present, who.entitlements, math.nan)
    return np.asarray(weights / np.nansum(weights))
