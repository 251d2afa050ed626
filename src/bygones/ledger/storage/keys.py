"""Keys chosen by the caller: recording the same again with its key has no effect.

After a crash or a lost answer nobody knows whether something was recorded. With a key the caller need not know: the
same request again returns the first answer. The key is in one of the events that were recorded together, mostly the
first. Its details have the number of these events, how many of them come before it, and a hash of the request. The
answer follows from the events. The same key for another request is refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from bygones._text import check_text
from bygones.ledger.model.events import Entry, Event, canonical
from bygones.ledger.model.times import When
from bygones.ledger.storage import dialects, rows, schema


def check_key(key: object) -> str:
    """The key, refused unless it is text that is not empty."""
    return check_text("key", key, empty=False)


def check_unused(key: str | None) -> None:
    """Refuses a key where nothing is to be recorded."""
    if key is not None:
        raise ValueError(
            f"key {key!r} is for something that is recorded, but this is only shown: record it (--accept, --publish), "
            "or leave out the key"
        )


def fingerprint(asked: list[Any]) -> str:
    """The hash of a request; a time that was left open stays open, so a later retry is the same."""
    return hashlib.sha256(canonical(asked).encode()).hexdigest()


def number(amount: float) -> float | str:
    """An amount for a fingerprint, where 6 is the same as 6.0; values that are no numbers are refused later."""
    try:
        value = float(amount)
    except (TypeError, ValueError, OverflowError):
        return repr(amount)
    return value if math.isfinite(value) else repr(value)


def together(connection: sa.Connection, event: Event) -> list[Event]:
    """The events that were recorded together with the one that counts them."""
    seq, first, count = schema.events.c.seq, _first(event), int(_batch(event).get("events", 1))
    return list(rows.load_events(connection, seq >= first, seq < first + count))


def events_of(connection: sa.Connection, key: str) -> list[Event]:
    """The events recorded with this key; empty if it was not used yet."""
    marked = list(rows.load_events(connection, schema.events.c.key == key))
    return together(connection, marked[0]) if marked else []


def recorded(connection: sa.Connection, key: str, content: str) -> list[Event]:
    """The events recorded with this key, if it was for the same content; empty if it was not used yet."""
    events = events_of(connection, key)
    for event in events:
        if event.key == key and _batch(event).get("content") != content:
            raise _differs(event)
    return events


def recorded_entries(
    connection: sa.Connection, entries: Sequence[Entry], instant_of: Callable[[When, str], int]
) -> dict[str, Event]:
    """By key, the events of entries that have keys; refused where the key was used for another entry."""
    wanted: dict[str, Entry] = {}
    for entry in entries:
        if entry.key is None:
            continue
        key = check_key(entry.key)
        if key in wanted:
            raise ValueError(f"key must be used only once, got {key!r} twice")
        wanted[key] = entry
    earlier: dict[str, Event] = {}
    for some in dialects.parts(wanted):
        earlier |= {str(event.key): event for event in rows.load_events(connection, schema.events.c.key.in_(some))}
    for key, event in earlier.items():
        entry = wanted[key]
        asked = (check_text("agent", entry.agent), entry.amount, check_text("note", entry.note))
        same = asked == (event.agent, event.amount, event.note) and event.kind == "received"
        if not same or (entry.at is not None and instant_of(entry.at, "at") != event.time):
            raise _differs(event)
    return earlier


def together_with(events: Sequence[Event]) -> dict[str, Any]:
    """The details that one of several events has about all of them."""
    return next((_batch(event) for event in events if _batch(event)), {})


def _batch(event: Event) -> dict[str, Any]:
    return (event.details or {}).get("batch") or {}


def _first(event: Event) -> int:
    """The number of the first event that this one tells of."""
    return event.seq - int(_batch(event).get("before", 0))


def _differs(event: Event) -> ValueError:
    return ValueError(f"key {event.key!r} was used for something else, event {_first(event)}: choose another key")
