"""Signed heads of ledgers, kept in a file or in a table of another database, which others hold.

A file has one line of JSON for each head. A table, named by the URL of its database, has one row for each. A signer
needs the right to read the table and to append to it (SELECT, INSERT), and no other. Both can hold the heads of several
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bygones._files import sync_folder
from bygones._locks import take
from bygones._secrets import redacted
from bygones.ledger.model.events import canonical
from bygones.ledger.model.times import instant
from bygones.ledger.proof.hash_tree import contains
from bygones.ledger.storage.store import TIMEOUT, LedgerError, Mode, Store, read_url

PURPOSES = (b"bygones ledger head, version 1\n", b"bygones ledger head, version 2\n")
"""Precede the signed bytes, by version: a signature for another purpose is not valid for an anchor."""

Where = str | os.PathLike[str]
"""The path of a file, or the URL of a database."""

LINKS = ("previous", "root", "proof")
"""The fields that anchors of version 1 do not have."""

FIELDS = ("ledger", "seq", "head", "time", "key", "signature", *LINKS)
"""The fields of a line and the columns of a row."""

table = sa.Table(
    "bygones_anchors",
    sa.MetaData(),
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    *(sa.Column(name, sa.BigInteger if name == "seq" else sa.Text, nullable=name in LINKS) for name in FIELDS),
)

_HASH = "[0-9a-f]{64}"
_FORMATS = {"ledger": _HASH, "head": _HASH, "key": "[0-9a-f]{16}",
            "previous": f"({_HASH})?", "root": _HASH, "proof": f"({_HASH})*"}  # fmt: skip
_LOCK = 0x6279676F6E6573  # "bygones": signers hold it in turn while they append rows


@dataclass(frozen=True)
class Anchor:
    """One signed head.

    Attributes:
        ledger: the ledger's id, the hash of its first event.
        seq: the number of its last event then.
        head: the hash of that event.
        time: when it was signed, by the signer's clock. It is for people: nothing depends on it.
        key: the id of the public key.
        signature: of all other fields, in Base64; in version 1, of the first four.
        previous: the hash of the anchor before, empty if there was none; None in version 1, like the next two.
        root: the root of the hash tree over the events up to the head.
        proof: hashes, one after the other, which show that the head before is in that tree.
        place: the words for the line or row it was read from; no part of the anchor itself.
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
    place: str = field(default="", compare=False)

    @property
    def is_linked(self) -> bool:
        """Whether it is linked to the anchor before; not in version 1."""
        return self.root is not None

    def stored(self) -> dict[str, Any]:
        """The fields that are written."""
        return {name: getattr(self, name) for name in (FIELDS if self.is_linked else FIELDS[: -len(LINKS)])}

    @property
    def hash(self) -> str:
        """The hash by which the next anchor knows it."""
        return hashlib.sha256(canonical(self.stored()).encode()).hexdigest()

    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        if not self.is_linked:
            return PURPOSES[0] + canonical([self.ledger, self.seq, self.head, self.time]).encode()
        signed = {name: value for name, value in self.stored().items() if name != "signature"}
        return PURPOSES[1] + canonical(signed).encode()

    def extends(self, before: Anchor) -> bool:
        """Whether it shows that the head of another anchor is the hash of that event in its own tree."""
        proof = bytes.fromhex(self.proof or "")
        path = [proof[start : start + 32] for start in range(0, len(proof), 32)]
        return contains(bytes.fromhex(self.root or ""), self.seq, before.seq, bytes.fromhex(before.head), path)


@dataclass(frozen=True)
class Anchors:
    """The anchors in a file or table, in their order.

    Attributes:
        name: what sentences call the file or table.
        entries: the anchors, of whatever ledger.
        unfinished: the beginning of a last line whose writing was interrupted, or that was cut off.
    """

    name: str
    entries: tuple[Anchor, ...] = ()
    unfinished: str = ""

    def of(self, ledger: str) -> list[Anchor]:
        """The anchors of one ledger."""
        return [anchor for anchor in self.entries if anchor.ledger == ledger]


def is_table(where: Where) -> bool:
    """Whether anchors are kept in a database."""
    return "://" in os.fspath(where)


def display_name(where: Where) -> str:
    """The name of a file or table of anchors in sentences, without passwords."""
    return f"{table.name} in {redacted(os.fspath(where))}" if is_table(where) else Path(where).name


def read_anchors(where: Where, *, new: bool = False) -> Anchors:
    """The anchors in a file or table; none where there is no file or table yet, if `new` accepts that."""
    if is_table(where):
        anchors = _read_table(where)
    elif new and not Path(where).exists():
        anchors = None
    else:
        anchors = _read_lines(Path(where).read_bytes(), Path(where))
    if new:
        return anchors or Anchors(display_name(where))
    if anchors is None:
        raise LedgerError(f"there is no table {display_name(where)}: `bygones ledger sign` makes it")
    if not anchors.entries and not anchors.unfinished:
        raise LedgerError(
            f"{display_name(where)} has no signed head, so nothing can be checked: `bygones ledger sign` adds one"
        )
    return anchors


@contextmanager
def open_anchors(where: Where) -> Iterator[tuple[Anchors, Callable[[Sequence[Anchor]], None]]]:
    """The anchors in a file or table, and a function to append to them once; nobody else can until the block ends.

    Appended anchors take the place of an unfinished line. The file or table is made if there is none.
    """
    if is_table(where):
        with _database(where, "IMMEDIATE") as connection:
            if connection.dialect.name != "sqlite":  # a lock on the table would take more than the right to append
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            table.create(connection, checkfirst=True)
            yield _read_rows(connection, where), partial(_append_rows, connection, where)
        return
    with open(where, "a+b", buffering=0) as file:
        if not take(file.fileno(), TIMEOUT):
            raise LedgerError(f"{where} is being written by another process: try again later")
        file.seek(0)
        data = file.readall()
        anchors = _read_lines(data, Path(where))
        yield anchors, partial(_append_lines, file, data.removesuffix(anchors.unfinished.encode()))


def _read_lines(data: bytes, path: Path) -> Anchors:
    try:
        *lines, last = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise LedgerError(f"{path} is not a file of anchors") from None
    if not _is_unfinished(last):
        lines, last = [*lines, last], ""
    return Anchors(path.name, _parsed(lines, json.loads, path, "line"), last)


def _is_unfinished(last: str) -> bool:
    """Whether the text behind the last end of a line is empty or part of an anchor; a power cut may leave zeros."""
    try:
        json.loads(last)
    except ValueError:
        return last.strip("\0")[:1] in ("", "{")
    return False


def _append_lines(file: io.FileIO, kept: bytes, new: Sequence[Anchor]) -> None:
    """Writes anchors behind the bytes that are kept. They are on the disk when this returns; if it fails, none is."""
    text = b"".join(canonical(anchor.stored()).encode() + b"\n" for anchor in new)
    if kept and not kept.endswith(b"\n"):  # an editor or a mail program took away the end of the last line
        text = b"\n" + text
    try:
        file.truncate(len(kept))
        if file.write(text) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file.name))
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(len(kept))
        raise
    sync_folder(Path(file.name).parent)


def _read_table(where: Where) -> Anchors | None:
    url = read_url(where)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():  # opening it would make the file
        return None
    with _database(where) as connection:
        return _read_rows(connection, where) if sa.inspect(connection).has_table(table.name) else None


def _read_rows(connection: sa.Connection, where: Where) -> Anchors:
    rows = connection.execute(sa.text(f"SELECT * FROM {table.name} ORDER BY id")).mappings()
    entries = [{name: row[name] for name in FIELDS if name in row} for row in rows]  # version 1 has fewer columns
    return Anchors(display_name(where), _parsed(entries, dict, where, "row"))


def _append_rows(connection: sa.Connection, where: Where, new: Sequence[Anchor]) -> None:
    columns = [column["name"] for column in sa.inspect(connection).get_columns(table.name)]
    statements = [f"ALTER TABLE {table.name} ADD COLUMN {name} TEXT" for name in LINKS if name not in columns]
    try:
        for statement in statements:
            connection.execute(sa.text(statement))
    except sa.exc.ProgrammingError as error:
        raise LedgerError(
            f"{display_name(where)} was made by an earlier version, and only its owner can bring it up to date: "
            f"run {'; '.join(statements)}"
        ) from error
    for anchor in new:
        connection.execute(table.insert().values(anchor.stored()))


@contextmanager
def _database(where: Where, mode: Mode = "DEFERRED") -> Iterator[sa.Connection]:
    with closing(Store(where)) as store:
        store.name = display_name(where)
        with store.transaction(mode) as connection:
            yield connection


def _parsed(entries: Iterable[Any], read: Callable[[Any], object], where: Where, row: str) -> tuple[Anchor, ...]:
    """The anchors in lines or rows, each of which `read` turns into a dictionary."""
    anchors = []
    for number, entry in enumerate(entries, 1):
        try:
            anchors.append(_anchor(read(entry), f"{display_name(where)}, {row} {number}"))
        except (ValueError, TypeError):
            place = display_name(where) if is_table(where) else where
            raise LedgerError(f"{place}, {row} {number}: not an anchor that `bygones ledger sign` wrote") from None
    return tuple(anchors)


def _anchor(entry: object, place: str) -> Anchor:
    if not isinstance(entry, dict):
        raise TypeError
    fields = {name: value for name, value in entry.items() if value is not None}
    anchor = Anchor(**fields, place=place)
    instant(anchor.time)
    base64.b64decode(anchor.signature, validate=True)
    if type(anchor.seq) is not int or anchor.seq < 1 or anchor.stored() != fields:
        raise ValueError
    if not all(re.fullmatch(form, fields[name]) for name, form in _FORMATS.items() if name in fields):
        raise ValueError
    return anchor
