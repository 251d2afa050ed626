"""Reads the usage of a Slurm cluster from `sacct -P` or `sacct --json`: who used how many CPUs or GPUs, and when.

A job uses its allocated resources from its start to its end. Its usage, in resource-hours, is spread evenly over that
time; the total is resources times `Elapsed`, or `ElapsedRaw`. Jobs that are still running count with their usage
so far. Job steps (`123.batch`) repeat the usage of their job and are skipped, and so are jobs that never ran.

DuckDB reads and parses the files, so they may be larger than the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa

from bygones._text import counted, listed
from bygones.audit.read import sacct_json
from bygones.audit.read.engines import first_line
from bygones.audit.read.formats import Asked, Usage
from bygones.audit.read.sources import (
    DuckDB,
    Source,
    check_columns,
    duckdb,
    fill,
    label_of,
    readable,
    repeated_files,
    repeats_note,
    resource_weights,
    unit_of,
)

NEEDED = ("JobID", "Start", "End")
"""The columns that every job must have, besides the agent's, Elapsed or ElapsedRaw, and AllocTRES or AllocCPUS."""

PART = 3_600_000_000
"""The longest part of a job's usage that `read` gives, in microseconds."""

_UNKNOWN = "('', 'unknown', 'none', 'n/a')"
_NUMBER = r"^[0-9]+(\.[0-9]+)?[KMGTPkmgtp]?[cn]?$"
_ELAPSED = r"^([0-9]+-)?([0-9]+:)?[0-9]+:[0-9]+(\.[0-9]+)?$"
_RAW_SECONDS = "CASE WHEN regexp_matches(trim(ElapsedRaw), '^[0-9]+$') THEN try_cast(trim(ElapsedRaw) AS DOUBLE) END"
_OVERLAP = 7_200_000_000
"""Clocks are set back by at most two hours, in microseconds: only then can a job end before it starts."""


def recognises(path: str | Path) -> bool:
    """Whether the first line of a file is a header written by `sacct -P`, or it begins like `sacct --json`."""
    return sacct_json.recognises(Path(path)) or has_columns(
        [name.strip() for name in first_line(Path(path)).split("|")]
    )


def has_columns(names: Sequence[str]) -> bool:
    """Whether these are columns of `sacct`."""
    return set(NEEDED) <= set(names) and not {"Elapsed", "ElapsedRaw"}.isdisjoint(names)


def read(path: str | Path, agent: str | None = None, resource: str | None = None) -> Usage:
    """Reads the usage from a file as an Arrow table with parts of at most one hour, each at its end.

    A ledger, which records what happens at an instant, can take these parts directly.
    """
    usage = scan([Path(path)], Asked(agent, resource))
    jobs = usage.table.to_pyarrow()
    usage.table.get_backend().disconnect()
    start, end = (jobs[name].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() for name in ("start", "time"))
    parts = np.maximum(-(-(end - start) // PART), 1)
    job = np.repeat(np.arange(len(parts)), parts)
    nth = np.arange(len(job)) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    times = start[job] + np.round((end - start)[job] * (nth / parts[job])).astype(np.int64)
    table = {
        "agent": jobs["agent"].take(pa.array(job)),
        "time": pa.array(times).cast(pa.timestamp("us")),
        "utility": (jobs["utility"].to_numpy() / parts)[job],
    }
    return Usage(pa.table(table), usage.unit, usage.notes)


def scan(paths: Sequence[Path], asked: Asked) -> Usage:
    """Reads the usage from files written by `sacct -P`.

    `asked.agent` is a column such as `Account`, by default `User`. `asked.resource` is what to count, by its name in
    AllocTRES: `cpu`, `gpu` (for `gres/gpu`), `mem` (in GiB), `billing`, …; or several with their weights, as in
    TRESBillingWeights. By default GPUs if most jobs have one, otherwise CPUs.
    """
    label = label_of(paths)
    agent, engine = asked.agent or "User", duckdb(asked.threads, asked.memory)
    in_json = [path for path in paths if sacct_json.recognises(path)]
    if in_json and len(in_json) < len(paths):
        raise ValueError(f"{in_json[0]} is the output of sacct --json, and {label} has others: read one kind at a time")
    source = _jobs_in_json(engine, paths, label, asked) if in_json else _lines(engine, paths, label, agent, asked)
    check_columns(source.columns, [agent], label)
    con = engine.con
    with readable(label):
        con.execute(f"CREATE TEMP TABLE jobs AS {_jobs(agent, source.columns)}")
    _check(con, agent, source.columns, label, len(paths) > 1, 0 if asked.fields else 1, asked.skip_unnamed)
    with readable(label):
        n, skipped, running, unnamed = con.execute(
            "SELECT count(*) FILTER (ran AND named), count(*) FILTER (NOT ran), "
            "count(*) FILTER (ran AND named AND is_running), count(*) FILTER (ran AND NOT named) FROM jobs"
        ).fetchone()
        if not n:
            raise ValueError(f"{label} contains no job that ran")
        known = [name for (name,) in con.execute(_KNOWN).fetchall()]
        (gpus,) = con.execute(f"SELECT count(*) FROM jobs WHERE ran AND named AND {_amount('gpu')} > 0").fetchone()
        weights, notes = resource_weights(asked.resource, _canonical, known, (gpus, n, "job"), label)
        amount = " + ".join(f"{weight!r} * {_amount(name)}" for name, weight in weights.items())
        con.execute(
            "CREATE TEMP TABLE usage AS SELECT agent, job, account, coalesce(submit, start) AS submit, start, time, "
            f"requested, ({amount}) AS size, ({amount}) * elapsed / 3600 AS utility FROM jobs WHERE ran AND named"
        )
    unit = unit_of(weights, listed)
    notes = [f"Usage is in {unit}, spread evenly over each job's run time.", *notes]
    if running:
        notes.append(f"Included {counted(running, 'job')} still running, with the usage so far.")
    if skipped:
        notes.append(f"Skipped {counted(skipped, 'job')} that never ran.")
    notes += _repeats(con, paths, label)
    if unnamed:
        notes.append(f"Skipped {counted(unnamed, 'job')} without {agent}.")
    table = engine.table("usage")
    if in_json:
        # Times in JSON are instants, and not times in the zone of the reader.
        instants = ("submit", "start", "time")
        table = table.mutate(**{name: table[name].cast("timestamp('UTC')") for name in instants})
    return Usage(table if "Submit" in source.columns else table.drop("submit"), unit, tuple(notes))


def _repeats(con: DuckDB, paths: Sequence[Path], label: str) -> tuple[str, ...]:
    """How many jobs are in several files; a job that was requeued has the same JobID, but another Start."""
    if len(paths) == 1:
        return ()
    with readable(label):
        (number,) = con.execute(
            "SELECT count(*) FROM (SELECT job, start FROM jobs WHERE ran AND named GROUP BY job, start "
            "HAVING count(DISTINCT filename) > 1 OR bool_or(list_contains($repeated, filename)))",
            {"repeated": list(repeated_files(paths))},
        ).fetchone()
    return repeats_note(int(number), "job", " (same JobID and Start)")


def _jobs_in_json(engine: ibis.BaseBackend, paths: Sequence[Path], label: str, asked: Asked) -> Source:
    """The jobs in JSON as a view `lines`, as far as they meet the conditions."""
    if asked.fields:
        raise ValueError("fields does not apply to the output of sacct --json, which names its columns")
    names = (*sacct_json.COLUMNS, "filename", "row")
    schema = pa.schema([(name, pa.int64() if name == "row" else pa.string()) for name in names])
    rows = (
        (*job, str(path), row)
        for row, (path, job) in enumerate(((path, job) for path in paths for job in sacct_json.jobs(path)), 1)
    )
    lines = fill(engine, "all_lines", schema, rows)
    source = Source(lines, label, hidden=("filename", "row"))
    engine.create_view("lines", source.only(lines, asked.where))
    return source


def _lines(engine: ibis.BaseBackend, paths: Sequence[Path], label: str, agent: str, asked: Asked) -> Source:
    """The lines of the files as a view `lines`, all cells as text, as far as they meet the conditions."""
    try:
        line = first_line(paths[0])
    except ValueError:
        raise ValueError(f"{paths[0]} is not the output of sacct -P: it is not text in UTF-8") from None
    header = [name.strip() for name in line.rstrip("\r\n").split("|")]
    # `sacct -p` ends each line with a bar, `sacct -P` does not.
    header = header[:-1] if len(header) > 1 and not header[-1] else header
    if len(header) < 2:
        raise ValueError(f"{paths[0]} is not the output of sacct -P: its first line has no cells separated by |")
    if asked.fields and len(asked.fields) != len(header):
        raise ValueError(f"{paths[0]}: fields must name all {len(header)} columns, got {len(asked.fields)} names")
    if not asked.fields and not set(header) & {*NEEDED, "Elapsed", "User", "Account", "AllocTRES", "AllocCPUS"}:
        raise ValueError(
            f"{paths[0]} has no header line: it begins with {', '.join(map(repr, header[:3]))}; run sacct without "
            "--noheader, or name the columns in the order of its --format with --fields JobID,User,…"
        )
    names = list(asked.fields) if asked.fields else header
    for path in () if asked.fields else paths[1:]:
        if first_line(path).strip().rstrip("|") != line.strip().rstrip("|"):
            raise ValueError(
                f"{path} has a different header from {paths[0]}: run sacct with the same --format for both"
            )
    check_columns(names, (agent, *NEEDED), label)
    if "ElapsedRaw" not in names:
        check_columns(names, ("Elapsed",), label)
    if "AllocTRES" not in names and "AllocCPUS" not in names:
        check_columns(names, ("AllocTRES",), label)
    with readable(label):
        table = engine.read_csv(
            [str(path) for path in paths], header=not asked.fields, auto_detect=False, delim="|", quote="", escape="",
            null_padding=True, filename=True, columns=dict.fromkeys([*names, "_bar"], "VARCHAR"),
        )  # fmt: skip
    # Rows are counted before any is left out, so errors name rows of the file.
    engine.create_view("all_lines", table.mutate(row=ibis.row_number() + 1))
    lines = engine.table("all_lines")
    source = Source(lines, label, hidden=("_bar", "filename", "row"))
    engine.create_view("lines", source.only(lines, asked.where))
    return source


def _jobs(agent: str, columns: Sequence[str]) -> str:
    """The query for the jobs: who, from when to when, how long, and with what."""
    quoted = '"' + agent.replace('"', '""') + '"'
    tres = "coalesce(AllocTRES, '')" if "AllocTRES" in columns else "''"
    cpus = "coalesce(AllocCPUS, '')" if "AllocCPUS" in columns else "''"

    def moment(name: str) -> str:
        return f'CASE WHEN lower(trim("{name}")) NOT IN {_UNKNOWN} THEN try_cast(trim("{name}") AS TIMESTAMP) END'

    submitted = moment("Submit") if "Submit" in columns else "NULL::TIMESTAMP"
    if "Submit" in columns and "Eligible" in columns:
        # A job that waits for another, or for a time, is not in the queue before.
        submitted = f"greatest({submitted}, {moment('Eligible')})"
    account = "trim(Account)" if "Account" in columns else "NULL::VARCHAR"
    limit = _seconds("Timelimit") if "Timelimit" in columns else "NULL::DOUBLE"
    if "TimelimitRaw" in columns:
        limit = "60 * try_cast(trim(TimelimitRaw) AS DOUBLE)"
    elapsed = "Elapsed" if "Elapsed" in columns else "ElapsedRaw"
    return f"""
        WITH parsed AS (
            SELECT row, filename, trim({quoted}) AS agent, "Start" AS start_text,
                   "End" AS end_text, {elapsed} AS elapsed_text, {tres} AS tres, trim({cpus}) AS cpus,
                   JobID AS job, {moment("Start")} AS began, {moment("End")} AS ended,
                   {submitted} AS submitted, {account} AS account, {limit} AS requested,
                   {_seconds("Elapsed") if elapsed == "Elapsed" else _RAW_SECONDS} AS seconds
            FROM lines
        )
        SELECT row, filename, agent, start_text, end_text, elapsed_text, tres, cpus, job, submitted AS submit,
               account, requested,
               began AS start, floor(seconds) AS elapsed, ended,
               CASE WHEN ended IS NULL OR (ended < began AND epoch_us(began) - epoch_us(ended) <= {_OVERLAP})
                    THEN began + to_microseconds((1e6 * floor(seconds))::BIGINT) ELSE ended END AS time,
               began IS NOT NULL AND coalesce(seconds, 1) > 0 AS ran, coalesce(agent, '') != '' AS named,
               ended IS NULL AS is_running
        FROM parsed WHERE contains(job, '.') IS NOT TRUE
    """


def _seconds(column: str) -> str:
    """The query for a length of time written as [DD-[HH:]]MM:SS, NULL if it is written otherwise."""
    return f"""
    CASE WHEN regexp_matches(trim({column}), '{_ELAPSED}') THEN
        86400 * coalesce(try_cast(regexp_extract(trim({column}), '^([0-9]+)-', 1) AS DOUBLE), 0)
        + list_reduce(
            [try_cast(part AS DOUBLE) FOR part IN string_split(regexp_replace(trim({column}), '^[0-9]+-', ''), ':')],
            (total, part) -> 60 * total + part
        )
    END"""


_PAIRS = "regexp_extract_all(tres, '([^,=]+)=', 1)"
_KNOWN = (
    "SELECT DISTINCT name FROM (SELECT unnest(list_transform("
    f"{_PAIRS}, part -> split_part(regexp_replace(trim(part), '^gres/', ''), ':', 1))) AS name FROM jobs WHERE ran "
    "UNION ALL SELECT 'cpu' FROM jobs WHERE ran AND cpus != '') WHERE name != '' ORDER BY name"
)


def _check(
    con: DuckDB, agent: str, columns: Sequence[str], label: str, several: bool, above: int, skip_unnamed: bool
) -> None:
    """Raises for the first job with a cell that cannot be read."""
    elapsed = "Elapsed must be [DD-[HH:]]MM:SS" if "Elapsed" in columns else "ElapsedRaw must be whole seconds"
    values = "[split_part(part, '=', 2) FOR part IN string_split(tres, ',') IF trim(part) != '']"
    bad_value = f"len([v FOR v IN {values} IF NOT regexp_matches(trim(v), '{_NUMBER}')]) > 0"
    a_time = "a time such as 2026-03-02T22:00:00 or Unknown"
    checks = [
        ("elapsed_text IS NULL", "cells", "expected as many cells as in the header, got fewer", None),
        (f"start IS NULL AND lower(trim(start_text)) NOT IN {_UNKNOWN}", "start_text", f"Start must be {a_time}", ""),
        (f"ended IS NULL AND lower(trim(end_text)) NOT IN {_UNKNOWN}", "end_text", f"End must be {a_time}", ""),
        ("elapsed IS NULL", "elapsed_text", elapsed, ""),
        ("ran AND time < start", "end_text", "End must not be before Start", ""),
        (f"ran AND {bad_value}", "tres", "AllocTRES must be numbers, optionally followed by K, M, G or T", ""),
        (f"ran AND cpus != '' AND NOT regexp_matches(cpus, '{_NUMBER}')", "cpus", "AllocCPUS must be a number", ""),
    ]
    if not skip_unnamed:
        checks.append(("ran AND NOT named", "agent", f"{agent} must be a name", ""))
    for condition, column, problem, got in checks:
        shown = "NULL" if got is None else column
        with readable(label):
            bad = con.execute(
                f"SELECT row, filename, {shown} FROM jobs WHERE {condition} ORDER BY row LIMIT 1"
            ).fetchone()
        if bad:
            row, path, value = bad
            (first,) = con.execute("SELECT min(row) FROM all_lines WHERE filename = ?", [path]).fetchone()
            line = row - (first - 1 if several else 0) + above
            end = "" if got is None else f", got {value!r}" if value else ", got nothing"
            raise ValueError(f"{path if several else label}, row {line}: {problem}{end}")


def _canonical(name: str) -> str:
    return name.removeprefix("gres/").lower()


def _amount(name: str) -> str:
    """The query for how much of a resource a job has; typed GPUs such as `gpu:a100` count if there is no total."""
    literal = "".join(letter if letter.isalnum() else f"[{letter}]" for letter in name).replace("'", "''")
    total = _number(f"regexp_extract(tres, '(?:^|,)\\s*(?:gres/)?{literal}=([^,]*)', 1)", name)
    typed = f"regexp_extract_all(tres, '(?:^|,)\\s*(?:gres/)?{literal}:[^=,]*=([^,]*)', 1)"
    of_types = f"coalesce(list_sum([{_number('part', name)} FOR part IN {typed}]), 0)"
    otherwise = f"coalesce({_number('cpus', name)}, {of_types})" if name == "cpu" else of_types
    return f"coalesce({total}, {otherwise})"


def _number(text: str, name: str) -> str:
    """The query for a number with a suffix, NULL if the text is empty; memory without a suffix is in megabytes."""
    number = f"try_cast(regexp_extract({text}, '^\\s*([0-9.]+)', 1) AS DOUBLE)"
    suffix = f"upper(regexp_extract({text}, '^\\s*[0-9.]+([KMGTPkmgtp]?)', 1))"
    if name == "mem":
        powers = {"": -10, "K": -20, "M": -10, "G": 0, "T": 10, "P": 20}
        cases = " ".join(f"WHEN '{letter}' THEN {2.0**power!r}" for letter, power in powers.items())
    else:
        cases = " ".join(f"WHEN '{letter}' THEN {1000.0**power!r}" for power, letter in enumerate(("", *"KMGTP")))
    return f"({number} * CASE {suffix} {cases} END)"
