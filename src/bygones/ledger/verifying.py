"""Whether the database is in order, the events are as they were recorded, and all else follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import draws, integrity, rerunning, rows, schema, snapshot, voids
from bygones.ledger.chain import Chain, read_chain
from bygones.ledger.events import GENESIS
from bygones.ledger.rules import RuleBook
from bygones.memory import MemoryState

TOLERANCE = 1e-9
"""Replay and snapshot add the same numbers in a different order, and may differ by this share of their size."""

ROUNDING = 1e-13
"""Amounts that were recorded and taken back leave a rounding error of up to this share of all ever recorded."""


class Verification(NamedTuple):
    """What `verify` found; `problems` is empty if nothing is wrong.

    Attributes:
        events: how many events there are.
        agents: how many agents.
        head: the hash of the last event.
        problems: what is wrong, one sentence each.
        decisions: how many decisions were made again, with the same result unless a problem says otherwise.
        older: how many were made by an earlier version, and compared with what was recorded of them only.
    """

    events: int
    agents: int
    head: str
    problems: tuple[str, ...]
    decisions: int = 0
    older: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(
    connection: sa.Connection, noted: Sequence[tuple[str, int | None]] = (), *, decisions: bool = True
) -> Verification:
    """Checks the database, the chain of hashes, the snapshot against a replay of every event, and every decision.

    Args:
        connection: the ledger, at one moment.
        noted: hashes noted earlier, each with the number of its event if that was noted too.
        decisions: whether to make every decision again.
    """
    problems = integrity.faults(connection)
    heads: dict[int, str] | None = {0: GENESIS.hex()} if noted else None
    made = rerunning.Rerun(0, 0, [])
    with integrity.without_indexes(connection):
        row = connection.execute(sa.select(schema.ledger)).one()
        try:
            chain = read_chain(connection, heads)
            problems += chain.problems
            if not chain.ends_with(row.head, row.head_hash):
                problems.append(f"the ledger's head is event {row.head}, but the chain ends with event {chain.seq}")
            problems += _missing(noted, heads or {})
            problems += chain.commitments.end(draws.upcoming(connection))
            if not chain.broken:
                problems += _compare(connection, row, chain)
            if decisions and not chain.broken:
                made = rerunning.rerun(connection)
                problems += made.problems
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            return Verification(0, 0, bytes(row.head_hash).hex(), (*problems, f"the tables cannot be read: {error}"))
    count = len(chain.turns)
    return Verification(chain.count, count, bytes(row.head_hash).hex(), tuple(problems), made.decisions, made.older)


def _missing(noted: Sequence[tuple[str, int | None]], heads: dict[int, str]) -> list[str]:
    """The noted heads that are not in the chain."""
    known = set(heads.values())
    return [
        f"the noted head {head} is not the hash of any event: the events up to it have changed"
        if seq is None
        else f"event {seq} no longer has the hash {head}: the events up to it have changed"
        for head, seq in noted
        if (head not in known if seq is None else heads.get(seq) != head)
    ]


def _compare(connection: sa.Connection, row: sa.Row[tuple[object, ...]], chain: Chain) -> list[str]:
    """Snapshot against replay, agent by agent."""
    problems = []
    expected = voids.intervals(connection, chain.voids)
    stored_voids = {(event, since): until for event, since, until in connection.execute(sa.select(schema.voids))}
    if expected != stored_voids:
        return ["which events are void does not follow from the events"]
    out = {event for (event, _), until in expected.items() if until is None}
    book = RuleBook([change for change in chain.changes if change.seq not in out])
    if rows.load_book(row.rules).changes != book.changes:
        problems.append("the rules in the snapshot do not follow from the events")
    settled = int(row.settled)
    if settled != chain.latest:
        problems.append("the settled instant in the snapshot does not follow from the events")
    ids, stored = rows.load_agents(connection)
    turns = chain.turns_without(out)
    if set(turns) != set(stored.names):
        return [*problems, "the agents in the snapshot do not follow from the events"]
    empty = snapshot.empty(stored.names, [turns[name] for name in stored.names])
    replayed = rows.replay(connection, book, ids, empty, settled)
    recorded = np.array([chain.recorded.get(name, 0.0) for name in stored.names])
    differs = {
        "turns": np.array([a != b for a, b in zip(stored.turns, replayed.turns, strict=True)], dtype=bool),
        "latest event": stored.as_of != replayed.as_of,
        "last time served": stored.last != replayed.last,
        "received total": _apart(stored.received, replayed.received, recorded),
        "remembered utility": _apart(stored.remembered, replayed.remembered, recorded),
    }
    for what, where in differs.items():
        problems += [
            f"the {what} of {stored.names[i]!r} does not follow from the events" for i in np.flatnonzero(where)[:10]
        ]
    return [*chain.beyond.values(), *problems]


def _apart(stored: MemoryState, replayed: MemoryState, recorded: np.ndarray) -> np.ndarray:
    a, b = snapshot.values(stored), snapshot.values(replayed)
    return np.asarray(~(np.abs(a - b) <= TOLERANCE * np.abs(b) + ROUNDING * recorded))
