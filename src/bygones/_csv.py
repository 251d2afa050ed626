"""CSV tables: errors name the row, and the tables it writes are safe to open in a spreadsheet.

Text that a spreadsheet would read as a formula (it begins with = + - @, a tab or a carriage return) is written with an
apostrophe before it, which spreadsheets treat as a mark of text; reading removes the apostrophe again. This holds
within a cell as well, after a semicolon, a tab, a bar or the end of a line: a spreadsheet may split a line there, and
whether the cell is in quotes makes no difference then.

Cells may be separated by commas, semicolons, tabs or bars; the separator is detected from the header. In a table
separated by semicolons, a comma in a number is the decimal sign. If such a table has decimal commas, a number such as
1.000 is refused, which may mean a thousand.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

COLUMNS = 100_000
"""The most columns of a table."""

_LONGEST_HEADER = 10_000_000

# The beginning of a cell, wherever the line is split; quotes and spaces may be taken away from it. The
# apostrophes after it were in the text before.
_BEGINNING, _FORMULA = r"((?:^|[;|\t\r\n])[\" ]*+)", r"(?='*+[=+\-@\uff1d\uff0b\uff0d\uff20\t\r])"
_UNSHIELDED, _SHIELDED = re.compile(_BEGINNING + _FORMULA), re.compile(f"{_BEGINNING}'{_FORMULA}")
_SEPARATORS = ",;\t|"
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_APART = re.compile("[,' \u00a0\u202f]")
_GROUPED = re.compile(rf"\d{{1,3}}({_APART.pattern}\d{{3}})+(\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_POINTS_AND_COMMA = re.compile(r"\d{1,3}(\.\d{3})+,\d+")


class PerhapsThousands(str):
    """A cell such as 1.000 in a table with decimal commas, which may mean a thousand or one."""


def separator(header: str) -> str:
    """The character that separates the cells of a table with this header."""
    return max(_SEPARATORS, key=header.count)


def check_file(path: Path) -> None:
    """Refuses anything but a regular file: a folder, an endless device, or a pipe without a writer.

    Raises:
        ValueError: it is something else, which the message names.
        OSError: there is no such file.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a folder: give the name of a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is a device or a pipe: write its content to a file first")


def not_text(path: Path, error: Exception) -> ValueError:
    """The error for a file that cannot be read as CSV, with what to do about it."""
    with path.open("rb") as file:
        is_workbook = file.read(4) in _WORKBOOKS
    if is_workbook:
        return ValueError(f"{path} is a spreadsheet workbook: save it as CSV")
    reason = str(error) if isinstance(error, csv.Error) else "save it again as CSV in UTF-8"
    return ValueError(f"{path} is not a CSV file in UTF-8: {reason}")


def shield(cell: str) -> str:
    """The cell, protected from spreadsheets that would read it as a formula."""
    return _UNSHIELDED.sub(r"\1'", cell)


def unshield(cell: str) -> str:
    """The cell before `shield`."""
    return _SHIELDED.sub(r"\1", cell)


def read(
    path: Path, needed: Sequence[str], *, empty: bool = False, options: Sequence[str] = ()
) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line number.

    Args:
        path: the file.
        needed: the columns that it must have.
        empty: whether it may have no rows.
        options: for each needed column, the option of the command that names another one.

    Raises:
        ValueError: if a needed column is missing, a column name is repeated, a row has too few or too many cells, or
            there are no rows (unless `empty` is true).
    """
    check_file(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = file.readline(_LONGEST_HEADER)
            between = separator(header)
            if header.count(between) >= COLUMNS or len(header) == _LONGEST_HEADER:
                raise ValueError(f"{path} must have at most {COLUMNS:,} columns, got more in its first line")
            file.seek(0)
            reader = csv.DictReader(file, strict=True, delimiter=between)
            names = [str(name).strip() for name in reader.fieldnames or ()]
            reader.fieldnames = names
            missing = [name for name in needed if name not in names]
            if missing:
                option = dict(zip(needed, options, strict=False)).get(missing[0], "")
                raise ValueError(
                    f"{path} has no column {missing[0]!r}: found {_some(names)}{_meant(missing[0], names, option)}"
                )
            twice = [name for name, times in Counter(names).items() if times > 1]
            if twice:
                raise ValueError(f"{path} has the column {twice[0]!r} twice")
            rows, has_commas = [], False
            for row in reader:
                has_commas |= between == ";" and any(map(has_decimal_comma, row.values()))
                if None in row or None in row.values():
                    cells = sum(row[name] is not None for name in names) + len(row.get(None) or ())
                    raise ValueError(
                        f"{path}, row {reader.line_num}: expected {len(names)} cells as in the header, got {cells}"
                    )
                rows.append((reader.line_num, {name: _clean(cell, between) for name, cell in row.items()}))
    except (csv.Error, UnicodeDecodeError) as error:
        raise not_text(path, error) from None
    if not rows and not empty:
        raise ValueError(f"{path} has no rows below its header")
    if between == ";" and not has_commas:
        rows = [(line, {name: str(cell) for name, cell in row.items()}) for line, row in rows]
    return rows


def _some(names: Sequence[str], most: int = 20) -> str:
    """The names of columns, in quotes; of many, the first few."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(map(repr, names[:most]))}{more}" if names else "none"


def _meant(missing: str, names: Sequence[str], option: str) -> str:
    """Which column may be meant, and how to name it."""
    by_name = {name.casefold(): name for name in reversed(names)}
    near = difflib.get_close_matches(missing.casefold(), by_name, n=1)
    if not near:
        return f"; name the column with {option}" if option else ""
    name = by_name[near[0]]
    return f"; if you mean {name!r}, name it with {option}" if option else f"; did you mean {name!r}?"


def has_decimal_comma(cell: object) -> bool:
    """Whether a cell is a number with a decimal comma."""
    return isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip()) is not None


def number_hint(cell: str) -> str:
    """Advice about a number that is written in another way than it is read; empty for other text."""
    if not cell:
        return ": write a number such as 8.5, or leave the row out"
    if _GROUPED.fullmatch(cell):
        return f": write {''.join(_APART.split(cell))}, without separators"
    if _POINTS_AND_COMMA.fullmatch(cell):
        return f": write {cell.replace('.', '').replace(',', '.')}, without separators"
    return f": write {cell.replace(',', '.')}, with a decimal point" if has_decimal_comma(cell) else ""


def thousands_hint(cell: str) -> str:
    """Advice about a number such as 1.000 where others have decimal commas; empty for other text."""
    if not _GROUPED_BY_POINTS.fullmatch(cell):
        return ""
    plain = cell.replace(".", "")
    meant = plain if cell.count(".") > 1 else f"{plain} or {float(cell):g}".replace(".", ",")
    return f", in a table with decimal commas: write {meant}"


def number(name: str, cell: str, *, finite: bool = True) -> float:
    """The number in a cell; raises ValueError with the name of the cell unless it is at least 0."""
    accepted = "a finite number of at least 0" if finite else "a number of at least 0"
    if isinstance(cell, PerhapsThousands):
        raise ValueError(f"{name} must be {accepted}, got {str(cell)!r}{thousands_hint(cell)}")
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"{name} must be {accepted}, got {cell!r}{number_hint(cell)}") from None
    if not value >= 0 or (finite and math.isinf(value)):
        raise ValueError(f"{name} must be {accepted}, got {cell!r}")
    return value


def _clean(cell: str, between: str) -> str:
    """The cell in NFC, which spells a name the same in every table, with a decimal point in numbers."""
    clean = unshield(unicodedata.normalize("NFC", cell).strip())
    if between != ";":
        return clean
    if _GROUPED_BY_POINTS.fullmatch(clean):
        return PerhapsThousands(clean)
    return clean.replace(",", ".") if _DECIMAL_COMMA.fullmatch(clean) else clean
