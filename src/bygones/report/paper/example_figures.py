"""Figures of the paper's two examples: Figure 1, and one example under any memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bygones.paper.examples import ExampleHistory
from bygones.report.style import MEMORY_LOOK, MUTED, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure_1(histories: Mapping[str, Mapping[str, ExampleHistory]]) -> Figure:
    """Figure 1 of the paper: true differences in both examples, perceived differences in the second."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(10.5, 3.9))
        left, centre, right = figure.subplots(1, 3)
        _differences(left, histories["example-1"], perceived=False)
        _differences(centre, histories["example-2"], perceived=False)
        _differences(right, histories["example-2"], perceived=True)
        left.set_title("Example 1: both join at the start")
        centre.set_title("Example 2: Bob joins after step 10")
        right.set_title("Example 2: remembered utility")
        left.set_ylabel("Alice's lead in total utility")
        centre.set_ylabel("Alice's lead in total utility")
        right.set_ylabel("Alice's lead in remembered utility")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=3.2)
        return figure


def example_figure(name: str, histories: Mapping[str, ExampleHistory]) -> Figure:
    """One example under several memories: Alice's true lead and her remembered lead."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        figure = ShownFigure(figsize=(9, 3.9))
        left, right = figure.subplots(1, 2)
        for axes, perceived, title in ((left, False, "true utility"), (right, True, "remembered utility")):
            _differences(axes, histories, perceived=perceived)
            axes.set_title(f"{name.replace('-', ' ').capitalize()}: {title}")
        left.set_ylabel("Alice's lead in total utility")
        right.set_ylabel("Alice's lead in remembered utility")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=3.2)
        return figure


def _differences(axes: Axes, histories: Mapping[str, ExampleHistory], *, perceived: bool) -> None:
    axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    for label, history in histories.items():
        lead = history.perceived_difference if perceived else history.difference
        axes.plot(range(1, len(lead) + 1), lead, label=label, **MEMORY_LOOK.get(label, {}))
    joined = max(history.example.joins[1] for history in histories.values())
    if joined:
        axes.axvline(joined + 0.5, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
        axes.annotate(
            "Bob joins", (joined + 0.5, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
            textcoords="offset points", va="top", color=MUTED, fontsize=8,
        )  # fmt: skip
    axes.set_xlabel("step")
    axes.margins(x=0.02)
