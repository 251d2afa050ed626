"""Perfect recall with the paper's network and with one that is shared across agents, against the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from bygones.paper.claims import MYOPIC, RECALL
from bygones.paper.grid import SCALES, WELFARES
from bygones.paper.policy_worth import CellWorth, measured, most_for_the_least
from bygones.paper.results import Results
from bygones.report.paper import rule_lines
from bygones.report.style import INK, MEMORY_LOOK, MUTED, PALETTE, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: dict[tuple[str, float], tuple[str, Look]] = {
    ("mlp", MYOPIC): ("paper's network, myopic", MEMORY_LOOK["myopic"]),
    ("mlp", RECALL): ("paper's network, perfect recall", MEMORY_LOOK["perfect recall"]),
    ("symmetric", RECALL): ("network shared across agents, perfect recall", {"color": PALETTE[2], "linewidth": 2.2}),
}
"""The lines by network and past discount."""

METRICS = {"gini": "Gini coefficient (0 is equality)", "utility_least": "worst-off agent, utility per step"}
DODGE = 0.09


def shown(results: Results, observation_scale: str | None = None) -> Results:
    """The runs of the figure: both networks under this scale if the shared one has runs under it, else unscaled.

    Where the memory is divided by a constant, both divide it by the same; the myopic agent sees no memory. There are no
    runs if one of the networks has none.
    """
    both = results.where(aggregation="additive", gamma=(MYOPIC, RECALL), agent_features="logarithmic")
    shared = both.where(policy="symmetric")
    scale = observation_scale if observation_scale in shared.distinct("observation_scale") else "none"
    shared, paper = (both.where(policy=policy, observation_scale=scale) for policy in ("symmetric", "mlp"))
    recall = paper.where(gamma=RECALL, fixed_scale=shared.distinct("fixed_scale"))
    parts = [shared, recall, paper.where(gamma=MYOPIC)] if len(shared) and len(recall) else [Results(both.table[:0])]
    return Results(pa.concat_tables([part.table for part in parts]))


def scale_in_words(runs: Results) -> str:
    """The networks' observation of the memory."""
    (scale,) = runs.distinct("observation_scale")
    divisors = runs.where(policy="symmetric").distinct("fixed_scale")
    return f"memory divided by {divisors[0]:g}" if scale == "fixed" else SCALES[scale]


def networks(runs: Results) -> Figure:
    """Gini and the worst-off agent's utility, medians over seeds with exact intervals, for each welfare function."""
    from bygones.report.figures.shown_figure import ShownFigure

    welfares = [welfare for welfare in WELFARES if welfare in runs.distinct("welfare")]
    figure = ShownFigure(figsize=(4.75 * len(welfares), 6.2))
    grid = figure.subplots(len(METRICS), len(welfares), sharex=True, sharey="row", squeeze=False)
    for column, welfare in zip(grid.T, welfares, strict=True):
        cells = measured(runs, welfare=welfare)
        for axes, metric in zip(column, METRICS, strict=True):
            _lines(axes, cells, metric)
        column[0].set_title({"egalitarian": "Egalitarian welfare", "nash": "Nash welfare"}[welfare])
        column[-1].set_xlabel("horizon T (steps in an episode)")
    for row, label in zip(grid, METRICS.values(), strict=True):
        row[0].set_ylabel(label)
    figure.suptitle("The same memory with two networks", x=0.01, ha="left", fontsize=11, fontweight="bold")
    handles, labels = grid[-1, 0].get_legend_handles_labels()
    handles.append(rule_lines.legend_line())
    labels.append(rule_lines.LEGEND)
    figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=3.2, columnspacing=1.4)
    return figure


def _lines(axes: Axes, cells: Sequence[CellWorth], metric: str) -> None:
    horizons = sorted({cell.run.horizon for cell in cells})
    for number, ((policy, gamma), (label, look)) in enumerate(LINES.items()):
        of_line = [cell for cell in cells if (cell.run.policy, cell.run.gamma) == (policy, gamma)]
        at = np.array([horizons.index(cell.run.horizon) for cell in of_line]) + DODGE * (number - 1)
        measures = [cell.over_seeds("final", metric) for cell in of_line]
        medians = np.array([measure.median for measure in measures if measure])
        ends = np.array([measure.interval for measure in measures if measure])
        axes.plot(at, medians, label=f"{label}, median", **look)
        axes.vlines(at, ends[:, 0], ends[:, 1], color=look["color"], linewidth=4.0, alpha=0.35)
        for x, cell in zip(at, of_line, strict=True):
            seeds = cell.seeds("final", metric)
            axes.plot(np.full(len(seeds), x), seeds, "o", color=look["color"], markersize=2.6, alpha=0.45,
                      markeredgewidth=0)  # fmt: skip
    axes.plot([], [], "o", color=MUTED, markersize=3, label="one run; bars: exact 95% interval of the median")
    run = max((cell.run for cell in cells), key=lambda run: run.horizon)
    rule_lines.against_horizon(axes, run, horizons, metric)
    if metric == "utility_least":
        best = [most_for_the_least(next(cell.run for cell in cells if cell.run.horizon == T)) for T in horizons]
        axes.plot(best, color=INK, linewidth=1.0, linestyle=(0, (2, 2)), label="best possible")
    axes.set_xticks(range(len(horizons)), [f"{horizon:,}" for horizon in horizons])
    axes.set_ylim(bottom=0.0)
    rule_lines.name_the_lines(axes)
    axes.grid(axis="x", visible=False)
