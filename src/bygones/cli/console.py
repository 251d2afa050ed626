"""Output of the command line: lines, documents, JSON, paths and progress bars; and matrices read from files.

No command calls `print`. All text goes through `printable`, so a name from a file cannot move the cursor, clear the
screen, pass for another name or act as markup.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bygones._csv import check_file, not_text
from bygones._notebook import ProgressLine, is_notebook
from bygones._secrets import redacted
from bygones._text import printable, printable_json
from bygones.document.document import Document
from bygones.document.terminal import show

RECORDED = 3
"""The exit code where something was recorded, but the answer could not be written."""

UNCUT = 10_000
"""A width that no table reaches."""


def say(*lines: str, error: bool = False) -> None:
    """Prints each text on its own line, or a blank line if there is none; errors go to standard error.

    A name can be any text that someone pasted, so passwords in URLs are hidden here, too.
    """
    for line in lines or ("",):
        print(printable(redacted(line)), file=sys.stderr if error else sys.stdout)


def print_document(document: Document) -> None:
    """Prints an answer."""
    show(document, console())


def console() -> Console:
    """As wide as the terminal; in a file or a pipe nothing is cut off, unless COLUMNS sets the width."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal or "COLUMNS" in os.environ else Console(width=UNCUT, highlight=False)


def print_json(value: object) -> None:
    """Prints JSON; infinities, which JSON lacks, become the strings "inf" and "-inf"."""
    print(json_text(value))


def json_text(value: object) -> str:
    """A value as JSON over several lines; infinities become "inf" and "-inf", and NaN, a number unknown, null."""
    return printable_json(json.dumps(_finite(value), ensure_ascii=False, indent=2))


def reason(error: OSError | ValueError) -> str:
    """The message of an error, with its file."""
    if not isinstance(error, OSError):
        return str(error)
    message = error.strerror or str(error)
    return f"{error.filename}: {message}" if error.filename else message


@contextmanager
def answering(recorded: bool = True) -> Iterator[None]:
    """A `with` block that prints an answer; if something was recorded and the answer fails, it exits with `RECORDED`.

    Args:
        recorded: whether anything was recorded; otherwise errors pass.
    """
    try:
        yield
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        if not recorded:
            raise
        if isinstance(error, OSError) and error.filename is None:
            # The rest of the buffer is discarded, or Python would fail to write it once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"bygones: recorded, but the answer could not be written: {reason(error)}", error=True)
        raise SystemExit(RECORDED) from None


def print_paths(paths: Iterable[Path]) -> None:
    """Prints which files were written."""
    for path in paths:
        say(f"wrote {path}")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Shows a progress bar in a `with` block; call the function it yields with the work done, by default 1."""
    if is_notebook():
        line, done = ProgressLine(), 0

        def advance_line(amount: int = 1, news: str | None = None) -> None:
            nonlocal done
            done += amount
            line.show(done / max(total, 1), f"{news or what}, {done:,} of {total:,}")

        yield advance_line
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(printable(what), total=total)

        def advance(amount: int = 1, news: str | None = None) -> None:
            bars.update(task, advance=amount, description=printable(news or what))

        yield advance


def read_matrix(path: Path) -> list[list[float]]:
    """Reads a matrix from a CSV file without a header; errors name the row and the column."""
    check_file(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise not_text(path, error) from None
    if not rows:
        raise ValueError(f"{path} is empty: expected a matrix, one row per line")
    matrix = [[_entry(path, i, j, cell) for j, cell in enumerate(row, 1)] for i, row in enumerate(rows, 1)]
    for i, row in enumerate(matrix, 1):
        if len(row) != len(matrix[0]):
            raise ValueError(f"{path}, row {i}: expected {len(matrix[0])} numbers as in row 1, got {len(row)}")
    return matrix


def _entry(path: Path, i: int, j: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{path}, row {i}, column {j}: expected a number, got {cell.strip()!r}") from None


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
