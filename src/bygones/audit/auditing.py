"""The audit: who is owed under several half-lives, how equal it was over time, and which conclusions hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bygones._text import listed
from bygones.allocation.aims import check_form
from bygones.allocation.problems import NAMED
from bygones.audit import moments
from bygones.audit.clock import Clock
from bygones.audit.conclusions import Ask, Conclusions, conclude
from bygones.audit.counterfactual import Replay, replay_decisions
from bygones.audit.history import History
from bygones.audit.sums import Periods, Sums, collect, expression, first_events, periods
from bygones.audit.trajectory import Members, Trajectory, entitled_shares, members, standing, walk
from bygones.kinds import Kind, check_kind, words
from bygones.ledger.rules import check_entitlement, check_newcomers
from bygones.ledger.standing import owed
from bygones.welfare import named

HALF_LIVES = ("1d", "7d", "30d", "inf")
"""The default half-lives where times are instants."""

STEP_HALF_LIVES = ("10", "100", "1000", "inf")
"""The default half-lives where times are step numbers."""

ASKED_AT_ONCE = 1_000_000
"""In a longer history, an approximation decides at which half-lives to compute exactly."""

SEARCHED_EVENTS = 10_000_000
"""In a longer history, the search for the half-lives at which conclusions flip is off by default."""


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of `audit`.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        utility: the name of the column with what was received.
        n_events: the number of events up to the moment of the audit.
        first: the time of the first event.
        periods: the periods at whose ends standings are computed.
        members: who takes part, and from when.
        received: the total that each agent received, which never fades.
        is_present: who takes part at the moment of the audit.
        entitled: the share to which each of those is entitled; NaN for the others.
        standings: where everybody stands under each half-life, the shortest first.
        conclusions: what holds at every half-life and what depends on it.
        replays: for each half-life, the outcome if the allocator had decided instead; empty where the history does not
            record who asked.
        sums: the decayed sums from which everything else is computed.
        first_events: by period, the time of its first event; empty in histories of more than ten million events.
        notes: what was skipped or assumed, in sentences.
        kind: whether what was received are goods, or burdens that were carried. The sums are the same; what is *owed*
            of goods is *due* of burdens.
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
    kind: Kind = "good"

    @property
    def names(self) -> tuple[str, ...]:
        """The agents."""
        return self.members.names

    def ranked(self, trajectory: Trajectory) -> list[int]:
        """The rows of the agents, the most owed first, those who are away last."""
        keys = [(math.isnan(trajectory.owed[row]), -trajectory.owed[row], name) for row, name in enumerate(self.names)]
        return sorted(range(len(self.names)), key=keys.__getitem__)

    def since(self, trajectory: Trajectory, row: int) -> float | None:
        """Since when an agent has been owed without interruption, accurate to one period; None if it is not owed."""
        return None if trajectory.since[row] < 0 else self._began(int(trajectory.since[row]))

    def newcomers(self) -> list[int]:
        """The rows of the agents who joined after the first period."""
        return [row for row in range(len(self.names)) if self.members.first[row] < self.periods.count - 1]

    def joined(self, row: int) -> float:
        """Since when an agent takes part, accurate to one period."""
        return self._began(int(self.members.first[row]))

    def _began(self, period: int) -> float:
        """When a change that was seen in a period began: at its first event, because only events change anything.

        Where the first event is not known, the start of the period.
        """
        return self.first_events.get(period, max(self.periods.start_of(period), self.first))

    def since_note(self) -> str:
        """What `since` means, in one sentence."""
        moment = "first event" if self.first_events else "start"
        length = self.clock.length_text(self.periods.length) + ("-step" if self.clock.steps else "")
        owed = words(self.kind).owed
        return f"{owed.capitalize()} since: the {moment} of the {length} period in which the agent became {owed}."

    def owed_note(self) -> str:
        """What `owed` means, in one sentence."""
        word = words(self.kind)
        share = "its share of the load in" if self.kind == "burden" else "its entitled share of"
        return f"{word.owed.capitalize()}: how far an agent is below (+) or above (-) {share} everything remembered."

    def over_time(self, trajectory: Trajectory, rows: Sequence[int]) -> np.ndarray:
        """Some agents' shares of everything remembered at the end of each period; NaN while an agent is away."""
        shares = []
        for each in walk(self.sums, self.periods, self.members, trajectory.half_life):
            total = each.remembered[each.is_present].sum()
            shares.append(np.where(each.is_present[rows], each.remembered[rows] / (total or 1.0), math.nan))
        return np.array(shares)

    def ends(self) -> list[float]:
        """The ends of the periods, the earliest first."""
        return [self.periods.end_of(period) for period in range(self.periods.count - 1, -1, -1)]

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain data for JSON."""
        time, length = self.clock.json_time, self.clock.length_text
        return {
            "history": self.label,
            "utility": self.utility,
            "kind": self.kind,
            "events": self.n_events,
            "first": time(self.first),
            "at": time(self.periods.end),
            "timezone": None if self.clock.steps else self.clock.zone,
            "times_without_zone": self.clock.assumed,
            "period": length(self.periods.length),
            "newcomer_rule": self.members.newcomers,
            "notes": list(self.notes),
            "half_lives": [self._standing_dict(trajectory) for trajectory in self.standings],
            "decided_again": {length(each.half_life): each.to_dict(self.names) for each in self.replays},
            "conclusions": {
                "pairs": self.conclusions.pairs,
                "pairs_that_flip": self.conclusions.pairs_flip,
                "found": [
                    each.to_dict(self._number) | {"sentence": each.sentence(length)} for each in self.conclusions.found
                ],
            },
        }

    def _standing_dict(self, trajectory: Trajectory) -> dict[str, Any]:
        time = self.clock.json_time
        measures = ("gini", "egalitarian", "nash", "mean")
        series = {name: [_plain(x) for x in getattr(trajectory, name)] for name in measures}
        agents = []
        for row in self.ranked(trajectory):
            since = self.since(trajectory, row)
            agents.append(
                {
                    "agent": self.names[row],
                    "present": bool(self.is_present[row]),
                    "joined": time(self.joined(row)),
                    "received": float(self.received[row]),
                    "remembered": float(trajectory.remembered[row]),
                    "entitlement": float(self.members.entitlements[row]),
                    "share": _plain(trajectory.share[row]),
                    "entitled_share": _plain(self.entitled[row]),
                    "owed": _plain(trajectory.owed[row]),
                    "owed_since": None if since is None else time(since),
                }
            )
        return {
            "half_life": self.clock.length_text(trajectory.half_life),
            "agents": agents,
            "over_time": {"at": [time(end) for end in self.ends()], **series},
        }

    def _number(self, half_life: float) -> float:
        """A half-life as a number for JSON: in days, or in steps."""
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
    kind: Kind | None = None,
) -> Audit:
    """Audits a history under several half-lives.

    Args:
        history: the events, see `read_history`.
        half_lives: durations such as `7d`, or numbers of steps; with `inf` nothing fades.
        entitlements: the entitlement of each agent; 1 for agents not named. Agents without events take part from the
            beginning. By default those in a ledger's rules at the moment of the audit, or the same for everyone.
        newcomers: the newcomer rule: with how much remembered utility an agent who joins later starts, as in the
            ledger. By default zero, so that only what was received is remembered.
        gone_after: an agent without an event for this long counts as away. By default never, because receiving nothing
            is exactly what an audit should show.
        every: the length of a period.
        at: the moment of the audit; later events are left out. By default the time of the last event.
        refine: whether to search for the half-lives at which conclusions flip, which queries the engine a few more
            times. By default true for histories of up to ten million events.
        welfare: what the allocator maximises when decisions are replayed, where the history records who asked.
        kind: `good` or `burden`; by default what a ledger's rules say, or goods. Of burdens an entitlement is the share
            of the load, and agents with 0 are exempt: they are left out.

    Returns:
        Standings, measures over time and conclusions under each half-life.
    """
    clock = history.clock
    chosen = _half_lives(clock, half_lives)
    rule = check_newcomers(newcomers)
    away = math.inf if gone_after is None else clock.length(gone_after, "gone_after")
    end = history.last if at is None else clock.moment(at)
    if end < history.first:
        raise ValueError(f"at must not be before the first event ({clock.shown(history.first)}), got {at!r}")
    about = history.kind(end) if kind is None else check_kind(kind)
    check_form(named(welfare), about)
    welfare = str(named(welfare))
    weights = {name: check_entitlement(weight, name, about) for name, weight in (entitlements or {}).items()}
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
        # A ledger's rules may name an agent who has not joined yet.
        weights = {name: weight for name, weight in history.entitlements(end).items() if name in sums.names}
    who = members(sums, cut, weights, rule, away)
    standings = tuple(standing(sums, cut, who, half_life) for half_life in chosen)
    is_present = ~np.isnan(standings[0].owed)

    def owed_at(wanted: Sequence[float]) -> dict[float, np.ndarray]:
        # If newcomers start with zero, the final standing needs only the events, not the periods between.
        within = cut.as_one() if rule == "zero" else cut
        found = ask(wanted, within)
        return {half_life: _owed(found, within, who, half_life, is_present) for half_life in wanted}

    searched = n_events <= SEARCHED_EVENTS if refine is None else refine
    known = {trajectory.half_life: _relative(trajectory.owed, trajectory.remembered) for trajectory in standings}
    guess = None
    if searched and rule == "zero" and n_events > ASKED_AT_ONCE and len(chosen) > 1:
        # All memories fade alike, so shares do not depend on how long after the last event the audit is.
        guess = _guess(history, events, min(end, history.last), chosen[0], who, is_present)
    conclusions = conclude(who.names, known, owed_at if searched else None, guess=guess, kind=about)
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
        replays=() if history.requests is None else replay_decisions(history, who, chosen, end, welfare, about),
        sums=sums,
        first_events={each["period"]: each["first"] for each in begun},
        notes=(clock.sentence(), *history.notes, *_exempt(who)),
        kind=about,
    )


def _exempt(who: Members) -> list[str]:
    names = [name for name, weight in zip(who.names, who.entitlements.tolist(), strict=True) if not weight]
    return [f"Left out, since exempt from the load: {listed(names, NAMED)}."] if names else []


def _half_lives(clock: Clock, given: Sequence[str | float] | None) -> list[float]:
    defaults = STEP_HALF_LIVES if clock.steps else HALF_LIVES
    return sorted({clock.length(each) for each in given or defaults})


def _owed(sums: Sums, cut: Periods, who: Members, half_life: float, is_present: np.ndarray) -> np.ndarray:
    """What each agent is owed at the moment of the audit under one half-life, as a share of everything remembered."""
    if who.newcomers == "zero":
        remembered = np.bincount(who.rows(sums), sums.decayed[half_life], len(who.names))
    else:
        *_, last = walk(sums, cut, who, half_life)
        remembered = last.remembered
    return _relative(owed(remembered, who.entitlements, np.flatnonzero(is_present)), remembered)


def _guess(history: History, events: Any, newest: float, shortest: float, who: Members, is_present: np.ndarray) -> Ask:
    """Approximates what each agent is owed at any half-life from the shortest on, in one pass over the events."""
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
    """What is owed, as a share of everything remembered of the agents who take part."""
    return np.asarray(missing / (remembered[~np.isnan(missing)].sum() or 1.0))


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
