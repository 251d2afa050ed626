"""Where runs are trained: in processes on CPU cores, in batches on an accelerator, or on a Ray cluster.

Each place is a generator. It takes runs, yields them as they finish, and calls `progress` on the way. The randomness of
a run comes from its own settings, so neither the place nor the order nor the other runs change its result.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax

from bygones._arrays import check_count
from bygones.learn import processes, ray_tasks
from bygones.learn.descriptions import AnyRun, as_run
from bygones.learn.runs import SEGMENT, RunProgress, TrainResult, Watch, digest, program_of, train_batch

AnyRunT = TypeVar("AnyRunT", bound=AnyRun)

Trainer = Callable[[Sequence[AnyRunT], Watch], list[TrainResult]]
"""Trains some runs together and reports their progress. It is pickled; `learner` by default."""

MOST_IN_A_BATCH = 1000
"""Runs in one batch on an accelerator, by default: the paper's whole grid."""


class Finished(NamedTuple):
    """Runs that were trained together."""

    runs: tuple[int, ...]
    """Which runs, as positions in the list of runs."""
    results: list[TrainResult]
    seconds: float
    """How long their training took."""


def train_many(
    runs: Iterable[AnyRun],
    *,
    progress: Watch | None = None,
    checkpoints: Path | str | None = None,
    segment: int = SEGMENT,
    batch: int | None = None,
    workers: int | None = None,
    **choices: Any,
) -> list[TrainResult]:
    """Trains many runs and returns their results in the order in which the runs were given.

    Args:
        runs: settings, problems or runs, as of `train`; they may differ in anything.
        progress: called in this process, with some of the runs, after every segment.
        checkpoints: a folder; runs that were stopped resume from it, runs that were finished are read from it.
        segment: rollouts between two looks at a run.
        batch: how many runs make one batched program; by default 1 on a CPU, else as many as can be, up to 1000.
        workers: processes, when runs are not batched; by default one per core that this process may use.
        choices: implementation choices, as of `train_batch`.
    """
    todo = list(runs)
    most = check_count("batch", batch) if batch is not None else MOST_IN_A_BATCH if has_accelerator() else 1
    workers = min(check_count("workers", processes.usable_cores() if workers is None else workers), len(todo))
    folder = None if checkpoints is None else Path(checkpoints)
    trainer = functools.partial(_resuming, checkpoints=folder, segment=segment, batched=most > 1, **choices)
    watch = progress or (lambda _: None)
    if most > 1 or workers <= 1:
        places = in_batches(todo, watch, most=most, trainer=trainer)
    else:
        places = in_processes(todo, watch, workers=workers, trainer=trainer)
    results: dict[int, TrainResult] = {}
    with closing(places) as finished:
        for group in finished:
            results.update(zip(group.runs, group.results, strict=True))
    return [results[i] for i in range(len(todo))]


def cache_compilations(folder: Path | str | None = None) -> None:
    """Keeps compiled programs on disk, so the next process need not compile them again.

    Args:
        folder: by default the one in JAX's own setting (`JAX_COMPILATION_CACHE_DIR`), else one in the user's cache.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    config: Any = jax.config
    folder = folder or config.jax_compilation_cache_dir or home / "bygones" / "compiled"
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def learner(runs: Sequence[AnyRun], progress: Watch, evaluation_episodes: int = 0) -> list[TrainResult]:
    """Trains runs of one program; on an accelerator always as a batch, even a single run."""
    cache_compilations()
    batched = len(runs) > 1 or has_accelerator()
    return train_batch(runs, progress=progress, batched=batched, evaluation_episodes=evaluation_episodes)


def in_processes(
    runs: Sequence[AnyRunT], progress: Watch, *, workers: int | None = None, trainer: Trainer[AnyRunT] = learner
) -> Generator[Finished]:
    """One run per process, as many processes as there are cores, each with single-threaded linear algebra.

    Raises:
        processes.WorkerDiedError: a worker was killed.
    """
    workers = check_count("workers", processes.usable_cores() if workers is None else workers)
    config: Any = jax.config
    cache = config.jax_compilation_cache_dir
    kept = {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(config.jax_persistent_cache_min_compile_time_secs),
    }
    training = processes.in_processes(
        _train_some,
        [((position,), [run], trainer) for position, run in enumerate(runs)],
        lambda _, news: progress(news),
        workers=workers,
        environment={**processes.one_core(), **(kept if cache else {})},
    )
    with closing(training):
        for _, finished in training:
            yield finished


def in_batches(
    runs: Sequence[AnyRunT], progress: Watch, *, most: int = MOST_IN_A_BATCH, trainer: Trainer[AnyRunT] = learner
) -> Generator[Finished]:
    """Batch after batch in this process, each a program on its accelerator."""
    for positions in batches(runs, most):
        yield _train_some(progress, positions, [runs[position] for position in positions], trainer)


def on_ray(
    runs: Sequence[AnyRunT], progress: Watch, *, address: str | None = None, trainer: Trainer[AnyRunT] = learner
) -> Generator[Finished]:
    """One run per task of a Ray cluster, or of Ray on this machine without an address; lost tasks are run again."""
    tasks = [((position,), [run], trainer) for position, run in enumerate(runs)]
    reached = [0] * len(runs)

    def pass_on(news: RunProgress) -> None:
        # A result may overtake the last news of its run, and a run that was lost begins again.
        (position,) = news.runs
        if news.steps > reached[position]:
            reached[position] = news.steps
            progress(news)

    training = ray_tasks.in_tasks(_train_some, tasks, pass_on, address=address, environment=processes.one_core())
    with closing(training):
        for finished in training:
            pass_on(_news_of_end(finished, reached))
            yield finished


def batches(runs: Sequence[AnyRun], most: int = MOST_IN_A_BATCH) -> list[tuple[int, ...]]:
    """Positions of the runs, in groups of runs that can be one program, at most `most` in a group.

    The runs of a group are of equal length too, or short ones would wait for long ones.
    """
    check_count("most", most)
    groups: dict[Hashable, list[int]] = {}
    for position, run in enumerate(runs):
        groups.setdefault((program_of(run), as_run(run).settings.total_steps), []).append(position)
    return [tuple(group[i : i + most]) for group in groups.values() for i in range(0, len(group), most)]


def has_accelerator() -> bool:
    """Whether JAX sees anything but CPUs."""
    return bool(jax.default_backend() != "cpu")


def _resuming(
    runs: Sequence[AnyRun], progress: Watch, *, checkpoints: Path | None, **options: Any
) -> list[TrainResult]:
    """Trains runs of one program, and saves them in a folder on the way."""
    checkpoint = None if checkpoints is None else checkpoints / f"{digest(runs)}.npz"
    return train_batch(runs, progress=progress, checkpoint=checkpoint, **options)


def _train_some(progress: Watch, positions: tuple[int, ...], runs: Sequence[AnyRun], trainer: Trainer[Any]) -> Finished:
    """Trains some of the runs; the trainer counts them from 0, the caller by these positions."""
    started = time.monotonic()
    results = trainer(runs, lambda news: progress(news._replace(runs=tuple(positions[i] for i in news.runs))))
    return Finished(positions, results, time.monotonic() - started)


def _news_of_end(finished: Finished, reached: Sequence[int]) -> RunProgress:
    """The progress of a single run that is finished: all points on its curves that are new."""
    (position,), (result,) = finished.runs, finished.results
    steps = result.curves["steps"]
    curves = {name: values[steps > reached[position]] for name, values in result.curves.items()}
    total = result.settings.rollouts * result.settings.rollout_steps
    return RunProgress((position,), int(steps.max(initial=0)), total, (curves,))
