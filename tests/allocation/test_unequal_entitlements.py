"""Laws of unequal entitlements, under every welfare, both rules, and goods and burdens."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bygones import Discounted, PerfectRecall
from bygones.allocation import ChooseK, Divide, allocate
from bygones.envs.needs import replayed
from bygones.simulation import policy_named, simulate
from support import brute_force

GOODS = [*brute_force.WELFARES, "alpha_fair(alpha=6)"]
BURDENS = ["egalitarian", "utilitarian", "generalized_gini", "power_burden(p=2)", "power_burden(p=5)"]
CASES = [*(("good", each) for each in GOODS), *(("burden", each) for each in BURDENS)]
ENTITLEMENTS = np.array([2.0, 1.0, 1.0, 0.5])


@pytest.mark.parametrize("rule", ["one-step", "prices"])
@pytest.mark.parametrize(("kind", "welfare"), CASES)
def test_in_the_steady_state_everybody_gets_in_proportion_to_their_entitlement(kind, welfare, rule):
    needs, memory = replayed([[1.0] * 4]), Discounted(half_life=30)
    policy = policy_named(rule, memory, welfare, needs, 1, kind, ENTITLEMENTS)
    played = simulate(policy, needs, memory, welfare, 700, 1, kind=kind, entitlements=ENTITLEMENTS)
    received = played.utilities[250:].sum(axis=0)
    np.testing.assert_allclose(received / received.sum() * 4.5, ENTITLEMENTS, atol=0.05)


@pytest.mark.parametrize("name", ["proportional-fair", "max-min", "calibrated"])
def test_the_other_policies_that_look_at_the_past_look_at_entitlements(name):
    needs, memory = replayed([[1.0] * 4]), Discounted(half_life=30)
    policy = policy_named(name, memory, "egalitarian", needs, 1, entitlements=ENTITLEMENTS)
    played = simulate(policy, needs, memory, "egalitarian", 700, 1, entitlements=ENTITLEMENTS)
    received = played.utilities[250:].sum(axis=0)
    np.testing.assert_allclose(received / received.sum() * 4.5, ENTITLEMENTS, atol=0.05)


def test_a_simulation_is_judged_per_unit_of_entitlement():
    needs, memory = replayed([[2.0, 1.0]]), PerfectRecall()
    policy = policy_named("random", memory, "egalitarian", needs, 2)
    plain = simulate(policy, needs, memory, "egalitarian", 5, 2)
    per_unit = simulate(policy, needs, memory, "egalitarian", 5, 2, entitlements=[2.0, 1.0])
    assert plain.gini[-1] > 0.1
    assert per_unit.gini[-1] == 0
    assert per_unit.summary() == pytest.approx({"gini": 0, "egalitarian": 1, "nash": 1, "utility_per_step": 3})
    np.testing.assert_allclose(per_unit.welfare_remembered, [1, 2, 3, 4, 5])


@st.composite
def situations(draw):
    n = draw(st.integers(2, 5))
    numbers = st.lists(st.floats(0.1, 3.0), min_size=n, max_size=n).map(np.array)
    return draw(numbers), draw(numbers), draw(numbers)


def _parts(past, rates, entitlements, kind, welfare, rule):
    memory = PerfectRecall()
    state = memory.update(memory.init(len(past)), past)
    problem = Divide(2.0, rates, np.ones(len(rates)) * 1.5, kind=kind)
    return allocate(problem, memory, state, welfare, entitlements=entitlements, rule=rule).given


@example((np.ones(2), np.ones(2), np.array([1.0, 2.0])), ("good", "utilitarian"), "prices", 2.0)
@given(situations(), st.sampled_from(CASES), st.sampled_from(["one-step", "prices"]), st.floats(0.01, 100.0))
@settings(max_examples=150, deadline=None)
def test_neither_the_order_of_agents_nor_the_unit_of_entitlements_matters(situation, case, rule, unit):
    past, rates, entitlements = situation
    kind, welfare = case
    parts = _parts(past, rates, entitlements, kind, welfare, rule)
    order = np.argsort(rates)
    turned = _parts(past[order], rates[order], entitlements[order], kind, welfare, rule)
    scaled = _parts(past, rates, unit * entitlements, kind, welfare, rule)
    if welfare != "generalized_gini":  # of which several divisions may be best
        np.testing.assert_allclose(turned, parts[order], rtol=1e-6, atol=1e-6)
        # Curves that would be infinite at 0 are shifted by 1e-6 per unit, whatever the unit.
        np.testing.assert_allclose(scaled, parts, rtol=1e-6, atol=1e-5 * (1 + unit))
    for each in (turned, scaled):
        assert sum(each) == pytest.approx(sum(parts))


@pytest.mark.parametrize(("kind", "welfare"), CASES)
def test_an_agent_of_twice_the_entitlement_is_two_agents_in_the_limit(kind, welfare):
    memory, rng = Discounted(half_life=200), np.random.default_rng(0)
    received = []
    for entitlements in (np.array([2.0, 1.0]), np.ones(3)):
        n = len(entitlements)
        state, total = memory.init(n), np.zeros(n)
        for _ in range(600):
            problem = ChooseK(np.ones(n), 1, kind=kind)
            decision = allocate(problem, memory, state, welfare, entitlements=entitlements, rng=rng)
            state, total = decision.state_after, total + decision.utilities
        received.append(total[-1] / total.sum())
    np.testing.assert_allclose(received, [1 / 3, 1 / 3], atol=0.01)
