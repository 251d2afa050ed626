"""Locks on open files. The operating system releases them however the process ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.05

if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30
    """The byte that is locked. On Windows no one can read a locked byte, so it lies beyond the content."""

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_END)
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def take(descriptor: int, patience: float = 0.0) -> bool:
    """Takes the lock on an open file, which lasts until it is closed; whether it was free within so many seconds."""
    until = time.monotonic() + patience
    while not _take(descriptor):
        if time.monotonic() >= until:
            return False
        time.sleep(_PAUSE)
    return True


@contextmanager
def locked(lock: Path, place: Path, doing: str, patience: float = 0.0) -> Iterator[None]:
    """Holds the lock on a file for the duration of a `with` block.

    Args:
        lock: the file that is locked; it stays there.
        place: the path that the lock protects, for the error.
        doing: what its holder does with that path, for the error, such as `"is writing to this folder"`.
        patience: for how many seconds to wait for the lock.

    Raises:
        BlockingIOError: another process holds the lock; the message names it.
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
