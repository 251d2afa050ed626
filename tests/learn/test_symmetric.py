"""Symmetric policies: probabilities against enumeration, equivariance, and play with any number of agents."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import Multiscale
from bygones.envs.needs import uniform
from bygones.envs.problem import FairProblem, problem_of
from bygones.envs.scenarios.allocation import Allocation
from bygones.learn import Settings, TrainedPolicy, evaluate, runs, train
from bygones.learn.networks import Networks
from bygones.learn.symmetric import Rankings
from support.sharp_networks import sharpened

SYMMETRIC = Settings(policy="symmetric", gamma=0.9, horizon=20)
SIZES = [(4, 1), (4, 2), (3, 3), (5, 3), (7, 6)]


def actor_of(n: int, k: int, denominator: bool = False) -> Rankings:
    return Rankings(n, k, denominator, 8)


def policy_of(run: Settings = SYMMETRIC, factor: float = 300, problem: FairProblem | None = None) -> TrainedPolicy:
    return TrainedPolicy(run, sharpened(runs.shape_of(runs.Run(run, problem)).actor.initial(1), factor), problem)


def by_hand(scores: np.ndarray, ranking: tuple[int, ...]) -> float:
    """The probability of a ranking: each agent is drawn from those that are left."""
    probability, left = 1.0, list(range(len(scores)))
    for agent in ranking:
        weights = np.exp(scores[left] - scores[left].max())
        probability *= weights[left.index(agent)] / weights.sum()
        left.remove(agent)
    return probability


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_log_probabilities_are_those_of_enumeration(n: int, k: int, spread: float) -> None:
    scores = spread * np.random.default_rng(0).normal(size=n)
    rankings = list(itertools.permutations(range(n), k))
    expected = np.array([by_hand(scores, ranking) for ranking in rankings])
    assert expected.sum() == pytest.approx(1.0)
    repeated = np.tile(scores, (len(rankings), 1))
    np.testing.assert_allclose(np.exp(actor_of(n, k).log_prob(repeated, np.array(rankings))), expected, rtol=1e-9)
    with_jax = actor_of(n, k).log_prob(jnp.asarray(repeated, jnp.float32), jnp.asarray(rankings))
    np.testing.assert_allclose(np.exp(with_jax), expected, rtol=1e-4, atol=1e-7)


def test_log_probabilities_keep_their_digits_where_one_agent_has_all_the_weight() -> None:
    scores = np.array([500.0, 0.0, -1.0], np.float32)
    expected = -np.log1p(np.exp(-1.0))
    for array in (np.asarray, jnp.asarray):
        assert float(actor_of(3, 2).log_prob(array(scores), array([0, 1]))) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_the_mean_of_the_entropies_is_the_entropy_of_the_ranking(n: int, k: int) -> None:
    scores = np.random.default_rng(1).normal(size=n)
    rankings = np.array(list(itertools.permutations(range(n), k)))
    p = np.array([by_hand(scores, tuple(ranking)) for ranking in rankings])
    repeated = np.tile(scores, (len(rankings), 1))
    expected = -(p * np.log(p)).sum()
    assert (p * actor_of(n, k).entropy(repeated, rankings)).sum() == pytest.approx(expected, rel=1e-9)
    with_jax = actor_of(n, k).entropy(jnp.asarray(repeated), jnp.asarray(rankings))
    assert float((p * with_jax).sum()) == pytest.approx(expected, rel=1e-4)


def test_gumbel_noise_draws_rankings_with_their_probabilities() -> None:
    scores, trials = np.array([0.5, -1.0, 1.0, 0.0]), 40_000
    drawn = actor_of(4, 2).best(scores + np.random.default_rng(0).gumbel(size=(trials, 4)))
    for ranking in itertools.permutations(range(4), 2):
        share = (drawn == np.array(ranking)).all(axis=-1).mean()
        assert share == pytest.approx(by_hand(scores, ranking), abs=5 * math.sqrt(0.25 / trials))


@pytest.mark.parametrize("k", [1, 3, 4, 5, 9])
def test_numpy_and_jax_agree(k: int) -> None:
    rng, actor = np.random.default_rng(k), actor_of(9, k, denominator=True)
    networks = sharpened(actor.initial(0))
    seen = rng.random((6, 19)).astype(np.float32) * 5
    scores = actor.scores(networks, seen)
    for with_jax in (actor.scores(networks, jnp.asarray(seen)), _row_by_row(actor, networks, seen)):
        np.testing.assert_allclose(with_jax, scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(actor.value(networks, jnp.asarray(seen)), actor.value(networks, seen), rtol=1e-4)
    best = actor.best(scores)
    np.testing.assert_array_equal(actor.best(jnp.asarray(scores)), best)
    np.testing.assert_array_equal(best, np.argsort(-scores, axis=-1)[:, :k])


def _row_by_row(actor: Rankings, networks: Networks, seen: np.ndarray) -> Any:
    """As the step loop on a GPU has it: one observation at a time, without matrix products."""
    return jnp.stack([actor.scores(networks, jnp.asarray(row), matvec=False) for row in seen])


@pytest.mark.soak
@pytest.mark.parametrize(("n", "k"), [(5, 2), (8, 6)])
def test_gradients_are_differences(n: int, k: int) -> None:
    rng, actor = np.random.default_rng(2), actor_of(n, k)
    seen = rng.random((3, 2 * n)).astype(np.float32)
    actions = np.stack([rng.permutation(n)[:k] for _ in range(3)])
    networks = jax.tree.map(lambda leaf: leaf + 0.3 * rng.normal(size=leaf.shape), actor.initial(0))
    way = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape), networks)

    def objective(networks: Networks, seen: Any, actions: Any) -> Any:
        scores = actor.scores(networks, seen)
        parts = actor.log_prob(scores, actions), actor.entropy(scores, actions), actor.value(networks, seen)
        return sum(part.sum() for part in parts)

    single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), networks)
    gradient = jax.grad(objective)(single, jnp.asarray(seen), jnp.asarray(actions))
    along = sum(float((g * w).sum()) for g, w in zip(jax.tree.leaves(gradient), jax.tree.leaves(way), strict=True))
    ahead, behind = (
        objective(jax.tree.map(lambda leaf, w: leaf + step * w, networks, way), seen, actions)  # noqa: B023
        for step in (1e-5, -1e-5)
    )
    assert along == pytest.approx((ahead - behind) / 2e-5, rel=1e-3)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_permuting_agents_permutes_scores_and_leaves_the_value(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    seen = np.array(data.draw(st.lists(st.floats(0, 1000, width=32), min_size=2 * n + 1, max_size=2 * n + 1)))
    order = np.array(data.draw(st.permutations(range(n))))
    permuted = np.concatenate([seen[:n][order], seen[n : 2 * n][order], seen[2 * n :]])
    actor = actor_of(n, 1, denominator=True)
    networks = sharpened(actor.initial(0), 30)
    np.testing.assert_allclose(
        actor.scores(networks, permuted), actor.scores(networks, seen)[order], rtol=1e-9, atol=1e-9
    )
    assert actor.value(networks, permuted) == pytest.approx(actor.value(networks, seen), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (100, 7), (10_000, 20)])
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_policy_of_ten_agents_plays_with_any_number(n: int, k: int, deterministic: bool) -> None:
    policy = policy_of()
    problem = dataclasses.replace(policy.problem, scenario=Allocation(5, k, n_agents=n))
    played = evaluate(policy, problem, episodes=2, deterministic=deterministic)
    assert np.isfinite(list(played.mean.values())).all()
    assert 0 < played.mean["utility_per_step"] <= k
    agents, _ = policy.predict(np.ones((3, 2 * n)), deterministic=deterministic, n_resources=k)
    assert agents.shape == (3, k)
    assert all(len(set(row)) == k for row in agents.tolist())


def test_predict_ranks_by_score_and_draws_as_the_probabilities_say() -> None:
    policy = policy_of(factor=100)
    seen = np.random.default_rng(0).random(20).astype(np.float32)
    probabilities = policy(seen)
    assert probabilities.shape == (10,)
    assert probabilities.sum() == pytest.approx(1.0)
    best, _ = policy.predict(seen, deterministic=True)
    np.testing.assert_array_equal(best, np.argsort(-np.asarray(probabilities))[:2])
    drawn, _ = policy.predict(np.tile(seen, (20_000, 1)), rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn[:, 0], minlength=10) / 20_000, probabilities, atol=0.02)


def test_what_does_not_fit_is_refused_with_a_sentence() -> None:
    policy = policy_of()
    with pytest.raises(ValueError, match="a need and a memory for each agent along the last axis, got shape"):
        policy(np.zeros(21))
    with pytest.raises(ValueError, match=r"n_resources must be at most the number of agents \(3\), got 4"):
        policy.predict(np.zeros(6), n_resources=4)
    with pytest.raises(ValueError, match="Stable-Baselines3 has no policy that scores agents"):
        TrainedPolicy.from_state_dict(SYMMETRIC, {})
    many = problem_of(needs=uniform(50), n_resources=5)
    with pytest.raises(ValueError, match=r'choosing 5 of 50 agents .* 100,000 subsets .* use policy "symmetric"'):
        train(Settings(), problem=many)
    with pytest.raises(ValueError, match='use policy "symmetric"'):
        Settings(n_agents=50, n_resources=5)
    mlp = TrainedPolicy(Settings(), runs.shape_of(Settings()).actor.initial(0))
    with pytest.raises(ValueError, match="n_resources must be 2, as in training, got 3"):
        mlp.predict(np.zeros(20), n_resources=3)


def test_it_does_not_move_to_stable_baselines3() -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="Stable-Baselines3 has no policy that scores agents"):
        policy_of().state_dict()


def test_saved_and_loaded_with_a_problem_of_its_own(tmp_path: Path) -> None:
    memory = Multiscale((0.9, 0.5), (0.5, 0.5))
    problem = problem_of(needs=uniform(60), n_resources=6, memory=memory, observe_denominator=True, horizon=9)
    policy = policy_of(Settings(policy="symmetric", agent_units=8), problem=problem)
    policy.save(tmp_path / "policy.safetensors")
    loaded = TrainedPolicy.load(tmp_path / "policy.safetensors")
    assert (loaded.settings.policy, loaded.problem.n_agents, loaded.problem.scenario.n_resources) == (
        "symmetric",
        60,
        6,
    )
    seen = np.random.default_rng(0).random((4, 121))
    np.testing.assert_array_equal(loaded(seen), policy(seen))
    np.testing.assert_array_equal(loaded.value(seen), policy.value(seen))
    assert evaluate(loaded, episodes=2).mean == evaluate(policy, episodes=2).mean


FIFTY = {"n_agents": 50, "n_resources": 5, "entropy_weight": 0.01}


@pytest.mark.soak
@pytest.mark.parametrize("changes", [{}, FIFTY], ids=["10", "50"])
def test_it_trains_alone_and_in_batches(changes: dict[str, Any]) -> None:
    short = SYMMETRIC.replace(total_steps=64, rollout_steps=32, batch_size=16, epochs=2, agent_units=4, **changes)
    alone = train(short, unroll=1)
    batch = runs.train_batch([short, short.replace(seed=1)], unroll=1, flat=False, matvec=False)
    assert alone.stopped_at is None
    start = runs.shape_of(short).actor.initial(short.seed)
    for learned, again, first in zip(*map(jax.tree.leaves, (alone.networks, batch[0].networks, start)), strict=True):
        np.testing.assert_allclose(learned, again, atol=1e-4)
        assert learned.shape == first.shape
    assert not np.array_equal(alone.networks.policy[0].weight, start.policy[0].weight)


@pytest.mark.soak
@pytest.mark.parametrize("gamma", [0.99, 1.0])
def test_it_learns_to_take_turns(gamma: float) -> None:
    run = Settings(policy="symmetric", gamma=gamma, welfare="egalitarian", horizon=200, total_steps=60_000)
    policy = train(run).policy
    assert evaluate(policy).mean["gini"] < 0.15
    larger = dataclasses.replace(policy.problem, scenario=Allocation(n_resources=20, n_agents=100, n_advantaged=20))
    assert evaluate(policy, larger).mean["gini"] < 0.2
