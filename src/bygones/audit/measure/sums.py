r"""Decayed sums per agent and period: one Ibis expression, evaluated where the events are stored.

Time is split into periods of length $L$ that end at $E, E-L, E-2L, \dots$. For each agent $i$, period $p$ and half-life
$h$ the engine computes

$$ S_{i,p}(h) = \sum_{t \in p} u_i(t)\, 2^{-(E_p - t)/h}, \qquad E_p = E - pL . $$

Decay is measured from the end of the event's own period, so weights which still count do not underflow and
exponents are as exact as the times.

Usage that lasts, from $s$ to $e$, counts while it lasts: evenly spread over its interval, in closed form. The part in
a period, from $a$ to $b$, adds

$$ u\,\frac{b-a}{e-s}\; 2^{-(E_p-b)/h}\;\frac{1-2^{-(b-a)/h}}{(b-a)\ln 2/h} . $$

The recent total at the end of a period follows from the sums by the memory's own recursion
(`bygones.audit.measure.pasts`). The sums are not approximated: they are float64, added in an order that the
engine chooses, so a sum of N non-negative terms is correct to about N roundings at worst.

`Moments` approximates recent totals at any half-life from one pass over the events, to find where conclusions may
flip. Ages, counted in `UNIT` shortest half-lives, are split into stretches $[0, 1), [1, 2), [2, 4), [4, 8), \dots$ An
age in the stretch of middle $c$ and half-length $w$ is $c + wx$ with $-1 \le x \le 1$, and

$$ e^{-\lambda(c + wx)} \approx e^{-\lambda c} \sum_{k=0}^{K} a_k(\lambda w)\, x^k , $$

where the $a_k$ are the Chebyshev series of $e^{-yx}$, cut off after degree $K$. The sums $\sum u\,x^k$ of an agent and
a stretch therefore give the result for every half-life from the shortest on. Old stretches are less accurate, but they
have faded: the error is below $10^{-6}$ of the true total. That is accurate enough to choose the half-lives at which
to compute exactly, and the approximation is used for nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ibis
import numpy as np
import pyarrow as pa
from scipy.special import ive

from bygones.audit.read.clock import MOST_PERIODS, Clock
from bygones.audit.read.sources import constant

FADED = 600.0
"""An event whose weight is below e to the minus this counts as zero."""

DEGREE = 8
"""The degree at which the series is truncated."""

UNIT = 2.0
"""The length of the first stretch, as a multiple of the shortest half-life."""


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
        first: the time of the first event in the period, or of the beginning of usage that lasts.
    """

    names: tuple[str, ...]
    agent: np.ndarray
    period: np.ndarray
    received: np.ndarray
    decayed: dict[float, np.ndarray]
    first: np.ndarray


def expression(events: ibis.Table, cut: Periods, half_lives: Sequence[float], *, first: bool = False) -> ibis.Table:
    """The sums as an Ibis expression over events with columns `agent`, `time` and `utility`.

    A column `start` has the time since which an event lasted, until its `time`. A utility that is missing, negative or
    not a number turns its sum into NaN. That is how bad events are noticed without a second pass. With `first`, the age
    of the first event of each agent and period is asked for as well.
    """
    utility = ibis.ifelse(events.utility >= 0, events.utility, ibis.literal(math.nan, type="float64"))
    if "start" in events.columns:
        parts = _parts(events.mutate(utility=utility), cut)
    else:
        prepared = events.select("agent", age=_age(events.time, cut.end), utility=utility)
        period = _period(prepared.age, cut)
        since = prepared.age - period.cast("float64") * constant(cut.length)
        parts = prepared.select("agent", "utility", "age", period=period.cast("int32"), since=since)
    decayed = {
        f"decayed_{i}": (parts.utility * _weight(parts, cut.length, half_life)).sum()
        for i, half_life in enumerate(half_lives)
        if math.isfinite(half_life)
    }
    oldest = {"oldest": parts.age.max()} if first else {}
    return parts.group_by("agent", "period").aggregate(received=parts.utility.sum(), **oldest, **decayed)


def _parts(events: ibis.Table, cut: Periods) -> ibis.Table:
    """The part of each event in each period over which it lasts, with its length `lasts`.

    Ages are counted backwards from the moment of the audit, like periods. What lasts beyond that moment is cut off.
    """
    ages = events.select(
        "agent", "utility", newest=_age(events.time, cut.end), oldest=_age(events.start, cut.end),
    )  # fmt: skip
    whole = ages.oldest - ages.newest
    newest = ibis.greatest(ages.newest, 0.0)
    ages = ages.select("agent", "utility", "oldest", newest=newest, whole=whole)
    if cut.count == 1:
        spread = ages.mutate(period=ibis.literal(0.0))
    else:
        first = _period(ages.newest, cut).cast("float64")
        last = ibis.greatest((ages.oldest / constant(cut.length)).ceil().cast("float64") - 1.0, first)
        spread = ages.mutate(period=ibis.range(first.cast("int64"), last.cast("int64") + 1).unnest())
        spread = spread.mutate(period=spread.period.cast("float64"))
    length = constant(cut.length)
    since = ibis.greatest(spread.newest - spread.period * length, 0.0)
    until = ibis.least(spread.oldest - spread.period * length, length)
    spread = spread.select("agent", "utility", "whole", "period", since=since, until=ibis.greatest(until, since))
    lasts = spread.until - spread.since
    share = ibis.ifelse(spread.whole > 0, lasts / spread.whole, 1.0)
    return spread.select(
        "agent", "since", period=spread.period.cast("int32"), utility=spread.utility * share, lasts=lasts,
        age=spread.period * length + spread.until,
    )  # fmt: skip


def _weight(parts: ibis.Table, longest: float, half_life: float) -> ibis.Value:
    """The weight of an event at the end of its period; zero if it is below e^-600."""
    rate = math.log(2) / half_life
    exponent = parts.since * -rate
    # PostgreSQL raises an error where an exponential underflows.
    underflows = longest * rate > FADED
    weight = ibis.ifelse(exponent < -FADED, 0.0, exponent.exp()) if underflows else exponent.exp()
    if "lasts" not in parts.columns:
        return weight
    # The mean weight over the time it lasts, (1 - e^-x)/x; where x is small that loses digits, and a series does not.
    x = parts.lasts * rate
    series = 1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4 * (1.0 - x / 5)))
    return weight * ibis.ifelse(x < 1e-3, series, (1.0 - (-ibis.least(x, FADED)).exp()) / ibis.greatest(x, 1e-3))


def collect(table: pa.Table, half_lives: Sequence[float], cut: Periods) -> Sums:
    """The sums from the result of the engine; where the first events are not known, the starts of the periods."""
    names, codes = agents_of(table)
    received = _numbers(table["received"])
    decayed = {
        half_life: _numbers(table[f"decayed_{i}"]) if math.isfinite(half_life) else received
        for i, half_life in enumerate(half_lives)
    }
    # Engines return rows in any order; sorting makes the audit independent of it.
    order = np.argsort(np.array(names, dtype=object), kind="stable")
    agent = np.argsort(order)[codes]
    period = _numbers(table["period"]).astype(np.int64)
    oldest = _numbers(table["oldest"]) if "oldest" in table.column_names else (period + 1) * cut.length
    return Sums(tuple(names[row] for row in order), agent, period, received, decayed, cut.end - oldest)


def agents_of(table: pa.Table) -> tuple[list[str], np.ndarray]:
    """The names of the agents in a result of the engine and, for each entry, the place of its agent among them."""
    agents = table["agent"].combine_chunks().dictionary_encode()
    return [str(name) for name in agents.dictionary.to_pylist()], agents.indices.to_numpy(zero_copy_only=False)


def _age(time: ibis.Value, end: float) -> ibis.Value:
    """The age of each time at the moment of the audit."""
    return (constant(end, time.type()) - time).cast("float64")


def _period(age: ibis.Value, cut: Periods) -> ibis.Value:
    """The number of the period, as a whole number, which some engines keep as an integer."""
    return (age / constant(cut.length)).floor()


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_numpy(), dtype=float)


def moments_expression(events: ibis.Table, end: float, shortest: float) -> ibis.Table:
    """The sums of `Moments` as an Ibis expression over events with columns `agent`, `time` and `utility`."""
    aged = events.select("agent", "utility", age=_age(events.time, end) / (UNIT * shortest))
    stretch = ibis.ifelse(aged.age < 1.0, ibis.literal(0, type="int64"), aged.age.log2().floor().cast("int64") + 1)
    aged = aged.select("agent", "utility", "age", stretch=stretch)
    length = ibis.literal(2.0) ** (ibis.greatest(aged.stretch, 1) - 1).cast("float64")
    # In half-lengths, the middle of [0, 1) is at 1 and that of a stretch [L, 2L) is at 3, so x runs from -1 to 1.
    middle = ibis.ifelse(aged.stretch == 0, 1.0, 3.0)
    moved = aged.select("agent", "utility", "stretch", x=2.0 * aged.age / length - middle)
    term, sums = moved.utility, {}
    for k in range(DEGREE + 1):
        sums[f"moment_{k}"] = term.sum()
        term = term * moved.x
    return moved.group_by("agent", "stretch").aggregate(**sums)


class Moments:
    """The sums of all agents, from which any half-life can be evaluated."""

    def __init__(self, table: pa.Table, rows: np.ndarray, n_agents: int, shortest: float) -> None:
        """Takes the result of the engine and, for each of its entries, the row of the agent."""
        self._rows, self._n, self._unit = rows, n_agents, UNIT * shortest
        self._stretch = np.asarray(table["stretch"].to_numpy(), dtype=np.int64)
        self._sums = np.column_stack([table[f"moment_{k}"].to_numpy() for k in range(DEGREE + 1)])
        length = np.exp2(np.maximum(np.arange(self._stretch.max(initial=0) + 1), 1) - 1)
        self._start = np.where(np.arange(len(length)) == 0, 0.0, length)
        self._half = length / 2

    def remembered(self, half_life: float) -> np.ndarray:
        """Each agent's recent total under a half-life not shorter than the shortest."""
        rate = math.log(2) * self._unit / half_life
        k = np.arange(DEGREE + 1)
        # The scaled Bessel function includes e^(-λw), so only the decay to the start of the stretch is left.
        series = np.where(k == 0, 1.0, 2.0) * (-1.0) ** k * ive(k, rate * self._half[:, None])
        weights = np.exp(-rate * self._start)[:, None] * (series @ _MONOMIALS)
        return np.bincount(self._rows, (self._sums * weights[self._stretch]).sum(axis=1), self._n)


_MONOMIALS = np.array(
    [
        np.pad(np.polynomial.chebyshev.cheb2poly(unit[: k + 1]), (0, DEGREE - k))
        for k, unit in enumerate(np.eye(DEGREE + 1))
    ]
)
"""The coefficients of the Chebyshev polynomials, one row each."""
