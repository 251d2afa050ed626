"""A whole ledger somewhere else: copied between SQLite and PostgreSQL, backed up, and restored.

A copy has every event with its hash, and every snapshot. It is compared with its source event by event and verified
before it is kept, and it is made in one transaction: there is a copy that is in order, or there is none.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path

import sqlalchemy as sa

from bygones.ledger import rows, schema, verifying
from bygones.ledger.store import LedgerError, Store

Target = str | os.PathLike[str]
Progress = Callable[[int], object]
"""Is called with the number of rows, or of pages of a file, that have been copied since the last call."""

PAGES = 2048
"""As many pages of a file are copied at a time."""


def copy(source: Target, target: Target, progress: Progress = lambda _: None) -> verifying.Verification:
    """Copies a ledger to a new file or an empty database."""
    with _opened(source) as there:
        return _copy(there, target, progress)


def backup(source: Target, file: Path, progress: Progress = lambda _: None) -> verifying.Verification:
    """Copies a ledger to a new SQLite file, while others go on reading and writing it."""
    with _opened(source) as there:
        if not there.is_sqlite:
            return _copy(there, file, progress)
        with _new_file(file) as unfinished:
            _copy_pages(there.path, unfinished, progress)
            return _verified(unfinished, there.name)


def restore(file: Path, target: Target, progress: Progress = lambda _: None) -> verifying.Verification:
    """Verifies a backup and copies it to a new file or an empty database; the backup itself is not changed."""
    if not file.is_file():
        raise LedgerError(f"{file} does not exist: give the file that `bygones ledger backup` wrote")
    with tempfile.TemporaryDirectory() as folder:
        same = Path(folder) / "backup.db"
        try:
            _copy_pages(file, same)
        except sqlite3.DatabaseError as error:
            raise LedgerError(f"{file} is not a backup that can be read: {error}") from None
        with _opened(same) as there:
            there.name = str(file)
            with there.reading() as connection:
                _check(verifying.verify(connection), there.name)
            return _copy(there, target, progress)


def size(source: Target) -> int:
    """How many rows a copy of a ledger has, for a progress bar."""
    with _opened(source) as there, there.reading() as connection:
        return sum(
            int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()) for table in _tables()
        )


def backup_size(source: Target) -> int:
    """How many pages of a file, or rows of a database, a backup has."""
    store = Store(source)
    if not store.is_sqlite:
        return size(source)
    with _opened(source) as there, there.reading() as connection:
        return int(connection.execute(sa.text("PRAGMA page_count")).scalar_one())


def _copy(there: Store, target: Target, progress: Progress) -> verifying.Verification:
    here = Store(target)
    if here.is_sqlite:
        with closing(here), _new_file(here.path) as unfinished:
            part = Store(unfinished)
            with closing(part):
                return _copy_rows(there, part, progress)
    with closing(here):
        return _copy_rows(there, here, progress)


def _copy_rows(there: Store, here: Store, progress: Progress) -> verifying.Verification:
    with there.reading() as old, here.creating() as new:
        new.execute(schema.draws.delete())  # a copy has the seed of its source, to which events have committed
        for table in _tables():
            for part in old.execute(sa.select(table), execution_options=rows.IN_CHUNKS).partitions():
                new.execute(table.insert(), [row._asdict() for row in part])
                progress(len(part))
        if new.dialect.name == "postgresql":  # the next agent gets the next number
            new.execute(sa.text("SELECT setval(pg_get_serial_sequence('agents', 'id'), max(id)) FROM agents"))
        for one, other in zip_longest(_events(old), _events(new)):
            if one != other:
                raise LedgerError(f"the copy differs from {there.name} at event {(one or other)[0]}: nothing was kept")
        found = verifying.verify(new, decisions=False)
        _check(found, there.name)
    return found


def _events(connection: sa.Connection) -> Iterator[tuple[object, ...]]:
    """The events with everything that is hashed, and their hashes; they begin with their numbers."""
    for chunk in rows.load_events(connection):
        for event, stored in chunk:
            yield (event.seq, event, bytes(stored))


def _copy_pages(source: Path, target: Path, progress: Progress = lambda _: None) -> None:
    """Copies a SQLite file as it is at one moment, with what is still in its `-wal`."""
    left = 0

    def report(_: int, remaining: int, total: int) -> None:
        nonlocal left
        progress((left or total) - remaining)
        left = remaining

    with closing(sqlite3.connect(source, isolation_level=None)) as old, closing(sqlite3.connect(target)) as new:
        old.execute("BEGIN")  # all pages are those of this moment, whoever writes meanwhile
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()
        old.backup(new, pages=PAGES, progress=report)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where nothing can be written


def _verified(file: Path, source: str) -> verifying.Verification:
    with _opened(file) as copied, copied.reading() as connection:
        found = verifying.verify(connection, decisions=False)
        _check(found, source)
    with closing(sqlite3.connect(file)) as connection_:
        connection_.execute("PRAGMA journal_mode = DELETE")
    return found


def _check(found: verifying.Verification, source: str) -> None:
    if not found.ok:
        raise LedgerError(f"{source} did not pass verification ({found.problems[0]}): nothing was written")


@contextmanager
def _opened(target: Target) -> Iterator[Store]:
    with closing(Store(target)) as store:
        store.check()
        yield store


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file to write, which gets its name only once it is complete; refused if there is something of that name."""
    if path.exists() or path.is_symlink():
        raise LedgerError(f"{path} already exists: give the copy a new file")
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}") from None
    os.close(number)
    unfinished = Path(name)
    try:
        yield unfinished
        _sync(unfinished)
        _name(unfinished, path)
        if os.name == "posix":  # elsewhere a folder cannot be opened, and need not be
            _sync(path.parent)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(name + ending).unlink(missing_ok=True)


def _name(unfinished: Path, path: Path) -> None:
    try:
        os.link(unfinished, path)  # unlike a renamed file, it replaces nothing
    except FileExistsError:
        raise LedgerError(f"{path} already exists: give the copy a new file") from None
    except OSError:  # a file system without links
        unfinished.rename(path)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows syncs no file that is only read
    os.fsync(number)
    os.close(number)


def _tables() -> list[sa.Table]:
    """All tables, those that others refer to first, but that of the version, which a new ledger has already."""
    return [table for table in schema.metadata.sorted_tables if table is not schema.schema_version]
