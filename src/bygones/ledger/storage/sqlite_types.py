"""Cells of the types that their columns have. SQLite stores anything anywhere, so a file may hold anything.

What is read from a column is checked. `faults` says which cells of a file are of another type.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa


class CellError(TypeError):
    """A cell is not of the type of its column."""


def _checked(kind: type[Any], *accepted: type) -> type[Any]:
    """The type of a column of which everything that is read is of an accepted Python type, or nothing."""

    def check(value: object) -> object:
        if value is not None and type(value) not in accepted:
            raise CellError(f"a cell holds {type(value).__name__} instead of {accepted[0].__name__}")
        return value

    def processor(*_: object) -> Callable[[object], object]:
        return check

    return type(kind.__name__, (kind,), {"result_processor": processor, "cache_ok": True})


CHECKED: dict[type[Any], type[Any]] = {
    sa.Integer: _checked(sa.Integer, int),
    sa.BigInteger: _checked(sa.BigInteger, int),
    sa.Double: _checked(sa.Double, float, int),
    sa.Text: _checked(sa.Text, str),
    sa.LargeBinary: _checked(sa.LargeBinary, bytes),
}
"""For each type of a column, the one with which SQLite reads it."""

_STORED = {"INT": "integer", "TEXT": "text", "BLOB": "blob", "FLOA": "real", "DOUB": "real"}
"""As what SQLite stores the values of a column, by a part of the column's declared type."""


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """For each column, the first cell that is not of its type, in words."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL ORDER BY name")
    for (table,) in tables.fetchall():
        for _, column, declared, required, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
            stored = next((stored for part, stored in _STORED.items() if part in declared), "")
            found = connection.execute(
                f'SELECT rowid, typeof("{column}") FROM "{table}" NOT INDEXED WHERE typeof("{column}") NOT IN (?, ?)',
                (stored, stored if required else "null"),
            ).fetchone()
            if stored and found is not None:
                yield f"{column} in row {found[0]} of {table} is {found[1]} instead of {stored}"
