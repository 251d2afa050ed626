"""Planned turns as entries of a calendar, which are updated and cancelled as a plan changes.

An entry has the same identity in every export. In the calendar of everyone it stays with the turn, also with another
agent, and in the calendar of one agent it stays with the agent's turn. Its sequence goes up with every change of its
date. A turn that was taken back or went to another agent is cancelled, so calendars delete it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from bygones.ledger.model.rules import RuleBook
from bygones.ledger.plans.planned_dates import PlannedTurn, planned
from bygones.ledger.storage import schema

_Slot: TypeAlias = tuple[int, str]
"""The instant of a date, and the item; places have no name."""


class CalendarTurn(NamedTuple):
    """A turn as an entry of a calendar.

    Attributes:
        uid: the identity of the entry.
        turn: the turn, or the last one that was there.
        sequence: how often its date has changed since it was first planned.
        changed: the instant of the last change.
        cancelled: whether the turn is no longer there.
    """

    uid: str
    turn: PlannedTurn
    sequence: int
    changed: int
    cancelled: bool


def calendar_turns(
    connection: sa.Connection, book: RuleBook, start: int, end: int | None = None, agent: str | None = None
) -> list[CalendarTurn]:
    """The entries from an instant on, of one agent or of everyone, in the order of time."""
    current, lapsed = (
        _by_slot(planned(connection, book, start, end, lapsed=lapsed), agent) for lapsed in (False, True)
    )
    name = bytes(connection.execute(sa.select(schema.events.c.hash).where(schema.events.c.seq == 1)).scalar_one()).hex()
    changes = _changes(connection, start)
    entries = []
    for slot in current.keys() | lapsed.keys():
        there = current.get(slot, [])
        gone = _most_at_once(connection, lapsed.get(slot, []), agent)
        for place, turn in enumerate([*there, *gone[len(there) :]]):
            count, changed = changes[turn.at]
            whose = "" if agent is None else f"/{agent}"
            which = hashlib.sha256(f"{name}/{turn.item or ''}/{place}{whose}".encode()).hexdigest()[:16]
            entries.append(CalendarTurn(f"{turn.at}-{which}@bygones", turn, count - 1, changed, place >= len(there)))
    return sorted(entries, key=lambda entry: (entry.turn.span, entry.turn.seq))


def _by_slot(turns: list[PlannedTurn], agent: str | None) -> dict[_Slot, list[PlannedTurn]]:
    slots = defaultdict[_Slot, list[PlannedTurn]](list)
    for turn in turns:
        if agent in (None, turn.agent):
            slots[turn.at, turn.item or ""].append(turn)
    return slots


def _most_at_once(connection: sa.Connection, lapsed: list[PlannedTurn], agent: str | None) -> list[PlannedTurn]:
    """The turns of the version of a date that had the most at the same time, of one agent or of everyone."""
    taken_over = set(
        connection.execute(sa.select(schema.links.c.other).where(schema.links.c.kind == "takes")).scalars()
    )
    versions = defaultdict[int, list[PlannedTurn]](list)
    for turn in lapsed:
        # Of two turns that are the same one before and after a swap, everyone's calendar has the later.
        if agent is not None or turn.seq not in taken_over:
            versions[turn.plan].append(turn)
    return max(versions.values(), key=lambda turns: (len(turns), turns[-1].seq), default=[])


def _changes(connection: sa.Connection, start: int) -> dict[int, tuple[int, int]]:
    """By instant, how often the plan for it was changed, from another instant on, and when last."""
    table = schema.events
    kinds = table.c.kind.in_(("plan", "void", "correction"))
    query = sa.select(table.c.time, sa.func.count(), sa.func.max(table.c.recorded)).where(kinds, table.c.time >= start)
    return {time: (int(count), int(last)) for time, count, last in connection.execute(query.group_by(table.c.time))}
