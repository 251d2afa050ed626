"""Snapshots, rule books and events, loaded from the database's tables and saved to them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._names import groups_alike
from bygones._text import check_name
from bygones.ledger.model import fold, participation, times
from bygones.ledger.model.events import Event, canonical, details_text, digest, load_details
from bygones.ledger.model.fold import Snapshot
from bygones.ledger.model.participation import Participation
from bygones.ledger.model.remembering import TimedMemory
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.storage import dialects, schema
from bygones.ledger.storage.revised_table import in_effect
from bygones.memory.contract import AnyState

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
"""The participation of an agent whose joining is void."""

NOTHING = {"participation": NOBODY, "as_of": 0, "last": fold.NEVER, "counters": ""}
"""The snapshot of an agent of whom nothing counts."""


def load_agents(
    connection: sa.Connection, remembering: TimedMemory, names: Collection[str] | None = None
) -> tuple[np.ndarray, Snapshot]:
    """The numbers and the snapshot of all agents, or of the existing ones of these names; counters of this memory."""
    query = sa.select(schema.agents).where(schema.agents.c.participation != NOBODY).order_by(schema.agents.c.id)
    rows = connection.execute(query if names is None else _of_names(query, names)).all()
    if names is not None:
        rows = [row for row in rows if row.name in names]
    numbers, there, changes, as_of, last, texts = zip(*rows, strict=True) if rows else [()] * 6
    try:
        states = json.loads(f"[{','.join(texts)}]")
        counters = {
            name: _state(memory.init(1), np.array([state[name] for state in states], dtype=float))
            for name, memory in fold.memories(remembering).items()
        }
    except (KeyError, TypeError, ValueError):
        raise ValueError("the counters of the agents are damaged: run `bygones ledger rebuild`") from None
    return np.array(numbers, dtype=np.int64), Snapshot(
        tuple(there),
        tuple(map(participation.read, changes)),
        np.array(as_of, dtype=np.int64),
        np.array(last, dtype=np.int64),
        counters,
        remembering,
    )


def _state(template: AnyState, numbers: np.ndarray) -> Any:
    """The states of many agents as one batch, from the numbers of each in a row."""
    ends = np.cumsum([part.size for part in fold.parts(template)])
    columns = iter(np.split(numbers.reshape(len(numbers), ends[-1]), ends[:-1], axis=1))
    return fold.mapped(lambda part: next(columns).reshape(len(numbers), *np.shape(part)), template)


def _numbers(state: AnyState) -> list[list[float]]:
    """The numbers of each agent's state in a row."""
    rows: list[list[float]] = np.hstack([part.reshape(len(part), -1) for part in fold.parts(state)]).tolist()
    return rows


def unknown_agent(name: str, known: Iterable[str]) -> ValueError:
    """The error for an agent who has never joined, with one of the known whose name is nearly the same."""
    near = next(
        (other for group in groups_alike([*known, name]) if name in group for other in group if other != name), None
    )
    meant = "" if near is None else f" (did you mean {near!r}?)"
    return ValueError(f"unknown agent {name!r}: no agent of this name has joined the ledger{meant}")


def load_names(connection: sa.Connection) -> Sequence[str]:
    """The names of all agents who have joined."""
    table = schema.agents
    return connection.execute(sa.select(table.c.name).where(table.c.participation != NOBODY)).scalars().all()


def save_agents(connection: sa.Connection, ids: np.ndarray, agents: Snapshot) -> None:
    """Replaces the stored snapshot of these agents, which must be finite."""
    if not len(agents):
        return
    memory = agents.remembering.memory
    fold.check_sums(agents.names, agents.received, np.asarray(memory.read(agents.counters["remembered"]))[:, 0])
    names = list(agents.counters)
    states = zip(*(_numbers(agents.counters[name]) for name in names), strict=True)
    dialects.update(connection, schema.agents, "id", [
        {
            "id": int(number),
            "participation": participation.write(changes),
            "as_of": int(as_of),
            "last": int(last),
            "counters": canonical(dict(zip(names, state, strict=True))),
        }
        for number, changes, as_of, last, state in zip(
            ids, agents.participation, agents.as_of, agents.last, states, strict=True
        )
    ])  # fmt: skip


def numbers_of(connection: sa.Connection, names: Collection[str]) -> dict[str, int]:
    """The numbers of agents by name; new agents get theirs in this order."""
    if not names:
        return {}
    table = schema.agents
    query = sa.select(table.c.name, table.c.id)
    numbers = {name: number for name, number in connection.execute(_of_names(query, names)) if name in names}
    new = [check_name("agent", name) for name in names if name not in numbers]
    if new:
        connection.execute(table.insert(), [{"name": name, **NOTHING} for name in new])
        return numbers | numbers_of(connection, new)
    return numbers


def save_nobody(connection: sa.Connection, number: int) -> None:
    """Empties the snapshot of an agent whose joining is void."""
    connection.execute(schema.agents.update().where(schema.agents.c.id == number).values(NOTHING))


def participation_of(connection: sa.Connection, names: Collection[str]) -> dict[str, Participation]:
    """When each of these agents took part, if it has joined."""
    table = schema.agents
    query = sa.select(table.c.name, table.c.participation).where(table.c.participation != NOBODY)
    rows = connection.execute(_of_names(query, names))
    return {name: participation.read(text) for name, text in rows if name in names}


def _of_names(query: sa.Select[Any], names: Collection[str]) -> sa.Select[Any]:
    """A query of agents that finds at least all of these names; many are not looked up one by one."""
    return query.where(schema.agents.c.name.in_(names)) if len(names) <= FEW else query


def details_of(connection: sa.Connection, seq: int) -> dict[str, Any]:
    """The details of an event by its number."""
    table = schema.events
    return load_details(connection.execute(sa.select(table.c.details).where(table.c.seq == seq)).scalar())


def load_changes(connection: sa.Connection, head: int | None = None) -> RuleBook:
    """The rule book from the events in effect."""
    table = schema.events
    query = sa.select(table.c.time, table.c.seq, table.c.details).where(table.c.kind == "rules", in_effect(head=head))
    return RuleBook([Change(time, seq, json.loads(details)) for time, seq, details in connection.execute(query)])


def load_hashed(
    connection: sa.Connection, where: Sequence[sa.ColumnElement[bool]] = ()
) -> Iterator[tuple[Event, bytes]]:
    """Events with their hashes, in the order of recording."""
    table, names = schema.events, schema.agents
    query = sa.select(table, names.c.name).outerjoin_from(table, names, table.c.agent == names.c.id).where(*where)
    for row in connection.execute(query.order_by(table.c.seq), execution_options=IN_CHUNKS):
        yield _event(*row), row.hash


def load_events(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Iterator[Event]:
    """The events that fulfil some conditions, in the order of recording."""
    return (event for event, _ in load_hashed(connection, where))


def load_event(connection: sa.Connection, seq: int, purpose: str = "") -> Event:
    """One event by its number, refused if there is none; messages name the purpose, such as `to void`."""
    if not 0 < seq < 2**63:  # no database could hold more
        raise ValueError(f"there is no event {seq}: events are numbered from 1 on")
    events = list(load_events(connection, schema.events.c.seq == seq))
    if not events:
        raise ValueError(f"there is no event {seq} {purpose}".rstrip())
    return events[0]


def save_events(
    connection: sa.Connection, events: Sequence[Event], numbers: Mapping[str, int], previous: bytes
) -> bytes:
    """Appends events to the chain whose last hash is `previous`; the new last hash."""
    rows = []
    for event in events:
        details = details_text(event)
        previous = digest(previous, event, details)
        number = None if event.agent is None else numbers[event.agent]
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
