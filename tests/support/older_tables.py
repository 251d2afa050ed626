"""A ledger of today put back into the tables of version 1."""

import sqlalchemy as sa

from bygones.ledger.storage import migrations, schema

SQLITE = (
    "PRAGMA legacy_alter_table = ON",
    "ALTER TABLE agents RENAME TO new_agents",
    "CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, turns TEXT NOT NULL, as_of BIGINT NOT "
    "NULL, received DOUBLE NOT NULL, received_lost DOUBLE NOT NULL, remembered DOUBLE NOT NULL, remembered_lost DOUBLE "
    "NOT NULL, last BIGINT NOT NULL)",
    "INSERT INTO agents SELECT id, name, participation, as_of, 0, 0, 0, 0, last FROM new_agents",
    "DROP TABLE new_agents",
)
POSTGRESQL = (
    "ALTER TABLE agents DROP CONSTRAINT IF EXISTS agents_bounds",
    "ALTER TABLE events DROP CONSTRAINT IF EXISTS events_bounds",
    "ALTER TABLE agents DROP COLUMN counters",
    "ALTER TABLE agents RENAME COLUMN participation TO turns",
    *(
        f"ALTER TABLE agents ADD COLUMN {name} DOUBLE PRECISION NOT NULL DEFAULT 0"
        for name in ("received", "received_lost", "remembered", "remembered_lost")
    ),
)
STATEMENTS = (
    "ALTER TABLE ledger RENAME COLUMN settled TO latest",
    "DROP TABLE revised",
    "DROP TABLE links",
    "DROP TABLE given",
    "DROP TABLE draws",
    "DROP INDEX events_by_time",
    "DROP INDEX events_by_key",
    "ALTER TABLE events DROP COLUMN author",
    "ALTER TABLE events DROP COLUMN key",
)


def without_what_came_later(monkeypatch):
    """Until the test ends, ledgers record no author, and all have the same secret seeds.

    The tables of version 1 have no place for either, and the hashes of events and commitments must fit afterwards.
    """
    monkeypatch.setattr("bygones.ledger.storage.dialects.in_database", lambda connection, author: "")
    monkeypatch.setattr("secrets.token_hex", lambda n: "ab" * n)
    from_version_2 = migrations.MIGRATIONS[2]

    def with_its_chains(connection):
        from_version_2(connection)
        connection.execute(schema.draws.update().values(event=1, days_event=1))  # which has published them

    monkeypatch.setitem(migrations.MIGRATIONS, 2, with_its_chains)


def to_version_1(connection):
    """Takes from the tables what version 1 did not have; SQLite keeps the bounds, if there are any."""
    for statement in (*(POSTGRESQL if connection.dialect.name == "postgresql" else SQLITE), *STATEMENTS):
        connection.execute(sa.text(statement))
    connection.execute(schema.schema_version.update().values(version=1))
