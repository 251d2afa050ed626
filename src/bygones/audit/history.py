"""Prepares a history for the audit: from any table to the columns `agent`, `time` and `utility`.

Times become whole microseconds since 1970 in UTC, or stay step numbers. The conversion is part of the one expression
that the engine evaluates; only the first and the last time are queried beforehand, which is quick.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np

from bygones._arrays import check_one_of
from bygones._csv import unshield
from bygones._times import DAY_FIRST
from bygones.audit import formats
from bygones.audit.clock import Clock, check_zone, offsets
from bygones.audit.engines import Source, check_columns, in_memory, open_source, readable
from bygones.kinds import Kind

_ZONED = r":\d\d(\.\d+)?\s*([zZ]|UTC|[+-]\d\d(:?\d\d)?)$"
"""Matches the text of a time that names its zone."""

_YES, _NO = ("1", "true", "yes", "y", "t"), ("0", "false", "no", "n", "f")
_A_NUMBER = "a finite number of at least 0"


def _builtin(name: str, moment: Any, result: Any) -> Any:
    """A built-in function of an engine that takes a moment."""
    make = ibis.udf.scalar.builtin(name=name, signature=((moment,), result))
    return make(lambda moment: None)


_EPOCH_US = _builtin("epoch_us", dt.timestamp, dt.int64)
_UNIX_MICROS = _builtin("unix_micros", dt.Timestamp("UTC"), dt.int64)
_TYPEOF = _builtin("typeof", dt.timestamp, dt.string)


@dataclass(frozen=True)
class History:
    """The events of a history, ready to be queried.

    Attributes:
        source: the table that the events come from.
        events: an Ibis table with the columns `agent`, `time` and `utility`.
        clock: what the times mean.
        first: the time of the first event.
        last: the time of the last event.
        n_events: the number of events.
        columns: for each of the meanings `agent`, `time` and so on, the name of its column in the source.
        requests: who asked, where the history records it: an Ibis table with `agent`, `time`, `need` and `served`.
        notes: what was skipped or assumed, in sentences.
    """

    source: Source
    events: Any
    clock: Clock
    first: float
    last: float
    n_events: int
    columns: dict[str, str]
    requests: Any = None
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        """Closes the connection to the engine, if it was opened for this history."""
        self.source.close()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def fetch(self, expression: Any) -> Any:
        """Evaluates an expression in the engine; the result is an Arrow table."""
        with readable(self.source.label):
            return expression.to_pyarrow()

    def entitlements(self, at: float) -> Mapping[str, float]:
        """The entitlements in the rules of a ledger at a moment; empty if the history is not a ledger."""
        if self.source.rules is None:
            return {}
        from bygones.ledger.rows import load_book

        book = load_book(self.source.rules)
        return book.at(max(int(at), book.began)).entitlements

    def kind(self, at: float) -> Kind:
        """Whether a ledger is about goods or burdens; goods if the history is not a ledger."""
        if self.source.rules is None:
            return "good"
        from bygones.ledger.rows import load_book

        book = load_book(self.source.rules)
        return book.at(max(int(at), book.began)).kind

    def check_sums(self, table: Any) -> None:
        """Raises ValueError for the first event without a valid agent or utility."""
        if any(name is None or not str(name).strip() for name in table["agent"].unique().to_pylist()):
            agent = self.events.agent
            self._refuse("agent", agent.isnull() | (agent.cast("string").strip() == ""), "a name")
        with np.errstate(over="ignore"):
            total = np.asarray(table["received"].to_numpy(), dtype=float).sum()
        if not math.isfinite(total):
            utility = self.events.utility
            self._refuse("utility", ~(utility >= 0).fill_null(False) | utility.isnan() | utility.isinf(), _A_NUMBER)
            raise ValueError(f"{self.source.label}: the sum of the utilities is too large for a floating-point number")

    def clean_name(self, name: str) -> str:
        """An agent's name in one Unicode spelling and without control characters, safe for a terminal and a page."""
        name = unicodedata.normalize("NFC", unshield(name.strip()) if self.source.shielded else name.strip())
        if name.isprintable():
            return name
        shown = (c if unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") else "\ufffd" for c in name)
        return "".join(shown)

    def _refuse(self, what: str, is_bad: Any, accepted: str) -> None:
        refuse(self.source, self.events, what, self.columns[what], is_bad, accepted)


def refuse(source: Source, rows: Any, what: str, column: str, is_bad: Any, accepted: str) -> None:
    """Raises for the first row in which a value is bad, if there is one."""
    numbered = rows.mutate(bad=is_bad, row=ibis.row_number())
    with readable(source.label):
        found = numbered.filter(numbered.bad).order_by("row").limit(1).to_pyarrow().to_pylist()
    if found:
        row, value = found[0]["row"] + 1 + source.above, found[0].get(f"{what}_raw", found[0][what])
        raise ValueError(f"{source.label}, row {row}: {column} must be {accepted}, got {_quoted(value)}")


def read_history(
    source: Any,
    *,
    agent: str | None = None,
    time: str | None = None,
    utility: str | None = None,
    needs: str | None = None,
    served: str | None = None,
    table: str | None = None,
    format: str = "auto",
    timezone: str = "UTC",
    resource: str | None = None,
    threads: int | None = None,
    memory: str = "3GB",
) -> History:
    """Reads a history from a file, a database or a table in memory.

    Args:
        source: a file, glob, URL or table; see `bygones.audit.engines.open_source`.
        agent: the column with the names of the agents; by default `agent`, or the one that a log format has, such as
            `User` for sacct.
        time: the column with the times; by default `time`.
        utility: the column with what was received; by default `utility`, or `amount` for the events of a ledger. If
            `needs` is given, the default is the need of agents who were served and zero for the others.
        needs: the column with each agent's need, where the history records who asked.
        served: the column that tells who was served: 1 or 0, true or false, yes or no.
        table: the table to read, for databases.
        format: `table`, `ledger` (events of a ledger), a log format from `bygones.audit.formats` such as `sacct`
            (output of Slurm's `sacct -P`), or `auto`, which recognises the events of a ledger and the log formats.
        timezone: the time zone of times without one; times are also shown in it.
        resource: what to count in a log: for sacct `cpu`, `gpu`, or any other name in AllocTRES.
        threads: the number of threads that DuckDB may use; by default all.
        memory: how much memory DuckDB may use.

    Returns:
        The history, which holds a connection to its engine: use it in a `with` block, or close it.
    """
    zone = check_zone(timezone)
    check_one_of("format", format, formats.names())
    if (needs is None) != (served is None):
        raise ValueError(
            "needs and served must be given together: the columns with each agent's need and with who was served"
        )
    plain = isinstance(source, str | Path) and time is None and utility is None and needs is None
    log = format if format in formats.FORMATS else None
    if format == "auto" and plain:
        log = formats.recognised(Path(source))
    if log is not None:
        usage = formats.reader(log).read(Path(source), agent, resource)
        opened = in_memory(usage.table, str(source), threads=threads, memory=memory)
        return _history(
            opened, opened.table, {"agent": "agent", "time": "time", "utility": usage.unit}, zone, usage.notes
        )
    if resource is not None:
        raise ValueError(f"resource applies only to log formats ({', '.join(formats.FORMATS)}), got {resource!r}")
    opened = open_source(source, table, threads=threads, memory=memory)
    with ExitStack() as on_refusal:
        on_refusal.callback(opened.close)
        columns = {"agent": agent, "time": time, "utility": utility, "need": needs, "served": served}
        history = _from_source(opened, columns, format, zone)
        on_refusal.pop_all()
    return history


def _from_source(opened: Source, given: dict[str, str | None], format: str, zone: str) -> History:
    agent, time, utility, needs, served = given.values()
    unnamed = all(column is None for column in (agent, time, utility))
    if format == "ledger" or (format == "auto" and unnamed and opened.is_ledger()):
        rows, notes = _of_ledger(opened)
        return _history(opened, rows, {"agent": "agent", "time": "time", "utility": "amount"}, zone, notes)
    columns = {"agent": agent or "agent", "time": time or "time"}
    if needs is not None and served is not None:
        columns |= {"need": needs, "served": served}
    if utility is not None or needs is None:
        columns["utility"] = utility or "utility"
    check_columns(opened.columns, list(columns.values()), opened.label)
    kept = opened.table
    return _history(opened, kept.select(**{what: kept[name] for what, name in columns.items()}), columns, zone)


def _history(source: Source, rows: Any, columns: dict[str, str], zone: str, notes: tuple[str, ...] = ()) -> History:
    """The history in rows with the columns `agent`, `time` and `utility`, of any type."""
    rows, clock, bounds = with_times(source, rows, columns["time"], zone)
    if not bounds["n"]:
        raise ValueError(f"{source.label} contains no events")
    requests = None
    if "need" in columns:
        requests = _requests(source, rows, columns)
        if "utility" not in columns:
            columns = columns | {"utility": columns["need"]}
            rows = requests.mutate(utility=ibis.ifelse(requests.served, requests.need, 0.0))
    utility = as_number(rows.utility, source, columns["utility"])
    events = rows.mutate(utility=utility, utility_raw=rows.utility)
    return History(source, events, clock, bounds["first"], bounds["last"], bounds["n"], columns, requests, notes)


def _requests(source: Source, rows: Any, columns: dict[str, str]) -> Any:
    """The rows with each agent's need and whether it was served; raises ValueError where either is missing."""
    need, answer = as_number(rows.need, source, columns["need"]), rows.served
    if answer.type().is_string():
        word = answer.strip().lower()
        served = ibis.cases((word.isin(_YES), True), (word.isin(_NO), False))
    else:
        number = as_number(answer, source, columns["served"])
        served = ibis.cases((number == 1, True), (number == 0, False))
    asked = rows.mutate(need=need, served=served, need_raw=rows.need, served_raw=answer)
    refuse(source, asked, "served", columns["served"], asked.served.isnull(), "1 or 0, true or false, yes or no")
    bad = ~(asked.need >= 0).fill_null(False) | asked.need.isnan() | asked.need.isinf()
    refuse(source, asked, "need", columns["need"], bad, _A_NUMBER)
    return asked


def as_number(column: Any, source: Source, name: str) -> Any:
    """A column of numbers, from numbers or text; text that is not a number becomes NULL."""
    kind = column.type()
    if kind.is_string():
        text = column.strip().replace(",", ".") if source.decimal_comma else column.strip()
        return text.try_cast("float64") if source.engine == "duckdb" else column.cast("float64")
    if not (kind.is_numeric() or kind.is_boolean()):
        raise ValueError(f"{source.label}: {name} must be numbers, got a column of type {kind}")
    return column.cast("float64")


def with_times(source: Source, rows: Any, name: str, zone: str) -> tuple[Any, Clock, dict[str, Any]]:
    """The rows with `time` in microseconds or steps, the clock, and the first time, the last time and the row count."""
    raw = rows.time
    kind = raw.type()
    if kind.is_string():
        return _with_text_times(source, rows, name, zone)
    if kind.is_numeric():
        steps = raw.cast("int64" if kind.is_integer() else "float64")
        bounds = _bounds(source, rows, name, steps.min(), steps.max(), raw.count())
        return rows.mutate(time=steps, time_raw=raw), Clock(steps=not source.instants, zone=zone), bounds
    if not (kind.is_timestamp() or kind.is_date()):
        raise ValueError(f"{source.label}: {name} must be times, dates or step numbers, got a column of type {kind}")
    assumed = kind.is_date() or not _has_zone(source, rows)
    moments = raw.cast("timestamp") if kind.is_date() else raw
    first, last = (microseconds(each, source.engine) for each in (moments.min(), moments.max()))
    bounds = _bounds(source, rows, name, first, last, raw.count())
    _check_span(source, name, bounds)
    time = microseconds(moments, source.engine)
    if assumed and zone != "UTC" and bounds["n"]:
        time = time - _offset_of(time, zone, bounds)
        bounds |= {edge: bounds[edge] - offsets(zone, bounds[edge], bounds[edge])[0][1] for edge in ("first", "last")}
    return rows.mutate(time=time, time_raw=raw), Clock(zone=zone, assumed=assumed), bounds


def _has_zone(source: Source, rows: Any) -> bool:
    """Whether the times are instants, not local times without a zone."""
    if source.engine != "pyspark":
        return bool(rows.time.type().timezone is not None)
    # Ibis does not distinguish Spark's two types of timestamp, so Spark itself is asked.
    with readable(source.label):
        kinds = rows.limit(1).select(kind=_TYPEOF(rows.limit(1).time)).to_pyarrow()["kind"].to_pylist()
    return bool(kinds == ["timestamp"])


def microseconds(moment: Any, engine: str) -> Any:
    """Whole microseconds since 1970 of a column of times; times without a zone are read as UTC."""
    if engine == "duckdb":
        return _EPOCH_US(moment)
    if engine == "pyspark":
        return _UNIX_MICROS(moment.cast(dt.Timestamp("UTC")))
    if engine == "postgres":
        # In PostgreSQL the epoch includes the exact fraction of a second.
        return (moment.epoch_seconds() * 1_000_000).cast("int64")
    return (moment.truncate("s").epoch_seconds() * 1_000_000 + moment.microsecond()).cast("int64")


def _with_text_times(source: Source, rows: Any, name: str, zone: str) -> tuple[Any, Clock, dict[str, Any]]:
    if source.engine != "duckdb":
        raise ValueError(
            f"{source.label}: {name} must be times, dates or numbers, got text: cast it in a view or query"
        )
    text = rows.time.strip()
    with readable(source.label):
        sample = rows.select(time=text).filter(text.length() > 0).limit(1).to_pyarrow()["time"].to_pylist()
    if sample and re.match(DAY_FIRST, sample[0]):
        text = text.re_replace(DAY_FIRST, r"\3-\2-\1")
    if sample and _is_number(sample[0]):
        ready = rows.mutate(time=text.try_cast("float64"), time_raw=rows.time)
        accepted = "a step number, as in the first row"
        bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count(), accepted)
        return ready, Clock(steps=True, zone=zone), bounds
    rows.get_backend().raw_sql("SET TimeZone = 'UTC'")
    # DuckDB reads a time with a zone only if it has seconds.
    full = text.re_replace(r"([T ]\d\d:\d\d)([zZ]|[+-].*)?$", r"\1:00\2")
    time = microseconds(full.try_cast(dt.Timestamp("UTC")), "duckdb")
    ready = rows.mutate(time=time, time_raw=rows.time, is_zoned=text.re_search(_ZONED))
    accepted = "a date or time such as 2026-03-02T22:00+01:00"
    bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count(), accepted)
    _check_span(source, name, bounds)
    with readable(source.label):
        assumed = ready.filter(~ready.is_zoned).count().to_pyarrow().as_py() > 0
    if assumed and zone != "UTC" and bounds["n"]:
        shifted = ready.time - _offset_of(ready.time, zone, bounds)
        ready = ready.mutate(time=ibis.ifelse(ready.is_zoned, ready.time, shifted))
        bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count())
    return ready, Clock(zone=zone, assumed=assumed), bounds


def _bounds(
    source: Source, rows: Any, name: str, first: Any, last: Any, timed: Any, accepted: str = "given"
) -> dict[str, Any]:
    asked = rows.aggregate(n=rows.count(), first=first, last=last, timed=timed)
    with readable(source.label):
        bounds: dict[str, Any] = asked.to_pyarrow().to_pylist()[0]
    if bounds["timed"] < bounds["n"]:
        refuse(source, rows, "time", name, rows.time.isnull(), accepted)
    if bounds["n"] and not all(math.isfinite(bounds[edge]) for edge in ("first", "last")):
        refuse(source, rows, "time", name, rows.time.isnan() | rows.time.isinf(), "a finite number")
    return bounds


def _offset_of(time: Any, zone: str, bounds: dict[str, Any]) -> Any:
    (_, first), *changes = offsets(zone, bounds["first"], bounds["last"])
    latest_first = [(time >= since, ibis.literal(after, type="int64")) for since, after in reversed(changes)]
    return ibis.cases(*latest_first, else_=ibis.literal(first, type="int64")) if changes else first


def _check_span(source: Source, name: str, bounds: dict[str, Any]) -> None:
    """Raises ValueError if times are too far apart for exact microseconds, which usually means a mistyped year."""
    if bounds["n"] and bounds["last"] - bounds["first"] >= 2**53:
        first, last = (Clock().day(bounds[edge]) for edge in ("first", "last"))
        raise ValueError(f"{source.label}: {name} must span less than 285 years, got times from {first} to {last}")


def _of_ledger(source: Source) -> tuple[Any, tuple[str, ...]]:
    """What was received in a ledger, after corrections; an agent who joins has an event with a utility of zero."""
    check_columns(source.columns, ("seq", "kind", "time", "agent", "amount", "refers"), source.label)
    events = source.table.select("seq", "kind", "time", "agent", "amount", "refers")
    events = events.filter(events.kind.isin(["received", "correction", "join"]))
    amount, seq, refers = (as_number(events[name], source, name) for name in ("amount", "seq", "refers"))
    events = events.mutate(amount=amount, original=ibis.ifelse(events.kind == "correction", refers, seq))
    net = events.group_by("original", "agent", "time").aggregate(
        utility=events.amount.sum(),
        received=(events.kind == "received").any(),
        joined=(events.kind == "join").any(),
    )
    net = net.filter(net.received | net.joined)
    # A corrected amount is never negative, except for the rounding of the sum.
    utility = ibis.ifelse(net.received, ibis.greatest(net.utility, 0.0), 0.0)
    left_out = "offsets, holds and departures"
    if source.rules is None:
        left_out = "offsets, holds, departures and entitlements"
    return net.order_by("original").select(agent=net.agent, time=net.time, utility=utility), (
        f"This history is a ledger. What was received counts, after corrections; {left_out} are left out.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(value: object) -> str:
    return "nothing" if value is None or value == "" else repr(value) if isinstance(value, str) else str(value)
