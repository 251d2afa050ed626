"""The table `revised`: between which events another counted with some amount, or not at all; see `model.revisions`.

Since it holds intervals of event numbers, the state before any event can be read, too. The table follows from the
events; `verify` makes it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from bygones.ledger.model.events import DECISIONS, load_details
from bygones.ledger.model.revisions import RESTING, Related, Revisions, related, revisions
from bygones.ledger.storage import dialects, schema


def in_effect(head: int | None = None) -> sa.ColumnElement[bool]:
    """Whether an event counts, now or as of the event with number `head`."""
    seq = schema.events.c.seq
    table = schema.revised.alias("lapsed")  # or it would be the row of a query that joins what `corrects`
    counts = ~sa.exists().where(table.c.event == seq, table.c.amount.is_(None), *_open_at(table, head))
    return counts if head is None else sa.and_(seq <= head, counts)


def corrects(head: int | None = None) -> sa.ColumnElement[bool]:
    """The row of `revised` with the amount that an event in effect counts with, if there is one; to be joined on."""
    table = schema.revised
    return sa.and_(table.c.event == schema.events.c.seq, table.c.amount.is_not(None), *_open_at(table, head))


def _open_at(table: sa.FromClause, head: int | None) -> list[sa.ColumnElement[bool]]:
    """Whether an interval is open, now or as of the event with number `head`."""
    if head is None:
        return [table.c.until.is_(None)]
    return [table.c.since <= head, table.c.until.is_(None) | (table.c.until > head)]


def void_events(head: int | None = None) -> sa.Select[Any]:
    """The events that are void, now or as of the event with number `head`."""
    table = schema.revised
    return sa.select(table.c.event).where(table.c.amount.is_(None), *_open_at(table, head))


def amounts_of(connection: sa.Connection, seqs: Collection[int]) -> dict[int, float]:
    """The amounts of the corrected events among these, if they are in effect."""
    table = schema.revised
    query = sa.select(table.c.event, table.c.amount).where(table.c.amount.is_not(None), table.c.until.is_(None))
    return {row.event: row.amount for row in dialects.select_many(connection, query, table.c.event, seqs)}


def void_since(connection: sa.Connection, seq: int) -> int | None:
    """The event since which an event is void, or None if it counts."""
    table = schema.revised
    query = sa.select(table.c.since).where(table.c.event == seq, table.c.amount.is_(None), table.c.until.is_(None))
    return connection.execute(query).scalar()


def other_version(connection: sa.Connection, seq: int, head: int | None = None) -> int | None:
    """The version of the same decision, or of the plan for the same instant, that counts and is not this one."""
    group = _versions(connection, [seq])
    query = sa.select(schema.events.c.seq).where(schema.events.c.seq.in_(group - {seq}), in_effect(head=head))
    return connection.execute(query.limit(1)).scalar()


def refresh(connection: sa.Connection, seqs: Sequence[int]) -> list[sa.Row[Any]]:
    """Saves the revisions that follow from new events; the events whose amounts or effect they change."""
    related = _related(connection, seqs)
    table, first = schema.revised, seqs[0]
    query = sa.select(table.c.event, table.c.since, table.c.until)
    stored = dialects.select_many(connection, query, table.c.event, [event.seq for event in related])
    there = {(event, since): until for event, since, until in stored}
    new = {}
    for (event, since), (until, amount) in revisions(related).items():
        if (event, since) not in there:
            new[event, since] = until, amount
        elif there[event, since] != until:  # an interval that was open ends
            mine = [table.c.event == event, table.c.since == since]
            connection.execute(table.update().where(*mine).values(until=until))
    _insert(connection, new)
    concerned = sa.select(table.c.event).where((table.c.since >= first) | (table.c.until >= first))
    return list(connection.execute(sa.select(schema.events).where(schema.events.c.seq.in_(concerned))).all())


def all_revisions(connection: sa.Connection) -> Revisions:
    """All revisions of the ledger, from the events alone."""
    table = schema.events
    changing = table.c.kind.in_(("void", "correction", "plan"))
    seqs = connection.execute(sa.select(table.c.seq).where(changing)).scalars().all()
    again = connection.execute(sa.select(schema.links.c.event).where(schema.links.c.kind == "redecides")).scalars()
    return revisions(_related(connection, [*seqs, *again]))


def rebuild(connection: sa.Connection) -> None:
    """Makes the table again from the events."""
    connection.execute(schema.revised.delete())
    _insert(connection, all_revisions(connection))


def _insert(connection: sa.Connection, changes: Revisions) -> None:
    rows = [
        {"event": event, "since": since, "until": until, "amount": amount}
        for (event, since), (until, amount) in changes.items()
    ]
    if rows:
        dialects.insert(connection, schema.revised, rows)


def _related(connection: sa.Connection, seqs: Collection[int]) -> list[Related]:
    """All events that decide whether the events that these refer to count, and the events that rest on them."""
    about = set(seqs)
    for _ in range(2):  # from a void of a void to the event that the first made void
        about |= _targets(connection, about, ("void",))
    about |= _targets(connection, about, ("correction",))
    about |= _versions(connection, about)
    known = about | _referring(connection, about, RESTING)
    known |= _referring(connection, known, ("correction",))
    above = set(known)
    for _ in range(2):  # from a correction to the amount, and from the amount to the decision
        above = _targets(connection, above, RESTING)
        known |= above | _versions(connection, above)
    for _ in range(2):  # the voids of these events, and the voids of those
        known |= _referring(connection, known, ("void",))
    return list(_load(connection, known))


def _targets(connection: sa.Connection, seqs: Collection[int], kinds: Sequence[str]) -> set[int]:
    """The events that some of these refer to, if they are of these kinds."""
    table = schema.events
    wanted = sa.select(table.c.refers).where(table.c.kind.in_(kinds), table.c.refers.is_not(None))
    return _select(connection, wanted, table.c.seq, seqs)


def _referring(connection: sa.Connection, seqs: Collection[int], kinds: Sequence[str]) -> set[int]:
    """The events of some kinds that refer to these."""
    table = schema.events
    return _select(connection, sa.select(table.c.seq).where(table.c.kind.in_(kinds)), table.c.refers, seqs)


def _versions(connection: sa.Connection, seqs: Collection[int]) -> set[int]:
    """All versions of those among these events that are decisions or plans, themselves included."""
    table, links = schema.events, schema.links
    of_decision = sa.exists().where(table.c.seq == links.c.event, table.c.kind == "decision")
    redecided = sa.select(links.c.other).where(links.c.kind == "redecides", of_decision)
    origins = _select(connection, redecided, links.c.event, seqs)
    first = {
        *_select(connection, sa.select(table.c.seq).where(table.c.kind == "decision"), table.c.seq, seqs),
        *origins,
    }
    again = _select(connection, sa.select(links.c.event).where(links.c.kind == "redecides"), links.c.other, first)
    numbers = _select(connection, sa.select(links.c.other).where(links.c.kind == "draw"), links.c.event, seqs)
    drawn = _select(connection, sa.select(links.c.event).where(links.c.kind == "draw"), links.c.other, numbers)
    times = _select(connection, sa.select(table.c.time).where(table.c.kind == "plan"), table.c.seq, seqs)
    plans = _select(connection, sa.select(table.c.seq).where(table.c.kind == "plan"), table.c.time, times)
    return {*first, *again, *drawn, *plans}


def _load(connection: sa.Connection, seqs: Collection[int]) -> Iterator[Related]:
    table = schema.events
    query = sa.select(table.c.seq, table.c.kind, table.c.time, table.c.refers, table.c.amount, table.c.details)
    for seq, kind, time, refers, amount, text in dialects.select_many(connection, query, table.c.seq, seqs):
        details = load_details(text) if kind in ("correction", *DECISIONS) else {}
        yield related(seq, kind, time, refers, amount, details)


def _select(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Collection[int]
) -> set[int]:
    """The numbers that a query finds where a column has one of many values."""
    return {number for (number,) in dialects.select_many(connection, query, column, values)}
