"""Reads the usage of a Kueue cluster from its workloads, as `kubectl get workloads -A -o json` prints them.

A workload uses what it was admitted with from its admission until it finished; one that is still running counts up to
the latest time in the file. Workloads that were never admitted, or are evicted, are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bygones._csv import check_file
from bygones._text import counted
from bygones.audit.conditions import only, weights_of
from bygones.audit.engines import in_memory
from bygones.audit.formats import Asked, Usage

AGENTS = ("queue", "namespace", "clusterQueue")
"""What may be the agent: the local queue, its namespace, or the cluster queue."""

_SUFFIXES = {
    "": 1.0, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip
_START = 65536


class _Workload(NamedTuple):
    job: str
    queue: str
    namespace: str
    cluster_queue: str
    submit: datetime
    start: datetime
    end: datetime | None
    resources: dict[str, float]


def recognises(path: str | Path) -> bool:
    """Whether a file begins like a list of Kueue's workloads."""
    try:
        check_file(Path(path))
        with Path(path).open(encoding="utf-8-sig") as file:
            start = file.read(_START)
    except (OSError, ValueError):
        return False
    return start.lstrip().startswith("{") and "kueue.x-k8s.io" in start and '"Workload' in start


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from files with workloads; `asked.agent` is one of `AGENTS`, by default the local queue."""
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'other file')}"
    agent = asked.agent or "queue"
    if agent not in AGENTS:
        raise ValueError(f"agent must be one of {', '.join(AGENTS)} for Kueue, got {agent!r}")
    items = [item for path in paths for item in _items(path)]
    found = [each for item in items if (each := _workload(item, label)) is not None]
    if not found:
        raise ValueError(f"{label} contains no workload that was admitted")
    now = max(moment for each in found for moment in (each.start, each.end) if moment is not None)
    weights, notes = _resources(found, asked.resource, label)
    hours = [((each.end or now) - each.start).total_seconds() / 3600 for each in found]
    names = {each.queue for each in found}
    twice = {name for name in names if len({each.namespace for each in found if each.queue == name}) > 1}
    table = pa.table(
        {
            "queue": [f"{each.namespace}/{each.queue}" if each.queue in twice else each.queue for each in found],
            "namespace": [each.namespace for each in found],
            "clusterQueue": [each.cluster_queue for each in found],
            "job": [each.job for each in found],
            "submit": pa.array([each.submit for each in found], pa.timestamp("us", "UTC")),
            "start": pa.array([each.start for each in found], pa.timestamp("us", "UTC")),
            "time": pa.array([each.end or now for each in found], pa.timestamp("us", "UTC")),
            "utility": [
                hour * sum(weight * each.resources.get(name, 0.0) for name, weight in weights.items())
                for each, hour in zip(found, hours, strict=True)
            ],
        }
    )
    source = in_memory(table, label, threads=asked.threads, memory=asked.memory)
    rows = only(source, source.table, asked.where)
    running, skipped = sum(each.end is None for each in found), len(items) - len(found)
    unit = _unit(weights)
    notes = [f"Usage is in {unit}, from the admission of a workload until it finished.", *notes]
    if running:
        notes.append(f"Included {counted(running, 'workload')} still running, up to the latest time in the file.")
    if skipped:
        notes.append(f"Skipped {counted(skipped, 'workload')} that were not admitted.")
    return Usage(rows.select("job", "submit", "start", "time", "utility", agent=rows[agent]), unit, tuple(notes))


def _items(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    return list(data.get("items", [data]))


def _workload(item: Mapping[str, Any], label: str) -> _Workload | None:
    """The workload, or None if it was not admitted."""
    about, status = item.get("metadata", {}), item.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    admitted = conditions.get("Admitted") or conditions.get("QuotaReserved")
    finished = conditions.get("Finished", {})
    done = finished.get("status") == "True"
    if "admission" not in status or admitted is None or (admitted.get("status") != "True" and not done):
        return None
    where = f"{label}, workload {about.get('name', 'without a name')}: "
    start = _moment(admitted["lastTransitionTime"], where)
    end = _moment(finished["lastTransitionTime"], where) if done else None
    resources: dict[str, float] = {}
    for assigned in status["admission"].get("podSetAssignments", ()):
        for name, quantity in assigned.get("resourceUsage", {}).items():
            what, amount = _resource(name), _quantity(quantity, f"{where}{name}")
            resources[what] = resources.get(what, 0.0) + (amount / 2.0**30 if what == "mem" else amount)
    return _Workload(
        str(about.get("name", "")), str(item.get("spec", {}).get("queueName", "")), str(about.get("namespace", "")),
        str(status["admission"].get("clusterQueue", "")), _moment(about.get("creationTimestamp", ""), where),
        start, None if end is None else max(end, start), resources,
    )  # fmt: skip


def _moment(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{where}a time must be written as 2026-03-02T22:00:00Z, got {text!r}") from None


def _quantity(text: object, name: str) -> float:
    """A quantity as Kubernetes writes it: `500m`, `4`, `64Gi`."""
    match = re.fullmatch(r"([0-9.]+(?:e[+-]?[0-9]+)?)([a-zA-Z]*)", str(text).strip())
    if match is None or match[2] not in _SUFFIXES:
        raise ValueError(f"{name} must be a quantity such as 500m, 4 or 64Gi, got {text!r}")
    return float(match[1]) * _SUFFIXES[match[2]]


def _resource(name: str) -> str:
    return "mem" if name == "memory" else "gpu" if name.endswith("/gpu") else name


def _resources(
    found: Sequence[_Workload], resource: str | Mapping[str, float] | None, label: str
) -> tuple[dict[str, float], list[str]]:
    """What to count, with weights, and what to say about it."""
    known = sorted({name for each in found for name in each.resources})
    if resource is None:
        gpus = sum(each.resources.get("gpu", 0.0) > 0 for each in found)
        if gpus and (2 * gpus >= len(found) or "cpu" not in known):
            return {"gpu": 1.0}, []
        used = f"only {gpus:,} of {counted(len(found), 'workload')} used GPUs; --resource gpu counts those."
        return {"cpu" if "cpu" in known else (known or ["cpu"])[0]: 1.0}, [f"CPUs are counted: {used}"] if gpus else []
    weights = weights_of(resource, "resource") if isinstance(resource, str) else dict(resource)
    weights = {_resource(name): float(weight) for name, weight in weights.items()}
    for name in weights:
        if name not in known:
            raise ValueError(f"resource must be one that a workload in {label} uses ({', '.join(known)}), got {name!r}")
    return weights, []


def _unit(weights: Mapping[str, float]) -> str:
    if len(weights) == 1 and next(iter(weights.values())) == 1:
        (name,) = weights
        return "GiB-hours of memory" if name == "mem" else f"{name.upper() if len(name) == 3 else name}-hours"
    return f"weighted hours ({', '.join(f'{name} × {weight:g}' for name, weight in weights.items())})"
