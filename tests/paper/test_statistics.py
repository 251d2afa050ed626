import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.paper.statistics import (
    cliffs_delta,
    difference_interval,
    groups,
    interquartile_mean,
    interval,
    standard_error,
    summary,
)

VALUES = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=1, max_size=12)


def test_standard_error_and_interquartile_mean():
    assert standard_error([1.0, 2.0, 3.0]) == pytest.approx(1 / math.sqrt(3))
    assert math.isnan(standard_error([1.0]))
    assert interquartile_mean([0.0, 1.0, 2.0, 100.0]) == 1.5
    np.testing.assert_array_equal(
        interquartile_mean(np.array([[0.0, 1.0, 2.0, 9.0], [5.0, 5.0, 5.0, 5.0]])), [1.5, 5.0]
    )


@given(VALUES)
def test_intervals_are_seeded_and_within_the_values(values):
    once, again = interval(values, np.mean), interval(values, np.mean)
    assert once == again
    assert min(values) - 1e-9 <= once.low <= once.high <= max(values) + 1e-9


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        low, high = interval(rng.normal(3.0, 1.0, 20), np.mean, seed)
        covered += low <= 3.0 <= high
    assert 0.86 <= covered / 200 <= 0.99


@given(VALUES, VALUES)
def test_differences(a, b):
    low, high = difference_interval(a, b)
    assert min(a) - max(b) - 1e-9 <= low <= high <= max(a) - min(b) + 1e-9
    mirrored = cliffs_delta(b, a)
    assert cliffs_delta(a, b) == -mirrored
    assert -1 <= mirrored <= 1


def test_effect_size():
    assert cliffs_delta([2, 3], [0, 1]) == 1
    assert cliffs_delta([0, 1, 2], [1]) == 0
    assert difference_interval([1.0, 1.0], [3.0]) == (-2.0, -2.0)


def test_seeds_that_split_are_two_groups():
    assert groups([0.1, 0.5, 0.11, 0.52, 0.12]) == ((0.1, 0.11, 0.12), (0.5, 0.52))
    assert groups([0.1, 0.5, 0.11, 0.52, 0.12], apart=0.5) == ((0.1, 0.11, 0.12, 0.5, 0.52),)
    assert len(groups(np.linspace(0, 1, 10))) == 1
    assert len(groups(np.random.default_rng(1).normal(size=10))) == 1
    assert len(groups([0.0, 0.0, 9.0])) == 1
    assert groups([1.0] * 5) == ((1.0,) * 5,)


def test_a_summary_carries_the_seeds():
    summed = summary([0.4, 0.1, 0.11, 0.12, 0.41])
    assert summed.seeds == (0.4, 0.1, 0.11, 0.12, 0.41)
    assert summed.mean == pytest.approx(0.228)
    assert summed.mean_interval.low < summed.mean < summed.mean_interval.high
    assert summed.interquartile_interval.low <= summed.interquartile_mean <= summed.interquartile_interval.high
    assert len(summed.groups) == 2


@pytest.mark.parametrize("bad", [[], [[1.0]], [math.nan]])
def test_bad_input_is_refused(bad):
    with pytest.raises(ValueError, match="values must be"):
        summary(bad)
