"""What goes wrong while a ledger is written: the process dies, the disk is full, the answer is lost.

A fault strikes at one statement of a transaction, wherever that is, or right after the commit. After a crash of SQLite
one goes on with copies of the files as they were at that moment, as a machine does that was switched off and on.
"""

import shutil
import sqlite3
from contextlib import contextmanager
from pathlib import Path

import psycopg

CRASH, FULL, LOST = "crash between statements", "disk full", "lost acknowledgement"


class Crash(BaseException):
    """The process ends here. Nobody catches it."""


class Fault:
    """One fault, that strikes at the n-th statement of a ledger's next transaction; a lost answer after the commit.

    Attributes:
        kind: `CRASH`, `FULL` or `LOST`.
        struck: whether it has struck.
        left: the SQLite file as the crash left it.
    """

    def __init__(self, kind, statement, new_path):
        self.kind, self.struck, self.left = kind, False, None
        self._until, self._new_path = statement, new_path

    @contextmanager
    def on(self, ledger):
        """Strikes within this context."""
        store = ledger._store
        dialect = store._engine.dialect
        names = ("do_execute", "do_executemany", "do_execute_no_params", "do_commit")
        real = {name: getattr(dialect, name) for name in names}
        try:
            for name in names:
                setattr(dialect, name, self._striking(real[name], name == "do_commit", store))
            yield self
        finally:
            for name in names:
                delattr(dialect, name)

    def _striking(self, real, is_commit, store):
        def call(*arguments, **options):
            if self.kind == LOST:
                result = real(*arguments, **options)
                if is_commit:
                    self._strike(store)
                return result
            self._until -= 1
            if self._until == 0:
                self._strike(store)
            return real(*arguments, **options)

        return call

    def _strike(self, store):
        self.struck = True
        if self.kind == CRASH:
            if store.is_sqlite:
                self.left = self._new_path()
                for ending in ("", "-wal"):
                    file = Path(f"{store.path}{ending}")
                    if file.exists():
                        shutil.copy(file, f"{self.left}{ending}")
            raise Crash
        broken = sqlite3.OperationalError if store.is_sqlite else psycopg.OperationalError
        raise broken(
            {
                (FULL, True): "database or disk is full",
                (FULL, False): "could not extend file: No space left on device",
                (LOST, True): "disk I/O error",
                (LOST, False): "server closed the connection unexpectedly",
            }[self.kind, store.is_sqlite]
        )
