import re

import pytest

from bygones import decay
from bygones.paper import examples
from bygones.report import style
from bygones.report.paper.example_figures import example_figure, figure_1


def test_figure_1_draws_every_memory_in_three_panels():
    figure = figure_1(examples.figure_1(steps=12))
    _, left, centre, right = figure.axes
    for axes in (left, centre, right):
        labels = [line.get_label() for line in axes.lines if not line.get_label().startswith("_")]
        assert labels == list(examples.FIGURE_1_MEMORIES)
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    assert "Bob joins" not in [text.get_text() for text in left.texts]
    assert "Bob joins" in [text.get_text() for text in centre.texts]
    recall = list(examples.FIGURE_1_MEMORIES)[-1]
    drawn = next(line for line in right.lines if line.get_label() == recall)
    history = examples.figure_1(steps=12)["example-2"][recall]
    assert drawn.get_ydata().tolist() == history.perceived_difference.tolist()
    drawn = next(line for line in centre.lines if line.get_label() == recall)
    assert drawn.get_ydata().tolist() == history.difference.tolist()


def test_figure_1_shows_who_gets_what_and_how_long_alice_waits():
    strip, first, *_ = figure_1(examples.figure_1()).axes
    assert [label.get_text() for label in strip.get_yticklabels()] == list(examples.FIGURE_1_MEMORIES)
    assert [text.get_text() for text in strip.texts] == [
        "0 steps", "4 steps", "6 steps", "8 steps", "9 steps", "Alice waits",
    ]  # fmt: skip
    assert len(strip.collections) == len(examples.FIGURE_1_MEMORIES)
    # Four of the lines of the first example nearly coincide: each is narrower than the one below it.
    lines = [line for line in first.lines if not line.get_label().startswith("_")]
    widths, orders = [line.get_linewidth() for line in lines], [line.get_zorder() for line in lines]
    assert widths == sorted(set(widths))
    assert orders == sorted(set(orders), reverse=True)


def test_half_lives_of_figure_1_are_those_of_its_memories():
    for label, memory in list(examples.FIGURE_1_MEMORIES.items())[1:-1]:
        half_life, gamma = (float(text) for text in re.findall(r"[0-9.]+", label))
        assert decay.half_life(gamma=gamma) == pytest.approx(half_life, abs=0.09)
        assert memory.gamma == gamma


def test_memories_differ_in_colour_and_in_dashes():
    """An agent with the instantaneous memory is the myopic one: one memory under two names, and one look."""
    by_name = dict(style.MEMORY_LOOK)
    assert by_name.pop("myopic") == by_name["instantaneous"]
    looks = by_name.values()
    assert len({look["color"] for look in looks}) == len({str(look["linestyle"]) for look in looks}) == len(looks)


def test_example_figure_takes_memories_of_ones_own():
    histories = {"mine": examples.run(examples.EXAMPLE_2, examples.Discounted(half_life=5), steps=15)}
    figure = example_figure("example-2", histories)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Example 2: true lead",
        "Example 2: lead in the memory",
    ]


def test_saving_twice_gives_the_same_files(tmp_path):
    figure = figure_1(examples.figure_1(steps=5))
    first = [path.read_bytes() for path in style.save(figure, tmp_path / "a", "figure-1")]
    again = figure_1(examples.figure_1(steps=5))
    assert [path.read_bytes() for path in style.save(again, tmp_path / "b" / "c", "figure-1")] == first
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]


def test_house_style_leaves_matplotlib_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style.house_style():
        assert matplotlib.rcParams["axes.spines.top"] is False
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == list(style.PALETTE)
    assert dict(matplotlib.rcParams) == before
