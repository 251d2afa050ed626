r"""`Divide` in whole units: one unit after the other to the agent who gains most by it.

Of a sum of concave curves, each further unit of an agent gains less than the one before, so the units of largest
gain can be taken in any order, and the best total is the sum of the largest gains: greedy is exact (Fox 1966). For
leximin the gain is replaced by the level from which a unit lifts, the lowest first; of burdens by the load to which a
unit leads, the lightest first. Ties go to the lowest level, then to the larger gain, and at last by lot.
"""

from __future__ import annotations

import numpy as np

from bygones.allocation.ties import Key, best_k
from bygones.forms import LEXIMIN, Curves


def hand_out(
    base: np.ndarray,
    step: np.ndarray,
    most: np.ndarray,
    units: int,
    form: Curves,
    rng: np.random.Generator,
    *,
    everything: bool,
) -> np.ndarray:
    """The number of units of each agent.

    Args:
        base: z before, where larger is better: the recent totals, or of burdens the recent work below zero.
        step: the change of z by a unit, at most zero for burdens.
        most: the most units of each agent.
        units: how many there are.
        form: the form of the objective.
        rng: draws among ties.
        everything: whether all units have to go, as with a burden; else some are left over if nobody has a use
            for them.
    """
    given = np.zeros(len(base), dtype=np.int64)
    if form.is_product and _stays_at_zero(base, step, most, units):
        form = LEXIMIN
    for _ in range(units):
        who = np.flatnonzero((given < most) & ((step > 0) | everything))
        if not len(who):
            break
        z = base[who] + step[who] * given[who]
        given[who[best_k(_keys(z, step[who], who, form, is_burden=everything), len(who), 1, rng)]] += 1
    return given


def _keys(z: np.ndarray, step: np.ndarray, who: np.ndarray, form: Curves, *, is_burden: bool) -> list[Key]:
    """The keys that agents are compared by, the first one first: the gain of one more unit, then who is worst off."""
    gain = [] if form.is_leximin else [np.broadcast_to(form.among(who).gain(z, step), z.shape)]
    if not is_burden:
        keys = [*gain, -z, step]
    elif form.is_curved:
        keys = [*gain, z + step]
    else:
        keys = [*gain, z + step, step]
    return [key.__getitem__ for key in keys]


def _stays_at_zero(base: np.ndarray, step: np.ndarray, most: np.ndarray, units: int) -> bool:
    """Whether the product is zero whatever is decided."""
    empty = base == 0
    return bool(np.count_nonzero(empty) > units or ((step[empty] == 0) | (most[empty] == 0)).any())
