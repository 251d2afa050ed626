"""What is wrong with a command line, in one sentence instead of tyro's box."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def one_sentence() -> Iterator[None]:
    """Command lines that cannot be understood raise a ValueError with the sentence.

    What tyro tells of them is private to it: where a version tells it differently, its own box is shown.
    """
    try:
        from tyro._errors import on_parse_error
    except ImportError:
        yield
        return
    with on_parse_error(_refuse):
        yield


def _refuse(event: Any) -> None:
    try:
        sentence, helpful = _SENTENCES[type(event).__name__](event), event._help_progs()
    except (AttributeError, KeyError):
        return
    raise ValueError(f"{sentence}; see {helpful if isinstance(helpful, str) else helpful[0]} --help")


def _missing(event: Any) -> str:
    names = [_name(missing.arg) for missing in event.missing_arguments]
    unknown = f", and {_unknown(event.unrecognized_tokens)}" if event.unrecognized_tokens else ""
    return f"{_list(names)} {'is' if len(names) == 1 else 'are'} missing{unknown}"


def _missing_subcommand(event: Any) -> str:
    got = "nothing" if event.found_token is None else repr(event.found_token)
    return f"the command must be one of {', '.join(event.subcommand_spec.parser_from_name)}, got {got}"


def _bad_value(event: Any) -> str:
    return f"{_name(event.argument)} needs a value"


def _choice(event: Any) -> str:
    choices = [choice for choice in event.choices if choice != "None"]
    return f"{_name(event.argument)} must be one of {', '.join(choices)}, got {event.value!r}"


def _failure(event: Any) -> str:
    if event.argument is None:
        return str(event.message)
    name, metavar = _name(event.argument), str(event.argument.lowered.metavar)
    for python_says, accepted in _NOT_NUMBERS:
        if match := re.search(python_says, event.message):
            return f"{name} must be {accepted}, got {match[1]}"
    unreadable, kinds = _UNREADABLE.match(event.message), [words for kind, words in _KINDS.items() if kind in metavar]
    if unreadable is None or not kinds:
        return f"{name}: {event.message}"
    return f"{name} must be {kinds[0]['...' in metavar]}, got {unreadable[1]}"


_NOT_NUMBERS = (
    (r"could not convert string to float: ('.*')", "a number"),
    (r"invalid literal for int\(\) with base 10: ('.*')", "a whole number"),
)
"""What Python says of a word that is no number."""

_UNREADABLE = re.compile(r"(?:Could not find valid parse for arguments|no type matching .* from):? \[(.*?)\]")
"""What tyro says of words that are none of the values an argument may have."""

_KINDS = {"INT": ("a whole number", "whole numbers"), "FLOAT": ("a number", "numbers")}
"""What is one of a kind called, and what are several."""


def _unknown(tokens: list[str]) -> str:
    return f"{_list(map(repr, tokens))} {'is' if len(tokens) == 1 else 'are'} not known"


_SENTENCES: dict[str, Any] = {
    "MissingArgs": _missing,
    "MissingSubcommand": _missing_subcommand,
    "BadValue": _bad_value,
    "InvalidChoice": _choice,
    "UnrecognizedArgs": lambda event: _unknown(event.tokens),
    "InstantiationFailure": _failure,
}


def _name(argument: Any) -> str:
    """The flag, or the place on the command line as the help spells it."""
    name = str(argument.display_name())
    return name if name.startswith("-") else str(argument.field.argconf.metavar or name.upper())


def _list(words: Any) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else str(last)
