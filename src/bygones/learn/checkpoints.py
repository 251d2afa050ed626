"""Checkpoints of runs that survive crashes, and that are never resumed from when they were damaged.

A checkpoint is an `.npz` file, in whose comment stands the SHA-256 of the rest. It takes its place when it is complete
and on the disk, and the one before it is kept under `.previous`. If the newest is damaged, its runs go on from the one
before; if both are, they start over. Which happened is logged as a warning, which Python prints unless told otherwise.
One process at a time trains the runs of a checkpoint.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bygones._files import replacing, sync_folder
from bygones._locks import locked

_LOG = logging.getLogger(__name__)
_MARK = b"sha256 "
_COMMENT = len(_MARK) + 64
_END_WITHOUT_COMMENT = 22
"""Bytes at the end of an archive that has no comment; its last two are the length of the comment."""
_PATIENCE = 3.0
"""Seconds to wait for the lock: workers of a process that was killed end a moment after it."""


class Checkpoint(NamedTuple):
    """Runs on the way."""

    done: int
    """How many rollouts they have behind them."""
    state: Sequence[np.ndarray]
    """The leaves of their state."""
    curves: Mapping[str, np.ndarray]
    """The points on their curves, of shape (runs, rollouts)."""


class DamagedError(ValueError):
    """The content of a checkpoint has changed since it was written."""


@contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Keeps other processes from training the runs of this checkpoint.

    Raises:
        BlockingIOError: another process trains them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    doing = "is training the runs of this checkpoint: wait for it to finish or choose another place"
    with locked(path.with_name(f".{path.name}.lock"), path, doing, patience=_PATIENCE):
        yield


def save(path: Path, runs: str, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint; the last one becomes the previous one.

    Args:
        path: the file.
        runs: the name of the runs, without which they are not resumed.
        checkpoint: the runs to save.
    """
    unfinished = path.with_name(path.name + ".part")
    with replacing(unfinished) as file:
        file.write(packed(runs, checkpoint))
    if path.exists():
        os.replace(path, previous(path))
    os.replace(unfinished, path)
    sync_folder(path.parent)


def load(path: Path, runs: str) -> Checkpoint | None:
    """The newest whole checkpoint of these runs, None if there is none. A damaged one is moved to `.damaged`.

    Raises:
        ValueError: the checkpoint is of other runs.
    """
    newest = None
    damaged: list[str] = []
    for file in (path, previous(path)):
        try:
            name, newest = unpacked(file.read_bytes())
        except FileNotFoundError:
            continue
        except DamagedError as error:
            damaged.append(f"{file} is damaged ({error})")
            os.replace(file, file.with_name(file.name + ".damaged"))
            continue
        if name != runs:
            raise ValueError(f"checkpoint {file} belongs to other settings; choose another file or remove it")
        break
    if damaged:
        onward = f"going on from {file}, after {newest.done} rollouts" if newest else "there is no other: starting over"
        _LOG.warning("checkpoint %s; %s", " and ".join(damaged), onward)
    return newest


def previous(path: Path) -> Path:
    """Where the checkpoint before this one is kept."""
    return path.with_name(path.name + ".previous")


def packed(runs: str, checkpoint: Checkpoint) -> bytes:
    """A checkpoint as the content of a file."""
    curves = {f"curve_{name}": values for name, values in checkpoint.curves.items()}
    state = {f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(checkpoint.state)}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, runs=np.array(runs), done=np.array(checkpoint.done), **curves, **state)
    content = buffer.getvalue()[:-2] + _COMMENT.to_bytes(2, "little")
    return content + _comment(content)


def unpacked(content: bytes) -> tuple[str, Checkpoint]:
    """The name of the runs, and their checkpoint.

    Earlier versions wrote no comment. Their files are read too; all that tells their damage is the archive's own CRCs.

    Raises:
        DamagedError: it is not whole.
    """
    end = content[-_END_WITHOUT_COMMENT:]
    has_comment = not (end.startswith(b"PK\5\6") and end.endswith(b"\0\0"))
    if has_comment and content[-_COMMENT:] != _comment(content[:-_COMMENT]):
        raise DamagedError("its checksum does not match")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        if not has_comment and len(arrays) != int.from_bytes(end[10:12], "little"):
            raise DamagedError("some of its arrays are missing")
        curves = {name.removeprefix("curve_"): arrays[name] for name in arrays if name.startswith("curve_")}
        state = [arrays[f"state_{i}"] for i in range(len(arrays) - len(curves) - 2)]
        return str(arrays["runs"]), Checkpoint(int(arrays["done"]), state, curves)
    except Exception as error:  # NumPy and zipfile raise a dozen kinds of errors for damaged archives
        raise DamagedError(f"it cannot be read: {error}") from None


def _comment(content: bytes) -> bytes:
    return _MARK + hashlib.sha256(content).hexdigest().encode()
