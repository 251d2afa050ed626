"""A document in a terminal, or as plain text."""

from __future__ import annotations

import io
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bygones._text import printable
from bygones.document.document import (
    Bar,
    Block,
    Bullets,
    Cell,
    Chart,
    Command,
    Curves,
    Document,
    OneOf,
    Section,
    Table,
    Terms,
    Trend,
    tone_of,
    trend_text,
)

FOLDED = 10
"""The least width of a column that folds, in characters, if there is room for it."""

LONGEST_WORD = 30
"""A longer word may be broken where a column folds."""

BROKEN = 16
"""The least width of a column that folds where there is no room for its words."""

CHOSEN = "<-"
"""Stands behind the rows that an answer is about."""

GAP = 2
"""The space behind each column of a table."""

PLAIN_WIDTH = 100
"""The width of plain text, unless it is given."""

_STYLES = {"good": "green", "bad": "yellow", "faint": "dim", "": ""}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 6


def show(document: Document, console: Console) -> None:
    """Prints a document."""
    console.print(Text(printable(document.headline), style="bold"), soft_wrap=False)
    for block in document.blocks:
        _show(block, console)


def text(document: Document, width: int = PLAIN_WIDTH) -> str:
    """A document as plain text."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False, highlight=False)
    with console.capture() as captured:
        show(document, console)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())


def wrapped(sentences: Iterable[str], width: int, first: str = "") -> Iterator[str]:
    """Sentences as lines of a terminal, each beginning a line; what does not fit continues below, indented."""
    wrapper = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    for sentence in sentences:
        yield from wrapper.wrap(printable(sentence))


def _show(block: Block, console: Console) -> None:
    match block:
        case str():
            _lines(wrapped([block], console.width), console)
        case Bullets(sentences, most, more):
            shown = sentences if most is None else sentences[:most]
            _lines(wrapped(shown, console.width, "- "), console)
            rest = len(sentences) - len(shown) + more
            if rest:
                _lines([f"- and {rest:,} more: --page and --json list {'the largest' if more else 'them'}"], console)
        case Table():
            _table(block, console)
        case Command(purpose, line):
            _lines(["", f"{purpose}:", f"  {line}"], console)
        case OneOf(_, tables):
            for table in tables.values():
                _table(table, console)
        case Section() if block.is_for_pages:
            pass
        case Section(title, blocks):
            console.print()
            console.print(Text(printable(title), style="bold"))
            for each in blocks:
                _show(each, console)
        case Chart() | Curves() | Terms():
            pass  # the tables and sentences have the same content


def _lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(Text(printable(line)), soft_wrap=True)


def _table(table: Table, console: Console) -> None:
    """Prints a table that fits, as one or as several below each other; names are text, never markup."""
    if not table.rows:
        return
    headings = table.headings
    first, last = table.shown_rows()
    indices, hidden = [*first, *last], len(table.rows) - len(first) - len(last)
    all_texts = table.texts()
    cells = [[_cell(cell, text) for cell, text in zip(table.rows[i], all_texts[i], strict=True)] for i in indices]
    texts = [[column.name, *(row[j].plain for row in cells)] for j, column in enumerate(headings)]
    more = f"… {hidden:,} more" if hidden and last else ""
    texts[0].append(more)
    most = [max(map(cell_len, column)) for column in texts]
    least = [_longest_word(texts[j]) if column.folds else most[j] for j, column in enumerate(headings)]
    room = console.width - 1 - (len(CHOSEN) + GAP if table.chosen else 0)
    kept: list[int] = []
    for gone in (0, *sorted({column.gives_way for column in headings if column.gives_way})):
        kept = [j for j, column in enumerate(headings) if not 0 < column.gives_way <= gone]
        if sum(least[j] + GAP for j in kept) <= room:
            break
    else:  # long words break before the table does
        least = [min(width, most[j], BROKEN) if headings[j].folds else width for j, width in enumerate(least)]
    most = list(map(max, most, least))
    for number, part in enumerate(_parts(kept, least, room)):
        shown = RichTable(
            title=Text(printable(table.title)) if table.title and not number else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        for j, width in _widths(part, least, most, room).items():
            shown.add_column(
                Text(printable(headings[j].name)),
                justify="right" if table.is_numeric(j) else "left",
                overflow="fold",
                width=width,
            )
        if table.chosen:
            shown.add_column("")
        for place, (i, row) in enumerate(zip(indices, cells, strict=True)):
            if more and place == len(first):
                shown.add_row(Text(more, style="dim"))
            marks = [Text(CHOSEN if i in table.chosen else "")] if table.chosen else []
            shown.add_row(*(row[j] for j in part), *marks, style="bold" if i in table.chosen else "")
        console.print(shown)
    if hidden and not last:
        _lines([f"and {hidden:,} more: --page and --json list them"], console)
    if table.note:
        _lines(wrapped([table.note], console.width), console)
    lost = dict.fromkeys(column.name for j, column in enumerate(headings) if j not in kept and column.name)
    if lost:
        _lines(wrapped([f"A wider terminal also shows: {', '.join(lost)}."], console.width), console)


def _longest_word(texts: Iterable[str]) -> int:
    """The least width of a column that folds, in characters."""
    longest = max(cell_len(word) for text in texts for word in (text.split() or [""]))
    return max(FOLDED, min(longest, LONGEST_WORD))


def _parts(columns: Sequence[int], least: Sequence[int], room: int) -> list[list[int]]:
    """The columns of the tables that a table too wide is split into; each begins with the first column."""
    first, *others = columns
    parts, left = [[first]], room - least[first] - GAP
    for j in others:
        if least[j] + GAP > left and len(parts[-1]) > 1:
            parts.append([first])
            left = room - least[first] - GAP
        parts[-1].append(j)
        left -= least[j] + GAP
    return parts


def _widths(columns: Sequence[int], least: Sequence[int], most: Sequence[int], room: int) -> dict[int, int]:
    """The width of each column. Columns that fold share the spare room. Without any, the widest shrink."""
    widths = {j: least[j] for j in columns}
    spare = room - sum(widths.values()) - GAP * len(columns)
    for rank, j in enumerate(sorted(columns, key=lambda j: most[j] - widths[j])):
        more = min(most[j] - widths[j], max(0, spare) // (len(columns) - rank))
        widths[j] += more
        spare -= more
    while spare < 0 and max(widths.values()) > 1:
        widest = max(widths, key=lambda j: widths[j])
        widths[widest] -= 1
        spare += 1
    return widths


def _cell(cell: Cell, text: str) -> Text:
    if isinstance(cell, Bar):
        return Text(_bar(cell.share), style="cyan")
    if isinstance(cell, Trend):
        return Text(trend_text(cell), style="cyan")
    return Text(printable(text), style=_STYLES[tone_of(cell, text)])


def _bar(share: float) -> str:
    """A bar of eighths of a character."""
    eighths = round(8 * _BAR * min(1.0, share)) if share > 0 else 0
    return _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def command_line(words: Iterable[str]) -> str:
    """A command of bygones in the words that people type."""
    return shlex.join(["bygones", *words])
