"""What happened to an event after it was recorded: corrections of it, or of what was received through it, and swaps."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from bygones.ledger.model.bounds import counted
from bygones.ledger.model.events import DECISIONS, RECEIVED, Event
from bygones.ledger.storage import derived, revisions, rows, schema


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
        return _of(connection, event, direct)
    # What was received through a decision was recorded with it. What came later changes it, as a swap does.
    receipts = [each for each in direct if each.kind in RECEIVED and not derived.linked(connection, "takes", each.seq)]
    changes = [LaterChange(each, event, None, None) for each in direct if each not in receipts]
    later = _referring(connection, [each.seq for each in receipts])
    for receipt in receipts:
        changes += _of(connection, receipt, [each for each in later if each.refers == receipt.seq])
    return sorted(changes, key=lambda change: change.event.seq)


def made_again(connection: sa.Connection, decision: Event) -> Event | None:
    """The decision in effect that was made in place of this one, or None."""
    other = revisions.other_version(connection, decision.seq)
    return rows.load_event(connection, other) if other is not None and other > decision.seq else None


def _of(connection: sa.Connection, changed: Event, later: list[Event]) -> list[LaterChange]:
    table = schema.revised
    query = sa.select(table.c.since, table.c.amount).where(table.c.event == changed.seq, table.c.amount.is_not(None))
    to = {since: float(amount) for since, amount in connection.execute(query)}
    was, changes = counted(changed.amount or 0.0), []
    for each in later:
        if each.kind != "correction":
            changes.append(LaterChange(each, changed, None, None))
            continue
        # A correction to what the amount was already changes nothing.
        now = to.get(each.seq, was)
        changes.append(LaterChange(each, changed, was, now))
        was = now
    return changes


def _referring(connection: sa.Connection, numbers: list[int]) -> list[Event]:
    found = rows.load_events(connection, [schema.events.c.refers.in_(numbers)]) if numbers else ()
    return [event for chunk in found for event, _ in chunk]
