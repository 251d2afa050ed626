"""The memories under which a history can be replayed, by their names: `discounted(half_life=7d)` and others.

Names are from `bygones.memory`, and lengths of time in them are durations, or numbers of steps where the times of
the history are step numbers: `sliding_window(length=30d)`, `reset(every=30d)`. A half-life alone is a discounted
memory. Any other memory counts in steps of the usual time between two decisions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bygones.audit.read.clock import Clock
from bygones.memory import Discounted, Memory, memories, named_in_time, parse_memory
from bygones.memory.contract import IN_TIME

MOST_STEPS = 1000
"""The most steps into which the length of a window, or the time between two resets, is divided."""

_PHRASES = {
    "discounted": "With a half-life of {}",
    "sliding_window": "With a sliding window of {}",
    "reset": "With a reset every {}",
    "perfect_recall": "With perfect recall",
    "instantaneous": "With no memory",
}


@dataclass(frozen=True)
class Alternative:
    """A memory for a replay.

    Attributes:
        name: as people type it: `7d` for a half-life, otherwise `sliding_window(length=30d)`.
        phrase: as a sentence begins with it: "With a half-life of 7d".
        kind: the name of the memory, with its parameters if none of them is a length of time.
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
        if self.kind not in IN_TIME:
            return parse_memory(self.kind), usual
        steps = min(max(round(self.length / usual), 1), MOST_STEPS)
        return memories.part(self.kind)(steps), self.length / steps

    @property
    def title(self) -> str:
        """In a table or a legend: `half-life 7d`."""
        return self.phrase.removeprefix("With ").removeprefix("a ").replace(" of ", " ")

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
        return Alternative(f"{kind}({IN_TIME[kind]}={text})", _PHRASES[kind].format(text), kind, length)
    kind = kind if math.isfinite(length) else "perfect_recall"
    return Alternative(text, _PHRASES[kind].format(text), kind, length)


def named_memory(clock: Clock, text: str) -> Alternative:
    """The memory that is meant by a name such as `sliding_window(length=30d)`."""
    memory, given = named_in_time(text)
    kind, parameter = memory.name, IN_TIME.get(memory.name)
    if parameter is None:
        parse_memory(text)
        return Alternative(str(memory), _PHRASES.get(str(memory), f"With {memory}"), str(memory), math.inf)
    if given is None:
        raise ValueError(f"memory {kind} needs its {parameter}, as in {kind}({parameter}=30d), got {text!r}")
    length = clock.length(given, parameter)
    if math.isinf(length) and kind != "discounted":
        raise ValueError(f"{parameter} must be finite, got {text!r}: use perfect for perfect recall")
    return of_length(clock, length, kind)


def alternatives(clock: Clock, half_lives: Sequence[str | float], memories: Sequence[str]) -> list[Alternative]:
    """Half-lives, the shortest first, and other memories in the order given, each once."""
    fading = sorted((of_half_life(clock, each) for each in half_lives), key=lambda each: each.length)
    chosen: dict[tuple[str, float], Alternative] = {}
    for each in [*fading, *(named_memory(clock, text) for text in memories)]:
        chosen.setdefault((each.kind, each.length), each)
    return list(chosen.values())
