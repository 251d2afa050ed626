r"""`Assign`: which algorithm fits.

With one item per agent: a matching of largest total gain for sums of curves (`matching.py`), level by level for leximin
(`leximin.py`). With unlimited capacity and utilitarian welfare every item goes to the agent who gains most. All other
bundles are integer programmes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from bygones.allocation.outlook import Outlook
from bygones.allocation.solvers.auction import auction
from bygones.allocation.solvers.leximin import DenseValues, SparseValues, leximin
from bygones.allocation.solvers.matching import DenseGains, Gains, SparseGains, least_cost, match
from bygones.allocation.ties import TIE
from bygones.forms import Curves

_STEEPNESS = 200.0


def one_each(utilities: Any, look: Outlook, form: Curves, rng: np.random.Generator) -> np.ndarray:
    """The item of each agent, -1 for none, where every agent may have one."""
    n, m = utilities.shape
    # A full matrix is made square, which pays unless it is very long.
    dense = not sparse.issparse(utilities) and n <= 2 * m
    board = _DenseBoard(utilities, look) if dense else _SparseBoard(utilities, look)
    if not form.is_leximin:
        holds = match(board.gains(form), look.base, board.value, rng)
        if holds is not None:
            return holds
        # Someone stays at zero whatever is done, every Nash product is zero, and leximin decides.
    return leximin(board.values(), look.base.copy(), board.start(), np.ones(m, dtype=bool), rng)


def to_the_best(utilities: Any, look: Outlook, mass: float | np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Each item's best agent (-1: nobody gains), and its owners in the next best allocation; None if there are ties."""
    gains = sparse.csc_array(_scaled(utilities, look.slope * mass))
    gains.eliminate_zeros()
    m = gains.shape[1]
    columns = np.repeat(np.arange(m), np.diff(gains.indptr))
    order = np.lexsort((gains.data, columns))
    agents, values = gains.indices[order], gains.data[order]
    ends, some = gains.indptr[1:], np.diff(gains.indptr) > 0
    several = np.diff(gains.indptr) > 1
    best, second = np.zeros(m), np.zeros(m)
    best[some], second[several] = values[ends[some] - 1], values[ends[several] - 2]
    if (best[several] - second[several] <= TIE * best[several]).any():
        return None
    owners, other = np.full(m, -1), np.full(m, -1)
    owners[some], other[several] = agents[ends[some] - 1], agents[ends[several] - 2]
    # Items do not compete, so the next best allocation moves one of them: where the two best agents are closest.
    closest = int(np.argmin(np.where(some, best - second, math.inf)))
    runner_up = owners.copy()
    runner_up[closest] = other[closest]
    return owners, runner_up


def largest_sum(worth: np.ndarray, capacity: np.ndarray, *, everything: bool) -> np.ndarray | None:
    """The owner of each item in an allocation of largest total worth, -1 where nobody gains by having it.

    A worth of minus infinity is forbidden. If `everything` has to be allocated, every item has an owner, and it is
    None where that is impossible. Ties are broken in no particular way.
    """
    n, m = worth.shape
    if (capacity >= m).all():
        owners = worth.argmax(axis=0)
    else:
        # A sum does not mind which of an agent's items it counts first, so each agent stands in line several times.
        line = np.repeat(np.arange(n), capacity)
        try:
            places, items = linear_sum_assignment(worth[line], maximize=True)
        except ValueError:  # nobody may have some of the items
            return None
        owners = np.full(m, -1)
        owners[items] = line[places]
    best = np.where(owners < 0, -math.inf, worth[owners, np.arange(m)])
    if everything:
        return None if best.min() == -math.inf else owners
    return np.where(best > 0, owners, -1)


class _DenseBoard:
    """The gains of all pairs, from a matrix of utilities; a pair without a gain counts as forbidden."""

    def __init__(self, utilities: np.ndarray, look: Outlook) -> None:
        self.shape, self.base = utilities.shape, look.base
        self.steps = _scaled(utilities, look.slope)
        self.complete = bool(self.steps.min() > 0)

    def gains(self, form: Curves) -> Gains:
        forbidden = None if self.complete else self.steps <= 0
        if form.is_linear and forbidden is None:
            # A straight line is steep nowhere, and gains can be counted from having nothing.
            return DenseGains(self.steps * np.reshape(form.mass, (-1, 1)), np.zeros(self.shape[0]))
        least = self.steps.min(axis=1) if forbidden is None else _least(self.steps, forbidden)
        start, unit, outside = _from_least(form, self.base, least)
        steps = self.steps - least[:, None]
        if forbidden is not None:
            steps[forbidden] = 0.0
        gains = form.among(np.s_[:, None]).gain(start[:, None], steps, unit)
        return DenseGains(gains if forbidden is None else np.where(forbidden, -math.inf, gains), outside)

    def values(self) -> DenseValues:
        values = self.base[:, None] + self.steps
        return DenseValues(values if self.complete else np.where(self.steps > 0, values, -math.inf))

    def value(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.base[agents] + self.steps[agents, items])

    def start(self) -> np.ndarray:
        """A matching to start leximin from."""
        n, m = self.shape
        cost, idle = _steep(self.base, self.base[:, None] + self.steps)
        if not self.complete:
            cost = np.where(self.steps > 0, cost, idle[:, None])
        if n > m:
            cost = np.hstack([cost, np.repeat(idle[:, None], n - m, axis=1)])
        items = least_cost(cost)
        is_item = items < m
        is_item[is_item] = self.steps[np.flatnonzero(is_item), items[is_item]] > 0
        return np.where(is_item, items, -1)


class _SparseBoard:
    """The same from the stored pairs of a sparse matrix."""

    def __init__(self, utilities: sparse.csr_array, look: Outlook) -> None:
        self.shape, self.base = utilities.shape, look.base
        self.steps = sparse.csr_array(_scaled(utilities, look.slope), copy=True)
        self.steps.eliminate_zeros()
        self.steps.sort_indices()
        self.agents = np.repeat(np.arange(self.shape[0]), np.diff(self.steps.indptr))

    def gains(self, form: Curves) -> Gains:
        least = np.full(self.shape[0], math.inf)
        np.minimum.at(least, self.agents, self.steps.data)
        least = np.where(least < math.inf, least, 1.0)
        start, unit, outside = _from_least(form, self.base, least)
        steps = self.steps.data - least[self.agents]
        return SparseGains(self._with(form.among(self.agents).gain(start[self.agents], steps, unit)), outside)

    def values(self) -> SparseValues:
        return SparseValues(self._with(self.base[self.agents] + self.steps.data))

    def value(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.base[agents] + np.asarray(self.steps[agents, items]).ravel())

    def start(self) -> np.ndarray:
        """A matching to start leximin from."""
        cost, idle = _steep(self.base, self.base[self.agents] + self.steps.data)
        return auction(self._with(idle[self.agents] - cost), np.zeros(self.shape[0]), to_the_end=False)

    def _with(self, data: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array((data, self.steps.indices, self.steps.indptr), shape=self.shape)


def _scaled(utilities: Any, slope: float | np.ndarray) -> Any:
    """The amount that every pair adds to the memory."""
    if np.ndim(slope) == 0:
        return utilities if slope == 1.0 else utilities * slope
    if sparse.issparse(utilities):
        return sparse.diags_array(slope) @ utilities
    return utilities * np.reshape(np.asarray(slope), (-1, 1))


def _least(steps: np.ndarray, forbidden: np.ndarray) -> np.ndarray:
    """The least step of each agent; one, for want of any, where all are forbidden."""
    least = np.where(forbidden, math.inf, steps).min(axis=1)
    return np.where(least < math.inf, least, 1.0)


def _from_least(form: Curves, base: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Where gains are counted from, in which unit, and the gain of having nothing."""
    start = base + least
    unit = form.unit(start)
    return start, unit, -form.gain(base, least, unit)


def _steep(base: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Costs of values, and of having nothing, on so steep a curve that the worst-off count for almost everything."""
    rate = _STEEPNESS / max(values.max(initial=-math.inf) - base.min(), 1e-300)
    return np.asarray(np.exp((base.min() - values) * rate)), np.asarray(np.exp((base.min() - base) * rate))
