"""What a history would have been under another half-life or rule, on the same needs.

At every time at which agents were served, each rule serves the same number of those who asked, from what it remembers
of its own decisions. All courses start with an empty memory. Where several decisions are equally good one is drawn, so
each course is run several times: what differs between the draws is the uncertainty of ties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np

from bygones._arrays import check_count, check_one_of
from bygones._text import amount, counted, listed, sentence
from bygones.allocation import ChooseK, allocate
from bygones.allocation.aims import check_form
from bygones.allocation.decide import Rule
from bygones.allocation.settling import settle
from bygones.audit.clock import Clock
from bygones.audit.counterfactual import DecisionRequest, decision_requests
from bygones.audit.history import History
from bygones.audit.trajectory import Members, measure
from bygones.kinds import Kind, check_kind
from bygones.memory import Discounted, MemoryState, PerfectRecall
from bygones.welfare import named

DRAWS = 10
"""How often each course is run."""


class Spread(NamedTuple):
    """The smallest and the largest of a number over the draws."""

    low: float
    high: float

    @property
    def text(self) -> str:
        """One number, or a range."""
        low, high = amount(self.low), amount(self.high)
        return low if low == high else f"{low} to {high}"


class Reassignment(NamedTuple):
    """A decision that would have been another.

    Attributes:
        time: when.
        served: who would have been served, and was not.
        instead_of: who was served, and would not have been.
        certain: whether it is so in every draw.
    """

    time: float
    served: tuple[str, ...]
    instead_of: tuple[str, ...]
    certain: bool


@dataclass(frozen=True, eq=False)
class Course:
    """A course of events under one half-life and rule; the actual one has the rule `actual`.

    Attributes:
        half_life: in microseconds or steps.
        rule: how it was decided.
        differ: how many decisions differ from the actual ones.
        gini: of what is remembered per unit of entitlement in the end, under this half-life.
        least: the least of it.
        total: what all received.
        received: the mean over the draws of what each agent received.
        changes: the decisions that would have been others.
    """

    half_life: float
    rule: str
    differ: Spread
    gini: Spread
    least: Spread
    total: Spread
    received: np.ndarray
    changes: tuple[Reassignment, ...]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The result of `what_if`.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        names: the agents.
        decisions: the number of decisions.
        draws: how often each course was run.
        courses: for each half-life the actual course, then one per rule.
        kind: goods or burdens.
        notes: what was skipped or assumed, in sentences.
    """

    label: str
    clock: Clock
    names: tuple[str, ...]
    decisions: int
    draws: int
    courses: tuple[Course, ...]
    kind: Kind
    notes: tuple[str, ...]

    def sentences(self) -> list[str]:
        """What each rule would have changed, in sentences."""
        found = []
        actual = {course.half_life: course for course in self.courses if course.rule == "actual"}
        for course in self.courses:
            if course.rule == "actual":
                continue
            was, length = actual[course.half_life], self.clock.length_text(course.half_life)
            found.append(
                sentence(
                    f"With a half-life of {length} and the rule {course.rule}, {course.differ.text} of "
                    f"{counted(self.decisions, 'decision')} would have been others: the Gini coefficient would be "
                    f"{course.gini.text} instead of {was.gini.text}, and the total {course.total.text} instead of "
                    f"{was.total.text}{self._who_gains(course.received - was.received)}"
                )
            )
        return found

    def _who_gains(self, gains: np.ndarray) -> str:
        """Who would have received most more, and who most less, as the end of a sentence."""
        verb = "carried" if self.kind == "burden" else "received"
        ends = [(int(np.argmax(gains)), "more"), (int(np.argmin(gains)), "less")]
        said = [
            f"{self.names[row]} would have {verb} {amount(abs(gains[row]))} {which}"
            for row, which in ends
            if (gains[row] > 1e-9) == (which == "more") and abs(gains[row]) > 1e-9
        ]
        return f"; {listed(said)}" if said else ""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON."""
        time, length = self.clock.json_time, self.clock.length_text
        return {
            "history": self.label,
            "kind": self.kind,
            "decisions": self.decisions,
            "draws": self.draws,
            "notes": list(self.notes),
            "courses": [
                {
                    "half_life": length(each.half_life),
                    "rule": each.rule,
                    **{name: getattr(each, name)._asdict() for name in ("differ", "gini", "least", "total")},
                    "received": dict(zip(self.names, each.received.tolist(), strict=True)),
                    "changes": [change._asdict() | {"time": time(change.time)} for change in each.changes],
                }
                for each in self.courses
            ],
        }


def what_if(
    history: History,
    half_lives: Sequence[str | float],
    rules: Sequence[str] = ("one-step",),
    *,
    welfare: str = "egalitarian",
    entitlements: dict[str, float] | None = None,
    others: str | float | None = None,
    kind: Kind = "good",
    draws: int = DRAWS,
) -> WhatIf:
    """Replays the decisions of a history under other half-lives and rules.

    Args:
        history: a history that records who asked, see `read_history(needs=…, served=…)`.
        half_lives: durations such as `7d`, or numbers of steps; `inf` remembers everything.
        rules: `one-step`, `prices`, or both.
        welfare: what decisions maximise.
        entitlements: of each agent; by default the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
        kind: goods or burdens.
        draws: how often each course is run, with other draws among ties.
    """
    if history.requests is None:
        raise ValueError("what_if needs to know who asked: name the columns with needs and served")
    for rule in rules:
        check_one_of("rule", rule, get_args(Rule))
    check_count("draws", draws, most=10_000)
    check_kind(kind)
    check_form(named(welfare), kind)
    clock = history.clock
    requests, names = decision_requests(history)
    if not requests:
        raise ValueError(f"{history.source.label}: nobody was served, so there is no decision to replay")
    weights = np.ones(len(names))
    if entitlements is not None:
        settled = settle(entitlements, dict.fromkeys(names, 1.0), others, history.source.label)
        weights = np.array([settled[name] for name in names])
    who = Members(names, weights, np.zeros(len(names), dtype=np.int64), "zero", math.inf)
    gaps = np.diff([request.time for request in requests])
    step = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    courses = []
    for half_life in sorted({clock.length(each) for each in half_lives}):
        courses.append(_actual(requests, who, half_life, step))
        courses += [_course(requests, who, half_life, step, rule, welfare, kind, draws) for rule in rules]
    return WhatIf(
        history.source.label,
        clock,
        names,
        len(requests),
        draws,
        tuple(courses),
        kind,
        (clock.sentence(), *history.notes),
    )


class _Run:
    """One course of events. A step of the memory is the usual time between two decisions."""

    def __init__(self, who: Members, half_life: float, step: float) -> None:
        self._who, self._step = who, step
        infinite = math.isinf(half_life)
        self._memory: Any = PerfectRecall() if infinite else Discounted(half_life=half_life / step)
        self._state = self._memory.init(len(who.names))
        self._has_asked = np.zeros(len(who.names), dtype=bool)
        self._now: float | None = None
        self.received = np.zeros(len(who.names))
        self.served: list[frozenset[int]] = []

    def decide(self, request: DecisionRequest, rule: Rule, welfare: str, kind: Kind, rng: np.random.Generator) -> None:
        """Serves as many as were served, by a rule."""
        self._has_asked[request.who] = True
        members = np.flatnonzero(self._has_asked)
        needs, can = np.zeros(len(self.received)), np.zeros(len(self.received), dtype=bool)
        needs[request.who], can[request.who] = request.needs, True
        can &= self._who.entitlements > 0
        k = min(int(request.served.sum()), int(can.sum()))
        chosen = np.zeros(0, dtype=int)
        if k:
            state = MemoryState(self._state.Z[members], self._state.d, self._state.Z_lost[members], self._state.d_lost)
            weights = self._who.entitlements[members]
            decision = allocate(
                ChooseK(needs[members], k, allowed=can[members], kind=kind), self._memory, state, welfare,
                elapsed=self._elapsed(request.time), entitlements=None if (weights == 1).all() else weights,
                rule=rule, rng=rng,
            )  # fmt: skip
            chosen = members[decision.served]
        self.serve(request, chosen)

    def serve(self, request: DecisionRequest, chosen: np.ndarray) -> None:
        """Gives the chosen agents what they need."""
        self._has_asked[request.who] = True
        utilities = np.zeros(len(self.received))
        utilities[request.who] = np.where(np.isin(request.who, chosen), request.needs, 0.0)
        self._state = self._memory.advance(self._state, utilities, self._elapsed(request.time))
        self._now = request.time
        self.received += utilities
        self.served.append(frozenset(int(row) for row in chosen))

    def measures(self) -> tuple[float, float, float]:
        """Gini coefficient and least of what is remembered in the end, and the total received."""
        present = np.flatnonzero(self._has_asked & (self._who.entitlements > 0))
        gini, least, _, _ = measure(
            np.asarray(self._memory.read(self._state))[present], self._who.entitlements[present]
        )
        return gini, least, float(self.received.sum())

    def _elapsed(self, time: float) -> float:
        return 1.0 if self._now is None else max(0.0, (time - self._now) / self._step)


def _actual(requests: Sequence[DecisionRequest], who: Members, half_life: float, step: float) -> Course:
    run = _Run(who, half_life, step)
    for request in requests:
        run.serve(request, request.who[request.served])
    gini, least, total = (Spread(number, number) for number in run.measures())
    return Course(half_life, "actual", Spread(0, 0), gini, least, total, run.received, ())


def _course(
    requests: Sequence[DecisionRequest],
    who: Members,
    half_life: float,
    step: float,
    rule: str,
    welfare: str,
    kind: Kind,
    draws: int,
) -> Course:
    runs = []
    for seed in range(draws):
        run, rng = _Run(who, half_life, step), np.random.default_rng(seed)
        for request in requests:
            run.decide(request, "prices" if rule == "prices" else "one-step", welfare, kind, rng)
        runs.append(run)
    actual = [frozenset(request.who[request.served].tolist()) for request in requests]
    differ = [sum(one != was for one, was in zip(run.served, actual, strict=True)) for run in runs]
    gini, least, total = (Spread(min(each), max(each)) for each in zip(*(run.measures() for run in runs), strict=True))
    changes = []
    for i, request in enumerate(requests):
        first = runs[0].served[i]
        if first != actual[i]:
            certain = all(run.served[i] == first for run in runs)
            changes.append(
                Reassignment(request.time, _names(who, first - actual[i]), _names(who, actual[i] - first), certain)
            )
    received = np.mean([run.received for run in runs], axis=0)
    spread = Spread(float(min(differ)), float(max(differ)))
    return Course(half_life, rule, spread, gini, least, total, received, tuple(changes))


def _names(who: Members, rows: frozenset[int]) -> tuple[str, ...]:
    return tuple(sorted(who.names[row] for row in rows))
