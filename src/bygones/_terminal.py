"""What the command line needs to talk with people and programs: tables, JSON, progress, and tables read from files."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

UNCUT = 10_000
"""A width that no table needs."""


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table for people: numbers to the right, six digits; text as it is, never as markup.

    In a terminal the table is as wide as that; in a file or a pipe nothing is cut, unless COLUMNS says how wide it is.
    """
    rows = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], float | int) and not isinstance(row[index], bool) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    console = Console()
    (console if console.is_terminal or "COLUMNS" in os.environ else Console(width=UNCUT)).print(table)


def amount(value: float, digits: int = 3, sign: bool = False) -> str:
    """An amount as people write it: a few digits of small ones, large ones in whole numbers with thousands apart."""
    plus = "+" if sign else ""
    value = 0.0 if abs(value) < 1e-12 else value
    return f"{value:{plus},.0f}" if 10.0**digits <= abs(value) < 1e15 else f"{value:{plus},.{digits}g}"


def print_json(value: object) -> None:
    """Prints JSON for programs; infinities, which JSON lacks, appear as the string "inf" or "-inf"."""
    print(json.dumps(_finite(value), ensure_ascii=False, indent=2))


def print_paths(paths: Iterable[Path]) -> None:
    """Says which files were written."""
    for path in paths:
        print(f"wrote {path}")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A progress bar for the length of a `with` block; call the given function with how much was done, 1 by default."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=total)

        def advance(amount: int = 1, news: str | None = None) -> None:
            bars.update(task, advance=amount, description=news or what)

        yield advance


def read_matrix(path: Path) -> list[list[float]]:
    """A matrix from a CSV file without header, refused with row and column where an entry is not a number."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
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


def _finite(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value
