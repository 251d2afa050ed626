"""Folders that one process at a time writes to, by a lock on a file in them."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bygones._locks import take


@contextmanager
def locked(lock: Path, place: Path, doing: str, patience: float = 0.0) -> Iterator[None]:
    """Holds a lock for the duration of a `with` block.

    Args:
        lock: the file that is locked; it stays there.
        place: what the lock protects, for the error.
        doing: what its holder does with it, for the error, such as `"is writing to this folder"`.
        patience: for how many seconds to wait for the lock.

    Raises:
        BlockingIOError: another process holds the lock; says which one.
    """
    with lock.open("a+", encoding="utf-8") as file:
        if not take(file.fileno(), patience):
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise BlockingIOError(errno.EWOULDBLOCK, f"{holder} {doing}", str(place))
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield
        file.truncate(0)
