import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from bygones import Discounted, Linear, Multiscale, PerfectRecall
from bygones.envs import needs

ID = "bygones/Allocation-v0"
MEMORIES = {
    "discounted": Discounted(gamma=0.9),
    "averaged": Discounted(gamma=0.9, average=True),
    "perfect": PerfectRecall(),
    "linear": Linear(0.8 * np.eye(4) + 0.02),
    "multiscale": Multiscale((0.9, 0.99), (0.5, 0.5)),
}


def make_vec(num_envs=3, **settings):
    return gym.make_vec(ID, num_envs=num_envs, **settings)


def actions_of(env, steps):
    return np.random.default_rng(0).integers(0, env.single_action_space.n, (steps, env.num_envs))


def assert_same(a, b):
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
    elif isinstance(a, np.ndarray) and a.dtype.kind == "f":
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("ends", ["truncation", "termination"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("memory", MEMORIES)
def test_it_is_what_gymnasium_makes_of_single_environments(memory, mode, ends):
    settings = {"n_agents": 4, "memory": MEMORIES[memory], "horizon": 5, "ends": ends, "observe_denominator": True}
    ours = make_vec(autoreset_mode=mode, **settings)
    theirs = SyncVectorEnv([lambda: gym.make(ID, **settings)] * 3, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    assert_same(ours.reset(seed=11), theirs.reset(seed=11))
    for actions in actions_of(ours, 100):
        assert_same(ours.step(actions), theirs.step(actions))
    assert_same(ours.reset(seed=[3, None, 4]), theirs.reset(seed=[3, None, 4]))
    assert ours.np_random_seed == theirs.np_random_seed
    assert_same(ours.step(actions), theirs.step(actions))


def test_resetting_some_by_hand_is_what_gymnasium_does():
    settings = {"n_agents": 4, "horizon": 4}
    ours = make_vec(autoreset_mode="Disabled", **settings)
    theirs = SyncVectorEnv([lambda: gym.make(ID, **settings)] * 3, autoreset_mode=AutoresetMode.DISABLED)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    mask = np.array([False, True, False])
    for steps in (2, 2, 2):
        for actions in actions_of(ours, steps):
            ours_now, theirs_now = ours.step(actions), theirs.step(actions)
            assert_same(ours_now, theirs_now)
        mask = mask | ours_now[2] | ours_now[3]
        assert_same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask.copy()}))
        mask = np.array([False, False, True])


def test_needs_are_those_of_single_environments_to_the_bit():
    env = make_vec(num_envs=4, horizon=30)
    seen = [env.reset(seed=7)[0]] + [env.step(np.zeros(4, dtype=int))[0] for _ in range(100)]
    for i in range(4):
        single = gym.make(ID, horizon=30)
        expected = [single.reset(seed=7 + i)[0]]
        for _ in range(100):
            over = len(expected) % 31 == 0
            expected.append(single.reset()[0] if over else single.step(0)[0])
        np.testing.assert_array_equal([row[i] for row in seen], expected)


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_the_original_and_leaves_it_alone(make_copy):
    env = make_vec(horizon=20)
    env.reset(seed=0)
    actions = actions_of(env, 150)
    for row in actions[:30]:
        env.step(row)
    twin = make_copy(env)
    np.testing.assert_equal([twin.step(row) for row in actions], [env.step(row) for row in actions])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_what_it_gives_is_the_callers_to_change(mode):
    env, twin = (make_vec(horizon=6, autoreset_mode=mode) for _ in range(2))
    given, expected = env.reset(seed=0), twin.reset(seed=0)

    def scribble(data):
        if isinstance(data, dict):
            data = list(data.values())
        if isinstance(data, tuple | list):
            for part in data:
                scribble(part)
        elif isinstance(data, np.ndarray) and data.dtype != object:
            data[...] = 1

    for actions in actions_of(env, 20):
        scribble(given)
        given, expected = env.step(actions.copy()), twin.step(actions)
        assert_same(given, expected)


def test_episode_metrics_are_batched_like_recorded_statistics():
    env = RecordEpisodeStatistics(make_vec(horizon=4))
    env.reset(seed=0)
    for actions in actions_of(env, 4):
        info = env.step(actions)[4]
    assert info["_episode"].tolist() == info["_episode_metrics"].tolist() == [True] * 3
    assert info["episode"]["l"].tolist() == [4, 4, 4]
    np.testing.assert_allclose(info["episode_metrics"]["utility_per_step"], info["cumulative"].sum(axis=-1) / 4)
    assert ((info["episode_metrics"]["gini"] > 0) & (info["episode_metrics"]["gini"] < 1)).all()


def test_under_same_step_the_metrics_are_in_the_final_info():
    env = RecordEpisodeStatistics(make_vec(horizon=4, autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset(seed=0)
    for actions in actions_of(env, 4):
        observation, _, _, truncated, info = env.step(actions)
    assert truncated.all()
    assert (info["final_info"]["episode_metrics"]["utility_per_step"] > 0).all()
    assert (info["cumulative"] == 0).all()
    assert (observation[:, 10:] == 0).all()
    assert (info["final_obs"][0][10:] > 0).any()
    assert "episode" in info


def test_correlated_and_replayed_needs_in_a_batch():
    table = np.random.default_rng(0).random((3, 4))
    env = make_vec(needs=needs.replayed(table), horizon=10)
    first = env.reset(seed=0)[0]
    second = env.step(np.zeros(3, dtype=int))[0]
    np.testing.assert_allclose(first[:, :4], np.tile(table[0], (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(second[:, :4], np.tile(table[1], (3, 1)), rtol=1e-6)
    single = gym.make(ID, needs=needs.correlated(needs.uniform(4), 0.9))
    many = make_vec(needs=needs.correlated(needs.uniform(4), 0.9))
    np.testing.assert_array_equal(many.reset(seed=5)[0][0], single.reset(seed=5)[0])
    np.testing.assert_array_equal(many.step(np.zeros(3, dtype=int))[0][0], single.step(0)[0])


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], "actions must be 3 whole numbers"),
        ([0.0, 1.0, 2.0], "actions must be 3 whole numbers"),
        ([0, 1, 45], "actions must be from 0 to 44, got values from 0 to 45"),
        ([-1, 1, 2], "actions must be from 0 to 44, got values from -1 to 2"),
    ],
)
def test_bad_actions_are_refused(actions, message):
    env = make_vec()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(np.array(actions))


def test_bad_use_is_refused():
    with pytest.raises(ValueError, match="num_envs must be a whole number of at least 1"):
        make_vec(num_envs=0)
    with pytest.raises(ValueError, match="NowAndThen"):
        make_vec(autoreset_mode="NowAndThen")
    with pytest.raises(ValueError, match="render_mode must be one of ansi, rgb_array"):
        make_vec(render_mode="human")
    env = make_vec(horizon=1, autoreset_mode="Disabled")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match=r"one per environment \(3\), got 2"):
        env.reset(seed=[1, 2])
    env.reset(seed=0)
    env.step(np.zeros(3, dtype=int))
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1, 2\] are over"):
        env.step(np.zeros(3, dtype=int))
    for mask in ([True, False, False], np.array([1, 0, 0]), np.array([True]), np.zeros(3, dtype=bool)):
        with pytest.raises(ValueError, match="reset_mask must be a boolean array"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(ResetNeeded, match="render_mode"):
        env.render()


def test_render_gives_a_picture_of_each():
    env = make_vec(render_mode="rgb_array")
    env.reset(seed=0)
    env.step(np.array([0, 10, 44]))
    frames = env.render()
    assert [frame.shape for frame in frames] == [(640, 960, 3)] * 3
    assert not np.array_equal(frames[0], frames[1])
    env.close()
