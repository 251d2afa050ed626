"""What would have happened if the allocator had decided instead, on the same needs.

The decisions of a history can be replayed if it records who asked and each agent's need, not only who was served. At
every time at which agents were served, the allocator serves the same number of those who asked, based on what it
remembers of its own decisions. Both courses of events start with an empty memory, see the same needs and use the same
newcomer rule; they are compared at the moment of the audit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bygones.allocation import ChooseK, allocate
from bygones.audit.inputs.history import History
from bygones.audit.inputs.sources import constant
from bygones.audit.trajectory import Members, measure
from bygones.kinds import Kind
from bygones.ledger.starting import starts
from bygones.memory import Discounted, Memory, MemoryState, PerfectRecall
from bygones.welfare import AnyWelfare

MOST_ROWS = 200_000
"""The largest history, in rows, whose decisions can be replayed."""

SEED = 0
"""Seeds the draws among equally good decisions, so that every audit of a history gives the same result."""


class WorldTotals(NamedTuple):
    """The outcome of one course of events: what agents received, and what is remembered, as in `measure`."""

    received: np.ndarray
    total: float
    gini: float
    egalitarian: float
    nash: float
    mean: float
    heaviest: float


@dataclass(frozen=True)
class ReplayedDecisions:
    """The actual decisions compared with the allocator's, under one half-life.

    Attributes:
        half_life: the half-life of the allocator's memory and of the comparison.
        decisions: the number of decisions.
        differ: the number of decisions in which the allocator serves other agents.
        actual: the outcome of the actual decisions.
        instead: the outcome of the allocator's decisions.
    """

    half_life: float
    decisions: int
    differ: int
    actual: WorldTotals
    instead: WorldTotals

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The replay as plain data for JSON."""

        def as_dict(outcome: WorldTotals) -> dict[str, Any]:
            received = dict(zip(names, outcome.received.tolist(), strict=True))
            return outcome._asdict() | {"received": received}

        return {"decisions": self.decisions, "differ": self.differ} | {
            "actual": as_dict(self.actual),
            "instead": as_dict(self.instead),
        }


class DecisionRequest(NamedTuple):
    """Who asked at one time, for how much, and who was served."""

    time: float
    who: np.ndarray
    needs: np.ndarray
    served: np.ndarray


def replay_decisions(
    history: History,
    who: Members,
    half_lives: Sequence[float],
    end: float,
    welfare: AnyWelfare = "egalitarian",
    kind: Kind = "good",
) -> tuple[ReplayedDecisions, ...]:
    """Replays the decisions of a history with an allocator whose memory has each of these half-lives.

    Of burdens, who asked is who could have carried them, and as many carry as did, or as can: the exempt do not.
    """
    requests = list(_requests(history, who, end))
    return tuple(_replay(requests, who, half_life, end, welfare, kind) for half_life in half_lives)


def _replay(
    requests: Sequence[DecisionRequest], who: Members, half_life: float, end: float, welfare: AnyWelfare, kind: Kind
) -> ReplayedDecisions:
    actual, instead = _World(who, half_life), _World(who, half_life)
    rng, differ = np.random.default_rng(SEED), 0
    for request in requests:
        actual.admit(request)
        instead.admit(request)
        was_served = request.who[request.served]
        chosen = instead.choose(request, len(was_served), welfare, kind, rng)
        differ += not np.array_equal(np.sort(chosen), np.sort(was_served))
        actual.serve(request, was_served)
        instead.serve(request, chosen)
    return ReplayedDecisions(half_life, len(requests), differ, actual.outcome(end), instead.outcome(end))


class _World:
    """One course of events: what each agent received and what is still remembered. A step is one half-life."""

    def __init__(self, who: Members, half_life: float) -> None:
        self._who = who
        self._step = half_life if math.isfinite(half_life) else 1.0
        self._memory: Memory = Discounted(half_life=1.0) if math.isfinite(half_life) else PerfectRecall()
        self._state = self._memory.init(len(who.names))
        self._is_present = np.zeros(len(who.names), dtype=bool)
        self._now: float | None = None
        self._received = np.zeros(len(who.names))

    def admit(self, request: DecisionRequest) -> None:
        """Advances time to the request and lets agents who ask for the first time join."""
        self._pass(request.time)
        joins = request.who[~self._is_present[request.who]]
        if len(joins):
            present, Z = np.flatnonzero(self._is_present), np.asarray(self._memory.read(self._state))
            weights = self._who.entitlements
            added = np.zeros(len(Z))
            added[joins] = starts(self._who.newcomers, Z[present], weights[present], weights[joins])
            self._state = self._memory.advance(self._state, added, 0)
            self._is_present[joins] = True

    def choose(
        self, request: DecisionRequest, k: int, welfare: AnyWelfare, kind: Kind, rng: np.random.Generator
    ) -> np.ndarray:
        """Whom the allocator serves."""
        can = np.isin(np.arange(len(self._received)), request.who) & (self._who.entitlements > 0)
        k = min(k, int(can.sum()))
        if not k:
            return np.zeros(0, dtype=int)
        members = np.flatnonzero(self._is_present)
        needs = np.zeros(len(self._received))
        needs[request.who] = request.needs
        state = MemoryState(self._state.Z[members], self._state.d, self._state.Z_lost[members], self._state.d_lost)
        weights = self._who.entitlements[members]
        decision = allocate(
            ChooseK(needs[members], k, allowed=can[members], kind=kind), self._memory, state, welfare, elapsed=0,
            entitlements=None if (weights == 1).all() else weights, rng=rng,
        )  # fmt: skip
        return np.asarray(members[decision.served])

    def serve(self, request: DecisionRequest, chosen: np.ndarray) -> None:
        """Gives the chosen agents what they need."""
        utilities = np.zeros(len(self._received))
        utilities[request.who] = np.where(np.isin(request.who, chosen), request.needs, 0.0)
        self._received += utilities
        self._state = self._memory.advance(self._state, utilities, 0)

    def outcome(self, end: float) -> WorldTotals:
        """The outcome at the moment of the audit."""
        self._pass(end)
        present = np.flatnonzero(self._is_present & (self._who.entitlements > 0))
        remembered = np.asarray(self._memory.read(self._state))[present]
        return WorldTotals(
            self._received, float(self._received.sum()), *measure(remembered, self._who.entitlements[present])
        )

    def _pass(self, time: float) -> None:
        if self._now is not None:
            elapsed = (time - self._now) / self._step
            self._state = self._memory.advance(self._state, np.zeros(len(self._received)), elapsed)
        self._now = time


def decision_requests(history: History) -> tuple[list[DecisionRequest], tuple[str, ...]]:
    """All decisions of a history, and the agents who asked."""
    asked = history.requests
    names = history.fetch(asked.select("agent").distinct())["agent"].to_pylist()
    known = tuple(sorted({history.clean_name(str(name)) for name in names}))
    who = Members(known, np.ones(len(known)), np.zeros(len(known), dtype=np.int64), "zero", math.inf)
    return list(_requests(history, who, math.inf)), known


def _requests(history: History, who: Members, end: float) -> Iterator[DecisionRequest]:
    """Who asked and who was served, for each time at which agents were served, in chronological order."""
    if history.n_events > MOST_ROWS:
        raise ValueError(
            f"decisions can be replayed in histories of up to {MOST_ROWS:,} rows, got {history.n_events:,}"
        )
    asked = history.requests
    if not math.isinf(end):
        asked = asked.filter(asked.time <= constant(end, asked.time.type()))
    table = history.fetch(asked.order_by("time"))
    row_of = {name: row for row, name in enumerate(who.names)}
    agents = np.array([row_of[history.clean_name(str(name))] for name in table["agent"].to_pylist()], dtype=np.int64)
    times = table["time"].to_numpy()
    needs, served = np.asarray(table["need"].to_numpy(), dtype=float), table["served"].to_numpy().astype(bool)
    edges = np.flatnonzero(np.diff(times, prepend=math.nan) != 0).tolist()
    for low, high in zip(edges, [*edges[1:], len(times)], strict=True):
        if len(np.unique(agents[low:high])) < high - low:
            when = history.clock.shown(times[low])
            raise ValueError(
                f"{history.source.label}: an agent asks twice at {when}, so decisions cannot be replayed: keep "
                "one row for each agent and time"
            )
        if served[low:high].any():
            yield DecisionRequest(float(times[low]), agents[low:high], needs[low:high], served[low:high])
