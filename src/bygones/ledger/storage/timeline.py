"""Where everybody stands, from the tables: the snapshot of each agent, and the events that it does not hold yet.

The snapshot is the fold of all events up to the instant `settled`, so that a decision need not read the past again.
Anything else, such as a standing before some event or after a correction, is the same fold from the events themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger.model import fold
from bygones.ledger.model.bounds import counted
from bygones.ledger.model.events import PARTICIPATION, RECEIVED, load_details
from bygones.ledger.model.fold import Facts, Joining, Snapshot, Start
from bygones.ledger.model.newcomers import START
from bygones.ledger.model.participation import Turns
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.standing import Standing, standing_of
from bygones.ledger.storage import rows, schema
from bygones.ledger.storage.revisions import corrects, in_effect


class Known(NamedTuple):
    """What follows from the events: the rules, and the numbers and the snapshot of the agents."""

    book: RuleBook
    ids: np.ndarray
    agents: Snapshot


def standing(connection: sa.Connection, book: RuleBook, at: int, head: int | None = None) -> Standing:
    """The standing at an instant, past or future, now or as it was recorded up to the event with number `head`."""
    book.at(at)
    known = known_at(connection, book, at) if head is None else rebuilt(connection, at, head)
    return standing_of(known.book, known.agents, at)


def outlook(connection: sa.Connection, book: RuleBook, at: int, until: int, head: int | None = None) -> Standing:
    """The standing at a later instant if nothing is received after `at`.

    Who will join, leave or be on hold by then, and the rules of then, count.
    """
    known = known_at(connection, book, at) if head is None else rebuilt(connection, at, head)
    agents, _ = advance(connection, known, at, until, head, recorded=at)
    return standing_of(known.book, agents, until)


def known_at(connection: sa.Connection, book: RuleBook, at: int) -> Known:
    """What follows from the events up to an instant.

    It follows from the snapshot and the events that have waited since. Where an agent has later events, all its events
    are read again.
    """
    ids, agents = rows.load_agents(connection)
    known, settled = Known(book, ids, agents), settled_at(connection)
    if at >= settled:
        return known._replace(agents=advance(connection, known, settled, at)[0])
    late = np.flatnonzero(agents.as_of > at)
    if not len(late):
        return known
    read_again = refolded(connection, book, ids[late], agents.take(late), at)
    return known._replace(agents=agents.put(late, read_again))


def rebuilt(
    connection: sa.Connection, until: int, head: int | None = None, ids: Collection[int] | None = None
) -> Known:
    """What follows from the events up to an instant alone, for all agents or some, as recorded up to event `head`.

    Agents who join later are there too, with nothing remembered yet.
    """
    book, turns = rows.load_changes(connection, head), load_participation(connection, ids, head)
    named = {row.id: row.name for row in connection.execute(sa.select(schema.agents.c.id, schema.agents.c.name))}
    found = sorted(turns)
    agents = fold.empty([named[number] for number in found], [turns[number] for number in found])
    known = Known(book, np.array(found, dtype=np.int64), agents)
    return known._replace(agents=advance(connection, known, None, until, head)[0])


def refolded(
    connection: sa.Connection, book: RuleBook, ids: np.ndarray, agents: Snapshot, until: int, head: int | None = None
) -> Snapshot:
    """The snapshot of some agents from their events up to an instant alone; of `agents` only names and turns count."""
    empty = fold.empty(agents.names, agents.turns)
    return fold.fold(empty, book, _loader(connection, ids, head, None), None, until)[0]


def advance(
    connection: sa.Connection,
    known: Known,
    after: int | None,
    until: int,
    head: int | None = None,
    recorded: int | None = None,
) -> tuple[Snapshot, list[Start]]:
    """The snapshot with the events between two instants added, and the starts of those who join meanwhile.

    With `recorded`, only what had been recorded by that instant counts, except who joins.
    """
    # Whoever joined before the latest transaction has a start, or it is void.
    since = _latest(connection, head) if after is None else after
    joining = waiting(connection, known.ids, since, until, head)
    load = _loader(connection, known.ids, head, recorded)
    return fold.fold(known.agents, known.book, load, after, until, joining)


def due(connection: sa.Connection, book: RuleBook, at: int) -> list[Start]:
    """What those start with whose time to join has come by an instant, but not in any transaction yet."""
    settled = settled_at(connection)
    ids, agents = rows.load_agents(connection)
    if not waiting(connection, ids, settled, at):
        return []
    return advance(connection, Known(book, ids, agents), settled, at)[1]


def waiting(
    connection: sa.Connection, ids: np.ndarray, after: int, until: int, head: int | None = None
) -> list[Joining]:
    """Those who join between two instants and whose start has not been recorded yet, in the order of time."""
    table, instead = schema.events, schema.corrected
    query = (
        sa.select(table.c.seq, table.c.agent, table.c.time, table.c.details)
        .outerjoin_from(table, instead, corrects(head=head))
        .where(table.c.kind == "join", table.c.details.is_not(None), table.c.time > after, table.c.time <= until)
        .where(instead.c.event.is_(None), in_effect(head=head))
    )
    found = []
    for seq, agent, time, text in connection.execute(query.order_by(table.c.time, table.c.seq)):
        details = load_details(text)
        if START in details:
            found.append(Joining(time, int(np.searchsorted(ids, agent)), details[START], seq))
    return found


def load_participation(
    connection: sa.Connection, ids: Collection[int] | None = None, head: int | None = None
) -> dict[int, Turns]:
    """When agents took part, by their numbers, from the events in effect; all agents, or some."""
    table = schema.events
    query = sa.select(table.c.agent, table.c.time, table.c.kind)
    query = query.where(table.c.kind.in_(PARTICIPATION), in_effect(head=head))
    if ids is not None:
        query = query.where(table.c.agent.in_(ids))
    found: dict[int, list[tuple[int, str]]] = {}
    for agent, time, kind in connection.execute(query.order_by(table.c.time, table.c.seq)):
        found.setdefault(agent, []).append((time, kind))
    return {agent: tuple(each) for agent, each in found.items()}


def rebuild(connection: sa.Connection, only: Collection[int] | None = None) -> None:
    """Makes the snapshot of all agents anew, or of some, and the ledger's row, from the events alone."""
    latest = _latest(connection, None)
    known = rebuilt(connection, latest, ids=only)
    rows.save_agents(connection, known.ids, known.agents)
    numbers = connection.execute(sa.select(schema.agents.c.id)).scalars().all() if only is None else only
    for number in set(numbers).difference(known.ids.tolist()):
        rows.save_nobody(connection, number)
    connection.execute(schema.ledger.update().values(settled=latest, rules=rows.save_book(known.book)))


def settled_at(connection: sa.Connection) -> int:
    """The instant up to which the snapshot holds all events."""
    return int(connection.execute(sa.select(schema.ledger.c.settled)).scalar_one())


def facts(
    connection: sa.Connection,
    ids: np.ndarray,
    where: Sequence[sa.ColumnElement[bool]],
    head: int | None = None,
) -> Iterator[Facts]:
    """What the events in effect say that fulfil some conditions, in the order of time and many at a time.

    The facts about agents who are not among `ids` are about nobody.
    """
    row_of = np.full(int(ids.max(initial=0)) + 2, -1, dtype=np.int64)
    row_of[ids] = np.arange(len(ids))
    table, instead = schema.events, schema.corrected
    query = (
        sa.select(
            sa.func.coalesce(table.c.agent, 0), table.c.time, table.c.amount, instead.c.amount,
            table.c.kind.in_(RECEIVED), table.c.kind.in_((*PARTICIPATION, "rules")),
        )
        .outerjoin_from(table, instead, corrects(head=head))
        .where(table.c.kind.not_in(("correction", "void", "decision", "plan")), in_effect(head=head), *where)
    )  # fmt: skip
    query = query.order_by(table.c.time, table.c.seq)
    for some in connection.execute(query, execution_options=rows.IN_CHUNKS).partitions():
        agent, time, amount, instead_of, is_received, is_change = zip(*some, strict=True)
        numbers = np.array(agent, dtype=np.int64)
        known = np.minimum(numbers, len(row_of) - 1)
        yield Facts(
            np.where(numbers > 0, row_of[known], -1),
            np.array(time, dtype=np.int64),
            np.array([_counts(*each) for each in zip(amount, instead_of, strict=True)], dtype=float),
            np.array(is_received, dtype=bool),
            np.array(is_change, dtype=bool),
        )


def _loader(connection: sa.Connection, ids: np.ndarray, head: int | None, recorded: int | None) -> fold.Load:
    """The facts about some agents between two instants."""
    table = schema.events

    def load(after: int | None, until: int) -> Iterator[Facts]:
        where: list[Any] = [table.c.agent.is_not(None), table.c.time <= until]
        if recorded is not None:
            where.append((table.c.recorded <= recorded) | (table.c.kind == "join"))
        if after is not None:
            where.append(table.c.time > after)
        elif len(ids) <= rows.FEW:
            where.append(table.c.agent.in_([int(number) for number in ids]))
        return facts(connection, ids, where, head)

    return load


def _counts(amount: float | None, instead: float | None) -> float:
    """What an amount counts with."""
    if instead is not None:
        return instead
    return 0.0 if amount is None else counted(amount)


def _latest(connection: sa.Connection, head: int | None) -> int:
    """The latest instant at which anything was recorded, now or up to the event with number `head`."""
    query = sa.select(sa.func.max(schema.events.c.recorded))
    return int(connection.execute(query if head is None else query.where(schema.events.c.seq <= head)).scalar_one())
