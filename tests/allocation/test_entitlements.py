"""An agent of entitlement w counts as w agents: the same decisions, and in the long run w times the resource."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bygones import Discounted, PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, OneStep, allocate
from bygones.welfare import parse_welfare
from support import brute_force

WELFARES = [*brute_force.WELFARES, "alpha_fair(alpha=6)"]
NUMBERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0.05, 3.0))


@st.composite
def divisions(draw):
    n = draw(st.integers(2, 5))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n).map(np.array)
    entitlements = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    return draw(numbers), draw(numbers), draw(st.none() | numbers), draw(st.floats(0.1, 5.0)), entitlements


@given(divisions(), st.sampled_from(WELFARES))
@settings(max_examples=300)
def test_a_division_among_agents_is_one_among_their_copies(division, welfare):
    past, rates, caps, amount, entitlements = division
    copies, memory = entitlements.astype(int), PerfectRecall()
    crowd = {"past": past / entitlements, "rates": rates, "caps": None if caps is None else caps / entitlements}
    crowd = {name: each if each is None else np.repeat(each, copies) for name, each in crowd.items()}
    chosen = parse_welfare(welfare)
    if welfare == "generalized_gini":
        n, ranks = len(past), copies.sum()
        until = np.interp(np.linspace(0, n, ranks + 1), np.arange(n + 1), 1 - (1 - np.arange(n + 1) / n) ** 2)
        chosen = parse_welfare(welfare, weights=np.minimum.accumulate(np.diff(until)))
    one = allocate(
        Divide(amount, rates, caps), memory, memory.update(memory.init(len(past)), past), welfare,
        entitlements=entitlements,
    )  # fmt: skip
    start = memory.update(memory.init(len(crowd["past"])), crowd["past"])
    many = allocate(Divide(amount, crowd["rates"], crowd["caps"]), memory, start, chosen)
    if welfare != "nash":  # whose product over copies is a power of the other
        assert one.welfare_after == pytest.approx(many.welfare_after, rel=1e-6, abs=1e-6)
    if welfare != "generalized_gini":  # of which several divisions may be best
        owners = np.repeat(np.arange(len(past)), copies)
        np.testing.assert_allclose(one.given, np.bincount(owners, many.given), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("welfare", WELFARES)
@pytest.mark.parametrize("entitlements", [[2.0, 1.0, 1.0], [200.0, 100.0, 100.0]])
def test_twice_the_entitlement_gets_twice_the_resource(welfare, entitlements):
    memory = Discounted(half_life=20)
    policy = OneStep(memory, welfare, np.array(entitlements))
    state, rng, served = memory.init(3), np.random.default_rng(0), np.zeros(3)
    for step in range(400):
        who = policy(np.ones(3), 1, state, step, rng)
        state = memory.update(state, np.isin(np.arange(3), who).astype(float))
        served[who] += step >= 100
    np.testing.assert_allclose(served / 300, [0.5, 0.25, 0.25], atol=0.02)


@pytest.mark.parametrize("welfare", WELFARES)
def test_items_and_amounts_go_by_entitlement_in_the_steady_state(welfare):
    memory, entitlements = Discounted(half_life=10), np.array([2.0, 1.0, 1.0])
    items, state, rng = Assign(np.ones((3, 4)), None), memory.init(3), np.random.default_rng(0)
    for _ in range(20):
        decision = allocate(items, memory, state, welfare, entitlements=entitlements, rng=rng)
        state = decision.state_after
    np.testing.assert_array_equal(decision.utilities, [2, 1, 1])
    amount = allocate(Divide(4.0, np.ones(3)), memory, memory.init(3), welfare, entitlements=entitlements)
    np.testing.assert_allclose(amount.given, [2, 1, 1], rtol=1e-6)


def test_under_nash_entitlements_are_exponents():
    memory = PerfectRecall()
    state = memory.update(memory.init(2), [2.0, 3.0])
    decision = allocate(ChooseK([1.0, 1.0], 1), memory, state, "nash", entitlements=[2.0, 1.0])
    np.testing.assert_array_equal(decision.served, [0])
    assert decision.welfare_before == pytest.approx((2 / 2) ** 2 * 3)
    assert decision.welfare_after == pytest.approx((3 / 2) ** 2 * 3)
    assert decision.runner_up.welfare == pytest.approx((2 / 2) ** 2 * 4)


def test_weight_on_the_worst_off_alone_is_a_rank_not_an_agent():
    memory = PerfectRecall()
    state = memory.update(memory.init(2), [1.0, 2.0])
    welfare = parse_welfare("generalized_gini", weights=[1.0, 0.0])
    decision = allocate(ChooseK([5.0, 5.0], 1), memory, state, welfare, entitlements=[0.5, 1.5])
    # Of the worse-off half, half is the first agent (at 2 per unit), half the other (at 4/3, or 14/3 if it is served).
    assert decision.welfare_before == pytest.approx(4 / 3)
    assert decision.welfare_after == pytest.approx(0.5 * 2 + 0.5 * 14 / 3)


def test_a_function_of_ones_own_is_given_utilities_per_unit_of_entitlement():
    memory, seen = PerfectRecall(), []
    own = lambda Z: (seen.append(Z), Z.sum())[1]  # noqa: E731
    allocate(ChooseK([4.0, 4.0], 1), memory, memory.init(2), own, entitlements=[1.0, 2.0])
    assert {tuple(Z.tolist()) for Z in seen} == {(0.0, 0.0), (4.0, 0.0), (0.0, 2.0)}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_entitlements_are_relative_to_one_another(scale):
    rng = np.random.default_rng(1)
    memory = PerfectRecall()
    state = memory.update(memory.init(6), rng.random(6))
    table = sparse.random_array((6, 8), density=0.6, rng=rng)
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    for welfare in ("nash", "alpha_fair(alpha=0.5)", "generalized_gini", "egalitarian"):
        for problem in (ChooseK(rng.random(6), 2), Assign(table), Assign(table, 2), Divide(1.0, rng.random(6))):
            plain, scaled = (
                allocate(problem, memory, state, welfare, entitlements=each, rng=np.random.default_rng(0)).utilities
                for each in (weights, scale * weights)
            )
            np.testing.assert_allclose(plain, scaled, rtol=1e-6, atol=1e-9)
