"""Reads the usage of a Slurm cluster from `sacct -P`: who used how many CPUs, GPUs or other resources, and when.

A job uses its allocated resources from its start to its end. Its usage, in resource-hours, is spread evenly over that
time in slices of at most one hour, and each slice counts at its end; the total is resources times `Elapsed`. Jobs that
are still running count for what they have used so far. Job steps (`123.batch`) repeat the usage of their job and are
skipped, and so are jobs that never ran.
"""

from __future__ import annotations

import csv
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bygones._text import counted
from bygones.audit.engines import check_columns
from bygones.audit.formats import Usage

SLICE = 3600
"""The longest slice of a job's usage, in seconds."""

_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_UNKNOWN = ("", "unknown", "none", "n/a")
_SUFFIXES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_GIB = 2.0**30
_EPOCH = datetime(1970, 1, 1)
_LONGEST_HEADER = 10_000


class _Job(NamedTuple):
    agent: str
    start: int
    seconds: float
    elapsed: float
    tres: dict[str, float]


def read(path: str | Path, agent: str | None = None, resource: str | None = None) -> Usage:
    """Reads the usage from a file written by `sacct -P`.

    Args:
        path: the file, with a header and cells separated by `|`.
        agent: the column that names the agent, such as `Account`; by default `User`.
        resource: what to count, by its name in AllocTRES: `cpu`, `gpu` (for `gres/gpu`), `mem` (in GiB), `billing`, …;
            by default GPUs if any job has one, otherwise CPUs.
    """
    jobs, skipped, running = _jobs(Path(path), agent or "User")
    if not jobs:
        raise ValueError(f"{path} contains no job that ran")
    chosen = resource or ("gpu" if any("gpu" in job.tres for job in jobs) else "cpu")
    known = sorted({name for job in jobs for name in job.tres})
    if chosen not in known:
        raise ValueError(f"resource must be one that a job in {path} uses ({', '.join(known)}), got {chosen!r}")
    amounts = np.array([job.tres.get(chosen, 0.0) * job.elapsed / 3600 for job in jobs])
    unit = "GiB-hours of memory" if chosen == "mem" else f"{chosen.upper() if len(chosen) == 3 else chosen}-hours"
    notes = [f"Usage is in {unit}, spread evenly over each job's run time in slices of at most one hour."]
    if running:
        notes.append(f"Included {counted(running, 'job')} still running, with the usage so far.")
    if skipped:
        notes.append(f"Skipped {counted(skipped, 'job')} that never ran.")
    return Usage(_spread(jobs, amounts), unit, tuple(notes))


def recognises(path: str | Path) -> bool:
    """Whether the first line of a file is a header written by `sacct -P`."""
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            return {"JobID", "Start", "End", "Elapsed"} <= set(file.readline(_LONGEST_HEADER).strip().split("|"))
    except (OSError, UnicodeDecodeError):
        return False


def _spread(jobs: list[_Job], amounts: np.ndarray) -> pa.Table:
    seconds = np.array([job.seconds for job in jobs])
    parts = np.maximum(np.ceil(seconds / SLICE), 1).astype(np.int64)
    job = np.repeat(np.arange(len(jobs)), parts)
    nth = np.arange(len(job)) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    start = np.array([each.start for each in jobs], dtype=np.int64)
    times = start[job] + np.round(1e6 * seconds[job] * nth / parts[job]).astype(np.int64)
    names = pa.array([each.agent for each in jobs]).dictionary_encode()
    return pa.table(
        {
            "agent": names.take(pa.array(job)).cast(pa.string()),
            "time": pa.array(times).cast(pa.timestamp("us")),
            "utility": (amounts / parts)[job],
        }
    )


def _jobs(path: Path, agent: str) -> tuple[list[_Job], int, int]:
    """The jobs that ran, the number that never ran, and the number still running."""
    jobs, skipped, running = [], 0, 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)
            header = [name.strip() for name in next(reader, [])]
            # `sacct -p` ends each line with a bar, `sacct -P` does not.
            header = header[:-1] if header and not header[-1] else header
            if len(header) < 2:
                raise ValueError(f"{path} is not the output of sacct -P: its first line has no cells separated by |")
            check_columns(header, (agent, "JobID", "Start", "End", "Elapsed"), str(path))
            if "AllocTRES" not in header and "AllocCPUS" not in header:
                check_columns(header, ("AllocTRES",), str(path))
            for cells in reader:
                if not any(cells):
                    continue
                where = f"{path}, row {reader.line_num}: "
                if len(cells) not in (len(header), len(header) + 1):
                    raise ValueError(f"{where}expected {len(header)} cells as in the header, got {len(cells)}")
                row = dict(zip(header, cells, strict=False))
                if "." in row["JobID"]:
                    continue
                job = _job(row, agent, where)
                if job is None:
                    skipped += 1
                else:
                    running += row["End"].strip().lower() in _UNKNOWN
                    jobs.append(job)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not the output of sacct -P: {error}") from None
    return jobs, skipped, running


def _job(row: dict[str, str], agent: str, where: str) -> _Job | None:
    start, end = (_moment(row[name], f"{where}{name}") for name in ("Start", "End"))
    elapsed = _elapsed(row["Elapsed"], f"{where}Elapsed")
    if start is None or not elapsed:
        return None
    if not row[agent].strip():
        raise ValueError(f"{where}{agent} must be a name, got nothing")
    seconds = elapsed if end is None else (end - start) / 1e6
    if seconds < 0:
        raise ValueError(f"{where}End must not be before Start, got {row['End']!r}")
    tres = _tres(row.get("AllocTRES", ""), f"{where}AllocTRES")
    if "cpu" not in tres and row.get("AllocCPUS", "").strip():
        tres["cpu"] = _amount(row["AllocCPUS"], f"{where}AllocCPUS")
    return _Job(row[agent].strip(), start, seconds, elapsed, tres)


def _moment(text: str, name: str) -> int | None:
    if text.strip().lower() in _UNKNOWN:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    except ValueError:
        raise ValueError(f"{name} must be a time such as 2026-03-02T22:00:00 or Unknown, got {text!r}") from None


def _elapsed(text: str, name: str) -> float:
    match = _ELAPSED.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{name} must be [DD-[HH:]]MM:SS, got {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds


def _tres(text: str, name: str) -> dict[str, float]:
    """Resources by name: `cpu=8,mem=64G,gres/gpu=2` is cpu 8, mem 64 GiB, gpu 2; typed GPUs count if no total does."""
    found: dict[str, float] = {}
    typed: dict[str, float] = {}
    for part in filter(None, text.strip().split(",")):
        key, _, value = part.partition("=")
        what = key.strip().removeprefix("gres/")
        amount = _amount(value, f"{name} {key.strip()}", bytes_of=what == "mem")
        base, is_typed, _ = what.partition(":")
        if is_typed:
            typed[base] = typed.get(base, 0.0) + amount
        else:
            found[what] = amount
    return typed | found


def _amount(text: str, name: str, *, bytes_of: bool = False) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)[cn]?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{name} must be a number, optionally followed by K, M, G or T, got {text!r}")
    number, suffix = float(match[1]), match[2].upper()
    if bytes_of:
        # Memory without a suffix is in megabytes.
        return number * _SUFFIXES[suffix or "M"] / _GIB
    return number * (1000.0 ** ("KMGTP".index(suffix) + 1) if suffix else 1.0)
