"""Checks that the database is in order, the events are unchanged, and all else follows from them; and rebuilds the rest
from the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._text import counted as number_of
from bygones._text import listed
from bygones.document.document import Block, Document
from bygones.ledger.model import fold
from bygones.ledger.model.draws import Commitments
from bygones.ledger.model.events import GENESIS, LARGEST, Event, counted, details_text, digest
from bygones.ledger.proof import integrity
from bygones.ledger.proof.decision_checks import Checked, check_decisions
from bygones.ledger.storage import derived, draw_table, revised_table, rows, schema, timeline
from bygones.ledger.storage.store import LedgerError, Store
from bygones.memory.contract import AnyState

TOLERANCE = 1e-9
"""Replay and snapshot add the same numbers in a different order, and may differ by this share of their size."""

ROUNDING = 1e-13
"""Amounts that were recorded and taken back leave a rounding error of up to this share of all ever recorded."""


SHOWN = 5
"""As many decisions that could not be made again are named."""


class Verification(NamedTuple):
    """The result of `verify`; `problems` is empty if nothing is wrong.

    Attributes:
        events: how many events there are.
        agents: how many agents.
        head: the hash of the last event.
        problems: one sentence each.
        decisions: how many decisions were made again, with the same result unless there is a problem.
        unchecked: by its number, why a decision could not be made again, and was only compared with the amounts
            received through it.
    """

    events: int
    agents: int
    head: str
    problems: tuple[str, ...]
    decisions: int = 0
    unchecked: Mapping[int, str] = MappingProxyType({})

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def document(self, anchors: int = 0) -> Document:
        """The number of things checked, with `anchors` signed heads, or the problems."""
        if not self.ok:
            return Document(self.problems[0], self.problems[1:], "Verification")
        checked = [f"{number_of(self.events, 'event')} of {number_of(self.agents, 'agent')}"]
        checked += [number_of(self.decisions, "decision")] if self.decisions else []
        checked += [number_of(anchors, "signed head")] if anchors else []
        blocks: list[Block] = [f"Head: {self.head}"]
        if self.unchecked:
            reasons, more = [f"event {seq}: {why}" for seq, why in self.unchecked.items()], len(self.unchecked) - SHOWN
            decisions = number_of(len(reasons), "decision")
            blocks.append(f"{decisions} could not be made again, only compared with the amounts recorded through it:")
            blocks += [*reasons[:SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
        return Document(f"Verified {listed(checked)}.", blocks, "Verification")


def verify(connection: sa.Connection, noted: str | None = None, *, decisions: bool = True) -> Verification:
    """Checks the database, the chain of hashes, the snapshot against a replay of every event, and every decision.

    Args:
        connection: the ledger, at one moment.
        noted: a hash noted earlier, which must be that of an event.
        decisions: whether to make every decision again.
    """
    problems = integrity.faults(connection)
    checked = Checked()
    with integrity.without_indexes(connection):
        row = connection.execute(sa.select(schema.ledger)).one()
        try:
            chain = read_chain(connection, noted)
            problems += chain.problems
            if not chain.ends_with(row.head, row.head_hash):
                problems.append(f"the ledger's head is event {row.head}, but the chain ends with event {chain.seq}")
            if noted is not None and not chain.has_noted:
                problems.append(
                    f"the noted head {noted} is not the hash of any event: the events up to it have changed"
                )
            problems += chain.commitments.end(draw_table.held(connection), draw_table.days(connection))
            if not chain.broken:
                problems += _compare(connection, row, chain)
            if decisions and not chain.broken:
                checked = check_decisions(connection)
                problems += checked.problems
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            return Verification(0, 0, bytes(row.head_hash).hex(), (*problems, f"the tables cannot be read: {error}"))
    count = int(connection.scalar(sa.select(sa.func.count()).select_from(schema.agents)) or 0)
    head = bytes(row.head_hash).hex()
    return Verification(
        chain.count, count, head, tuple(problems), checked.decisions, MappingProxyType(checked.unchecked)
    )


def _compare(connection: sa.Connection, row: sa.Row[tuple[object, ...]], chain: Chain) -> list[str]:
    """Everything that is kept besides the events, against what follows from them."""
    named = {"links": "links between events", "given": "records of assignments"}
    problems = [f"the {named[table]} do not follow from the events" for table in derived.differ(connection)]
    revised = connection.execute(sa.select(schema.revised)).all()
    counts = {(event, since): (until, amount) for event, since, until, amount in revised}
    if counts != revised_table.all_revisions(connection):
        problems.append("which events count, and with what amounts, does not follow from the events")
    if problems:
        return problems  # by which everything else would be judged
    settled = int(row.settled)
    if settled != chain.latest:
        problems.append("the settled instant in the snapshot does not follow from the events")
    known = timeline.rebuilt(connection, settled)
    if rows.save_book(known.book) != row.rules:
        problems.append("the rules in the snapshot do not follow from the events")
    ids, stored = rows.load_agents(connection, known.agents.remembering)
    if ids.tolist() != known.ids.tolist() or stored.names != known.agents.names:
        return [*chain.beyond.values(), *problems, "the agents in the snapshot do not follow from the events"]
    folded = known.agents
    recorded = np.array([chain.recorded.get(name, 0.0) for name in stored.names])
    differs = {
        "participation": np.array(
            [a != b for a, b in zip(stored.participation, folded.participation, strict=True)], dtype=bool
        ),
        "latest event": stored.as_of != folded.as_of,
        "last time served": stored.last != folded.last,
        "received total": _apart(stored.counters["received"], folded.counters["received"], recorded),
        "remembered utility": _apart(stored.counters["remembered"], folded.counters["remembered"], recorded),
    }
    for what, where in differs.items():
        problems += [
            f"the {what} of {stored.names[i]!r} does not follow from the events" for i in np.flatnonzero(where)[:10]
        ]
    return [*chain.beyond.values(), *problems]


def _apart(stored: AnyState, folded: AnyState, recorded: np.ndarray) -> np.ndarray:
    """Whether any number of an agent's counter is another than follows from the events."""
    pairs = zip(fold.parts(stored), fold.parts(folded), strict=True)
    differs = [~(TOLERANCE * np.abs(b).T + ROUNDING * recorded >= np.abs(a - b).T).T for a, b in pairs]
    return np.asarray(np.logical_or.reduce([each.any(axis=tuple(range(1, each.ndim))) for each in differs]))


class Chain:
    """The chain as far as it has been followed."""

    def __init__(self, noted: str | None = None) -> None:
        self.count, self.seq, self.hash = 0, 0, GENESIS
        self._noted = noted
        self.has_noted = noted == GENESIS.hex()
        self.broken = False
        self.problems: list[str] = []
        self.recorded: dict[str, float] = {}
        self.commitments = Commitments()
        self.latest = -(2**63)
        self.beyond: dict[int, str] = {}

    def follow(self, event: Event, stored: bytes) -> None:
        """Goes on to the next event and the hash that is stored with it."""
        if event.seq != self.seq + 1 and not self.broken:
            self._break(f"event {self.seq + 1} is missing")
        expected = digest(self.hash, event, details_text(event))
        if expected != stored and not self.broken:
            self._break(f"event {event.seq} has changed since it was recorded: its hash does not match")
        self.count, self.seq, self.hash = self.count + 1, event.seq, stored
        self.has_noted = self.has_noted or stored.hex() == self._noted
        self.latest = max(self.latest, event.recorded)
        self.problems += self.commitments.follow(event)
        if event.agent is not None and event.amount is not None:
            self.recorded[event.agent] = self.recorded.get(event.agent, 0.0) + abs(counted(event.amount))
            if counted(event.amount) != event.amount:
                self.beyond[event.seq] = (
                    f"event {event.seq} has an amount of {event.amount:g}, beyond {LARGEST:g}, and does not count: "
                    "correct it to the right amount"
                )
        if event.kind in ("correction", "void"):
            self.beyond.pop(event.refers or 0, None)

    def ends_with(self, seq: int, hashed: bytes) -> bool:
        """Whether the last event is of this number and hash."""
        return self.seq == seq and self.hash == bytes(hashed)

    def _break(self, problem: str) -> None:
        self.broken = True
        self.problems.append(problem)


def read_chain(connection: sa.Connection, noted: str | None = None) -> Chain:
    """The chain of all events, and whether a hash noted earlier is in it."""
    chain = Chain(noted)
    for event, stored in rows.load_hashed(connection):
        chain.follow(event, bytes(stored))
    return chain


def rebuild(store: Store) -> int:
    """Makes again all that follows from the events of a damaged ledger; returns the number of agents.

    The events must be intact, since everything else is made from them: a ledger whose chain is broken is refused and
    not changed.
    """
    try:
        with store.locked() as connection:
            head = connection.execute(sa.select(schema.ledger.c.head, schema.ledger.c.head_hash)).one()
            with integrity.without_indexes(connection):
                chain = read_chain(connection)
            if not chain.ends_with(head.head, head.head_hash):
                chain.problems.append(
                    f"the ledger's head is event {head.head}, but the chain ends with event {chain.seq}"
                )
            if chain.problems:
                raise LedgerError(
                    f"{store.name} cannot be rebuilt from its events, which are damaged ({chain.problems[0]}): restore "
                    "a backup"
                )
            integrity.rebuild_indexes(connection)
            derived.rebuild(connection)
            return int(connection.scalar(sa.select(sa.func.count()).select_from(schema.agents)) or 0)
    except LedgerError as error:
        if any(refusal in str(error) for refusal in ("permission denied", "must be owner")):
            raise LedgerError(
                f"{store.name} can be rebuilt by the owner of its tables only, not by this user: nothing was changed"
            ) from error
        raise
