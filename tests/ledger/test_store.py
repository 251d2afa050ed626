"""Where ledgers are kept: versions of the tables, and files that are not what they should be."""

import sqlite3
import threading

import pytest
import sqlalchemy as sa

from bygones.ledger import Ledger, LedgerError, Rules, schema, store


@pytest.fixture
def path(new_path):
    path = new_path()
    with Ledger.new(path, Rules(), began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
    return path


def edit(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_older_tables_are_brought_up_to_date_one_version_at_a_time(path, monkeypatch):
    done = []

    def add_note(connection):
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last_served TO last"))
        done.append("0 to 1")

    edit(path, "UPDATE schema_version SET version = -1", "ALTER TABLE agents RENAME COLUMN last TO last_served")
    monkeypatch.setitem(schema.MIGRATIONS, -1, lambda connection: done.append("-1 to 0"))
    monkeypatch.setitem(schema.MIGRATIONS, 0, add_note)
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
    with Ledger.open(path):
        assert done == ["-1 to 0", "0 to 1"]


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    def half_way(connection):
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last TO later"))
        connection.execute(sa.text("ALTER TABLE nowhere RENAME COLUMN last TO later"))

    edit(path, "UPDATE schema_version SET version = 0")
    monkeypatch.setitem(schema.MIGRATIONS, 0, half_way)
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger.open(path)
    edit(path, "UPDATE schema_version SET version = 1", "UPDATE agents SET last = last")
    Ledger.open(path).close()


def test_older_tables_on_postgresql(new_database, monkeypatch):
    target = new_database()
    Ledger.new(target).close()
    engine = sa.create_engine(target.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE schema_version SET version = 0"))
        connection.execute(sa.text("ALTER TABLE agents RENAME COLUMN last TO later"))
    engine.dispose()
    rename = sa.text("ALTER TABLE agents RENAME COLUMN later TO last")
    monkeypatch.setitem(schema.MIGRATIONS, 0, lambda connection: connection.execute(rename))
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
        (text, "is no SQLite file"),
        (empty, "is not a ledger"),
        (tmp_path / "absent.db", "does not exist"),
        (tmp_path, "cannot be opened"),
        ("", "a ledger lives in a file"),
        (":memory:", "a ledger lives in a file"),
        ("mysql://host/name", "kept in SQLite or PostgreSQL"),
        ("no scheme://", "a ledger is a file or a database URL"),
        ("postgresql://nobody:secret@127.0.0.1:9/x?connect_timeout=1", "127.0.0.1"),
    ]:
        with pytest.raises(LedgerError, match=sentence) as error:
            Ledger.open(target, timeout=2)
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)
    with Ledger.new(empty) as ledger:
        assert ledger.verify().ok
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.new(text)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.new(tmp_path / "no" / "folder.db")


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
        with pytest.raises(LedgerError, match="locked by somebody else"):
            ledger.record("ana", 1)
        assert ledger.standing().received[0] == 0
    with Ledger.open(path, timeout=30) as ledger:
        threading.Timer(0.2, lambda: other.execute("COMMIT")).start()
        ledger.record("ana", 1)
        assert ledger.standing().received[0] == 1
    other.close()


def test_a_locked_postgresql_ledger(new_database):
    target = new_database()
    with Ledger.new(target) as ledger:
        ledger.join("ana")
    other = store.Store(target)
    with other.writing(), Ledger.open(target, timeout=0.1) as impatient:
        with pytest.raises(LedgerError, match="locked by somebody else"):
            impatient.record("ana", 1)
        assert impatient.standing().received[0] == 0
    other.close()
