"""Trains the runs of a plan that a folder does not hold yet, and stores every batch as soon as it is finished.

Needs only JAX, NumPy and PyArrow, so it also runs on bare machines with accelerators:
`python -m bygones.paper.run --size paper --observation-scale window --out results/window`.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bygones._arrays import check_count, check_one_of
from bygones._text import counted
from bygones.learn import backends, ray_tasks
from bygones.learn.evaluation import EPISODES
from bygones.learn.processes import WorkerDiedError, usable_cores
from bygones.learn.runs import RunProgress, TrainResult
from bygones.learn.settings import Settings
from bygones.paper import provenance
from bygones.paper.grid import SIZES, grid, identity, parse_shared_settings
from bygones.paper.progress import GridProgress, Tracker, duration, now_and_then
from bygones.paper.results import Results, RunResult, read, thinned, writing

Heard = Callable[[int, int, float], None]
"""Called with a run's position, how many steps it has taken, and its latest Gini (NaN if no episode has ended)."""

PLACES = ("auto", "cpu", "accelerator", "ray")
POLICIES = "policies"
"""Where policies are kept, inside the folder of results."""
MEASURED_ROLLOUTS = 48
"""How many rollouts of each run are trained to measure speed: three of the learner's segments."""


class Estimate(NamedTuple):
    """The time that a plan would take on this machine or cluster, from a short measurement."""

    runs: int
    runs_done: int
    place: str
    steps_per_second: float
    start_seconds: float
    """Until the first steps are taken: processes started, programs compiled."""
    seconds: float
    """Everything that is left to do."""
    cpus: int | None = None
    """How many CPUs the Ray cluster has, if it was asked."""

    def __str__(self) -> str:
        where = "here" if self.cpus is None else f"on the {self.cpus} CPUs of the Ray cluster"
        rest = f"the rest takes about {duration(self.seconds)} {where}"
        return f"{counted(self.runs, 'run')}, {self.runs_done} of them done; {rest}"


class Stopped(KeyboardInterrupt):
    """The plan was stopped by Ctrl-C; the message is about the stored runs and how to go on."""


def execute(
    runs: Sequence[Settings],
    folder: Path | str,
    *,
    on: str = "auto",
    progress: Callable[[GridProgress], None] | None = None,
    workers: int | None = None,
    batch: int = backends.MOST_IN_A_BATCH,
    address: str | None = None,
    command: str | None = None,
    evaluation_episodes: int = EPISODES,
    keep_policies: bool = False,
    trainer: backends.Trainer[Settings] | None = None,
) -> Results:
    """Trains the runs that the folder does not hold yet, and gives the results of all of them.

    Args:
        runs: settings, e.g. `grid("quick").runs()`.
        folder: where results are kept; runs that are there are skipped.
        on: `"cpu"`, `"accelerator"`, `"ray"`, or `"auto"`: an accelerator if JAX sees one, else the CPU.
        progress: told of every advance.
        workers: processes on the CPU; by default one per core.
        batch: most runs in an accelerator batch. Each batch is kept when it is done.
        address: that of a Ray cluster, on which it then runs; without, and with no `RAY_ADDRESS` in the environment,
            Ray runs on this machine.
        command: how to run this again, kept with the results; by default this process's own command.
        evaluation_episodes: how many episodes each policy plays after training, both with sampled and with
            greedy actions (the columns `sampled_…` and `deterministic_…`); 0 for none.
        keep_policies: whether to save each policy too, as `policies/RUN.safetensors` in the folder. Without it, the
            settings of a run, seed included, are all that is needed to train the policy again.
        trainer: what trains; the learner, except in tests.

    Raises:
        Stopped: on Ctrl-C; finished batches are kept.
        BlockingIOError: another process is writing to the folder.
        OSError: a batch cannot be written.
        ValueError: the folder holds what cannot be read, or results of another version.
    """
    names = [identity(run) for run in runs]
    if len(set(names)) != len(names):
        raise ValueError("runs must all be different")
    place = _place(on, address, workers)
    check_count("evaluation_episodes", evaluation_episodes, 0)
    trainer = trainer or functools.partial(backends.learner, evaluation_episodes=evaluation_episodes)
    with writing(folder) as writer:
        todo = [run for run, name in zip(runs, names, strict=True) if name not in writer.done]
        tracker = Tracker(todo, len(runs) - len(todo), progress or (lambda _: None))
        try:
            origin = provenance.here(place, command)
            with closing(_trained(todo, place, tracker.heard, workers, batch, address, trainer)) as trained:
                for results, seconds in trained:
                    if keep_policies:
                        _save_policies(results, Path(folder) / POLICIES)
                    finished = [_kept(result, seconds / len(results)) for result in results]
                    writer.add(finished, origin)
                    tracker.finished(finished)
        except KeyboardInterrupt:
            held = sum(name in writer.done for name in names)
            raise Stopped(
                f"stopped; {held} of {len(runs)} runs are in {folder}, and the same command goes on from there"
            ) from None
    return read(folder).where(run=names)


def estimate(
    runs: Sequence[Settings],
    folder: Path | str,
    *,
    on: str = "auto",
    workers: int | None = None,
    batch: int = backends.MOST_IN_A_BATCH,
    address: str | None = None,
    trainer: backends.Trainer[Settings] = backends.learner,
) -> Estimate:
    """Measures how long the runs would take that the folder does not hold yet, by training a little of them.

    As many are trained as would be at the same time, and where they would be: on each core, as one batch, or on each
    CPU of the Ray cluster.
    """
    done = set(read(folder)["run"].tolist()) if Path(folder).exists() else set()
    todo = [run for run in runs if identity(run) not in done]
    place = _place(on, address, workers)
    if not todo:
        return Estimate(len(runs), len(runs), place, math.nan, 0.0, 0.0)
    with ray_tasks.cluster(address) if place == "ray" else nullcontext() as ray:
        cpus = ray_tasks.cpus(ray) if ray else None
        together = cpus or (workers or usable_cores() if place == "cpu" else len(backends.batches(todo, batch)[0]))
        short = [_shortened(run) for run in todo[:together]]
        clock = _Clock(len(short))
        for _ in _trained(short, place, clock.heard, workers, batch, address, trainer):
            pass
    speed, start = clock.steps_per_second, clock.start_seconds
    seconds = start + sum(run.total_steps for run in todo) / speed
    return Estimate(len(runs), len(runs) - len(todo), place, speed, start, seconds, cpus)


class _Clock:
    """Measures speed from the second time each run is heard of: before that, it is started and compiled."""

    def __init__(self, n_runs: int) -> None:
        self._started = time.monotonic()
        self._first: dict[int, tuple[float, int]] = {}
        self._last: dict[int, tuple[float, int]] = {}
        self._n_runs = n_runs

    def heard(self, position: int, steps: int, gini: float) -> None:
        now = (time.monotonic(), steps)
        self._first.setdefault(position, now)
        self._last[position] = now

    @property
    def steps_per_second(self) -> float:
        """Of all runs together."""
        pairs = ((self._first[i], self._last[i]) for i in self._first)
        rates = [(end[1] - begin[1]) / (end[0] - begin[0]) for begin, end in pairs if end[0] > begin[0]]
        if not rates:
            raise ValueError("runs are too short for their time to be measured")
        return self._n_runs * sum(rates) / len(rates)

    @property
    def start_seconds(self) -> float:
        """Until the slowest run was started, without the steps it took until it was heard of."""
        at, steps = max(self._first.values())
        return max(0.0, at - self._started - steps * self._n_runs / self.steps_per_second)


def _shortened(run: Settings) -> Settings:
    steps = min(run.total_steps, MEASURED_ROLLOUTS * run.rollout_steps)
    return run.replace(total_steps=steps, horizon=min(run.horizon, steps))


def _place(on: str, address: str | None, workers: int | None) -> str:
    check_one_of("on", on, PLACES)
    if workers is not None:
        check_count("workers", workers, most=1024)
    if address is not None:
        if on not in ("auto", "ray"):
            raise ValueError(f"address is that of a Ray cluster, and goes with on='ray', got on={on!r}")
        return "ray"
    if on != "auto":
        return on
    return "accelerator" if backends.has_accelerator() else "cpu"


def _trained(
    runs: Sequence[Settings],
    place: str,
    heard: Heard,
    workers: int | None,
    batch: int,
    address: str | None,
    trainer: backends.Trainer[Settings],
) -> Generator[tuple[list[TrainResult], float]]:
    """Trains the runs in batches, yields each batch and how long it took, and reports how far each run is."""
    if not runs:
        return

    def progress(news: RunProgress) -> None:
        for position, curves in zip(news.runs, news.curves, strict=True):
            heard(position, news.steps, _latest(curves["gini"]))

    if place == "accelerator":
        batches = backends.in_batches(runs, progress, most=batch, trainer=trainer)
    elif place == "ray":
        batches = backends.on_ray(runs, progress, address=address, trainer=trainer)
    else:
        batches = backends.in_processes(runs, progress, workers=workers, trainer=trainer)
    try:
        with closing(batches):
            for _, results, seconds in batches:
                yield results, seconds
    except WorkerDiedError as error:
        raise OSError(f"{error}; the finished runs are kept") from None


def _kept(result: TrainResult, seconds: float) -> RunResult:
    curves = thinned(result.curves)
    return RunResult(result.settings, result.final, curves, seconds, result.stopped_at, result.played)


def _save_policies(results: Sequence[TrainResult], folder: Path) -> None:
    """Before their results are written, so every run in the results has its policy."""
    folder.mkdir(exist_ok=True)
    for result in results:
        result.policy.save(folder / f"{identity(result.settings)}.safetensors")


def _latest(ginis: np.ndarray) -> float:
    """The last of them that is known: NaN stands for a rollout in which no episode ended."""
    known = ginis[~np.isnan(ginis)]
    return float(known[-1]) if len(known) else math.nan


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains a grid from a bare command line and prints its progress in plain lines."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m bygones.paper.run", description=__doc__)
    parser.add_argument(
        "--size", default="quick", choices=tuple(SIZES), help="a slice of the paper's grid, or all of it"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder for the results")
    parser.add_argument("--on", default="auto", choices=PLACES, help="where to train")
    parser.add_argument("--batch", type=int, default=backends.MOST_IN_A_BATCH, help="most runs in a batch")
    parser.add_argument("--workers", type=int, help="processes on the CPU")
    parser.add_argument("--address", help="address of a Ray cluster")
    parser.add_argument("--plan", action="store_true", help="only print the plan and how long it would take")
    parser.add_argument("--welfare", nargs="+", help="only these welfare functions")
    parser.add_argument("--aggregation", nargs="+", help="only these aggregations")
    parser.add_argument("--horizon", nargs="+", type=int, help="only these horizons")
    parser.add_argument("--gamma", nargs="+", type=float, help="only these discount factors γ")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--weight", type=float, help="λ of every run; by default the paper's")
    parser.add_argument(
        "--observation-scale", help="none, fixed, window, expected, relative or running; by default none"
    )
    parser.add_argument(
        "--evaluation-episodes",
        type=int,
        default=EPISODES,
        help="episodes that each policy plays when it has been trained, sampled and deterministic; 0 for none",
    )
    parser.add_argument("--keep-policies", action="store_true", help="save each policy too, in OUT/policies")
    parser.add_argument("--set", nargs="+", default=[], metavar="SETTING=VALUE", help="any other setting of all runs")
    options = parser.parse_args(arguments)
    names = ("welfare", "aggregation", "horizon", "gamma", "seeds", "weight", "observation_scale")
    changes = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    where = {name: getattr(options, name) for name in ("on", "workers", "batch", "address")}
    try:
        runs = grid(options.size, **changes, **parse_shared_settings(options.set)).runs()
        if options.plan:
            print(estimate(runs, options.out, **where))
            return
        progress = now_and_then(lambda line: print(line, flush=True))
        kept = {name: getattr(options, name) for name in ("evaluation_episodes", "keep_policies")}
        results = execute(runs, options.out, **where, **kept, progress=progress)
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        sys.exit(130)
    print(f"{len(results)} runs in {options.out}")


if __name__ == "__main__":
    main()
