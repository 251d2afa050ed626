"""Imports: what a table would record, what looks like a mistake in it, and how to take all of it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._names import groups_alike, spelled_alike
from bygones._text import check_text, counted, listed
from bygones.ledger import keys, rows, schema
from bygones.ledger.events import Event
from bygones.ledger.rules import RuleBook
from bygones.ledger.times import iso
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import Entry, LedgerWriter, name_of

UNDOES = "undoes"
"""In the details of a correction that takes back an import: the first event of the import."""

SHOWN = 5
"""The most names, rows and imports that a sentence names."""


class Share(NamedTuple):
    """What a table holds of one agent.

    Attributes:
        agent: the agent.
        rows: how many rows.
        first: the earliest time.
        last: the latest time.
        total: the sum of the amounts.
        known: whether the agent has joined already.
    """

    agent: str
    rows: int
    first: int
    last: int
    total: float
    known: bool


@dataclass(frozen=True)
class Preview:
    """What an import would record.

    Attributes:
        shares: by agent, in the order of the table.
        there: the rows, counted from 0, of which the ledger has an equal agent, time and amount already.
        repeated: the rows that are in the table before, with an equal agent, time and amount.
        near: groups of names that are nearly the same, each with somebody who is new.
        where: where each of the repeated rows was read, if that is known.
    """

    shares: tuple[Share, ...]
    there: tuple[int, ...]
    repeated: tuple[int, ...]
    near: tuple[tuple[str, ...], ...]
    where: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(share.rows for share in self.shares)

    def warnings(self) -> list[str]:
        """What looks like a mistake, in sentences."""
        found = []
        if self.there:
            found.append(
                f"the ledger already has the agent, time and amount of {len(self.there):,} of "
                f"{counted(self.rows, 'row')}"
            )
        if self.near:
            groups = "; ".join(listed([repr(name) for name in group]) for group in self.near[:SHOWN])
            found.append(f"some names are nearly the same: {groups}")
        return found

    def repetition(self) -> str:
        """Which rows are in the table before, in a sentence; empty if none are."""
        if not self.repeated:
            return ""
        which = [
            place.rpartition(", ")[2] or f"row {row + 1}" for row, place in zip(self.repeated, self.where, strict=True)
        ]
        return f"The table repeats the agent, time and amount of an earlier row in {listed(which, SHOWN)}."

    def check(self, *, again: bool = False, distinct: bool = False) -> None:
        """Refuses what looks like a mistake, unless the caller insists."""
        if self.there and not again:
            raise ValueError(
                f"{self.warnings()[0]}, so nothing was recorded: leave these rows out, or insist with --again"
            )
        if self.near and not distinct:
            raise ValueError(
                f"{self.warnings()[-1]}, so nothing was recorded: write them alike, or insist with --distinct that "
                "they are different agents"
            )

    def to_dict(self) -> dict[str, Any]:
        """The preview, of the types that JSON has."""
        shares = [share._asdict() | {"first": iso(share.first), "last": iso(share.last)} for share in self.shares]
        return {
            "rows": self.rows,
            "agents": shares,
            "already_there": len(self.there),
            "repeated": len(self.repeated),
            "near_names": [list(group) for group in self.near],
        }


def preview(connection: sa.Connection, book: RuleBook, entries: Sequence[Entry], *, join: bool = False) -> Preview:
    """What these entries would record. Whoever is new is refused, unless they are to join."""
    names = [check_text(name_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
    times = [
        0 if each.at is None else book.instant(each.at, name_of(i, entries, "at")) for i, each in enumerate(entries)
    ]
    by_agent: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        by_agent.setdefault(name, []).append(row)
    everybody = connection.execute(sa.select(schema.agents.c.name)).scalars().all()
    known = set(everybody)
    new = [name for name in by_agent if name not in known]
    near = tuple(tuple(group) for group in groups_alike([*everybody, *new]) if set(group) & set(new))
    if new and not join:
        raise _unknown(new, near)
    shares = []
    for name, its in by_agent.items():
        when, total = [times[row] for row in its], sum(float(entries[row].amount) for row in its)
        shares.append(Share(name, len(its), min(when), max(when), total, name in known))
    found = [(name, time, float(entry.amount)) for name, time, entry in zip(names, times, entries, strict=True)]
    left, seen = _there(connection, min(times, default=0), max(times, default=0)), set()
    there, repeated = [], []
    for row, each in enumerate(found):
        if entries[row].key is None and left[each] > 0:
            left[each] -= 1
            there.append(row)
        if each in seen:
            repeated.append(row)
        seen.add(each)
    where = tuple(entries[row].where for row in repeated)
    return Preview(tuple(shares), tuple(there), tuple(repeated), near, where)


def check_distinct(connection: sa.Connection, names: Sequence[str]) -> None:
    """Refuses new agents whose name is that of another but for capitals, accents, spaces and signs."""
    known = connection.execute(sa.select(schema.agents.c.name)).scalars().all()
    new = set(names).difference(known)
    for group in spelled_alike([*known, *sorted(new)]) if new else ():
        mine = next((name for name in group if name in new), None)
        if mine is not None:
            other = next(name for name in group if name != mine)
            raise ValueError(
                f"{mine!r} and {other!r} are nearly the same name: write them alike, or insist with --distinct that "
                "they are different agents"
            )


def undo(writer: LedgerWriter, seq: int, note: str) -> list[Event]:
    """Takes back everything that was imported together with this event."""
    imports = _imports(writer.connection)
    first = next((each for each in imports if 0 <= seq - each.seq < (each.details or {})["batch"]["events"]), None)
    if first is None:
        raise ValueError(f"event {seq} does not belong to an import: {_named(imports)}")
    received = [event for event in keys.together(writer.connection, first) if event.kind == "received"]
    undone = _undone(writer.connection, received[0].seq, received[-1].seq)
    left = [event for event in received if event.seq not in undone]
    if not left:
        raise ValueError(f"import {seq} has been taken back already")
    return writer.take_back(left, note, details={UNDOES: first.seq})


def put_back(writer: LedgerWriter, events: Sequence[Event]) -> list[Event]:
    """Counts again what of these events was taken back with its import, and has not been corrected since."""
    table = schema.events
    seqs = [event.seq for event in events if event.kind == "received"]
    if not seqs:
        return []
    corrections = [table.c.kind == "correction", table.c.refers >= min(seqs), table.c.refers <= max(seqs), in_effect()]
    last = {event.refers: event for chunk in rows.load_events(writer.connection, corrections) for event, _ in chunk}
    found = []
    for event in events:
        by = last.get(event.seq)
        if event.amount is not None and by is not None and by.amount is not None and UNDOES in (by.details or {}):
            found.append(writer.correct(event.seq, -by.amount, "imported again"))
    return found


def _there(connection: sa.Connection, first: int, last: int) -> Counter[tuple[str, int, float]]:
    """How often each agent, time and amount is in the ledger between two instants, without what was taken back."""
    table, names = schema.events, schema.agents
    query = (
        sa.select(table.c.seq, names.c.name, table.c.time, table.c.amount)
        .join_from(table, names, table.c.agent == names.c.id)
        .where(table.c.kind == "received", table.c.time >= first, table.c.time <= last, in_effect())
    )
    found = connection.execute(query).all()
    undone = _undone(connection, 0, 2**62)
    return Counter((row.name, row.time, row.amount) for row in found if row.seq not in undone)


def _undone(connection: sa.Connection, first: int, last: int) -> set[int]:
    """The numbers of those events, between two numbers, that are void or whose amount was corrected to nothing."""
    table, correction = schema.events, schema.events.alias("correction")
    query = (
        sa.select(table.c.seq, table.c.amount, sa.func.sum(correction.c.amount))
        .join_from(correction, table, correction.c.refers == table.c.seq)
        .where(correction.c.kind == "correction", table.c.seq >= first, table.c.seq <= last, in_effect(correction))
        .group_by(table.c.seq, table.c.amount)
    )
    void = sa.select(table.c.seq).where(table.c.seq >= first, table.c.seq <= last, sa.not_(in_effect()))
    nothing = {seq for seq, amount, by in connection.execute(query) if abs(amount + by) <= 1e-9 * abs(amount)}
    return nothing | set(connection.execute(void).scalars())


def _imports(connection: sa.Connection) -> list[Event]:
    """The first event of each import."""
    has_source = schema.events.c.details.like('%"batch":{%"source":%')
    found = [event for chunk in rows.load_events(connection, [has_source]) for event, _ in chunk]
    return [event for event in found if "source" in ((event.details or {}).get("batch") or {})]


def _named(imports: Sequence[Event]) -> str:
    each = [f"{event.seq} ({(event.details or {})['batch']['source']})" for event in imports]
    return f"the last imports began with event {listed(each[-SHOWN:])}" if each else "nothing was imported"


def _unknown(new: Sequence[str], near: Sequence[Sequence[str]]) -> ValueError:
    who = listed([repr(name) for name in new], SHOWN)
    hint = next((other for group in near for other in group if other not in new), None)
    meant = "" if hint is None else f" (did you mean {hint!r}?)"
    return ValueError(f"unknown {'agent' if len(new) == 1 else 'agents'} {who}{meant}: join them first, or use --join")
