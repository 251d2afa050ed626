"""Reads usage from the answer of a Prometheus range query, as JSON: GPUs or cores in use by queue, namespace or user.

A sample shows how much was in use at its time. It counts until the next sample of its series, and for one step where
the next is missing or there is none. The step is the most frequent time between two samples. KAI Scheduler exports its
usage this way, as `kai_queue_allocated_gpus`, `kai_queue_allocated_cpu_cores` and `kai_queue_allocated_memory_bytes` by
`queue_name`. A series that goes on in another file is one series, and a sample that is in both counts once.

A metric whose name ends in `_total` is a counter. What counts is its increase from a sample to the next, also over a
gap. A counter that falls has begun again at zero.

Samples are read one by one, and DuckDB sorts them: an answer may be larger than the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import ibis
import pyarrow as pa

from bygones._text import counted, listed
from bygones.audit.read.formats import Asked, Usage
from bygones.audit.read.json_stream import Json, JsonFile, beginning
from bygones.audit.read.sources import DuckDB, Source, check_columns, duckdb, fill, label_of, readable

AGENTS = ("queue_name", "queue", "user", "account", "namespace", "team", "project")
"""Labels that name the agent, the first that is there and differs between series."""

_UNITS = {"gpus": "GPU-hours", "gpu": "GPU-hours", "cpu_cores": "CPU-hours", "cores": "CPU-hours"}
_COUNTER = "_total"
_RESOURCES = ("resource", "unit")
"""Labels whose values have no sum, as in `kube_pod_container_resource_requests`."""

_GIB = 2.0**30
_START = 4096
_MINUTE = 60_000_000
_SAMPLES = pa.schema([("series", pa.int64()), ("moment", pa.int64()), ("value", pa.float64())])


def recognises(path: str | Path) -> bool:
    """Whether a file begins like the answer of a Prometheus query."""
    start = beginning(Path(path), _START)
    return start.lstrip().startswith("{") and '"resultType"' in start


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from the answers of range queries.

    `asked.agent` is a label, by default the first of `AGENTS` that there is. `asked.resource` is a metric, or a part of
    its name, where the answers have several.
    """
    label = label_of(paths)
    engine, answers = duckdb(asked.threads, asked.memory), _Answers()
    fill(engine, "samples", _SAMPLES, (row for path in paths for row in answers.samples(path)))
    series, metric = _of_metric(answers.series(engine.con), asked.resource, label)
    labels = sorted({name for each in series.values() for name in each if name != "__name__"})
    agent = asked.agent or _agent(list(series.values()), labels, label)
    check_columns(labels, [agent], label)
    fill(
        engine, "series", pa.schema([("_number", pa.int64()), *((name, pa.string()) for name in labels)]),
        ((number, *(each.get(name) for name in labels)) for number, each in series.items()),
    )  # fmt: skip
    with readable(label):
        step, gaps = _step(engine.con)
        is_counter = metric.endswith(_COUNTER)
        engine.con.execute(_increases(_scale(metric)) if is_counter else _usage(step, 3600.0 * _scale(metric)))
    source = Source(engine.table("usage"), label)
    rows = source.only(source.table, asked.where)
    _check_one_resource(source, rows, labels, label)
    rows, unnamed = source.only_named(rows, agent, "sample", skip=asked.skip_unnamed)
    unit = _unit(metric)
    how = "the increase from a sample to the next counts" if is_counter else "each sample counts until the next"
    notes = [f"Usage is in {unit}: of {metric or 'the query'}, {how}.", *unnamed]
    if gaps and not is_counter:
        notes.append(f"{counted(gaps, 'gap')} between samples {'counts' if gaps == 1 else 'count'} as no usage.")
    table = rows.select(agent=rows[agent], start=rows["_start"], time=rows["_time"], utility=rows["_utility"])
    return Usage(table, unit, tuple(notes))


class _Answers:
    """The answers of queries, read one sample after the other; only the labels of each series are kept."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}

    def samples(self, path: Path) -> Iterator[tuple[int, int, float]]:
        """The number of the series, the time in microseconds and the value of every sample in a file."""
        with JsonFile(path) as file:
            yield from self._answer(path, file)
            file.end()

    def series(self, con: DuckDB) -> dict[int, dict[str, str]]:
        """The labels of every series that has a sample."""
        known = {number for (number,) in con.execute("SELECT DISTINCT series FROM samples").fetchall()}
        return {number: dict(labels) for labels, number in self._numbers.items() if number in known}

    def _answer(self, path: Path, file: JsonFile) -> Iterator[tuple[int, int, float]]:
        """The samples in an answer, or in the part of it under `data`, which is all that some tools keep."""
        for key in file.members():
            if key == "data" and file.peek() == "{":
                yield from self._answer(path, file)
            elif key == "resultType":
                kind = file.value()
                if kind != "matrix":
                    raise ValueError(
                        f"{path} must be the answer to a range query (resultType matrix), got {kind!r}: ask "
                        "/api/v1/query_range"
                    )
            elif key == "result":
                for _ in file.elements():
                    yield from self._one(path, file)
            elif key == "error":
                raise ValueError(f"{path} is an error of Prometheus: {file.value()}")
            else:
                file.skip()

    def _one(self, path: Path, file: JsonFile) -> Iterator[tuple[int, int, float]]:
        """The samples of one series: its labels come before its values."""
        number = None
        for key in file.members():
            if key == "metric":
                labels = tuple(sorted((str(name), str(value)) for name, value in file.value().items()))
                number = self._numbers.setdefault(labels, len(self._numbers))
            elif key == "values" and number is not None:
                for _ in file.elements():
                    sample = _sample(file.value(), path)
                    if sample is not None:
                        yield number, *sample
            else:
                file.skip()


def _sample(sample: Json, path: Path) -> tuple[int, float] | None:
    """The time in microseconds and the value, or None where there is none."""
    try:
        moment, value = sample
        at, number = round(float(moment) * 1e6), float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f'{path}: a sample must be a time and a value such as [1767225600, "4"], got {sample!r}'
        ) from None
    if math.isnan(number):
        return None
    if number < 0 or math.isinf(number):
        raise ValueError(f"{path}: a sample must be a finite number of at least 0, got {value!r} at {moment}")
    return at, number


def _of_metric(
    series: Mapping[int, dict[str, str]], resource: object, label: str
) -> tuple[dict[int, dict[str, str]], str]:
    """The series of one metric, and its name."""
    if isinstance(resource, Mapping):
        raise ValueError("resource must be the name of one metric for Prometheus")
    names = sorted({each.get("__name__", "") for each in series.values()})
    if not names:
        raise ValueError(f"{label} contains no samples")
    known = names
    if resource is not None:
        names = [name for name in known if str(resource) in name]
    if not names:
        raise ValueError(f"resource must be one of the metrics in {label} ({', '.join(known)}), got {resource!r}")
    if len(names) > 1:
        raise ValueError(f"{label} has several metrics ({', '.join(names)}): choose one with --resource")
    return {number: each for number, each in series.items() if each.get("__name__", "") == names[0]}, names[0]


def _agent(series: Sequence[Mapping[str, str]], labels: Sequence[str], label: str) -> str:
    varying = [name for name in labels if len({each.get(name) for each in series}) > 1]
    known = [name for name in AGENTS if name in varying] or [name for name in AGENTS if name in labels]
    if not known and len(varying) == 1:
        known = varying
    if not known:
        raise ValueError(f"{label}: name the label of the agent with --agent: {listed(labels) or 'there are none'}")
    return known[0]


def _step(con: DuckDB) -> tuple[int, int]:
    """The usual time between two samples, in microseconds, and the number of gaps; makes the table `spans`."""
    con.execute(
        "CREATE TEMP TABLE spans AS SELECT series, moment, value, "
        "lead(moment) OVER (PARTITION BY series ORDER BY moment) - moment AS lasts, "
        "lead(value) OVER (PARTITION BY series ORDER BY moment) AS next "
        "FROM samples WHERE series IN (SELECT _number FROM series)"
    )
    usual = con.execute(
        "SELECT lasts FROM spans WHERE lasts > 0 GROUP BY lasts ORDER BY count(*) DESC, lasts LIMIT 1"
    ).fetchone()
    step = usual[0] if usual else _MINUTE
    (gaps,) = con.execute("SELECT count(*) FROM spans WHERE lasts > 1.5 * ?", [step]).fetchone()
    return step, gaps


def _usage(step: int, scale: float) -> str:
    """The statement that makes the usage of each sample, from its time until the next or for one step."""
    until = f"least(coalesce(lasts, {step}), {step})"
    return (
        "CREATE TEMP TABLE usage AS SELECT labels.* EXCLUDE (_number), make_timestamptz(moment) AS _start, "
        f"make_timestamptz(moment + {until}) AS _time, value * {until} / {1e6 * scale!r}::DOUBLE AS _utility "
        "FROM spans JOIN series AS labels ON labels._number = spans.series"
    )


def _increases(scale: float) -> str:
    """The statement that makes the increase of each counter from a sample to the next."""
    return (
        "CREATE TEMP TABLE usage AS SELECT labels.* EXCLUDE (_number), make_timestamptz(moment) AS _start, "
        "make_timestamptz(moment + lasts) AS _time, "
        f"(next - CASE WHEN next < value THEN 0 ELSE value END) / {scale!r}::DOUBLE AS _utility "
        "FROM spans JOIN series AS labels ON labels._number = spans.series WHERE lasts > 0"
    )


def _scale(metric: str) -> float:
    """How many units of a metric make one of bygones: bytes of a GiB, or the seconds in a counter of an hour."""
    name = metric.removesuffix(_COUNTER)
    return _GIB if name.endswith("bytes") else 3600.0 if name != metric and name.endswith("seconds") else 1.0


def _check_one_resource(source: Source, rows: ibis.Table, labels: Sequence[str], label: str) -> None:
    """Refuses series of several resources, such as CPUs and bytes of memory, which have no sum."""
    for name in _RESOURCES:
        if name in labels:
            known = sorted(str(each) for each in source.fetch(rows[[name]].distinct())[name].to_pylist())
            if len(known) > 1:
                raise ValueError(
                    f"{label} has series of several resources, which cannot be added up: {name} is {listed(known)}; "
                    f"choose one with --where {name}={known[0]}"
                )


def _unit(metric: str) -> str:
    if metric.endswith("bytes"):
        return "GiB-hours of memory"
    name = metric.removesuffix(_COUNTER)
    if name != metric:
        if name.endswith("bytes"):
            return "GiB"
        if name.endswith("seconds"):
            return "CPU-hours" if "cpu" in name else "GPU-hours" if "gpu" in name else f"hours of {name}"
        return name
    return next((unit for end, unit in _UNITS.items() if metric.endswith(end)), f"hours × {metric or 'value'}")
