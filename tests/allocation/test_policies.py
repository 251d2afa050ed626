import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import Discounted, PerfectRecall
from bygones.allocation import AllocationPolicy, OneStep, Random, RoundRobin, Utilitarian

POLICIES = [OneStep(Discounted(gamma=0.9), "egalitarian"), Utilitarian(), Random(), RoundRobin()]


@pytest.mark.parametrize("policy", POLICIES)
@given(needs=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=6), data=st.data())
def test_every_policy_serves_exactly_k_different_agents(policy: AllocationPolicy, needs, data):
    k = data.draw(st.integers(1, len(needs)))
    state = PerfectRecall().init(len(needs))
    served = policy(np.array(needs), k, state, data.draw(st.integers(0, 10)), np.random.default_rng(0))
    assert len(served) == k
    assert (np.diff(served) > 0).all()
    assert served.min() >= 0
    assert served.max() < len(needs)


def test_one_step_serves_whom_welfare_prefers():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.array([3.0, 1.0, 2.0]))
    rng = np.random.default_rng(0)
    needs = np.array([1.0, 0.5, 0.9])
    assert OneStep(memory, "egalitarian")(needs, 1, state, 0, rng).tolist() == [1]
    assert OneStep(memory, "utilitarian")(needs, 1, state, 0, rng).tolist() == [0]
    assert OneStep(memory, "egalitarian", [9.0, 1.0, 1.0])(needs, 1, state, 0, rng).tolist() == [0]


def test_one_step_lets_the_past_fade_for_as_long_as_a_step_takes():
    memory, rng = Discounted(gamma=0.5), np.random.default_rng(0)
    state = memory.update(memory.init(2), np.array([3.0, 1.0]))
    needs = np.array([1.0, 0.5])
    assert OneStep(memory, "egalitarian")(needs, 1, state, 0, rng).tolist() == [1]
    # Nothing is remembered any more, and the larger need decides.
    assert OneStep(memory, "egalitarian", elapsed=10_000)(needs, 1, state, 0, rng).tolist() == [0]


def test_one_step_needs_a_memory():
    with pytest.raises(ValueError, match="state must be"):
        OneStep(PerfectRecall(), "nash")(np.ones(2), 1, None, 0, np.random.default_rng(0))


def test_round_robin_serves_everybody_equally_often():
    counts = np.zeros(5)
    for step in range(10):
        counts[RoundRobin()(np.ones(5), 2, None, step, np.random.default_rng(0))] += 1
    assert (counts == 4).all()


def test_utilitarian_serves_the_largest_needs():
    assert Utilitarian()(np.array([0.1, 0.9, 0.5]), 2, None, 0, np.random.default_rng(0)).tolist() == [1, 2]


def test_over_time_one_step_keeps_utilities_closer_than_chance():
    memory, rng = Discounted(half_life=50), np.random.default_rng(0)
    spread = {}
    for name, policy in [("one step", OneStep(memory, "egalitarian")), ("random", Random())]:
        state, total = memory.init(10), np.zeros(10)
        for step in range(300):
            needs = rng.random(10)
            utilities = np.zeros(10)
            served = policy(needs, 2, state, step, rng)
            utilities[served] = needs[served]
            state, total = memory.update(state, utilities), total + utilities
        spread[name] = np.ptp(total) / total.mean()
    assert spread["one step"] < 0.2 < spread["random"]
