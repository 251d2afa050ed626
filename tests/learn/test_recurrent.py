"""Recurrent PPO: what is carried while playing and while learning is the same, and it can replace the memory."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import PerfectRecall
from bygones.envs.needs import replayed, uniform
from bygones.envs.problem import problem_of
from bygones.learn import Run, Settings, TrainedPolicy, evaluate, ppo, recurrent_ppo, rollouts, runs, train
from bygones.learn.recurrent import Recurrent
from bygones.learn.recurrent_ppo import RecurrentPPO, world_of
from bygones.learn.runs import played

SETTINGS = Settings(
    learner="recurrent-ppo",
    horizon=20,
    total_steps=64,
    rollout_steps=24,
    batch_size=12,
    sequence=6,
    recurrent_units=4,
    epochs=2,
)
PROBLEM = problem_of(n_resources=1, horizon=5, needs=uniform(3), observe_memory=False)
ALIKE = problem_of(
    n_resources=1, horizon=8, memory=PerfectRecall(), welfare="egalitarian", needs=replayed(np.ones((1, 2))),
    observe_memory=False,
)  # fmt: skip


@pytest.fixture(scope="module")
def rolled() -> tuple[Any, Any, Any, Any]:
    """Networks, the shape, the samples of a rollout in sequences, and the rollout itself."""
    run = Run(SETTINGS, PROBLEM)
    shape, params, numbers = runs.shape_of(run, unroll=1), runs.params_of(run), runs.numbers_of(run)
    networks = jax.tree.map(jnp.asarray, shape.actor.initial(1))
    env, around = world_of(shape.environment, shape.actor, params, networks)
    playing = shape._replace(environment=env)
    state = RecurrentPPO(6).begin(jax.random.key(0), networks, params, shape)

    def collected(key: jax.Array) -> Any:
        rollout, _, _ = rollouts.collect(key, networks, state.environment, around, playing)
        return recurrent_ppo.samples_of(networks, rollout, numbers, playing)[0], rollout

    samples, rollout = jax.jit(collected)(jax.random.key(3))
    return networks, shape, RecurrentPPO(6).in_sequences(samples), rollout


def test_nothing_is_carried_into_an_episode_and_something_within_it(rolled: Any) -> None:
    _, _, _, rollout = rolled
    carried = np.asarray(rollout.observations)[:, 6:]
    assert carried.shape == (24, 8)
    np.testing.assert_array_equal(carried[::5], 0.0)
    assert (np.abs(np.delete(carried, np.arange(0, 24, 5), axis=0)).sum(axis=1) > 0.01).all()
    np.testing.assert_allclose(np.asarray(rollout.reached)[:-1, 6:][~np.asarray(rollout.truncated)[:-1]],
                               carried[1:][~np.asarray(rollout.truncated)[:-1]])  # fmt: skip


def test_what_is_carried_anew_is_what_was_carried(rolled: Any) -> None:
    networks, shape, samples, _ = rolled
    assert samples.observations.shape == (4, 6, 14)
    anew = jax.jit(functools.partial(recurrent_ppo.carried_anew, shape=shape))
    np.testing.assert_allclose(anew(networks, samples), samples.observations, atol=1e-6)
    other = jax.tree.map(lambda leaf: leaf + 0.1, networks)
    changed = np.asarray(anew(other, samples) - samples.observations)
    np.testing.assert_array_equal(changed[:, 0], 0.0)  # a sequence begins with what was carried in the rollout
    assert np.abs(changed[0, 1:5, 6:]).max(axis=-1).min() > 0.01


def test_gradients_go_back_through_a_sequence_but_not_into_the_episode_before(rolled: Any) -> None:
    networks, shape, samples, _ = rolled

    def at(step: int, networks: Any) -> jax.Array:
        whole = recurrent_ppo.carried_anew(networks, samples, shape)
        return shape.actor.scores(networks, whole)[0, step].sum()

    def first_input(step: int) -> Any:
        """How the scores of a step depend on what was seen at the first step of its sequence."""

        def of(seen: jax.Array) -> jax.Array:
            moved = samples._replace(observations=samples.observations.at[0, 0].add(seen))
            return shape.actor.scores(networks, recurrent_ppo.carried_anew(networks, moved, shape))[0, step].sum()

        return np.abs(jax.jit(jax.grad(of))(jnp.zeros(14))[:3]).max()

    assert first_input(4) > 1e-6
    assert first_input(5) == 0.0  # step 5 is the first of another episode
    assert np.abs(jax.jit(jax.grad(functools.partial(at, 4)))(networks).policy[1].weight).max() > 1e-6


def test_the_first_loss_is_that_of_ppo(rolled: Any) -> None:
    networks, shape, samples, _ = rolled
    numbers = runs.numbers_of(SETTINGS)
    ours, theirs = (
        jax.jit(functools.partial(loss, numbers=numbers, shape=shape))(networks, samples)
        for loss in (recurrent_ppo.loss_of, ppo.loss)
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)


def test_a_policy_is_given_back_what_it_carries(rolled: Any) -> None:
    networks, _, _, rollout = rolled
    policy = TrainedPolicy(Run(SETTINGS, PROBLEM).settings, jax.tree.map(np.asarray, networks), PROBLEM)
    observations = np.asarray(rollout.observations)
    state = None
    for t in range(12):
        _, after = policy.predict(observations[t, :6], state, np.array(t % 5 == 0), deterministic=True)
        if t % 5 < 4:
            np.testing.assert_allclose(after, observations[t + 1, 6:], atol=1e-6)
        state = after
    rows, _ = policy.predict(observations[:3, :6], observations[:3, 6:], np.array([True, False, True]))
    assert rows.shape == (3,)
    assert policy(observations[:2, :6]).shape == (2, 3)
    assert policy.value(observations[0, :6]).shape == ()


def test_what_does_not_apply_is_refused() -> None:
    for changes, message in (
        ({"sequence": 5}, r"sequence must divide batch_size \(12\), got 5"),
        ({"policy": "symmetric"}, 'learner "recurrent-ppo" has its own network'),
        ({"observation_scale": "running"}, "would normalise the state of a recurrent policy as well"),
    ):
        with pytest.raises(ValueError, match=message):
            runs.shape_of(SETTINGS.replace(**changes))
    settings = Run(SETTINGS, PROBLEM).settings
    with pytest.raises(ValueError, match="only the policies of learner ppo and reinforce"):
        TrainedPolicy(settings, Recurrent(6, 3, (), 4).initial(0), PROBLEM).state_dict()


@pytest.mark.soak
def test_it_learns_a_memory_of_its_own() -> None:
    """Two agents who always need the same take turns only if somebody remembers who had the last one."""
    settings = Settings(
        total_steps=128 * 150, rollout_steps=128, sequence=8, recurrent_units=16, hidden=(16,), learning_rate=1e-2
    )
    without, learned = (
        evaluate(train(settings, problem=ALIKE, learner=name).policy, deterministic=True).mean
        for name in ("ppo", "recurrent-ppo")
    )
    assert without["utility_least"] < 0.1
    assert learned["utility_least"] > 0.35


@pytest.mark.soak
def test_it_is_played_as_evaluate_plays_it() -> None:
    needs = replayed(np.random.default_rng(0).random((7, 3)))
    problem = dataclasses.replace(PROBLEM, scenario=dataclasses.replace(PROBLEM.scenario, horizon=20, needs=needs))
    networks = jax.tree.map(lambda leaf: 5 * leaf, Recurrent(6, 3, (), 4).initial(2))
    policy = TrainedPolicy(Run(SETTINGS, problem).settings, networks, problem)
    (found,) = played([policy], 2)
    outside = evaluate(policy, episodes=2, deterministic=True).mean
    for name, value in outside.items():
        assert found.deterministic[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name
