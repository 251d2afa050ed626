"""Many rows in one statement.

A driver sends a statement with many rows to PostgreSQL once for each row, and the server carries out each by itself.
There the rows go as one array per column in a single statement. SQLite runs in this process and gains nothing by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

MANY = 5_000
"""As many values are looked up in one statement, of which SQLite takes 32,766."""


def select_many(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[Any]
) -> Iterator[sa.Row[Any]]:
    """The rows of a query in which a column has one of many values, in the order of these values."""
    wanted = sorted(values)
    for start in range(0, len(wanted), MANY):
        yield from connection.execute(query.where(column.in_(wanted[start : start + MANY])).order_by(column))


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Adds rows, all with the same columns."""
    if connection.dialect.name == "postgresql":
        connection.execute(table.insert().from_select(list(rows[0]), _as_arrays(table, rows)))
    else:
        connection.execute(table.insert(), rows)


def update(connection: sa.Connection, table: sa.Table, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replaces the values of the rows that have the same key."""
    changed = [name for name in rows[0] if name != key]
    if connection.dialect.name == "postgresql":
        new = _as_arrays(table, rows).subquery("new")
        values = {name: new.c[name] for name in changed}
        connection.execute(table.update().values(values).where(table.c[key] == new.c[key]))
    else:
        values = {name: sa.bindparam(f"new_{name}") for name in changed}
        statement = table.update().values(values).where(table.c[key] == sa.bindparam("new_" + key))
        connection.execute(statement, [{f"new_{name}": value for name, value in row.items()} for row in rows])


def _as_arrays(table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> sa.Select[Any]:
    arrays = {
        name: sa.cast(
            sa.bindparam(name, [row[name] for row in rows], ARRAY(table.c[name].type)), ARRAY(table.c[name].type)
        )
        for name in rows[0]
    }
    return sa.select(*(sa.func.unnest(array, type_=table.c[name].type).label(name) for name, array in arrays.items()))
