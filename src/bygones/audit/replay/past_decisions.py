"""The decisions of a history that records who asked and each agent's need, not only who was served.

Every time at which an agent was served is a decision. A replay decides these again. `Members` are the agents who take
part, and `measure` shows how even their totals are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import ibis
import numpy as np

from bygones.allocation.settling import settle
from bygones.audit.read.history import History
from bygones.audit.read.sources import constant
from bygones.ledger.model.fold import newcomer_starts
from bygones.ledger.model.rules import check_newcomers

MOST_ROWS = 200_000
"""The largest history, in rows, whose decisions can be replayed."""


@dataclass(frozen=True, eq=False)
class Members:
    """Who takes part.

    Attributes:
        names: the agents.
        entitlements: the entitlement of each agent, relative to the others.
        newcomers: the newcomer rule.
    """

    names: tuple[str, ...]
    entitlements: np.ndarray
    newcomers: str

    def starts(self, remembered: np.ndarray, is_present: np.ndarray, joins: np.ndarray) -> np.ndarray:
        """The amounts added to the memory of agents who join: the start by the newcomer rule, less their recent total.

        The rule goes by the recent totals of the agents present, as in the ledger. The first to join, when nobody
        else takes part, starts with nothing unless the rule is a number.
        """
        present, added = np.flatnonzero(is_present), np.zeros(len(remembered))
        weights = self.entitlements
        wanted = newcomer_starts(self.newcomers, remembered[present], weights[present], weights[joins])
        added[joins] = np.maximum(wanted - remembered[joins], 0.0)
        return added


class Measured(NamedTuple):
    """Recent totals per unit of entitlement: their Gini coefficient, least, geometric mean, mean and most."""

    gini: float
    egalitarian: float
    nash: float
    mean: float
    heaviest: float


def measure(remembered: np.ndarray, entitlements: np.ndarray) -> Measured:
    """Measures recent totals per unit of entitlement.

    An agent of entitlement w counts as w agents, as it does when the allocator decides.
    """
    if len(remembered) < 2:
        # One agent alone is neither equal to others nor unequal.
        alone = float(remembered[0] / entitlements[0]) if len(remembered) else math.nan
        return Measured(math.nan, alone, alone, alone, alone)
    levels, total, mass = remembered / entitlements, float(remembered.sum()), float(entitlements.sum())
    order = np.argsort(levels)
    below = np.cumsum(entitlements[order]) - entitlements[order] / 2
    gini = float(((2 * below - mass) * remembered[order]).sum() / (mass * total)) if total > 0 else 0.0
    least, most = float(levels.min()), float(levels.max())
    if least < 0:
        # Offsets in a ledger may take more than there was; then neither measure is defined.
        return Measured(math.nan, least, math.nan, total / mass, most)
    with np.errstate(divide="ignore"):
        nash = float(np.exp((entitlements * np.log(levels)).sum() / mass))
    return Measured(max(gini, 0.0), least, nash, total / mass, most)


class DecisionRequest(NamedTuple):
    """Who asked at one time, for how much, and who was served."""

    time: float
    who: np.ndarray
    needs: np.ndarray
    served: np.ndarray


class Decisions:
    """The data that all courses of a replay share.

    Attributes:
        requests: the decisions, in the order of time.
        who: the agents.
        usual: the usual time between two decisions, which is a step of the memories.
        times: the time of each decision.
        index: for each request of an agent, the number of its decision.
        rows: the agent of each request.
        needs: the need of each request.
        served: whether each request was served.
        first: the first decision in which each agent asked; after the last for agents who never did.
        last: the last decision in which each agent asked; -1 for agents who never did.
    """

    def __init__(self, requests: Sequence[DecisionRequest], who: Members, usual: float) -> None:
        """Takes the decisions, the agents and the usual time between two decisions."""
        self.requests, self.who, self.usual = requests, who, usual
        self.times = np.array([request.time for request in requests])
        sizes = np.array([len(request.who) for request in requests], dtype=np.int64)
        self.index = np.repeat(np.arange(len(sizes)), sizes)
        self.rows = np.concatenate([np.zeros(0, dtype=np.int64), *(request.who for request in requests)])
        self.needs = np.concatenate([np.zeros(0), *(request.needs for request in requests)])
        self.served = np.concatenate([np.zeros(0, dtype=bool), *(request.served for request in requests)])
        self.first, self.last = np.full(len(who.names), len(requests)), np.full(len(who.names), -1)
        np.minimum.at(self.first, self.rows, self.index)
        np.maximum.at(self.last, self.rows, self.index)


def decisions_of(
    history: History,
    newcomers: str | float = "zero",
    entitlements: Mapping[str, float] | None = None,
    others: str | float | None = None,
) -> Decisions:
    """All decisions of a history, among the agents who asked.

    Args:
        history: see `read_history(needs=…, served=…)`.
        newcomers: the newcomer rule, for agents who ask for the first time.
        entitlements: of each agent; by default the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
    """
    asked = history.fetch(_asked(history).select("agent").distinct())["agent"].to_pylist()
    names = tuple(sorted({history.source.clean_name(str(name)) for name in asked}))
    decisions = decisions_among(history, Members(names, np.ones(len(names)), "zero"))
    if not decisions.requests:
        raise ValueError(f"{history.source.label}: nobody was served, so there is no decision to replay")
    weights = dict.fromkeys(names, 1.0)
    if entitlements is not None:
        weights = settle(entitlements, weights, others, history.source.label)
    who = Members(names, np.array([weights[name] for name in names]), check_newcomers(newcomers))
    return Decisions(decisions.requests, who, decisions.usual)


def decisions_among(history: History, who: Members, until: float = math.inf) -> Decisions:
    """The decisions of a history up to a moment; all who asked must be among the members."""
    requests = list(_requests(history, who.names, until))
    gaps = np.diff([request.time for request in requests])
    return Decisions(requests, who, float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0)


def _asked(history: History) -> ibis.Table:
    if history.requests is None:
        raise ValueError("what_if needs to know who asked: name the columns with needs and served")
    return history.requests


def _requests(history: History, names: Sequence[str], until: float) -> Iterator[DecisionRequest]:
    """Who asked and who was served, for each time at which agents were served, in chronological order."""
    if history.n_events > MOST_ROWS:
        raise ValueError(
            f"decisions can be replayed in histories of up to {MOST_ROWS:,} rows, got {history.n_events:,}"
        )
    asked = _asked(history)
    if not math.isinf(until):
        asked = asked.filter(asked.time <= constant(until, asked.time.type()))
    table = history.fetch(asked.order_by("time"))
    row_of = {name: row for row, name in enumerate(names)}
    agents = np.array(
        [row_of[history.source.clean_name(str(name))] for name in table["agent"].to_pylist()], dtype=np.int64
    )
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
