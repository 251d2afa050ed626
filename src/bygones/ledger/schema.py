"""The tables of a ledger, their version, and how an older version becomes this one.

Events are the ledger; everything else is a snapshot that follows from them, and `verify` compares the two.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sa

from bygones.ledger.bounds import LARGEST, LARGEST_CORRECTION, LARGEST_SUM

VERSION = 2
"""The version of the tables that this code reads and writes."""

metadata = sa.MetaData()

schema_version = sa.Table("schema_version", metadata, sa.Column("version", sa.Integer, primary_key=True))

ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # a single row, which writers lock
    sa.Column("head", sa.BigInteger, nullable=False),  # the number of the last event
    sa.Column("head_hash", sa.LargeBinary, nullable=False),
    sa.Column("settled", sa.BigInteger, nullable=False),  # the agents' rows hold all events up to this instant
    sa.Column("rules", sa.Text, nullable=False),  # all rule changes
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("turns", sa.Text, nullable=False),
    sa.Column("as_of", sa.BigInteger, nullable=False),
    sa.Column("received", sa.Double, nullable=False),
    sa.Column("received_lost", sa.Double, nullable=False),
    sa.Column("remembered", sa.Double, nullable=False),
    sa.Column("remembered_lost", sa.Double, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.CheckConstraint(
        " AND ".join(
            f"abs({sum}) <= {LARGEST_SUM:g}" for sum in ("received", "received_lost", "remembered", "remembered_lost")
        ),
        name="agents_bounds",
    ),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("recorded", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.Integer, sa.ForeignKey("agents.id")),
    sa.Column("amount", sa.Double),
    sa.Column("refers", sa.BigInteger),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("details", sa.Text),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Column("author", sa.Text, nullable=False, server_default=""),
    sa.Column("key", sa.Text),
    sa.Index("events_of_agent", "agent", "time"),
    sa.Index("events_by_time", "time", "seq"),
    sa.Index("events_referring", "refers", sqlite_where=sa.text("refers IS NOT NULL"),
             postgresql_where=sa.text("refers IS NOT NULL")),
    sa.Index("events_by_key", "key", unique=True, sqlite_where=sa.text("key IS NOT NULL"),
             postgresql_where=sa.text("key IS NOT NULL")),
    sa.CheckConstraint(
        f"abs(amount) <= CASE kind WHEN 'correction' THEN {LARGEST_CORRECTION:g} ELSE {LARGEST:g} END",
        name="events_bounds",
    ),
)  # fmt: skip

voids = sa.Table(
    "voids",
    metadata,
    sa.Column("event", sa.BigInteger, primary_key=True),  # is void
    sa.Column("since", sa.BigInteger, primary_key=True),  # from this event on
    sa.Column("until", sa.BigInteger),  # until this event, if that put it back in effect
)

draws = sa.Table(
    "draws",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # a single row
    sa.Column("seed", sa.Text, nullable=False),  # the secret seed of the next decision, see draws.py
    sa.Column("event", sa.BigInteger),  # the event that published its hash
)


def from_version_1(connection: sa.Connection) -> None:
    """Events have an author and a key, can be void and wait for their time; draws have a seed, and numbers bounds."""
    from bygones.ledger.rebuilding import settle_anew

    connection.execute(sa.text("ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("ALTER TABLE events ADD COLUMN key TEXT"))
    for index in events.indexes:
        if index.name in ("events_by_key", "events_by_time"):
            index.create(connection)
    voids.create(connection)
    draws.create(connection)
    connection.execute(draws.insert().values(id=1, seed=secrets.token_hex(32)))
    connection.execute(sa.text("ALTER TABLE ledger RENAME COLUMN latest TO settled"))
    settle_anew(connection)
    bound(connection, agents, events)


def bound(connection: sa.Connection, *tables: sa.Table) -> None:
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


MIGRATIONS: dict[int, Callable[[sa.Connection], object]] = {1: from_version_1}
"""By version, how its tables become those of the next version."""


def create(connection: sa.Connection) -> None:
    """Makes the tables of the current version."""
    metadata.create_all(connection)
    connection.execute(schema_version.insert().values(version=VERSION))
    connection.execute(draws.insert().values(id=1, seed=secrets.token_hex(32)))


def version(connection: sa.Connection) -> int | None:
    """The version of the tables that are there, or None where there is no ledger."""
    if not sa.inspect(connection).has_table(schema_version.name):
        return None
    return connection.scalar(sa.select(schema_version.c.version))


def migrate(
    connection: sa.Connection,
    found: int,
    migrations: Mapping[int, Callable[[sa.Connection], object]] = MIGRATIONS,
    wanted: int = VERSION,
) -> None:
    """Brings older tables to the wanted version, one version at a time; runs in the caller's transaction."""
    for step in range(found, wanted):
        migrations[step](connection)
    connection.execute(schema_version.update().values(version=wanted))
