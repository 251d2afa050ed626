"""What newcomers start with; of those who join ahead, from what the others have once the time has come.

The join of somebody who joins ahead is recorded without an amount, and says by which rule they start. The first
transaction after its time records the amount, as a correction of the join. Until then whoever asks for a later standing
computes it from what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, schema, snapshot
from bygones.ledger.rules import NEWCOMER_RULES, RuleBook
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.turns import PRESENT, status
from bygones.ledger.voids import in_effect

START = "start"
"""In the details of a join ahead: the newcomer rule, or None for the one in force at the time of joining."""


class Start(NamedTuple):
    """What somebody who joined ahead starts with: the number of the join, its agent and time, and the amount."""

    join: int
    agent: int
    name: str
    time: int
    amount: float


def starts(rule: str, remembered: np.ndarray, entitlements: np.ndarray, joining: np.ndarray) -> np.ndarray:
    """What newcomers start with, given the remembered utilities and entitlements of those present.

    If nobody is present they start with zero, unless the rule is a number.
    """
    if rule not in NEWCOMER_RULES:
        return np.full(joining.shape, float(rule))
    if rule == "zero" or not len(remembered):
        return np.zeros(joining.shape)
    counts = entitlements > 0  # the exempt are no measure of a load
    if not counts.any():
        return np.zeros(joining.shape)
    remembered, entitlements = remembered[counts], entitlements[counts]
    if rule == "entitled share":
        return np.asarray(joining * (remembered.sum() / entitlements.sum()))
    return np.asarray(joining * (np.mean if rule == "mean" else np.median)(remembered / entitlements))


def waiting(connection: sa.Connection, after: int, until: int, head: int | None = None) -> Sequence[sa.Row[Any]]:
    """The joins between two instants whose start has not been recorded yet, in the order of time."""
    table, correction = schema.events, schema.events.alias("correction")
    made = sa.exists().where(
        correction.c.refers == table.c.seq, correction.c.kind == "correction", in_effect(correction, head)
    )
    between = [table.c.time > after, table.c.time <= until]
    where = [table.c.kind == "join", table.c.details.like(f'%"{START}":%'), *between, ~made]
    query = sa.select(table).where(*where, in_effect(head=head)).order_by(table.c.time, table.c.seq)
    return connection.execute(query).all()


def due(connection: sa.Connection, book: RuleBook, at: int) -> list[Start]:
    """What those start with whose time to join has come by an instant, but not in any transaction yet."""
    settled = int(connection.execute(sa.select(schema.ledger.c.settled)).scalar_one())
    if not waiting(connection, settled, at):
        return []
    ids, agents = rows.load_agents(connection)
    return advance(connection, book, ids, agents, settled, at)[1]


def advance(
    connection: sa.Connection,
    book: RuleBook,
    ids: np.ndarray,
    agents: Snapshot,
    after: int | None,
    until: int,
    head: int | None = None,
    recorded: int | None = None,
) -> tuple[Snapshot, list[Start]]:
    """The snapshot with the events between two instants added, and the starts of those who join meanwhile."""
    made: list[Start] = []
    # Whoever joined before the latest transaction has a start, or it is void.
    since = _latest(connection, head) if after is None else after
    for time, joins in groupby(waiting(connection, since, until, head), lambda row: int(row.time)):
        agents = rows.add_events(connection, book, ids, agents, after, time, head, recorded)
        new = _starts_at(book, ids, agents, time, list(joins))
        who = np.searchsorted(ids, [start.agent for start in new])
        never = np.zeros(len(new), dtype=bool)
        amounts = np.array([start.amount for start in new], dtype=float)
        agents = snapshot.add(agents, book, who, np.full(len(new), time), amounts, never)
        made, after = [*made, *new], time
    return rows.add_events(connection, book, ids, agents, after, until, head, recorded), made


def _latest(connection: sa.Connection, head: int | None) -> int:
    """The latest instant at which anything was recorded, now or up to the event with number `head`."""
    query = sa.select(sa.func.max(schema.events.c.recorded))
    return int(connection.execute(query if head is None else query.where(schema.events.c.seq <= head)).scalar_one())


def _starts_at(
    book: RuleBook, ids: np.ndarray, agents: Snapshot, time: int, joins: Sequence[sa.Row[Any]]
) -> list[Start]:
    """What those start with who join at one instant, from what the others have then."""
    rules = book.at(time)
    remembered = snapshot.values(snapshot.fade(agents, book, time).remembered)
    weights = rules.entitlements_of(agents.names)
    joining = [int(np.searchsorted(ids, row.agent)) for row in joins]
    here = [row for row, turns in enumerate(agents.turns) if status(turns, time) == PRESENT and row not in set(joining)]
    found = []
    for row, join in zip(joining, joins, strict=True):
        rule = rows.load_details(join.details)[START] or rules.newcomers
        wanted = float(starts(rule, remembered[here], weights[here], weights[row]))
        amount = max(wanted - float(remembered[row]), 0.0)
        found.append(Start(int(join.seq), int(join.agent), agents.names[row], time, amount))
    return found
