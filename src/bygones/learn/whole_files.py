"""Files that are on the disk completely before anybody sees them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all; creates its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    write_synced(unfinished, content)
    os.replace(unfinished, path)
    sync_folder(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Writes a file, and waits until it is on the disk; if that fails, nothing is left of it."""
    try:
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
