"""Environments with vector rewards that the wrapper tests share."""

import warnings

import gymnasium as gym
import mo_gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import bygones

NON_NEGATIVE = ("fishwood-v0", "four-room-v0", "fruit-tree-v0")
SIGNED = ("resource-gathering-v0", "minecart-v0", "deep-sea-treasure-v0", "mo-mountaincar-v0")
BURDENS = ("mo-mountaincar-v0",)
IDS = (*NON_NEGATIVE, *SIGNED)
# The ore in minecart-v0 is drawn from NumPy's global generator, whatever the seed.
REPLAYABLE = tuple(name.replace("minecart-v0", "minecart-deterministic-v0") for name in IDS)

MEMORIES = {
    "discounted": lambda n: bygones.Discounted(gamma=0.9),
    "averaged": lambda n: bygones.Discounted(half_life=5, average=True),
    "instantaneous": lambda n: bygones.Instantaneous(),
    "perfect recall": lambda n: bygones.PerfectRecall(),
    "averaged perfect recall": lambda n: bygones.PerfectRecall(average=True),
    "multiscale": lambda n: bygones.Multiscale(gammas=(0.5, 0.99), weights=(0.25, 0.75)),
    "multiscale, one weight negative": lambda n: bygones.Multiscale(gammas=(0.5, 0.9), weights=(1.0, -0.5)),
    "mixing": lambda n: bygones.Linear(0.8 * np.eye(n) + 0.1 / n),
    "mixing, some negative": lambda n: bygones.Linear(0.8 * np.eye(n) - 0.1 / n),
}


def welfare_for(name: str) -> str:
    return "log_nash" if name in NON_NEGATIVE else "egalitarian"


def make(name: str) -> gym.Env:
    """The environment without the warnings that some of them give when they are made."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*precision lowered by casting to float32.*")
        return mo_gymnasium.make(name)


class Scripted(gym.Env):
    """Plays back vector rewards; observes how many steps were taken, in whatever shape and type is asked for."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, rewards, low=0.0, high=1.0, space=None):
        self.rewards = np.asarray(rewards, dtype=float)
        n = self.rewards.shape[1]
        self.reward_space = Box(np.full(n, low), np.full(n, high), dtype=np.float64)
        self.observation_space = Box(0, 1000, (1,), dtype=np.float64) if space is None else space
        self.action_space = Discrete(2)
        self.taken = 0

    def _observation(self):
        if isinstance(self.observation_space, Box):
            return np.full(self.observation_space.shape, self.taken, dtype=self.observation_space.dtype)
        if isinstance(self.observation_space, Discrete):
            return self.taken
        return {key: np.full(s.shape, self.taken, s.dtype) for key, s in self.observation_space.spaces.items()}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = 0
        return self._observation(), {}

    def step(self, action):
        reward = self.rewards[self.taken]
        self.taken += 1
        return self._observation(), reward, self.taken == len(self.rewards), False, {"taken": self.taken}


class VectorRewards(SyncVectorEnv):
    """Gymnasium's own vector environment with room for vector rewards, in any autoreset mode."""

    def __init__(self, env_fns, autoreset_mode=AutoresetMode.NEXT_STEP):
        super().__init__(env_fns, autoreset_mode=autoreset_mode)
        self.reward_space = self.envs[0].get_wrapper_attr("reward_space")
        self._rewards = np.zeros((self.num_envs, *self.reward_space.shape))


class ComeAndGo(Scripted):
    """The same with agents who come and go: `info["present"]` marks who takes part in the next step."""

    def __init__(self, rewards, present, **options):
        super().__init__(rewards, **options)
        self.present = np.asarray(present, dtype=bool)

    def _info(self):
        return {"present": self.present[min(self.taken, len(self.present) - 1)].copy()}

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed, options=options)
        return observation, self._info()

    def step(self, action):
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, self._info()
