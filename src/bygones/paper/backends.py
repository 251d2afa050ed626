"""Where runs are trained: in processes on CPU cores, in batches on an accelerator, or on a Ray cluster.

Each place is a generator: it takes settings, gives back finished runs as they come, and tells `heard` how far each run
is. A run's randomness comes from its own settings, so the place, the order and the company of a run do not matter.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bygones._arrays import check_count
from bygones.learn import processes
from bygones.learn.settings import Settings
from bygones.paper.results import RunResult, thinned

if TYPE_CHECKING:
    from bygones.learn.runs import RunProgress, TrainResult

Heard = Callable[[int, int, float], None]
"""Called with a run's position, how many steps it has taken, and its latest Gini (NaN if no episode has ended)."""

Trainer = Callable[[Sequence[Settings], "Callable[[RunProgress], None]"], "list[TrainResult]"]
"""Trains some runs of equal shape together and tells of progress; `learner` unless a test says otherwise."""

MOST_IN_A_BATCH = 1000
"""Runs in one accelerator batch: the paper's whole grid."""


def learner(runs: Sequence[Settings], progress: Callable[[RunProgress], None]) -> list[TrainResult]:
    """The learner of `bygones.learn`; on an accelerator always batched, so that a lone run is no exception."""
    import jax

    from bygones.learn import cache_compilations, train_batch

    cache_compilations()
    return train_batch(runs, progress=progress, batched=len(runs) > 1 or jax.default_backend() != "cpu")


def in_processes(
    runs: Sequence[Settings], heard: Heard, *, workers: int | None = None, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """One run per process, as many processes as there are cores, each with single-threaded linear algebra."""
    workers = min(check_count("workers", workers or processes.usable_cores()), max(1, len(runs)))
    tasks = [(run, trainer) for run in runs]
    found = processes.in_processes(
        _in_worker, tasks, lambda position, news: heard(position, *news), workers=workers, environment=_one_core()
    )
    try:
        with closing(found):
            for _, result in found:
                yield [result]
    except processes.WorkerDiedError as error:
        raise OSError(f"{error}; what was finished is kept") from None


def in_batches(
    runs: Sequence[Settings], heard: Heard, *, most: int = MOST_IN_A_BATCH, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """Runs of equal shape and length together, as one program on this machine's accelerator."""
    for positions in batches(runs, most):
        batch = [runs[position] for position in positions]
        started = time.monotonic()

        def tell(news: RunProgress, positions: Sequence[int] = positions) -> None:
            for index, curves in zip(news.runs, news.curves, strict=True):
                heard(positions[index], news.steps, _latest(curves))

        results = trainer(batch, tell)
        share = (time.monotonic() - started) / len(batch)
        yield [_kept(result, share) for result in results]


def on_ray(
    runs: Sequence[Settings], heard: Heard, *, address: str | None = None, trainer: Trainer = learner
) -> Iterator[list[RunResult]]:
    """One run per task of a Ray cluster, or of Ray on this machine without an address; lost tasks are run again."""
    with ray_cluster(address) as ray:
        environment = {"env_vars": _one_core()}
        task = ray.remote(num_cpus=1, max_retries=-1, runtime_env=environment)(_on_ray_worker)
        board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=_beside_driver(ray))(_Board).remote()
        ray.wait([board.__ray_ready__.remote()])  # or the first news would come late, and all at once
        news = board.take.remote()
        waiting = iter(enumerate(runs))
        going: dict[Any, int] = {}
        reached = [0] * len(runs)

        def pass_on(position: int, steps: int, gini: float) -> None:
            # A result may overtake the last news of its run, and a run that was lost begins again.
            if steps > reached[position]:
                reached[position] = steps
                heard(position, steps, gini)

        try:
            while True:
                # Few are handed over at a time, as many again as can be going on: more could only wait.
                for position, run in itertools.islice(waiting, max(0, 2 * ray_cpus(ray) - len(going))):
                    going[task.remote(board, position, run, trainer)] = position
                if not going:
                    break
                while (ready := ray.wait([*going, news])[0][0]) == news:
                    # Should the board be lost, so is what was on it; it is put up again, and runs are not concerned.
                    with suppress(ray.exceptions.RayActorError):
                        for said in ray.get(news):
                            pass_on(*said)
                    news = board.take.remote()
                position, result = going.pop(ready), ray.get(ready)
                pass_on(position, result.settings.total_steps, result.metrics["gini"])
                yield [result]
        finally:
            for reference in going:
                ray.cancel(reference, force=True)
            ray.kill(board)


@contextmanager
def ray_cluster(address: str | None = None) -> Iterator[Any]:
    """Ray, connected to the cluster at this address or started on this machine; what was connected before stays so."""
    try:
        import ray
    except ImportError:
        raise ValueError("training on Ray needs Ray, which is not installed: pip install 'bygones[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    _check_answers(address)
    ray.init(address=address, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str | None) -> None:
    """Refuses an address where nobody listens, for which Ray itself would go on asking for many minutes."""
    place = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address or "")
    if place is None:
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=10).close()
    except OSError as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error.strerror or error}") from None


def ray_cpus(ray: Any) -> int:
    """How many CPUs the cluster has now, at least one: the first may still be on its way."""
    return max(1, int(ray.cluster_resources().get("CPU", 0)))


def batches(runs: Sequence[Settings], most: int = MOST_IN_A_BATCH) -> list[list[int]]:
    """Positions of the runs, grouped so that the runs of a group can be one program, at most `most` in a group."""
    check_count("most", most)
    groups: dict[object, list[int]] = {}
    for position, run in enumerate(runs):
        groups.setdefault(_shape(run), []).append(position)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


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


def _train_one(run: Settings, trainer: Trainer, tell: Callable[[RunProgress], None]) -> RunResult:
    started = time.monotonic()
    (result,) = trainer([run], tell)
    return _kept(result, time.monotonic() - started)


def _one_core() -> dict[str, str]:
    """The environment of a worker that trains one run: one thread, and the CPU only."""
    return {**processes.single_threaded(), "JAX_PLATFORMS": "cpu"}


def _in_worker(tell: Callable[[tuple[int, float]], None], run: Settings, trainer: Trainer) -> RunResult:
    return _train_one(run, trainer, lambda news: tell((news.steps, _latest(news.curves[0]))))


def _on_ray_worker(board: Any, position: int, run: Settings, trainer: Trainer) -> RunResult:
    def tell(news: RunProgress) -> None:
        board.put.remote((position, news.steps, _latest(news.curves[0])))  # and not waited for

    return _train_one(run, trainer, tell)


class _Board:
    """An actor on a Ray cluster to which tasks put their news, and from which the driver takes them."""

    def __init__(self) -> None:
        self._news: list[tuple[int, int, float]] = []
        self._some = asyncio.Event()

    async def put(self, news: tuple[int, int, float]) -> None:
        self._news.append(news)
        self._some.set()

    async def take(self) -> list[tuple[int, int, float]]:
        """All news since the last time; waits for the first."""
        await self._some.wait()
        self._some.clear()
        taken, self._news = self._news, []
        return taken


def _beside_driver(ray: Any) -> Any:
    """On the driver's own node, as long as it is there: what is lost with that node has nobody to tell either."""
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
