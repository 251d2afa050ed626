"""Writes files completely or not at all, and never over a ledger or a file that the command reads.

Everything bygones writes goes through `replacing`. The content goes to a file of a random name in the same folder,
which becomes the wanted file when it is complete and on the disk. A file that is replaced keeps its permissions.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]

PRIVATE = 0o600
"""The permissions of files with what people received: only their owner reads them."""

BINARY: int = getattr(os, "O_BINARY", 0)
"""Flag of `os.open`: Windows would change the ends of lines without it, and other systems do not have it."""

UNFINISHED = ".bygones-*.part"
"""Matches the names of files that are being written, or that a killed process left behind."""

_SQLITE = b"SQLite format 3\0"
_SIDE_FILE = re.compile(r"-(journal|wal|shm)$")
_OPEN_ALREADY = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")


@contextlib.contextmanager
def replacing(path: PathLike, *, private: bool = False) -> Iterator[BinaryIO]:
    """A binary file that takes the place of the one at `path` when the `with` block succeeds.

    Links are followed, so the file they point to is replaced. Anything else than a file, such as `/dev/stdout`,
    `/dev/null` or a pipe, is written to directly. Folders are created if necessary.

    Args:
        path: the file to write.
        private: whether a new file can be read by its owner only; otherwise the umask decides.

    Raises:
        ValueError: the file is a folder or a SQLite database, which may be a ledger.
        OSError: the file cannot be written; the old one is still there.
    """
    check_output(path)
    place = Path(path)
    try:
        if _is_direct(place):
            # Opened for appending: a shell's `>> file` would otherwise be overwritten from its beginning.
            with open(place, "ab", buffering=0) as stream, io.BufferedWriter(stream) as file:
                yield file
            return
        place = Path(os.path.realpath(place))
        place.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(place, private) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(place)) and not Path(str(error.filename)).match(UNFINISHED):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextlib.contextmanager
def replacing_text(path: PathLike, *, private: bool = False) -> Iterator[TextIO]:
    """A text file in UTF-8 in place of the one at `path`, see `replacing`; line ends are not translated."""
    with replacing(path, private=private) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def write_text(path: PathLike, text: str, *, private: bool = False) -> None:
    """Writes a text file, see `replacing_text`."""
    with replacing_text(path, private=private) as file:
        file.write(text)


def check_output(path: PathLike, inputs: Iterable[PathLike] = ()) -> None:
    """Refuses to write over a folder, over a SQLite database, which may be a ledger, or over an input of the command.

    Args:
        path: the file to write.
        inputs: the files, folders, globs and URLs that the command reads. Links count as the files to which
            they lead, however they are spelled.

    Raises:
        ValueError: the message explains what to do.
    """
    text = os.fspath(path)
    if "\0" in text:
        raise ValueError(f"the name of a file must not contain a NUL character, got {text!r}")
    try:
        there = os.stat(text)
    except OSError:
        there = None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise ValueError(f"{text} is a folder: give the name of a file to write")
    if there is not None and any(os.path.samestat(there, each) for each in _read(inputs)):
        raise ValueError(f"{text} is an input of this command: choose another file to write")
    base = _SIDE_FILE.sub("", os.path.realpath(text))
    if is_sqlite(base):
        raise ValueError(f"{text} is part of a SQLite database, which may be a ledger: choose another file to write")


def is_sqlite(path: PathLike) -> bool:
    """Whether a regular file is a SQLite database, by its first bytes."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False


def make_private(path: PathLike) -> None:
    """Creates an empty file that only its owner can read, unless the file exists."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


@contextlib.contextmanager
def _replacing(path: Path, private: bool) -> Iterator[BinaryIO]:
    old = None
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(path)
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    unfinished = path.with_name(UNFINISHED.replace("*", secrets.token_hex(16)))
    # O_EXCL: others who can write to the folder cannot put a link in the way.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(unfinished, flags, PRIVATE if private or old is not None else 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            if old is not None and hasattr(os, "fchown"):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
            os.fsync(descriptor)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes sure that a new name survives a power cut; some file systems cannot, and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_direct(path: Path) -> bool:
    """Whether to write to the path instead of replacing it: to a device, a pipe, or a file opened by the shell."""
    if _OPEN_ALREADY.fullmatch(os.path.abspath(path)):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _read(inputs: Iterable[PathLike]) -> Iterator[os.stat_result]:
    """The files that these inputs are, or contain."""
    for each in inputs:
        for name in _names(os.fspath(each)):
            for file in [name, *(os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files)]:
                with contextlib.suppress(OSError):
                    yield os.stat(file)


def _names(text: str) -> set[str]:
    """The files that an input may mean: a name, all that match a glob, or the file in a URL such as sqlite:///a.db."""
    if "\0" in text:
        return set()
    _, _, in_url = text.partition(":")
    bare = in_url.partition("?")[0].lstrip("/")
    names = {text, *({bare, f"/{bare}"} if bare else ())}
    return names | {match for name in names if glob.has_magic(name) for match in glob.glob(name, recursive=True)}


def file_name(label: str) -> str:
    """The label of a source without the folders of its file, for answers that are shared; a URL stays whole."""
    return label if "://" in label else label.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
