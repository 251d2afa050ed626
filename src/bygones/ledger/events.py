"""The events a ledger is made of, and the chain of hashes over them.

Events are only ever appended. Each carries the SHA-256 of its predecessor's hash and its own text, so that whoever
edits, removes or inserts an event later must change every hash after it; `verify` shows the first that does not fit.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any, NamedTuple

AMOUNTS = ("received", "offset", "correction", "join")
"""Kinds of event with an amount: utility received; an amount remembered though it was not received; the difference
that corrects one of the others; what a newcomer starts with."""

TURNS = ("join", "leave", "hold", "resume")
"""Kinds of event that say from when on an agent takes part, and when not."""

KINDS = ("rules", "decision", "received", "offset", "correction", *TURNS)

LONGEST_TEXT = 500
"""The most characters of an agent's name or a note."""

GENESIS = bytes(32)
"""The hash before the first event."""


class Event(NamedTuple):
    """One line of the ledger.

    Attributes:
        seq: its number, from 1 on without gaps.
        kind: one of `KINDS`.
        time: the instant from which on it counts.
        recorded: the instant at which it was written down.
        agent: whom it is about; None for rules and decisions.
        amount: what was received or counts as if, where the kind has an amount.
        refers: the event that a correction corrects, or the decision by which something was received.
        note: why, in the words of whoever recorded it.
        details: the settings of a rule change; a decision's needs and reasons.
    """

    seq: int
    kind: str
    time: int
    recorded: int
    agent: str | None = None
    amount: float | None = None
    refers: int | None = None
    note: str = ""
    details: dict[str, Any] | None = None


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical(value: object) -> str:
    """JSON in one spelling: keys in order, no spaces, numbers in the fewest digits that mean the same."""
    return _encoder.encode(value)


def details_text(event: Event) -> str | None:
    """An event's details as they are stored."""
    return None if event.details is None else canonical(event.details)


def digest(previous: bytes, event: Event, details: str | None) -> bytes:
    """The hash of an event, its details as they are stored, that follows the event of hash `previous`."""
    return hashlib.sha256(previous + canonical((*event[:-1], details)).encode()).digest()


def check_text(name: str, text: object, *, empty: bool = True) -> str:
    """Text that can stand in a terminal, a table and a database: in one Unicode spelling, without control characters.

    Everything else is data: quotes, emoji, markup and formulas are kept as they are.
    """
    clean = unicodedata.normalize("NFC", str(text)).strip()
    # Everything printable is fine; of the rest, such as joined emoji, only these categories are not.
    if not clean.isprintable() and any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in clean):
        raise ValueError(f"{name} must not contain control characters, got {str(text)!r}")
    if not clean and not empty:
        raise ValueError(f"{name} must not be empty")
    if len(clean) > LONGEST_TEXT:
        raise ValueError(f"{name} must have at most {LONGEST_TEXT} characters, got {len(clean)}")
    return clean
