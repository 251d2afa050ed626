"""The table that a history comes from: the engine that reads it, its columns, conditions on its rows, and its errors.

An error of the engine becomes one sentence, and one about a value names its row.
"""

from __future__ import annotations

import difflib
import itertools
import math
import operator
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import ibis
import pyarrow as pa

from bygones._arrays import check_between, check_count
from bygones._csv import number_hint, thousands_hint, unshield
from bygones._text import counted, printable

LEDGER_COLUMNS = ("seq", "kind", "time", "agent", "amount", "refers")
"""The columns of every export of a ledger."""

DETAILED = ("rules", "correction", "decision", "plan")
"""Kinds of a ledger's events whose details an audit reads."""

DuckDB: TypeAlias = Any
"""A connection to DuckDB without Ibis, whose stubs do not know how many values a row has."""

BATCH = 50_000
"""The number of rows that are held at once."""

THREADS = 1024
"""The most threads that DuckDB may be given."""

_WRONG_LENGTH = re.compile(r"CSV Error on Line: (\d+)\n.*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)
_CONDITION = re.compile(r"\s*(.+?)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_ORDERS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Source:
    """The table that a history comes from.

    Attributes:
        table: the Ibis table.
        label: its name in messages.
        above: the number of lines above the first row, so row numbers agree with an editor's line numbers.
        shielded: whether names may have a leading apostrophe that protects spreadsheets from formulas.
        decimal_comma: whether a comma in a number is the decimal sign.
        instants: whether times are whole microseconds since 1970, as in the tables of a ledger.
        owned: whether the connection was opened for this source, and is closed with it.
        several: whether the rows come from several files, named in the column `filename`.
        filtered: whether some rows were left out, so row numbers do not count them.
        parquet: the Parquet files, whose footers have the first and the last time.
        repeated: the files that were given more than once, as the column `filename` names them.
        hidden: columns that were added while reading, and are none of the file's.
    """

    table: ibis.Table
    label: str
    above: int = 0
    shielded: bool = False
    decimal_comma: bool = False
    instants: bool = False
    owned: bool = True
    several: bool = False
    filtered: bool = False
    parquet: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name in self.table.columns if name not in self.hidden)

    @property
    def engine(self) -> str:
        """The name of the engine in Ibis."""
        return str(self.table.get_backend().name)

    def close(self) -> None:
        """Closes the connection, if it was opened for this source."""
        if self.owned:
            self.table.get_backend().disconnect()

    def is_ledger(self) -> bool:
        """Whether these are the events of a ledger."""
        return set(LEDGER_COLUMNS) <= set(self.columns)

    def clean_name(self, name: str) -> str:
        """An agent's name in one Unicode spelling, with escapes for characters that a terminal would not show."""
        name = unicodedata.normalize("NFC", unshield(name.strip()) if self.shielded else name.strip())
        return name if name.isprintable() else printable(name)

    def fetch(self, expression: ibis.Expr) -> pa.Table | pa.Scalar:
        """Evaluates an expression in the engine; the result is an Arrow table, or a value."""
        with readable(self.label):
            return expression.to_pyarrow()

    def number(self, column: ibis.Value, name: str) -> ibis.Value:
        """A column of numbers, from numbers or text; text that is not a number becomes NULL."""
        kind = column.type()
        if kind.is_string():
            text = self._with_points(column.strip()) if self.decimal_comma else column.strip()
            return text.try_cast("float64") if self.engine == "duckdb" else column.cast("float64")
        if not (kind.is_numeric() or kind.is_boolean()):
            raise ValueError(f"{self.label}: {name} must be numbers, got a column of type {kind}")
        return column.cast("float64")

    def _with_points(self, text: ibis.Value) -> ibis.Value:
        """Numbers with a decimal point for a comma; with commas, 1.000 may be a thousand, and becomes NULL."""
        clean = text.replace(",", ".")
        if not self.fetch(text.re_search(r"^[+-]?\d*,\d+$").any()).as_py():
            return clean
        return ibis.ifelse(text.re_search(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"), ibis.null("string"), clean)

    def only(self, rows: ibis.Table, conditions: Sequence[str]) -> ibis.Table:
        """The rows that meet all conditions, such as `state=COMPLETED,TIMEOUT`, `user!=root` or `fare>=10`.

        Numbers are compared as numbers, everything else as text, so dates must be in ISO 8601.
        """
        for condition in conditions:
            match = _CONDITION.fullmatch(condition)
            if match is None:
                raise ValueError(f"where must be a condition such as state=COMPLETED or fare>=10, got {condition!r}")
            name, sign, value = match.groups()
            check_columns(self.columns, [name], self.label)
            if sign in _ORDERS and is_number(value):
                rows = rows.filter(_ORDERS[sign](self.number(rows[name], name), constant(float(value))))
                continue
            text = rows[name].cast("string").strip()
            if sign in _ORDERS:
                rows = rows.filter(_ORDERS[sign](text, value))
            else:
                listed = text.isin([each.strip() for each in value.split(",")]).fill_null(False)
                rows = rows.filter(listed if sign == "=" else ~listed)
        return rows

    def only_named(
        self, rows: ibis.Table, agent: str, noun: str, *, skip: bool = True, why: str = ""
    ) -> tuple[ibis.Table, tuple[str, ...]]:
        """The rows that name an agent in that column, and a note about the others, which are refused unless skipped."""
        is_named = (rows[agent].notnull() & (rows[agent].cast("string").strip() != "")).fill_null(False)
        number = int(self.fetch(rows.filter(~is_named).count()).as_py())
        unnamed = f"{counted(number, noun)} without {'an agent' if agent == 'agent' else agent}"
        if number and not skip:
            raise ValueError(f"{self.label} has {unnamed}{why}: leave them out with --skip-unnamed")
        return rows.filter(is_named), (f"Skipped {unnamed}.",) if number else ()

    def refuse(
        self, rows: ibis.Table, what: str, column: str, is_bad: ibis.Value, accepted: str, hint: str = ""
    ) -> None:
        """Raises for the first row in which a value is bad, if there is one; `hint` is what to do about it."""
        judged = rows.mutate(bad=is_bad)
        first = self._first_bad(judged)
        if first is None:
            return
        label, row = self.label, first["row"] + 1
        if self.several and "filename" in first:
            label = first["filename"]
            row = (self._first_bad(judged.filter(judged.filename == label)) or first)["row"] + 1
        where = f"row {row} of those kept" if self.filtered else f"row {row + self.above}"
        value = first.get(f"{what}_raw", first[what])
        if isinstance(value, str) and value.strip() and not hint:
            hint = (self.decimal_comma and thousands_hint(value.strip())) or number_hint(value.strip())
        shown = "nothing" if value is None or value == "" else repr(value) if isinstance(value, str) else str(value)
        raise ValueError(f"{label}, {where}: {column} must be {accepted}, got {shown}{hint}")

    def _first_bad(self, rows: ibis.Table) -> dict[str, Any] | None:
        """The first bad row, with its number."""
        numbered = rows.mutate(row=ibis.row_number())
        bad = self.fetch(numbered.filter(numbered.bad).order_by("row").limit(1)).to_pylist()
        return bad[0] if bad else None


def check_columns(
    known: Sequence[str], wanted: Sequence[str], label: str, flags: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raises ValueError for a missing column, with the columns that exist and the nearest match.

    Args:
        known: the columns that exist.
        wanted: the columns that are needed.
        label: the name of the source.
        flags: for columns of which another may be named, the option that names it.
    """
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), [each.lower() for each in known], n=1)
            meant = next((each for each in known if near and each.lower() == near[0]), None)
            hint = "" if meant is None else f" (did you mean {meant!r}?)"
            there = ", ".join(map(repr, known)) or "none"
            how = f"; name the column with {flags[name]}" if name in flags else ""
            raise ValueError(f"{label} has no column {name!r}{hint}: found {there}{how}")


def repeated_files(files: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The files that were given more than once, in each way in which DuckDB may name them: as given, or absolute."""
    times = Counter(map(os.path.realpath, files))
    twice = [file for file in files if times[os.path.realpath(file)] > 1]
    return tuple(sorted({way(file) for file in twice for way in (str, os.path.abspath, os.path.realpath)}))


def repeats_note(number: int, noun: str, by: str = "") -> tuple[str, ...]:
    """That some rows are in several files, in one sentence; nothing if none is."""
    occur, count = ("occurs", "counts") if number == 1 else ("occur", "count")
    repeated = f"{counted(number, noun)} {occur} in more than one file{by} and {count} each time"
    return (f"{repeated}; if that is not meant, leave out one of the files.",) if number else ()


@contextmanager
def readable(label: str) -> Iterator[None]:
    """Turns an engine's error into a ValueError with one sentence."""
    try:
        yield
    except _refusals() as error:
        length = _WRONG_LENGTH.search(str(error))
        if length is not None:
            row, expected, got = length.groups()
            raise ValueError(f"{label}, row {row}: expected {expected} cells as in the header, got {got}") from None
        if "utf-8" in str(error).lower():
            raise ValueError(f"{label} is not a CSV file in UTF-8: save it again as CSV in UTF-8") from None
        raise ValueError(f"{label} cannot be read: {first_line_of(error)}") from None


def _refusals() -> tuple[type[Exception], ...]:
    """The error types of the engines that have been imported; no other engine can have raised an error."""
    known = (("duckdb", "Error"), ("ibis.common.exceptions", "IbisError"), ("ibis.common.exceptions", "TableNotFound"),
             ("psycopg", "Error"), ("sqlite3", "Error"), ("pyspark.errors", "PySparkException"))  # fmt: skip
    return tuple(getattr(sys.modules[module], name) for module, name in known if module in sys.modules)


def first_line_of(error: Exception) -> str:
    """The first line of an error that is not empty."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def duckdb(threads: int | None, memory: str, file: Path | None = None) -> ibis.BaseBackend:
    """A DuckDB through Ibis, in memory or in a file, that spills to disk beyond this much memory.

    The maker of the file may have put a view over `read_text` or `read_csv` into it. So a file is opened read-only, and
    all that its views could reach outside it, such as other files and the network, is shut off.
    """
    import duckdb

    settings = {} if threads is None else {"threads": check_count("threads", threads, most=THREADS)}
    where: dict[str, object] = {} if file is None else {"database": file, "read_only": True}
    try:
        connection = ibis.duckdb.connect(**where, memory_limit=memory, **settings)
    except duckdb.ParserException:
        raise ValueError(f"memory must be an amount such as 3GB, got {memory!r}") from None
    # Error messages name the row, so rows must keep their order.
    connection.raw_sql("SET preserve_insertion_order = true")
    if file is not None:
        connection.raw_sql("SET enable_external_access = false")
    return connection


def constant(number: float, kind: str | ibis.DataType = "float64") -> ibis.Value:
    """A number as an engine's constant, to the last digit: of that type if it is whole, else a double.

    Engines read a literal with a point as a decimal, and DuckDB makes the nearest double but one of some: an event at
    the moment of the audit would come after it. A number read from text is exact.
    """
    if ibis.dtype(kind).is_integer() and float(number).is_integer():
        return ibis.literal(int(number), type=kind)
    return ibis.literal(repr(float(number))).cast("float64")


def fill(engine: ibis.BaseBackend, name: str, schema: pa.Schema, rows: Iterable[Sequence[object]]) -> ibis.Table:
    """Makes a temporary table of rows that come one after the other, some at a time: it may be larger than the memory.

    Args:
        engine: a DuckDB through Ibis, which moves the table to disk where the memory it may use is full.
        name: the name of the table.
        schema: the names and types of its columns.
        rows: their cells, in this order.

    Returns:
        The table in Ibis.
    """
    con, coming = engine.con, iter(rows)
    con.register("coming", schema.empty_table())
    con.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM coming')
    while some := list(itertools.islice(coming, BATCH)):
        columns = [pa.array(c, type=kind) for c, kind in zip(zip(*some, strict=True), schema.types, strict=True)]
        con.register("coming", pa.table(columns, schema=schema))
        con.execute(f'INSERT INTO "{name}" SELECT * FROM coming')
    con.unregister("coming")
    return engine.table(name)


def label_of(paths: Sequence[os.PathLike[str]]) -> str:
    """The name of some files in messages."""
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'other file')}"


def weights_of(text: str, name: str) -> dict[str, float]:
    """Weights by name, from text such as `cpu=1,gpu=40`; a weight that is left out is 1."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        what, given, weight = part.partition("=")
        if not what.strip() or (given and not is_number(weight)):
            raise ValueError(f"{name} must be names with weights such as cpu=1,gpu=40, got {text!r}")
        weights[what.strip()] = check_weight(what.strip(), float(weight) if given else 1.0)
    return weights


def resource_weights(
    resource: str | Mapping[str, float] | None,
    canonical: Callable[[str], str],
    known: Sequence[str],
    gpus: tuple[int, int, str],
    label: str,
) -> tuple[dict[str, float], list[str]]:
    """The resources of a log to count, by their canonical names, with weights, and notes about the choice.

    Args:
        resource: the resource to count; by default GPUs if most entries have one, otherwise CPUs.
        canonical: the name of a resource as `known` has it.
        known: the resources in the log.
        gpus: the number of entries with a GPU, the number of entries, and the noun for an entry.
        label: the name of the log.
    """
    n_with, n, noun = gpus
    if resource is not None:
        weights = weights_of(resource, "resource") if isinstance(resource, str) else resource
        chosen = {canonical(name): float(weight) for name, weight in weights.items()}
        for name in chosen:
            if name.split(":")[0] not in known:
                accepted = f"one that a {noun} in {label} uses ({', '.join(known)})"
                raise ValueError(f"resource must be {accepted}, got {name!r}")
        return chosen, []
    if "cpu" not in known:
        return {"gpu" if n_with else (known or ["cpu"])[0]: 1.0}, []
    used = f"{n_with:,} of {counted(n, noun)} used GPUs"
    if n_with and 2 * n_with >= n:
        return {"gpu": 1.0}, [] if n_with == n else [f"GPUs are counted: {used}; --resource cpu counts CPUs."]
    return {"cpu": 1.0}, [f"CPUs are counted: only {used}; --resource gpu counts those."] if n_with else []


def unit_of(weights: Mapping[str, float], together: Callable[[list[str]], str]) -> str:
    """The unit of usage, such as `GPU-hours`; `together` puts several weighted resources into one phrase."""
    if len(weights) == 1 and next(iter(weights.values())) == 1:
        (name,) = weights
        return "GiB-hours of memory" if name == "mem" else f"{name.upper() if len(name) == 3 else name}-hours"
    return f"weighted hours ({together([f'{name} × {weight:g}' for name, weight in weights.items()])})"


def check_weight(name: object, weight: float) -> float:
    """A weight above 0."""
    return float(
        check_between(f"weight of {name}", weight, 0.0, float("inf"), "a number above 0", open_low=True, open_high=True)
    )


def utility_columns(utility: str | Sequence[str] | Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """The terms that make up the utility, with their weights: `pfizer=1,moderna=0.5` as text.

    A term is a column, or a product of columns such as `cpus*run_time`.
    """
    if isinstance(utility, Mapping):
        return {str(name): check_weight(name, weight) for name, weight in utility.items()}
    if not isinstance(utility, str):
        return dict.fromkeys(utility, 1.0)
    if utility in known or not set(",=") & set(utility):
        return {utility: 1.0}
    return weights_of(utility, "utility")


def factors(term: str, known: Sequence[str]) -> list[str]:
    """The columns in a term of the utility: one, or the factors of a product."""
    return [term] if term in known else [name.strip() for name in term.split("*")]


def utility_of(source: Source, rows: ibis.Table, weights: Mapping[str, float]) -> dict[str, ibis.Value]:
    """The utility of each row: one column unchanged, or the weighted sum of several columns or products of columns."""
    if not weights:
        return {}
    terms = {name: factors(name, source.columns) for name in weights}
    numbers = {name: source.number(rows[name], name) for names in terms.values() for name in names}
    if len(numbers) == 1:
        ((name, weight),) = weights.items()
        if terms[name] == [name]:
            return {"utility": rows[name] if weight == 1 else weight * numbers[name]}
    # Each number has to be one: a negative one must not hide behind a positive one.
    is_bad = reduce(operator.or_, [(~(number >= 0)).fill_null(True) for number in numbers.values()])
    products = {name: reduce(operator.mul, [numbers[each] for each in names]) for name, names in terms.items()}
    total = reduce(operator.add, [weight * products[name] for name, weight in weights.items()])
    return {"utility": ibis.ifelse(is_bad, ibis.literal(math.nan, type="float64"), total)}


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
