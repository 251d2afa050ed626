"""Instants as people write them: whole microseconds since 1970 in UTC; text without a time zone is taken as UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

When: TypeAlias = datetime | date | str
"""A moment as callers may say it: a datetime, a date (its midnight), or ISO 8601 text."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The instant 0."""


def instant(value: When, name: str = "at") -> int:
    """The instant that a datetime, a date or an ISO 8601 text such as `2026-03-02T22:00+01:00` names."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
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
