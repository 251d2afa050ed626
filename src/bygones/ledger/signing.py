"""Signed heads of a ledger, kept where whoever can write the ledger cannot.

Hashes alone prove nothing against somebody who can write the whole database: they move an event to another agent,
compute every hash and snapshot anew, and all fits again. But they cannot change a head that others hold. So a head is
signed with a key that is kept outside the database (Ed25519) and appended to a file or table of anchors, which others
hold (`bygones.ledger.anchors`). Later every anchored head must be in the chain, at its event's number.

The ledger's id is the hash of its first event, which says when it was made and by which rules.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bygones._files import BINARY
from bygones.ledger.anchors import Anchor, Where, append_anchor, named, read_anchors
from bygones.ledger.ledger import Ledger
from bygones.ledger.store import LedgerError
from bygones.ledger.times import instant, iso, now
from bygones.ledger.verifying import Verification


def new_key(file: Path) -> str:
    """Makes a key in a new file that only its owner can read; the id of its public key."""
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    except FileExistsError:
        raise LedgerError(f"{file} already exists: give a new key a new file") from None
    with os.fdopen(number, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(number)
    return _id(key.public_key())


def public_text(file: Path) -> str:
    """The public key that belongs to a key, as text to give to others."""
    return (
        _private(file)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def sign(ledger: Ledger, key_file: Path, anchors: Where) -> Anchor:
    """Verifies a ledger, with the anchors so far, signs its head and appends it to a file or table of anchors."""
    for file in (key_file, anchors):  # to read a database that is open would release SQLite's locks on it
        path = Path(file)
        if path.exists() and os.path.exists(ledger.name) and path.samefile(ledger.name):
            raise LedgerError(f"{file} is the ledger itself: keep keys and anchors apart from it")
    key = _private(key_file)
    found = verify(ledger, read_anchors(anchors, new=True), key.public_key(), named(anchors))
    if not found.ok:
        raise LedgerError(f"{ledger.name} was not signed, since it did not pass verification: {found.problems[0]}")
    unsigned = Anchor(_ledger_id(ledger), found.events, found.head, iso(now()), _id(key.public_key()), "")
    anchor = unsigned._replace(signature=base64.b64encode(key.sign(unsigned.message)).decode())
    append_anchor(anchors, anchor, apart_from=ledger.name)
    return anchor


def read_public_key(file: Path) -> Ed25519PublicKey:
    """The public key in a file."""
    try:
        key = serialization.load_pem_public_key(file.read_bytes())
    except ValueError:
        raise LedgerError(f"{file} is not a public key: `bygones ledger key public` writes one") from None
    if not isinstance(key, Ed25519PublicKey):
        raise LedgerError(f"{file} is not an Ed25519 key: `bygones ledger key new` makes one")
    return key


def verify(
    ledger: Ledger,
    anchors: Sequence[Anchor],
    key: Ed25519PublicKey,
    name: str = "anchors",
    head: str | None = None,
) -> Verification:
    """Verifies a ledger, and that every anchored head is signed with the key, in order, and in the chain."""
    id_, problems = _ledger_id(ledger), []
    noted: list[tuple[str, int | None]] = []
    for number, anchor in enumerate(anchors, 1):
        where = f"{name}, line {number}:"
        if anchor.key != _id(key):
            problems.append(f"{where} signed with the key {anchor.key}, not with {_id(key)}")
        elif not _is_signed(anchor, key):
            problems.append(f"{where} the signature does not match")
        elif anchor.ledger != id_:
            problems.append(f"{where} belongs to another ledger, whose first event has the hash {anchor.ledger}")
        else:
            noted.append((anchor.head, anchor.seq))
        before = anchors[number - 2] if number > 1 else anchor
        if anchor.seq < before.seq or instant(anchor.time) < instant(before.time):
            problems.append(f"{where} is earlier than the line before")
    found = ledger.verify(head, noted=noted)
    return found._replace(problems=(*problems, *found.problems))


def _is_signed(anchor: Anchor, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(base64.b64decode(anchor.signature), anchor.message)
    except InvalidSignature:
        return False
    return True


def _private(file: Path) -> Ed25519PrivateKey:
    if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise LedgerError(f"{file} can be read by others: run `chmod 600 {file}`, or make a new key")
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (ValueError, TypeError):
        raise LedgerError(f"{file} is not a key: `bygones ledger key new` makes one") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerError(f"{file} is not an Ed25519 key: `bygones ledger key new` makes one")
    return key


def _id(key: Ed25519PublicKey) -> str:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:16]


def _ledger_id(ledger: Ledger) -> str:
    events = ledger.events()
    _, stored = next(events)
    events.close()
    return bytes(stored).hex()
