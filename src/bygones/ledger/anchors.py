"""Signed heads of ledgers, kept in a file or in a table of another database, which others hold.

A file has one line of JSON for each. A table, named by the URL of its database, has one row for each; whoever signs
needs the right to read it and to append to it (SELECT, INSERT), and no other.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._files import BINARY
from bygones._secrets import redacted, secrets_in
from bygones.ledger.events import canonical
from bygones.ledger.store import LedgerError, Store, read_url
from bygones.ledger.times import instant

PURPOSE = b"bygones ledger head, version 1\n"
"""Comes before what is signed, so that a signature for something else is none for this."""

Where = str | os.PathLike[str]
"""The path of a file, or the URL of a database."""

table = sa.Table(
    "bygones_anchors",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ledger", sa.Text, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
)


class Anchor(NamedTuple):
    """One signed head.

    Attributes:
        ledger: the ledger's id.
        seq: the number of its last event then.
        head: the hash of that event.
        time: when it was signed.
        key: the id of the public key.
        signature: of all the others but the key, in Base64.
    """

    ledger: str
    seq: int
    head: str
    time: str
    key: str
    signature: str

    @property
    def message(self) -> bytes:
        """What is signed."""
        return PURPOSE + canonical([self.ledger, self.seq, self.head, self.time]).encode()


def is_table(where: Where) -> bool:
    """Whether anchors are kept in a database."""
    return "://" in os.fspath(where)


def named(where: Where) -> str:
    """What sentences call a file or table of anchors, without passwords."""
    return f"{table.name} in {redacted(os.fspath(where))}" if is_table(where) else Path(where).name


def append_anchor(where: Where, anchor: Anchor, apart_from: str) -> None:
    """Appends an anchor to a file or table, which is made if there is none; not in the database of the ledger."""
    if not is_table(where):
        number = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        # An editor or a mail program may have taken away the end of the last line.
        ended = Path(where).read_bytes()[-1:] in (b"", b"\n")
        with os.fdopen(number, "ab") as opened:
            opened.write((b"" if ended else b"\n") + canonical(anchor._asdict()).encode() + b"\n")
            opened.flush()
            os.fsync(number)
        return
    if Store(where).name == apart_from:
        raise LedgerError(f"{named(where)} is in the database of the ledger: keep anchors apart from it")
    with _database(where) as connection:
        if not sa.inspect(connection).has_table(table.name):
            table.create(connection)
        connection.execute(table.insert().values(anchor._asdict()))


def read_anchors(where: Where, *, new: bool = False) -> list[Anchor]:
    """The anchors in a file or table, oldest first; none where there is none yet, if that is accepted."""
    found = _read(where, new)
    if not found and not new:
        raise LedgerError(
            f"{named(where)} has no signed head, so nothing can be checked: `bygones ledger sign` adds one"
        )
    return found


def _read(where: Where, new: bool) -> list[Anchor]:
    if is_table(where):
        with _database(where) as connection:
            there = sa.inspect(connection).has_table(table.name)
            rows = connection.execute(sa.select(table).order_by(table.c.id)).mappings().all() if there else []
        if not there and not new:
            raise LedgerError(f"there is no table {named(where)}: `bygones ledger sign` makes it")
        return _anchors([{name: row[name] for name in Anchor._fields} for row in rows], f"{named(where)}, row")
    file = Path(where)
    if new and not file.exists():
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise LedgerError(f"{file} is not a file of anchors") from None
    return _anchors(lines, f"{file}, line")


def _anchors(found: Iterable[str | dict[str, Any]], where: str) -> list[Anchor]:
    anchors = []
    for number, each in enumerate(found, 1):
        try:
            anchor = Anchor(**(json.loads(each) if isinstance(each, str) else each))
            instant(anchor.time)
            base64.b64decode(anchor.signature, validate=True)
            if not isinstance(anchor.seq, int):
                raise TypeError
        except (ValueError, TypeError):
            raise LedgerError(f"{where} {number}: not an anchor that `bygones ledger sign` wrote") from None
        anchors.append(anchor)
    return anchors


@contextmanager
def _database(where: Where) -> Iterator[sa.Connection]:
    url = read_url(where)
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        problem = str(error.orig).strip().splitlines()[0]
        secret = secrets_in(url.render_as_string(hide_password=False))
        raise LedgerError(redacted(f"{named(where)}: {problem}", secret)) from error
    finally:
        engine.dispose()
