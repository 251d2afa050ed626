"""The tables of an older version become the tables of this one, in one transaction.

Events keep their bytes, which hashes cover. The other tables of this version are derived from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from bygones.ledger.storage import derived, schema


def from_version_1(connection: sa.Connection) -> None:
    """Events have an author and a key, can be void and wait for their time; draws have a seed, and numbers bounds."""
    connection.execute(sa.text("ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("ALTER TABLE events ADD COLUMN key TEXT"))
    for index in schema.events.indexes:
        if index.name in ("events_by_key", "events_by_time"):
            index.create(connection)
    connection.execute(sa.text("CREATE TABLE draws (id INTEGER, seed TEXT, event BIGINT)"))
    connection.execute(sa.text("INSERT INTO draws (id, seed) VALUES (1, '')"))
    connection.execute(sa.text("ALTER TABLE ledger RENAME COLUMN latest TO settled"))
    _bound_amounts(connection)


def from_version_2(connection: sa.Connection) -> None:
    """Links, revisions and assignments are tables; counters are states of memories; seeds are a chain."""
    old = connection.execute(sa.text("SELECT seed, event FROM draws")).one()
    connection.execute(sa.text("DROP TABLE draws"))
    connection.execute(sa.text("DROP TABLE IF EXISTS voids"))
    for table in (schema.draws, schema.revised, schema.links, schema.given):
        table.create(connection)
    committed = {} if old.event is None else {"pending": old.seed, "committed": old.event}
    schema.begin_draws(connection, **committed)
    _replace_agents(connection)
    derived.rebuild(connection)


def _replace_agents(connection: sa.Connection) -> None:
    """Agents keep their numbers and names; everything else about them follows from the events."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN turns TO participation"))
        connection.execute(sa.text("ALTER TABLE agents ADD COLUMN counters TEXT NOT NULL DEFAULT ''"))
        for column in ("received", "received_lost", "remembered", "remembered_lost"):  # and with them their bounds
            connection.execute(sa.text(f"ALTER TABLE agents DROP COLUMN {column}"))
        check = _check(schema.agents)
        connection.execute(sa.text(f"ALTER TABLE agents ADD CONSTRAINT {check.name} CHECK ({check.sqltext})"))
    else:
        _copy(connection, schema.agents, {"participation": "turns", "counters": "''"})


def _bound_amounts(connection: sa.Connection) -> None:
    """Adds the bounds of amounts, from which events that are beyond them already are exempt; `verify` reports those."""
    table, last = schema.events, _last_beyond(connection)
    check = _check(table)
    if connection.dialect.name == "postgresql":
        exempt = "" if last is None else " NOT VALID"
        connection.execute(sa.text(f"ALTER TABLE events ADD CONSTRAINT {check.name} CHECK ({check.sqltext}){exempt}"))
        return
    bounded = table.to_metadata(sa.MetaData())
    sa.Table("agents", bounded.metadata, sa.Column("id", sa.Integer, primary_key=True))
    if last is not None:
        mine = _check(bounded)
        bounded.constraints.remove(mine)
        bounded.append_constraint(sa.CheckConstraint(f"seq <= {last} OR {check.sqltext}", name=check.name))
    _copy(connection, bounded, {})


def _copy(connection: sa.Connection, table: sa.Table, renamed: Mapping[str, str]) -> None:
    """Replaces a table by one of this version with the same rows, since SQLite can change little of a table.

    The caller's connection does not enforce foreign keys, which the new table has to satisfy in the end.

    Args:
        connection: the ledger.
        table: the new table.
        renamed: by column, the column of the old table or the value that it has there.
    """
    for index in sa.inspect(connection).get_indexes(table.name):
        connection.execute(sa.text(f"DROP INDEX {index['name']}"))
    connection.execute(sa.text("PRAGMA legacy_alter_table = ON"))  # or foreign keys would follow the old table
    connection.execute(sa.text(f"ALTER TABLE {table.name} RENAME TO old_{table.name}"))
    table.create(connection)
    columns = [column.name for column in table.c]
    values = ", ".join(renamed.get(name, name) for name in columns)
    connection.execute(
        sa.text(f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT {values} FROM old_{table.name}")
    )
    connection.execute(sa.text(f"DROP TABLE old_{table.name}"))
    broken = connection.execute(sa.text("PRAGMA foreign_key_check")).all()
    if broken:
        raise ValueError(f"{len(broken)} events are about agents who are not in the ledger: restore a backup")


def _last_beyond(connection: sa.Connection) -> int | None:
    """The last event whose amount is beyond the bounds."""
    query = f"SELECT max(seq) FROM events WHERE NOT ({_check(schema.events).sqltext})"
    last: int | None = connection.scalar(sa.text(query))
    return last


def _check(table: sa.Table) -> sa.CheckConstraint:
    return next(each for each in table.constraints if isinstance(each, sa.CheckConstraint))


MIGRATIONS: dict[int, Callable[[sa.Connection], object]] = {1: from_version_1, 2: from_version_2}
"""By version, the step to the tables of the next version."""


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
