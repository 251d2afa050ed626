r"""How a ledger remembers: a memory of `bygones.memory`, and the clock that counts its steps in real time.

A memory is advanced in steps. The rules of a ledger define the memory and its step:

| rules | memory | one step of its clock |
|---|---|---|
| `half_life="30d"` | `Discounted(gamma=0.5)` | a half-life, whichever is in force |
| `memory="sliding_window(length=28d)"` | `SlidingWindow(28)` | a day of the calendar; an hour for `length=36h` |
| `memory="reset(every=month)"` | `Discounted(gamma=0)` | the end of a month |
| another memory, such as `multiscale(...)` | that memory | 24 hours |

A `cap` on the recent totals wraps any of them in `Capped`. The clock of an agent on hold stands
still if the rules define it so. The calendar of a reset never stops.

Under half-lives the share $2^{-H(s,t)}$ of a utility received at $s$ still counts at $t$, where

$$ H(s, t) = \int_s^t \frac{\mathrm{d}\tau}{h(\tau)} $$

is the number of half-lives between them and $h(\tau)$ the half-life in force at $\tau$. With one half-life this is
$\gamma^{t-s}$.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from bygones._arrays import AnyArray
from bygones.ledger.model import times
from bygones.ledger.model.participation import Participation, holds
from bygones.ledger.model.times import SECOND, UNITS, as_datetime, duration
from bygones.memory import Capped, Discounted, Memory, SlidingWindow, named_in_time, parse_memory

PERIODS = ("day", "week", "month", "quarter", "year")
"""The periods of the calendar after which a memory can start over."""

MOST_STEPS = 1000
"""The most days, hours, minutes or seconds in a sliding window."""

DISCOUNTED = "discounted"
"""The memory that fades by the half-life in the rules."""

_DAY = 86400 * SECOND
_QUARTER_HOUR = 900 * SECOND


@dataclass(frozen=True)
class TimedMemory:
    """A memory and the clock that counts its steps.

    Attributes:
        name: the rules that lead to it, by which two are compared.
        memory: the memory, which a ledger holds once for each agent.
        rate: steps per second, for a clock that runs evenly; 0 if it counts half-lives, or days or periods.
        counts: what the clock counts instead: `UNITS` by name for a window, a period or a number of days for a reset.
        is_calendar: whether it goes on for agents on hold.
    """

    name: str
    memory: Memory[Any] = field(compare=False)
    rate: float = 0.0
    counts: str = ""
    is_calendar: bool = False


def check_memory(text: str) -> tuple[str, str | None]:
    """The memory of a ledger as its rules spell it, and the half-life that was named with it, if one was.

    Refused unless a ledger can keep it.
    """
    if not isinstance(text, str):
        raise ValueError(
            "memory must be the name of a memory such as 'sliding_window(length=28d)', since a ledger stores its rules "
            f"as text, got {text!r}"
        )
    named, length = named_in_time(text)
    if named.name == DISCOUNTED:
        return DISCOUNTED, length
    remembering(text, None)
    return str(named), None


def in_words(text: str) -> str:
    """A memory as people read it: `window of 28d`, `reset every month`."""
    named, length = named_in_time(text)
    if length is None:
        return text
    return {"sliding_window": f"window of {length}", "reset": f"reset every {length}"}[named.name]


def remembered_in_words(text: str, each: str) -> str:
    """How a memory counts each entry, as a clause."""
    parsed, length = named_in_time(text)
    if parsed.name == "sliding_window":
        return f"{each} counts in full for {times.in_words(str(length))}, then not at all"
    if parsed.name == "reset":
        return f"{each} counts in full; counting starts over every {length}"
    return f"{each} counts by the memory {text}"


@lru_cache(maxsize=64)
def remembering(text: str, cap: float | None) -> TimedMemory:
    """The memory that the rules name, with a cap on the recent totals unless that is None."""
    plain = _uncapped(text)
    if cap is None:
        return plain
    return replace(plain, name=f"{text} capped at {cap!r}", memory=Capped(plain.memory, cap))


def _uncapped(text: str) -> TimedMemory:
    named, length = named_in_time(text)
    if named.name == DISCOUNTED:
        return TimedMemory(text, Discounted(gamma=0.5))
    if named.name == "sliding_window":
        unit, steps = _window(str(length))
        return TimedMemory(text, SlidingWindow(steps), counts=unit)
    if named.name == "reset":
        return TimedMemory(text, Discounted(gamma=0.0), counts=_period(str(length)), is_calendar=True)
    memory = parse_memory(text)
    if not memory.keeps_agents_apart or memory.forgets_at_once:
        raise ValueError(f"a ledger needs a memory that lasts and keeps agents apart, got {text!r}")
    return TimedMemory(text, memory, rate=1.0 / UNITS["d"])


def _window(length: str) -> tuple[str, int]:
    """The largest unit that divides a window evenly, and how many of it the window has."""
    seconds = duration(length, "length")
    for unit in ("d", "h", "min", "s"):
        steps = seconds / UNITS[unit]
        if 1 <= steps <= MOST_STEPS and steps == int(steps):
            return unit, int(steps)
    raise ValueError(f"length must be a whole number of days or hours of at most {MOST_STEPS}, got {length!r}")


def _period(every: str) -> str:
    """A period of the calendar, or a number of days as text."""
    name = every.strip().lower()
    if name in PERIODS:
        return name
    try:
        days = duration(every, "every") / UNITS["d"]
    except ValueError:
        days = math.nan
    if not (1 <= days <= 10_000 and days == int(days)):
        raise ValueError(f"every must be {', '.join(PERIODS)} or a whole number of days such as 28d, got {every!r}")
    return str(int(days))


class Clocks:
    """The agents' own clocks, in steps of the ledger's memory.

    Args:
        remembering: which memory it is.
        changes: the instants at which rules changed, the first of which is when the ledger began.
        half_lives: for each of these and each agent, the half-life in seconds: shape (changes, agents).
        stops: for each of these, whether a hold stops the clock.
        zone: the ledger's time zone.
        participation: when the agents took part.
    """

    def __init__(
        self,
        remembering: TimedMemory,
        changes: np.ndarray,
        half_lives: np.ndarray,
        stops: np.ndarray,
        zone: str,
        participation: Sequence[Participation],
    ) -> None:
        self._remembering, self._zone = remembering, zone
        self._first_day = int(local_time(changes[:1], zone)[0] // _DAY)
        if remembering.counts:
            rates = np.ones((len(changes), 1))
        elif remembering.rate:
            rates = np.full((len(changes), 1), remembering.rate / SECOND)
        else:
            rates = 1.0 / (SECOND * half_lives)
        # Agents whose clocks run alike share one integral.
        columns, group = np.unique(rates, axis=1, return_inverse=True)
        self._group = group.reshape(-1)
        self._running = [_Integral(changes, rate) for rate in columns.T]
        self._stopped = [_Integral(changes, np.where(stops, rate, 0.0)) for rate in columns.T]
        on_hold = [holds(agent) if len(agent) > 1 else () for agent in participation]
        self._count = np.array([len(each) for each in on_hold], dtype=np.int64)
        self._first = np.cumsum(self._count) - self._count
        flat = np.array([hold for each in on_hold for hold in each], dtype=np.int64).reshape(-1, 2)
        self._hold_starts, self._hold_ends = flat[:, 0], flat[:, 1]

    def steps(self, who: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The steps that pass for each of these agents between two instants."""
        if self._remembering.counts:
            passed = self._count_at(who, end) - self._count_at(who, start)
            return np.asarray(np.maximum(passed, 0), dtype=float)
        passed = self._integral(self._running, who, start, end)
        return np.asarray(np.maximum(passed - self._on_hold(who, start, end), 0.0))

    def _count_at(self, who: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The reading of each agent's clock at an instant: the number of days, hours or periods so far."""
        local = local_time(at, self._zone)
        counts = self._remembering.counts
        if self._remembering.is_calendar:
            return _calendar_count(local, counts, self._first_day)
        on_hold = self._on_hold(who, np.full(len(who), np.iinfo(np.int64).min // 2), at)
        return np.asarray((local - on_hold.astype(np.int64)) // round(UNITS[counts] * SECOND))

    def _on_hold(self, who: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The part of the time between two instants for which a hold stopped the clock, in the units of the clock."""
        count = self._count[who]
        if not count.any():
            return np.zeros(len(who))
        entry = np.repeat(np.arange(len(who)), count)
        nth = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
        hold = self._first[who][entry] + nth
        since = np.maximum(self._hold_starts[hold], start[entry])
        until = np.maximum(np.minimum(self._hold_ends[hold], end[entry]), since)
        return np.bincount(entry, self._integral(self._stopped, who[entry], since, until), len(who))

    def _integral(
        self, integrals: Sequence[_Integral], who: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> np.ndarray:
        if len(integrals) == 1:
            return integrals[0].between(start, end)
        group, passed = self._group[who], np.zeros(len(who))
        for number, integral in enumerate(integrals):
            mine = group == number
            passed[mine] = integral.between(start[mine], end[mine])
        return passed


def local_time(instants: np.ndarray, zone: str) -> np.ndarray:
    """The local time of these instants, in microseconds since 1970 as if there were no time zones."""
    if zone == "UTC":
        return instants
    # Clocks are set forward or back at full quarters of an hour only.
    quarters, where = np.unique(instants // _QUARTER_HOUR, return_inverse=True)
    offsets = [as_datetime(int(each) * _QUARTER_HOUR).astimezone(ZoneInfo(zone)).utcoffset() for each in quarters]
    seconds = np.array([0 if each is None else round(each.total_seconds()) for each in offsets], dtype=np.int64)
    return np.asarray(instants + SECOND * seconds[where])


def _calendar_count(local: np.ndarray, counts: str, first_day: int) -> np.ndarray:
    """How many periods of the calendar have ended by a local time."""
    days = local // _DAY
    if counts == "day":
        return np.asarray(days)
    if counts == "week":  # 1970 began on a Thursday
        return np.asarray((days + 3) // 7)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    in_months = {"month": 1, "quarter": 3, "year": 12}
    if counts in in_months:
        return np.asarray(months // in_months[counts])
    return np.asarray((days - first_day) // int(counts))


class _Integral:
    """The integral of a step function of time."""

    def __init__(self, starts: np.ndarray, rate: np.ndarray) -> None:
        self._starts, self._rate = starts, rate
        self._total = np.concatenate([[0.0], np.cumsum(np.diff(starts) * rate[:-1])])

    def between(self, start: AnyArray, end: AnyArray) -> np.ndarray:
        start, end = np.asarray(start, dtype=np.int64), np.asarray(end, dtype=np.int64)
        if len(self._starts) == 1:
            return np.asarray((end - start) * self._rate[0])
        first, last = (np.maximum(np.searchsorted(self._starts, time, side="right") - 1, 0) for time in (start, end))
        # Within one step the difference of the instants is taken first, which loses no digits however late they are.
        across = self._until(last, end) - self._until(first, start)
        return np.asarray(np.where(first == last, (end - start) * self._rate[first], across))

    def _until(self, step: np.ndarray, time: np.ndarray) -> np.ndarray:
        return np.asarray(self._total[step] + (time - self._starts[step]) * self._rate[step])
