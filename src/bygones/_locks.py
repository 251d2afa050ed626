"""Locks on open files. The operating system releases them however the process ends."""

from __future__ import annotations

import os
import sys
import time

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
