"""Usage from traces in the Standard Workload Format, as in the Parallel Workloads Archive."""

import gzip
import time

import numpy as np
import pytest

from bygones.audit import audit, read_history, replay_queue
from bygones.audit.read import formats, swf
from bygones.audit.replay.queued_jobs import HOUR, Jobs, most_in_use
from support import plain_queue

TRACE = """\
; Version: 2.2
; Computer: made up
; MaxProcs: 240
; UnixStartTime: 1767225600
;
    1      0     10   3600   8  -1 -1  8  7200 -1 1  3  1 -1  2 -1 -1 -1
    2     60    100   1800  -1  -1 -1  4    -1 -1 1  4  1 -1  2 -1 -1 -1
    3     61     -1     -1  -1  -1 -1  4  3600 -1 5  4  1 -1  2 -1 -1 -1
    4     70      0      0   4  -1 -1  4  3600 -1 0  4  1 -1  2 -1 -1 -1
"""


@pytest.fixture(params=["trace.swf", "trace.swf.gz"])
def trace(tmp_path, request):
    path = tmp_path / request.param
    path.write_bytes(gzip.compress(TRACE.encode()) if path.suffix == ".gz" else TRACE.encode())
    return path


def test_processors_are_used_from_the_start_to_the_end(trace):
    assert formats.recognised(trace) == "swf"
    history = read_history(trace)
    found = audit(history, ["inf"], refine=False)
    assert dict(zip(found.names, found.received.tolist(), strict=True)) == pytest.approx({"user 3": 8, "user 4": 2})
    assert history.clock.shown(history.first) == "2026-01-01 00:00"
    assert history.notes == (
        "Usage is in CPU-hours, spread evenly over each job's run time.",
        "Skipped 2 jobs that never ran.",
        "The trace is of a cluster with 240 processors (MaxProcs).",
    )
    by_group = audit(read_history(trace, agent="group", where=["user=user 3"]), ["inf"], refine=False)
    assert (by_group.names, by_group.received.tolist()) == (("group 1",), pytest.approx([8]))


def test_the_queue_of_a_trace_can_be_replayed(trace):
    history = read_history(trace)
    jobs = Jobs.of(history)
    assert (jobs.size.tolist(), jobs.number) == ([8, 4], ("1", "2"))
    np.testing.assert_allclose(jobs.requested / HOUR, [2, np.nan])
    assert ((jobs.start - jobs.submit) / 1e6).tolist() == [10, 100]
    assert len(replay_queue(history, ["1d"], capacity=240).jobs) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 3", r"trace\.swf, row 1: expected 18 numbers, got 3"),
        (" ".join(["1"] * 17 + ["many"]), r"row 1: expected 18 numbers, got 'many'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = tmp_path / "trace.swf"
    path.write_text(f"{line}\n")
    with pytest.raises(ValueError, match=message):
        read_history(path, format="swf")


def test_what_a_trace_does_not_have_is_refused(tmp_path):
    path = tmp_path / "trace.swf"
    path.write_text(TRACE)
    for message, more in (
        ("agent must be one of user, group, queue, partition for SWF, got 'account'", {"agent": "account"}),
        ("resource must be cpu for SWF, which counts processors, got 'gpu'", {"resource": "gpu"}),
        ("has 2 jobs without partition", {"agent": "partition"}),
    ):
        with pytest.raises(ValueError, match=message):
            read_history(path, **more)
    path.write_text("\n".join(line for line in TRACE.splitlines() if "Unix" not in line))
    assert swf.recognises(path)
    assert "The trace does not give its UnixStartTime, so times count from 1970." in read_history(path).notes
    path.write_text("agent time utility\n")
    assert not swf.recognises(path)


@pytest.mark.soak
def test_a_long_trace_is_replayed_within_the_cluster(tmp_path):
    """Made up, with heavy tails, campaigns of users and a rhythm of days: no test can reach the archives."""
    made = plain_queue.made_up(1, n_jobs=100_000, n_users=300, capacity=90)
    path = tmp_path / "trace.swf"
    path.write_text("; MaxProcs: 90\n; UnixStartTime: 1767225600\n" + "".join(
        f"{job.number} {job.submit:.0f} 0 {job.lasts:.0f} {job.size} -1 -1 {job.size} {job.limit:.0f} -1 1 "
        f"{job.user[1:]} 1 -1 1 -1 -1 -1\n" for job in made
    ))  # fmt: skip
    history = read_history(path)
    jobs, began = Jobs.of(history), time.process_time()
    found = replay_queue(history, ["7d"], in_force="none", capacity=90)
    print(f"{len(jobs):,} jobs, {2 * found.draws} replays: {time.process_time() - began:.1f} processor seconds")
    for course in found.courses:
        assert most_in_use(course.start, jobs.lasts, jobs.size) <= 90
        assert (course.start >= jobs.submit).all()
        assert (course.start > jobs.submit).mean() > 0.1
