"""Objects as notebooks show them: small cards of tables, sentences and curves.

A notebook is light or dark, and a card cannot ask which. So everything has the colour of the text around it, more or
less of it, and what stands out has one blue that can be seen on both. All text is escaped: what is markup is written
in this module.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bygones._text import amount, counted, printable

MOST_ROWS = 20
"""The most rows of a table that are shown."""

BLUE = "#2F80C3"
"""Has a contrast above 3 with white and with black."""

_FAINT = "color:inherit;opacity:.8"
_RULE = "border:0;border-bottom:1px solid rgba(128,128,128,.4)"
_CELL = "padding:.2em .8em .2em 0;background:none;color:inherit;max-width:24em"
_WHOLE = 16
"""Characters up to which a text stays on one line, however little room there is."""
_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?%?")
_DASHES = ("", "6 3", "2 2", "8 3 2 3")


class Markup(NamedTuple):
    """Text that is markup already; any other text is escaped."""

    html: str


def escaped(text: object) -> str:
    """Text that shows as it is: nothing in it is markup, invisible, or changes the direction of what follows."""
    return html.escape(printable(str(text)))


def card(title: str, *parts: Markup, name: str = "") -> str:
    """A titled card; `name` says in a word what the title is about."""
    head = f'<span style="{_FAINT}">{escaped(name)}</span> ' if name else ""
    body = "".join(part.html for part in parts)
    return (
        '<div style="font-size:.92em;line-height:1.45;margin:.3em 0 .6em">'
        f'<div style="margin-bottom:.3em">{head}<strong>{escaped(title)}</strong></div>{body}</div>'
    )


def heading(text: str) -> Markup:
    """The heading of a part of a card."""
    return Markup(f'<div style="margin:.6em 0 .2em;font-weight:600">{escaped(text)}</div>')


def note(sentence: str) -> Markup:
    """A sentence below or above something else."""
    return Markup(f'<div style="{_FAINT};max-width:46em;margin:.2em 0">{escaped(sentence)}</div>')


def bullets(sentences: Iterable[str]) -> Markup:
    """Sentences, each with a mark before it."""
    items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in sentences)
    return Markup(f'<ul style="max-width:46em;margin:.4em 0;padding-left:1.3em">{items}</ul>')


def beside(*parts: Markup) -> Markup:
    """Parts side by side where there is room, else below each other."""
    inside = "".join(f"<div>{part.html}</div>" for part in parts)
    return Markup(f'<div style="display:flex;flex-wrap:wrap;gap:.4em 2em;align-items:center">{inside}</div>')


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, most: int = MOST_ROWS) -> Markup:
    """A table, with numbers to the right; of more than `most` rows, the first ones and how many are left out."""
    shown = rows if len(rows) <= most else rows[: most - 1]
    right = [_are_numbers([row[j] for row in shown]) for j in range(len(columns))]
    # A column of bars has no heading, and a heading that heads nothing is none.
    head = "".join(
        _cell("th", column, right[j], 'scope="col" ') if column else _cell("td", "", False)
        for j, column in enumerate(columns)
    )
    body = "".join(f"<tr>{''.join(_cell('td', cell, right[j]) for j, cell in enumerate(row))}</tr>" for row in shown)
    rest = len(rows) - len(shown)
    left_out = note(f"and {counted(rest, 'more row')}").html if rest else ""
    return Markup(
        '<div style="overflow-x:auto" tabindex="0" role="group" aria-label="Table">'
        '<table style="border-collapse:collapse;margin:.2em 0;font-size:1em;color:inherit">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{left_out}"
    )


def bar(share: float) -> Markup:
    """A bar as long as a share of one, for a column beside its number."""
    look = (
        f"display:block;width:{100 * min(1.0, max(0.0, share)):.1f}%;height:100%;background:{BLUE};border-radius:.1em"
    )
    frame = "display:inline-block;width:5em;height:.7em;vertical-align:middle"
    return Markup(f'<span style="{frame}"><span style="{look}"></span></span>')


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], label: str, unit: str) -> Markup:
    """Curves between 0 and 1 over ages from 0 on, drawn as SVG; `label` is what a listener hears instead."""
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
    return Markup(
        f'<svg role="img" aria-label="{escaped(label)}" width="{left + width + 6}" height="{below + 6}" '
        f'viewBox="0 0 {left + width + 6} {below + 6}" style="max-width:100%;height:auto" font-size="11" '
        f'fill="currentColor">{grid}{drawn}{axis}</svg>'
    )


def _are_numbers(column: Sequence[object]) -> bool:
    """Whether most of the cells with something in them are numbers; the others are words such as `on hold`."""
    texts = [cell.html if isinstance(cell, Markup) else _shown(cell) for cell in column]
    numbers = [bool(_NUMBER.fullmatch(text)) for text in texts if text]
    return 2 * sum(numbers) > len(numbers)


def _shown(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float):
        return amount(cell)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _cell(tag: str, cell: object, right: bool, scope: str = "") -> str:
    text = "" if isinstance(cell, Markup) else printable(_shown(cell))
    inside = cell.html if isinstance(cell, Markup) else escaped(text)
    least = f"overflow-wrap:anywhere;min-width:{min(len(text), _WHOLE) + 1}ch"
    wraps = least if not right else "white-space:normal" if tag == "th" else "white-space:nowrap"
    weight = ";font-weight:600;vertical-align:bottom" if tag == "th" else ";font-variant-numeric:tabular-nums"
    look = f"{_CELL};{wraps};{_RULE};text-align:{'right' if right else 'left'}{weight}"
    return f'<{tag} {scope}style="{look}">{inside}</{tag}>'
