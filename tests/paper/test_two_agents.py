"""The best for two agents: what is known in closed form or by search lies in the bracket, and no rule is above it."""

import itertools

import numpy as np
import pytest
from benchmarks.two_agents import BestForTwo, best_for_two
from benchmarks.value_iteration import Axis, Side, proved, sweep
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import Discounted, PerfectRecall
from bygones.envs.needs import Uniform, advantaged, lognormal, uniform
from bygones.simulation import policy_named, simulate
from bygones.welfare import as_judge
from support.cycles import best_cycle

WELFARES = ("egalitarian", "nash", "utilitarian", "alpha_fair(alpha=2)", "alpha_fair(alpha=0.5)", "generalized_gini")


def coarse(needs, memory, welfare, nodes=24) -> BestForTwo:
    return best_for_two(needs, memory, welfare, nodes=nodes, bins=6, paths=200, steps=300)


@pytest.fixture(scope="module")
def egalitarian() -> BestForTwo:
    return coarse(advantaged(2, 1), Discounted(gamma=0.9), "egalitarian", nodes=40)


@pytest.mark.parametrize(("welfare", "best"), [("utilitarian", 2 / 3), ("generalized_gini", 1 / 6), ("egalitarian", 0)])
def test_without_a_memory_the_best_is_known(welfare, best):
    """The larger of two uniform needs has a mean of 2/3; generalised Gini gives the better-off a weight of 1/4."""
    found = coarse(uniform(2), Discounted(gamma=0.0), welfare, nodes=5)
    assert found.lower <= best <= found.upper
    assert found.upper == pytest.approx(best, abs=0.01)


@pytest.mark.soak
@pytest.mark.parametrize("welfare", ["egalitarian", "nash", "generalized_gini"])
@pytest.mark.parametrize("needs", [[1.0, 1.0], [1.0, 0.55]])
def test_the_best_cycle_is_found_when_needs_never_change(welfare, needs):
    gamma = 0.6
    best = best_cycle(np.array(needs), gamma, as_judge(welfare), longest=10)
    found = coarse(Uniform(np.array(needs), np.zeros(2)), Discounted(gamma=gamma), welfare, nodes=80)
    assert found.error < 1e-12
    assert found.value <= best + 1e-9
    assert best <= found.upper
    assert found.value == pytest.approx(best, abs=0.01)
    assert found.upper == pytest.approx(best, abs=0.08)


@pytest.mark.parametrize("welfare", WELFARES)
def test_the_bracket_is_narrow(welfare):
    found = coarse(advantaged(2, 1), Discounted(gamma=0.7), welfare)
    assert found.lower <= found.value <= found.upper <= found.without_fluctuation
    assert found.upper - found.lower <= 0.06 * abs(found.value) + 0.03


@pytest.mark.soak
@settings(max_examples=4)
@given(st.integers(0, 2**32 - 1))
def test_the_bracket_holds_whatever_the_needs(seed):
    rng = np.random.default_rng(seed)
    found = coarse(Uniform(rng.random(2), rng.random(2)), Discounted(gamma=rng.uniform(0.3, 0.9)), "egalitarian")
    assert found.lower <= found.upper


def test_more_nodes_bring_the_bound_down(egalitarian):
    assert egalitarian.upper < coarse(advantaged(2, 1), Discounted(gamma=0.9), "egalitarian", nodes=20).upper


@pytest.mark.parametrize("rule", ["prices", "one-step", "proportional-fair", "random"])
def test_no_rule_is_better(egalitarian, rule):
    memory, needs = Discounted(gamma=0.9), advantaged(2, 1)
    policy = policy_named(rule, memory, "egalitarian", needs, 1)
    assert mean_welfare(policy) <= egalitarian.lower < egalitarian.upper


def test_its_policy_reaches_in_the_simulator_what_was_promised(egalitarian):
    assert mean_welfare(egalitarian.policy) == pytest.approx(egalitarian.value, rel=0.01)


def mean_welfare(policy) -> float:
    run = simulate(policy, advantaged(2, 1), Discounted(gamma=0.9), "egalitarian", 6000, 1, seed=3)
    return float(run.welfare_remembered[200:].mean())


@pytest.mark.soak
def test_an_averaged_memory_is_the_same_in_another_unit():
    summed, averaged = (coarse(uniform(2), Discounted(gamma=0.75, average=a), "egalitarian") for a in (False, True))
    assert averaged.value == pytest.approx(summed.value / 4)
    assert averaged.upper == pytest.approx(summed.upper / 4)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(WELFARES))
def test_between_the_nodes_nothing_is_above_the_corners_by_more_than_the_rise(seed, welfare):
    """The step of the proof that the bound rests on, for memories anywhere in a cell and needs anywhere in a bin."""
    rng = np.random.default_rng(seed)
    judge, gamma = as_judge(welfare), rng.uniform(0.2, 0.95)
    mine, other = (
        Axis(np.sort(np.append(rng.random(6), 1 / (1 - gamma))) + 0.01, np.linspace(0.0, 1.0, 4), gamma) for _ in "ab"
    )
    side, h = Side(mine, other, judge), rng.normal(size=(7, 7)).cumsum(axis=0).cumsum(axis=1)

    def after(z, other_z, x):
        """W and h when I am served; what is below the floor is lifted to it."""
        y, other_y = max(gamma * z + x, mine.nodes[0]), max(gamma * other_z, other.nodes[0])
        rows = [np.interp(other_y, other.nodes, row) for row in h]
        return np.array([judge.judge(np.array([y, other_y])), np.interp(y, mine.nodes, rows)])

    for _ in range(40):
        cells = rng.integers(6), rng.integers(6), rng.integers(3)
        ends = [nodes[i : i + 2] for nodes, i in zip((mine.nodes, other.nodes, mine.ends), cells, strict=True)]
        weights = [(1 - share, share) for share in rng.random(3)]
        middle = after(*(np.dot(pair, weight) for pair, weight in zip(ends, weights, strict=True)))
        corners = sum(
            np.prod(weight) * after(*corner)
            for corner, weight in zip(itertools.product(*ends), itertools.product(*weights), strict=True)
        )
        cell, other_cell, chosen = cells
        assert middle[0] - corners[0] <= side.rise_of_welfare[cell, chosen, other_cell] + 1e-9
        assert middle[1] - corners[1] <= side.rise_of(h)[cell, chosen, other_cell] + 1e-9


def test_every_function_proves_a_bound():
    """A poor h, far from the best, still bounds the long-run mean that is known: 1/(1−γ) times the larger need."""
    axis = Axis(np.linspace(0.0, 2.0, 9), np.linspace(0.0, 1.0, 5), 0.5)
    judge, rng = as_judge("utilitarian"), np.random.default_rng(0)
    sides = Side(axis, axis, judge), Side(axis, axis, judge)
    for _ in range(20):
        h = rng.normal(size=(9, 9))
        rises = sides[0].rise_of(h), sides[1].rise_of(h.T)
        assert (sweep(sides, h, rises) - h).max() >= 4 / 3
    _, upper = proved(axis, axis, judge, np.zeros((9, 9)))
    assert upper == pytest.approx(4 / 3, abs=0.05)


def test_bad_input_is_refused(egalitarian):
    memory = Discounted(gamma=0.9)
    for needs in (uniform(3), lognormal([0, 0], 1)):
        with pytest.raises(ValueError, match="needs must be uniform needs of 2 agents"):
            best_for_two(needs, memory, "nash")
    with pytest.raises(ValueError, match=r"memory.gamma must be below 1, got 1\.0"):
        best_for_two(uniform(2), PerfectRecall(), "nash")
    with pytest.raises(ValueError, match="nodes must be a whole number of at least 3, got 2"):
        best_for_two(uniform(2), memory, "nash", nodes=2)
    with pytest.raises(ValueError, match="this policy serves 1 of 2 agents, got 1 of 3"):
        egalitarian.policy(np.ones(3), 1, memory.init(3), 0, np.random.default_rng(0))
