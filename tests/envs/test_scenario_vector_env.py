"""Many scenarios in one are what Gymnasium makes of single ones."""

from __future__ import annotations

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from bygones import Discounted
from bygones.envs import catalogue
from bygones.envs.vector_env import FairVectorEnv
from bygones.envs.wrappers import VectorFairReward

SHORT = {"memory": "discounted(half_life=3)", "welfare": "egalitarian", "horizon": 5}
WEEK = {**SHORT, "horizon": 7}
"""The table that is replayed has whole weeks."""


def made(name: str, num_envs: int = 3, **given):
    return gym.make_vec(catalogue.gymnasium_id(name), num_envs=num_envs, **given)


def actions_of(env, steps: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, env.single_action_space.n, (steps, env.num_envs))


def assert_same(a, b) -> None:
    """Equal in structure and kind; numbers equal up to the last bits that depend on how a sum is grouped."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert set(a) == set(b)
        for name in a:
            assert_same(a[name], b[name])
    elif isinstance(a, tuple | list):
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray) and a.dtype == object:
        assert_same(list(a), list(b))
    else:
        assert a is None or a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9) if a is not None else None


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("name", catalogue.names())
def test_it_is_what_gymnasium_makes_of_single_environments(name: str, mode: AutoresetMode) -> None:
    given = WEEK if name == "replay" else SHORT
    ours = made(name, autoreset_mode=mode, **given)
    theirs = SyncVectorEnv([lambda: gym.make(catalogue.gymnasium_id(name), **given)] * 3, autoreset_mode=mode)
    assert isinstance(ours, FairVectorEnv)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert_same(ours.reset(seed=11), theirs.reset(seed=11))
    for actions in actions_of(ours, 20):
        assert_same(ours.step(actions), theirs.step(actions))
    assert_same(ours.reset(seed=[3, None, 4]), theirs.reset(seed=[3, None, 4]))
    assert_same(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize("ends", ["truncation", "termination"])
def test_resetting_some_by_hand_is_what_gymnasium_does(ends: str) -> None:
    given = {**SHORT, "ends": ends}
    ours = made("arrivals", autoreset_mode="Disabled", **given)
    single = [lambda: gym.make("bygones/Arrivals-v0", **given)] * 3
    theirs = SyncVectorEnv(single, autoreset_mode=AutoresetMode.DISABLED)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    mask = np.array([False, True, False])
    for steps in (2, 3, 2):
        for actions in actions_of(ours, steps):
            now = ours.step(actions)
            assert_same(now, theirs.step(actions))
        mask = mask | now[2] | now[3]
        assert_same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask.copy()}))
        mask = np.array([False, False, True])


@pytest.mark.parametrize("name", ["donut", "arrivals", "lending", "matthew"])
def test_vectors_of_rewards_are_those_of_single_environments(name: str) -> None:
    id = catalogue.gymnasium_id(name, vector=True)
    env, singles = gym.make_vec(id, num_envs=2, horizon=6), [gym.make(id, horizon=6) for _ in range(2)]
    assert env.reward_space == singles[0].unwrapped.reward_space
    seen, info = env.reset(seed=4)
    for i, single in enumerate(singles):
        np.testing.assert_array_equal(single.reset(seed=4 + i)[0], seen[i])
    assert "memory" not in info
    for actions in actions_of(env, 6):
        seen, rewards, _, over, _ = env.step(actions)
        assert rewards.dtype == np.float32
        for i, single in enumerate(singles):
            also, reward, _, ended, _ = single.step(actions[i])
            np.testing.assert_array_equal(rewards[i], reward)
            np.testing.assert_array_equal(seen[i], also)
            assert over[i] == ended


def test_the_wrapper_makes_fair_rewards_of_vectors() -> None:
    memory, weight = Discounted(gamma=0.9), 0.7
    wrapped = VectorFairReward(gym.make_vec("bygones/mo-Queues-v0", num_envs=3, horizon=9), memory, "nash", weight)
    fair = made("queues", memory=memory, welfare="nash", weight=weight, horizon=9)
    wrapped.reset(seed=2), fair.reset(seed=2)
    for actions in actions_of(fair, 9):
        np.testing.assert_allclose(wrapped.step(actions)[1], fair.step(actions)[1], rtol=1e-4, atol=1e-6)


def test_agents_and_priorities_are_actions_too() -> None:
    by_number, by_agents = (made("queues", n_servers=2, horizon=8) for _ in range(2))
    by_number.reset(seed=0), by_agents.reset(seed=0)
    rows = by_number.problem.scenario.actions()
    for actions in actions_of(by_number, 5):
        agents = np.array([np.flatnonzero(rows[action])[::-1] for action in actions])
        assert_same(by_number.step(actions), by_agents.step(agents))
    many = {"arrivals": (0.5,) * 60, "n_servers": 5, "horizon": 4}
    by_agents, by_priority = (made("queues", **many) for _ in range(2))
    by_agents.reset(seed=0), by_priority.reset(seed=0)
    assert by_priority.single_action_space.shape == (60,)
    priorities = np.random.default_rng(0).random((3, 60))
    highest = np.argsort(-priorities, axis=1)[:, :5]
    assert_same(by_agents.step(highest), by_priority.step(priorities))


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_the_original_and_leaves_it_alone(make_copy) -> None:
    env = made("plant", horizon=20)
    env.reset(seed=0)
    actions = actions_of(env, 30)
    for row in actions[:10]:
        env.step(row)
    twin = make_copy(env)
    assert_same([twin.step(row) for row in actions], [env.step(row) for row in actions])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_what_it_gives_is_the_callers_to_change(mode: AutoresetMode) -> None:
    env, twin = (made("arrivals", autoreset_mode=mode, **SHORT) for _ in range(2))
    given, expected = env.reset(seed=0), twin.reset(seed=0)
    for actions in actions_of(env, 12):
        observation, *_, infos = given
        for array in (observation, *infos.values()):
            if isinstance(array, np.ndarray) and array.dtype != object:
                array[...] = 1
        given, expected = env.step(actions.copy()), twin.step(actions)
        assert_same(given, expected)


def test_episode_metrics_are_batched_like_recorded_statistics() -> None:
    env = RecordEpisodeStatistics(made("donut", horizon=4))
    env.reset(seed=0)
    for actions in actions_of(env, 4):
        info = env.step(actions)[4]
    assert info["_episode"].tolist() == info["_episode_metrics"].tolist() == [True] * 3
    np.testing.assert_allclose(info["episode_metrics"]["utility_per_step"], info["cumulative"].sum(axis=-1) / 4)


def test_bad_use_is_refused() -> None:
    env = made("donut", horizon=1, autoreset_mode="Disabled")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(np.zeros(3, dtype=int))
    with pytest.raises(ResetNeeded, match="render_mode"):
        env.render()
    env.reset(seed=0)
    for actions, message in (
        ([0, 1], "actions must be 3 whole numbers"),
        ([0, 1, 5], "actions must be from 0 to 4, got values from 0 to 5"),
        ([[0], [1]], "1 different agents from 0 to 4 for each of the 3 environments, got"),
        ([[0], [1], [7]], "action must be a whole number from 0 to 4, or 1 different agents from 0 to 4 for each"),
    ):
        with pytest.raises(ValueError, match=message):
            env.step(np.array(actions))
    env.step(np.zeros(3, dtype=int))
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1, 2\] are over"):
        env.step(np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="render_mode must be one of ansi, rgb_array"):
        made("donut", render_mode="human")
