"""Facts that follow from the events and are kept in tables, which saves looking for them in the details of events.

- `links`: events that belong to others in another way than through `refers`.
- `given`: the assignments of a decision, a plan or a planned turn.
- `revised`: voids and corrections, see `revised_table`.
- `agents` and the ledger's row: the standing, see `timeline`.

New events are stored with their rows. Events of earlier versions have no data about assignments, only words. The words
are read here, once, when a ledger is migrated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa

from bygones.allocation import normalised
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.problems import Assign, Divide, problem_from
from bygones.ledger.model.events import DECISIONS, RECEIVED, Event
from bygones.ledger.storage import dialects, revised_table, rows, schema, timeline

LINKS = ("redecides", "swaps", "takes", "undoes", "import", "draw")
"""Kinds of link: to the decision or plan in whose place another was made; from each half of a swap to both turns that
were swapped, and to the one that it takes over; from a correction to the first event of the import that it takes back;
from the first event of an import, which has its source, to the last; and to the number of the draw of a decision."""


TABLES = (schema.links, schema.given)
"""The tables of links and assignments."""


def links_of(event: Event) -> Iterator[tuple[str, int]]:
    """The links of an event, by kind."""
    details = event.details or {}
    if event.kind in DECISIONS and "redecides" in details:
        yield "redecides", int(details["redecides"])
    if event.kind == "decision" and "number" in details.get("draw", {}):
        yield "draw", int(details["draw"]["number"])
    if event.kind in RECEIVED:
        yield from (("swaps", int(seq)) for seq in details.get("swapped", ()))
    if event.kind == "correction" and "undoes" in details:
        yield "undoes", int(details["undoes"])
    if "source" in details.get("batch", {}) and event.kind != "rules":
        yield "import", event.seq + int(details["batch"]["events"]) - int(details["batch"].get("before", 0)) - 1


def given_by(event: Event, cause: Mapping[str, Any] | None = None) -> list[Given]:
    """The assignments of an event; `cause` are the details of the plan through which a turn is given."""
    details = event.details or {}
    if event.kind in DECISIONS and "request" in details:
        return [Given(*each) for each in details["given"]] if "given" in details else list(_in_words(details))
    if event.kind not in RECEIVED or cause is None or event.agent is None:
        return []
    if "what" not in details:
        return [Given(event.agent, details.get("item"), details.get("part"), float(event.amount or 0.0))]
    sentence = str(details.get("planned_as", details["what"]))
    return list(_told(_counted(cause), event.agent, sentence, float(event.amount or 0.0)))


def load_given(connection: sa.Connection, seq: int) -> list[Given]:
    """The assignments of an event."""
    table = schema.given
    query = sa.select(table.c.agent, table.c.item, table.c.part, table.c.utility).where(table.c.event == seq)
    return [Given(*row) for row in connection.execute(query.order_by(table.c.position))]


def other_ends(connection: sa.Connection, kind: str, other: int) -> list[int]:
    """The events that have a link of this kind to another."""
    table = schema.links
    query = sa.select(table.c.event).where(table.c.kind == kind, table.c.other == other)
    return list(connection.execute(query.order_by(table.c.event)).scalars())


def linked(connection: sa.Connection, kind: str, event: int) -> list[int]:
    """The events to which an event has a link of this kind."""
    table = schema.links
    query = sa.select(table.c.other).where(table.c.kind == kind, table.c.event == event)
    return list(connection.execute(query.order_by(table.c.other)).scalars())


def was_taken_over(events: sa.FromClause = schema.events) -> sa.ColumnElement[bool]:
    """Whether an event is a turn that another agent took over in a swap."""
    return sa.exists().where(schema.links.c.event == events.c.seq, schema.links.c.kind == "takes")


def taken_over(connection: sa.Connection, turns: Iterable[int]) -> set[int]:
    """These turns, the turns that took them over in a swap, and the turns that took over these in turn."""
    all_turns = new = set(turns)
    table = schema.links
    query = sa.select(table.c.event).where(table.c.kind == "takes")
    while new:
        new = {seq for (seq,) in dialects.select_many(connection, query, table.c.other, new)}
        all_turns = all_turns | new
    return all_turns


def save(connection: sa.Connection, events: Iterable[Event]) -> None:
    """Adds the links of events, and their assignments."""
    for table, new in zip(TABLES, _rows(connection, events), strict=True):
        if new:
            dialects.insert(connection, table, new)


def rebuild(connection: sa.Connection) -> None:
    """Makes everything that follows from the events again."""
    for table in TABLES:
        connection.execute(table.delete())
    for events in _in_parts(connection):
        save(connection, events)
    revised_table.rebuild(connection)
    timeline.rebuild(connection)


def differ(connection: sa.Connection) -> list[str]:
    """Which of the tables `links` and `given` do not follow from the events."""
    wrong: set[str] = set()
    count = Counter[str]()
    for events in _in_parts(connection):
        for table, expected in zip(TABLES, _rows(connection, events), strict=True):
            within = [table.c.event >= events[0].seq, table.c.event <= events[-1].seq]
            stored = [tuple(row) for row in connection.execute(sa.select(table).where(*within))]
            count[table.name] += len(stored)
            wanted = {tuple(row[column.name] for column in table.c) for row in expected}
            if set(stored) != wanted or len(stored) != len(wanted):
                wrong.add(table.name)
    there = {each.name: connection.scalar(sa.select(sa.func.count()).select_from(each)) for each in TABLES}
    return sorted(wrong | {name for name, rows_there in there.items() if rows_there != count[name]})


def _in_parts(connection: sa.Connection) -> Iterator[list[Event]]:
    """All events in the order of recording, many at a time."""
    events = rows.load_events(connection)
    while some := list(islice(events, rows.CHUNK)):
        yield some


def _rows(connection: sa.Connection, events: Iterable[Event]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `links` and `given` that follow from events."""
    new_links: list[dict[str, Any]] = []
    new_given: list[dict[str, Any]] = []
    causes: dict[int, dict[str, Any]] = {}
    halves: dict[tuple[int, ...], int] = {}
    for event in events:
        if event.kind in DECISIONS:
            causes[event.seq] = event.details or {}
        new_links += [{"event": event.seq, "kind": kind, "other": other} for kind, other in links_of(event)]
        swapped = tuple((event.details or {}).get("swapped", ())) if event.kind in RECEIVED else ()
        if swapped:
            # The first half that is recorded takes over the first turn.
            first = halves.setdefault(swapped, min([event.seq, *other_ends(connection, "swaps", swapped[0])]))
            taken = swapped[0] if event.seq == first else swapped[1]
            new_links.append({"event": event.seq, "kind": "takes", "other": taken})
        is_turn = event.kind == "planned" or (event.kind == "received" and event.details is not None)
        cause = None
        if is_turn and event.refers is not None:
            if event.refers not in causes:
                causes[event.refers] = rows.details_of(connection, event.refers)
            cause = causes[event.refers]
        new_given += [
            {"event": event.seq, "position": position, **each._asdict()}
            for position, each in enumerate(given_by(event, cause))
        ]
    return new_links, new_given


def _in_words(details: Mapping[str, Any]) -> Iterator[Given]:
    """The assignments of a decision of an earlier version, from its request, its utilities and its words."""
    request = _counted(details)
    for agent, utility in details.get("utilities", {}).items():
        yield from _told(request, agent, str(details.get("gets", {}).get(agent, "")), float(utility))


def _counted(details: Mapping[str, Any]) -> Problem | None:
    """The request of a decision in the units in which it was decided."""
    request = problem_from(details.get("request", {}))
    return normalised(request, details["usual"]) if request is not None and details.get("usual") else request


def _told(request: Problem | None, agent: str, words: str, utility: float) -> Iterator[Given]:
    """The assignments of one agent, of which an earlier version stored the utility and words."""
    if isinstance(request, Assign):
        items, mine = _items_in(words, request.item_names), request.worth.get(agent, {})
        total = sum(mine.get(item, 0.0) for item in items)
        for item in items:
            share = mine.get(item, 0.0) / total if len(items) > 1 and total else 1.0 / len(items)
            yield Given(agent, item, None, utility * share)
    elif isinstance(request, Divide):
        rate = request.worth.get(agent, {}).get(None, 0.0)
        yield Given(agent, None, utility / rate if rate else 0.0, utility)
    else:
        yield Given(agent, None, None, utility)


def _items_in(words: str, items: Sequence[str]) -> list[str]:
    """The items of which earlier versions wrote `a`, `a and b` or `a, b and c`; names may contain commas and `and`."""
    left, mentioned = words, list[str]()
    while left:
        item = max(
            (item for item in items if left == item or left.startswith((f"{item}, ", f"{item} and "))),
            key=len, default=None,
        )  # fmt: skip
        if item is None:
            return mentioned
        mentioned.append(item)
        left = left[len(item) :].removeprefix(", ").removeprefix(" and ")
    return mentioned
