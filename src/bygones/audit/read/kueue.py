"""Reads the usage of a Kueue cluster from its workloads, as `kubectl get workloads -A -o json` prints them.

A workload uses its admitted resources from its admission until it finished. One that is still running counts up to the
latest time in the file. Kueue tells this in two ways, and both are read:

- While a workload is admitted, and in older releases after it has finished as well, `status.admission` has its
  resources, and the condition `Admitted` the time of its admission.
- Newer releases clear the admission of workloads that have finished or were evicted (kubernetes-sigs/kueue, issue
  8188). There remain `status.accumulatedPastExecutionTimeSeconds` (`…PastExexcutionTime…` in v1beta1), the last
  change of the condition, and the requests of the pods in the specification. The usage then ends with that change and
  lasts as long as it states.

A workload that was evicted and admitted again has both: how long it ran before is known, not when, and is spread from
its creation to its latest admission. Checked against the workloads in issues 8188 and 8387 of that repository and its
`apis/kueue/v1beta1` and `v1beta2`.

Workloads are read one by one, and DuckDB holds them: a list may be larger than the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from bygones._text import counted
from bygones.audit.read.formats import Asked, Usage
from bygones.audit.read.json_stream import Json, JsonFile, beginning
from bygones.audit.read.sources import Source, duckdb, fill, label_of, readable, resource_weights, unit_of

AGENTS = ("queue", "namespace", "clusterQueue")
"""The possible agents: the local queue, its namespace, or the cluster queue."""

_SUFFIXES = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_START = 65536
_PAST = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
_INSTANT = pa.timestamp("us", "UTC")
_KNOWN = "SELECT DISTINCT unnest(map_keys(resources)) AS name FROM runs ORDER BY name"


_RUNS = pa.schema([
    ("job", pa.string()), ("queue", pa.string()), ("namespace", pa.string()), ("clusterQueue", pa.string()),
    ("submit", _INSTANT), ("start", _INSTANT), ("finish", _INSTANT), ("seconds", pa.float64()),
    ("resources", pa.map_(pa.string(), pa.float64())),
])  # fmt: skip
"""The times during which workloads used resources. Only the latest run of a workload has its name as `job`, and one
that still runs has no `finish`."""

_Run: TypeAlias = tuple[object, ...]


def recognises(path: str | Path) -> bool:
    """Whether a file begins like a list of Kueue's workloads."""
    start = beginning(Path(path), _START)
    return start.lstrip().startswith("{") and "kueue.x-k8s.io" in start and '"Workload' in start


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from files with workloads; `asked.agent` is one of `AGENTS`, by default the local queue."""
    label = label_of(paths)
    agent = asked.agent or "queue"
    if agent not in AGENTS:
        raise ValueError(f"agent must be one of {', '.join(AGENTS)} for Kueue, got {agent!r}")
    engine, skipped = duckdb(asked.threads, asked.memory), 0

    def runs() -> Iterator[_Run]:
        nonlocal skipped
        for path in paths:
            for workload in _workloads(path):
                its_runs = _runs_of(workload, path)
                skipped += not its_runs
                yield from its_runs

    fill(engine, "runs", _RUNS, runs())
    con = engine.con
    with readable(label):
        n, runs_counted, with_gpus, running, past = con.execute(
            "SELECT count(job), count(*), count(*) FILTER (coalesce(resources['gpu'], 0) > 0), "
            "count(*) FILTER (finish IS NULL), count(*) FILTER (job IS NULL) FROM runs"
        ).fetchone()
    if not n:
        raise ValueError(f"{label} contains no workload that was admitted")
    with readable(label):
        known = [name for (name,) in con.execute(_KNOWN).fetchall()]
        gpus = (with_gpus, runs_counted, "workload")
        weights, notes = resource_weights(asked.resource, _canonical, known, gpus, label)
        con.execute(_usage(weights))
    source = Source(engine.table("usage"), label)
    rows = source.only(source.table, asked.where)
    unit = unit_of(weights, ", ".join)
    notes = [f"Usage is in {unit}, from the admission of a workload until it finished.", *notes]
    if running:
        notes.append(f"Included {counted(running, 'workload')} still running, up to the latest time in the file.")
    if past:
        notes.append(
            f"{counted(past, 'workload')} also ran before being evicted: that usage is spread from creation to the "
            "latest admission."
        )
    if skipped:
        notes.append(f"Skipped {counted(skipped, 'workload')} that were not admitted.")
    gone = " (newer releases of Kueue forget it when a workload finishes)" if agent == "clusterQueue" else ""
    rows, unnamed = source.only_named(rows, agent, "workload", skip=asked.skip_unnamed, why=gone)
    notes += unnamed
    table = rows.select("job", "submit", "start", "time", "utility", agent=rows[agent])
    return Usage(table, unit, tuple(notes))


def _workloads(path: Path) -> Iterator[dict[str, Json]]:
    """The workloads in a list, or a single workload."""
    alone: dict[str, Json] = {}
    with JsonFile(path) as file:
        for key in file.members():
            if key == "items":
                for _ in file.elements():
                    yield file.value()
            else:
                alone[key] = file.value()
        file.end()
    if alone.get("kind") == "Workload":
        yield alone


def _runs_of(item: Mapping[str, Json], path: Path) -> list[_Run]:
    """The latest run of a workload, and those before it; nothing if it was never admitted."""
    about, status = item.get("metadata", {}), item.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    admitted, finished = conditions.get("Admitted") or conditions.get("QuotaReserved"), conditions.get("Finished", {})
    past = next((float(status[name]) for name in _PAST if status.get(name)), 0.0)
    is_admitted = admitted is not None and admitted.get("status") == "True" and "admission" in status
    if admitted is None or not (is_admitted or past):
        return []
    where = f"{path}, workload {about.get('name', 'without a name')}: "
    created, changed = (_moment(text, where) for text in (about["creationTimestamp"], admitted["lastTransitionTime"]))
    name, queue = str(about.get("name", "")), str(item.get("spec", {}).get("queueName", ""))
    place = (queue, str(about.get("namespace", "")), str(status.get("admission", {}).get("clusterQueue", "")))
    used = _used(item, where)
    if not is_admitted:
        start = max(created, changed - timedelta(seconds=past))
        return [(name, *place, created, start, changed, past, used)]
    end = _moment(finished["lastTransitionTime"], where) if finished.get("status") == "True" else None
    latest = (name, *place, created, changed, None if end is None else max(end, changed), None, used)
    return [latest, (None, *place, created, min(created, changed), changed, past, used)] if past else [latest]


def _used(item: Mapping[str, Json], where: str) -> list[tuple[str, float]]:
    """The resources of all pods of a workload together: as admitted, as requested, or as specified."""
    status = item.get("status", {})
    sets = [each.get("resourceUsage", {}) for each in status.get("admission", {}).get("podSetAssignments", ())]
    if not any(sets):
        sets = [each.get("resources", {}) for each in status.get("resourceRequests", ())]
    counts = [1.0] * len(sets)
    if not any(sets):
        for pods in item.get("spec", {}).get("podSets", ()):
            containers = pods.get("template", {}).get("spec", {}).get("containers", ())
            sets += [_requests(container) for container in containers]
            counts += [float(pods.get("count", 1))] * len(containers)
    used: dict[str, float] = {}
    for quantities, count in zip(sets, counts, strict=True):
        for name, quantity in quantities.items():
            what, amount = _canonical(name), count * _quantity(quantity, f"{where}{name}")
            used[what] = used.get(what, 0.0) + (amount / 2.0**30 if what == "mem" else amount)
    return list(used.items())


def _requests(container: Mapping[str, Json]) -> dict[str, Json]:
    """The requests of a container; where it only has a limit, that is also its request."""
    resources = container.get("resources", {})
    return {**resources.get("limits", {}), **resources.get("requests", {})}


def _usage(weights: Mapping[str, float]) -> str:
    """The statement that makes the usage; queues of the same name are told apart by their namespace."""
    rate = " + ".join(
        f"{weight!r} * coalesce(resources['{name.replace(chr(39), 2 * chr(39))}'], 0)"
        for name, weight in weights.items()
    )
    return f"""
        CREATE TEMP TABLE usage AS
        WITH latest AS (SELECT max(greatest(start, coalesce(finish, start))) AS moment FROM runs),
             twice AS (SELECT queue FROM runs GROUP BY queue HAVING count(DISTINCT namespace) > 1),
             ended AS (SELECT *, coalesce(finish, (SELECT moment FROM latest)) AS time FROM runs)
        SELECT CASE WHEN queue != '' AND queue IN (FROM twice) THEN namespace || '/' || queue ELSE queue END AS queue,
               namespace, "clusterQueue", job, submit, start, time,
               coalesce(seconds, (epoch_us(time) - epoch_us(start)) / 1e6) / 3600 * ({rate}) AS utility
        FROM ended
    """


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


def _canonical(name: str) -> str:
    return "mem" if name == "memory" else "gpu" if name.endswith("/gpu") else name
