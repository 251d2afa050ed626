"""Signed heads of a ledger, kept where whoever can write the ledger cannot.

Hashes alone prove nothing against somebody who can write the whole database: they move an event to another agent,
compute every hash and snapshot anew, and all fits again. But they cannot change a head that others hold. So a head is
signed with a key that is kept outside the database (Ed25519) and appended to a file or table of anchors, which others
hold (`bygones.ledger.proof.anchors`). Later every anchored head must be in the chain, at its event's number.

What a key has signed is also noted beside it, and is the only memory that whoever can write the ledger and its anchors
cannot reach. Nothing is signed that leaves out what was signed before: a ledger that was rewritten or is older than
its last anchor is refused, whatever the anchors say, and anchors that were cut off are completed from this record.

The ledger's id is the hash of its first event, which says when it was made and by which rules.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bygones._files import BINARY, check_output
from bygones.ledger.model.times import iso, now
from bygones.ledger.proof.anchors import (
    Anchor,
    Anchors,
    Placed,
    Where,
    append_anchors,
    is_table,
    named,
    open_anchors,
    read_anchors,
)
from bygones.ledger.proof.hash_tree import HashTree
from bygones.ledger.proof.verification import Verification
from bygones.ledger.storage.store import LedgerError, read_url

RECORD = ".signed"
"""Ends the name of the file beside a key in which its anchors are noted."""


class Signable(Protocol):
    """What signing asks of a ledger."""

    @property
    def name(self) -> str:
        """The file or the URL, without the password."""
        ...

    def hashes(self) -> Generator[bytes, None, None]:
        """The hashes of all events, in the order of recording."""
        ...

    def verify(self, head: str | None = None) -> Verification:
        """Checks everything, and that a head noted earlier is in the chain."""
        ...


class Signed(NamedTuple):
    """What `sign` did.

    Attributes:
        anchor: the signed head.
        added: how many anchors were added before it, which the key had signed before and which were not there.
        noted: how many anchors were there that had not been noted beside the key.
        removed: the unfinished lines that were taken away.
    """

    anchor: Anchor
    added: int
    noted: int
    removed: tuple[str, ...]


class Consistency(NamedTuple):
    """What anchors show by themselves; `problems` is empty if nothing is wrong.

    Attributes:
        ledgers: by the id of each ledger, the number of the last event that was signed.
        anchors: how many anchors of these ledgers there are.
        older: how many of them are of version 1, signed but not linked.
        problems: what is wrong, one sentence each.
    """

    ledgers: dict[str, int]
    anchors: int
    older: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def ledger_id(ledger: Signable) -> str:
    """The hash of a ledger's first event, by which its anchors know it."""
    with closing(ledger.hashes()) as hashes:
        return next(hashes).hex()


# ----------------------------------------------------------------------------------------------------------- keys


def new_key(file: Path) -> str:
    """Makes a key in a new file that only its owner can read; the id of its public key."""
    record = record_of(file)
    if record.exists() and not file.exists():
        raise LedgerError(f"{record} notes what an earlier key of this name has signed: give a new key another name")
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


def read_public_key(file: Path) -> Ed25519PublicKey:
    """The public key in a file."""
    try:
        key = serialization.load_pem_public_key(file.read_bytes())
    except ValueError:
        raise LedgerError(f"{file} is not a public key: `bygones ledger key public` writes one") from None
    if not isinstance(key, Ed25519PublicKey):
        raise LedgerError(f"{file} is not an Ed25519 key: `bygones ledger key new` makes one")
    return key


def record_of(key_file: Path) -> Path:
    """The file beside a key in which its anchors are noted."""
    return Path(f"{key_file.resolve()}{RECORD}")


# -------------------------------------------------------------------------------------------------------- signing


def sign(ledger: Signable, key_file: Path, where: Where, *, repair: bool = False, new_ledger: bool = False) -> Signed:
    """Verifies a ledger, with all its anchors so far, signs its head and appends it to a file or table of anchors.

    Args:
        ledger: the ledger.
        key_file: the key. What it signs is noted in a file beside it.
        where: the file or table of anchors.
        repair: whether to take away a last line that is unfinished.
        new_ledger: whether to sign a ledger that is new to this key and these anchors, although they know others.

    Raises:
        LedgerError: the ledger or its anchors are not in order, or an anchored head is not in the ledger; nothing was
            signed.
    """
    record = record_of(key_file)
    _check_apart(ledger, key_file, record, where)
    key, id_ = _private(key_file), ledger_id(ledger)
    with open_anchors(record) as file:
        noted = file.anchors
        while True:
            there = read_anchors(where, new=True)
            _check_accepted(id_, (there, noted), repair, new_ledger)
            known = _united(id_, there, noted)
            anchor = _next(ledger, key, known, (there, noted))
            missing = _lacking(there.of(id_), known)
            if append_anchors(where, there, [*missing, anchor]):
                break
        unknown = _lacking(noted.of(id_), known)
        file.append([*unknown, anchor])
    removed = tuple(each.unfinished for each in (there, noted) if each.unfinished)
    return Signed(anchor, len(missing), len(unknown), removed)


def _check_apart(ledger: Signable, key_file: Path, record: Path, where: Where) -> None:
    """Refuses anchors that are not apart from the ledger, the key and its record."""
    url, own = read_url(where), read_url(ledger.name)
    files = [key_file, Path(str(url.database))]
    if url.database in (None, "", ":memory:"):
        raise LedgerError(f"anchors must be in a file or a database, got {named(where)}")
    if url.get_backend_name() != "sqlite":
        if (url.host, url.port, url.database, url.query) == (own.host, own.port, own.database, own.query):
            raise LedgerError(f"{named(where)} is in the database of the ledger: keep anchors apart from it")
        files.pop()
    for file in files:  # to read a database that is open would release SQLite's locks on it
        for part in (ledger.name, *(ledger.name + ending for ending in ("-wal", "-shm", "-journal"))):
            if file.exists() and os.path.exists(part) and file.samefile(part):
                raise LedgerError(f"{file} is the ledger itself: keep keys and anchors apart from it")
    if not is_table(where):
        place = Path(where)
        check_output(place, [key_file])
        if place.resolve() == record or (place.exists() and not place.is_file()):
            raise LedgerError(f"{place} is not a file for anchors: give them a file that others can have a copy of")


def _check_accepted(id_: str, found: Sequence[Anchors], repair: bool, new_ledger: bool) -> None:
    for anchors in found:
        if anchors.unfinished and not repair:
            raise LedgerError(f"nothing was signed: {_unfinished(anchors)}")
    placed = [each for anchors in found for each in anchors.places()]
    if placed and not new_ledger and all(anchor.ledger != id_ for _, anchor in placed):
        raise LedgerError(f"nothing was signed: {_of_another(*placed[0])}; sign with --new-ledger if this one is new")


def _united(id_: str, there: Anchors, noted: Anchors) -> list[Anchor]:
    """All anchors of a ledger that are there or were noted, in their order."""
    ours, theirs = noted.of(id_), there.of(id_)
    for our, their in zip(_linked(ours), _linked(theirs), strict=False):
        if our != their:
            raise LedgerError(
                f"nothing was signed: {there.name} has a head of event {their.seq} where {noted.name} has another, of "
                f"event {our.seq}. This key was used in two places that did not know of each other: make a new key, "
                "and begin new anchors with it"
            )
    return [*ours, *_lacking(ours, theirs)]


def _next(ledger: Signable, key: Ed25519PrivateKey, known: Sequence[Anchor], found: Sequence[Anchors]) -> Anchor:
    """The signed head of a ledger, which is in order and has all known anchors in its past."""
    id_, public = ledger_id(ledger), key.public_key()
    before = next(reversed(_linked(known) or known), None)
    followed = [_follow(anchors, id_, public) for anchors in found]
    tree, head, misfits = _compare(ledger, [placed for _, signed in followed for placed in signed], before)
    problems = [*(fault for faults, _ in followed for fault in faults), *misfits, *ledger.verify(head).problems]
    if problems:
        raise LedgerError(f"{ledger.name} was not signed, since it did not pass verification: {problems[0]}")
    unsigned = Anchor(
        id_, tree.size, head, iso(now()), _id(public), "",
        previous=before.hash if before else "", root=tree.root.hex(), proof=b"".join(tree.path).hex(),
    )  # fmt: skip
    return unsigned._replace(signature=base64.b64encode(key.sign(unsigned.message)).decode())


# ------------------------------------------------------------------------------------------------------- checking


def verify(ledger: Signable, anchors: Anchors, key: Ed25519PublicKey, head: str | None = None) -> Verification:
    """Verifies a ledger, and that its anchors are signed with the key, linked to each other, and in the chain."""
    id_ = ledger_id(ledger)
    problems = [_unfinished(anchors)] if anchors.unfinished else []
    if anchors.entries and not anchors.of(id_):
        problems.append(_of_another(*anchors.places()[0]))
    faults, signed = _follow(anchors, id_, key)
    _, _, misfits = _compare(ledger, signed)
    found = ledger.verify(head)
    return found._replace(problems=(*problems, *faults, *misfits, *found.problems))


def check_consistency(anchors: Anchors, key: Ed25519PublicKey, earlier: Anchors | None = None) -> Consistency:
    """What anchors show without the ledger: that each is signed, and has the head before it among its events.

    Args:
        anchors: the anchors. Ledgers of which this key has signed nothing are left out.
        key: the public key.
        earlier: a copy that was made before, whose anchors must all be there still.
    """
    ids = dict.fromkeys(anchor.ledger for anchor in anchors.entries if anchor.key == _id(key))
    problems = [_unfinished(anchors)] if anchors.unfinished else []
    if not ids:
        problems.append(f"{anchors.name} has no head that was signed with the key {_id(key)}")
    followed = [_follow(anchors, id_, key) for id_ in ids]
    problems += dict.fromkeys(fault for faults, _ in followed for fault in faults)
    there = set(anchors.entries)
    for place, anchor in earlier.places() if earlier else ():
        if anchor not in there:
            problems.append(f"{place}: this head, of event {anchor.seq}, is not in {anchors.name}")
    signed = [anchor for _, good in followed for _, anchor in good]
    last = {id_: max((anchor.seq for anchor in signed if anchor.ledger == id_), default=0) for id_ in ids}
    return Consistency(last, len(signed), len(signed) - len(_linked(signed)), tuple(problems))


def _follow(anchors: Anchors, id_: str, key: Ed25519PublicKey) -> tuple[list[str], list[Placed]]:
    """What is wrong with the anchors of one ledger and with their order, and those that are signed."""
    problems: list[str] = []
    signed: list[Placed] = []
    older: dict[str, Anchor] = {}
    last: Anchor | None = None
    for place, anchor in anchors.places():
        if anchor.key == _id(key) and not _is_signed(anchor, key):  # of whatever ledger: its id may have been edited
            problems.append(f"{place}: the signature does not match")
        elif anchor.ledger != id_:
            continue
        elif anchor.key != _id(key):
            problems.append(f"{place}: signed with the key {anchor.key}, not with {_id(key)}")
        elif not anchor.is_linked:
            if last:
                problems.append(
                    f"{place}: is not linked to the head signed before it, as version 1 signed, but is later"
                )
            older[anchor.hash] = anchor
            signed.append((place, anchor))
        else:
            before = last or older.get(str(anchor.previous))
            if anchor.previous != (before.hash if before else ""):
                problems.append(f"{place}: does not follow the head signed before it: one is missing or was moved")
            elif before and not anchor.extends(before):
                problems.append(f"{place}: does not have event {before.seq} as it was signed before")
            last = anchor
            signed.append((place, anchor))
    return problems, signed


def _compare(
    ledger: Signable, signed: Iterable[Placed], watched: Anchor | None = None
) -> tuple[HashTree, str, list[str]]:
    """The tree over a ledger's events, with the path of an anchor's head; the head; and anchors that do not fit."""
    by_event: dict[int, list[Placed]] = {}
    for place, anchor in signed:
        by_event.setdefault(anchor.seq, []).append((place, anchor))
    tree, head, problems = HashTree(watched=watched.seq if watched else None), "", []
    for stored in ledger.hashes():
        tree.add(stored)
        head = stored.hex()
        for place, anchor in by_event.pop(tree.size, ()):
            if anchor.head != head:
                problems.append(
                    f"event {anchor.seq} no longer has the hash {anchor.head}: the events up to it have changed"
                )
            elif anchor.is_linked and anchor.root != tree.root.hex():
                problems.append(f"{place}: was signed for other events than those up to event {anchor.seq}")
    if by_event:
        place, anchor = by_event[max(by_event)][-1]
        problems.append(
            f"the ledger ends with event {tree.size}, but event {anchor.seq} was signed before ({place}): it was "
            "restored from an older backup, or events were removed"
        )
    return tree, head, problems


def _unfinished(anchors: Anchors) -> str:
    return (
        f"{anchors.name}, {anchors.row} {len(anchors.entries) + 1}: is unfinished, since signing was interrupted or "
        "the file was cut off: get a complete copy, or sign with --repair"
    )


def _of_another(place: str, anchor: Anchor) -> str:
    return f"{place}: belongs to another ledger, whose first event has the hash {anchor.ledger}"


def _linked(anchors: Iterable[Anchor]) -> list[Anchor]:
    return [anchor for anchor in anchors if anchor.is_linked]


def _lacking(anchors: Sequence[Anchor], known: Iterable[Anchor]) -> list[Anchor]:
    """What anchors lack of those known; those of version 1 only if none is linked yet, since they come first."""
    there, linked = set(anchors), bool(_linked(anchors))
    return [anchor for anchor in known if anchor not in there and (anchor.is_linked or not linked)]


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
