"""What the fuzz once found: inputs that ended in a traceback, without an end, or with a password on the screen."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from approval.recordings import Entry, entry
from approval.stage import Stage, command


def make(folder: Path) -> Iterator[Entry]:
    """The outputs of all inputs in the corpus, each in the same folder of files, good and bad."""
    from fuzz import inputs
    from fuzz.generator import corpus

    inputs.fill(folder)
    copy = folder.with_name("copy")
    for words, files in corpus():
        shutil.copytree(folder, copy)
        inputs.complete(copy)
        for name, text in files.items():
            (copy / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        changed = f"  # {', '.join(files)} changed" if files else ""
        yield entry(command(words) + changed, Stage(copy).run(words))
        shutil.rmtree(copy)
