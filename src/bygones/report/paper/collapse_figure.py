"""Fairness and learning against the weight λ of welfare in the reward, for three memories and three networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bygones.paper.collapse import WEIGHTS, Cell
from bygones.paper.grid import memory_label
from bygones.report.style import INK, MEMORY_LOOK, MUTED, Look, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEMORIES = (1.0, 0.99, 0.9)
"""The past discounts of the figure."""

MEASURES = {
    "gini": ("Is it fair?", "Gini coefficient (0 is equality)"),
    "learned": ("Did it learn?", "0: drawing lots, 1: the optimum"),
}
"""The rows of the figure: the question, and the measure that answers it."""

LOWEST = -0.6
"""Policies below this are drawn at the edge: how much worse than drawing lots they are does not matter."""

DODGE = 0.05
"""The distance between the marks of two memories at one λ."""

_ASKED: Look = {"linestyle": "none", "marker": "D", "markersize": 5.5, "markerfacecolor": "white"}


def draw(networks: Mapping[str, Sequence[Cell]], title: str) -> Figure:
    """The figure of the cells of each network, all with one welfare function and one horizon."""
    from bygones.report.figures.shown_figure import ShownFigure

    with house_style():
        figure = ShownFigure(figsize=(3.6 * len(networks), 6.4))
        grid = figure.subplots(len(MEASURES), len(networks), sharex=True, sharey="row", squeeze=False)
        for column, (network, cells) in zip(grid.T, networks.items(), strict=True):
            column[0].set_title(network.replace(", ", ",\n"), fontsize=9)
            for axes, measure in zip(column, MEASURES, strict=True):
                for gamma in MEMORIES:
                    _memory(axes, [cell for cell in cells if cell.run.gamma == gamma], measure)
                axes.set_xticks(range(len(WEIGHTS)), [f"{weight:g}" for weight in WEIGHTS])
                axes.grid(axis="x", visible=False)
            column[-1].axhline(0.0, color=MUTED, linewidth=0.9)
            column[-1].set_xlabel("λ, the weight of welfare in the reward")
        for row, (question, measure) in zip(grid, MEASURES.values(), strict=True):
            row[0].set_ylabel(f"{question}\n{measure}")
        grid[0, 0].set_ylim(0.0, 1.0)
        grid[1, 0].set_ylim(LOWEST - 0.05, 1.05)
        grid[1, 0].set_yticks([LOWEST, -0.3, 0.0, 0.5, 1.0], [f"{LOWEST:g} or less", "-0.3", "0", "0.5", "1"])
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        handles += grid[0, 0].plot([], [], color=INK, **_ASKED)
        labels.append("what the reward asks for, without learning")
        figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=3.2)
        return figure


def _memory(axes: Axes, cells: Sequence[Cell], measure: str) -> None:
    """The line of a memory: medians with their exact intervals, every run, and what the reward asks for."""
    cells = sorted(cells, key=lambda cell: cell.run.weight)
    name = memory_label(cells[0].run.gamma)
    look = MEMORY_LOOK[name]
    dodge = DODGE * (MEMORIES.index(cells[0].run.gamma) - 1)
    at = [WEIGHTS.index(cell.run.weight) + dodge for cell in cells]
    values = [[max(value, LOWEST) for value in getattr(cell, measure)] for cell in cells]
    axes.plot(at, [max(cell.median(measure), LOWEST) for cell in cells], label=_label(name, cells[0]), **look)
    for x, runs in zip(at, values, strict=True):
        axes.plot([x] * len(runs), runs, "o", color=look["color"], markersize=2.6, alpha=0.45, markeredgewidth=0)
    asked = [cell.asked.gini if measure == "gini" else cell.asked_learned for cell in cells]
    axes.plot(at, asked, color=look["color"], **_ASKED)


def _label(name: str, cell: Cell) -> str:
    half_life = cell.run.problem().memory.half_life
    return name if cell.run.gamma == 1.0 else f"{name} (half-life {half_life:.0f} steps)"
