"""Figures of the paper's two examples: Figure 1, and one example under any memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bygones._text import counted
from bygones.paper.examples import FIGURE_1_MEMORIES, ExampleHistory
from bygones.report.style import INK, MEMORY_LOOK, MUTED, PALETTE, RULE, Look, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, Look] = dict(
    zip(
        FIGURE_1_MEMORIES,
        (MEMORY_LOOK[name] for name in ("instantaneous", "γ = 0.9", "γ = 0.95", "γ = 0.99", "perfect recall")),
        strict=True,
    )
)
"""The lines of the memories of Figure 1, as in the other figures."""

TITLE_SIZE = 9


def figure_1(histories: Mapping[str, Mapping[str, ExampleHistory]]) -> Figure:
    """Figure 1 of the paper below a strip of who gets what in Example 2.

    The paper's panels are true leads in both examples, and the lead in the memory in the second.
    """
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(10.5, 6.6))
        grid = figure.subplot_mosaic([["strip"] * 3, ["first", "true", "memory"]], height_ratios=[1, 1.25])
        _strip(grid["strip"], histories["example-2"])
        _leads(grid["first"], histories["example-1"], in_memory=False)
        _leads(grid["true"], histories["example-2"], in_memory=False)
        _leads(grid["memory"], histories["example-2"], in_memory=True)
        grid["strip"].set_title(
            "Example 2: Bob joins after step 10. The longer the memory, the longer Alice then gets nothing."
        )
        grid["first"].set_title("Example 1: both join at the start", fontsize=TITLE_SIZE)
        grid["true"].set_title("Example 2: true lead", fontsize=TITLE_SIZE)
        grid["memory"].set_title("Example 2: lead in the memory", fontsize=TITLE_SIZE)
        grid["first"].text(0.97, 0.13, "every memory keeps the lead small", transform=grid["first"].transAxes,
                           ha="right", fontsize=7.5, color=MUTED)  # fmt: skip
        _legend(figure, grid["true"])
        return figure


def example_figure(name: str, histories: Mapping[str, ExampleHistory]) -> Figure:
    """One example under several memories: Alice's true lead, and her lead in the memory."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(9, 3.9))
        left, right = figure.subplots(1, 2)
        for axes, in_memory, title in ((left, False, "true lead"), (right, True, "lead in the memory")):
            _leads(axes, histories, in_memory=in_memory)
            axes.set_title(f"{name.replace('-', ' ').capitalize()}: {title}")
        _legend(figure, left)
        return figure


def _strip(axes: Axes, histories: Mapping[str, ExampleHistory]) -> None:
    """Who gets each item at each step: a pair of rows per memory, with the length of Alice's wait at the end."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    owners = [history.owners for history in histories.values()]
    steps, n_items = owners[0].shape
    joined = _joined(histories)
    for row, of_memory in enumerate(owners):
        top = row * (n_items + 0.8)
        edges = np.arange(steps + 1) + 0.5, top + np.arange(n_items + 1)
        axes.pcolormesh(*edges, of_memory.T, cmap=ListedColormap([INK, RULE]), vmin=0, vmax=1,
                        edgecolors="white", linewidth=0.8)  # fmt: skip
        gets = (of_memory[joined:] == 0).any(axis=1)
        wait = int(gets.argmax()) if gets.any() else len(gets)
        axes.text(steps + 1.2, top + n_items / 2, counted(wait, "step"), va="center", fontsize=8.5)
    axes.text(steps + 1.2, -0.6, "Alice waits", va="bottom", fontsize=8.5, color=MUTED)
    axes.axvline(joined + 0.5, color=PALETTE[3], linewidth=1.2)
    axes.set_yticks([row * (n_items + 0.8) + n_items / 2 for row in range(len(owners))], list(histories))
    axes.set_ylim(len(owners) * (n_items + 0.8) - 0.4, -0.4)
    axes.set_xlim(0.2, steps + 6)
    axes.set_xlabel("step", loc="left")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    agents = next(iter(histories.values())).example.agents
    axes.legend(
        [Patch(color=INK), Patch(color=RULE)],
        [f"to {agents[0]} (upper row: cake, lower row: donut)", f"to {agents[1]}"],
        loc="upper right", bbox_to_anchor=(1.0, -0.1), ncols=2,
    )  # fmt: skip


def _leads(axes: Axes, histories: Mapping[str, ExampleHistory], *, in_memory: bool) -> None:
    """Alice's lead over Bob, a line per memory; the last is the widest and lowest, so lines that coincide all show."""
    axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    for place, (label, history) in enumerate(histories.items()):
        lead = history.perceived_difference if in_memory else history.difference
        look = {"color": PALETTE[place % len(PALETTE)], **LOOKS.get(label, {}), "linewidth": 1.2 + 0.6 * place}
        axes.plot(range(1, len(lead) + 1), lead, label=label, **look, zorder=3 - place / len(histories))
    joined = _joined(histories)
    if joined:
        axes.axvline(joined + 0.5, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
        axes.annotate(
            "Bob joins", (joined + 0.5, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
            textcoords="offset points", va="top", color=MUTED, fontsize=8,
        )  # fmt: skip
    axes.set_xlabel("step")
    axes.set_ylabel(f"Alice's lead {'in the memory' if in_memory else 'in total utility'}")
    axes.margins(x=0.02)


def _joined(histories: Mapping[str, ExampleHistory]) -> int:
    """The step after which Bob joins."""
    return max(history.example.joins[1] for history in histories.values())


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), handlelength=2.4,
                  columnspacing=1.2)  # fmt: skip
