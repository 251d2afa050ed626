"""The bound for any number of agents: nothing that can be searched or solved is above it."""

import numpy as np
import pytest
from benchmarks.foresight import foresight
from benchmarks.two_agents import best_for_two
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import Discounted, PerfectRecall
from bygones.envs.needs import Uniform, advantaged, correlated, lognormal, uniform
from bygones.simulation import policy_named, simulate
from bygones.welfare import as_judge
from support.cycles import best_cycle


@pytest.mark.soak
@settings(max_examples=3)
@given(st.integers(0, 2**32 - 1))
def test_no_sequence_of_decisions_is_above_it(seed):
    """With needs that never change, every cycle of seven decisions among three agents."""
    rng = np.random.default_rng(seed)
    needs, gamma = rng.uniform(0.3, 1.0, size=3), rng.uniform(0.3, 0.6)
    for welfare in ("egalitarian", "nash"):
        found = foresight(
            Uniform(needs, np.zeros(3)), Discounted(gamma=gamma), welfare, 1, samples=30, futures=2, seed=seed
        )
        assert best_cycle(needs, gamma, as_judge(welfare), longest=7) <= found.upper


@pytest.mark.parametrize("welfare", ["egalitarian", "nash", "alpha_fair(alpha=2)"])
def test_it_is_between_the_best_for_two_and_what_ignores_fluctuation(welfare):
    needs, memory = advantaged(2, 1), Discounted(gamma=0.8)
    found = foresight(needs, memory, welfare, 1, samples=400)
    best = best_for_two(needs, memory, welfare, nodes=24, bins=6, paths=200, steps=300)
    assert best.lower < found.upper < found.without_fluctuation


def test_total_utility_has_no_gap():
    """All that is received counts 1/(1−γ) times, and the two largest of three uniform needs have a mean of 5/4."""
    found = foresight(uniform(3), Discounted(gamma=0.5), "utilitarian", 2, samples=400)
    assert found.bound == pytest.approx(2.5, abs=4 * found.error + 1e-9)
    assert found.error < 0.02


@pytest.mark.soak
def test_knowing_the_future_helps():
    one, many = (foresight(advantaged(4, 1), Discounted(gamma=0.8), "nash", 1, samples=300, futures=m) for m in (1, 20))
    assert many.bound + 3 * many.error < one.bound


@pytest.mark.parametrize("rule", ["prices", "one-step"])
def test_no_rule_is_above_it(rule):
    needs, memory = lognormal([0.0, 0.5, -0.5, 0.0], 0.5), Discounted(gamma=0.8)
    found = foresight(needs, memory, "nash", 2, samples=200)
    run = simulate(policy_named(rule, memory, "nash", needs, 2), needs, memory, "nash", 3000, 2)
    assert run.welfare_remembered[100:].mean() < found.upper


@pytest.mark.soak
def test_an_averaged_memory_is_the_same_in_another_unit():
    summed, averaged = (
        foresight(uniform(3), Discounted(gamma=0.75, average=a), "egalitarian", 1, samples=50) for a in (False, True)
    )
    assert averaged.bound == pytest.approx(summed.bound / 4)


def test_bad_input_is_refused():
    memory = Discounted(gamma=0.9)
    with pytest.raises(ValueError, match="needs must be drawn afresh at every step"):
        foresight(correlated(uniform(3), 0.5), memory, "nash", 1)
    with pytest.raises(ValueError, match="welfare must be utilitarian, nash, egalitarian or alpha_fair"):
        foresight(uniform(3), memory, "generalized_gini", 1)
    with pytest.raises(ValueError, match=r"memory.gamma must be below 1, got 1\.0"):
        foresight(uniform(3), PerfectRecall(), "nash", 1)
