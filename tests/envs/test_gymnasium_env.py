import copy
import itertools
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall
from bygones.envs import needs, registration

ID = "bygones/Allocation-v0"
MEMORIES = {
    "discounted": Discounted(gamma=0.99),
    "averaged": Discounted(gamma=0.9, average=True),
    "perfect": PerfectRecall(),
    "instantaneous": Instantaneous(),
    "linear": Linear(0.8 * np.eye(4) + 0.02),
    "multiscale": Multiscale((0.9, 0.99), (0.5, 0.5)),
}
SWITCHES = {
    "observation_scale": ["none", "fixed", "window", "expected", "relative"],
    "observe_memory": [None, True, False],
    "observe_denominator": [False, True],
    "ends": ["truncation", "termination"],
    "shaping_discount": [1.0, 0.99],
}


def make(**settings):
    return gym.make(ID, **settings)


def play(env, steps, seed=None):
    """Everything that random actions give, the reset included; autoreset by hand."""
    env.action_space.seed(0)
    seen = [env.reset(seed=seed)]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


def assert_same(a, b):
    np.testing.assert_equal(a, b)


def test_the_papers_environment_can_be_made():
    env = gym.make(ID, horizon=1000, memory=Discounted(gamma=0.99), welfare="nash")
    assert env.observation_space.shape == (20,)
    assert env.action_space.n == 45
    assert np.isfinite(env.observation_space.high).all()


def test_it_can_be_made_by_module_without_an_import():
    code = f"import gymnasium; print(gymnasium.make('bygones.envs:{ID}', memory=0.9).action_space.n)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "45"


def test_registering_again_does_no_harm():
    before = dict(gym.registry)
    registration.register()
    assert dict(gym.registry) == before
    assert ID in before


@pytest.mark.parametrize("memory", MEMORIES)
def test_gymnasiums_checker_passes_for_every_switch(memory):
    for values in itertools.product(*SWITCHES.values()):
        settings = dict(zip(SWITCHES, values, strict=True))
        env = make(n_agents=4, memory=MEMORIES[memory], horizon=20, **settings)
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("memory", MEMORIES)
def test_stable_baselines_checker_passes_for_every_switch(memory):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    for values in itertools.product(*SWITCHES.values()):
        settings = dict(zip(SWITCHES, values, strict=True))
        checker.check_env(make(n_agents=4, memory=MEMORIES[memory], horizon=20, **settings))


@pytest.mark.parametrize("welfare", ["nash", "egalitarian", "utilitarian", "alpha_fair(alpha=2)", "generalized_gini"])
@pytest.mark.parametrize(
    "distribution",
    [
        needs.uniform(4),
        needs.advantaged(4, 1),
        needs.correlated(needs.uniform(4), 0.9),
        needs.replayed(np.random.default_rng(0).random((5, 4))),
        needs.replayed([[0.5, 0.0, 1.0, 0.2]]),
    ],
    ids=["uniform", "advantaged", "correlated", "replayed", "constant"],
)
def test_the_checker_passes_for_every_welfare_and_needs(welfare, distribution):
    check_env(make(welfare=welfare, needs=distribution, horizon=20).unwrapped, skip_render_check=True)


def test_needs_without_a_largest_value_have_infinite_bounds():
    env = make(needs=needs.lognormal(np.zeros(3), 1.0), horizon=5)
    assert np.isinf(env.observation_space.high).all()
    assert (env.observation_space.low == 0).all()
    with pytest.warns(UserWarning, match="infinity"):
        check_env(env.unwrapped, skip_render_check=True)


def test_stable_baselines_learns_on_it():
    sb3 = pytest.importorskip("stable_baselines3")
    model = sb3.PPO("MlpPolicy", make(horizon=16), n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=0)
    model.learn(64)
    assert model.num_timesteps == 64


@pytest.mark.parametrize("memory", ["averaged", "linear", "multiscale"])
def test_a_seed_replays_to_the_bit(memory):
    settings = {"n_agents": 4, "memory": MEMORIES[memory], "horizon": 7}
    first, second = (play(make(**settings), 600, seed=5) for _ in range(2))
    assert_same(first, second)
    env = make(**settings)
    assert_same(play(env, 30, seed=5), play(env, 30, seed=5))
    assert not np.array_equal(env.reset(seed=6)[0], first[0][0])


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_the_original_and_leaves_it_alone(make_copy):
    env = make(horizon=400, render_mode="rgb_array").unwrapped
    play(env, 10, seed=1)
    env.render()
    twin = make_copy(env)
    theirs = [twin.step(3) for _ in range(300)]
    ours = [env.step(3) for _ in range(300)]
    assert_same(ours, theirs)
    assert twin.render().shape == env.render().shape


def test_setting_a_generator_changes_the_needs():
    env = make().unwrapped
    env.reset(seed=0)
    env.np_random = np.random.default_rng(7)
    first = env.reset()[0]
    env.np_random = np.random.default_rng(7)
    assert_same(env.reset()[0], first)


def test_info_is_the_callers_to_change():
    env, twin = make(horizon=50), make(horizon=50)
    observation, info = env.reset(seed=0)
    twin.reset(seed=0)
    for _ in range(20):
        for array in (observation, *(v for v in info.values() if isinstance(v, np.ndarray))):
            array[...] = -7.0
        observation, reward, _, _, info = env.step(4)
        expected = twin.step(4)
        assert_same((observation, reward, info), (expected[0], expected[1], expected[4]))


def test_info_tells_what_happened():
    env = make(horizon=3, welfare="egalitarian", memory=Discounted(gamma=0.5))
    observation, info = env.reset(seed=0)
    assert set(info) == {"utilities", "cumulative", "memory", "welfare_memory", "welfare_true"}
    assert info["welfare_memory"] == info["welfare_true"] == 0.0
    total, memory = np.zeros(10), np.zeros(10)
    for action in (0, 9, 44):
        utilities = np.where(
            np.isin(np.arange(10), env.unwrapped.problem.scenario.subsets()[action]), observation[:10], 0.0
        )
        observation, _, _, truncated, info = env.step(action)
        total, memory = total + utilities, memory / 2 + utilities
        np.testing.assert_allclose(info["utilities"], utilities, rtol=1e-6)
        np.testing.assert_allclose(info["cumulative"], total, rtol=1e-6)
        np.testing.assert_allclose(info["memory"], memory, rtol=1e-6)
        np.testing.assert_allclose(observation[10:], memory, rtol=1e-6)
    assert truncated
    metrics = info["episode_metrics"]
    assert set(metrics) >= {"gini", "welfare", "utility_per_step", "utility_least", "utility_most", "welfare_memory"}
    assert metrics["utility_per_step"] == pytest.approx(total.sum() / 3)
    assert metrics["welfare"] == info["welfare_true"] == total.min()


def test_episode_metrics_sit_beside_recorded_statistics():
    env = RecordEpisodeStatistics(make(horizon=4))
    infos = [step[4] for step in play(env, 4, seed=0)[1:5]]
    assert ["episode" in info and "episode_metrics" in info for info in infos] == [False, False, False, True]
    assert infos[-1]["episode"]["l"] == 4


def test_the_myopic_agent_sees_zeros_in_place_of_the_memory():
    for settings, sees in (({"memory": 0.0}, False), ({"memory": 0.0, "observe_memory": True}, True)):
        env = make(**settings)
        env.reset(seed=0)
        observation = env.step(0)[0]
        assert (observation[10:] > 0).any() == sees


@pytest.mark.parametrize("ends", ["truncation", "termination"])
def test_an_episode_ends_in_the_chosen_way(ends):
    *_, last = (step for step in play(make(horizon=3, ends=ends), 3, seed=0) if len(step) == 5)
    assert (last[2], last[3]) == ((ends == "termination"), (ends == "truncation"))


@pytest.mark.parametrize("action", [-1, 45, 2.5, None, "0", np.array([1, 1]), np.array([1.0, 2.0])])
def test_an_action_out_of_range_is_refused_and_changes_nothing(action):
    env, twin = make(), make()
    env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 44"):
        env.step(action)
    assert_same(env.step(3), twin.step(3))


@pytest.mark.parametrize("action", [3, np.int64(3), np.array(3), np.uint8(3)])
def test_every_kind_of_whole_number_is_an_action(action):
    env, twin = make(), make()
    env.reset(seed=0)
    twin.reset(seed=0)
    assert_same(env.step(action), twin.step(3))


def test_a_step_without_an_episode_is_refused():
    env = make(horizon=1)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.reset()
    env.step(0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_resources": 11}, ValueError, "n_resources must be at most"),
        ({"horizon": 0}, ValueError, "horizon must be a whole number"),
        ({"weight": 2}, ValueError, "weight must be between 0 and 1"),
        ({"colour": "red"}, ValueError, "scenario allocation takes .*got 'colour'"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)
    with pytest.raises(error, match=message):
        gym.make_vec(ID, num_envs=2, **settings)
