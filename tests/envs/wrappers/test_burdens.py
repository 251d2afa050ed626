"""Rewards of at most 0 are burdens: welfare functions of loads judge them, and inequality is that of the loads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import bygones
from bygones.envs.wrappers import FairReward
from bygones.welfare import parse_welfare
from support.vector_rewards import MEMORIES, Scripted

DISCOUNTED = bygones.Discounted(gamma=0.9)
costs = arrays.arrays(float, st.tuples(st.integers(1, 10), st.just(3)), elements=st.floats(0, 1, width=32))


def played(env):
    env.reset()
    steps = [env.step(0)]
    while not steps[-1][2]:
        steps.append(env.step(0))
    return steps


@given(costs, st.sampled_from(["power_burden", "power_burden(p=3)"]), st.booleans())
def test_power_of_loads_follows_the_formula(loads, name, average):
    memory = bygones.Discounted(gamma=0.9, average=average)
    W, state = parse_welfare(name), memory.init(3)
    for load, step in zip(loads, played(FairReward(Scripted(-loads, -1.0, 0.0), memory, name, 0.6)), strict=True):
        before, state = W(memory.values(state)), memory.update(state, load)
        gained = W(memory.values(state)) - before
        assert step[1] == pytest.approx(-0.4 * load.sum() + 0.6 * gained, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(step[-1]["memory"], -memory.values(state), rtol=1e-12, atol=1e-15)
    metrics, totals = step[-1]["episode_metrics"], loads.sum(axis=0)
    assert metrics["gini"] == pytest.approx(bygones.inequality.gini(totals), abs=1e-12)
    assert metrics["welfare"] == pytest.approx(W(totals / len(loads) if average else totals))


@given(costs)
def test_generalized_gini_weighs_the_heaviest_load_most(loads):
    total = loads.sum(axis=0)
    step = played(FairReward(Scripted(-loads, -1.0, 0.0), bygones.PerfectRecall(), "generalized_gini", 1.0))[-1]
    heaviest_first = np.sort(total)[::-1]
    assert step[-1]["welfare_memory"] == pytest.approx(-(heaviest_first * [5, 3, 1]).sum() / 9)


def test_equal_loads_are_better_than_unequal_ones():
    def episode(loads, welfare):
        return sum(step[1] for step in played(FairReward(Scripted(-np.array(loads), -2, 0), DISCOUNTED, welfare, 1.0)))

    for welfare in ("power_burden", "generalized_gini", "egalitarian"):
        assert episode([[1.0, 1.0]], welfare) > episode([[2.0, 0.0]], welfare)


@pytest.mark.parametrize("welfare", ["nash", "alpha_fair(alpha=2)"])
def test_welfare_of_goods_names_what_judges_burdens(welfare):
    message = (
        r"rewards in components 0 \(from -1\), 1 \(from -1\); these rewards are burdens: use 'power_burden', 'gener"
    )
    with pytest.raises(ValueError, match=message):
        FairReward(Scripted([[-1.0, 0.0]], -1.0, 0.0), DISCOUNTED, welfare, 0.5)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0)])
def test_welfare_of_loads_is_refused_for_other_rewards(low, high):
    message = "welfare power_burden needs rewards of at most 0, which are loads, but the reward space allows positive"
    with pytest.raises(ValueError, match=message):
        FairReward(Scripted([[1.0, 0.0]], low, high), DISCOUNTED, "power_burden", 0.5)


def test_memory_of_either_sign_has_no_loads():
    memory = MEMORIES["mixing, some negative"](2)
    with pytest.raises(
        ValueError, match=r"power_burden needs .* but this memory can have either sign; use 'egalitarian'"
    ):
        FairReward(Scripted([[-1.0, 0.0]], -1.0, 0.0), memory, "power_burden", 0.5)


def test_a_reward_of_the_other_sign_than_promised_is_refused():
    for reward, low, high, welfare, sign in [(-0.5, 0, 1, "nash", "least"), (0.5, -1, 0, "power_burden", "most")]:
        env = FairReward(Scripted([[reward, 0.0]], low, high), DISCOUNTED, welfare, 0.5)
        env.reset()
        with pytest.raises(ValueError, match=f"reward must be at {sign} 0, as the reward space has it"):
            env.step(0)
