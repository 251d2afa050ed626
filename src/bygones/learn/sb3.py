"""The same settings through Stable-Baselines3 itself, for anyone who wants the paper's exact software."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from bygones._arrays import Array
from bygones.envs.problem import AllocationProblem, episode_metrics, observe, reward
from bygones.learn.settings import Settings

EpisodeSeen = Callable[[int, dict[str, float]], None]
"""Called at the end of every episode with the number of steps taken so far and the episode's metrics."""


class AllocationEnv(gymnasium.Env[Array, int]):
    """The paper's environment for Gymnasium, with nothing beside what a learner needs."""

    def __init__(self, problem: AllocationProblem) -> None:
        low, high = problem.observation_bounds()
        self.observation_space = gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.action_space = gymnasium.spaces.Discrete(problem.n_actions)  # type: ignore[assignment]
        self._params = problem.params()
        self._n_agents = problem.n_agents
        self._terminates = problem.ends == "termination"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        params = self._params
        self._t = 0
        self._memory = params.memory.init(self._n_agents)
        self._welfare = float(params.welfare(params.memory.read(self._memory)))
        self._cumulative = np.zeros(self._n_agents)
        first, then = self.np_random.random((2, self._n_agents))
        self._needs, self._needs_state = params.needs.draw(then, params.needs.start(first), 1)
        return self._observation(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        params = self._params
        utilities = params.served[action] * self._needs
        self._memory = params.memory.advance(self._memory, utilities)
        welfare_before, self._welfare = self._welfare, float(params.welfare(params.memory.read(self._memory)))
        gain = float(reward(utilities.sum(), self._welfare, welfare_before, params))
        self._cumulative = self._cumulative + utilities
        self._t += 1
        noise = self.np_random.random(self._n_agents)
        self._needs, self._needs_state = params.needs.draw(noise, self._needs_state, self._t + 1)
        over = self._t >= params.horizon
        info = {"metrics": self._metrics()} if over else {}
        return self._observation(), gain, over and self._terminates, over and not self._terminates, info

    def _observation(self) -> Array:
        return observe(self._needs, self._memory, self._params).astype(np.float32)

    def _metrics(self) -> dict[str, float]:
        metrics = episode_metrics(self._cumulative, self._t, self._params)
        per_step = self._cumulative / self._t
        return {name: float(value) for name, value in metrics.items()} | {
            "welfare_memory": self._welfare,
            "utility_least": float(per_step.min()),
            "utility_most": float(per_step.max()),
        }


def learner(settings: Settings, env: gymnasium.Env[Any, Any] | None = None) -> PPO:
    """Stable-Baselines3's PPO with these settings, on one environment."""
    return PPO(
        "MlpPolicy",
        env or AllocationEnv(settings.problem()),
        learning_rate=settings.learning_rate,
        n_steps=settings.rollout_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        gamma=settings.discount,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy_weight,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs={"net_arch": list(settings.hidden), "optimizer_kwargs": {"eps": settings.adam_eps}},
        seed=settings.seed,
        device="cpu",
    )


def train(settings: Settings, seen: EpisodeSeen | None = None, threads: int = 1) -> PPO:
    """A whole run of Stable-Baselines3; `seen` is told of every episode as it ends."""
    torch.set_num_threads(threads)
    model = learner(settings)
    model.learn(settings.total_steps, callback=_Episodes(seen) if seen else None)
    return model


class _Episodes(BaseCallback):
    """Passes on the metrics of episodes as they end."""

    def __init__(self, seen: EpisodeSeen) -> None:
        super().__init__()
        self._seen = seen

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "metrics" in info:
                self._seen(self.num_timesteps, info["metrics"])
        return True
