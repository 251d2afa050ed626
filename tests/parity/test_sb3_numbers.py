"""The learner computes what Stable-Baselines3 computes: same rollout, same start, same order, same numbers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.sb3_numbers import CASES, Recorded, improved, load, record, relative, save, share_of_way

from bygones.learn import ppo, runs
from bygones.learn.networks import Networks
from bygones.learn.settings import Settings

pytestmark = pytest.mark.soak

SHORT = CASES["many short episodes"]
recording = functools.cache(record)
compiled = jax.jit(improved, static_argnames="shape")


@pytest.fixture(params=CASES.values(), ids=CASES)
def settings(request: pytest.FixtureRequest) -> Settings:
    return request.param


@pytest.fixture
def recorded(settings: Settings) -> Recorded:
    return recording(settings)


@pytest.fixture
def short() -> Recorded:
    return recording(SHORT)


def learned(settings: Settings, recorded: Recorded, first_only: bool = False, program: Any = compiled) -> Networks:
    """Our parameters after SB3's rollout in SB3's order."""
    order = recorded.order[:1, : settings.batch_size] if first_only else recorded.order
    numbers, shape = runs.numbers_of(settings), runs.shape_of(settings)
    return program(recorded.start, recorded.rollout, order, numbers, shape=shape)


def off_the_way(recorded: Recorded, settings: Settings = SHORT) -> float:
    """How far from SB3 we end, compiled anew so that a patched function takes part."""
    anew = jax.jit(lambda *args, shape: improved(*args, shape), static_argnames="shape")
    original = recording(SHORT)
    return share_of_way(learned(settings, recorded, program=anew), original.after_all, original.start)


def test_values_probabilities_and_advantages(settings: Settings, recorded: Recorded) -> None:
    numbers, shape = runs.numbers_of(settings), runs.shape_of(settings)
    samples_of = jax.jit(ppo.samples_of, static_argnames="shape")
    samples, values = samples_of(recorded.start, recorded.rollout, numbers, shape=shape)
    for ours, theirs in (
        (values, recorded.values),
        (samples.log_probs, recorded.log_probs),
        (samples.advantages, recorded.advantages),
        (samples.returns, recorded.returns),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


def test_first_gradient_step(settings: Settings, recorded: Recorded) -> None:
    ours = learned(settings, recorded, first_only=True)
    assert relative(ours, recorded.after_one) < 1e-6
    assert share_of_way(ours, recorded.after_one, recorded.start) < 1e-3


def test_whole_call(settings: Settings, recorded: Recorded) -> None:
    assert share_of_way(learned(settings, recorded), recorded.after_all, recorded.start) < 1e-3


def test_without_bootstrap_at_truncation_differs(short: Recorded) -> None:
    cut_off = short.rollout.truncated
    rollout = short.rollout._replace(terminated=cut_off, truncated=np.zeros_like(cut_off))
    assert off_the_way(short._replace(rollout=rollout)) > 1e-3


def test_population_deviation_differs(short: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "normalise", lambda a: (a - a.mean()) / (a.std() + 1e-8))
    assert off_the_way(short) > 1e-3


def test_elementwise_clip_differs(short: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "clip_by_norm", lambda tree, most: jax.tree.map(lambda x: jnp.clip(x, -most, most), tree))
    assert off_the_way(short) > 1e-3


def test_another_adam_epsilon_differs(short: Recorded) -> None:
    assert off_the_way(short, SHORT.replace(adam_eps=1e-8)) > 1e-3


def test_recordings_survive_the_disk(short: Recorded, tmp_path: Path) -> None:
    save(tmp_path / "short.npz", SHORT, short)
    settings, loaded = load(tmp_path / "short.npz")
    assert settings == SHORT
    assert jax.tree.structure(loaded) == jax.tree.structure(short)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(short), strict=True):
        np.testing.assert_array_equal(a, b)
