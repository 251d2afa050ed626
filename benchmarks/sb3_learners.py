"""Stable-Baselines3's learners on the scenarios of bygones, each with its own default settings.

They learn on the Gymnasium environment of an entry of the leaderboard, which shows the memory at the same scale and has
the same reward as our learners see: what `RememberRewards` and `FairReward` make of the vector of utilities.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

import bygones.envs  # noqa: F401  (registers the environments)
from bygones._parts import needed_by
from bygones.envs import catalogue
from bygones.leaderboard.entries import BoardEntry

NAMES = {"sb3-ppo": "PPO", "sb3-a2c": "A2C", "sb3-dqn": "DQN"}
"""The learners, and what Stable-Baselines3 calls them."""


def trained(entry: BoardEntry) -> Any:
    """A model that has learned from the steps of an entry; it is played by `predict`."""
    with needed_by("benchmarks.sb3_learners", "sb3"):
        import stable_baselines3
        import torch
    torch.set_num_threads(1)
    kind = getattr(stable_baselines3, NAMES[entry.player])
    model = kind("MlpPolicy", environment(entry), seed=entry.seed, device="cpu")
    return model.learn(entry.steps)


def environment(entry: BoardEntry) -> gym.Env[Any, Any]:
    """The environment for training."""
    problem = entry.problem()
    return gym.make(
        catalogue.gymnasium_id(entry.world),
        **problem.scenario.arguments(),
        memory=problem.memory,
        welfare=problem.welfare,
        observation_scale=problem.observation_scale,
    )
