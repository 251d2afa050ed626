"""Curves sent elsewhere while runs go on: to TensorBoard or Weights & Biases. Both are extras, off by default.

Each function gives a callback for the `progress` argument of `train` and its siblings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bygones.learn.runs import RunProgress, Watch
from bygones.learn.settings import Settings

FLUSH_SECONDS = 2
"""Seconds after which points are in TensorBoard's files."""


def to_tensorboard(folder: Path | str, settings: Sequence[Settings]) -> Watch:
    """Writes the curves of each run to a folder of its own, for TensorBoard to show.

    A thread does the writing: points reach the disk within a few seconds, the last ones when the process ends.
    """
    from tensorboardX import SummaryWriter

    folders = [str(Path(folder) / _name(i, run)) for i, run in enumerate(settings)]
    writers = [SummaryWriter(folder, flush_secs=FLUSH_SECONDS) for folder in folders]

    def write(run: int, step: int, point: dict[str, float]) -> None:
        for name, value in point.items():
            writers[run].add_scalar(name, value, step)

    return _pointwise(write)


def to_wandb(project: str, settings: Sequence[Settings], **options: Any) -> Watch:
    """Logs the curves of each run to a Weights & Biases run of its own; options go to `wandb.init`."""
    import wandb

    runs = [
        wandb.init(project=project, name=_name(i, run), config=run.to_dict(), reinit="create_new", **options)
        for i, run in enumerate(settings)
    ]
    return _pointwise(lambda run, step, point: runs[run].log(point, step=step))


def _pointwise(write: Any) -> Watch:
    """Takes news apart into points; metrics of rollouts in which no episode ended are left out."""

    def watch(news: RunProgress) -> None:
        for run, curves in zip(news.runs, news.curves, strict=True):
            for i, step in enumerate(curves["steps"]):
                point = {name: float(value[i]) for name, value in curves.items() if name != "steps"}
                write(run, int(step), {name: value for name, value in point.items() if np.isfinite(value)})

    return watch


def _name(i: int, run: Settings) -> str:
    return f"{i:04d}-gamma={run.gamma}-{run.aggregation}-{run.welfare}-T={run.horizon}-seed={run.seed}"
