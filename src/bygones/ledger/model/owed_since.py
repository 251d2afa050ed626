r"""Who is owed something, followed through a history without looking at every agent after every event.

All recent totals fade alike while agents are present, so the sign of a balance changes at events only. Converted to the
amounts of one instant, $\tilde Z = 2^{H} Z$, totals do not fade: agent $i$'s $\tilde Z_i$ changes only at the events of
that agent. The agent is owed something exactly while the level of all, $\tilde m = \sum_j \tilde Z_j / \sum_j w_j$, is
above $\tilde Z_i / w_i$. The level only rises as long as nobody comes or goes and nothing is taken back. So between two
of its events an agent is first not owed, and from some instant on owed. One search in the rising levels finds that
instant: a stretch of $k$ events takes $k\log k$ operations, however many agents there are.

A hold does not end the time for which an agent has been owed. Nobody is owed anything while on hold, but an agent who
is owed something again on resuming counts as owed since before the hold.

Under other memories, and with a half-life for each agent, the sign also changes between events. `DailyWatch` looks at
every event and at the beginning of every day.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from bygones.ledger.model import fold
from bygones.ledger.model.fold import Facts, Snapshot
from bygones.ledger.model.participation import ON_HOLD, PRESENT, status
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.standing import owed
from bygones.ledger.model.times import as_datetime, instant

SETTLED = 1e-9
"""An agent is owed something if it is more than this share of all that is remembered."""

LONGEST = 4.0
"""Half-lives after which a stretch is counted in the amounts of a later instant, which saves digits."""


class _Beginnings:
    """Since when agents have been owed, so far."""

    def __init__(self, book: RuleBook, agents: Snapshot) -> None:
        n = len(agents)
        self._book, self._agents, self._now = book, agents, book.began
        self._present, self._on_hold = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._since = np.full(n, -1, dtype=np.int64)

    @property
    def owed_since(self) -> np.ndarray:
        """Since when each of those present has been owed; -1 for the others."""
        return np.where(self._present, self._since, -1)

    def _judge(self, time: int, remembered: np.ndarray) -> None:
        """Notes which agents are owed something at an instant, by the recent totals then."""
        present = np.flatnonzero(self._present)
        missing = owed(remembered, self._entitlements(time), present)  # NaN, which is not more, if absent
        is_owed = missing > SETTLED * remembered[present].sum()
        self._keep(is_owed, np.where(self._since < 0, time, self._since))

    def _keep(self, is_owed: np.ndarray, began: np.ndarray) -> None:
        self._since = np.where(is_owed, began, np.where(self._on_hold, self._since, -1))

    def _entitlements(self, time: int) -> np.ndarray:
        return self._book.at(time).entitlements_of(self._agents.names)


class Watch(_Beginnings):
    """All recent totals, and since when agents have been owed, event by event."""

    def __init__(self, book: RuleBook, agents: Snapshot) -> None:
        super().__init__(book, agents)
        self._clocks = book.clocks(agents.remembering, agents.names, agents.participation)
        self._unstopped = book.clocks(agents.remembering, ("",), (((book.began, "join"),),))
        self._everyone, self._remembered = np.arange(len(agents)), np.zeros(len(agents))

    def follow(self, events: Facts) -> None:
        """Goes on to the last of these events, which are in the order of time, all of one instant together."""
        if not len(events.time):
            return
        times, first = np.unique(events.time, return_index=True)
        alone = np.logical_or.reduceat(events.is_change | (events.amount < 0), first)
        passed = self._unstopped.steps(np.zeros(len(times), dtype=np.int64), np.full(len(times), times[0]), times)
        stretch = passed // LONGEST
        new = np.ones(len(times), dtype=bool)
        new[1:] = alone[1:] | alone[:-1] | (stretch[1:] != stretch[:-1])
        starts = np.append(first[new], len(events.time)).tolist()
        for start, end, is_alone in zip(starts[:-1], starts[1:], alone[new].tolist(), strict=True):
            (self._step if is_alone else self._sweep)(events.part(start, end))

    def go_on(self, until: int) -> None:
        """Goes on to an instant by which nothing else happens, and so nothing changes."""

    def _step(self, events: Facts) -> None:
        """One instant at which anything may happen."""
        time = int(events.time[0])
        self._fade(time)
        for row, amount, is_change in zip(events.who.tolist(), events.amount.tolist(), events.is_change, strict=True):
            if row >= 0:
                self._remembered[row] += amount
                if is_change:
                    state = status(self._agents.participation[row], time)
                    self._present[row], self._on_hold[row] = state == PRESENT, state == ON_HOLD
        self._judge(time, self._remembered)

    def _sweep(self, events: Facts) -> None:
        """Many instants at which something was received and nothing else happened."""
        times, instant = np.unique(events.time, return_inverse=True)
        self._fade(int(times[0]))
        passed = self._clocks.steps(events.who, np.full(len(events.who), times[0]), events.time)
        # In the amounts of the first instant, where totals do not fade: later amounts count for more.
        amount = events.amount * np.exp2(passed)
        weights = self._entitlements(int(times[0]))
        counts = self._present & (weights > 0)
        present, seen = np.flatnonzero(counts), counts[events.who]
        total = weights[present].sum()
        received = np.bincount(instant, amount * seen, len(times))
        level = (self._remembered[present].sum() + np.cumsum(received)) / max(total, 1e-300)
        # The running totals of the agents who are present: the total at the start, then amounts in the order of time.
        who = np.concatenate([present, events.who[seen]])
        order = np.argsort(who, kind="stable")
        who = who[order]
        start = np.concatenate([np.zeros(len(present), dtype=np.int64), instant[seen]])[order]
        is_first = np.diff(who, prepend=-1) != 0
        end = np.where(np.append(is_first, True)[1:], len(times), np.append(start, 0)[1:]) - 1
        # Each entry is a stay of one agent at one total: from the instant `start` to the instant `end`.
        held = _running(np.concatenate([self._remembered[present], amount[seen]])[order], is_first)
        share = weights[who] - SETTLED * total
        # The level only rises, so the agent is settled up to some instant of its stay, and owed something after it. A
        # search in the levels finds that instant; the last one over all stays of an agent decides.
        with np.errstate(divide="ignore"):
            enough = np.where(share > 0, held / share, np.inf)
        settled = np.minimum(np.searchsorted(level, enough, side="right") - 1, end)
        last_settled = np.full(len(self._since), -1)
        np.maximum.at(last_settled, who[settled >= start], settled[settled >= start])
        began = times[np.minimum(last_settled + 1, len(times) - 1)]
        began = np.where((last_settled < 0) & (self._since >= 0), self._since, began)
        self._keep(counts & (last_settled < len(times) - 1), began)
        # Still in the amounts of the first instant, from which the next stretch goes on fading.
        self._remembered += np.bincount(events.who, amount, len(self._since))

    def _fade(self, until: int) -> None:
        now, then = np.full(len(self._since), self._now), np.full(len(self._since), until)
        self._remembered = self._remembered * np.exp2(-self._clocks.steps(self._everyone, now, then))
        self._now = until


class DailyWatch(_Beginnings):
    """The same for memories under which agents do not fade alike: at every event, and whenever a day begins."""

    def follow(self, events: Facts) -> None:
        """Goes on to the last of these events, which are in the order of time, all of one instant together."""
        times, first = np.unique(events.time, return_index=True)
        ends = np.append(first[1:], len(events.time))
        for at, start, end in zip(times.tolist(), first.tolist(), ends.tolist(), strict=True):
            self.go_on(at - 1)
            self._agents = fold.add(self._agents, self._book, events.part(start, end))
            self._look(at)

    def go_on(self, until: int) -> None:
        """Goes on to an instant by which nothing else happens."""
        for midnight in _midnights(self._now, until, self._book.zone):
            self._look(midnight)
        self._now = max(self._now, until)

    def _look(self, at: int) -> None:
        states = [status(changes, at) for changes in self._agents.participation]
        self._present, self._on_hold = (
            np.array([each == state for each in states], dtype=bool) for state in (PRESENT, ON_HOLD)
        )
        self._judge(at, fold.remembered(self._agents, self._book, at))
        self._now = at


def _midnights(after: int, until: int, zone: str) -> Iterator[int]:
    """The instants at which a day begins, after one instant and up to another."""
    day = as_datetime(after).astimezone(ZoneInfo(zone)).date()
    while True:
        day += timedelta(days=1)
        begins = instant(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)))
        if begins > until:
            return
        yield begins


def _running(amounts: np.ndarray, is_first: np.ndarray) -> np.ndarray:
    """Running sums that begin again at each entry marked as its group's first.

    By doubling, within groups only: a difference of running sums over all groups would lose the small amounts of one
    group next to the large amounts of another.
    """
    group, sums = np.cumsum(is_first), amounts.copy()
    longest, shift = np.bincount(group).max(initial=0), 1
    while shift < longest:
        sums[shift:] += np.where(group[shift:] == group[:-shift], sums[:-shift], 0.0)
        shift *= 2
    return sums
