import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones.inequality import atkinson, gini, jain, lorenz, theil

vectors = arrays(float, st.integers(1, 8), elements=st.floats(0, 1e6))
positive = arrays(float, st.integers(2, 8), elements=st.floats(0.01, 1e4))
EPSILONS = [0.5, 1, 2, 50, math.inf]
MEASURES = [gini, theil, *(lambda x, e=e: atkinson(x, e) for e in EPSILONS)]


def test_by_hand():
    assert gini([1, 3]) == 0.25
    assert gini([0, 0, 0, 1]) == 0.75
    assert jain([1, 1, 0, 0]) == 0.5
    assert jain([1, 3]) == pytest.approx(16 / 20)
    assert theil([0, 2]) == pytest.approx(math.log(2))
    assert theil([1, 3]) == pytest.approx((0.5 * math.log(0.5) + 1.5 * math.log(1.5)) / 2)
    assert atkinson([1, 4], 1) == pytest.approx(1 - 2 / 2.5)
    assert atkinson([1, 4], 2) == pytest.approx(1 - 1.6 / 2.5)
    assert atkinson([1, 4], 0.5) == pytest.approx(1 - 2.25 / 2.5)
    assert atkinson([1, 4], math.inf) == pytest.approx(1 - 1 / 2.5)
    np.testing.assert_allclose(lorenz([3, 1]), [0, 0.25, 1])


@given(vectors)
def test_gini_is_the_mean_absolute_difference(x):
    total = x.sum()
    expected = np.abs(x[:, None] - x).sum() / (2 * len(x) * total) if total > 0 else 0.0
    assert gini(x) == pytest.approx(expected, abs=1e-9)


@given(vectors)
def test_gini_is_twice_the_area_above_the_lorenz_curve(x):
    curve = lorenz(x)
    area = (curve[1:] + curve[:-1]).sum() / 2 / len(x)
    assert gini(x) == pytest.approx(1 - 2 * area, abs=1e-9)
    assert curve[0] == 0
    assert curve[-1] == pytest.approx(1)
    assert (np.diff(curve) >= 0).all()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equality_and_nothing_at_all_are_zero(measure, n):
    assert measure(np.zeros(n)) == 0
    assert measure(np.full(n, 3.0)) == pytest.approx(0, abs=1e-12)
    assert jain(np.zeros(n)) == jain(np.full(n, 3.0)) == 1
    np.testing.assert_allclose(lorenz(np.zeros(n)), np.arange(n + 1) / n)


def test_a_single_agent_is_equal():
    for measure in MEASURES:
        assert measure([5.0]) == pytest.approx(0, abs=1e-12)
    assert jain([5.0]) == 1
    np.testing.assert_array_equal(lorenz([5.0]), [0, 1])


def test_one_agent_with_everything():
    x = [0, 0, 0, 0, 9.0]
    assert gini(x) == pytest.approx(0.8)
    assert jain(x) == pytest.approx(0.2)
    assert theil(x) == pytest.approx(math.log(5))
    assert atkinson(x, 0.5) == pytest.approx(1 - 1 / 5)
    assert atkinson(x, 1) == atkinson(x, 2) == atkinson(x, math.inf) == 1


@pytest.mark.parametrize("measure", [*MEASURES, jain])
@given(positive, st.floats(0.001, 1000))
def test_scale_does_not_matter(measure, x, factor):
    assert measure(factor * x) == pytest.approx(measure(x), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
@given(positive, st.floats(0, 0.5))
def test_a_transfer_from_rich_to_poor_never_raises_inequality(measure, x, part):
    after, rich, poor = x.copy(), x.argmax(), x.argmin()
    amount = part * (x[rich] - x[poor])
    after[rich] -= amount
    after[poor] += amount
    assert measure(after) <= measure(x) + 1e-9
    assert jain(after) >= jain(x) - 1e-9


@pytest.mark.parametrize("measure", MEASURES)
@given(vectors)
def test_ranges(measure, x):
    assert -1e-12 <= measure(x) <= max(1.0, math.log(len(x))) + 1e-9
    assert 1 / len(x) - 1e-12 <= jain(x) <= 1 + 1e-12


@given(positive)
def test_atkinson_grows_with_aversion_and_is_continuous_at_one(x):
    values = [atkinson(x, e) for e in (0.25, 0.5, 1 - 1e-6, 1, 1 + 1e-6, 2, 10, 1000, math.inf)]
    assert (np.diff(values) >= -1e-6).all()
    assert values[2] == pytest.approx(values[3], abs=1e-4)
    assert values[4] == pytest.approx(values[3], abs=1e-4)


def test_extreme_sizes_neither_overflow_nor_vanish():
    for scale in (1e-300, 1e300):
        assert jain(np.array([1.0, 3.0]) * scale) == pytest.approx(0.8)
        assert atkinson(np.array([1.0, 4.0]) * scale, 2) == pytest.approx(1 - 1.6 / 2.5)


@pytest.mark.parametrize("measure", [*MEASURES, jain])
def test_the_last_axis_is_agents(measure):
    batch = np.random.default_rng(0).random((2, 5, 3))
    batch[0, 0] = 0
    batch[1, 1, 0] = 0
    assert measure(batch).shape == (2, 5)
    for i, j in np.ndindex(2, 5):
        assert measure(batch)[i, j] == pytest.approx(measure(batch[i, j]))
    assert lorenz(batch).shape == (2, 5, 4)
    np.testing.assert_allclose(lorenz(batch)[1, 2], lorenz(batch[1, 2]))
    np.testing.assert_allclose(lorenz(batch)[0, 0], [0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("measure", [*MEASURES, jain, lorenz])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1, -1e-9], "x must be at least 0, because shares are undefined for negative utilities, got"),
        ([1, math.nan], "x must be finite, got nan at index 1"),
        ([math.inf], "x must be finite, got inf at index 0"),
        (3.0, r"x must have at least one agent along its last axis, got shape \(\)"),
        ([], r"x must have at least one agent along its last axis, got shape \(0,\)"),
    ],
)
def test_bad_input_is_refused(measure, x, message):
    with pytest.raises(ValueError, match=message):
        measure(x)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_bad_aversion_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        atkinson([1, 2], epsilon)
