"""The help of the program, of its groups and of every command."""

from collections.abc import Iterator
from pathlib import Path

from approval.recordings import Entry, entry
from approval.stage import Stage, command


def ask(folder: Path) -> Iterator[Entry]:
    """The help of the program, of its groups, and of each command."""
    from bygones.cli.commands import PROGRAM  # not before the stage is set

    stage, groups = Stage(folder), {words[:-1]: None for words, _ in PROGRAM.leaves()}
    for words in sorted([*groups, *(words for words, _ in PROGRAM.leaves())]):
        yield entry(command([*words, "--help"]), stage.run([*words, "--help"]))
