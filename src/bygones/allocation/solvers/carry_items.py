r"""Items of a burden, all of which have to be taken, at most one by each agent.

Loads and objective are as in `carry.py`. A sum is the assignment of least cost. Its dual prices show
which pairs belong to assignments of the same cost, and leximin decides among these (`leximin.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from bygones.allocation.solvers.carry import added_cost
from bygones.allocation.solvers.leximin import SparseValues, leximin
from bygones.allocation.solvers.matching import SLACK, DenseGains, Gains, SparseGains, dual_prices
from bygones.allocation.ties import TIE
from bygones.forms import Curves

_STEEPNESS = 200.0


def carry_one_each(
    load: np.ndarray, steps: sparse.csr_array, form: Curves, rng: np.random.Generator
) -> np.ndarray | None:
    """The agent of each item, no agent twice; None if that is impossible.

    Args:
        load: the load of each agent so far.
        steps: the load that each item adds, for the pairs of agent and item that are allowed.
        form: the form of the objective.
        rng: draws among equally good assignments.
    """
    n, m = steps.shape
    if m > n or not steps.nnz:
        return None
    pairs = _Pairs.of(steps)
    before, after = load[pairs.agents], load[pairs.agents] + steps.data
    must_carry = np.zeros(n, dtype=bool)
    if form.is_leximin:
        owners = pairs.gains(_steep(before, after)).match()
    else:
        cost = added_cost(form.among(pairs.agents), before, steps.data)
        owners, keep, must_carry = _least_cost(pairs, cost)
        pairs, after = pairs.only(keep), after[keep]
    if owners is None:
        return None
    holds = np.full(n, -1)
    holds[owners] = np.arange(m)
    values = sparse.csr_array((-after, (pairs.agents, pairs.items)), shape=(n, m))
    idle = np.where(must_carry, -math.inf, -load)
    holds = leximin(SparseValues(values), idle, holds, np.zeros(m, dtype=bool), rng)
    owners = np.full(m, -1)
    owners[holds[holds >= 0]] = np.flatnonzero(holds >= 0)
    return owners


def _steep(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Costs on so steep a curve that the heaviest loads count for almost everything."""
    top = after.max()
    rate = _STEEPNESS / max(top - before.min(), 1e-300)
    return np.asarray(np.exp((after - top) * rate) - np.exp((before - top) * rate))


def _least_cost(pairs: _Pairs, cost: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """The agent of each item at the least total cost, the pairs of all such assignments, and who has an item in all.

    No pair that costs more than a whole assignment is in the best one: it is left out, and the others are compared in
    units that suit them, however dear it was.
    """
    keep = np.ones(len(cost), dtype=bool)
    while True:
        some = pairs.only(keep)
        gains = some.gains(cost[keep])
        owners = gains.match()
        if owners is None:
            return None, keep, np.zeros(pairs.shape[0], dtype=bool)
        used = np.isin(pairs.codes, owners * pairs.shape[1] + np.arange(pairs.shape[1]))
        dear = keep & (cost > cost[used].sum() * (1.0 + TIE))
        if not dear.any():
            break
        keep &= ~dear
    surplus, prices = dual_prices(gains, owners)
    slack = SLACK * np.maximum(gains.largest, prices)
    items, agents = gains.tight(surplus, prices, slack)
    return owners, np.isin(pairs.codes, agents * pairs.shape[1] + items), prices > slack


class _Pairs(NamedTuple):
    """The pairs of agent and item that are allowed."""

    agents: np.ndarray
    items: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, steps: sparse.csr_array) -> _Pairs:
        agents = np.repeat(np.arange(steps.shape[0]), np.diff(steps.indptr))
        return cls(agents, steps.indices.astype(int), (int(steps.shape[0]), int(steps.shape[1])))

    @property
    def codes(self) -> np.ndarray:
        """One number per pair."""
        return np.asarray(self.agents * self.shape[1] + self.items)

    def only(self, keep: np.ndarray) -> _Pairs:
        return _Pairs(self.agents[keep], self.items[keep], self.shape)

    def gains(self, cost: np.ndarray) -> Gains:
        """Costs as gains of the items, each of which must be taken: a constant for all changes nothing."""
        n, m = self.shape
        worth, outside = 1.0 - cost / max(float(cost.max()), 1e-300), np.full(m, -math.inf)
        if len(cost) < n * m / 4:
            return SparseGains(sparse.csr_array((worth, (self.items, self.agents)), shape=(m, n)), outside)
        matrix = np.full((m, n), -math.inf)
        matrix[self.items, self.agents] = worth
        return DenseGains(matrix, outside)
