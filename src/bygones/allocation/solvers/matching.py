r"""`Assign` with one item per agent, for a sum of curves: a matching of largest total gain.

The gain of a pair does not depend on who else gets what, so the best allocation is a matching of maximum weight: found
by `scipy` where utilities are a full matrix, by an auction where they are sparse. Gains are counted from the agent's
least useful item, $G_{ij} = \varphi(b_i + g_{ij}) - \varphi(b_i + \min_k g_{ik})$, and having nothing has the gain
$o_i = \varphi(b_i) - \varphi(b_i + \min_k g_{ik})$ below zero, or minus infinity where it must not be: on a steep curve
having nothing can be so bad that, counted from there, all items would look alike.

Prices, its dual numbers, show whether the matching is the only best one: the least $v_j \ge 0$ such that no agent
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
from scipy.sparse.csgraph import connected_components

from bygones.allocation.solvers.auction import auction, stored
from bygones.allocation.solvers.leximin import SparseValues, leximin

_STEP, SLACK = 1e-13, 1e-11
"""Prices rise by no less than the first, in units of the largest gain or price; ties are within the second."""

_ROWS = 64
"""So many rows at a time stay in the processor's cache."""


class Gains(Protocol):
    """The gains of the pairs, -inf where a pair is out of the question."""

    shape: tuple[int, int]
    outside: np.ndarray
    """Each agent's gain from having nothing, -inf if it must have something."""
    largest: float
    """The largest gain of a pair."""

    def match(self) -> np.ndarray | None:
        """The item of each agent (-1: none) in a best matching; None if not everyone who must be served can be."""

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The gains of these pairs."""

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Raises prices to the agents' bids, gain less surplus, where these are higher; which items."""

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pairs whose gain reaches surplus plus price, less the slack of the item."""


class DenseGains:
    """Gains in a matrix."""

    def __init__(self, matrix: np.ndarray, outside: np.ndarray) -> None:
        self.matrix, self.shape, self.outside = matrix, (matrix.shape[0], matrix.shape[1]), outside
        self.complete = bool(matrix.min() > -math.inf)
        self.largest = max(float(matrix.max()), 0.0)

    def match(self) -> np.ndarray | None:
        n, m = self.shape
        # A pair out of the question counts as having nothing, and is undone below.
        cost = -self.matrix if self.complete else -np.maximum(self.matrix, self.outside[:, None])
        if n > m:
            cost = np.hstack([cost, np.repeat(-self.outside[:, None], n - m, axis=1)])
        try:
            items = least_cost(cost)
        except ValueError:  # of the solver, if someone who must be served cannot be
            return None
        holds = np.where(items < m, items, -1)
        return holds if self.complete else np.where(self.of(np.arange(n), holds) > -math.inf, holds, -1)

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[agents, items])

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray) -> np.ndarray:
        agents = np.arange(self.shape[0]) if agents is None else agents
        bids = np.full(self.shape[1], -math.inf)
        for first in range(0, len(agents), _ROWS):
            some = agents[first : first + _ROWS]
            offers = self.matrix[some]
            offers -= surplus[some, None]
            np.maximum(bids, offers.max(axis=0), out=bids)
        raised = np.flatnonzero(bids > prices + _STEP * np.maximum(self.largest, bids))
        prices[raised] = bids[raised]
        return raised

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, m = self.shape
        parts = [slice(first, first + _ROWS) for first in range(0, n, _ROWS)]
        places = [np.flatnonzero(self.matrix[part] >= np.add.outer(surplus[part], prices - slack)) for part in parts]
        pairs = np.concatenate([pairs + m * part.start for part, pairs in zip(parts, places, strict=True)])
        return np.divmod(pairs, m)


def least_cost(costs: np.ndarray) -> np.ndarray:
    """The column of each row in the assignment of least total cost; there are as many columns or more.

    `costs` is used up: taking a constant off every row, or in a square matrix off every column, changes no
    comparison, and saves the solver most of its work.
    """
    for axis in (1, 0) if costs.shape[0] == costs.shape[1] else (1,):
        least = costs.min(axis=axis, keepdims=True)
        costs -= np.where(np.isfinite(least), least, 0.0)
    return np.asarray(linear_sum_assignment(costs)[1])


class SparseGains:
    """Gains of the stored pairs of a `csr_array`; the others are out of the question."""

    def __init__(self, matrix: sparse.csr_array, outside: np.ndarray) -> None:
        matrix.sort_indices()
        self.matrix, self.shape, self.outside = matrix, (matrix.shape[0], matrix.shape[1]), outside
        self.agents = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.largest = float(matrix.data.max(initial=0.0))

    def match(self) -> np.ndarray | None:
        # Going without costs an agent who must be served more than all the rest together could gain.
        finite = np.maximum(self.outside, np.min(self.outside, where=self.outside > -math.inf, initial=0.0))
        must = self.outside == -math.inf
        worst = -2.0 * (self.largest + 1.0 - finite.min()) * len(must)
        holds = auction(self.matrix, np.where(must, worst, finite))
        return None if (holds[must] < 0).any() else holds

    def of(self, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[agents, items]).ravel()

    def bid(self, agents: np.ndarray | None, surplus: np.ndarray, prices: np.ndarray) -> np.ndarray:
        pairs = slice(None) if agents is None else stored(self.matrix.indptr, agents)
        items, bids = self.matrix.indices[pairs], self.matrix.data[pairs] - surplus[self.agents[pairs]]
        higher = bids > prices[items] + _STEP * np.maximum(self.largest, bids)
        items, bids = items[higher], bids[higher]
        np.maximum.at(prices, items, bids)
        return np.unique(items)

    def tight(self, surplus: np.ndarray, prices: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        items = self.matrix.indices
        pairs = self.matrix.data >= surplus[self.agents] + (prices - slack)[items]
        return self.agents[pairs], items[pairs]


def match(
    gains: Gains, base: np.ndarray, value: Callable[..., np.ndarray], rng: np.random.Generator
) -> np.ndarray | None:
    """The item of each agent (-1: none) in the best matching, by leximin and by lot if there are several.

    None if not everyone who must be served can be.

    Args:
        gains: the gains of the pairs.
        base: the value of having nothing to each agent, for leximin.
        value: the values of pairs (agents, items), for leximin.
        rng: draws among equally good matchings.
    """
    holds = gains.match()
    if holds is None:
        return None
    surplus, prices = dual_prices(gains, holds)
    return _settle_ties(gains, holds, surplus, prices, base, value, rng)


def dual_prices(gains: Gains, holds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each agent's surplus u and each item's least price v that support the matching."""
    served = np.flatnonzero(holds >= 0)
    owner = np.full(gains.shape[1], -1)
    owner[holds[served]] = served
    own = gains.outside.copy()
    own[served] = gains.of(served, holds[served])
    surplus, prices = own.copy(), np.zeros(gains.shape[1])
    # A price rises only where an agent would gain by another item, and only as far as that, so the prices are the least
    # that support the matching. An agent who pays a higher price has less surplus, and may bid for more items in turn.
    raised = gains.bid(None, surplus, prices)
    while len(raised):
        bidders = owner[raised]
        bidders = bidders[bidders >= 0]
        surplus[bidders] = own[bidders] - prices[holds[bidders]]
        raised = gains.bid(bidders, surplus, prices) if len(bidders) else bidders
    return surplus, prices


def _settle_ties(
    gains: Gains,
    holds: np.ndarray,
    surplus: np.ndarray,
    prices: np.ndarray,
    base: np.ndarray,
    value: Callable[..., np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    n, m = gains.shape
    slack = SLACK * np.maximum(gains.largest, prices)
    served, everyone = holds >= 0, np.arange(n)
    nobody = n
    owner = np.full(m, nobody)
    owner[holds[served]] = everyone[served]
    agents, items = gains.tight(surplus, prices, slack)
    may_be_left = prices <= slack
    may_be_idle = surplus - SLACK * np.maximum(gains.largest, np.abs(surplus)) <= gains.outside
    # An exchange passes from agent to agent along tight pairs, and through nobody: the holder of left-over items.
    gives = np.flatnonzero(~served | may_be_left[holds])
    takes = np.flatnonzero(served & may_be_idle)
    tails = np.concatenate([agents, np.full(len(gives), nobody), takes])
    heads = np.concatenate([owner[items], gives, np.full(len(takes), nobody)])
    arcs = sparse.csr_array((np.ones(len(tails)), (tails, heads)), shape=(n + 1, n + 1))
    # A pair belongs to some best matchings and not to others exactly if a cycle of exchanges passes through it. A cycle
    # lies in one strongly connected group, so all pairs between groups are settled.
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
