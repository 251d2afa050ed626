"""Makes an event void by a further event, or refuses and says what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bygones._text import check_text, listed
from bygones.ledger.model import participation
from bygones.ledger.model.events import RECEIVED, Event
from bygones.ledger.storage import derived, revisions, schema, timeline
from bygones.ledger.storage.revisions import in_effect
from bygones.ledger.storage.transaction import ImpossibleError, Transaction

NAMED = 5
"""As many of the events that stand in the way are named."""


def void(tx: Transaction, seq: int, note: str = "", *, swapping: bool = False) -> Event:
    """Makes an event void, and with it what rests on it alone; a void that is void puts its event back in effect.

    What was swapped can only be void by `swapping` again.
    """
    with tx.trying():  # in which what this transaction has recorded so far is among the events
        row = _check(tx, seq, swapping=swapping)
        _append(tx, row, note)
        try:
            concerned = tx.finish()
        except ImpossibleError as error:
            raise ValueError(f"event {seq} cannot be made void: {error}") from None
        _check_corrections(tx.connection, concerned)
        for number in sorted({each.agent for each in concerned if each.agent is not None}):
            _check_membership(tx.connection, seq, number)
    return _append(tx, row, note)


def _append(tx: Transaction, row: sa.Row[Any], note: str) -> Event:
    return tx.append("void", row.time, agent=row.name, refers=row.seq, note=check_text("note", note))


def _check(tx: Transaction, seq: int, *, swapping: bool) -> sa.Row[Any]:
    """The event that is to be void, refused if it cannot be."""
    row = _event(tx.connection, seq) if 0 < seq <= tx.head.head else None
    if row is None:
        raise ValueError(f"there is no event {seq} to void")
    since = revisions.void_since(tx.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} is already void, since event {since}")
    if seq == 1:
        raise ValueError("event 1 says when the ledger began and by which rules: change the rules instead")
    if not swapping:
        _check_not_swapped(tx.connection, row)
    if row.kind == "void":
        _check_can_be_put_back(tx.connection, row)
    return row


def _check_not_swapped(connection: sa.Connection, row: sa.Row[Any]) -> None:
    """Neither half of a swap can be taken back alone, which would leave a turn to nobody or to two agents."""
    turns = [row.refers] if row.kind == "void" else derived.linked(connection, "swaps", row.seq)[:1]
    halves = [half for turn in turns for half in derived.other_ends(connection, "swaps", turn)]
    if halves:
        raise ValueError(
            f"event {row.seq} is half of a swap, and without it a turn would be nobody's or two agents': to undo the "
            f"swap, swap events {listed(list(map(str, halves)))} back; if a turn was not served, correct it to 0"
        )


def _check_can_be_put_back(connection: sa.Connection, row: sa.Row[Any]) -> None:
    """A void can be void once, and what it made void counts again only if no other version of it does."""
    again = _event(connection, row.refers)
    if again is not None and again.kind == "void":
        raise ValueError(f"event {row.seq} put event {again.refers} back in effect: void event {again.refers} instead")
    ended = revisions.put_back_by(connection, row.seq)
    if ended is not None:
        raise ValueError(f"event {row.seq} is already void, since event {ended}")
    other = revisions.other_version(connection, row.refers)
    if other is not None:
        raise ValueError(f"event {row.refers} was decided again as event {other}: void event {other} first")


def _check_corrections(connection: sa.Connection, changed: Sequence[sa.Row[Any]]) -> None:
    """Of several corrections of one amount the last counts: only that one can be taken back alone."""
    table, all_changed = schema.events, {row.seq for row in changed}
    for row in changed:
        if row.kind != "correction" or revisions.void_since(connection, row.refers) is not None:
            continue
        if row.refers in all_changed and revisions.void_since(connection, row.seq) is None:
            continue
        query = sa.select(sa.func.max(table.c.seq)).where(
            table.c.refers == row.refers, table.c.kind == "correction", table.c.seq > row.seq, in_effect()
        )
        later = connection.execute(query).scalar()
        if later is not None:
            raise ValueError(f"event {row.refers} was corrected again by event {later}: void event {later} first")


def _check_membership(connection: sa.Connection, seq: int, number: int) -> None:
    """Refuses to leave an agent with something that was received while they did not take part."""
    table = schema.events
    changes = timeline.load_participation(connection, [number]).get(number, ())
    # What is planned for somebody who is away then can be decided again, unless they are nobody at all.
    kinds = ("received", "offset") if changes else (*RECEIVED, "offset")
    query = sa.select(table.c.seq, table.c.time).where(table.c.agent == number, table.c.kind.in_(kinds), in_effect())
    amounts = connection.execute(query.order_by(table.c.time, table.c.seq))
    left = [str(row.seq) for row in amounts if not participation.was_member(changes, row.time)]
    if left:
        name = connection.execute(sa.select(schema.agents.c.name).where(schema.agents.c.id == number)).scalar_one()
        what, them = ("event", "it") if len(left) == 1 else ("events", "them")
        raise ValueError(
            f"event {seq} cannot be made void: {name!r} would not be a member at the time of {what} "
            f"{listed(left, NAMED)}; void {them} first"
        )


def _event(connection: sa.Connection, seq: int) -> sa.Row[Any] | None:
    table, agents = schema.events, schema.agents
    query = sa.select(table, agents.c.name).outerjoin_from(table, agents, table.c.agent == agents.c.id)
    return connection.execute(query.where(table.c.seq == seq)).one_or_none()
