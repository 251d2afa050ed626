"""A SQLite file is read while it is written, is one file at rest, and is waited for in turn."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from bygones.ledger import Entry, Ledger, LedgerError
from bygones.ledger.storage import sqlite_files
from support.privileges import without_privileges


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "team.db"
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
        ledger.record_all([Entry("ana", 1.0)] * 5)
    return path


def test_whoever_reads_keeps_nobody_from_writing(path):
    with Ledger.open(path) as reader, Ledger.open(path, timeout=0.1) as writer:
        reading = reader.events()
        next(reading)
        for _ in range(3):
            writer.record("ana", 1)
        assert len(list(reading)) == 6  # of the moment at which it began
        assert reader.n_events() == 10


def test_at_rest_a_ledger_is_one_file(path):
    assert [each.name for each in path.parent.iterdir()] == ["team.db"]
    with Ledger.open(path) as ledger:
        ledger.record("ana", 1)
        assert sqlite_files.companion(path, "-wal").exists()
    assert [each.name for each in path.parent.iterdir()] == ["team.db"]
    path.rename(path.with_name("moved.db"))
    with Ledger.open(path.with_name("moved.db")) as ledger:
        assert ledger.n_events() == 8


def test_commits_are_moved_into_the_file_once_there_are_many(path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "LONG", 50_000)
    wal = sqlite_files.companion(path, "-wal")
    with Ledger.open(path) as ledger:
        sizes = []
        for _ in range(8):
            ledger.record("ana", 1)
            sizes.append(wal.stat().st_size)
        assert max(sizes) <= 50_000
        assert sizes.count(0) >= 1
        with Ledger.open(path) as reader:  # not while somebody reads what was before
            reading = reader.events()
            next(reading)
            for _ in range(8):
                ledger.record("ana", 1)
            assert wal.stat().st_size > 50_000
            reading.close()
        ledger.record("ana", 1)
        assert wal.stat().st_size == 0
        assert ledger.verify().ok


def test_an_older_ledger_with_a_rollback_journal_is_read_while_it_is_written_from_now_on(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    test_whoever_reads_keeps_nobody_from_writing(path)


def test_everybody_who_waits_asks_equally_often(path, monkeypatch):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 40:
            other.execute("COMMIT")

    with Ledger.open(path) as ledger:
        monkeypatch.setattr(sqlite_files.time, "sleep", sleep)
        ledger.record("ana", 1)
        assert slept == [0.0, *[sqlite_files.POLL] * 39]
        ledger.record("ana", 1)  # having written just now, it gives way
        assert 0 < slept[-1] <= 2 * sqlite_files.POLL
    other.close()


MOUNTS = r"""
21 1 8:1 / / rw - ext4 /dev/vda rw
22 21 0:5 / /home rw shared:3 - nfs4 server:/home rw
23 22 0:6 / /home/ana/my\040disk rw - ext4 /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("file", "shared"),
    [("/home/ana/team.db", True), ("/home/ana/my disk/team.db", False), ("/srv/team.db", False)],
)
def test_whether_a_file_is_on_a_network(tmp_path, file, shared):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.lstrip())
    assert sqlite_files.on_network(Path(file), mounts) is shared
    assert not sqlite_files.on_network(Path(file), tmp_path / "absent")


def test_on_a_network_a_ledger_has_a_rollback_journal(path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "on_network", lambda path: True)
    with Ledger.open(path) as ledger:
        ledger.record("ana", 1)
        assert not sqlite_files.companion(path, "-wal").exists()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_ledger_in_a_folder_that_cannot_be_written_is_read(path):
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
    with tempfile.TemporaryDirectory() as folder:
        sealed = Path(shutil.copy(path, folder))
        sealed.chmod(0o444)
        Path(folder).chmod(0o555)
        with without_privileges(), Ledger.open(sealed) as ledger:
            assert (ledger.n_events(), ledger.verify().ok) == (7, True)
            with pytest.raises(LedgerError, match="is read-only: nothing was recorded"):
                ledger.record("ana", 1)
        assert [each.name for each in Path(folder).iterdir()] == ["team.db"]
        Path(folder).chmod(0o755)


def test_a_sealed_file_that_somebody_writes_after_all_is_not_trusted(path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "is_sealed", lambda path: True)
    with Ledger.open(path) as ledger:
        assert ledger.n_events() == 7
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE ledger SET head = 8")
        with pytest.raises(LedgerError, match="was changed while it was being read: try again"):
            ledger.n_events()


def test_a_file_that_cannot_grow_records_all_of_a_batch_or_nothing(team):
    """As on a full disk: SQLite itself reports it, at whatever statement needs another page."""
    with team._store._engine.connect() as connection:  # the one connection that the ledger keeps open
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")
    known = team.n_events()
    refused = []
    for size in range(1, 60):
        try:
            team.record_all([Entry("ana", 1.0, "2026-01-02")] * size)
            known += size
        except LedgerError as error:
            refused.append(str(error))
        assert team.n_events() == known
    assert 0 < len(refused) < 59
    assert all("the disk is full: nothing was recorded" in each for each in refused)
    with Ledger.open(team.name) as again:
        again.record("ana", 1.0, at="2026-01-03")
        assert again.verify().ok
