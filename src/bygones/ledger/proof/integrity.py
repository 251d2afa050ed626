"""Whether the database itself is in order, and reading it without its indexes.

An index is a second copy of some columns. Through a damaged index the database finds other rows than the table has, and
reports no error. So `verify` has the database check its indexes, and then reads the tables without them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import sqlalchemy as sa

from bygones.ledger.storage import schema, sqlite_files

MOST = 20
"""As many faults are listed; one is enough to restore a backup."""

_TABLE = re.compile(rf"\b(FROM|JOIN) ({'|'.join(schema.metadata.tables)})\b( AS \w+)?")


def faults(connection: sa.Connection) -> list[str]:
    """The results of the database's own check: damaged pages, and indexes that do not fit their tables."""
    return _sqlite_faults(connection) if connection.dialect.name == "sqlite" else _postgresql_faults(connection)


@contextmanager
def without_indexes(connection: sa.Connection) -> Iterator[None]:
    """Within this context every table is read row after row; only in the current transaction."""
    if connection.dialect.name != "sqlite":
        with _disabled(connection, "indexscan", "indexonlyscan", "bitmapscan"):
            yield
        return

    def rewrite(_: object, __: object, statement: str, parameters: Any, *___: object) -> tuple[str, Any]:
        return _TABLE.sub(lambda match: f"{match[0]} NOT INDEXED", statement), parameters

    sa.event.listen(connection, "before_cursor_execute", rewrite, retval=True)
    try:
        yield
    finally:
        sa.event.remove(connection, "before_cursor_execute", rewrite)


def rebuild_indexes(connection: sa.Connection) -> None:
    """Builds all indexes again from the tables."""
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text("REINDEX"))
        return
    for table in schema.metadata.tables:
        connection.execute(sa.text(f"REINDEX TABLE {table}"))


def _sqlite_faults(connection: sa.Connection) -> list[str]:
    pages = [row[0] for row in connection.execute(sa.text(f"PRAGMA integrity_check({MOST})")) if row[0] != "ok"]
    orphans = connection.execute(sa.text("PRAGMA foreign_key_check")).all()
    return [
        *(f"the file is damaged: {' '.join(fault.split())}" for fault in pages),
        *sqlite_files.faults(cast(sqlite3.Connection, connection.connection.dbapi_connection)),
        *(f"row {row[1]} of {row[0]} is about an agent who does not exist" for row in orphans[:MOST]),
    ]


def _postgresql_faults(connection: sa.Connection) -> list[str]:
    database, problems = sa.inspect(connection), []
    for table in schema.metadata.sorted_tables:
        key = database.get_pk_constraint(table.name)
        indexes = {str(index["name"]): index["column_names"] for index in database.get_indexes(table.name)}
        for index, columns in (indexes | {str(key["name"]): key["constrained_columns"]}).items():
            fault = _fault_of(connection, table, index, list(filter(None, columns)))
            if fault:
                problems.append(f"index {index} is damaged: {fault}")
    return problems


def _fault_of(connection: sa.Connection, table: sa.Table, index: str, columns: list[str]) -> str | None:
    """The fault of one index: by PostgreSQL's amcheck if this role may use it, else by comparing it with its table."""
    if connection.scalar(sa.text("SELECT to_regprocedure('bt_index_check(regclass, boolean)')")):
        try:
            with connection.begin_nested():
                connection.execute(sa.text("SELECT bt_index_check(CAST(:index AS regclass), true)"), {"index": index})
            return None
        except sa.exc.DBAPIError as error:
            if "permission denied" not in str(error.orig):
                return str(error.orig).splitlines()[0]
    where = connection.scalar(
        sa.text("SELECT pg_get_expr(indpred, indrelid) FROM pg_index WHERE indexrelid = CAST(:index AS regclass)"),
        {"index": index},
    )
    listed = ", ".join(f'"{column}"' for column in columns)
    query = sa.text(
        "SELECT count(*), sum(CAST(hashtextextended(CAST(entry AS text), 0) AS numeric)) FROM "
        f"(SELECT {listed} FROM {table.name} WHERE {where or 'true'} ORDER BY {listed}) AS entry"
    )
    with _disabled(connection, "seqscan", "sort", "bitmapscan"):
        by_index = connection.execute(query).one()
    with without_indexes(connection):
        by_table = connection.execute(query).one()
    if by_index == by_table:
        return None
    return f"the {by_index[0]} rows that it finds are not the {by_table[0]} rows of the table"


@contextmanager
def _disabled(connection: sa.Connection, *plans: str) -> Iterator[None]:
    """Keeps PostgreSQL from using some kinds of query plans where there are others."""
    for plan in plans:
        connection.execute(sa.text(f"SET LOCAL enable_{plan} = off"))
    yield
    for plan in plans:
        connection.execute(sa.text(f"SET LOCAL enable_{plan} = on"))
