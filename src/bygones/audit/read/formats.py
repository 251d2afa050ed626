"""The log formats that an audit reads besides tables and ledgers: one module each, listed in `FORMATS`.

The module of a format has two functions, `recognises` and one of the others:

- `recognises(path)`: whether the file is in this format, by its first line; one that cannot be read, with an `OSError`
  or `ValueError`, is not. Like `read`, it is given regular files only: no format waits for a pipe without a writer.
- `read(path, agent, resource)`: the usage in the file. `agent` and `resource` are None where nobody asked for a certain
  column or resource. A bad line is a `ValueError` with the file, the line and the accepted values.

- or, instead of `read`, `scan(paths, asked)`: the usage in all files at once, for whatever was `Asked`.

A module is imported when its format is asked for. See `docs/extending.md` for an example.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from bygones._csv import check_file

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa


class Usage(NamedTuple):
    """Usage as a history.

    Attributes:
        table: with the columns `agent`, `time` (with or without a zone) and `utility`; and, for usage that lasts, the
            `start` from which on it is spread evenly until `time`. An Arrow table, or an Ibis table where there may be
            more than fits into memory.
        unit: the unit of the utilities, such as `CPU-hours`.
        notes: skipped entries and assumptions, in sentences.
    """

    table: pa.Table | ibis.Table
    unit: str
    notes: tuple[str, ...] = ()


class Asked(NamedTuple):
    """The options for reading a log.

    Attributes:
        agent: the column that names the agent, or None for the format's own.
        resource: what to count, or several resources with their weights.
        fields: the names of the columns, for files without a header line.
        where: conditions on columns, see `bygones.audit.read.sources.Source.only`.
        skip_unnamed: whether entries without an agent are skipped and counted.
        threads: the number of threads that an engine may use; None for all.
        memory: how much memory an engine may use.
    """

    agent: str | None = None
    resource: str | Mapping[str, float] | None = None
    fields: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    skip_unnamed: bool = False
    threads: int | None = None
    memory: str = "3GB"


class LogFormat(NamedTuple):
    """A log format.

    Attributes:
        about: a description for the help, such as "the output of Slurm's sacct -P".
        module: the name of the module that reads it.
    """

    about: str
    module: str


class Reader(Protocol):
    """The module of a format."""

    recognises: Callable[[Path], bool]
    read: Callable[[Path, str | None, str | None], Usage]


FORMATS = {
    "sacct": LogFormat("the output of Slurm's sacct -P or sacct --json", "bygones.audit.read.sacct"),
    "swf": LogFormat("a trace in the Standard Workload Format", "bygones.audit.read.swf"),
    "prometheus": LogFormat(
        "the answer to a Prometheus range query, as for KAI Scheduler", "bygones.audit.read.prometheus"
    ),
    "kueue": LogFormat("Kueue's workloads, as printed by kubectl get workloads -A -o json", "bygones.audit.read.kueue"),
}
"""Every log format by its name, as `--format` takes it."""

BUILT_IN = ("auto", "table", "ledger")
"""The formats that are not logs; `auto` recognises all formats."""


def names() -> tuple[str, ...]:
    """Every name that `--format` takes."""
    return (*BUILT_IN, *FORMATS)


def described() -> str:
    """The log formats in one phrase, for the help."""
    return "; ".join(f"{name}, {each.about}" for name, each in FORMATS.items())


def add(name: str, about: str, module: str) -> None:
    """Adds a custom log format."""
    if name in names():
        raise ValueError(f"format {name!r} exists already: choose another name")
    FORMATS[name] = LogFormat(about, module)


def reader(name: str) -> Reader:
    """The module of a format."""
    return cast(Reader, importlib.import_module(FORMATS[name].module))


def read(name: str, paths: Sequence[Path], asked: Asked) -> Usage:
    """The usage in files of a format.

    A module with a function `scan(paths, asked)` reads all files at once and knows everything that can be asked; one
    with `read(path, agent, resource)` is called for each file.
    """
    module = reader(name)
    if hasattr(module, "scan"):
        return cast(Usage, module.scan(paths, asked))
    for given, what in ((asked.fields, "fields"), (asked.where, "where"), (asked.skip_unnamed, "skip_unnamed")):
        if given:
            raise ValueError(f"{what} does not apply to format {name}")
    if isinstance(asked.resource, Mapping):
        raise ValueError(f"resource must be a single name for format {name}, got {dict(asked.resource)}")
    for path in paths:
        check_file(path)
    import pyarrow as pa

    parts = [module.read(path, asked.agent, asked.resource) for path in paths]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return Usage(pa.concat_tables([part.table for part in parts]), parts[0].unit, tuple(notes))


def recognised(path: Path, fields: Sequence[str] = ()) -> str | None:
    """The name of the log format of a file, or None if it is in none of them.

    A file without a header line is recognised by its fields, where the module of a format has a function
    `has_columns(names)`.
    """
    if not fields and not os.path.isfile(path):
        return None
    for name in FORMATS:
        module = reader(name)
        with suppress(OSError, ValueError):
            if getattr(module, "has_columns", lambda _: False)(fields) if fields else module.recognises(path):
                return name
    return None
