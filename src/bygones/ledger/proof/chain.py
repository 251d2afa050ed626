"""The chain of hashes over the events, followed from the first to the last."""

from __future__ import annotations

import sqlalchemy as sa

from bygones.ledger.model.bounds import LARGEST, counted
from bygones.ledger.model.draws import Commitments
from bygones.ledger.model.events import GENESIS, Event, details_text, digest
from bygones.ledger.storage import rows


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
            self._break(f"event {event.seq} is not what was recorded: its hash does not match")
        self.count, self.seq, self.hash = self.count + 1, event.seq, stored
        self.has_noted = self.has_noted or stored.hex() == self._noted
        self.latest = max(self.latest, event.recorded)
        self.problems += self.commitments.follow(event)
        if event.agent is not None and event.amount is not None:
            self.recorded[event.agent] = self.recorded.get(event.agent, 0.0) + abs(counted(event.amount))
            if counted(event.amount) != event.amount:
                self.beyond[event.seq] = (
                    f"event {event.seq} has an amount of {event.amount:g}, beyond {LARGEST:g}, and does not count: "
                    "correct it to what it should have been"
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
    for chunk in rows.load_events(connection):
        for event, stored in chunk:
            chain.follow(event, bytes(stored))
    return chain
