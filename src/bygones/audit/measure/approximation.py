r"""Approximates what is remembered at any half-life from one pass over the events, to find where to look for flips.

Ages, counted in `UNIT` shortest half-lives, are split into stretches $[0, 1), [1, 2), [2, 4), [4, 8), \dots$ An age in
the stretch of middle $c$ and half-length $w$ is $c + wx$ with $-1 \le x \le 1$, and

$$ e^{-\lambda(c + wx)} \approx e^{-\lambda c} \sum_{k=0}^{K} a_k(\lambda w)\, x^k , $$

where the $a_k$ are the Chebyshev series of $e^{-yx}$, cut off after degree $K$. The sums $\sum u\,x^k$ of an agent and
a stretch therefore give the result for every half-life from the shortest on. Old stretches are less accurate, but they
have faded: the error is below $10^{-6}$ of what was received. That is accurate enough to choose the half-lives at which
to compute exactly, and the approximation is used for nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ive

from bygones.audit.read.sources import constant

DEGREE = 8
"""The degree at which the series is truncated."""

UNIT = 2.0
"""The length of the first stretch, as a multiple of the shortest half-life."""


def expression(events: Any, end: float, shortest: float) -> Any:
    """The sums as an Ibis expression over events with columns `agent`, `time` and `utility`."""
    import ibis

    age = (constant(end, events.time.type()) - events.time).cast("float64") / (UNIT * shortest)
    aged = events.select("agent", "utility", age=age)
    stretch = ibis.ifelse(aged.age < 1.0, ibis.literal(0, type="int64"), aged.age.log2().floor().cast("int64") + 1)
    aged = aged.select("agent", "utility", "age", stretch=stretch)
    length = ibis.literal(2.0) ** (ibis.greatest(aged.stretch, 1) - 1).cast("float64")
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
        """What is remembered of each agent under a half-life not shorter than the shortest."""
        rate = math.log(2) * self._unit / half_life
        k = np.arange(DEGREE + 1)
        # The scaled Bessel function carries e^(-λw), so that only the decay to the stretch's start is left.
        series = np.where(k == 0, 1.0, 2.0) * (-1.0) ** k * ive(k, rate * self._half[:, None])
        weights = np.exp(-rate * self._start)[:, None] * (series @ _MONOMIALS)
        return np.bincount(self._rows, (self._sums * weights[self._stretch]).sum(axis=1), self._n)


def _monomials() -> np.ndarray:
    """The coefficients of the Chebyshev polynomials, one row each."""
    rows = np.zeros((DEGREE + 1, DEGREE + 1))
    for k, unit in enumerate(np.eye(DEGREE + 1)):
        polynomial = np.polynomial.chebyshev.cheb2poly(unit[: k + 1])
        rows[k, : len(polynomial)] = polynomial
    return rows


_MONOMIALS = _monomials()
