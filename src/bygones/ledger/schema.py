"""The tables of a ledger, their version, and how an older version becomes this one.

Events are the ledger; everything else is a snapshot that follows from them, and `verify` compares the two.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

import sqlalchemy as sa

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
    """Events have an author and a key, can be void and wait for their time; a secret seed waits for the next draw."""
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
