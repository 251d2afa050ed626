"""Opens a history in the engine that reads it: DuckDB for files, or the database that holds it, through Ibis."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
import sqlite3
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa

from bygones._arrays import check_count
from bygones._csv import check_file, not_text, separator
from bygones._secrets import redacted, secrets_in

LEDGER_TABLES = frozenset({"ledger", "agents", "events", "schema_version"})
LEDGER_COLUMNS = ("seq", "kind", "time", "agent", "amount", "refers")
"""The columns of every export of a ledger."""

THREADS = 1024
"""The most threads that DuckDB may be given."""

COLUMNS = 10_000
"""The most columns of a CSV file."""

_BATCH = 100_000
_LONGEST_LINE = 1_000_000
_WRONG_LENGTH = re.compile(r"CSV Error on Line: (\d+)\n.*Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """The table that a history comes from.

    Attributes:
        table: the Ibis table.
        label: its name in messages.
        above: the number of lines above the first row, so that row numbers agree with an editor's line numbers.
        shielded: whether names may have a leading apostrophe that protects spreadsheets from formulas.
        decimal_comma: whether a comma in a number is the decimal sign.
        instants: whether times are whole microseconds since 1970, as in the tables of a ledger.
        rules: for a ledger, all its rules, as its tables store them.
        owned: whether the connection was opened for this source, and is closed with it.
        several: whether the rows come from several files, named in the column `filename`.
        filtered: whether some rows were left out, so that row numbers do not count them.
    """

    table: Any
    label: str
    above: int = 0
    shielded: bool = False
    decimal_comma: bool = False
    instants: bool = False
    rules: str | None = None
    owned: bool = True
    several: bool = False
    filtered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

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


def open_source(
    source: Any,
    table: str | None = None,
    *,
    threads: int | None = None,
    memory: str = "3GB",
    fields: Sequence[str] | None = None,
) -> Source:
    """Opens the table at a path, a glob or a URL, or a table in memory.

    Args:
        source: a CSV or Parquet file or glob, a DuckDB or SQLite file, a URL that Ibis can connect to, an Ibis table,
            or a table in memory that Ibis can take (Arrow, pandas, Polars).
        table: the table to read, for databases; `schema.table` for a table in another schema.
        threads: the number of threads that DuckDB may use; by default all.
        memory: how much memory DuckDB may use before it spills to disk.
        fields: the names of the columns of a CSV file without a header line.
    """
    import ibis
    import ibis.expr.types as ir

    if isinstance(source, list | tuple) and source and all(isinstance(each, str | Path) for each in source):
        if len(source) > 1:
            return _from_files([Path(each) for each in source], table, threads, memory, fields)
        (source,) = source

    if isinstance(source, ir.Table):
        return Source(source, "the table", owned=False)
    if not isinstance(source, str | Path):
        return Source(ibis.memtable(source), "the table", owned=False)
    label = str(source)
    if "://" in label:
        return _from_url(label, table)
    path = Path(label)
    kind = _kind(path)
    if kind == "duckdb":
        with readable(label):
            return _from_database(ibis.duckdb.connect(label, read_only=True), table, label)
    engine = duckdb(threads, memory)
    if kind == "sqlite":
        copied, rules = _from_sqlite(path, table)
        return Source(_register(engine, copied), label, rules=rules)
    if table is not None:
        raise ValueError(f"table applies only to databases, but {label} is a single table")
    with readable(label):
        if kind == "parquet":
            return Source(engine.read_parquet(str(path / "**" / "*.parquet") if path.is_dir() else label), label)
        return _from_csv(engine, [path], fields)


def _from_files(
    paths: Sequence[Path], table: str | None, threads: int | None, memory: str, fields: Sequence[str] | None
) -> Source:
    """Several files of one kind as one table."""
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1 or not kinds <= {"csv", "parquet"}:
        raise ValueError(f"several files must all be CSV or all Parquet, got {', '.join(map(str, paths))}")
    if table is not None:
        raise ValueError("table applies only to databases")
    engine = duckdb(threads, memory)
    label = f"{paths[0]} and {len(paths) - 1} more"
    with readable(label):
        if kinds == {"parquet"}:
            return Source(engine.read_parquet([str(path) for path in paths], union_by_name=True), label)
        return _from_csv(engine, paths, fields)


def in_memory(table: pa.Table, label: str, *, threads: int | None = None, memory: str = "3GB") -> Source:
    """An Arrow table, registered in DuckDB."""
    return Source(_register(duckdb(threads, memory), table), label)


def check_columns(found: Sequence[str], wanted: Sequence[str], label: str) -> None:
    """Raises ValueError for a missing column, with the columns that exist and the nearest match."""
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name.lower(), [each.lower() for each in found], n=1)
            meant = next((each for each in found if near and each.lower() == near[0]), None)
            hint = "" if meant is None else f" (did you mean {meant!r}?)"
            raise ValueError(f"{label} has no column {name!r}{hint}: found {', '.join(map(repr, found)) or 'none'}")


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
        raise ValueError(f"{label} cannot be read: {_first_line(error)}") from None


def _refusals() -> tuple[type[Exception], ...]:
    """The error types of the engines that have been imported; no other engine can have raised an error."""
    known = (("duckdb", "Error"), ("ibis.common.exceptions", "IbisError"), ("psycopg", "Error"), ("sqlite3", "Error"),
             ("pyspark.errors", "PySparkException"))  # fmt: skip
    return tuple(getattr(sys.modules[module], name) for module, name in known if module in sys.modules)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def duckdb(threads: int | None, memory: str) -> Any:
    """A DuckDB in memory, through Ibis, that spills to disk beyond this much memory."""
    import ibis

    settings = {} if threads is None else {"threads": check_count("threads", threads, most=THREADS)}
    try:
        connection = ibis.duckdb.connect(memory_limit=memory, **settings)
    except _refusals():
        raise ValueError(f"memory must be an amount such as 3GB, got {memory!r}") from None
    # Error messages name the row, so rows must keep their order.
    connection.raw_sql("SET preserve_insertion_order = true")
    return connection


def _register(connection: Any, table: pa.Table) -> Any:
    connection.con.register("history", table)
    return connection.table("history")


def _from_url(url: str, table: str | None) -> Source:
    import ibis

    shown = redacted(url, secrets_in(url))
    try:
        connection = ibis.connect(url)
    except Exception as error:
        # Each of the many drivers behind a URL has errors of its own, and some repeat the password.
        raise ValueError(f"{shown} cannot be read: {redacted(_first_line(error), secrets_in(url))}") from None
    return _from_database(connection, table, shown)


def _from_database(connection: Any, table: str | None, label: str) -> Source:
    with readable(label), ExitStack() as on_refusal:
        on_refusal.callback(connection.disconnect)
        if connection.name == "duckdb":
            answer = connection.con.sql("SELECT table_name FROM information_schema.tables ORDER BY table_name")
            known = [name for (name,) in answer.fetchall()]
        else:
            known = sorted(connection.list_tables())
        if _means_ledger(known, table):
            (rules,) = connection.table("ledger").select("rules").to_pyarrow()["rules"].to_pylist()
            found = Source(_ledger_table(connection), label, instants=True, rules=rules)
            on_refusal.pop_all()
            return found
        schema, _, name = (table or "").rpartition(".")
        if not schema:
            name = _check_table(known, table, label)
        found = Source(connection.table(name, database=schema or None), f"{label} {name}")
        on_refusal.pop_all()
        return found


def _check_table(known: Sequence[str], table: str | None, label: str) -> str:
    if table is None and len(known) == 1:
        return known[0]
    if table is None or table not in known:
        problem = "has several tables, choose one" if table is None else f"has no table {table!r}"
        raise ValueError(f"{label} {problem}: found {', '.join(map(repr, known)) or 'none'}")
    return table


def _from_sqlite(path: Path, table: str | None) -> tuple[pa.Table, str | None]:
    """A table of an SQLite file, with each column typed by its values; for a ledger, its events and its rules."""
    try:
        with closing(sqlite3.connect(f"file:{path.absolute().as_posix()}?mode=ro", uri=True)) as connection:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            known = [name for (name,) in listed]
            if _means_ledger(known, table):
                (rules,) = connection.execute("SELECT rules FROM ledger").fetchone()
                return _ledger_events(connection), rules
            return _copied(connection, _check_table(known, table, str(path))), None
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _means_ledger(known: Sequence[str], table: str | None) -> bool:
    """Whether to read the database as a ledger: it has the tables of one, and no other table was named."""
    return table in (None, "events") and set(known) >= LEDGER_TABLES


def _ledger_table(connection: Any) -> Any:
    """The events of a ledger with the names of the agents, queried in its database."""
    events, agents = connection.table("events"), connection.table("agents")
    named = events.left_join(agents, events.agent == agents.id)
    named = named.filter(named.agent.notnull() | (named.kind == "void"))
    return named.select("seq", "kind", "time", agents.name.name("agent"), "amount", "refers")


def _copied(connection: sqlite3.Connection, table: str) -> pa.Table:
    quoted = _quoted(table)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})")]
    kinds = [
        {kind for (kind,) in connection.execute(f"SELECT DISTINCT typeof({_quoted(name)}) FROM {quoted}")}
        for name in names
    ]
    types = [
        pa.int64() if kind <= {"integer"} else pa.float64() if kind <= {"integer", "real", "null"} else pa.string()
        for kind in kinds
    ]
    chosen = ", ".join(
        f"CAST({_quoted(name)} AS TEXT)" if kind == pa.string() else _quoted(name)
        for name, kind in zip(names, types, strict=True)
    )
    return _batches(
        connection.execute(f"SELECT {chosen} FROM {quoted}"), pa.schema(list(zip(names, types, strict=True)))
    )


def _ledger_events(connection: sqlite3.Connection) -> pa.Table:
    rows = connection.execute(
        "SELECT seq, kind, time, name, amount, refers FROM events LEFT JOIN agents ON agents.id = events.agent "
        "WHERE events.agent IS NOT NULL OR kind = 'void' ORDER BY seq"
    )
    types = (pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.float64(), pa.int64())
    return _batches(rows, pa.schema(list(zip(LEDGER_COLUMNS, types, strict=True))))


def _batches(rows: sqlite3.Cursor, schema: pa.Schema) -> pa.Table:
    batches = []
    while some := rows.fetchmany(_BATCH):
        columns = list(zip(*some, strict=True))
        batches.append(
            pa.record_batch([pa.array(c, type=k) for c, k in zip(columns, schema.types, strict=True)], schema=schema)
        )
    return pa.Table.from_batches(batches, schema=schema)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _kind(path: Path) -> str:
    """The type of a file, by its first bytes if they are known, otherwise by its name."""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(16)
        if start.startswith(b"SQLite format 3"):
            return "sqlite"
        if start[8:12] == b"DUCK":
            return "duckdb"
        if start.startswith(b"PAR1"):
            return "parquet"
    return "parquet" if path.is_dir() or path.suffix.lower() in (".parquet", ".pq") else "csv"


def _from_csv(engine: Any, paths: Sequence[Path], fields: Sequence[str] | None) -> Source:
    """All columns of CSV files as text; the first line gives the names and the separator."""
    files = [each for path in paths for each in _matching(path)]
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    firsts = [first_line(path) for path in files]
    between = separator(firsts[0])
    tables = []
    names = _names(files[0], firsts[0], between, fields)
    for path, line in zip(files, firsts, strict=True):
        own = names if fields else _names(path, line, between, None)
        check_columns(own, names, str(path))
        if extra := [name for name in own if name not in names]:
            raise ValueError(f"{path} has a column {extra[0]!r} that {files[0]} does not have")
        tables.append(own)
    groups: dict[tuple[str, ...], list[str]] = {}
    for path, own in zip(files, tables, strict=True):
        groups.setdefault(tuple(own), []).append(str(path))
    read = [
        engine.read_csv(
            some if len(some) > 1 else some[0], header=fields is None, auto_detect=False, delim=between, quote='"',
            escape='"', columns=dict.fromkeys(own, "VARCHAR"), **({"filename": True} if len(files) > 1 else {}),
        )
        for own, some in groups.items()
    ]  # fmt: skip
    table = read[0]
    for other in read[1:]:
        table = table.union(other.select(*table.columns))
    above = 0 if fields else 1
    return Source(table, label, above=above, shielded=True, decimal_comma=between == ";", several=len(files) > 1)


def _matching(path: Path) -> list[Path]:
    is_glob = any(letter in str(path) for letter in "*?[")
    return [Path(name) for name in sorted(glob(str(path), recursive=True))] or [path] if is_glob else [path]


def first_line(path: Path) -> str:
    """The first line of a text file, perhaps compressed."""
    check_file(path)
    reader = gzip.open if path.suffix == ".gz" else open
    try:
        with reader(path, "rt", encoding="utf-8-sig", newline="") as file:
            return str(file.readline(_LONGEST_LINE))
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from None


def _names(path: Path, line: str, between: str, fields: Sequence[str] | None) -> list[str]:
    """The names of the columns: given, or in the first line."""
    found = [name.strip() for name in next(csv.reader([line], delimiter=between), [])]
    if fields:
        if len(fields) != len(found):
            raise ValueError(f"{path}: fields must name all {len(found)} columns, got {len(fields)} names")
        return list(fields)
    if len(found) > COLUMNS or len(line) >= _LONGEST_LINE:
        raise ValueError(f"{path} must have at most {COLUMNS:,} columns, got {len(found):,} or more in its first line")
    twice = [name for name, times in Counter(found).items() if times > 1]
    if any(map(_is_data, found)):
        raise ValueError(
            f"{path} has no header line: it begins with {', '.join(map(repr, found[:4]))}; name its columns with "
            "--fields"
        )
    if twice or not any(found):
        raise ValueError(f"{path} has the column {twice[0]!r} twice" if any(twice) else f"{path} has no header")
    return found


def _is_data(cell: str) -> bool:
    """Whether a cell is a number, a date or a time, which no column is called."""
    return (
        re.fullmatch(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{2,4}.*", cell)
        is not None
    )
