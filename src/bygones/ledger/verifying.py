"""Whether the snapshot follows from the events, and whether the events are as they were recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, schema, snapshot
from bygones.ledger.events import GENESIS, RECEIVED, TURNS, Event, details_text, digest
from bygones.ledger.rules import Change, RuleBook
from bygones.ledger.turns import Turns
from bygones.memory import MemoryState

TOLERANCE = 1e-9
"""Replay and snapshot add the same numbers in a different order, and may differ by this share of their size."""

ROUNDING = 1e-13
"""Amounts that were recorded and taken back leave a rounding error of up to this share of all ever recorded."""


class Verification(NamedTuple):
    """What `verify` found; `problems` is empty if nothing is wrong."""

    events: int
    agents: int
    head: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(connection: sa.Connection, noted: str | None = None) -> Verification:
    """Checks the chain of hashes, and replays every event to compare with the snapshot."""
    row = connection.execute(sa.select(schema.ledger)).one()
    chain = _Chain(noted)
    for chunk in rows.load_events(connection):
        for event, stored in chunk:
            chain.follow(event, bytes(stored))
    problems = chain.problems
    if chain.seq != row.head or chain.hash != bytes(row.head_hash):
        problems.append(f"the ledger's head is event {row.head}, but the chain ends with event {chain.seq}")
    if noted is not None and not chain.noted_found:
        problems.append(f"the noted head {noted} is not the hash of any event: the events up to it have changed")
    if not chain.broken:
        problems += _compare(connection, row, chain)
    count = len(chain.turns)
    return Verification(chain.count, count, bytes(row.head_hash).hex(), tuple(problems))


class _Chain:
    """The chain of hashes as it is followed, with what structure the events give."""

    def __init__(self, noted: str | None) -> None:
        self.count, self.seq, self.hash = 0, 0, GENESIS
        self.noted, self.noted_found, self.broken = noted, noted == GENESIS.hex(), False
        self.problems: list[str] = []
        self.turns: dict[str, list[tuple[int, int, str]]] = {}
        self.recorded: dict[str, float] = {}
        self.changes: list[Change] = []
        self.voids: list[tuple[int, int]] = []
        self.latest = -(2**63)

    def follow(self, event: Event, stored: bytes) -> None:
        if event.seq != self.seq + 1 and not self.broken:
            self._break(f"event {self.seq + 1} is missing")
        expected = digest(self.hash, event, details_text(event))
        if expected != stored and not self.broken:
            self._break(f"event {event.seq} is not what was recorded: its hash does not match")
        self.count, self.seq, self.hash = self.count + 1, event.seq, stored
        self.noted_found = self.noted_found or (self.noted is not None and stored.hex() == self.noted)
        self.latest = max(self.latest, event.recorded)
        if event.kind == "rules":
            self.changes.append(Change(event.time, event.seq, event.details or {}))
        if event.kind == "void":
            self.voids.append((event.seq, event.refers or 0))
        if event.agent is not None and event.amount is not None:
            self.recorded[event.agent] = self.recorded.get(event.agent, 0.0) + abs(event.amount)
        if event.kind in TURNS:
            self.turns.setdefault(str(event.agent), []).append((event.time, event.seq, event.kind))

    def _break(self, problem: str) -> None:
        self.broken = True
        self.problems.append(problem)


def _compare(connection: sa.Connection, row: sa.Row[tuple[object, ...]], chain: _Chain) -> list[str]:
    """Snapshot against replay, agent by agent."""
    problems = []
    expected = _voids(connection, chain.voids)
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
    turns = {name: _in_effect(each, out) for name, each in chain.turns.items()}
    turns = {name: each for name, each in turns.items() if each}
    if set(turns) != set(stored.names):
        return [*problems, "the agents in the snapshot do not follow from the events"]
    replayed = rows.replay(connection, book, ids, snapshot.empty(stored.names, _in_order(turns, stored.names)), settled)
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
    return problems


def _voids(connection: sa.Connection, found: list[tuple[int, int]]) -> dict[tuple[int, int], int | None]:
    """Which events are void since which event and until which, from the events of kind `void`."""
    table = schema.events
    kinds = {seq for seq, _ in found}
    intervals: dict[tuple[int, int], int | None] = {}
    for seq, refers in found:
        if refers in kinds:
            intervals |= {pair: seq for pair in intervals if pair[1] == refers}
            continue
        own = sa.select(table.c.seq).where(table.c.refers == refers, table.c.kind.in_((*RECEIVED, "correction")))
        theirs = sa.select(table.c.seq).where(table.c.refers.in_(own), table.c.kind == "correction")
        resting = connection.execute(own.union(theirs)).scalars()
        intervals |= {(each, seq): None for each in (refers, *resting) if each < seq}
    return intervals


def _in_effect(turns: list[tuple[int, int, str]], out: set[int]) -> Turns:
    return tuple((time, kind) for time, seq, kind in sorted(turns) if seq not in out)


def _in_order(turns: dict[str, Turns], names: tuple[str, ...]) -> list[Turns]:
    return [turns[name] for name in names]


def _apart(stored: MemoryState, replayed: MemoryState, recorded: np.ndarray) -> np.ndarray:
    a, b = snapshot.values(stored), snapshot.values(replayed)
    return np.asarray(~(np.abs(a - b) <= TOLERANCE * np.abs(b) + ROUNDING * recorded))
