"""Reads the usage in a trace in the Standard Workload Format (SWF), the format of the Parallel Workloads Archive.

A line has 18 numbers about a job, and -1 where one is not known: 1 its number, 2 when it was submitted, 3 how long it
waited, 4 how long it ran, 5 how many processors it was given, 8 how many and 9 how long it requested, 11 its status, 12
its user, 13 its group, 15 its queue and 16 its partition. Times are seconds since `UnixStartTime`, which is a comment
at the beginning, as `MaxProcs` is. Jobs that never ran are skipped.

Lines are read one by one, and DuckDB holds the jobs: a trace may be larger than the memory.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from bygones._csv import check_file
from bygones._text import counted
from bygones.audit.read.formats import Asked, Usage
from bygones.audit.read.json_stream import beginning
from bygones.audit.read.sources import Source, duckdb, fill, label_of, readable, unit_of

AGENTS = ("user", "group", "queue", "partition")
"""The possible agents."""

FIELDS = 18
"""The numbers in a line."""

_START = 65_536
_INSTANT = pa.timestamp("us", "UTC")
_JOBS = pa.schema([
    ("job", pa.string()), ("submit", _INSTANT), ("start", _INSTANT), ("time", _INSTANT), ("size", pa.float64()),
    ("requested", pa.float64()), ("status", pa.int64()), ("account", pa.string()),
    *((name, pa.string()) for name in AGENTS),
])  # fmt: skip
_HEADER = re.compile(r";\s*(\w+)\s*:\s*(.*?)\s*")


def recognises(path: str | Path) -> bool:
    """Whether a file begins like a trace in SWF: with comments about a trace, or with 18 numbers in its first line."""
    lines = beginning(Path(path), _START).splitlines()
    if any((key := _HEADER.fullmatch(line)) and key[1] in ("UnixStartTime", "MaxProcs") for line in lines):
        return True
    first = next((line for line in lines if line.strip() and not line.startswith(";")), "")
    return len(first.split()) == FIELDS and all(map(_is_number, first.split()))


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from traces; `asked.agent` is one of `AGENTS`, by default the user."""
    label, agent = label_of(paths), asked.agent or "user"
    if agent not in AGENTS:
        raise ValueError(f"agent must be one of {', '.join(AGENTS)} for SWF, got {agent!r}")
    weights = asked.resource or "cpu"
    if weights not in ("cpu", {"cpu": 1.0}):
        raise ValueError(f"resource must be cpu for SWF, which counts processors, got {asked.resource!r}")
    if asked.fields:
        raise ValueError("fields does not apply to format swf, whose columns are always the same")
    engine, traces = duckdb(asked.threads, asked.memory), [_Trace(path) for path in paths]
    fill(engine, "jobs", _JOBS, (job for trace in traces for job in trace.jobs()))
    with readable(label):
        engine.con.execute(
            "CREATE TEMP TABLE usage AS "
            "SELECT *, size * (epoch_us(time) - epoch_us(start)) / 3.6e9 AS utility FROM jobs"
        )
    source = Source(engine.table("usage"), label)
    rows = source.only(source.table, asked.where)
    unit = unit_of({"cpu": 1.0}, ", ".join)
    notes = [f"Usage is in {unit}, spread evenly over each job's run time."]
    skipped, most = sum(trace.skipped for trace in traces), {trace.most for trace in traces}
    if skipped:
        notes.append(f"Skipped {counted(skipped, 'job')} that never ran.")
    if len(most) == 1 and math.isfinite(number := most.pop()):
        notes.append(f"The trace is of a cluster with {number:,.0f} processors (MaxProcs).")
    if not all(trace.is_dated for trace in traces):
        notes.append("The trace does not give its UnixStartTime, so times count from 1970.")
    rows, unnamed = source.only_named(rows, agent, "job", skip=asked.skip_unnamed)
    table = rows.select("job", "submit", "start", "time", "size", "requested", "account", "utility", agent=rows[agent])
    return Usage(table, unit, (*notes, *unnamed))


class _Trace:
    """A trace, read line by line."""

    def __init__(self, path: Path) -> None:
        check_file(path)
        self._path, self._began = path, 0.0
        self.skipped, self.most, self.is_dated = 0, math.nan, False

    def jobs(self) -> Iterator[tuple[object, ...]]:
        """The jobs that ran, as in `_JOBS`."""
        opened = gzip.open if self._path.suffix == ".gz" else open
        with opened(self._path, "rt", encoding="utf-8", errors="replace") as file:
            try:
                for number, line in enumerate(file, 1):
                    if line.startswith(";"):
                        self._comment(line)
                    elif line.strip():
                        yield from self._job(line.split(), f"{self._path}, row {number}: ")
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{self._path} cannot be read: {error}") from None

    def _comment(self, line: str) -> None:
        """The facts in a comment: when the trace begins, and how many processors there are."""
        key = _HEADER.fullmatch(line.strip())
        if key and key[1] in ("UnixStartTime", "MaxProcs") and _is_number(value := (key[2].split() or [""])[0]):
            if key[1] == "MaxProcs":
                self.most = float(value)
            else:
                self._began, self.is_dated = float(value), True

    def _job(self, cells: list[str], where: str) -> Iterator[tuple[object, ...]]:
        if len(cells) != FIELDS:
            raise ValueError(f"{where}expected {FIELDS} numbers, got {len(cells)}")
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            bad = next(cell for cell in cells if not _is_number(cell))
            raise ValueError(f"{where}expected {FIELDS} numbers, got {bad!r}") from None
        submit, wait, ran, given, asked, limit = (values[i] for i in (1, 2, 3, 4, 7, 8))
        size = given if given > 0 else asked
        if ran <= 0 or size <= 0 or wait < 0 or submit < 0:
            self.skipped += 1
            return
        start = submit + wait
        names = dict(zip(AGENTS, (cells[11], cells[12], cells[14], cells[15]), strict=True))
        named = [None if _unknown(cell) else f"{what} {cell}" for what, cell in names.items()]
        times = [round(1e6 * (self._began + each)) for each in (submit, start, start + ran)]
        yield (cells[0], *times, size, limit if limit > 0 else None, int(values[10]), named[1], *named)


def _unknown(cell: str) -> bool:
    return float(cell) < 0


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
