"""Snapshots, rule books and events, loaded from the database's tables and saved to them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._names import groups_alike
from bygones._text import check_name
from bygones.ledger.model import fold, participation, times
from bygones.ledger.model.bounds import check_sums
from bygones.ledger.model.events import Event, canonical, details_text, digest, load_details
from bygones.ledger.model.fold import Snapshot
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.storage import dialects, schema
from bygones.ledger.storage.revisions import in_effect
from bygones.memory import MemoryState

CHUNK = 50_000
"""Events are read this many at a time."""

IN_CHUNKS: dict[str, Any] = {"yield_per": CHUNK}

FEW = 2_000
"""Up to this many agents are looked up by name or number; for more, all are read."""


def clock(connection: sa.Connection) -> int:
    """This instant, by the clock of the database server where there is one."""
    if connection.dialect.name == "sqlite":
        return times.now()
    query = sa.text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")
    return int(connection.execute(query).scalar_one())


def load_book(text: str) -> RuleBook:
    """The rule book from the ledger's row."""
    try:
        changes = [Change(*change) for change in json.loads(text)]
    except (TypeError, ValueError):
        changes = []
    if not changes:
        raise ValueError("the rules in the ledger's snapshot are damaged: run `bygones ledger rebuild`")
    return RuleBook(changes)


def save_book(book: RuleBook) -> str:
    """The rule book as text for the ledger's row."""
    return canonical(book.changes)


NOBODY = "[]"
"""The turns of an agent whose joining is void."""


def load_agents(connection: sa.Connection, names: Collection[str] | None = None) -> tuple[np.ndarray, Snapshot]:
    """The numbers and the snapshot of all agents, or of those of these names who exist."""
    query = sa.select(schema.agents).where(schema.agents.c.turns != NOBODY).order_by(schema.agents.c.id)
    if names is not None and len(names) <= FEW:
        query = query.where(schema.agents.c.name.in_(names))
    rows = connection.execute(query).all()
    if names is not None and len(names) > FEW:
        wanted = set(names)
        rows = [row for row in rows if row.name in wanted]
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(schema.agents.c)
    ids, name, turn_text, as_of, received, received_lost, remembered, remembered_lost, last = columns
    return np.array(ids, dtype=np.int64), Snapshot(
        tuple(name),
        tuple(map(participation.read, turn_text)),
        np.array(as_of, dtype=np.int64),
        _state(received, received_lost),
        _state(remembered, remembered_lost),
        np.array(last, dtype=np.int64),
    )


def unknown_agent(name: str, known: Iterable[str]) -> ValueError:
    """The error for an agent who has never joined, with one of the known whose name is nearly the same."""
    near = next(
        (other for group in groups_alike([*known, name]) if name in group for other in group if other != name), None
    )
    meant = "" if near is None else f" (did you mean {near!r}?)"
    return ValueError(f"unknown agent {name!r}: no agent of this name has joined the ledger{meant}")


def load_names(connection: sa.Connection) -> Sequence[str]:
    """The names of all agents who have joined."""
    return connection.execute(sa.select(schema.agents.c.name).where(schema.agents.c.turns != NOBODY)).scalars().all()


def save_agents(connection: sa.Connection, ids: np.ndarray, agents: Snapshot) -> None:
    """Replaces the stored snapshot of these agents, which must be finite."""
    check_sums(agents.names, fold.values(agents.received), fold.values(agents.remembered))
    values = [
        {
            "id": int(ids[row]),
            "turns": participation.write(agents.turns[row]),
            "as_of": int(agents.as_of[row]),
            "received": float(agents.received.Z[row, 0]),
            "received_lost": float(agents.received.Z_lost[row, 0]),
            "remembered": float(agents.remembered.Z[row, 0]),
            "remembered_lost": float(agents.remembered.Z_lost[row, 0]),
            "last": int(agents.last[row]),
        }
        for row in range(len(agents))
    ]
    if values:
        dialects.update(connection, schema.agents, "id", values)


def new_agents(connection: sa.Connection, names: Sequence[str], joined: Sequence[int]) -> tuple[np.ndarray, Snapshot]:
    """The numbers and the empty snapshot of agents who have not joined before."""
    table = schema.agents
    known = set(connection.execute(sa.select(table.c.name).where(table.c.turns == NOBODY)).scalars())
    names = [check_name("agent", name) for name in names]
    zero = dict.fromkeys(("received", "received_lost", "remembered", "remembered_lost"), 0.0)
    rows = [
        {"name": name, "turns": participation.write(((time, "join"),)), "as_of": time, "last": fold.NEVER, **zero}
        for name, time in zip(names, joined, strict=True)
    ]
    for row in rows:
        if row["name"] in known:
            values = {name: value for name, value in row.items() if name != "name"}
            connection.execute(table.update().where(table.c.name == row["name"]).values(values))
    added = [row for row in rows if row["name"] not in known]
    if added:
        connection.execute(table.insert(), added)
    return load_agents(connection, names)


def save_nobody(connection: sa.Connection, number: int) -> None:
    """Empties the snapshot of an agent whose joining is void."""
    zero = dict.fromkeys(("as_of", "received", "received_lost", "remembered", "remembered_lost"), 0)
    values = {**zero, "turns": NOBODY, "last": fold.NEVER}
    connection.execute(schema.agents.update().where(schema.agents.c.id == number).values(values))


def status_of(turns_text: str, time: int) -> str:
    """Whether an agent with these turns, as stored, is present, on hold or away at an instant."""
    return participation.status(participation.read(turns_text), time)


def details_of(connection: sa.Connection, seq: int) -> dict[str, Any]:
    """The details of an event by its number."""
    table = schema.events
    return load_details(connection.execute(sa.select(table.c.details).where(table.c.seq == seq)).scalar())


def load_changes(connection: sa.Connection, head: int | None = None) -> RuleBook:
    """The rule book from the events in effect."""
    table = schema.events
    query = sa.select(table.c.time, table.c.seq, table.c.details).where(table.c.kind == "rules", in_effect(head=head))
    return RuleBook([Change(time, seq, json.loads(details)) for time, seq, details in connection.execute(query)])


def load_events(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]] = (), *, by_time: bool = False
) -> Iterator[list[tuple[Event, bytes]]]:
    """Events with their hashes, in the order of recording or of time, in chunks."""
    table, names = schema.events, schema.agents
    query = sa.select(table, names.c.name).outerjoin_from(table, names, table.c.agent == names.c.id).where(*where)
    query = query.order_by(*((table.c.time, table.c.seq) if by_time else (table.c.seq,)))
    for rows in connection.execute(query, execution_options=IN_CHUNKS).partitions():
        yield [(_event(*row), row.hash) for row in rows]


def load_event(connection: sa.Connection, seq: int) -> Event:
    """One event by its number."""
    for chunk in load_events(connection, [schema.events.c.seq == seq]):
        return chunk[0][0]
    raise ValueError(f"there is no event {seq}")


def save_events(
    connection: sa.Connection, events: Sequence[Event], ids: Sequence[int | None], previous: bytes
) -> bytes:
    """Appends events to the chain whose last hash is `previous`; the new last hash."""
    rows = []
    for event, number in zip(events, ids, strict=True):
        details = details_text(event)
        previous = digest(previous, event, details)
        rows.append(event._asdict() | {"agent": number, "details": details, "hash": previous})
    if rows:
        dialects.insert(connection, schema.events, rows)
    return previous


def _event(
    seq: int, kind: str, time: int, recorded: int, _: int | None, amount: float | None, refers: int | None,
    note: str, details: str | None, __: bytes, author: str, key: str | None, agent: str | None,
) -> Event:  # fmt: skip
    loaded = None if details is None else json.loads(details)
    return Event(seq, kind, time, recorded, agent, amount, refers, note, loaded, author, key)


def _state(total: Sequence[float], lost: Sequence[float]) -> MemoryState:
    Z, Z_lost = (np.array(part, dtype=float).reshape(-1, 1) for part in (total, lost))
    return MemoryState(Z, np.zeros(len(Z)), Z_lost, np.zeros(len(Z)))
