"""Instants as people write them: whole microseconds since 1970 in UTC; text without a time zone is taken as UTC.

Times are written in ISO 8601 or, as spreadsheets in much of Europe write them, day first with points: 02.03.2026 22:00.
Dates with slashes are refused, since 02/03/2026 is in February for some and in March for others.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

When: TypeAlias = datetime | date | str
"""A moment as callers may say it: a datetime, a date (its midnight), or ISO 8601 text."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The instant 0."""


DAY_FIRST = r"^(\d\d?)\.(\d\d?)\.(\d{4})"
"""How a time begins that is written with the day first."""


def read(text: str) -> datetime:
    """The time that a text says, with a zone only if it says one."""
    return datetime.fromisoformat(re.sub(DAY_FIRST, _year_first, text.strip()))


def instant(value: When, name: str = "at") -> int:
    """The instant that a datetime, a date or an ISO 8601 text such as `2026-03-02T22:00+01:00` names."""
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
    return (value - EPOCH) // timedelta(microseconds=1)


def _year_first(date: re.Match[str]) -> str:
    day, month, year = date.groups()
    return f"{year}-{month:0>2}-{day:0>2}"
