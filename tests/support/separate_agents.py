"""Parallel environments of PettingZoo that the tests of multi-agent wrappers share."""

import warnings

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

with warnings.catch_warnings():
    # Its own tests import environments in the way that it deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

__all__ = ["ScriptedAgents", "api_test", "parallel_api_test", "parallel_seed_test", "seed_test"]


class ScriptedAgents(ParallelEnv):
    """Plays back the rewards of agents; an agent lives for as many steps as `lives` has for it."""

    metadata = {"name": "scripted_agents_v0", "render_modes": []}  # noqa: RUF012
    render_mode = None

    def __init__(self, rewards, lives=None, space=None):
        self.rewards_of_steps = np.asarray(rewards, dtype=float)
        steps, n = self.rewards_of_steps.shape
        self.possible_agents = [f"agent_{i}" for i in range(n)]
        self.lives = np.full(n, steps) if lives is None else np.minimum(lives, steps)
        self.agents = []
        self._space = Box(0, 1000, (2,), dtype=np.float32) if space is None else space
        self._action_spaces = {name: Discrete(2) for name in self.possible_agents}

    def observation_space(self, agent):
        return self._space

    def action_space(self, agent):
        return self._action_spaces[agent]

    def _observation(self, name):
        i = self.possible_agents.index(name)
        if isinstance(self._space, Box):
            return np.full(self._space.shape, self.taken + i, self._space.dtype)
        if isinstance(self._space, Discrete):
            return self.taken
        return {key: np.full(part.shape, 1, part.dtype) for key, part in self._space.spaces.items()}

    def reset(self, seed=None, options=None):
        self.taken, self.agents = 0, list(self.possible_agents)
        return {name: self._observation(name) for name in self.agents}, {name: {} for name in self.agents}

    def step(self, actions):
        there, reward = self.agents, self.rewards_of_steps[self.taken]
        self.taken += 1
        dead = {name: bool(self.taken >= self.lives[self.possible_agents.index(name)]) for name in there}
        self.agents = [name for name in there if not dead[name]]
        return (
            {name: self._observation(name) for name in there},
            {name: float(reward[self.possible_agents.index(name)]) for name in there},
            dead,
            dict.fromkeys(there, False),
            {name: {"taken": self.taken} for name in there},
        )
