"""The charts of an audit: shares, balances over the half-life, and measures over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bygones._text import amount
from bygones.document.charts import MOST_LINES, Dots, Line, dot_chart, line_chart, some_rows
from bygones.document.document import Chart, percent
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.audit.measure.findings import Audit

BEYOND = 64
"""The chart over the half-life ends at this multiple of the longest finite one, or at the last flip beyond it."""

MEASURE_TITLES = {
    "gini": ("Gini coefficient", "0 is equality"),
    "heaviest": ("heaviest load / mean", "1 is equality"),
    "egalitarian": ("lowest recent total / mean", "egalitarian welfare; 1 is equality"),
    "nash": ("geometric mean / mean", "Nash welfare; 1 is equality"),
}
"""The axis of each measure over time, and how it is read."""


def half_life_name(audit: Audit, half_life: float) -> str:
    """A half-life in a title or a legend; an infinite one is perfect recall."""
    length = audit.clock.length_text(half_life)
    return f"half-life {length}" if math.isfinite(half_life) else "perfect recall (inf)"


def share_chart(audit: Audit) -> Chart:
    """The shares of the agents present and the shares they are entitled to, with a dot for each half-life.

    Where entitlements differ, each share is relative to the share that the agent is entitled to.
    """
    first, word = audit.standings[0], words(audit.kind)
    rows = some_rows([row for row in audit.ranked(first) if audit.is_present[row]])
    unit = audit.entitled if audit.per_unit else np.ones(len(audit.names))
    entitled = word.share if audit.kind == "burden" else "entitled"
    dots = [Dots(entitled, (audit.entitled / unit)[rows].tolist(), look="mark")]
    dots += [
        Dots(half_life_name(audit, each.half_life), (each.share / unit)[rows].tolist()) for each in audit.standings
    ]
    claim = "has a share of the load of" if audit.kind == "burden" else "is entitled to"
    shares = "; ".join(
        f"{audit.names[row]} has {percent(float(first.share[row]))} and {claim} {percent(float(audit.entitled[row]))}"
        for row in rows[:MOST_LINES]
    )
    relative = f", relative to the {word.share}" if audit.per_unit else ""
    few = f" The chart shows {len(rows)} of {len(audit.names)} agents." if len(rows) < len(audit.names) else ""
    return dot_chart(
        [audit.names[row] for row in rows],
        dots,
        f"share of the {audit.recent}{relative}",
        alt=f"Shares under each half-life. With {half_life_name(audit, first.half_life)}: {shares}.",
        caption=f"Each agent's share of the {audit.recent}{relative}. The vertical mark is the {word.share}: an agent "
        f"to its left is {word.owed}, and one to its right is ahead.{few}",
        numbers=".1%",
    )


def measure_chart(audit: Audit, measure: str) -> Chart:
    """Inequality or welfare over time, with a line for each half-life; welfare is relative to the mean."""
    lines, ends = [], []
    for each in audit.standings:
        values = getattr(each, measure) / (1.0 if measure == "gini" else np.maximum(each.mean, 1e-300))
        name = half_life_name(audit, each.half_life)
        lines.append(Line(name, _times(audit), values.tolist()))
        ends.append(f"{amount(float(values[-1]))} with {name}")
    title, reading = MEASURE_TITLES[measure]
    caption = f"{title[0].upper()}{title[1:]} at the end of each {audit.clock.length_text(audit.periods.length)} period"
    # Relative to the mean, the heaviest load is at least 1, and the other measures are at most 1.
    scale = None if measure == "heaviest" else {"range": [-0.02, 1.03]}
    alt = f"{caption}. Final values: {', '.join(ends)}."
    caption = f"{caption} ({reading})."
    return line_chart(lines, _time_axis(audit), title, alt=alt, caption=caption, scale=scale, height=270)


def agents_chart(audit: Audit) -> Chart:
    """The shares of the notable agents over time, under the longest finite half-life."""
    stood = next((each for each in reversed(audit.standings) if math.isfinite(each.half_life)), audit.standings[-1])
    rows = list(audit.conclusions.notable[:MOST_LINES])
    shares = audit.over_time(stood, rows)
    lines = [Line(audit.names[row], _times(audit), shares[:, n].tolist()) for n, row in enumerate(rows)]
    what = f"Shares of the {audit.recent}, {half_life_name(audit, stood.half_life)}"
    return line_chart(
        lines,
        _time_axis(audit),
        f"share of the {audit.recent}",
        alt=f"{what}, over time, of {', '.join(audit.names[row] for row in rows)}.",
        caption=f"{what}, of the agents most {words(audit.kind).owed} and furthest ahead.",
        numbers=".1%",
    )


def half_life_chart(audit: Audit) -> Chart:
    """The balances of the notable agents, as shares, over the half-life; their order flips where two lines cross."""
    owed, shares = words(audit.kind).owed, audit.conclusions.asked
    marks = [stood.half_life for stood in audit.standings]
    flips = [flip.half_life for each in audit.conclusions.flip for flip in each.flips if not flip.is_at_infinity]
    furthest = max([BEYOND * max(filter(math.isfinite, marks), default=1.0), *filter(math.isfinite, flips)])
    asked = [half_life for half_life in sorted(shares) if not furthest < half_life < math.inf]
    finite = [half_life for half_life in asked if math.isfinite(half_life)]
    # A logarithmic axis has no place for an infinite half-life, so it stands to the right of all others.
    end = finite[-1] * 3 if finite else 1.0
    unit = 1.0 if audit.clock.steps else 86_400e6
    marks += audit.clock.landmarks([*marks, finite[0], end])

    def place(half_life: float) -> float:
        return (half_life if math.isfinite(half_life) else end) / unit

    axis = {
        "type": "log", "title": {"text": "half-life"}, "tickvals": [place(half_life) for half_life in marks],
        "ticktext": [audit.clock.length_text(half_life) for half_life in marks],
    }  # fmt: skip
    texts = [audit.clock.length_text(half_life) for half_life in asked]
    lines = [
        Line(audit.names[row], list(map(place, asked)), [float(shares[h][row]) for h in asked], texts)
        for row in audit.conclusions.notable[:MOST_LINES]
    ]
    first = " ".join(each.sentence(audit.clock.length_text) for each in audit.conclusions.flip if each.kind == "most")
    return line_chart(
        lines,
        axis,
        f"{owed}, as a share of the total",
        alt=f"How much the agents most {owed} and furthest ahead are {owed}, at every half-life computed. {first}",
        caption="Where two lines cross, the two agents swap places. Where a line crosses zero, that agent stops being "
        f"{owed}. inf is perfect recall.",
        numbers="+.1%",
        scale={"zeroline": True, "zerolinewidth": 2},
        height=380,
    )


def replay_chart(audit: Audit, actual: Sequence[float], by_rule: Sequence[float]) -> Chart:
    """The final Gini coefficients of the actual decisions and of the rule's, with a row for each half-life."""
    names = [half_life_name(audit, each.half_life) for each in audit.standings]
    pairs = zip(names, actual, by_rule, strict=True)
    values = "; ".join(f"{name}: actual {amount(was)}, rule {amount(now)}" for name, was, now in pairs)
    caption = f"Gini coefficient of the {audit.recent} at the end, for the actual decisions and for the rule's."
    dots = [Dots("actual", actual, look="grey"), Dots("rule", by_rule)]
    return dot_chart(names, dots, "Gini coefficient", alt=f"{caption} {values}.", caption=caption, numbers=".3f")


def _times(audit: Audit) -> list[object]:
    return [audit.clock.drawn(end) for end in audit.ends()]


def _time_axis(audit: Audit) -> Mapping[str, Any]:
    clock = audit.clock
    axis: dict[str, Any] = {"title": {"text": "step"}} if clock.steps else {"type": "date", "title": {"text": "date"}}
    if audit.periods.count == 1:
        # With a single moment, Plotly would choose an axis of milliseconds.
        around = (audit.periods.start_of(0), audit.periods.end + audit.periods.length)
        axis["range"] = [clock.drawn(moment) for moment in around]
    return axis
