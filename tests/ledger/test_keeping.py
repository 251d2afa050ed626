"""A ledger copied, backed up, restored and rebuilt: all of it, or nothing."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bygones.allocation import ChooseK
from bygones.ledger import Ledger, LedgerError, Rules
from bygones.ledger.proof import copies as copying
from bygones.ledger.proof.copies import backup, copy, restore
from bygones.ledger.proof.verification import rebuild
from bygones.ledger.storage import rows, schema, store
from bygones.ledger.storage.store import Store
from support.privileges import without_privileges


def fill(target):
    """A ledger with every kind of event."""
    with Ledger.new(target, Rules(half_life="7d", newcomers="zero"), began="2026-01-01", author="Mary") as ledger:
        ledger.join_all(["ana", "b'en", "cem 🍩"], at="2026-01-01", note="the first")
        ledger.record("ana", 8.1, at="2026-01-02", note="=late()")
        ledger.offset("b'en", -0.3, at="2026-01-03")
        ledger.decide(ChooseK({"ana": 1, "b'en": 2}), at="2026-01-04")
        ledger.hold("cem 🍩", at="2026-01-05")
        ledger.resume("cem 🍩", at="2026-01-06")
        ledger.correct(5, 3.3)
        ledger.change_rules(at="2026-01-07", half_life="14d", entitlements={"ana": 2})
        ledger.leave("cem 🍩", at="2026-01-08")
    return target


def contents(target):
    with Ledger.open(target) as ledger:
        assert ledger.verify().problems == ()
        return list(ledger.events()), ledger.standing("2026-02-01").to_dict()


@pytest.fixture(params=["sqlite", "postgresql"])
def other_target(request):
    return request.getfixturevalue("new_path" if request.param == "sqlite" else "new_database")


def test_a_copy_is_the_same_ledger_and_goes_on(new_target, other_target, monkeypatch):
    monkeypatch.setattr(rows, "IN_CHUNKS", {"yield_per": 3})
    source, target = fill(new_target()), other_target()
    done = []
    found = copy(source, target, done.append)
    with Ledger.open(source) as ledger, ledger._store.reading() as connection:
        derived = sum(
            connection.scalar(sa.select(sa.func.count()).select_from(table))
            for table in (schema.revised, schema.links, schema.given)
        )
    assert sum(done) == copying.size(source) == found.events + found.agents + derived + 2
    assert contents(target) == contents(source)
    with Ledger.open(target) as ledger:
        ledger.join("dana", at="2026-01-09")  # gets a number of their own
        ledger.decide(ChooseK({"ana": 1, "dana": 1}), at="2026-01-10")
        assert ledger.verify(found.head).ok


def test_nothing_is_overwritten(new_target, tmp_path):
    source, target = fill(new_target()), new_target()
    copy(source, target)
    there = contents(target)
    note = tmp_path / "note.txt"
    note.write_text("mine")
    for attempt in (lambda: copy(source, target), lambda: copy(source, note), lambda: backup(source, note)):
        with pytest.raises(LedgerError, match=r"already (exists|contains)"):
            attempt()
    assert contents(target) == there
    assert note.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [note]


def test_a_copy_that_fails_leaves_nothing(new_path, new_database, monkeypatch):
    source = fill(new_path())
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE events SET amount = 4 WHERE seq = 5")
    file, database = new_path(), new_database()
    for target in (file, database):
        with pytest.raises(
            LedgerError,
            match=r"did not pass verification \(event 5 has changed.*nothing was written",
        ):
            copy(source, target)
        with pytest.raises(LedgerError, match=r"does not exist|is not a ledger"):
            Ledger.open(target)
    assert not list(file.parent.glob(f".{file.name}*"))
    with pytest.raises(LedgerError, match="did not pass verification"):
        backup(source, file)
    assert not file.exists()


def test_a_copy_is_compared_event_by_event(new_path, monkeypatch):
    source, target = fill(new_path()), new_path()
    events = rows.load_hashed
    without = [1, 0]
    monkeypatch.setattr(rows, "load_hashed", lambda connection: list(events(connection))[without.pop() :])
    with pytest.raises(LedgerError, match=r"the copy differs from .* at event 1: nothing was kept"):
        copy(source, target)
    assert not target.exists()


def test_a_backup_is_one_file_that_can_be_restored_anywhere(new_target, other_target, tmp_path):
    source, file = fill(new_target()), tmp_path / "backup.db"
    there = contents(source)
    pages = []
    backup(source, file, pages.append)
    assert sum(pages) == copying.backup_size(source)
    assert [path.name for path in tmp_path.iterdir()] == ["backup.db"]
    before = file.read_bytes()
    with Ledger.open(source) as ledger:
        ledger.record("ana", 1, at="2026-01-09")
    target = other_target()
    restore(file, target)
    assert contents(target) == there
    assert file.read_bytes() == before


def test_a_backup_is_of_one_moment_while_others_write(new_path, monkeypatch):
    source, file = fill(new_path()), new_path()
    there = contents(source)
    monkeypatch.setattr(copying, "PAGES", 1)
    with Ledger.open(source) as writer:
        backup(source, file, lambda _: writer.record("ana", 1, at="2026-01-09"))
        assert writer.n_events() > len(there[0]) + 5
    assert contents(file) == there


def test_a_damaged_backup_is_refused_before_anything_is_written(new_path, tmp_path):
    source, file, target = fill(new_path()), tmp_path / "backup.db", tmp_path / "restored.db"
    backup(source, file)
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"agent,amount\n" * 99, whole.replace(b"=late()", b"=soon()"), b""):
        file.write_bytes(damaged)
        with pytest.raises(LedgerError):
            restore(file, target)
        assert not target.exists()
    with pytest.raises(LedgerError, match="does not exist"):
        restore(tmp_path / "absent.db", target)


def test_an_old_backup_is_restored_and_not_changed(tmp_path):
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((Path(__file__).parent / "ledger_version_1.sql").read_text(encoding="utf-8"))
    before = file.read_bytes()
    found = restore(file, tmp_path / "new.db")
    assert found.events == 19
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agents SET counters = replace(counters, '[', '[9') WHERE name = 'ana'",
        "UPDATE agents SET counters = '{' WHERE name = 'ana'",
        "UPDATE agents SET participation = '[[0, 1]', last = 5",
        "UPDATE ledger SET rules = '[]', settled = 3",
    ],
)
def test_snapshots_are_rebuilt_from_the_events(new_target, damage):
    target = fill(new_target())
    there = contents(target)
    engine = sa.create_engine(store.read_url(target))
    with engine.begin() as connection:
        connection.execute(sa.text(damage))
    engine.dispose()
    with Ledger.open(target) as ledger:
        assert not ledger.verify().ok
        assert rebuild(ledger._store) == 3
    assert contents(target) == there


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET amount = 4 WHERE seq = 5",
        "DELETE FROM events WHERE seq = 12",
        "UPDATE agents SET name = 'anna' WHERE name = 'ana'",
        "UPDATE ledger SET head = 11",
    ],
)
def test_a_ledger_whose_events_are_damaged_is_not_rebuilt(new_path, damage):
    path = fill(new_path())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
        connection.execute("UPDATE agents SET counters = 'spoilt'")
    with closing(Store(path)) as damaged, pytest.raises(LedgerError, match=r"cannot be rebuilt.*restore a backup"):
        rebuild(damaged)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT DISTINCT counters FROM agents").fetchall() == [("spoilt",)]


FULL = """
import resource, signal, sys
from bygones.cli import program
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
program.main(sys.argv[2:])
"""
"""A command where no file can become larger, as on a full disk."""


@pytest.mark.parametrize("limit", [4096, 40_000, 50_000])
@pytest.mark.parametrize("command", ["backup", "copy", "restore"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(new_path, tmp_path, command, limit):
    source, target = fill(new_path()), tmp_path / "there.db"
    words = [sys.executable, "-c", FULL, str(limit), "ledger", command, str(source), str(target)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("bygones: ")
    assert str(target) in last or str(source) in last
    assert not list(tmp_path.iterdir())
    assert contents(source)


def test_a_ledger_on_a_disk_that_cannot_be_written_is_backed_up(new_path, tmp_path):
    source = fill(new_path())
    there = contents(source)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        sealed = Path(shutil.copy(source, folder))
        sealed.chmod(0o444)
        Path(folder).chmod(0o555)
        Path(other).chmod(0o777)
        with without_privileges():
            backup(sealed, Path(other) / "backup.db")
            with pytest.raises(LedgerError, match=r"x\.db cannot be written: Permission denied"):
                backup(Path(other) / "backup.db", Path(folder) / "x.db")
        assert contents(Path(other) / "backup.db") == there
        Path(folder).chmod(0o755)


def test_a_backup_with_commits_beside_it_is_restored_and_not_changed(new_path, tmp_path):
    source, folder = fill(new_path()), tmp_path / "copied"
    folder.mkdir()
    with Ledger.open(source) as ledger:
        ledger.record("ana", 1, at="2026-01-09")
        for ending in ("", "-wal"):  # as somebody copies the files of a ledger that is open
            shutil.copy(f"{source}{ending}", folder / f"backup.db{ending}")
        expected = list(ledger.events())
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert len(before["backup.db-wal"]) > 0
    restore(folder / "backup.db", tmp_path / "restored.db")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert contents(tmp_path / "restored.db")[0] == expected


def test_a_file_that_is_being_written_is_no_backup(new_path, tmp_path, monkeypatch):
    source = fill(new_path())
    copyfile = shutil.copyfile

    def meanwhile(old, new):
        copyfile(old, new)
        with Ledger.open(source) as ledger:
            ledger.record("ana", 1, at="2026-01-09")

    monkeypatch.setattr(shutil, "copyfile", meanwhile)
    with pytest.raises(LedgerError, match="is being written: restore a file that `bygones ledger backup` wrote"):
        restore(source, tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()
