"""The audit: who is owed under several half-lives, how equal it was over time, and which conclusions hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bygones._arrays import check_between
from bygones._names import alike
from bygones._text import check_text, listed
from bygones.allocation.aims import check_form
from bygones.allocation.problems import NAMED
from bygones.audit.clock import Clock
from bygones.audit.conclusions import SEARCHED, Conclusions, conclude
from bygones.audit.counterfactual import ReplayedDecisions, replay_decisions
from bygones.audit.entitlements import Shares
from bygones.audit.history import History
from bygones.audit.pasts import DATED_EVENTS, EnginePast, KnownPast, LedgerAudit, relative
from bygones.audit.sums import Periods, periods
from bygones.audit.trajectory import Members, PeriodEnd, Trajectory, entitled_shares
from bygones.kinds import Kind, check_kind, words
from bygones.ledger.rules import NEWCOMER_RULES, check_entitlement, check_newcomers
from bygones.ledger.standing import per_unit, ranked
from bygones.welfare import named

HALF_LIVES = ("1d", "7d", "30d", "inf")
"""The default half-lives where times are instants."""

STEP_HALF_LIVES = ("10", "100", "1000", "inf")
"""The default half-lives where times are step numbers."""

MEASURES = {"good": ("gini", "egalitarian", "nash", "mean"), "burden": ("gini", "heaviest", "mean")}
"""What is measured over time; of burdens the worst-off carries most, and a geometric mean has no meaning."""

_UNNAMED = ("utility", "amount")

LARGEST_START = 1e15
"""The largest number with which newcomers can start, as in a ledger."""

FEW_EVENTS = 100_000
"""In a history of up to this many events, more flips are searched for."""

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
        joined_at: the time of each agent's first event, or at which it joined a ledger.
        statuses: whether each agent is `present`, `away`, `on hold` or `exempt`.
        equal_assumed: whether entitlements were not given, so that everybody counts as entitled to the same.
        course: for a half-life, what is remembered at the end of each period.
        notes: what was skipped or assumed, in sentences.
        kind: whether what was received are goods, or burdens that were carried. The sums are the same; what is *owed*
            of goods is *due* of burdens.
        is_ledger: whether the history is a ledger, replayed by its own rules.
        title: the title that was given for the page.
        unit: of what was received; empty if it is not known.
        remarks: notes that were given for the reader.
        shares: the entitlements as they were read, with a cluster's account tree.
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
    replays: tuple[ReplayedDecisions, ...]
    joined_at: np.ndarray
    statuses: tuple[str, ...]
    equal_assumed: bool
    course: Callable[[float], Iterable[PeriodEnd]]
    notes: tuple[str, ...]
    kind: Kind = "good"
    is_ledger: bool = False
    title: str = ""
    unit: str = ""
    remarks: tuple[str, ...] = ()
    shares: Shares | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The agents."""
        return self.members.names

    @property
    def per_unit(self) -> bool:
        """Whether entitlements differ, so that agents are compared per unit of entitlement."""
        return len(set(self.members.entitlements[self.members.entitlements > 0].tolist())) > 1

    def per_unit_of(self, trajectory: Trajectory) -> np.ndarray:
        """What each agent is owed per unit of entitlement; NaN for agents who are away or exempt."""
        return per_unit(trajectory.owed, self.members.entitlements)

    def fair_tree(self, trajectory: Trajectory) -> dict[str, float]:
        """Slurm's fair-tree factor by agent, from what is remembered; empty without an account tree."""
        if self.shares is None or self.shares.tree is None:
            return {}
        usage = dict(zip(self.names, trajectory.remembered.tolist(), strict=True))
        return self.shares.tree.factors(usage, by_user=self.shares.by_user)

    def sshare(self) -> dict[str, float]:
        """The factor by agent that `sshare` itself gives, as far as it was read."""
        if self.shares is None or self.shares.tree is None:
            return {}
        return self.shares.tree.given(by_user=self.shares.by_user)

    def ranked(self, trajectory: Trajectory) -> list[int]:
        """The rows of the agents, the most owed per unit of entitlement first, those who are away last."""
        return ranked(self.per_unit_of(trajectory), self.names)

    def since(self, trajectory: Trajectory, row: int) -> float | None:
        """Since when an agent has been owed without interruption, accurate to one period; None if it is not owed.

        Of a ledger, to the instant.
        """
        return None if math.isnan(trajectory.since[row]) else float(trajectory.since[row])

    def newcomers(self) -> list[int]:
        """The rows of the agents who joined after the first period."""
        # Usage that lasts may begin where the first period ends, and its agent was there from the beginning.
        late = (self.members.first < self.periods.count - 1) & (self.joined_at > self.first)
        return [int(row) for row in np.flatnonzero(late)]

    def newcomers_note(self) -> str:
        """By which rule those who joined after the first period started, as far as one was applied."""
        late = [self.names[row] for row in self.newcomers()]
        by_rule = late if self.members.by_rule is None else [name for name in late if name in self.members.by_rule]
        if len(by_rule) == len(late):
            return f"newcomer rule: {self.members.newcomers}"
        own = "starting with what the ledger records"
        if not by_rule:
            return own
        return f"newcomer rule for {listed(by_rule, 5)}: {self.members.newcomers}; the others {own}"

    def joined(self, row: int) -> float:
        """When an agent joined: at its first event, or as a ledger records it."""
        return float(self.joined_at[row])

    def entitlement_note(self) -> str:
        """To what the agents count as entitled, in one sentence."""
        counted = int(self.is_present.sum())
        if not self.equal_assumed:
            unit = "share of the load" if self.kind == "burden" else "entitlement"
            return f"Agents are compared per unit of {unit}: to each its own part of the sum of all."
        each = f"{100 / max(counted, 1):.2g}%" if counted > 200 else f"{1 / max(counted, 1):.1%}"
        what = "carry" if self.kind == "burden" else "receive"
        return (
            f"Equal shares are assumed, because no entitlements were given: each of the {counted:,} agents would "
            f"{what} {each} of the total."
        )

    def since_note(self) -> str:
        """What `since` means, in one sentence."""
        owed = words(self.kind).owed
        if self.is_ledger:
            return f"{owed.capitalize()} since: the moment at which the agent became {owed}, as in the ledger."
        length = self.clock.length_text(self.periods.length) + ("-step" if self.clock.steps else "")
        moment = "first event" if self.n_events <= DATED_EVENTS else "start"
        return f"{owed.capitalize()} since: the {moment} of the {length} period in which the agent became {owed}."

    def owed_note(self) -> str:
        """What `owed` means, in one sentence."""
        word = words(self.kind)
        share = "its share of the load in" if self.kind == "burden" else "its entitled share of"
        return f"{word.owed.capitalize()}: how far an agent is below (+) or above (-) {share} everything remembered."

    def over_time(self, trajectory: Trajectory, rows: Sequence[int]) -> np.ndarray:
        """Some agents' shares of everything remembered at the end of each period; NaN while an agent is away."""
        shares = []
        for each in self.course(trajectory.half_life):
            total = each.remembered[each.is_present & (each.entitlements > 0)].sum()
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
            "title": self.title or None,
            "utility": self.utility,
            "unit": self.unit or None,
            "remarks": list(self.remarks),
            "kind": self.kind,
            "events": self.n_events,
            "first": time(self.first),
            "at": time(self.periods.end),
            "timezone": None if self.clock.steps else self.clock.zone,
            "times_without_zone": self.clock.assumed,
            "period": length(self.periods.length),
            "newcomer_rule": self.members.newcomers,
            "equal_shares_assumed": self.equal_assumed,
            "notes": [self.entitlement_note(), *self.notes],
            "half_lives": [self._standing_dict(trajectory) for trajectory in self.standings],
            "decided_again": {length(each.half_life): each.to_dict(self.names) for each in self.replays},
            "conclusions": {
                "pairs": self.conclusions.pairs,
                "pairs_that_flip": self.conclusions.pairs_flip,
                "pairs_that_flip_not_listed": self.conclusions.unlisted,
                "agents_that_flip": self.conclusions.sides_flip,
                "found": [
                    each.to_dict(self._number) | {"sentence": each.sentence(length)} for each in self.conclusions.found
                ],
            },
        }

    def _standing_dict(self, trajectory: Trajectory) -> dict[str, Any]:
        time = self.clock.json_time
        measures = MEASURES[self.kind]
        series = {name: [_plain(x) for x in getattr(trajectory, name)] for name in measures}
        agents, per_unit = [], self.per_unit_of(trajectory)
        fair_tree, sshare = self.fair_tree(trajectory), self.sshare()
        for row in self.ranked(trajectory):
            since = self.since(trajectory, row)
            agents.append(
                {
                    "agent": self.names[row],
                    "present": bool(self.is_present[row]),
                    "status": self.statuses[row],
                    "joined": time(self.joined(row)),
                    "received": float(self.received[row]),
                    "remembered": float(trajectory.remembered[row]),
                    "entitlement": float(self.members.entitlements[row]),
                    "share": _plain(trajectory.share[row]),
                    "entitled_share": _plain(self.entitled[row]),
                    "owed": _plain(trajectory.owed[row]),
                    "owed_per_unit": _plain(per_unit[row]),
                    "owed_since": None if since is None else time(since),
                    **({"fair_tree": fair_tree.get(self.names[row])} if fair_tree else {}),
                    **({"sshare": sshare.get(self.names[row])} if sshare else {}),
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
    entitlements: Mapping[str, float] | Shares | None = None,
    others: str | float | None = None,
    newcomers: str | float | None = None,
    gone_after: str | None = None,
    every: str | None = None,
    at: str | None = None,
    refine: bool | None = None,
    welfare: str = "egalitarian",
    kind: Kind | None = None,
    title: str = "",
    unit: str = "",
    remarks: Sequence[str] = (),
) -> Audit:
    """Audits a history under several half-lives.

    Args:
        history: the events, see `read_history`. A ledger is replayed by its own rules under each half-life.
        half_lives: durations such as `7d`, or numbers of steps; with `inf` nothing fades. By default 1d, 7d, 30d and
            inf, or 10, 100, 1000 and inf steps; of a ledger also its own.
        entitlements: the entitlement of each agent, or what `read_shares` read. Agents without events take part from
            the beginning. By default those in a ledger's rules at the moment of the audit, or the same for everyone.
        others: the entitlement of agents that `entitlements` does not name: a number, or `proportional`, which entitles
            them to what they received, so that they are neither owed nor ahead in total. By default they are refused.
        newcomers: the newcomer rule: with how much remembered utility an agent who joins later starts, as in the
            ledger. By default zero, so that only what was received is remembered; of a ledger, its own rule.
        gone_after: an agent without an event for this long counts as away. By default never, because receiving nothing
            is exactly what an audit should show.
        every: the length of a period.
        at: the moment of the audit; later events are left out. By default the time of the last event.
        refine: whether to search for the half-lives at which conclusions flip, which queries the engine a few more
            times. By default true for histories of up to ten million events.
        welfare: what the allocator maximises when decisions are replayed, where the history records who asked.
        kind: `good` or `burden`; by default what a ledger's rules say, or goods. Of burdens an entitlement is the share
            of the load, and agents with 0 are exempt: they are left out.
        title: a title for the page.
        unit: the unit of what was received, such as doses; by default the name of its column.
        remarks: notes for the reader.

    Returns:
        Standings, measures over time and conclusions under each half-life.
    """
    clock = history.clock
    end = history.last if at is None else clock.moment(at)
    if end < history.first:
        raise ValueError(f"at must not be before the first event ({clock.shown(history.first)}), got {at!r}")
    book = None if history.ledger is None else history.ledger.book
    own = None if book is None else book.at(max(int(end), book.began))
    chosen = _half_lives(clock, half_lives, None if own is None else own.half_life)
    rule = None if newcomers is None else check_newcomers(newcomers)
    if rule is not None and rule not in NEWCOMER_RULES:
        check_between("newcomers", float(rule), 0.0, LARGEST_START, f"at most {LARGEST_START:g}")
    about: Kind = check_kind(kind) if kind is not None else "good" if own is None else own.kind
    check_form(named(welfare), about)
    welfare = str(named(welfare))
    shares = Shares(dict(entitlements)) if isinstance(entitlements, Mapping) else entitlements
    given = None
    if shares is not None:
        given = {name: check_entitlement(weight, name, about) for name, weight in shares.entitlements.items()}
    cut = periods(clock, history.first, end, every)
    if history.ledger is not None:
        if gone_after is not None:
            raise ValueError("gone_after does not apply to a ledger, which records who leaves and when")
        known: KnownPast = LedgerAudit(history, cut, given, others, rule)
    else:
        away = math.inf if gone_after is None else clock.length(gone_after, "gone_after")
        known = EnginePast(history, cut, chosen, given, others, rule or "zero", away)
    standings = tuple(known.standing(half_life) for half_life in chosen)
    is_present = ~np.isnan(standings[0].owed)
    who = known.who
    searched = known.n_events <= SEARCHED_EVENTS if refine is None else refine
    asked = {each.half_life: relative(each.owed, each.remembered, who.entitlements) for each in standings}
    present = who.entitlements[is_present]
    conclusions = conclude(
        who.names, asked, (lambda wanted: known.owed_at(wanted, is_present)) if searched else None,
        guess=known.guess(chosen, is_present) if searched and len(chosen) > 1 else None, kind=about,
        per_unit=len(set(present.tolist())) > 1,
        searched=SEARCHED if known.n_events > FEW_EVENTS else 4 * SEARCHED,
    )  # fmt: skip
    replays = () if history.requests is None else replay_decisions(history, who, chosen, end, welfare, about)
    return Audit(
        label=history.source.label,
        clock=clock,
        utility=history.columns["utility"],
        n_events=known.n_events,
        first=history.first,
        periods=cut,
        members=who,
        received=known.received,
        is_present=is_present,
        entitled=entitled_shares(who, is_present),
        standings=standings,
        conclusions=conclusions,
        replays=replays,
        joined_at=known.joined,
        statuses=known.statuses(is_present),
        equal_assumed=given is None and not (own is not None and own.entitlements),
        course=known.course,
        notes=(
            clock.sentence(),
            *history.notes,
            *known.notes,
            *_exempt(who),
            *alike(who.names),
            *(() if shares is None else shares.notes),
        ),
        shares=shares,
        kind=about,
        is_ledger=history.ledger is not None,
        title=check_text("title", title),
        unit=check_text("unit", unit) or ("" if (name := history.columns["utility"]) in _UNNAMED else name),
        remarks=tuple(check_text("note", remark) for remark in remarks),
    )


def _exempt(who: Members) -> list[str]:
    names = [name for name, weight in zip(who.names, who.entitlements.tolist(), strict=True) if not weight]
    return [f"Left out, since exempt from the load: {listed(names, NAMED)}."] if names else []


def _half_lives(clock: Clock, given: Sequence[str | float] | None, own: str | None) -> list[float]:
    defaults = STEP_HALF_LIVES if clock.steps else HALF_LIVES
    return sorted({clock.length(each) for each in given or (*defaults, *(() if own is None else (own,)))})


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
