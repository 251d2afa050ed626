"""Jobs in processes: nothing is lost, nobody waits for ever, nobody is left behind."""

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import types
from contextlib import closing
from pathlib import Path

import pytest

from bygones.learn import processes
from bygones.learn.processes import WorkerDiedError, in_processes, single_threaded, usable_cores
from support import jobs


class EnoughError(Exception):
    pass


def work(job, tasks, heard=lambda position, message: None, workers=2, **environment):
    return in_processes(job, tasks, heard, workers=workers, environment=environment)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_what_is_told_just_before_the_end_is_heard_before_the_result(workers):
    heard = [[] for _ in range(5)]
    done = []
    for position, result in work(
        jobs.tell_much, [(f"job {i}", 50) for i in range(5)], lambda at, told: heard[at].append(told), workers
    ):
        assert result == f"job {position}"
        assert heard[position] == [(result, i, jobs.LONG) for i in range(50)]
        done.append(position)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_a_part_that_workers_cannot_import_is_named(monkeypatch):
    module = types.ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    exec("class Part: pass", vars(module))
    with pytest.raises(ValueError, match=r"a worker process cannot find a part of a run: define it.*'only_here'"):
        list(work(jobs.tell_much, [(module.Part(), 1)], workers=1))


def test_no_tasks_no_processes():
    assert list(work(jobs.tell_much, [])) == []


def test_whoever_does_not_want_to_hear_more_is_not_kept_waiting():
    def heard(position, message):
        raise EnoughError

    with pytest.raises(EnoughError):
        list(work(jobs.tell_for_ever, [(), ()], heard))
    assert not multiprocessing.active_children()


def test_whoever_leaves_between_two_results_leaves_nobody_behind():
    with closing(work(jobs.tell_much, [(i, 50) for i in range(9)])) as found:
        next(found)
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


def test_a_job_that_fails_ends_the_others():
    with pytest.raises(ValueError, match="this one fails") as caught:
        list(work(jobs.either, [(False,), (True,)]))
    assert "in either" in caught.value.__notes__[0]
    assert not multiprocessing.active_children()


def test_a_worker_killed_in_the_middle_of_a_word_is_missed():
    def heard(position, pid):
        os.kill(pid, signal.SIGKILL)

    with pytest.raises(WorkerDiedError, match=r"a training process died \(killed, or out of memory\?\)"):
        list(work(jobs.tell_who_and_much, [()], heard))
    assert not multiprocessing.active_children()


def test_half_a_message_is_no_message():
    here, there = multiprocessing.Pipe()
    os.write(there.fileno(), struct.pack("!i", 100) + b"the first of a hundred bytes")
    there.close()
    with here, pytest.raises(WorkerDiedError):
        processes._received(here)


def test_workers_are_deaf_to_ctrl_c_and_find_their_environment_when_they_start(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("A_WORKERS_OWN", raising=False)
    ((_, seen),) = work(jobs.see_surroundings, [()], A_WORKERS_OWN="yes", **single_threaded())
    assert seen["A_WORKERS_OWN"] == "yes"
    assert single_threaded().items() <= seen.items()
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "A_WORKERS_OWN" not in os.environ


def test_workers_end_with_their_parent():
    tests = Path(jobs.__file__).parents[1]
    parent = subprocess.Popen([sys.executable, "-m", "support.jobs"], cwd=tests, stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert parent.stdout.readline()
    parent.kill()
    parent.communicate()  # until nobody holds the other end of its output any more


def test_single_threaded_keeps_the_callers_flags(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    flags = single_threaded()["XLA_FLAGS"].split()
    assert flags == ["--xla_cpu_enable_fast_math=false", "--xla_cpu_multi_thread_eigen=false"]


def test_there_is_a_core_to_use():
    assert usable_cores() >= 1
