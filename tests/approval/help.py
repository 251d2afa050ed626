"""The help of the program, of its groups and of every command."""

import re
from collections.abc import Iterator
from pathlib import Path

from approval.recordings import Entry, entry
from approval.stage import Stage, command


def ask(folder: Path) -> Iterator[Entry]:
    """The help, from the program down to each command."""
    return _below(Stage(folder), [])


def _below(stage: Stage, words: list[str]) -> Iterator[Entry]:
    output = stage.run([*words, "--help"])
    yield entry(command([*words, "--help"]), output)
    group = re.match(r"usage: bygones[\w -]* \[-h\]\s+\{([\w,\s-]+)\}", output.out)
    for name in re.sub(r"\s", "", group[1]).split(",") if group else ():
        yield from _below(stage, [*words, name])
