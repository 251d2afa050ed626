"""Imports of tables: a preview, warnings about likely mistakes, and how to take an import back."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._names import groups_alike, quoted
from bygones._text import capitalized, check_text, counted, listed, plural
from bygones.document.document import Answer, Block, Cell, Column, Document, Table
from bygones.ledger.actions.records import amounts, check_distinct, correct_all, name_of
from bygones.ledger.model.events import Entry, Event, load_details
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.times import day, iso
from bygones.ledger.storage import derived, dialects, keys, revised_table, rows, schema
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.transaction import Transaction

UNUSUAL = 5
"""An amount of more than this many times the median looks like a mistake."""

SHOWN = 5
"""The most names, rows and imports that a sentence names."""


class Share(NamedTuple):
    """The rows of one agent in a table.

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
class Preview(Answer):
    """A preview of an import.

    Attributes:
        shares: by agent, in the order of the table.
        there: the rows, counted from 0, of which the ledger has an equal agent, time and amount already.
        repeated: the rows that are in the table before, with an equal agent, time and amount.
        near: groups of names that are nearly the same, each with a new agent.
        zone: the time zone in which days begin.
        where: where each of the repeated rows was read, if that is known.
        unusual: the amounts far above the others, each with where it was read.
        median: the median of all amounts.
        ignored: the columns of the table that are not read.
    """

    shares: tuple[Share, ...]
    there: tuple[int, ...]
    repeated: tuple[int, ...]
    near: tuple[tuple[str, ...], ...]
    zone: str
    where: tuple[str, ...] = ()
    unusual: tuple[tuple[str, float], ...] = ()
    median: float = 0.0
    ignored: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(share.rows for share in self.shares)

    def document(self) -> Document:
        """The totals that an import would record, and likely mistakes."""
        columns = [
            Column("agent", folds=True),
            Column("rows"),
            Column("first"),
            Column("last"),
            Column("sum"),
            Column(""),
        ]
        rows: list[list[Cell]] = [
            [
                share.agent,
                share.rows,
                day(share.first, self.zone),
                day(share.last, self.zone),
                share.total,
                "" if share.known else "new",
            ]
            for share in self.shares
        ]
        warnings = [*self.notes(), *(f"{capitalized(warning)}." for warning in self.warnings())]
        blocks: list[Block] = [
            Table("", columns, rows).without_empty(),
            *warnings,
            "Nothing was recorded.",
        ]
        rows_of = f"{counted(self.rows, 'row')} of {counted(len(self.shares), 'agent')}"
        return Document(f"Would record {rows_of}", blocks, "Import")

    def warnings(self) -> list[str]:
        """Likely mistakes, in sentences."""
        likely = []
        if self.there:
            likely.append(
                f"the ledger already has the agent, time and amount of {len(self.there):,} of "
                f"{counted(self.rows, 'row')}"
            )
        if self.near:
            groups = [listed(quoted(group)) for group in self.near[:SHOWN]]
            more = [f"and {len(self.near) - SHOWN:,} more"] if len(self.near) > SHOWN else []
            likely.append(f"some names are nearly the same: {'; '.join([*groups, *more])}")
        return likely

    def repetition(self) -> str:
        """Which rows are in the table before, in a sentence; empty if none are."""
        if not self.repeated:
            return ""
        which = [
            place.rpartition(", ")[2] or f"row {row + 1}" for row, place in zip(self.repeated, self.where, strict=True)
        ]
        return f"The table repeats the agent, time and amount of an earlier row in {listed(which, SHOWN)}."

    def notes(self) -> list[str]:
        """Possible mistakes that are recorded anyway, in sentences."""
        notes = [self.repetition()]
        if self.unusual:
            amounts = listed([f"{size:g} in {where}" for where, size in self.unusual], SHOWN)
            notes.append(f"More than {UNUSUAL} times the median of {self.median:g}: {amounts}.")
        if self.ignored:
            notes.append(f"Ignored {plural('column', len(self.ignored))}: {', '.join(self.ignored)}.")
        return list(filter(None, notes))

    def check(self, *, distinct: bool = False) -> None:
        """Refuses likely mistakes, unless the caller insists."""
        if self.there:
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
            "unusual": [{"where": where, "amount": size} for where, size in self.unusual],
            "ignored_columns": list(self.ignored),
        }


def preview(connection: sa.Connection, book: RuleBook, entries: Sequence[Entry], *, join: bool = False) -> Preview:
    """A preview of these entries. New agents are refused, unless they are to join."""
    names = [check_text(name_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
    times = [
        0 if each.at is None else book.instant(each.at, name_of(i, entries, "at")) for i, each in enumerate(entries)
    ]
    by_agent: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        by_agent.setdefault(name, []).append(row)
    members = connection.execute(sa.select(schema.agents.c.name)).scalars().all()
    known = set(members)
    new = [name for name in by_agent if name not in known]
    near = tuple(tuple(group) for group in groups_alike([*members, *new]) if set(group) & set(new))
    if new and not join:
        raise _unknown(new, near)
    shares = []
    for name, its in by_agent.items():
        when, total = [times[row] for row in its], sum(float(entries[row].amount) for row in its)
        shares.append(Share(name, len(its), min(when), max(when), total, name in known))
    facts = [(name, time, float(entry.amount)) for name, time, entry in zip(names, times, entries, strict=True)]
    left, seen = _there(connection, min(times, default=0), max(times, default=0)), set()
    there, repeated = [], []
    for row, each in enumerate(facts):
        if entries[row].key is None and left[each] > 0:
            left[each] -= 1
            there.append(row)
        if each in seen:
            repeated.append(row)
        seen.add(each)
    where = tuple(entries[row].where for row in repeated)
    sizes = [float(entry.amount) for entry in entries]
    median = statistics.median([size for size in sizes if size] or [0.0])
    unusual = [
        (entry.where.rpartition(", ")[2] or f"row {row + 1}", size)
        for row, (entry, size) in enumerate(zip(entries, sizes, strict=True))
        if size > UNUSUAL * median
    ]
    return Preview(tuple(shares), tuple(there), tuple(repeated), near, book.zone, where, tuple(unusual), median)


def record(
    tx: Transaction, entries: Sequence[Entry], *, join: bool, distinct: bool, again: bool, source: str
) -> list[Event]:
    """Records many utilities; entries with a key that were recorded before are returned unchanged.

    Whether the ledger has them already is looked up in the same transaction: of two imports at once, one waits.
    """
    known = keys.recorded_entries(tx.connection, entries, tx.book.instant)
    new = [entry for entry in entries if entry.key is None or keys.check_key(entry.key) not in known]
    if source:
        put_back(tx, list(known.values()))
    if not again:
        preview(tx.connection, tx.book, new, join=join).check(distinct=distinct)
    if join and not distinct:
        check_distinct(tx.connection, [entry.agent for entry in new])
    written = iter(amounts(tx, "received", new, join=join))
    if source:
        tx.together(source=source)
    # In the order of the entries, each event that was recorded before in its place.
    return [known.get(str(entry.key)) or next(written) for entry in entries]


def asked(entries: Sequence[Entry], book: RuleBook) -> list[Any]:
    """The request of a key for all entries together."""
    return [
        "record",
        None,
        [
            [entry.agent, keys.number(entry.amount), book.maybe(entry.at), entry.note, *filter(None, [entry.length])]
            for entry in entries
        ],
    ]


class Import(NamedTuple):
    """The events imported together: the first and the last event, and where it came from."""

    first: int
    last: int
    source: str


def undo(tx: Transaction, seq: int, note: str) -> list[Event]:
    """Takes back everything that was imported together with this event, also from agents who have taken a turn over."""
    imports = _imports(tx.connection)
    mine = next((each for each in imports if each.first <= seq <= each.last), None)
    if mine is None:
        raise ValueError(f"event {seq} does not belong to an import: {_named(imports)}")
    table = schema.events
    imported = [table.c.seq >= mine.first, table.c.seq <= mine.last, table.c.kind == "received"]
    seqs = derived.taken_over(tx.connection, tx.connection.execute(sa.select(table.c.seq).where(*imported)).scalars())
    corrected = revised_table.amounts_of(tx.connection, seqs)
    left = [row for row in _counting(tx.connection, seqs) if corrected.get(row.seq) != 0.0]
    if not left:
        raise ValueError(f"import {seq} has been taken back already")
    return correct_all(tx, left, [0.0] * len(left), check_text("note", note), undoes=mine.first)


def put_back(tx: Transaction, events: Sequence[Event]) -> list[Event]:
    """Counts the events again that were taken back with their import and have not been corrected since."""
    table, links = schema.events, schema.links
    seqs = derived.taken_over(tx.connection, [event.seq for event in events if event.kind == "received"])
    if not seqs:
        return []
    last = sa.select(table.c.refers, sa.func.max(table.c.seq).label("seq")).where(
        table.c.kind == "correction", table.c.refers >= min(seqs), table.c.refers <= max(seqs), in_effect()
    )
    latest = last.group_by(table.c.refers).subquery()
    undone = sa.exists().where(links.c.event == table.c.seq, links.c.kind == "undoes")
    query = sa.select(table.c.refers, table.c.amount).join(latest, latest.c.seq == table.c.seq).where(undone)
    # An amount that was taken back was corrected to nothing, by as much as it had counted.
    before = {refers: -amount for refers, amount in tx.connection.execute(query) if refers in seqs}
    again = _counting(tx.connection, before)
    return correct_all(tx, again, [before[row.seq] for row in again], "imported again")


def _counting(connection: sa.Connection, seqs: Collection[int]) -> list[Event]:
    """Those of some events that are in effect."""
    seq = schema.events.c.seq
    return [
        event for some in dialects.parts(seqs) for event in rows.load_events(connection, seq.in_(some), in_effect())
    ]


def _there(connection: sa.Connection, first: int, last: int) -> Counter[tuple[str, int, float]]:
    """How often each agent, time and amount is in the ledger between two instants, without those taken back."""
    table, names, instead = schema.events, schema.agents, schema.revised
    query = (
        sa.select(names.c.name, table.c.time, table.c.amount)
        .join_from(table, names, table.c.agent == names.c.id)
        .outerjoin(instead, revised_table.corrects())
        .where(table.c.kind == "received", table.c.time >= first, table.c.time <= last, in_effect())
        .where(instead.c.amount.is_(None) | (instead.c.amount != 0.0))
    )
    return Counter((name, time, amount) for name, time, amount in connection.execute(query))


def _imports(connection: sa.Connection) -> list[Import]:
    """All imports."""
    links, events = schema.links, schema.events
    query = sa.select(links.c.event, links.c.other, events.c.details).join(events, events.c.seq == links.c.event)
    batches = connection.execute(query.where(links.c.kind == "import").order_by(links.c.event))
    return [Import(seq, last, str(load_details(text)["batch"]["source"])) for seq, last, text in batches]


def _named(imports: Sequence[Import]) -> str:
    each = [f"{one.first} ({one.source})" for one in imports]
    return f"the last imports began with event {listed(each[-SHOWN:])}" if each else "nothing was imported"


def _unknown(new: Sequence[str], near: Sequence[Sequence[str]]) -> ValueError:
    who = listed([repr(name) for name in new], SHOWN)
    hint = next((other for group in near for other in group if other not in new), None)
    meant = "" if hint is None else f" (did you mean {hint!r}?)"
    return ValueError(f"unknown {'agent' if len(new) == 1 else 'agents'} {who}{meant}: join them first, or use --join")
