"""What counts of what was recorded: which events are void, and which amounts were corrected.

An event lapses when a later event of kind `void` names it; a void of that void puts it back. What rests on an event
lapses with it: what was received through a decision, and the corrections of an amount. A correction says what an amount
is from there on; of several, the last that is not void counts.

A decision that was made again in place of another is a *version* of it, and so are all plans for one instant. Of the
versions of one decision only the last that is not void is in effect, whatever was made void or put back in between.

The tables `voids` and `corrected` hold all of this as intervals of event numbers, so that it can also be asked what
counted before some event. Both follow from the events; `verify` makes them again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones.ledger.model.bounds import counted
from bygones.ledger.model.events import DECISIONS, RECEIVED, load_details
from bygones.ledger.storage import dialects, schema

NOTHING = 1e-9
"""Corrections used to say by how much, not to what; a smaller share of an amount was left by rounding."""

RESTING = (*RECEIVED, "correction")
"""Kinds of event that lapse with the event they refer to."""


class Related(NamedTuple):
    """What an event has to do with others: which one it refers to, what it corrects that to, what it replaces."""

    seq: int
    kind: str
    time: int
    refers: int | None
    amount: float
    to: float | None
    origin: int | None


class Revisions(NamedTuple):
    """By event and the event since which: until which it is void; and until which it counts with another amount."""

    voids: dict[tuple[int, int], int | None]
    corrected: dict[tuple[int, int], tuple[int | None, float]]


def in_effect(events: sa.FromClause = schema.events, head: int | None = None) -> sa.ColumnElement[bool]:
    """Whether an event counts, now or as of the event with number `head`."""
    table = schema.voids
    if head is None:
        return ~sa.exists().where(table.c.event == events.c.seq, table.c.until.is_(None))
    is_void = sa.exists().where(table.c.event == events.c.seq, *_open_at(table, head))
    return sa.and_(events.c.seq <= head, ~is_void)


def corrects(events: sa.FromClause = schema.events, head: int | None = None) -> sa.ColumnElement[bool]:
    """Which row of `corrected` says what an event counts with, if any does; to be joined on."""
    table = schema.corrected
    return sa.and_(table.c.event == events.c.seq, *_open_at(table, head))


def amounts_of(connection: sa.Connection, seqs: Collection[int]) -> dict[int, float]:
    """What those of these events count with whose amounts were corrected."""
    table, found = schema.corrected, dict[int, float]()
    query, wanted = sa.select(table.c.event, table.c.amount).where(table.c.until.is_(None)), sorted(seqs)
    for start in range(0, len(wanted), dialects.MANY):
        some = table.c.event.in_(wanted[start : start + dialects.MANY])
        found.update((event, amount) for event, amount in connection.execute(query.where(some)))
    return found


def void_since(connection: sa.Connection, seq: int) -> int | None:
    """The event since which an event is void, or None if it counts."""
    table = schema.voids
    query = sa.select(sa.func.min(table.c.since)).where(table.c.event == seq, table.c.until.is_(None))
    return connection.execute(query).scalar()


def put_back_by(connection: sa.Connection, void: int) -> int | None:
    """The event that made a void itself void, or None if it stands."""
    table = schema.events
    query = sa.select(sa.func.min(table.c.seq)).where(table.c.kind == "void", table.c.refers == void)
    return connection.execute(query).scalar()


def other_version(connection: sa.Connection, seq: int) -> int | None:
    """The version in effect of the same decision, or of the plan for the same instant, other than this one."""
    group = _versions(connection, [seq])
    query = sa.select(schema.events.c.seq).where(schema.events.c.seq.in_(group - {seq}), in_effect())
    return connection.execute(query.limit(1)).scalar()


def refresh(connection: sa.Connection, seqs: Sequence[int]) -> list[sa.Row[Any]]:
    """Notes what events, just recorded, change of what counts; the events that they concern."""
    found = _related(connection, seqs)
    _save(connection, [event.seq for event in found], revisions(found))
    table, first, voids, corrected = schema.events, seqs[0], schema.voids, schema.corrected
    concerned = sa.union(*(
        sa.select(each.c.event).where((each.c.since >= first) | (each.c.until >= first)) for each in (voids, corrected)
    ))  # fmt: skip
    return list(connection.execute(sa.select(table).where(table.c.seq.in_(concerned))).all())


def all_revisions(connection: sa.Connection) -> Revisions:
    """What counts of the whole ledger, from the events alone."""
    table = schema.events
    changing = table.c.kind.in_(("void", "correction", "plan"))
    seqs = connection.execute(sa.select(table.c.seq).where(changing)).scalars().all()
    again = connection.execute(sa.select(schema.links.c.event).where(schema.links.c.kind == "redecides")).scalars()
    return revisions(_related(connection, [*seqs, *again]))


def rebuild(connection: sa.Connection) -> None:
    """Makes both tables anew from the events."""
    for table in (schema.voids, schema.corrected):
        connection.execute(table.delete())
    found = all_revisions(connection)
    _insert(connection, schema.voids, _void_rows(found.voids.items()))
    _insert(connection, schema.corrected, _corrected_rows(found.corrected.items()))


def revisions(events: Iterable[Related]) -> Revisions:
    """What counts and since when, from events that have to do with each other."""
    known = {event.seq: event for event in sorted(events)}
    resting, versions, corrects = defaultdict[int, list[int]](list), defaultdict[Any, list[int]](list), dict[int, Any]()
    voided: set[int] = set()
    lapsed: dict[int, int] = {}
    counts: dict[int, tuple[int, float]] = {}
    found = Revisions({}, {})

    def is_lapsed(seq: int) -> bool:
        event = known[seq]
        if seq in voided or any(later > seq and later not in voided for later in versions.get(_slot(event), ())):
            return True
        return event.kind in RESTING and event.refers in known and is_lapsed(event.refers)

    def look(seq: int, at: int) -> None:
        """Notes whether an event has lapsed, or is back, as of another."""
        now = is_lapsed(seq)
        if now and seq not in lapsed:
            lapsed[seq] = at
            found.voids[seq, at] = None
        elif not now and seq in lapsed:
            found.voids[seq, lapsed.pop(seq)] = at
        for each in resting[seq]:
            look(each, at)

    def count(seq: int, at: int) -> None:
        """Notes with which amount an event counts as of another."""
        standing = [to for each, to in corrects.get(seq, {}).items() if each not in voided]
        before, now = counts.get(seq), standing[-1] if standing else None
        if (None if before is None else before[1]) == now:
            return
        if before is not None:
            found.corrected[seq, before[0]] = at, before[1]
            del counts[seq]
        if now is not None:
            counts[seq] = at, now
            found.corrected[seq, at] = None, now

    for seq, event in known.items():
        target = known.get(event.refers or 0)
        if event.kind in RESTING and target is not None:
            resting[target.seq].append(seq)
        if event.kind == "correction" and target is not None:
            mine = corrects.setdefault(target.seq, {})
            now = counts[target.seq][1] if target.seq in counts else counted(target.amount)
            mine[seq] = _corrected_to(event, now, target.amount)
            count(target.seq, seq)
        if event.kind in DECISIONS:
            versions[_slot(event)].append(seq)
            for each in versions[_slot(event)]:
                look(each, seq)
        if event.kind == "void" and target is not None:
            put_back = target.kind == "void" and target.refers is not None
            about = known[target.refers] if put_back and target.refers is not None else target
            (voided.discard if put_back else voided.add)(about.seq)
            for each in versions.get(_slot(about), [about.seq]):
                look(each, seq)
            if about.kind == "correction" and about.refers is not None:
                count(about.refers, seq)
        elif event.kind in RESTING:
            look(seq, seq)
    return found


def _corrected_to(correction: Related, now: float, recorded: float) -> float:
    """What a correction makes of an amount that counts as `now`; older corrections only say by how much it changes."""
    if correction.to is not None:
        return correction.to
    to = math.fsum([now, correction.amount])
    return 0.0 if abs(to) <= NOTHING * abs(recorded) else to


def _slot(event: Related) -> tuple[str, int]:
    """What versions of one decision have in common: the decision made first, or the instant of a plan."""
    if event.kind == "plan":
        return "plan", event.time
    return event.kind, event.origin or event.seq


def _related(connection: sa.Connection, seqs: Collection[int]) -> list[Related]:
    """Everything on which it depends whether what these events are about counts, and what rests on that."""
    about = set(seqs)
    for _ in range(2):  # of a void of a void, what that one made void
        about |= _targets(connection, about, ("void",))
    about |= _targets(connection, about, ("correction",))
    about |= _versions(connection, about)
    known = about | _referring(connection, about, RESTING)
    known |= _referring(connection, known, ("correction",))
    above = set(known)
    for _ in range(2):  # of a correction, what was received, and of that the decision
        above = _targets(connection, above, RESTING)
        known |= above | _versions(connection, above)
    for _ in range(2):  # what makes them void, and what takes that back
        known |= _referring(connection, known, ("void",))
    return list(_load(connection, known))


def _targets(connection: sa.Connection, seqs: Collection[int], kinds: Sequence[str]) -> set[int]:
    """The events that those of some kinds among these refer to."""
    table = schema.events
    wanted = sa.select(table.c.refers).where(table.c.kind.in_(kinds), table.c.refers.is_not(None))
    return set(_select(connection, wanted, table.c.seq, seqs))


def _referring(connection: sa.Connection, seqs: Collection[int], kinds: Sequence[str]) -> set[int]:
    """The events of some kinds that refer to these."""
    table = schema.events
    return set(_select(connection, sa.select(table.c.seq).where(table.c.kind.in_(kinds)), table.c.refers, seqs))


def _versions(connection: sa.Connection, seqs: Collection[int]) -> set[int]:
    """All versions of those among these events that are decisions or plans, themselves included."""
    table, links = schema.events, schema.links
    origins = _select(
        connection, sa.select(links.c.other).where(links.c.kind == "redecides", _is("decision")), links.c.event, seqs
    )
    first = {
        *_select(connection, sa.select(table.c.seq).where(table.c.kind == "decision"), table.c.seq, seqs),
        *origins,
    }
    again = _select(connection, sa.select(links.c.event).where(links.c.kind == "redecides"), links.c.other, first)
    times = set(_select(connection, sa.select(table.c.time).where(table.c.kind == "plan"), table.c.seq, seqs))
    plans = _select(connection, sa.select(table.c.seq).where(table.c.kind == "plan"), table.c.time, times)
    return {*first, *again, *plans}


def _is(kind: str) -> sa.ColumnElement[bool]:
    """Whether the event of a link is of this kind."""
    table, links = schema.events, schema.links
    return sa.exists().where(table.c.seq == links.c.event, table.c.kind == kind)


def _load(connection: sa.Connection, seqs: Collection[int]) -> Iterator[Related]:
    table = schema.events
    query = sa.select(table.c.seq, table.c.kind, table.c.time, table.c.refers, table.c.amount, table.c.details)
    for start in range(0, len(seqs), dialects.MANY):
        some = sorted(seqs)[start : start + dialects.MANY]
        for seq, kind, time, refers, amount, text in connection.execute(query.where(table.c.seq.in_(some))):
            details = load_details(text) if kind in ("correction", *DECISIONS) else {}
            yield Related(seq, kind, time, refers, amount or 0.0, details.get("to"), details.get("redecides"))


def _select(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Collection[int]
) -> list[int]:
    """What a query finds where a column has one of many values."""
    wanted, found = sorted(values), list[int]()
    for start in range(0, len(wanted), dialects.MANY):
        some = wanted[start : start + dialects.MANY]
        found += connection.execute(query.where(column.in_(some))).scalars().all()
    return found


def _save(connection: sa.Connection, seqs: Collection[int], found: Revisions) -> None:
    """Adds what is new and ends what no longer holds; nothing is ever removed."""
    for table, rows in (
        (schema.voids, _void_rows(found.voids.items())),
        (schema.corrected, _corrected_rows(found.corrected.items())),
    ):
        query = sa.select(table.c.event, table.c.since, table.c.until)
        there = {
            (event, since): until
            for start in range(0, len(seqs), dialects.MANY)
            for event, since, until in connection.execute(
                query.where(table.c.event.in_(sorted(seqs)[start : start + dialects.MANY]))
            )
        }
        _insert(connection, table, [row for row in rows if (row["event"], row["since"]) not in there])
        for row in rows:
            key = row["event"], row["since"]
            if key in there and there[key] != row["until"]:
                mine = [table.c.event == row["event"], table.c.since == row["since"]]
                connection.execute(table.update().where(*mine).values(until=row["until"]))


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        dialects.insert(connection, table, rows)


def _void_rows(found: Iterable[tuple[tuple[int, int], int | None]]) -> list[dict[str, Any]]:
    return [{"event": event, "since": since, "until": until} for (event, since), until in found]


def _corrected_rows(found: Iterable[tuple[tuple[int, int], tuple[int | None, float]]]) -> list[dict[str, Any]]:
    return [
        {"event": event, "since": since, "until": until, "amount": amount} for (event, since), (until, amount) in found
    ]


def _open_at(table: sa.Table, head: int | None) -> list[sa.ColumnElement[bool]]:
    """Whether an interval is open, now or as of the event with number `head`."""
    if head is None:
        return [table.c.until.is_(None)]
    return [table.c.since <= head, table.c.until.is_(None) | (table.c.until > head)]
