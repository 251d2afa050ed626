"""What is recorded, scene by scene; each is played in a process and a folder of its own."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from approval import documents, help, ledgers, mistakes
from approval.recordings import Entry
from approval.stage import set_up
from fuzz.harness import fast_folder


def scenes() -> dict[str, Callable[[Path], Iterator[Entry]]]:
    """What plays each scene in an empty folder, by the path of its recording."""
    return {
        "help": help.ask,
        "mistakes": mistakes.make,
        **{name: partial(documents.walk, page) for name, page in documents.pages().items()},
        **{f"ledgers/{name}": partial(ledgers.look_through, name) for name in ledgers.names()},
    }


def play(name: str) -> list[Entry]:
    """The outputs of a scene. The process must not have imported bygones."""
    set_up()
    with tempfile.TemporaryDirectory(prefix="approve-", dir=fast_folder()) as place:
        folder = Path(place).resolve() / "here"
        folder.mkdir()
        return list(scenes()[name](folder))
