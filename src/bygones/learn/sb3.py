"""The same settings through Stable-Baselines3 itself, for anyone who wants the paper's exact software."""

from __future__ import annotations

from collections.abc import Callable

from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

from bygones.envs.env import FairEnv
from bygones.envs.wrappers.recall import AnyEnv
from bygones.learn.settings import Settings

EpisodeSeen = Callable[[int, dict[str, float]], None]
"""Called at the end of every episode with the number of steps taken so far and the episode's metrics."""


def learner(settings: Settings, env: AnyEnv | None = None) -> PPO:
    """Stable-Baselines3's PPO with these settings, on one environment."""
    return PPO(
        "MlpPolicy",
        environment(settings, env),
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


def environment(settings: Settings, env: AnyEnv | None = None) -> VecEnv:
    """The environment of these settings, or the given one, as Stable-Baselines3 takes it.

    Under the observation scale "running" it is wrapped in `VecNormalize`, which does what our own learner does.
    """
    running = settings.observation_scale == "running"
    problem = settings.replace(observation_scale="none" if running else settings.observation_scale).problem()
    venv = DummyVecEnv([lambda: Monitor(env or FairEnv(problem=problem))])
    return VecNormalize(venv, norm_reward=False) if running else venv


def train(settings: Settings, seen: EpisodeSeen | None = None, threads: int = 1) -> PPO:
    """A whole run of Stable-Baselines3; `seen` is called at the end of every episode."""
    import torch  # here, since the site documents this module and is built without PyTorch

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
            if "episode_metrics" in info:
                self._seen(self.num_timesteps, info["episode_metrics"])
        return True
