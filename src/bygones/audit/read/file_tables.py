"""Opens CSV files and tables of SQLite files in DuckDB.

Of a CSV file, the first line gives the names of the columns and the separator, and all cells are text. A table of an
SQLite file, or the events of a ledger in one, is copied some rows at a time.
"""

from __future__ import annotations

import csv
import gzip
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa

from bygones._csv import check_file, not_text, separator
from bygones.audit.read.sources import LEDGER_COLUMNS, Source, check_columns, fill, repeated_files

COLUMNS = 10_000
"""The most columns of a CSV file."""

_LONGEST_LINE = 1_000_000
_LEDGER_TYPES = (pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.float64(), pa.int64())
_LEDGER_EVENTS = (
    "SELECT seq, kind, time, name, amount, refers FROM events LEFT JOIN agents ON agents.id = events.agent "
    "WHERE events.agent IS NOT NULL OR kind = 'void' ORDER BY seq"
)


def open_csv(engine: Any, paths: Sequence[Path], fields: Sequence[str] | None) -> Source:
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
    above, several = 0 if fields else 1, len(files) > 1
    return Source(
        table, label, above=above, shielded=True, decimal_comma=between == ";", several=several,
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
