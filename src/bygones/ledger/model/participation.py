"""When an agent takes part and when not: join, hold, resume, leave, in the order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from bygones.ledger.model.events import canonical
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.times import named

Turns: TypeAlias = tuple[tuple[int, str], ...]
"""The turns of one agent: instants and kinds, in the order of time and, within one instant, of recording."""

AWAY, PRESENT, ON_HOLD = "away", "present", "on hold"

_NEXT = {
    (AWAY, "join"): PRESENT,
    (PRESENT, "hold"): ON_HOLD,
    (ON_HOLD, "resume"): PRESENT,
    (PRESENT, "leave"): AWAY,
    (ON_HOLD, "leave"): AWAY,
}
_FOREVER = np.iinfo(np.int64).max


@lru_cache(maxsize=65536)
def read(text: str) -> Turns:
    """Turns from their JSON text."""
    try:
        return tuple((int(time), str(kind)) for time, kind in json.loads(text))
    except (TypeError, ValueError):
        raise ValueError("the turns of the agents are damaged: run `bygones ledger rebuild`") from None


@lru_cache(maxsize=65536)
def write(turns: Turns) -> str:
    """Turns as JSON text."""
    return canonical(turns)


def status(turns: Turns, time: int) -> str:
    """Whether the agent is away, present or on hold just after an instant."""
    state = AWAY
    for at, kind in turns:
        if at > time:
            break
        state = _NEXT[state, kind]
    return state


def was_member(turns: Turns, time: int) -> bool:
    """Whether the agent took part at an instant, on hold or not; the instants of joining and leaving count."""
    return status(turns, time) != AWAY or any(at == time for at, _ in turns)


def until(turns: Turns, time: int) -> Turns:
    """The turns up to an instant."""
    return turns if turns[-1][0] <= time else tuple(turn for turn in turns if turn[0] <= time)


def first_impossible(turns: Iterable[tuple[int, str]]) -> tuple[int, str] | None:
    """The position of the first turn that does not follow from those before it, with the state then; or None."""
    state = AWAY
    for position, (_, kind) in enumerate(turns):
        if (state, kind) not in _NEXT:
            return position, state
        state = _NEXT[state, kind]
    return None


def with_turn(turns: Turns, time: int, kind: str, agent: str, zone: str = "UTC") -> Turns:
    """The turns with one more, refused if one would not follow from the one before."""
    later = tuple(turn for turn in turns if turn[0] > time)
    together = (*turns[: len(turns) - len(later)], (time, kind), *later)
    found = first_impossible(together)
    if found is not None:
        position, state = found
        at, following = together[position]
        when = named(at, zone)
        is_so = {"hold": "already on hold", "resume": "not on hold", "join": "already a member"}
        if state != AWAY and following in is_so:
            raise ValueError(f"agent {agent!r} is {is_so[following]} at {when}")
        raise ValueError(f"agent {agent!r} is {state} at {when} and cannot {following} then")
    return together


def holds(turns: Turns) -> list[tuple[int, int]]:
    """The agent's times on hold, the last perhaps open-ended."""
    found, since = [], None
    for at, kind in turns:
        if kind == "hold":
            since = at
        elif since is not None:
            found.append((since, at))
            since = None
    return found if since is None else [*found, (since, _FOREVER)]


class Clocks:
    """The agents' own clocks, in half-lives: they stop on hold where the rules say so."""

    def __init__(self, book: RuleBook, turns: Iterable[Turns]) -> None:
        self._book = book
        each = [holds(agent) if len(agent) > 1 else () for agent in turns]
        self._count = np.array([len(found) for found in each], dtype=np.int64)
        self._first = np.cumsum(self._count) - self._count
        flat = np.array([hold for found in each for hold in found], dtype=np.int64).reshape(-1, 2)
        self._start, self._end = flat[:, 0], flat[:, 1]

    def half_lives(self, who: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The half-lives that pass for each of these agents between two instants."""
        passed = self._book.half_lives(start, end)
        count = self._count[who]
        if not count.any():
            return passed
        entry = np.repeat(np.arange(len(who)), count)
        nth = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
        hold = self._first[who][entry] + nth
        since = np.maximum(self._start[hold], start[entry])
        until = np.maximum(np.minimum(self._end[hold], end[entry]), since)
        stopped = np.bincount(entry, self._book.half_lives_on_hold(since, until), len(who))
        return np.asarray(np.maximum(passed - stopped, 0.0))
