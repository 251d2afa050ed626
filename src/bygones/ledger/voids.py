"""Which events count: an event that is void reads as if it had never been recorded.

An event is void from a later event of kind `void` on, and with it whatever rests on it alone: what was received through
a decision, and the corrections of an amount. A void can itself be void, which puts the event back in effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bygones.ledger import schema
from bygones.ledger.events import RECEIVED


def in_effect(events: sa.FromClause = schema.events, head: int | None = None) -> sa.ColumnElement[bool]:
    """Whether an event counts, now or as of the event with number `head`."""
    table = schema.voids
    if head is None:
        return ~sa.exists().where(table.c.event == events.c.seq, table.c.until.is_(None))
    ended = sa.and_(table.c.until.is_not(None), table.c.until <= head)
    is_void = sa.exists().where(table.c.event == events.c.seq, table.c.since <= head, ~ended)
    return sa.and_(events.c.seq <= head, ~is_void)


def void_since(connection: sa.Connection, seq: int) -> int | None:
    """The event since which an event is void, or None if it counts."""
    table = schema.voids
    query = sa.select(sa.func.min(table.c.since)).where(table.c.event == seq, table.c.until.is_(None))
    return connection.execute(query).scalar()


def make_void(connection: sa.Connection, seq: int, since: int) -> None:
    """Notes that an event is void, with what was received through it if it is a decision, and corrections of either."""
    table = schema.events
    own = sa.select(table.c.seq).where(table.c.refers == seq, table.c.kind.in_((*RECEIVED, "correction")))
    theirs = sa.select(table.c.seq).where(table.c.refers.in_(own), table.c.kind == "correction")
    resting = connection.execute(own.union(theirs)).scalars()
    connection.execute(schema.voids.insert(), [{"event": each, "since": since} for each in (seq, *resting)])


def put_back(connection: sa.Connection, since: int, until: int) -> None:
    """Notes that what was void since an event is no longer."""
    connection.execute(schema.voids.update().where(schema.voids.c.since == since).values(until=until))


def put_back_by(connection: sa.Connection, since: int) -> int | None:
    """The event by which what was void since an event has been put back, or None if it was not."""
    table = schema.voids
    return connection.execute(sa.select(sa.func.min(table.c.until)).where(table.c.since == since)).scalar()


def concerned(connection: sa.Connection, since: int) -> Sequence[sa.Row[Any]]:
    """The events that are, or were, void since an event."""
    table = schema.events
    query = sa.select(table).join(schema.voids, schema.voids.c.event == table.c.seq)
    return connection.execute(query.where(schema.voids.c.since == since)).all()


def intervals(connection: sa.Connection, found: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int | None]:
    """Which events are void since which event, and until which, from the voids and what each refers to."""
    table = schema.events
    kinds = {seq for seq, _ in found}
    known: dict[tuple[int, int], int | None] = {}
    for seq, refers in found:
        if refers in kinds:
            known |= {pair: seq for pair in known if pair[1] == refers}
            continue
        own = sa.select(table.c.seq).where(table.c.refers == refers, table.c.kind.in_((*RECEIVED, "correction")))
        theirs = sa.select(table.c.seq).where(table.c.refers.in_(own), table.c.kind == "correction")
        resting = connection.execute(own.union(theirs)).scalars()
        known |= {(each, seq): None for each in (refers, *resting) if each < seq}
    return known


def refresh(connection: sa.Connection, found: Sequence[tuple[int, int]]) -> None:
    """Notes anew which events are void, from the voids and what each refers to."""
    connection.execute(schema.voids.delete())
    rows = [
        {"event": event, "since": since, "until": until}
        for (event, since), until in intervals(connection, found).items()
    ]
    if rows:
        connection.execute(schema.voids.insert(), rows)
