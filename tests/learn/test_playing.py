"""What a policy plays at the end of its training: episodes as the environment has them, drawn and most probable."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import PerfectRecall
from bygones.envs import functional
from bygones.envs.functional import Environment
from bygones.envs.needs import replayed
from bygones.envs.problem import problem_of
from bygones.learn import Settings, TrainedPolicy, evaluate, train_batch
from bygones.learn.evaluation import BLOCK, Worlds, played
from bygones.learn.networks import Networks, apply
from bygones.learn.normalisation import Normaliser
from bygones.learn.runs import params_of
from support.sharp_networks import sharp

SMALL = Settings(
    gamma=0.9, horizon=9, total_steps=128, rollout_steps=64, batch_size=32, epochs=1, hidden=(8,), n_agents=4
)
EPISODES = 3
reset_with, step_with = jax.jit(functional.reset_with), jax.jit(functional.step_with)
METRICS = {"gini", "welfare", "welfare_memory", "utility_per_step", "utility_least", "utility_most"}


def indifferent(observation_size: int, n_actions: int) -> Networks:
    """Networks that find every action equally probable."""
    networks: Networks = jax.tree.map(np.zeros_like, sharp(0, observation_size, n_actions, (8,)))
    return networks


@pytest.mark.parametrize("scale", ["none", "running"])
def test_episodes_are_those_of_the_functional_environment(scale: Any) -> None:
    settings = SMALL.replace(observation_scale=scale, horizon=BLOCK + 2, total_steps=1024, seed=3)
    problem, params = settings.problem(), params_of(settings)
    networks = sharp(1, 8, 6, settings.hidden)
    normaliser = None if scale == "none" else Normaliser(np.full(8, 0.3), np.full(8, 2.0), np.array(7))
    policy = TrainedPolicy(settings, networks, normaliser=normaliser)
    came_to = evaluate(policy, episodes=EPISODES, seed=3, deterministic=True)
    assert set(came_to.mean) == METRICS
    worlds = Worlds(3, EPISODES, Environment.of(problem))
    first, noise = worlds.start().start, [worlds.steps(BLOCK).step for _ in range(2)]
    for i in range(EPISODES):
        state, observation = reset_with(first[i], params)
        for t in range(settings.horizon):
            shown = observation if normaliser is None else normaliser(observation)
            action = jnp.argmax(apply(networks.policy, shown))
            result = step_with(noise[t // BLOCK][t % BLOCK, i], state, action, params)
            state, observation = result.state, result.observation
        for name in METRICS:
            expected = float(result.info[f"episode_{name}"])
            assert came_to.episodes[name][i] == pytest.approx(expected, rel=1e-4, abs=1e-5), name


def test_one_policy_seed_and_number_of_episodes_give_one_result() -> None:
    policies = [TrainedPolicy(SMALL.replace(seed=seed), sharp(seed, 8, 6, (8,))) for seed in (0, 4)]
    for policy, together in zip(policies, played(policies, EPISODES), strict=True):
        (alone,) = played([policy], EPISODES)
        for way in ("sampled", "deterministic"):
            outside = evaluate(
                policy, episodes=EPISODES, seed=policy.settings.seed, deterministic=way == "deterministic"
            )
            assert getattr(alone, way) == pytest.approx(outside.mean, rel=1e-5)
            assert getattr(together, way) == pytest.approx(outside.mean, rel=1e-4)


def test_a_trained_policy_does_the_same_when_it_is_asked_step_by_step() -> None:
    policy = TrainedPolicy(SMALL, sharp(1, 8, 6, (8,)))
    compiled = evaluate(policy, episodes=EPISODES, deterministic=True)
    asked = evaluate(policy.predict, policy.problem, episodes=EPISODES, deterministic=True)
    assert compiled.mean == pytest.approx(asked.mean, rel=1e-5)


def test_an_indifferent_policy_is_fair_if_its_actions_are_drawn_and_serves_one_pair_if_not() -> None:
    settings = SMALL.replace(horizon=4000, total_steps=4000, n_advantaged=0)
    (found,) = played([TrainedPolicy(settings, indifferent(8, 6))], 4)
    assert found.episodes == 4
    assert found.sampled["gini"] < 0.03
    assert found.sampled["utility_per_step"] == pytest.approx(2 * 0.5, abs=0.02)
    # Two of four agents receive everything.
    assert found.deterministic["gini"] == pytest.approx(0.5, abs=0.01)
    assert found.deterministic["utility_least"] == 0.0
    assert found.deterministic["utility_per_step"] == pytest.approx(2 * 0.5, abs=0.02)


def test_it_is_what_evaluate_says_where_nothing_is_random() -> None:
    needs = replayed(np.random.default_rng(2).random((7, 4)))
    problem = problem_of(
        n_resources=1,
        horizon=50,
        memory=PerfectRecall(),
        welfare="egalitarian",
        needs=needs,
        observation_scale="running",
    )
    learner = Settings(horizon=50, hidden=(8,))
    statistics = Normaliser(np.full(8, 0.4, np.float32), np.full(8, 3.0, np.float32), np.array(9))
    policy = TrainedPolicy(learner, sharp(4, 8, 4, (8,)), problem, statistics)
    (found,) = played([policy], 2)
    outside = evaluate(policy, episodes=2, deterministic=True).mean
    assert outside.keys() == found.deterministic.keys()
    for name, value in outside.items():
        assert found.deterministic[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name
    assert 0 < outside["gini"] < 0.75
    assert found.sampled["gini"] != found.deterministic["gini"]


def test_drawn_actions_are_as_good_as_evaluate_says() -> None:
    settings = SMALL.replace(horizon=100)
    policy = TrainedPolicy(settings, sharp(3, 8, 6, (8,), 50))
    (found,) = played([policy], 200)
    outside = evaluate(policy, episodes=200)
    for name in METRICS:
        error = outside.episodes[name].std() * np.sqrt(2 / 200)
        assert found.sampled[name] == pytest.approx(outside.mean[name], abs=4 * error), name


def test_policies_of_a_batch_play_their_own_horizon_and_needs() -> None:
    changes = ({}, {"seed": 1}, {"horizon": 31}, {"gamma": 1.0, "welfare": "egalitarian"})
    policies = [TrainedPolicy(SMALL.replace(**change), sharp(0, 8, 6, (8,))) for change in changes]
    plain = [TrainedPolicy(SMALL.replace(gamma=gamma), indifferent(8, 6)) for gamma in (0.0, 1.0)]
    *together, one, other = played([*policies, *plain], EPISODES)
    # Equal seeds have equal needs, whatever else differs: an indifferent policy cannot tell the memories apart.
    assert one.deterministic["gini"] == pytest.approx(other.deterministic["gini"])
    for policy, one in zip(policies, together, strict=True):
        (alone,) = played([policy], EPISODES)
        assert one.sampled == pytest.approx(alone.sampled, rel=1e-4)
        assert one.deterministic == pytest.approx(alone.deterministic, rel=1e-4)
    assert len({one.sampled["utility_per_step"] for one in together}) == 4


@pytest.mark.soak
@pytest.mark.parametrize("batched", [False, True])
def test_training_ends_with_it_and_does_not_change(batched: bool) -> None:
    runs = [SMALL.replace(observation_scale="running")]
    with_it, without = (train_batch(runs, batched=batched, unroll=1, evaluation_episodes=e)[0] for e in (EPISODES, 0))
    assert without.played is None
    assert with_it.played is not None
    np.testing.assert_array_equal(with_it.curves["policy_loss"], without.curves["policy_loss"])
    (again,) = played([without.policy], EPISODES)
    assert with_it.played.deterministic == pytest.approx(again.deterministic, rel=1e-4)


def test_how_many_episodes_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="evaluation_episodes must be a whole number of at least 0, got -1"):
        train_batch([SMALL], evaluation_episodes=-1)
