"""A figure of everyone's standing before a plan and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bygones.kinds import words
from bygones.ledger.model.times import day
from bygones.ledger.plans.planned_dates import Plan
from bygones.report.style import INK, MUTED, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 40
"""The most agents that are shown: the ones who change most."""


def plan_figure(plan: Plan) -> Figure:
    """The amount owed to each agent now and after the plan, joined by a line; the agent owed most now comes first."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        word = words(plan.after.rules.kind)
        before = dict(zip(plan.before.names, plan.before.owed.tolist(), strict=True))
        owed = {
            name: (before.get(name, np.nan), after)
            for name, after in zip(plan.after.names, plan.after.owed.tolist(), strict=True)
            if not np.isnan(after) or not np.isnan(before.get(name, np.nan))
        }
        moved = sorted(owed, key=lambda name: -abs(np.nan_to_num(owed[name][1]) - np.nan_to_num(owed[name][0])))[:MOST]
        names = sorted(moved, key=lambda name: (np.nan_to_num(owed[name][0]), name))
        now, then = (np.array([owed[name][i] for name in names], dtype=float) for i in (0, 1))
        rows = np.arange(len(names))
        figure = ShownFigure(figsize=(7.5, 1.6 + 0.32 * len(names)))
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.hlines(rows, now, then, color=MUTED, linewidth=1.6, zorder=1)
        zone = plan.after.zone
        axes.scatter(now, rows, s=42, facecolor="white", edgecolor=PALETTE[0], zorder=2, label="now")
        label = f"after {day(plan.after.at, zone)}, as planned"
        axes.scatter(then, rows, s=42, color=PALETTE[0], zorder=3, label=label)
        # In a name, a dollar sign must not start a formula.
        axes.set_yticks(rows, [name.replace("$", r"\$") for name in names])
        axes.grid(visible=False, axis="y")
        axes.margins(y=0.6 / max(len(names), 1))
        unit = f", in {plan.after.rules.unit}" if plan.after.rules.unit else ""
        axes.set_xlabel(f"{word.owed} (right of 0) or ahead (left of 0){unit}")
        axes.set_title(f"Who is {word.owed}, before and after the plan")
        figure.legend(loc="outside lower center", ncols=2)
        return figure
