r"""`ChooseK`: which $k$ agents to serve, by selection.

Serving agent $i$ lifts its memory from $b_i$ to $b_i + g_i$, the others' stay. A sum of concave curves is largest with
the $k$ largest marginal gains $\varphi(b_i+g_i)-\varphi(b_i)$. Leximin is largest with the $k$ lowest $b_i$, and at
equal $b_i$ the largest $g_i$: if $b_i < b_j$ and only $j$ is served, serving $i$ instead lifts the lower of the two.
The same exchange settles ties of the marginal gain. No full sort is needed: one selection finds the $k$-th value,
and only the agents that share it are looked at again, at last by drawing lots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bygones.allocation.aims import Curve, Leximin

TIE = 1e-12
"""Two numbers tie if they differ by no more than this share of their size."""


def choose(
    base: np.ndarray, gain: np.ndarray, k: int, aim: Curve | Leximin, rng: np.random.Generator
) -> tuple[np.ndarray, Callable[[], np.ndarray | None]]:
    """The agents to serve, at most k of those with a gain, and a way to the next best choice (None: no other)."""
    if isinstance(aim, Curve) and aim.product and _someone_stays_at_zero(base, gain, k):
        aim = Leximin()
    useful = None
    if not gain.min() > 0:
        useful = np.flatnonzero(gain > 0)
        base, gain = base[useful], gain[useful]
    keys = [-base, gain] if isinstance(aim, Leximin) else [_rank(aim, base, gain), -base, gain]
    served = best(keys, k, rng)

    def runner_up() -> np.ndarray | None:
        other = _swap_one(keys, served, rng)
        return other if other is None or useful is None else useful[other]

    return served if useful is None else useful[served], runner_up


def best(keys: Sequence[np.ndarray], k: int, rng: np.random.Generator) -> np.ndarray:
    """The indices of the k lexicographically largest keys, in ascending order; what still ties is drawn by lot."""
    chosen, tied, left = [], np.arange(len(keys[0])), k
    for key in keys:
        if not 0 < left < len(tied):
            break
        values = key if len(tied) == len(key) else key[tied]
        threshold = np.partition(values, len(values) - left)[len(values) - left]
        slack = TIE * abs(threshold) if math.isfinite(threshold) else 0.0
        at_least = np.flatnonzero(values >= threshold - slack)
        above = values[at_least] > threshold + slack
        chosen.append(tied[at_least[above]])
        tied = tied[at_least[~above]]
        left -= len(chosen[-1])
    if left < len(tied):
        tied = rng.choice(tied, left, replace=False)
    return np.sort(np.concatenate([*chosen, tied]))


def _rank(aim: Curve, base: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Numbers in the order of the marginal gains, cheaper and of wider range than the gains themselves."""
    start = base + aim.shift if aim.shift else base
    if aim.alpha == 0:
        return gain
    if aim.alpha == 1:
        with np.errstate(divide="ignore"):
            return np.asarray(gain / start)
    order = 1.0 - aim.alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = order * np.log(start) + np.log(np.expm1(order * np.log1p(gain / start)) / order)
    if aim.alpha < 1:
        logarithm = np.where(start > 0, logarithm, order * np.log(gain) - math.log(order))
    return np.asarray(np.exp(logarithm / max(aim.alpha, 1.0)))


def _someone_stays_at_zero(base: np.ndarray, gain: np.ndarray, k: int) -> bool:
    empty = base == 0
    return bool(np.count_nonzero(empty) > k or (gain[empty] == 0).any())


def _swap_one(keys: Sequence[np.ndarray], served: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The second best choice: the last of the served gives way to the first of the others, or to nobody."""
    if not len(served):
        return None
    kept = served[best([key[served] for key in keys], len(served) - 1, rng)]
    others = np.setdiff1d(np.arange(len(keys[0])), served, assume_unique=True)
    first = others[best([key[others] for key in keys], 1, rng)] if len(others) else others
    return np.sort(np.concatenate([kept, first]))
