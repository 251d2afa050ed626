"""A whole ledger somewhere else: copied between SQLite and PostgreSQL, backed up, and restored.

A copy has every event with its hash, and every snapshot. It is compared with its source event by event and verified
before it is kept, and it is made in one transaction: there is a copy that is in order, or there is none.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import cast

import sqlalchemy as sa

from bygones._files import is_sqlite
from bygones.ledger.proof.verification import Verification, verify
from bygones.ledger.storage import rows, schema
from bygones.ledger.storage.sqlite_files import beside
from bygones.ledger.storage.store import LedgerError, Store, UncertainError

Target = str | os.PathLike[str]
Progress = Callable[[int], object]
"""Is called with the number of rows, or of pages of a file, that have been copied since the last call."""

PAGES = 2048
"""As many pages of a file are copied at a time."""


def copy(source: Target, target: Target, progress: Progress = lambda _: None) -> Verification:
    """Copies a ledger to a new file or an empty database."""
    with _opened(source) as there:
        return _copy(there, target, progress)


def backup(source: Target, file: Path, progress: Progress = lambda _: None) -> Verification:
    """Copies a ledger to a new SQLite file, while others go on reading and writing it."""
    with _opened(source) as there:
        if not there.is_sqlite:
            return _copy(there, file, progress)
        with _new_file(file) as unfinished:
            with there.reading() as connection:
                _copy_pages(connection, unfinished, file, progress)
            return _verified(unfinished, there.name)


def restore(file: Path, target: Target, progress: Progress = lambda _: None) -> Verification:
    """Verifies a backup and copies it to a new file or an empty database; the backup itself is not changed.

    SQLite would finish what a `-wal` or `-journal` beside the backup has begun. So it is given copies of them all.
    """
    if not file.is_file():
        raise LedgerError(f"{file} does not exist: give the file that `bygones ledger backup` wrote")
    if not is_sqlite(file):
        raise LedgerError(f"{file} is not a backup that can be read: it is not a SQLite file")
    with tempfile.TemporaryDirectory() as folder:
        same, before = Path(folder) / "backup.db", _stamps(file)
        for ending in before:
            with _writing(f"a copy of {file} in {folder}"):
                shutil.copyfile(beside(file, ending), beside(same, ending))
        if _stamps(file) != before:
            raise LedgerError(f"{file} is being written: restore a file that `bygones ledger backup` wrote")
        with _opened(same, str(file)) as there:
            with there.reading() as connection:
                _check(verify(connection), there.name)
            return _copy(there, target, progress)


def _stamps(file: Path) -> dict[str, tuple[int, int]]:
    """The parts of a SQLite file by the ends of their names; they differ once one of them has been written."""
    found = {ending: beside(file, ending) for ending in ("", "-wal", "-journal")}
    return {ending: (part.stat().st_mtime_ns, part.stat().st_size) for ending, part in found.items() if part.exists()}


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


def _copy(there: Store, target: Target, progress: Progress) -> Verification:
    here = Store(target)
    if here.is_sqlite:
        with closing(here), _new_file(here.path) as unfinished:
            part = Store(unfinished)
            part.name = str(here.path)
            with closing(part):
                return _copy_rows(there, part, progress)
    with closing(here):
        return _copy_rows(there, here, progress)


def _copy_rows(there: Store, here: Store, progress: Progress) -> Verification:
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
        found = verify(new, decisions=False)
        _check(found, there.name)
    return found


def _events(connection: sa.Connection) -> Iterator[tuple[object, ...]]:
    """The events with everything that is hashed, and their hashes; they begin with their numbers."""
    for chunk in rows.load_events(connection):
        for event, stored in chunk:
            yield (event.seq, event, bytes(stored))


def _copy_pages(connection: sa.Connection, unfinished: Path, target: Path, progress: Progress) -> None:
    """Copies a SQLite file as it is at the moment that a connection reads, with what is still in its `-wal`."""
    left = 0

    def report(_: int, remaining: int, total: int) -> None:
        nonlocal left
        progress((left or total) - remaining)
        left = remaining

    connection.execute(sa.text("SELECT count(*) FROM sqlite_master"))  # the moment begins, whoever writes meanwhile
    old = cast(sqlite3.Connection, connection.connection.dbapi_connection)
    with _writing(str(target)), closing(sqlite3.connect(unfinished)) as new:
        old.backup(new, pages=PAGES, progress=report)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where nothing can be written


def _verified(unfinished: Path, source: str) -> Verification:
    with _opened(unfinished, f"the copy of {source}") as copied, copied.reading() as connection:
        found = verify(connection, decisions=False)
        _check(found, source)
    with closing(sqlite3.connect(unfinished)) as connection_:
        connection_.execute("PRAGMA journal_mode = DELETE")
    return found


def _check(found: Verification, source: str) -> None:
    if not found.ok:
        raise LedgerError(f"{source} did not pass verification ({found.problems[0]}): nothing was written")


@contextmanager
def _opened(target: Target, name: str | None = None) -> Iterator[Store]:
    with closing(Store(target)) as store:
        store.name = name or store.name
        store.check()
        yield store


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file to write, which gets its name only once it is complete; refused if there is something of that name."""
    if path.exists() or path.is_symlink():
        raise LedgerError(f"{path} already exists: give the copy a new file")
    with _writing(str(path)):
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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
                with suppress(OSError):
                    beside(unfinished, ending).unlink()


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Says that a file cannot be written, as on a full or a read-only disk; damage is the source's, which says so."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        raise LedgerError(f"{what} cannot be written: {error}") from error
    except OSError as error:
        raise LedgerError(f"{what} cannot be written: {error.strerror}") from error
    except UncertainError as error:  # it is certain: a file that is not complete is removed
        raise LedgerError(f"{what} cannot be written: {getattr(error.__cause__, 'orig', error)}") from error


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
