r"""`Divide`: how much each agent gets, by water-filling.

Agent $i$'s memory is $b_i + s_i x_i$ with $x_i$ between 0 and its cap. For a sum of curves with
$\varphi'(z) = (z+\epsilon)^{-\alpha}$ and masses $m_i$ the marginal gains of all who get something are equal, so
with one water level $\ell$ for everyone

$$ x_i = \kappa_i\,(\ell - \beta_i) \text{ between 0 and the cap}, \qquad
   \kappa_i = (m_i s_i)^{1/\alpha}/s_i,\quad \beta_i = (b_i+\epsilon)\,(m_i s_i)^{-1/\alpha} , $$

and leximin is the limit $\alpha\to\infty$: $\kappa_i = 1/s_i$, $\beta_i = b_i$. Utilitarian, the limit
$\alpha\to 0$, goes by the rates $m_i s_i$, and those with equal rates share as leximin would. Generalised Gini has
its own file, `gini.py`.

Where several divisions are best, leximin leaves one of them, so nothing is drawn by lot.
"""

from __future__ import annotations

import numpy as np

from bygones.allocation.solvers.divide_gini import divide_gini
from bygones.allocation.ties import TIE
from bygones.forms import LEXIMIN, Curves, Form, Ranked


def divide(base: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, form: Form) -> np.ndarray:
    """The amount of each agent; `slope` is the memory gained per unit of the resource."""
    parts = np.zeros(len(base))
    useful = (slope > 0) & (caps > 0)
    if isinstance(form, Curves) and form.is_product and (base[~useful] == 0).any():
        form = LEXIMIN
    if np.sum(caps, where=useful) <= amount:
        return np.where(useful, caps, 0.0)
    if isinstance(form, Ranked) and not equal((form.masses * slope)[useful]):
        return divide_gini(base, slope, caps, amount, form)
    if not useful.all():
        base, slope, caps = base[useful], slope[useful], caps[useful]
        form = form.among(useful)
    if isinstance(form, Ranked) or form.is_leximin:
        # At equal rates the most equal division is the best for every welfare that prefers equality.
        parts[useful] = fill(base, 1.0 / slope, caps, amount)
    elif form.is_linear:
        parts[useful] = by_rate(base, slope, caps, amount, form.mass * slope)
    else:
        parts[useful] = by_level(base, slope, caps, amount, form)
    return parts


def fill(beta: np.ndarray, kappa: np.ndarray, caps: np.ndarray, amount: float) -> np.ndarray:
    r"""The $x_i = \kappa_i(\ell-\beta_i)$, cut off at 0 and at the caps, that sum to the amount.

    The level is computed as if nobody were cut off. If more is missing below zero than there is in excess of the
    caps, the true level is lower, and those below zero stay at zero; else those above their caps stay there. The
    rest is a smaller problem of the same kind, so the level is exact after finitely many rounds.
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


def by_level(base: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, form: Curves) -> np.ndarray:
    """The parts that lead to equal marginal gains, of a form that is curved."""
    beta, kappa = form.levels(base, slope)
    seen = np.isfinite(beta) & np.isfinite(kappa) & (kappa > 0)
    if seen.all():
        return fill(beta, kappa, caps, amount)
    # Rates so far below the best that floating point cannot hold the ratio: their turn comes after all the others.
    parts = np.zeros(len(base))
    left = amount - caps[seen].sum()
    parts[seen] = fill(beta[seen], kappa[seen], caps[seen], amount) if left < 0 else caps[seen]
    if left >= 0:
        parts[~seen] = by_level(base[~seen], slope[~seen], caps[~seen], left, form.among(~seen))
    return parts


def equal(rates: np.ndarray) -> bool:
    """Whether rates are the same up to rounding."""
    return bool(rates.max() - rates.min() <= TIE * rates.max())
