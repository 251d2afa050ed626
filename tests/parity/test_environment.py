"""One episode of 10,000 steps, told three times: by the NumPy environment, by the JAX one, and by the oracle.

All are fed the same needs and actions. JAX counts in float32, so the comparison with it is relative to the size of
the numbers that enter a result: a reward is a small difference of two large welfare values.
"""

import dataclasses

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall
from bygones.envs import functional, needs
from bygones.envs.problem import problem_of
from support import oracle

STEPS, N, K = 10_000, 5, 2
RNG = np.random.default_rng(0)
TABLE = RNG.random((STEPS, N)).astype(np.float32)
MIXING = 0.85 * np.eye(N) + 0.02
ACTIONS = RNG.integers(0, 10, STEPS)

MEMORIES = {
    "instantaneous": (Instantaneous(), lambda: oracle.AdditiveMemory(0.0, N)),
    "gamma 0.9": (Discounted(gamma=0.9), lambda: oracle.AdditiveMemory(0.9, N)),
    "gamma 0.99": (Discounted(gamma=0.99), lambda: oracle.AdditiveMemory(0.99, N)),
    "gamma 0.999": (Discounted(gamma=0.999), lambda: oracle.AdditiveMemory(0.999, N)),
    "perfect": (PerfectRecall(), lambda: oracle.AdditiveMemory(1.0, N)),
    "averaged 0.9": (Discounted(gamma=0.9, average=True), lambda: oracle.AveragedMemory(0.9, N)),
    "averaged 0.999": (Discounted(gamma=0.999, average=True), lambda: oracle.AveragedMemory(0.999, N)),
    "averaged perfect": (PerfectRecall(average=True), lambda: oracle.AveragedMemory(1.0, N)),
    "linear": (Linear(MIXING), lambda: oracle.LinearMemory(MIXING.tolist())),
    "multiscale": (
        Multiscale((0.9, 0.999), (0.25, 0.75)),
        lambda: oracle.MultiscaleMemory((0.9, 0.999), (0.25, 0.75), N),
    ),
}
WELFARES = {
    "nash": oracle.log_nash,
    "egalitarian": oracle.egalitarian,
    "utilitarian": oracle.utilitarian,
    "alpha_fair(alpha=2)": oracle.alpha_fair(2),
    "alpha_fair(alpha=0.5)": oracle.alpha_fair(0.5),
    "generalized_gini": oracle.generalized_gini,
}
LARGEST = {"gamma 0.99": (1 - 0.99**STEPS) / 0.01, "averaged perfect": STEPS}
EXPECTED = K / N * float(TABLE.mean(axis=0, dtype=float).mean())
SWITCHES = {
    "fixed": ({"observation_scale": "fixed", "fixed_scale": 30.0}, lambda _: {"divisor": 30.0}),
    "window": (
        {"observation_scale": "window"},
        lambda m: {"divisor": float(TABLE.max()) * (LARGEST[m] if m == "gamma 0.99" else 1.0)},
    ),
    "expected": (
        {"observation_scale": "expected"},
        lambda m: {"divisor": EXPECTED * (LARGEST[m] if m == "gamma 0.99" else 1.0)},
    ),
    "relative": ({"observation_scale": "relative"}, lambda _: {"relative": True}),
    "no memory": ({"observe_memory": False}, lambda _: {"observe_memory": False}),
    "denominator": ({"observe_denominator": True}, lambda _: {"denominator_divisor": 1.0}),
    "scaled denominator": (
        {"observe_denominator": True, "observation_scale": "relative"},
        lambda m: {"denominator_divisor": LARGEST[m], "relative": True},
    ),
    "shaping": ({"shaping_discount": 0.99}, lambda _: {"shaping": 0.99}),
    "termination": ({"ends": "termination"}, lambda _: {}),
    "weight": ({"weight": 0.5}, lambda _: {"weight": 0.5}),
}
PAIRS = [(m, w) for m in MEMORIES for w in ("nash", "egalitarian")]
PAIRS += [(m, w) for m in ("gamma 0.999", "averaged perfect", "linear") for w in list(WELFARES)[2:]]
CASES = {f"{m}, {w}": ({"memory": MEMORIES[m][0], "welfare": w}, m, w, {}) for m, w in PAIRS}
CASES |= {
    f"{m}, {s}": ({"memory": MEMORIES[m][0], "welfare": "nash", **settings}, m, "nash", told(m))
    for m in ("gamma 0.99", "averaged perfect")
    for s, (settings, told) in SWITCHES.items()
}


def problem_named(name):
    return problem_of(needs=needs.replayed(TABLE), n_resources=K, horizon=STEPS, **CASES[name][0])


@dataclasses.dataclass
class Story:
    observation: np.ndarray
    reward: np.ndarray
    info: dict
    ends: list


def told_by_numpy(name):
    env = gym.make("bygones/Allocation-v0", problem=problem_named(name))
    env.reset(seed=0)
    observations, rewards, terminated, truncated, infos = zip(*(env.step(a) for a in ACTIONS), strict=True)
    metrics = infos[-1].pop("episode_metrics")
    info = {key: np.array([info[key] for info in infos]) for key in infos[0]}
    return Story(np.array(observations), np.array(rewards), metrics | info, [terminated[-1], truncated[-1]])


@jax.jit
def _played(params):
    def one(state, action):
        result = functional.step_with(jnp.zeros(N), state, action, params)
        return result.state, result[1:]

    return jax.lax.scan(one, functional.reset_with(jnp.zeros((2, N)), params)[0], ACTIONS)[1]


def told_by_jax(name):
    observation, reward, terminated, truncated, info = jax.tree.map(np.asarray, _played(problem_named(name).params()))
    metrics = {key.removeprefix("episode_"): info.pop(key)[-1] for key in list(info) if key.startswith("episode_")}
    return Story(observation, reward, metrics | info, [bool(terminated[-1]), bool(truncated[-1])])


def told_by_oracle(name):
    _, memory, welfare, settings = CASES[name]
    sees = {"observe_memory": memory != "instantaneous", **settings}
    teller = oracle.Oracle(MEMORIES[memory][1](), WELFARES[welfare], **sees)
    subsets = problem_named(name).scenario.subsets().tolist()
    observations, rewards, memories = [], [], []
    rows = TABLE.astype(float).tolist()
    for t, action in enumerate(ACTIONS):
        _, reward = teller.step(rows[t], subsets[action])
        observations.append(teller.observation(rows[(t + 1) % STEPS]))
        rewards.append(reward)
        memories.append(list(teller.memory.Z))
    total = teller.cumulative()
    info = {
        "memory": np.array(memories),
        "cumulative": np.array(total),
        "welfare": teller.true_welfare(),
        "gini": oracle.gini(total),
        "utility_per_step": sum(total) / STEPS,
    }
    return Story(np.array(observations), np.array(rewards), info, [])


def assert_close(a, b, rtol, size=0.0):
    """Equal to a relative `rtol`, relative to the number itself or to what it was computed from."""
    off = np.abs(np.asarray(a, dtype=float) - b) / np.maximum(np.abs(b), np.maximum(size, 1e-30))
    assert off.max() <= rtol, f"off by {off.max():.3g} at {np.unravel_index(off.argmax(), off.shape)}"


@pytest.mark.parametrize("name", CASES)
def test_all_three_tell_the_same(name):
    ours, jaxs, oracles = told_by_numpy(name), told_by_jax(name), told_by_oracle(name)
    problem = problem_named(name)
    centred = 1.0 if problem.observation_scale == "relative" else 0.0
    after = ours.info["welfare_memory"]
    before = np.concatenate([[problem.welfare(np.zeros(N))], after[:-1]])
    subtracted = np.maximum(np.abs(after), np.abs(before))

    assert ours.ends == jaxs.ends
    assert_close(jaxs.observation, ours.observation, 1e-5, centred)
    for key in ("utilities", "cumulative", "memory", "gini", "utility_per_step"):
        assert_close(jaxs.info[key], ours.info[key], 1e-5)
    for key in ("welfare_memory", "welfare_true", "welfare"):
        assert_close(jaxs.info[key], ours.info[key], 1e-5, 1.0)
    assert_close(jaxs.reward, ours.reward, 1e-5, 1.0 + subtracted)

    assert_close(ours.observation, oracles.observation, 1e-6, centred)
    assert_close(ours.reward, oracles.reward, 1e-10, 1.0 + subtracted)
    assert_close(ours.info["memory"], oracles.info["memory"], 1e-10)
    assert_close(ours.info["cumulative"][-1], oracles.info["cumulative"], 1e-12)
    for key in ("gini", "welfare", "utility_per_step"):
        assert_close(ours.info[key], oracles.info[key], 1e-10)


@pytest.mark.parametrize("name", ["gamma 0.999, nash", "averaged perfect, nash", "perfect, egalitarian"])
def test_in_double_precision_jax_agrees_on_rewards_themselves(name):
    ours = told_by_numpy(name)
    with jax.enable_x64(True):
        theirs = told_by_jax(name)
    assert theirs.reward.dtype == np.float64
    assert_close(theirs.reward, ours.reward, 1e-5, 1e-6)
