"""Evaluation: metrics with known values, and those that training reports."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from bygones import PerfectRecall
from bygones.envs.needs import replayed, uniform
from bygones.envs.problem import problem_of
from bygones.learn import Settings, TrainedPolicy, evaluate, train
from support.sharp_networks import sharp

PROBLEM = problem_of(
    n_resources=1,
    horizon=6,
    memory=PerfectRecall(),
    welfare="utilitarian",
    needs=replayed([[0.5, 1.0, 1.0, 1.0], [0.25, 1.0, 1.0, 1.0]]),
)


def only_agent_0(observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False) -> Any:
    return PROBLEM.scenario.action([0]), None


def test_a_policy_that_serves_one_agent_has_known_metrics() -> None:
    found = evaluate(only_agent_0, PROBLEM, episodes=3)
    expected = {
        "gini": 0.75,
        "welfare": 2.25,
        "utility_per_step": 0.375,
        "welfare_memory": 2.25,
        "utility_least": 0.0,
        "utility_most": 0.375,
    }
    assert found.mean == pytest.approx(expected)
    for name, values in found.episodes.items():
        np.testing.assert_allclose(values, [expected[name]] * 3)


def test_numbers_of_64_bits_change_nothing() -> None:
    plain = evaluate(only_agent_0, PROBLEM, episodes=3)
    jax.config.update("jax_enable_x64", True)
    try:
        assert evaluate(only_agent_0, PROBLEM, episodes=3).mean == plain.mean
    finally:
        jax.config.update("jax_enable_x64", False)


class TakesTurns:
    """Serves agent after agent: it remembers whose turn it is, and forgets when an episode starts."""

    def predict(self, observation: Any, state: Any, episode_start: Any, deterministic: bool) -> Any:
        turn = np.where(episode_start, 0, 0 if state is None else state)
        assert observation.shape == (2, 8)
        return turn % 4, turn + 1


def test_a_policy_may_remember() -> None:
    found = evaluate(TakesTurns(), PROBLEM, episodes=2)
    received = np.array([0.5 + 0.5, 1.0 + 1.0, 1.0, 1.0])
    assert found.mean["utility_least"] == pytest.approx(received.min() / 6)
    assert found.mean["utility_most"] == pytest.approx(received.max() / 6)
    assert found.mean["welfare"] == pytest.approx(received.sum())


def test_seeds_are_the_randomness() -> None:
    settings = Settings(horizon=20, hidden=(8,), n_agents=4)
    policy = TrainedPolicy(settings, sharp(0, 8, 6, (8,)))
    one, same, other = (evaluate(policy, seed=seed, episodes=4) for seed in (1, 1, 2))
    assert one.mean == same.mean
    assert one.mean != other.mean
    assert len(set(one.episodes["gini"])) == 4
    assert evaluate(policy, seed=1, episodes=4, deterministic=True).mean != one.mean


@pytest.mark.soak
def test_it_says_what_training_says() -> None:
    """A policy that hardly changes while it is trained: metrics over all episodes of training, and evaluated."""
    problem = problem_of(n_resources=1, horizon=32, needs=uniform(3), welfare="egalitarian")
    learner = Settings(
        total_steps=64 * 64, horizon=32, rollout_steps=64, batch_size=32, epochs=1, hidden=(4,), learning_rate=1e-9
    )
    trained = train(learner.replace(last_share=1.0), problem=problem, unroll=1)
    found = evaluate(trained.policy, episodes=400)
    assert found.mean.keys() == trained.final.keys()
    for name, value in trained.final.items():
        error = found.episodes[name].std() * math.sqrt(1 / 400 + 1 / 128)
        assert found.mean[name] == pytest.approx(value, abs=4 * error), name


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ValueError, match="problem must be given: only a TrainedPolicy knows"):
        evaluate(only_agent_0)
    with pytest.raises(ValueError, match="episodes must be a whole number of at least 1, got 0"):
        evaluate(only_agent_0, PROBLEM, episodes=0)
