"""Runs from the host: one or many, in segments, with progress, checkpoints and results.

A run is advanced a few rollouts at a time by one compiled program. Between two segments its whole state is plain
arrays: curves stream out, memory does not grow, and a run that was killed goes on from its last checkpoint to the same
result, to the bit. On an accelerator many runs are one batch. On a CPU each run has its own process with
single-threaded linear algebra, because batches of small matrix products are slow there.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from bygones._arrays import Json, check_count
from bygones.envs.functional import Environment, EnvParams, arrays_of
from bygones.envs.problem import FairProblem, Params
from bygones.learn import checkpoints, iterations, learners
from bygones.learn.actors import actor_of
from bygones.learn.checkpoints import Checkpoint
from bygones.learn.descriptions import AnyRun, Run, as_run, check_registered
from bygones.learn.evaluation import Played, played
from bygones.learn.networks import Networks
from bygones.learn.normalisation import Normaliser
from bygones.learn.policy import TrainedPolicy
from bygones.learn.programs import make_room, row, single_precision, stacked
from bygones.learn.settings import Settings

SEGMENT = 16
"""Rollouts between two looks at a run: some half a second on a CPU core."""


class RunProgress(NamedTuple):
    """How far some runs are, after each segment."""

    runs: tuple[int, ...]
    """Which runs, as positions in the list of runs."""
    steps: int
    """How many steps each of them has taken."""
    total_steps: int
    curves: tuple[dict[str, np.ndarray], ...]
    """The points that are new on each run's curves."""


Watch = Callable[[RunProgress], None]
"""Called with the progress of some runs after each segment."""


@dataclass(frozen=True, repr=False)
class TrainResult:
    """The result of a run.

    Attributes:
        settings: the settings of the run.
        networks: the trained networks, as NumPy arrays.
        curves: one entry per rollout: `steps` taken so far, `episodes` that ended in it, the mean of each episode
            metric over them (NaN where none ended), and `reward`, `policy_loss`, `value_loss` and
            `explained_variance` of the rollout.
        final: the mean of each episode metric over the last episodes, a share `settings.last_share` of all.
        stopped_at: None, or after how many steps the loss was no longer finite; the networks are those before.
        custom_problem: None, or the problem that was learned instead of the one that the settings describe.
        normaliser: None, or the statistics of all observations (observation scale "running").
        played: None, or the results of the policy in episodes played after training.
    """

    settings: Settings
    networks: Networks
    curves: dict[str, np.ndarray]
    final: dict[str, float]
    stopped_at: int | None
    custom_problem: FairProblem | None = None
    normaliser: Normaliser | None = None
    played: Played | None = None

    def __repr__(self) -> str:
        final = ", ".join(f"{name} {value:.3g}" for name, value in self.final.items())
        return f"<TrainResult after {int(self.curves['steps'][-1]):,} steps: {final}>"

    @property
    def policy(self) -> TrainedPolicy:
        """The trained policy, ready to act and to be saved."""
        return TrainedPolicy(self.settings, self.networks, self.custom_problem, self.normaliser)


def train(
    run: AnyRun,
    key: jax.Array | None = None,
    *,
    problem: FairProblem | None = None,
    learner: str | None = None,
    **options: Any,
) -> TrainResult:
    """Trains one policy.

    Args:
        run: settings of the paper's problem; or a problem, which is learned with the default settings.
        key: the randomness of the run; by default the seed of the settings.
        problem: the problem to learn, instead of the one that the settings describe. Any memory, welfare and needs will
            do; of the settings only the learner's are used.
        learner: the learner, instead of the one that the settings name; see `bygones.learn.learners`.
        options: arguments of `train_batch`.
    """
    chosen = as_run(run, problem)
    if learner is not None:
        chosen = Run(chosen.settings.replace(learner=learner), chosen.custom_problem)
    return train_batch([chosen], None if key is None else jnp.stack([key]), **options)[0]


@single_precision()
def train_batch(
    runs: Sequence[AnyRun],
    keys: jax.Array | None = None,
    *,
    progress: Watch | None = None,
    checkpoint: Path | str | None = None,
    segment: int = SEGMENT,
    batched: bool | None = None,
    evaluation_episodes: int = 0,
    **choices: Any,
) -> list[TrainResult]:
    """Runs of one shape, advanced together in this process.

    Args:
        runs: sizes of networks, rollouts and observations must be equal, and so must the kinds of memory, welfare and
            needs (all α-fair welfare functions are one kind); all else may differ.
        keys: one key per run; by default the seeds of the settings. Initial networks always come from the seeds.
        progress: called after every segment.
        checkpoint: a file to which the runs are saved after every segment, and from which they go on if it exists; see
            `checkpoints`.
        segment: rollouts between two looks at the runs.
        batched: whether the runs are one batched program; by default yes if there are several. A run's numbers depend
            on this choice in their last digits, but not on the other runs of the batch.
        evaluation_episodes: how many episodes each policy plays when it has been trained, both with sampled and with
            greedy actions; none by default. Training does not depend on it.
        choices: implementation choices of `iterations.Shape` (`flat`, `unroll`, `precision`), for measuring them.

    Raises:
        BlockingIOError: another process is training the runs of this checkpoint.
        ValueError: the checkpoint is of other runs, or the runs do not make a batch.
    """
    batch = [as_run(run) for run in runs]
    shape = _common_shape(batch, choices)
    check_count("segment", segment)
    check_count("evaluation_episodes", evaluation_episodes, 0)
    make_room()
    batched = len(batch) > 1 if batched is None else batched
    params, numbers = (stacked([of(run) for run in batch], batched) for of in (params_of, numbers_of))
    total = max(run.settings.rollouts for run in batch)
    advance = _compiled(shape, segment, batched)
    file, name = None if checkpoint is None else Path(checkpoint), digest(batch)
    with nullcontext() if file is None else checkpoints.reserved(file):
        saved = None if file is None else checkpoints.load(file, name)
        if saved is None:
            points: list[dict[str, np.ndarray]] = []
            done, state = 0, begin(batch, keys, shape, batched)
        else:
            done, points = saved.done, [dict(saved.curves)]
            state = _restored(saved, jax.eval_shape(lambda: begin(batch, keys, shape, batched)), file)
        while done < total:
            count = min(segment, total - done)
            state, curve = advance(state, params, numbers, count)
            points.append(_rows(curve, count, batched))
            done += count
            if file is not None:
                curves = {each: np.concatenate([some[each] for some in points], axis=1) for each in points[0]}
                checkpoints.save(file, name, Checkpoint(done, jax.tree.leaves(state), curves))
            if progress is not None:
                new = tuple(_curves(points[-1:], run.settings, i, done - count) for i, run in enumerate(batch))
                steps = done * shape.rollout_steps
                progress(RunProgress(tuple(range(len(batch))), steps, total * shape.rollout_steps, new))
    host = jax.tree.map(np.asarray, state)
    results = [_result(run, row(host, i) if batched else host, points, i) for i, run in enumerate(batch)]
    if not evaluation_episodes:
        return results
    precision = {name: choice for name, choice in choices.items() if name == "precision"}
    came_to = played([result.policy for result in results], evaluation_episodes, batched=batched, **precision)
    return [dataclasses.replace(result, played=one) for result, one in zip(results, came_to, strict=True)]


def begin(
    runs: Sequence[AnyRun], keys: jax.Array | None, shape: iterations.Shape, batched: bool
) -> iterations.RunState:
    """Runs before their first rollout; without keys, their seeds are their randomness."""
    settings = [as_run(run).settings for run in runs]
    starts = [shape.actor.initial(one.seed) for one in settings]
    if keys is None:
        keys = jax.vmap(jax.random.key)(np.array([one.seed for one in settings], np.uint32))
    networks, params = (stacked(trees, batched) for trees in (starts, [params_of(run) for run in runs]))
    return _begin(batched)(keys if batched else keys[0], networks, params, shape)


def shape_of(run: AnyRun, **choices: Any) -> iterations.Shape:
    """The constants of the compiled program of a run."""
    run = as_run(run)
    return iterations.Shape(
        environment=Environment.of(run.problem),
        actor=actor_of(run.settings, run.problem),
        rollout_steps=run.settings.rollout_steps,
        batch_size=run.settings.batch_size,
        epochs=run.settings.epochs,
        entropy=run.settings.entropy_weight > 0,
        normalises=run.problem.observation_scale == "running",
        learner=learners.made(run.settings),
        **{"flat": jax.default_backend() == "cpu", **choices},
    )


def program_of(run: AnyRun, **choices: Any) -> Hashable:
    """The things that runs of one batch must have in common: their shape, and the structure of their numbers."""
    shape = shape_of(run, **choices)
    leaves, structure = jax.tree.flatten(params_of(run))
    return shape, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)


def numbers_of(run: AnyRun) -> iterations.Numbers:
    """The learner's numbers of a run."""
    settings = as_run(run).settings
    values = (getattr(settings, name) for name in iterations.Numbers._fields)
    return iterations.Numbers(*(np.asarray(v, np.int32 if isinstance(v, int) else np.float32) for v in values))


def params_of(run: AnyRun) -> Params:
    """The environment's numbers of a run, as arrays: equal types for every run, hence one compiled program."""
    run = as_run(run)
    check_registered(run.problem)
    return arrays_of(run.problem, run.settings.policy == "mlp")


def digest(runs: Sequence[AnyRun]) -> str:
    """A short name for these runs, different for different settings and problems."""
    text = json.dumps([as_run(run).distinction() for run in runs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _begin(batched: bool) -> Callable[..., iterations.RunState]:
    def one(key: jax.Array, networks: Networks, params: EnvParams, shape: iterations.Shape) -> iterations.RunState:
        return shape.learner.begin(key, networks, params, shape)

    begun = jax.vmap(one, in_axes=(0, 0, 0, None)) if batched else one
    return jax.jit(begun, static_argnums=3)


@functools.cache
def _compiled(shape: iterations.Shape, most: int, batched: bool) -> Callable[..., iterations.Iteration]:
    advance = functools.partial(iterations.segment, shape=shape, most=most)
    if batched:
        advance = jax.vmap(advance, in_axes=(0, 0, 0, None))
    return jax.jit(advance, donate_argnums=0)


def _common_shape(runs: Sequence[Run], choices: Json) -> iterations.Shape:
    if not runs:
        raise ValueError("runs must hold at least one run, got none")
    first = program_of(runs[0], **choices)
    for run in runs[1:]:
        if program_of(run, **choices) != first:
            raise ValueError(
                f"runs of one batch must agree in sizes (agents, resources, d observed, rollout, batch, epochs, "
                f"hidden, entropy bonus or not), in policy, and in kinds of memory, welfare and needs, got {runs[0]} "
                f"and {run}"
            )
    return shape_of(runs[0], **choices)


def _restored(saved: Checkpoint, like: iterations.RunState, file: Path | None) -> iterations.RunState:
    """The state in a checkpoint, which must have the arrays of `like`."""
    leaves, structure = jax.tree.flatten(like)
    if [(leaf.shape, leaf.dtype) for leaf in saved.state] != [(leaf.shape, leaf.dtype) for leaf in leaves]:
        raise ValueError(
            f"checkpoint {file} does not fit these runs: it is of another version of bygones, or of another `batched`; "
            "remove it to start over"
        )
    return cast(iterations.RunState, jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in saved.state]))


def _rows(curve: iterations.CurvePoint, count: int, batched: bool) -> dict[str, np.ndarray]:
    """New points on the curves, as arrays of shape (runs, count)."""
    host = jax.tree.map(lambda leaf: np.asarray(leaf) if batched else np.asarray(leaf)[None], curve)
    named = {**{f"sum_{name}": value for name, value in host.sums.items()}, **host._asdict()}
    return {name: value[:, :count] for name, value in named.items() if name != "sums"}


def _curves(points: list[dict[str, np.ndarray]], settings: Settings, row: int, done: int = 0) -> dict[str, np.ndarray]:
    """The curves of one run, from sums over episodes to means."""
    joined = {name: np.concatenate([some[name][row] for some in points]) for name in points[0]}
    episodes = joined.pop("episodes")
    steps = settings.rollout_steps * (done + 1 + np.arange(len(episodes)))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {name.removeprefix("sum_"): v / episodes for name, v in joined.items() if name.startswith("sum_")}
    others = {name: value for name, value in joined.items() if not name.startswith("sum_")}
    return {"steps": steps, "episodes": episodes, **means, **others}


def _result(run: Run, state: iterations.RunState, points: list[dict[str, np.ndarray]], row: int) -> TrainResult:
    learned = int(state.rollouts)
    curves = {name: value[:learned] for name, value in _curves(points, run.settings, row).items()}
    counted = int(state.counted)
    final = {name: float(value) / counted if counted else float("nan") for name, value in state.counted_sums.items()}
    stopped_at = (learned + 1) * run.settings.rollout_steps if state.stopped else None
    return TrainResult(run.settings, state.networks, curves, final, stopped_at, run.custom_problem, state.normaliser)
