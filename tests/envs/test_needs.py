import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.envs import needs

NOISE = np.random.default_rng(0).random((20_000, 4))


def draws(distribution, noise=NOISE):
    drawn, state = [], distribution.start(noise[0])
    for t, row in enumerate(noise[1:], start=1):
        x, state = distribution.draw(row, state, t)
        drawn.append(x)
    return np.array(drawn)


def test_the_papers_needs():
    low, high = needs.advantaged().bounds
    assert low.tolist() == [0.8, 0.8] + [0.0] * 8
    assert high.tolist() == [1.0] * 10
    assert needs.advantaged().mean.tolist() == pytest.approx([0.9, 0.9] + [0.5] * 8)


@pytest.mark.parametrize(
    "distribution",
    [
        needs.uniform(4, 0.2, 0.7),
        needs.advantaged(4, 1),
        needs.lognormal(np.array([0.0, 0.1, -1.0, 0.5]), 0.4),
        needs.correlated(needs.uniform(4, 0.2, 0.7), 0.8),
        needs.replayed(np.arange(12).reshape(3, 4)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_draws_have_the_stated_mean_and_bounds(distribution):
    drawn = draws(distribution)
    low, high = distribution.bounds
    assert distribution.n_agents == 4
    assert (drawn >= low).all()
    assert (drawn <= high).all()
    np.testing.assert_allclose(drawn.mean(axis=0), distribution.mean, rtol=0.03, atol=1e-3)


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 1))
def test_uniform_needs_never_round_beyond_their_bounds(a, b, noise):
    distribution = needs.uniform(1, min(a, b), max(a, b))
    drawn, _ = distribution.draw(np.array([noise]), np.zeros(0), 1)
    low, high = distribution.bounds
    assert low[0] <= drawn[0] <= high[0]
    assert high[0] == pytest.approx(max(a, b), rel=1e-15)


def test_correlated_needs_linger_and_are_uniform():
    drawn = draws(needs.correlated(needs.uniform(4), 0.8))
    assert np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1] == pytest.approx(0.8, abs=0.03)
    shares = np.histogram(drawn[:, 1], bins=10, range=(0, 1))[0] / len(drawn)
    np.testing.assert_allclose(shares, 0.1, atol=0.025)


def test_no_correlation_is_independence():
    drawn = draws(needs.correlated(needs.uniform(4), 0.0))
    np.testing.assert_allclose(drawn, NOISE[1:], atol=1e-12)


def test_lognormal_noise_at_the_ends_stays_finite():
    drawn, _ = needs.lognormal(np.zeros(2), 1.0).draw(np.array([0.0, 1.0]), np.zeros(0), 1)
    assert np.isfinite(drawn).all()


def test_replayed_needs_start_over():
    table = np.arange(6.0).reshape(3, 2)
    replay = needs.replayed(table)
    seen = [replay.draw(np.zeros(2), np.zeros(0), t)[0].tolist() for t in range(1, 8)]
    assert seen == [*table.tolist(), *table.tolist(), table[0].tolist()]


def test_replayed_needs_of_a_batch_at_different_steps():
    table = np.arange(6.0).reshape(3, 2)
    rows, _ = needs.replayed(table).draw(np.zeros((2, 2)), np.zeros((2, 0)), np.array([1, 3]))
    assert rows.tolist() == [table[0].tolist(), table[2].tolist()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: needs.uniform(0), "n_agents must be a whole number of at least 1"),
        (lambda: needs.uniform(3, 1.0, 0.5), "low must be at most high"),
        (lambda: needs.uniform(3, -1.0, 0.5), "low must be a finite number of at least 0"),
        (lambda: needs.advantaged(3, 4), r"n_advantaged must be at most n_agents \(3\), got 4"),
        (lambda: needs.lognormal(0.0, 0.0), "sigma must be above 0"),
        (lambda: needs.lognormal(np.nan, 1.0), "mu must be finite"),
        (lambda: needs.correlated(needs.uniform(2), 1.0), "rho must be at least 0 and below 1"),
        (lambda: needs.replayed([1.0, 2.0]), "one row per step and one column per agent"),
        (lambda: needs.replayed([[1.0, -2.0]]), "table must be at least 0"),
    ],
)
def test_bad_needs_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
