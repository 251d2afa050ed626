"""Reads the jobs in the output of Slurm's `sacct --json`, with the columns and the notation of `sacct -P`.

Slurm has changed this format: a state may be a word or a list of words, and a number may be alone or in an object with
`set`, `infinite` and `number`. Both are read. Times are seconds since 1970, and 0 where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bygones.audit.read.json_stream import Json, JsonFile, beginning

COLUMNS = ("JobID", "User", "Account", "Partition", "QOS", "JobName", "State", "Submit", "Eligible", "Start", "End",
           "ElapsedRaw", "TimelimitRaw", "AllocTRES", "ReqTRES")  # fmt: skip
"""The columns of a job."""

_START = 65_536


def recognises(path: Path) -> bool:
    """Whether a file begins like the output of `sacct --json`; one that is not text does not."""
    try:
        start = beginning(path, _START)
    except ValueError:
        return False
    return start.lstrip().startswith("{") and any(f'"{name}"' in start for name in ("job_id", "slurm", "Slurm"))


def jobs(path: Path) -> Iterator[tuple[str, ...]]:
    """The cells of every job, in the order of `COLUMNS`."""
    with JsonFile(path) as file:
        for key in file.members():
            if key == "jobs":
                for _ in file.elements():
                    yield _cells(file.value(), path)
            else:
                file.skip()
        file.end()


def _cells(job: Json, path: Path) -> tuple[str, ...]:
    try:
        time, tres = job["time"], job.get("tres", {})
        limit = _number(time.get("limit"))
        return (
            _job_id(job), str(job.get("user") or ""), str(job.get("account") or ""), str(job.get("partition") or ""),
            str(job.get("qos") or ""), str(job.get("name") or ""), _state(job.get("state", {}).get("current", "")),
            *(_moment(time.get(name)) for name in ("submission", "eligible", "start", "end")),
            f"{_number(time.get('elapsed')) or 0:.0f}", "" if limit is None else f"{limit:.0f}",
            _resources(tres.get("allocated")), _resources(tres.get("requested")),
        )  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        number = job.get("job_id", "without a number") if isinstance(job, Mapping) else "without a number"
        raise ValueError(f"{path}, job {number}: not as in the output of sacct --json ({error!r})") from None


def _job_id(job: Json) -> str:
    """The number of a job; a task of an array has the array's and its own, as in `12_3`."""
    array = job.get("array") or {}
    task, whole = _number(array.get("task_id")), _number(array.get("job_id"))
    return str(job["job_id"]) if task is None or not whole else f"{whole:.0f}_{task:.0f}"


def _state(state: Json) -> str:
    return " ".join(map(str, state)) if isinstance(state, list) else str(state)


def _number(value: Json) -> float | None:
    """A number, perhaps in an object; None if it is not set or infinite."""
    if isinstance(value, Mapping):
        return float(value["number"]) if value.get("set") and not value.get("infinite") else None
    return None if value is None else float(value)


def _moment(value: Json) -> str:
    seconds = _number(value)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}" if seconds else "Unknown"


def _resources(resources: Json) -> str:
    """Resources as in AllocTRES: `cpu=8,mem=65536M,gres/gpu=2`; memory is in megabytes."""
    parts = []
    for each in resources or ():
        name = f"{each['type']}/{each['name']}" if each.get("name") else str(each["type"])
        parts.append(f"{name}={_number(each.get('count')) or 0:.0f}{'M' if each['type'] == 'mem' else ''}")
    return ",".join(parts)
