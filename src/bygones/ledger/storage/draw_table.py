"""The draw of the next decision or date, from the secret in the table `draws` and the draws made so far."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bygones.ledger.model.draws import LENGTH, Draw, hashed, seed_of
from bygones.ledger.model.events import load_details
from bygones.ledger.model.times import as_datetime, day, instant
from bygones.ledger.storage import schema
from bygones.ledger.storage.revisions import in_effect


def next_draw(connection: sa.Connection, head: int | None = None) -> Draw:
    """The draw of the next decision, or of one that was recorded after the event with number `head`."""
    number = next_number(connection, head)
    known = _revealed(connection, number)
    if known is not None:
        return known
    row = connection.execute(sa.select(schema.draws)).one()
    if number == 0:
        return Draw(str(row.pending), 0)
    seed = seed_of(row.seed, number - row.before)
    return Draw(seed, number, before=hashed(seed))


def draw_for_date(connection: sa.Connection, at: int, zone: str) -> Draw:
    """The draw of a date that is planned: the one with which that day was first planned, or else the next."""
    name = day(at, zone)
    first = _first_planned(connection, at, zone)
    draw = next_draw(connection) if first is None else _revealed(connection, first)
    assert draw is not None  # a plan reveals its seed
    return draw._replace(day=name)


def next_number(connection: sa.Connection, head: int | None = None) -> int:
    """The number of the next draw: that of the last decision or plan if nothing of it is in effect, else one more."""
    links, table = schema.links, schema.events
    known = [links.c.kind == "draw"] if head is None else [links.c.kind == "draw", links.c.event <= head]
    last = connection.execute(sa.select(sa.func.max(links.c.other)).where(*known)).scalar()
    if last is None:
        pending = connection.execute(sa.select(schema.draws.c.pending)).scalar()
        return 1 if pending is None else 0
    drawn = sa.select(table.c.seq).join(links, links.c.event == table.c.seq).where(*known, links.c.other == last)
    stands = connection.execute(drawn.where(in_effect(head=head)).limit(1)).scalar()
    return int(last) if stands is None else int(last) + 1


def publish(connection: sa.Connection, event: int) -> dict[str, Any]:
    """The details of the event that publishes the beginning of a chain of seeds."""
    row = connection.execute(sa.select(schema.draws)).one()
    connection.execute(schema.draws.update().values(event=event))
    return {"chain": seed_of(row.seed, 0), **({"before": row.before} if row.before else {})}


def is_published(connection: sa.Connection) -> bool:
    """Whether some event has committed to the next draw."""
    row = connection.execute(sa.select(schema.draws)).one()
    return row.event is not None or row.pending is not None


def reveal(connection: sa.Connection, draw: Draw, event: int) -> dict[str, Any]:
    """The details of a decision about its draw; the last of a chain publishes the next chain."""
    row = connection.execute(sa.select(schema.draws)).one()
    details: dict[str, Any] = {"number": draw.number, "seed": draw.seed}
    if draw.number == 0 and row.event is None:
        return details | publish(connection, event)
    if draw.number == row.before + LENGTH:
        connection.execute(schema.draws.update().values(seed=secrets.token_hex(32), before=draw.number))
        return details | publish(connection, event)
    return details


def published_in(connection: sa.Connection, number: int | None) -> int | None:
    """The event that committed to a draw: it published its chain or, of the last draw of version 2, its hash."""
    row = connection.execute(sa.select(schema.draws)).one()
    if number is None:
        return None
    if number == 0 or number > row.before:
        event = row.committed if number == 0 else row.event
        if event is None:
            raise ValueError(f"the table draws lacks the event that published draw {number}: restore a backup")
        return int(event)
    # An earlier chain was published with the last draw of the one before it, or where the ledger began.
    first = (number - 1) // LENGTH * LENGTH
    links = schema.links
    query = sa.select(sa.func.min(links.c.event)).where(links.c.kind == "draw", links.c.other == first)
    return connection.execute(query).scalar() or 1


def held(connection: sa.Connection) -> str | None:
    """The seed that the ledger holds for its next new draw."""
    row = connection.execute(sa.select(schema.draws)).one()
    links = schema.links
    last = connection.execute(sa.select(sa.func.max(links.c.other)).where(links.c.kind == "draw")).scalar()
    if last is None and row.pending is not None:
        return str(row.pending)
    return None if row.event is None else seed_of(row.seed, max((last or 0) + 1 - row.before, 1))


def _revealed(connection: sa.Connection, number: int) -> Draw | None:
    """The draw of this number, if a decision has revealed it."""
    links, table = schema.links, schema.events
    query = sa.select(table.c.details).join(links, links.c.event == table.c.seq)
    query = query.where(links.c.kind == "draw", links.c.other == number).order_by(table.c.seq).limit(1)
    text = connection.execute(query).scalar()
    return None if text is None else Draw(str(load_details(text)["draw"]["seed"]), number)


def _first_planned(connection: sa.Connection, at: int, zone: str) -> int | None:
    """The number of the draw with which this day was first planned."""
    start = as_datetime(at).astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    first, end = instant(start), instant((start + timedelta(hours=36)).replace(hour=0))
    links, table = schema.links, schema.events
    query = sa.select(links.c.other).join(table, links.c.event == table.c.seq)
    query = query.where(links.c.kind == "draw", table.c.kind == "plan", table.c.time >= first, table.c.time < end)
    return connection.execute(query.order_by(table.c.seq).limit(1)).scalar()
