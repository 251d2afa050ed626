"""`bygones ledger verify`, `sign`, `anchors` and `key`: whether a ledger can be trusted, and how others can tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._text import counted
from bygones.cli.arguments import optional
from bygones.cli.console import answering, print_json, print_paths, print_sentences, say
from bygones.cli.ledger_arguments import Json, Target

if TYPE_CHECKING:
    from bygones.ledger import Verification

SHOWN = 5
"""As many decisions that could not be made again are named."""


def verify(
    target: Target,
    head: Annotated[
        str | None, optional("A head noted earlier, to check that no event up to it has changed.", "HASH")
    ] = None,
    anchor: Annotated[
        str | None,
        optional(
            "A file or URL with heads signed earlier (`bygones ledger sign`); all must be in the ledger.", "FILE|URL"
        ),
    ] = None,
    public_key: Annotated[
        Path | None, optional("The public key that belongs to the key they were signed with.", "FILE")
    ] = None,
    strict: Annotated[
        bool, arg(help="Also exit with 1 if a decision could not be made again, only compared with what was received.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the database, the chain of hashes, all events and all decisions. The exit code is 1 if anything is wrong.

    For example:
        bygones ledger verify team.db
        bygones ledger verify team.db --anchor anchors.jsonl --public-key team.pub
    """
    from bygones.ledger import Ledger

    if (anchor is None) != (public_key is None):
        raise ValueError("--anchor and --public-key belong together: give both, or neither")
    if anchor is None or public_key is None:
        anchors = 0
        with Ledger.open(target) as ledger:
            found = ledger.verify(head)
    else:
        from bygones.ledger.proof import signing
        from bygones.ledger.proof.anchors import read_anchors

        signed, by = read_anchors(anchor), signing.read_public_key(public_key)
        with Ledger.open(target) as ledger:
            anchors = len(signed.of(signing.ledger_id(ledger)))
            found = signing.verify(ledger, signed, by, head)
    if json:
        unchecked = {str(seq): why for seq, why in found.unchecked.items()}
        print_json(found._asdict() | {"unchecked": unchecked, "anchors": anchors, "ok": found.ok})
    else:
        _print_found(found, anchors)
    if not found.ok or (strict and found.unchecked):
        raise SystemExit(1)


def sign(
    target: Target,
    key: Annotated[Path, arg(metavar="FILE", help="The file with the key, which should be kept away from the ledger.")],
    anchor: Annotated[
        str,
        arg(
            metavar="FILE|URL",
            help="The file to which the signed head is added, or another database, postgresql://user@host/name.",
        ),
    ],
    repair: Annotated[
        bool,
        arg(help="Remove an unfinished last line, which is left when signing is interrupted or a file is cut off."),
    ] = False,
    new_ledger: Annotated[
        bool, arg(help="Sign a ledger for the first time with a key, or in a place, that has signed heads of others.")
    ] = False,
    json: Json = False,
) -> None:
    """Verify a ledger, and add its signed head to a file that others keep copies of, or to a database of theirs.

    Nobody can then change an event up to that head unnoticed, not even somebody who can write to the whole ledger. What
    a key has signed is also noted in a file beside it (FILE.signed). A ledger that lacks any of it is not signed, and
    signed heads that are missing from the file or database are put back.

    For example:
        bygones ledger sign team.db --key team.key --anchor anchors.jsonl
        bygones ledger sign team.db --key team.key --anchor postgresql://user@host/council
    """
    from bygones.ledger import Ledger
    from bygones.ledger.proof import signing
    from bygones.ledger.proof.anchors import named

    with Ledger.open(target) as ledger:
        signed = signing.sign(ledger, key, anchor, repair=repair, new_ledger=new_ledger)
    with answering():
        if json:
            done = {"added": signed.added, "noted": signed.noted, "removed": signed.removed}
            print_json(signed.anchor.stored() | done)
            return
        say(f"Signed event {signed.anchor.seq}, the head of {ledger.name}, with the key {signed.anchor.key}.")
        if signed.added:
            say(f"Added {counted(signed.added, 'head')} signed before, which {named(anchor)} did not have.")
        if signed.noted:
            say(f"Noted {counted(signed.noted, 'signed head')} of {named(anchor)} in {signing.record_of(key).name}.")
        for line in signed.removed:
            say(f"Removed an unfinished line: {line}")


def anchors(
    anchor: Annotated[
        Positional[str], arg(metavar="FILE|URL", help="A file or URL with signed heads (`bygones ledger sign`).")
    ],
    public_key: Annotated[
        Path, arg(metavar="FILE", help="The public key that belongs to the key they were signed with.")
    ],
    earlier: Annotated[
        str | None, optional("A copy that you made before, whose heads must all be there still.", "FILE|URL")
    ] = None,
    json: Json = False,
) -> None:
    """Check signed heads without the ledger: that each later one extends the one before. The exit code is 1 if not.

    For example:
        bygones ledger anchors anchors.jsonl --public-key team.pub --earlier my-copy.jsonl
    """
    from bygones.ledger.proof import signing
    from bygones.ledger.proof.anchors import read_anchors

    found = signing.check_consistency(
        read_anchors(anchor), signing.read_public_key(public_key), read_anchors(earlier) if earlier else None
    )
    if json:
        print_json(found._asdict() | {"ok": found.ok})
    elif found.ok:
        for ledger, seq in found.ledgers.items():
            say(f"Event {seq} of the ledger {ledger[:16]} is the last that was signed.")
        say(f"Checked {counted(found.anchors, 'signed head')}. Each extends the one before it.")
        if found.older:
            say(f"Not linked to each other, since an earlier version signed them: {counted(found.older, 'head')}.")
    else:
        say(*found.problems)
    if not found.ok:
        raise SystemExit(1)


def new_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The file to write; it must not exist yet.")],
    json: Json = False,
) -> None:
    """Make a key in a file that only you can read. Keep it away from the ledger.

    For example:
        bygones ledger key new team.key
    """
    from bygones.ledger.proof import signing

    made = signing.new_key(file)
    with answering():
        if json:
            print_json({"key": made})
        else:
            say(f"Made the key {made}. Keep {file} to yourself, away from the ledger; give others its public key.")


def public_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The key.")],
    out: Annotated[Path | None, optional("The file to write (default: the terminal).", "FILE")] = None,
) -> None:
    """Show the public key that belongs to a key, for those who check signatures.

    For example:
        bygones ledger key public team.key --out team.pub
    """
    from bygones.ledger.proof import signing

    text = signing.public_text(file)
    if out is None:
        say(*text.splitlines())
        return
    try:
        with out.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ValueError(f"{out} already exists: give the public key a new file") from None
    with answering():
        print_paths([out])


def _print_found(found: Verification, anchors: int) -> None:
    if not found.ok:
        for problem in found.problems:
            say(problem)
        return
    what = [f"{counted(found.events, 'event')} of {counted(found.agents, 'agent')}"]
    if found.decisions:
        what.append(counted(found.decisions, "decision"))
    if anchors:
        what.append(counted(anchors, "signed head"))
    say(f"Verified {' and '.join(filter(None, [', '.join(what[:-1]), what[-1]]))}. Head: {found.head}")
    if found.unchecked:
        few = list(found.unchecked.items())[:SHOWN]
        others = f" and {counted(len(found.unchecked) - SHOWN, 'more')}" if len(found.unchecked) > SHOWN else ""
        say(f"{counted(len(found.unchecked), 'decision')} could not be made again, only compared with its receipts:")
        print_sentences([*(f"event {seq}: {why}" for seq, why in few), *([others.strip()] if others else [])])
