"""REINFORCE: its gradient against all trajectories of a tiny problem, and episodes that rollouts cut through."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import PerfectRecall
from bygones.envs.needs import uniform
from bygones.envs.problem import problem_of
from bygones.learn import Settings, evaluate, iterations, reinforce, train
from bygones.learn.actors import Subsets
from bygones.learn.networks import Networks
from bygones.learn.reinforce import Reinforce, Unfinished
from bygones.learn.rollouts import Rollout

ACTOR = Subsets(3, 2, (5,))
SHAPE = iterations.Shape(None, ACTOR, Reinforce(), 3, 3, 1, entropy=False, flat=True)
RNG = np.random.default_rng(0)
NETWORKS: Networks = jax.tree.map(lambda leaf: jnp.asarray(RNG.normal(size=leaf.shape), jnp.float32), ACTOR.initial(0))
NOTHING = Unfinished(jax.tree.map(jnp.zeros_like, NETWORKS), jnp.zeros(()), jnp.zeros((), jnp.int32))


learned = jax.jit(lambda *all_: reinforce.learned(*all_, SHAPE))


def played(observations: Any, actions: Any) -> Rollout:
    """A rollout of which only observations and actions matter."""
    actions = jnp.asarray(actions)
    none = jnp.zeros(len(actions))
    return Rollout(jnp.asarray(observations, jnp.float32), actions, none, none > 0, none > 0, none, none)


def seen(actions: tuple[int, ...]) -> list[list[float]]:
    """What is observed before each of three steps: when it is, and what was done before."""
    return [[t, sum(actions[:t]), 1.0] for t in range(3)]


def norm(tree: Any) -> float:
    return float(jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(tree))))


@pytest.mark.parametrize("baseline", [0.0, 2.5])
def test_on_average_the_gradient_is_that_of_expected_welfare(baseline: float) -> None:
    trajectories = list(itertools.product((0, 1), repeat=3))
    worth = dict(zip(trajectories, RNG.normal(size=8).tolist(), strict=True))

    all_seen, all_done = jnp.asarray([seen(each) for each in trajectories], jnp.float32), jnp.asarray(trajectories)

    @jax.jit
    def chances(networks: Networks) -> jax.Array:
        return jnp.exp(ACTOR.log_prob(ACTOR.scores(networks, all_seen), all_done).sum(axis=-1))

    values = jnp.asarray([worth[each] for each in trajectories], jnp.float32)
    exact = jax.jit(jax.grad(lambda networks: chances(networks) @ values))(NETWORKS)
    over = jnp.array([False, False, True])
    kept = NOTHING._replace(baseline=jnp.float32(baseline))
    estimate = jax.tree.map(jnp.zeros_like, NETWORKS)
    for each, share in zip(trajectories, np.asarray(chances(NETWORKS)), strict=True):
        welfare = jnp.array([9.0, -7.0, worth[each]])  # what it is on the way does not matter
        gradient, _, _ = learned(NETWORKS, kept, played(seen(each), each), over, welfare)
        estimate = jax.tree.map(lambda sum_, one, share=share: sum_ - 3 * share * one, estimate, gradient)
    assert norm(exact.policy) > 0.05
    assert norm(exact.value) == 0
    assert norm(jax.tree.map(jnp.subtract, estimate, exact)) < 1e-5


def test_an_episode_counts_the_same_however_rollouts_cut_through_it() -> None:
    observations, actions = RNG.normal(size=(12, 3)), RNG.integers(2, size=12)
    over = np.isin(np.arange(12), [4, 6])
    welfare = RNG.normal(size=12).astype(np.float32)
    start = NOTHING._replace(baseline=jnp.float32(0.3), ended=jnp.int32(10**6))  # so many that it hardly moves

    def total(length: int) -> tuple[Any, Unfinished]:
        kept, added = start, jax.tree.map(jnp.zeros_like, NETWORKS)
        for low in range(0, 12, length):
            part, kept = slice(low, low + length), kept._replace(baseline=start.baseline)
            rollout = played(observations[part], actions[part])
            gradient, _, kept = learned(NETWORKS, kept, rollout, over[part], welfare[part])
            added = jax.tree.map(lambda sum_, one: sum_ + length * one, added, gradient)
        return added, kept

    whole, left = total(12)
    assert norm(whole) > 0.1
    assert norm(left.trace) > 0.1
    for length in (3, 6):
        added, kept = total(length)
        assert norm(jax.tree.map(jnp.subtract, added, whole)) < 1e-5
        assert norm(jax.tree.map(jnp.subtract, kept.trace, left.trace)) < 1e-5


def test_the_baseline_is_the_mean_of_the_episodes_before() -> None:
    over, kept = jnp.array([True, False, True]), NOTHING
    rollout = played(RNG.normal(size=(3, 3)), [0, 1, 0])
    for expected, welfare in ((2.0, [1.0, 50.0, 3.0]), (4.0, [5.0, 50.0, 7.0])):
        _, losses, kept = learned(NETWORKS, kept, rollout, over, jnp.array(welfare))
        assert kept.baseline == pytest.approx(expected)
    assert losses[1] == pytest.approx((3.0**2 + 5.0**2) / 2)
    # With many behind it, it follows the last fifty or so.
    many = kept._replace(ended=jnp.int32(10**6))
    _, _, kept = learned(NETWORKS, many, rollout, over, jnp.array([30.0, 0.0, 30.0]))
    assert kept.baseline == pytest.approx(4.0 + 2 / 52 * 26.0)


@pytest.mark.soak
def test_it_learns_what_the_reward_does_not_say() -> None:
    """All of the reward is total utility, and the welfare of the episode is that of the worst-off agent."""
    problem = problem_of(
        n_resources=1, horizon=8, memory=PerfectRecall(), welfare="egalitarian", weight=0.0, needs=uniform(2, 0.9, 1.0)
    )
    settings = Settings(total_steps=64 * 300, rollout_steps=64, hidden=(16,), learning_rate=1e-2)
    found = evaluate(train(settings, problem=problem, learner="reinforce").policy, episodes=50).mean
    # One of two agents is served at each of eight steps: at random the worst-off is served 2.9 times.
    assert found["welfare"] > 3.3


@pytest.mark.soak
def test_nothing_is_learned_before_an_episode_ends() -> None:
    problem = problem_of(n_resources=1, horizon=100, needs=uniform(2))
    settings = Settings(total_steps=128, rollout_steps=32, batch_size=32, hidden=(4,), learner="reinforce")
    states = []
    train(settings, problem=problem, segment=1, progress=lambda news: states.append(news.curves[0]), unroll=1)
    assert [int(point["episodes"][0]) for point in states] == [0, 0, 0, 1]
    assert [float(point["policy_loss"][0]) for point in states[:3]] == [0.0, 0.0, 0.0]
