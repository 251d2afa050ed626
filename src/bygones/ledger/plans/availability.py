"""On which days somebody is available, as people write it: `mon-fri`, `not 2026-12-24..2026-12-26`, `no`.

Days of the week, dates and ranges of either are separated by spaces or semicolons. `not` at the beginning says when
somebody is not available. An empty cell, or `yes`, is somebody who always is.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from bygones._times import read

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of the week, by the beginnings of their names."""

_ACCEPTED = (
    "yes, no, days such as mon-fri, or dates such as 2026-12-24..2026-12-26, with or without not before "
    "them, and semicolons between several"
)


def is_available(text: str, day: date, name: str = "available") -> bool:
    """Whether somebody with this availability is available on a day."""
    words = [word for word in re.split(r"[;\s]+", text.strip().lower()) if word]
    if words in ([], ["yes"], ["always"]):
        return True
    if words in (["no"], ["never"]):
        return False
    negated = words[0] == "not"
    if negated and len(words) == 1:
        raise ValueError(f"{name} must be {_ACCEPTED}, got {text!r}")
    try:
        covered = [_covers(word, day) for word in words[negated:]]
    except ValueError:
        raise ValueError(f"{name} must be {_ACCEPTED}, got {text!r}") from None
    return any(covered) is not negated


def _covers(word: str, day: date) -> bool:
    first, between, last = word.partition("..")
    if not between and word[:3] in WEEK:
        first, _, last = word.partition("-")
        start, end = _weekday(first), _weekday(last or first)
        return (day.weekday() - start) % 7 <= (end - start) % 7
    begins, ends = read(first).date(), read(last or first).date()
    return begins <= day < ends + timedelta(days=1)


def _weekday(word: str) -> int:
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if len(word) < 3 or not any(name.startswith(word) for name in names):
        raise ValueError(word)
    return WEEK.index(word[:3])
