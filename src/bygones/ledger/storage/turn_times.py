"""Who has which turn at a time: turns planned, decided and recorded of which the length is known.

The times of the turns of a decision or a plan are in its details, that of a record in its own; see `model.span`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones.ledger.model.events import RECEIVED, Event, load_details
from bygones.ledger.model.span import EARLIER, UNTIL, Span, load_spans, span_of
from bygones.ledger.storage import derived, rows, schema
from bygones.ledger.storage.revised_table import corrects, in_effect


class TimedTurn(NamedTuple):
    """A turn with its length.

    Attributes:
        seq: the event by which the agent has it.
        agent: whose turn it is.
        item: which item it is; None for a place, a part of an amount or a record.
        span: its time.
        amount: its utility, as corrected.
        kind: `planned`, or `received` by a decision or a record.
        cause: the decision or the plan through which it was given, None where there is none.
    """

    seq: int
    agent: str
    item: str | None
    span: Span
    amount: float
    kind: str
    cause: int | None


def turns_during(
    connection: sa.Connection, span: Span, head: int | None = None, without: Collection[int] = ()
) -> list[TimedTurn]:
    """The turns in effect that have some time in common with another time, in the order of their starts.

    Args:
        connection: the ledger.
        span: the time.
        head: the number of the last event that is known; by default all are.
        without: the events of turns, decisions or plans that are left out.
    """
    turns = (turn for turn in _turns(connection, span, head) if not {turn.seq, turn.cause} & {*without})
    return sorted((turn for turn in turns if turn.span.overlaps(span)), key=lambda turn: (turn.span, turn.seq))


def _turns(connection: sa.Connection, span: Span, head: int | None) -> Iterator[TimedTurn]:
    table, causes, names, instead = schema.events, schema.events.alias("causes"), schema.agents, schema.revised
    query = (
        sa.select(table, names.c.name, causes.c.details.label("told"), instead.c.amount.label("instead"))
        .join_from(table, names, table.c.agent == names.c.id)
        .outerjoin(causes, causes.c.seq == table.c.refers)
        .outerjoin(instead, corrects(head=head))
        .where(table.c.kind.in_(RECEIVED), table.c.time > span.start - EARLIER, table.c.time < span.end)
        .where(table.c.details.contains(f'"{UNTIL}"') | causes.c.details.contains('"spans"'), in_effect(head=head))
    )
    for row in connection.execute(query).all():
        amount = row.amount if row.instead is None else row.instead
        if not amount and row.instead is not None:
            continue  # corrected to nothing: it was not served
        turn = Event(row.seq, row.kind, row.time, row.recorded, row.name, refers=row.refers)
        times = _times(connection, turn._replace(details=load_details(row.details)), load_details(row.told))
        for item, when in times:
            yield TimedTurn(row.seq, row.name, item, when, amount, row.kind, row.refers)


def span_of_event(connection: sa.Connection, turn: Event) -> list[Span]:
    """The time of a turn by its event; of several items that an agent was given at once, that of each."""
    told = {} if turn.refers is None else rows.details_of(connection, turn.refers)
    return [span for _, span in _times(connection, turn, told)]


def _times(connection: sa.Connection, turn: Event, told: Mapping[str, Any]) -> list[tuple[str | None, Span]]:
    """The items of a turn and their times, from its details and the details of its decision or plan."""
    own, spans = turn.details or {}, load_spans(told)
    items = [own.get("item")]
    if spans and turn.kind == "received" and "item" not in own and turn.refers is not None:
        given = derived.load_given(connection, turn.refers)
        items = [each.item for each in given if each.agent == turn.agent] or items
    if UNTIL in own:
        return [(items[0], Span(turn.time, own[UNTIL]))]
    return [(item, span_of(spans, item, turn.time)) for item in items]
