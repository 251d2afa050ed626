"""Output of the command line: lines, tables, JSON, paths and progress bars; and matrices read from files.

No command calls `print`. All text goes through `printable`, so a name from a file cannot move the cursor, clear the
screen, pass for another name or act as markup.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from bygones._csv import check_file, not_text
from bygones._notebook import ProgressLine, is_notebook
from bygones._secrets import redacted
from bygones._text import printable, printable_json
from bygones.document.document import Document
from bygones.document.terminal import show

_FOLDED = 10
RECORDED = 3
"""The exit code where something was recorded, but the answer could not be written."""

UNCUT = 10_000
"""A width that no table reaches."""


def say(*lines: str, error: bool = False) -> None:
    """Prints each text on a line of its own, or a blank line if there is none; errors go to standard error.

    A name can be any text that someone pasted, so passwords in URLs are hidden here, too.
    """
    for line in lines or ("",):
        print(printable(redacted(line)), file=sys.stderr if error else sys.stdout)


def say_bold(line: str) -> None:
    """Prints a line in bold, where the terminal can."""
    console().print(Text(printable(line), style="bold"))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table, with numbers right-aligned to six digits; text is printed verbatim, never as markup."""
    rows = [list(row) for row in rows]
    table = Table(title=Text(printable(title)), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], float | int) and not isinstance(row[index], bool) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(printable(_shown(cell))) for cell in row))
    console().print(table)


class Column(NamedTuple):
    """A column of a table that adapts to the width of the terminal.

    Attributes:
        name: the heading.
        justify: how cells are aligned.
        gives_way: the order in which columns are left out in a narrow terminal, beginning with 1; 0 is never left out.
        folds: whether long cells continue on the next line.
    """

    name: str
    justify: Literal["left", "right"] = "right"
    gives_way: int = 0
    folds: bool = False


def print_fitting(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]) -> None:
    """Prints a table, leaving out columns if the terminal is too narrow; text is printed verbatim, never as markup."""
    terminal = console()
    cells = [[Text(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]
    orders = sorted({column.gives_way for column in columns if column.gives_way})
    for gone in (0, *orders):
        kept = [i for i, column in enumerate(columns) if not 0 < column.gives_way <= gone]
        # Each column is followed by a space and a line of the box, or by the edge of the table.
        if sum(_width(columns[i], [row[i] for row in cells]) + 2 for i in kept) + 1 <= terminal.width:
            break
    terminal.print(_fitting(title, [columns[i] for i in kept], [[row[i] for i in kept] for row in cells]))
    lost = dict.fromkeys(column.name for i, column in enumerate(columns) if i not in kept and column.name)
    if lost:
        say(f"A wider terminal also shows: {', '.join(lost)}.")


def print_document(document: Document) -> None:
    """Prints an answer."""
    show(document, console())


def print_sentences(sentences: Iterable[str]) -> None:
    """Prints each sentence on a line of its own; one too long for the terminal continues on the next, indented."""
    wrapper = textwrap.TextWrapper(
        console().width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    for sentence in sentences:
        say(*wrapper.wrap(printable(sentence)))


def console() -> Console:
    """As wide as the terminal; in a file or a pipe nothing is cut off, unless COLUMNS sets the width."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal or "COLUMNS" in os.environ else Console(width=UNCUT, highlight=False)


def _width(column: Column, cells: Iterable[Text]) -> int:
    """The least width of a column, in characters."""
    return _FOLDED if column.folds else max(cell_len(str(text)) for text in (column.name, *cells))


def _fitting(title: str, columns: Sequence[Column], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table(
        title=Text(printable(title)),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        least = _FOLDED if column.folds else None
        overflow: Literal["fold", "ellipsis"] = "fold" if column.folds else "ellipsis"
        table.add_column(
            Text(printable(column.name)),
            justify=column.justify,
            overflow=overflow,
            min_width=least,
            no_wrap=not column.folds,
        )
    for row in rows:
        table.add_row(*row)
    return table


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
    """Prints what was recorded in a `with` block; if that cannot be written, exits with a code of its own.

    Args:
        recorded: whether anything was; otherwise it is an answer like any other.
    """
    try:
        yield
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        if not recorded:
            raise
        if isinstance(error, OSError) and error.filename is None:
            # What is still buffered is discarded, or Python would fail to write it once more at its end.
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


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{0.0 if abs(cell) < 1e-12 else cell:.6g}"
    return "" if cell is None else str(cell)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
