import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bygones import Discounted, Linear, PerfectRecall
from bygones.allocation import Divide, allocate
from bygones.allocation.solvers.divide import fill
from bygones.welfare import parse_welfare

NUMBERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0.05, 3.0))


@st.composite
def divisions(draw):
    n = draw(st.integers(1, 6))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n).map(np.array)
    memory = draw(st.sampled_from([PerfectRecall(), Discounted(gamma=0.5), Discounted(gamma=0.9, average=True)]))
    state = memory.update(memory.init(n), draw(numbers))
    caps = draw(st.none() | st.sampled_from([0.5, 1.0]) | numbers)
    return Divide(draw(st.floats(0.1, 5.0)), draw(numbers), caps), memory, state


def settled(problem, memory, state, welfare, entitlements=None):
    decision = allocate(problem, memory, state, welfare, entitlements=entitlements)
    given = decision.given
    assert (given >= 0).all()
    assert (given <= problem.caps * (1 + 1e-12)).all()
    assert given.sum() <= problem.amount * (1 + 1e-12)
    assert decision.optimal
    return decision


def room(problem):
    """How much can be given to those who have a use for it."""
    return min(problem.amount, float(problem.caps[problem.rates > 0].sum()))


@given(divisions(), st.sampled_from([0.5, 1.0, 2.0, 5.0]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_for_a_sum_of_curves_nobody_would_gain_by_a_transfer(division, alpha, entitled):
    problem, memory, state = division
    entitlements = np.linspace(0.5, 2.0, problem.n_agents) if entitled else None
    decision = settled(problem, memory, state, parse_welfare("alpha_fair", alpha=alpha), entitlements)
    assert decision.given.sum() == pytest.approx(room(problem), rel=1e-9)
    shift = 1e-6 if alpha >= 1 else 0.0
    weight = memory.ahead(state, np.ones(problem.n_agents)) - memory.ahead(state, np.zeros(problem.n_agents))
    with np.errstate(divide="ignore", invalid="ignore"):
        marginal = weight * problem.rates * (np.asarray(decision.after) + shift) ** -alpha
    marginal = np.where(problem.rates > 0, marginal, 0.0)
    can_gain, can_lose = decision.given < problem.caps * (1 - 1e-9), decision.given > 1e-9
    if can_gain.any() and can_lose.any():
        assert marginal[can_gain].max() <= marginal[can_lose].min() * (1 + 1e-6)


@given(divisions(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_leximin_lifts_the_lowest_first(division, entitled):
    problem, memory, state = division
    entitlements = np.linspace(0.5, 2.0, problem.n_agents) if entitled else None
    decision = settled(problem, memory, state, "egalitarian", entitlements)
    assert decision.given.sum() == pytest.approx(room(problem), rel=1e-9)
    able = (problem.rates > 0) & (decision.given < problem.caps * (1 - 1e-9))
    served = decision.given > 1e-9
    if able.any() and served.any():
        # Whoever could still be lifted is at least as high as everybody who was lifted.
        assert decision.after[able].min() >= decision.after[served].max() - 1e-9


@given(divisions())
@settings(max_examples=200, deadline=None)
def test_utilitarian_agrees_with_a_linear_programme(division):
    problem, memory, state = division
    decision = settled(problem, memory, state, "utilitarian")
    bounds = [(0, None if math.isinf(cap) else cap) for cap in problem.caps]
    best = -linprog(-problem.rates, np.ones((1, problem.n_agents)), [problem.amount], bounds=bounds).fun
    assert decision.utilities.sum() == pytest.approx(best, rel=1e-7, abs=1e-7)


@given(divisions(), st.data())
@settings(max_examples=200, deadline=None)
def test_generalised_gini_agrees_with_a_linear_programme(division, data):
    problem, memory, state = division
    n = problem.n_agents
    weights = np.sort(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))[::-1]
    decision = settled(problem, memory, state, parse_welfare("generalized_gini", weights=weights))
    base = memory.ahead(state, np.zeros(n))
    slope = memory.ahead(state, problem.rates) - base
    assert decision.welfare_after == pytest.approx(gini_by_linear_programme(base, slope, problem, weights), abs=1e-6)


@pytest.mark.parametrize("block", [1, 100, 333])
def test_generalised_gini_does_not_depend_on_how_many_levels_are_looked_at_together(block, monkeypatch):
    rng, memory = np.random.default_rng(0), PerfectRecall()
    state = memory.update(memory.init(20), rng.random(20))
    problem = Divide(3.0, rng.random(20), rng.random(20))
    weights = parse_welfare("generalized_gini", weights=np.linspace(1.0, 0.1, 20))
    together = allocate(problem, memory, state, weights)
    monkeypatch.setattr("bygones.allocation.solvers.divide_gini._BLOCK", block)
    np.testing.assert_allclose(allocate(problem, memory, state, weights).given, together.given, atol=1e-12)


def gini_by_linear_programme(base, slope, problem, weights):
    """The least weighted sum over all orders, by the dual of that assignment."""
    n = len(base)
    rows, most = [], []
    for r in range(n):
        for i in range(n):
            row = np.zeros(3 * n)
            row[i], row[n + r], row[2 * n + i] = -weights[r] * slope[i], 1.0, 1.0
            rows.append(row)
            most.append(weights[r] * base[i])
    rows.append(np.r_[np.ones(n), np.zeros(2 * n)])
    most.append(problem.amount)
    bounds = [(0, None if math.isinf(cap) else cap) for cap in problem.caps] + [(None, None)] * (2 * n)
    return -linprog(np.r_[np.zeros(n), -np.ones(2 * n)], np.array(rows), most, bounds=bounds).fun


def test_nash_product_goes_by_leximin_where_somebody_stays_at_zero():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.array([0.0, 1.0, 3.0]))
    decision = allocate(Divide(1.0, [0.0, 1.0, 4.0]), memory, state, "nash")
    np.testing.assert_allclose(decision.given, [0.0, 1.0, 0.0])
    assert decision.welfare_after == 0.0


def test_equal_agents_get_equal_parts_under_every_welfare():
    memory = PerfectRecall()
    for welfare in ["utilitarian", "egalitarian", "nash", "log_nash", "alpha_fair(alpha=3)", "generalized_gini"]:
        decision = allocate(Divide(3.0, [2.0, 2.0, 2.0]), memory, memory.init(3), welfare)
        np.testing.assert_allclose(decision.given, [1.0, 1.0, 1.0], err_msg=welfare)


def test_generalised_gini_ties_go_to_the_worse_off():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.array([0.0, 1.0, 5.0]))
    # Only the sum of the two lowest counts, and both have the best rate.
    weights = [1.0, 1.0, 0.0]
    decision = allocate(Divide(0.5, [1.0, 1.0, 0.5]), memory, state, parse_welfare("generalized_gini", weights=weights))
    np.testing.assert_allclose(decision.given, [0.5, 0.0, 0.0], atol=1e-9)
    # Two stay at 2 whatever is done: once the others are no lower, their gains count for nothing.
    state = memory.update(memory.init(4), np.array([2.0, 2.0, 1.0, 2.0]))
    lowest = parse_welfare("generalized_gini", weights=[1.0, 0.001, 0.0, 0.0])
    decision = allocate(Divide(1.0, [0.0, 0.0, 2.0, 3.0]), memory, state, lowest)
    np.testing.assert_allclose(decision.after, [2.0, 2.0, 2.6, 2.6], atol=1e-9)


@pytest.mark.parametrize("past", [0.0, 1.0])
def test_rates_next_to_nothing_share_what_the_others_leave(past):
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.full(3, past))
    decision = settled(Divide(3.0, [1.0, 1e-300, 1e-300], [1.0, 5.0, 5.0]), memory, state, "alpha_fair(alpha=0.5)")
    np.testing.assert_allclose(decision.given, [1.0, 1.0, 1.0])


def test_large_pasts_lose_no_digits():
    beta = 1e6 + np.array([0.0, 1e-4, 2e-4])
    np.testing.assert_allclose(fill(beta, np.ones(3), np.full(3, math.inf), 3e-4), [2e-4, 1e-4, 0.0], rtol=1e-5)


def test_a_memory_that_mixes_agents_is_shared_out_by_a_programme():
    readout = np.array([[1.0, 0.5], [0.0, 1.0]])
    memory = Linear(0.5 * np.eye(2), readout=readout)
    decision = allocate(Divide(1.0, [1.0, 1.0]), memory, memory.init(2), "egalitarian")
    # z = (x0 + x1/2, x1) with x0 + x1 = 1 is most equal at x1 = 2/3.
    np.testing.assert_allclose(decision.given, [1 / 3, 2 / 3], atol=1e-6)
    logs = allocate(Divide(1.0, [1.0, 1.0]), memory, memory.init(2), "log_nash")
    # (x0 + x1/2) x1 = (1 - x1/2) x1 is largest at x1 = 1.
    np.testing.assert_allclose(logs.given, [0.0, 1.0], atol=1e-4)
    assert logs.gap < 1e-6


def test_a_division_has_no_next_best():
    memory = PerfectRecall()
    assert allocate(Divide(1.0, [1.0, 2.0]), memory, memory.init(2), "nash").runner_up is None


def test_a_function_without_structure_is_refused():
    memory = PerfectRecall()
    with pytest.raises(ValueError, match=r"no known form.*infinitely many"):
        allocate(Divide(1.0, [1.0, 2.0]), memory, memory.init(2), lambda z: z[0])
