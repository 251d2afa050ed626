"""Running normalisation: the statistics of what was seen, in single precision, kept and frozen as they should be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.envs.env import FairEnv
from bygones.envs.problem import problem_of
from bygones.learn import Settings, TrainedPolicy, train
from bygones.learn.normalisation import CLIP, EPSILON, PRIOR, Normaliser, having_seen, normalised
from support.sharp_networks import sharp

SMALL = Settings(
    gamma=1.0, horizon=24, total_steps=256, rollout_steps=64, batch_size=32, epochs=1, hidden=(8,), n_agents=4,
    observation_scale="running",
)  # fmt: skip


def after(observations: np.ndarray) -> tuple[Any, Any]:
    """Mean and variance in double precision, the start included: mean 0 and variance 1 of weight `PRIOR`."""
    seen = observations.astype(float)
    total = len(seen) + PRIOR
    mean = seen.sum(axis=0) / total
    return mean, ((seen - mean) ** 2).sum(axis=0) / total + PRIOR * (1 + mean**2) / total


def through(observations: np.ndarray) -> Normaliser:
    """Statistics that have seen these observations one by one, as the learner does it."""
    start = Normaliser.empty(observations.shape[1])
    step = jax.jit(lambda xs: jax.lax.scan(lambda n, x: (n.updated(x), None), start, xs)[0])
    found: Normaliser = step(observations)
    return found


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=30))
def test_mean_and_variance_are_those_of_what_was_seen(values: list[float]) -> None:
    observations = np.array(values, np.float32)[:, None]
    normaliser = Normaliser.empty(1)
    for one in observations:
        normaliser = normaliser.updated(one)
    mean, variance = after(observations)
    size = np.abs(observations).max()
    np.testing.assert_allclose(normaliser.mean, mean, atol=1e-5 * size + 1e-9)
    np.testing.assert_allclose(normaliser.variance, variance, rtol=1e-4, atol=1e-5 * size**2)
    assert normaliser.seen == len(values)


def test_a_million_steps_in_single_precision() -> None:
    """Needs, and memories of perfect recall that reach from 20 to 10,000 in episodes of 10,000 steps."""
    steps, rng = 1_000_000, np.random.default_rng(0)
    ramps = (np.arange(steps) % 10_000)[:, None] / 10_000 * np.array([20.0, 300.0, 2e3, 1e4])
    observations = np.concatenate([rng.random((steps, 2)), ramps, np.zeros((steps, 1))], axis=1).astype(np.float32)
    found, (mean, variance) = through(observations), after(observations)
    assert (np.abs(found.mean - mean) <= 2e-4 * np.sqrt(variance + EPSILON)).all()
    np.testing.assert_allclose(found.variance[:-1], variance[:-1], rtol=2e-4)
    assert found.variance[-1] + EPSILON == pytest.approx(variance[-1] + EPSILON, rel=1e-4)


def test_an_observation_is_centred_scaled_and_clipped() -> None:
    normaliser = Normaliser(np.array([1.0, 0.0, 0.0]), np.array([4.0, 1e-6, 0.0]), np.array(5))
    shown = normaliser(np.array([[5.0, 1.0, 0.0], [1.0, -1.0, 0.0]]))
    np.testing.assert_allclose(shown, [[2.0, CLIP, 0.0], [0.0, -CLIP, 0.0]], rtol=1e-6)


def test_without_a_normaliser_nothing_is_changed() -> None:
    seen = np.array([1.0, 2.0])
    assert normalised(seen, None) is seen
    assert having_seen(seen, None) is None


def test_statistics_are_learned_saved_and_frozen(tmp_path: Path) -> None:
    trained = train(SMALL, unroll=1)
    statistics = trained.normaliser
    assert statistics is not None
    assert statistics.seen == 256 + 1
    assert (statistics.variance > 1e-3).all()
    trained.policy.save(tmp_path / "it.safetensors")
    loaded = TrainedPolicy.load(tmp_path / "it.safetensors")
    observation = np.linspace(0, 8, 8).astype(np.float32)
    bare = TrainedPolicy(SMALL, trained.networks)
    for policy in (trained.policy, loaded):
        before = policy(observation)
        np.testing.assert_array_equal(before, policy(observation))
        np.testing.assert_array_equal(before, bare(statistics(observation).astype(np.float32)))
        np.testing.assert_array_equal(policy.value(observation), bare.value(statistics(observation)))


def test_a_file_without_its_statistics_is_refused(tmp_path: Path) -> None:
    TrainedPolicy(SMALL, sharp(0, 8, 6, (8,))).save(tmp_path / "it.safetensors")
    with pytest.raises(ValueError, match=r"is damaged: it lacks tensor 'normaliser\.mean'"):
        TrainedPolicy.load(tmp_path / "it.safetensors")


class KilledError(Exception):
    """Stands for a crash."""


@pytest.mark.soak
def test_a_run_that_was_stopped_goes_on_to_the_same_statistics(tmp_path: Path) -> None:
    def stop(news: Any) -> None:
        if news.steps == 128:
            raise KilledError

    options: dict[str, Any] = {"segment": 1, "unroll": 1}
    whole = train(SMALL, **options)
    with pytest.raises(KilledError):
        train(SMALL, checkpoint=tmp_path / "it.npz", progress=stop, **options)
    resumed = train(SMALL, checkpoint=tmp_path / "it.npz", **options)
    assert resumed.normaliser is not None
    assert whole.normaliser is not None
    for ours, theirs in zip(resumed.normaliser, whole.normaliser, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(resumed.curves["policy_loss"], whole.curves["policy_loss"])


def test_scales_are_seen_alike_after_normalisation() -> None:
    """Whether Z is divided by a constant first does not matter to statistics, unlike to the network."""
    observations = np.random.default_rng(1).random((500, 3)).astype(np.float32) * 100
    one, other = through(observations), through(observations / 50)
    np.testing.assert_allclose(one(observations[-5:]), other(observations[-5:] / 50), atol=1e-4)


def test_the_environment_leaves_it_to_the_learner() -> None:
    with pytest.raises(ValueError, match=r"'running' is the learner's.*VecNormalize\(norm_reward=False\)"):
        FairEnv(observation_scale="running")
    one, other = (problem_of(observation_scale=scale) for scale in ("none", "running"))
    assert one.params().memory_scale == other.params().memory_scale
    assert math.isfinite(other.observation_bounds()[1].max())
