"""The draw between equally good choices: fixed in secret before anybody can see it, and checked by anybody afterwards.

A ledger always holds one secret seed, for its next decision, and has published the seed's hash in an earlier event: the
*commitment*. Every proposal until then draws with that seed, so that recording something in between, or asking again,
draws nothing new. The decision reveals the seed and commits to the next one. Whoever kept the commitment can check that
its hash is the one published:

    printf %s SEED | sha256sum

The seed is in the table `draws`. Proposals do not show it, but whoever can read the database can.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import schema
from bygones.ledger.events import Event


class Draw(NamedTuple):
    """The next draw.

    Attributes:
        seed: the secret, as 64 hexadecimal digits.
        event: the event that published its hash, None while none has.
    """

    seed: str
    event: int | None

    @property
    def commitment(self) -> str:
        """The hash by which the seed is committed to."""
        return commitment(self.seed)

    def at(self, time: int) -> Draw:
        """The draw of one of several dates that are decided with this seed, by the hash of seed and instant."""
        return Draw(hashlib.sha256(f"{self.seed} {time}".encode()).hexdigest(), self.event)

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the draw, the same for every proposal of one decision."""
        return np.random.default_rng(int(self.seed, 16))


def commitment(seed: str) -> str:
    """The SHA-256 of a seed's text, in hexadecimal digits."""
    return hashlib.sha256(seed.encode()).hexdigest()


def check_draw(decision: Event, committing: Event) -> bool:
    """Whether a decision reveals the seed that an earlier event had committed to."""
    drawn, published = (decision.details or {}).get("draw", {}), (committing.details or {}).get("draw", {})
    earlier = committing.seq < decision.seq and drawn.get("committed_in") == committing.seq
    return earlier and "seed" in drawn and commitment(drawn["seed"]) == published.get("next")


def upcoming(connection: sa.Connection) -> Draw:
    """The draw of the next decision."""
    row = connection.execute(sa.select(schema.draws.c.seed, schema.draws.c.event)).one()
    return Draw(row.seed, row.event)


def publish(connection: sa.Connection, event: int) -> dict[str, str]:
    """What an event says of the next draw, whose hash it publishes."""
    connection.execute(schema.draws.update().values(event=event))
    return {"next": upcoming(connection).commitment}


def reveal(connection: sa.Connection, event: int) -> dict[str, str | int | None]:
    """What a decision says of its draw: the seed, the event that had committed to it, and the hash of the next seed."""
    drawn = upcoming(connection)
    connection.execute(schema.draws.update().values(seed=secrets.token_hex(32)))
    return {"seed": drawn.seed, "committed_in": drawn.event, **publish(connection, event)}


class Commitments:
    """Follows the events of a ledger and finds seeds that do not keep to their commitments."""

    def __init__(self) -> None:
        self._next: str | None = None
        self._event = 0

    def follow(self, event: Event) -> list[str]:
        """What is wrong with the draw of this event."""
        drawn = (event.details or {}).get("draw", {})
        found = []
        # A decision that is made again keeps the draw of the first.
        first = event.kind == "decision" and "redecides" not in (event.details or {})
        if self._next is not None and first and "seed" not in drawn:
            found = [f"decision {event.seq} does not reveal the seed that event {self._event} committed to"]
        elif self._next is not None and "seed" in drawn and commitment(str(drawn["seed"])) != self._next:
            found = [f"the seed of decision {event.seq} is not the one that event {self._event} committed to"]
        elif self._next is not None and "seed" not in drawn and drawn.get("next", self._next) != self._next:
            found = [f"event {event.seq} commits to another seed, but that of event {self._event} was not revealed"]
        if "next" in drawn:
            self._next, self._event = str(drawn["next"]), event.seq
        return found

    def end(self, held: Draw) -> list[str]:
        """What is wrong with the seed that the ledger holds for its next decision."""
        if self._next is None or held.commitment == self._next:
            return []
        return [f"the seed of the next decision is not the one that event {self._event} committed to"]
