"""A figure of an agent's next decisions under each newcomer rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bygones.kinds import Kind, words
from bygones.ledger.forecast import Forecast
from bygones.report.style import MUTED, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def newcomers_figure(
    agent: str,
    outcomes: Sequence[Forecast],
    share: float,
    handed_out: float,
    every: str,
    kind: Kind = "good",
    unit: str = "",
) -> Figure:
    """The newcomer's total and recent total over the next decisions, a line per rule."""
    with house_style():
        from matplotlib.ticker import MaxNLocator

        from bygones.report.figures.shown_figure import ShownFigure

        # In a name, a dollar sign must not start a formula.
        name = agent.replace("$", r"\$")
        figure = ShownFigure(figsize=(9.5, 4.2))
        left, right = figure.subplots(1, 2)
        steps = np.arange(len(outcomes[0].received))
        dashes = ["-", (0, (6, 1.5)), (0, (4, 1.2, 1, 1.2)), (0, (1, 1.2)), (0, (9, 1.5))]
        for outcome, colour, dash in zip(outcomes, PALETTE, dashes, strict=False):
            label = f"{outcome.rule}: starts with {outcome.start:.3g}"
            left.step(steps, outcome.received, where="post", color=colour, linestyle=dash, label=label)
            right.plot(steps, outcome.remembered, color=colour, linestyle=dash)
        due = share * handed_out * steps
        left.plot(
            steps,
            due,
            color=MUTED,
            linestyle=(0, (2, 2)),
            label=f"{name}'s {words(kind).share}",
        )
        right.plot(
            steps,
            outcomes[-1].others,
            color=MUTED,
            linestyle=(0, (2, 2)),
            label=f"average of the others ({outcomes[-1].rule})",
        )
        left.set_title(f"Total {words(kind).received} by {name}")
        right.set_title(f"Recent total of {name}")
        in_unit = f", in {unit}" if unit else ""
        left.set_ylabel(f"total since joining{in_unit}")
        right.set_ylabel(f"recent total{in_unit}")
        for axes in (left, right):
            axes.set_xlabel(f"decisions from now on, one every {every}")
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.margins(x=0.02)
        right.legend(loc="best")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=3.2)
        return figure
