"""Opens a history in the engine that reads it: DuckDB for files, or the database that holds it, through Ibis.

All cells of a CSV file are text; its first line gives the names of the columns and the separator. A table of an SQLite
file, or the events of a ledger in one, is copied into DuckDB some rows at a time.
"""

from __future__ import annotations

import csv
import gzip
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from glob import glob
from pathlib import Path

import ibis
import pyarrow as pa

from bygones._csv import check_file, not_text, separator
from bygones._secrets import redacted, secrets_in
from bygones.audit.read.sources import (
    DETAILED,
    Source,
    check_columns,
    duckdb,
    fill,
    first_line_of,
    readable,
    repeated_files,
)

COLUMNS = 10_000
"""The most columns of a CSV file."""

LEDGER_TABLES = frozenset({"ledger", "agents", "events", "schema_version"})

_FILE_SCHEMES = ("duckdb", "file", "sqlite")
_LONGEST_LINE = 1_000_000
_LEDGER_SCHEMA = pa.schema(
    {
        "seq": pa.int64(), "kind": pa.string(), "time": pa.timestamp("us", "UTC"), "agent": pa.string(),
        "amount": pa.float64(), "refers": pa.int64(), "details": pa.string(),
    }
)  # fmt: skip
_LEDGER_EVENTS = (
    "SELECT seq, kind, time, name, amount, refers, "
    f"CASE WHEN kind IN {DETAILED} THEN details END "
    "FROM events LEFT JOIN agents ON agents.id = events.agent ORDER BY seq"
)


def open_source(
    source: object,
    table: str | None = None,
    *,
    threads: int | None = None,
    memory: str = "3GB",
    fields: Sequence[str] | None = None,
) -> Source:
    """Opens the table at a path, a glob or a URL, or a table in memory.

    Args:
        source: a CSV or Parquet file or glob, a DuckDB or SQLite file, its URL such as `sqlite:///team.db`, the URL of
            a database that Ibis can connect to, an Ibis table, or a table in memory that Ibis can take (Arrow, pandas,
            Polars). Files are only read, and views in them reach nothing outside them.
        table: the table to read, for databases; `schema.table` for a table in another schema.
        threads: the number of threads that DuckDB may use; by default all.
        memory: how much memory DuckDB may use before it spills to disk.
        fields: the names of the columns of a CSV file without a header line.
    """
    paths = paths_of(source)
    if paths is not None and len(paths) > 1:
        kinds = {_kind(path) for path in paths}
        if len(kinds) > 1 or not kinds <= {"csv", "parquet"}:
            raise ValueError(f"several files must all be CSV or all Parquet, got {', '.join(map(str, paths))}")
        if table is not None:
            raise ValueError("table applies only to databases")
        return _from_files(duckdb(threads, memory), paths, kinds.pop(), fields)
    if paths is not None and isinstance(source, list | tuple):
        (source,) = source

    if isinstance(source, ibis.Table):
        return Source(source, "the table", owned=False)
    if not isinstance(source, str | Path):
        return Source(ibis.memtable(source), "the table", owned=False)
    label = str(source)
    scheme, is_url, _ = label.partition("://")
    if is_url and scheme not in _FILE_SCHEMES:
        return _from_url(label, table)
    path = _file_of(label) if is_url else Path(label)
    if not path.exists() and redacted(label) != label:
        raise ValueError(f"there is no file {redacted(label)}; a URL is such as postgresql://host/name")
    label, kind = str(path), _kind(path)
    if kind == "duckdb":
        with readable(label):
            return _from_database(duckdb(threads, memory, path), table, label)
    engine = duckdb(threads, memory)
    if kind == "sqlite":
        return _from_sqlite(engine, path, table)
    if table is not None:
        raise ValueError(f"table applies only to databases, but {label} is a single table")
    return _from_files(engine, [path], kind, fields)


def paths_of(source: object) -> list[Path] | None:
    """The files of a source; None if it is a table in memory."""
    if isinstance(source, str | Path):
        return [Path(source)]
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | Path) for each in source):
        return [Path(each) for each in source]
    return None


def in_memory(table: pa.Table, label: str, *, threads: int | None = None, memory: str = "3GB") -> Source:
    """An Arrow table, registered in DuckDB."""
    engine = duckdb(threads, memory)
    engine.con.register("history", table)
    return Source(engine.table("history"), label)


def _from_files(engine: ibis.BaseBackend, paths: Sequence[Path], kind: str, fields: Sequence[str] | None) -> Source:
    """CSV or Parquet files as one table."""
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    with readable(label):
        if kind == "csv":
            return _from_csv(engine, paths, label, fields)
        files = [str(path / "**" / "*.parquet" if path.is_dir() else path) for path in paths]
        options = {"union_by_name": True} if len(paths) > 1 else {}
        return Source(engine.read_parquet(files, **options), label, parquet=tuple(files))


def _from_csv(engine: ibis.BaseBackend, paths: Sequence[Path], label: str, fields: Sequence[str] | None) -> Source:
    """All columns of CSV files as text; the first line gives the names and the separator."""
    files = [each for path in paths for each in _matching(path)]
    firsts = [first_line(path) for path in files]
    between = separator(firsts[0])
    names = _names(files[0], firsts[0], between, fields)
    groups: dict[tuple[str, ...], list[str]] = {}
    for path, line in zip(files, firsts, strict=True):
        own = names if fields else _names(path, line, between, None)
        check_columns(own, names, str(path))
        if extra := [name for name in own if name not in names]:
            raise ValueError(f"{path} has a column {extra[0]!r} that {files[0]} does not have")
        groups.setdefault(tuple(own), []).append(str(path))
    several = len(files) > 1
    tables = [
        engine.read_csv(
            some, header=fields is None, auto_detect=False, delim=between, quote='"', escape='"',
            columns=dict.fromkeys(own, "VARCHAR"), **({"filename": True} if several else {}),
        )
        for own, some in groups.items()
    ]  # fmt: skip
    table = tables[0]
    for other in tables[1:]:
        table = table.union(other.select(*table.columns))
    return Source(
        table, label, above=0 if fields else 1, shielded=True, decimal_comma=between == ";", several=several,
        repeated=repeated_files(files), hidden=("filename",) if several else (),
    )  # fmt: skip


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
    names = [name.strip() for name in next(csv.reader([line], delimiter=between), [])]
    if fields:
        if len(fields) != len(names):
            raise ValueError(f"{path}: fields must name all {len(names)} columns, got {len(fields)} names")
        return list(fields)
    if len(names) > COLUMNS or len(line) >= _LONGEST_LINE:
        raise ValueError(f"{path} must have at most {COLUMNS:,} columns, got {len(names):,} or more in its first line")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if any(map(_is_data, names)):
        raise ValueError(
            f"{path} has no header line: it begins with {', '.join(map(repr, names[:4]))}; name its columns with "
            "--fields"
        )
    if twice or not any(names):
        raise ValueError(f"{path} has the column {twice[0]!r} twice" if any(twice) else f"{path} has no header")
    return names


def _is_data(cell: str) -> bool:
    """Whether a cell is a number, a date or a time, which no column is called."""
    data = r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{2,4}.*"
    return re.fullmatch(data, cell) is not None


def _from_sqlite(engine: ibis.BaseBackend, path: Path, table: str | None) -> Source:
    """A table of an SQLite file, with each column typed by its values; or a ledger, with its rules."""
    try:
        with closing(sqlite3.connect(f"file:{path.absolute().as_posix()}?mode=ro", uri=True)) as connection:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            known = [name for (name,) in listed]
            if not _means_ledger(known, table):
                return Source(_copied(engine, connection, _check_table(known, table, str(path))), str(path))
            return Source(fill(engine, "history", _LEDGER_SCHEMA, connection.execute(_LEDGER_EVENTS)), str(path))
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _copied(engine: ibis.BaseBackend, connection: sqlite3.Connection, table: str) -> ibis.Table:
    """The table, with numbers as numbers and everything else as text."""
    quoted = _quoted(table)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})")]
    kinds = ", ".join(f"group_concat(DISTINCT typeof({_quoted(name)}))" for name in names)
    stored = connection.execute(f"SELECT {kinds} FROM {quoted}").fetchone()
    types = [_type(set((kind or "").split(","))) for kind in stored]
    cells = ", ".join(
        f"CAST({_quoted(name)} AS TEXT)" if kind == pa.string() else _quoted(name)
        for name, kind in zip(names, types, strict=True)
    )
    schema = pa.schema(list(zip(names, types, strict=True)))
    return fill(engine, "history", schema, connection.execute(f"SELECT {cells} FROM {quoted}"))


def _type(kinds: set[str]) -> pa.DataType:
    """The type of a column whose values are of these kinds."""
    if kinds <= {"integer", ""}:
        return pa.int64()
    return pa.float64() if kinds <= {"integer", "real", "null"} else pa.string()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _file_of(url: str) -> Path:
    """The file that a URL names. As in the URL of a ledger, sqlite:///team.db is in the current folder."""
    scheme, _, rest = url.partition("://")
    path, shown = Path(rest if scheme == "file" else rest.removeprefix("/")), redacted(url, secrets_in(url))
    if not path.is_file():
        absolute = "" if path.is_absolute() else f"; the URL of an absolute path begins with {scheme}:////"
        raise ValueError(f"{shown} cannot be read: there is no file {redacted(str(path))}{absolute}")
    if scheme not in ("file", _kind(path)):
        raise ValueError(f"{shown} cannot be read: it is not a {'SQLite' if scheme == 'sqlite' else 'DuckDB'} file")
    return path


def _from_url(url: str, table: str | None) -> Source:
    shown = redacted(url, secrets_in(url))
    try:
        connection = ibis.connect(url)
    except Exception as error:
        # Each of the many drivers behind a URL has its own errors, and some repeat the password.
        raise ValueError(f"{shown} cannot be read: {redacted(first_line_of(error), secrets_in(url))}") from None
    return _from_database(connection, table, shown)


def _from_database(connection: ibis.BaseBackend, table: str | None, label: str) -> Source:
    with readable(label), ExitStack() as on_refusal:
        on_refusal.callback(connection.disconnect)
        known = _tables(connection)
        if _means_ledger(known, table):
            source = Source(_ledger_table(connection), label, instants=True)
        else:
            schema, _, name = ("" if table is None or table in known else table).rpartition(".")
            if schema:
                name = _check_table(_tables(connection, schema), name, f"the schema {schema!r} of {label}")
            else:
                name = _check_table(known, table, label)
            source = Source(connection.table(name, database=schema or None), f"{label} {name}")
        on_refusal.pop_all()
    return source


def _tables(connection: ibis.BaseBackend, schema: str | None = None) -> list[str]:
    """The names of the tables and views in a schema, by default in the one that is searched for names without one."""
    if connection.name != "duckdb":
        return sorted(connection.list_tables(database=schema))
    # Ibis asks for them with a function that DuckDB has deprecated.
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = coalesce(?, current_schema())"
    return sorted(name for (name,) in connection.con.execute(query, [schema]).fetchall())


def _check_table(known: Sequence[str], table: str | None, label: str) -> str:
    if table is None and len(known) == 1:
        return known[0]
    if table is None or table not in known:
        problem = "has several tables, choose one" if table is None else f"has no table {table!r}"
        raise ValueError(f"{label} {problem}: found {', '.join(map(repr, known)) or 'none'}")
    return table


def _means_ledger(known: Sequence[str], table: str | None) -> bool:
    """Whether to read the database as a ledger: it has the tables of one, and no other table was named."""
    return table in (None, "events") and set(known) >= LEDGER_TABLES


def _ledger_table(connection: ibis.BaseBackend) -> ibis.Table:
    """The events of a ledger with the names of the agents, queried in its database."""
    events, agents = connection.table("events"), connection.table("agents")
    named = events.left_join(agents, events.agent == agents.id)
    details = ibis.ifelse(named.kind.isin(DETAILED), named.details, ibis.null("string"))
    return named.select("seq", "kind", "time", agents.name.name("agent"), "amount", "refers", details=details)


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
