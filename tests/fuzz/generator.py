# ruff: noqa: E501 (lists of values)
"""A seeded generator of command lines over every command and option, found in the signatures of the commands."""

import dataclasses
import inspect
import json
import random
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fuzz import inputs


class Case(NamedTuple):
    """One input: the words of a command line, and files that differ from those of the folder."""

    words: tuple[str, ...]
    files: dict[str, str] = {}  # noqa: RUF012 (never changed)


def corpus() -> list[Case]:
    """Inputs that failed once: a traceback, no end, a raw control character or a password."""
    entries = json.loads((Path(__file__).parent / "corpus.json").read_text(encoding="utf-8"))
    wide = {"WIDE": inputs.WIDE}
    return [
        Case(tuple(each["words"]), {name: wide.get(text, text) for name, text in each.get("files", {}).items()})
        for each in entries
    ]


class Option(NamedTuple):
    """An argument of a command."""

    name: str
    kind: str
    positional: bool
    required: bool
    choices: tuple[str, ...]


def commands() -> dict[tuple[str, ...], Callable[..., None]]:
    """Every command by its words."""
    from bygones.cli.commands import PROGRAM

    return {words: command.function for words, command in PROGRAM.leaves()}


def cases(seed: int, number: int) -> Iterator[Case]:
    """Inputs, the same for the same seed; ledgers and tables most often, since they take people's data."""
    rng = random.Random(seed)
    known = {words: list(options(call)) for words, call in commands().items()}
    weights = [_WEIGHTS.get(words[0], 1.0) for words in known]
    for _ in range(number):
        (words,) = rng.choices(list(known), weights)
        yield Case(tuple(_line(rng, words, known[words])), _changed(rng) if rng.random() < 0.3 else {})


_WEIGHTS = {"ledger": 3.0, "allocate": 12.0, "decay": 6.0, "stability": 4.0, "audit": 5.0, "what-if": 2.0, "advise": 2.0, "results": 2.0,
            "simulate": 2.0, "train": 4.0, "figure": 0.2, "report": 0.3, "claims": 0.2, "reproduce": 2.0}  # fmt: skip


def options(call: Callable[..., None]) -> Iterator[Option]:
    """The arguments of a command, as its signature declares them."""
    hints = typing.get_type_hints(call, include_extras=True)
    for name, parameter in inspect.signature(call).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        yield from _option(name, hints[name], required)


def _option(name: str, hint: Any, required: bool) -> Iterator[Option]:
    text, bare = str(hint), _bare(hint)
    if dataclasses.is_dataclass(bare):
        fields = typing.get_type_hints(bare, include_extras=True)
        for field in dataclasses.fields(bare):
            yield from _option(field.name, fields[field.name], False)
        return
    called = next((str(each.name) for each in getattr(hint, "__metadata__", ()) if getattr(each, "name", None)), name)
    choices = tuple(str(each) for each in _choices(bare))
    kind = next((kind for kind, words in _KINDS.items() if name in words), None) or _kind(bare)
    yield Option(called.replace("_", "-"), kind, "Positional" in text or "_PositionalCall" in text, required, choices)


_KINDS = {
    "time": {"at", "began", "now"},
    "duration": {"half_life", "ahead", "every", "gone_after"},
    "welfare": {"welfare"},
    "ledger": {"target", "source", "ledger"},
    "input": {"history", "needs", "past_needs", "entitlements", "matrix", "places", "evidence"},
    "output": {"out", "page", "csv_file", "merge_into", "folder"},
    "number": {"others", "newcomers", "start", "amount", "event"},
}
"""What an argument of this name takes; for every other, its type says so."""


def _bare(hint: Any) -> Any:
    while typing.get_origin(hint) is typing.Annotated:
        hint = hint.__origin__
    return hint


def _choices(bare: Any) -> Iterator[Any]:
    if typing.get_origin(bare) is typing.Literal:
        yield from typing.get_args(bare)
    for inner in typing.get_args(bare):
        yield from _choices(_bare(inner))


def _kind(bare: Any) -> str:
    text = str(bare)
    if bare is bool:
        return "flag"
    if "Path" in text:
        return "input"
    return "number" if "int" in text or "float" in text else "text"


_POOLS = {
    "time": inputs.TIMES, "duration": inputs.DURATIONS, "welfare": inputs.WELFARES, "number": inputs.NUMBERS,
    "text": inputs.TEXTS, "output": inputs.OUTPUTS, "ledger": (*inputs.FILES, *inputs.URLS),
    "input": (*inputs.FILES, *inputs.URLS),
}  # fmt: skip
_LIKELY = {
    "time": ("2026-02-01", "2026-03-02"), "duration": ("7d", "30d", "3", "inf"), "welfare": ("egalitarian", "nash"),
    "number": ("1", "2", "5", "0.5"), "text": ("ana", "ben", "agent"), "output": ("out", "new.csv", "new.json", "new.html"),
    "ledger": ("team.db", "burdens.db"),
    "input": ("needs.csv", "items.csv", "rates.csv", "history.csv", "dated.csv", "requests.csv", "shares.csv", "matrix.csv",
              "past.csv", "strange.csv", "team.db", "sacct.txt"),
}  # fmt: skip


def _value(rng: random.Random, option: Option) -> str:
    if option.choices and rng.random() < 0.9:
        return rng.choice(option.choices)
    if rng.random() < 0.02 and option.kind != "output":
        return rng.choice([text for pool in (inputs.TEXTS, inputs.URLS, inputs.NUMBERS) for text in pool])
    pool = _LIKELY if rng.random() < (0.85 if option.kind == "ledger" else 0.6) else _POOLS
    return rng.choice(pool[option.kind])


def _line(rng: random.Random, words: tuple[str, ...], known: list[Option]) -> Iterator[str]:
    yield from words
    # A table that cannot be right stops most commands, so what is likely comes first.
    likely = {"matrix": "matrix.csv", "needs": rng.choice(["needs.csv", "items.csv"]), "history": "history.csv"}
    for option in known:
        if option.positional:
            if not option.required and rng.random() < 0.5:
                continue
            for _ in range(rng.choice((1, 1, 1, 2)) if option.name in ("agents", "history") else 1):
                sure = option.name in likely and rng.random() < 0.6
                yield likely[option.name] if sure else _value(rng, option)
    for option in known:
        if option.positional or not (option.required or rng.random() < min(0.3, 2 / len(known))):
            continue
        if option.kind == "flag":
            yield f"--{rng.choice(('', 'no-'))}{option.name}" if rng.random() < 0.05 else f"--{option.name}"
        else:
            yield f"--{option.name}"
            yield _value(rng, option)


def _changed(rng: random.Random) -> dict[str, str]:
    """One of the tables with a cell, a row or bytes that should not be there."""
    name = rng.choice(_LIKELY["input"][:10])
    return {name: rng.choice((_with_cell, _with_bytes, _with_lines))(rng, name)}


def _with_cell(rng: random.Random, name: str) -> str:
    lines = inputs.TABLES[name].splitlines()
    row = rng.randrange(len(lines))
    cells = lines[row].split(",")
    cells[rng.randrange(len(cells))] = rng.choice((*inputs.TEXTS, *inputs.NUMBERS, *inputs.TIMES))
    lines[row] = ",".join(cells)
    return "\n".join(lines)


def _with_bytes(rng: random.Random, name: str) -> str:
    letters = list(inputs.TABLES[name])
    for _ in range(rng.choice((1, 3, 10))):
        letters[rng.randrange(len(letters))] = chr(rng.randrange(256))
    return "".join(letters)


def _with_lines(rng: random.Random, name: str) -> str:
    lines = inputs.TABLES[name].splitlines()
    change = rng.choice(("cut", "twice", "other", "none", "long", "blank"))
    if change == "cut":
        return inputs.TABLES[name][: rng.randrange(len(inputs.TABLES[name]))]
    if change == "twice":
        return "\n".join(lines * 2)
    if change == "other":
        return inputs.TABLES[name].replace(",", rng.choice(";\t|\0"))
    if change == "long":
        return "\n".join([*lines, "z" * 200_000])
    return "\n\n\n" if change == "blank" else lines[0]
