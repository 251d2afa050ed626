"""The figure of λ: what it draws is what the cells hold."""

import numpy as np
import pytest
from benchmarks import collapse_note

from bygones.paper.collapse import cells_by_network
from bygones.report.paper.collapse_figure import LOWEST, MEMORIES, draw

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def drawn():
    networks = cells_by_network(collapse_note.runs(), horizon=10000, welfare="nash", gamma=MEMORIES)
    return networks, draw(networks, "Nash welfare")


def test_there_is_a_panel_for_each_question_and_network(drawn):
    networks, figure = drawn
    assert len(figure.axes) == 2 * len(networks)
    assert [axes.get_title(loc="left").replace(",\n", ", ") for axes in figure.axes[:3]] == list(networks)
    assert figure.axes[0].get_ylabel().startswith("Is it fair?")
    assert figure.axes[3].get_ylabel().startswith("Did it learn?")


def test_lines_are_medians_and_runs_far_below_are_at_the_edge(drawn):
    networks, figure = drawn
    cells = next(iter(networks.values()))
    recall = sorted((cell for cell in cells if cell.run.gamma == 1.0), key=lambda cell: cell.run.weight)
    for axes, measure in ((figure.axes[0], "gini"), (figure.axes[3], "learned")):
        line = next(line for line in axes.get_lines() if line.get_label() == "perfect recall")
        assert np.allclose(line.get_ydata(), [max(cell.median(measure), LOWEST) for cell in recall])
    assert any(cell.median("learned") < LOWEST for cell in recall)


def test_the_legend_tells_half_lives(drawn):
    _, figure = drawn
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [
        "perfect recall", "γ = 0.99 (half-life 69 steps)", "γ = 0.9 (half-life 7 steps)",
        "what the reward asks for, without learning",
    ]  # fmt: skip
