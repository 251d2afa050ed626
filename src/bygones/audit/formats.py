"""The log formats that an audit reads besides tables and ledgers: one module each, listed in `FORMATS`.

The module of a format has two functions:

- `recognises(path)`: whether the file is in this format, by its first line; it never raises.
- `read(path, agent, resource)`: the usage in the file. `agent` and `resource` are None where nobody asked for a certain
  column or resource. A bad line is a `ValueError` that names the file, the line and what was expected.

A module is imported when its format is asked for. See `docs/extending.md` for an example.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    import pyarrow as pa


class Usage(NamedTuple):
    """Usage as a history.

    Attributes:
        table: with the columns `agent`, `time` (with or without a zone) and `utility`.
        unit: of the utilities, such as `CPU-hours`.
        notes: what was skipped or assumed, in sentences.
    """

    table: pa.Table
    unit: str
    notes: tuple[str, ...] = ()


class LogFormat(NamedTuple):
    """A log format.

    Attributes:
        about: what it is, for the help: "the output of Slurm's sacct -P".
        module: the name of the module that reads it.
    """

    about: str
    module: str


class Reader(Protocol):
    """The module of a format."""

    recognises: Callable[[Path], bool]
    read: Callable[[Path, str | None, str | None], Usage]


FORMATS = {
    "sacct": LogFormat("the output of Slurm's sacct -P", "bygones.audit.sacct"),
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
    """Adds a log format of your own."""
    if name in names():
        raise ValueError(f"format {name!r} exists already: choose another name")
    FORMATS[name] = LogFormat(about, module)


def reader(name: str) -> Reader:
    """The module of a format."""
    return cast(Reader, importlib.import_module(FORMATS[name].module))


def recognised(path: Path) -> str | None:
    """The name of the log format of a file, or None if it is in none of them."""
    return next((name for name in FORMATS if reader(name).recognises(path)), None)
