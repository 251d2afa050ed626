"""Documents walked through: tables are saved, Python and commands run in order, and each command once more with --json.

A table, module or log is a fenced block with a file's name (```csv needs.csv). In a ```console block each line after
`$ ` is a command, and `$ clock 2026-03-16T09:00` says what time it is.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from approval.recordings import Entry, entry
from approval.stage import REPOSITORY, Stage, command, has_json

CLOCKS = {"docs/guides/night-shifts.md": "2026-03-16T09:00"}
"""When a document takes place, if not now."""

LONG = ("docs/guides/experiment.md", "docs/guides/learning.md")
"""Documents that train for minutes; learning.md beside this file does the same in seconds."""

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, str]:
    """The path of every document with commands, by the name of its recording."""
    paths = [*sorted((REPOSITORY / "docs").rglob("*.md")), *sorted((REPOSITORY / "tests" / "approval").glob("*.md"))]
    found = [str(path.relative_to(REPOSITORY)) for path in paths if "\n$ " in path.read_text(encoding="utf-8")]
    return {page.removesuffix(".md").removeprefix("tests/approval/"): page for page in found if page not in LONG}


def walk(name: str, folder: Path) -> Iterator[Entry]:
    """The outputs of all commands and Python blocks of a document."""
    page = (REPOSITORY / name).read_text(encoding="utf-8")
    stage = Stage(folder, CLOCKS[name]) if name in CLOCKS else Stage(folder)
    shared = {"__name__": "document"}
    for number, (language, file, text) in enumerate(_BLOCK.findall(page), 1):
        if file:
            (folder / file).write_text(text, encoding="utf-8")
        elif language == "console":
            for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
                yield from _run(stage, shlex.split(line))
        elif language == "python":
            code = compile(text, f"{name}, block {number}", "exec")
            yield entry(f"python: {_first(text)}", stage.call(lambda code=code: exec(code, shared)))


def _run(stage: Stage, line: list[str]) -> Iterator[Entry]:
    program, *words = line
    if program == "clock":
        stage.set_clock(*words)
        return
    assert program == "bygones", line
    if has_json(words):
        yield entry(command([*words, "--json"]), stage.rehearse([*words, "--json"]))
    yield entry(command(words), stage.run(words))


def _first(text: str) -> str:
    """The first line of a block that is not an import."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not re.match(r"\s|import |from |#", line)), lines[0])
