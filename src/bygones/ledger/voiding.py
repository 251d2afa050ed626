"""Makes an event void by a further event, or refuses and says what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._text import check_text, listed
from bygones.ledger import rows, schema, snapshot, turns, voids
from bygones.ledger.events import DECISIONS, RECEIVED, TURNS, Event
from bygones.ledger.turns import Turns
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import MEMORY_SETTINGS, LedgerWriter

NAMED = 5
"""As many of the events that stand in the way are named."""


def void(writer: LedgerWriter, seq: int, note: str = "", *, swapping: bool = False) -> Event:
    """Makes an event void, and with it what rests on it alone; a void that is void puts its event back in effect.

    What was swapped can only be void by `swapping` again.
    """
    writer.finish()  # so that what this transaction has recorded so far is among the events
    found = _event(writer.connection, seq) if 0 < seq <= writer.head.head else None
    if found is None:
        raise ValueError(f"there is no event {seq} to void")
    since = voids.void_since(writer.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} is already void, since event {since}")
    if seq == 1:
        raise ValueError("event 1 says when the ledger began and by which rules: change the rules instead")
    if not swapping:
        _check_not_swapped(writer.connection, found)
    event = writer.append("void", found.time, found.agent, agent=found.name, refers=seq, note=check_text("note", note))
    if found.kind != "void":
        voids.make_void(writer.connection, seq, event.seq)
        _follow(writer, seq, event.seq)
        return event
    again = _event(writer.connection, found.refers)
    if again is not None and again.kind == "void":
        raise ValueError(f"event {seq} put event {again.refers} back in effect: void event {again.refers} instead")
    ended = voids.put_back_by(writer.connection, seq)
    if ended is not None:
        raise ValueError(f"event {seq} is already void, since event {ended}")
    _check_not_made_again(writer.connection, found.refers)
    voids.put_back(writer.connection, seq, event.seq)
    _follow(writer, seq, seq)
    return event


def _check_not_swapped(connection: sa.Connection, found: sa.Row[Any]) -> None:
    """Neither half of a swap can be taken back alone, which would leave a turn to nobody or to two agents."""
    table = schema.events
    query = sa.select(table.c.seq, table.c.details).where(table.c.details.like('%"swapped":%'))
    halves: dict[tuple[int, ...], list[str]] = {}
    for row in connection.execute(query.order_by(table.c.seq)):
        halves.setdefault(tuple(rows.load_details(row.details)["swapped"]), []).append(str(row.seq))
    for swapped, made in halves.items():
        if str(found.seq) in made or (found.kind == "void" and found.refers in swapped):
            raise ValueError(
                f"event {found.seq} is half of a swap, and without it a turn would be nobody's or two agents': to undo "
                f"the swap, swap events {listed(made)} back; if a turn was not served, correct it to 0"
            )


def _check_not_made_again(connection: sa.Connection, seq: int) -> None:
    """A decision that was made again does not count beside the one in its place."""
    table = schema.events
    made_again = table.c.details.like('%"redecides":%')
    query = sa.select(table.c.seq, table.c.details).where(table.c.kind.in_(DECISIONS), made_again, in_effect())
    for row in connection.execute(query):
        if rows.load_details(row.details).get("redecides") == seq:
            raise ValueError(f"event {seq} was decided again as event {row.seq}: void event {row.seq} first")


def _follow(writer: LedgerWriter, seq: int, since: int) -> None:
    """Makes the snapshot follow from the events in effect, after some have become void or have been put back."""
    changed = voids.concerned(writer.connection, since)
    _check_corrections(writer.connection, changed)
    if any(row.kind == "rules" for row in changed):
        _follow_rules(writer, seq, {name for row in changed for name in rows.load_details(row.details)})
    for number in sorted({row.agent for row in changed if row.agent is not None}):
        _follow_agent(writer, seq, number)


def _follow_rules(writer: LedgerWriter, seq: int, settings: set[str]) -> None:
    try:
        writer.book = rows.load_changes(writer.connection)
    except ValueError as error:
        raise ValueError(f"event {seq} cannot be made void, since later rules depend on it: {error}") from None
    if not settings.isdisjoint(MEMORY_SETTINGS):
        writer.replay_since(writer.book.began)


def _check_corrections(connection: sa.Connection, changed: Sequence[sa.Row[Any]]) -> None:
    """Of several corrections of one amount, each is the difference to those before: only the last can change alone."""
    table, all_changed = schema.events, {row.seq for row in changed}
    for row in changed:
        if row.kind != "correction" or row.refers in all_changed:
            continue
        query = sa.select(sa.func.max(table.c.seq)).where(
            table.c.refers == row.refers, table.c.kind == "correction", table.c.seq > row.seq, in_effect()
        )
        later = connection.execute(query).scalar()
        if later is not None:
            raise ValueError(f"event {row.refers} was corrected again by event {later}: void event {later} first")


def _follow_agent(writer: LedgerWriter, seq: int, number: int) -> None:
    """The snapshot of one agent from its events in effect, refused if they make no sense."""
    connection, book, table = writer.connection, writer.book, schema.events
    query = sa.select(table.c.seq, table.c.time, table.c.kind).where(table.c.agent == number, in_effect())
    mine = connection.execute(query.order_by(table.c.time, table.c.seq)).all()
    name = connection.execute(sa.select(schema.agents.c.name).where(schema.agents.c.id == number)).scalar_one()
    taken = [row for row in mine if row.kind in TURNS]
    found: Turns = tuple((row.time, row.kind) for row in taken)
    impossible = turns.first_impossible(found)
    if impossible is not None:
        position, state = impossible
        row = taken[position]
        raise ValueError(
            f"event {seq} cannot be made void: {name!r} would be {state} at {book.named(row.time)} and could not "
            f"{row.kind} then; void event {row.seq} first"
        )
    # What is planned for somebody who is away then can be decided again, unless they are nobody at all.
    kinds = ("received", "offset") if found else (*RECEIVED, "offset")
    amounts = [row for row in mine if row.kind in kinds]
    left = [str(row.seq) for row in amounts if not turns.was_member(found, row.time)]
    if left:
        what, them = ("event", "it") if len(left) == 1 else ("events", "them")
        raise ValueError(
            f"event {seq} cannot be made void: {name!r} would not be a member at the time of {what} "
            f"{listed(left, NAMED)}; void {them} first"
        )
    if not found:
        rows.save_nobody(connection, number)
        return
    ids = np.array([number], dtype=np.int64)
    known = rows.replay(connection, book, ids, snapshot.empty([name], [found]), writer.settled)
    rows.save_agents(connection, ids, known)


def _event(connection: sa.Connection, seq: int) -> sa.Row[Any] | None:
    table, agents = schema.events, schema.agents
    query = sa.select(table, agents.c.name).outerjoin_from(table, agents, table.c.agent == agents.c.id)
    return connection.execute(query.where(table.c.seq == seq)).one_or_none()
