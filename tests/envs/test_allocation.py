import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall, welfare
from bygones.envs import functional, needs
from bygones.envs.functional import reset, step
from bygones.envs.problem import problem_of

KEY = jax.random.key(0)


def episode(params, steps):
    """Rewards, observations and infos of random actions, under one scan."""

    def one(carry, key):
        state, _ = carry
        draw, choose = jax.random.split(key)
        action = jax.random.randint(choose, (), 0, params.actions.shape[0])
        result = step(draw, state, action, params)
        return (result.state, result.observation), result

    return jax.lax.scan(one, reset(KEY, params), jax.random.split(KEY, steps))[1]


def test_it_runs_under_jit_vmap_and_scan():
    problems = [problem_of(memory=Discounted(gamma=g), weight=w) for g, w in ((0.5, 0.9), (0.99, 0.1))]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *(p.params() for p in problems))
    together = jax.jit(jax.vmap(episode, in_axes=(0, None)), static_argnums=1)(stacked, 20)
    for i, problem in enumerate(problems):
        alone = jax.jit(episode, static_argnums=1)(problem.params(), 20)
        np.testing.assert_allclose(together.reward[i], alone.reward, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(together.observation[i], alone.observation, rtol=1e-6)


def test_the_same_key_replays_and_nothing_is_changed_in_place():
    params = problem_of().params()
    state, observation = reset(KEY, params)
    first, second = (step(KEY, state, 3, params) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, second)
    np.testing.assert_array_equal(reset(KEY, params)[1], observation)
    assert int(state.t) == 0


@pytest.mark.parametrize("ends", ["truncation", "termination"])
def test_an_episode_ends_in_the_chosen_way(ends):
    played = episode(problem_of(horizon=5, ends=ends).params(), 6)
    over = [False, False, False, False, True, True]
    assert played.truncated.tolist() == (over if ends == "truncation" else [False] * 6)
    assert played.terminated.tolist() == (over if ends == "termination" else [False] * 6)


def test_metrics_of_an_episode_come_with_every_step():
    info = episode(problem_of().params(), 30).info
    total = info["utilities"].sum(axis=0)
    np.testing.assert_allclose(info["cumulative"][-1], total, rtol=1e-6)
    np.testing.assert_allclose(info["episode_utility_per_step"][-1], total.sum() / 30, rtol=1e-6)
    np.testing.assert_allclose(info["episode_welfare"], info["welfare_true"])
    assert 0 < info["episode_gini"][-1] < 1


def test_params_may_be_closed_over_or_passed():
    params = problem_of(needs=needs.replayed(np.random.default_rng(0).random((4, 5)))).params()
    state, _ = reset(KEY, params)
    passed = jax.jit(step)(KEY, state, jnp.int32(2), params)
    closed = jax.jit(lambda k, s, a: step(k, s, a, params))(KEY, state, jnp.int32(2))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), passed, closed)


BASE = problem_of()
CHANGES = {
    "gamma": {"memory": Discounted(gamma=0.5)},
    "half-life": {"memory": Discounted(half_life=30)},
    "averaging": {"memory": Discounted(gamma=0.99, average=True)},
    "perfect recall": {"memory": PerfectRecall()},
    "instantaneous": {"memory": Instantaneous()},
    "egalitarian": {"welfare": "egalitarian"},
    "utilitarian": {"welfare": "utilitarian"},
    "alpha": {"welfare": "alpha_fair(alpha=2)"},
    "eps": {"welfare": "log_nash(eps=0.001)"},
    "weight": {"weight": 0.999},
    "a whole weight": {"weight": 1},
    "a NumPy weight": {"weight": np.float64(0.3)},
    "horizon": {"horizon": 10_000},
    "fixed": {"observation_scale": "fixed", "fixed_scale": 3.0},
    "window": {"observation_scale": "window"},
    "expected": {"observation_scale": "expected"},
    "relative": {"observation_scale": "relative"},
    "no memory": {"observe_memory": False},
    "termination": {"ends": "termination"},
    "shaping": {"shaping_discount": 0.99},
    "needs": {"needs": needs.advantaged(10, 5)},
}


@pytest.fixture(scope="module")
def counted_step():
    traces = []

    @jax.jit
    def counted(key, params):
        traces.append(None)
        state, _ = reset(key, params)
        return step(key, state, 0, params)

    counted(KEY, BASE.params())
    return counted, traces


@pytest.mark.parametrize("name", CHANGES)
def test_changing_any_number_compiles_nothing(counted_step, name):
    counted, traces = counted_step
    result = counted(KEY, problem_of(**CHANGES[name]).params())
    assert np.isfinite(result.reward)
    assert len(traces) == 1


@pytest.mark.parametrize("memory", [Linear(0.9 * np.eye(10)), Multiscale((0.9, 0.99), (0.5, 0.5))])
def test_numbers_of_other_memories_compile_nothing_either(memory):
    traces = []

    @jax.jit
    def counted(params):
        traces.append(None)
        return step(KEY, reset(KEY, params)[0], 0, params)

    counted(problem_of(memory=memory).params())
    numbers = {"matrix": 0.5 * np.eye(10)} if isinstance(memory, Linear) else {"gammas": (0.1, 0.2)}
    counted(problem_of(memory=dataclasses.replace(memory, **numbers)).params())
    assert len(traces) == 1


def test_every_observation_in_float32_lies_within_the_bounds():
    greedy = needs.replayed(np.ones((1, 3), dtype=np.float32))
    for memory in (
        Discounted(gamma=0.9),
        Discounted(gamma=0.999),
        PerfectRecall(),
        Discounted(gamma=0.7, average=True),
    ):
        for scale in ("none", "window", "relative"):
            problem = problem_of(
                needs=greedy,
                n_resources=1,
                horizon=2000,
                memory=memory,
                observation_scale=scale,
                observe_denominator=True,
            )
            params = problem.params()
            low, high = problem.observation_bounds()

            def one(state, _, params=params):
                result = functional.step_with(jnp.zeros(3), state, 0, params)
                return result.state, result.observation

            _, seen = jax.lax.scan(one, functional.reset_with(jnp.zeros((2, 3)), params)[0], None, 2000)
            assert (np.asarray(seen) >= low.astype(np.float32)).all()
            assert (np.asarray(seen) <= high.astype(np.float32)).all()


def test_a_memory_in_float32_keeps_the_digits_of_what_it_forgets():
    memory, ones = Discounted(gamma=0.999), jnp.ones(1)

    @jax.jit
    def after(memory):
        state = jax.tree.map(jnp.asarray, memory.init(1))
        return jax.lax.scan(lambda s, _: (memory.advance(s, ones), None), state, None, 20_000)[0].Z

    assert float(after(memory)[0]) == pytest.approx(1000.0, rel=1e-6)


def test_the_unchecked_welfare_is_the_checked_one():
    Z = np.random.default_rng(0).random((4, 10))
    for name in welfare.names():
        parameters = {"alpha": 0.5} if name == "alpha_fair" else {}
        judge = welfare.parse_welfare(name, **parameters)
        np.testing.assert_array_equal(judge.judge(Z), judge(Z))
