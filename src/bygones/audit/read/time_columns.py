"""Reads the times of a history: instants, dates in many spellings, Unix times, or step numbers.

Times become whole microseconds since 1970 in UTC, or stay step numbers. Their format is detected, and a note explains
how they were read if there was something to detect. Dates that can be read in two ways, such as 02/03/2026,
are refused unless the column has one that cannot, or `time_format` is given.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, TypeAlias

import ibis
import ibis.expr.datatypes as dt

from bygones._times import DAY_FIRST
from bygones.audit.read.clock import Clock, offsets
from bygones.audit.read.sources import Source, is_number, readable

_ZONED = r":\d\d(\.\d+)?\s*([zZ]|UTC|[+-]\d\d(:?\d\d)?)$"
"""Matches the text of a time that names its zone."""


UNIX = {"unix": 1_000_000.0, "unix-ms": 1000.0, "unix-us": 1.0, "unix-ns": 0.001}
"""Unix times by their name, with the number of microseconds in one unit."""

NAMED = ("auto", "month-first", "day-first", *UNIX, "steps")
"""The values of `time_format`, besides formats such as `%d %b %Y %H:%M`."""

_UNIT_NAMES = {"unix": "seconds", "unix-ms": "milliseconds", "unix-us": "microseconds", "unix-ns": "nanoseconds"}
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800  # 1990 and 2100, in Unix seconds
_SLASHES = r"^\s*(\d\d?)[/-](\d\d?)[/-](\d{4}|\d\d)\b"
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S")
_DATES = {
    "month-first": ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y"),
    "day-first": ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y", "%d-%m-%y", "%d.%m.%Y", "%d.%m.%y"),
    "named": ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y"),
}


_builtin = ibis.udf.scalar.builtin
_TRY_STRPTIME = _builtin(name="try_strptime", signature=((dt.string, dt.Array(dt.string)), dt.timestamp))(
    lambda text, formats: None
)
_EPOCH_US = _builtin(name="epoch_us", signature=((dt.timestamp,), dt.int64))(lambda moment: None)
_UNIX_MICROS = _builtin(name="unix_micros", signature=((dt.Timestamp("UTC"),), dt.int64))(lambda moment: None)
_TYPEOF = _builtin(name="typeof", signature=((dt.timestamp,), dt.string))(lambda moment: None)


Bounds: TypeAlias = dict[str, Any]
"""The `first` and the `last` of some times, as numbers, the number of rows `n` and of rows with a time, `timed`."""


class Timed(NamedTuple):
    """Rows whose `time` is in microseconds or steps, with facts about their times.

    Attributes:
        rows: the rows.
        clock: the meaning of the times.
        bounds: `first`, `last` and the number of rows `n`.
        notes: how the times were read, in sentences.
    """

    rows: ibis.Table
    clock: Clock
    bounds: Bounds
    notes: tuple[str, ...] = ()


def check_time_format(how: str) -> str:
    """The format, refused unless it is named or has a percent sign."""
    if how not in NAMED and "%" not in how:
        raise ValueError(
            f"time_format must be one of {', '.join(NAMED)}, or a format such as %d %b %Y %H:%M, got {how!r}"
        )
    return how


def with_times(source: Source, rows: ibis.Table, name: str, zone: str, how: str = "auto") -> Timed:
    """The rows with `time` in microseconds or steps.

    Args:
        source: where the rows come from.
        rows: an Ibis table with a column `time` of any type.
        name: the name of that column, for errors.
        zone: the time zone of times without one.
        how: one of `NAMED`, or a format such as `%d %b %Y`, for times in text.
    """
    raw = rows.time
    kind = raw.type()
    if kind.is_string():
        return _with_text_times(source, rows, name, zone, how)
    if kind.is_numeric():
        steps = raw.cast("int64" if kind.is_integer() else "float64")
        return _with_numbers(source, rows.mutate(time=steps, time_raw=raw), name, zone, how)
    if not (kind.is_timestamp() or kind.is_date()):
        raise ValueError(f"{source.label}: {name} must be times, dates or step numbers, got a column of type {kind}")
    assumed = kind.is_date() or not _has_zone(source, rows)
    moments = raw.cast("timestamp") if kind.is_date() else raw
    first, last = (microseconds(each, source.engine) for each in (moments.min(), moments.max()))
    bounds = _bounds_in_footers(source, name) or _bounds(source, rows, name, first, last, raw.count())
    _check_span(source, name, bounds)
    time = microseconds(moments, source.engine)
    if assumed and zone != "UTC" and bounds["n"]:
        time = time - _offset_of(time, zone, bounds)
        bounds |= {edge: bounds[edge] - offsets(zone, bounds[edge], bounds[edge])[0][1] for edge in ("first", "last")}
    return Timed(rows.mutate(time=time, time_raw=raw), Clock(zone=zone, assumed=assumed), bounds)


def _with_numbers(source: Source, rows: ibis.Table, name: str, zone: str, how: str, accepted: str = "given") -> Timed:
    """Numbers are step numbers, unless all of them are Unix times of the years 1990 to 2100."""
    bounds = _bounds(source, rows, name, rows.time.min(), rows.time.max(), rows.time.count(), accepted)
    if source.instants:
        return Timed(rows, Clock(zone=zone), bounds)
    if how in ("month-first", "day-first") or "%" in how:
        raise ValueError(f"{source.label}: {name} must be text for time_format {how!r}, got numbers")
    unit = _unix_unit(bounds) if how == "auto" else how
    if unit not in UNIX:
        return Timed(rows, Clock(steps=True, zone=zone), bounds)
    factor = UNIX[unit]
    shown = f"{bounds['first']:.15g}"
    rows = rows.mutate(time=(rows.time * factor).round().cast("int64"))
    bounds = bounds | {edge: round(bounds[edge] * factor) for edge in ("first", "last")}
    _check_span(source, name, bounds)
    clock = Clock(zone=zone)
    note = f"Times were read as Unix {_UNIT_NAMES[unit]}: {shown} is {clock.shown(bounds['first'])} {zone}."
    steps = " If they are step numbers, add --time-format steps." if how == "auto" else ""
    return Timed(rows, clock, bounds, (note + steps,))


def _unix_unit(bounds: Bounds) -> str:
    """The unit of Unix times between 1990 and 2100, or `steps`."""
    if not bounds["n"]:
        return "steps"
    for unit, factor in UNIX.items():
        low, high = (bounds[edge] * factor / 1e6 for edge in ("first", "last"))
        if low >= _EARLIEST and high <= _LATEST:
            return unit
    return "steps"


def _has_zone(source: Source, rows: ibis.Table) -> bool:
    """Whether the times are instants, not local times without a zone."""
    if source.engine != "pyspark":
        return bool(rows.time.type().timezone is not None)
    # Ibis does not distinguish Spark's two types of timestamp, so Spark itself is asked.
    kinds = source.fetch(rows.limit(1).select(kind=_TYPEOF(rows.limit(1).time)))["kind"].to_pylist()
    return bool(kinds == ["timestamp"])


def microseconds(moment: ibis.Value, engine: str) -> ibis.Value:
    """Whole microseconds since 1970 of a column of times; times without a zone are read as UTC."""
    if engine == "duckdb":
        return _EPOCH_US(moment)
    if engine == "pyspark":
        return _UNIX_MICROS(moment.cast(dt.Timestamp("UTC")))
    if engine == "postgres":
        # In PostgreSQL the epoch includes the exact fraction of a second.
        return (moment.epoch_seconds() * 1_000_000).cast("int64")
    return (moment.truncate("s").epoch_seconds() * 1_000_000 + moment.microsecond()).cast("int64")


def _with_text_times(source: Source, rows: ibis.Table, name: str, zone: str, how: str) -> Timed:
    if source.engine != "duckdb":
        raise ValueError(
            f"{source.label}: {name} must be times, dates or numbers, got text: cast it in a view or query"
        )
    text = rows.time.strip()
    sample = source.fetch(rows.select(time=text).filter(text.length() > 0).limit(1))["time"].to_pylist()
    first = sample[0] if sample else ""
    if is_number(first) and "%" not in how:
        ready = rows.mutate(time=text.try_cast("float64"), time_raw=rows.time)
        return _with_numbers(source, ready, name, zone, how, "a number, as in the first row")
    if how in UNIX or how == "steps":
        raise ValueError(f"{source.label}: {name} must be numbers for time_format {how!r}, got {first!r}")
    formats = _formats(source, rows, name, text, first, how)
    if formats:
        time = microseconds(_TRY_STRPTIME(text, ibis.array(list(formats))), "duckdb")
        is_zoned, accepted = ibis.literal(False), f"a date or time written as {first!r} is"
    else:
        rows.get_backend().raw_sql("SET TimeZone = 'UTC'")
        # DuckDB reads a time with a zone only if it has seconds.
        full = text.re_replace(r"([T ]\d\d:\d\d)([zZ]|[+-].*)?$", r"\1:00\2")
        time = microseconds(full.try_cast(dt.Timestamp("UTC")), "duckdb")
        is_zoned, accepted = text.re_search(_ZONED), "a date or time such as 2026-03-02T22:00+01:00"
    ready = rows.mutate(time=time, time_raw=rows.time, is_zoned=is_zoned)
    bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count(), accepted)
    _check_span(source, name, bounds)
    assumed = source.fetch(ready.filter(~ready.is_zoned).count()).as_py() > 0
    notes: tuple[str, ...] = ()
    if formats and bounds["n"]:
        read = ready.filter(text == first).limit(1).select("time").to_pyarrow()["time"].to_pylist()[0]
        notes = (f"Times were read {_reading(formats, how)}: {first!r} is {Clock().shown(read)}.",)
    if assumed and zone != "UTC" and bounds["n"]:
        shifted = ready.time - _offset_of(ready.time, zone, bounds)
        ready = ready.mutate(time=ibis.ifelse(ready.is_zoned, ready.time, shifted))
        bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count())
    return Timed(ready, Clock(zone=zone, assumed=assumed), bounds, notes)


def _formats(source: Source, rows: ibis.Table, name: str, text: ibis.Value, first: str, how: str) -> tuple[str, ...]:
    """The formats to try for times that are not in ISO 8601; empty if they are."""
    if "%" in how:
        return (how,)
    if how in _DATES:
        return _with_clocks(how)
    if re.match(DAY_FIRST, first):
        return _with_clocks("day-first")
    if re.match(_SLASHES, first):
        return _with_clocks(_order(source, rows, name, text, first))
    return _with_clocks("named") if re.search(r"[A-Za-z]{3}", first) and not re.match(r"^\d{4}-", first) else ()


def _order(source: Source, rows: ibis.Table, name: str, text: ibis.Value, first: str) -> str:
    """Whether the month or the day comes first, from the values that can be read in one way only."""
    parts = rows.select(
        one=text.re_extract(_SLASHES, 1).try_cast("int64"), two=text.re_extract(_SLASHES, 2).try_cast("int64")
    )
    most = source.fetch(parts.aggregate(one=parts.one.max(), two=parts.two.max())).to_pylist()[0]
    one, two = (most["one"] or 0) > 12, (most["two"] or 0) > 12
    if one != two:
        return "day-first" if one else "month-first"
    problem = "has both days first and months first" if one else "can be read with the month or the day first"
    raise ValueError(
        f"{source.label}: {name}, such as {first!r}, {problem}: add --time-format month-first or day-first"
    )


def _with_clocks(order: str) -> tuple[str, ...]:
    return tuple(date + clock for clock in _CLOCKS for date in _DATES[order])


def _reading(formats: tuple[str, ...], how: str) -> str:
    if "%" in how:
        return f"as {how}"
    order = next(name for name, dates in _DATES.items() if formats[0] in dates)
    return {"month-first": "with the month first", "day-first": "with the day first"}.get(order, "by the month's name")


def _bounds(
    source: Source,
    rows: ibis.Table,
    name: str,
    first: ibis.Value,
    last: ibis.Value,
    timed: ibis.Value,
    accepted: str = "given",
) -> Bounds:
    asked = rows.aggregate(n=rows.count(), first=first, last=last, timed=timed)
    bounds: Bounds = source.fetch(asked).to_pylist()[0]
    if bounds["timed"] < bounds["n"]:
        source.refuse(rows, "time", name, rows.time.isnull(), accepted)
    if bounds["n"] and not all(math.isfinite(bounds[edge]) for edge in ("first", "last")):
        source.refuse(rows, "time", name, rows.time.isnan() | rows.time.isinf(), "a finite number")
    return bounds


def _bounds_in_footers(source: Source, name: str) -> Bounds | None:
    """The bounds of a column of times that the footers of Parquet files state; None where they do not, or rows count.

    The footers are read in an instant, and the column is not.
    """
    if not source.parquet or source.filtered:
        return None
    asked = (
        "SELECT epoch_us(min(try_cast(stats_min_value AS TIMESTAMP))), "
        "epoch_us(max(try_cast(stats_max_value AS TIMESTAMP))), sum(num_values)::BIGINT, bool_and("
        "num_values = 0 OR coalesce(stats_null_count = 0 AND try_cast(stats_min_value AS TIMESTAMP) IS NOT NULL "
        "AND try_cast(stats_max_value AS TIMESTAMP) IS NOT NULL, false)) "
        "FROM parquet_metadata($files) WHERE path_in_schema = $name"
    )
    with readable(source.label):
        con = source.table.get_backend().con
        first, last, n, is_known = con.execute(asked, {"files": list(source.parquet), "name": name}).fetchone()
    return {"n": n, "first": first, "last": last, "timed": n} if is_known and n else None


def _offset_of(time: ibis.Value, zone: str, bounds: Bounds) -> ibis.Value | int:
    (_, first), *changes = offsets(zone, bounds["first"], bounds["last"])
    latest_first = [(time >= since, ibis.literal(after, type="int64")) for since, after in reversed(changes)]
    return ibis.cases(*latest_first, else_=ibis.literal(first, type="int64")) if changes else first


def _check_span(source: Source, name: str, bounds: Bounds) -> None:
    """Raises ValueError if times are too far apart for exact microseconds, which usually means a mistyped year."""
    if bounds["n"] and bounds["last"] - bounds["first"] >= 2**53:
        first, last = (Clock().day(bounds[edge]) for edge in ("first", "last"))
        raise ValueError(f"{source.label}: {name} must span less than 285 years, got times from {first} to {last}")
