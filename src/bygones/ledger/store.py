"""Where a ledger is kept: one SQLite file, or a PostgreSQL database by its URL.

An acknowledged event is durable: SQLite syncs its rollback journal, the file and the folder before a commit returns
(`synchronous=EXTRA`), and at rest the ledger is one file. Writers come one after the other: on SQLite each begins with
the write lock, on PostgreSQL each locks the ledger's only row before it reads anything. Readers see one moment.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from bygones._files import make_private
from bygones._secrets import redacted, secrets_in
from bygones.ledger import schema

TIMEOUT = 30.0
"""Seconds for which a writer waits for the lock."""

CACHE = 65536
"""The most memory, in KiB, for the pages of a SQLite transaction."""


class LedgerError(ValueError):
    """The ledger cannot be read or written; the message says why."""


class Store:
    """A ledger's database."""

    def __init__(self, target: str | os.PathLike[str], timeout: float = TIMEOUT) -> None:
        self._url = _url(target)
        public = self._url.set(drivername="postgresql").render_as_string(hide_password=True)
        self.name = str(self._url.database) if self._is_sqlite else redacted(public)
        if self._is_sqlite:
            self._engine = sa.create_engine(
                self._url, connect_args={"timeout": timeout, "isolation_level": None}, poolclass=sa.NullPool
            )
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
        else:
            milliseconds = int(1000 * timeout)
            self._engine = sa.create_engine(
                self._url, connect_args={"options": f"-c lock_timeout={milliseconds}", "connect_timeout": int(timeout)}
            )

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        """The tables of a new ledger, kept if the `with` block succeeds; refused if there is a ledger already."""
        if self._is_sqlite and self._path.exists() and self._path.stat().st_size:
            raise LedgerError(f"{self.name} already exists: give a new ledger a new file")
        if self._is_sqlite:
            self._make_private()
        with self._connect("IMMEDIATE") as connection:
            if schema.version(connection) is not None:
                raise LedgerError(f"{self.name} already contains a ledger: give a new ledger an empty database")
            schema.create(connection)
            yield connection

    def check(self) -> None:
        """Refuses what is not a ledger, is damaged, or is of a newer version; brings an older version up to date."""
        if self._is_sqlite and not self._path.exists():
            raise LedgerError(f"{self.name} does not exist: create a ledger with `bygones ledger new`")
        with self._connect("DEFERRED") as connection:
            found = schema.version(connection)
        if found is None:
            raise LedgerError(f"{self.name} is not a ledger: create one with `bygones ledger new`")
        if found > schema.VERSION:
            raise LedgerError(
                f"{self.name} was written by a newer bygones (tables of version {found}, this one reads version "
                f"{schema.VERSION}): upgrade bygones"
            )
        if not all(step in schema.MIGRATIONS for step in range(found, schema.VERSION)):
            raise LedgerError(
                f"{self.name} has tables of version {found}, which cannot be migrated to version {schema.VERSION}"
            )
        if found < schema.VERSION:
            with self._connect("IMMEDIATE") as connection:
                if not self._is_sqlite:
                    connection.execute(sa.text("LOCK TABLE schema_version IN ACCESS EXCLUSIVE MODE"))
                schema.migrate(connection, schema.version(connection) or 0)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """The ledger as it is at one moment, for reading."""
        with self._connect("DEFERRED") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[tuple[sa.Connection, sa.Row[Any]]]:
        """The ledger and its head, for reading and writing by nobody else; all changes are kept, or none."""
        with self._connect("IMMEDIATE") as connection:
            yield connection, connection.execute(sa.select(schema.ledger).with_for_update()).one()

    def close(self) -> None:
        """Closes the database."""
        self._engine.dispose()

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def _path(self) -> Path:
        return Path(str(self._url.database).removeprefix("file:"))

    def _make_private(self) -> None:
        """Creates the file, which only its owner can read; where it cannot be created, opening it says why."""
        with suppress(OSError):
            make_private(self._path)

    @contextmanager
    def _connect(self, mode: str) -> Iterator[sa.Connection]:
        # A PostgreSQL writer must see what was committed while it waited for the lock, a reader one moment only.
        level = {"DEFERRED": "REPEATABLE READ", "IMMEDIATE": "READ COMMITTED"}[mode]
        options: dict[str, Any] = {} if self._is_sqlite else {"isolation_level": level}
        try:
            with self._engine.connect().execution_options(**options) as connection:
                if self._is_sqlite:
                    connection.exec_driver_sql(f"BEGIN {mode}")
                yield connection
                connection.commit()
        except sa.exc.DBAPIError as error:
            raise LedgerError(self._sentence(error.orig)) from error

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
            "unable to open": "cannot be opened",
        }
        for part, sentence in known.items():
            if part in message:
                return f"{self.name} {sentence}"
        return redacted(f"{self.name}: {message}", secrets_in(self._url.render_as_string(hide_password=False)))


def _url(target: str | os.PathLike[str]) -> URL:
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
    except sa.exc.ArgumentError:
        raise LedgerError(
            f"a ledger must be a file or a database URL such as postgresql://host/name, got {redacted(text)!r}"
        ) from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        raise LedgerError(f"a ledger must be in SQLite or PostgreSQL, got {redacted(text)}")
    return url


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = EXTRA")
    # A transaction whose pages do not fit into the cache would write, and sync, some of them more than once.
    connection.execute(f"PRAGMA cache_size = -{CACHE}")
