"""Instants and durations as people write them.

An instant is a whole number of microseconds since 1970 in UTC. Text without a time zone is read in the ledger's time
zone, and instants are shown in it, so a ledger means the same on every machine. Programs get UTC.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bygones._times import EPOCH, When, instant

__all__ = [
    "SECOND", "UNITS", "When", "as_datetime", "day", "day_in_words", "duration", "format_instant", "in_words",
    "instant", "iso", "later_by", "now", "short_day", "shown",
]  # fmt: skip

SECOND = 1_000_000
"""Microseconds, the unit of instants."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365.25 * 86400.0}
"""Units of durations, in seconds."""

_WORDS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "w", "year": "y"}
# Not from the locale, so a sentence is the same everywhere.
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SECONDS = UNITS | {f"{word}{plural}": UNITS[unit] for word, unit in _WORDS.items() for plural in ("", "s")}

_DURATION = re.compile(r"([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)", re.IGNORECASE)


def now() -> int:
    """This instant."""
    return instant(datetime.now(UTC))


def as_datetime(at: int) -> datetime:
    """The instant as a datetime in UTC."""
    return EPOCH + timedelta(microseconds=at)


def iso(at: int) -> str:
    """The instant as ISO 8601 text in UTC, for programs."""
    return as_datetime(at).isoformat().replace("+00:00", "Z")


def shown(at: int, zone: str = "UTC") -> str:
    """The instant to the minute, for people, in a time zone that tables name once."""
    return as_datetime(at).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def format_instant(at: int, zone: str = "UTC") -> str:
    """The instant to the minute, with its time zone, for sentences."""
    return f"{shown(at, zone)} {zone}"


def day(at: int, zone: str = "UTC") -> str:
    """The day of the instant in a time zone, in ISO form, which draws are hashed over."""
    return as_datetime(at).astimezone(ZoneInfo(zone)).date().isoformat()


def day_in_words(at: int, zone: str = "UTC") -> str:
    """The day of the instant in a sentence: `1 March 2026`."""
    local = as_datetime(at).astimezone(ZoneInfo(zone))
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def short_day(at: int, zone: str, near: int) -> str:
    """The day of the instant in a narrow column: `10 Jan`, with its year if another instant is in another one."""
    local, other = (as_datetime(each).astimezone(ZoneInfo(zone)) for each in (at, near))
    year = "" if local.year == other.year else f" {local.year}"
    return f"{local.day} {_MONTHS[local.month - 1][:3]}{year}"


def in_words(text: str) -> str:
    """A duration in a sentence: `30 days`, `1 hour`."""
    match = _DURATION.fullmatch(str(text).strip())
    if match is None:
        return str(text)
    unit = next(word for word, short in _WORDS.items() if short == _short(match[2]))
    return f"{match[1]} {unit}{'' if float(match[1]) == 1 else 's'}"


def _short(unit: str) -> str:
    """A unit of durations as `UNITS` has it."""
    return unit.lower() if unit.lower() in UNITS else _WORDS[unit.lower().rstrip("s")]


def duration(text: str, name: str = "half_life") -> float:
    """The seconds in a duration such as `30d`, `12 hours` or `inf`; zero is refused."""
    remembers = name == "half_life"
    accepted = f"a time above 0 with its unit ({', '.join(UNITS)}), such as 30d or 12h"
    accepted += ", or inf for perfect recall" if remembers else ""
    stripped = str(text).strip()
    if stripped.lower() in ("inf", "infinity", "never"):
        return math.inf
    match = _DURATION.fullmatch(stripped)
    if match is None or match[2].lower() not in _SECONDS:
        raise ValueError(f"{name} must be {accepted}, got {text!r}")
    seconds = float(match[1]) * _SECONDS[match[2].lower()]
    if seconds == 0:
        why = ": after a half-life of zero nothing is remembered" if remembers else ""
        raise ValueError(f"{name} must be {accepted}, got {text!r}{why}")
    if not math.isfinite(seconds):
        raise ValueError(f"{name} must be {accepted}, got {text!r}: write inf for a time without end")
    return seconds


def later_by(moment: datetime, text: str, name: str) -> datetime:
    """The moment that is a duration later, refused if it is beyond the calendar."""
    seconds = duration(text, name)
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError(f"{name} must end before the year 10000, got {text!r}") from None
