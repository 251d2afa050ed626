"""No decisions beat the bound, and it is tight."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide
from bygones.allocation.hindsight import hindsight
from bygones.envs.needs import advantaged
from bygones.simulation import policy_named, simulate


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_no_decisions_beat_it(seed):
    rng = np.random.default_rng(seed)
    needs = rng.random((3, 3)) * [1.0, 0.3, 2.0]
    upper = {welfare: hindsight([ChooseK(x, 1) for x in needs], welfare).upper for welfare in ("egalitarian", "nash")}
    for served in itertools.product(range(3), repeat=3):
        made = np.zeros(3)
        np.add.at(made, list(served), needs[np.arange(3), list(served)])
        made /= 3
        assert made.min() <= upper["egalitarian"] + 1e-12
        assert np.prod(made) ** (1 / 3) <= upper["nash"] + 1e-12


def test_it_is_tight_in_the_papers_problem():
    """The optimum of the distribution is 0.1784, and good prices come within a hundredth of the bound."""
    noise = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[0])
    noise.random(10)
    problems = [ChooseK(advantaged().draw(noise.random(10), None, t)[0], 2) for t in range(1, 4001)]
    bound = hindsight(problems, "egalitarian")
    assert bound.upper == pytest.approx(0.1784, rel=0.01)
    assert bound.prices.sum() == pytest.approx(1.0)
    memory = PerfectRecall()
    made = simulate(
        policy_named("prices", memory, "egalitarian", advantaged(), 2), advantaged(), memory, "egalitarian", 4000
    )
    assert 0.98 * bound.upper <= made.summary()["egalitarian"] <= bound.upper


def test_items_and_amounts_have_a_bound_too():
    rng = np.random.default_rng(0)
    items = [Assign(rng.random((3, 2))) for _ in range(10)]
    assert 0.3 < hindsight(items, "egalitarian").upper < 2 / 3
    # Everybody has the same use for it, so a third each is the best.
    assert hindsight([Divide(1.0, np.ones(3))] * 5, "nash").upper == pytest.approx(1 / 3)
    assert hindsight([Divide(1.0, np.ones(3))] * 5, "egalitarian").upper == pytest.approx(1 / 3)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="welfare must be egalitarian or nash, got utilitarian"):
        hindsight([ChooseK([1, 2], 1)], "utilitarian")
    with pytest.raises(ValueError, match="at least one problem"):
        hindsight([], "nash")
    with pytest.raises(ValueError, match="problems must be of goods"):
        hindsight([ChooseK([1, 2], 1), ChooseK([1, 2], 1, kind="burden")], "egalitarian")
