"""The needs of dates ahead, read from a table.

A table with a column `date` has the needs of each date: the rows of one date are a table of needs. A table without one
is the people's table; it holds for every date that is asked for. An empty cell is an item that the person cannot
take. In either, a column `available` shows who can take part, and the others are left out: `yes`, which is also
an empty cell, or `no`; or days of the week, dates and ranges of either with spaces or semicolons between them, such as
`mon-fri` or `2026-12-24..2026-12-26`. `not` at the beginning lists when a person is not available.

Turns may have a length. A person must then be available on each day to which a turn belongs: a night belongs to the day
on which it begins, and a week to seven days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bygones._times import instant
from bygones.allocation.problem_contract import Problem
from bygones.allocation.tables import Row, problem_of_rows, read_rows
from bygones.ledger.model.days import covers
from bygones.ledger.model.span import Span, Spans, lasting, lasting_all, until
from bygones.ledger.model.times import UNITS, as_datetime, duration
from bygones.ledger.model.times import day as day_of

MOST_DATES = 1_000
"""The most dates of one plan."""

_ACCEPTED = (
    "yes, no, days such as mon-fri, or dates such as 2026-12-24..2026-12-26, with or without not before "
    "them, and semicolons between several"
)

_NOT_NEEDS = ("date", "available", "length", "until")
"""Columns about the date and the people, not about needs."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d\d?\.\d\d?\.\d{4}")


class DateNeeds(NamedTuple):
    """The needs of a date.

    Attributes:
        at: the instant at which its first turn begins, or the start of the day where no time was given.
        all_day: whether no time was given.
        request: the request of the agents who are available.
        unavailable: the agents who are not.
        spans: how long each item lasts, if known; see `model.span`.
    """

    at: int
    all_day: bool
    request: Problem
    unavailable: tuple[str, ...] = ()
    spans: Spans = MappingProxyType({})


def has_dates(rows: Sequence[Row]) -> bool:
    """Whether a table of these rows has a column `date`."""
    return bool(rows) and "date" in rows[0][1]


def read_dates(
    path: Path,
    zone: str,
    dates: Sequence[str] = (),
    *,
    k: int | None = None,
    capacity: int | None = None,
    amount: float | None = None,
    whole: bool = False,
    nobody: bool = False,
    lengths: Mapping[str, str] = MappingProxyType({}),
    planned: Mapping[int, Spans] = MappingProxyType({}),
) -> list[DateNeeds]:
    """The needs of each date, in the order of time.

    Args:
        path: the CSV file.
        zone: the ledger's time zone.
        dates: the dates, for a table without a column `date`; see `dates_from`.
        k: the number of places on each date, for a table of needs.
        capacity: the most items that one agent may take on a date, for a table of items.
        amount: the amount to divide on each date.
        whole: whether it is divided in whole units.
        nobody: whether a date on which nobody is available is read too, with a request of no agents.
        lengths: how long turns last, by item, or under the empty name all, such as `10h` or `20:00-06:00`. In a table
            with dates, the columns `length` and `until` give the length of a single date instead.
        planned: by instant, how long the turns of a date last that is planned already.
    """
    rows = read_rows(path)
    by_date: dict[str, list[Row]] = {}
    if has_dates(rows):
        if dates:
            raise ValueError(f"{path} has a column 'date': leave out the dates, or delete the column")
        for line, row in rows:
            by_date.setdefault(row["date"], []).append((line, row))
    else:
        if not dates:
            raise ValueError(f"{path} has no column 'date': add one, or give the dates with --from and --until")
        by_date = dict.fromkeys(dates, rows)
    if len(by_date) > MOST_DATES:
        raise ValueError(f"a plan must have at most {MOST_DATES} dates, got {len(by_date)}")
    problem = partial(problem_of_rows, path, k=k, capacity=capacity, amount=amount, whole=whole)

    def spans_of(at: int, rows: Sequence[Row]) -> Spans:
        return _lengths(path, rows, at, zone) or _planned_then(planned, at, zone) or lasting_all(lengths, at, zone)

    needs_of_dates = [_of_date(path, text, each, zone, problem, nobody, spans_of) for text, each in by_date.items()]
    needs_of_dates.sort(key=lambda needs: needs.at)
    for one, other in pairwise(needs_of_dates):
        if one.at == other.at:
            raise ValueError(f"{path} has one date in two spellings: {as_datetime(one.at):%Y-%m-%d}")
    return needs_of_dates


def dates_from(first: str, until: str, every: str, zone: str) -> list[str]:
    """The dates from the first until before another, as text; `every` is a number of days such as `1d` or `1w`."""
    days = duration(every, "every") / UNITS["d"]
    if not days < 366 or days != int(days):
        raise ValueError(f"every must be a whole number of days, less than a year, got {every!r}")
    start, end = (as_datetime(instant(text, name, zone)).astimezone(ZoneInfo(zone))
                  for text, name in ((first, "from"), (until, "until")))  # fmt: skip
    clock = "" if _DAY.fullmatch(first.strip()) else f"T{start:%H:%M}"
    count = -(-(end.date() - start.date()).days // int(days))
    if not 1 <= count <= MOST_DATES:
        raise ValueError(f"until must be after from, by at most {MOST_DATES} dates, got {first} and {until}")
    return [f"{start.date() + timedelta(days=int(days) * i)}{clock}" for i in range(count)]


def _of_date(
    path: Path,
    text: str,
    rows: Sequence[Row],
    zone: str,
    problem: Callable[[Sequence[Row]], Problem],
    nobody: bool,
    spans_of: Callable[[int, Sequence[Row]], Spans],
) -> DateNeeds:
    """The needs of one date; `problem` makes the request of the rows of the agents who are available."""
    at = instant(text, f"{path}, row {rows[0][0]}: column 'date'" if "date" in rows[0][1] else "from", zone)
    day = as_datetime(at).astimezone(ZoneInfo(zone)).date()
    spans = spans_of(at, rows)
    all_day = _DAY.fullmatch(text.strip()) is not None and at in (
        span.start for span in spans.values() or [Span(at, at)]
    )
    at = min((span.start for span in spans.values()), default=at)
    days = sorted({day, *(each for span in spans.values() for each in span.days(zone))})
    here: list[Row] = []
    away: list[Row] = []
    for line, row in rows:
        answer = row.get("available", "")
        name_of_cell = f"{path}, row {line}: column 'available'"
        is_here = all(is_available(answer, each, name_of_cell) for each in days)
        left = {name: cell for name, cell in row.items() if name not in _NOT_NEEDS}
        (here if is_here else away).append((line, left))
    if not (here or nobody):
        raise ValueError(f"{path}: nobody is available on {day}")
    try:
        request = problem(here) if here else problem(away).among([])
    except ValueError as error:
        raise error if ", row " in str(error) else ValueError(f"{day}: {error}") from None
    gone = dict.fromkeys(row["agent"] for _, row in away if row["agent"] not in request.agent_names)
    return DateNeeds(at, all_day, request, tuple(gone), spans)


def _planned_then(planned: Mapping[int, Spans], at: int, zone: str) -> Spans | None:
    """How long the turns of a date last that is planned: at this instant, or alone on the day that it begins."""
    days = [spans for then, spans in planned.items() if day_of(then, zone) == day_of(at, zone)]
    return planned.get(at) or (days[0] if len(days) == 1 and at == instant(day_of(at, zone), zone=zone) else None)


def _lengths(path: Path, rows: Sequence[Row], at: int, zone: str) -> dict[str, Span]:
    """The time of all turns of a date, from the columns `length` or `until`, which must be the same in all its rows."""
    found: dict[Span, int] = {}
    for line, row in rows:
        for column, read_length in (("length", lasting), ("until", until)):
            if row.get(column):
                found.setdefault(read_length(row[column], at, zone, f"{path}, row {line}: column {column!r}"), line)
    if len(found) > 1:
        one, other = list(found.values())[:2]
        raise ValueError(f"{path}: rows {one} and {other} give one date two different lengths")
    return dict.fromkeys([""], next(iter(found))) if found else {}


def is_available(text: str, day: date, name: str = "available") -> bool:
    """Whether a person with this availability is available on a day."""
    words = [word for word in re.split(r"[;\s]+", text.strip().lower()) if word]
    if words in ([], ["yes"], ["always"]):
        return True
    if words in (["no"], ["never"]):
        return False
    negated = words[0] == "not"
    if negated and len(words) == 1:
        raise ValueError(f"{name} must be {_ACCEPTED}, got {text!r}")
    try:
        covered = [covers(word, day) for word in words[negated:]]
    except ValueError:
        raise ValueError(f"{name} must be {_ACCEPTED}, got {text!r}") from None
    return any(covered) is not negated
