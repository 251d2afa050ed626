"""Pages in one common style: a document, or a title, a lede and sections, become a single self-contained HTML file.

    write(document_page(audit.document()), Path("audit.html"))

    page = Page("Fair night shifts", "Who worked how many, and who is next.", [
        Section("Standings", ["Ana is ahead.", Table("Hours so far", ["person", "hours"], [["Ana", 8], ["Ben", 6]])]),
        Section("Over time", [Chart(plotly_figure, alt="Ana leads from March on.", caption="Hours, by week")]),
    ])
    write(page, Path("shifts.html"))

All text is escaped: a name is shown verbatim, whatever it contains. In addition, the page's content security policy
forbids loading anything and running any script except the page's own. The page therefore works without a network, and a
name could not run a script even if it were not escaped.

The common templates, styles and scripts are in `templates`. A page with custom parts lies in its own folder, with a
folder `templates` next to its code, and passes HTML (`fragment`), data (`Page.data`), styles and scripts. Its scripts
find an object `window.bygones` with `data(name)`, the data of the page; `draw(element, figure)`, which draws a Plotly
figure in the page's colours, light or dark, and again when they change; `whenSeen(element, action)`, which delays an
action until the element comes into view or the page has time; and `shown(number)`, which formats a number.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bygones._arrays import Json
from bygones._files import write_text
from bygones.document import document as documents
from bygones.document.document import Chart, Section, Table
from bygones.document.notebook import curves_svg
from bygones.report.style import INK, MUTED, PALETTE, RULE

LIGHT = {"paper": "#FFFFFF", "panel": "#F5F7F9", "ink": INK, "muted": "#5B6470", "rule": RULE, "link": "#005A8C",
         "holds": "#00684B", "fails": "#A33F00", "line": MUTED, "bar": PALETTE[0]}  # fmt: skip
"""The colours of the light page; each text colour has a contrast of at least 4.5 with its background."""

DARK = {"paper": "#14181D", "panel": "#1D232A", "ink": "#E7EBEF", "muted": "#A3ADB8", "rule": "#343D47",
        "link": "#7CC4F2", "holds": "#4CCBA3", "fails": "#FF9A62", "line": "#8B95A1", "bar": "#3D9BD9"}  # fmt: skip
"""The colours of the dark page."""

BY_NIGHT = {"#000000": "#FFFFFF", INK: DARK["ink"], MUTED: DARK["line"]}
"""Colours of the palette that are too dark for the dark page, and their replacements there."""


LISTED = 50
"""The most rows of a long table that are shown at once; the reader finds the others by searching, or shows them all."""

SEARCHED = 8
"""A long table with at most this many rows needs no search."""

Block: TypeAlias = "documents.Block | Markup"
"""A block of a document, or HTML made by `fragment`."""


class PageCell(NamedTuple):
    """A cell of a table on a page.

    Attributes:
        text: its content.
        value: the number or text by which rows are sorted; None if there is none.
        classes: how it looks.
        share: the length of a bar in percent; None if it is none.
    """

    text: str
    value: float | str | None
    classes: str
    share: float | None


@dataclass(frozen=True)
class Page:
    """The content of a page.

    Attributes:
        title: the heading of the page and of its browser tab.
        lede: the opening paragraph; text, or HTML made by `fragment`.
        opening: what stands before the first section.
        sections: the sections, which are also listed in a menu below the lede.
        kicker: a short line above the title.
        footer: the last line.
        data: plain values by name, for the page's own scripts.
        scripts: JavaScript, run after the common script.
        styles: CSS, added after the common style.
        plotly: whether the page's own scripts draw, so Plotly is included even if no section holds a chart.
    """

    title: str
    lede: str | Markup
    sections: Sequence[Section]
    kicker: str = "bygones"
    footer: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    styles: Sequence[str] = ()
    plotly: bool = False
    opening: Sequence[Block] = ()


def document_page(document: documents.Document, footer: str = "") -> Page:
    """The page of a document: the blocks before its first section open it, and those after a section belong to it."""
    opening: list[documents.Block] = []
    sections: list[Section] = []
    for block in document.blocks:
        if isinstance(block, Section):
            sections.append(block)
        elif sections:
            sections[-1] = replace(sections[-1], blocks=[*sections[-1].blocks, block])
        else:
            opening.append(block)
    title = document.title or document.label
    kicker = f"bygones · {document.label}" if document.label else "bygones"
    return Page(title, document.headline, sections, kicker=kicker, footer=footer, opening=opening)


def render(page: Page) -> str:
    """The page as one HTML document."""
    blocks = list(_every([*page.opening, *page.sections]))
    common = ["templates/page.js", *(["templates/tables.js"] if any(map(_is_listing, blocks)) else [])]
    scripts = [_script(source) for source in (*map(asset, common), *page.scripts)]
    source, packed = _plotly() if page.plotly or any(isinstance(block, Chart) for block in blocks) else ("", "")
    by_day, by_night = ("".join(f"--{name}:{value};" for name, value in theme.items()) for theme in (LIGHT, DARK))
    colours = f":root {{ {by_day} }} @media screen and (prefers-color-scheme: dark) {{ :root {{ {by_night} }} }}"
    data = {**page.data, "colours": {"palette": PALETTE, "byNight": BY_NIGHT}}
    return fragment(
        "templates/page.html.jinja",
        page=page,
        has_charts=bool(source),
        anchors=_distinct([section.anchor for section in page.sections]),
        policy=_policy([source, *scripts] if source else scripts),
        styles=[Markup(style) for style in (colours, asset("templates/page.css"), *page.styles)],
        data={name: as_json(value) for name, value in data.items()},
        plotly=packed,
        scripts=[Markup(script) for script in scripts],
    )


def write(page: Page, path: Path | str) -> Path:
    """Writes the page to a file, completely or not at all, and returns the path."""
    path = Path(path)
    write_text(path, render(page))
    return path


def fragment(template: str, **values: object) -> Markup:
    """HTML from a template, named by its path in this package; values are escaped unless they already are HTML."""
    return Markup(_templates().get_template(template).render(**values))


def asset(name: str) -> str:
    """The text of a script or style, named by its path in this package."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def as_json(value: Any) -> Markup:
    """A value as JSON that is safe inside a script element; NaN and infinities, which JSON lacks, become null."""
    if hasattr(value, "to_plotly_json"):
        value = json.loads(value.to_json())
        value.get("layout", {}).pop("template", None)
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def cells(table: Table) -> list[list[PageCell]]:
    """The cells of a table as a page shows them."""
    right = ["number" if table.is_numeric(j) else "" for j in range(len(table.headings))]
    return [
        [_cell(cell, text, right[j]) for j, (cell, text) in enumerate(zip(row, texts, strict=True))]
        for row, texts in zip(table.rows, table.texts(), strict=True)
    ]


def _cell(cell: documents.Cell, text: str, side: str) -> PageCell:
    classes = " ".join(filter(None, (side, documents.tone_of(cell, text))))
    match cell:
        case documents.Bar(share):
            return PageCell("", None, "bars", round(100 * min(1.0, max(0.0, share)), 1))
        case documents.Trend():
            return PageCell(documents.trend_text(cell), None, "bars", None)
        case documents.Signed(value) | documents.Share(value):
            return PageCell(text.replace("-", "−"), None if math.isnan(value) else value, classes, None)
        case int() | float() if not isinstance(cell, bool):
            return PageCell(text, None if math.isnan(cell) else float(cell), classes, None)
        case _:
            return PageCell(text, text or None, classes, None)


def _is_listing(block: Block) -> bool:
    """Whether a block can be searched, sorted and downloaded: a long table, or several of which one is shown."""
    if isinstance(block, documents.OneOf):
        return len(block.tables) > 1 or any(map(_is_listing, block.tables.values()))
    return isinstance(block, Table) and block.most is not None and len(block.rows) > SEARCHED


def _listing(tables: Mapping[str, Table], label: str) -> Json:
    """All rows of some tables with the same columns, for the script that searches and sorts them."""
    first = next(iter(tables.values()))
    return {
        "label": label,
        "choices": list(tables),
        "columns": [column.name for column in first.headings],
        "titles": [table.title for table in tables.values()],
        "tables": [[[cell._asdict() for cell in row] for row in cells(table)] for table in tables.values()],
        "shown": LISTED,
    }


def _options(text: str, tag: str) -> Markup:
    """A text in which options such as `--half-life` are not broken: as code in a sentence, as spans in a command."""
    opened = Markup("<code>") if tag == "code" else Markup('<span class="option">')
    return Markup("").join(
        opened + part + Markup(f"</{tag}>") if n % 2 else part for n, part in enumerate(_OPTION.split(text))
    )


_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")


def _every(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks and those inside them."""
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from _every(block.blocks)


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("bygones.report", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "json": as_json, "kind": lambda block: type(block).__name__, "cells": cells, "listing": _listing,
        "is_listing": _is_listing, "options": _options, "svg": lambda curves: Markup(curves_svg(curves)),
    }  # fmt: skip
    environment.tests |= {"html": lambda block: isinstance(block, Markup)}
    environment.globals |= {"LISTED": LISTED, "SEARCHED": SEARCHED}
    return environment


@functools.cache
def _plotly() -> tuple[str, str]:
    """Plotly's source, and the same compressed and in base64, which is less than half the size."""
    from plotly.offline import get_plotlyjs

    source = str(get_plotlyjs())
    return source, base64.b64encode(gzip.compress(source.encode(), mtime=0)).decode()


def _script(source: str) -> str:
    """A script that is safe inside the page: it must not end its script element."""
    if re.search(r"</script|<!--", source, re.IGNORECASE):
        raise ValueError("a script of a page must not contain '</script' or '<!--'; write '<\\/script' instead")
    return source.replace("\r\n", "\n").replace("\r", "\n")


def _policy(scripts: Sequence[str]) -> str:
    """A content security policy: nothing is loaded or sent, and only these scripts run, identified by their hashes."""
    hashes = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    # What default-src does not cover comes last.
    loaded = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    return f"{loaded}; base-uri 'none'; form-action 'none'"


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number added to each that repeats an earlier one."""
    distinct: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in distinct:
            number += 1
            candidate = f"{name}-{number}"
        distinct.append(candidate)
    return distinct


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
