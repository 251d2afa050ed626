"""The figures of an audit's page. Names go through `label`, because Plotly interprets tags in them as markup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bygones._text import amount
from bygones.audit import Audit, Trajectory, WhatIf
from bygones.kinds import words
from bygones.report.page import Chart, label
from bygones.report.style import MUTED, PALETTE

LINES = 6
"""The most agents that have their own line in a figure."""

BEYOND = 64
"""The figure over the half-life ends at this multiple of the longest finite one, or at the last flip beyond it."""

# Invisible ticks keep the labels of the two axes apart.
_APART = {"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def share_chart(audit: Audit, rows: Sequence[int]) -> Chart:
    """The shares of some agents and the shares they are entitled to, one mark per half-life.

    Where entitlements differ, each share is relative to the share that the agent is entitled to.
    """
    unit = audit.entitled if audit.per_unit else np.ones(len(audit.names))
    names = [label(_short(audit.names[row])) for row in rows]
    entitled = words(audit.kind).share if audit.kind == "burden" else "entitled"
    # Two agents may have the same short name: positions keep them apart.
    y = list(range(len(rows)))
    marks = {"symbol": "line-ns", "size": 18, "line": {"width": 2.5, "color": MUTED}, "color": MUTED}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "markers", "name": entitled, "x": _listed((audit.entitled / unit)[rows]), "y": y,
         "marker": marks, "cliponaxis": False, "hovertemplate": entitled + " %{x:.1%}<extra></extra>"}
    ]  # fmt: skip
    for n, stood in enumerate(audit.standings):
        name = half_life_name(audit, stood)
        marker = {"size": 11, "symbol": _SYMBOLS[n % len(_SYMBOLS)], "color": PALETTE[n % len(PALETTE)]}
        traces.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": _listed((stood.share / unit)[rows]), "y": y,
             "marker": marker, "cliponaxis": False, "customdata": names,
             "hovertemplate": "%{customdata}: %{x:.1%}<extra>" + name + "</extra>"}
        )  # fmt: skip
    places = {"tickvals": y, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False}
    ticks = _tick_format(np.array([(stood.share / unit)[rows] for stood in audit.standings]))
    relative = f"share, relative to the {words(audit.kind).share}"
    layout = {
        "xaxis": {
            **_APART,
            "tickformat": ticks,
            "rangemode": "tozero",
            "title": {"text": relative if audit.per_unit else "share of what is remembered"},
        },
        "yaxis": {**places, **_APART, "ticklen": 10},
        "hovermode": "closest",
    }
    stood = audit.standings[0]
    claim = "has a share of the load of" if audit.kind == "burden" else "is entitled to"
    alt = "; ".join(
        f"{audit.names[row]} has {percent(stood.share[row])} and {claim} {percent(audit.entitled[row])}"
        for row in rows[:LINES]
        if not math.isnan(stood.share[row])
    )
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Shares under each half-life. With {half_life_name(audit, stood)}: {alt}.",
        caption=f"Each agent's {relative if audit.per_unit else 'share of what is remembered'}, one mark per half-life."
        + (
            f" The figure shows {len(rows)} agents, the table below all {len(audit.names)}."
            if len(rows) < len(audit.names)
            else ""
        ),
        height=130 + 30 * len(rows),
    )


def series_chart(audit: Audit, name: str, title: str) -> Chart:
    """Gini coefficient or welfare over time, one line per half-life; welfare is relative to the mean."""
    lines, ends = [], []
    for n, stood in enumerate(audit.standings):
        series = getattr(stood, name) / (1.0 if name == "gini" else np.maximum(stood.mean, 1e-300))
        lines.append(_line(audit, half_life_name(audit, stood), series, n))
        ends.append(f"{amount(series[-1])} with {half_life_name(audit, stood)}")
    alt = f"{title}, over time. Final values: {', '.join(ends)}."
    # Relative to the mean, the heaviest load is at least 1, and the other measures are at most 1.
    scale = {"rangemode": "tozero"} if name == "heaviest" else {"range": [-0.02, 1.03]}
    layout = {"yaxis": {**_APART, **scale}, **_time_layout(audit)}
    return Chart({"data": lines, "layout": layout}, alt=alt, caption=title, height=290)


def agents_chart(audit: Audit) -> Chart:
    """The shares of the notable agents over time, under the longest finite half-life."""
    stood = next((s for s in reversed(audit.standings) if math.isfinite(s.half_life)), audit.standings[-1])
    rows = list(audit.conclusions.notable[:LINES])
    shares = audit.over_time(stood, rows)
    lines = [_line(audit, label(_short(audit.names[row])), shares[:, n], n) for n, row in enumerate(rows)]
    layout = {"yaxis": {**_APART, "tickformat": _tick_format(shares), "rangemode": "tozero"}, **_time_layout(audit)}
    names, owed = ", ".join(audit.names[row] for row in rows), words(audit.kind).owed
    return Chart(
        {"data": lines, "layout": layout},
        alt=f"Shares of what is remembered over time with {half_life_name(audit, stood)}, for {names}.",
        caption=f"Shares of what is remembered, {half_life_name(audit, stood)}: those most {owed} and furthest ahead.",
        height=340,
    )


def half_life_chart(audit: Audit) -> Chart:
    """What the notable agents are owed, as a share, over the half-life; their order flips where two lines cross."""
    owed = words(audit.kind).owed
    what, more = ("How much", "due before the other") if audit.kind == "burden" else ("What", "owed more")
    marks = [stood.half_life for stood in audit.standings]
    flips = [flip.half_life for each in audit.conclusions.flip for flip in each.flips if not flip.is_at_infinity]
    furthest = max([BEYOND * max(filter(math.isfinite, marks), default=1.0), *filter(math.isfinite, flips)])
    asked = [half_life for half_life in sorted(audit.conclusions.asked) if not furthest < half_life < math.inf]
    finite = [half_life for half_life in asked if math.isfinite(half_life)]
    # An infinite half-life has no place on a logarithmic axis; it is drawn to the right of all others.
    end = finite[-1] * 3 if finite else 1.0
    unit = 1.0 if audit.clock.steps else 86_400e6
    x = [(half_life if math.isfinite(half_life) else end) / unit for half_life in asked]
    rows = audit.conclusions.notable[:LINES]
    traces = [
        {"type": "scatter", "mode": "lines", "name": label(_short(audit.names[row])), "x": x,
         "y": _listed(np.array([audit.conclusions.asked[half_life][row] for half_life in asked])),
         "line": {"color": PALETTE[n % len(PALETTE)], "width": 2, "dash": _DASHES[n % len(_DASHES)]},
         "customdata": [audit.clock.length_text(half_life) for half_life in asked],
         "hovertemplate": "%{y:+.1%} at %{customdata}"}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    ticks = _tick_format(np.array([audit.conclusions.asked[half_life][list(rows)] for half_life in asked]), "+")
    marks += audit.clock.landmarks([*marks, finite[0], end])
    places = [(half_life if math.isfinite(half_life) else end) / unit for half_life in marks]
    texts = ["∞" if math.isinf(half_life) else audit.clock.length_text(half_life) for half_life in marks]
    layout = {
        "xaxis": {**_APART, "type": "log", "tickvals": places, "ticktext": texts, "title": {"text": "half-life"}},
        "yaxis": {**_APART, "tickformat": ticks, "zeroline": True, "zerolinewidth": 2,
                  "title": {"text": f"{owed}, as a share of the total"}},
        "hovermode": "closest",
    }  # fmt: skip
    most = [each for each in audit.conclusions.flip if each.kind == "most"]
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"{what} the agents most {owed} and furthest ahead are {owed}, at every half-life computed. "
        + " ".join(each.sentence(audit.clock.length_text) for each in most),
        caption=f"{what} agents are {owed}, as a share of everything remembered, over the half-life. Where two lines "
        f"cross, it changes which of the two agents is {more}; where a line crosses zero, whether the agent is {owed} "
        "at all.",
        height=380,
    )


def replay_chart(what_if: WhatIf) -> Chart:
    """The final Gini coefficient of the actual history and of the replay."""
    rule = what_if.alternatives()
    x = [what_if.clock.length_text(course.memory.length) for course in rule]
    worlds = (("actual", [what_if.actual(course).gini.low for course in rule], MUTED),
              ("rule", [course.gini.low for course in rule], PALETTE[2]))  # fmt: skip
    traces = [
        {"type": "bar", "name": name, "x": x, "y": values, "marker": {"color": colour},
         "hovertemplate": "%{y:.3f}<extra>" + name + "</extra>"}
        for name, values, colour in worlds
    ]  # fmt: skip
    pairs = "; ".join(
        f"{was:.3f} and {now:.3f} at {h}" for h, was, now in zip(x, worlds[0][1], worlds[1][1], strict=True)
    )
    layout = {"xaxis": {"type": "category", "title": {"text": "half-life"}}, "yaxis": {**_APART, "rangemode": "tozero"},
              "bargap": 0.45, "bargroupgap": 0.08}  # fmt: skip
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Gini coefficients of the actual decisions and of the rule's: {pairs}.",
        caption="Gini coefficient of what is remembered at the end, for the actual decisions and for the rule's.",
        height=300,
    )


def _line(audit: Audit, name: str, values: np.ndarray, n: int) -> dict[str, Any]:
    look = {"color": PALETTE[n % len(PALETTE)], "width": 2, "dash": _DASHES[n % len(_DASHES)]}
    x = [audit.clock.drawn(end) for end in audit.ends()]
    mode = "lines" if len(x) > 2 else "lines+markers"
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": _listed(values), "line": look}


def _time_layout(audit: Audit) -> dict[str, Any]:
    axis: dict[str, Any] = {**_APART, "title": {"text": "step"}} if audit.clock.steps else {**_APART, "type": "date"}
    if audit.periods.count == 1:
        # With a single moment, Plotly would choose an axis of milliseconds.
        around = (audit.periods.start_of(0), audit.periods.end + audit.periods.length)
        axis["range"] = [audit.clock.drawn(moment) for moment in around]
    return {
        "xaxis": axis,
        "hovermode": "x",
        "margin": {"l": 48, "r": 12, "t": 24, "b": 46 if audit.clock.steps else 34},
    }


def half_life_name(audit: Audit, stood: Trajectory) -> str:
    """A half-life in words."""
    return "no fading" if math.isinf(stood.half_life) else f"half-life {audit.clock.length_text(stood.half_life)}"


def _listed(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def percent(share: float | None, away: str = "") -> str:
    """A share as text, or where there is none, why the agent does not take part."""
    if share is None:
        return away
    return f"{share:.1%}" if share >= 0.01 else f"{100 * share:.2g}%" if share > 1e-6 else "0%"


def _tick_format(shares: np.ndarray, sign: str = "") -> str:
    """A percent format with enough digits to distinguish a fifth of the largest share."""
    most = float(np.nanmax(np.abs(shares), initial=0.0)) or 1.0
    return f"{sign}.{max(0, -math.floor(math.log10(20 * most)))}%"


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
