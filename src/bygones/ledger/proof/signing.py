"""Signed heads of a ledger, kept out of reach of people who can write the ledger.

Hashes alone prove nothing against a person who can write the whole database: after moving an event to another agent,
they compute every hash and snapshot again, and everything fits. But they cannot change a head that others hold. So a
head is signed with a key that is kept outside the database (Ed25519) and appended to a file or table of anchors, which
others hold (`bygones.ledger.proof.anchors`). Later every anchored head must be in the chain, at its event's number.

A record next to the key notes the heads that it has signed. Those who can write the ledger and its anchors cannot reach
this record. No ledger is signed that leaves out a head signed before: a ledger that was rewritten or is older than its
last anchor is refused, no matter which anchors are there. Anchors that were cut off are completed from the record.

The ledger's id is the hash of its first event, which has its rules and the time at which it was made.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bygones._files import PRIVATE, check_output
from bygones._text import counted
from bygones.document.document import Document
from bygones.ledger.model.times import iso, now
from bygones.ledger.proof.anchors import Anchor, Anchors, Where, display_name, is_table, open_anchors, read_anchors
from bygones.ledger.proof.hash_tree import HashTree
from bygones.ledger.proof.verification import Verification
from bygones.ledger.storage.store import LedgerError, read_url


class Signable(Protocol):
    """The parts of a ledger that signing needs."""

    @property
    def name(self) -> str:
        """The file or the URL, without the password."""

    def hashes(self) -> Generator[bytes, None, None]:
        """The hashes of all events, in the order of recording."""

    def verify(self, head: str | None = None) -> Verification:
        """Checks everything, and that a head noted earlier is in the chain."""


class Signed(NamedTuple):
    """The result of `sign`.

    Attributes:
        anchor: the signed head.
        added: how many anchors from the key's record were added before it, because the file or table lacked them.
        noted: how many anchors of the file or table were added to the record, which lacked them.
        removed: the unfinished lines that were removed.
    """

    anchor: Anchor
    added: int
    noted: int
    removed: tuple[str, ...]

    def document(self, ledger: str, where: Where, key_file: Path) -> Document:
        """The signed head, and the heads that were put back or removed."""
        blocks = [f"Removed an unfinished line: {line}" for line in self.removed]
        if self.noted:
            heads = counted(self.noted, "signed head")
            blocks.insert(0, f"Noted {heads} of {display_name(where)} in {record_of(key_file).name}.")
        if self.added:
            blocks.insert(
                0, f"Added {counted(self.added, 'head')} signed before, which {display_name(where)} did not have."
            )
        signed = f"Signed event {self.anchor.seq}, the head of {ledger}, with the key {self.anchor.key}."
        return Document(signed, blocks, "Signature")


class Consistency(NamedTuple):
    """The result of checking anchors without the ledger; `problems` is empty if nothing is wrong.

    Attributes:
        ledgers: by the id of each ledger, the number of the last event that was signed.
        anchors: how many anchors of these ledgers there are.
        older: how many of them are of version 1, signed but not linked.
        problems: one sentence each.
    """

    ledgers: dict[str, int]
    anchors: int
    older: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def document(self) -> Document:
        """The heads that were checked, or the problems."""
        if not self.ok:
            return Document(self.problems[0], self.problems[1:], "Signatures")
        blocks = [
            f"The last signed head of the ledger {ledger[:16]} is event {seq}." for ledger, seq in self.ledgers.items()
        ]
        if self.older:
            older = counted(self.older, "head")
            blocks.append(f"An earlier version signed {older} without linking them to each other.")
        checked = f"Checked {counted(self.anchors, 'signed head')}. Each extends the one before it."
        return Document(checked, blocks, "Signatures")


def ledger_id(ledger: Signable) -> str:
    """The hash of a ledger's first event, by which its anchors know it."""
    with closing(ledger.hashes()) as hashes:
        return next(hashes).hex()


def new_key(file: Path) -> str:
    """Makes a key in a new file that only its owner can read; the id of its public key."""
    record = record_of(file)
    if record.exists() and not file.exists():
        raise LedgerError(f"{record} has the heads signed with an earlier key of this name: choose another name")
    key = Ed25519PrivateKey.generate()
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    try:
        with open(file, "xb", opener=lambda path, flags: os.open(path, flags, PRIVATE)) as opened:
            opened.write(key.private_bytes(encoding, form, serialization.NoEncryption()))
            opened.flush()
            os.fsync(opened.fileno())
    except FileExistsError:
        raise LedgerError(f"{file} already exists: give a new key a new file") from None
    return _id(key.public_key())


def public_text(file: Path) -> str:
    """The public key that belongs to a key, as text to give to others."""
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return _private(file).public_key().public_bytes(encoding, form).decode()


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
    """The file next to a key in which its anchors are noted."""
    return Path(f"{key_file.resolve()}.signed")


def sign(ledger: Signable, key_file: Path, where: Where, *, repair: bool = False, new_ledger: bool = False) -> Signed:
    """Verifies a ledger, with all its anchors so far, signs its head and appends it to a file or table of anchors.

    Args:
        ledger: the ledger.
        key_file: the key. Its anchors are noted in a file next to it.
        where: the file or table of anchors.
        repair: whether to remove a last line that is unfinished.
        new_ledger: whether to sign a ledger that is new to this key and these anchors, although they know others.

    Raises:
        LedgerError: the ledger or its anchors are not in order, or an anchored head is not in the ledger; nothing was
            signed.
    """
    _check_apart(ledger, key_file, where)
    key, id_ = _private(key_file), ledger_id(ledger)
    with open_anchors(record_of(key_file)) as (record, note):
        while True:
            anchors = read_anchors(where, new=True)
            _check_accepted(id_, anchors, record, repair, new_ledger)
            known = [*record.of(id_), *_missing(record.of(id_), anchors.of(id_))]
            anchor = _signed_head(ledger, key, known, [anchors, record])
            added = _missing(anchors.of(id_), known)
            with open_anchors(where) as (current, append):
                # Another signer may have appended while the ledger was verified.
                if (current.of(id_), current.unfinished) == (anchors.of(id_), anchors.unfinished):
                    append([*added, anchor])
                    break
        noted = _missing(record.of(id_), known)
        note([*noted, anchor])
    return Signed(anchor, len(added), len(noted), tuple(filter(None, (anchors.unfinished, record.unfinished))))


def _check_apart(ledger: Signable, key_file: Path, where: Where) -> None:
    """Refuses anchors that are not apart from the ledger, the key and its record."""
    url, own = read_url(where), read_url(ledger.name)
    files = [key_file, Path(str(url.database))]
    if url.database in (None, "", ":memory:"):
        raise LedgerError(f"anchors must be in a file or a database, got {display_name(where)}")
    if url.get_backend_name() != "sqlite":
        if (url.host, url.port, url.database, url.query) == (own.host, own.port, own.database, own.query):
            raise LedgerError(f"{display_name(where)} is in the database of the ledger: keep anchors apart from it")
        files.pop()
    for file in files:  # before it is read: reading a database that is open would release SQLite's locks on it
        for ending in ("", "-wal", "-shm", "-journal"):
            part = Path(ledger.name + ending)
            if file.exists() and part.exists() and file.samefile(part):
                raise LedgerError(f"{file} is the ledger itself: keep keys and anchors apart from it")
    if not is_table(where):
        file = Path(where)
        check_output(file, [key_file])
        if file.resolve() == record_of(key_file) or (file.exists() and not file.is_file()):
            raise LedgerError(f"{file} is not a file for anchors: give them a file that others can have a copy of")


def _check_accepted(id_: str, anchors: Anchors, record: Anchors, repair: bool, new_ledger: bool) -> None:
    """Refuses anchors to which nothing can be appended, or only if the caller accepts a repair or a new ledger."""
    problems = [] if repair else [*_unfinished(anchors), *_unfinished(record)]
    if not new_ledger:
        others = _of_others([*anchors.entries, *record.entries], id_)
        problems += [f"{problem}; sign with --new-ledger if this one is new" for problem in others]
    for our, their in zip(_linked(record.of(id_)), _linked(anchors.of(id_)), strict=False):
        if our != their:
            problems.append(
                f"{anchors.name} has a head of event {their.seq} where {record.name} has another, of event {our.seq}. "
                "This key was used in two places that did not know of each other: make a new key, and begin new "
                "anchors with it"
            )
    if problems:
        raise LedgerError(f"nothing was signed: {problems[0]}")


def _signed_head(ledger: Signable, key: Ed25519PrivateKey, known: Sequence[Anchor], logs: Sequence[Anchors]) -> Anchor:
    """The next anchor of a ledger, which must be in order and have all known anchors in its past."""
    public, before = key.public_key(), next(reversed(_linked(known) or known), None)
    tree, head, problems = _compare(ledger, logs, public, before)
    problems += ledger.verify(head).problems
    if problems:
        raise LedgerError(f"{ledger.name} was not signed, since it did not pass verification: {problems[0]}")
    unsigned = Anchor(
        ledger_id(ledger), tree.size, head, iso(now()), _id(public), "",
        previous=before.hash if before else "", root=tree.root.hex(), proof=b"".join(tree.path).hex(),
    )  # fmt: skip
    return replace(unsigned, signature=base64.b64encode(key.sign(unsigned.message)).decode())


def _linked(anchors: Iterable[Anchor]) -> list[Anchor]:
    return [anchor for anchor in anchors if anchor.is_linked]


def _missing(anchors: Sequence[Anchor], known: Iterable[Anchor]) -> list[Anchor]:
    """The known anchors that are missing from others. Those of version 1 come first, so never after a linked one."""
    present, has_links = set(anchors), bool(_linked(anchors))
    return [anchor for anchor in known if anchor not in present and (anchor.is_linked or not has_links)]


def verify(ledger: Signable, anchors: Anchors, key: Ed25519PublicKey, head: str | None = None) -> Verification:
    """Verifies a ledger, and that its anchors are signed with the key, linked to each other, and in the chain."""
    _, _, problems = _compare(ledger, [anchors], key)
    problems = [*_unfinished(anchors), *_of_others(anchors.entries, ledger_id(ledger)), *problems]
    verification = ledger.verify(head)
    return verification._replace(problems=(*problems, *verification.problems))


def check_consistency(anchors: Anchors, key: Ed25519PublicKey, earlier: Anchors | None = None) -> Consistency:
    """Checks without the ledger that each anchor is signed, and has the head before it among its events.

    Args:
        anchors: the anchors. Ledgers of which this key has signed nothing are left out.
        key: the public key.
        earlier: a copy that was made before, whose anchors must all be there still.
    """
    ledgers = {anchor.ledger: 0 for anchor in anchors.entries if anchor.key == _id(key)}
    problems = _unfinished(anchors)
    if not ledgers:
        problems.append(f"{anchors.name} has no head that was signed with the key {_id(key)}")
    faults, signed = _follow(anchors, ledgers, key)
    problems += faults
    present = set(anchors.entries)
    for anchor in earlier.entries if earlier else ():
        if anchor not in present:
            problems.append(f"{anchor.place}: this head, of event {anchor.seq}, is not in {anchors.name}")
    for anchor in signed:
        ledgers[anchor.ledger] = max(ledgers[anchor.ledger], anchor.seq)
    return Consistency(ledgers, len(signed), len(signed) - len(_linked(signed)), tuple(problems))


def _follow(anchors: Anchors, ledgers: Iterable[str], key: Ed25519PublicKey) -> tuple[list[str], list[Anchor]]:
    """The problems with the anchors of some ledgers and with their order, and the anchors that are signed."""
    own = _id(key)
    problems: list[str] = []
    signed: list[Anchor] = []
    # For each ledger, the anchors that the next may be linked to, by their hash. At first these are none, or any of
    # version 1; then only the last linked anchor.
    links: dict[str, dict[str | None, Anchor | None]] = {ledger: {"": None} for ledger in ledgers}
    for anchor in anchors.entries:
        allowed, problem = links.get(anchor.ledger), ""
        if anchor.key == own and not _is_signed(anchor, key):  # of whatever ledger: its id may have been edited
            problem = "the signature does not match"
        elif allowed is None:
            continue
        elif anchor.key != own:
            problem = f"signed with the key {anchor.key}, not with {own}"
        elif anchor.is_linked:
            signed.append(anchor)
            links[anchor.ledger] = {anchor.hash: anchor}
            before = allowed.get(anchor.previous)
            if anchor.previous not in allowed:
                problem = "does not follow the head signed before it: one is missing or was moved"
            elif before and not anchor.extends(before):
                problem = f"has another event {before.seq} than the head signed before"
        else:
            signed.append(anchor)
            if "" in allowed:
                allowed[anchor.hash] = anchor
            else:
                problem = "is not linked to the head signed before it, as version 1 signed, but is later"
        if problem:
            problems.append(f"{anchor.place}: {problem}")
    return problems, signed


def _compare(
    ledger: Signable, logs: Iterable[Anchors], key: Ed25519PublicKey, watched: Anchor | None = None
) -> tuple[HashTree, str, list[str]]:
    """The tree over a ledger's events, with the path of an anchor's head; the head; and the problems with anchors."""
    problems: list[str] = []
    by_event: dict[int, list[Anchor]] = {}
    for log in logs:
        faults, signed = _follow(log, [ledger_id(ledger)], key)
        problems += faults
        for anchor in signed:
            by_event.setdefault(anchor.seq, []).append(anchor)
    tree, head = HashTree(watched=watched.seq if watched else None), ""
    for leaf in ledger.hashes():
        tree.add(leaf)
        head = leaf.hex()
        for anchor in by_event.pop(tree.size, ()):
            if anchor.head != head:
                problems.append(
                    f"event {anchor.seq} no longer has the hash {anchor.head}: the events up to it have changed"
                )
            elif anchor.is_linked and anchor.root != tree.root.hex():
                problems.append(f"{anchor.place}: was signed for other events than those up to event {anchor.seq}")
    if by_event:
        anchor = by_event[max(by_event)][-1]
        problems.append(
            f"the ledger ends with event {tree.size}, but event {anchor.seq} was signed before ({anchor.place}): it "
            "was restored from an older backup, or events were removed"
        )
    return tree, head, problems


def _unfinished(anchors: Anchors) -> list[str]:
    """The problem that the last line is unfinished, if it is."""
    if not anchors.unfinished:
        return []
    return [
        f"{anchors.name}, line {len(anchors.entries) + 1}: is unfinished, since signing was interrupted or the file "
        "was cut off: get a complete copy, or sign with --repair"
    ]


def _of_others(anchors: Sequence[Anchor], id_: str) -> list[str]:
    """The problem that anchors are of other ledgers only, if they are."""
    if not anchors or any(anchor.ledger == id_ for anchor in anchors):
        return []
    return [f"{anchors[0].place}: belongs to another ledger, whose first event has the hash {anchors[0].ledger}"]


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
