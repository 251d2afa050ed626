"""Signed heads of ledgers, kept in a file or in a table of another database, which others hold.

A file has one line of JSON for each. A table, named by the URL of its database, has one row for each; whoever signs
needs the right to read it and to append to it (SELECT, INSERT), and no other. Both can hold the heads of several
ledgers. Anchors are only ever appended, by one signer at a time.

Each anchor has the hash of the one before it of the same ledger, and shows with the hash tree of its events that it has
the earlier head among them (`bygones.ledger.proof.hash_tree`). Anchors of version 1 had neither, and stay valid.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._files import sync_folder
from bygones._locks import take
from bygones._secrets import redacted, secrets_in
from bygones.ledger.model.events import canonical
from bygones.ledger.model.times import instant
from bygones.ledger.proof.hash_tree import contains
from bygones.ledger.storage.store import TIMEOUT, LedgerError, read_url

PURPOSES = (b"bygones ledger head, version 1\n", b"bygones ledger head, version 2\n")
"""Come before what is signed, by version, so that a signature for something else is none for this."""

Where = str | os.PathLike[str]
"""The path of a file, or the URL of a database."""

LINKS = ("previous", "root", "proof")
"""What anchors of version 1 do not have."""

table = sa.Table(
    "bygones_anchors",
    sa.MetaData(),
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("ledger", sa.Text, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    *(sa.Column(name, sa.Text) for name in LINKS),
)

_HASH = "[0-9a-f]{64}"
_FORMATS = {"ledger": _HASH, "head": _HASH, "key": "[0-9a-f]{16}",
            "previous": f"({_HASH})?", "root": _HASH, "proof": f"({_HASH})*"}  # fmt: skip
_LOCK = 0x6279676F6E6573  # "bygones": signers hold it in turn while they append rows


class Anchor(NamedTuple):
    """One signed head.

    Attributes:
        ledger: the ledger's id, the hash of its first event.
        seq: the number of its last event then.
        head: the hash of that event.
        time: when it was signed, by the clock of whoever signed. It is for people: nothing depends on it.
        key: the id of the public key.
        signature: of all the others, in Base64; in version 1, of the first four.
        previous: the hash of the anchor before, empty if there was none; None in version 1, like the next two.
        root: the root of the hash tree over the events up to the head.
        proof: hashes, one after the other, which show that the head before is in that tree.
    """

    ledger: str
    seq: int
    head: str
    time: str
    key: str
    signature: str
    previous: str | None = None
    root: str | None = None
    proof: str | None = None

    @property
    def is_linked(self) -> bool:
        """Whether it is linked to the anchor before; not in version 1."""
        return self.root is not None

    def stored(self) -> dict[str, Any]:
        """What is written of it."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    @property
    def hash(self) -> str:
        """The hash by which the next anchor knows it."""
        return hashlib.sha256(canonical(self.stored()).encode()).hexdigest()

    @property
    def message(self) -> bytes:
        """What is signed."""
        if not self.is_linked:
            return PURPOSES[0] + canonical([self.ledger, self.seq, self.head, self.time]).encode()
        signed = {name: value for name, value in self.stored().items() if name != "signature"}
        return PURPOSES[1] + canonical(signed).encode()

    def extends(self, before: Anchor) -> bool:
        """Whether it shows that the head of another anchor is the hash of that event in its own tree."""
        proof = bytes.fromhex(self.proof or "")
        path = [proof[start : start + 32] for start in range(0, len(proof), 32)]
        return contains(bytes.fromhex(self.root or ""), self.seq, before.seq, bytes.fromhex(before.head), path)


Placed = tuple[str, Anchor]
"""An anchor, and before it the words for its place."""


@dataclass(frozen=True)
class Anchors:
    """The anchors in a file or table, in their order.

    Attributes:
        name: what sentences call the file or table.
        row: what they call one of its entries.
        entries: the anchors, of whatever ledger.
        unfinished: what stands behind them: the beginning of a line whose writing was interrupted, or that was cut off.
    """

    name: str
    row: str
    entries: tuple[Anchor, ...]
    unfinished: str = ""

    def places(self) -> list[Placed]:
        """The anchors, each with the words for its place."""
        return [(f"{self.name}, {self.row} {number}", anchor) for number, anchor in enumerate(self.entries, 1)]

    def of(self, ledger: str) -> list[Anchor]:
        """Those of one ledger."""
        return [anchor for anchor in self.entries if anchor.ledger == ledger]


def is_table(where: Where) -> bool:
    """Whether anchors are kept in a database."""
    return "://" in os.fspath(where)


def named(where: Where) -> str:
    """What sentences call a file or table of anchors, without passwords."""
    return f"{table.name} in {redacted(os.fspath(where))}" if is_table(where) else Path(where).name


def read_anchors(where: Where, *, new: bool = False) -> Anchors:
    """The anchors in a file or table; none where there is none yet, if that is accepted."""
    if is_table(where):
        found = _read_table(where, new)
    elif new and not Path(where).exists():
        found = Anchors(named(where), "line", ())
    else:
        found = _parsed(Path(where).read_bytes(), Path(where))
    if not found.entries and not found.unfinished and not new:
        raise LedgerError(
            f"{named(where)} has no signed head, so nothing can be checked: `bygones ledger sign` adds one"
        )
    return found


def append_anchors(where: Where, known: Anchors, new: Sequence[Anchor]) -> bool:
    """Appends anchors of one ledger to a file or table, which is made if there is none, in place of an unfinished line.

    Args:
        where: the file or table.
        known: what was there when it was last read.
        new: the anchors to append.

    Returns:
        Whether they were appended. They are not if others have appended anchors of this ledger since.
    """
    ledger = new[0].ledger
    if is_table(where):
        return _append_rows(where, known, new)
    with open_anchors(Path(where)) as file:
        now = file.anchors
        if now.of(ledger) != known.of(ledger) or now.unfinished != known.unfinished:
            return False
        file.append(new)
    return True


# ---------------------------------------------------------------------------------------------------------- files


class AnchorFile:
    """A file of anchors that nobody else writes to."""

    def __init__(self, file: io.FileIO, path: Path) -> None:
        self._file, self._path = file, path
        file.seek(0)
        data = file.readall()
        self.anchors = _parsed(data, path)
        self._end = len(data) - len(self.anchors.unfinished.encode())
        # An editor or a mail program may have taken away the end of the last line.
        self._ended = data[: self._end][-1:] in (b"", b"\n")

    def append(self, new: Sequence[Anchor]) -> None:
        """Appends anchors in place of an unfinished line; once this returns they are on the disk."""
        lines = [canonical(anchor.stored()).encode() + b"\n" for anchor in new]
        text = b"".join([b"" if self._ended else b"\n", *lines])
        try:
            self._file.truncate(self._end)
            if self._file.write(text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):  # no part of a line is to stay
                self._file.truncate(self._end)
            raise
        sync_folder(self._path.parent)


@contextmanager
def open_anchors(path: Path) -> Iterator[AnchorFile]:
    """A file of anchors for reading and appending by nobody else; it is made if there is none."""
    with open(path, "a+b", buffering=0) as file:
        if not take(file.fileno(), TIMEOUT):
            raise LedgerError(f"{path} is being written by another process: try again later")
        yield AnchorFile(file, path)


def _parsed(data: bytes, path: Path) -> Anchors:
    try:
        *lines, last = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise LedgerError(f"{path} is not a file of anchors") from None
    anchors = _anchors(map(_fields, lines), f"{path}, line")
    unfinished = last if _is_unfinished(last) else ""
    if last and not unfinished:
        anchors += _anchors([_fields(last)], f"{path}, line", len(lines) + 1)
    return Anchors(named(path), "line", tuple(anchors), unfinished)


def _is_unfinished(last: str) -> bool:
    """Whether the text behind the last end of a line is part of an anchor; after a power cut it may end in zeros."""
    try:
        json.loads(last)
    except ValueError:
        return last.strip("\0")[:1] in ("", "{") and last != ""
    return False


def _fields(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------------------- tables


def _read_table(where: Where, new: bool) -> Anchors:
    url = read_url(where)
    there = url.get_backend_name() != "sqlite" or Path(str(url.database)).exists()  # to open a file would make it
    found = None
    if there:
        with _database(where) as connection:
            found = _rows(connection, named(where))
    if found is None and not new:
        raise LedgerError(f"there is no table {named(where)}: `bygones ledger sign` makes it")
    return found or Anchors(named(where), "row", ())


def _rows(connection: sa.Connection, name: str) -> Anchors | None:
    if not sa.inspect(connection).has_table(table.name):
        return None
    lacking = _lacking(connection)
    columns = [table.c[field] for field in Anchor._fields if field not in lacking]
    rows = connection.execute(sa.select(*columns).order_by(table.c.id)).mappings()
    return Anchors(name, "row", tuple(_anchors(map(dict, rows), f"{name}, row")))


def _append_rows(where: Where, known: Anchors, new: Sequence[Anchor]) -> bool:
    ledger = new[0].ledger
    with _database(where) as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # locks on the table itself would take more than the right to append
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        now = _rows(connection, named(where))
        if (now.of(ledger) if now else []) != known.of(ledger):
            return False
        if now is None:
            table.create(connection)
        _add_columns(connection, where)
        for anchor in new:
            connection.execute(table.insert().values(anchor.stored()))
    return True


def _lacking(connection: sa.Connection) -> list[str]:
    """The columns that a table of version 1 does not have."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    return [name for name in LINKS if name not in there]


def _add_columns(connection: sa.Connection, where: Where) -> None:
    statements = [f"ALTER TABLE {table.name} ADD COLUMN {name} TEXT" for name in _lacking(connection)]
    try:
        for statement in statements:
            connection.execute(sa.text(statement))
    except sa.exc.ProgrammingError as error:
        raise LedgerError(
            f"{named(where)} was made by an earlier version, and only its owner can bring it up to date: "
            f"run {'; '.join(statements)}"
        ) from error


@contextmanager
def _database(where: Where) -> Iterator[sa.Connection]:
    url = read_url(where)
    if url.get_backend_name() == "sqlite":  # transactions begin where they say so
        arguments: dict[str, Any] = {"timeout": TIMEOUT, "isolation_level": None}
    else:
        arguments = {"options": f"-c lock_timeout={int(1000 * TIMEOUT)}", "connect_timeout": int(TIMEOUT)}
    engine = sa.create_engine(url, connect_args=arguments)
    try:
        with engine.begin() as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        problem = str(error.orig).strip().splitlines()[0]
        secret = secrets_in(url.render_as_string(hide_password=False))
        raise LedgerError(redacted(f"{named(where)}: {problem}", secret)) from error
    finally:
        engine.dispose()


# ---------------------------------------------------------------------------------------------------------- both


def _anchors(found: Iterable[object], where: str, first: int = 1) -> list[Anchor]:
    anchors = []
    for number, fields in enumerate(found, first):
        try:
            anchors.append(_anchor(fields))
        except (ValueError, TypeError):
            raise LedgerError(f"{where} {number}: not an anchor that `bygones ledger sign` wrote") from None
    return anchors


def _anchor(fields: object) -> Anchor:
    if not isinstance(fields, Mapping):
        raise TypeError
    anchor = Anchor(**fields)
    stored = anchor.stored()
    instant(anchor.time)
    base64.b64decode(anchor.signature, validate=True)
    if type(anchor.seq) is not int or anchor.seq < 1 or len(stored) not in (len(anchor) - len(LINKS), len(anchor)):
        raise ValueError
    if not all(re.fullmatch(form, stored[name]) for name, form in _FORMATS.items() if name in stored):
        raise ValueError
    return anchor
