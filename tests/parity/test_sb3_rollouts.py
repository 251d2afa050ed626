"""Our rollouts are those that Stable-Baselines3 collects: same networks, same noise, same random choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.distributions import CategoricalDistribution

from bygones.envs.env import FairEnv
from bygones.envs.functional import StepNoise
from bygones.envs.problem import Scale
from bygones.learn import ppo, rollouts, runs, sb3
from bygones.learn.networks import apply
from bygones.learn.normalisation import Normaliser, having_seen
from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings
from support.sharp_networks import sharp

collect = jax.jit(rollouts.collect, static_argnames="shape")
samples_of = jax.jit(ppo.samples_of, static_argnames="shape")

STEPS, ROLLOUTS = 50, 2
SMALL = Settings(n_agents=5, rollout_steps=STEPS, batch_size=10, hidden=(16,), horizon=12, gamma=0.9, discount=0.95)
CASES = {
    "truncation": SMALL,
    "termination": SMALL.replace(ends="termination"),
    "a rollout that ends with an episode": SMALL.replace(horizon=10, aggregation="averaged", welfare="egalitarian"),
    "a rollout that ends with a true end": SMALL.replace(horizon=25, ends="termination", observation_scale="relative"),
    "running normalisation": SMALL.replace(horizon=12, observation_scale="running"),
    "running normalisation with true ends": SMALL.replace(gamma=1.0, ends="termination", observation_scale="running"),
}


class Rows:
    """A generator of noise that replays rows, in place of NumPy's."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = np.array(rows, float)

    def random(self, shape: tuple[int, int]) -> Any:
        taken, self._rows = np.split(self._rows, [shape[0]])
        return np.concatenate([taken, np.full((shape[0] - len(taken), shape[1]), np.nan)])


def shown(settings: Settings) -> Scale:
    """The scale of the environment: running normalisation is not the environment's."""
    return "none" if settings.observation_scale == "running" else settings.observation_scale


class Replaying(FairEnv):
    """The Gymnasium environment on noise that is given instead of a seed."""

    def __init__(self, settings: Settings, rows: list[Any]) -> None:
        super().__init__(problem=settings.replace(observation_scale=shown(settings)).problem())
        self.np_random = Rows(rows)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(options=options)


class Reached(BaseCallback):
    """Keeps what each step led to, before Stable-Baselines3 goes on with a new episode."""

    def __init__(self) -> None:
        super().__init__()
        self.observations: list[Any] = []

    def _on_step(self) -> bool:
        (info,), (new,) = self.locals["infos"], self.locals["new_obs"]
        self.observations.append(info.get("terminal_observation", new))
        return True


def noise_rows(first: StepNoise, noises: list[StepNoise], horizon: int) -> list[Any]:
    """Our noise in the order in which the Gymnasium environment uses it up."""
    rows, t = list(first.start[0].reshape(2, -1)), 0
    for noise in noises:
        for i in range(STEPS):
            rows.append(noise.step[i])
            t += 1
            if t % horizon == 0:
                rows += list(noise.start[i].reshape(2, -1))
    return rows


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(case, id=name, marks=() if name == "truncation" else pytest.mark.soak)
        for name, case in CASES.items()
    ],
)
def test_rollouts_are_those_of_stable_baselines3(settings: Settings) -> None:
    shape, params = runs.shape_of(settings), runs.params_of(settings)
    numbers, env = runs.numbers_of(settings), shape.environment
    networks = sharp(3, env.observation_size, env.n_actions, settings.hidden)
    keys = [jax.random.key(10 + number) for number in range(ROLLOUTS)]
    first = env.noise(jax.random.key(1), 1)
    noises = [env.noise(jax.random.split(key)[0], STEPS) for key in keys]
    gumbel = iter(np.concatenate([jax.random.gumbel(jax.random.split(key)[1], (STEPS, env.n_actions)) for key in keys]))

    torch.set_num_threads(1)
    model = sb3.learner(settings, Replaying(settings, noise_rows(first, noises, settings.horizon)))
    model.policy.load_state_dict(TrainedPolicy(settings, networks).state_dict())
    reached = Reached()
    _, callback = model._setup_learn(ROLLOUTS * STEPS, reached)
    buffer = model.rollout_buffer

    state = env.start(jax.tree.map(lambda leaf: leaf[0], first), params)
    empty = Normaliser.empty(env.observation_size) if shape.normalises else None
    normaliser = having_seen(env.observe(state, params), empty)
    starts, ends = True, 0
    for key in keys:
        rollout, _, state = collect(key, networks, state, params, shape=shape, normaliser=normaliser)
        normaliser = rollout.normaliser
        samples, values = samples_of(networks, rollout, numbers, shape=shape)
        reached.observations.clear()
        with mock.patch.object(CategoricalDistribution, "sample", gumbel_choice(gumbel)):
            model.collect_rollouts(model.env, callback, buffer, STEPS)

        over = np.asarray(rollout.terminated | rollout.truncated)
        ends += over.sum()
        np.testing.assert_array_equal(buffer.episode_starts[:, 0], [starts, *over[:-1]])
        starts = over[-1]
        assert model._last_episode_starts == starts
        np.testing.assert_array_equal(buffer.actions[:, 0, 0], rollout.actions)
        close(rollout.observations, buffer.observations[:, 0])
        close(rollout.reached, reached.observations)
        close(rollout.last, model._last_obs[0])
        bootstrap = settings.discount * apply(networks.value, rollout.reached)[:, 0]
        close(rollout.rewards + np.where(rollout.truncated, bootstrap, 0.0), buffer.rewards[:, 0])
        close(values, buffer.values[:, 0])
        close(samples.log_probs, buffer.log_probs[:, 0])
        close(apply(networks.value, rollout.last), last_value(model))
        close(samples.advantages, buffer.advantages[:, 0])
        close(samples.returns, buffer.returns[:, 0])
    assert ends == ROLLOUTS * STEPS // settings.horizon
    assert (rollout.truncated.any(), rollout.terminated.any()) == (
        settings.ends == "truncation",
        settings.ends == "termination",
    )


def gumbel_choice(noise: Iterator[Any]) -> Any:
    """Draws an action as we do: the largest logit plus Gumbel noise."""

    def sample(self: CategoricalDistribution) -> torch.Tensor:
        return (self.distribution.logits + torch.tensor(next(noise))).argmax(dim=-1)

    return sample


def last_value(model: sb3.PPO) -> Any:
    with torch.no_grad():
        return model.policy.predict_values(torch.tensor(model._last_obs))[0].numpy()


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-4)
