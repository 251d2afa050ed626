"""What a file may hold where a program expects its own: values of the wrong type, far out of range, or malformed."""

import copy
import math
from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 1e308, 2**63 - 1, 2**70, math.nan, -math.inf, "", "x", "\x1b[31m\u202e", "nan", "9" * 400,
    [], [1, "x"], [[[]]], {},
    {"kind": "x", "numbers": {}}, {"kind": "__class__", "numbers": []}, {"kind": None, "numbers": {"x": 1}},
)  # fmt: skip
"""Put in the place of every value of a document."""


def changed(document: Any) -> Iterator[tuple[str, Any]]:
    """A document with one thing in it exchanged or left out, everything in turn, and what was done."""
    for path, key in _places([document], ()):
        for value in (*VALUES, ...):
            other = copy.deepcopy([document])
            there = other
            for step in path:
                there = there[step]
            if value is ...:
                del there[key]
            else:
                there[key] = copy.deepcopy(value)
            if other != [document] and other:
                name = ".".join(map(str, (*path, key)[1:])) or "all"
                yield f"{name} {'left out' if value is ... else f'= {value!r:.40}'}", other[0]


def _places(holder: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Where the values of a document are: the way to what holds each, and the key in it."""
    keys = holder if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield path, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key], (*path, key))
