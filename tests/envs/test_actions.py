"""Actions that name agents: priorities, indicators and the agents themselves, where subsets are too many to number."""

import dataclasses

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from bygones.allocation.policies import OneStep
from bygones.envs.env import FairEnv
from bygones.envs.episode import chosen
from bygones.envs.needs import uniform
from bygones.envs.problem import problem_of
from bygones.envs.scenario import MOST_ACTIONS
from bygones.envs.scenarios.allocation import Allocation
from bygones.envs.vector_env import FairVectorEnv

MANY = {"n_agents": 50, "n_resources": 5, "horizon": 10}


def served(info: dict) -> list[int]:
    return np.flatnonzero(info["utilities"]).tolist()


def test_priorities_an_indicator_and_the_agents_themselves_serve_the_same() -> None:
    agents = [49, 3, 17, 8, 30]
    indicator = np.zeros(50)
    indicator[agents] = 1
    env = FairEnv(**MANY)
    assert isinstance(env.action_space, gym.spaces.Box)
    for action in (
        agents,
        np.array(agents),
        indicator,
        indicator.astype(bool),
        indicator.astype(np.int8),
        0.1 + indicator / 2,
    ):
        env.reset(seed=0)
        assert served(env.step(action)[-1]) == sorted(agents)


def test_an_environment_of_many_agents_passes_gymnasiums_checker() -> None:
    check_env(FairEnv(**MANY), skip_render_check=True)


def test_where_subsets_have_numbers_the_agents_are_an_action_too() -> None:
    env = FairEnv(n_agents=6, n_resources=2)
    assert env.action_space == gym.spaces.Discrete(15)
    for number, agents in enumerate(env.problem.scenario.subsets()):
        env.reset(seed=1)
        *by_number, _ = env.step(number)
        env.reset(seed=1)
        *by_name, info = env.step(agents[::-1])
        np.testing.assert_array_equal(by_number[0], by_name[0])
        assert by_number[1:] == by_name[1:]
        assert served(info) == agents.tolist()


@pytest.mark.parametrize(
    "action",
    [0, [1, 2], [1, 2, 3, 4, 4], [1, 2, 3, 4, 50], [-1, 2, 3, 4, 5], np.full(50, np.nan), np.zeros(49), "all", None],
)
def test_anything_else_is_refused_with_what_to_do(action: object) -> None:
    env = FairEnv(**MANY)
    env.reset(seed=0)
    with pytest.raises(
        ValueError, match="an array of 50 priorities, of which the 5 highest are served, or 5 different"
    ):
        env.step(action)


def test_rules_play_where_subsets_have_no_numbers() -> None:
    env = FairEnv(**MANY)
    env.reset(seed=0)
    chosen = env.choose(OneStep(env.problem.memory, "nash"), np.random.default_rng(0))
    assert served(env.step(chosen)[-1]) == sorted(chosen)


@pytest.mark.parametrize("settings", [MANY, {**MANY, "n_agents": 6, "n_resources": 2}], ids=["many", "few"])
def test_many_environments_at_once_are_single_ones(settings: dict) -> None:
    vector, rng = FairVectorEnv(num_envs=3, **settings), np.random.default_rng(0)
    n, k = settings["n_agents"], settings["n_resources"]
    actions = np.stack([rng.permutation(n)[:k] for _ in range(3)])
    vector.reset(seed=5)
    seen, rewards, *_ = vector.step(actions)
    for i in range(3):
        env = FairEnv(**settings)
        env.reset(seed=5 + i)
        alone, reward, *_ = env.step(actions[i])
        np.testing.assert_array_equal(seen[i], alone)
        assert rewards[i] == reward
    assert vector.action_space.contains(vector.action_space.sample())
    vector.step(vector.action_space.sample())
    with pytest.raises(ValueError, match="for each of the 3 environments"):
        vector.step(actions[:2])


def test_the_row_of_a_subset_is_that_of_its_agents() -> None:
    problem = problem_of(needs=uniform(6), n_resources=3)
    params, noise = problem.params(), np.zeros((20, 6))
    for array in (np.asarray, jnp.asarray):
        by_number = chosen(array(np.arange(20)), array(noise), params)
        by_agents = chosen(array(problem.scenario.subsets()[:, ::-1]), array(noise), params)
        np.testing.assert_array_equal(by_agents, by_number)
    with pytest.raises(ValueError, match="action must be the agents to serve"):
        chosen(np.arange(20), noise, problem.params(enumerates=False))


def test_subsets_are_enumerated_up_to_a_hundred_thousand() -> None:
    scenario = Allocation(n_agents=20, n_resources=6)
    assert scenario.is_enumerable
    assert scenario.n_actions <= MOST_ACTIONS
    assert not dataclasses.replace(scenario, n_resources=8).is_enumerable
    assert dataclasses.replace(scenario, n_resources=19).is_enumerable
    assert not dataclasses.replace(scenario, needs=uniform(10**6), n_resources=5 * 10**5).is_enumerable
    with pytest.raises(ValueError, match="choosing 8 of 20 agents gives more than the 100,000 subsets"):
        dataclasses.replace(scenario, n_resources=8).subsets()
