"""GGF-PPO: weights by rank, and advantages of agents against those of PPO."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones.learn import ggf_ppo, iterations, ppo, runs
from bygones.learn.actors import Subsets, actor_of
from bygones.learn.ggf_ppo import GiniPPO, by_rank, rank_weights
from bygones.learn.rollouts import Rollout
from bygones.learn.settings import Settings
from bygones.learn.vector_critics import RankingsWithValues, SubsetsWithValues
from bygones.welfare import generalized_gini, parse_welfare

NUMBERS = runs.numbers_of(Settings(discount=0.9, gae_lambda=0.8))
STEPS, SEEN, ACTIONS, AGENTS = 12, 4, 3, 3
RNG = np.random.default_rng(0)


def shape(actor: Subsets) -> iterations.Shape:
    return iterations.Shape(None, actor, GiniPPO(0.5), STEPS, STEPS, 1, entropy=False, flat=True)


def rollout(rewards: np.ndarray) -> Rollout:
    ends = np.arange(STEPS) % 5
    return Rollout(
        observations=jnp.asarray(RNG.normal(size=(STEPS, SEEN)), jnp.float32),
        actions=jnp.asarray(RNG.integers(ACTIONS, size=STEPS)),
        rewards=jnp.asarray(rewards, jnp.float32),
        terminated=jnp.asarray(ends == 4),
        truncated=jnp.asarray(ends == 2),
        reached=jnp.asarray(RNG.normal(size=(STEPS, SEEN)), jnp.float32),
        last=jnp.asarray(RNG.normal(size=SEEN), jnp.float32),
    )


def test_the_worst_off_has_the_largest_weight() -> None:
    np.testing.assert_allclose(by_rank(jnp.array([3.0, 1.0, 2.0]), jnp.array([0.5, 0.3, 0.2])), [0.2, 0.5, 0.3])


def test_weights_by_rank_are_the_gradient_of_generalised_gini_welfare() -> None:
    weights = rank_weights(parse_welfare("nash"), 5, 0.5)
    np.testing.assert_allclose(weights, np.array([16, 8, 4, 2, 1]) / 31, rtol=1e-6)
    many = jnp.asarray(RNG.normal(size=(20, 5)), jnp.float32)
    gradients = jax.vmap(jax.grad(lambda J: generalized_gini(J, weights)))(many)
    np.testing.assert_allclose(jax.vmap(by_rank, in_axes=(0, None))(many, weights), gradients, rtol=1e-6)


def test_a_generalised_gini_welfare_brings_its_own_weights() -> None:
    np.testing.assert_allclose(
        rank_weights(parse_welfare("generalized_gini"), 3, 0.5), np.array([5, 3, 1]) / 9, rtol=1e-6
    )
    own = parse_welfare("generalized_gini", weights=[0.7, 0.2, 0.1])
    np.testing.assert_allclose(rank_weights(own, 3, 0.5), [0.7, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose(rank_weights(parse_welfare("egalitarian"), 3, 1.0), [1 / 3] * 3, rtol=1e-6)


def test_advantages_are_those_of_each_agent_alone_weighted_by_rank() -> None:
    played = rollout(RNG.normal(size=(STEPS, AGENTS)) + np.array([0.0, 5.0, -5.0]))
    together = SubsetsWithValues(SEEN, ACTIONS, (6,), AGENTS)
    networks = jax.tree.map(jnp.asarray, together.initial(3))
    weigh = jax.jit(lambda *all_: ggf_ppo.samples_of(*all_, NUMBERS, shape(together), parse_welfare("nash"), 0.5))
    samples, values = weigh(networks, played)
    weights = np.array([2, 1, 4]) / 7  # the last agent receives least, the second one most
    expected = np.zeros(STEPS)
    alone = jax.jit(lambda *all_: ppo.samples_of(*all_, NUMBERS, shape(Subsets(SEEN, ACTIONS, (6,)))))
    for agent in range(AGENTS):
        *hidden, head = networks.value
        own = (*hidden, head._replace(weight=head.weight[:, agent : agent + 1], bias=head.bias[agent : agent + 1]))
        by_ppo, value = alone(networks._replace(value=own), played._replace(rewards=played.rewards[:, agent]))
        np.testing.assert_allclose(samples.returns[:, agent], by_ppo.returns, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(values[:, agent], value, rtol=1e-5, atol=1e-6)
        expected += weights[agent] * np.asarray(by_ppo.advantages)
        log_probs = by_ppo.log_probs
    np.testing.assert_allclose(samples.advantages, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(samples.log_probs, log_probs, rtol=1e-5)


def test_policies_start_as_those_of_ppo_do() -> None:
    for policy in ("mlp", "symmetric"):
        settings = Settings(policy=policy, learner="ggf-ppo", hidden=(8,))
        ours, theirs = (actor_of(s, s.problem()).initial(5) for s in (settings, settings.replace(learner="ppo")))
        for a, b in zip(jax.tree.leaves(ours.policy), jax.tree.leaves(theirs.policy), strict=True):
            np.testing.assert_array_equal(a, b)


def test_values_of_agents_are_permuted_with_the_agents() -> None:
    settings = Settings(policy="symmetric", learner="ggf-ppo", n_agents=6)
    actor = actor_of(settings, settings.problem())
    assert isinstance(actor, RankingsWithValues)
    networks, order = actor.initial(0), RNG.permutation(6)
    seen = RNG.random((2, 6)).astype(np.float32)
    values = actor.value(networks, seen.reshape(-1))
    assert values.shape == (6,)
    assert np.ptp(values) > 0.01
    np.testing.assert_allclose(actor.value(networks, seen[:, order].reshape(-1)), values[order], rtol=1e-4, atol=1e-6)


def test_values_of_agents_do_not_grow_without_limit() -> None:
    """Where an episode is cut off, more is remembered than was ever seen before a step."""
    settings = Settings(policy="symmetric", learner="ggf-ppo", n_agents=3)
    actor = actor_of(settings, settings.problem())
    networks = actor.initial(0)
    most = np.abs(networks.value[-1].weight).sum()
    for remembered in (1.0, 1e3, 1e30):
        values = actor.value(networks, np.array([0.5, 0.2, 0.9, remembered, 0.0, 2 * remembered]))
        assert (np.abs(values) <= most + 1e-6).all()


def test_values_of_policies_saved_before_are_what_they_were() -> None:
    """Their head had weights for the features as well, as that of scores has."""
    settings = Settings(policy="symmetric", learner="ggf-ppo", n_agents=3)
    actor = actor_of(settings, settings.problem())
    networks, seen = actor.initial(0), RNG.random((4, 6)).astype(np.float32)
    before = networks._replace(value=networks.policy)
    np.testing.assert_array_equal(actor.value(before, seen), actor.scores(networks, seen))


@pytest.mark.soak
@pytest.mark.parametrize("policy", ["mlp", "symmetric"])
def test_the_worst_off_is_served_more_than_by_utility_alone(policy: str) -> None:
    """One agent needs more than the other: utility alone serves it at every step, the generalised Gini does not.

    By turns the worst-off has 0.4 a step.
    """
    from bygones.envs.needs import replayed
    from bygones.envs.problem import problem_of
    from bygones.learn import evaluate, train

    problem = problem_of(n_resources=1, horizon=10, needs=replayed(np.array([[1.0, 0.8]])), weight=0.0)
    settings = Settings(
        total_steps=64 * 500, rollout_steps=64, hidden=(16,), agent_units=8, learning_rate=3e-3, policy=policy
    )
    by_utility, by_gini = (
        evaluate(train(settings, problem=problem, learner=name).policy, episodes=20).mean for name in ("ppo", "ggf-ppo")
    )
    assert by_utility["utility_least"] < 0.05
    assert by_gini["utility_least"] > 0.35
