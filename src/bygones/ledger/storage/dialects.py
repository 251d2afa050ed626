"""Where SQLite and PostgreSQL differ: who records, and how many rows go in one statement.

**Authors.** The author is the one given, else that of the environment, else the user of the operating system. On
PostgreSQL the database's user is named as well (`ana as desk`), which nobody else can claim to be where the database
asks for passwords. Elsewhere an author is a note, not a proof.

**Rows.** A driver sends a statement with many rows to PostgreSQL once for each row, and the server runs each by itself.
There the rows go as one array per column in a single statement. SQLite, in this process, gains nothing by it.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from bygones._text import check_text

T = TypeVar("T", int, str)

VARIABLE = "BYGONES_AUTHOR"
"""The environment variable that names the author."""

MANY = 5_000
"""As many values are looked up in one statement, of which SQLite takes 32,766."""


def author_of(given: str | None) -> str:
    """The author of new events; empty if no name is known."""
    author = given if given is not None else os.environ.get(VARIABLE, "")
    try:
        return check_text("author", author) or check_text("author", getpass.getuser())
    except (KeyError, OSError):  # an operating system without users
        return ""


def in_database(connection: sa.Connection, author: str) -> str:
    """The author with the database's user, where the database has users."""
    if connection.dialect.name == "sqlite":
        return author
    user = str(connection.scalar(sa.text("SELECT session_user")))
    return f"{author} as {user}" if author else user


def select_many(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[Any]
) -> Iterator[Any]:
    """The rows of a query in which a column has one of many values, in the order of these values."""
    for some in parts(values):
        yield from connection.execute(query.where(column.in_(some)).order_by(column))


def parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Values in their order, as many at a time as are looked up in one statement."""
    wanted = sorted(values)
    for start in range(0, len(wanted), MANY):
        yield wanted[start : start + MANY]


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
