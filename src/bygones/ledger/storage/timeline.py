"""The standing from the tables: the snapshot of each agent, and the events that it does not hold yet.

The snapshot is the fold of all events up to the instant `settled`, so a decision need not read the past again.
Any other standing, such as the one before some event, is the same fold from the events themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.ledger.model import fold
from bygones.ledger.model.events import PARTICIPATION, RECEIVED, counted, load_details
from bygones.ledger.model.fold import START, Facts, Joining, Snapshot, Start
from bygones.ledger.model.participation import Participation
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.standing import Standing, standing_of
from bygones.ledger.storage import rows, schema
from bygones.ledger.storage.revised_table import corrects, in_effect


class Known(NamedTuple):
    """The state that follows from the events up to an instant.

    Attributes:
        book: the rules.
        ids: the numbers of the agents.
        agents: their snapshot. Agents who join later are there too, with nothing remembered yet.
        starts: the starts, not recorded yet, of agents who joined since the snapshot was kept.
    """

    book: RuleBook
    ids: np.ndarray
    agents: Snapshot
    starts: tuple[Start, ...] = ()


def standing(connection: sa.Connection, book: RuleBook, at: int, head: int | None = None) -> Standing:
    """The standing at an instant, past or future, from all events or from those up to the one with number `head`."""
    book.at(at)
    known = known_at(connection, book, at, head)
    return standing_of(known.book, known.agents, at)


def outlook(connection: sa.Connection, book: RuleBook, at: int, until: int, head: int | None = None) -> Standing:
    """The standing at a later instant if nothing is received after `at`.

    Agents join, leave and go on hold in between, and rules change as recorded.
    """
    known = known_at(connection, book, at, head)
    if known.book.at(until).remembering == known.agents.remembering:
        known = advance(connection, known, at, until, head, recorded=at)
    else:
        known = rebuilt(connection, until, head, recorded=at)
    return standing_of(known.book, known.agents, until)


def known_at(connection: sa.Connection, book: RuleBook, at: int, head: int | None = None) -> Known:
    """The state after the events up to an instant, now or as they were recorded up to the event with number `head`.

    It is the snapshot and the events that have waited since. Agents with later events are folded again, and all agents
    if another memory was in force.
    """
    settled = settled_at(connection)
    remembering = book.at(max(settled, book.began)).remembering
    if head is not None or book.at(max(at, book.began)).remembering != remembering:
        return rebuilt(connection, at, head)
    known = Known(book, *rows.load_agents(connection, remembering))
    if at >= settled:
        return advance(connection, known, settled, at)
    late = np.flatnonzero(known.agents.as_of > at)
    if not len(late):
        return known
    again = refolded(connection, book, known.ids[late], known.agents.take(late), at)
    return known._replace(agents=known.agents.put(late, again))


def rebuilt(
    connection: sa.Connection,
    until: int,
    head: int | None = None,
    ids: Collection[int] | None = None,
    recorded: int | None = None,
) -> Known:
    """The state after the events up to an instant alone, of all agents or some, as recorded up to event `head`."""
    book, changes = rows.load_changes(connection, head), load_participation(connection, ids, head)
    names = {row.id: row.name for row in connection.execute(sa.select(schema.agents.c.id, schema.agents.c.name))}
    numbers = sorted(changes)
    remembering = book.at(max(until, book.began)).remembering
    agents = fold.empty([names[n] for n in numbers], [changes[n] for n in numbers], remembering)
    known = Known(book, np.array(numbers, dtype=np.int64), agents)
    return advance(connection, known, None, until, head, recorded)


def refolded(connection: sa.Connection, book: RuleBook, ids: np.ndarray, agents: Snapshot, until: int) -> Snapshot:
    """The snapshot of some agents from their events up to an instant alone."""
    empty = fold.empty(agents.names, agents.participation, agents.remembering)
    return fold.fold(empty, book, _loader(connection, ids, None, None), None, until)[0]


def advance(
    connection: sa.Connection,
    known: Known,
    after: int | None,
    until: int,
    head: int | None = None,
    recorded: int | None = None,
) -> Known:
    """The snapshot with the events between two instants added, and the starts of agents who join in between.

    With `recorded`, later events count only if they had been recorded by that instant, except who joins.
    """
    # An agent who joined before the latest transaction has a start, or the join is void.
    since = _latest(connection, head) if after is None else after
    joining = _waiting(connection, since, until, head)
    load = _up_to_joining(_loader(connection, known.ids, head, recorded), [each.time for each in joining])
    agents, starts = fold.fold(known.agents, known.book, load, after, until, joining)
    return known._replace(agents=agents, starts=tuple(starts))


def _up_to_joining(load: fold.Load, joins: Iterable[int]) -> fold.Load:
    """Facts up to just before each instant at which someone joins; facts of that very instant come next.

    A plan decides for the day on which someone joins before their start is known. So whatever is received at that
    instant, by them or by others, comes on top of the start.
    """
    ahead = sorted(set(joins))
    left_out = 0

    def part(after: int | None, until: int) -> Iterable[Facts]:
        nonlocal left_out
        since = after if after is None else after - left_out
        left_out = int(ahead[:1] == [until])
        del ahead[:left_out]
        return load(since, until - left_out)

    return part


def due(connection: sa.Connection, book: RuleBook, at: int) -> Sequence[Start]:
    """The starts of those whose time to join has come by an instant, but not in any transaction yet."""
    settled = settled_at(connection)
    return known_at(connection, book, at).starts if _waiting(connection, settled, at) else ()


def awaits_start(connection: sa.Connection, until: int, head: int | None = None) -> bool:
    """Whether someone joins by an instant whose start is not recorded yet, and so depends on everyone else."""
    return bool(_waiting(connection, _latest(connection, head), until, head))


def _waiting(connection: sa.Connection, after: int, until: int, head: int | None = None) -> list[Joining]:
    """Those who join between two instants and whose start has not been recorded yet, in the order of time."""
    table, instead, agents = schema.events, schema.revised, schema.agents
    query = (
        sa.select(table.c.seq, agents.c.name, table.c.time, table.c.details)
        .join_from(table, agents, table.c.agent == agents.c.id)
        .outerjoin(instead, corrects(head=head))
        .where(table.c.kind == "join", table.c.details.is_not(None), table.c.time > after, table.c.time <= until)
        .where(instead.c.event.is_(None), in_effect(head=head))
    )
    joining = []
    for seq, name, time, text in connection.execute(query.order_by(table.c.time, table.c.seq)):
        details = load_details(text)
        if START in details:
            joining.append(Joining(time, name, details[START], seq))
    return joining


def load_participation(
    connection: sa.Connection, ids: Collection[int] | None = None, head: int | None = None
) -> dict[int, Participation]:
    """When agents took part, by their numbers, from the events in effect; all agents, or some."""
    table = schema.events
    query = sa.select(table.c.agent, table.c.time, table.c.kind)
    query = query.where(table.c.kind.in_(PARTICIPATION), in_effect(head=head))
    if ids is not None and len(ids) <= rows.FEW:
        query = query.where(table.c.agent.in_(ids))
    changes: dict[int, list[tuple[int, str]]] = {}
    for agent, time, kind in connection.execute(query.order_by(table.c.time, table.c.seq)):
        if ids is None or agent in ids:
            changes.setdefault(agent, []).append((time, kind))
    return {agent: tuple(each) for agent, each in changes.items()}


def rebuild(connection: sa.Connection) -> None:
    """Makes the snapshot of all agents, and the ledger's row, from the events alone."""
    latest = _latest(connection, None)
    known = rebuilt(connection, latest)
    rows.save_agents(connection, known.ids, known.agents)
    numbers = connection.execute(sa.select(schema.agents.c.id)).scalars().all()
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
    """The contents of the events in effect that fulfil some conditions, in the order of time and many at a time.

    The facts about agents who are not among `ids` are about nobody.
    """
    row_of = np.full(int(ids.max(initial=0)) + 2, -1, dtype=np.int64)
    row_of[ids] = np.arange(len(ids))
    table, instead = schema.events, schema.revised
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
            where.append((table.c.recorded <= recorded) | (table.c.time <= recorded) | (table.c.kind == "join"))
        if after is not None:
            where.append(table.c.time > after)
        elif len(ids) <= rows.FEW:
            where.append(table.c.agent.in_([int(number) for number in ids]))
        return facts(connection, ids, where, head)

    return load


def _counts(amount: float | None, instead: float | None) -> float:
    """The amount that counts."""
    if instead is not None:
        return instead
    return 0.0 if amount is None else counted(amount)


def _latest(connection: sa.Connection, head: int | None) -> int:
    """The latest instant at which anything was recorded, now or up to the event with number `head`."""
    query = sa.select(sa.func.max(schema.events.c.recorded))
    return int(connection.execute(query if head is None else query.where(schema.events.c.seq <= head)).scalar_one())
