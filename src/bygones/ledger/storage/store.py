"""Where a ledger is kept: one SQLite file, or a PostgreSQL database by its URL.

An acknowledged event is durable: a commit returns once it is synced. Writers come one after the other: on SQLite each
begins with the write lock, on PostgreSQL each locks the ledger's only row before it reads anything. Readers see one
moment, and keep nobody from writing.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from bygones._files import make_private
from bygones._parts import needed_by
from bygones._secrets import redacted, secrets_in
from bygones.ledger.storage import migrations, schema, sqlite_files

Mode = Literal["DEFERRED", "IMMEDIATE"]
"""Whether a transaction reads, or writes."""

TIMEOUT = 30.0
"""Seconds for which a writer waits for the lock."""


class LedgerError(ValueError):
    """The ledger cannot be read or written; the message gives the reason."""


class UncertainError(LedgerError):
    """It is unknown whether the database has committed; the same request with the same key finds out."""

    exit_code = 4


class Store:
    """A ledger's database."""

    def __init__(self, target: str | os.PathLike[str], timeout: float = TIMEOUT) -> None:
        self._url = read_url(target)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        """Whether this is a SQLite file."""
        self.path = Path(str(self._url.database).removeprefix("file:"))
        """The SQLite file."""
        public = self._url.set(drivername="postgresql").render_as_string(hide_password=True)
        self.name = str(self._url.database) if self.is_sqlite else redacted(public)
        self._timeout = timeout
        self._sealed: tuple[int, int, bool] | None = None
        self._wrote = -math.inf
        if self.is_sqlite:
            self._engine = self._sqlite_engine(self._url)
        else:
            milliseconds = int(1000 * timeout)
            options = {"options": f"-c lock_timeout={milliseconds}", "connect_timeout": int(timeout)}
            with needed_by("a ledger in PostgreSQL"):
                self._engine = sa.create_engine(self._url, connect_args=options)
            sa.event.listen(self._engine, "handle_error", _close_cursor)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        """The tables of a new ledger, kept if the `with` block succeeds; refused if there is a ledger already."""
        if self.is_sqlite and self.path.exists() and (self.path.stat().st_size or not self.path.is_file()):
            raise LedgerError(f"{self.name} already exists: give a new ledger a new file")
        if self.is_sqlite:
            with suppress(OSError):  # where it cannot be created, opening it gives the reason
                make_private(self.path)
        with self.transaction("IMMEDIATE") as connection:
            if schema.version(connection) is not None:
                raise LedgerError(f"{self.name} already contains a ledger: give a new ledger an empty database")
            schema.create(connection)
            yield connection
        self._choose_journal()

    def check(self) -> None:
        """Refuses a target that is not a ledger, is damaged, or is of a newer version; migrates an older version."""
        if self.is_sqlite and not self.path.exists():
            raise LedgerError(f"{self.name} does not exist: create a ledger with `bygones ledger new`")
        if self.is_sqlite and sqlite_files.is_sealed(self.path):
            self._seal()
        with self.transaction("DEFERRED") as connection:
            version = schema.version(connection)
        if version is None:
            raise LedgerError(f"{self.name} is not a ledger: create one with `bygones ledger new`")
        if version > schema.VERSION:
            raise LedgerError(
                f"{self.name} was written by a newer bygones (tables of version {version}, this one reads version "
                f"{schema.VERSION}): upgrade bygones"
            )
        if not all(step in migrations.MIGRATIONS for step in range(version, schema.VERSION)):
            raise LedgerError(
                f"{self.name} has tables of version {version}, which cannot be migrated to version {schema.VERSION}"
            )
        if version < schema.VERSION:
            with self.transaction("IMMEDIATE", foreign_keys=False) as connection:
                if not self.is_sqlite:
                    connection.execute(sa.text("LOCK TABLE schema_version IN ACCESS EXCLUSIVE MODE"))
                migrations.migrate(connection, schema.version(connection) or 0)
        self._choose_journal()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """The ledger at one moment, for reading."""
        with self.transaction("DEFERRED") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[tuple[sa.Connection, sa.Row[Any]]]:
        """The ledger and its head, for reading and writing by nobody else; all changes are kept, or none."""
        with self.transaction("IMMEDIATE") as connection:
            yield connection, connection.execute(sa.select(schema.ledger).with_for_update()).one()

    @contextmanager
    def locked(self) -> Iterator[sa.Connection]:
        """As `writing`, without the ledger's own row, which may be damaged."""
        with self.transaction("IMMEDIATE") as connection:
            connection.execute(sa.select(schema.ledger.c.id).with_for_update())
            yield connection

    def close(self) -> None:
        """Closes the database."""
        self._engine.dispose()

    def _sqlite_engine(self, url: URL) -> sa.Engine:
        # One connection stays open between transactions, since closing the last one moves all commits into the file.
        arguments = {"timeout": self._timeout, "isolation_level": None, "check_same_thread": False}
        engine = sa.create_engine(url, connect_args=arguments, poolclass=sa.QueuePool, pool_size=1, max_overflow=-1)
        engine.dialect.colspecs = {**engine.dialect.colspecs, **sqlite_files.CHECKED}
        sa.event.listen(engine, "connect", sqlite_files.prepare)
        return engine

    def _seal(self) -> None:
        """Reads a file that nobody can write here, and raises an error if another machine has written it."""
        self._sealed = sqlite_files.stamp(self.path)
        uri = self._url.set(database=f"file:{quote(str(self.path))}", query={"immutable": "1", "uri": "true"})
        self._engine = self._sqlite_engine(uri)

    def _choose_journal(self) -> None:
        if self.is_sqlite and self._sealed is None:
            with self._engine.connect() as connection:
                sqlite_files.choose_journal(_driver(connection), self.path)

    @contextmanager
    def transaction(self, mode: Mode, *, foreign_keys: bool = True) -> Iterator[sa.Connection]:
        """One transaction, which on SQLite begins with the write lock if it is to write (`IMMEDIATE`)."""
        # A PostgreSQL writer must see commits made while it waited for the lock, a reader one moment only.
        level = {"DEFERRED": "REPEATABLE READ", "IMMEDIATE": "READ COMMITTED"}[mode]
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": level}
        try:
            with self._engine.connect().execution_options(**options) as connection:
                if not foreign_keys and self.is_sqlite:  # which cannot be turned off within a transaction
                    connection.detach()  # it is not used again
                    connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
                if self.is_sqlite and mode == "IMMEDIATE":
                    sqlite_files.begin_writing(_driver(connection), self._timeout, self._wrote)
                elif self.is_sqlite:
                    connection.exec_driver_sql("BEGIN DEFERRED")
                try:
                    yield connection
                except sqlite_files.CellError:
                    fault = next(sqlite_files.faults(_driver(connection)), None)
                    if fault is None:
                        raise
                    how = "try `bygones ledger rebuild`, or restore a backup"
                    raise LedgerError(f"{self.name} is damaged: {fault}; {how}") from None
                self._commit(connection, mode)
                if self.is_sqlite and mode == "IMMEDIATE":
                    self._wrote = time.monotonic()
                    sqlite_files.checkpoint(_driver(connection), self.path)
        except sa.exc.DBAPIError as error:
            raise LedgerError(self._sentence(error.orig)) from error
        except sqlite3.Error as error:
            raise LedgerError(self._sentence(error)) from error
        if self._sealed is not None and self._sealed != sqlite_files.stamp(self.path):
            raise LedgerError(f"{self.name} was changed while it was being read: try again")

    def _commit(self, connection: sa.Connection, mode: str) -> None:
        try:
            connection.commit()
        except sa.exc.DBAPIError as error:
            connection.invalidate()  # its transaction is still open
            problem = self._sentence(error.orig)
            if mode == "IMMEDIATE" and "nothing was recorded" not in problem:
                problem += "; it is not certain whether this was recorded: check, or repeat it with the same key"
                raise UncertainError(problem) from error
            raise LedgerError(problem) from error

    def _sentence(self, error: BaseException | None) -> str:
        message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        known = {
            "locked": "is locked by another writer: try again later",
            "lock timeout": "is locked by another writer: try again later",
            "readonly": "is read-only: nothing was recorded",
            "read-only": "is read-only: nothing was recorded",
            "not a database": "is not a ledger: it is not a SQLite file",
            "malformed": "is damaged or truncated: restore a backup",
            "disk is full": "cannot be written, the disk is full: nothing was recorded",
            "No space left": "cannot be written, the disk is full: nothing was recorded",
            "unable to open": "cannot be opened",
        }
        for part, sentence in known.items():
            if part in message:
                return f"{self.name} {sentence}"
        return redacted(f"{self.name}: {message}", secrets_in(self._url.render_as_string(hide_password=False)))


def read_url(target: str | os.PathLike[str]) -> URL:
    """The URL of a file or of a database, refused unless it is one that a ledger can be kept in."""
    text = os.fspath(target)
    if text in ("", ":memory:"):
        raise LedgerError(f"a ledger must be a file or a database URL, got {text!r}")
    if "://" not in text and redacted(text) != text:
        raise LedgerError(
            f"a ledger must be a file or a database URL such as postgresql://host/name, got {redacted(text)!r}"
        )
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(re.sub(r"^postgres://", "postgresql://", text))
    except (sa.exc.ArgumentError, ValueError):
        raise LedgerError(
            f"a ledger must be a file or a database URL such as postgresql://host/name, got {redacted(text)!r}"
        ) from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        raise LedgerError(f"a ledger must be in SQLite or PostgreSQL, got {redacted(text)}")
    return url


def _close_cursor(context: sa.engine.ExceptionContext) -> None:
    """Closes the cursor of a connection that was lost, which SQLAlchemy leaves open."""
    cursor = getattr(context.execution_context, "cursor", None)
    if context.is_disconnect and cursor is not None:
        with suppress(Exception):
            cursor.close()


def _driver(connection: sa.Connection) -> sqlite3.Connection:
    """The SQLite connection itself."""
    return cast(sqlite3.Connection, connection.connection.dbapi_connection)
