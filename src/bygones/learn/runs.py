"""Runs from the host: one or many, in segments, with progress, checkpoints and results.

A run is advanced a few rollouts at a time by one compiled program. Between two segments its whole state is plain
arrays: curves stream out, memory does not grow, and a run that was killed goes on from its last checkpoint to the same
result, to the bit. On an accelerator many runs are one batch. On a CPU each run has a process of its own with
single-threaded linear algebra, because batches of small matrix products are slow there.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Array, check_count
from bygones.learn import networks, ppo
from bygones.learn.environment import FunctionalAllocation
from bygones.learn.networks import Networks
from bygones.learn.settings import Settings

SEGMENT = 16
"""Rollouts between two looks at a run: some half a second on a CPU core."""


class RunProgress(NamedTuple):
    """News of some runs, after each segment."""

    runs: tuple[int, ...]
    """Which runs, as positions in the list of settings."""
    steps: int
    """How many steps each of them has been taken through."""
    total_steps: int
    curves: tuple[dict[str, Array], ...]
    """The points that are new on each run's curves."""


Watch = Callable[[RunProgress], None]


@dataclass(frozen=True)
class TrainResult:
    """What a run came to.

    Attributes:
        settings: what was run.
        networks: what was learned, as NumPy arrays.
        curves: one entry per rollout: `steps` taken so far, `episodes` that ended in it, the mean of each episode
            metric over them (NaN where none ended), and `reward`, `policy_loss`, `value_loss` and
            `explained_variance` of the rollout.
        final: the mean of each episode metric over the last episodes, a share `settings.last_share` of all.
        stopped_at: None, or after how many steps the loss was no longer finite; the networks are those before.
    """

    settings: Settings
    networks: Networks
    curves: dict[str, Array]
    final: dict[str, float]
    stopped_at: int | None


def train(settings: Settings, key: Array | None = None, **options: Any) -> TrainResult:
    """A whole run. Without a key, the settings' seed is its randomness. Options are those of `train_batch`."""
    return train_batch([settings], None if key is None else jnp.stack([key]), **options)[0]


def train_batch(
    settings: Sequence[Settings],
    keys: Array | None = None,
    *,
    progress: Watch | None = None,
    checkpoint: Path | str | None = None,
    segment: int = SEGMENT,
    batched: bool | None = None,
    native: bool | None = None,
    **choices: Any,
) -> list[TrainResult]:
    """Runs of one shape, advanced together in this process.

    Args:
        settings: the runs; sizes of networks, rollouts and observations must be equal, all else may differ.
        keys: one key per run; by default the seeds of the settings. Initial networks always come from the seeds.
        progress: told after every segment.
        checkpoint: a file to which the runs are saved after every segment, and from which they go on if it exists.
        segment: rollouts between two looks at the runs.
        batched: whether the runs are one batched program; by default yes if there are several. A run's numbers
            depend on this choice in their last digits, but not on what else is in the batch.
        native: whether a run's updates are machine code of this processor instead of XLA's; by default wherever they
            can be: on a CPU, not batched, with Numba installed. The numbers depend on this in their last digits too.
        choices: implementation choices of `ppo.Shape` (`flat`, `unroll`, `precision`), for measuring them.
    """
    shape = _common_shape(settings, choices)
    check_count("segment", segment)
    batched = len(settings) > 1 if batched is None else batched
    params, numbers = (_stack([of(run) for run in settings], batched) for of in (params_of, numbers_of))
    total = max(run.rollouts for run in settings)
    saved = _load(checkpoint, settings) if checkpoint is not None else None
    if saved is None:
        points: list[dict[str, Array]] = []
        done, state = 0, begin(settings, keys, shape, batched)
    else:
        done, leaves, points = saved
        like = jax.eval_shape(lambda: begin(settings[:1], None, shape, batched))
        state = jax.tree.unflatten(jax.tree.structure(like), [jnp.asarray(leaf) for leaf in leaves])
    native = can_be_native() and not batched if native is None else native
    if native and batched:
        raise ValueError("native updates are of one run at a time: say native=False or batched=False")
    if native and not can_be_native():
        raise ValueError("native=True needs Numba, which is not installed: pip install 'bygones[learn]'")
    advance = _native(shape) if native else _compiled(shape, segment, batched)
    while done < total:
        count = min(segment, total - done)
        state, curve = advance(state, params, numbers, count)
        points.append(_rows(curve, count, batched))
        done += count
        if checkpoint is not None:
            _save(checkpoint, settings, done, jax.tree.leaves(state), points)
        if progress is not None:
            news = tuple(_curves(points[-1:], run, i, done - count) for i, run in enumerate(settings))
            steps = done * shape.rollout_steps
            progress(RunProgress(tuple(range(len(settings))), steps, total * shape.rollout_steps, news))
    host = jax.tree.map(np.asarray, state)
    return [_result(run, _row(host, i) if batched else host, points, i) for i, run in enumerate(settings)]


def begin(settings: Sequence[Settings], keys: Array | None, shape: ppo.Shape, batched: bool) -> ppo.RunState:
    """Runs before their first rollout; without keys, their seeds are their randomness."""
    env = shape.environment
    starts = [networks.initial(run.seed, env.observation_size, env.n_actions, run.hidden) for run in settings]
    if keys is None:
        keys = jax.vmap(jax.random.key)(np.array([run.seed for run in settings], np.uint32))
    said = (_stack(starts, batched), _stack([params_of(run) for run in settings], batched))
    begun: ppo.RunState = _begin(batched)(keys if batched else keys[0], *said, shape)
    return begun


def can_be_native() -> bool:
    """Whether updates can be machine code of this processor: on a CPU, with Numba installed."""
    return jax.default_backend() == "cpu" and importlib.util.find_spec("numba") is not None


def shape_of(settings: Settings, **choices: Any) -> ppo.Shape:
    """What is fixed when the program of a run is compiled."""
    said = {"flat": jax.default_backend() == "cpu", **choices}
    return ppo.Shape(
        environment=FunctionalAllocation.of(settings.problem()),
        rollout_steps=settings.rollout_steps,
        batch_size=settings.batch_size,
        epochs=settings.epochs,
        entropy=settings.entropy_weight > 0,
        **said,
    )


def numbers_of(settings: Settings) -> ppo.Numbers:
    """The learner's numbers of a run."""
    said = {name: getattr(settings, name) for name in ppo.Numbers._fields}
    return ppo.Numbers(*(np.asarray(v, np.int32 if isinstance(v, int) else np.float32) for v in said.values()))


def params_of(settings: Settings) -> Any:
    """The environment's numbers of a run, as arrays: equal types for every run, hence one compiled program."""
    kinds = {"b": np.bool_, "i": np.int32, "f": np.float32}
    return jax.tree.map(lambda leaf: np.asarray(leaf, kinds[np.asarray(leaf).dtype.kind]), settings.problem().params())


def digest(settings: Sequence[Settings]) -> str:
    """A short name for these runs, different for different settings."""
    said = json.dumps([run.to_dict() for run in settings], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


@functools.cache
def _begin(batched: bool) -> Callable[..., ppo.RunState]:
    one = ppo.begin
    begun = jax.vmap(one, in_axes=(0, 0, 0, None)) if batched else one
    compiled: Callable[..., ppo.RunState] = jax.jit(begun, static_argnums=3)
    return compiled


@functools.cache
def _native(shape: ppo.Shape) -> Callable[..., tuple[ppo.RunState, ppo.CurvePoint]]:
    """As `_compiled`, with the updates of `native`."""
    from bygones.learn import native

    gather = jax.jit(functools.partial(ppo.experience, shape=shape))

    def advance(
        state: ppo.RunState, params: Any, numbers: ppo.Numbers, count: int
    ) -> tuple[ppo.RunState, ppo.CurvePoint]:
        points = []
        for _ in range(count):
            samples, order, onward, curve = gather(state, params, numbers)
            learned = native.improve(state.networks, state.adam, samples, order, numbers, shape.batch_size)
            state, curve = native.settle(state, onward, curve, *learned, numbers)
            points.append(jax.tree.map(np.asarray, curve))
        return state, jax.tree.map(lambda *all_: np.stack(all_), *points)

    return advance


@functools.cache
def _compiled(shape: ppo.Shape, most: int, batched: bool) -> Callable[..., tuple[ppo.RunState, ppo.CurvePoint]]:
    advance = functools.partial(ppo.segment, shape=shape, most=most)
    if batched:
        advance = jax.vmap(advance, in_axes=(0, 0, 0, None))
    compiled: Callable[..., tuple[ppo.RunState, ppo.CurvePoint]] = jax.jit(advance, donate_argnums=0)
    return compiled


def _common_shape(settings: Sequence[Settings], choices: dict[str, Any]) -> ppo.Shape:
    if not settings:
        raise ValueError("settings must hold at least one run, got none")
    first = shape_of(settings[0], **choices)
    for run in settings[1:]:
        if shape_of(run, **choices) != first or run.hidden != settings[0].hidden:
            raise ValueError(
                f"settings of one batch must agree in sizes (agents, resources, d observed, rollout, batch, epochs, "
                f"hidden, entropy bonus or not), got {settings[0]} and {run}"
            )
    return first


def _stack(trees: Sequence[Any], batched: bool) -> Any:
    """Trees of NumPy arrays as one tree with the runs along the first axis; a single run as it is."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees) if batched else trees[0]


def _row(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _rows(curve: ppo.CurvePoint, count: int, batched: bool) -> dict[str, Array]:
    """New points on the curves, as arrays of shape (runs, count)."""
    host = jax.tree.map(lambda leaf: np.asarray(leaf) if batched else np.asarray(leaf)[None], curve)
    named = {**{f"sum_{name}": value for name, value in host.sums.items()}, **host._asdict()}
    return {name: value[:, :count] for name, value in named.items() if name != "sums"}


def _curves(points: list[dict[str, Array]], settings: Settings, run: int, done: int = 0) -> dict[str, Array]:
    """The curves of one run, from sums over episodes to means."""
    joined = {name: np.concatenate([some[name][run] for some in points]) for name in points[0]}
    episodes = joined.pop("episodes")
    steps = settings.rollout_steps * (done + 1 + np.arange(len(episodes)))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {name.removeprefix("sum_"): v / episodes for name, v in joined.items() if name.startswith("sum_")}
    others = {name: value for name, value in joined.items() if not name.startswith("sum_")}
    return {"steps": steps, "episodes": episodes, **means, **others}


def _result(settings: Settings, state: ppo.RunState, points: list[dict[str, Array]], run: int) -> TrainResult:
    learned = int(state.rollouts)
    curves = {name: value[:learned] for name, value in _curves(points, settings, run).items()}
    counted = int(state.counted)
    final = {name: float(value) / counted if counted else float("nan") for name, value in state.counted_sums.items()}
    stopped_at = (learned + 1) * settings.rollout_steps if state.stopped else None
    return TrainResult(settings, state.networks, curves, final, stopped_at)


def _save(
    path: Path | str, settings: Sequence[Settings], done: int, leaves: list[Array], points: list[dict[str, Array]]
) -> None:
    """Writes a checkpoint; the old one stays whole until the new one is."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    curves = {f"curve_{name}": np.concatenate([some[name] for some in points], axis=1) for name in points[0]}
    state = {f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, runs=np.array(digest(settings)), done=np.array(done), **curves, **state)
    os.replace(unfinished, path)


def _load(path: Path | str, settings: Sequence[Settings]) -> tuple[int, list[Array], list[dict[str, Array]]] | None:
    """The checkpoint of these runs, None if there is none yet; that of other runs is refused."""
    path = Path(path)
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        if str(file["runs"]) != digest(settings):
            raise ValueError(f"checkpoint {path} is of other settings; choose another file or remove it")
        count = sum(name.startswith("state_") for name in file.files)
        points = {name.removeprefix("curve_"): file[name] for name in file.files if name.startswith("curve_")}
        return int(file["done"]), [file[f"state_{i}"] for i in range(count)], [points]
