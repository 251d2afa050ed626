r"""Generalised Gini welfare of a divisible resource, level by level.

With $h(q)$ the sum of the $q$ smallest weights, generalised Gini welfare counts how many agents are above each level:
$W(z) = \int h(\sum_{i : z_i > t} m_i)\,dt$ up to a constant, where agent $i$ counts as $m_i$ agents. At a price
$\lambda$ per unit of the resource, lifting agent $i$ through the level $t$ costs $\lambda/s_i$, and the levels come
apart: at each one it is best to lift the cheapest agents who can be lifted, by cost per mass $1/(m_i s_i)$, as many as
maximise $h(\cdot) - \lambda\,\text{cost}$. That function is supermodular, so the sets are nested from level
to level and no agent is lifted through a level it stands below. The price at which the amount is used up comes from
two divisions, one on each side of the amount: the slope of the line through them is the next price to try. In the end
the divisions just below and just above the amount are both best at one price, and so is their mixture.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bygones.forms import Ranked

_BLOCK = 4_000_000
"""The most entries of a table of levels by agents that are held at a time."""


class _Division(NamedTuple):
    lifted: np.ndarray
    used: float
    welfare: float


def divide_gini(base: np.ndarray, slope: np.ndarray, caps: np.ndarray, amount: float, form: Ranked) -> np.ndarray:
    """The amount of each agent; together the caps of those with a positive slope exceed the amount."""
    with np.errstate(divide="ignore"):
        order = np.argsort(1.0 / (form.masses * slope))
        cost = (1.0 / slope)[order]
    base, top = base[order], (base + slope * np.minimum(caps, amount))[order]
    gini = Ranked(_strictly_falling(np.asarray(form.weights)), form.masses[order])

    def divided(lifted: np.ndarray) -> _Division:
        paid = np.where(lifted > 0, lifted, 0.0) @ np.where(lifted > 0, cost, 0.0)
        return _Division(lifted, float(paid), float(gini.of(base + lifted)))

    # The line through two divisions has the price at which they are equally good. Unless one that is better still
    # lies above the line, they are the neighbours of the amount, and the division lies between them.
    less, more = divided(np.zeros(len(base))), divided(top - base)
    while True:
        price = (more.welfare - less.welfare) / (more.used - less.used)
        best = divided(_lift(base, top, cost, gini, price))
        above_line = best.welfare - less.welfare - price * (best.used - less.used)
        if above_line <= 1e-14 * abs(best.welfare) or best.used in (less.used, more.used):
            break
        less, more = (best, more) if best.used <= amount else (less, best)
    share = (amount - less.used) / (more.used - less.used)
    parts = np.zeros(len(base))
    lifted = (1.0 - share) * less.lifted + share * more.lifted
    parts[order] = np.where(lifted > 0, lifted, 0.0) * np.where(lifted > 0, cost, 0.0)
    return parts


def _lift(base: np.ndarray, top: np.ndarray, cost: np.ndarray, gini: Ranked, price: float) -> np.ndarray:
    """How far each agent is lifted at this price per unit of the resource; agents come cheapest first."""
    levels = np.unique(np.concatenate([base, top]))
    ascending = np.argsort(base)
    until = np.concatenate([[0.0], np.cumsum(gini.masses[ascending])])
    mass_below = until[np.searchsorted(base[ascending], levels[1:])]
    lifted = np.zeros(len(base))
    rows = max(1, _BLOCK // len(base))
    for first in range(0, len(levels) - 1, rows):
        low, high = levels[first : first + rows + 1][:-1, None], levels[first + 1 : first + rows + 1][:, None]
        below = mass_below[first : first + rows, None]
        # Between two neighbouring levels the agents who can be lifted are the same, so each step is decided as a whole.
        # The cheapest come first, so the best set is the first so many of them.
        can = (base <= low) & (top >= high)
        left_below = below - np.cumsum(np.where(can, gini.masses, 0.0), axis=1)
        worth = gini.weight_until(below) - gini.weight_until(left_below)
        net = worth - price * np.cumsum(np.where(can, cost, 0.0), axis=1)
        best = np.where(net.max(axis=1) > 0, net.argmax(axis=1), -1)
        lifted += (high - low)[:, 0] @ (can & (np.arange(len(base)) <= best[:, None]))
    return lifted


def _strictly_falling(weights: np.ndarray) -> np.ndarray:
    """Equal weights leave ties; a slant far below any digit that is shown settles them for the worse-off."""
    if (np.diff(weights) < 0).all() and weights[-1] > 0:
        return weights
    slant = np.linspace(1.0, 1.0 / len(weights), len(weights))
    return np.asarray(weights + 1e-10 * weights[0] * slant)
