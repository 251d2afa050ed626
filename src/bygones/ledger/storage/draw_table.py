"""The draw of the next decision or date, from the secrets in the table `draws` and the draws made so far."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from bygones.ledger.model.draws import DAYS, LENGTH, Draw, hashed, number_of_day, seed_of
from bygones.ledger.model.events import canonical, load_details
from bygones.ledger.model.times import day
from bygones.ledger.storage import schema
from bygones.ledger.storage.revised_table import in_effect, void_events


def next_draw(connection: sa.Connection, request: Mapping[str, Any], at: int, zone: str) -> Draw:
    """The draw of a decision about a request at an instant."""
    number = next_number(connection, request, at, zone)
    known = _revealed(connection, number)
    if known is not None:
        return known
    row = connection.execute(sa.select(schema.draws)).one()
    if number == 0:
        return Draw(str(row.pending), 0)
    seed = seed_of(row.seed, number - row.before)
    return Draw(seed, number, before=hashed(seed))


def draw_for_date(connection: sa.Connection, at: int, zone: str) -> Draw:
    """The draw of a date that is planned: that of its day."""
    name = day(at, zone)
    number = number_of_day(name)
    seed = seed_of(days(connection), number, DAYS)
    return Draw(seed, number, name, before=hashed(seed))


def next_number(
    connection: sa.Connection, request: Mapping[str, Any], at: int, zone: str, head: int | None = None
) -> int:
    """The number of the draw of a decision, now or as recorded up to the event with number `head`.

    It is that of a decision of the same request or the same day that was made void, if no other decision with that draw
    counts; else one more than the last.
    """
    free = _free(connection, head)
    wanted = load_details(canonical(request)) if free else None
    alike = [
        (details.get("request") != wanted, number)
        for number, time, details in free
        if details.get("request") == wanted or day(time, zone) == day(at, zone)
    ]
    if alike:
        return min(alike)[1]
    links = schema.links
    known = [links.c.kind == "draw"] if head is None else [links.c.kind == "draw", links.c.event <= head]
    last = connection.execute(sa.select(sa.func.max(links.c.other)).where(*known)).scalar()
    if last is None:
        pending = connection.execute(sa.select(schema.draws.c.pending)).scalar()
        return 1 if pending is None else 0
    return int(last) + 1


def _free(connection: sa.Connection, head: int | None) -> list[tuple[int, int, dict[str, Any]]]:
    """The numbers of draws of which no decision counts, with the instants and details of these decisions."""
    table, links, others = schema.events, schema.links, schema.links.alias("others")
    counts = sa.select(others.c.event).join(table, table.c.seq == others.c.event)
    counts = counts.where(others.c.kind == "draw", others.c.other == links.c.other, in_effect(head=head))
    query = sa.select(links.c.other, table.c.time, table.c.details).join_from(
        links, table, table.c.seq == links.c.event
    )
    query = query.where(links.c.kind == "draw", links.c.event.in_(void_events(head)), ~counts.correlate(links).exists())
    return [(int(number), time, load_details(text)) for number, time, text in connection.execute(query)]


def publish(connection: sa.Connection, event: int) -> dict[str, Any]:
    """The details of the event that publishes the beginnings of the chains of seeds, as far as none has yet."""
    row = connection.execute(sa.select(schema.draws)).one()
    details = _publish_chain(connection, event) if row.event is None and row.pending is None else {}
    if row.days_event is None:
        connection.execute(schema.draws.update().values(days_event=event))
        details["days"] = seed_of(row.days, 0, DAYS)
    return details


def _publish_chain(connection: sa.Connection, event: int) -> dict[str, Any]:
    row = connection.execute(sa.select(schema.draws)).one()
    connection.execute(schema.draws.update().values(event=event))
    return {"chain": seed_of(row.seed, 0), **({"before": row.before} if row.before else {})}


def reveal(connection: sa.Connection, draw: Draw, event: int) -> dict[str, Any]:
    """The details of a decision about its draw; the last of a chain publishes the next chain."""
    if draw.day:
        return {"day": draw.day, "seed": draw.seed}
    row = connection.execute(sa.select(schema.draws)).one()
    details: dict[str, Any] = {"number": draw.number, "seed": draw.seed}
    if draw.number == 0 and row.event is None:
        return details | _publish_chain(connection, event)
    if draw.number == row.before + LENGTH:
        connection.execute(schema.draws.update().values(seed=secrets.token_hex(32), before=draw.number))
        return details | _publish_chain(connection, event)
    return details


def published_in(connection: sa.Connection, drawn: Mapping[str, Any]) -> int | None:
    """The event that committed to a draw: it published its chain or, of the last draw of version 2, its hash."""
    row = connection.execute(sa.select(schema.draws)).one()
    if "day" in drawn:
        return None if row.days_event is None else int(row.days_event)
    number = drawn.get("number")
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


def days(connection: sa.Connection) -> str:
    """The secret end of the chain of days."""
    return str(connection.execute(sa.select(schema.draws.c.days)).scalar_one())


def _revealed(connection: sa.Connection, number: int) -> Draw | None:
    """The draw of this number, if a decision has revealed it."""
    links, table = schema.links, schema.events
    query = sa.select(table.c.details).join(links, links.c.event == table.c.seq)
    query = query.where(links.c.kind == "draw", links.c.other == number).order_by(table.c.seq).limit(1)
    text = connection.execute(query).scalar()
    return None if text is None else Draw(str(load_details(text)["draw"]["seed"]), number)
