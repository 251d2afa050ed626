r"""What is known of every agent without reading its past again.

For each agent the snapshot holds the memory $Z$ at the instant of its latest event. Exponential decay makes this
enough: later instants fade it, and an event recorded late enters with the weight it would have by now,
$Z \mathrel{+}= u\,2^{-H(s,t)}$, exactly as if it had been recorded in time. The order of recording does not matter.

The recursion is that of `bygones.memory`, as a batch of one-agent memories because each agent has a clock of its own,
counted in half-lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bygones._arrays import Array
from bygones.ledger.rules import RuleBook
from bygones.ledger.turns import Clocks, Turns
from bygones.memory import Discounted, MemoryState, PerfectRecall

REMEMBERED = Discounted(gamma=0.5)
"""The ledger's memory, whose step is one half-life."""

RECEIVED = PerfectRecall()
"""The true total."""

NEVER = -1
"""In place of an instant, where there is none."""


@dataclass(frozen=True)
class Snapshot:
    """What is known of some agents, one row each.

    Attributes:
        names: the agents.
        turns: when they took part.
        as_of: the instants of their latest events, at which `remembered` holds.
        received: the memory of all that they truly received.
        remembered: the memory that fades.
        last: the instants at which they last received something, or `NEVER`.
    """

    names: tuple[str, ...]
    turns: tuple[Turns, ...]
    as_of: np.ndarray
    received: MemoryState
    remembered: MemoryState
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: Sequence[int] | np.ndarray) -> Snapshot:
        """The rows of some agents."""
        rows = np.asarray(rows, dtype=np.int64)
        return Snapshot(
            tuple(self.names[row] for row in rows),
            tuple(self.turns[row] for row in rows),
            self.as_of[rows],
            MemoryState(*(part[rows] for part in self.received)),
            MemoryState(*(part[rows] for part in self.remembered)),
            self.last[rows],
        )

    def put(self, rows: np.ndarray, agents: Snapshot) -> Snapshot:
        """The snapshot with the rows of some agents replaced."""
        names, turns = list(self.names), list(self.turns)
        for row, name, each in zip(rows, agents.names, agents.turns, strict=True):
            names[row], turns[row] = name, each
        return Snapshot(
            tuple(names),
            tuple(turns),
            _put(self.as_of, rows, agents.as_of),
            MemoryState(*(_put(old, rows, new) for old, new in zip(self.received, agents.received, strict=True))),
            MemoryState(*(_put(old, rows, new) for old, new in zip(self.remembered, agents.remembered, strict=True))),
            _put(self.last, rows, agents.last),
        )


def empty(names: Sequence[str], turns: Sequence[Turns]) -> Snapshot:
    """Agents of whom nothing has been recorded yet but when they took part."""
    began = np.array([agent[0][0] for agent in turns], dtype=np.int64)
    n = len(names)
    return Snapshot(tuple(names), tuple(turns), began, _nothing(n), _nothing(n), np.full(n, NEVER))


def add(
    snapshot: Snapshot,
    book: RuleBook,
    who: np.ndarray,
    times: np.ndarray,
    amounts: np.ndarray,
    is_received: np.ndarray,
) -> Snapshot:
    """The snapshot after events are recorded, in any order and at any time.

    Args:
        snapshot: what is known so far; it is not changed.
        book: the rules.
        who: the row of each event's agent.
        times: the events' instants.
        amounts: the events' amounts.
        is_received: whether the amount was truly received or only counts as remembered. A correction is at the time of
            what it corrects, so it does not change when the agent last received something.
    """
    n = len(snapshot)
    clocks = Clocks(book, snapshot.turns)
    as_of = snapshot.as_of.copy()
    np.maximum.at(as_of, who, times)
    last = snapshot.last.copy()
    np.maximum.at(last, who[is_received], times[is_received])
    weights = np.exp2(-clocks.half_lives(who, times, as_of[who]))
    new = np.bincount(who, weights * amounts, n)[:, None]
    elapsed = clocks.half_lives(np.arange(n), snapshot.as_of, as_of)
    remembered = REMEMBERED.advance(snapshot.remembered, new, elapsed)
    true = np.bincount(who, np.where(is_received, amounts, 0.0), n)[:, None]
    received = RECEIVED.advance(snapshot.received, true, 0)
    return replace(snapshot, as_of=as_of, last=last, received=received, remembered=remembered)


def fade(snapshot: Snapshot, book: RuleBook, at: int) -> Snapshot:
    """The snapshot at an instant not before any agent's latest event, if nothing happens until then."""
    until = replace(snapshot, as_of=np.full(len(snapshot), at))
    elapsed = Clocks(book, snapshot.turns).half_lives(np.arange(len(snapshot)), snapshot.as_of, until.as_of)
    return replace(until, remembered=REMEMBERED.advance(snapshot.remembered, np.zeros((len(snapshot), 1)), elapsed))


def values(state: MemoryState) -> np.ndarray:
    """The totals of the agents, with what rounding dropped put back."""
    return np.asarray((state.Z + state.Z_lost)[:, 0])


def _put(old: Array, rows: np.ndarray, new: Array) -> np.ndarray:
    changed = np.array(old)
    changed[rows] = new
    return changed


def _nothing(n: int) -> MemoryState:
    return MemoryState(np.zeros((n, 1)), np.zeros(n), np.zeros((n, 1)), np.zeros(n))
