"""Explains a wrong command line in one sentence, instead of in tyro's box."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tyro.extras import SubcommandApp


class MissingArgumentsError(ValueError):
    """An argument that is needed was left out."""


def names_of(app: SubcommandApp) -> Collection[str]:
    """The names of the commands in a group; none where a version of tyro keeps them elsewhere."""
    return getattr(app, "_subcommands", ())


def check_command(known: Collection[str], words: Sequence[str], program: str) -> str:
    """The program followed by the command with which the words begin, unless they begin with a question for help.

    Raises:
        ValueError: with one helpful sentence, if there are no words or the first is not a known command.
    """
    if not words:
        raise ValueError(f"choose a command: {', '.join(known)}; see {program} --help")
    name = words[0]
    if name in ("-h", "--help") or not known:
        return program
    if name.startswith("-"):
        command = next((word for word in words if word in known), None)
        where = f": options come after {program} {command}" if command else ""
        raise ValueError(f"{name!r} is not recognized{where}; see {program} --help")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? See" if near else f"choose one of {', '.join(known)}; see"
        raise ValueError(f"unknown command {name!r}: {hint} {program} --help")
    return f"{program} {name}"


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
"""Python arguments that hold what is typed as a list after a flag."""


@contextmanager
def one_sentence(program: str, words: Sequence[str] = ()) -> Iterator[None]:
    """Within this context, a command line that tyro cannot parse raises a ValueError with one sentence.

    The sentence ends with the help to consult: that of `program`, the command as typed, or of a more specific command.

    The hook is private to tyro. Where a version of tyro lacks it or changes it, tyro's own box is shown.
    """
    try:
        from tyro._errors import on_parse_error
    except ImportError:
        yield
        return
    with on_parse_error(lambda event: _refuse(event, program, words)):
        yield


def _refuse(event: Any, program: str, words: Sequence[str] = ()) -> None:
    try:
        sentence, found = _SENTENCES[type(event).__name__](event), event._help_progs()
    except (AttributeError, KeyError):
        return
    most_specific = max(program, found if isinstance(found, str) else found[0], key=len)
    if type(event).__name__ == "UnrecognizedArgs":
        sentence += _comma_hint(event.tokens, words)
    kind = MissingArgumentsError if type(event).__name__ == "MissingArgs" else ValueError
    raise kind(f"{sentence}; see {most_specific} --help")


def _missing(event: Any) -> str:
    names = [_name(missing.arg) for missing in event.missing_arguments]
    unknown = f", and {_unknown(event.unrecognized_tokens)}" if event.unrecognized_tokens else ""
    return f"{_list(names)} {'is' if len(names) == 1 else 'are'} missing{unknown}"


def _missing_subcommand(event: Any) -> str:
    return f"choose a command: {', '.join(event.subcommand_spec.parser_from_name)}"


def _bad_value(event: Any) -> str:
    return f"{_name(event.argument)} needs a value"


def _choice(event: Any) -> str:
    choices = sorted(choice for choice in event.choices if choice != "None")
    return f"{_name(event.argument)} must be one of {', '.join(choices)}, got {event.value!r}"


def _failure(event: Any) -> str:
    if event.argument is None:
        return str(event.message)
    name, kind = _name(event.argument), str(event.argument.field.type_stripped)
    for pattern, accepted in _NOT_NUMBERS:
        if match := re.search(pattern, event.message):
            return f"{name} must be {accepted}, got {match[1]}"
    unreadable, kinds = _UNREADABLE.match(event.message), [text for word, text in _ACCEPTED.items() if word in kind]
    if unreadable is None or not kinds:
        return f"{name}: {event.message}"
    return f"{name} must be {kinds[0]['...' in kind]}, got {unreadable[1]}"


_NOT_NUMBERS = (
    (r"could not convert string to float: ('.*')", "a number"),
    (r"invalid literal for int\(\) with base 10: ('.*')", "a whole number"),
)
"""Python's error messages for text that is not a number, and what the argument accepts."""

_UNREADABLE = re.compile(r"(?:Could not find valid parse for arguments|no type matching .* from):? \[(.*?)\]")
"""tyro's error messages for text that fits none of the types of an argument."""

_ACCEPTED = {"int": ("a whole number", "whole numbers"), "float": ("a number", "numbers")}
"""What an argument of a Python type accepts, for one value and for several."""


def _unknown(tokens: list[str]) -> str:
    return f"{_list(map(repr, tokens))} {'is' if len(tokens) == 1 else 'are'} not recognized"


def _comma_hint(tokens: Sequence[str], words: Sequence[str]) -> str:
    """Where what is not recognized follows the value of a flag that takes a list, how to write the list."""
    for flag, value, *rest in (words[i:] for i in range(len(words) - len(tokens) - 1)):
        if flag in LISTS and rest[: len(tokens)] == list(tokens):
            return f": separate the values of {flag} with commas, as in {flag} {','.join([value, *tokens])}"
    return ""


LISTS = ("--half-life", "--rule", "--fields")
"""The flags whose value is a list with commas, `LIST` in the help."""

_SENTENCES: dict[str, Any] = {
    "MissingArgs": _missing,
    "MissingSubcommand": _missing_subcommand,
    "BadValue": _bad_value,
    "InvalidChoice": _choice,
    "UnrecognizedArgs": lambda event: _unknown(event.tokens),
    "InstantiationFailure": _failure,
}


def _name(argument: Any) -> str:
    """The flag, or the name of a positional argument as the help spells it."""
    name = str(argument.display_name())
    return name if name.startswith("-") else str(argument.field.argconf.metavar or name.upper()).strip("[]")


def _list(words: Any) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else str(last)
