"""Reads dates and times. An instant is a whole number of microseconds since 1970 in UTC; UTC is the default time zone.

A date means the start of that day. Where clocks are put forward, the local times in between do not exist and are
refused; where they are put back, local times occur twice and mean the first.

Times are written in ISO 8601 or, as in many European spreadsheets, with the day first: 02.03.2026 22:00. Dates with
slashes are not accepted, because 02/03/2026 means 3 February to some readers and 2 March to others.
"""

from __future__ import annotations

import difflib
import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

When: TypeAlias = datetime | date | str
"""A time as callers may give it: a datetime, a date (midnight at its start), or ISO 8601 text."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The instant 0."""


DAY_FIRST = r"^(\d\d?)\.(\d\d?)\.(\d{4})"
"""Matches the beginning of a time that is written with the day first."""


_OF_THE_MACHINE = frozenset({"localtime", "posixrules"})
"""Names under which each machine keeps its local zone."""

_DAY = r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d(-?\d)?|\d\d?\.\d\d?\.\d{4}"


Order: TypeAlias = Literal["month-first", "day-first"]
"""Whether a date with slashes, which ISO 8601 does not have, begins with its month or its day."""


def with_year_first(text: str, order: Order) -> str:
    """A time such as 12/25/2025 10:00 PM in ISO 8601; another text unchanged."""
    match = re.fullmatch(r"(\d\d?)[/.-](\d\d?)[/.-](\d{4})(?:[T ]+(\d\d?)(:\d\d.*?)\s*([ap]m)?)?", text.strip(), re.I)
    if match is None:
        return text
    first, second, year, hour, rest, half = match.groups()
    month, day = (first, second) if order == "month-first" else (second, first)
    date = f"{year}-{month:0>2}-{day:0>2}"
    if hour is None:
        return date
    if half is not None and 1 <= int(hour) <= 12:
        hour = str(int(hour) % 12 + (12 if half.lower() == "pm" else 0))
    return f"{date}T{hour:0>2}{rest}"


def read(text: str) -> datetime:
    """Parses a time; it has a time zone only if the text names one."""
    return datetime.fromisoformat(re.sub(DAY_FIRST, _year_first, text.strip()))


def instant(value: When, name: str = "at", zone: str = "UTC") -> int:
    """The instant of a datetime, a date or an ISO 8601 text such as `2026-03-02T22:00+01:00`.

    A time without a zone is read as a time in `zone`.
    """
    is_day = not isinstance(value, datetime)
    if isinstance(value, str):
        text = value.strip()
        is_day = re.fullmatch(_DAY, text) is not None
        try:
            value = read(value)
        except ValueError:
            raise ValueError(
                f"{name} must be a date or time such as 2026-03-02, 02.03.2026 or 2026-03-02T22:00+01:00, got {value!r}"
                f"{_hint(text)}"
            ) from None
    if not isinstance(value, datetime):
        if not isinstance(value, date):
            raise ValueError(f"{name} must be a date, a datetime or ISO 8601 text, got {value!r}")
        value = datetime(value.year, value.month, value.day)
    try:
        if value.tzinfo is None:
            value = _local(value, name, zone, is_day)
        else:
            value = value.astimezone(UTC).astimezone(ZoneInfo(zone))  # it is kept in the one and shown in the other
    except OverflowError:
        both = "UTC" if zone == "UTC" else f"UTC and in {zone}"
        raise ValueError(f"{name} must be between the years 1 and 9999 in {both}, got {value}") from None
    return (value - EPOCH) // timedelta(microseconds=1)


def check_zone(zone: object, name: str = "time_zone") -> str:
    """The name of a time zone that is the same on every machine; raises ValueError, with a near name, for others."""
    key = str(zone)
    if key == "UTC" or key in _zones():
        return key
    accepted = f"{name} must be a name such as UTC or Europe/Berlin, got {zone!r}"
    if key in _OF_THE_MACHINE:
        raise ValueError(f"{accepted}, which is another zone on another machine")
    names = sorted(_zones(), reverse=True)
    known = {name.rpartition("/")[2].lower(): name for name in names} | {name.lower(): name for name in names}
    near = difflib.get_close_matches(key.strip().lower().replace(" ", "_"), known, n=1)
    raise ValueError(accepted + (f"; did you mean {known[near[0]]}?" if near else ""))


@cache
def _zones() -> frozenset[str]:
    """The names of all zones. ZoneInfo would take others on some machines: right/UTC, or europe/berlin on macOS."""
    return frozenset(available_timezones() - _OF_THE_MACHINE)


def _hint(text: str) -> str:
    """The error in a date that is written in a common form but not in ISO 8601; empty for other text."""
    if re.match(r"\d+/\d+/\d+", text):
        return ": with slashes, day and month cannot be told apart"
    if re.match(r"\d\d?\.\d\d?\.\d\d(?!\d)", text):
        return ": write the year with four digits"
    return ": there is no such day" if re.fullmatch(_DAY, text) else ""


def _local(value: datetime, name: str, zone: str, is_day: bool) -> datetime:
    """A local time with its zone: the first of two; refused if it was skipped, unless it is the start of a day."""
    local = value.replace(tzinfo=ZoneInfo(zone))
    real = local.astimezone(UTC).astimezone(ZoneInfo(zone))
    if not is_day and real.replace(tzinfo=None) != value.replace(fold=0):
        raise ValueError(
            f"{name} must be a time that exists, got {value:%Y-%m-%d %H:%M}, which clocks in {zone} skipped: "
            f"{real:%H:%M} is the same moment by the new time"
        )
    return real


def _year_first(date: re.Match[str]) -> str:
    day, month, year = date.groups()
    return f"{year}-{month:0>2}-{day:0>2}"
