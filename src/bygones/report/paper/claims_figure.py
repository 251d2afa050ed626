"""The verdicts on all claims as one figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bygones.paper.claims import Judgement
from bygones.paper.grid import SCALES
from bygones.paper.judging import CANNOT_TELL, DOES_NOT_ARISE, FAILS, HOLDS, TOO_FEW, Comparison
from bygones.report.style import MUTED, RULE, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICT_LOOK = {
    HOLDS: ("●", "#009E73"),
    FAILS: ("✕", "#D55E00"),
    CANNOT_TELL: ("?", MUTED),
    DOES_NOT_ARISE: ("○", MUTED),
    TOO_FEW: ("–", MUTED),
}
WELFARE_OFFSET = {"egalitarian": -0.18, "nash": 0.18}
"""Where a verdict stands in its column, by welfare function."""
OUTCOME_COLOURS = {True: "#009E73", None: RULE, False: "#D55E00"}
TEXT_WIDTH = 9.4
"""The width of a claim's text, in columns of verdicts."""
LINE = 108
"""The characters of a claim's text that have room on a line."""


def claims_figure(judgements: Sequence[Judgement]) -> Figure:
    """How each claim depends on what the network sees of the memory: one row per claim, one column per scale."""
    with house_style():
        from bygones.report.figures.shown_figure import ShownFigure

        scales = list(judgements[0].by_scale)
        figure = ShownFigure(figsize=(7.2 + 0.8 * len(scales), 0.38 * len(judgements) + 1.4))
        axes = figure.subplots()
        for row, judged in enumerate(judgements):
            axes.text(-TEXT_WIDTH, row, judged.name, va="center", fontsize=8.5, fontweight="bold")
            lines = "\n".join(textwrap.wrap(judged.claim, LINE))
            axes.text(0.6 - TEXT_WIDTH, row, lines, va="center", fontsize=8.5, linespacing=1.0)
            for column, scale in enumerate(scales):
                if scale not in judged.by_scale:
                    continue
                under_scale = judged.by_scale[scale]
                for welfare, verdict in under_scale.by_welfare.items():
                    glyph, colour = VERDICT_LOOK[verdict.short]
                    axes.text(column + WELFARE_OFFSET[welfare], row - 0.1, glyph, ha="center", va="center",
                              color=colour, fontsize=11, fontweight="bold")  # fmt: skip
                arising = [verdict for verdict in under_scale.by_welfare.values() if verdict.word != DOES_NOT_ARISE]
                compared = [comparison for verdict in arising for comparison in verdict.comparisons]
                _comparisons_bar(axes, column, row + 0.3, compared)
        axes.set_xlim(-TEXT_WIDTH, len(scales) - 0.4)
        axes.set_ylim(len(judgements) - 0.4, -0.6)
        axes.set_xticks(range(len(scales)), [in_lines(scale) for scale in scales], fontsize=7.5)
        axes.xaxis.tick_top()
        axes.set_yticks(np.arange(len(judgements)) + 0.5, [""] * len(judgements))
        axes.tick_params(length=0)
        axes.grid(axis="x", visible=False)
        axes.spines[:].set_visible(False)
        axes.set_title("The verdict on each claim, by how the memory is scaled for the network", pad=12)
        words = {word: word for word in VERDICT_LOOK} | {CANNOT_TELL: "seeds cannot tell", TOO_FEW: "too few runs"}
        occurring = {
            verdict.short
            for judged in judgements
            for under_scale in judged.by_scale.values()
            for verdict in under_scale.by_welfare.values()
        }
        signs = "      ".join(f"{VERDICT_LOOK[word][0]} {words[word]}" for word in words if word in occurring)
        bars = (
            "left sign: egalitarian welfare, right sign: Nash welfare; "
            "bars: the comparisons as claimed, undecided, and not as claimed"
        )
        axes.set_xlabel(f"{signs}\n{bars}", labelpad=6)
        return figure


def in_lines(scale: str, width: int = 12) -> str:
    """The input of the network under an observation scale, in short lines and without the noun that all share."""
    return "\n".join(textwrap.wrap(SCALES[scale].removeprefix("memory "), width))


def _comparisons_bar(axes: Axes, x: float, y: float, comparisons: Sequence[Comparison]) -> None:
    """A claim's comparisons as a bar: those as claimed on the left, those not as claimed on the right."""
    left = x - 0.34
    for outcome, colour in OUTCOME_COLOURS.items():
        width = 0.68 * sum(comparison.outcome is outcome for comparison in comparisons) / max(1, len(comparisons))
        axes.barh(y, width, 0.12, left, color=colour, edgecolor=MUTED, linewidth=0.3 if width else 0)
        left += width
