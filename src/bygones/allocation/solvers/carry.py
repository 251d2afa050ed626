r"""Burdens that have to be carried: who is chosen, who takes which item, who takes how much of an amount.

Agent $i$ carries $\ell_i$ already, per unit of its share of the load, and $g_i \ge 0$ more if it is chosen. What is
minimised is leximin on loads (the heaviest as low as possible, then the second heaviest, and so on), the total, or a
convex sum $\sum_i m_i \ell_i^p$.

**Choosing k** is a selection. A sum is least with the $k$ smallest marginal costs. For leximin, take $i$ chosen and $j$
not, and exchange them; all other loads stay, and loads in common do not change which of two vectors leximin prefers.

- If $g_i = 0$, choosing $i$ leaves every load as it was: nothing is better, so those without a burden come first.
- Otherwise, with $g_j > 0$ too, choosing $i$ leaves the loads $\{\ell_i+g_i,\ \ell_j\}$ and choosing $j$ leaves
  $\{\ell_i,\ \ell_j+g_j\}$. If $\ell_i+g_i < \ell_j+g_j$, then $\ell_j+g_j$ is above all the other three and only the
  second has it: $i$ is the better choice. If they are equal, what is left is $\ell_j$ against $\ell_i$, and the one
  with the larger $\ell$, hence the smaller $g$, is chosen.

So agents are ordered by $(g_i > 0,\ \ell_i+g_i,\ g_i)$, and the first $k$ are chosen; agents equal in all three
are interchangeable, and lots are drawn.

**One item each** is an assignment of every item to an agent of its own. A sum is the assignment of least cost. Its dual
prices show which pairs belong to assignments of the same cost, and leximin decides among these (`leximin.py`).

**An amount** is divided by water-filling as goods are (`divide.py`): leximin lifts the lightest loads to one level,
which also makes the heaviest of those who carry as low as it can be. A convex sum has equal marginal costs
$m_i s_i\,p\,(\ell_i+s_i x_i)^{p-1}$, and the total load goes to the lowest rates $m_i s_i$ first. Who would carry
nothing, at a rate of 0, takes as much as it may before all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from bygones.allocation.aims import ConcaveSum, Leximin, PowerSum
from bygones.allocation.solvers.choose import swap_one
from bygones.allocation.solvers.divide import by_rate, fill
from bygones.allocation.solvers.leximin import SparseValues, leximin
from bygones.allocation.solvers.matching import SLACK, DenseGains, Gains, SparseGains, dual_prices
from bygones.allocation.ties import TIE, Key, best_k

_STEEPNESS = 200.0

Separable: TypeAlias = ConcaveSum | PowerSum | Leximin


def choose_carriers(
    load: np.ndarray, more: np.ndarray, who: np.ndarray, k: int, aim: Separable, rng: np.random.Generator
) -> tuple[np.ndarray, Callable[[], np.ndarray | None]]:
    """Exactly k of the agents `who`, and a way to the next best choice (None: no other)."""
    load, more = load[who], more[who]
    after = load + more
    keys: list[Key] = [
        lambda some: (after[some] <= load[some] + TIE * np.abs(load[some])).astype(float),
        lambda some: -after[some],
        lambda some: -more[some],
    ]
    if not isinstance(aim, Leximin):
        cost = _cost(aim.among(who), load, more)
        keys.insert(0, lambda some: -cost[some])
    chosen = best_k(keys, len(who), k, rng)

    def runner_up() -> np.ndarray | None:
        other = swap_one(keys, len(who), chosen, rng) if k < len(who) else None
        return None if other is None else who[other]

    return who[chosen], runner_up


def carry_one_each(
    load: np.ndarray, steps: sparse.csr_array, aim: Separable, rng: np.random.Generator
) -> np.ndarray | None:
    """The agent of each item, no agent twice; None if that is impossible.

    Args:
        load: what each agent carries already.
        steps: what each item adds, for the pairs of agent and item that are allowed.
        aim: what is minimised.
        rng: draws among equally good assignments.
    """
    n, m = steps.shape
    if m > n or not steps.nnz:
        return None
    pairs = _Pairs.of(steps)
    before, after = load[pairs.agents], load[pairs.agents] + steps.data
    must_carry = np.zeros(n, dtype=bool)
    if isinstance(aim, Leximin):
        owners = pairs.gains(_steep(before, after)).match()
    else:
        cost = _cost(aim.among(pairs.agents), before, steps.data)
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


def carry_amount(load: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, aim: Separable) -> np.ndarray:
    """What each agent takes of the amount, all of it; together the caps are at least the amount."""
    parts = np.zeros(len(load))
    free, paying = (slope == 0) & (caps > 0), (slope > 0) & (caps > 0)
    for who in (free, paying):
        left = amount - parts.sum()
        if caps[who].sum() <= left:
            parts[who] = caps[who]
        elif left > 0:
            parts[who] = _share(load[who], slope[who], caps[who], left, _of(aim, who))
    return parts


def _share(load: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, aim: Separable) -> np.ndarray:
    """The parts of agents whose rates are all above 0, or all 0."""
    if not slope.any():
        return fill(np.zeros(len(load)), np.ones(len(load)), caps, amount)
    if isinstance(aim, Leximin):
        return fill(load, 1.0 / slope, caps, amount)
    rate = aim.mass * slope
    if isinstance(aim, ConcaveSum):
        return by_rate(load, slope, caps, amount, 1.0 / rate)
    dear = (rate / rate.min()) ** (1.0 / (aim.order - 1.0))
    with np.errstate(over="ignore", under="ignore"):
        beta, kappa = load * dear, 1.0 / (dear * slope)
    seen = np.isfinite(beta) & (kappa > 0)
    parts = np.zeros(len(load))
    if caps[seen].sum() > amount:
        parts[seen] = fill(beta[seen], kappa[seen], caps[seen], amount)
        return parts
    # Rates so far above the lowest that floating point cannot hold the ratio: their turn comes after all the others.
    parts[seen] = caps[seen]
    left = amount - parts.sum()
    parts[~seen] = _share(load[~seen], slope[~seen], caps[~seen], left, _of(aim, ~seen))
    return parts


def _of(aim: Separable, who: np.ndarray) -> Separable:
    return aim if isinstance(aim, Leximin) else aim.among(who)


def _cost(aim: ConcaveSum | PowerSum, load: np.ndarray, more: np.ndarray) -> np.ndarray:
    """What carrying more adds to the sum, in units of its own."""
    if isinstance(aim, ConcaveSum):
        return np.asarray(aim.mass * more)
    unit = max(float((load + more).max(initial=0.0)), np.finfo(float).tiny)
    return np.asarray(aim.cost(load / unit, more / unit))


def _steep(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Costs on so steep a curve that the heaviest loads count for almost everything."""
    top = after.max()
    rate = _STEEPNESS / max(top - before.min(), 1e-300)
    return np.asarray(np.exp((after - top) * rate) - np.exp((before - top) * rate))


def _least_cost(pairs: _Pairs, cost: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """The agent of each item at the least total cost, the pairs of all such assignments, and who carries in all.

    No pair that costs more than a whole assignment is in the best one: it is left out, and the others are compared in
    units of what is left, however dear it was.
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
        """Costs as gains of the items, each of which must be carried: a constant for all changes nothing."""
        n, m = self.shape
        worth, outside = 1.0 - cost / max(float(cost.max()), 1e-300), np.full(m, -math.inf)
        if len(cost) < n * m / 4:
            return SparseGains(sparse.csr_array((worth, (self.items, self.agents)), shape=(m, n)), outside)
        matrix = np.full((m, n), -math.inf)
        matrix[self.items, self.agents] = worth
        return DenseGains(matrix, outside)
