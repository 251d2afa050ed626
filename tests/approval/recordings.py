"""Outputs as text files that `git diff` can show, and what differs between two of them, said once.

A file has one paragraph for each command: the command, then what it printed (`|`), what it printed as an error (`!`),
its exit code unless it is 0, and the files it wrote, with what is in them (`>`).
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from approval.stage import Output

FOLDER = Path(__file__).parent / "recorded"

_HASHES = (
    (r"\b[0-9a-f]{64}\b", "<sha256>"),
    (r"(?<![.\w])(?=\d*[a-f])[0-9a-f]{16}\b", "<key>"),
    (r"(?<![\w/])[\w+/]{43,}={1,2}", "<base64>"),
)
"""Hashes, keys and signatures."""


class Entry(NamedTuple):
    """A command and how it ended, as lines of text."""

    command: str
    lines: tuple[str, ...]


def entry(command: str, output: Output, *, hashes: bool = False) -> Entry:
    """An output as text. Hashes change with how events are stored, so they are masked unless they are to be kept."""

    def lines(mark: str, text: str) -> Iterator[str]:
        for pattern, mask in () if hashes else _HASHES:
            text = re.sub(pattern, mask, text)
        text = text.removesuffix("\n")
        yield from (f"{mark} {_plain(line)}".rstrip() for line in text.split("\n") if text)

    told = [*lines("|", output.out), *lines("!", output.err)]
    if output.code:
        told.append(f"exit {output.code}")
    for name, text in output.files:
        told += [f"file {_plain(name)}", *lines(">", text)]
    return Entry(_plain(command), tuple(told))


def _plain(line: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def write(name: str, entries: Iterable[Entry]) -> None:
    """Keeps the outputs of a scene."""
    path = FOLDER / f"{name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join("".join(f"{line}\n" for line in (e.command, *e.lines)) for e in entries), "utf-8")


def read(name: str) -> list[Entry]:
    """The outputs that were kept of a scene: none, if it is new."""
    path = FOLDER / f"{name}.txt"
    if not path.exists():
        return []
    paragraphs = path.read_text(encoding="utf-8").split("\n\n")
    return [Entry(first, tuple(rest)) for first, *rest in (text.strip("\n").split("\n") for text in paragraphs)]


class Difference(NamedTuple):
    """Lines that are no longer printed (`-`) and that were not printed before (`+`), and where that is so."""

    lines: tuple[str, ...]
    places: list[str]


def differences(before: Sequence[Entry], now: Sequence[Entry]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command whose output is not what it was, with the lines that differ."""
    known, found = _numbered(before), _numbered(now)
    for key, lines in known.items():
        if key not in found:
            yield key[0], ("- (the command is no longer run)",)
        elif lines != found[key]:
            compared = difflib.unified_diff(lines, found[key], lineterm="", n=0)
            changed = tuple(f"{line[0]} {line[1:]}" for line in compared if not line.startswith(("---", "+++", "@@")))
            yield key[0], changed or ("+ (in another order)",)
    for key, lines in found.items():
        if key not in known:
            yield key[0], ("+ (a new command)", *(f"+ {line}" for line in lines))


def _numbered(entries: Iterable[Entry]) -> dict[tuple[str, int], tuple[str, ...]]:
    """The lines of each command; one that is run several times is told apart by how often it was before."""
    times: dict[str, int] = defaultdict(int)
    numbered = {}
    for each in entries:
        times[each.command] += 1
        numbered[each.command, times[each.command]] = each.lines
    return numbered


def grouped(found: Iterable[tuple[str, str, tuple[str, ...]]]) -> dict[str, list[Difference]]:
    """Differences, given as scene, command and lines, by the name of the command; what is the same is said once."""
    groups: dict[str, dict[tuple[str, ...], Difference]] = defaultdict(dict)
    for scene, command, lines in found:
        difference = groups[_name(command)].setdefault(lines, Difference(lines, []))
        difference.places.append(f"{scene}: {command}")
    return {name: list(differences.values()) for name, differences in sorted(groups.items())}


def _name(command: str) -> str:
    """The words that name a command, such as `ledger decide`."""
    words = command.removeprefix("$ bygones ").split()
    return " ".join(words[:2]) if words[0] == "ledger" else words[0]


def report(groups: dict[str, list[Difference]], longest: int = 40) -> Iterator[str]:
    """The differences as lines to read; of a long one, only the beginning."""
    for name, changes in groups.items():
        number = sum(len(each.places) for each in changes)
        yield f"== {name}: {number} output{'s' * (number > 1)} differ{'s' * (number == 1)}"
        for lines, places in changes:
            yield from places[:3]
            if len(places) > 3:
                yield f"and {len(places) - 3} more"
            yield from (f"    {line}" for line in lines[:longest])
            if len(lines) > longest:
                yield f"    … {len(lines) - longest} more lines"
            yield ""
