"""Runs packed for a page come out as they went in."""

import base64
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones.learn.settings import Settings
from bygones.paper.optimum import episode_gini, for_settings
from bygones.paper.results import Results
from bygones.paper.untrained import RULES, reached
from bygones.report.paper import packing
from bygones.report.paper.packing import AS_THE_PAPER, METRICS, packed, variant
from bygones.report.paper.rule_lines import RULE_LOOK
from support import synthetic_results


@pytest.fixture(scope="module")
def results():
    return synthetic_results.results(seeds=3, scales=("none", "window")).where(welfare="egalitarian")


@pytest.fixture(scope="module")
def data(results):
    return json.loads(json.dumps(packed({"evidence": results, "own": results.where(seed=1)})))


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def panel_of(data, **wanted):
    (found,) = [panel for panel in data["panels"] if all(panel[name] == value for name, value in wanted.items())]
    return found


def test_every_run_is_in_one_cell(data, results):
    cells = [cell for panel in data["panels"] for cell in panel["cells"]]
    places = [cell["first"] + i for cell in cells for i in range(len(cell["seeds"]))]
    assert places == list(range(len(results) + len(results.where(seed=1))))


def test_panels_are_in_the_order_in_which_they_are_told(data):
    own = [panel for panel in data["panels"] if panel["origin"] == "own"]
    assert data["panels"][-len(own) :] == own
    assert [(panel["variant"], panel["observation_scale"]) for panel in own[:4:2]] == [
        (AS_THE_PAPER, "none"),
        (AS_THE_PAPER, "window"),
    ]
    assert {panel["variant"] for panel in own} == {AS_THE_PAPER, "λ = 0.9", "10,000,000 steps of training"}


def test_final_values_come_out_as_they_went_in(data, results):
    panel = panel_of(data, origin="evidence", variant=AS_THE_PAPER, observation_scale="window", aggregation="additive")
    (cell,) = [cell for cell in panel["cells"] if (cell["gamma"], cell["horizon"]) == (0.99, 5000)]
    runs = results.where(
        observation_scale="window", aggregation="additive", gamma=0.99, horizon=5000, total_steps=1_000_000
    )
    assert cell["seeds"] == runs["seed"].tolist() == [0, 1, 2]
    for name in ("gini", "welfare", "utility_per_step", "utility_least", "utility_most"):
        values = unpacked(data["finals"][name], "<f4")[cell["first"] :][:3]
        np.testing.assert_allclose(values, runs[f"final_{name}"], rtol=1e-6)
    shares = unpacked(data["finals"]["share"], "<f4")[cell["first"] :][:3]
    best = 5000 * for_settings(Settings(welfare="egalitarian", aggregation="averaged")).bound
    np.testing.assert_allclose(shares, runs["final_welfare"] / best, rtol=1e-6)


def test_curves_come_out_to_a_sixtyfive_thousandth(data, results):
    panel = panel_of(data, origin="own", variant=AS_THE_PAPER, observation_scale="none", aggregation="averaged")
    (cell,) = [cell for cell in panel["cells"] if (cell["gamma"], cell["horizon"]) == (1.0, 1000)]
    run = results.where(observation_scale="none", aggregation="averaged", gamma=1.0, horizon=1000, weight=0.999, seed=1)
    steps, values = run.curves("gini")
    assert data["steps"][cell["steps"]] == steps.tolist()
    low, high = cell["ranges"]["gini"]
    whole = unpacked(data["curves"]["gini"], "<u2")[cell["offset"] :][: len(steps)]
    np.testing.assert_allclose(low + (high - low) * whole / 65534, values[0], atol=(high - low) / 65534)


def test_more_runs_have_fewer_points(results):
    cell = results.where(observation_scale="none", aggregation="additive", gamma=0.9, horizon=100)
    small = packed({"evidence": cell}, run_bytes=(4 * 6 + 2 * 3 * 20) * len(cell))
    assert [len(steps) for steps in small["steps"]] == [20]
    assert small["steps"][0][-1] == cell["curve_steps"][0][-1]
    assert len(unpacked(small["curves"]["gini"], "<u2")) == 20 * len(cell)


def test_references_are_the_librarys(data):
    panel = panel_of(data, origin="own", variant=AS_THE_PAPER, observation_scale="window", aggregation="additive")
    reference = {one["horizon"]: one for one in panel["references"]}[500]
    settings = Settings(welfare="egalitarian", horizon=500)
    assert reference["best"]["gini"] == episode_gini(settings)
    assert reference["best"]["welfare"] == for_settings(settings).bound
    assert reference["best"]["utility_least"] == pytest.approx(reference["best"]["welfare"] / 500)
    names = {metric.name for metric in METRICS}
    assert set(reference["best"]) == {metric.name for metric in METRICS if metric.reference}
    assert list(reference["rules"]) == list(RULES)
    for rule, values in reference["rules"].items():
        assert set(values) == names
        found = reached(rule, settings.replace(gamma=1.0), [500])[500]
        assert values == {**found._asdict(), "share": float(for_settings(settings).share(found.welfare))}
    assert reference["best"]["utility_per_step"] > reference["rules"]["one-step"]["utility_per_step"]
    assert data["rules"] == list(RULE_LOOK)


def test_runs_that_stopped_are_left_out(results):
    cell = results.where(observation_scale="none", aggregation="additive", gamma=0.9, horizon=100)
    rows = cell.table.to_pylist()
    rows[1]["stopped_at"] = 5000
    stopped = Results(type(cell.table).from_pylist(rows, schema=cell.table.schema))
    (panel,) = packed({"own": stopped})["panels"]
    assert panel["cells"][0]["seeds"] == [0, 2]
    assert packed({"own": Results(stopped.table.slice(1, 1))})["panels"] == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, AS_THE_PAPER),
        ({"welfare": "egalitarian", "aggregation": "averaged", "weight": 0.999}, AS_THE_PAPER),
        ({"welfare": "egalitarian", "aggregation": "averaged"}, "λ = 0.9"),
        (
            {"ends": "termination", "shaping_discount": 0.99},
            "episodes that end by termination, shaping discounted by 0.99",
        ),
        ({"observe_denominator": True}, "dₜ observed"),
        ({"total_steps": 10_000_000}, "10,000,000 steps of training"),
        ({"learning_rate": 0.001}, "learning_rate = 0.001"),
        ({"observation_scale": "window", "gamma": 0.5, "seed": 3, "horizon": 7}, AS_THE_PAPER),
    ],
)
def test_runs_are_called_by_how_they_differ_from_the_papers(changes, words):
    assert variant(Settings(**changes)) == words


def test_memories_without_a_look_of_their_own_get_one():
    known, unknown = packing._memories([1.0, 0.5, 1.0])[::-1]
    assert known["label"] == "perfect recall"
    assert (unknown["label"], unknown["dash"]) == ("γ = 0.5", "solid")


@given(arrays(float, (2, 7), elements=st.floats(-1e9, 1e9) | st.just(math.nan)))
def test_whole_numbers_keep_what_is_known(values):
    whole, (low, high) = packing._whole_numbers(values)
    known = np.isfinite(values)
    assert ((whole == packing.UNKNOWN) == ~known).all()
    assert np.abs(low + (high - low) * (whole / 65534.0) - values)[known].max(initial=0) <= (high - low) / 65534 + 1e-6


@given(arrays(float, (2, 7), elements=st.floats(-9, 9) | st.just(math.nan)), st.integers(1, 9))
def test_thinner_curves_are_means_of_what_is_known(values, points):
    steps, means = packing._thinner(np.arange(7), values, points)
    assert len(steps) == means.shape[1] == min(points, 7)
    assert steps[-1] == 6
    known = np.isfinite(means)
    assert (means[known] <= np.nanmax(values, initial=-9) + 1e-9).all()
    if points >= 7:
        np.testing.assert_array_equal(means, values)
