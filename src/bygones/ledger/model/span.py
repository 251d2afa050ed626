"""How long turns last: the time of a turn, and how people write it.

A turn lasts from its start until just before its end, both instants. So a night over a change of the clocks has its
true length. A turn of which no end is known is an instant, as every turn in a ledger of before there were lengths.

People write `10h`, which is counted from the start; or `1w`, which ends at the same time by the clock; or clock times
such as `20:00-06:00`, where the turn begins at the first such time on its date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from bygones._text import check_text
from bygones.ledger.model.times import SECOND, UNITS, as_datetime, duration, instant, iso, shown

LONGEST = 31
"""The most days of a turn."""

EARLIER = (LONGEST + 1) * round(UNITS["d"]) * SECOND
"""A turn that lasts at an instant began at most so long before."""

UNTIL = "until"
"""The detail of a record with the end of the turn that was served."""

_DAY = timedelta(days=1)
_CLOCKS = re.compile(r"(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)")
_DAYS = re.compile(r"\d+\s*(d|days?|w|weeks?)", re.IGNORECASE)


class Span(NamedTuple):
    """The time of a turn, from its start until just before its end."""

    start: int
    end: int

    @property
    def hours(self) -> float:
        """The true length, which a change of the clocks makes shorter or longer than the clock times look."""
        return (self.end - self.start) / SECOND / UNITS["h"]

    def overlaps(self, other: Span) -> bool:
        """Whether the two have some time in common; an instant has none."""
        return max(self.start, other.start) < min(self.end, other.end)

    def covers(self, at: int) -> bool:
        """Whether an instant is within the turn."""
        return self.start <= at < self.end

    def days(self, zone: str) -> list[date]:
        """The days to which the turn belongs: that on which it begins, and of a longer one each 24 hours later.

        So a night belongs to the day on which it begins, and a week of on-call duty to seven days.
        """
        start, end = (as_datetime(at).astimezone(ZoneInfo(zone)).replace(tzinfo=None) for at in self)
        later = max(0, -((start - end) // _DAY) - 1)
        return [start.date() + i * _DAY for i in range(later + 1)]

    def to_dict(self) -> dict[str, Any]:
        """The start, the end and the true length, of the types that JSON has."""
        return {"start": iso(self.start), "until": iso(self.end), "hours": self.hours}

    def in_words(self, zone: str) -> str:
        """The start and the end: `2026-03-28 20:00 to 06:00`, with the day of the end if that is far away."""
        end = shown(self.end, zone)
        return f"{shown(self.start, zone)} to {end[-5:] if len(self.days(zone)) == 1 else end}"


Spans: TypeAlias = Mapping[str, Span]
"""The time of each item of a date; under the empty name, that of places and of all other items."""


def span_of(spans: Spans, item: str | None, at: int) -> Span:
    """The time of an item or a place that is given at an instant; that instant alone if no length is known."""
    return spans.get(item or "", spans.get("", Span(at, at)))


def whole(spans: Spans) -> Span:
    """The time from the first start to the last end."""
    return Span(min(span.start for span in spans.values()), max(span.end for span in spans.values()))


def load_spans(details: Mapping[str, Any]) -> dict[str, Span]:
    """The times of the turns of a decision or a plan, from its details."""
    return {item: Span(*times) for item, times in details.get("spans", {}).items()}


def save_spans(spans: Spans) -> dict[str, Any]:
    """The details by which a decision or a plan stores the times of its turns."""
    return {"spans": {item: list(span) for item, span in spans.items()}} if spans else {}


def lasting(text: str, at: int, zone: str, name: str = "length") -> Span:
    """The time of a turn that is written as `10h`, `1w` or `20:00-06:00`, and given at an instant."""
    here, written = ZoneInfo(zone), text.strip()
    begins = as_datetime(at).astimezone(here)
    clocks = _CLOCKS.fullmatch(written)
    if clocks is not None:
        try:
            first, last = time(int(clocks[1]), int(clocks[2])), time(int(clocks[3]), int(clocks[4]))
        except ValueError:
            raise ValueError(f"{name} must have times from 00:00 to 23:59, got {text!r}") from None
        start = _next(first, begins, here)
        return Span(instant(start), instant(_next(last, start, here, after=True)))
    try:
        seconds = duration(written, name)
    except ValueError:
        raise ValueError(
            f"{name} must be a length such as 10h or 1w, or times such as 20:00-06:00, got {text!r}"
        ) from None
    if not seconds <= LONGEST * UNITS["d"]:
        raise ValueError(f"{name} must be at most {LONGEST} days, got {text!r}")
    if _DAYS.fullmatch(written):
        whole = timedelta(days=round(seconds / UNITS["d"]))
        return Span(at, instant(_real(begins.replace(tzinfo=None) + whole, here)))
    return Span(at, at + round(seconds * SECOND))


def lasted(text: str, at: int, zone: str, name: str = "length") -> Span:
    """The time of a turn that is written as `10h`, as `20:00-06:00` from that instant on, or as `until 06:00`."""
    written = text.strip()
    if written.lower().startswith("until "):
        return until(written[6:], at, zone, name)
    span = lasting(written, at, zone, name)
    if span.start != at:
        raise ValueError(f"{name} must begin at the time of the turn ({shown(at, zone)}), got {text!r}")
    return span


def until(text: str, at: int, zone: str, name: str = "until") -> Span:
    """The time of a turn from an instant until another, which is written as `06:00` or `2026-03-29 06:00`."""
    clock = re.fullmatch(r"(\d\d?):(\d\d)", text.strip())
    if clock is not None and int(clock[1]) < 24 and int(clock[2]) < 60:
        here = ZoneInfo(zone)
        last = time(int(clock[1]), int(clock[2]))
        return Span(at, instant(_next(last, as_datetime(at).astimezone(here), here, after=True)))
    return checked(Span(at, instant(text, name, zone)), zone, name)


def checked(span: Span, zone: str, name: str) -> Span:
    """A span, refused if it ends before it begins or lasts too long."""
    if not span.start < span.end <= span.start + LONGEST * round(UNITS["d"]) * SECOND:
        start, end = (shown(at, zone) for at in span)
        raise ValueError(f"{name} must be after the start ({start}), by at most {LONGEST} days, got {end}")
    return span


def read_lengths(texts: Sequence[str]) -> dict[str, str]:
    """Lengths by item, from texts such as `10h` for everything or `night=20:00-06:00` for an item."""
    lengths: dict[str, str] = {}
    for text in texts:
        item, _, length = text.rpartition("=")
        lengths[check_text("the item of a length", item.strip())] = length.strip()
    return lengths


def lasting_all(lengths: Mapping[str, str], at: int, zone: str) -> dict[str, Span]:
    """The times of items, by their lengths, that are given at an instant."""
    return {item: lasting(length, at, zone) for item, length in lengths.items()}


def _next(clock: time, after_this: datetime, zone: ZoneInfo, *, after: bool = False) -> datetime:
    """The first instant at which a clock shows a time, from another on or, with `after`, later than that."""
    day = after_this.astimezone(zone).date()
    found = _real(datetime.combine(day, clock), zone)
    is_past = found <= after_this if after else found < after_this
    return _real(datetime.combine(day + _DAY, clock), zone) if is_past else found


def _real(local: datetime, zone: ZoneInfo) -> datetime:
    """A local time as an instant; where clocks skip it, the same moment by the new time."""
    return local.replace(tzinfo=zone).astimezone(UTC)
