"""A rollout is what the functional environment gives, step by step and across resets, on the same noise."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from bygones.envs import functional
from bygones.learn import rollouts, runs
from bygones.learn.settings import Settings
from support.sharp_networks import sharpened

collect = jax.jit(rollouts.collect, static_argnames="shape")
reset_with, step_with = jax.jit(functional.reset_with), jax.jit(functional.step_with)

STEPS = 25
SMALL = Settings(n_agents=4, rollout_steps=STEPS, batch_size=5, hidden=(8,), horizon=7, gamma=0.9)
CASES = {
    "truncation": SMALL,
    "termination": SMALL.replace(ends="termination", welfare="egalitarian", aggregation="averaged"),
    "a rollout that ends with an episode": SMALL.replace(horizon=5, observe_denominator=True),
    "every step ends an episode": SMALL.replace(horizon=1, observation_scale="window"),
    "symmetric": SMALL.replace(policy="symmetric", agent_units=8, observe_denominator=True),
    "symmetric, many served": SMALL.replace(
        policy="symmetric", n_agents=9, n_resources=6, observation_scale="relative"
    ),
}


def row(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_a_rollout_is_the_functional_environment_step_by_step(settings: Settings) -> None:
    shape, params = runs.shape_of(settings), runs.params_of(settings)
    env, actor = shape.environment, shape.actor
    networks = sharpened(actor.initial(0))
    first = row(env.noise(jax.random.key(1), 1), 0)
    state = env.start(first, params)
    reference, observation = reset_with(first.start, params)
    ends = 0
    for number in range(2):  # the second rollout goes on from the end of the first
        key = jax.random.key(10 + number)
        rollout, after, state = collect(key, networks, state, params, shape=shape)
        noise_key, action_key = jax.random.split(key)
        noise = env.noise(noise_key, STEPS)
        gumbel = jax.random.gumbel(action_key, (STEPS, actor.n_scores))
        for i in range(STEPS):
            close(rollout.observations[i], observation)
            action = actor.best(actor.scores(networks, observation) + gumbel[i])
            np.testing.assert_array_equal(rollout.actions[i], action)
            result = step_with(noise.step[i], reference, action, params)
            close(rollout.rewards[i], result.reward)
            close(rollout.reached[i], result.observation)
            assert (rollout.terminated[i], rollout.truncated[i]) == (result.terminated, result.truncated)
            close(after.cumulative[i], result.state.cumulative)
            assert after.t[i] == result.state.t
            reference, observation = result.state, result.observation
            if result.terminated or result.truncated:
                ends += 1
                reference, observation = reset_with(noise.start[i], params)
        close(rollout.last, observation)
        close(state.world.needs, reference.world.needs)
        close(params.memory.read(state.memory), params.memory.read(reference.memory))
        assert state.t == reference.t
    assert ends == 2 * STEPS // settings.horizon


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
