"""Replays the decisions of a history: one course of events per memory and rule, on the same needs.

At every decision, a rule serves as many agents as were served, from the agents who asked and are not exempt. It goes
by the recent totals from its own decisions. All courses see the same needs and newcomers, and start with an empty
memory. An agent who asks for the first time joins, with the start that the newcomer rule gives. The course that
happened has the rule `actual`. Where several decisions are equally good one is sampled, so a course can be run several
times. The draws differ by the uncertainty of ties.

`audit`, `what-if` and `advise` ask for different courses of this one replay:

- `audit` compares what happened with the rule `one-step`, drawn once, under each of its half-lives. Both are measured
  at the moment of the audit, among all its members.
- `what-if` runs any memory and rule several times, and measures right after the last decision, among agents who asked.
- `advise` runs many memories and both rules, and judges them by the totals within periods
  (`bygones.audit.advice.trials`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bygones._text import amount
from bygones.allocation import ChooseK, allocate
from bygones.audit.replay.memories import Alternative
from bygones.audit.replay.past_decisions import DecisionRequest, Decisions, measure
from bygones.kinds import Kind
from bygones.welfare import AnyWelfare

ACTUAL = "actual"
"""The rule of the course that happened."""

_PER_AGENT = ("Z", "Z_lost", "utilities")


class Spread(NamedTuple):
    """The smallest and the largest of a number over the draws."""

    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Spread:
        """Of these numbers."""
        return cls(min(numbers), max(numbers))

    @property
    def text(self) -> str:
        """One number, or a range."""
        low, high = amount(self.low), amount(self.high)
        return low if low == high else f"{low} to {high}"


class Run(NamedTuple):
    """One draw of a course.

    Attributes:
        received: the true total of each agent.
        total: the true total of all.
        gini: the Gini coefficient of the recent totals per unit of entitlement at the end; this and the next four are
            as in `measure`.
        egalitarian: the least of it.
        nash: its geometric mean.
        mean: its mean.
        heaviest: the most of it.
        gini_received: the Gini coefficient of the true totals, per unit of entitlement.
        longest: the most times in a row that an agent was turned down; of burdens, worked.
        served: for each request of each decision, whether it was served.
    """

    received: np.ndarray
    total: float
    gini: float
    egalitarian: float
    nash: float
    mean: float
    heaviest: float
    gini_received: float
    longest: int
    served: np.ndarray


class Reassignment(NamedTuple):
    """A decision that would have been different.

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
    """A course of events under one memory and rule.

    Attributes:
        decisions: the decisions.
        memory: the memory by which they are made and judged.
        rule: the rule, or `actual`.
        kind: goods or burdens.
        runs: the result of each draw.
    """

    decisions: Decisions
    memory: Alternative
    rule: str
    kind: Kind
    runs: tuple[Run, ...]

    @property
    def is_actual(self) -> bool:
        """Whether it is what happened."""
        return self.rule == ACTUAL

    @property
    def differ(self) -> Spread:
        """How many decisions differ from the actual ones."""
        if self.is_actual:
            return Spread(0, 0)
        index, was = self.decisions.index, self.decisions.served
        return Spread.of([float(len(np.unique(index[run.served != was]))) for run in self.runs])

    @property
    def gini(self) -> Spread:
        """The Gini coefficient of the recent totals per unit of entitlement at the end, under this memory."""
        return self._spread("gini")

    @property
    def worst(self) -> Spread:
        """The least of it; of burdens the heaviest load."""
        return self._spread("heaviest" if self.kind == "burden" else "egalitarian")

    @property
    def gini_received(self) -> Spread:
        """The Gini coefficient of the true totals, which never fade and so compare memories."""
        return self._spread("gini_received")

    @property
    def total(self) -> Spread:
        """The true total of all."""
        return self._spread("total")

    @property
    def received(self) -> np.ndarray:
        """The mean over the draws of each agent's true total."""
        return np.asarray(np.mean([run.received for run in self.runs], axis=0))

    @property
    def longest(self) -> int:
        """The most times in a row, in any draw, that an agent was turned down; of burdens, worked."""
        return max(run.longest for run in self.runs)

    @cached_property
    def changes(self) -> tuple[Reassignment, ...]:
        """The decisions that would have been different."""
        index, was, served = self.decisions.index, self.decisions.served, self.runs[0].served
        changes = []
        for i in np.unique(index[served != was]).tolist():
            here = slice(*np.searchsorted(index, [i, i + 1]).tolist())
            certain = all(np.array_equal(run.served[here], served[here]) for run in self.runs)
            gains, loses = (self._names(i, each[here]) for each in (served & ~was, was & ~served))
            changes.append(Reassignment(self.decisions.requests[i].time, gains, loses, certain))
        return tuple(changes)

    def _spread(self, measure: str) -> Spread:
        return Spread.of([getattr(run, measure) for run in self.runs])

    def _names(self, decision: int, which: np.ndarray) -> tuple[str, ...]:
        names = self.decisions.who.names
        return tuple(sorted(names[row] for row in self.decisions.requests[decision].who[which]))


def replay(
    decisions: Decisions,
    memory: Alternative,
    rule: str,
    kind: Kind = "good",
    welfare: AnyWelfare = "egalitarian",
    *,
    draws: int = 1,
    until: float | None = None,
) -> Course:
    """The course of events under a memory and a rule.

    Args:
        decisions: the decisions.
        memory: the memory by which they are made.
        rule: the rule, or `actual`.
        kind: goods or burdens.
        welfare: what the rule maximises.
        draws: how often it is run, with other draws among equally good decisions; what happened needs no draw.
        until: the moment at which it is measured; by default right after the last decision.
    """
    runs = []
    for seed in range(1 if rule == ACTUAL else draws):
        run, rng = _Replay(decisions, memory, kind), np.random.default_rng(seed)
        for request in decisions.requests:
            run.admit(request)
            run.serve(request, request.served if rule == ACTUAL else run.choose(request, rule, welfare, rng))
        runs.append(run.end(until))
    return Course(decisions, memory, rule, kind, tuple(runs))


class _Replay:
    """A course of events while it runs: who has asked so far, the true totals and the recent totals."""

    def __init__(self, decisions: Decisions, memory: Alternative, kind: Kind) -> None:
        self._who, self._kind = decisions.who, kind
        self._memory, self._step = memory.memory(decisions.usual)
        self._in_steps = memory.counts_in_steps
        n = len(self._who.names)
        self._state: Any = self._memory.init(n)
        self._now: float | None = None
        self._first = decisions.times[0] if len(decisions.times) else 0.0
        self._has_asked = np.zeros(n, dtype=bool)
        self._received = np.zeros(n)
        self._streaks = np.zeros(n, dtype=np.int64)
        self._longest = 0
        self._served: list[np.ndarray] = [np.zeros(0, dtype=bool)]

    def admit(self, request: DecisionRequest) -> None:
        """Lets agents who ask for the first time join, starting by the newcomer rule."""
        joins = request.who[~self._has_asked[request.who]]
        if len(joins):
            remembered = np.asarray(self._memory.faded(self._state, self._elapsed(request.time)))
            added = self._who.starts(remembered, self._has_asked, joins)
            if added.any():
                self._advance(added, request.time)
            self._has_asked[joins] = True

    def choose(self, request: DecisionRequest, rule: str, welfare: AnyWelfare, rng: np.random.Generator) -> np.ndarray:
        """The agents whom a rule serves: as many as were served, out of the agents who ask."""
        # The rule knows all agents who have asked so far. Agents who do not ask now need nothing.
        members, n = np.flatnonzero(self._has_asked), len(self._received)
        needs, can = np.zeros(n), np.zeros(n, dtype=bool)
        needs[request.who], can[request.who] = request.needs, True
        can &= self._who.entitlements > 0
        k = min(int(request.served.sum()), int(can.sum()))
        if not k:
            return np.zeros(len(request.who), dtype=bool)
        weights = self._who.entitlements[members]
        decision = allocate(
            ChooseK(needs[members], k, allowed=can[members], kind=self._kind), self._memory, self._of(members),
            welfare, elapsed=self._elapsed(request.time),
            entitlements=None if (weights == 1).all() else weights,
            rule=rule, rng=rng,
        )  # fmt: skip
        return np.isin(request.who, members[decision.served])

    def serve(self, request: DecisionRequest, served: np.ndarray) -> None:
        """Gives the agents who are served their needs."""
        utilities = np.zeros(len(self._received))
        utilities[request.who] = np.where(served, request.needs, 0.0)
        self._advance(utilities, request.time)
        self._received += utilities
        self._served.append(served)
        goes_on = served if self._kind == "burden" else ~served
        self._streaks[request.who] = np.where(goes_on, self._streaks[request.who] + 1, 0)
        self._longest = max(self._longest, int(self._streaks[request.who].max()))

    def end(self, until: float | None) -> Run:
        """The result of the run."""
        present = np.flatnonzero(self._has_asked & (self._who.entitlements > 0))
        weights, state = self._who.entitlements[present], self._state
        remembered = self._memory.read(state) if until is None else self._memory.faded(state, self._elapsed(until))
        return Run(
            self._received, float(self._received.sum()), *measure(np.asarray(remembered)[present], weights),
            measure(self._received[present], weights).gini, self._longest, np.concatenate(self._served),
        )  # fmt: skip

    def _advance(self, added: np.ndarray, time: float) -> None:
        self._state = self._memory.advance(self._state, added, self._elapsed(time))
        self._now = time

    def _elapsed(self, time: float) -> float:
        """The time since the last decision, in steps of the memory; of a window rounded to whole ones."""
        if self._now is None:
            return 1.0
        if self._in_steps:
            return float(round((time - self._first) / self._step) - round((self._now - self._first) / self._step))
        return max(0.0, (time - self._now) / self._step)

    def _of(self, members: np.ndarray) -> Any:
        """The state of some agents."""
        kept = {name: getattr(self._state, name)[members] for name in _PER_AGENT if hasattr(self._state, name)}
        return self._state._replace(**kept)
