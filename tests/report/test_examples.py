from bygones.paper import examples
from bygones.report import style
from bygones.report.paper.example_figures import example_figure, figure_1


def test_figure_1_draws_every_memory_in_three_panels():
    figure = figure_1(examples.figure_1(steps=12))
    assert len(figure.axes) == 3
    left, centre, right = figure.axes
    for axes in figure.axes:
        labels = [line.get_label() for line in axes.lines if not line.get_label().startswith("_")]
        assert labels == list(examples.FIGURE_1_MEMORIES)
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    assert "Bob joins" not in [text.get_text() for text in left.texts]
    assert "Bob joins" in [text.get_text() for text in centre.texts]
    drawn = next(line for line in right.lines if line.get_label() == "perfect recall")
    history = examples.figure_1(steps=12)["example-2"]["perfect recall"]
    assert drawn.get_ydata().tolist() == history.perceived_difference.tolist()
    drawn = next(line for line in centre.lines if line.get_label() == "perfect recall")
    assert drawn.get_ydata().tolist() == history.difference.tolist()


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
        "Example 2: true utility",
        "Example 2: remembered utility",
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
