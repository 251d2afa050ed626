"""An audit as a page: who is owed what, how it came to that, and what depends on the half-life.

Names are data. In text the page's templates escape them; in figures, where Plotly would take tags for markup, `label`
does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bygones._terminal import amount
from bygones.audit import Audit, Standing
from bygones.audit.auditing import counted
from bygones.audit.counterfactual import Replay
from bygones.report.page import Block, Chart, Page, Section, Table, asset, fragment, label, write
from bygones.style import MUTED, PALETTE

SHOWN = 30
"""As many agents have a row in a table or figure; of more, those most owed and those furthest ahead."""

LINES = 6
"""As many agents have a line of their own in a figure."""

LISTED = 8
"""As many conclusions are listed at once; the others on request."""

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_EXACT = (
    "Every number follows from sums over all events, decayed exactly: nothing is sampled or approximated. Where a "
    "conclusion flips at a half-life, that half-life is known to one part in a thousand, from sums on both sides of it."
)


def write_audit(audit: Audit, path: Path) -> Path:
    """Writes the audit as one HTML file that needs nothing else."""
    return write(audit_page(audit), path)


def audit_page(audit: Audit) -> Page:
    """The page of an audit."""
    sections = [
        Section("Where everybody stands", _standings(audit)),
        Section("Over time", _over_time(audit)),
        Section("What depends on the half-life", _conclusions(audit), "half-life"),
    ]
    if audit.replays:
        sections.append(Section("Had the allocator decided", _replays(audit)))
    sections.append(Section("What was looked at", _method(audit)))
    clock = audit.clock
    until = f"{clock.day(audit.first)} to {clock.day(audit.periods.end)}"
    return Page(
        title="Who is owed what",
        lede=_lede(audit),
        sections=sections,
        kicker=f"{audit.label} · {counted(audit.n_events, 'event')} of {counted(len(audit.names), 'agent')} · {until}",
        footer="Made by bygones audit.",
        styles=[asset("audit.css")],
    )


def _lede(audit: Audit) -> str:
    most = next((each for each in audit.conclusions.found if each.kind == "most"), None)
    if most is None:
        return "Nobody takes part at the moment of the audit."
    sentence = most.sentence(audit.clock.said)
    found = audit.conclusions
    if not found.pairs or len(audit.standings) < 2:
        return sentence
    share = (found.pairs - (found.pairs_flip or 0)) / found.pairs
    kept = "All" if share == 1 else "None" if share == 0 else f"{share:.0%}"
    verb = "keep their order" if found.pairs > 1 else "keeps its order"
    return f"{sentence} {kept} of the pairs of agents {verb} at every half-life asked for."


def _standings(audit: Audit) -> list[Block]:
    return [
        "What is remembered of each agent as a share of all, against the share each is entitled to (the upright mark). "
        "To the left of the mark somebody has had too little lately, to the right too much; what lately means is the "
        "half-life.",
        _share_chart(audit, _some(audit, audit.standings[0], present=True)),
        fragment("audit_standings.html.jinja", standings=[_standing_table(audit, stood) for stood in audit.standings]),
    ]


def _share_chart(audit: Audit, rows: Sequence[int]) -> Chart:
    names = [label(_short(audit.names[row])) for row in rows]
    # Two agents may be shown by the same short name: positions keep them apart.
    y = list(range(len(rows)))
    marks = {"symbol": "line-ns", "size": 18, "line": {"width": 2.5, "color": MUTED}, "color": MUTED}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "markers", "name": "entitled", "x": _listed(audit.entitled[rows]), "y": y,
         "marker": marks, "cliponaxis": False, "hovertemplate": "entitled %{x:.1%}<extra></extra>"}
    ]  # fmt: skip
    for n, stood in enumerate(audit.standings):
        said = _half_life(audit, stood)
        marker = {"size": 11, "symbol": _SYMBOLS[n % len(_SYMBOLS)], "color": PALETTE[n % len(PALETTE)]}
        traces.append(
            {"type": "scatter", "mode": "markers", "name": said, "x": _listed(stood.share[rows]), "y": y,
             "marker": marker, "cliponaxis": False, "customdata": names,
             "hovertemplate": "%{customdata}: %{x:.1%}<extra>" + said + "</extra>"}
        )  # fmt: skip
    layout = {
        "xaxis": {"tickformat": ".0%", "rangemode": "tozero", "title": {"text": "share remembered"}},
        "yaxis": {
            "tickvals": y,
            "ticktext": names,
            "autorange": "reversed",
            "zeroline": False,
            "ticks": "outside",
            "ticklen": 10,
            "tickcolor": "rgba(0,0,0,0)",
        },
        "hovermode": "closest",
    }
    stood = audit.standings[0]
    alt = "; ".join(
        f"{audit.names[row]} has {stood.share[row]:.1%} and is entitled to {audit.entitled[row]:.1%}"
        for row in rows[:LINES]
        if not math.isnan(stood.share[row])
    )
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Shares under each half-life. At {_half_life(audit, stood)}: {alt}.",
        caption="Shares of what is remembered, a mark per half-life.",
        height=130 + 30 * len(rows),
    )


def _standing_table(audit: Audit, stood: Standing) -> dict[str, Any]:
    ranked, rows = audit.ranked(stood), _some(audit, stood)
    first = ranked[0]
    since = audit.since(stood, first)
    most = (
        f"{audit.names[first]} is owed most, since {audit.clock.day(since)}" if since is not None else "nobody is owed"
    )
    some = f" The {SHOWN // 2} most owed and the {SHOWN // 2} furthest ahead." if len(rows) < len(ranked) else ""
    return {
        "title": _half_life(audit, stood).capitalize(),
        "summary": most,
        "caption": f"Owed: what is missing (+) or in excess (−) of the entitled share of all that is remembered.{some}",
        "rows": [_standing_row(audit, stood, row) for row in rows],
    }


def _standing_row(audit: Audit, stood: Standing, row: int) -> dict[str, Any]:
    since = audit.since(stood, row)
    return {
        "agent": audit.names[row],
        "owed": _signed(stood.owed[row], bool(audit.is_present[row])),
        "side": "" if not audit.is_present[row] else "owed" if stood.owed[row] > 0 else "ahead",
        "since": "" if since is None else audit.clock.day(since),
        "share": _percent(stood.share[row]),
        "entitled": _percent(audit.entitled[row]),
        "remembered": float(stood.remembered[row]),
        "received": float(audit.received[row]),
    }


def _over_time(audit: Audit) -> list[Block]:
    blocks: list[Block] = [
        f"How equal what is remembered was at the end of each {audit.clock.said(audit.periods.length)}, under each "
        "half-life. Welfare is drawn relative to the mean, since a longer half-life remembers more: 1 is equality."
    ]
    for name, title in (
        ("gini", "Gini coefficient: 0 is equality"),
        ("egalitarian", "Egalitarian welfare: the least that is remembered of anybody, relative to the mean"),
        ("nash", "Nash welfare: the geometric mean of what is remembered, relative to the mean"),
    ):
        blocks.append(_series_chart(audit, name, title))
    blocks.append(_agents_chart(audit))
    return blocks


def _series_chart(audit: Audit, name: str, title: str) -> Chart:
    drawn = [
        getattr(s, name) if name == "gini" else getattr(s, name) / np.maximum(s.mean, 1e-300) for s in audit.standings
    ]
    lines = [_line(audit, _half_life(audit, s), series, n) for n, (s, series) in enumerate(zip(audit.standings, drawn,
             strict=True))]  # fmt: skip
    ends = ", ".join(f"{amount(series[-1])} with {_half_life(audit, s)}" for s, series in zip(audit.standings, drawn,
                     strict=True))  # fmt: skip
    layout = {"yaxis": {"range": [0, 1.03]}, **_time_layout(audit)}
    return Chart(
        {"data": lines, "layout": layout}, alt=f"{title}, over time; in the end {ends}.", caption=title, height=290
    )


def _agents_chart(audit: Audit) -> Chart:
    stood = next((s for s in reversed(audit.standings) if math.isfinite(s.half_life)), audit.standings[-1])
    rows = list(audit.conclusions.notable[:LINES])
    shares = audit.over_time(stood, rows)
    lines = [_line(audit, label(_short(audit.names[row])), shares[:, n], n) for n, row in enumerate(rows)]
    layout = {"yaxis": {"tickformat": ".0%", "rangemode": "tozero"}, **_time_layout(audit)}
    names = ", ".join(audit.names[row] for row in rows)
    return Chart(
        {"data": lines, "layout": layout},
        alt=f"Shares of what is remembered over time, {_half_life(audit, stood)}, of {names}.",
        caption=f"Shares of what is remembered, {_half_life(audit, stood)}: those owed most and those furthest ahead.",
        height=340,
    )


def _conclusions(audit: Audit) -> list[Block]:
    found, said = audit.conclusions, audit.clock.said
    blocks: list[Block] = []
    if len(found.asked) > 2 and found.notable:
        blocks.append(_half_life_chart(audit))
    groups = [
        ("Depends on the half-life", [each.sentence(said) for each in found.flip]),
        ("Holds at every half-life asked for", [f"{each.claim}." for each in found.telling]),
    ]
    blocks.append(fragment("audit_conclusions.html.jinja", groups=[group for group in groups if group[1]], most=LISTED))
    if found.pairs and len(audit.standings) > 1:
        kept = found.pairs - (found.pairs_flip or 0)
        blocks.append(
            f"Of {found.pairs:,} pairs of agents {kept:,} are in the same order at every half-life asked for."
        )
    return blocks


def _half_life_chart(audit: Audit) -> Chart:
    """What the notable agents are owed, as a share, over the half-life; where two lines cross, their order flips."""
    unit = 1.0 if audit.clock.steps else 86_400e6
    asked = sorted(audit.conclusions.asked)
    finite = [half_life for half_life in asked if math.isfinite(half_life)]
    # For ever has no place on an axis of half-lives; it stands to the right of all others.
    end = finite[-1] * 3 if finite else 1.0
    x = [(half_life if math.isfinite(half_life) else end) / unit for half_life in asked]
    rows = audit.conclusions.notable[:LINES]
    traces = [
        {"type": "scatter", "mode": "lines", "name": label(_short(audit.names[row])), "x": x,
         "y": _listed(np.array([audit.conclusions.asked[half_life][row] for half_life in asked])),
         "line": {"color": PALETTE[n % len(PALETTE)], "width": 2, "dash": _DASHES[n % len(_DASHES)]},
         "customdata": [audit.clock.said(half_life) for half_life in asked],
         "hovertemplate": "%{y:+.1%} at %{customdata}"}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    marks = [stood.half_life for stood in audit.standings]
    places = [(half_life if math.isfinite(half_life) else end) / unit for half_life in marks]
    layout = {
        "xaxis": {"type": "log", "tickvals": places, "ticktext": ["∞" if math.isinf(h) else audit.clock.said(h)
                  for h in marks], "title": {"text": "half-life"}},
        "yaxis": {"tickformat": "+.0%", "zeroline": True, "zerolinewidth": 2, "title": {"text": "owed, share of all"}},
        "hovermode": "closest",
    }  # fmt: skip
    flips = [each for each in audit.conclusions.flip if each.kind == "most"]
    return Chart(
        {"data": traces, "layout": layout},
        alt="What those owed most and those furthest ahead are owed, at every half-life asked for. "
        + " ".join(each.sentence(audit.clock.said) for each in flips),
        caption="What somebody is owed, as a share of all that is remembered, over the half-life. Where two lines "
        "cross, who is owed more flips; at zero, whether somebody is owed at all.",
        height=380,
    )


def _replays(audit: Audit) -> list[Block]:
    said = audit.clock.said
    came_to: list[list[object]] = []
    for each in audit.replays:
        for what, outcome in (("as it was", each.actual), ("allocator", each.instead)):
            numbers = [outcome.gini, outcome.egalitarian, outcome.nash, outcome.total]
            came_to.append([said(each.half_life), what, *numbers, None if what == "as it was" else each.differ])
    rows = _some(audit, audit.standings[-1])
    received = [
        [audit.names[row], float(audit.replays[0].actual.received[row]),
         *(float(each.instead.received[row]) for each in audit.replays)]
        for row in rows
    ]  # fmt: skip
    return [
        "The same needs, and as many served each time, but chosen by the allocator from what it would have remembered "
        f"of its own decisions. There were {audit.replays[0].decisions:,} decisions.",
        _replay_chart(audit),
        Table(
            "What it came to in the end: Gini, least and Nash (the geometric mean) of what is remembered.",
            ["half-life", "decided", "Gini", "least", "Nash", "received, all", "decisions that differ"],
            came_to,
        ),
        Table(
            "What each received in all, as it was and had the allocator decided with a memory of each half-life.",
            ["agent", "as it was", *(said(each.half_life) for each in audit.replays)],
            received,
        ),
    ]


def _replay_chart(audit: Audit) -> Chart:
    x = [audit.clock.said(each.half_life) for each in audit.replays]
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
    layout = {"xaxis": {"type": "category", "title": {"text": "half-life"}}, "yaxis": {"rangemode": "tozero"},
              "bargap": 0.45, "bargroupgap": 0.08}  # fmt: skip
    return Chart(
        {"data": traces, "layout": layout},
        alt=f"Gini coefficients as it was and had the allocator decided: {told}.",
        caption="Gini coefficient of what is remembered in the end: as it was, and had the allocator decided.",
        height=300,
    )


def _method(audit: Audit) -> list[Block]:
    clock = audit.clock
    late = audit.newcomers()
    newcomers = (
        f"{len(late):,} of {len(audit.names):,} agents came after the first period; newcomers start with "
        f"{audit.members.newcomers}."
        if late
        else "All agents were there from the first period on."
    )
    return [
        " ".join(audit.notes),
        f"Looked at up to {clock.shown(audit.periods.end)}, in {audit.periods.count:,} periods of "
        f"{clock.said(audit.periods.length)}. {newcomers}",
        _EXACT,
    ]


def _some(audit: Audit, stood: Standing, *, present: bool = False) -> list[int]:
    """The rows that are shown, the most owed first; of many, the two ends."""
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row] or not present]
    return ranked if len(ranked) <= SHOWN else [*ranked[: SHOWN // 2], *ranked[-SHOWN // 2 :]]


def _line(audit: Audit, name: str, values: np.ndarray, n: int) -> dict[str, Any]:
    look = {"color": PALETTE[n % len(PALETTE)], "width": 2, "dash": _DASHES[n % len(_DASHES)]}
    x = [audit.clock.drawn(end) for end in audit.ends()]
    mode = "lines" if len(x) > 2 else "lines+markers"
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": _listed(values), "line": look}


def _time_layout(audit: Audit) -> dict[str, Any]:
    axis = {"title": {"text": "step"}} if audit.clock.steps else {"type": "date"}
    return {
        "xaxis": axis,
        "hovermode": "x",
        "margin": {"l": 48, "r": 12, "t": 24, "b": 40 if audit.clock.steps else 28},
    }


def _half_life(audit: Audit, stood: Standing | Replay) -> str:
    return "nothing fades" if math.isinf(stood.half_life) else f"half-life {audit.clock.said(stood.half_life)}"


def _listed(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def _percent(share: float) -> str:
    return "away" if math.isnan(share) else f"{share:.1%}"


def _signed(owed: float, is_present: bool) -> str:
    return amount(owed, digits=4, sign=True).replace("-", "−") if is_present else ""


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
