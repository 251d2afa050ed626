"""Other thresholds, tests and bars change the verdicts that they are about, and nothing after them."""

from unittest import mock

import numpy as np
import pytest
from benchmarks import sensitivity

from bygones.paper import criteria
from bygones.paper.cells import Cells
from bygones.paper.judging import FAILS, HOLDS
from bygones.paper.statistics import median_chance
from support import synthetic_results

CELLS = {"extra": False, "aggregation": ("additive",), "welfare": ("nash",), "seeds": 12}


@pytest.fixture(scope="module")
def results():
    return synthetic_results.results(**CELLS)


def words(results, name):
    return {word for (claim, _, welfare), word in sensitivity.verdicts(results, [name]).items() if welfare == "nash"}


def test_a_lower_share_makes_fair_memories_unfair(results):
    assert words(results, "C9") == {HOLDS}
    with mock.patch.object(criteria, "FAIR_SHARE", 0.05):
        assert words(results, "C9") == {FAILS}
    assert words(results, "C9") == {HOLDS}


def test_the_other_bar_does_not_depend_on_the_myopic_agent():
    fair_myopic = synthetic_results.results(
        lambda run: 0.05 if run.gamma == 0 else synthetic_results.as_the_paper_says(run), **CELLS
    )
    seeds = Cells.seeds
    assert words(fair_myopic, "C9") == {FAILS}
    with sensitivity.by_the_largest_needs():
        assert words(fair_myopic, "C9") == {HOLDS}
    assert Cells.seeds is seeds


def test_the_rule_of_the_other_bar_is_unfair_at_every_horizon():
    bar = sensitivity.largest_needs()
    assert list(bar) == list(criteria.HORIZONS)
    assert all(0.4 < gini < 0.5 for gini in bar.values())
    assert bar[10000] == pytest.approx(0.42, abs=0.005)


def test_students_test_agrees_with_the_sign_test_where_both_are_sure():
    values = np.linspace(0.1, 0.3, 12)
    for chance in (sensitivity.mean_chance, median_chance):
        assert chance(values, 0.5, "less") < 0.001 < 0.999 < chance(values, 0.5, "greater")
    assert sensitivity.mean_chance(np.zeros(10), 0.0, "less") == 1.0
    assert sensitivity.mean_chance(np.zeros(10), 0.1, "less") == 0.0
    assert sensitivity.mean_chance(values, np.inf, "less") == 0.0
