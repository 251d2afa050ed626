"""The newcomer rule: what somebody who joins starts with, from what the others have then.

The join of somebody who joins ahead is recorded without an amount, and says by which rule they start. The first
transaction after its time records the amount, as a correction of the join. Until then whoever asks for a later standing
computes it from what is known. `fold.starts_at` is where the rule is applied.
"""

from __future__ import annotations

import numpy as np

from bygones.ledger.model.rules import NEWCOMER_RULES

START = "start"
"""In the details of a join ahead: the newcomer rule, or None for the one in force at the time of joining."""


def starts(rule: str, remembered: np.ndarray, entitlements: np.ndarray, joining: np.ndarray) -> np.ndarray:
    """What newcomers start with, given the remembered utilities and entitlements of those present.

    If nobody is present they start with zero, unless the rule is a number.
    """
    if rule not in NEWCOMER_RULES:
        return np.full(joining.shape, float(rule))
    if rule == "zero" or not len(remembered):
        return np.zeros(joining.shape)
    counts = entitlements > 0  # the exempt are no measure of a load
    if not counts.any():
        return np.zeros(joining.shape)
    remembered, entitlements = remembered[counts], entitlements[counts]
    if rule == "entitled share":
        return np.asarray(joining * (remembered.sum() / entitlements.sum()))
    return np.asarray(joining * (np.mean if rule == "mean" else np.median)(remembered / entitlements))
