"""Arguments that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, arg
from tyro.constructors import PrimitiveConstructorSpec

from bygones._csv import has_decimal_comma


def optional(help_text: str, metavar: str | None = None) -> object:
    """An argument that may be left out; its explanation describes that case."""
    return arg(help=help_text, help_behavior_hint="", metavar=metavar)


DEFAULT_LEDGER = "BYGONES_LEDGER"
"""The environment variable that names the ledger for commands that are given none."""


def ledger_and_names(target: str, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The ledger and the names, where both are given one after the other and the ledger may have been left out.

    With a default ledger, the first word is a name unless it is a URL, a file that exists or the name of a database.
    """
    default = os.environ.get(DEFAULT_LEDGER)
    is_ledger = "://" in target or Path(target).exists() or Path(target).suffix in (".db", ".sqlite", ".sqlite3")
    return (target, tuple(names)) if not default or is_ledger else (default, (target, *names))


def _number(words: list[str]) -> float:
    return number_of(words[0], "expected a number")


def number_of(text: str, accepted: str) -> float:
    """A number with a decimal point or comma; raises ValueError that begins with what is accepted."""
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", text.strip()):
        raise ValueError(f"{accepted}, got {text!r}, which may mean thousands: write it with a point or without commas")
    try:
        return float(text.strip().replace(",", ".") if has_decimal_comma(text) else text)
    except ValueError:
        raise ValueError(f"{accepted}, got {text!r}") from None


def _number_type(default: str) -> PrimitiveConstructorSpec[float]:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER",
        instance_from_str=_number,
        is_instance=lambda value: value is None or isinstance(value, float),
        str_from_instance=lambda value: [default if value is None else str(value)],
    )


Number = Annotated[
    float | None,
    _number_type("not given"),
]
"""A number that may be left out."""

Amount = Annotated[float, _number_type("")]
"""A number, with a decimal point or comma."""


def one_of(choices: tuple[str, ...]) -> PrimitiveConstructorSpec[str]:
    """A name from a list that is known only when the command runs."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="{" + ",".join(choices) + "}",
        instance_from_str=lambda words: words[0],
        is_instance=lambda value: isinstance(value, str),
        str_from_instance=lambda value: [value],
        choices=choices,
    )


@dataclass(frozen=True)
class Output:
    """How a command prints its answer."""

    json: Annotated[bool, arg(help="Print JSON for other programs; infinite numbers appear as the text 'inf'.")] = False


Printed = Annotated[Output, OmitArgPrefixes, arg(name="")]
"""The parameter of a command that prints an answer, with its option `--json`."""

Out = Annotated[Path, arg(metavar="FOLDER", help="Folder for the files that the command writes.")]
