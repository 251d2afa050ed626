"""The linear model of a welfare: columns and rows for HiGHS, and its answers without their tolerances."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from bygones.forms import Curves, Form, Ranked

Parts: TypeAlias = list[tuple[slice, np.ndarray | sparse.sparray]]
"""A sum over columns: each slice of them times a vector (one row) or a matrix (several)."""


@dataclass(frozen=True, eq=False)
class Programme:
    """Maximise the welfare of `base + response @ x` with `rows @ x <= limits` and x between 0 and `upper`.

    Where everything has to be allocated, x sums to `total`, and `some` is one x for which all of this holds.
    """

    base: np.ndarray
    response: sparse.csr_array
    rows: sparse.csr_array
    limits: np.ndarray
    upper: np.ndarray
    whole: bool
    total: float | None = None
    some: np.ndarray | None = None

    def after(self, x: np.ndarray) -> np.ndarray:
        """Z given this x."""
        return np.asarray(self.base + self.response @ x)

    def most(self) -> np.ndarray:
        """More than any x makes of Z: as if every gain came to everyone at once."""
        return np.asarray(self.base + self.response.maximum(0.0) @ self.upper)


class Found(NamedTuple):
    """The solver's answer: a point if it has one, a proven bound, and whether the point is proven best."""

    x: np.ndarray | None
    bound: float
    proven: bool
    infeasible: bool = False


class Model:
    """The programme with the columns and rows that make its welfare linear."""

    def __init__(self, programme: Programme, form: Form, deadline: float) -> None:
        self.programme, self.form, self.deadline = programme, form, deadline
        self.least, self.most = np.zeros(0), np.zeros(0)
        self.rows: list[tuple[Parts, np.ndarray]] = []
        self.x = self.columns(len(programme.upper), 0.0, programme.upper)
        self.at_most([(self.x, programme.rows)], programme.limits)
        if programme.total is not None:
            self.at_most([(self.x, -np.ones((1, len(programme.upper))))], np.array([-programme.total]))
        self.objective: Parts = []
        if isinstance(form, Ranked):
            self._add_ranked(form)
        elif form.is_linear:
            self._add_total(np.broadcast_to(form.mass, len(programme.base)))
        elif form.is_curved and programme.total is not None:
            self._add_loads()
        elif form.is_curved:
            self._add_curve(form)

    def columns(self, count: int, least: float | np.ndarray = -math.inf, most: float | np.ndarray = math.inf) -> slice:
        """New variables."""
        start = len(self.least)
        self.least = np.append(self.least, np.broadcast_to(least, count))
        self.most = np.append(self.most, np.broadcast_to(most, count))
        return slice(start, start + count)

    def at_most(self, parts: Parts, most: np.ndarray) -> None:
        """New rows: the sum of each matrix times its columns is at most this."""
        self.rows.append((parts, most))

    def hold(self, score: float) -> None:
        """From now on the welfare is at least this."""
        self.at_most([(columns, -vector[None, :]) for columns, vector in self.objective], np.array([-score]))

    def exclude(self, x: np.ndarray) -> None:
        """From now on whole x must differ from this one somewhere."""
        # Its options count 1 and all others -1, so no other x reaches the number of its options.
        self.at_most([(self.x, np.where(x > 0.5, 1.0, -1.0)[None, :])], np.array([(x > 0.5).sum() - 1.0]))

    def maximise(self, objective: Parts) -> Found:
        """The solver's answer for this linear objective."""
        # The solver's absolute tolerance is fixed; larger numbers make it finer.
        finer = 1e3
        c = np.zeros(len(self.least))
        for columns, vector in objective:
            c[columns] -= finer * vector
        whole = np.zeros(len(c))
        whole[self.x] = self.programme.whole
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            return Found(None, math.inf, False, False)
        options = {"mip_rel_gap": 0.0} | ({"time_limit": seconds} if seconds < math.inf else {})
        programme: dict[str, Any] = {
            "integrality": whole,
            "bounds": Bounds(self.least, self.most),
            "constraints": self._constraints(),
        }
        answer = milp(c, **programme, options=options)
        if answer.status == 4:  # now and then the solver trips over its own simplifications
            answer = milp(c, **programme, options={**options, "presolve": False})
        if answer.status in (3, 4):
            raise RuntimeError(f"the solver could not decide this programme: {answer.message}")
        bound = answer.mip_dual_bound if self.programme.whole else answer.fun
        return Found(answer.x, math.inf if bound is None else -bound / finer, answer.status == 0, answer.status == 2)

    def clean(self, x: np.ndarray) -> np.ndarray:
        """The solver's x without its tolerances."""
        x = np.clip(x[self.x], 0.0, self.programme.upper)
        if self.programme.whole:
            return np.round(x)
        if self.programme.total is not None:
            return np.asarray(np.minimum(x * (self.programme.total / x.sum()), self.programme.upper))
        # Rows have no negative entries, so shrinking x keeps all of them, and shrinks no further than needed.
        used = self.programme.rows @ x
        return np.asarray(x * min(1.0, float(np.min(self.programme.limits / np.maximum(used, 1e-300)))))

    def refine(self, x: np.ndarray) -> bool:
        """Adds tangents where this point is above a curve; whether there were any."""
        if isinstance(self.form, Ranked) or not self.form.is_curved:
            return False
        z = self.programme.after(self.clean(x))
        above = np.flatnonzero(x[self.t] > self.form.value(z) + 1e-9)
        self._add_tangents(above, z[above])
        return len(above) > 0

    def score(self, x: np.ndarray) -> float:
        """The welfare of x itself."""
        return self.score_of(self.programme.after(x))

    def greedy(self) -> np.ndarray:
        """Some x for want of a better one: options that fit and do not lower the welfare, in the order given."""
        if self.programme.some is not None:
            return self.programme.some
        x = np.zeros(len(self.programme.upper))
        for option in range(len(x)) if self.programme.whole else ():
            tried = x.copy()
            tried[option] = 1.0
            fits = (self.programme.rows @ tried <= self.programme.limits).all()
            x = tried if fits and self.score(tried) >= self.score(x) else x
        return x

    def score_of(self, z: np.ndarray) -> float:
        return float(self.form.of(z))

    def _add_ranked(self, form: Ranked) -> None:
        levels, times = np.unique(np.asarray(form.weights), return_counts=True)
        n = len(self.programme.base)
        alpha, beta = self.columns(len(levels)), self.columns(n)
        for r, weight in enumerate(levels):
            this = np.zeros((n, len(levels)))
            this[:, r] = 1.0
            response = -weight * self.programme.response
            self.at_most([(alpha, this), (beta, np.eye(n)), (self.x, response)], weight * self.programme.base)
        self.objective = [(alpha, times.astype(float)), (beta, form.masses)]

    def _add_total(self, mass: np.ndarray) -> None:
        total = self.columns(1)
        response = sparse.csr_array((mass @ self.programme.response)[None, :])
        self.at_most([(total, np.ones((1, 1))), (self.x, -response)], np.array([mass @ self.programme.base]))
        self.objective = [(total, np.ones(1))]

    def _add_loads(self) -> None:
        base, n = self.programme.base, len(self.programme.base)
        lowest = base + self.programme.response.minimum(0.0) @ self.programme.upper
        self.t = self.columns(n)
        self.objective = [(self.t, np.ones(n))]
        for share in (0.0, 0.1, 0.3, 1.0):
            self._add_tangents(np.arange(n), base + share * (lowest - base))

    def _add_curve(self, form: Curves) -> None:
        base, high, n = self.programme.base, self.programme.most(), len(self.programme.base)
        self.t = self.columns(n)
        self.objective = [(self.t, np.ones(n))]
        everyone = np.arange(n)
        if not self.programme.whole:
            for share in (0.01, 0.1, 0.5, 1.0):
                self._add_tangents(everyone, base + share * (high - base))
            return
        gains = self.programme.response.toarray()
        low = base + np.where(gains > 0, gains, math.inf).min(axis=1, initial=math.inf)
        can = low < math.inf
        # A product is above zero only if everyone with nothing gains. Where that cannot be, no x is left.
        empty = (base == 0) & form.is_product
        if empty.any():
            self.at_most([(self.x, -(gains[empty] > 0).astype(float))], -np.ones(int(empty.sum())))
        kept = everyone[~can & ~empty]
        self._add_lines(kept, form.among(kept).value(base[kept]), base[kept], np.zeros(len(kept)))
        chord = everyone[can & ~empty]
        step, curves = low[chord] - base[chord], form.among(chord)
        self._add_lines(chord, curves.value(base[chord]), base[chord], curves.gain(base[chord], step) / step)
        can_gain = everyone[can]
        for share in (0.0, 0.25, 1.0):
            self._add_tangents(can_gain, (1.0 - share) * low[can_gain] + share * high[can_gain])

    def _add_tangents(self, agents: np.ndarray, at: np.ndarray) -> None:
        assert isinstance(self.form, Curves)
        steep = self.form.among(agents).slope(at)
        finite = np.isfinite(steep)
        agents, at = agents[finite], at[finite]
        self._add_lines(agents, self.form.among(agents).value(at), at, steep[finite])

    def _add_lines(self, agents: np.ndarray, value: np.ndarray, at: np.ndarray, slope: np.ndarray) -> None:
        """Each agent's t is at most the line through (at, value) with this slope."""
        n = len(agents)
        this = sparse.csr_array((np.ones(n), (np.arange(n), agents)), shape=(n, len(self.programme.base)))
        response = sparse.diags_array(-slope) @ self.programme.response[agents]
        self.at_most([(self.t, this), (self.x, response)], value + slope * (self.programme.base[agents] - at))

    def _constraints(self) -> LinearConstraint:
        """All rows as one sparse matrix."""
        i, j, values, most, first = [], [], [], [], 0
        for parts, limit in self.rows:
            for columns, matrix in parts:
                entries = sparse.coo_array(matrix)
                i.append(entries.row + first)
                j.append(entries.col + columns.start)
                values.append(entries.data)
            most.append(limit)
            first += len(limit)
        shape = (first, len(self.least))
        matrix = sparse.csr_array((np.concatenate(values), (np.concatenate(i), np.concatenate(j))), shape=shape)
        return LinearConstraint(matrix, -math.inf, np.concatenate(most))
