"""The tables of a ledger, and their version.

Events are the ledger; everything else follows from them, but for the secret of the draws. `verify` compares the two.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from bygones.ledger.model.events import LARGEST, LARGEST_CORRECTION

VERSION = 3
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
    sa.Column("participation", sa.Text, nullable=False),  # when the agent joined, left, went on hold and resumed
    sa.Column("as_of", sa.BigInteger, nullable=False),  # the instant of its latest event, at which the counters hold
    sa.Column("last", sa.BigInteger, nullable=False),  # when it last received something
    sa.Column("counters", sa.Text, nullable=False),  # by name, the state of a memory
    sa.CheckConstraint("counters NOT LIKE '%Infinity%' AND counters NOT LIKE '%NaN%'", name="agents_bounds"),
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

revised = sa.Table(
    "revised",
    metadata,
    sa.Column("event", sa.BigInteger, primary_key=True),  # counts otherwise than recorded
    sa.Column("since", sa.BigInteger, primary_key=True),  # from this event on
    sa.Column("until", sa.BigInteger),  # until this event, if that differs
    sa.Column("amount", sa.Double),  # with this amount, or not at all
)

links = sa.Table(
    "links",
    metadata,
    sa.Column("event", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),  # one of derived.LINKS
    sa.Column("other", sa.BigInteger, primary_key=True),
    sa.Index("links_back", "kind", "other"),
)

given = sa.Table(
    "given",
    metadata,
    sa.Column("event", sa.BigInteger, primary_key=True),  # a decision, a plan or a planned turn
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("item", sa.Text),  # which of several items
    sa.Column("part", sa.Double),  # how much of an amount
    sa.Column("utility", sa.Double, nullable=False),
)

draws = sa.Table(
    "draws",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # a single row
    sa.Column("seed", sa.Text, nullable=False),  # the secret end of the chain of seeds, see model/draws.py
    sa.Column("event", sa.BigInteger),  # the event that published the beginning of the chain
    sa.Column("before", sa.BigInteger, nullable=False),  # how many draws were made before this chain
    sa.Column("days", sa.Text, nullable=False),  # the secret end of the chain of days
    sa.Column("days_event", sa.BigInteger),  # the event that published its beginning
    sa.Column("pending", sa.Text),  # the seed to which a ledger of version 2 had committed for its next decision
    sa.Column("committed", sa.BigInteger),  # in this event
)


def create(connection: sa.Connection) -> None:
    """Makes the tables of the current version."""
    metadata.create_all(connection)
    connection.execute(schema_version.insert().values(version=VERSION))
    begin_draws(connection)


def begin_draws(connection: sa.Connection, **committed: object) -> None:
    """Draws new secrets, and keeps the commitment of an earlier version."""
    new = {"seed": secrets.token_hex(32), "before": 0, "days": secrets.token_hex(32)}
    connection.execute(draws.insert().values(id=1, **new, **committed))


def version(connection: sa.Connection) -> int | None:
    """The version of the tables that are there, or None where there is no ledger."""
    if not sa.inspect(connection).has_table(schema_version.name):
        return None
    return connection.scalar(sa.select(schema_version.c.version))
