"""A ledger in one SQLite file: durable, read while it is written, and no other file when it is closed.

SQLite appends commits to a second file (`-wal`), which it syncs before a commit returns, and readers go on reading the
moment at which they began. So reading never blocks writing. The last to close the ledger moves the
commits into the file and removes `-wal` and `-shm`; after a crash, the next to open it does.

On a network file system, where this does not work between machines, the ledger has a rollback journal instead, which is
as durable; there readers and writers wait for each other. In a folder that cannot be written, a file is read alone.

SQLite stores anything in any column, so a file may hold anything: every cell is checked when it is read.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

CACHE = 65536
"""The most memory, in KiB, for the pages of a transaction."""

POLL = 0.001
"""Seconds between two attempts to get the write lock.

Everyone who waits asks equally often, however long they have waited, and so has the same chance. With SQLite's own
waiting, which asks more and more rarely, the last to come would go first."""

LONG = 4 << 20
"""Bytes of `-wal` after which a writer moves its commits into the file."""

NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "vboxsf")
"""Types of file systems that several machines may share."""

MOUNTS = Path("/proc/self/mountinfo")


def prepare(connection: sqlite3.Connection, _: object) -> None:
    """Settings of every connection."""
    connection.execute("PRAGMA foreign_keys = ON")
    # Of a rollback journal the folder is synced as well; of commits in -wal this is the same as FULL.
    connection.execute("PRAGMA synchronous = EXTRA")
    # A transaction whose pages do not fit into the cache would write, and sync, some of them more than once.
    connection.execute(f"PRAGMA cache_size = -{CACHE}")
    # SQLite before 3.51.3 may damage a file that one connection checkpoints while another writes; see `checkpoint`.
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def choose_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Makes commits go to `-wal`, or to a rollback journal on a network drive; later, if another process is busy."""
    wanted = "delete" if on_network(path) else "wal"
    with contextlib.suppress(sqlite3.OperationalError):  # read-only, or in use
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
            connection.execute(f"PRAGMA journal_mode = {wanted}")


def begin_writing(connection: sqlite3.Connection, timeout: float, wrote: float) -> None:
    """Begins a transaction with the write lock, waiting for it as long as the timeout.

    The last writer gives way: for two polls after it `wrote`, by the monotonic clock, others go first.
    """
    time.sleep(max(0.0, wrote + 2 * POLL - time.monotonic()))
    until = time.monotonic() + timeout
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(POLL)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * timeout)}")


def checkpoint(connection: sqlite3.Connection, path: Path) -> None:
    """Moves commits into the file once there are many, unless another process still reads the state before them.

    TRUNCATE holds the write lock all the time: nobody writes during a checkpoint.
    """
    try:
        is_long = companion(path, "-wal").stat().st_size > LONG
    except FileNotFoundError:
        return
    if is_long:
        (timeout,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {timeout}")


def is_sealed(path: Path) -> bool:
    """Whether a file at rest is in a folder where nothing can be written, not even for reading it."""
    return path.is_file() and not os.access(path.resolve().parent, os.W_OK) and not companion(path, "-wal").exists()


def stamp(path: Path) -> tuple[int, int, bool]:
    """Differs once a sealed file has been written by a process with the rights."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, companion(path, "-wal").exists()


def companion(path: Path, ending: str) -> Path:
    """The file that SQLite keeps next to a database's, such as its `-wal`."""
    return path.with_name(path.name + ending)


def on_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether a file is on a network file system, as far as the operating system knows."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    folder, longest, kind = path.resolve().parent, -1, ""
    for line in lines:
        mount, _, system = line.partition(" - ")
        point = Path(mount.split()[4].replace("\\040", " "))
        if folder.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), system.split()[0]
    return kind in NETWORK


class CellError(TypeError):
    """A cell is not of the type of its column."""


def _checked(kind: type[Any], *accepted: type) -> type[Any]:
    """The type of a column of which everything that is read is of an accepted Python type, or nothing."""

    def check(value: object) -> object:
        if value is not None and type(value) not in accepted:
            raise CellError(f"a cell holds {type(value).__name__} instead of {accepted[0].__name__}")
        return value

    def processor(*_: object) -> Callable[[object], object]:
        return check

    return type(kind.__name__, (kind,), {"result_processor": processor, "cache_ok": True})


CHECKED: dict[type[Any], type[Any]] = {
    sa.Integer: _checked(sa.Integer, int),
    sa.BigInteger: _checked(sa.BigInteger, int),
    sa.Double: _checked(sa.Double, float, int),
    sa.Text: _checked(sa.Text, str),
    sa.LargeBinary: _checked(sa.LargeBinary, bytes),
}
"""For each type of a column, the one with which SQLite reads it."""

_STORED = {"INT": "integer", "TEXT": "text", "BLOB": "blob", "FLOA": "real", "DOUB": "real"}
"""As what SQLite stores the values of a column, by a part of the column's declared type."""


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """For each column, the first cell that is not of its type, in words."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL ORDER BY name")
    for (table,) in tables.fetchall():
        for _, column, declared, required, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
            stored = next((stored for part, stored in _STORED.items() if part in declared), "")
            cell = connection.execute(
                f'SELECT rowid, typeof("{column}") FROM "{table}" NOT INDEXED WHERE typeof("{column}") NOT IN (?, ?)',
                (stored, stored if required else "null"),
            ).fetchone()
            if stored and cell is not None:
                yield f"{column} in row {cell[0]} of {table} is {cell[1]} instead of {stored}"
