"""`bygones example`: files to try the other commands with."""

from __future__ import annotations

import errno
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones._files import write_text
from bygones._text import counted
from bygones.cli.arguments import Output, Printed
from bygones.cli.console import print_document, print_json
from bygones.document.document import Block, Command, Document, Table

SUBJECTS = {
    "shifts": (
        {
            "past.csv": "who worked when, and how many hours",
            "shift.csv": "how long the next shift is for each person",
        },
        "bygones allocate shift.csv --history past.csv --half-life 30 --at 2026-03-01 --kind burden --thing shift "
        "--unit h",
    ),
    "cluster": (
        {
            "sacct.txt": "the accounting log of a week on a small cluster, from Slurm",
            "shares.txt": "the shares of its users, from sshare",
        },
        "bygones audit sacct.txt --half-life 1d,7d,inf --entitlements shares.txt",
    ),
}
"""The files of each subject with their contents, and a command to try first."""


def example(
    subject: Annotated[
        Positional[Literal["shifts", "cluster"]], arg(metavar="SUBJECT", help="Files to write: shifts or cluster.")
    ],
    out: Annotated[Path, arg(metavar="FOLDER", help="Folder for the files.")] = Path(),
    output: Printed = Output(),
) -> None:
    """Write example files into this folder, to try other commands with.

    Existing files are not replaced.

    Example: bygones example shifts
    """
    contents, command = SUBJECTS[subject]
    folder = resources.files("bygones.cli.examples") / subject
    texts = {out / name: (folder / name).read_text(encoding="utf-8") for name in contents}
    for path, text in texts.items():
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise FileExistsError(errno.EEXIST, "this file exists already; choose another --out", str(path))
    for path, text in texts.items():
        write_text(path, text)
    if output.json:
        print_json({"files": list(map(str, texts)), "command": command})
        return
    rows = [[str(path), contents[path.name]] for path in texts]
    blocks: list[Block] = [Table("", ["file", "contents"], rows), Command("Try", command)]
    print_document(Document(f"Wrote {counted(len(texts), 'file')}.", blocks))
