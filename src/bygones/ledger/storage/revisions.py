"""Revisions: which events are void, and which amounts were corrected.

An event lapses when a later event of kind `void` names it; a void of that void puts it back. What rests on an event
lapses with it: the amounts received through a decision, and the corrections of an amount. A correction sets an amount
from there on. If there are several, the last that is not void counts.

All decisions with one draw are *versions* of one decision, and so are all plans for one instant. Only the last version
that is not void is in effect, no matter which versions were made void or put back in between.

The table `revised` holds all of this as intervals of event numbers: between two events another counted with some
amount, or not at all. So the state before any event can be read, too. The table follows from the events; `verify`
makes it again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from bygones.ledger.model.events import DECISIONS, RECEIVED, counted, load_details
from bygones.ledger.storage import dialects, schema

NOTHING = 1e-9
"""Corrections used to have the difference, not the new amount; a smaller share of an amount was left by rounding."""

RESTING = (*RECEIVED, "correction")
"""Kinds of event that lapse with the event they refer to."""


class Related(NamedTuple):
    """The links of an event: to the event it refers to, the amount of a correction, the decision replaced, the draw."""

    seq: int
    kind: str
    time: int
    refers: int | None
    amount: float
    to: float | None
    origin: int | None
    draw: int | None


Revisions: TypeAlias = dict[tuple[int, int], tuple[int | None, float | None]]
"""By event and the event since which: until which it counts otherwise than recorded, and with what amount; None for not
at all."""


def in_effect(events: sa.FromClause = schema.events, head: int | None = None) -> sa.ColumnElement[bool]:
    """Whether an event counts, now or as of the event with number `head`."""
    table = schema.revised.alias("lapsed")  # or it would be the row of a query that joins what `corrects`
    counts = ~sa.exists().where(table.c.event == events.c.seq, table.c.amount.is_(None), *_open_at(table, head))
    return counts if head is None else sa.and_(events.c.seq <= head, counts)


def corrects(events: sa.FromClause = schema.events, head: int | None = None) -> sa.ColumnElement[bool]:
    """The row of `revised` with the amount that an event in effect counts with, if there is one; to be joined on."""
    table = schema.revised
    return sa.and_(table.c.event == events.c.seq, table.c.amount.is_not(None), *_open_at(table, head))


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


def revisions(events: Iterable[Related]) -> Revisions:
    """The revisions that follow from related events."""
    known = {event.seq: event for event in sorted(events)}
    resting = defaultdict[int, list[int]](list)
    versions = defaultdict[tuple[str, int], list[int]](list)
    corrections = defaultdict[int, dict[int, float]](dict)
    voided: set[int] = set()
    revised_since: dict[int, int] = {}
    intervals: Revisions = {}

    def is_lapsed(seq: int) -> bool:
        event = known[seq]
        if seq in voided or any(later > seq and later not in voided for later in versions.get(_slot(event), ())):
            return True
        return event.kind in RESTING and event.refers in known and is_lapsed(event.refers)

    def corrected(seq: int) -> float | None:
        standing = [to for each, to in corrections[seq].items() if each not in voided]
        return standing[-1] if standing else None

    def look(seq: int, at: int) -> None:
        """Notes whether and with which amount an event counts from event `at` on, and the same for the events on it."""
        is_void = is_lapsed(seq)
        amount = None if is_void else corrected(seq)
        is_revised = is_void or amount is not None
        # An interval ends where another begins, and none is ever rewritten. So the ledger as of any earlier event can
        # still be read.
        since = revised_since.get(seq)
        if since is not None and not (is_revised and intervals[seq, since][1] == amount):
            intervals[seq, since] = at, intervals[seq, since][1]
            del revised_since[seq]
        if is_revised and seq not in revised_since:
            revised_since[seq] = at
            intervals[seq, at] = None, amount
        for each in resting[seq]:
            look(each, at)

    for seq, event in known.items():
        target = known.get(event.refers or 0)
        if event.kind in RESTING and target is not None:
            resting[target.seq].append(seq)
        if event.kind in DECISIONS:
            versions[_slot(event)].append(seq)
            about = event
        elif event.kind == "correction" and target is not None:
            now = corrected(target.seq)
            counts = counted(target.amount) if now is None else now
            corrections[target.seq][seq] = _corrected_to(event, counts, target.amount)
            about = target
        elif event.kind == "void" and target is not None:
            put_back = target.kind == "void" and target.refers is not None
            about = known[target.refers] if put_back and target.refers is not None else target
            (voided.discard if put_back else voided.add)(about.seq)
            if about.kind == "correction" and about.refers is not None:
                about = known[about.refers]
        elif event.kind in RESTING:
            about = event
        else:
            continue
        # As one version of a decision comes or goes, another comes into effect or lapses.
        for each in versions.get(_slot(about), [about.seq]):
            look(each, seq)
    return intervals


def _corrected_to(correction: Related, now: float, recorded: float) -> float:
    """The amount after a correction of one that counts as `now`; older corrections only have the difference."""
    if correction.to is not None:
        return correction.to
    to = math.fsum([now, correction.amount])
    return 0.0 if abs(to) <= NOTHING * abs(recorded) else to


def _slot(event: Related) -> tuple[str, int]:
    """The key of all versions of one decision: the instant of a plan; the draw or, in version 2, the first decision."""
    if event.kind == "plan":
        return "plan", event.time
    if event.draw is not None:
        return "draw", event.draw
    return event.kind, event.origin or event.seq


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
        number = details.get("draw", {}).get("number")
        yield Related(seq, kind, time, refers, amount or 0.0, details.get("to"), details.get("redecides"), number)


def _select(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Collection[int]
) -> set[int]:
    """The numbers that a query finds where a column has one of many values."""
    return {number for (number,) in dialects.select_many(connection, query, column, values)}
