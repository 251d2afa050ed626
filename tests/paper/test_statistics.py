import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from bygones.paper.statistics import (
    Interval,
    cliffs_delta,
    groups,
    holm,
    mean_chance,
    mean_interval,
    median_chance,
    median_interval,
    standard_error,
)

VALUES = st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=40)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_standard_error():
    assert standard_error([1.0, 2.0, 3.0]) == pytest.approx(1 / math.sqrt(3))
    assert math.isnan(standard_error([1.0]))


@given(VALUES, st.sampled_from([0.9, 0.95, 0.975]), st.floats(-101, 101).map(lambda x: round(x, 1)))
def test_medians_are_judged_as_scipy_does(values, confidence, bound):
    found = stats.quantile_test(values, q=bound).confidence_interval(confidence)
    low, high = median_interval(values, confidence)
    assert (low, high) == (found.low, found.high) or (math.isnan(found.low) and math.isinf(low) and math.isinf(high))
    for side in ("less", "greater"):
        expected = stats.quantile_test(values, q=bound, alternative=side).pvalue
        assert median_chance(values, bound, side) == pytest.approx(expected)


def test_ten_seeds_decide_if_nine_of_them_agree():
    nine = [*np.linspace(0.1, 0.5, 9), 0.8]
    assert median_interval(nine, 0.975) == (nine[1], nine[8])
    assert median_chance(nine, 0.6, "less") == pytest.approx(11 / 1024)
    assert median_interval([1.0, 2.0, 3.0]) == (-math.inf, math.inf)


@given(VALUES)
def test_an_interval_and_its_test_agree(values):
    low, high = median_interval(values, 0.95)
    assume(math.isfinite(low))
    assert median_chance(values, low - 0.01, "greater") <= 0.025
    assert median_chance(values, high + 0.01, "less") <= 0.025
    assert median_chance(values, low, "greater") > 0.025 or values.count(low) > 1


def two_humps(share, rng, n):
    """As egalitarian perfect recall, unscaled: some seeds stay near 0.8 and the others come near equality."""
    return np.where(rng.random(n) < share, rng.normal(0.78, 0.02, n), np.abs(rng.normal(0.08, 0.04, n))).clip(0, 0.9)


SHAPES = {
    "normal": lambda rng, n: rng.normal(0.3, 0.05, n),
    "skewed": lambda rng, n: 0.1 * rng.lognormal(0.0, 0.8, n),
    "bounded at 0": lambda rng, n: 0.05 * rng.exponential(size=n),
    "two humps of one half": lambda rng, n: two_humps(0.5, rng, n),
    "two humps, one of three tenths": lambda rng, n: two_humps(0.3, rng, n),
    "two humps, one of a tenth": lambda rng, n: two_humps(0.1, rng, n),
    "two humps, one of a fiftieth": lambda rng, n: two_humps(0.02, rng, n),
}


def coverage(shape, n, repeats, confidence):
    rng = np.random.default_rng(n)
    truth = np.median(SHAPES[shape](rng, 2_000_001))
    covered = 0
    for _ in range(repeats):
        low, high = median_interval(SHAPES[shape](rng, n), confidence)
        covered += low <= truth <= high
    return covered / repeats


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("shape", ["bounded at 0", "two humps, one of a tenth"])
def test_intervals_cover_as_often_as_they_say(shape, n):
    assert coverage(shape, n, 1000, 0.95) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.soak
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.975])
@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_whatever_the_shape(shape, n, confidence):
    error = 3 * math.sqrt(confidence * (1 - confidence) / 10_000)
    assert coverage(shape, n, 10_000, confidence) >= confidence - error


def test_an_interval_of_the_mean_misses_a_rare_hump():
    """Why medians are judged: ten seeds of a cell in which one run in ten collapses."""
    rng = np.random.default_rng(0)
    truth = two_humps(0.1, rng, 1_000_000).mean()
    intervals = [mean_interval(two_humps(0.1, rng, 10)) for _ in range(1000)]
    assert np.mean([low <= truth <= high for low, high in intervals]) < 0.8


@pytest.mark.parametrize(("n", "covers"), [(10, 0.90), (3, 0.75)])
def test_a_percentile_bootstrap_covers_less_than_it_says(n, covers):
    """Why there are no bootstrap intervals of means, as there were: even for a single hump 95% are not 95%."""
    rng = np.random.default_rng(n)
    seeds = rng.normal(0.3, 0.05, (1000, n))
    drawn = rng.integers(n, size=(1000, 1000, n))
    means = np.take_along_axis(seeds[:, None, :], drawn, axis=2).mean(axis=2)
    low, high = np.quantile(means, [0.025, 0.975], axis=1)
    assert np.mean((low <= 0.3) & (high >= 0.3)) == pytest.approx(covers, abs=0.03)


def test_intervals_of_means_are_students():
    found = mean_interval([1.0, 2.0, 3.0, 4.0])
    assert found == pytest.approx(stats.t.interval(0.95, 3, 2.5, standard_error([1.0, 2.0, 3.0, 4.0])))
    assert mean_interval([2.0, 2.0]) == mean_interval([2.0]) == Interval(2.0, 2.0)


def test_a_mean_is_tested_as_student_does():
    values = [0.3, -0.1, 0.4, 0.2]
    assert mean_chance(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert [mean_chance(each) for each in ([0.2], [0.1, 0.1], [0.0, 0.0])] == [1, 0, 1]


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(CHANCES)
def test_holm_lies_between_no_correction_and_bonferronis(chances):
    adjusted = holm(chances)
    assert all(p <= q <= min(1.0, len(chances) * p) + 1e-12 for p, q in zip(chances, adjusted, strict=True))
    order = np.argsort(chances)
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


@given(VALUES, VALUES)
def test_effects_mirror(a, b):
    mirrored = cliffs_delta(b, a)
    assert cliffs_delta(a, b) == -mirrored
    assert -1 <= mirrored <= 1


def test_effect_size():
    assert cliffs_delta([2, 3], [0, 1]) == 1
    assert cliffs_delta([0, 1, 2], [1]) == 0


def test_seeds_that_split_are_two_groups():
    assert groups([0.1, 0.5, 0.11, 0.52, 0.12]) == ((0.1, 0.11, 0.12), (0.5, 0.52))
    assert groups([0.1, 0.5, 0.11, 0.52, 0.12], apart=0.5) == ((0.1, 0.11, 0.12, 0.5, 0.52),)
    assert len(groups(np.linspace(0, 1, 10))) == 1
    assert len(groups(np.random.default_rng(1).normal(size=10))) == 1
    assert len(groups([0.0, 0.0, 9.0])) == 1
    assert groups([1.0] * 5) == ((1.0,) * 5,)


@pytest.mark.parametrize("bad", [[], [[1.0]], [math.nan]])
def test_bad_input_is_refused(bad):
    with pytest.raises(ValueError, match="values must be"):
        median_interval(bad)
