r"""`Assign` with one item per agent, for a sum of curves: a matching of largest total gain.

The gain of a pair, $G_{ij} = \varphi(b_i + g_{ij}) - \varphi(b_i)$, does not depend on who else gets what, so the best
allocation is a matching of maximum weight (`scipy` has the solvers, dense and sparse).

Whether it is the only one is told by prices, the dual numbers of the matching: least $v_j \ge 0$ such that no agent
would gain by taking another item at its price, $u_i = G_{i\,\text{own}} - v_\text{own} \ge G_{ij} - v_j$. Every best
matching uses only pairs where this is an equality, and there is another one exactly if these pairs allow an exchange,
a cycle. Then leximin decides among them, and after it the draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from bygones.allocation.leximin import SparseValues, leximin


class Gains(Protocol):
    """The gains of the pairs, -inf where a pair is out of the question."""

    shape: tuple[int, int]
    largest: float
    """The largest finite gain, in absolute terms."""

    def match(self, must: np.ndarray) -> np.ndarray | None:
        """The item of each agent (-1: none) in a best matching that serves all who must be; None if there is none."""

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The gains of these pairs."""

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray, step: float) -> np.ndarray:
        """Raises prices to the agents' bids, gain less surplus, where these exceed them by a step; which items."""

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray]:
        """The pairs whose gain reaches surplus plus price."""


class DenseGains:
    """Gains in a matrix."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix, self.shape = matrix, (matrix.shape[0], matrix.shape[1])
        self.complete = bool(matrix.min() > -math.inf)
        finite = matrix if self.complete else matrix[matrix > -math.inf]
        self.largest = float(max(finite.max(initial=0.0), -finite.min(initial=0.0)))

    def match(self, must: np.ndarray) -> np.ndarray | None:
        n, m = self.shape
        gains = self.matrix
        if must.any():
            gains = np.where(must[:, None], gains, np.maximum(gains, 0.0))
            if n > m:
                gains = np.hstack([gains, np.where(must[:, None], -math.inf, np.zeros((n, n - m)))])
            try:
                agents, items = linear_sum_assignment(gains, maximize=True)
            except ValueError:  # not everybody who must be served can be
                return None
        else:
            # A pair out of the question counts as no gain, and is undone below.
            gains = gains if self.complete else np.maximum(gains, 0.0)
            if n == m:
                # Taking a constant off a row or a column of a square matrix changes no comparison, and saves
                # the solver most of its work.
                gains = gains.max(axis=1, keepdims=True) - gains
                gains -= gains.min(axis=0)
            agents, items = linear_sum_assignment(gains, maximize=n != m)
        holds = np.full(n, -1)
        holds[agents] = np.where(items < m, items, -1)
        return holds if self.complete else np.where(self.of(np.arange(n), holds) > -math.inf, holds, -1)

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[agents, items])

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray, step: float) -> np.ndarray:
        if agents is None:
            bids = (self.matrix - surplus[:, None]).max(axis=0)
        else:
            bids = (self.matrix[agents] - surplus[agents, None]).max(axis=0)
        raised = np.flatnonzero(bids > prices + step)
        prices[raised] = bids[raised]
        return raised

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray]:
        pairs = np.flatnonzero(self.matrix >= np.add.outer(surplus - slack, prices))
        return np.divmod(pairs, self.shape[1])


class SparseGains:
    """Gains of the stored pairs of a `csr_array`; the others are out of the question."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        matrix.sort_indices()
        self.matrix, self.shape = matrix, (matrix.shape[0], matrix.shape[1])
        self.agents = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.largest = float(np.abs(matrix.data).max(initial=0.0))

    def match(self, must: np.ndarray) -> np.ndarray | None:
        n, m = self.shape
        # Every agent is matched, to an item or to a private column of its own that stands for nothing. The solver
        # takes no weights of zero; a constant for everybody keeps clear of them.
        above = self.largest + 1.0
        alone = np.flatnonzero(~must)
        rows, columns = np.append(self.agents, alone), np.append(self.matrix.indices, m + alone)
        weights = np.append(above - self.matrix.data, np.full(len(alone), above))
        padded = sparse.csr_array((weights, (rows, columns)), shape=(n, m + n))
        try:
            items = min_weight_full_bipartite_matching(padded)[1]
        except ValueError:  # not everybody who must be served can be
            return None
        return np.where(items < m, items, -1)

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[agents, items]).ravel()

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray, step: float) -> np.ndarray:
        pairs = slice(None) if agents is None else _stored(self.matrix.indptr, agents)
        items, bids = self.matrix.indices[pairs], self.matrix.data[pairs] - surplus[self.agents[pairs]]
        higher = bids > prices[items] + step
        items, bids = items[higher], bids[higher]
        np.maximum.at(prices, items, bids)
        return np.unique(items)

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray]:
        items = self.matrix.indices
        pairs = self.matrix.data >= surplus[self.agents] + prices[items] - slack
        return self.agents[pairs], items[pairs]


def match(
    gains: Gains, must: np.ndarray, base: np.ndarray, value: Callable[..., np.ndarray], rng: np.random.Generator
) -> np.ndarray | None:
    """The item of each agent (-1: none) in the best matching, by leximin and by lot if there are several.

    None if not everybody who must be served can be.

    Args:
        gains: the gains of the pairs; having nothing gains 0.
        must: the agents who have to be served.
        base: what each agent's having nothing is worth to leximin.
        value: what pairs (agents, items) are worth to leximin.
        rng: draws among equally good matchings.
    """
    holds = gains.match(must)
    if holds is None:
        return None
    surplus, prices = dual_prices(gains, holds)
    return _settle_ties(gains, must, holds, surplus, prices, base, value, rng)


def dual_prices(gains: Gains, holds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each agent's surplus u and each item's least price v that support the matching."""
    n, m = gains.shape
    served = np.flatnonzero(holds >= 0)
    owner = np.full(m, -1)
    owner[holds[served]] = served
    own = np.zeros(n)
    own[served] = gains.of(served, holds[served])
    surplus, prices, step = own.copy(), np.zeros(m), 1e-13 * gains.largest
    raised = gains.bid(None, surplus, prices, step)
    while len(raised):
        bidders = owner[raised]
        bidders = bidders[bidders >= 0]
        surplus[bidders] = own[bidders] - prices[holds[bidders]]
        raised = gains.bid(bidders, surplus, prices, step) if len(bidders) else bidders
    return surplus, prices


def _settle_ties(
    gains: Gains,
    must: np.ndarray,
    holds: np.ndarray,
    surplus: np.ndarray,
    prices: np.ndarray,
    base: np.ndarray,
    value: Callable[..., np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    n, m = gains.shape
    slack = 1e-11 * gains.largest
    served, everybody = holds >= 0, np.arange(n)
    nobody = n
    owner = np.full(m, nobody)
    owner[holds[served]] = everybody[served]
    agents, items = gains.tight(surplus, prices, slack)
    may_be_left = prices <= slack
    may_be_idle = ~must & (surplus <= slack)
    # An exchange passes from agent to agent along tight pairs, and through nobody: the holder of what is left over.
    gives = np.flatnonzero(~served | may_be_left[holds])
    takes = np.flatnonzero(served & may_be_idle)
    tails = np.concatenate([agents, np.full(len(gives), nobody), takes])
    heads = np.concatenate([owner[items], gives, np.full(len(takes), nobody)])
    arcs = sparse.csr_array((np.ones(len(tails)), (tails, heads)), shape=(n + 1, n + 1))
    group = connected_components(arcs, connection="strong")[1]
    open_ = np.flatnonzero((np.bincount(group)[group] > 1)[:n])
    if not len(open_):
        return holds
    inside = (group[agents] == group[owner[items]]) & np.isin(agents, open_)
    agents, items = agents[inside], items[inside]
    columns, where = np.unique(items, return_inverse=True)
    rows = np.searchsorted(open_, agents)
    with_nobody = group[open_] == group[nobody]
    idle = np.where(with_nobody & (may_be_idle | ~served)[open_], base[open_], -math.inf)
    start = np.where(served[open_], np.searchsorted(columns, holds[open_]), -1)
    free = may_be_left[columns] & (group[owner[columns]] == group[nobody])
    board = sparse.csr_array((value(agents, items), (rows, where)), shape=(len(open_), len(columns)))
    chosen = leximin(SparseValues(board), idle, start, free, rng)
    holds = holds.copy()
    holds[open_] = np.where(chosen >= 0, columns[chosen], -1)
    return holds


def _stored(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Where the entries of these rows of a `csr_array` are stored."""
    counts = starts[rows + 1] - starts[rows]
    ends = np.cumsum(counts)
    return np.asarray(np.arange(ends[-1]) + np.repeat(starts[rows] - (ends - counts), counts))
