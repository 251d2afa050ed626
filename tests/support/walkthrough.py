"""Guides with files and commands run as they stand, and what they print must be on the page.

A fenced block with a file's name (```csv needs.csv) is saved. In a ```console block each line after `$ ` is run and the
lines below it are what it prints; `...` stands for anything. A ```python block runs, and what a line prints is in the
comment at its end. All Python blocks of a page share their names.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

from bygones.cli import program

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def walk_through(page: Path, folder: Path) -> dict:
    """Runs a guide in an empty folder; the names that its Python blocks define."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks, f"{page} has nothing to run"
    names = {"__name__": "guide"}
    with contextlib.chdir(folder):
        for language, name, text in blocks:
            if name:
                Path(name).write_text(text, encoding="utf-8")
            elif language == "console":
                for command, expected in _commands(text):
                    _same(expected, _printed(lambda command=command: _run(command)), command)
            elif language == "python":
                printed = _printed(lambda text=text: exec(compile(text, str(page), "exec"), names))
                _same("\n".join(_COMMENT.findall(text)), printed, text)
    return names


def _commands(text: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _run(command: str) -> None:
    name, *arguments = shlex.split(command)
    assert name == "bygones", command
    program.main(arguments)


def _printed(what) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        what()
    return out.getvalue()


def _same(expected: str, printed: str, what: str) -> None:
    trimmed = ["\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n" for text in (expected, printed)]
    assert doctest.OutputChecker().check_output(*trimmed, doctest.ELLIPSIS), (
        f"{what}\nprints\n{printed}\nnot\n{expected}"
    )
