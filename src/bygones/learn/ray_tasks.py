"""Jobs as tasks of a Ray cluster, and their reports on the way. Ray is optional, and imported when it is needed."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import socket
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, TypeVar

from bygones._parts import needed_by
from bygones.learn.interrupts import CtrlC, put_off
from bygones.learn.processes import Task, WorkerDiedError

Result = TypeVar("Result")

Ray: TypeAlias = Any
"""The module of Ray, which has no types."""

Reference: TypeAlias = Any
"""Ray's handle of an actor, or of a result to come."""


def in_tasks(
    job: Callable[..., Result],
    tasks: Sequence[Task],
    heard: Callable[[Any], None],
    *,
    address: str | None,
    environment: Mapping[str, str],
) -> Generator[Result]:
    """Does a job for every task on a Ray cluster and yields the results as they come; lost tasks are run again.

    A result may overtake the last reports of its task, and a task that was lost starts over and reports again.

    Args:
        job: called on a worker as `job(report, *task)`; the arguments of `report` are heard here.
        tasks: the arguments of each call.
        heard: called here with every report.
        address: the address of the cluster, by default from `RAY_ADDRESS`; without one, Ray runs on this machine.
        environment: variables of the workers.

    Raises:
        WorkerDiedError: Ray itself died. An error that a job raises is raised here as well.
    """
    ray = _ray()
    lent = ray.is_initialized()
    with put_off() as ctrl_c, cluster(address):
        options = {"num_cpus": 1, "max_retries": -1, "runtime_env": {"env_vars": dict(environment)}}
        task = ray.remote(**options)(_with_board)
        board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=_near_driver(ray))(Board).remote()
        going: set[Reference] = set()
        try:
            with ctrl_c.heeded():
                ray.wait([board.__ray_ready__.remote()])  # or the first reports would come late, and all at once
            reports = board.take.remote()
            waiting = iter(tasks)
            while True:
                # Few are handed over at a time, as many again as can be going on: more could only wait.
                for arguments in itertools.islice(waiting, max(0, 2 * cpus(ray) - len(going))):
                    going.add(task.remote(board, job, *arguments))
                if not going:
                    break
                while (ready := _first_ready(ray, [*going, reports], ctrl_c)) == reports:
                    # If the board is lost, its reports are lost too. It is put up again, and tasks are not affected.
                    with ctrl_c.heeded(), suppress(ray.exceptions.RayActorError):
                        for report in ray.get(reports):
                            heard(report)
                    reports = board.take.remote()
                going.remove(ready)
                with ctrl_c.heeded():
                    yield ray.get(ready)
        except (ray.exceptions.LocalRayletDiedError, ray.exceptions.RaySystemError) as error:
            raise WorkerDiedError("Ray died (killed, or out of memory?)") from error
        finally:
            if lent:  # or all of this ends with the connection
                _cancel(ray, list(going))
                ray.kill(board)


@contextmanager
def cluster(address: str | None = None) -> Iterator[Ray]:
    """Ray, connected to the cluster at this address or started on this machine; an open connection is used unchanged.

    Without an address, that in `RAY_ADDRESS` counts. Ray itself would also join the cluster that was started last on
    this machine, even if someone else started it, and wait for it if it has crashed.

    Ctrl-C cannot disturb Ray while it starts or ends: it takes effect before or after.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_answers(address)
    with put_off() as ctrl_c:
        try:
            ray.init(address=address, include_dashboard=False, log_to_driver=False)
            with ctrl_c.heeded():
                yield ray
        finally:
            ray.shutdown()


def cpus(ray: Ray) -> int:
    """How many CPUs the cluster has now, at least one: the first may still be on its way."""
    return max(1, int(ray.cluster_resources().get("CPU", 0)))


class Board:
    """An actor on a Ray cluster to which tasks put their reports, and from which the driver takes them."""

    def __init__(self) -> None:
        self._reports: list[object] = []
        self._some = asyncio.Event()

    async def put(self, report: object) -> None:
        """Adds a report."""
        self._reports.append(report)
        self._some.set()

    async def take(self) -> list[object]:
        """All reports since the last time; waits for the first."""
        await self._some.wait()
        self._some.clear()
        taken, self._reports = self._reports, []
        return taken


def _ray() -> Ray:
    with needed_by("training on Ray"), put_off():
        import ray
    return ray


def _first_ready(ray: Ray, references: list[Reference], ctrl_c: CtrlC) -> Reference:
    with ctrl_c.heeded():
        return ray.wait(references)[0][0]


def _cancel(ray: Ray, going: list[Reference], tries: int = 30) -> None:
    """Cancels tasks and waits until they have ended.

    Ray 2.60 loses a cancellation of a task that has reached its worker and not yet begun, so it is sent again every
    second. Not by force: then Ray aborts if the task ends at that moment. A task that will not end in the end keeps its
    CPU until the cluster is shut down.
    """
    while going and tries:
        for reference in going:
            ray.cancel(reference)
        _, going = ray.wait(going, num_returns=len(going), timeout=1)
        tries -= 1


def _with_board(board: Reference, job: Callable[..., Result], *task: object) -> Result:
    """A job on a worker; its reports are put on the board, and not waited for."""
    return job(board.put.remote, *task)


def _check_answers(address: str) -> None:
    """Refuses an address where nobody listens, for which Ray itself would go on asking for many minutes."""
    place = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address)
    if place is None:
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=10).close()
    except OSError as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error.strerror or error}") from None


def _near_driver(ray: Ray) -> Any:
    """On the driver's own node while it exists: if that node is lost, no one is left to report to."""
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
