"""Jobs in processes of their own, one at a time in each, and what they have to tell meanwhile.

This process and a worker share one pipe and nothing else. What a job tells and what it comes to arrive in the order in
which they were sent, so that nothing is lost between the two; a worker that tells faster than it is heard waits. Either
side learns from a closed pipe that the other is gone: to stop is to close it, and a worker that was killed, even in the
middle of a word, has closed it too.
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
from typing import Any, TypeVar

Result = TypeVar("Result")

_TOLD, _DONE, _FAILED = "told", "done", "failed"


class WorkerDiedError(OSError):
    """A worker ended in the middle of a job, without an error of the job's."""


def in_processes(
    job: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    heard: Callable[[int, Any], None],
    *,
    workers: int,
    environment: Mapping[str, str],
) -> Generator[tuple[int, Result]]:
    """Does a job for every task in new processes; gives each task's position and result when it is done.

    When the caller leaves, by closing the generator, by an error or by Ctrl-C, the jobs end when they next tell
    something, and the workers are waited for. Ctrl-C itself does not reach them.

    Args:
        job: called in a worker as `job(tell, *task)`; what it gives to `tell` is heard here. Like the tasks and all
            that comes back, it is pickled.
        tasks: the arguments of each call.
        heard: called here with a task's position and what its job told; always before its result is given.
        workers: how many processes, if there are as many tasks.
        environment: variables of the workers, in place before they load any library.

    Raises:
        WorkerDiedError: a worker was killed. What a job raises is raised here as well.
    """
    context = multiprocessing.get_context("spawn")
    waiting = iter(enumerate(tasks))
    crew: dict[Any, BaseProcess] = {}
    busy: dict[Any, int] = {}
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
            for worker in wait(list(busy)):
                kind, content = _received(worker)
                if kind == _TOLD:
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
    """What is started in this block finds these variables from its first moment on, and is deaf to Ctrl-C."""
    before = {name: os.environ.get(name) for name in environment}
    heeded = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, heeded)


def _hand_over(worker: Any, waiting: Iterator[tuple[int, tuple[Any, ...]]], busy: dict[Any, int]) -> None:
    """Gives a free worker the next task, if there is one."""
    for position, task in waiting:
        busy[worker] = position
        try:
            worker.send(task)
        except ConnectionError:
            raise _died() from None
        return


def _received(worker: Any) -> tuple[str, Any]:
    try:
        message: tuple[str, Any] = worker.recv()
    except (EOFError, OSError):  # the end of the pipe between two messages, or in the middle of one
        raise _died() from None
    return message


def _died() -> WorkerDiedError:
    return WorkerDiedError("a training process died (killed, or out of memory?)")


def _serve(caller: Connection, job: Callable[..., Any]) -> None:
    """The life of a worker: job after job, until nobody is there to hear of them."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    say = partial(_say, caller)
    while True:
        try:
            task = caller.recv()
        except (EOFError, OSError):
            return
        try:
            result = job(partial(say, _TOLD), *task)
        except Exception as error:  # whatever it is, it is the caller's to raise
            error.add_note(f"In a worker:\n{traceback.format_exc()}")
            say(_FAILED, error)
        else:
            say(_DONE, result)


def _say(caller: Connection, kind: str, content: Any) -> None:
    try:
        caller.send((kind, content))
    except ConnectionError:
        sys.exit()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
