"""The bounds of an observed memory hold, and are no wider than they must be."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import bygones
from bygones.envs.wrappers import RememberRewards
from bygones.envs.wrappers.observing import memory_range
from support.vector_rewards import MEMORIES, Scripted, make

signs = st.sampled_from([(0.0, 1.0), (-1.0, 0.0), (-2.0, 3.0), (0.5, 1.5), (-1.0, -1.0)])
share = st.floats(0, 1) | st.sampled_from([0, 1])


def episodes(n_agents=3):
    """Rewards as shares of the way from the lower to the upper bound, both of which come up often."""
    return arrays.arrays(
        float, st.tuples(st.integers(1, 30), st.just(n_agents)), elements=share | st.sampled_from([0, 1])
    )


def observed(env):
    observations = [env.reset()[0]]
    ended = False
    while not ended:
        observation, _, ended, _, _ = env.step(0)
        observations.append(observation)
    return observations


@given(st.sampled_from(list(MEMORIES)), signs, episodes(), st.sampled_from([np.float32, np.float64, np.uint8]))
def test_memory_never_leaves_its_bounds(memory, bounds, shares, dtype):
    memory, (low, high) = MEMORIES[memory](3), bounds
    base = Scripted(low + shares * (high - low), low, high, Box(0, 100, (2,), dtype=dtype))
    has_denominator = isinstance(memory, bygones.Discounted)
    env = RememberRewards(base, memory, observe_denominator=has_denominator, horizon=len(shares))
    assert np.isfinite([env.observation_space.low, env.observation_space.high]).all()
    assert all(env.observation_space.contains(observation) for observation in observed(env))


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("bounds", [(0.0, 2.0), (-2.0, 0.0)])
def test_bounds_of_a_finite_horizon_are_reached(gamma, average, bounds):
    extreme = min(bounds) or max(bounds)
    base = Scripted(np.full((20, 2), extreme), *bounds)
    env = RememberRewards(base, bygones.Discounted(gamma=gamma, average=average), horizon=20, observe_denominator=True)
    *_, last = observed(env)
    side = env.observation_space.low if extreme < 0 else env.observation_space.high
    np.testing.assert_allclose(last[1:3], side[1:3], rtol=1e-11)
    np.testing.assert_allclose(last[3], env.observation_space.high[3], rtol=1e-11)


def test_bounds_without_end_are_finite_where_the_memory_forgets():
    space = Box(np.array([0.0, -1.0]), np.array([3.0, 0.0]), dtype=np.float64)
    for memory, reach in [(bygones.Discounted(gamma=0.9), 10), (bygones.Discounted(gamma=1.0, average=True), 1)]:
        low, high = memory_range(memory, space)
        np.testing.assert_allclose(low, [0, -reach])
        np.testing.assert_allclose(high, [3 * reach, 0])


def test_bounds_are_infinite_only_towards_rewards_that_exist():
    space = Box(np.array([0.0, -1.0]), np.array([3.0, 0.0]), dtype=np.float64)
    low, high = memory_range(bygones.PerfectRecall(), space)
    assert low.tolist() == [0, -np.inf]
    assert high.tolist() == [np.inf, 0]


def test_mixing_memory_takes_the_extremes_of_all_agents():
    space = Box(np.array([0.0, -1.0]), np.array([3.0, 0.0]), dtype=np.float64)
    low, high = memory_range(bygones.Linear([[0.4, 0.1], [0.1, 0.4]]), space)
    np.testing.assert_allclose(low, [-2, -2])
    np.testing.assert_allclose(high, [6, 6])
    low, high = memory_range(bygones.Linear([[0.4, -0.1], [-0.1, 0.4]]), space)
    np.testing.assert_allclose(low, [-6, -6])
    np.testing.assert_allclose(high, [6, 6])


def test_time_limit_of_the_environment_is_the_horizon():
    limited = gym.wrappers.TimeLimit(make("four-room-v0").env, 50)
    assert RememberRewards(limited, bygones.PerfectRecall()).observation_space.high[-1] == 50
    endless = RememberRewards(make("four-room-v0").unwrapped, bygones.PerfectRecall())
    assert endless.observation_space.high[-1] == np.inf
    given = RememberRewards(make("four-room-v0").unwrapped, bygones.PerfectRecall(), horizon=7)
    assert given.observation_space.high[-1] == 7


def test_stated_reward_space_takes_the_place_of_the_environments():
    base = gym.wrappers.TransformReward(Scripted([[1.0, 1.0]] * 3), lambda reward: 5 * reward)
    env = RememberRewards(base, bygones.Instantaneous(), reward_space=Box(0, 5, (2,)))
    assert env.observation_space.high.tolist() == pytest.approx([1000, 5, 5])
    assert all(env.observation_space.contains(observation) for observation in observed(env))
