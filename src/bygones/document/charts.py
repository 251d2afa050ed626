"""Charts of the two kinds that answers need, dots in rows and lines, as plain Plotly figures; and their colours.

Names that come from users pass through `label`, because Plotly reads tags in them as markup. The page that draws a
chart replaces the colours that cannot be seen on its background.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bygones._arrays import Json
from bygones.document.document import Chart

INK = "#1F2933"
MUTED = "#6B7280"
RULE = "#D8DDE3"
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")
"""Okabe and Ito's colours, which people with any kind of colour vision can distinguish."""

MOST_ROWS = 30
"""The most rows of a chart."""

MOST_LINES = 6
"""The most lines of a chart."""

# Invisible ticks keep the labels of the two axes apart.
APART = {"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"}

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_LEGEND_LINE = 22  # on a phone, every entry of a legend has its own line
_ROW, _DOT = 30, 15
_LONGEST = 28
_TITLE = 26  # on a phone, the names of the rows leave room for about as many characters


class Dots(NamedTuple):
    """A dot in each row.

    Attributes:
        name: their name in the legend.
        values: where they are; None or NaN where a row has none.
        spans: the ends of a bar through each dot.
        look: `grey` for what others are compared with, `mark` for a vertical line across the row.
    """

    name: str
    values: Sequence[float | None]
    spans: Sequence[tuple[float, float]] = ()
    look: str = ""


class Line(NamedTuple):
    """A line.

    Attributes:
        name: its name in the legend.
        x: its places along the horizontal axis.
        y: its heights; None or NaN where it is interrupted.
        places: the places as text; by default the axis formats them.
    """

    name: str
    x: Sequence[object]
    y: Sequence[float | None]
    places: Sequence[str] = ()


def dot_chart(
    rows: Sequence[str], dots: Sequence[Dots], axis: str, *, alt: str, caption: str, numbers: str = ",.4g"
) -> Chart:
    """Dots in rows that have names. Dots of one row stand below each other, so none hides another.

    Args:
        rows: the names.
        dots: the numbers to compare, the first on top.
        axis: the title of the horizontal axis, with its unit.
        alt: see `Chart`.
        caption: see `Chart`.
        numbers: how numbers are formatted where the reader points, as D3 writes it.
    """
    names = [label(_short(name)) for name in rows]
    known = [[_known(value) for value in each.values] for each in dots]
    level = [n for n, each in enumerate(dots) if each.look != "mark"]
    most = max((sum(known[n][i] is not None for n in level) for i in range(len(rows))), default=1)
    height = max(_ROW, _DOT * most + _DOT)
    traces, coloured = [], 0
    for n, each in enumerate(dots):
        colour = MUTED if each.look else PALETTE[coloured % len(PALETTE)]
        marker: Json = {"size": 11, "symbol": _SYMBOLS[coloured % len(_SYMBOLS)], "color": colour}
        if each.look == "mark":
            line = {"width": 2.5, "color": MUTED}
            marker = {"symbol": "line-ns", "size": height - 12, "line": line, "color": MUTED}
        elif each.look:
            marker |= {"symbol": "star", "size": 13}
        coloured += not each.look
        y = []
        for i in range(len(rows)):
            here = [m for m in level if known[m][i] is not None]
            place = here.index(n) - (len(here) - 1) / 2 if n in here else 0.0
            y.append(i + place * _DOT / height)
        text = label(each.name)
        trace = {
            "type": "scatter", "mode": "markers", "name": text, "x": known[n], "y": y, "marker": marker,
            "cliponaxis": False, "customdata": names,
            "hovertemplate": f"%{{customdata}}: %{{x:{numbers}}}<extra>{text}</extra>",
        }  # fmt: skip
        traces.append(trace | ({"error_x": _bars(known[n], each.spans, colour)} if each.spans else {}))
    layout = {
        "xaxis": {
            **APART, "rangemode": "tozero", "zeroline": True, "tickformat": tick_format(known, numbers),
            "title": {"text": "<br>".join(label(part) for part in textwrap.wrap(axis, _TITLE))},
        },
        "yaxis": {
            **APART, "ticklen": 10, "tickvals": list(range(len(rows))), "ticktext": names, "zeroline": False,
            "range": [len(rows) - 0.4, -0.6],
        },
        "hovermode": "closest", "showlegend": len(dots) > 1,
    }  # fmt: skip
    size = 100 + height * len(rows) + _LEGEND_LINE * len(dots)
    return Chart({"data": traces, "layout": layout}, alt=alt, caption=caption, height=size)


def line_chart(
    lines: Sequence[Line], x_axis: Mapping[str, object], y_title: str, *, alt: str, caption: str,
    numbers: str = ",.4g", scale: Mapping[str, object] | None = None, height: int = 320,
) -> Chart:  # fmt: skip
    """Lines, in colours and dashes that differ.

    Args:
        lines: the lines.
        x_axis: the horizontal axis, as Plotly has it, with its title.
        y_title: the title of the vertical axis, with its unit.
        alt: see `Chart`.
        caption: see `Chart`.
        numbers: how numbers are formatted where the reader points, as D3 writes it.
        scale: the scale of the vertical axis, which by default begins at zero.
        height: in pixels, without the legend.
    """
    traces = []
    for n, line in enumerate(lines):
        look = {"color": PALETTE[n % len(PALETTE)], "width": 2, "dash": _DASHES[n % len(_DASHES)]}
        trace = {
            "type": "scatter", "mode": "lines" if len(line.x) > 2 else "lines+markers",
            "name": label(_short(line.name)), "x": list(line.x), "y": [_known(value) for value in line.y], "line": look,
            "hovertemplate": f"%{{y:{numbers}}}" + (" at %{customdata}" if line.places else ""),
        }  # fmt: skip
        traces.append(trace | ({"customdata": list(line.places)} if line.places else {}))
    ticks = tick_format([line.y for line in lines], numbers)
    y_axis = {**APART, "tickformat": ticks, **(scale or {"rangemode": "tozero"}), "title": {"text": label(y_title)}}
    layout = {
        "xaxis": {**APART, **x_axis}, "yaxis": y_axis, "hovermode": "closest", "showlegend": len(lines) > 1,
    }  # fmt: skip
    figure = {"data": traces, "layout": layout}
    return Chart(figure, alt=alt, caption=caption, height=height + _LEGEND_LINE * len(lines))


def label(text: str) -> str:
    """A text escaped for Plotly, which interprets tags in names and ticks as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def tick_format(values: Sequence[Sequence[float | None]], numbers: str) -> str:
    """How the numbers along an axis are formatted; shares in percent with digits enough for a fifth of the largest."""
    if not numbers.endswith("%"):
        return ""
    known = [abs(value) for each in values for value in each if value is not None and math.isfinite(value)]
    most = max(known, default=0.0) or 1.0
    return f"{'+' if '+' in numbers else ''}.{max(0, -math.floor(math.log10(20 * most)))}%"


def some_rows(ranked: Sequence[int], most: int = MOST_ROWS) -> list[int]:
    """The rows of a chart: all, or of many those at both ends."""
    return list(ranked) if len(ranked) <= most else [*ranked[: most // 2], *ranked[-(most // 2) :]]


def _bars(middles: Sequence[float | None], spans: Sequence[tuple[float, float]], colour: str) -> Json:
    pairs = list(zip(middles, spans, strict=True))
    return {
        "type": "data", "symmetric": False, "color": colour, "thickness": 1.5,
        "array": [0.0 if x is None else max(high - x, 0.0) for x, (_, high) in pairs],
        "arrayminus": [0.0 if x is None else max(x - low, 0.0) for x, (low, _) in pairs],
    }  # fmt: skip


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
