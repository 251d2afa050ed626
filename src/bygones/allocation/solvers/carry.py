r"""Burdens, which someone has to take: who is chosen, and who takes how much of an amount.

Agent $i$ has the load $\ell_i$ already, per unit of its share, and $g_i \ge 0$ more if it is chosen. The objective
is leximin on loads (the heaviest as low as possible, then the second heaviest, and so on), the total, or a
convex sum $\sum_i m_i \ell_i^p$.

**Choosing k** is a selection. A sum is least with the $k$ smallest marginal costs. For leximin, take $i$ chosen and $j$
not, and exchange them; all other loads stay, and loads in common do not change which of two vectors leximin prefers.

- If $g_i = 0$, choosing $i$ changes no load: nothing is better, so those without a burden come first.
- Otherwise, with $g_j > 0$ too, choosing $i$ leaves the loads $\{\ell_i+g_i,\ \ell_j\}$ and choosing $j$ leaves
  $\{\ell_i,\ \ell_j+g_j\}$. If $\ell_i+g_i < \ell_j+g_j$, then $\ell_j+g_j$ is above all the other three and only the
  second has it: $i$ is the better choice. If they are equal, $\ell_j$ is compared with $\ell_i$, and the one
  with the larger $\ell$, hence the smaller $g$, is chosen.

So agents are ordered by $(g_i > 0,\ \ell_i+g_i,\ g_i)$, and the first $k$ are chosen; agents equal in all three
are interchangeable, and lots are drawn.

**An amount** is divided by water-filling as goods are (`divide.py`): leximin lifts the lightest loads to one level,
which also makes the heaviest load among agents who take some as low as possible. A convex sum has equal marginal costs
$m_i s_i\,p\,(\ell_i+s_i x_i)^{p-1}$, and the total load goes to the lowest rates $m_i s_i$ first. At a rate of
0 an agent takes as much as it may before all others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bygones.allocation.solvers.choose import swap_one
from bygones.allocation.solvers.divide import by_level, by_rate, fill
from bygones.allocation.ties import TIE, Key, best_k
from bygones.forms import Curves


def choose_carriers(
    load: np.ndarray, more: np.ndarray, who: np.ndarray, k: int, form: Curves, rng: np.random.Generator
) -> tuple[np.ndarray, Callable[[], np.ndarray | None]]:
    """Exactly k of the agents `who`, and a way to the next best choice (None: no other)."""
    load, more = load[who], more[who]
    after = load + more
    keys: list[Key] = [
        lambda some: (after[some] <= load[some] + TIE * np.abs(load[some])).astype(float),
        lambda some: -after[some],
        lambda some: -more[some],
    ]
    if not form.is_leximin:
        cost = added_cost(form.among(who), load, more)
        keys.insert(0, lambda some: -cost[some])
    chosen = best_k(keys, len(who), k, rng)

    def runner_up() -> np.ndarray | None:
        other = swap_one(keys, len(who), chosen, rng) if k < len(who) else None
        return None if other is None else who[other]

    return who[chosen], runner_up


def carry_amount(load: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, form: Curves) -> np.ndarray:
    """The part of each agent, the whole amount in all; together the caps are at least the amount."""
    parts = np.zeros(len(load))
    free, paying = (slope == 0) & (caps > 0), (slope > 0) & (caps > 0)
    for who in (free, paying):
        left = amount - parts.sum()
        if caps[who].sum() <= left:
            parts[who] = caps[who]
        elif left > 0:
            parts[who] = _share(load[who], slope[who], caps[who], left, form.among(who))
    return parts


def _share(load: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, form: Curves) -> np.ndarray:
    """The parts of agents whose rates are all above 0, or all 0."""
    if not slope.any():
        return fill(np.zeros(len(load)), np.ones(len(load)), caps, amount)
    if form.is_leximin:
        return fill(load, 1.0 / slope, caps, amount)
    if form.is_linear:
        return by_rate(load, slope, caps, amount, 1.0 / (form.mass * slope))
    return by_level(-load, -slope, caps, amount, form)


def added_cost(form: Curves, load: np.ndarray, more: np.ndarray) -> np.ndarray:
    """The cost that more load adds to the sum, in any unit."""
    heaviest = max(float((load + more).max(initial=0.0)), np.finfo(float).tiny)
    return np.asarray(-form.gain(-load, -more, heaviest if form.is_curved else 1.0))
