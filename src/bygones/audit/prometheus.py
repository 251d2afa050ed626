"""Reads usage from the answer of a Prometheus range query, as JSON: GPUs or cores in use by queue, namespace or user.

A sample says how much was in use at its time. It counts until the next sample of its series, and for one step where the
next is missing or there is none. The step is the most frequent time between two samples. KAI Scheduler exports its
usage this way, as `kai_queue_allocated_gpus`, `kai_queue_allocated_cpu_cores` and `kai_queue_allocated_memory_bytes` by
`queue_name`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bygones._csv import check_file
from bygones._text import counted, listed
from bygones.audit.conditions import only
from bygones.audit.engines import Source, check_columns, in_memory
from bygones.audit.formats import Asked, Usage

AGENTS = ("queue_name", "queue", "user", "account", "namespace", "team", "project")
"""Labels that name the agent, the first that is there and differs between series."""

_UNITS = {"gpus": "GPU-hours", "gpu": "GPU-hours", "cpu_cores": "CPU-hours", "cores": "CPU-hours"}
_GIB = 2.0**30
_START = 4096


def recognises(path: str | Path) -> bool:
    """Whether a file begins like the answer of a Prometheus query."""
    try:
        check_file(Path(path))
        with Path(path).open(encoding="utf-8-sig") as file:
            start = file.read(_START)
    except (OSError, ValueError):
        return False
    return start.lstrip().startswith("{") and '"resultType"' in start


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from the answers of range queries.

    `asked.agent` is a label, by default the first of `AGENTS` that there is. `asked.resource` is a metric, or a part of
    its name, where the answers have several.
    """
    series = [each for path in paths for each in _series(path)]
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'other file')}"
    series, metric = _of_metric(series, asked.resource, label)
    labels = sorted({name for each in series for name in each["metric"] if name != "__name__"})
    agent = asked.agent or _agent(series, labels, label)
    check_columns(labels, [agent], label)
    scale = _GIB if metric.endswith("bytes") else 1.0
    start, end, hours, which, gaps = _spread(series, label)
    columns: dict[str, Any] = {
        name: pa.array([each["metric"].get(name) for each in series]).take(pa.array(which)) for name in labels
    }
    columns |= {
        "_start": pa.array(start).cast(pa.timestamp("us", "UTC")),
        "_time": pa.array(end).cast(pa.timestamp("us", "UTC")),
        "_utility": hours / scale,
    }
    source = in_memory(pa.table(columns), label, threads=asked.threads, memory=asked.memory)
    rows = only(source, source.table, asked.where)
    rows, notes = _named(source, rows, agent, asked)
    unit = _unit(metric)
    told = [f"Usage is in {unit}: each sample of {metric or 'the query'} counts until the next.", *notes]
    if gaps:
        told.append(f"{counted(gaps, 'gap')} between samples count as no usage.")
    table = rows.select(agent=rows[agent], start=rows["_start"], time=rows["_time"], utility=rows["_utility"])
    return Usage(table, unit, tuple(told))


def _series(path: Path) -> list[dict[str, Any]]:
    try:
        answer = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    data = answer.get("data", answer)
    if answer.get("status") == "error":
        raise ValueError(f"{path} is an error of Prometheus: {answer.get('error', 'without a reason')}")
    if data.get("resultType") != "matrix":
        raise ValueError(
            f"{path} must be the answer of a range query (resultType matrix), got {data.get('resultType')!r}: ask "
            "/api/v1/query_range"
        )
    return [each for each in data["result"] if each.get("values")]


def _of_metric(series: list[dict[str, Any]], resource: object, label: str) -> tuple[list[dict[str, Any]], str]:
    """The series of one metric, and its name."""
    if isinstance(resource, Mapping):
        raise ValueError("resource must be the name of one metric for Prometheus")
    names = sorted({each["metric"].get("__name__", "") for each in series})
    if resource is not None:
        names = [name for name in names if str(resource) in name] or _no_metric(names, resource, label)
    if len(names) > 1:
        raise ValueError(f"{label} has several metrics ({', '.join(names)}): choose one with --resource")
    if not names:
        raise ValueError(f"{label} contains no samples")
    return [each for each in series if each["metric"].get("__name__", "") == names[0]], names[0]


def _no_metric(names: Sequence[str], resource: object, label: str) -> list[str]:
    raise ValueError(f"resource must be one of the metrics in {label} ({', '.join(names)}), got {resource!r}")


def _agent(series: Sequence[dict[str, Any]], labels: Sequence[str], label: str) -> str:
    varying = [name for name in labels if len({each["metric"].get(name) for each in series}) > 1]
    known = [name for name in AGENTS if name in varying] or [name for name in AGENTS if name in labels]
    if not known and len(varying) == 1:
        known = varying
    if not known:
        raise ValueError(f"{label}: say with --agent which label names the agent: {listed(labels) or 'there are none'}")
    return known[0]


def _spread(series: Sequence[dict[str, Any]], label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Of every sample, the time from which to which it counts, its hours, and its series; and the number of gaps."""
    times, values, which = [], [], []
    for i, each in enumerate(series):
        for moment, value in each["values"]:
            number = float(value)
            if math.isnan(number):
                continue
            if number < 0 or math.isinf(number):
                raise ValueError(f"{label}: a sample must be a finite number of at least 0, got {value!r} at {moment}")
            times.append(round(float(moment) * 1e6))
            values.append(number)
            which.append(i)
    if not times:
        raise ValueError(f"{label} contains no samples")
    start, of = np.array(times, dtype=np.int64), np.array(which, dtype=np.int64)
    order = np.lexsort((start, of))
    start, of, value = start[order], of[order], np.array(values)[order]
    same = of[1:] == of[:-1]
    between = np.diff(start)[same]
    counts = np.unique(between[between > 0], return_counts=True)
    step = int(counts[0][np.argmax(counts[1])]) if len(counts[0]) else 60_000_000
    lasts = np.full(len(start), step, dtype=np.int64)
    lasts[:-1][same] = np.minimum(between, step)
    gaps = int((between > 1.5 * step).sum())
    return start, start + lasts, value * lasts / 3600e6, of, gaps


def _named(source: Source, rows: Any, agent: str, asked: Asked) -> tuple[Any, list[str]]:
    is_named = (rows[agent].notnull() & (rows[agent] != "")).fill_null(False)
    without = int(rows.filter(~is_named).count().to_pyarrow().as_py())
    if without and not asked.skip_unnamed:
        raise ValueError(
            f"{source.label}: {counted(without, 'sample')} have no {agent}; leave them out with --skip-unnamed"
        )
    return rows.filter(is_named), [f"Skipped {counted(without, 'sample')} without {agent}."] if without else []


def _unit(metric: str) -> str:
    if metric.endswith("bytes"):
        return "GiB-hours of memory"
    return next((unit for end, unit in _UNITS.items() if metric.endswith(end)), f"hours × {metric or 'value'}")
