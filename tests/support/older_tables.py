"""A ledger of today put back into the tables of version 1."""

import sqlalchemy as sa

from bygones.ledger.storage import migrations, schema

STATEMENTS = (
    "ALTER TABLE ledger RENAME COLUMN settled TO latest",
    "DROP TABLE voids",
    "DROP TABLE corrected",
    "DROP TABLE links",
    "DROP TABLE given",
    "DROP TABLE draws",
    "DROP INDEX events_by_time",
    "DROP INDEX events_by_key",
    "ALTER TABLE events DROP COLUMN author",
    "ALTER TABLE events DROP COLUMN key",
)


def without_what_came_later(monkeypatch):
    """Until the test ends, ledgers record no author, and all have the same secret seed.

    The tables of version 1 have no place for either, and the hashes of events and commitments must fit afterwards.
    """
    for module in ("ledger", "storage.transaction"):
        monkeypatch.setattr(f"bygones.ledger.{module}.in_database", lambda connection, author: "")
    monkeypatch.setattr("secrets.token_hex", lambda n: "ab" * n)
    from_version_2 = migrations.MIGRATIONS[2]

    def with_its_chain(connection):
        from_version_2(connection)
        connection.execute(schema.draws.update().values(event=1))  # which has published it

    monkeypatch.setitem(migrations.MIGRATIONS, 2, with_its_chain)


def to_version_1(connection):
    """Takes from the tables what version 1 did not have; SQLite keeps the bounds, if there are any."""
    if connection.dialect.name == "postgresql":
        for table in ("agents", "events"):
            connection.execute(sa.text(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_bounds"))
    for statement in STATEMENTS:
        connection.execute(sa.text(statement))
    connection.execute(schema.schema_version.update().values(version=1))
