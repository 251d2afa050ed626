"""The schedulers' scores are those of the schedulers' own recursions, one interval at a time."""

import numpy as np
import pytest

from support.guides import DOCS
from support.walkthrough import walk_through


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    return walk_through(DOCS / "guides" / "schedulers.md", tmp_path_factory.mktemp("schedulers"))


def test_slurm_decays_usage_every_five_minutes(names):
    daily, shares = names["daily"], names["shares"]
    per_period, factor = daily / 288, 0.5 ** (1 / (7 * 288))
    raw = np.zeros(3)
    # Usage that arrives over the day, period by period, against usage that arrives at its end.
    for hours in np.repeat(per_period, 288, axis=0):
        raw = raw * factor + hours
    spread = names["usage"](np.repeat(per_period, 288, axis=0), names["Discounted"](half_life=7 * 288))
    np.testing.assert_allclose(spread, raw, rtol=1e-12)
    U, S = raw / raw.sum(), shares / shares.sum()
    np.testing.assert_allclose(names["slurm_classic"](spread, shares, 2.0), 2 ** (-U / S / 2), rtol=1e-12)
    np.testing.assert_allclose(names["slurm_level"](spread, shares), S / U, rtol=1e-12)
    assert names["slurm_level"](np.array([0.0, 1.0]), np.ones(2)).tolist() == [np.inf, 0.5]


def test_htcondor_and_kueue_average_interval_by_interval(names):
    averaged = names["averaged"]
    in_use = np.random.default_rng(3).integers(0, 9, (200, 4)).astype(float)
    in_use[50:120, 0] = 0
    for start, least in ((0.5, 0.5), (0.0, 0.0)):
        beta, expected = 0.5 ** (60 / 86400), np.full(4, start)
        for cores in in_use:
            expected = np.maximum(beta * expected + (1 - beta) * cores, least)
        np.testing.assert_allclose(averaged(in_use, 60, 86400, start, least), expected, rtol=1e-12)


def test_lsf_lets_an_hour_decay_to_a_tenth_after_hist_hours(names):
    memory = names["Discounted"](gamma=names["decay"].gamma(tenth_life=5))
    hour = np.array([[1.0], *[[0.0]] * 5])
    assert names["usage"](hour, memory)[0] == pytest.approx(0.1)
    assert names["lsf_priority"](10, 0.1, run_hours=2, slots=1) == pytest.approx(10 / (0.07 + 1.4 + 6))
