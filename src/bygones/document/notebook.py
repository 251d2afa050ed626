"""A document in the output of a notebook's cell: a small card of sentences, tables and curves.

A notebook is light or dark, and a card cannot ask which. So everything has the colour of the text around it, more or
less of it, and one blue that can be seen on both marks the rest. All text is escaped: the only markup is written in
this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from bygones._text import amount, counted, printable
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
    steps_of,
    tone_of,
)

MOST_ROWS = 20
"""The most rows of a table that are shown."""

BLUE = "#2F80C3"
"""Has a contrast above 3 with white and with black."""

_FAINT = "color:inherit;opacity:.8"
_RULE = "border:0;border-bottom:1px solid rgba(128,128,128,.4)"
_CELL = "padding:.2em .8em .2em 0;background:none;color:inherit;max-width:24em"
_WHOLE = 16
"""Characters up to which a text stays on one line, however little room there is."""
_DASHES = ("", "6 3", "2 2", "8 3 2 3")


_TONES = {"good": "", "bad": "", "faint": ";opacity:.8", "": ""}


def html(document: Document) -> str:
    """The document as markup."""
    head = f'<span style="{_FAINT}">{escaped(document.label)}</span> ' if document.label else ""
    return (
        '<div style="font-size:.92em;line-height:1.45;margin:.3em 0 .6em">'
        f'<div style="margin-bottom:.3em">{head}<strong>{escaped(document.headline)}</strong></div>'
        f"{_blocks(document.blocks)}</div>"
    )


def escaped(text: object) -> str:
    """Text that shows verbatim: nothing in it is markup, is invisible, or changes the direction of text."""
    return escape(printable(str(text)))


def bar(share: float) -> str:
    """A bar as long as a share of one."""
    look = (
        f"display:block;width:{100 * min(1.0, max(0.0, share)):.1f}%;height:100%;background:{BLUE};border-radius:.1em"
    )
    frame = "display:inline-block;width:5em;height:.7em;vertical-align:middle"
    return f'<span style="{frame}"><span style="{look}"></span></span>'


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case str():
            return f'<div style="{_FAINT};max-width:46em;margin:.2em 0">{escaped(block)}</div>'
        case Bullets(sentences, most, more):
            shown = sentences if most is None else sentences[:most]
            rest = len(sentences) - len(shown) + more
            lines = [*shown, *([f"and {rest:,} more"] if rest else [])]
            items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in lines)
            return f'<ul style="max-width:46em;margin:.4em 0;padding-left:1.3em">{items}</ul>'
        case Table():
            return _table(block)
        case Command(purpose, line):
            return f'<div style="margin:.4em 0">{escaped(purpose)}:<div><code>{escaped(line)}</code></div></div>'
        case OneOf(_, tables):
            return "".join(map(_table, tables.values()))
        case Section() if block.is_for_pages:
            return ""
        case Section(title, inner):
            return f"{_heading(title)}{_blocks(inner)}"
        case Curves():
            return curves_svg(block)
        case Chart() | Terms():
            return ""  # a card is small; pages have the charts


def _heading(text: str) -> str:
    return f'<div style="margin:.6em 0 .2em;font-weight:600">{escaped(text)}</div>'


def _table(table: Table) -> str:
    """A table, with numbers to the right; of more than `MOST_ROWS` rows, some, and how many are left out."""
    if not table.rows:
        return ""
    headings, texts = table.headings, table.texts()
    first, last = table.shown_rows(None if len(texts) <= MOST_ROWS else MOST_ROWS - 1)
    rest = len(texts) - len(first) - len(last)
    right = [table.is_numeric(j) for j in range(len(headings))]
    # A column of bars has no heading, and a heading that heads nothing is none.
    head = "".join(
        _cell("th", escaped(column.name), column.name, right[j], 'scope="col" ')
        if column.name
        else _cell("td", "", "", False)
        for j, column in enumerate(headings)
    )
    lines = [
        "".join(_body_cell(cell, texts[i][j], right[j], i in table.chosen) for j, cell in enumerate(table.rows[i]))
        for i in (*first, *last)
    ]
    if last:
        gap = f'<td colspan="{len(headings)}" style="{_CELL};{_RULE};{_FAINT}">… {rest:,} more</td>'
        lines.insert(len(first), gap)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    left_out = f"and {counted(rest, 'more row')}" if rest and not last else ""
    notes = [note for note in (left_out, table.note) if note]
    return (
        f'{_heading(table.title) if table.title else ""}<div style="overflow-x:auto" tabindex="0" role="group" '
        'aria-label="Table"><table style="border-collapse:collapse;margin:.2em 0;font-size:1em;color:inherit">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{_blocks(notes)}"
    )


def _body_cell(cell: Cell, text: str, right: bool, is_chosen: bool) -> str:
    look = f"{_TONES[tone_of(cell, text)]}{';font-weight:600' if is_chosen else ''}"
    if isinstance(cell, Bar):
        return _cell("td", bar(cell.share), "", False)
    if isinstance(cell, Trend):
        return _cell("td", _trend(cell), "", False)
    return _cell("td", escaped(text), printable(text), right, look=look)


def _trend(trend: Trend) -> str:
    """A trend as small columns."""
    columns = "".join(
        f'<rect x="{6 * i}" y="{14 - 13 * step:.1f}" width="5" height="{1 + 13 * step:.1f}"/>'
        for i, step in enumerate(steps_of(trend))
    )
    return f'<svg aria-hidden="true" width="72" height="15" fill="{BLUE}">{columns}</svg>'


def curves_svg(curves: Curves) -> str:
    """Curves drawn as SVG."""
    lines, unit = curves.lines, curves.unit
    left, top, width, height = 34, 10, 270, 80
    last = max(age for line in lines.values() for age, _ in line) or 1.0
    low = min(0.0, *(value for line in lines.values() for _, value in line))
    high = max(1.0, *(value for line in lines.values() for _, value in line))

    def at(age: float, value: float) -> str:
        return f"{left + width * age / last:.1f},{top + height * (high - value) / (high - low):.1f}"

    ticks = [value for value in (0.0, 0.5, 1.0) if low <= value <= high]
    grid = "".join(
        f'<polyline points="{at(0, value)} {at(last, value)}" fill="none" stroke="currentColor" stroke-opacity=".25"/>'
        f'<text x="{left - 6}" y="{float(at(0, value).split(",")[1]) + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in ticks
    )
    drawn = "".join(
        f'<polyline points="{" ".join(at(age, value) for age, value in line)}" fill="none" stroke="{BLUE}" '
        f'stroke-width="2.2" stroke-linejoin="round" stroke-dasharray="{_DASHES[i % len(_DASHES)]}"/>'
        for i, line in enumerate(lines.values())
    )
    below = top + height + 15
    axis = "".join(
        f'<text x="{left + width * part:.0f}" y="{below}" text-anchor="{anchor}">{escaped(text)}</text>'
        for part, anchor, text in (
            (0.0, "start", "now"),
            (0.5, "middle", amount(last / 2)),
            (1.0, "end", f"{amount(last)} {unit} ago"),
        )
    )
    return (
        f'<svg role="img" aria-label="{escaped(curves.alt)}" width="{left + width + 6}" height="{below + 6}" '
        f'viewBox="0 0 {left + width + 6} {below + 6}" style="max-width:100%;height:auto" font-size="11" '
        f'fill="currentColor">{grid}{drawn}{axis}</svg>'
    )


def _cell(tag: str, inside: str, text: str, right: bool, scope: str = "", look: str = "") -> str:
    least = f"overflow-wrap:anywhere;min-width:{min(len(text), _WHOLE) + 1}ch"
    wraps = least if not right else "white-space:normal" if tag == "th" else "white-space:nowrap"
    weight = ";font-weight:600;vertical-align:bottom" if tag == "th" else ";font-variant-numeric:tabular-nums"
    style = f"{_CELL};{wraps};{_RULE};text-align:{'right' if right else 'left'}{weight}{look}"
    return f'<{tag} {scope}style="{style}">{inside}</{tag}>'
