"""Reads a command line with tyro, and explains a wrong one in one sentence instead of in tyro's box."""

from __future__ import annotations

import difflib
import functools
import io
import os
import re
from ast import literal_eval
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import is_dataclass
from itertools import groupby
from typing import Annotated, NamedTuple, get_args, get_origin, get_type_hints

import tyro

HELP = ("-h", "--help")


class MissingArgumentsError(ValueError):
    """An argument that is needed was left out."""


def check_command(known: Collection[str], words: Sequence[str], program: str) -> str:
    """The command with which the words begin.

    Raises:
        ValueError: with one helpful sentence, if there are no words or the first is not a known command.
    """
    if not words:
        raise ValueError(f"choose a command: {', '.join(known)}; see {program} --help")
    name = words[0]
    if name.startswith("-"):
        command = next((word for word in words if word in known), None)
        where = f": options come after {program} {command}" if command else ""
        raise ValueError(f"{name!r} is not recognized{where}; see {program} --help")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? See" if near else f"choose one of {', '.join(known)}; see"
        raise ValueError(f"unknown command {name!r}: {hint} {program} --help")
    return name


def with_flag(sentence: str, words: Sequence[str]) -> str:
    """A refusal that begins with a Python name, such as `half_life must be`, with the flag that was typed instead."""
    name = _PYTHON_NAME.match(sentence)
    if name is None:
        return sentence
    flag = "--" + _SINGULAR.get(name[0], name[0]).replace("_", "-")
    is_typed = any(word.partition("=")[0].replace("_", "-") == flag for word in words)
    return f"{flag}{sentence[name.end() :]}" if is_typed else sentence


_PYTHON_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+(?= (?:must|applies|does not))")

_SINGULAR = {"half_lives": "half_life"}
"""Python arguments that hold the list typed after a flag."""


def read_call(command: Callable[..., None], words: Sequence[str], program: str) -> Callable[[], None]:
    """The call of a command that the words ask for; `--help` prints the help of the command and exits.

    Args:
        command: the function, whose arguments are flags.
        words: the words after the name of the command.
        program: the words up to that name, such as `bygones ledger record`.

    Raises:
        MissingArgumentsError: an argument that is needed was left out.
        ValueError: the words are wrong in another way; one sentence explains it.
    """
    if any(word in HELP for word in words):
        tyro.cli(command, prog=program, args=["--help"])

    @functools.wraps(command)
    def delayed(*values: object, **options: object) -> Callable[[], None]:
        return functools.partial(command, *values, **options)

    line = _Line(words, program, list(_arguments(command)))
    if words and words[0].replace("_", "-").startswith("--tyro-"):  # tyro's own flags, which work in first place only
        raise ValueError(line.refusal(unknown=words[:1]))
    box, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100000"  # wide enough for the lines of the box to stay whole
    try:
        # tyro colours the box if standard output is a terminal.
        with redirect_stdout(io.StringIO()), redirect_stderr(box):
            call, unknown = tyro.cli(delayed, prog=program, args=words, return_unknown_args=True)
    except SystemExit:
        raise line.error(box.getvalue()) from None
    finally:
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)
    if unknown:
        raise ValueError(line.refusal(unknown=unknown))
    return call


class _Argument(NamedTuple):
    """An argument of a command."""

    name: str
    """In Python."""
    shown: str
    """The flag, or the name of a positional argument in the help."""
    metavar: str
    kind: object
    """The type of its value."""

    def refusal(self, value: str = "", choices: str = "", message: str = "") -> str:
        """A sentence about a value that is missing, is not one of the choices, or that `message` complains about."""
        if choices:
            names = sorted({*literal_eval(choices)} - {"None"})
            return f"{self.shown} must be one of {', '.join(names)}, got {value!r}"
        if not message:
            return f"{self.shown} needs a value"
        kind, unreadable = str(self.kind), _UNREADABLE.search(message)
        for name, (one, several) in _NUMBERS.items():
            if unreadable and re.search(rf"\b{name}\b", kind):
                return f"{self.shown} must be {several if '...' in kind else one}, got {unreadable[1] or unreadable[2]}"
        return f"{self.shown}: {message}"


_UNREADABLE = re.compile(r"(?:to float|base 10): (.*)|(?:arguments:|from) \[(.*?)\]")
"""The values in messages of Python and tyro about text that fits none of the types of an argument."""

_NUMBERS = {"int": ("a whole number", "whole numbers"), "float": ("a number", "numbers")}
"""The accepted values of a Python type, in words, for one value and for several."""


def _arguments(command: Callable[..., object]) -> Iterator[_Argument]:
    """The arguments of a command; each field of a dataclass is a flag."""
    for name, hint in get_type_hints(command, include_extras=True).items():
        kind, *markers = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if isinstance(kind, type) and is_dataclass(kind):
            yield from _arguments(kind)
        elif name != "return":
            metavar = next((str(each.metavar) for each in markers if getattr(each, "metavar", None)), name.upper())
            flag = next((str(each.name) for each in markers if getattr(each, "name", None)), name).replace("_", "-")
            shown = metavar.strip("[]") if tyro.conf.Positional in markers else f"--{flag}"
            yield _Argument(name, shown, metavar, kind)


class _Line(NamedTuple):
    """A command line: the words after the command, the program up to it, and the arguments that it takes."""

    words: Sequence[str]
    program: str
    arguments: list[_Argument]

    def error(self, box: str) -> ValueError:
        """The error that tyro printed, in one sentence.

        Only what tyro prints is public. Where a version of tyro prints something else, the sentence has its words.
        """
        lines = [line[2:-2].rstrip() for line in box.splitlines()[1:-1]]
        # Rules divide the box: first the error, then words that are not recognized or the help of an argument.
        error, *others = [list(part) for is_rule, part in groupby(lines, _RULE.fullmatch) if not is_rule] or [
            [box.strip() or "this is not understood"]
        ]
        if error[0].startswith("Missing from"):
            missing = [line.split()[0] for line in error if _INDENTED.match(line)]
            unknown = [line.strip() for line in others[0] if _INDENTED.match(line)] if len(others) > 1 else []
            return MissingArgumentsError(self.refusal(missing, unknown))
        sentence = " ".join(" ".join(error).split())
        arguments = {name: argument for argument in self.arguments for name in (argument.name, argument.shown)}
        for pattern in _ERRORS:
            if match := re.match(pattern, sentence):
                details = match.groupdict()
                name = details.pop("argument").strip("[]")
                sentence = arguments[name].refusal(**details) if name in arguments else sentence
        return ValueError(f"{sentence.removeprefix('Error parsing ').rstrip('.')}; see {self.program} --help")

    def refusal(self, missing: Sequence[str] = (), unknown: Sequence[str] = ()) -> str:
        """A sentence about arguments that are missing and words that are not recognized."""
        parts = [f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
        if unknown:
            parts.append(f"{_listed(map(repr, unknown))} {'is' if len(unknown) == 1 else 'are'} not recognized")
        return f"{', and '.join(parts)}{self._hint(unknown)} {self.program} --help"

    def _hint(self, unknown: Sequence[str]) -> str:
        """How to write a list, or the nearest flag."""
        lists = [argument.shown for argument in self.arguments if argument.metavar == "LIST"]
        for flag, value, *rest in (self.words[i:] for i in range(len(self.words) - len(unknown) - 1)):
            if unknown and flag in lists and rest[: len(unknown)] == list(unknown):
                values = ",".join([value, *unknown])
                return f": separate the values of {flag} with commas, as in {flag} {values}; see"
        flags = {argument.shown.strip("-"): argument.shown for argument in self.arguments}
        for word in unknown:
            near = difflib.get_close_matches(word.partition("=")[0].strip("-"), flags, n=1)
            if near and word.startswith("-"):
                return f": did you mean {flags[near[0]]}? See"
        return "; see"


_RULE = re.compile("[-─]+")
_INDENTED = re.compile(r" {4}\S")
_ERRORS = (
    r"Missing value for argument '(?P<argument>.*?)'",
    r"invalid choice '(?P<value>.*)' for argument '(?P<argument>.*?)'\. Expected one of (?P<choices>\(.*\))",
    r"Error parsing (?P<argument>.*?): (?P<message>.*)",
)
"""The errors of tyro about one argument."""


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
