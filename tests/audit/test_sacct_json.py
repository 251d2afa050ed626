"""Usage of a cluster from what `sacct --json` prints."""

import json

import numpy as np
import pytest

from bygones.audit import audit, read_history
from bygones.audit.read import formats
from bygones.audit.replay.queued_jobs import HOUR, Jobs

BEGAN = 1767225600  # 2026-01-01 in UTC


def job(number, user, start, end, elapsed, *, gpus=0, array=0, task=None, limit=None, state="COMPLETED"):
    tres = [{"type": "cpu", "name": "", "id": 1, "count": 4}, {"type": "mem", "name": "", "id": 2, "count": 2048}]
    tres += [{"type": "gres", "name": "gpu", "id": 1001, "count": gpus}] if gpus else []
    return {
        "account": "lab", "job_id": number, "user": user, "partition": "main", "name": "train", "qos": "normal",
        "array": {"job_id": array, "task_id": task}, "state": {"current": state, "reason": "None"},
        "time": {"submission": BEGAN, "eligible": BEGAN, "start": start, "end": end, "elapsed": elapsed,
                 "limit": limit},
        "tres": {"allocated": tres if start else [], "requested": tres}, "steps": [{"step": {"name": "batch"}}],
    }  # fmt: skip


def number(value):
    return {"set": value is not None, "infinite": False, "number": value or 0}


JOBS = [
    job(1, "ana", BEGAN + 60, BEGAN + 60 + 3600, 3600, gpus=2, limit=120),
    job(2, "ben", BEGAN, BEGAN + 7200, 7200, gpus=1, array=2, task=1, limit=number(240), state=["COMPLETED"]),
    job(3, "ben", BEGAN, 0, 1800, gpus=4, array=number(0), task=number(None), state=["RUNNING"]),
    job(4, "cem", 0, 0, 0, gpus=4, state="PENDING"),
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "sacct.json"
    path.write_text(json.dumps({"meta": {"Slurm": {"release": "22.05.8"}}, "errors": [], "jobs": JOBS}))
    return path


def test_the_notations_of_older_and_newer_versions_are_read(log):
    assert formats.recognised(log) == "sacct"
    # Times are instants, whatever zone they are shown in.
    history = read_history(log, time_zone="Europe/Berlin")
    assert history.clock.shown(history.first) == "2026-01-01 01:00"
    found = audit(history, ["inf"], refine=False)
    assert dict(zip(found.names, found.received.tolist(), strict=True)) == pytest.approx({"ana": 2, "ben": 2 + 2})
    assert history.columns["utility"] == "GPU-hours"
    assert history.notes[-2:] == (
        "Included 1 job still running, with the usage so far.", "Skipped 1 job that never ran.",
    )  # fmt: skip
    jobs = Jobs.of(history)
    assert dict(zip(jobs.number, jobs.size.tolist(), strict=True)) == {"1": 2, "2_1": 1, "3": 4}
    np.testing.assert_allclose(jobs.requested / HOUR, [4, np.nan, 2])
    assert set(jobs.accounts) == {"lab"}


def test_conditions_resources_and_agents_are_those_of_sacct(log):
    history = read_history(log, where=["State=COMPLETED"], agent="Account", resource="mem")
    found = audit(history, ["inf"], refine=False)
    assert (found.names, found.received.tolist()) == (("lab",), [pytest.approx(2 * 3)])


def test_what_is_not_the_output_of_sacct_is_refused(log, tmp_path):
    other = tmp_path / "sacct.txt"
    other.write_text("JobID|User|Start|End|Elapsed|AllocCPUS\n")
    with pytest.raises(ValueError, match="read one kind at a time"):
        read_history([log, other], format="sacct")
    with pytest.raises(ValueError, match="fields does not apply to the output of sacct --json"):
        read_history(log, format="sacct", fields=["JobID"])
    broken = dict(JOBS[0])
    del broken["time"]
    log.write_text(json.dumps({"jobs": [broken]}))
    with pytest.raises(ValueError, match=r"sacct\.json, job 1: not as in the output of sacct --json \(KeyError"):
        read_history(log, format="sacct")
