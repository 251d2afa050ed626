"""How the tables of an older version become those of this one, in one transaction.

Events keep their bytes, which hashes cover. What this version keeps in tables of its own is derived from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sa

from bygones.ledger.storage import derived, schema


def from_version_1(connection: sa.Connection) -> None:
    """Events have an author and a key, can be void and wait for their time; draws have a seed, and numbers bounds."""
    connection.execute(sa.text("ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("ALTER TABLE events ADD COLUMN key TEXT"))
    for index in schema.events.indexes:
        if index.name in ("events_by_key", "events_by_time"):
            index.create(connection)
    schema.voids.create(connection)
    connection.execute(sa.text("CREATE TABLE draws (id INTEGER, seed TEXT, event BIGINT)"))
    connection.execute(sa.text("INSERT INTO draws (id, seed) VALUES (1, '')"))
    connection.execute(sa.text("ALTER TABLE ledger RENAME COLUMN latest TO settled"))
    _bound(connection, schema.agents, schema.events)


def from_version_2(connection: sa.Connection) -> None:
    """What was given, links between events and corrected amounts are tables; seeds are a chain."""
    old = connection.execute(sa.text("SELECT seed, event FROM draws")).one()
    connection.execute(sa.text("DROP TABLE draws"))
    for table in (schema.draws, schema.corrected, schema.links, schema.given):
        table.create(connection)
    committed = {} if old.event is None else {"pending": old.seed, "committed": old.event}
    connection.execute(schema.draws.insert().values(id=1, seed=secrets.token_hex(32), before=0, **committed))
    derived.rebuild(connection)


def _bound(connection: sa.Connection, *tables: sa.Table) -> None:
    """Adds the tables' bounds, from which rows that are beyond them already are exempt; `verify` reports those."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            check = _check(table)
            exempt = " NOT VALID" if _last_beyond(connection, table) is not None else ""
            connection.execute(
                sa.text(f"ALTER TABLE {table.name} ADD CONSTRAINT {check.name} CHECK ({check.sqltext}){exempt}")
            )
    else:
        _rebuild(connection, tables)


def _rebuild(connection: sa.Connection, tables: Sequence[sa.Table]) -> None:
    """Replaces tables by those of this version with the same rows, since SQLite cannot add a bound to a table.

    The caller's connection does not enforce foreign keys, which the new tables have to satisfy in the end.
    """
    new = sa.MetaData()
    for table in tables:
        for index in sa.inspect(connection).get_indexes(table.name):
            connection.execute(sa.text(f"DROP INDEX {index['name']}"))
        connection.execute(sa.text(f"ALTER TABLE {table.name} RENAME TO old_{table.name}"))
    for table in tables:
        old, copy = sa.table(f"old_{table.name}", *map(sa.column, table.c.keys())), table.to_metadata(new)
        last = _last_beyond(connection, table, f"old_{table.name}")
        if last is not None:
            check, (key,) = _check(copy), copy.primary_key
            copy.constraints.remove(check)
            copy.append_constraint(sa.CheckConstraint(f"{key.name} <= {last} OR {check.sqltext}", name=check.name))
        copy.create(connection)
        there = {column["name"] for column in sa.inspect(connection).get_columns(old.name)}
        columns = [column.name for column in table.c if column.name in there]
        connection.execute(copy.insert().from_select(columns, sa.select(*(old.c[name] for name in columns))))
    for table in reversed(tables):
        connection.execute(sa.text(f"DROP TABLE old_{table.name}"))
    broken = connection.execute(sa.text("PRAGMA foreign_key_check")).all()
    if broken:
        raise ValueError(f"{len(broken)} events are about agents who are not in the ledger: restore a backup")


def _last_beyond(connection: sa.Connection, table: sa.Table, name: str | None = None) -> int | None:
    """The last row of a table that is beyond the table's bounds."""
    (key,) = table.primary_key
    query = f"SELECT max({key.name}) FROM {name or table.name} WHERE NOT ({_check(table).sqltext})"
    found: int | None = connection.scalar(sa.text(query))
    return found


def _check(table: sa.Table) -> sa.CheckConstraint:
    return next(each for each in table.constraints if isinstance(each, sa.CheckConstraint))


MIGRATIONS: dict[int, Callable[[sa.Connection], object]] = {1: from_version_1, 2: from_version_2}
"""By version, how its tables become those of the next version."""


def migrate(
    connection: sa.Connection,
    found: int,
    migrations: Mapping[int, Callable[[sa.Connection], object]] = MIGRATIONS,
    wanted: int = schema.VERSION,
) -> None:
    """Brings older tables to the wanted version, one version at a time; runs in the caller's transaction."""
    for step in range(found, wanted):
        migrations[step](connection)
    connection.execute(schema.schema_version.update().values(version=wanted))
