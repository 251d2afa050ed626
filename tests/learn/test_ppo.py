"""The parts of the algorithm against closed forms, and the whole of it on problems with known answers."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bygones._arrays import Array
from bygones.learn import iterations, networks, ppo, runs
from bygones.learn.actors import Subsets
from bygones.learn.networks import apply
from bygones.learn.settings import Settings
from support.probe import FIRST, IN_CONTEXT, SECOND, Probe, ProbeParams, rewards

NUMBERS = runs.numbers_of(Settings())


def test_advantages_of_whole_episodes_are_discounted_returns_less_values() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 12)).astype(np.float32)
    over = np.zeros(12, bool)
    over[[3, 7, 11]] = True
    numbers = NUMBERS._replace(discount=np.float32(0.9), gae_lambda=np.float32(1.0))
    advantages = ppo.gae(jnp.asarray(rewards), jnp.asarray(values), jnp.asarray(over), jnp.float32(100.0), numbers)
    for start in range(12):
        end = min(e for e in (3, 7, 11) if e >= start)
        returns = sum(0.9**k * rewards[start + k] for k in range(end - start + 1))
        np.testing.assert_allclose(advantages[start], returns - values[start], rtol=1e-4, atol=1e-5)


def test_advantages_one_step_ahead_look_past_the_rollout() -> None:
    numbers = NUMBERS._replace(discount=np.float32(0.5), gae_lambda=np.float32(0.0))
    zeros = jnp.zeros(3)
    advantages = ppo.gae(zeros + 1.0, zeros + 2.0, zeros > 0, jnp.float32(8.0), numbers)
    np.testing.assert_allclose(advantages, [0.0, 0.0, 3.0])


def test_orders_are_permutations_and_differ() -> None:
    shape = runs.shape_of(Settings(rollout_steps=100, batch_size=50, epochs=7))
    orders = np.asarray(ppo.permutations(jax.random.key(0), shape))
    np.testing.assert_array_equal(np.sort(orders), np.tile(np.arange(100), (7, 1)))
    assert len({tuple(order) for order in orders}) == 7


def test_every_step_is_as_likely_in_every_place() -> None:
    shape = runs.shape_of(Settings(rollout_steps=8, batch_size=4, epochs=8000))
    orders = np.asarray(ppo.permutations(jax.random.key(1), shape))
    counts = np.stack([(orders == step).sum(axis=0) for step in range(8)])
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)


def test_adam_is_optax_adam() -> None:
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.normal(size=5), jnp.float32)
    zeros = jnp.zeros_like(weights)
    ours, state = weights, iterations.Adam(zeros, zeros, jnp.zeros((), jnp.int32))
    optimiser = optax.adam(3e-4, eps=1e-5)
    theirs, their_state = weights, optimiser.init(weights)
    for _ in range(20):
        gradient = jnp.asarray(rng.normal(size=5) * 1e-3, jnp.float32)
        ours, state = iterations.adam_step(ours, state, gradient, NUMBERS)
        updates, their_state = optimiser.update(gradient, their_state)
        theirs = optax.apply_updates(theirs, updates)
    np.testing.assert_allclose(ours - weights, theirs - weights, rtol=1e-3)


def test_clipping_keeps_the_direction_and_small_gradients() -> None:
    large, small = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([4.0])}, {"a": jnp.array([0.3])}
    clipped = iterations.clip_by_norm(large, 0.5)
    np.testing.assert_allclose(np.concatenate([clipped["a"], clipped["b"]]), [0.3, 0.0, 0.4], rtol=1e-6)
    assert iterations.clip_by_norm(small, 0.5)["a"] == small["a"]


ACTOR = Subsets(Probe.observation_size, Probe.n_actions, (16, 16))
SHAPE = iterations.Shape(
    Probe(), ACTOR, ppo.PPO(), rollout_steps=256, batch_size=64, epochs=10, entropy=False, flat=True, unroll=1
)
program = jax.jit(functools.partial(iterations.segment, shape=SHAPE, most=40))


def solved(of: Any, horizon: int, truncates: bool = False, discount: float = 0.9, looks: int = 3) -> networks.Networks:
    params = ProbeParams(rewards(of), np.int32(horizon), np.bool_(truncates), np.int32(looks))
    start = jax.tree.map(jnp.asarray, networks.initial(0, 3, 2, (16, 16)))
    numbers = NUMBERS._replace(learning_rate=np.float32(3e-3), discount=np.float32(discount))
    state, _ = program(iterations.begin(jax.random.key(0), start, params, SHAPE), params, numbers, 40)
    return state.networks


def value(learned: networks.Networks, observation: Array) -> float:
    return float(apply(learned.value, observation)[0])


def probability(learned: networks.Networks, observation: Array) -> float:
    """Of action 1."""
    return float(jax.nn.softmax(apply(learned.policy, jnp.asarray(observation)))[1])


@pytest.mark.soak
def test_value_only() -> None:
    learned = solved(lambda t, context, first, action: 1.0, horizon=1)
    assert value(learned, FIRST) == pytest.approx(1.0, abs=0.05)


@pytest.mark.soak
def test_value_depends_on_what_is_seen() -> None:
    learned = solved(lambda t, context, first, action: 2.0 * context - 1.0, horizon=1)
    assert value(learned, FIRST) == pytest.approx(-1.0, abs=0.1)
    assert value(learned, IN_CONTEXT) == pytest.approx(1.0, abs=0.1)


def test_discount() -> None:
    learned = solved(lambda t, context, first, action: float(t), horizon=2)
    assert value(learned, SECOND) == pytest.approx(1.0, abs=0.05)
    assert value(learned, FIRST) == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(("truncates", "answer"), [(True, 2.0), (False, 1.0)])
def test_a_time_limit_is_not_an_end(truncates: bool, answer: float) -> None:
    learned = solved(lambda t, context, first, action: 1.0, 1, truncates, discount=0.5, looks=1)
    assert value(learned, FIRST) == pytest.approx(answer, abs=0.1)


def test_policy_only() -> None:
    learned = solved(lambda t, context, first, action: 2.0 * action - 1.0, horizon=1)
    assert probability(learned, FIRST) > 0.95


def test_policy_depends_on_what_is_seen() -> None:
    learned = solved(lambda t, context, first, action: float(action == context), horizon=1)
    assert probability(learned, FIRST) < 0.05
    assert probability(learned, IN_CONTEXT) > 0.95


def test_advantage_over_time() -> None:
    learned = solved(lambda t, context, first, action: float(t == 1 and first == 1), horizon=2)
    assert probability(learned, FIRST) > 0.95


def test_values_explain_nothing_while_they_are_all_alike_and_everything_once_they_are_right() -> None:
    of_context = rewards(lambda t, context, first, action: 2.0 * context - 1.0)
    params = ProbeParams(of_context, np.int32(1), np.bool_(False), np.int32(3))
    start = networks.initial(0, 3, 2, (16, 16))
    *hidden, head = start.value
    start = start._replace(value=(*hidden, jax.tree.map(np.zeros_like, head)))
    state = iterations.begin(jax.random.key(0), jax.tree.map(jnp.asarray, start), params, SHAPE)
    _, curves = program(state, params, NUMBERS._replace(learning_rate=np.float32(3e-3)), 40)
    assert curves.explained_variance[0] == pytest.approx(0.0, abs=1e-6)
    assert curves.explained_variance[-1] == pytest.approx(1.0, abs=0.05)
