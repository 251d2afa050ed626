"""The result of an audit, as numbers, as sentences about them, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np

from bygones._text import counted, listed
from bygones.audit.measure.audit_document import audit_document
from bygones.audit.measure.conclusions import TIED, Conclusions
from bygones.audit.measure.pasts import DATED_EVENTS, Attendance, Past, Trajectory
from bygones.audit.measure.sums import Periods
from bygones.audit.read.clock import Clock
from bygones.audit.read.entitlements import Shares
from bygones.audit.read.formats import Demand
from bygones.audit.replay.past_decisions import Measured
from bygones.audit.replay.what_if import WhatIf
from bygones.document.document import Answer, Document
from bygones.kinds import Kind, words
from bygones.ledger.model.standing import per_unit, ranked

MEASURES = {"good": ("gini", "egalitarian", "nash", "mean"), "burden": ("gini", "heaviest", "mean")}
"""The measures over time; the worst-off of burdens works most, and a geometric mean has no meaning."""

OTHER_RULE = {"zero": ("mean", ", the default of a ledger"), "mean": ("zero", "")}
"""For two newcomer rules, the other one and whose default it is.

An audit and advice count only the amounts received by default. A ledger starts newcomers with the mean."""

_Answer = TypeVar("_Answer")


class AgentStanding(NamedTuple):
    """Where an agent stands under a half-life, by the names that JSON has; None where there is no such number.

    Attributes:
        agent: its name.
        present: whether it takes part at the moment of the audit.
        status: `present`, `away`, `on hold` or `exempt`.
        joined: the time of its first event, or at which it joined a ledger.
        received: the true total.
        remembered: the recent total.
        entitlement: relative to the others.
        share: its share of the recent total of all.
        entitled_share: the share to which it is entitled.
        owed: how far it is below that share, negative if above.
        owed_per_unit: the same per unit of entitlement.
        owed_since: the moment since which it has been owed without interruption.
        factors: for a cluster with an account tree, Slurm's `fair_tree` factor from the recent totals and, if it was
            read, the factor in the output of `sshare`.
    """

    agent: str
    present: bool
    status: str
    joined: float
    received: float
    remembered: float
    entitlement: float
    share: float | None
    entitled_share: float | None
    owed: float | None
    owed_per_unit: float | None
    owed_since: float | None
    factors: dict[str, float | None]


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Answer):
    """The result of `audit`.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        utility: the name of the column with the amounts.
        n_events: the number of events up to the moment of the audit.
        first: the time of the first event.
        periods: the periods at whose ends standings are computed.
        members: who takes part, and from when.
        received: the total that each agent received, which never fades.
        is_present: who takes part at the moment of the audit.
        entitled: the share to which each of those is entitled; NaN for the others.
        standings: where every agent stands under each half-life, the shortest first.
        conclusions: the statements that hold at every half-life, and the ones that depend on it.
        what_if: the decisions of the rule `one-step` under each half-life; None where the history does not record who
            asked.
        statuses: whether each agent is `present`, `away`, `on hold` or `exempt`.
        equal_assumed: whether entitlements were not given, so entitlements count as equal.
        past: the history that was audited, which answers further questions.
        notes: skipped rows and assumptions, in sentences.
        kind: whether the history is about goods or burdens. The sums are the same; an agent who is *owed* goods is
            *due* to work.
        is_ledger: whether the history is a ledger, replayed by its own rules.
        title: the title that was given for the page.
        unit: the unit of the amounts; empty if it is not known.
        remarks: notes that were given for the reader.
        shares: the entitlements as they were read, with a cluster's account tree.
        demand: the demand of each agent, if the history is a log that tells.
    """

    label: str
    clock: Clock
    utility: str
    n_events: int
    first: float
    periods: Periods
    members: Attendance
    received: np.ndarray
    is_present: np.ndarray
    entitled: np.ndarray
    standings: tuple[Trajectory, ...]
    conclusions: Conclusions
    what_if: WhatIf | None
    statuses: tuple[str, ...]
    equal_assumed: bool
    past: Past
    notes: tuple[str, ...]
    kind: Kind = "good"
    is_ledger: bool = False
    title: str = ""
    unit: str = ""
    remarks: tuple[str, ...] = ()
    shares: Shares | None = None
    demand: Mapping[str, Demand] | None = None

    def __repr__(self) -> str:
        half_lives = listed([self.clock.length_text(each.half_life) for each in self.standings])
        return f"<Audit of {self.label}: {counted(self.n_events, 'event')}, half-lives {half_lives}>"

    def document(self) -> Document:
        """The audit as people read it."""
        return audit_document(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The agents."""
        return self.members.names

    @property
    def present_names(self) -> list[str]:
        """The agents who take part at the moment of the audit."""
        return [self.names[int(row)] for row in np.flatnonzero(self.is_present)]

    @property
    def idle(self) -> list[str]:
        """The agents present who asked for nothing, as far as the history tells."""
        return [] if self.demand is None else [name for name in self.present_names if name not in self.demand]

    @property
    def knows_pending(self) -> bool:
        """Whether the history is a log with pending jobs."""
        return any(each.pending for each in (self.demand or {}).values())

    def waits(self, row: int) -> bool:
        """Whether an agent may wait for something: it has pending jobs or, if the log has none, it asked at all."""
        if self.demand is None:
            return True
        asked = self.demand.get(self.names[row])
        return asked is not None and (asked.pending > 0 or not self.knows_pending)

    @property
    def per_unit(self) -> bool:
        """Whether entitlements differ, so agents are compared per unit of entitlement."""
        return len(set(self.members.entitlements[self.members.entitlements > 0].tolist())) > 1

    @property
    def recent(self) -> str:
        """The name of what the memory holds: recent totals of goods, recent work of burdens."""
        return words(self.kind).recent

    @property
    def little(self) -> float:
        """The share of the recent total below which a difference is a tie."""
        return TIED / max(1, int(self.is_present.sum()))

    def per_unit_of(self, trajectory: Trajectory) -> np.ndarray:
        """The amount owed to each agent per unit of entitlement; NaN for agents who are away or exempt."""
        return per_unit(trajectory.owed, self.members.entitlements)

    def rows(self, trajectory: Trajectory, which: Sequence[int] | None = None) -> list[AgentStanding]:
        """Where agents stand under a half-life: all, as `ranked`, or those in some rows."""
        factors = self.factors(trajectory)
        per_unit = self.per_unit_of(trajectory)
        return [
            AgentStanding(
                agent=self.names[row],
                present=bool(self.is_present[row]),
                status=self.statuses[row],
                joined=self.joined(row),
                received=float(self.received[row]),
                remembered=float(trajectory.remembered[row]),
                entitlement=float(self.members.entitlements[row]),
                share=_plain(trajectory.share[row]),
                entitled_share=_plain(self.entitled[row]),
                owed=_plain(trajectory.owed[row]),
                owed_per_unit=_plain(per_unit[row]),
                owed_since=self.since(trajectory, row),
                factors={name: each.get(self.names[row]) for name, each in factors.items()},
            )
            for row in (self.ranked(trajectory) if which is None else which)
        ]

    def factors(self, trajectory: Trajectory) -> dict[str, dict[str, float]]:
        """In a cluster with an account tree, Slurm's factors by their names and agents; otherwise none."""
        if self.shares is None or self.shares.tree is None:
            return {}
        usage = dict(zip(self.names, trajectory.remembered.tolist(), strict=True))
        tree, by_user = self.shares.tree, self.shares.by_user
        factors = {"fair_tree": tree.factors(usage, by_user=by_user), "sshare": tree.given(by_user=by_user)}
        return {name: by_agent for name, by_agent in factors.items() if by_agent}

    def ranked(self, trajectory: Trajectory) -> list[int]:
        """The rows of the agents in the order in which they are served, absent agents last.

        The agent that is owed most per unit of entitlement comes first. In a cluster with an account tree, the order is
        that of Slurm's fair tree.
        """
        order = ranked(self.per_unit_of(trajectory), self.names)
        factors = self.tree_factors(trajectory)
        return order if factors is None else sorted(order, key=lambda row: -factors.get(self.names[row], -1.0))

    def tree_factors(self, trajectory: Trajectory) -> dict[str, float] | None:
        """Slurm's fair-tree factor of all agents; None if the tree does not have one for each agent present."""
        factors = self.factors(trajectory).get("fair_tree", {})
        return factors if factors and factors.keys() >= set(self.present_names) else None

    def since(self, trajectory: Trajectory, row: int) -> float | None:
        """Since when an agent has been owed without interruption, accurate to one period; None if it is not owed.

        Of a ledger, to the instant.
        """
        return _plain(trajectory.since[row])

    def newcomers(self) -> list[int]:
        """The rows of the agents who joined after the first period."""
        # Usage that lasts may begin where the first period ends, and its agent was there from the beginning.
        late = (self.members.first < self.periods.count - 1) & (self.past.joined > self.first)
        return [int(row) for row in np.flatnonzero(late)]

    def newcomers_note(self) -> str:
        """The newcomer rule of agents who joined after the first period, as far as one was applied."""
        late = [self.names[row] for row in self.newcomers()]
        by_rule = late if self.members.by_rule is None else [name for name in late if name in self.members.by_rule]
        if len(by_rule) == len(late):
            return f"newcomer rule: {self.members.newcomers}"
        if not by_rule:
            return "starting with what the ledger records"
        rule = f"newcomer rule for {listed(by_rule, 5)}: {self.members.newcomers}"
        return f"{rule}; the others start with what the ledger records"

    def newcomer_notes(self) -> list[str]:
        """How many joined later and by which rule they started, and who would be owed most under another."""
        late = self.newcomers()
        if not late:
            return []
        appear = f"{counted(len(late), 'agent')} first {'appears' if len(late) == 1 else 'appear'}"
        begins = f"more than {self.clock.length_text(self.periods.length)} after the history begins"
        return [f"{appear} {begins} ({self.newcomers_note()}).", *self._otherwise()]

    def _otherwise(self) -> list[str]:
        """Who would be owed most if newcomers started by the other rule; empty if it is the same."""
        other, default = OTHER_RULE.get(self.members.newcomers, ("", ""))
        half_lives = [each.half_life for each in self.standings]
        would = [self.past.owed_if(other, each) for each in half_lives] if other else []
        firsts = [self._most(relative) for relative in would if relative is not None]
        if not firsts or firsts == [self._most(self.conclusions.asked[each]) for each in half_lives]:
            return []
        runs = stretches(firsts, [self.clock.length_text(each) for each in half_lives])
        first = "due next" if self.kind == "burden" else "owed most"
        where = f"With the newcomer rule {other}{default},"
        if len(runs) == 1:
            each = " at each half-life compared" if len(half_lives) > 1 else ""
            return [f"{where} {listed(runs[0][0], 3) or 'nobody'} would be {first}{each}."]
        who = listed([f"{listed(names, 3) or 'nobody'} at {lengths}" for names, lengths in runs])
        return [f"{where} {who} would be {first}."]

    def _most(self, relative: np.ndarray) -> tuple[str, ...]:
        """Who is owed most, and who is tied with them; nobody if nobody is owed anything."""
        known, little = np.nan_to_num(relative, nan=-math.inf), self.little
        rows = np.flatnonzero(known >= known.max() - little) if known.max() > little else ()
        return tuple(self.names[int(row)] for row in rows)

    def joined(self, row: int) -> float:
        """When an agent joined: at its first event, or as a ledger records it."""
        return float(self.past.joined[row])

    def entitlement_note(self) -> str:
        """The entitlements of the agents, in one sentence."""
        counted = int(self.is_present.sum())
        if not self.equal_assumed:
            if not self.per_unit:
                return f"All {'shares of the load' if self.kind == 'burden' else 'entitlements'} are equal."
            if self.kind == "burden":
                return (
                    "Shares of the load differ: half a share means half the work. Agents are ranked by the amount due "
                    "divided by their share (per unit)."
                )
            return (
                "Entitlements differ: twice the entitlement means twice the amount. Agents are ranked by the amount "
                "owed divided by their entitlement (per unit)."
            )
        if counted == 1:
            return "There is one agent, who counts as entitled to everything."
        each = f"{100 / max(counted, 1):.2g}%" if counted > 200 else f"{1 / max(counted, 1):.1%}"
        what = words(self.kind).receive
        return (
            f"No entitlements were given, so equal shares are assumed: each of the {counted:,} agents would {what} "
            f"{each} of the total."
        )

    def since_note(self) -> str:
        """The meaning of `since`, in one sentence."""
        owed = words(self.kind).owed
        if self.is_ledger:
            return f"{owed.capitalize()} since: the moment at which the agent became {owed}, as in the ledger."
        length = self.clock.length_text(self.periods.length) + ("-step" if self.clock.steps else "")
        moment = "first event" if self.n_events <= DATED_EVENTS else "start"
        return f"{owed.capitalize()} since: the {moment} of the {length} period in which the agent became {owed}."

    def owed_note(self) -> str:
        """The meaning of `owed`, in one sentence."""
        word = words(self.kind)
        return f"{word.owed.capitalize()}: how far below (+) or above (-) the {word.share} of the {self.recent}."

    def over_time(self, trajectory: Trajectory, rows: Sequence[int]) -> np.ndarray:
        """Some agents' shares of the recent total at the end of each period; NaN while an agent is away."""
        shares = []
        for each in self.past.course(trajectory.half_life):
            total = each.remembered[each.is_present & (each.entitlements > 0)].sum()
            shares.append(np.where(each.is_present[rows], each.remembered[rows] / (total or 1.0), math.nan))
        return np.array(shares)

    def ends(self) -> list[float]:
        """The ends of the periods, the earliest first."""
        return [self.periods.end_of(period) for period in range(self.periods.count - 1, -1, -1)]

    def to_dict(self) -> dict[str, object]:
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
            "time_zone": None if self.clock.steps else self.clock.zone,
            "times_without_zone": self.clock.assumed,
            "period": length(self.periods.length),
            "newcomer_rule": self.members.newcomers,
            "equal_shares_assumed": self.equal_assumed,
            "notes": [self.entitlement_note(), *self.notes, *self.newcomer_notes()],
            "half_lives": [self._standing_dict(trajectory) for trajectory in self.standings],
            "decided_again": self._decided_again(),
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

    def _decided_again(self) -> dict[str, object]:
        """The decisions of the rule, by half-life."""
        if self.what_if is None:
            return {}
        decided: dict[str, object] = {}
        for course in self.what_if.alternatives():
            outcomes = {}
            for which, (run,) in (("actual", self.what_if.actual(course).runs), ("instead", course.runs)):
                received = dict(zip(self.names, run.received.tolist(), strict=True))
                measures = {name: getattr(run, name) for name in ("total", *Measured._fields)}
                outcomes[which] = {"received": received, **measures}
            numbers = {"decisions": self.what_if.decisions, "differ": int(course.differ.low)}
            decided[self.clock.length_text(course.memory.length)] = numbers | outcomes
        return decided

    def _standing_dict(self, trajectory: Trajectory) -> dict[str, object]:
        time, agents = self.clock.json_time, []
        for row in self.rows(trajectory):
            since = None if row.owed_since is None else time(row.owed_since)
            plain = row._asdict() | {"joined": time(row.joined), "owed_since": since}
            agents.append(plain | plain.pop("factors"))
        series = {name: [_plain(x) for x in getattr(trajectory, name)] for name in MEASURES[self.kind]}
        return {
            "half_life": self.clock.length_text(trajectory.half_life),
            "agents": agents,
            "over_time": {"at": [time(end) for end in self.ends()], **series},
        }

    def _number(self, half_life: float) -> float:
        """A half-life as a number for JSON: in days, or in steps."""
        return half_life if self.clock.steps else half_life / 86_400e6


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def stretches(answers: Sequence[_Answer], lengths: Sequence[str]) -> list[tuple[_Answer, str]]:
    """Neighbouring half-lives with the same answer: the answer, and `7d` or `7d to 30d`."""
    runs = []
    for answer, group in groupby(zip(answers, lengths, strict=True), key=lambda pair: pair[0]):
        first, *more = [length for _, length in group]
        runs.append((answer, f"{first} to {more[-1]}" if more else first))
    return runs
