"""Usage from traces in the Standard Workload Format, as in the Parallel Workloads Archive."""

import gzip

import numpy as np
import pytest

from bygones.audit import audit, read_history, replay_queue
from bygones.audit.read import formats, swf
from bygones.audit.replay.queued_jobs import HOUR, Jobs

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
