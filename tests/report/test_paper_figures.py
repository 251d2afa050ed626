import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from bygones.learn.settings import Settings
from bygones.paper.claims import judge
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import GAMMAS, HORIZONS, WELFARES, memory_label
from bygones.paper.optimum import episode_gini, for_settings
from bygones.paper.results import read
from bygones.paper.untrained import reached
from bygones.report.paper import paper_figures, rule_lines
from bygones.report.paper.claims_figure import claims_figure
from bygones.report.paper.paper_figures import draw, draw_all, names
from bygones.report.paper.rule_lines import RULE_LOOK
from support import synthetic_results

MEMORIES = [memory_label(gamma) for gamma in GAMMAS]


@pytest.fixture(scope="module")
def results():
    return synthetic_results.results(seeds=3, scales=("none", "window"), extra=True)


def lines(axes):
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def dots(axes):
    return [line for line in axes.lines if line.get_marker() == "o"]


@pytest.mark.parametrize("name", ["2a", "2b", "3a", "3b", "4a", "4b", "5a", "5b"])
def test_against_the_horizon(results, name):
    (axes,) = draw(name, results, "window").axes
    welfare = "egalitarian" if name.endswith("a") else "nash"
    aggregation = "additive" if name[0] in "23" else "averaged"
    metric = "final_welfare" if name[0] in "24" else "final_gini"
    runs = results.where(
        welfare=welfare, aggregation=aggregation, observation_scale="window", gamma=1.0, horizon=10000,
        weight=0.999 if (welfare, aggregation) == ("egalitarian", "averaged") else 0.9, total_steps=1_000_000,
    )  # fmt: skip
    assert len(runs) == 3
    drawn = lines(axes)
    assert drawn["perfect recall"].get_ydata()[-1] == pytest.approx(runs[metric].mean())
    assert list(drawn)[:5] == MEMORIES
    assert sorted(dots(axes)[-1].get_ydata()) == pytest.approx(sorted(runs[metric]))
    assert len(dots(axes)) == len(GAMMAS) * len(HORIZONS)
    if metric == "final_welfare":
        assert drawn["best possible"].get_ydata()[-1] == for_settings(runs.settings()[0]).bound
    else:
        assert drawn["best stationary policy"].get_ydata()[-1] == episode_gini(runs.settings()[0])
    assert axes.get_xlabel()
    assert axes.get_ylabel()


@pytest.mark.parametrize("name", ["6", "9"])
def test_training_curves_have_a_row_per_horizon(results, name):
    figure = draw(name, results, "window")
    assert len(figure.axes) == 3 * len(HORIZONS)
    assert [axes.get_title(loc="left") for axes in figure.axes[::3]] == [f"T = {horizon:,}" for horizon in HORIZONS]
    for axes in figure.axes:
        assert list(lines(axes)) == MEMORIES
        assert axes.get_ylim() == figure.axes[2].get_ylim() or axes not in figure.axes[2::3]
        bands_and_seeds = axes.collections
        assert len(bands_and_seeds) == 2 * len(GAMMAS)


def test_the_distance_to_the_optimum_is_a_share(results):
    figure = draw("optimum", results, "window")
    for axes in figure.axes:
        for line in lines(axes).values():
            assert (np.asarray(line.get_ydata()) <= 1.02).all()
    recall = lines(figure.axes[0])["perfect recall"].get_ydata()
    assert recall[-1] < recall[0]


def test_a_slice_has_no_empty_panels_and_its_headline_leaves_room_for_the_note(results):
    figure = draw("optimum", results.where(welfare="egalitarian", aggregation="additive"), "window")
    assert len(figure.axes) == 1
    figure.canvas.draw()
    named = {text.get_text(): text.get_window_extent() for text in figure.findobj(Text)}
    headline, note = named[figure.get_suptitle()], named["memory divided by its largest possible value"]
    assert not headline.overlaps(note)


def test_scales_side_by_side(results):
    figure = draw("scales", results)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "unscaled memory",
        "divided by its largest\npossible value",
        "",
        "",
    ]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "horizon T", "horizon T"]
    assert figure.axes[0].get_ylabel() == "Gini coefficient, egalitarian welfare"
    assert figure.axes[2].get_ylabel() == "Gini coefficient, Nash welfare"


def test_a_figure_names_its_runs(results):
    (axes,) = draw("3a", results, "window").axes
    assert [text.get_text() for text in axes.texts][-1] == "memory divided by its largest possible value"
    longer = results.where(gamma=1.0)
    (axes,) = draw("3a", longer, "none", total_steps=10_000_000).axes
    assert [text.get_text() for text in axes.texts][-1] == "unscaled memory, total_steps = 10000000"
    assert draw("6", results, "none").texts[-1].get_text() == "unscaled memory"
    assert draw("scales", results).texts[-1].get_text() == ""
    (legend,) = draw("3b", results, "window").legends
    assert [text.get_text() for text in legend.get_texts()][-3:] == [
        "one run",
        "mean ± standard error",
        "untrained rules, perfect recall",
    ]


def test_claims_by_scale():
    some = {"gamma": (0.0, 1.0), "aggregation": ("additive",), "horizon": (100, 500, 10000)}
    judgements = judge(synthetic_results.results(scales=("none", "window"), extra=False, **some), ["C2", "C3"])
    (axes,) = claims_figure(judgements).axes
    written = [text.get_text() for text in axes.texts]
    assert written.count("●") == 8
    assert axes.get_xlabel().startswith("● holds\nleft sign: egalitarian")
    true, unknown, false = (bar.get_width() for bar in axes.patches[:3])
    assert (round(true, 2), unknown, false) == (0.68, 0, 0)
    assert judgements[0].claim in written
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "unscaled\nmemory",
        "divided by\nits largest\npossible\nvalue",
    ]


def test_a_single_seed_and_few_horizons_are_enough_to_draw():
    quick = synthetic_results.results(seeds=1, extra=False).where(horizon=(100, 1000), aggregation="additive")
    (axes,) = draw("3b", quick).axes
    assert len(lines(axes)["perfect recall"].get_ydata()) == 2
    assert len(draw("7", quick).axes) == 6
    assert len(draw("optimum", quick).axes) == 2
    assert len(draw("optimum", quick.where(welfare="nash")).axes) == 1


def test_two_networks_side_by_side(results):
    folder = evidence_folder()
    both = read(folder / "none", folder / "symmetric")
    figure = draw("networks", both, "window")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Egalitarian welfare", "Nash welfare", "", ""]
    for axes in figure.axes:
        assert list(rules_of(axes)) == list(RULE_LOOK)
    for axes, welfare in zip(figure.axes[:2], WELFARES, strict=True):
        for line, policy in (("paper's network", "mlp"), ("network shared across agents", "symmetric")):
            cell = {"welfare": welfare, "aggregation": "additive", "gamma": 1.0, "policy": policy}
            medians = [np.median(both.where(**cell, horizon=T)["final_gini"]) for T in HORIZONS]
            assert list(lines(axes)[f"{line}, perfect recall, median"].get_ydata()) == medians
    with pytest.raises(ValueError, match="there are no runs for figure networks among these"):
        draw("networks", results, "window")


def test_two_networks_that_see_the_memory_divided_by_the_same_constant():
    folder = evidence_folder()
    both = read(folder / "fixed", folder / "tenth", folder / "symmetric-tenth", folder / "none", folder / "symmetric")
    figure = draw("networks", both, "fixed")
    assert "memory divided by 10" in {text.get_text() for text in figure.texts}
    cell = {"welfare": "egalitarian", "aggregation": "additive", "gamma": 1.0, "fixed_scale": 10.0}
    drawn = lines(figure.axes[0])
    for line, policy, horizons in (("paper's network", "mlp", (5000, 10000)),
                                   ("network shared across agents", "symmetric", HORIZONS)):  # fmt: skip
        medians = [np.median(both.where(**cell, policy=policy, horizon=T)["final_gini"]) for T in horizons]
        assert list(drawn[f"{line}, perfect recall, median"].get_ydata()) == medians
    assert len(drawn["paper's network, myopic, median"].get_ydata()) == len(HORIZONS)


def test_what_cannot_be_drawn_is_refused(results):
    with pytest.raises(ValueError, match=r"figure must be one of 2a, .*got '1'"):
        draw("1", results)
    with pytest.raises(ValueError, match=r"several observation scales \(none, window\): choose one"):
        draw("2a", results)
    with pytest.raises(ValueError, match="observation_scale must be one of none, window, got 'fixed'"):
        draw("2a", results, "fixed")
    with pytest.raises(ValueError, match="there are no runs for figure 2a among these"):
        draw("2a", results, "window", ends="termination")


def test_all_at_once(results, tmp_path, monkeypatch):
    few = {name: paper_figures._FIGURES[name] for name in ("3b", "scales")}
    monkeypatch.setattr(paper_figures, "_FIGURES", few)
    paths = draw_all(results, tmp_path, "none")
    assert [path.name for path in paths] == [
        "figure-3b.png", "figure-3b.svg", "figure-scales.png", "figure-scales.svg"
    ]  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in paths)
    assert names() == ["3b", "scales"]


@pytest.mark.soak
def test_all_that_there_are_runs_for(tmp_path):
    """A quick slice has no averaged runs, and a reader may ask for less than that."""
    quick = synthetic_results.results(seeds=1, extra=False).where(horizon=(100, 1000), aggregation="additive")
    drawn = draw_all(quick.where(welfare="nash"), tmp_path)
    assert [path.stem for path in drawn[::2]] == [f"figure-{name}" for name in ("2b", "3b", "7", "optimum", "scales")]
    assert draw_all(quick.where(gamma=0.5), tmp_path) == []


def rules_of(axes):
    return {line.get_gid(): line for line in axes.lines if line.get_gid()}


def named(axes):
    return [text.get_text() for text in axes.texts if text.get_text() in RULE_LOOK]


@pytest.mark.parametrize("name", [name for name in names() if name != "networks"])
def test_rules_that_need_no_training_are_drawn_and_named_in_every_figure(results, name):
    figure = draw(name, results, None if name == "scales" else "window")
    for axes in figure.axes:
        assert list(rules_of(axes)) == list(RULE_LOOK)
        at_the_edge = name != "scales" or axes in figure.axes[1::2]
        assert sorted(named(axes)) == (sorted(RULE_LOOK) if at_the_edge else [])
    (legend,) = figure.legends
    assert "untrained rules, perfect recall" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    ("name", "metric"), [("2a", "welfare"), ("3b", "gini"), ("4b", "welfare"), ("5a", "gini"), ("optimum", "share")]
)
def test_rules_are_where_they_were_measured(results, name, metric):
    axes = draw(name, results, "window").axes[0]
    welfare = "nash" if name.endswith("b") else "egalitarian"
    run = Settings(welfare=welfare, aggregation="averaged" if name[0] in "45" else "additive", gamma=1.0)
    drawn = rules_of(axes)
    assert list(drawn) == list(RULE_LOOK)
    for rule, line in drawn.items():
        found = reached(rule, run, HORIZONS)
        if metric == "share":
            expected = [for_settings(run.replace(horizon=T)).share(one.welfare) for T, one in found.items()]
        else:
            expected = [getattr(one, metric) for one in found.values()]
        np.testing.assert_allclose(line.get_ydata(), expected)


def test_rules_are_level_lines_beside_training_curves(results):
    figure = draw("6", results, "window")
    for axes, metric in zip(figure.axes[-3:], ("utility_per_step", "welfare", "gini"), strict=True):
        drawn = rules_of(axes)
        assert list(drawn) == list(RULE_LOOK)
        for rule, line in drawn.items():
            value = getattr(reached(rule, Settings(welfare="egalitarian", gamma=1.0), HORIZONS)[10000], metric)
            assert list(line.get_ydata()) == [value, value]


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=5), st.floats(0.01, 0.2))
def test_names_are_moved_apart_and_keep_their_order(places, height):
    moved = rule_lines._apart(places, height)
    assert set(moved) == set(places)
    order = sorted(places, key=lambda name: moved[name])
    gaps = np.diff([moved[name] for name in order])
    assert (gaps >= height - 1e-9).all()
    assert min(moved.values(), default=0.0) >= 0
    assert [places[name] for name in order] == sorted(places.values())
    far = np.diff(sorted(places.values())) >= height
    if far.all():
        assert moved == pytest.approx(places)
