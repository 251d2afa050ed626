"""A memory as notebooks show it: how fast the past fades, as a curve and in sentences.

The curve is the weight of a utility that is $k$ steps old against one received now. It is found by asking: let an agent
receive 1 and nothing $k$ steps later, then nothing first and 1 later, and divide the memory in the first case by the
memory in the second. So it is right for every memory, also for averaged and custom ones.
"""

from __future__ import annotations

import math
import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from bygones._arrays import Floats
from bygones._text import amount, listed
from bygones.document.document import Bullets, Curves, Document

if TYPE_CHECKING:
    from bygones.memory.contract import Memory

POINTS = 48
"""Points of a curve, without the additional points of a cliff."""

LONGEST = 2**14
"""The greatest age that is looked at, in steps."""

UNFADING = 100
"""The greatest age in the curve of perfect recall."""

FADED = 0.05
"""A curve ends where less than this is left."""

_CLIFF = 0.2
_NAMED = 4
_MOST_AGENTS = 64
_LONGEST_NAME = 120
_LONG_NUMBER = re.compile(r"\b\d+\.\d{7,}(?!\d*e)")


def document(memory: Memory) -> Document:
    """The memory with its decay curve and its promises."""
    lines = dict(islice(decay_curves(memory).items(), _NAMED))
    picture = [Curves(lines, "The weight of a utility received some steps ago", "steps")] if lines else []
    whose = [f"The curves belong to {listed(list(lines))}."] if len(lines) > 1 else []
    name = _LONG_NUMBER.sub(lambda written: f"{float(written[0]):.6g}", " ".join(repr(memory).split()))
    name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return Document(name, [*picture, Bullets([*_fading(memory), _size(memory), *whose])], "Memory")


def decay_curves(memory: Memory) -> dict[str, list[tuple[float, float]]]:
    """For each way in which agents are forgotten, the weight of a past utility at each age; empty if it is not known.

    The curves of agents who are forgotten alike are one.
    """
    try:
        n_agents = _fitting(memory)
        last = _reach(memory, n_agents)
        ages = np.unique(np.linspace(0, last, POINTS).round().astype(int)).tolist()
        weights = {age: weights_at(memory, n_agents, age) for age in ages}
        _add_cliffs(memory, n_agents, weights)
    except ValueError:
        return {}
    lines: dict[str, list[tuple[float, float]]] = {}
    for agent in range(n_agents):
        line = [(float(age), float(weights[age][agent])) for age in sorted(weights)]
        if line not in lines.values() and np.isfinite([weight for _, weight in line]).all():
            lines[f"agent {agent}"] = line
    return lines


def weights_at(memory: Memory, n_agents: int, age: int) -> Floats:
    """Each agent's weight of a utility that is `age` steps old against one received now; NaN if neither counts."""
    nothing, one = np.zeros((n_agents, n_agents)), np.eye(n_agents)
    empty = memory.init(n_agents)

    def own(first: Floats, then: Floats) -> Floats:
        remembered = memory.read(memory.advance(memory.advance(empty, first, 1), then, age))
        return np.diagonal(np.broadcast_to(np.asarray(remembered, dtype=float), nothing.shape))

    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounded, or agents with equal memories would seem to differ.
        return np.round(own(one, nothing) / own(nothing, one), 9)


def _fitting(memory: Memory) -> int:
    """Two agents, or as many as the memory is made for, which it tells by refusing others."""
    sizes: list[int] = [2, 1, *range(3, _MOST_AGENTS + 1)]
    fitting = next((size for size in sizes if _fits(memory, size)), None)
    if fitting is None:
        raise ValueError(f"no number of agents up to {_MOST_AGENTS} fits the memory {memory!r}")
    return fitting


def _fits(memory: Memory, n_agents: int) -> bool:
    try:
        memory.init(n_agents)
    except ValueError:
        return False
    return True


def _reach(memory: Memory, n_agents: int) -> int:
    """The age at which little is left of a utility, or at which to stop looking."""
    age = 8
    if (weights_at(memory, n_agents, LONGEST) == 1).all():
        return UNFADING
    while age < LONGEST and bool((np.abs(weights_at(memory, n_agents, age)) > FADED).any()):
        age *= 2
    return age


def _add_cliffs(memory: Memory, n_agents: int, weights: dict[int, Floats]) -> None:
    """Adds the ages on both sides of each cliff, where a weight falls from one step to the next."""
    waiting = list(pairwise(sorted(weights)))
    while waiting:
        young, old = waiting.pop()
        if old - young > 1 and (np.abs(weights[young] - weights[old]) > _CLIFF).any():
            middle = (young + old) // 2
            weights[middle] = weights_at(memory, n_agents, middle)
            waiting += [(young, middle), (middle, old)]


def _fading(memory: Memory) -> list[str]:
    if memory.half_life is None:
        return []
    half_lives = np.unique(np.asarray(memory.half_life, dtype=float)).tolist()
    if len(half_lives) > 1:
        steps = listed([amount(each) for each in half_lives], _NAMED)
        return [f"A past utility counts half after {steps} steps, depending on the agent."]
    (half_life,) = half_lives
    if half_life == 0:
        return ["Only the latest utility counts."]
    if math.isinf(half_life):
        return ["A past utility counts in full for ever."]
    return [f"A past utility counts half after {amount(half_life)} step{'' if half_life == 1 else 's'}."]


def _size(memory: Memory) -> str:
    mean = "mean" if np.any(memory.average) else "sum"
    bound = memory.bound(1.0)
    if math.isinf(bound):
        return f"The memory is a {mean}, without a known limit."
    return f"The memory is a {mean}, at most {amount(bound)} if no utility is above 1."
