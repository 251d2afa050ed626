"""The weight of a turn by its time: nights, weekends, holidays.

The weights are one line, such as `22:00-06:00=1.25, sat-sun=1.5, holiday(DE-BE)=2`. A condition is a time of the day, a
day of the week, a date, a range of these, or the public holidays of a country or of a part of it. At each moment the
largest weight of the conditions that are true then counts, and 1 where none is. The weight of a turn is their mean over
its time. With the word `hours` in the line, it is multiplied by the length of the turn in hours.

A plan and a decision store the weighted needs. So `verify` needs no list of holidays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bygones._parts import needed_by
from bygones.ledger.model.days import covers
from bygones.ledger.model.span import Span
from bygones.ledger.model.times import as_datetime, instant

HOURS = "hours"
"""The word by which a turn also counts by its length."""

LARGEST_WEIGHT = 1_000.0
"""The largest weight."""

_CLOCKS = re.compile(r"(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)")
_HOLIDAY = re.compile(r"holiday\(\s*([A-Z]{2})(?:-([A-Z0-9]{1,3}))?\s*\)")
_ACCEPTED = (
    "conditions with their weights, such as 22:00-06:00=1.25, sat-sun=1.5, 2026-12-24=2, holiday(DE-BE)=2, and perhaps "
    "the word hours"
)

Condition = Callable[[datetime], bool]
"""Whether a condition is true at a local time."""


class TurnWeights(NamedTuple):
    """The weights of a line.

    Attributes:
        conditions: each with its weight.
        clocks: the times of the day at which a weight may change, besides midnight.
        by_hours: whether a turn also counts by its length.
    """

    conditions: tuple[tuple[Condition, float], ...]
    clocks: tuple[time, ...]
    by_hours: bool

    def of(self, span: Span, zone: str) -> float:
        """The weight of a turn; of an instant, the weight at this instant."""
        here = ZoneInfo(zone)
        if not span.hours:
            return self._at(as_datetime(span.start).astimezone(here))
        cuts = sorted({*span, *(at for at in self._changes(span, here) if span.covers(at))})
        parts = [((end - start), self._at(as_datetime(start).astimezone(here))) for start, end in pairwise(cuts)]
        mean = sum(length * weight for length, weight in parts) / (span.end - span.start)
        return mean * span.hours if self.by_hours else mean

    def _at(self, local: datetime) -> float:
        """The largest weight at a local time."""
        return max((weight for holds, weight in self.conditions if holds(local)), default=1.0)

    def _changes(self, span: Span, here: ZoneInfo) -> list[int]:
        """The instants from the first day of a turn to its last at which a weight may change."""
        first, last = (as_datetime(at).astimezone(here).date() for at in span)
        days = [first + timedelta(days=i) for i in range((last - first).days + 1)]
        clocks = (time(), *self.clocks)
        return [instant(datetime.combine(day, clock, here).astimezone(UTC)) for day in days for clock in clocks]


@cache
def read_weights(line: str) -> TurnWeights:
    """The weights of a line; ValueError if it is none. An empty line has none."""
    conditions: list[tuple[Condition, float]] = []
    clocks: list[time] = []
    terms = [term.strip() for term in re.split(r",(?![^(]*\))", line) if term.strip()]
    for term in terms:
        if term == HOURS:
            continue
        text, _, number = term.rpartition("=")
        try:
            weight = float(number)
            condition, at = _condition(text.strip())
        except ValueError:
            raise ValueError(f"turn_weights must be {_ACCEPTED}, got {term!r}") from None
        if not 0 <= weight <= LARGEST_WEIGHT:
            raise ValueError(f"turn_weights must be from 0 to {LARGEST_WEIGHT:g}, got {term!r}")
        conditions.append((condition, weight))
        clocks += at
    return TurnWeights(tuple(conditions), tuple(clocks), HOURS in terms)


def check_holidays(line: str) -> None:
    """Refuses the public holidays of a country or a part of it that is not known, before anything depends on them."""
    for country, part in _HOLIDAY.findall(line):
        _holidays(country, part or None, 2026)


def _condition(text: str) -> tuple[Condition, list[time]]:
    """A condition, and the times of the day at which it may change."""
    holiday, clocks = _HOLIDAY.fullmatch(text), _CLOCKS.fullmatch(text)
    if holiday is not None:
        country, part = holiday.groups()
        return lambda local: local.date() in _holidays(country, part, local.year), []
    if clocks is not None:
        first, last = time(int(clocks[1]), int(clocks[2])), time(int(clocks[3]), int(clocks[4]))
        if first < last:
            return lambda local: first <= local.time() < last, [first, last]
        return lambda local: local.time() >= first or local.time() < last, [first, last]
    covers(text.lower(), date(2026, 1, 1))  # refused if it is none
    return lambda local: covers(text.lower(), local.date()), []


@cache
def _holidays(country: str, part: str | None, year: int) -> frozenset[date]:
    """The public holidays of a year."""
    with needed_by("a weight of public holidays"):
        import holidays
    try:
        return frozenset(holidays.country_holidays(country, subdiv=part, years=year))
    except NotImplementedError as error:
        name = country if part is None else f"{country}-{part}"
        raise ValueError(
            f"turn_weights: the public holidays of {name} are not known ({error}); name the dates"
        ) from None
