"""Allocators act in the environment as policies."""

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from bygones.allocation.policies import OneStep, RoundRobin, Utilitarian
from bygones.envs.env import FairEnv
from bygones.memory import PerfectRecall


def played(policy, horizon=300):
    env, rng = FairEnv(memory=PerfectRecall(), welfare="egalitarian", horizon=horizon), np.random.default_rng(0)
    env.reset(seed=0)
    over = False
    while not over:
        _, _, _, over, info = env.step(env.choose(policy, rng))
    return info["episode_metrics"]


def test_each_does_in_the_environment_what_it_is_for():
    fair, efficient, turns = (played(p) for p in (OneStep(PerfectRecall(), "egalitarian"), Utilitarian(), RoundRobin()))
    assert fair["gini"] < 0.02 < turns["gini"] < 0.3 < efficient["gini"]
    assert efficient["utility_per_step"] > fair["utility_per_step"] > turns["utility_per_step"]


def test_an_action_is_known_by_whom_it_serves():
    problem = FairEnv(n_agents=5, n_resources=3).problem
    for action, served in enumerate(problem.scenario.subsets()):
        assert problem.scenario.action(served[::-1]) == action
    for wrong in ([0, 1], [0, 1, 5], [0, 1, 1]):
        with pytest.raises(ValueError, match="served must be 3 different agents of 5, got"):
            problem.scenario.action(np.array(wrong))


def test_nothing_is_chosen_before_reset():
    with pytest.raises(ResetNeeded):
        FairEnv().choose(RoundRobin(), np.random.default_rng(0))
