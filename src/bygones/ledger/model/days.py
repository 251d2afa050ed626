"""Days as people write them: `mon`, `sat-sun`, `2026-12-24` or `2026-12-24..2026-12-26`."""

from __future__ import annotations

from datetime import date, timedelta

from bygones._times import read

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of the week, by the beginnings of their names."""

_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def covers(word: str, day: date) -> bool:
    """Whether a day, a day of the week or a range of either has a day in it; ValueError if it is none of these."""
    first, between, last = word.partition("..")
    if not between and word[:3] in WEEK:
        first, _, last = word.partition("-")
        start, end = _weekday(first), _weekday(last or first)
        return (day.weekday() - start) % 7 <= (end - start) % 7
    begins, ends = read(first).date(), read(last or first).date()
    return begins <= day < ends + timedelta(days=1)


def _weekday(word: str) -> int:
    if len(word) < 3 or not any(name.startswith(word) for name in _NAMES):
        raise ValueError(word)
    return WEEK.index(word[:3])
