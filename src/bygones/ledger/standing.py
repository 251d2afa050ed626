r"""Where everybody stands at one instant, and what newcomers start with.

Of all that is remembered, agent $i$ is entitled to the share $w_i/\sum_j w_j$ among those present. The agent is owed
the difference,

$$ \text{owed}_i = \frac{w_i}{\sum_j w_j}\sum_j Z_j - Z_i , $$

if it is above zero, and ahead by it if it is below zero. Over those present it sums to zero. Agents on hold or away
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, snapshot
from bygones.ledger.bounds import check_sums
from bygones.ledger.rules import NEWCOMER_RULES, RuleBook, Rules
from bygones.ledger.snapshot import NEVER
from bygones.ledger.times import iso
from bygones.ledger.turns import PRESENT, Turns, status


@dataclass(frozen=True)
class Standing:
    """Where everybody stands at one instant, one entry per agent.

    Attributes:
        at: the instant.
        rules: the rules in force then.
        names: the agents who have joined by then.
        status: `present`, `on hold` or `away`.
        received: the true total, which never fades.
        remembered: how much of it, and of offsets, still counts.
        entitlements: relative to one another.
        owed: by how much `remembered` is below the entitled share (above it if negative); NaN for those on hold or
            away. Of burdens, below the share of the load is *due*: they are to carry more before the others do.
        joined: the instants at which they last joined.
        last: the instants at which something was last received, or `NEVER`.
    """

    at: int
    rules: Rules
    names: tuple[str, ...]
    status: tuple[str, ...]
    received: np.ndarray
    remembered: np.ndarray
    entitlements: np.ndarray
    owed: np.ndarray
    joined: np.ndarray
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def present(self) -> np.ndarray:
        """The rows of those who are present, not away and not on hold."""
        return np.flatnonzero([state == PRESENT for state in self.status])

    def to_dict(self) -> dict[str, Any]:
        """The standing, of the types that JSON has."""
        return {"at": iso(self.at), "rules": self.rules.to_dict(), "agents": list(self.rows())}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One agent after the other."""
        for i, name in enumerate(self.names):
            yield {
                "agent": name,
                "status": self.status[i],
                "received": float(self.received[i]),
                "remembered": float(self.remembered[i]),
                "entitlement": float(self.entitlements[i]),
                "owed": None if np.isnan(self.owed[i]) else float(self.owed[i]),
                "joined": iso(int(self.joined[i])),
                "last_received": None if self.last[i] == NEVER else iso(int(self.last[i])),
            }


def standing(connection: sa.Connection, book: RuleBook, at: int) -> Standing:
    """The standing at an instant, past or future.

    It follows from the snapshot; the events of agents with later events are read again.
    """
    rules = book.at(at)
    ids, agents = rows.load_agents(connection)
    joined = np.flatnonzero([each[0][0] <= at for each in agents.turns])
    if len(joined) < len(agents):
        ids, agents = ids[joined], agents.take(joined)
    late = np.flatnonzero(agents.as_of > at)
    if len(late):
        agents = agents.put(late, rows.replay(connection, book, ids[late], agents.take(late), at))
    agents = snapshot.fade(agents, book, at)
    states = tuple(status(each, at) for each in agents.turns)
    entitlements = rules.entitlements_of(agents.names)
    remembered, received = snapshot.values(agents.remembered), snapshot.values(agents.received)
    check_sums(agents.names, remembered, received)
    return Standing(
        at=at,
        rules=rules,
        names=agents.names,
        status=states,
        received=received,
        remembered=remembered,
        entitlements=entitlements,
        owed=owed(remembered, entitlements, np.flatnonzero([state == PRESENT for state in states])),
        joined=np.array([_joined(each) for each in agents.turns], dtype=np.int64),
        last=agents.last,
    )


def owed(remembered: np.ndarray, entitlements: np.ndarray, present: np.ndarray) -> np.ndarray:
    """What each of those present is owed; NaN for the others, and for those who are exempt from a burden."""
    result = np.full(len(remembered), np.nan)
    present = present[entitlements[present] > 0]
    if len(present):
        weights = entitlements[present]
        result[present] = weights / weights.sum() * remembered[present].sum() - remembered[present]
    return result


def newcomer_start(standing: Standing, rule: str, entitlement: float = 1.0) -> float:
    """The remembered utility that a newcomer of this entitlement starts with under a newcomer rule."""
    present = standing.present
    return float(starts(rule, standing.remembered[present], standing.entitlements[present], np.array(entitlement)))


def starts(rule: str, remembered: np.ndarray, entitlements: np.ndarray, joining: np.ndarray) -> np.ndarray:
    """What newcomers start with, given the remembered utilities and entitlements of those present.

    If nobody is present they start with zero, unless the rule is a number.
    """
    if rule not in NEWCOMER_RULES:
        return np.full(joining.shape, float(rule))
    if rule == "zero" or not len(remembered):
        return np.zeros(joining.shape)
    counts = entitlements > 0  # the exempt are no measure of a load
    if not counts.any():
        return np.zeros(joining.shape)
    remembered, entitlements = remembered[counts], entitlements[counts]
    if rule == "entitled share":
        return np.asarray(joining * (remembered.sum() / entitlements.sum()))
    return np.asarray(joining * (np.mean if rule == "mean" else np.median)(remembered / entitlements))


def _joined(turns: Turns) -> int:
    if len(turns) == 1:
        return turns[0][0]
    return next(time for time, kind in reversed(turns) if kind == "join")
