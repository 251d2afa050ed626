"""Keys chosen by whoever records, so that recording the same again has no effect.

After a crash or a lost answer nobody knows whether something was recorded. With a key they need not know: they record
it again, and get back what was recorded the first time. The key stands in the first event of what was recorded
together; its details say how many events belong to it, and what was asked for, as a hash. The same key for something
else is refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from bygones._text import check_text
from bygones.ledger import rows, schema
from bygones.ledger.events import Event, canonical
from bygones.ledger.times import When

if TYPE_CHECKING:
    from bygones.ledger.writing import Entry


def check_key(key: object) -> str:
    """The key, refused unless it is text that is not empty."""
    return check_text("key", key, empty=False)


def fingerprint(what: str, at: int | None, *asked: Any) -> str:
    """The hash of what was asked for; a time that was left open stays open, so that a later retry is the same."""
    return hashlib.sha256(canonical([what, at, *asked]).encode()).hexdigest()


def number(amount: float) -> float | str:
    """An amount for a fingerprint, 6 being the same as 6.0; what is no number is refused later."""
    try:
        found = float(amount)
    except (TypeError, ValueError, OverflowError):
        return repr(amount)
    return found if math.isfinite(found) else repr(found)


def batch(events: Sequence[Event], content: str, **more: Any) -> dict[str, Any]:
    """What the first of some events says of all of them."""
    return {"events": len(events), **({"content": content} if content else {}), **more}


def together(connection: sa.Connection, first: Event) -> list[Event]:
    """The events that were recorded together with the first of them."""
    count = int(((first.details or {}).get("batch") or {"events": 1})["events"])
    seq = schema.events.c.seq
    found = rows.load_events(connection, [seq >= first.seq, seq < first.seq + count])
    return [event for chunk in found for event, _ in chunk]


def events_of(connection: sa.Connection, key: str) -> list[Event]:
    """What was recorded with this key; empty if it was not used yet."""
    found = [event for chunk in rows.load_events(connection, [schema.events.c.key == key]) for event, _ in chunk]
    return together(connection, found[0]) if found else []


def recorded(connection: sa.Connection, key: str, content: str) -> list[Event]:
    """What was recorded with this key, if it was for the same content; empty if it was not used yet."""
    found = events_of(connection, key)
    if found and ((found[0].details or {}).get("batch") or {}).get("content") != content:
        raise _differs(key, found[0].seq)
    return found


def recorded_entries(
    connection: sa.Connection, entries: Sequence[Entry], instant_of: Callable[[When, str], int]
) -> dict[str, Event]:
    """By key, what was recorded of entries that have keys of their own; refused where it was something else."""
    wanted: dict[str, Entry] = {}
    for entry in entries:
        if entry.key is None:
            continue
        key = check_key(entry.key)
        if key in wanted:
            raise ValueError(f"key must be used once, got {key!r} twice")
        wanted[key] = entry
    found: dict[str, Event] = {}
    names = list(wanted)
    for start in range(0, len(names), rows.FEW):
        where = [schema.events.c.key.in_(names[start : start + rows.FEW])]
        found |= {str(event.key): event for chunk in rows.load_events(connection, where) for event, _ in chunk}
    for key, event in found.items():
        entry = wanted[key]
        asked = (check_text("agent", entry.agent), entry.amount, check_text("note", entry.note))
        same = asked == (event.agent, event.amount, event.note) and event.kind == "received"
        if not same or (entry.at is not None and instant_of(entry.at, "at") != event.time):
            raise _differs(key, event.seq)
    return found


def _differs(key: str, seq: int) -> ValueError:
    return ValueError(f"key {key!r} was used for something else, event {seq}: choose another key")
