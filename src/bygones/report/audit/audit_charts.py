"""The figures of an audit's page. Plotly would take tags in names for markup, so that names go through `label`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bygones._text import amount
from bygones.audit import Audit, Trajectory
from bygones.audit.counterfactual import Replay
from bygones.report.page import Chart, label
from bygones.report.style import MUTED, PALETTE

LINES = 6
"""As many agents have a line of their own in a figure."""

BEYOND = 64
"""The figure over the half-life ends at so many times the longest that is not for ever; only flips reach further."""

# Ticks that are not seen keep the words of one axis off the other.
_APART = {"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def share_chart(audit: Audit, rows: Sequence[int]) -> Chart:
    """The shares of some agents against what they are entitled to, a mark per half-life."""
    names = [label(_short(audit.names[row])) for row in rows]
    # Two agents may be shown by the same short name: positions keep them apart.
    y = list(range(len(rows)))
    marks = {"symbol": "line-ns", "size": 18, "line": {"width": 2.5, "color": MUTED}, "color": MUTED}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "markers", "name": "entitled", "x": _listed(audit.entitled[rows]), "y": y,
         "marker": marks, "cliponaxis": False, "hovertemplate": "entitled %{x:.1%}<extra></extra>"}
    ]  # fmt: skip
    for n, stood in enumerate(audit.standings):
        title = half_life_text(audit, stood)
        marker = {"size": 11, "symbol": _SYMBOLS[n % len(_SYMBOLS)], "color": PALETTE[n % len(PALETTE)]}
        traces.append(
            {"type": "scatter", "mode": "markers", "name": title, "x": _listed(stood.share[rows]), "y": y,
             "marker": marker, "cliponaxis": False, "customdata": names,
             "hovertemplate": "%{customdata}: %{x:.1%}<extra>" + title + "</extra>"}
        )  # fmt: skip
    places = {"tickvals": y, "ticktext": names, "range": [len(rows) - 0.4, -0.6], "zeroline": False}
    ticks = _tick_format(np.array([stood.share[rows] for stood in audit.standings]))
    layout = {
        "xaxis": {**_APART, "tickformat": ticks, "rangemode": "tozero", "title": {"text": "share remembered"}},
        "yaxis": {**places, **_APART, "ticklen": 10},
        "hovermode": "closest",
    }
    stood = audit.standings[0]
    alt = "; ".join(
        f"{audit.names[row]} has {percent(stood.share[row])} and is entitled to {percent(audit.entitled[row])}"
        for row in rows[:LINES]
        if not math.isnan(stood.share[row])
    )
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Shares under each half-life. At {half_life_text(audit, stood)}: {alt}.",
        caption="Shares of what is remembered, a mark per half-life.",
        height=130 + 30 * len(rows),
    )


def series_chart(audit: Audit, name: str, title: str) -> Chart:
    """Gini coefficient or welfare over time, a line per half-life; welfare relative to the mean."""
    lines, ends = [], []
    for n, stood in enumerate(audit.standings):
        series = getattr(stood, name) / (1.0 if name == "gini" else np.maximum(stood.mean, 1e-300))
        lines.append(_line(audit, half_life_text(audit, stood), series, n))
        ends.append(f"{amount(series[-1])} with {half_life_text(audit, stood)}")
    alt = f"{title}, over time; in the end {', '.join(ends)}."
    layout = {"yaxis": {**_APART, "range": [-0.02, 1.03]}, **_time_layout(audit)}
    return Chart({"data": lines, "layout": layout}, alt=alt, caption=title, height=290)


def agents_chart(audit: Audit) -> Chart:
    """The shares of the notable agents over time, under the longest half-life that is not for ever."""
    stood = next((s for s in reversed(audit.standings) if math.isfinite(s.half_life)), audit.standings[-1])
    rows = list(audit.conclusions.notable[:LINES])
    shares = audit.over_time(stood, rows)
    lines = [_line(audit, label(_short(audit.names[row])), shares[:, n], n) for n, row in enumerate(rows)]
    layout = {"yaxis": {**_APART, "tickformat": _tick_format(shares), "rangemode": "tozero"}, **_time_layout(audit)}
    names = ", ".join(audit.names[row] for row in rows)
    return Chart(
        {"data": lines, "layout": layout},
        alt=f"Shares of what is remembered over time, {half_life_text(audit, stood)}, of {names}.",
        caption=f"Shares remembered, {half_life_text(audit, stood)}: those owed most and those furthest ahead.",
        height=340,
    )


def half_life_chart(audit: Audit) -> Chart:
    """What the notable agents are owed, as a share, over the half-life; where two lines cross, their order flips."""
    marks = [stood.half_life for stood in audit.standings]
    flips = [flip.half_life for each in audit.conclusions.flip for flip in each.flips if not flip.is_at_infinity]
    furthest = max([BEYOND * max(filter(math.isfinite, marks), default=1.0), *filter(math.isfinite, flips)])
    asked = [half_life for half_life in sorted(audit.conclusions.asked) if not furthest < half_life < math.inf]
    finite = [half_life for half_life in asked if math.isfinite(half_life)]
    # For ever has no place on an axis of half-lives; it stands to the right of all others.
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
    words = ["∞" if math.isinf(half_life) else audit.clock.length_text(half_life) for half_life in marks]
    layout = {
        "xaxis": {**_APART, "type": "log", "tickvals": places, "ticktext": words, "title": {"text": "half-life"}},
        "yaxis": {**_APART, "tickformat": ticks, "zeroline": True, "zerolinewidth": 2,
                  "title": {"text": "owed, share of all"}},
        "hovermode": "closest",
    }  # fmt: skip
    most = [each for each in audit.conclusions.flip if each.kind == "most"]
    return Chart(
        {"data": traces, "layout": layout},
        alt="What those owed most and those furthest ahead are owed, at every half-life asked for. "
        + " ".join(each.sentence(audit.clock.length_text) for each in most),
        caption="What somebody is owed, as a share of all that is remembered, over the half-life. Where two lines "
        "cross, who is owed more flips; at zero, whether somebody is owed at all.",
        height=380,
    )


def replay_chart(audit: Audit) -> Chart:
    """How unequal it was in the end, and would have been."""
    x = [audit.clock.length_text(each.half_life) for each in audit.replays]
    worlds = (("as it was", [each.actual.gini for each in audit.replays], MUTED),
              ("allocator", [each.instead.gini for each in audit.replays], PALETTE[2]))  # fmt: skip
    traces = [
        {"type": "bar", "name": name, "x": x, "y": values, "marker": {"color": colour},
         "hovertemplate": "%{y:.3f}<extra>" + name + "</extra>"}
        for name, values, colour in worlds
    ]  # fmt: skip
    told = "; ".join(
        f"at {h} {was:.3f} and {now:.3f}" for h, was, now in zip(x, worlds[0][1], worlds[1][1], strict=True)
    )
    layout = {"xaxis": {"type": "category", "title": {"text": "half-life"}}, "yaxis": {**_APART, "rangemode": "tozero"},
              "bargap": 0.45, "bargroupgap": 0.08}  # fmt: skip
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Gini coefficients as it was and had the allocator decided: {told}.",
        caption="Gini coefficient of what is remembered in the end: as it was, and had the allocator decided.",
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
        # Around a single moment an axis would show thousandths of a second.
        around = (audit.periods.start_of(0), audit.periods.end + audit.periods.length)
        axis["range"] = [audit.clock.drawn(moment) for moment in around]
    return {
        "xaxis": axis,
        "hovermode": "x",
        "margin": {"l": 48, "r": 12, "t": 24, "b": 46 if audit.clock.steps else 34},
    }


def half_life_text(audit: Audit, stood: Trajectory | Replay) -> str:
    """A half-life in words."""
    return "nothing fades" if math.isinf(stood.half_life) else f"half-life {audit.clock.length_text(stood.half_life)}"


def _listed(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def percent(share: float) -> str:
    """A share for people; those who take no part are away."""
    if math.isnan(share):
        return "away"
    return f"{share:.1%}" if share >= 0.01 else f"{100 * share:.2g}%" if share > 1e-6 else "0%"


def _tick_format(shares: np.ndarray, sign: str = "") -> str:
    """Percent with as many digits as it takes to tell a fifth of the largest share."""
    most = float(np.nanmax(np.abs(shares), initial=0.0)) or 1.0
    return f"{sign}.{max(0, -math.floor(math.log10(20 * most)))}%"


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
