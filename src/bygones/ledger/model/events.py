"""The events a ledger is made of, and the chain of hashes over them.

Events are only ever appended. Each has the SHA-256 of its predecessor's hash and its own text. An event that is edited,
removed or inserted later changes every hash after it, and `verify` shows the first that does not fit.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, NamedTuple

from bygones._times import When
from bygones.ledger.model.times import iso

RECEIVED = ("received", "planned")
"""Kinds of event by which an agent receives something; a planned amount counts from its day on."""

AMOUNTS = (*RECEIVED, "offset", "correction", "join")
"""Kinds of event with an amount: a utility received or planned; an offset, remembered though it was not received; the
difference that corrects one of the others; the start of a newcomer."""

DECISIONS = ("decision", "plan")
"""Kinds of event that assign something: a decision, or the plan for a date ahead."""

PARTICIPATION = ("join", "leave", "hold", "resume")
"""Kinds of event with which an agent begins or ends to take part."""

KINDS = ("rules", "decision", "received", "offset", "correction", *PARTICIPATION, "plan", "planned", "void")

LARGEST = 1e15
"""The largest amount of an event, above or below zero.

Bounds are wider than all real amounts, and narrow enough that no sum of them, however long the ledger, becomes
infinite. The tables of a new ledger repeat them, so no program can get around them."""

LARGEST_CORRECTION = 2 * LARGEST
"""The largest correction, which takes an amount from one end to the other."""

GENESIS = bytes(32)
"""The hash before the first event."""


class Event(NamedTuple):
    """One line of the ledger.

    Attributes:
        seq: its number, from 1 on without gaps.
        kind: one of `KINDS`.
        time: the instant from which it counts.
        recorded: the instant at which it was recorded.
        agent: the agent it is about; None for rules and decisions.
        amount: the amount, for the kinds that have one.
        refers: the event that a correction corrects or that is void from here on, or the decision or plan through
            which something is received.
        note: a remark by the author.
        details: the settings of a rule change; a decision's or a plan's needs and reasons; a planned turn, in words.
        author: who recorded it, if known.
        key: chosen by the author; recording the event again with it has no effect.
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
    author: str = ""
    key: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event, of the types that JSON has."""
        return self._asdict() | {"time": iso(self.time), "recorded": iso(self.recorded)}


class Entry(NamedTuple):
    """Something received, or an offset, to be recorded; by default now. With a key it is recorded once only.

    `where` is the place it was read from, such as a file and a row of it, for messages. `length` is how long the turn
    lasted, such as `10h` or `20:00-06:00`, or until when, such as `until 06:00`; empty if it is not known.
    """

    agent: str
    amount: float
    at: When | None = None
    note: str = ""
    key: str | None = None
    where: str = ""
    length: str = ""


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def load_details(text: str | None) -> dict[str, Any]:
    """An event's details from their JSON text."""
    return {} if text is None else dict(json.loads(text))


def canonical(value: object) -> str:
    """JSON in one spelling: keys in order, no spaces, numbers in their shortest exact form."""
    return _encoder.encode(value)


def details_text(event: Event) -> str | None:
    """An event's details as the text that is stored."""
    return None if event.details is None else canonical(event.details)


def digest(previous: bytes, event: Event, details: str | None) -> bytes:
    """The hash of an event, with its details as stored text, that follows the event of hash `previous`.

    Fields that later versions added are hashed only where they are present, so older events keep their hashes.
    """
    *first, _, author, key = event
    added = {name: value for name, value in (("author", author), ("key", key)) if value}
    text = canonical((*first, details, added) if added else (*first, details))
    return hashlib.sha256(previous + text.encode()).digest()


def check_amount(name: str, amount: object, kind: str) -> float:
    """An amount within the bounds; only an offset may be below zero."""
    try:
        number = float(amount)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (abs(number) <= LARGEST and (number >= 0 or kind == "offset")):
        least = -LARGEST if kind == "offset" else 0
        raise ValueError(f"{name} must be a number from {least:g} to {LARGEST:g}, got {amount!r}")
    return number + 0.0  # SQLite drops the sign of a zero


def is_counted(amount: float) -> bool:
    """Whether an amount counts; not if it is beyond the bounds, which only an earlier version could record."""
    return abs(amount) <= LARGEST_CORRECTION


def counted(amount: float) -> float:
    """The amount that counts: zero if it is beyond the bounds."""
    return amount if is_counted(amount) else 0.0
