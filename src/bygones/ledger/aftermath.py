"""What happened to an event after it was recorded: corrections of it, or of what was received through it, and swaps."""

from __future__ import annotations

import math
from typing import NamedTuple

import sqlalchemy as sa

from bygones.ledger import rows, schema
from bygones.ledger.events import DECISIONS, RECEIVED, Event
from bygones.ledger.voids import in_effect


class LaterChange(NamedTuple):
    """A later event that changes what an earlier one says.

    Attributes:
        event: the later event.
        changed: the event it changes: the earlier one, or what was received through it.
        was: the amount that counted before, None where there is none.
        now: the amount that counts since, None where there is none.
    """

    event: Event
    changed: Event
    was: float | None
    now: float | None

    def sentence(self, received: str = "received") -> str:
        """The change in words; `received` is the word for having got something."""
        event, who = self.event, self.changed.agent
        why = f" ({event.note})" if event.note else ""
        if self.was is None or self.now is None:
            if event.kind == "void":
                if self.changed.kind in RECEIVED:
                    given = f"What {who} was given (event {self.changed.seq})"
                    return f"{given} was made void later by event {event.seq}{why}."
                return f"Made void later by event {event.seq}{why}."
            if event.kind in RECEIVED:
                return f"Taken over later by {event.agent}, event {event.seq}{why}."
            about = "" if event.agent is None else f" of {event.agent}"
            return f"Changed later by event {event.seq}: {event.kind}{about}{why}."
        what = f"what {who} {received}" if self.changed.kind in RECEIVED else f"the amount of {who}"
        return f"Corrected later by event {event.seq}: {what} went from {self.was:.6g} to {self.now:.6g}{why}."


def changes_since(connection: sa.Connection, event: Event) -> list[LaterChange]:
    """The later events that change this one, in the order of recording."""
    direct = _referring(connection, [event.seq])
    if event.kind not in DECISIONS:
        return _of(event, direct)
    # What was received through a decision was recorded with it. What came later changes it, as a swap does.
    count = len((event.details or {}).get("utilities", {}))
    receipts = [each for each in direct if each.kind in RECEIVED and each.seq <= event.seq + count]
    found = [LaterChange(each, event, None, None) for each in direct if each not in receipts]
    later = _referring(connection, [each.seq for each in receipts])
    for receipt in receipts:
        found += _of(receipt, [each for each in later if each.refers == receipt.seq])
    return sorted(found, key=lambda change: change.event.seq)


def made_again(connection: sa.Connection, decision: Event) -> Event | None:
    """The decision in effect that was made in place of this one, or None."""
    table, origin = schema.events, (decision.details or {}).get("redecides", decision.seq)
    where = [table.c.kind.in_(DECISIONS), table.c.seq > decision.seq, in_effect()]
    where.append(table.c.details.like(f'%"redecides":{origin}%'))
    found = (event for chunk in rows.load_events(connection, where) for event, _ in chunk)
    return next((event for event in found if (event.details or {}).get("redecides") == origin), None)


def _of(changed: Event, later: list[Event]) -> list[LaterChange]:
    amounts, found = [changed.amount or 0.0], []
    for each in later:
        if each.kind != "correction":
            found.append(LaterChange(each, changed, None, None))
            continue
        was = math.fsum(amounts)
        amounts.append(each.amount or 0.0)
        found.append(LaterChange(each, changed, was, math.fsum(amounts)))
    return found


def _referring(connection: sa.Connection, numbers: list[int]) -> list[Event]:
    found = rows.load_events(connection, [schema.events.c.refers.in_(numbers)]) if numbers else ()
    return [event for chunk in found for event, _ in chunk]
