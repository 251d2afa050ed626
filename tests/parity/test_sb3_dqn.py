"""One update of DQN has the numbers of Stable-Baselines3's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones.learn import dqn, iterations, runs
from bygones.learn.dqn import Batch
from bygones.learn.networks import Layer, Networks
from bygones.learn.settings import Settings

pytest.importorskip("stable_baselines3")
import gymnasium
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples

SEEN, ACTIONS, ROWS = 4, 3, 16


class Still(gymnasium.Env):
    """An environment of which only the spaces matter."""

    observation_space = gymnasium.spaces.Box(-10, 10, (SEEN,), np.float32)
    action_space = gymnasium.spaces.Discrete(ACTIONS)


def layers(net: torch.nn.Module) -> tuple[Layer, ...]:
    maps = [part for part in net.q_net if isinstance(part, torch.nn.Linear)]
    return tuple(Layer(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in maps)


def test_an_update_is_the_same() -> None:
    settings = Settings(learning_rate=1e-2, discount=0.9, max_grad_norm=0.3)
    model = DQN(
        "MlpPolicy", Still(), learning_rate=settings.learning_rate, gamma=settings.discount,
        max_grad_norm=settings.max_grad_norm, buffer_size=100, seed=0, device="cpu",
        policy_kwargs={
            "net_arch": [8], "activation_fn": torch.nn.Tanh, "optimizer_kwargs": {"eps": settings.adam_eps}
        },
    )  # fmt: skip
    model.set_logger(configure(None, []))
    with torch.no_grad():
        for part in model.q_net_target.parameters():
            part.add_(0.3)  # a copy from some time ago
    rng = np.random.default_rng(0)
    seen, reached = rng.normal(size=(2, ROWS, SEEN)).astype(np.float32)
    actions, paid = rng.integers(ACTIONS, size=ROWS), rng.normal(size=ROWS).astype(np.float32) * 3
    over = rng.random(ROWS) < 0.4
    start = Networks(layers(model.q_net), layers(model.q_net_target))
    theirs = ReplayBufferSamples(
        torch.tensor(seen), torch.tensor(actions)[:, None], torch.tensor(reached),
        torch.tensor(over, dtype=torch.float32)[:, None], torch.tensor(paid)[:, None],
    )  # fmt: skip
    model.replay_buffer.sample = lambda *args, **options: theirs
    numbers = runs.numbers_of(settings)
    ours = Batch(*map(jnp.asarray, (seen, actions, paid, over, reached)))
    zeros = jax.tree.map(jnp.zeros_like, start)
    adam, networks = iterations.Adam(zeros, zeros, jnp.zeros((), jnp.int32)), jax.tree.map(jnp.asarray, start)

    @jax.jit
    def update(networks: Networks, adam: iterations.Adam) -> tuple[Networks, iterations.Adam]:
        gradient = jax.grad(dqn.loss_of)(networks, ours, numbers)
        return iterations.adam_step(networks, adam, iterations.clip_by_norm(gradient, numbers.max_grad_norm), numbers)

    for updates in range(1, 4):
        model.train(gradient_steps=1, batch_size=ROWS)
        networks, adam = update(networks, adam)
        for a, b, first in zip(networks.policy, layers(model.q_net), start.policy, strict=True):
            np.testing.assert_allclose(a.weight, b.weight, atol=1e-5)
            np.testing.assert_allclose(a.bias, b.bias, atol=1e-5)
            assert np.abs(b.weight - first.weight).max() > 0.005 * updates
    np.testing.assert_array_equal(networks.value[0].weight, start.value[0].weight)
