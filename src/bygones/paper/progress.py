"""The progress of a plan of runs: a live display in a terminal or a notebook, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from bygones._notebook import ProgressLine, is_notebook
from bygones.learn.settings import Settings
from bygones.paper.grid import identity, memory_label
from bygones.paper.results import RunResult

TELL_EVERY = 0.2
"""Least seconds between two reports of progress: a batch of a thousand runs reports run by run."""


class GridProgress(NamedTuple):
    """The progress of a plan."""

    runs_done: int
    runs_total: int
    steps_done: int
    steps_total: int
    seconds: float
    """Seconds since the start."""
    steps_per_second: float
    """Measured from the first report, so starting and compiling do not count; NaN until it is known."""
    running: tuple[str, ...]
    """The runs that are being trained."""
    gini: dict[str, float]
    """The latest Gini of each memory, averaged over its runs."""

    @property
    def seconds_left(self) -> float:
        """The remaining time at this speed; NaN until the speed is known."""
        return (self.steps_total - self.steps_done) / self.steps_per_second

    @property
    def pace(self) -> str:
        """Speed and remaining time, in words."""
        if math.isnan(self.steps_per_second):
            return "starting"
        return f"{self.steps_per_second:,.0f} steps per second, {duration(self.seconds_left)} left"

    @property
    def fairness(self) -> str:
        """The latest Gini of each memory, in words; empty until one is known."""
        ginis = ", ".join(f"{label} {gini:.2f}" for label, gini in self.gini.items())
        return f"Gini: {ginis}" if ginis else ""

    def __str__(self) -> str:
        steps = f"{self.steps_done / 1e6:.1f} of {self.steps_total / 1e6:.1f} million steps"
        done = f"{self.runs_done}/{self.runs_total} runs, {steps}, {self.pace}"
        return "; ".join(filter(None, [done, self.fairness]))


class Tracker:
    """Combines the reports of single runs into the progress of the whole plan."""

    def __init__(self, runs: Sequence[Settings], runs_done: int, tell: Callable[[GridProgress], None]) -> None:
        self._runs, self._before, self._tell = runs, runs_done, tell
        self._position = {identity(run): position for position, run in enumerate(runs)}
        self._steps = [0] * len(runs)
        self._gini = [math.nan] * len(runs)
        self._done: set[int] = set()
        self._started = self._told = time.monotonic()
        self._first: tuple[float, int] | None = None

    def heard(self, position: int, steps: int, gini: float) -> None:
        """Records how many steps a run has taken, and its latest Gini (NaN if it is not known)."""
        self._steps[position] = min(steps, self._runs[position].total_steps)
        if not math.isnan(gini):
            self._gini[position] = gini
        self._first = self._first or (time.monotonic(), sum(self._steps))
        if time.monotonic() - self._told >= TELL_EVERY:
            self._told = time.monotonic()
            self._tell(self.now())

    def finished(self, batch: Sequence[RunResult]) -> None:
        """Records that these runs are trained and stored."""
        for result in batch:
            position = self._position[identity(result.settings)]
            self._done.add(position)
            self._steps[position] = self._runs[position].total_steps
            self._gini[position] = result.metrics["gini"]
        self._tell(self.now())

    def now(self) -> GridProgress:
        """The current progress."""
        running = [i for i, steps in enumerate(self._steps) if steps and i not in self._done]
        ginis: dict[str, list[float]] = {}
        for run, gini in sorted(zip(self._runs, self._gini, strict=True), key=lambda pair: pair[0].gamma):
            if not math.isnan(gini):
                ginis.setdefault(memory_label(run.gamma), []).append(gini)
        now, steps = time.monotonic(), sum(self._steps)
        since, before = self._first or (now, steps)
        return GridProgress(
            self._before + len(self._done),
            self._before + len(self._runs),
            steps,
            sum(run.total_steps for run in self._runs),
            now - self._started,
            (steps - before) / (now - since) if steps > before else math.nan,
            tuple(described(self._runs[i]) for i in running[:8]),
            {label: sum(some) / len(some) for label, some in ginis.items()},
        )


def described(run: Settings) -> str:
    """A run in a few words."""
    return f"{run.welfare} {run.aggregation}, {memory_label(run.gamma)}, T = {run.horizon}, seed {run.seed}"


def duration(seconds: float) -> str:
    """A duration in words: 45 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def now_and_then(write: Callable[[str], None], seconds: float = 5.0) -> Callable[[GridProgress], None]:
    """Writes a line of progress, at most once every few seconds."""
    last = -math.inf

    def tell(progress: GridProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            write(str(progress))

    return tell


@contextmanager
def watched() -> Iterator[Callable[[GridProgress], None]]:
    """Shows progress for the duration of a `with` block: live in a terminal or a notebook, in lines elsewhere.

    For example:

        with watched() as tell:
            results = execute(runs, "out/mine", progress=tell)
    """
    if is_notebook():
        line = ProgressLine()
        yield lambda progress: line.show(progress.steps_done / max(progress.steps_total, 1), str(progress))
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield now_and_then(lambda line: print(line, file=sys.stderr, flush=True))
        return
    bars = Bars(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), console=console)
    task = bars.add_task("starting", total=None)
    with Live(bars, console=console, refresh_per_second=4) as live:

        def tell(progress: GridProgress) -> None:
            text = f"{progress.runs_done} of {progress.runs_total} runs, {progress.pace}"
            bars.update(task, total=progress.steps_total, completed=progress.steps_done, description=text)
            live.update(Group(bars, *(f"  now: {run}" for run in progress.running), f"  {progress.fairness}"))

        yield tell
