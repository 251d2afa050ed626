"""Opens a history in the engine that reads it: DuckDB for files, or the database that holds it, through Ibis."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from bygones._secrets import redacted, secrets_in
from bygones.audit.read.file_tables import open_csv, open_sqlite
from bygones.audit.read.sources import Source, duckdb, first_line_of, readable

LEDGER_TABLES = frozenset({"ledger", "agents", "events", "schema_version"})

_FILE_SCHEMES = ("duckdb", "file", "sqlite")


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
        source: a CSV or Parquet file or glob, a DuckDB or SQLite file, its URL such as `sqlite:///team.db`, the URL of
            a database that Ibis can connect to, an Ibis table, or a table in memory that Ibis can take (Arrow, pandas,
            Polars). Files are only read, and views in them reach nothing outside them.
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
        return open_sqlite(engine, path, lambda known: _chosen(known, table, label))
    if table is not None:
        raise ValueError(f"table applies only to databases, but {label} is a single table")
    with readable(label):
        if kind == "parquet":
            files = str(path / "**" / "*.parquet") if path.is_dir() else label
            return Source(engine.read_parquet(files), label, parquet=(files,))
        return open_csv(engine, [path], fields)


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
            files = [str(path) for path in paths]
            return Source(engine.read_parquet(files, union_by_name=True), label, parquet=tuple(files))
        return open_csv(engine, paths, fields)


def in_memory(table: pa.Table, label: str, *, threads: int | None = None, memory: str = "3GB") -> Source:
    """An Arrow table, registered in DuckDB."""
    return Source(_registered(duckdb(threads, memory), table), label)


def _registered(connection: Any, table: pa.Table) -> Any:
    connection.con.register("history", table)
    return connection.table("history")


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
    import ibis

    shown = redacted(url, secrets_in(url))
    try:
        connection = ibis.connect(url)
    except Exception as error:
        # Each of the many drivers behind a URL has errors of its own, and some repeat the password.
        raise ValueError(f"{shown} cannot be read: {redacted(first_line_of(error), secrets_in(url))}") from None
    return _from_database(connection, table, shown)


def _from_database(connection: Any, table: str | None, label: str) -> Source:
    with readable(label), ExitStack() as on_refusal:
        on_refusal.callback(connection.disconnect)
        known = _tables(connection)
        if _means_ledger(known, table):
            (rules,) = connection.table("ledger").select("rules").to_pyarrow()["rules"].to_pylist()
            found = Source(_ledger_table(connection), label, instants=True, rules=rules)
            on_refusal.pop_all()
            return found
        schema, _, name = ("" if table is None or table in known else table).rpartition(".")
        if schema:
            name = _check_table(_tables(connection, schema), name, f"the schema {schema!r} of {label}")
        else:
            name = _check_table(known, table, label)
        found = Source(connection.table(name, database=schema or None), f"{label} {name}")
        on_refusal.pop_all()
        return found


def _tables(connection: Any, schema: str | None = None) -> list[str]:
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


def _chosen(known: Sequence[str], table: str | None, label: str) -> str | None:
    """The table to read, or None for a ledger."""
    return None if _means_ledger(known, table) else _check_table(known, table, label)


def _means_ledger(known: Sequence[str], table: str | None) -> bool:
    """Whether to read the database as a ledger: it has the tables of one, and no other table was named."""
    return table in (None, "events") and set(known) >= LEDGER_TABLES


def _ledger_table(connection: Any) -> Any:
    """The events of a ledger with the names of the agents, queried in its database."""
    events, agents = connection.table("events"), connection.table("agents")
    named = events.left_join(agents, events.agent == agents.id)
    named = named.filter(named.agent.notnull() | (named.kind == "void"))
    return named.select("seq", "kind", "time", agents.name.name("agent"), "amount", "refers")


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
