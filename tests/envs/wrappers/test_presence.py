"""Absent agents are masked: their memory stands still, and neither welfare nor inequality counts them."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import bygones
from bygones.envs.wrappers import FairReward, RememberRewards, VectorFairReward, VectorRememberRewards
from bygones.welfare import parse_welfare
from support.vector_rewards import MEMORIES, ComeAndGo, Scripted, VectorRewards

APART = {name: make for name, make in MEMORIES.items() if "mixing" not in name}
APART["sliding window"] = lambda n: bygones.SlidingWindow(3)
APART["one decay each"] = lambda n: bygones.memory.PerAgent(np.linspace(0.5, 0.9, n), average=True)
AVERAGED = bygones.Discounted(gamma=0.9, average=True)


def scripts(n_agents=3):
    steps = st.integers(1, 12)
    return steps.flatmap(
        lambda length: st.tuples(
            arrays.arrays(float, (length, n_agents), elements=st.floats(0, 1, width=32)),
            arrays.arrays(bool, (length, n_agents)),
        )
    )


def alone(memory, rewards, present):
    """The memory of agents each of whom lives alone, in the steps in which it was present."""
    n = len(present)
    states = [memory.init(n) for _ in range(n)]
    for row, there in zip(rewards, present.T, strict=True):
        states = [memory.update(s, row) if t else s for s, t in zip(states, there, strict=True)]
    return np.array([memory.values(state)[i] for i, state in enumerate(states)])


@given(st.sampled_from(list(APART)), scripts())
def test_memory_of_an_absent_agent_stands_still(name, script):
    rewards, present = script
    memory = APART[name](3)
    env = RememberRewards(ComeAndGo(rewards, present), memory, presence="present", horizon=len(rewards))
    env.reset()
    for t in range(len(rewards)):
        observation, reward, *_ = env.step(0)
        np.testing.assert_array_equal(reward, rewards[t])
        assert env.observation_space.contains(observation)
        expected = alone(memory, rewards[: t + 1], present[: t + 1].T)
        np.testing.assert_allclose(observation[1:], expected, rtol=1e-12, atol=1e-12)


@given(scripts(), st.sampled_from(["egalitarian", "log_nash", "utilitarian", "generalized_gini"]), st.booleans())
def test_reward_is_about_the_agents_present(script, welfare, sees):
    rewards, present = script
    env = ComeAndGo(rewards, present)
    env = RememberRewards(env, AVERAGED, presence="present") if sees else env
    env, W = FairReward(env, AVERAGED, welfare, 0.7, presence="present"), parse_welfare(welfare)
    env.reset()

    def judged(Z, there):
        """With the mean of those present in place of the absent, who then change nothing about who is worst off."""
        return W(np.where(there, Z, Z[there].mean() if there.any() else 0.0))

    Z = np.zeros(3)
    for t, there in enumerate(present):
        _, reward, *_, info = env.step(0)
        before, Z = Z, alone(AVERAGED, rewards[: t + 1], present[: t + 1].T)
        utilities = np.where(there, rewards[t], 0.0)
        expected = 0.3 * utilities.sum() + 0.7 * (judged(Z, there) - judged(before, there))
        assert reward == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_array_equal(info["utilities"], utilities)
        np.testing.assert_allclose(info["cumulative"], (rewards * present)[: t + 1].sum(axis=0), rtol=1e-12)
    took_part, totals = present.any(axis=0), (rewards * present).sum(axis=0)
    if took_part.any():
        assert info["episode_metrics"]["gini"] == pytest.approx(bygones.inequality.gini(totals[took_part]))
        means = totals / np.maximum(present.sum(axis=0), 1)
        assert info["episode_metrics"]["welfare"] == pytest.approx(judged(means, took_part))


def test_an_absent_agent_is_not_the_worst_off():
    env = FairReward(
        ComeAndGo([[1.0, 0.0]] * 3, [[True, False]] * 3),
        bygones.PerfectRecall(),
        "egalitarian",
        1.0,
        presence="present",
    )
    env.reset()
    steps = [env.step(0) for _ in range(3)]
    assert [step[1] for step in steps] == [1.0, 1.0, 1.0]
    assert steps[-1][-1]["episode_metrics"] == {"welfare": 3.0, "gini": 0.0}


def test_everyone_present_is_as_if_there_were_no_mask():
    rewards = np.random.default_rng(0).random((10, 3))
    masked = FairReward(ComeAndGo(rewards, np.ones((10, 3))), AVERAGED, "nash", 0.5, presence="present")
    plain = FairReward(Scripted(rewards), AVERAGED, "nash", 0.5)
    masked.reset(), plain.reset()
    assert [masked.step(0)[1] for _ in rewards] == [plain.step(0)[1] for _ in rewards]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_environments_mask_as_single_ones_do(mode):
    rng = np.random.default_rng(1)
    scripted = [(rng.random((length, 3)), rng.random((length, 3)) < 0.6) for length in (4, 7)]

    def make(script):
        return lambda: ComeAndGo(*script)

    envs = VectorRewards([make(script) for script in scripted], mode)
    envs = VectorRememberRewards(envs, AVERAGED, presence="present")
    envs = VectorFairReward(envs, AVERAGED, "egalitarian", 0.7, presence="present")
    singles = [
        FairReward(
            RememberRewards(make(script)(), AVERAGED, presence="present"),
            AVERAGED,
            "egalitarian",
            0.7,
            presence="present",
        )
        for script in scripted
    ]
    observations, _ = envs.reset()
    np.testing.assert_allclose(observations, [env.reset()[0] for env in singles])
    ended = [False, False]
    for _ in range(20):
        observations, rewards, terminations, *_ = envs.step(np.zeros(2, dtype=int))
        for i, env in enumerate(singles):
            if ended[i]:
                ended[i], reward, observation = False, 0.0, env.reset()[0]
            else:
                observation, reward, ended[i], *_ = env.step(0)
            assert terminations[i] == ended[i]
            if ended[i] and mode is AutoresetMode.SAME_STEP:
                ended[i], observation = False, env.reset()[0]
            assert rewards[i] == pytest.approx(reward)
            np.testing.assert_allclose(observations[i], observation)


def test_sub_environments_that_are_not_reset_keep_their_mask():
    present = [[True, True, False], [True, False, True], [False, True, True]]
    envs = VectorRewards([lambda: ComeAndGo(np.ones((3, 3)), present)] * 2, AutoresetMode.DISABLED)
    envs = VectorRememberRewards(envs, bygones.PerfectRecall(), presence="present", horizon=3)
    envs.reset()
    envs.step(np.zeros(2, dtype=int))
    observations, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(observations[:, 1:], [[0, 0, 0], [1, 1, 0]])
    observations, *_ = envs.step(np.zeros(2, dtype=int))
    np.testing.assert_array_equal(observations[:, 1:], [[1, 1, 0], [2, 1, 1]])


def test_scenario_in_which_agents_arrive_has_the_reward_of_our_own_environment():
    memory = bygones.Discounted(gamma=0.9)
    vector = gym.make("bygones/mo-Arrivals-v0", horizon=20)
    fair = gym.make("bygones/Arrivals-v0", horizon=20, memory=memory, welfare="egalitarian", weight=0.7)
    wrapped = FairReward(vector, memory, "egalitarian", 0.7, presence="present")
    wrapped.reset(seed=3), fair.reset(seed=3)
    for _ in range(20):
        action = fair.action_space.sample()
        assert wrapped.step(action)[1] == pytest.approx(fair.step(action)[1], abs=1e-6)


def test_a_missing_or_wrong_mask_is_refused():
    env = FairReward(Scripted([[1.0, 1.0]]), AVERAGED, "egalitarian", 0.5, presence="there")
    with pytest.raises(ValueError, match="info must have the entry 'there', which marks the agents present"):
        env.reset()
    env = RememberRewards(ComeAndGo([[1.0, 1.0]], [[True] * 3]), AVERAGED, presence="present")
    with pytest.raises(ValueError, match=r"info\['present'\] must have shape \(2,\), got shape \(3,\)"):
        env.reset()


def test_an_environment_that_is_not_a_single_one_is_refused_by_name():
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")])
    with pytest.raises(ValueError, match="env is a vector environment: use VectorFairReward"):
        FairReward(envs, AVERAGED, "egalitarian", 0.5, reward_space=Box(0, 1, (2,)))
    with pytest.raises(ValueError, match=r"env must be a gymnasium\.Env whose reward is a vector, got int"):
        RememberRewards(3, AVERAGED)
