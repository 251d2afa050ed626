"""The updates in machine code: what XLA computes, on every shape, and no less watchful."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from bygones.learn import iterations, native, networks, ppo, runs
from bygones.learn.networks import Networks
from bygones.learn.settings import Settings

SMALL = Settings(n_agents=4, rollout_steps=64, batch_size=16, epochs=3, hidden=(8, 6), horizon=20, total_steps=64)


def some_samples(settings: Settings, seed: int = 0) -> tuple[Networks, iterations.Adam, ppo.Samples, Any]:
    """Networks in the midst of learning, and something to learn from."""
    rng = np.random.default_rng(seed)
    env, steps = runs.shape_of(settings).environment, settings.rollout_steps

    def noise(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    start = networks.initial(seed, env.observation_size, env.n_actions, settings.hidden)
    start = jax.tree.map(lambda leaf: leaf + 0.1 * noise(*leaf.shape), start)
    mean, square = (jax.tree.map(lambda leaf: 1e-3 * noise(*leaf.shape), start) for _ in range(2))
    adam = iterations.Adam(mean, jax.tree.map(np.square, square), np.array(7, np.int32))
    actions = rng.integers(0, env.n_actions, steps, np.int32)
    observed = noise(steps, env.observation_size)
    log_probs = np.log(1 / env.n_actions) + 0.2 * noise(steps)
    samples = ppo.Samples(observed, actions, log_probs, noise(steps), 3 + noise(steps))
    order = np.stack([rng.permutation(steps) for _ in range(settings.epochs)]).astype(np.int32)
    return start, adam, samples, order


def vector(tree: Any) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def off(ours: Networks, theirs: Networks, start: Networks) -> float:
    """The distance between the two, as a share of the distance travelled."""
    a, b, origin = map(vector, (ours, theirs, start))
    return float(np.linalg.norm(a - b) / np.linalg.norm(b - origin))


@pytest.mark.soak
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hidden": (5,)},
        {"hidden": (7, 3, 9), "batch_size": 64},
        {"entropy_weight": 0.02},
        {"clip": 0.01, "max_grad_norm": 100.0, "value_weight": 0.1},
        {"observe_denominator": True, "n_resources": 1, "learning_rate": 0.01},
    ],
    ids=str,
)
def test_it_is_what_xla_computes(changes: dict[str, Any]) -> None:
    settings = SMALL.replace(**changes)
    start, adam, samples, order = some_samples(settings)
    numbers, shape = runs.numbers_of(settings), runs.shape_of(settings)
    theirs = jax.jit(functools.partial(ppo.improve, shape=shape))(start, adam, samples, order, numbers)
    ours = native.improve(start, adam, samples, order, numbers, settings.batch_size)
    assert jax.tree.structure(ours[:2]) == jax.tree.structure(theirs[:2])
    assert off(ours[0], theirs[0], start) < 1e-5
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(vector(a), vector(b), rtol=1e-4, atol=1e-4 * np.abs(vector(b)).max())
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-5, atol=1e-6)


def test_the_same_bits_every_time_and_nothing_given_is_changed() -> None:
    start, adam, samples, order = some_samples(SMALL)
    before = vector((start, adam, samples, order))
    numbers = runs.numbers_of(SMALL)
    first, second = (native.improve(start, adam, samples, order, numbers, 16) for _ in range(2))
    np.testing.assert_array_equal(vector(first), vector(second))
    np.testing.assert_array_equal(vector((start, adam, samples, order)), before)


@pytest.mark.parametrize("field", ["observations", "log_probs", "advantages", "returns"])
def test_what_is_not_a_number_is_noticed(field: str) -> None:
    start, adam, samples, order = some_samples(SMALL)
    spoiled = np.array(getattr(samples, field))
    spoiled[5] = np.nan
    _, _, losses = native.improve(
        start, adam, samples._replace(**{field: spoiled}), order, runs.numbers_of(SMALL), SMALL.batch_size
    )
    assert not np.isfinite(losses).all()


def test_tanh_is_within_five_units_in_the_last_place() -> None:
    x = np.concatenate([np.geomspace(1e-30, 50, 20_000), [0.0, np.inf]]).astype(np.float32)
    exact = np.tanh(x.astype(np.float64))
    ours = np.array([native._tanh(v) for v in x], np.float64)
    assert (np.abs(ours - exact) <= 5 * np.spacing(exact.astype(np.float32))).all()
    np.testing.assert_array_equal([native._tanh(-v) for v in x[::100]], -ours[::100])
    assert np.isnan(native._tanh(np.float32(np.nan)))


def test_exponentials_are_within_a_few_units_in_the_last_place() -> None:
    x = -np.concatenate([[0.0], np.geomspace(1e-30, 80, 20_000)]).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    ours = x.copy()
    native._exponentials(ours)
    # A rounding of x·log₂e, a digit of x lost for every power of two.
    np.testing.assert_allclose(ours, exact, rtol=5e-6)
    near = x > -20
    np.testing.assert_allclose(ours[near], exact[near], rtol=1e-6)
    far = np.array([-1000.0, -np.inf, np.nan], np.float32)
    native._exponentials(far)
    assert (far[:2] < 1e-37).all()
    assert np.isnan(far[2])


def test_nowhere_to_keep_what_was_compiled_is_no_obstacle(tmp_path: Path) -> None:
    """In a process of its own: the package cannot be written to, and there is no home."""
    package = Path(shutil.copytree(Path(native.__file__).parents[1], tmp_path / "bygones"))
    cache = package / "learn" / "__pycache__"
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_text("a file in the way of the folder")
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    program = "import numpy; from bygones.learn import native; print(native._tanh(numpy.float32(0.0)), native.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path), **nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.0", str(package / "learn" / "native.py")]


def read_as_python(monkeypatch: pytest.MonkeyPatch, original: str = "", replacement: str = "") -> Any:
    """The module's `improve` run by Python itself, with some words of it replaced."""
    text = Path(native.__file__).read_text()
    assert original in text
    monkeypatch.setattr("numba.njit", lambda **_: lambda function: function)
    names: dict[str, Any] = {"__name__": "native_in_python"}
    exec(compile(text.replace(original, replacement), native.__file__, "exec"), names)
    return names["improve"]


SPOILED = {
    "population deviation": ("(len(batch) - 1)", "len(batch)"),
    "elementwise clip": ("gradient[i] * factor", "min(max(gradient[i], -max_grad_norm), max_grad_norm)"),
    "another epsilon": ("root + adam_eps", "root + _f(1e-8)"),
    "ratios not clipped": ("pull = -gain * share if gain <= bounded else _0", "pull = -gain * share"),
    "no derivative of tanh": ("_1 - x[i, j] * x[i, j]", "_1"),
    "no correction of the mean": ("_f(-math.expm1(count * _LOG_BETAS[0]))", "_1"),
}


def test_python_reads_it_as_the_machine_does(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SMALL.replace(entropy_weight=0.01, epochs=2)
    start, adam, samples, order = some_samples(settings)
    arguments = (start, adam, samples, order, runs.numbers_of(settings), settings.batch_size)
    with np.errstate(all="ignore"):
        read = read_as_python(monkeypatch)(*arguments)
    assert off(read[0], native.improve(*arguments)[0], start) < 1e-5


@pytest.mark.parametrize(("original", "replacement"), SPOILED.values(), ids=SPOILED)
def test_any_slip_would_show(original: str, replacement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, adam, samples, order = some_samples(SMALL)
    given = (start, adam, samples, order[:1], runs.numbers_of(SMALL), SMALL.batch_size)
    with np.errstate(all="ignore"):
        spoiled = read_as_python(monkeypatch, original, replacement)(*given)
    assert off(spoiled[0], native.improve(*given)[0], start) > 1e-4
