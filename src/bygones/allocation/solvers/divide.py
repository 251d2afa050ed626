r"""`Divide`: how much each agent gets, by water-filling.

Agent $i$'s memory is $b_i + s_i x_i$ with $x_i$ between 0 and its cap. For a sum of curves with
$\varphi'(z) = (z+\epsilon)^{-\alpha}$ and masses $m_i$ the marginal gains of all who get something are equal, so that
with one water level $\ell$ for everybody

$$ x_i = \kappa_i\,(\ell - \beta_i) \text{ between 0 and the cap}, \qquad
   \kappa_i = (m_i s_i)^{1/\alpha}/s_i,\quad \beta_i = (b_i+\epsilon)\,(m_i s_i)^{-1/\alpha} , $$

and leximin is the limit $\alpha\to\infty$: $\kappa_i = 1/s_i$, $\beta_i = b_i$. Utilitarian, the limit
$\alpha\to 0$, goes by the rates $m_i s_i$, and those with equal rates share as leximin would. Generalised Gini has
its own file, `gini.py`.

Where several divisions are best, leximin leaves one of them, so nothing is drawn by lot.
"""

from __future__ import annotations

import numpy as np

from bygones.allocation.aims import ConcaveSum, Gini, Leximin
from bygones.allocation.solvers.divide_gini import divide_gini
from bygones.allocation.ties import TIE


def divide(
    base: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, aim: ConcaveSum | Leximin | Gini
) -> np.ndarray:
    """The amount of each agent; `slope` is the memory gained per unit of the resource."""
    parts = np.zeros(len(base))
    useful = (slope > 0) & (caps > 0)
    if isinstance(aim, ConcaveSum) and aim.product and (base[~useful] == 0).any():
        aim = Leximin()
    if np.sum(caps, where=useful) <= amount:
        return np.where(useful, caps, 0.0)
    if isinstance(aim, Gini) and not _equal((aim.mass * slope)[useful]):
        return divide_gini(base, slope, caps, amount, aim)
    if not useful.all():
        base, slope, caps = base[useful], slope[useful], caps[useful]
        aim = aim.among(useful) if isinstance(aim, ConcaveSum) else aim
    if isinstance(aim, Leximin | Gini):
        # At equal rates the most equal division is the best for every welfare that prefers equality.
        parts[useful] = fill(base, 1.0 / slope, caps, amount)
    elif aim.alpha == 0:
        parts[useful] = by_rate(base, slope, caps, amount, aim.mass * slope)
    else:
        parts[useful] = _by_curve(base + aim.shift, slope, caps, amount, aim.mass * slope, aim.alpha)
    return parts


def fill(beta: np.ndarray, kappa: np.ndarray, caps: np.ndarray, amount: float) -> np.ndarray:
    r"""The $x_i = \kappa_i(\ell-\beta_i)$, cut off at 0 and at the caps, that sum to the amount.

    The level is computed as if nobody were cut off. If more is missing below zero than there is in excess of the
    caps, the true level is lower, and those below zero stay at zero; else those above their caps stay there. What
    is left is a smaller problem of the same kind, so that the level is exact after finitely many rounds.
    """
    free, parts = np.arange(len(beta)), np.zeros(len(beta))
    beta = beta - beta.min()
    while len(free):
        level = (amount + kappa @ beta) / kappa.sum()
        x = kappa * (level - beta)
        missing = -np.minimum(x, 0.0).sum()
        excess = np.maximum(x - caps, 0.0).sum()
        if missing == excess:
            parts[free] = np.clip(x, 0.0, caps)
            break
        if missing < excess:
            full = np.flatnonzero(x >= caps)
            parts[free[full]] = caps[full]
            amount -= caps[full].sum()
        stay = np.flatnonzero(x > 0 if missing > excess else x < caps)
        free, beta, kappa, caps = free[stay], beta[stay], kappa[stay], caps[stay]
    return parts


def by_rate(base: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, rate: np.ndarray) -> np.ndarray:
    """The best rates up to their caps; at the rate where the amount ends, leximin."""
    order = np.argsort(-rate)
    last = order[np.searchsorted(np.cumsum(caps[order]), amount)]
    tied = np.abs(rate - rate[last]) <= TIE * rate[last]
    parts = np.where(~tied & (rate > rate[last]), caps, 0.0)
    parts[tied] = fill(base[tied], 1.0 / slope[tied], caps[tied], amount - parts.sum())
    return parts


def _by_curve(
    start: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, rate: np.ndarray, alpha: float
) -> np.ndarray:
    rate = rate / rate.max()
    with np.errstate(all="ignore"):
        beta, kappa = start * rate ** (-1.0 / alpha), rate ** (1.0 / alpha) / slope
    seen = np.isfinite(beta) & np.isfinite(kappa)
    if seen.all():
        return fill(beta, kappa, caps, amount)
    # Rates so far below the best that floating point cannot hold the ratio: their turn comes after all the others.
    parts = np.zeros(len(start))
    enough = caps[seen].sum() > amount
    parts[seen] = fill(beta[seen], kappa[seen], caps[seen], amount) if enough else caps[seen]
    if not enough:
        left = amount - caps[seen].sum()
        parts[~seen] = _by_curve(start[~seen], slope[~seen], caps[~seen], left, rate[~seen], alpha)
    return parts


def _equal(slope: np.ndarray) -> bool:
    return bool(slope.max() - slope.min() <= TIE * slope.max())
