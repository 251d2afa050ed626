"""The figures of a page about what would have been. Names go through `label`, since Plotly reads tags as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bygones._text import amount
from bygones.audit import QueueReplay, WhatIf
from bygones.audit.replay.courses import Course, Spread
from bygones.kinds import words
from bygones.report.page import Chart, label
from bygones.report.style import MUTED, PALETTE

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_LEGEND_LINE = 20  # on a phone, every entry of a legend has a line of its own
_APART = {"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"}


def course_name(course: Course, *, with_rule: bool = True) -> str:
    """A course in few words: its memory and its rule."""
    memory = course.memory.phrase.removeprefix("With ").removeprefix("a ").replace("half-life of", "half-life")
    return f"{memory}, {course.rule}" if with_rule else memory


def fairness_chart(found: WhatIf) -> Chart:
    """Total and inequality of what was received: what happened, and each alternative with its uncertainty of ties."""
    actual, word = found.courses[0], words(found.kind).received
    memories = list(dict.fromkeys(course.memory for course in found.courses))
    rules = list(dict.fromkeys(course.rule for course in found.alternatives()))
    traces = [_point("what happened", actual, {"color": MUTED, "symbol": "star", "size": 16})]
    for course in found.alternatives():
        colour = PALETTE[memories.index(course.memory) % len(PALETTE)]
        symbol = _SYMBOLS[rules.index(course.rule) % len(_SYMBOLS)]
        look = {"color": colour, "symbol": symbol, "size": 12}
        traces.append(_point(course_name(course, with_rule=len(rules) > 1), course, look))
    ends = "; ".join(
        f"{course_name(each)}: total {each.total.text}, Gini {each.gini_received.text}"
        for each in [actual, *found.alternatives()]
    )
    better = "less in total" if found.kind == "burden" else "more in total"
    return Chart(
        {
            "data": traces,
            "layout": {
                "xaxis": {**_APART, "title": {"text": f"total {word}"}},
                "yaxis": {**_APART, "rangemode": "tozero", "title": {"text": "Gini coefficient"}},
                "hovermode": "closest",
            },
        },
        alt=f"Total and inequality of what was {word}. {ends}.",
        caption=f"Total and inequality of what was {word}: further down is more equal, further to the "
        f"{'left' if found.kind == 'burden' else 'right'} is {better}. Bars are the uncertainty of ties.",
        height=360 + _LEGEND_LINE * len(traces),
    )


def _point(name: str, course: Course, look: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": label(name), "x": [_middle(course.total)],
        "y": [_middle(course.gini_received)], "marker": look, "error_x": _bar(course.total, look["color"]),
        "error_y": _bar(course.gini_received, look["color"]), "cliponaxis": False,
        "hovertemplate": f"total {course.total.text}, Gini {course.gini_received.text}<extra>{label(name)}</extra>",
    }  # fmt: skip


def gains_chart(found: WhatIf, rows: Sequence[int]) -> Chart:
    """How much more or less each agent would have received, one mark per alternative."""
    word, actual = words(found.kind).received, found.courses[0].received
    names, y = [label(_short(found.names[row])) for row in rows], list(range(len(rows)))
    memories = list(dict.fromkeys(course.memory for course in found.courses))
    rules = list(dict.fromkeys(course.rule for course in found.alternatives()))
    traces: list[dict[str, Any]] = []
    for course in found.alternatives():
        name = label(course_name(course, with_rule=len(rules) > 1))
        look = {
            "size": 11, "color": PALETTE[memories.index(course.memory) % len(PALETTE)],
            "symbol": _SYMBOLS[rules.index(course.rule) % len(_SYMBOLS)],
        }  # fmt: skip
        x = [float(course.received[row] - actual[row]) for row in rows]
        traces.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": look, "cliponaxis": False,
             "customdata": names, "hovertemplate": "%{customdata}: %{x:+,.4g}<extra>" + name + "</extra>"}
        )  # fmt: skip
    layout = {
        "xaxis": {**_APART, "zeroline": True, "zerolinewidth": 2, "title": {"text": f"{word} more or less"}},
        "yaxis": {**_APART, "tickvals": y, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False},
        "hovermode": "closest",
    }
    most = found.alternatives()[0].received - actual
    some = ", ".join(f"{found.names[row]} {amount(most[row], sign=True)}" for row in rows[:6])
    all_of = "" if len(rows) == len(found.names) else f" The figure shows the {len(rows)} with the largest changes."
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Change of what each agent {word}; with {course_name(found.alternatives()[0])}: {some}.",
        caption=f"How much more or less each agent would have {word}, one mark per alternative.{all_of}",
        height=110 + 28 * len(rows) + _LEGEND_LINE * len(traces),
    )


def waits_chart(found: QueueReplay, rows: Sequence[int]) -> Chart:
    """The mean wait of each user, as it was and under each half-life."""
    names, y = [label(_short(found.names[row])) for row in rows], list(range(len(rows)))
    traces: list[dict[str, Any]] = []
    for n, (course, waits) in enumerate(found.waits.items()):
        is_actual = course == "actual"
        look = {"size": 11, "color": MUTED if is_actual else PALETTE[(n - 1) % len(PALETTE)],
                "symbol": "star" if is_actual else _SYMBOLS[(n - 1) % len(_SYMBOLS)]}  # fmt: skip
        name = "as it was" if is_actual else f"half-life {course}"
        traces.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": [float(waits[row]) / 3600e6 for row in rows],
             "y": y, "marker": look, "cliponaxis": False, "customdata": names,
             "hovertemplate": "%{customdata}: %{x:,.3g} h<extra>" + name + "</extra>"}
        )  # fmt: skip
    layout = {
        "xaxis": {**_APART, "rangemode": "tozero", "title": {"text": "mean wait in hours"}},
        "yaxis": {**_APART, "tickvals": y, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False},
        "hovermode": "closest",
    }
    waited = found.waits["actual"]
    some = ", ".join(f"{found.names[row]} {amount(waited[row] / 3600e6)} h" for row in rows[:6])
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Mean wait of each agent's jobs. As it was: {some}.",
        caption="Mean wait from the submission of a job to its start, as it was and under each half-life.",
        height=110 + 28 * len(rows) + _LEGEND_LINE * len(traces),
    )


def largest(changes: np.ndarray, most: int) -> list[int]:
    """The rows with the largest changes, from the largest gain to the largest loss."""
    size = np.abs(changes).max(axis=0)
    chosen = np.argsort(-size, kind="stable")[:most]
    return [int(row) for row in chosen[np.argsort(-changes[0][chosen], kind="stable")]]


def _middle(spread: Spread) -> float:
    return (spread.low + spread.high) / 2


def _bar(spread: Spread, colour: str) -> dict[str, Any]:
    half = (spread.high - spread.low) / 2
    return {"type": "data", "array": [half], "visible": half > 0, "color": colour, "thickness": 1.5}


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
