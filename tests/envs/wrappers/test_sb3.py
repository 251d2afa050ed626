"""The wrappers inside Stable-Baselines3: its checker, its vector environments, its PPO."""

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import bygones
from bygones.envs.wrappers import FairReward, RememberRewards
from support.vector_rewards import IDS, make, welfare_for

MEMORY = bygones.Discounted(half_life=20, average=True)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for a busy core make small networks many times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def fair(name, **options):
    return FairReward(RememberRewards(make(name), MEMORY, **options), MEMORY, welfare_for(name), 0.9)


@pytest.mark.parametrize("observe_denominator", [False, True])
@pytest.mark.parametrize("name", IDS)
def test_checker_has_nothing_to_say(name, observe_denominator):
    check_env(fair(name, observe_denominator=observe_denominator))


@pytest.mark.parametrize("name", ["fishwood-v0", "minecart-v0"])
def test_ppo_learns_from_a_flat_observation(name):
    keys = ("episode_metrics",)
    envs = make_vec_env(lambda: fair(name), n_envs=2, seed=0, monitor_kwargs={"info_keywords": keys})
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=64, n_epochs=2, seed=0).learn(600)
    assert model.ep_info_buffer
    assert all(keys[0] in episode for episode in model.ep_info_buffer)
    action, _ = model.predict(envs.reset())
    assert action.shape == (2,)


def test_ppo_learns_from_a_dict_observation():
    envs = VecNormalize(DummyVecEnv([lambda: Monitor(fair("breakable-bottles-v0"))]), norm_obs_keys=["memory"])
    model = PPO("MultiInputPolicy", envs, n_steps=128, batch_size=64, n_epochs=2, seed=0)
    before = [weights.detach().clone() for weights in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    assert any((old != new).any() for old, new in zip(before, model.policy.parameters(), strict=True))


def test_terminal_observation_holds_the_memory_of_the_episode_that_ended():
    envs = DummyVecEnv([lambda: fair("fishwood-v0")])
    assert envs.reset()[0, 1:].tolist() == [0, 0]
    for _ in range(200):
        observations, _, dones, infos = envs.step(np.array([1]))
    assert dones.all()
    assert observations[0, 1:].tolist() == [0, 0]
    np.testing.assert_allclose(infos[0]["terminal_observation"][1:], infos[0]["memory"], rtol=1e-6)
    assert infos[0]["episode_metrics"]["gini"] == 0.5
