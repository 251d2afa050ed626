"""Runs from the host: segments, checkpoints, batches, faults."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from bygones.envs.functional import Environment
from bygones.learn import evaluate, iterations, learners, runs
from bygones.learn.runs import RunProgress, TrainResult, train_batch
from bygones.learn.settings import Settings

SMALL = Settings(
    horizon=24, total_steps=448, rollout_steps=64, batch_size=32, epochs=2, hidden=(8,), n_agents=4, learning_rate=3e-3
)
ROLLOUTS = 7
SCRIPT = Path(__file__).parents[1] / "support" / "train_to_the_end.py"


def train(settings: Settings = SMALL, **options: Any) -> TrainResult:
    return runs.train(settings, **{"segment": 3, "unroll": 1, **options})


def batch(*settings: Settings, **options: Any) -> list[TrainResult]:
    return train_batch(settings, segment=3, unroll=1, batched=True, **options)


def same(a: TrainResult, b: TrainResult) -> bool:
    """Equal to the bit: parameters, curves and final metrics."""
    learned = [np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (a.networks, b.networks)), strict=True)]
    curves = [np.array_equal(a.curves[name], b.curves[name], equal_nan=True) for name in a.curves]
    return all(learned) and all(curves) and a.final == b.final


@pytest.fixture(scope="module")
def whole() -> TrainResult:
    return train()


def test_a_run_gives_curves_and_final_metrics(whole: TrainResult) -> None:
    assert whole.stopped_at is None
    np.testing.assert_array_equal(whole.curves["steps"], 64 * np.arange(1, ROLLOUTS + 1))
    assert whole.curves["episodes"].sum() == SMALL.episodes == 448 // 24
    assert set(whole.final) == {
        "gini",
        "welfare",
        "utility_per_step",
        "welfare_memory",
        "utility_least",
        "utility_most",
    }
    # The last tenth of 18 episodes is two, both in the last rollout or the one before.
    assert SMALL.first_counted == 16
    last = whole.curves
    ended = np.repeat(last["gini"], last["episodes"])
    assert last["gini"][-1] == pytest.approx(whole.final["gini"], abs=np.ptp(ended))
    assert 0 < whole.final["utility_least"] < whole.final["utility_most"] < 1
    assert np.isfinite(last["policy_loss"]).all()
    assert np.isfinite(last["value_loss"]).all()


def test_learning_moves_the_networks_and_pays() -> None:
    result = train(SMALL.replace(total_steps=64 * 150, weight=0.0))
    assert result.curves["reward"][-20:].mean() > result.curves["reward"][:20].mean() + 0.1


def test_final_metrics_are_those_of_the_last_episodes() -> None:
    result = train(SMALL.replace(last_share=1.0))
    curves = result.curves
    for name, value in result.final.items():
        np.testing.assert_allclose(value, (curves[name] * curves["episodes"]).sum() / SMALL.episodes, rtol=1e-5)


def test_segments_do_not_change_the_result(whole: TrainResult) -> None:
    assert same(train(segment=5), whole)


def test_progress_streams_every_point_once(whole: TrainResult) -> None:
    seen: list[RunProgress] = []
    train(progress=seen.append)
    assert [news.steps for news in seen] == [3 * 64, 6 * 64, 7 * 64]
    assert {news.total_steps for news in seen} == {448}
    joined = {name: np.concatenate([news.curves[0][name] for news in seen]) for name in whole.curves}
    for name, curve in whole.curves.items():
        np.testing.assert_array_equal(joined[name], curve)


class KilledError(Exception):
    pass


def test_a_killed_run_goes_on_to_the_same_result(whole: TrainResult, tmp_path: Path) -> None:
    def kill(news: RunProgress) -> None:
        raise KilledError

    file = tmp_path / "runs" / "one.npz"
    for _ in range(2):
        with pytest.raises(KilledError):
            train(progress=kill, checkpoint=file)
    resumed: list[RunProgress] = []
    assert same(train(progress=resumed.append, checkpoint=file), whole)
    assert [news.steps for news in resumed] == [448]
    assert same(train(checkpoint=file), whole)
    assert not list(file.parent.glob("*.part"))


@pytest.mark.soak
def test_killed_at_any_moment_it_goes_on_to_the_same_result(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        places = (tmp_path / f"{name}.npz", tmp_path / f"{name}-result.npz", tmp_path / "compiled")
        return subprocess.Popen([sys.executable, SCRIPT, *map(str, places)], stdout=subprocess.PIPE, text=True)

    with start("whole") as whole:
        assert whole.stdout is not None
        segments = len(whole.stdout.readlines())
    assert whole.returncode == 0
    seen, rng = [0], np.random.default_rng(0)
    for _ in range(20):
        with start("killed") as run:
            assert run.stdout is not None
            # It may get to its end all the same, while whoever reads is kept waiting.
            seen += map(int, itertools.islice(run.stdout, rng.integers(1, segments // 40)))
            time.sleep(rng.uniform(0, 0.01))
            run.kill()
    with start("killed") as run:
        assert run.wait() == 0
    # Every start went on from what was last saved, which is never older than what was last told.
    assert seen == sorted(set(seen))
    with np.load(tmp_path / "whole-result.npz") as a, np.load(tmp_path / "killed-result.npz") as b:
        assert a.files == b.files
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    train(checkpoint=file)
    with pytest.raises(ValueError, match="belongs to other settings"):
        train(SMALL.replace(seed=1), checkpoint=file)


def test_one_program_serves_the_grid(monkeypatch: pytest.MonkeyPatch, whole: TrainResult) -> None:
    traced = []
    advance = Environment.advance
    monkeypatch.setattr(Environment, "advance", lambda *args: traced.append(1) or advance(*args))
    for changes in (
        {"gamma": 0.0, "aggregation": "averaged", "welfare": "egalitarian", "weight": 0.999},
        {"gamma": 1.0, "horizon": 448, "observation_scale": "relative", "seed": 5, "ends": "termination"},
        {"welfare": "alpha_fair(alpha=2)", "observation_scale": "window", "shaping_discount": 0.99},
        {"observe_memory": False, "learning_rate": 1e-4, "clip": 0.1, "total_steps": 128, "last_share": 0.5},
    ):
        train(SMALL.replace(**changes))
    assert not traced


def test_without_memory_additive_and_averaged_agree_to_the_bit() -> None:
    additive, averaged = (train(SMALL.replace(gamma=0.0, aggregation=a)) for a in ("additive", "averaged"))
    for x, y in zip(*(jax.tree.leaves(r.networks) for r in (additive, averaged)), strict=True):
        np.testing.assert_array_equal(x, y)
    assert additive.final["gini"] == averaged.final["gini"]


def test_seeds_and_keys_are_the_randomness(whole: TrainResult) -> None:
    assert same(train(), whole)
    assert same(train(key=jax.random.key(SMALL.seed)), whole)
    assert not same(train(key=jax.random.key(99)), whole)
    assert not same(train(SMALL.replace(seed=1)), whole)


@pytest.mark.soak
def test_a_run_does_not_depend_on_its_batch(whole: TrainResult) -> None:
    others = SMALL.replace(seed=7, gamma=1.0), SMALL.replace(horizon=100, welfare="egalitarian", total_steps=128)
    (first, _), (_, second) = batch(SMALL, others[0]), batch(others[1], SMALL)
    assert same(first, second)
    # Batched products round differently from single ones.
    for a, b in zip(*(jax.tree.leaves(r.networks) for r in (first, whole)), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-2)


@pytest.mark.soak
def test_runs_of_different_length_share_a_batch() -> None:
    short, long = batch(SMALL.replace(total_steps=128), SMALL)
    assert len(short.curves["steps"]) == 2
    assert len(long.curves["steps"]) == ROLLOUTS
    alone, _ = batch(SMALL.replace(total_steps=128), SMALL.replace(seed=3, total_steps=128))
    assert same(short, alone)


def test_a_loss_that_is_not_finite_stops_its_run_alone() -> None:
    # A learning rate that overflows float32 in a few steps.
    broken, fine = batch(SMALL.replace(learning_rate=1e37), SMALL)
    assert broken.stopped_at == 64
    assert len(broken.curves["steps"]) == 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(broken.networks))
    beside, _ = batch(SMALL, SMALL.replace(seed=1))
    assert fine.stopped_at is None
    assert same(fine, beside)


def test_what_was_learned_before_a_fault_is_kept() -> None:
    shape = runs.shape_of(SMALL, unroll=1)
    advance = runs._compiled(shape, 3, False)
    params, numbers = runs.params_of(SMALL), runs.numbers_of(SMALL)
    state, _ = advance(runs.begin([SMALL], None, shape, False), params, numbers, 2)
    before = jax.tree.map(np.array, state)
    poisoned = state._replace(adam=state.adam._replace(mean=jax.tree.map(lambda m: m * np.nan, state.adam.mean)))
    after, _ = advance(poisoned, params, numbers, 3)
    assert isinstance(after, iterations.RunState)
    assert after.stopped
    assert after.rollouts == 2
    for a, b in zip(jax.tree.leaves(after.networks), jax.tree.leaves(before.networks), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_is_over_stays_as_it_is() -> None:
    shape, numbers = runs.shape_of(SMALL, unroll=1), runs.numbers_of(SMALL.replace(total_steps=64))
    advance = runs._compiled(shape, 3, False)
    state, _ = advance(runs.begin([SMALL], None, shape, False), runs.params_of(SMALL), numbers, 1)
    over = jax.tree.map(np.array, state)
    state, _ = advance(state, runs.params_of(SMALL), numbers, 2)
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(over), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def double() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    assert jax.numpy.zeros(1).dtype == np.float64
    jax.config.update("jax_enable_x64", False)


def test_numbers_of_64_bits_elsewhere_change_nothing(whole: TrainResult, double: None) -> None:
    assert same(train(), whole)


@pytest.mark.soak
@pytest.mark.parametrize("name", learners.names())
def test_every_learner_trains_where_numbers_have_64_bits(name: str, double: None) -> None:
    settings = SMALL.replace(learner=name, update_every=4, sequence=SMALL.batch_size)
    result = train(settings, evaluation_episodes=2)
    assert result.stopped_at is None
    assert {leaf.dtype for leaf in jax.tree.leaves(result.networks)} == {np.dtype(np.float32)}
    assert evaluate(result.policy, episodes=2).mean.keys() == result.played.sampled.keys()


def test_a_batch_must_be_of_one_shape() -> None:
    with pytest.raises(ValueError, match="must agree in sizes"):
        train_batch([SMALL, SMALL.replace(n_agents=5)])
    with pytest.raises(ValueError, match="at least one run"):
        train_batch([])
