"""The memories under which a history can be replayed, by their names: `discounted(half_life=7d)` and others.

A name is that of a class in `bygones.memory`, in small letters: `sliding_window(length=30d)`, `reset(every=30d)`,
`perfect_recall` (or `perfect`) and `instantaneous` (or `none`). Lengths are durations, or numbers of steps where the
times of the history are step numbers. A half-life alone is a discounted memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bygones.audit.read.clock import Clock
from bygones.memory import Discounted, Instantaneous, Memory, PerfectRecall, Reset, SlidingWindow

MOST_STEPS = 1000
"""The most steps into which the length of a window, or the time between two resets, is divided."""

_LENGTHS = {"discounted": "half_life", "sliding_window": "length", "reset": "every"}
_PHRASES = {
    "discounted": "With a half-life of {}",
    "sliding_window": "With a sliding window of {}",
    "reset": "With a reset every {}",
    "perfect_recall": "With perfect recall",
    "instantaneous": "With no memory",
}
_SHORT = {"perfect": "perfect_recall", "none": "instantaneous"}
_EXAMPLES = "discounted(half_life=7d), sliding_window(length=30d), reset(every=30d), perfect_recall or instantaneous"
_CALL = re.compile(r"\s*([\w-]+)\s*(?:\(\s*(?:(\w+)\s*=\s*)?([^()=]*?)\s*\))?\s*")


@dataclass(frozen=True)
class Alternative:
    """A memory for a replay.

    Attributes:
        name: as it is written: `7d` for a half-life, otherwise `sliding_window(length=30d)`.
        phrase: as a sentence begins with it: "With a half-life of 7d".
        kind: the name of the memory.
        length: of its half-life, window or period, in microseconds or steps; infinite where it has none.
    """

    name: str
    phrase: str
    kind: str
    length: float

    def memory(self, usual: float) -> tuple[Memory[Any], float]:
        """The memory, and the length of one of its steps, where `usual` is the usual time between two decisions.

        Windows and resets count in whole steps, which divide their length evenly.
        """
        if self.kind == "discounted":
            return Discounted(half_life=self.length / usual), usual
        if self.kind == "perfect_recall":
            return PerfectRecall(), usual
        if self.kind == "instantaneous":
            return Instantaneous(), usual
        steps = min(max(round(self.length / usual), 1), MOST_STEPS)
        memory: Memory[Any] = SlidingWindow(steps) if self.kind == "sliding_window" else Reset(steps)
        return memory, self.length / steps

    @property
    def is_half_life(self) -> bool:
        """Whether it fades by a half-life, perhaps an infinite one."""
        return self.kind in ("discounted", "perfect_recall")

    @property
    def counts_in_steps(self) -> bool:
        """Whether times are rounded to whole steps of the memory."""
        return self.kind == "sliding_window"


def of_half_life(clock: Clock, value: str | float) -> Alternative:
    """The discounted memory with a half-life as people write it; perfect recall if it is infinite."""
    return of_length(clock, clock.length(value))


def of_length(clock: Clock, length: float, kind: str = "discounted") -> Alternative:
    """The memory of a kind with a half-life, window or period in microseconds or steps."""
    text = clock.length_text(length)
    if kind != "discounted":
        return Alternative(f"{kind}({_LENGTHS[kind]}={text})", _PHRASES[kind].format(text), kind, length)
    kind = kind if math.isfinite(length) else "perfect_recall"
    return Alternative(text, _PHRASES[kind].format(text), kind, length)


def named_memory(clock: Clock, text: str) -> Alternative:
    """The memory that is meant by a name such as `sliding_window(length=30d)`."""
    match = _CALL.fullmatch(text)
    kind = "" if match is None else match[1].replace("-", "_").lower()
    kind = _SHORT.get(kind, kind)
    if match is None or kind not in _PHRASES:
        raise ValueError(f"memory must be {_EXAMPLES}, got {text!r}")
    parameter, given = _LENGTHS.get(kind), match[3] or ""
    if (parameter is None) != (given == "") or (match[2] is not None and match[2] != parameter):
        takes = "takes nothing" if parameter is None else f"needs its {parameter}, e.g. {kind}({parameter}=30d)"
        raise ValueError(f"memory {kind} {takes}, got {text!r}")
    if parameter is None:
        return Alternative(kind, _PHRASES[kind], kind, math.inf)
    length = clock.length(given, parameter)
    if math.isinf(length) and kind != "discounted":
        raise ValueError(f"{parameter} must be finite, got {text!r}: perfect_recall remembers everything")
    return of_length(clock, length, kind)


def alternatives(clock: Clock, half_lives: Sequence[str | float], memories: Sequence[str]) -> list[Alternative]:
    """Half-lives, the shortest first, and other memories in the order given, each once."""
    fading = sorted((of_half_life(clock, each) for each in half_lives), key=lambda each: each.length)
    chosen: dict[tuple[str, float], Alternative] = {}
    for each in [*fading, *(named_memory(clock, text) for text in memories)]:
        chosen.setdefault((each.kind, each.length), each)
    return list(chosen.values())
