"""When an agent takes part and when not: join, hold, resume, leave, in the order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from bygones.ledger.model.events import canonical
from bygones.ledger.model.span import Span
from bygones.ledger.model.times import format_instant

Participation: TypeAlias = tuple[tuple[int, str], ...]
"""When one agent joined, left, went on hold and resumed: instants and kinds, in the order of time and, within one
instant, of recording."""

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
def read(text: str) -> Participation:
    """A participation from its JSON text."""
    try:
        return tuple((int(time), str(kind)) for time, kind in json.loads(text))
    except (TypeError, ValueError):
        raise ValueError("the participation of the agents is damaged: run `bygones ledger rebuild`") from None


@lru_cache(maxsize=65536)
def write(changes: Participation) -> str:
    """A participation as JSON text."""
    return canonical(changes)


def status(changes: Participation, time: int) -> str:
    """Whether the agent is away, present or on hold just after an instant."""
    state = AWAY
    for at, kind in changes:
        if at > time:
            break
        state = _NEXT[state, kind]
    return state


def status_over(changes: Participation, span: Span) -> str:
    """Whether the agent is present all through a turn, or else away or on hold for some of it."""
    states = [status(changes, span.start)]
    states += [status(changes, at) for at, _ in changes if span.start < at < span.end]
    return next((state for state in states if state != PRESENT), PRESENT)


def was_member(changes: Participation, time: int) -> bool:
    """Whether the agent took part at an instant, on hold or not; the instants of joining and leaving count."""
    return status(changes, time) != AWAY or any(at == time for at, _ in changes)


def first_impossible(changes: Iterable[tuple[int, str]]) -> tuple[int, str] | None:
    """The position of the first change that does not follow from those before it, with the state then; or None."""
    state = AWAY
    for position, (_, kind) in enumerate(changes):
        if (state, kind) not in _NEXT:
            return position, state
        state = _NEXT[state, kind]
    return None


def with_change(changes: Participation, time: int, kind: str, agent: str, zone: str = "UTC") -> Participation:
    """The participation with one more change, refused if one would not follow from the one before."""
    later = tuple(change for change in changes if change[0] > time)
    together = (*changes[: len(changes) - len(later)], (time, kind), *later)
    impossible = first_impossible(together)
    if impossible is not None:
        position, state = impossible
        at, following = together[position]
        when = format_instant(at, zone)
        is_so = {"hold": "already on hold", "resume": "not on hold", "join": "already a member"}
        if state != AWAY and following in is_so:
            raise ValueError(f"agent {agent!r} is {is_so[following]} at {when}")
        raise ValueError(f"agent {agent!r} is {state} at {when} and cannot {following} then")
    return together


def holds(changes: Participation) -> list[tuple[int, int]]:
    """The agent's times on hold, the last perhaps open-ended."""
    periods, since = [], None
    for at, kind in changes:
        if kind == "hold":
            since = at
        elif since is not None:
            periods.append((since, at))
            since = None
    return periods if since is None else [*periods, (since, _FOREVER)]
