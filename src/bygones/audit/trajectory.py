r"""Where everybody stood at the end of every period, from decayed sums, by the memory's own recursion.

$$ Z_p = 2^{-L/h}\, Z_{p+1} + S_p $$

Periods count backwards from the moment of the audit, so that $p+1$ is before $p$. Somebody takes part from the start of
the period of their first event on. What they start with in the others' memory follows from the newcomer rule and from
how the others stood then, as in the ledger; a founder, whom nobody preceded, starts with nothing unless the rule is a
number. Where a time is set after which somebody counts as gone, those without events for that long are away, and come
back as newcomers who keep what is still remembered of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bygones.audit.sums import Periods, Sums
from bygones.ledger.standing import owed, starts
from bygones.ledger.watch import SETTLED
from bygones.memory import Discounted


@dataclass(frozen=True, eq=False)
class Members:
    """Who takes part, and when.

    Attributes:
        names: the agents.
        entitlements: relative to one another.
        first: the period of each agent's first event; those who have none are there from the beginning.
        newcomers: the newcomer rule.
        gone_after: in periods, how long after their last event somebody still takes part.
    """

    names: tuple[str, ...]
    entitlements: np.ndarray
    first: np.ndarray
    newcomers: str
    gone_after: float

    def rows(self, sums: Sums) -> np.ndarray:
        """The agent of each entry of the sums, as a row of `names`."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return np.asarray(np.array([row_of[name] for name in sums.names], dtype=np.int64)[sums.agent])


class Stood(NamedTuple):
    """How things stood at the end of a period: what is remembered of each agent, and who took part."""

    period: int
    remembered: np.ndarray
    is_present: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Where everybody stands at the moment of the audit under one half-life, and how it came to that.

    Attributes:
        half_life: in microseconds or steps.
        remembered: what is remembered of each agent.
        share: of what is remembered of all who take part; NaN for those who are away.
        owed: what is missing to the entitled share; NaN for those who are away.
        since: the period since whose start each has been owed without a break, or -1.
        gini: of what is remembered per unit of entitlement, at the end of each period, the earliest first.
        egalitarian: the least of it.
        nash: its geometric mean, which ranks as Nash welfare does whatever the number of agents.
        mean: its mean, by which the two before become comparable between half-lives.
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


def members(
    sums: Sums, cut: Periods, entitlements: Mapping[str, float], newcomers: str, gone_after: float = math.inf
) -> Members:
    """Everybody with an event or an entitlement; without an entitlement it is 1."""
    names = tuple(sorted({*sums.names, *entitlements}))
    first = np.full(len(names), -1)
    weights = np.array([entitlements.get(name, 1.0) for name in names])
    who = Members(names, weights, first, newcomers, gone_after / cut.length)
    np.maximum.at(first, who.rows(sums), sums.period)
    return replace(who, first=np.where(first < 0, cut.count - 1, first))


def walk(sums: Sums, cut: Periods, who: Members, half_life: float) -> Iterator[Stood]:
    """How things stood at the end of each period, the earliest first."""
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
        takes_part = (who.first >= period) & (last - period <= who.gone_after)
        joins = np.flatnonzero(takes_part & ~is_present)
        if len(joins):
            state = memory.advance(state, _starts(who, memory.read(state), is_present, joins), 0)
        is_present = takes_part
        state = memory.advance(state, np.bincount(rows[here], amounts[here], len(who.names)))
        yield Stood(period, memory.read(state), is_present)


def standing(sums: Sums, cut: Periods, who: Members, half_life: float) -> Trajectory:
    """Where everybody stands under one half-life."""
    since = np.full(len(who.names), -1)
    measures = np.empty((4, cut.count))
    for stood in walk(sums, cut, who, half_life):
        present = np.flatnonzero(stood.is_present)
        missing = owed(stood.remembered, who.entitlements, present)
        total = stood.remembered[present].sum()
        is_owed = missing > SETTLED * total
        since = np.where(is_owed, np.where(since < 0, stood.period, since), -1)
        measures[:, cut.count - 1 - stood.period] = measure(stood.remembered[present], who.entitlements[present])
    share = np.where(stood.is_present, stood.remembered / (total or 1.0), math.nan)
    return Trajectory(half_life, stood.remembered, share, missing, since, *measures)


def measure(remembered: np.ndarray, entitlements: np.ndarray) -> tuple[float, float, float, float]:
    """Gini coefficient, least, geometric mean and mean of what is remembered per unit of entitlement.

    An agent of entitlement w counts as w agents, as it does when the allocator decides.
    """
    if not len(remembered):
        return math.nan, math.nan, math.nan, math.nan
    levels, total, mass = remembered / entitlements, float(remembered.sum()), float(entitlements.sum())
    order = np.argsort(levels)
    below = np.cumsum(entitlements[order]) - entitlements[order] / 2
    gini = float(((2 * below - mass) * remembered[order]).sum() / (mass * total)) if total > 0 else 0.0
    with np.errstate(divide="ignore"):
        nash = float(np.exp((entitlements * np.log(levels)).sum() / mass))
    return max(gini, 0.0), float(levels.min()), nash, total / mass


def entitled_shares(who: Members, is_present: np.ndarray) -> np.ndarray:
    """The share to which each of those who take part is entitled; NaN for the others."""
    weights = np.where(is_present, who.entitlements, math.nan)
    return np.asarray(weights / np.nansum(weights))


def _starts(who: Members, remembered: np.ndarray, is_present: np.ndarray, joins: np.ndarray) -> np.ndarray:
    """What is added to the memory of those who join: what the newcomer rule says, less what is still remembered."""
    present = np.flatnonzero(is_present)
    added = np.zeros(len(remembered))
    wanted = starts(who.newcomers, remembered[present], who.entitlements[present], who.entitlements[joins])
    added[joins] = np.maximum(wanted - remembered[joins], 0.0)
    return added
