"""Many runs at once: batches on an accelerator, one process per core on a CPU.

What a run computes depends on its settings and seed alone: not on what runs beside it, nor on which worker takes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import jax

from bygones._arrays import check_count
from bygones.learn.processes import in_processes, single_threaded, usable_cores
from bygones.learn.runs import SEGMENT, RunProgress, TrainResult, Watch, digest, shape_of, train_batch
from bygones.learn.settings import Settings

LARGEST_BATCH = 1024
"""Runs in one batch on an accelerator, by default."""


def train_many(
    settings: Iterable[Settings],
    *,
    progress: Watch | None = None,
    checkpoints: Path | str | None = None,
    segment: int = SEGMENT,
    batch: int | None = None,
    workers: int | None = None,
    **choices: Any,
) -> list[TrainResult]:
    """All the runs, in the order in which they were given.

    Args:
        settings: the runs; they may differ in anything.
        progress: told of some runs after every segment, in this process.
        checkpoints: a folder; runs that were stopped go on from it, runs that were finished are read from it.
        segment: rollouts between two looks at a run.
        batch: how many runs make one batched program; by default 1 on a CPU, else as many as there are of one shape,
            up to 1024.
        workers: processes, when runs are not batched; by default one per core that this process may use.
        choices: implementation choices, as of `train_batch`.
    """
    runs = list(settings)
    size = check_count("batch", batch) if batch is not None else 1 if jax.default_backend() == "cpu" else LARGEST_BATCH
    groups = [tuple(group) for group in _groups(runs, size)]
    results: dict[int, TrainResult] = {}
    workers = min(check_count("workers", workers) if workers is not None else usable_cores(), len(groups))
    if size > 1 or workers == 1:
        for group in groups:
            watch = _renumbered(progress, group) if progress else None
            place, some = _place(checkpoints, runs, group), [runs[i] for i in group]
            options: dict[str, Any] = {"progress": watch, "checkpoint": place, "segment": segment, "batched": size > 1}
            done = train_batch(some, **options, **choices)
            results.update(zip(group, done, strict=True))
    elif groups:

        def heard(position: int, news: RunProgress) -> None:
            if progress:
                _renumbered(progress, groups[position])(news)

        config: Any = jax.config
        said = (segment, config.jax_compilation_cache_dir, choices)
        tasks = [([runs[i] for i in group], _place(checkpoints, runs, group), *said) for group in groups]
        with closing(in_processes(_work, tasks, heard, workers=workers, environment=single_threaded())) as found:
            for position, done in found:
                results.update(zip(groups[position], done, strict=True))
    return [results[i] for i in range(len(runs))]


def cache_compilations(folder: Path | str | None = None) -> None:
    """Keeps compiled programs on disk, so that the next process need not compile them again.

    Args:
        folder: by default the one that JAX was told of (`JAX_COMPILATION_CACHE_DIR`), else one in the user's cache.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    config: Any = jax.config
    folder = folder or config.jax_compilation_cache_dir or home / "bygones" / "compiled"
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _groups(runs: Sequence[Settings], size: int) -> Iterable[list[int]]:
    by_shape: dict[Any, list[int]] = {}
    for i, run in enumerate(runs):
        by_shape.setdefault((shape_of(run), run.hidden), []).append(i)
    for alike in by_shape.values():
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def _place(checkpoints: Path | str | None, runs: Sequence[Settings], group: Sequence[int]) -> Path | None:
    return None if checkpoints is None else Path(checkpoints) / f"{digest([runs[i] for i in group])}.npz"


def _renumbered(progress: Watch, group: Sequence[int]) -> Watch:
    """A batch counts its runs from 0; the caller's positions are these."""
    return lambda news: progress(news._replace(runs=tuple(group[i] for i in news.runs)))


def _work(
    tell: Watch,
    settings: list[Settings],
    checkpoint: Path | None,
    segment: int,
    cache: str | None,
    choices: dict[str, Any],
) -> list[TrainResult]:
    if cache:
        cache_compilations(cache)
    return train_batch(settings, progress=tell, checkpoint=checkpoint, segment=segment, batched=False, **choices)
