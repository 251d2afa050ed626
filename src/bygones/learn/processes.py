"""Jobs in separate processes, one at a time in each, and their reports on the way.

This process and a worker share one pipe and nothing else. The reports and the result of a job arrive in the order in
which they were sent, so none is lost; a worker that reports faster than this process reads waits. A closed pipe tells
either side that the other is gone: this process closes it to stop a worker, and a worker that is killed, even in the
middle of a message, closes it too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias, TypeVar, cast

Result = TypeVar("Result")

Task: TypeAlias = tuple[Any, ...]
"""The arguments of a job."""

_REPORT, _DONE, _FAILED = "report", "done", "failed"


class WorkerDiedError(OSError):
    """A worker process ended in the middle of a job, and not by an error that the job raised."""


def in_processes(
    job: Callable[..., Result],
    tasks: Sequence[Task],
    heard: Callable[[int, Any], None],
    *,
    workers: int,
    environment: Mapping[str, str],
) -> Generator[tuple[int, Result]]:
    """Does a job for every task in new processes; yields each task's position and result when it is done.

    When the caller leaves, by closing the generator, by an error or by Ctrl-C, the jobs end at their next report, and
    this process waits for the workers. Ctrl-C itself does not reach them.

    Args:
        job: called in a worker as `job(report, *task)`; the arguments of `report` are heard here. It is pickled, and so
            are tasks, reports and results.
        tasks: the arguments of each call.
        heard: called here with a task's position and a report of its job; always before its result is yielded.
        workers: how many processes; never more than there are tasks.
        environment: variables of the workers, in place before they load any library.

    Raises:
        WorkerDiedError: a worker was killed. An error that a job raises is raised here as well.
    """
    context = multiprocessing.get_context("spawn")
    waiting = iter(enumerate(tasks))
    crew: dict[Connection, BaseProcess] = {}
    busy: dict[Connection, int] = {}
    try:
        with _inherited(environment):
            for _ in range(min(workers, len(tasks))):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, job), daemon=True)
                process.start()
                theirs.close()  # or the pipe would stay open when the worker is gone
                crew[ours] = process
        for worker in crew:
            _hand_over(worker, waiting, busy)
        while busy:
            for worker in cast("list[Connection]", wait(list(busy))):
                kind, content = _received(worker)
                if kind == _REPORT:
                    heard(busy[worker], content)
                elif kind == _FAILED:
                    raise content
                else:
                    position = busy.pop(worker)
                    _hand_over(worker, waiting, busy)
                    yield position, content
    finally:
        for worker in crew:
            worker.close()
        for member in crew.values():
            member.join()


def single_threaded() -> dict[str, str]:
    """The environment variables under which JAX and NumPy use one thread of a CPU; set them before either is loaded."""
    flags = os.environ.get("XLA_FLAGS", "")
    threads = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"XLA_FLAGS": f"{flags} --xla_cpu_multi_thread_eigen=false".strip(), **threads}


def one_core() -> dict[str, str]:
    """The environment of a worker that trains one run: one thread, and the CPU only."""
    return {**single_threaded(), "JAX_PLATFORMS": "cpu"}


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _inherited(environment: Mapping[str, str]) -> Iterator[None]:
    """Processes started in this block have these variables and ignore Ctrl-C, which waits for the end of the block."""
    before = {name: os.environ.get(name) for name in environment}
    # Windows has no masks of signals: there Ctrl-C stops a worker itself, and not the process that started it.
    interrupt = {signal.SIGINT}
    handled = signal.pthread_sigmask(signal.SIG_BLOCK, interrupt) if hasattr(signal, "pthread_sigmask") else set()
    try:
        os.environ.update(environment)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, handled)


def _hand_over(worker: Connection, waiting: Iterator[tuple[int, Task]], busy: dict[Connection, int]) -> None:
    """Gives a free worker the next task, if there is one."""
    for position, task in waiting:
        busy[worker] = position
        try:
            worker.send(task)
        except ConnectionError:
            raise _died() from None
        return


def _received(worker: Connection) -> tuple[str, Any]:
    try:
        message: tuple[str, Any] = worker.recv()
    except (EOFError, OSError):  # the end of the pipe between two messages, or in the middle of one
        raise _died() from None
    return message


def _died() -> WorkerDiedError:
    return WorkerDiedError("a training process died (killed, or out of memory?)")


def _serve(caller: Connection, job: Callable[..., object]) -> None:
    """The loop of a worker: job after job, until the pipe is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    send = partial(_send, caller)
    while True:
        try:
            task = caller.recv()
        except (EOFError, OSError):
            return
        except (AttributeError, ImportError) as error:
            hint = 'define it in a module, and not in a notebook or below `if __name__ == "__main__"`'
            send(_FAILED, ValueError(f"a worker process cannot find a part of a run: {hint} ({error})"))
            continue
        try:
            result = job(partial(send, _REPORT), *task)
        except Exception as error:  # whatever it is, the caller raises it
            error.add_note(f"In a worker:\n{traceback.format_exc()}")
            send(_FAILED, error)
        else:
            send(_DONE, result)


def _send(caller: Connection, kind: str, content: object) -> None:
    try:
        caller.send((kind, content))
    except ConnectionError:
        sys.exit()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
