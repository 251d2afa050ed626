"""One course of events on the needs of a history: who is served at each decision, and what is remembered of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bygones.allocation import ChooseK, allocate
from bygones.allocation.decide import Rule
from bygones.audit.replays.alternatives import Alternative
from bygones.audit.replays.counterfactual import DecisionRequest
from bygones.audit.replays.replay_setting import ReplaySetting
from bygones.audit.trajectory import Members, measure
from bygones.kinds import Kind
from bygones.ledger.starting import starts
from bygones.welfare import AnyWelfare

_PER_AGENT = ("Z", "Z_lost", "utilities")


class Measures(NamedTuple):
    """How a course ends.

    Attributes:
        gini: the Gini coefficient of what is remembered per unit of entitlement.
        worst: the least of it; of burdens the heaviest.
        gini_received: the Gini coefficient of what was received, which never fades.
        total: what all received.
    """

    gini: float
    worst: float
    gini_received: float
    total: float


class CourseRun:
    """A course of events under one memory. A step of the memory is the usual time between two decisions."""

    def __init__(self, who: Members, alternative: Alternative, usual: float, kind: Kind) -> None:
        self._who, self._kind = who, kind
        self._memory, self._step = alternative.memory(usual)
        self._in_steps = alternative.counts_in_steps
        self._state: Any = self._memory.init(len(who.names))
        self._has_asked = np.zeros(len(who.names), dtype=bool)
        self._now: float | None = None
        self._first: float | None = None
        self.received = np.zeros(len(who.names))
        self.served: list[frozenset[int]] = []

    def decide(self, request: DecisionRequest, rule: Rule, welfare: AnyWelfare, rng: np.random.Generator) -> None:
        """Serves as many as were served, by a rule."""
        self._admit(request)
        members = np.flatnonzero(self._has_asked)
        needs, can = np.zeros(len(self.received)), np.zeros(len(self.received), dtype=bool)
        needs[request.who], can[request.who] = request.needs, True
        can &= self._who.entitlements > 0
        k = min(int(request.served.sum()), int(can.sum()))
        chosen = np.zeros(0, dtype=int)
        if k:
            weights = self._who.entitlements[members]
            decision = allocate(
                ChooseK(needs[members], k, allowed=can[members], kind=self._kind), self._memory, self._of(members),
                welfare, elapsed=self._elapsed(request.time),
                entitlements=None if (weights == 1).all() else weights, rule=rule, rng=rng,
            )  # fmt: skip
            chosen = members[decision.served]
        self._give(request, chosen)

    def serve(self, request: DecisionRequest, chosen: np.ndarray) -> None:
        """Gives the chosen agents what they need."""
        self._admit(request)
        self._give(request, chosen)

    def measures(self) -> Measures:
        """How it ends, right after the last decision."""
        present = np.flatnonzero(self._has_asked & (self._who.entitlements > 0))
        weights = self._who.entitlements[present]
        ended = measure(np.asarray(self._memory.read(self._state))[present], weights)
        worst = ended.heaviest if self._kind == "burden" else ended.egalitarian
        total = measure(self.received[present], weights)
        return Measures(ended.gini, worst, total.gini, float(self.received.sum()))

    def _give(self, request: DecisionRequest, chosen: np.ndarray) -> None:
        utilities = np.zeros(len(self.received))
        utilities[request.who] = np.where(np.isin(request.who, chosen), request.needs, 0.0)
        self._advance(utilities, request.time)
        self.received += utilities
        self.served.append(frozenset(int(row) for row in chosen))

    def _admit(self, request: DecisionRequest) -> None:
        """Lets agents who ask for the first time join, with what the newcomer rule gives them."""
        joins = request.who[~self._has_asked[request.who]]
        if not len(joins):
            return
        present, weights = np.flatnonzero(self._has_asked), self._who.entitlements
        Z = np.asarray(self._memory.faded(self._state, self._elapsed(request.time)))
        added = np.zeros(len(Z))
        added[joins] = starts(self._who.newcomers, Z[present], weights[present], weights[joins])
        if added.any():
            self._advance(added, request.time)
        self._has_asked[joins] = True

    def _advance(self, added: np.ndarray, time: float) -> None:
        self._state = self._memory.advance(self._state, added, self._elapsed(time))
        self._first = time if self._first is None else self._first
        self._now = time

    def _elapsed(self, time: float) -> float:
        """The time since the last decision, in steps of the memory; of a window rounded to whole ones."""
        if self._now is None or self._first is None:
            return 1.0
        if self._in_steps:
            return float(round((time - self._first) / self._step) - round((self._now - self._first) / self._step))
        return max(0.0, (time - self._now) / self._step)

    def _of(self, members: np.ndarray) -> Any:
        """The state of some agents."""
        kept = {name: getattr(self._state, name)[members] for name in _PER_AGENT if hasattr(self._state, name)}
        return self._state._replace(**kept)


def as_it_was(setting: ReplaySetting, alternative: Alternative, kind: Kind) -> CourseRun:
    """The course that happened, judged by a memory."""
    run = CourseRun(setting.who, alternative, setting.usual, kind)
    for request in setting.requests:
        run.serve(request, request.who[request.served])
    return run


def replayed(
    setting: ReplaySetting, alternative: Alternative, rule: str, welfare: AnyWelfare, kind: Kind, seed: int
) -> CourseRun:
    """The course under another memory and rule; the seed draws among equally good decisions."""
    run, rng = CourseRun(setting.who, alternative, setting.usual, kind), np.random.default_rng(seed)
    for request in setting.requests:
        run.decide(request, "prices" if rule == "prices" else "one-step", welfare, rng)
    return run
