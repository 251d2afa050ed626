"""The snapshot made anew from the events: as they are, or as they had been recorded up to one of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger import rows, schema, snapshot
from bygones.ledger.rules import RuleBook
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.starting import advance


class Known(NamedTuple):
    """What follows from the events: the rules, and the numbers and the snapshot of the agents."""

    book: RuleBook
    ids: np.ndarray
    agents: Snapshot


def rebuilt(
    connection: sa.Connection, until: int, head: int | None = None, ids: Collection[int] | None = None
) -> Known:
    """What follows from the events up to an instant alone, for all agents or some, as recorded up to event `head`.

    Agents who join later are there too, with nothing remembered yet.
    """
    book, turns = rows.load_changes(connection, head), rows.load_turns(connection, ids, head)
    named = {row.id: row.name for row in connection.execute(sa.select(schema.agents.c.id, schema.agents.c.name))}
    found = sorted(turns)
    agents = snapshot.empty([named[number] for number in found], [turns[number] for number in found])
    numbers = np.array(found, dtype=np.int64)
    return Known(book, numbers, advance(connection, book, numbers, agents, None, until, head)[0])


def settle_anew(connection: sa.Connection) -> None:
    """Makes the snapshot of all agents anew, up to the latest instant at which anything was recorded."""
    latest = connection.execute(sa.select(sa.func.max(schema.events.c.recorded))).scalar_one()
    known = rebuilt(connection, latest)
    rows.save_agents(connection, known.ids, known.agents)
    connection.execute(schema.ledger.update().values(settled=latest))
