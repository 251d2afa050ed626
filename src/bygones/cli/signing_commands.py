"""`bygones ledger verify`, `sign` and `key`: whether a ledger can be trusted, and how others can tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional, arg

from bygones._text import counted
from bygones.cli.arguments import optional
from bygones.cli.console import answering, print_json, print_paths, say
from bygones.cli.ledger_arguments import Json, Target

if TYPE_CHECKING:
    from bygones.ledger import Verification

key = tyro.extras.SubcommandApp()
"""The commands about keys; the ledger's command line adds them under the name `key`."""

KEYS = "Make a key for signing, or show its public half."


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
        from bygones.ledger import anchors as kept
        from bygones.ledger import signing

        heads, by = kept.read_anchors(anchor), signing.read_public_key(public_key)
        anchors = len(heads)
        with Ledger.open(target) as ledger:
            found = signing.verify(ledger, heads, by, kept.named(anchor), head)
    if json:
        print_json(found._asdict() | {"anchors": anchors, "ok": found.ok})
    else:
        _print_found(found, anchors)
    if not found.ok:
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
    json: Json = False,
) -> None:
    """Verify a ledger, and add its signed head to a file that others keep copies of, or to a database of theirs.

    Nobody can then change an event up to that head unnoticed, not even somebody who can write to the whole ledger.

    For example:
        bygones ledger sign team.db --key team.key --anchor anchors.jsonl
        bygones ledger sign team.db --key team.key --anchor postgresql://user@host/council
    """
    from bygones.ledger import Ledger, signing

    with Ledger.open(target) as ledger:
        signed = signing.sign(ledger, key, anchor)
    with answering():
        if json:
            print_json(signed._asdict())
        else:
            say(f"Signed event {signed.seq}, the head of {ledger.name}, with the key {signed.key}.")


@key.command(name="new")
def new_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The file to write; it must not exist yet.")],
    json: Json = False,
) -> None:
    """Make a key in a file that only you can read. Keep it away from the ledger.

    For example:
        bygones ledger key new team.key
    """
    from bygones.ledger import signing

    made = signing.new_key(file)
    with answering():
        if json:
            print_json({"key": made})
        else:
            say(f"Made the key {made}. Keep {file} to yourself, away from the ledger; give others its public key.")


@key.command(name="public")
def public_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The key.")],
    out: Annotated[Path | None, optional("The file to write (default: the terminal).", "FILE")] = None,
) -> None:
    """Show the public key that belongs to a key, for those who check signatures.

    For example:
        bygones ledger key public team.key --out team.pub
    """
    from bygones.ledger import signing

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


COMMANDS = (verify, sign)


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
    if found.older:
        say(
            f"{counted(found.older, 'decision')}, by an earlier version or made in place of another, "
            f"{'was' if found.older == 1 else 'were'} only compared with what was recorded."
        )
