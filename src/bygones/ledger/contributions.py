"""Questions that need the events again: what a standing consists of, and since when an agent has been owed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, schema
from bygones.ledger.bounds import counted
from bygones.ledger.events import AMOUNTS, DECISIONS, TURNS
from bygones.ledger.rules import RuleBook
from bygones.ledger.starting import Start, due
from bygones.ledger.turns import Clocks
from bygones.ledger.voids import in_effect
from bygones.ledger.watch import Stretch, Watch


class Contribution(NamedTuple):
    """What is still remembered of one event: `counts`, its `amount` times its `weight` by now."""

    seq: int
    kind: str
    time: int
    amount: float
    weight: float
    counts: float
    note: str


def contributions(connection: sa.Connection, book: RuleBook, at: int, agent: str) -> list[Contribution]:
    """The events of an agent up to an instant with what is still remembered of each, the largest first."""
    _, agents = rows.load_agents(connection, [agent])
    if not len(agents):
        raise rows.unknown_agent(agent, rows.load_names(connection))
    table = schema.events
    where = [schema.agents.c.name == agent, table.c.time <= at, table.c.kind.in_(AMOUNTS), in_effect()]
    starts = {start.join: start.amount for start in due(connection, book, at)}
    events = [
        event._replace(amount=starts.get(event.seq, event.amount))
        for chunk in rows.load_events(connection, where)
        for event, _ in chunk
    ]
    start = np.array([event.time for event in events], dtype=np.int64)
    who, end = np.zeros(len(events), dtype=np.int64), np.full(len(events), at)
    weights = np.exp2(-Clocks(book, agents.turns).half_lives(who, start, end)).tolist()
    parts = []
    for event, weight in zip(events, weights, strict=True):
        amount = event.amount or 0.0
        counts = counted(amount) * weight
        parts.append(Contribution(event.seq, event.kind, event.time, amount, weight, counts, event.note))
    return sorted(parts, key=lambda part: (-abs(part.counts), part.seq))


def owed_since(connection: sa.Connection, book: RuleBook, at: int) -> dict[str, int]:
    """Since when each of those who are owed something at an instant has been, without a break.

    All events up to then are read once, in the order of time; see `Watch`.
    """
    ids, agents = rows.load_agents(connection)
    watch = Watch(book, agents)
    for events in _stretches(connection, ids, at, due(connection, book, at)):
        watch.follow(events)
    return {name: int(since) for name, since in zip(agents.names, watch.owed_since, strict=True) if since >= 0}


def _stretches(connection: sa.Connection, ids: np.ndarray, at: int, starts: Sequence[Start]) -> Iterator[Stretch]:
    """The events up to an instant in the order of time, many at once, the events of one instant always together."""
    row_of = np.full(int(ids.max(initial=0)) + 1, -1, dtype=np.int64)
    row_of[ids] = np.arange(len(ids))
    table = schema.events
    turns = table.c.kind.in_((*TURNS, "rules"))
    amount: sa.ColumnElement[float] = sa.func.coalesce(table.c.amount, 0.0)
    if starts:
        amount = sa.case({start.join: start.amount for start in starts}, value=table.c.seq, else_=amount)
    query = (
        sa.select(sa.func.coalesce(table.c.agent, -1), table.c.time, amount, turns)
        .where(table.c.time <= at, table.c.kind.not_in((*DECISIONS, "void")), in_effect())
        .order_by(table.c.time, table.c.seq)
    )
    kept = Stretch(*(np.zeros(0, dtype=kind) for kind in (np.int64, np.int64, float, bool)))
    for chunk in connection.execute(query, execution_options=rows.IN_CHUNKS).partitions():
        agent, *columns = (np.array(column) for column in zip(*chunk, strict=True))
        new = Stretch(np.where(agent < 0, -1, row_of[agent]), columns[0], columns[1], columns[2].astype(bool))
        kept = Stretch(*map(np.concatenate, zip(kept, new, strict=True)))
        whole = int(np.searchsorted(kept.time, kept.time[-1]))
        yield Stretch(*(column[:whole] for column in kept))
        kept = Stretch(*(column[whole:] for column in kept))
    yield kept
