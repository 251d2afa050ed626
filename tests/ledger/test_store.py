"""Where ledgers are kept: versions of the tables, and files that are not what they should be."""

import gc
import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from bygones.allocation import ChooseK
from bygones.ledger import Entry, Ledger, LedgerError, Rules
from bygones.ledger.storage import migrations, rows, schema, store
from support.older_tables import without_what_came_later


@pytest.fixture
def path(new_path):
    path = new_path()
    with Ledger.new(path, Rules(), began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
    return path


BEFORE = schema.VERSION - 1
"""The version before this one."""


def edit(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("column", [column.name for column in schema.agents.columns])
def test_everything_about_an_agent_is_known(path, column):
    with pytest.raises(sqlite3.IntegrityError):
        edit(path, f"UPDATE agents SET {column} = NULL")


def test_older_tables_are_brought_up_to_date_one_version_at_a_time(path, monkeypatch):
    done = []

    def add_note(connection):
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last_served TO last"))
        done.append("the last step")

    edit(
        path,
        f"UPDATE schema_version SET version = {BEFORE - 1}",
        "ALTER TABLE agents RENAME COLUMN last TO last_served",
    )
    monkeypatch.setitem(migrations.MIGRATIONS, BEFORE - 1, lambda connection: done.append("the step before"))
    monkeypatch.setitem(migrations.MIGRATIONS, BEFORE, add_note)
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
    with Ledger.open(path):
        assert done == ["the step before", "the last step"]


# Tables as an older bygones might have written them: no rounding errors kept, no latest instant, one index less.
OLDER = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE ledger (id INTEGER PRIMARY KEY, head BIGINT NOT NULL, head_hash {bytes} NOT NULL, rules TEXT NOT NULL);
CREATE TABLE agents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, turns TEXT NOT NULL, as_of BIGINT NOT NULL,
    received {double} NOT NULL, remembered {double} NOT NULL, last BIGINT NOT NULL);
CREATE TABLE events (
    seq BIGINT PRIMARY KEY, kind TEXT NOT NULL, time BIGINT NOT NULL, recorded BIGINT NOT NULL,
    agent INTEGER REFERENCES agents (id), amount {double}, refers BIGINT, note TEXT NOT NULL, details TEXT,
    hash {bytes} NOT NULL);
CREATE INDEX events_of_agent ON events (agent, time)
"""


def write_in_older_tables(target):
    """A ledger with every kind of event, kept in the tables of version 0; its events and standing as they were."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        without_what_came_later(patch)
        rules = Rules(half_life="7d", newcomers="zero")
        ledger = stack.enter_context(Ledger.new(target, rules, began="2026-01-01"))
        ledger.join_all(["ana", "b'en", "cem 🍩"], at="2026-01-01", note="the first")
        ledger.record("ana", 8.1, at="2026-01-02", note="=late()")
        ledger.offset("b'en", -0.3, at="2026-01-03")
        ledger.decide(ChooseK({"ana": 1, "b'en": 2}), at="2026-01-04")
        ledger.hold("cem 🍩", at="2026-01-05")
        ledger.resume("cem 🍩", at="2026-01-06")
        ledger.correct(5, 3.3)
        ledger.change_rules(at="2026-01-07", half_life="14d", entitlements={"ana": 2})
        ledger.leave("cem 🍩", at="2026-01-08")
        known = list(ledger.events()), ledger.standing("2026-02-01").to_dict(), ledger.head()
    engine = sa.create_engine(store.read_url(target))
    is_sqlite = engine.dialect.name == "sqlite"
    types = {"bytes": "BLOB", "double": "DOUBLE"} if is_sqlite else {"bytes": "BYTEA", "double": "DOUBLE PRECISION"}
    with engine.begin() as connection:
        tables = [schema.schema_version, schema.ledger, schema.agents, schema.events]
        rows = {table.name: [dict(row._mapping) for row in connection.execute(table.select())] for table in tables}
        schema.metadata.drop_all(connection)
        for statement in OLDER.format(**types).split(";"):
            connection.execute(sa.text(statement))
        rows["schema_version"] = [{"version": 0}]
        rows["agents"] = [
            {**row, "turns": row["participation"], "received": 0.0, "remembered": 0.0} for row in rows["agents"]
        ]
        for table in tables:
            there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
            kept = [{name: value for name, value in row.items() if name in there} for row in rows[table.name]]
            connection.execute(sa.table(table.name, *map(sa.column, there)).insert(), kept)
    engine.dispose()
    return known


def from_version_0(connection):
    for table, column in [("agents", "received_lost"), ("agents", "remembered_lost"), ("ledger", "latest")]:
        connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column} NUMERIC NOT NULL DEFAULT 0"))
    latest = "(SELECT MAX(time) FROM events WHERE kind <> 'rules')"
    connection.execute(sa.text(f"UPDATE ledger SET latest = {latest}"))
    next(index for index in schema.events.indexes if index.name == "events_referring").create(connection)


def test_a_ledger_in_older_tables_loses_nothing(new_target, monkeypatch):
    target = new_target()
    without_what_came_later(monkeypatch)
    events, stood, head = write_in_older_tables(target)
    with pytest.raises(LedgerError, match=f"tables of version 0, which cannot be migrated to version {schema.VERSION}"):
        Ledger.open(target)
    monkeypatch.setitem(migrations.MIGRATIONS, 0, from_version_0)
    for _ in range(2):  # the second time it is up to date
        with Ledger.open(target) as ledger:
            assert list(ledger.events()) == events
            assert ledger.verify(head).ok
            now = ledger.standing("2026-02-01").to_dict()
            assert [agent.pop("remembered") for agent in now["agents"]] == pytest.approx(
                [agent["remembered"] for agent in stood["agents"]], rel=1e-12
            )
            assert [agent["received"] for agent in now["agents"]] == [agent["received"] for agent in stood["agents"]]
    with Ledger.open(target) as ledger:
        ledger.record("ana", 1, at="2026-02-01")
        assert ledger.verify(head).ok
        assert ledger.n_events() == len(events) + 1


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    def half_way(connection):
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last TO later"))
        connection.execute(sa.text("ALTER TABLE nowhere RENAME COLUMN last TO later"))

    edit(path, f"UPDATE schema_version SET version = {BEFORE}")
    monkeypatch.setitem(migrations.MIGRATIONS, BEFORE, half_way)
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger.open(path)
    edit(path, f"UPDATE schema_version SET version = {schema.VERSION}", "UPDATE agents SET last = last")
    Ledger.open(path).close()


def test_older_tables_on_postgresql(new_database, monkeypatch):
    target = new_database()
    Ledger.new(target).close()
    engine = sa.create_engine(target.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE schema_version SET version = {BEFORE}"))
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last TO later"))
    engine.dispose()
    rename = sa.text("ALTER TABLE agents RENAME COLUMN later TO last")
    monkeypatch.setitem(migrations.MIGRATIONS, BEFORE, lambda connection: connection.execute(rename))
    with Ledger.open(target) as ledger:
        ledger.join("ana")
        assert ledger.verify().ok


def test_what_is_no_ledger_is_refused_in_one_sentence(path, tmp_path):
    edit(path, "UPDATE schema_version SET version = 99")
    other, text, empty = tmp_path / "other.db", tmp_path / "text.db", tmp_path / "empty.db"
    edit(other, "CREATE TABLE songs (title)")
    text.write_text("agent,amount\n" * 200)
    empty.touch()
    for target, sentence in [
        (path, "written by a newer bygones"),
        (other, "is not a ledger"),
        (text, "is not a SQLite file"),
        (empty, "is not a ledger"),
        (tmp_path / "absent.db", "does not exist"),
        (tmp_path, "cannot be opened"),
        ("", "a ledger must be a file"),
        (":memory:", "a ledger must be a file"),
        ("mysql://host/name", "a ledger must be in SQLite or PostgreSQL"),
        ("no scheme://", "a ledger must be a file or a database URL"),
        ("postgresql://u:secret@[::1:5/x", "a ledger must be a file or a database URL"),
        ("postgresql://nobody:secret@127.0.0.1:9/x?connect_timeout=1", "127.0.0.1"),
    ]:
        with pytest.raises(LedgerError, match=sentence) as error:
            Ledger.open(target, timeout=2)
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)
    with Ledger.new(empty) as ledger:
        assert ledger.verify().ok
    with pytest.raises(LedgerError, match="already exists"):
        Ledger.new(text)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.new(tmp_path / "no" / "folder.db")


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="needs a device")
def test_a_device_is_not_a_new_file():
    with pytest.raises(LedgerError, match="/dev/null already exists: give a new ledger a new file"):
        Ledger.new("/dev/null")


def test_a_newer_ledger_is_refused_and_left_as_it_is(new_target):
    target = new_target()
    newer = schema.VERSION + 1
    Ledger.new(target).close()
    engine = sa.create_engine(store.read_url(target))
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE schema_version SET version = {newer}"))
        connection.execute(sa.text("ALTER TABLE agents ADD COLUMN colour TEXT"))
    with pytest.raises(LedgerError, match=rf"tables of version {newer}, this one reads version {schema.VERSION}\)"):
        Ledger.open(target)
    with engine.begin() as connection:
        assert schema.version(connection) == newer
        assert "colour" in {column["name"] for column in sa.inspect(connection).get_columns("agents")}
    engine.dispose()


def test_a_truncated_file(path):
    whole = path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 5000):
        path.write_bytes(whole[:size])
        with pytest.raises(LedgerError, match="damaged or truncated"):
            Ledger.open(path)
    path.write_bytes(whole)
    Ledger.open(path).close()


def test_a_read_only_ledger_can_be_read_and_not_written(path):
    with Ledger.open(f"sqlite:///file:{path}?mode=ro&uri=true") as ledger:
        assert ledger.standing().names == ("ana",)
        with pytest.raises(LedgerError, match="read-only"):
            ledger.record("ana", 1)


def test_a_locked_ledger_is_waited_for_and_then_refused(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with Ledger.open(path, timeout=0.05) as ledger:
        with pytest.raises(LedgerError, match="locked by another writer"):
            ledger.record("ana", 1)
        assert ledger.standing().received[0] == 0
    with Ledger.open(path, timeout=30) as ledger:
        soon = threading.Timer(0.2, lambda: other.execute("COMMIT"))
        soon.start()
        ledger.record("ana", 1)
        soon.join()
        assert ledger.standing().received[0] == 1
    other.close()


def test_a_reader_that_lost_its_server_leaves_nothing_open(new_database):
    target = new_database()
    with Ledger.new(target, began="2026-01-01") as ledger:
        ledger.join_all(["ana"], at="2026-01-01")

        def read():
            with ledger._store.reading() as connection, ledger._store.reading() as other:
                number = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
                other.execute(sa.text("SELECT pg_terminate_backend(:number, 5000)"), {"number": number})
                connection.execute(sa.select(schema.events), execution_options=rows.IN_CHUNKS)

        with pytest.raises(LedgerError):
            read()
        gc.collect()  # a cursor that is still open now warns


def test_a_locked_postgresql_ledger(new_database):
    target = new_database()
    with Ledger.new(target) as ledger:
        ledger.join("ana")
    other = store.Store(target)
    with other.writing(), Ledger.open(target, timeout=0.1) as impatient:
        with pytest.raises(LedgerError, match="locked by another writer"):
            impatient.record("ana", 1)
        assert impatient.standing().received[0] == 0
    other.close()


def test_a_password_is_used_and_never_shown(new_database, capsys):
    from bygones.cli import program

    url = new_database().replace("postgresql://postgres@", "postgres://postgres:secret@")
    program.main(["ledger", "new", url])
    with Ledger.open(url) as ledger:
        assert ledger.name.startswith("postgresql://postgres:***@/database")
        assert ledger.verify().ok
    with pytest.raises(SystemExit):
        program.main(["ledger", "new", url])
    printed = capsys.readouterr()
    assert f"Created {ledger.name}." in printed.out
    assert f"{ledger.name} already contains a ledger" in printed.err
    assert "secret" not in printed.out + printed.err


def test_a_batch_takes_no_more_statements_than_a_few(new_database):
    """A server that is asked once for each row is slow, however fast it is."""
    with Ledger.new(new_database(), began="2026-01-01") as ledger:
        names = [f"agent {i}" for i in range(200)]
        ledger.join_all(names, at="2026-01-01")
        sent = []

        def note(_connection, _cursor, _statement, parameters, _context, executemany):
            sent.append(len(parameters) if executemany else 1)

        sa.event.listen(ledger._store._engine, "before_cursor_execute", note)
        ledger.record_all([Entry(name, 1.0, "2026-01-02") for name in names])
        assert sum(sent) < 30
        assert ledger.standing().received.tolist() == [1.0] * len(names)
        assert ledger.verify().ok
