"""Locks on files: one process at a time. The operating system releases them however the process ends."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.05


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
    import fcntl

    until = time.monotonic() + patience
    with lock.open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    file.seek(0)
                    holder = file.read().strip() or "another process"
                    raise BlockingIOError(errno.EWOULDBLOCK, f"{holder} {doing}", str(place)) from None
            time.sleep(_PAUSE)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield
        file.truncate(0)
