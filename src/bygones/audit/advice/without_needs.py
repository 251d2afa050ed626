"""Which half-life to begin with where a history records who received how much, but not who asked.

Rules cannot be replayed then. Such a history shows how often each agent has a turn, how long agents stay, and whether
the half-life makes a difference to who is first in line now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._text import counted, listed
from bygones.audit.advice.recommendation import (
    AROUND,
    KIND_ASSUMED,
    OTHERS_TOO,
    TURNS,
    Recommendation,
    period_of,
    round_lengths,
)
from bygones.audit.measure.audit import audit
from bygones.audit.measure.findings import stretches
from bygones.audit.read.clock import Clock
from bygones.audit.read.history import History
from bygones.document.document import Cell, Table
from bygones.kinds import Kind, words
from bygones.ledger.model.times import SECOND

GONE = 2.0
"""After this many periods without an event, an agent counts as away."""

MANY = 0.25
"""If at least this part of the agents has gone, the half-life is no longer than they stayed."""


class FirstInLine(NamedTuple):
    """A half-life, how unequal the recent totals are now, and who is owed most, or due next."""

    half_life: float
    gini: float
    first: str | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReceivedAdvice(Recommendation):
    """The result of `advise` for a history that does not record who asked.

    Attributes:
        events: the number of events.
        agents: the number of agents.
        span: the time from the first event to the last.
        turn: the mean time between two events of the same agent; of usage that lasts, weighted by usage.
        job: how long a job lasts, weighted by usage; 0 if events last for no time.
        stay: the median time between the first and the last event of agents who have gone; infinite if few have.
        half_life: what to begin with.
        standings: who is first in line under several half-lives, the shortest first.
        otherwise: who would be first in line under the newcomer rule of an audit, as a sentence; empty if the same.
    """

    events: int
    agents: int
    span: float
    turn: float
    job: float
    stay: float
    half_life: float
    standings: tuple[FirstInLine, ...]
    otherwise: str

    def __repr__(self) -> str:
        return f"<ReceivedAdvice for {self.label}: half-life {self.takes}>"

    @property
    def takes(self) -> str:
        return self.clock.length_text(self.half_life)

    def headline(self) -> list[str]:
        sentences = [f"Begin with a half-life of {self.length(self.half_life)}."]
        if self.span < self.half_life < math.inf:
            sentences.append(
                f"This history covers only {self.length(self.span)}, so the half-life follows from how often turns "
                f"come and could not be tested. Ask again when the history is longer."
            )
        if self.is_log:
            return [*sentences, "Rules were not compared. To replay the queue of a cluster, use bygones what-if."]
        who = "was available" if self.kind == "burden" else "asked"
        what = f"who {words(self.kind).received} how much, but not who {who}"
        return [
            *sentences, f"Rules could not be compared, because this history records {what}. One-step is the simplest."
        ]  # fmt: skip

    def reasons(self) -> list[str]:
        if self.agents < 2:
            return ["There is only one agent in this history, so there is no one to be fair to."]
        stayed = "few have left"
        if GONE * self.period >= self.span:
            stayed = "the history is too short to show who has left"
        elif math.isfinite(self.stay):
            stayed = f"half of those who left had stayed no longer than {self.length(self.stay)}"
        sentences = [
            f"There are {counted(self.events, 'event')} of {counted(self.agents, 'agent')}. An agent has a turn about "
            f"every {self.length(self.turn)}, and {stayed}.",
            f"A half-life should be long enough for about {TURNS:.0f} turns each, or it forgets before agents come out "
            f"even. It should be no longer than agents stay, or they leave before it counts.",
        ]
        if self.job:
            sentences.append(
                f"Weighted by usage, a job lasts {self.length(self.job)}. With a shorter half-life, half of its usage "
                f"would fade before it ends."
            )
        return [*sentences, self._about_the_line()]

    def _about_the_line(self) -> str:
        first = "due next" if self.kind == "burden" else "owed most"
        rule = f", with the newcomer rule {self.newcomers}" if self.otherwise else ""
        runs = stretches(
            [each.first for each in self.standings], [self.length(each.half_life) for each in self.standings]
        )
        if len(runs) == 1:
            who = runs[0][0] or "nobody"
            return f"Who is {first} now does not depend on the half-life: {who}, at every one that was compared{rule}."
        phrases = listed([f"{name or 'nobody'} at {lengths}" for name, lengths in runs])
        return f"Who is {first} now depends on the half-life: {phrases}{rule}."

    def doubts(self) -> list[str]:
        if self.agents < 2:
            return [OTHERS_TOO]
        sentences = [KIND_ASSUMED] if self.kind_assumed else []
        sentences.append("If shares should even out sooner or later than that, use --period.")
        if self.otherwise:
            sentences.append(self.otherwise)
        if not self.is_log:
            who = "was available" if self.kind == "burden" else "asked"
            sentences.append(
                f"To compare rules as well, record one row for each agent who {who}, each time, with the columns "
                f"agent, time, need (the amount if they are chosen) and served (1 or 0)."
            )
        return sentences

    def table(self) -> Table:
        length, first = self.clock.length_text, "due next" if self.kind == "burden" else "owed most"
        rows: list[list[Cell]] = [
            [length(each.half_life), each.gini, each.first or "nobody"] for each in self.standings
        ]
        return Table(
            "Where everyone stands now",
            ["half-life", "Gini", first],
            rows if self.agents > 1 else [],
            note="Gini: how unequal the recent totals are now. 0 is equal.",
        )

    def _choice(self) -> dict[str, object]:
        return {"verdict": "not compared"}

    def _numbers(self) -> dict[str, object]:
        length = self.clock.length_text
        turns = {"turn": length(self.turn), "stay": length(self.stay)}
        return {
            "facts": {"events": self.events, "agents": self.agents, **turns},
            "half_lives": [each._asdict() | {"half_life": length(each.half_life)} for each in self.standings],
        }


def advise_received(
    history: History,
    period: str | float | None,
    half_lives: Sequence[str | float] | None,
    newcomers: str | float | None,
    entitlements: Mapping[str, float] | None,
    others: str | float | None,
    kind: Kind | None,
) -> ReceivedAdvice:
    """Recommends a half-life to begin with, for a history that does not record who asked; see `advise`."""
    clock, span = history.clock, float(history.last - history.first)
    events = history.events
    turns = history.fetch(
        events.group_by("agent").aggregate(
            first=events.time.min(), last=events.time.max(), n=events.count(), used=events.utility.sum(),
            squares=(events.utility * events.utility).sum(),
        )
    )  # fmt: skip
    length = _job_length(history)
    stays = np.asarray(turns["last"].to_numpy(), dtype=float) - np.asarray(turns["first"].to_numpy(), dtype=float)
    counts = np.asarray(turns["n"].to_numpy())
    between = float(stays.sum()) / max(int((counts - 1).sum()), 1)
    if not between and period is None:
        raise ValueError(
            f"{history.source.label} is too short to advise on: it has {counted(history.n_events, 'event')}, and no "
            f"agent has two at different times, so it does not show how often a turn comes; give more of the "
            f"history, or --period with the time over which shares should even out"
        )
    if length:
        between = _between_jobs(
            stays, *(np.asarray(turns[name].to_numpy(), dtype=float) for name in ("used", "squares"))
        )
    turn = between or span or 1.0
    over = period_of(clock, period, turn, math.inf)
    for name, given in (("period", over), *(("half_lives", clock.length(each)) for each in half_lives or ())):
        if given < length and (name == "half_lives" or period is not None):
            raise ValueError(
                f"{name} must be at least {clock.length_text(length)}, the length of a job weighted by usage, got "
                f"{clock.length_text(given)}: half of its usage would fade before the job ends"
            )
    if over < length:
        over = next((each for each in round_lengths(clock, 10 * length) if each >= length), length)
    gone = np.asarray(turns["last"].to_numpy(), dtype=float) < history.last - GONE * over
    stay = float(np.median(stays[gone])) if gone.mean() >= MANY else math.inf
    shorter = [each for each in round_lengths(clock, min(stay, over)) if each >= max(turn, length)]
    half_life = over if period is not None or over <= stay or not shorter else shorter[-1]
    known = [each for each in round_lengths(clock, max(span, half_life)) if each >= max(half_life / AROUND, length)]
    around = [each for each in known if each <= AROUND * half_life]
    asked = half_lives or [_written(clock, each) for each in sorted({*around, half_life})] + ["inf"]
    away = None if history.ledger is not None else _written(clock, GONE * over)
    audited = audit(
        history,
        asked,
        entitlements=entitlements,
        others=others,
        newcomers=newcomers,
        refine=False,
        kind=kind,
        gone_after=away,
    )
    standings = []
    for each in audited.standings:
        row = audited.ranked(each)[0]
        is_owed = audited.is_present[row] and each.owed[row] > 0
        standings.append(FirstInLine(each.half_life, float(each.gini[-1]), audited.names[row] if is_owed else None))
    return ReceivedAdvice(
        label=audited.label,
        clock=clock,
        kind=audited.kind,
        kind_assumed=kind is None and history.ledger is None,
        events=audited.n_events,
        agents=len(audited.names),
        span=span,
        turn=turn,
        job=length,
        stay=stay,
        period=over,
        half_life=half_life,
        standings=tuple(standings),
        newcomers=audited.members.newcomers,
        otherwise=" ".join(audited.newcomer_notes()[1:]),
        gone_after="" if away is None else clock.length_text(GONE * over),
        is_ledger=history.ledger is not None,
        is_log="submit" in history.columns,
        notes=(
            audited.entitlement_note(),
            *([] if away is None else [f"Agents without an event for {clock.length_text(GONE * over)} count as away."]),
            *audited.notes,
            *audited.newcomer_notes()[:1],
        ),
    )


def _job_length(history: History) -> float:
    """How long usage lasts, weighted by usage; 0 if events last for no time."""
    events = history.events
    if "start" not in events.columns:
        return 0.0
    lasts, used = (events.time - events.start).cast("float64"), events.utility
    sums = history.fetch(events.aggregate(weighted=(lasts * used).sum(), used=used.sum()))
    weighted, total = (float(sums[name][0].as_py() or 0.0) for name in ("weighted", "used"))
    return weighted / total if total else 0.0


def _between_jobs(stays: np.ndarray, used: np.ndarray, squares: np.ndarray) -> float:
    """The mean time between two jobs of the same agent, weighted by usage.

    An agent has as many jobs as equal ones would give the same sum of squares, so small ones hardly count.
    """
    jobs = np.divide(used**2, squares, out=np.ones_like(used), where=squares > 0)
    return float((used * stays / np.maximum(jobs - 1, 1)).sum() / (used.sum() or 1.0))


def _written(clock: Clock, length: float) -> str:
    """A length of time as `Clock.length` reads it, to the last digit."""
    return repr(float(length)) if clock.steps else f"{length / SECOND!r}s"
