"""Pages in one common style: a title, a lede and sections become a single self-contained HTML file.

    page = Page("Fair night shifts", "Who worked how many, and who is next.", [
        Section("Standings", ["Ana is ahead.", Table("Hours so far", ["person", "hours"], [["Ana", 8], ["Ben", 6]])]),
        Section("Over time", [Chart(plotly_figure, alt="Ana leads from March on.", caption="Hours, by week")]),
    ])
    write(page, Path("shifts.html"))

All text is escaped: a name is shown as it is, whatever it contains. In addition, the page's content security policy
forbids loading anything and running any script except the page's own. The page therefore works without a network, and a
name could not run a script even if it were not escaped.

The common template, style and script are in `templates`. A page with parts of its own lies in its own folder, with a
folder `templates` beside its code, and passes HTML (`fragment`), data (`Page.data`), styles and scripts. Its scripts
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bygones._files import write_text
from bygones._text import amount
from bygones.report.style import INK, MUTED, PALETTE, RULE

if TYPE_CHECKING:
    import plotly.graph_objects

LIGHT = {"paper": "#FFFFFF", "panel": "#F5F7F9", "ink": INK, "muted": "#5B6470", "rule": RULE, "link": "#005A8C",
         "holds": "#00684B", "fails": "#A33F00", "line": MUTED}  # fmt: skip
"""The colours of the light page; each text colour has a contrast of at least 4.5 with its background."""

DARK = {"paper": "#14181D", "panel": "#1D232A", "ink": "#E7EBEF", "muted": "#A3ADB8", "rule": "#343D47",
        "link": "#7CC4F2", "holds": "#4CCBA3", "fails": "#FF9A62", "line": "#8B95A1"}  # fmt: skip
"""The colours of the dark page."""

BY_NIGHT = {"#000000": "#FFFFFF", INK: DARK["ink"], "#0072B2": "#3D9BD9", MUTED: DARK["line"]}
"""Colours of the palette that are too dark for the dark page, and their replacements there."""


@dataclass(frozen=True)
class Table:
    """A table with a caption and a header row; the first cell of each row names the row.

    Attributes:
        caption: what the table shows.
        columns: the header.
        rows: the cells. Numbers are aligned right, floats have four digits; None is an empty cell.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(_is_number(row[i]) for row in self.rows) for i in range(len(self.columns))]


@dataclass(frozen=True)
class Chart:
    """An interactive figure.

    Attributes:
        figure: a Plotly figure, or the same as a dictionary with `data` and `layout`. Names that come from users must
            be passed through `label`.
        alt: what the figure shows, in a sentence or two, for screen readers.
        caption: the text below it.
        height: in pixels.
    """

    figure: plotly.graph_objects.Figure | Mapping[str, Any]
    alt: str
    caption: str
    height: int = 380


Block: TypeAlias = str | Markup | Table | Chart
"""A paragraph of text, HTML made by `fragment`, a table, or a chart."""


@dataclass(frozen=True)
class Section:
    """A heading with its blocks. Links to `#name` lead to it; the default name is the title in lower case."""

    title: str
    blocks: Sequence[Block]
    name: str = ""

    @property
    def anchor(self) -> str:
        """The name that links use."""
        return self.name or re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "section"


@dataclass(frozen=True)
class Page:
    """The content of a page.

    Attributes:
        title: the heading of the page and of its browser tab.
        lede: the opening paragraph; text, or HTML made by `fragment`.
        sections: the sections, which are also listed in a menu below the lede.
        kicker: a short line above the title.
        footer: the last line.
        data: plain values by name, for the page's own scripts.
        scripts: JavaScript, run after the common script.
        styles: CSS, added after the common style.
        plotly: whether the page's own scripts draw, so that Plotly is included even if no section holds a chart.
    """

    title: str
    lede: str | Markup
    sections: Sequence[Section]
    kicker: str = "bygones"
    footer: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    styles: Sequence[str] = ()
    plotly: bool = False


def render(page: Page) -> str:
    """The page as one HTML document."""
    charts = [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]
    scripts = [_script(source) for source in (asset("templates/page.js"), *page.scripts)]
    source, packed = _plotly() if page.plotly or charts else ("", "")
    by_day, by_night = ("".join(f"--{name}:{value};" for name, value in theme.items()) for theme in (LIGHT, DARK))
    colours = f":root {{ {by_day} }} @media screen and (prefers-color-scheme: dark) {{ :root {{ {by_night} }} }}"
    data = {**page.data, "colours": {"palette": PALETTE, "byNight": BY_NIGHT}}
    return fragment(
        "templates/page.html.jinja",
        page=page,
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


def fragment(template: str, **values: Any) -> Markup:
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


def shown(cell: object) -> str:
    """A table cell as text: floats have four digits, None is empty."""
    if isinstance(cell, float):
        return amount(cell, digits=4)
    return "" if cell is None else str(cell)


def label(text: str) -> str:
    """A text escaped for Plotly, which interprets tags in names and ticks as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("bygones.report", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"json": as_json, "shown": shown}
    environment.tests |= {
        "number": _is_number,
        "table": lambda block: isinstance(block, Table),
        "chart": lambda block: isinstance(block, Chart),
        "html": lambda block: isinstance(block, Markup),
    }
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
    """The names, with a number added to those that repeat an earlier one."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}-{number}"
        found.append(candidate)
    return found


def _is_number(cell: object) -> bool:
    return isinstance(cell, float | int) and not isinstance(cell, bool)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
