"""Reads dates and times. An instant is a whole number of microseconds since 1970 in UTC; UTC is the default time zone.

Times are written in ISO 8601 or, as in many European spreadsheets, with the day first: 02.03.2026 22:00. Dates with
slashes are not accepted, because 02/03/2026 means 3 February to some readers and 2 March to others.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

When: TypeAlias = datetime | date | str
"""A time as callers may give it: a datetime, a date (midnight at its start), or ISO 8601 text."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The instant 0."""


DAY_FIRST = r"^(\d\d?)\.(\d\d?)\.(\d{4})"
"""Matches the beginning of a time that is written with the day first."""


def read(text: str) -> datetime:
    """Parses a time; it has a time zone only if the text names one."""
    return datetime.fromisoformat(re.sub(DAY_FIRST, _year_first, text.strip()))


def instant(value: When, name: str = "at") -> int:
    """The instant of a datetime, a date or an ISO 8601 text such as `2026-03-02T22:00+01:00`."""
    if isinstance(value, str):
        try:
            value = read(value)
        except ValueError:
            raise ValueError(
                f"{name} must be a date or time such as 2026-03-02 or 2026-03-02T22:00+01:00, got {value!r}"
            ) from None
    if not isinstance(value, datetime):
        if not isinstance(value, date):
            raise ValueError(f"{name} must be a date, a datetime or ISO 8601 text, got {value!r}")
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        value = value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{name} must be in the years 1 to 9999 in UTC, got {value}") from None
    return (value - EPOCH) // timedelta(microseconds=1)


def _year_first(date: re.Match[str]) -> str:
    day, month, year = date.groups()
    return f"{year}-{month:0>2}-{day:0>2}"
