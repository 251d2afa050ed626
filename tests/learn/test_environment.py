"""The learner's environment is the functional environment, split for its loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import inequality
from bygones.envs import functional
from bygones.envs.functional import Environment, StepNoise
from bygones.learn.runs import params_of
from bygones.learn.settings import Settings

CASES = [
    Settings(gamma=0.9, horizon=5, observation_scale="relative"),
    Settings(gamma=1.0, aggregation="averaged", welfare="egalitarian", horizon=4, observe_denominator=True),
    Settings(gamma=0.0, horizon=3, ends="termination", shaping_discount=0.99, observation_scale="fixed"),
]


@pytest.mark.parametrize("settings", CASES)
def test_step_by_step_as_the_functional_environment(settings: Settings) -> None:
    problem, params = settings.problem(), params_of(settings)
    env = Environment.of(problem)
    noise = env.noise(jax.random.key(0), 12)
    rows = [jax.tree.map(lambda leaf: leaf[i], noise) for i in range(12)]  # noqa: B023

    def fresh(row: StepNoise) -> tuple:
        return env.start(row, params), *functional.reset_with(row.start, params)

    state, reference, observation = fresh(rows[0])
    for i, row in enumerate(rows[1:]):
        np.testing.assert_array_equal(env.observe(state, params), observation)
        assert observation.shape == (env.observation_size,)
        action = jnp.asarray((7 * i) % env.n_actions)
        after = env.advance(row, state, action, params)
        result = functional.step_with(row.step, reference, action, params)
        np.testing.assert_allclose(env.reward(state, action, after, params), result.reward, rtol=1e-5, atol=1e-5)
        assert env.ends(after, params) == (result.terminated, result.truncated)
        metrics = env.metrics(after, params)
        for name in ("gini", "welfare", "utility_per_step"):
            np.testing.assert_allclose(metrics[name], result.info[f"episode_{name}"], rtol=1e-6)
        np.testing.assert_allclose(metrics["welfare_memory"], result.info["welfare_memory"], rtol=1e-6)
        cumulative = result.info["cumulative"] / after.t
        np.testing.assert_allclose(
            (metrics["utility_least"], metrics["utility_most"]), (cumulative.min(), cumulative.max()), rtol=1e-6
        )
        state, reference, observation = after, result.state, result.observation
        if result.terminated or result.truncated:
            state, reference, observation = fresh(row)


def test_no_noise_is_used_twice() -> None:
    env = Environment(n_noise=3, start_rows=2, n_actions=3, observation_size=6)
    assert env.noise(jax.random.key(0), 4).step.shape == (4, 3)
    assert len({float(x) for leaf in env.noise(jax.random.key(0), 4) for x in leaf.ravel()}) == 36


@pytest.mark.parametrize("n_agents", [1, 2, 10, 40])
def test_compiled_gini_is_the_gini(n_agents: int) -> None:
    x = np.random.default_rng(n_agents).random((5, n_agents))
    np.testing.assert_allclose(inequality.gini(jnp.asarray(x)), inequality.gini(x), rtol=1e-5, atol=1e-7)
