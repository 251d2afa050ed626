"""A history made ready for the audit: who (`agent`), when (`time`), how much (`utility`), from any table.

Times become whole microseconds since 1970 in UTC, or stay the step numbers that they are. All of this is part of the
one expression that the engine evaluates; only the first and the last time are asked for beforehand, which engines know
or find quickly.
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

from bygones._csv import unshield
from bygones._times import DAY_FIRST
from bygones.audit import sacct
from bygones.audit.clock import Clock, check_zone, offsets
from bygones.audit.engines import Source, check_columns, in_memory, open_source, readable

_ZONED = r":\d\d(\.\d+)?\s*([zZ]|UTC|[+-]\d\d(:?\d\d)?)$"
"""Text of a time that says its zone."""

_YES, _NO = ("1", "true", "yes", "y", "t"), ("0", "false", "no", "n", "f")
_A_NUMBER = "a finite number of at least 0"


def _builtin(name: str, moment: Any, result: Any) -> Any:
    """A function of a moment that an engine has of its own."""
    make = ibis.udf.scalar.builtin(name=name, signature=((moment,), result))
    return make(lambda moment: None)


_EPOCH_US = _builtin("epoch_us", dt.timestamp, dt.int64)
_UNIX_MICROS = _builtin("unix_micros", dt.Timestamp("UTC"), dt.int64)
_TYPEOF = _builtin("typeof", dt.timestamp, dt.string)


@dataclass(frozen=True)
class History:
    """Events that an engine can be asked about.

    Attributes:
        source: the table as somebody keeps it.
        events: an Ibis table with the columns `agent`, `time` and `utility`.
        clock: what the times mean.
        first: the first time of an event.
        last: the last.
        n_events: how many events there are.
        columns: which columns they come from, by their meaning.
        requests: where the history has them, who asked: an Ibis table with `agent`, `time`, `need` and `served`.
        notes: what was passed over or assumed, in sentences.
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
        """Ends the connection to the engine, if it was made for this history."""
        self.source.close()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def fetch(self, expression: Any) -> Any:
        """The engine's answer to an expression, as an Arrow table."""
        with readable(self.source.label):
            return expression.to_pyarrow()

    def entitlements(self, at: float) -> Mapping[str, float]:
        """Of a ledger, the entitlements that its rules name at a moment; none of anything else."""
        if self.source.rules is None:
            return {}
        from bygones.ledger.rows import load_book

        book = load_book(self.source.rules)
        return book.at(max(int(at), book.began)).entitlements

    def check_sums(self, table: Any) -> None:
        """Refuses a history with events that have no agent, no time or no utility, and says where the first is."""
        if any(name is None or not str(name).strip() for name in table["agent"].unique().to_pylist()):
            agent = self.events.agent
            self._refuse("agent", agent.isnull() | (agent.cast("string").strip() == ""), "a name")
        with np.errstate(over="ignore"):
            total = np.asarray(table["received"].to_numpy(), dtype=float).sum()
        if not math.isfinite(total):
            utility = self.events.utility
            self._refuse("utility", ~(utility >= 0).fill_null(False) | utility.isnan() | utility.isinf(), _A_NUMBER)
            raise ValueError(f"{self.source.label}: the utilities add up to more than a number can hold")

    def clean_name(self, name: str) -> str:
        """An agent's name as it can stand in a terminal and on a page, in one spelling, without control characters."""
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
        row, value = found[0]["row"] + 1 + source.above, found[0].get(f"{what}_said", found[0][what])
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
    """The history in a file, a database or a table in memory.

    Args:
        source: see `bygones.audit.engines.open_source`.
        agent: the column with the agents' names; by default `agent`, or `User` for sacct.
        time: the column with the times; by default `time`.
        utility: the column with what was received; by default `utility`, or `amount` of a ledger's events. With needs,
            by default the need of those who were served and nothing for the others.
        needs: the column with what each agent would have had from being served, where the history says who asked.
        served: the column that says who was served: 1 or 0, true or false, yes or no.
        table: which table, for databases.
        format: `table`, `ledger` (events of a ledger), `sacct` (output of Slurm's `sacct -P`), or `auto`, which takes
            the events of a ledger and the output of sacct for what they are.
        timezone: the zone of times that do not say theirs, and in which times are shown.
        resource: of sacct, what is counted: `cpu`, `gpu`, or any other name in AllocTRES.
        threads: how many threads DuckDB may use; all by default.
        memory: how much memory DuckDB may use.
    """
    zone = check_zone(timezone)
    if format not in ("auto", "table", "ledger", "sacct"):
        raise ValueError(f"format must be auto, table, ledger or sacct, got {format!r}")
    if (needs is None) != (served is None):
        raise ValueError("needs and served must be given together: what each would have had, and who was served")
    plain = isinstance(source, str | Path) and time is None and utility is None and needs is None
    if format == "sacct" or (format == "auto" and plain and sacct.is_sacct(source)):
        usage = sacct.read(source, agent or "User", resource)
        opened = in_memory(usage.table, str(source), threads=threads, memory=memory)
        return _history(
            opened, opened.table, {"agent": "agent", "time": "time", "utility": usage.unit}, zone, usage.notes
        )
    if resource is not None:
        raise ValueError(f"resource is for --format sacct, got {resource!r}")
    opened = open_source(source, table, threads=threads, memory=memory)
    with ExitStack() as on_refusal:
        on_refusal.callback(opened.close)
        columns = {"agent": agent, "time": time, "utility": utility, "need": needs, "served": served}
        history = _from_source(opened, columns, format, zone)
        on_refusal.pop_all()
    return history


def _from_source(opened: Source, said: dict[str, str | None], format: str, zone: str) -> History:
    agent, time, utility, needs, served = said.values()
    chosen = all(column is None for column in (agent, time, utility))
    if format == "ledger" or (format == "auto" and chosen and opened.is_ledger()):
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
    """The history in rows with the columns `agent`, `time` and `utility` of whatever types."""
    rows, clock, bounds = with_times(source, rows, columns["time"], zone)
    if not bounds["n"]:
        raise ValueError(f"{source.label} has no events")
    requests = None
    if "need" in columns:
        requests = _requests(source, rows, columns)
        if "utility" not in columns:
            columns = columns | {"utility": columns["need"]}
            rows = requests.mutate(utility=ibis.ifelse(requests.served, requests.need, 0.0))
    utility = as_number(rows.utility, source, columns["utility"])
    events = rows.mutate(utility=utility, utility_said=rows.utility)
    return History(source, events, clock, bounds["first"], bounds["last"], bounds["n"], columns, requests, notes)


def _requests(source: Source, rows: Any, columns: dict[str, str]) -> Any:
    """The rows with what each agent needed and whether they were served, refused where one of them is not said."""
    need, said = as_number(rows.need, source, columns["need"]), rows.served
    if said.type().is_string():
        word = said.strip().lower()
        served = ibis.cases((word.isin(_YES), True), (word.isin(_NO), False))
    else:
        number = as_number(said, source, columns["served"])
        served = ibis.cases((number == 1, True), (number == 0, False))
    asked = rows.mutate(need=need, served=served, need_said=rows.need, served_said=said)
    refuse(source, asked, "served", columns["served"], asked.served.isnull(), "1 or 0, true or false, yes or no")
    bad = ~(asked.need >= 0).fill_null(False) | asked.need.isnan() | asked.need.isinf()
    refuse(source, asked, "need", columns["need"], bad, _A_NUMBER)
    return asked


def as_number(column: Any, source: Source, name: str) -> Any:
    """A column of numbers, from numbers or from text, where what is not a number is missing."""
    kind = column.type()
    if kind.is_string():
        text = column.strip().replace(",", ".") if source.decimal_comma else column.strip()
        return text.try_cast("float64") if source.engine == "duckdb" else column.cast("float64")
    if not (kind.is_numeric() or kind.is_boolean()):
        raise ValueError(f"{source.label}: {name} must be numbers, got a column of type {kind}")
    return column.cast("float64")


def with_times(source: Source, rows: Any, name: str, zone: str) -> tuple[Any, Clock, dict[str, Any]]:
    """The rows with `time` in microseconds or steps, what it means, and its first and last value and their number."""
    said = rows.time
    kind = said.type()
    if kind.is_string():
        return _with_text_times(source, rows, name, zone)
    if kind.is_numeric():
        steps = said.cast("int64" if kind.is_integer() else "float64")
        bounds = _bounds(source, rows, name, steps.min(), steps.max(), said.count())
        return rows.mutate(time=steps, time_said=said), Clock(steps=not source.instants, zone=zone), bounds
    if not (kind.is_timestamp() or kind.is_date()):
        raise ValueError(f"{source.label}: {name} must be times, dates or step numbers, got a column of type {kind}")
    assumed = kind.is_date() or not _has_zone(source, rows)
    moments = said.cast("timestamp") if kind.is_date() else said
    first, last = (microseconds(each, source.engine) for each in (moments.min(), moments.max()))
    bounds = _bounds(source, rows, name, first, last, said.count())
    _check_span(source, name, bounds)
    time = microseconds(moments, source.engine)
    if assumed and zone != "UTC" and bounds["n"]:
        time = time - _offset_of(time, zone, bounds)
        bounds |= {edge: bounds[edge] - offsets(zone, bounds[edge], bounds[edge])[0][1] for edge in ("first", "last")}
    return rows.mutate(time=time, time_said=said), Clock(zone=zone, assumed=assumed), bounds


def _has_zone(source: Source, rows: Any) -> bool:
    """Whether the times are instants, not the reading of some clock on a wall."""
    if source.engine != "pyspark":
        return bool(rows.time.type().timezone is not None)
    # Ibis does not tell Spark's two kinds of time apart, Spark does.
    with readable(source.label):
        kinds = rows.limit(1).select(kind=_TYPEOF(rows.limit(1).time)).to_pyarrow()["kind"].to_pylist()
    return bool(kinds == ["timestamp"])


def microseconds(moment: Any, engine: str) -> Any:
    """Whole microseconds since 1970 of a column of times; times without a zone are taken as UTC."""
    if engine == "duckdb":
        return _EPOCH_US(moment)
    if engine == "pyspark":
        return _UNIX_MICROS(moment.cast(dt.Timestamp("UTC")))
    if engine == "postgres":
        # PostgreSQL's epoch has the fraction, exactly.
        return (moment.epoch_seconds() * 1_000_000).cast("int64")
    return (moment.truncate("s").epoch_seconds() * 1_000_000 + moment.microsecond()).cast("int64")


def _with_text_times(source: Source, rows: Any, name: str, zone: str) -> tuple[Any, Clock, dict[str, Any]]:
    if source.engine != "duckdb":
        raise ValueError(
            f"{source.label}: {name} must be times, dates or numbers, got text: cast it in a view or query"
        )
    said = rows.time.strip()
    with readable(source.label):
        sample = rows.select(time=said).filter(said.length() > 0).limit(1).to_pyarrow()["time"].to_pylist()
    if sample and re.match(DAY_FIRST, sample[0]):
        said = said.re_replace(DAY_FIRST, r"\3-\2-\1")
    if sample and _is_number(sample[0]):
        ready = rows.mutate(time=said.try_cast("float64"), time_said=rows.time)
        accepted = "a step number, as in the first row"
        bounds = _bounds(source, ready, name, ready.time.min(), ready.time.max(), ready.time.count(), accepted)
        return ready, Clock(steps=True, zone=zone), bounds
    rows.get_backend().raw_sql("SET TimeZone = 'UTC'")
    # DuckDB reads a time that says its zone only with its seconds.
    full = said.re_replace(r"([T ]\d\d:\d\d)([zZ]|[+-].*)?$", r"\1:00\2")
    time = microseconds(full.try_cast(dt.Timestamp("UTC")), "duckdb")
    ready = rows.mutate(time=time, time_said=rows.time, is_zoned=said.re_search(_ZONED))
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
    """Refuses times so far apart that their microseconds would not fit a number exactly: somebody mistyped a year."""
    if bounds["n"] and bounds["last"] - bounds["first"] >= 2**53:
        first, last = (Clock().day(bounds[edge]) for edge in ("first", "last"))
        raise ValueError(f"{source.label}: {name} must lie within 285 years, got times from {first} to {last}")


def _of_ledger(source: Source) -> tuple[Any, tuple[str, ...]]:
    """What was received by a ledger's events, corrected; whoever joins is there from then on, with nothing."""
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
    # What is left of a corrected amount is never below zero, but for the rounding of a sum.
    utility = ibis.ifelse(net.received, ibis.greatest(net.utility, 0.0), 0.0)
    left_out = "offsets, holds and leaving" if source.rules is not None else "offsets, holds, leaving and entitlements"
    return net.order_by("original").select(agent=net.agent, time=net.time, utility=utility), (
        f"These are the events of a ledger: what was received, as corrected; {left_out} are left out.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(value: object) -> str:
    return "nothing" if value is None or value == "" else repr(value) if isinstance(value, str) else str(value)
