"""The audit: what a history looks like under several half-lives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bygones.audit import moments
from bygones.audit.clock import Clock
from bygones.audit.conclusions import Ask, Conclusions, conclude
from bygones.audit.counterfactual import Replay, decide_again
from bygones.audit.history import History
from bygones.audit.sums import Periods, Sums, collect, expression, first_events, periods
from bygones.audit.trajectory import Members, Trajectory, entitled_shares, members, standing, walk
from bygones.ledger.rules import check_entitlement, check_newcomers
from bygones.ledger.standing import owed
from bygones.welfare import named

HALF_LIVES = ("1d", "7d", "30d", "inf")
STEP_HALF_LIVES = ("10", "100", "1000", "inf")

ASKED_AT_ONCE = 1_000_000
"""In a longer history, half-lives are asked about only where a first look says that something flips."""

SEARCHED_EVENTS = 10_000_000
"""In a longer history, the half-lives at which conclusions flip are searched for only on request."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What a history looks like under several half-lives.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        utility: the name of what was received.
        n_events: how many events there are, up to the moment of the audit.
        first: the time of the first.
        periods: the periods at whose ends it was looked at.
        members: who takes part, and when.
        received: what each agent received in all, faded or not.
        is_present: who takes part at the moment of the audit.
        entitled: the share to which each of those is entitled; NaN for the others.
        standings: where everybody stands under each half-life, the shortest first.
        conclusions: what holds at every half-life and what does not.
        replays: by half-life, what would have happened had the allocator decided instead; empty where the history does
            not say who asked.
        sums: the decayed sums that all of this follows from.
        first_events: by period, the time of its first event; empty in histories of more than ten million events.
        notes: what was passed over or assumed, in sentences.
    """

    label: str
    clock: Clock
    utility: str
    n_events: int
    first: float
    periods: Periods
    members: Members
    received: np.ndarray
    is_present: np.ndarray
    entitled: np.ndarray
    standings: tuple[Trajectory, ...]
    conclusions: Conclusions
    replays: tuple[Replay, ...]
    sums: Sums
    first_events: dict[int, float]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The agents."""
        return self.members.names

    def ranked(self, stood: Trajectory) -> list[int]:
        """The rows of the agents, the most owed first, those who are away last."""
        keys = [(math.isnan(stood.owed[row]), -stood.owed[row], name) for row, name in enumerate(self.names)]
        return sorted(range(len(self.names)), key=keys.__getitem__)

    def since(self, stood: Trajectory, row: int) -> float | None:
        """Since when somebody has been owed without a break, to the period in which it began."""
        return None if stood.since[row] < 0 else self._began(int(stood.since[row]))

    def newcomers(self) -> list[int]:
        """The rows of those who came after the first period."""
        return [row for row in range(len(self.names)) if self.members.first[row] < self.periods.count - 1]

    def joined(self, row: int) -> float:
        """Since when somebody takes part, to the period in which they came."""
        return self._began(int(self.members.first[row]))

    def _began(self, period: int) -> float:
        """When something happened that came about in a period: only events change anything, so at its first or later.

        Where the first event is not known, the start of the period.
        """
        return self.first_events.get(period, max(self.periods.start_of(period), self.first))

    def since_means(self) -> str:
        """What `since` says, in a sentence."""
        what = "first event" if self.first_events else "start"
        return f"Since: the {what} of the {self.clock.said(self.periods.length)} in which it began."

    def over_time(self, stood: Trajectory, rows: Sequence[int]) -> np.ndarray:
        """The shares of some agents of all that is remembered, at the end of each period; NaN while they are away."""
        shares = []
        for each in walk(self.sums, self.periods, self.members, stood.half_life):
            total = each.remembered[each.is_present].sum()
            shares.append(np.where(each.is_present[rows], each.remembered[rows] / (total or 1.0), math.nan))
        return np.array(shares)

    def ends(self) -> list[float]:
        """The ends of the periods, the earliest first."""
        return [self.periods.end_of(period) for period in range(self.periods.count - 1, -1, -1)]

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON can hold it."""
        told, said = self.clock.told, self.clock.said
        return {
            "history": self.label,
            "utility": self.utility,
            "events": self.n_events,
            "first": told(self.first),
            "at": told(self.periods.end),
            "timezone": None if self.clock.steps else self.clock.zone,
            "times_without_zone": self.clock.assumed,
            "period": said(self.periods.length),
            "newcomer_rule": self.members.newcomers,
            "notes": list(self.notes),
            "half_lives": [self._standing_dict(stood) for stood in self.standings],
            "decided_again": {said(each.half_life): each.to_dict(self.names) for each in self.replays},
            "conclusions": {
                "pairs": self.conclusions.pairs,
                "pairs_that_flip": self.conclusions.pairs_flip,
                "found": [
                    each.to_dict(self._number) | {"sentence": each.sentence(said)} for each in self.conclusions.found
                ],
            },
        }

    def _standing_dict(self, stood: Trajectory) -> dict[str, Any]:
        told = self.clock.told
        series = {name: [_plain(x) for x in getattr(stood, name)] for name in ("gini", "egalitarian", "nash", "mean")}
        agents = []
        for row in self.ranked(stood):
            since = self.since(stood, row)
            agents.append(
                {
                    "agent": self.names[row],
                    "present": bool(self.is_present[row]),
                    "joined": told(self.joined(row)),
                    "received": float(self.received[row]),
                    "remembered": float(stood.remembered[row]),
                    "entitlement": float(self.members.entitlements[row]),
                    "share": _plain(stood.share[row]),
                    "entitled_share": _plain(self.entitled[row]),
                    "owed": _plain(stood.owed[row]),
                    "owed_since": None if since is None else told(since),
                }
            )
        return {
            "half_life": self.clock.said(stood.half_life),
            "agents": agents,
            "over_time": {"at": [told(end) for end in self.ends()], **series},
        }

    def _number(self, half_life: float) -> float:
        """A half-life for programs: days, or steps."""
        return half_life if self.clock.steps else half_life / 86_400e6


def audit(
    history: History,
    half_lives: Sequence[str | float] | None = None,
    *,
    entitlements: Mapping[str, float] | None = None,
    newcomers: str | float = "zero",
    gone_after: str | None = None,
    every: str | None = None,
    at: str | None = None,
    refine: bool | None = None,
    welfare: str = "egalitarian",
) -> Audit:
    """What a history looks like under several half-lives.

    Args:
        history: the events, see `read_history`.
        half_lives: durations such as `7d`, or numbers of steps; `inf` forgets nothing.
        entitlements: by agent, 1 where not named. Agents without events take part from the beginning. By default those
            of a ledger's rules at the moment of the audit, and else all alike.
        newcomers: what those who come later start with in the others' memory, as in the ledger. By default nothing, so
            that what is remembered is what was received and no more.
        gone_after: after so long without an event somebody counts as away; never by default, since getting nothing is
            what an audit is there to see.
        every: the length of a period.
        at: the moment of the audit; events after it are left out. By default the last event.
        refine: whether the half-lives at which conclusions flip are searched for, which asks the engine again a few
            times; by default in histories of up to ten million events.
        welfare: what the allocator maximises when it decides again, where the history says who asked.
    """
    clock = history.clock
    chosen = _half_lives(clock, half_lives)
    weights = {name: check_entitlement(weight, name) for name, weight in (entitlements or {}).items()}
    rule, welfare = check_newcomers(newcomers), str(named(welfare))
    away = math.inf if gone_after is None else clock.length(gone_after, "gone_after")
    end = history.last if at is None else clock.moment(at)
    if end < history.first:
        raise ValueError(f"at must not be before the first event ({clock.shown(history.first)}), got {at!r}")
    cut = periods(clock, history.first, end, every)
    events, n_events = history.events, history.n_events
    if end < history.last:
        events = events.filter(events.time <= end)
        n_events = int(history.fetch(events.count()).as_py())

    def ask(wanted: Sequence[float], within: Periods) -> Sums:
        table = history.fetch(expression(events, within, wanted))
        history.check_sums(table)
        found = collect(table, wanted)
        return replace(found, names=tuple(history.clean_name(name) for name in found.names))

    sums = ask(chosen, cut)
    if entitlements is None:
        # A ledger's rules may name somebody who has not joined yet.
        weights = {name: weight for name, weight in history.entitlements(end).items() if name in sums.names}
    who = members(sums, cut, weights, rule, away)
    standings = tuple(standing(sums, cut, who, half_life) for half_life in chosen)
    is_present = ~np.isnan(standings[0].owed)

    def owed_at(wanted: Sequence[float]) -> dict[float, np.ndarray]:
        # Where nobody starts with anything, the end follows from the events without the periods between.
        within = cut.as_one() if rule == "zero" else cut
        found = ask(wanted, within)
        return {half_life: _owed(found, within, who, half_life, is_present) for half_life in wanted}

    searched = n_events <= SEARCHED_EVENTS if refine is None else refine
    known = {stood.half_life: _relative(stood.owed, stood.remembered) for stood in standings}
    guess = None
    if searched and rule == "zero" and n_events > ASKED_AT_ONCE and len(chosen) > 1:
        # Everybody fades alike, so that it does not matter for shares if the moment of the audit is later.
        guess = _guess(history, events, min(end, history.last), chosen[0], who, is_present)
    conclusions = conclude(who.names, known, owed_at if searched else None, guess=guess)
    received = np.bincount(who.rows(sums), sums.received, len(who.names))
    begun = history.fetch(first_events(events, cut)).to_pylist() if n_events <= SEARCHED_EVENTS else []
    return Audit(
        label=history.source.label,
        clock=clock,
        utility=history.columns["utility"],
        n_events=n_events,
        first=history.first,
        periods=cut,
        members=who,
        received=received,
        is_present=is_present,
        entitled=entitled_shares(who, is_present),
        standings=standings,
        conclusions=conclusions,
        replays=() if history.requests is None else decide_again(history, who, chosen, end, welfare),
        sums=sums,
        first_events={each["period"]: each["first"] for each in begun},
        notes=(clock.sentence(), *history.notes),
    )


def counted(number: int, what: str) -> str:
    """A number of things, in words: `1 event`, `2 events`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _half_lives(clock: Clock, said: Sequence[str | float] | None) -> list[float]:
    said = said or (STEP_HALF_LIVES if clock.steps else HALF_LIVES)
    return sorted({clock.length(each) for each in said})


def _owed(sums: Sums, cut: Periods, who: Members, half_life: float, is_present: np.ndarray) -> np.ndarray:
    """What everybody is owed in the end under one half-life, as a share of all that is remembered."""
    if who.newcomers == "zero":
        remembered = np.bincount(who.rows(sums), sums.decayed[half_life], len(who.names))
    else:
        *_, last = walk(sums, cut, who, half_life)
        remembered = last.remembered
    return _relative(owed(remembered, who.entitlements, np.flatnonzero(is_present)), remembered)


def _guess(history: History, events: Any, newest: float, shortest: float, who: Members, is_present: np.ndarray) -> Ask:
    """What everybody is owed, closely, at any half-life from the shortest on, from one pass over the events."""
    table = history.fetch(moments.expression(events, newest, shortest))
    agents = table["agent"].combine_chunks().dictionary_encode()
    row_of = {name: row for row, name in enumerate(who.names)}
    rows = np.array([row_of[history.clean_name(str(name))] for name in agents.dictionary.to_pylist()], dtype=np.int64)
    known = moments.Moments(table, rows[agents.indices.to_numpy(zero_copy_only=False)], len(who.names), shortest)

    def guess(wanted: Sequence[float]) -> dict[float, np.ndarray]:
        guessed = {half_life: known.remembered(half_life) for half_life in wanted}
        present = np.flatnonzero(is_present)
        return {h: _relative(owed(Z, who.entitlements, present), Z) for h, Z in guessed.items()}

    return guess


def _relative(missing: np.ndarray, remembered: np.ndarray) -> np.ndarray:
    """What is owed as a share of all that is remembered of those who take part."""
    return np.asarray(missing / (remembered[~np.isnan(missing)].sum() or 1.0))


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
