"""A whole ledger somewhere else: copied between SQLite and PostgreSQL, backed up, and restored.

A copy has every event with its hash, and every snapshot. It is compared with its source event by event and verified
before it is kept, and it is made in one transaction: there is either a correct copy or none.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import cast

import sqlalchemy as sa

from bygones._files import is_sqlite, make_private, sync_folder
from bygones.ledger.proof.verification import Verification, verify
from bygones.ledger.storage import rows, schema
from bygones.ledger.storage.sqlite_files import companion
from bygones.ledger.storage.store import LedgerError, Store, UncertainError

Target = str | os.PathLike[str]
Progress = Callable[[int], object]
"""Is called with the number of rows, or of pages of a file, that have been copied since the last call."""

PAGES = 2048
"""As many pages of a file are copied at a time."""


def copy(source: Target, target: Target, progress: Progress = lambda _: None) -> Verification:
    """Copies a ledger to a new file or an empty database."""
    with _opened(source) as ledger:
        return _copy(ledger, target, progress)


def backup(source: Target, file: Path, progress: Progress = lambda _: None) -> Verification:
    """Copies a ledger to a new SQLite file, while others go on reading and writing it."""
    with _opened(source) as ledger:
        if not ledger.is_sqlite:
            return _copy(ledger, file, progress)
        with _new_file(file) as unfinished:
            _copy_pages(ledger, unfinished, file, progress)
            with _store(unfinished, f"the copy of {ledger.name}") as written, written.reading() as connection:
                return _verified(connection, ledger)


def restore(file: Path, target: Target, progress: Progress = lambda _: None) -> Verification:
    """Verifies a backup and copies it to a new file or an empty database; the backup itself is not changed.

    SQLite would finish the work that a `-wal` or `-journal` next to the backup has begun, so it opens copies of them.
    """
    if not file.is_file():
        raise LedgerError(f"{file} does not exist: give the file that `bygones ledger backup` wrote")
    if not is_sqlite(file):
        raise LedgerError(f"{file} is not a backup that can be read: it is not a SQLite file")
    with tempfile.TemporaryDirectory() as folder:
        copied, stamps = Path(folder) / "backup.db", _stamps(file)
        for ending in stamps:
            with _writing(f"a copy of {file} in {folder}"):
                shutil.copyfile(companion(file, ending), companion(copied, ending))
        if _stamps(file) != stamps:
            raise LedgerError(f"{file} is being written: restore a file that `bygones ledger backup` wrote")
        with _opened(copied, str(file)) as ledger:
            with ledger.reading() as connection:
                _verified(connection, ledger, decisions=True)
            return _copy(ledger, target, progress)


def _stamps(file: Path) -> dict[str, tuple[int, int]]:
    """The files of a SQLite database by the ends of their names; a stamp differs once its file has been written."""
    parts = {ending: companion(file, ending) for ending in ("", "-wal", "-journal")}
    return {ending: (part.stat().st_mtime_ns, part.stat().st_size) for ending, part in parts.items() if part.exists()}


def size(source: Target) -> int:
    """How many rows a copy of a ledger has, for a progress bar."""
    with _opened(source) as ledger, ledger.reading() as connection:
        counts = [connection.scalar(sa.select(sa.func.count()).select_from(table)) for table in _tables()]
        return sum(count or 0 for count in counts)


def backup_size(source: Target) -> int:
    """How many pages of a file, or rows of a database, a backup has."""
    if not Store(source).is_sqlite:
        return size(source)
    with _opened(source) as ledger, ledger.reading() as connection:
        return int(connection.execute(sa.text("PRAGMA page_count")).scalar_one())


def _copy(ledger: Store, target: Target, progress: Progress) -> Verification:
    with _store(target) as new:
        if not new.is_sqlite:
            return _copy_rows(ledger, new, progress)
    with _new_file(new.path) as unfinished, _store(unfinished, str(new.path)) as written:
        return _copy_rows(ledger, written, progress)


def _copy_rows(ledger: Store, target: Store, progress: Progress) -> Verification:
    with ledger.reading() as old, target.creating() as new:
        new.execute(schema.draws.delete())  # a copy has the seed of its source, to which events have committed
        for table in _tables():
            for part in old.execute(sa.select(table), execution_options=rows.IN_CHUNKS).partitions():
                new.execute(table.insert(), [row._asdict() for row in part])
                progress(len(part))
        if new.dialect.name == "postgresql":  # the next agent gets the next number
            new.execute(sa.text("SELECT setval(pg_get_serial_sequence('agents', 'id'), max(id)) FROM agents"))
        for one, other in zip_longest(rows.load_hashed(old), rows.load_hashed(new)):
            if one != other:
                seq = (one or other)[0].seq
                raise LedgerError(f"the copy differs from {ledger.name} at event {seq}: nothing was kept")
        return _verified(new, ledger)


def _copy_pages(ledger: Store, unfinished: Path, target: Path, progress: Progress) -> None:
    """Copies a SQLite file with all commits up to one moment, including commits that are still in its `-wal`."""
    left = 0

    def report(_: int, remaining: int, total: int) -> None:
        nonlocal left
        progress((left or total) - remaining)
        left = remaining

    with ledger.reading() as connection, _writing(str(target)), closing(sqlite3.connect(unfinished)) as new:
        connection.execute(sa.text("SELECT count(*) FROM sqlite_master"))  # from now on, later commits are not seen
        old = cast(sqlite3.Connection, connection.connection.dbapi_connection)
        old.backup(new, pages=PAGES, progress=report)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where nothing can be written


def _verified(copied: sa.Connection, source: Store, *, decisions: bool = False) -> Verification:
    verification = verify(copied, decisions=decisions)
    if not verification.ok:
        raise LedgerError(f"{source.name} did not pass verification ({verification.problems[0]}): nothing was written")
    return verification


@contextmanager
def _store(target: Target, name: str | None = None) -> Iterator[Store]:
    """A database, which messages call by another name if one is given."""
    with closing(Store(target)) as store:
        store.name = name or store.name
        yield store


@contextmanager
def _opened(source: Target, name: str | None = None) -> Iterator[Store]:
    with _store(source, name) as ledger:
        ledger.check()
        yield ledger


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file to write, which gets its name only once it is complete; refused if there is something of that name."""
    taken = f"{path} already exists: give the copy a new file"
    if path.exists() or path.is_symlink():
        raise LedgerError(taken)
    with _writing(str(path)), tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        unfinished = Path(folder) / path.name
        make_private(unfinished)
        yield unfinished
        with unfinished.open("r+b") as file:  # Windows does not sync a file that is only read
            os.fsync(file.fileno())
        try:
            os.link(unfinished, path)  # unlike a renamed file, it replaces nothing
        except FileExistsError:
            raise LedgerError(taken) from None
        except OSError:  # a file system without links
            unfinished.rename(path)
        sync_folder(path.parent)


@contextmanager
def _writing(target: str) -> Iterator[None]:
    """Reports that a file cannot be written, as on a full or read-only disk; a damaged source is reported as such."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        raise LedgerError(f"{target} cannot be written: {error}") from error
    except OSError as error:
        raise LedgerError(f"{target} cannot be written: {error.strerror}") from error
    except UncertainError as error:  # it is certain: a file that is not complete is removed
        raise LedgerError(f"{target} cannot be written: {getattr(error.__cause__, 'orig', error)}") from error


def _tables() -> list[sa.Table]:
    """All tables, those that others refer to first, but that of the version, which a new ledger has already."""
    return [table for table in schema.metadata.sorted_tables if table is not schema.schema_version]
