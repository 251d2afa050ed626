r"""Decayed sums per agent and period: one Ibis expression, evaluated where the events are stored.

Time is split into periods of length $L$ that end at $E, E-L, E-2L, \dots$. For each agent $i$, period $p$ and half-life
$h$ the engine computes

$$ S_{i,p}(h) = \sum_{t \in p} u_i(t)\, 2^{-(E_p - t)/h}, \qquad E_p = E - pL . $$

Decay is measured from the end of the event's own period, so that weights which still count do not underflow and
exponents are as exact as the times. What is remembered at the end of a period follows from the sums by the memory's own
recursion (`bygones.audit.trajectory`). Nothing is approximated: sums are float64, added in an order that the engine
chooses, so a sum of N non-negative terms is correct to about N roundings at worst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bygones.audit.clock import MOST_PERIODS, Clock

FADED = 600.0
"""An event whose weight is below e to the minus this counts as zero."""


@dataclass(frozen=True)
class Periods:
    """Periods of one length, counted backwards from the moment of the audit: period 0 ends there.

    Attributes:
        end: the moment of the audit.
        length: the length of each period, in microseconds or steps.
        count: the number of periods.
    """

    end: float
    length: float
    count: int

    def as_one(self) -> Periods:
        """A single period that covers all of them."""
        return Periods(self.end, (self.count + 1) * self.length, 1)

    def end_of(self, period: int) -> float:
        """The moment at which a period ends, which is part of the period."""
        return self.end - period * self.length

    def start_of(self, period: int) -> float:
        """The moment at which a period starts, which is part of the period before."""
        return self.end - (period + 1) * self.length


def periods(clock: Clock, first: float, end: float, every: str | None) -> Periods:
    """The periods that cover a history from its first event to the moment of the audit."""
    length = clock.period(end - first) if every is None else clock.length(every, "every")
    if math.isinf(length):
        raise ValueError("every must be a finite length of time, got inf")
    # The same division as in the engine; `//` does not round and could give one period less.
    count = math.floor((end - first) / length) + 1
    if count > MOST_PERIODS:
        raise ValueError(
            f"every must split the history into at most {MOST_PERIODS} periods, got {every!r}, which makes {count}"
        )
    return Periods(end, length, count)


@dataclass(frozen=True, eq=False)
class Sums:
    """Decayed sums, one entry per agent and period in which the agent has an event.

    Attributes:
        names: the agents.
        agent: the row of each entry in `names`.
        period: the number of each entry's period.
        received: the plain sums.
        decayed: the decayed sums for each half-life.
    """

    names: tuple[str, ...]
    agent: np.ndarray
    period: np.ndarray
    received: np.ndarray
    decayed: dict[float, np.ndarray]


def expression(events: Any, cut: Periods, half_lives: Sequence[float]) -> Any:
    """The sums as an Ibis expression over events with columns `agent`, `time` and `utility`.

    A utility that is missing, negative or not a number turns its sum into NaN. That is how bad events are noticed
    without a second pass.
    """
    import ibis

    age = _age(events, cut)
    utility = ibis.ifelse(events.utility >= 0, events.utility, ibis.literal(math.nan, type="float64"))
    prepared = events.select(agent=events.agent, age=age, utility=utility)
    period = _period(prepared.age, cut)
    since = prepared.age - period * cut.length
    prepared = prepared.select("agent", "utility", period=period.cast("int32"), since=since)
    decayed = {
        f"decayed_{i}": (prepared.utility * _weight(prepared.since, cut.length, half_life)).sum()
        for i, half_life in enumerate(half_lives)
        if math.isfinite(half_life)
    }
    return prepared.group_by("agent", "period").aggregate(received=prepared.utility.sum(), **decayed)


def _weight(since: Any, longest: float, half_life: float) -> Any:
    """The weight of an event at the end of its period; zero if it is below e^-600."""
    import ibis

    exponent = since * (-math.log(2) / half_life)
    if longest * math.log(2) / half_life <= FADED:
        return exponent.exp()
    # PostgreSQL raises an error where an exponential underflows.
    return ibis.ifelse(exponent < -FADED, 0.0, exponent.exp())


def first_events(events: Any, cut: Periods) -> Any:
    """The time of the first event in each period that has one, as an Ibis expression."""
    timed = events.select(time=events.time, period=_period(_age(events, cut), cut).cast("int32"))
    return timed.group_by("period").aggregate(first=timed.time.min())


def collect(table: pa.Table, half_lives: Sequence[float]) -> Sums:
    """The sums from the result of the engine."""
    agents = table["agent"].combine_chunks().dictionary_encode()
    received = _numbers(table["received"])
    decayed = {
        half_life: _numbers(table[f"decayed_{i}"]) if math.isfinite(half_life) else received
        for i, half_life in enumerate(half_lives)
    }
    names = np.array([str(name) for name in agents.dictionary.to_pylist()], dtype=object)
    # Engines return rows in any order; sorting makes the audit independent of it.
    order = np.argsort(names, kind="stable")
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    codes = rank[agents.indices.to_numpy(zero_copy_only=False)]
    return Sums(tuple(names[order]), codes, _numbers(table["period"]).astype(np.int64), received, decayed)


def _age(events: Any, cut: Periods) -> Any:
    """The age of each event at the moment of the audit."""
    import ibis

    return (ibis.literal(cut.end, type=events.time.type()) - events.time).cast("float64")


def _period(age: Any, cut: Periods) -> Any:
    # Engines read a literal with a point as a decimal, so without the cast they would compute in decimals.
    return (age / cut.length).floor().cast("float64")


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_numpy(), dtype=float)
