"""Who takes part in a history, with what newcomers start, and how even it is among the members."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones.ledger.model.newcomers import starts


@dataclass(frozen=True, eq=False)
class Members:
    """Who takes part.

    Attributes:
        names: the agents.
        entitlements: the entitlement of each agent, relative to the others.
        newcomers: the newcomer rule.
    """

    names: tuple[str, ...]
    entitlements: np.ndarray
    newcomers: str

    def starts(self, remembered: np.ndarray, is_present: np.ndarray, joins: np.ndarray) -> np.ndarray:
        """What is added to the memory of agents who join: their start by the newcomer rule, less what they still have.

        The rule goes by what is remembered of those who are present, as in the ledger. Whoever joins first, when nobody
        else takes part, starts with nothing unless the rule is a number.
        """
        present, added = np.flatnonzero(is_present), np.zeros(len(remembered))
        wanted = starts(self.newcomers, remembered[present], self.entitlements[present], self.entitlements[joins])
        added[joins] = np.maximum(wanted - remembered[joins], 0.0)
        return added


class Measured(NamedTuple):
    """What is remembered per unit of entitlement: its Gini coefficient, least, geometric mean, mean and most."""

    gini: float
    egalitarian: float
    nash: float
    mean: float
    heaviest: float


def measure(remembered: np.ndarray, entitlements: np.ndarray) -> Measured:
    """Measures what is remembered per unit of entitlement.

    An agent of entitlement w counts as w agents, as it does when the allocator decides.
    """
    if len(remembered) < 2:
        # One agent alone is neither equal to others nor unequal.
        alone = float(remembered[0] / entitlements[0]) if len(remembered) else math.nan
        return Measured(math.nan, alone, alone, alone, alone)
    levels, total, mass = remembered / entitlements, float(remembered.sum()), float(entitlements.sum())
    order = np.argsort(levels)
    below = np.cumsum(entitlements[order]) - entitlements[order] / 2
    gini = float(((2 * below - mass) * remembered[order]).sum() / (mass * total)) if total > 0 else 0.0
    least, most = float(levels.min()), float(levels.max())
    if least < 0:
        # Offsets in a ledger may take more than there was; then neither measure is defined.
        return Measured(math.nan, least, math.nan, total / mass, most)
    with np.errstate(divide="ignore"):
        nash = float(np.exp((entitlements * np.log(levels)).sum() / mass))
    return Measured(max(gini, 0.0), least, nash, total / mass, most)
