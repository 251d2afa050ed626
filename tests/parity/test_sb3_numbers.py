"""The learner computes what Stable-Baselines3 computes: same rollout, same start, same order, same numbers."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from stable_baselines3.common.buffers import RolloutBuffer

from bygones.learn import ppo, runs, sb3
from bygones.learn.networks import Layer, Networks
from bygones.learn.settings import Settings

CASES = {
    "many short episodes": Settings(horizon=30, gamma=0.9, welfare="nash", seed=1),
    "a few episodes, unscaled perfect recall": Settings(horizon=700, gamma=1.0, welfare="egalitarian", seed=2),
    "no episode ends": Settings(horizon=10_000, gamma=0.999, welfare="nash", seed=3),
    "averaged, true ends, entropy": Settings(
        horizon=100, gamma=0.99, aggregation="averaged", ends="termination", seed=4, entropy_weight=0.01
    ),
}


class Recorded(NamedTuple):
    """What Stable-Baselines3 saw, computed and learned."""

    settings: Settings
    start: Networks
    rollout: ppo.Rollout
    order: np.ndarray
    values: np.ndarray
    log_probs: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray
    after_one: Networks
    after_all: Networks


class Recorder(gymnasium.Wrapper):
    """Keeps every step as the environment gave it, before the learner touches the reward."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.steps: list[tuple[Any, ...]] = []

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self.steps.append((action, *result[:4]))
        return result


def networks_of(policy: Any) -> Networks:
    """The parameters of a Stable-Baselines3 policy, in our layout."""

    def layers(trunk: Any, head: Any) -> tuple[Layer, ...]:
        linear = [trunk[0], trunk[2], head]
        return tuple(Layer(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in linear)

    extractor = policy.mlp_extractor
    return Networks(
        policy=layers(extractor.policy_net, policy.action_net), value=layers(extractor.value_net, policy.value_net)
    )


def record(settings: Settings) -> Recorded:
    torch.set_num_threads(1)
    env = Recorder(sb3.AllocationEnv(settings.problem()))
    model = sb3.learner(settings, env)
    _, callback = model._setup_learn(settings.rollout_steps)
    start = networks_of(model.policy)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, settings.rollout_steps)
    buffer = model.rollout_buffer
    rng = np.random.default_rng(settings.seed)
    order = np.stack([rng.permutation(settings.rollout_steps) for _ in range(settings.epochs)])
    actions, reached, rewards, terminated, truncated = (np.array(x) for x in zip(*env.steps, strict=True))
    rollout = ppo.Rollout(
        observations=buffer.observations[:, 0].copy(),
        actions=actions.astype(np.int32),
        rewards=rewards.astype(np.float32),
        terminated=terminated,
        truncated=truncated,
        reached=reached,
        last=model._last_obs[0],
    )
    computed = [getattr(buffer, n)[:, 0].copy() for n in ("values", "log_probs", "advantages", "returns")]
    weights = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
    with pytest.MonkeyPatch.context() as patch:
        whole = RolloutBuffer.get
        patch.setattr(np.random, "permutation", lambda n: order[0])
        patch.setattr(RolloutBuffer, "get", lambda self, size: [next(whole(self, size))])
        model.n_epochs = 1
        model.train()
    after_one = networks_of(model.policy)
    model.policy.load_state_dict(weights)
    model.policy.optimizer = model.policy.optimizer_class(model.policy.parameters(), lr=3e-4, eps=settings.adam_eps)
    epochs = iter(order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "permutation", lambda n: next(epochs))
        model.n_epochs = settings.epochs
        model.train()
    return Recorded(settings, start, rollout, order, *computed, after_one, networks_of(model.policy))


record_once = functools.cache(record)


@pytest.fixture(params=CASES, ids=lambda name: name)
def recorded(request: pytest.FixtureRequest) -> Recorded:
    return record_once(CASES[request.param])


@pytest.fixture
def short() -> Recorded:
    return record_once(CASES["many short episodes"])


def improved(start: Networks, rollout: ppo.Rollout, order: Any, numbers: ppo.Numbers, shape: ppo.Shape) -> Networks:
    """Our parameters after a rollout in a given order."""
    samples, _ = ppo.evaluate(start, rollout, numbers)
    zeros = jax.tree.map(jnp.zeros_like, start)
    adam = ppo.Adam(zeros, zeros, jnp.zeros((), jnp.int32))
    return ppo.improve(start, adam, samples, order, numbers, shape)[0]


compiled = jax.jit(improved, static_argnames="shape")


def learned(recorded: Recorded, first_only: bool = False, program: Any = compiled, **changes: Any) -> Networks:
    """Our parameters after SB3's rollout in SB3's order."""
    settings = recorded.settings
    numbers = runs.numbers_of(settings)._replace(**changes)
    order = recorded.order[:1, : settings.batch_size] if first_only else recorded.order
    return program(recorded.start, recorded.rollout, order, numbers, shape=runs.shape_of(settings))


def mutated(recorded: Recorded) -> Networks:
    """`learned`, compiled anew so that a patched function takes part."""
    return learned(recorded, program=jax.jit(lambda *args, **shape: improved(*args, **shape), static_argnames="shape"))


def vectors(*trees: Networks) -> list[np.ndarray]:
    return [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in trees]


def relative(ours: Networks, theirs: Networks) -> float:
    """The difference of the parameters, relative to their size."""
    a, b = vectors(ours, theirs)
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def share_of_way(ours: Networks, theirs: Networks, start: Networks) -> float:
    """The distance between the two, as a share of the distance travelled."""
    a, b, from_ = vectors(ours, theirs, start)
    return float(np.linalg.norm(a - b) / np.linalg.norm(b - from_))


def test_values_probabilities_and_advantages(recorded: Recorded) -> None:
    samples, values = jax.jit(ppo.evaluate)(recorded.start, recorded.rollout, runs.numbers_of(recorded.settings))
    for ours, theirs in (
        (values, recorded.values),
        (samples.log_probs, recorded.log_probs),
        (samples.advantages, recorded.advantages),
        (samples.returns, recorded.returns),
    ):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * scale)


def test_first_gradient_step(recorded: Recorded) -> None:
    ours = learned(recorded, first_only=True)
    assert relative(ours, recorded.after_one) < 1e-6
    assert share_of_way(ours, recorded.after_one, recorded.start) < 1e-3


def test_whole_call(recorded: Recorded) -> None:
    assert share_of_way(learned(recorded), recorded.after_all, recorded.start) < 1e-3


def test_without_bootstrap_at_truncation_differs(short: Recorded) -> None:
    rollout = short.rollout._replace(
        terminated=short.rollout.truncated, truncated=np.zeros_like(short.rollout.truncated)
    )
    assert share_of_way(learned(short._replace(rollout=rollout)), short.after_all, short.start) > 1e-3


def test_population_deviation_differs(short: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "normalise", lambda a: (a - a.mean()) / (a.std() + 1e-8))
    assert share_of_way(mutated(short), short.after_all, short.start) > 1e-3


def test_elementwise_clip_differs(short: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "clip_by_norm", lambda tree, most: jax.tree.map(lambda x: jnp.clip(x, -most, most), tree))
    assert share_of_way(mutated(short), short.after_all, short.start) > 1e-3


def test_another_adam_epsilon_differs(short: Recorded) -> None:
    assert share_of_way(learned(short, adam_eps=1e-8), short.after_all, short.start) > 1e-3
