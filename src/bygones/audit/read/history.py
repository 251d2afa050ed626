"""Prepares a history for the audit: from any table to the columns `agent`, `time` and `utility`.

Times become whole microseconds since 1970 in UTC, or stay step numbers. The conversion is part of the one expression
that the engine evaluates; only the first and the last time are queried before, which is quick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import ibis
import numpy as np
import pyarrow as pa

from bygones._arrays import check_one_of
from bygones._text import counted, listed
from bygones._times import check_zone
from bygones.audit.read import formats, ledger_events
from bygones.audit.read.clock import Clock
from bygones.audit.read.engines import in_memory, open_source, paths_of
from bygones.audit.read.ledger_events import LedgerEvents
from bygones.audit.read.sources import (
    Source,
    check_columns,
    factors,
    label_of,
    repeats_note,
    utility_columns,
    utility_of,
)
from bygones.audit.read.time_columns import Bounds, check_time_format, with_times
from bygones.ledger.model.rules import RuleBook

_YES, _NO = ("1", "true", "yes", "y", "t"), ("0", "false", "no", "n", "f")
_A_NUMBER = "a finite number of at least 0"

COMPARED_ROWS = 10_000_000
"""In a longer history, rows that several files have in common are not looked for."""


@dataclass(frozen=True, repr=False)
class History:
    """The events of a history, ready to be queried.

    Attributes:
        source: the table that the events come from.
        events: an Ibis table with the columns `agent`, `time` and `utility`.
        clock: the meaning of the times.
        first: the time of the first event.
        last: the time of the last event.
        n_events: the number of events.
        columns: for each of the meanings `agent`, `time` and so on, the name of its column in the source.
        requests: who asked, where the history records it: an Ibis table with `agent`, `time`, `need` and `served`.
        notes: skipped rows and assumptions, in sentences.
        ledger: if the history is a ledger, all its events.
        book: and its rules.
    """

    source: Source
    events: ibis.Table
    clock: Clock
    first: float
    last: float
    n_events: int
    columns: dict[str, str]
    requests: ibis.Table | None = None
    notes: tuple[str, ...] = ()
    ledger: LedgerEvents | None = None
    book: RuleBook | None = None

    def __repr__(self) -> str:
        first, last = self.clock.shown(self.first), self.clock.shown(self.last)
        return f"<History {self.source.label}: {counted(self.n_events, 'event')} from {first} to {last}>"

    def close(self) -> None:
        """Closes the connection to the engine, if it was opened for this history."""
        self.source.close()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def fetch(self, expression: ibis.Expr) -> pa.Table | pa.Scalar:
        """Evaluates an expression in the engine; the result is an Arrow table."""
        return self.source.fetch(expression)

    def check_sums(self, table: pa.Table) -> None:
        """Raises ValueError for the first event without a valid agent or utility."""
        if any(name is None or not str(name).strip() for name in table["agent"].unique().to_pylist()):
            agent = self.events.agent
            is_bad = agent.isnull() | (agent.cast("string").strip() == "")
            hint = "; leave out rows without one with --skip-unnamed"
            self.source.refuse(self.events, "agent", self.columns["agent"], is_bad, "a name", hint)
        with np.errstate(over="ignore"):
            total = np.asarray(table["received"].to_numpy(), dtype=float).sum()
        if not math.isfinite(total):
            utility = self.events.utility
            is_bad = ~(utility >= 0).fill_null(False) | utility.isnan() | utility.isinf()
            self.source.refuse(self.events, "utility", self.columns["utility"], is_bad, _A_NUMBER)
            raise ValueError(f"{self.source.label}: the sum of the utilities is too large for a floating-point number")

    def entitlements_in(self, column: str) -> dict[str, float]:
        """The entitlement of each agent, from a column of the history; refused if an agent has two."""
        check_columns(self.source.columns, [column, self.columns["agent"]], self.source.label)
        table = self.source.table
        pairs = table.select(agent=table[self.columns["agent"]], weight=self.source.number(table[column], column))
        pairs = pairs.filter(pairs.agent.notnull()).distinct().order_by("agent", "weight")
        weights: dict[str, float] = {}
        for pair in self.fetch(pairs).to_pylist():
            name = self.source.clean_name(str(pair["agent"]))
            if not name:
                continue
            if pair["weight"] is None or (name in weights and weights[name] != pair["weight"]):
                two = (
                    "a row without one" if pair["weight"] is None else f"both {weights[name]:g} and {pair['weight']:g}"
                )
                raise ValueError(f"{self.source.label}: {column} must be one number for {name!r}, got {two}")
            weights[name] = pair["weight"]
        return weights


def read_history(
    source: object,
    *,
    agent: str | None = None,
    time: str | None = None,
    utility: str | Sequence[str] | Mapping[str, float] | None = None,
    start: str | None = None,
    needs: str | None = None,
    served: str | None = None,
    where: Sequence[str] = (),
    skip_unnamed: bool = False,
    time_format: str = "auto",
    fields: Sequence[str] | None = None,
    table: str | None = None,
    format: str = "auto",
    time_zone: str | None = None,
    resource: str | Mapping[str, float] | None = None,
    threads: int | None = None,
    memory: str = "3GB",
    look_for_needs: bool = False,
) -> History:
    """Reads a history from one or several files, a database or a table in memory.

    Args:
        source: a file, glob, URL or table, or a list of files; see `bygones.audit.read.engines.open_source`.
        agent: the column with the names of the agents; by default `agent`, or the one that a log format has, such as
            `User` for sacct.
        time: the column with the times; by default `time`.
        utility: the column with the amount received; by default `utility`, or `amount` for the events of a ledger. Or
            several columns to add up, as a list, or as a mapping to their weights. `cpus*run_time` is a product. If
            `needs` is given, the default is the need of agents who were served and zero for the others.
        start: the column with the times since which usage lasted, until `time`; it is spread evenly over that time.
        needs: the column with each agent's need, where the history records who asked.
        served: the column that tells who was served: 1 or 0, true or false, yes or no.
        where: conditions on columns that rows must meet, such as `state=COMPLETED,TIMEOUT` or `fare>=10`.
        skip_unnamed: whether rows without an agent are skipped and counted; otherwise they are refused.
        time_format: how times in text are written: `month-first`, `day-first` or a format such as `%d %b %Y`; or what
            numbers are: `unix`, `unix-ms`, `unix-us`, `unix-ns` or `steps`. By default it is detected.
        fields: the names of the columns of files that have no header line.
        table: the table to read, for databases.
        format: `table`, `ledger` (events of a ledger), a log format from `bygones.audit.read.formats` such as `sacct`
            (output of Slurm's `sacct -P`), or `auto`, which recognises the events of a ledger and the log formats.
        time_zone: the time zone of times without one; times are also shown in it. By default UTC, or that of a ledger.
        resource: what to count in a log: for sacct `cpu`, `gpu`, or any other name in AllocTRES, or several with their
            weights, as in TRESBillingWeights.
        threads: the number of threads that DuckDB may use; by default all.
        memory: how much memory DuckDB may use.
        look_for_needs: whether a table with the columns `need` and `served` records who asked, if nobody named them.

    Returns:
        The history, which holds a connection to its engine: use it in a `with` block, or close it.
    """
    zone = check_zone("UTC" if time_zone is None else time_zone)
    check_one_of("format", format, formats.names())
    check_time_format(time_format)
    if (needs is None) != (served is None) and not look_for_needs:
        raise ValueError(
            "needs and served must be given together: the columns with each agent's need and with who was served"
        )
    if look_for_needs and utility is not None and (needs is not None or served is not None):
        raise ValueError("give either --utility, or --needs and --served: the amount received follows from them")
    paths = paths_of(source)
    plain = paths is not None and time is None and utility is None and needs is None
    log = format if format in formats.FORMATS else None
    if format == "auto" and plain and paths:
        log = formats.recognised(paths[0], fields or ())
    if log is not None and paths:
        asked = formats.Asked(agent, resource, tuple(fields or ()), tuple(where), skip_unnamed, threads, memory)
        return _from_log(log, paths, asked, zone)
    if resource is not None:
        raise ValueError(f"resource applies only to log formats ({', '.join(formats.FORMATS)}), got {resource!r}")
    opened = open_source(source, table, threads=threads, memory=memory, fields=fields)
    with ExitStack() as on_refusal:
        on_refusal.callback(opened.close)
        columns = {"agent": agent, "time": time, "need": needs, "served": served, "start": start}
        reading = _Reading(zone, time_format, tuple(where), skip_unnamed, look_for_needs)
        history = _from_source(opened, columns, utility, format, reading)
        if time_zone is None and history.book is not None:
            history = replace(history, clock=replace(history.clock, zone=history.book.zone))
        on_refusal.pop_all()
    return history


class _Reading(NamedTuple):
    """How rows are read: the time zone, how times are written, conditions, whether to skip rows without agents, and
    whether to look for needs.
    """

    zone: str
    time_format: str = "auto"
    where: tuple[str, ...] = ()
    skip_unnamed: bool = False
    look_for_needs: bool = False


def _from_log(log: str, paths: Sequence[Path], asked: formats.Asked, zone: str) -> History:
    """The usage in files of a log format."""
    usage = formats.read(log, paths, asked)
    label = label_of(paths)
    if isinstance(usage.table, ibis.Table):
        opened = Source(usage.table, label)
    else:
        opened = in_memory(usage.table, label, threads=asked.threads, memory=asked.memory)
    columns = {name: name for name in ("agent", "submit", "start", "time") if name in opened.columns}
    return _history(opened, opened.table, columns | {"utility": usage.unit}, _Reading(zone), usage.notes)


def _from_source(
    opened: Source,
    given: dict[str, str | None],
    utility: str | Sequence[str] | Mapping[str, float] | None,
    format: str,
    reading: _Reading,
) -> History:
    unnamed = given["agent"] is None and given["time"] is None and utility is None
    if format == "ledger" or (format == "auto" and unnamed and opened.is_ledger()):
        _check_for_ledger(given, reading)
        return _of_ledger(opened, reading.zone)
    if reading.look_for_needs:
        given = _with_needs(opened, given, utility)
    columns = {"agent": given["agent"] or "agent", "time": given["time"] or "time"}
    columns |= {what: name for what in ("start", "need", "served") if (name := given[what]) is not None}
    weights = {} if utility is None and "need" in columns else utility_columns(utility or "utility", opened.columns)
    flags = {name: "--needs" if what == "need" else f"--{what}" for what, name in columns.items()}
    flags |= {name: "--utility" for term in weights for name in factors(term, opened.columns)}
    check_columns(opened.columns, list(flags), opened.label, flags)
    whole = opened.only(opened.table, reading.where)
    utilities = utility_of(opened, whole, weights)
    if opened.several:
        columns["filename"] = "filename"
    rows = whole.select(**{what: whole[name] for what, name in columns.items()}, **utilities)
    opened = replace(opened, filtered=bool(reading.where or reading.skip_unnamed))
    if weights:
        columns["utility"] = " + ".join(
            name if weight == 1 else f"{weight:g} × {name}"
            for name, weight in ((" × ".join(factors(term, opened.columns)), each) for term, each in weights.items())
        )
    history = _history(opened, rows, columns, reading)
    return replace(history, notes=(*history.notes, *_repeats(opened, whole, history)))


def _check_for_ledger(given: dict[str, str | None], reading: _Reading) -> None:
    """Refuses options about the rows of a table, since the events of a ledger depend on one another."""
    options = {"where": reading.where, "skip_unnamed": reading.skip_unnamed, "start": given["start"]}
    for name, value in options.items():
        if value:
            raise ValueError(
                f"{name} is for tables, and a ledger's events depend on one another: write its amounts to a table with "
                "`bygones ledger export LEDGER --kind received --out received.csv`, and read this with "
                "`received.csv --utility amount`"
            )


def _with_needs(source: Source, given: dict[str, str | None], utility: object) -> dict[str, str | None]:
    """The columns with needs and with who was served, if the source has them; refuses it where any other is missing."""
    columns, known = source.columns, ", ".join(map(repr, source.columns)) or "none"
    if utility is None:
        given = given | {what: given[what] or (what if what in columns else None) for what in ("need", "served")}
        need, served = given["need"], given["served"]
        if (need is None) != (served is None):
            there, flag, what = (
                (need, "--served", "who was served") if need else (served, "--needs", "each agent's need")
            )
            raise ValueError(
                f"{source.label} has a column {there!r}, but it is not known which column tells {what}: name it with "
                f"{flag}; found {known}"
            )
    named = {"agent": given["agent"], "time": given["time"], "utility": given["need"] or utility}
    missing = [name for name, column in named.items() if column is None and name not in columns]
    if missing:
        noun, them = ("columns", "them") if len(missing) > 1 else ("column", "it")
        flags = listed([f"--{name} COLUMN" for name in missing])
        or_needs = " (or --needs and --served, if it records who asked)" if "utility" in missing else ""
        raise ValueError(
            f"{source.label} has no {noun} called {listed(missing)}: name {them} with {flags}{or_needs}; found {known}"
        )
    return given


def _repeats(source: Source, rows: ibis.Table, history: History) -> tuple[str, ...]:
    """How many rows are in several files, as exports of overlapping times have them; not looked for in a long history.

    Rows are the same if all their columns are, even columns that are not read.
    """
    if not source.several or history.n_events > COMPARED_ROWS:
        return ()
    # A file that was given twice has the same name both times.
    times = ibis.ifelse(rows.filename.isin(list(source.repeated)), 2, 1) if source.repeated else 1
    same = rows.mutate(_times=times).group_by(list(source.columns))
    same = same.aggregate(_files=lambda each: each.filename.nunique(), _times=lambda each: each["_times"].max())
    is_repeated = same["_files"] + same["_times"] > 2
    return repeats_note(int(history.fetch(same.filter(is_repeated).count()).as_py()), "row")


def _history(
    source: Source, rows: ibis.Table, columns: dict[str, str], reading: _Reading, notes: tuple[str, ...] = ()
) -> History:
    """The history in rows with the columns `agent`, `time` and `utility`, of any type."""
    if reading.skip_unnamed:
        rows, skipped = source.only_named(rows, "agent", "row")
        notes = (*notes, *skipped)
    timed = with_times(source, rows, columns["time"], reading.zone, reading.time_format)
    rows, bounds = timed.rows, timed.bounds
    if not bounds["n"]:
        which = " that meet the conditions" if reading.where else ""
        raise ValueError(f"{source.label} contains no events{which}")
    if "submit" in columns:
        rows, _ = _also_timed(source, rows, "submit", columns["submit"], reading)
    if "start" in columns:
        rows, begun = _also_timed(source, rows, "start", columns["start"], reading)
        late = rows.start > rows.time
        source.refuse(rows, "start", columns["start"], late, f"at or before {columns['time']}")
        bounds = bounds | {"first": begun["first"]}
    requests = None
    if "need" in columns:
        requests = _requests(source, rows, columns)
        if "utility" not in columns:
            columns = columns | {"utility": columns["need"]}
            rows = requests.mutate(utility=ibis.ifelse(requests.served, requests.need, 0.0))
    utility = source.number(rows.utility, columns["utility"])
    events = rows.mutate(utility=utility, utility_raw=rows.utility)
    notes = (*timed.notes, *notes)
    return History(source, events, timed.clock, bounds["first"], bounds["last"], bounds["n"], columns, requests, notes)


def _also_timed(source: Source, rows: ibis.Table, what: str, name: str, reading: _Reading) -> tuple[ibis.Table, Bounds]:
    """The rows with another column of times, read as `time` is, and its bounds."""
    moved = rows.mutate(time=rows[what], ended=rows.time).drop("time_raw")
    timed = with_times(source, moved, name, reading.zone, reading.time_format)
    read = {what: timed.rows.time, f"{what}_raw": timed.rows.time_raw, "time": timed.rows.ended}
    return timed.rows.mutate(**read), timed.bounds


def _requests(source: Source, rows: ibis.Table, columns: dict[str, str]) -> ibis.Table:
    """The rows with each agent's need and whether it was served; raises ValueError where either is missing."""
    need, answer = source.number(rows.need, columns["need"]), rows.served
    if answer.type().is_string():
        word = answer.strip().lower()
        served = ibis.cases((word.isin(_YES), True), (word.isin(_NO), False))
    else:
        number = source.number(answer, columns["served"])
        served = ibis.cases((number == 1, True), (number == 0, False))
    asked = rows.mutate(need=need, served=served, need_raw=rows.need, served_raw=answer)
    source.refuse(asked, "served", columns["served"], asked.served.isnull(), "1 or 0, true or false, yes or no")
    bad = ~(asked.need >= 0).fill_null(False) | asked.need.isnan() | asked.need.isinf()
    source.refuse(asked, "need", columns["need"], bad, _A_NUMBER)
    return asked


def _of_ledger(source: Source, zone: str) -> History:
    """The amounts received in a ledger, after corrections, with all its events for the replay by its own rules."""
    columns = {"agent": "agent", "time": "time", "utility": "amount"}
    past, book, timed = ledger_events.read_events(source, zone)
    received = past.received()
    if not len(received):
        raise ValueError(f"{source.label} contains no events")
    events, number = ibis.memtable(received), len(received)
    if book is None or not past.are("join").any():
        note = (
            "This history has the events of a ledger but not its rules. Amounts received count, after corrections; "
            "offsets, holds, departures and entitlements are left out."
        )
        times = received["time"].to_numpy()
        return History(source, events, timed.clock, times.min(), times.max(), number, columns, notes=(note,))
    return History(
        source, events, timed.clock, *past.span(), number, columns, notes=timed.notes, ledger=past, book=book
    )
