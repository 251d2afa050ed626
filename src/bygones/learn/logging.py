"""Shows how far runs are, or sends their curves to TensorBoard or Weights & Biases, which are optional.

Each function returns a callback for the `progress` argument of `train`, `train_batch` and `train_many`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bygones._notebook import ProgressLine, is_notebook
from bygones._parts import needed_by
from bygones.learn.descriptions import AnyRun, as_run
from bygones.learn.runs import RunProgress, Watch

LINE_SECONDS = 5
"""Seconds between two lines of progress."""

FLUSH_SECONDS = 2
"""Seconds after which points are in TensorBoard's files."""


def to_screen(runs: Sequence[AnyRun] | AnyRun) -> Watch:
    """Shows how far the runs are: in a notebook a bar that changes in place, elsewhere a line every few seconds.

    For example: `bygones.train(settings, progress=to_screen(settings))`.
    """
    described = [as_run(run) for run in (runs if isinstance(runs, Sequence) else [runs])]
    total = sum(run.settings.rollouts * run.settings.rollout_steps for run in described)
    taken, latest = dict.fromkeys(range(len(described)), 0), ""
    show = ProgressLine().show if is_notebook() else _lines()

    def watch(news: RunProgress) -> None:
        nonlocal latest
        taken.update(dict.fromkeys(news.runs, news.steps))
        ginis = [value for curves in news.curves for value in curves.get("gini", ()) if np.isfinite(value)]
        latest = f", Gini {np.mean(ginis):.2f}" if ginis else latest
        show(sum(taken.values()) / total, f"{sum(taken.values()):,} of {total:,} steps{latest}")

    return watch


def _lines() -> Callable[[float, str], None]:
    """Prints a line at most every few seconds, and the last one."""
    shown_at = -math.inf

    def show(share: float, text: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= LINE_SECONDS or share >= 1:
            shown_at = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    return show


def to_tensorboard(folder: Path | str, runs: Sequence[AnyRun]) -> Watch:
    """Writes the curves of each run to its own folder, for TensorBoard to show.

    A thread does the writing: points reach the disk within a few seconds, the last ones when the process ends.
    """
    with needed_by("to_tensorboard"):
        from tensorboardX import SummaryWriter

    folders = [str(Path(folder) / _name(i, run)) for i, run in enumerate(runs)]
    writers = [SummaryWriter(folder, flush_secs=FLUSH_SECONDS) for folder in folders]

    def write(run: int, step: int, point: dict[str, float]) -> None:
        for name, value in point.items():
            writers[run].add_scalar(name, value, step)

    return _pointwise(write)


def to_wandb(project: str, runs: Sequence[AnyRun], **options: Any) -> Watch:
    """Logs the curves of each run to its own Weights & Biases run; options go to `wandb.init`."""
    with needed_by("to_wandb"):
        import wandb

    logs = [
        wandb.init(project=project, name=_name(i, run), config=as_run(run).to_dict(), reinit="create_new", **options)
        for i, run in enumerate(runs)
    ]
    return _pointwise(lambda run, step, point: logs[run].log(point, step=step))


def _pointwise(write: Callable[[int, int, dict[str, float]], None]) -> Watch:
    """Writes progress point by point; metrics of rollouts in which no episode ended are left out."""

    def watch(news: RunProgress) -> None:
        for run, curves in zip(news.runs, news.curves, strict=True):
            for i, step in enumerate(curves["steps"]):
                point = {name: float(value[i]) for name, value in curves.items() if name != "steps"}
                write(run, int(step), {name: value for name, value in point.items() if np.isfinite(value)})

    return watch


def _name(i: int, run: AnyRun) -> str:
    run = as_run(run)
    settings, custom = run.settings, run.custom_problem
    if custom is None:
        learned = f"gamma={settings.gamma}-{settings.aggregation}-{settings.welfare}"
    else:
        learned = f"{type(custom.memory).__name__}-{custom.welfare}"
    return f"{i:04d}-{learned}-T={settings.horizon}-seed={settings.seed}"
