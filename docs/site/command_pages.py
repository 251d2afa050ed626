"""The reference of the command line, made from the help of the commands: `bygones COMMAND --help`."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from bygones.cli import program
from bygones.cli.commands import PROGRAM, Group
from bygones.cli.console import RECORDED

WIDTH = 100
"""The width of the terminal in which helps are made; beyond about 120, boxes stand side by side."""

PAGES = {"commands": "Commands", "ledger-commands": "Commands of a ledger"}


@dataclass
class Help:
    """The help of a command."""

    usage: str
    about: str
    boxes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """The arguments in each box: their spelling and their purpose."""


def help_of(words: Sequence[str]) -> Help:
    """The help of a command, parsed from its output."""
    # A stream that has an encoding gets boxes of lines, which tell arguments from sentences.
    printed, columns = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            program.main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)
    printed.seek(0)
    return parsed(printed.read())


def parsed(text: str) -> Help:
    """The parts of a printed help: usage, sentences, and boxes of arguments."""
    before, *boxes = re.split(r"^╭─ (?=\w)", text, flags=re.MULTILINE)
    usage, _, about = before.partition("\n\n")
    found = Help(" ".join(usage.removeprefix("usage: ").split()), about.strip())
    for box in boxes:
        title, *lines = [
            line.strip("│╭╰╮╯─ \n") if line[:1] != "│" else line[2:-2].rstrip() for line in box.splitlines()
        ]
        found.boxes[title] = list(_entries(lines))
    return found


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arguments of a box. Each begins at the margin, and indented lines continue its purpose."""
    written, purpose = "", []
    for line in [*filter(None, lines), "end"]:
        if line.startswith(" "):
            purpose.append(line.strip())
            continue
        if written:
            yield written.replace("{None}|", ""), " ".join(filter(None, purpose)).removesuffix("(default: )").strip()
        written, _, rest = line.partition("  ")
        purpose = [rest.strip()]


def every_command() -> dict[tuple[str, ...], Help]:
    """Every command by its words, with its help, in the order of the helps."""
    return {words: help_of(words) for words, _ in PROGRAM.leaves()}


def write(folder: Path) -> None:
    """Writes the pages of the command line into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ledger, commands = PROGRAM.commands["ledger"], every_command()
    assert isinstance(ledger, Group)
    first = [
        f"# {PAGES['commands']}\n",
        f"{PROGRAM.summary}\n",
        "This page and [the commands of a ledger](ledger-commands.md) are made from the commands' own help.\n",
        f"A command exits with code 0 on success, {program.REFUSED} if the command line or its input is wrong, "
        f"{program.FAILED} after a failure and {program.STOPPED} after Ctrl-C. Code {RECORDED} means that a ledger has "
        "recorded events, but the answer could not be written.\n",
        *_overview(PROGRAM),
        *(_section(words, each) for words, each in commands.items() if words[0] != "ledger"),
    ]
    second = [f"# {PAGES['ledger-commands']}\n", f"{ledger.summary}\n", *_overview(ledger, "ledger")]
    second += [_section(words, each) for words, each in commands.items() if words[0] == "ledger"]
    for name, parts in zip(PAGES, (first, second), strict=True):
        (folder / f"{name}.md").write_text("\n".join(parts), encoding="utf-8")


def _overview(group: Group, *words: str) -> Iterator[str]:
    yield "| Command | Purpose |\n|---|---|"
    for heading, commands in group.sections.items():
        yield f"| **{heading}** | |"
        for name, command in commands.items():
            path, first = [*words, name], next(iter(command.commands)) if isinstance(command, Group) else ""
            link = f"#bygones-{'-'.join(filter(None, [*path, first]))}" if path != ["ledger"] else "ledger-commands.md"
            yield f"| [`{' '.join(path)}`]({link}) | {_text(command.summary)} |"
    yield ""


def _section(words: tuple[str, ...], own: Help) -> str:
    parts = [f"## bygones {' '.join(words)}\n", _sentences(own.about), f"```text\n{own.usage}\n```\n"]
    for title, entries in own.boxes.items():
        rows = [(written, purpose) for written, purpose in entries if not written.startswith("-h, ")]
        if rows:
            parts.append(f"**{title.capitalize()}**\n")
        parts += [f"`{written}`\n: {_text(purpose) or 'No description.'}\n" for written, purpose in rows]
    return "\n".join(parts)


def _sentences(about: str) -> str:
    """The sentences of a help, with its indented examples as code."""
    lines: list[str] = []
    for line in about.splitlines():
        is_code = line.startswith("    ")
        if is_code and not (lines and lines[-1].startswith("    ")):
            lines.append("")
        lines.append(line if is_code else _text(line))
    return "\n".join(lines) + "\n"


def _text(sentence: str) -> str:
    """A sentence as Markdown that shows every character."""
    return re.sub(r"([\\`*_$\[\]|~])", r"\\\1", escape(sentence, quote=False))
