"""Copies a table of an SQLite file, or the events of a ledger in one, into DuckDB, some rows at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from bygones.audit.inputs.row_batches import fill
from bygones.audit.inputs.sources import LEDGER_COLUMNS, Source

_LEDGER_TYPES = (pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.float64(), pa.int64())
_LEDGER_EVENTS = (
    "SELECT seq, kind, time, name, amount, refers FROM events LEFT JOIN agents ON agents.id = events.agent "
    "WHERE events.agent IS NOT NULL OR kind = 'void' ORDER BY seq"
)


def open_sqlite(engine: Any, path: Path, choose: Callable[[Sequence[str]], str | None]) -> Source:
    """Opens a table of an SQLite file, with each column typed by its values; or a ledger, with its rules.

    `choose` is given the names of the tables. It returns the one to read, or None to read them as a ledger.
    """
    try:
        with closing(sqlite3.connect(f"file:{path.absolute().as_posix()}?mode=ro", uri=True)) as connection:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            table = choose([name for (name,) in listed])
            if table is None:
                (rules,) = connection.execute("SELECT rules FROM ledger").fetchone()
                schema = pa.schema(list(zip(LEDGER_COLUMNS, _LEDGER_TYPES, strict=True)))
                return Source(
                    fill(engine, "history", schema, connection.execute(_LEDGER_EVENTS)), str(path), rules=rules
                )
            return Source(_copied(engine, connection, table), str(path))
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _copied(engine: Any, connection: sqlite3.Connection, table: str) -> Any:
    """The table, with numbers as numbers and everything else as text."""
    quoted = _quoted(table)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})")]
    kinds = ", ".join(f"group_concat(DISTINCT typeof({_quoted(name)}))" for name in names)
    found = connection.execute(f"SELECT {kinds} FROM {quoted}").fetchone()
    types = [_type(set((kind or "").split(","))) for kind in found]
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
