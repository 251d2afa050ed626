"""Questions that need the events again: what a standing is made of, and since when somebody has been owed."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, schema
from bygones.ledger.events import AMOUNTS, TURNS
from bygones.ledger.rules import RuleBook
from bygones.ledger.standing import owed
from bygones.ledger.turns import PRESENT, Clocks, status

SETTLED = 1e-9
"""Somebody is owed something if it is more than this share of all that is remembered."""


class Contribution(NamedTuple):
    """What is left of one event: `counts` of its `amount`, by the `weight` it has by now."""

    seq: int
    kind: str
    time: int
    amount: float
    weight: float
    counts: float
    note: str


def contributions(connection: sa.Connection, book: RuleBook, at: int, agent: str) -> list[Contribution]:
    """The events of an agent up to an instant with what still counts of each, the largest part first."""
    _, agents = rows.load_agents(connection, [agent])
    if not len(agents):
        raise ValueError(f"unknown agent {agent!r}: it has not joined this ledger")
    table = schema.events
    where = [schema.agents.c.name == agent, table.c.time <= at, table.c.kind.in_(AMOUNTS)]
    events = [event for chunk in rows.load_events(connection, where) for event, _ in chunk]
    start = np.array([event.time for event in events], dtype=np.int64)
    who, end = np.zeros(len(events), dtype=np.int64), np.full(len(events), at)
    weights = np.exp2(-Clocks(book, agents.turns).half_lives(who, start, end)).tolist()
    parts = []
    for event, weight in zip(events, weights, strict=True):
        amount = event.amount or 0.0
        parts.append(Contribution(event.seq, event.kind, event.time, amount, weight, amount * weight, event.note))
    return sorted(parts, key=lambda part: (-abs(part.counts), part.seq))


def owed_since(connection: sa.Connection, book: RuleBook, at: int) -> dict[str, int]:
    """Since when each of those who are owed something at an instant has been, without a break.

    Everybody who is present fades alike, so that the sign of what is owed changes at events only: the events are
    gone through once, in the order of time.
    """
    _, agents = rows.load_agents(connection)
    row_of = {name: row for row, name in enumerate(agents.names)}
    clocks, everybody = Clocks(book, agents.turns), np.arange(len(agents))
    remembered, states = np.zeros(len(agents)), np.full(len(agents), "", dtype=object)
    since, now = np.full(len(agents), -1, dtype=np.int64), np.full(len(agents), book.began)
    where = [schema.events.c.time <= at, schema.events.c.kind != "decision"]
    stream = (event for chunk in rows.load_events(connection, where, by_time=True) for event, _ in chunk)
    for time, events in groupby(stream, key=lambda event: event.time):
        then = np.full(len(agents), time)
        remembered = remembered * np.exp2(-clocks.half_lives(everybody, now, then))
        now = then
        for event in events:
            if event.agent is not None:
                row = row_of[event.agent]
                remembered[row] += event.amount or 0.0
                if event.kind in TURNS:
                    states[row] = status(agents.turns[row], time)
        present = np.flatnonzero(states == PRESENT)
        entitlements = book.at(time).entitlements_of(agents.names)
        is_owed = np.nan_to_num(owed(remembered, entitlements, present)) > SETTLED * remembered[present].sum()
        since = np.where(is_owed, np.where(since < 0, time, since), -1)
    return {name: int(since[row]) for name, row in row_of.items() if since[row] >= 0}
