"""`bygones ledger verify`, `sign`, `anchors` and `key`: how anyone can check that a ledger has not been changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import answering, print_paths, say
from bygones.cli.ledger_arguments import Target, print_answer, print_recorded


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
        bool,
        arg(help="Also exit with 1 if a decision could not be made again, only compared with the recorded amounts."),
    ] = False,
    output: Printed = Output(),
) -> None:
    """Check the database, the hashes, all events and all decisions. The exit code is 1 if anything is wrong.

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
            verification = ledger.verify(head)
    else:
        from bygones.ledger.proof import signing
        from bygones.ledger.proof.anchors import read_anchors

        signed, by = read_anchors(anchor), signing.read_public_key(public_key)
        with Ledger.open(target) as ledger:
            anchors = len(signed.of(signing.ledger_id(ledger)))
            verification = signing.verify(ledger, signed, by, head)
    unchecked = {str(seq): why for seq, why in verification.unchecked.items()}
    data = verification._asdict() | {"unchecked": unchecked, "anchors": anchors, "ok": verification.ok}
    print_answer(verification.document(anchors), data, output.json)
    if not verification.ok or (strict and verification.unchecked):
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
    output: Printed = Output(),
) -> None:
    """Verify a ledger, and add its signed head to a file or a database that others keep.

    No one can then change an event up to that head unnoticed, not even a person who can write to the whole ledger. A
    file next to the key (FILE.signed) lists the heads that it has signed. A ledger that lacks any of them is not
    signed, and signed heads that are missing from the file or database are put back.

    For example:
        bygones ledger sign team.db --key team.key --anchor anchors.jsonl
        bygones ledger sign team.db --key team.key --anchor postgresql://user@host/council
    """
    from bygones.ledger import Ledger
    from bygones.ledger.proof import signing

    with Ledger.open(target) as ledger:
        signed = signing.sign(ledger, key, anchor, repair=repair, new_ledger=new_ledger)
        answer = signed.document(ledger.name, anchor, key)
    done = {"added": signed.added, "noted": signed.noted, "removed": signed.removed}
    print_answer(answer, signed.anchor.stored() | done, output.json, recorded=True)


def anchors(
    anchor: Annotated[
        Positional[str], arg(metavar="FILE|URL", help="A file or URL with signed heads (`bygones ledger sign`).")
    ],
    public_key: Annotated[
        Path, arg(metavar="FILE", help="The public key that belongs to the key they were signed with.")
    ],
    earlier: Annotated[
        str | None, optional("A copy you made earlier; all of its heads must still be there.", "FILE|URL")
    ] = None,
    output: Printed = Output(),
) -> None:
    """Check without the ledger that each signed head extends the one before. The exit code is 1 if not.

    For example:
        bygones ledger anchors anchors.jsonl --public-key team.pub --earlier my-copy.jsonl
    """
    from bygones.ledger.proof import signing
    from bygones.ledger.proof.anchors import read_anchors

    consistency = signing.check_consistency(
        read_anchors(anchor), signing.read_public_key(public_key), read_anchors(earlier) if earlier else None
    )
    print_answer(consistency.document(), consistency._asdict() | {"ok": consistency.ok}, output.json)
    if not consistency.ok:
        raise SystemExit(1)


def new_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The file to write; it must not exist yet.")],
    output: Printed = Output(),
) -> None:
    """Make a key in a file that only you can read. Keep it away from the ledger.

    For example:
        bygones ledger key new team.key
    """
    from bygones.ledger.proof import signing

    key_id = signing.new_key(file)
    sentence = f"Made the key {key_id}. Keep {file} to yourself, away from the ledger; give others its public key."
    print_recorded({"key": key_id}, output.json, sentence)


def public_key(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="The key.")],
    out: Annotated[Path | None, optional("The file to write (default: the terminal).", "FILE")] = None,
) -> None:
    """Show the public key that belongs to a key, for people who check signatures.

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
