"""Where runs are trained: in processes on CPU cores, in batches on an accelerator, or on a Ray cluster.

Each place is a generator: it takes settings, gives back finished runs as they come, and tells `heard` how far each run
is. A run's randomness comes from its own settings, so the place, the order and the company of a run do not matter.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from bygones._arrays import check_count
from bygones.experiments.results import RunResult, thinned
from bygones.learn.settings import Settings

if TYPE_CHECKING:
    from bygones.learn.runs import Progress, TrainResult

Heard = Callable[[int, int, float], None]
"""Called with a run's position, how many steps it has taken, and its latest Gini (NaN if no episode has ended)."""

Trainer = Callable[[Sequence[Settings], "Callable[[Progress], None]"], "list[TrainResult]"]
"""Trains some runs of equal shape together and tells of progress; `learner` unless a test says otherwise."""

MOST_IN_A_BATCH = 1000
"""Runs in one accelerator batch: the paper's whole grid."""

_LOOK_AGAIN = 0.2


def learner(runs: Sequence[Settings], progress: Callable[[Progress], None]) -> list[TrainResult]:
    """The learner of `bygones.learn`; on an accelerator always batched, so that a lone run is no exception."""
    import jax

    from bygones.learn import cache_compilations, train_batch

    cache_compilations()
    return train_batch(runs, progress=progress, batched=len(runs) > 1 or jax.default_backend() != "cpu")


def in_processes(
    runs: Sequence[Settings], heard: Heard, *, workers: int | None = None, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """One run per process, as many processes as there are cores, each with single-threaded linear algebra."""
    workers = min(check_count("workers", workers or usable_cores()), max(1, len(runs)))
    context = multiprocessing.get_context("spawn")
    news: Any = context.Queue()
    stop = context.Event()
    pool = ProcessPoolExecutor(workers, context, _start_worker, (news, stop))
    try:
        # Few are handed over at a time: what is not handed over need not be called back when stopping.
        waiting = iter(enumerate(runs))
        going: set[Future[RunResult]] = set()
        while True:
            for position, run in itertools.islice(waiting, 2 * workers - len(going)):
                going.add(pool.submit(_in_worker, position, run, trainer))
            if not going:
                break
            finished, going = wait(going, timeout=_LOOK_AGAIN, return_when=FIRST_COMPLETED)
            _pass_on(news, heard)
            for future in finished:
                yield [future.result()]
    except BrokenProcessPool:
        raise OSError("a training process died (killed, or out of memory?); what was finished is kept") from None
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        news.close()


def in_batches(
    runs: Sequence[Settings], heard: Heard, *, most: int = MOST_IN_A_BATCH, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """Runs of equal shape and length together, as one program on this machine's accelerator."""
    for positions in batches(runs, most):
        batch = [runs[position] for position in positions]
        started = time.monotonic()

        def tell(news: Progress, positions: Sequence[int] = positions) -> None:
            for index, curves in zip(news.runs, news.curves, strict=True):
                heard(positions[index], news.steps, _latest(curves))

        results = trainer(batch, tell)
        share = (time.monotonic() - started) / len(batch)
        yield [_kept(result, share) for result in results]


def on_ray(
    runs: Sequence[Settings], heard: Heard, *, address: str | None = None, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """One run per task of a Ray cluster, or of Ray on this machine without an address; lost tasks are run again."""
    try:
        import ray
    except ImportError:
        raise ValueError("training on Ray needs Ray, which is not installed: pip install 'bygones[ray]'") from None
    started_here = not ray.is_initialized()
    if started_here:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=-1)(_on_ray_worker)
        going = {task.remote(run, trainer): position for position, run in enumerate(runs)}
        while going:
            finished, _ = ray.wait(list(going), num_returns=1)
            for reference in finished:
                position, result = going.pop(reference), ray.get(reference)
                heard(position, result.settings.total_steps, result.metrics["gini"])
                yield [result]
    finally:
        if started_here:
            ray.shutdown()


def batches(runs: Sequence[Settings], most: int = MOST_IN_A_BATCH) -> list[list[int]]:
    """Positions of the runs, grouped so that the runs of a group can be one program, at most `most` in a group."""
    check_count("most", most)
    groups: dict[object, list[int]] = {}
    for position, run in enumerate(runs):
        groups.setdefault(_shape(run), []).append(position)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_accelerator() -> bool:
    """Whether JAX sees anything but CPUs."""
    import jax

    return bool(jax.default_backend() != "cpu")


def _shape(run: Settings) -> object:
    """What the runs of a batch must share; the length too, or short runs would wait for long ones."""
    learned = (run.rollout_steps, run.batch_size, run.epochs, run.entropy_weight > 0, run.hidden, run.total_steps)
    return (*learned, run.n_agents, run.n_resources, run.observe_denominator)


def _kept(result: TrainResult, seconds: float) -> RunResult:
    return RunResult(result.settings, result.final, thinned(result.curves), seconds, result.stopped_at)


def _latest(curves: dict[str, Any]) -> float:
    seen = [gini for gini in curves["gini"].tolist() if not math.isnan(gini)]
    return float(seen[-1]) if seen else math.nan


def _train_one(run: Settings, trainer: Trainer, tell: Callable[[Progress], None]) -> RunResult:
    started = time.monotonic()
    (result,) = trainer([run], tell)
    return _kept(result, time.monotonic() - started)


_news: Any = None
_stop: Any = None


class _StoppedError(Exception):
    """Ends a run in a worker whose parent has been asked to stop."""


def _start_worker(news: Any, stop: Any) -> None:
    """Readies a worker process: one thread, the CPU only, Ctrl-C left to the parent, and no life without it."""
    global _news, _stop
    _news, _stop = news, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_one_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _use_one_thread() -> None:
    import jax

    from bygones.learn.many import single_threaded

    os.environ.update(single_threaded())
    config: Any = jax.config
    config.update("jax_platforms", "cpu")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_worker(position: int, run: Settings, trainer: Trainer) -> RunResult:
    def tell(news: Progress) -> None:
        if _stop.is_set():
            raise _StoppedError
        _news.put((position, news.steps, _latest(news.curves[0])))

    return _train_one(run, trainer, tell)


def _on_ray_worker(run: Settings, trainer: Trainer) -> RunResult:
    _use_one_thread()
    return _train_one(run, trainer, lambda news: None)


def _pass_on(news: Any, heard: Heard) -> None:
    while True:
        try:
            heard(*news.get_nowait())
        except queue.Empty:
            return
