r"""`ChooseK`: which $k$ agents to serve, by selection.

Serving agent $i$ lifts its memory from $b_i$ to $b_i + g_i$, the others' stay. A sum of concave curves is largest with
the $k$ largest marginal gains $\varphi(b_i+g_i)-\varphi(b_i)$. Leximin is largest with the $k$ lowest $b_i$, and at
equal $b_i$ the largest $g_i$: if $b_i < b_j$ and only $j$ is served, serving $i$ instead lifts the lower of the two.
The same exchange settles ties of the marginal gain. No full sort is needed: one selection finds the $k$-th value,
and only the agents that share it are looked at again, at last by drawing lots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bygones.allocation.ties import Key, best_k
from bygones.forms import Curves


def choose(
    base: np.ndarray, gain: np.ndarray, k: int, form: Curves, rng: np.random.Generator
) -> tuple[np.ndarray, Callable[[], np.ndarray | None]]:
    """The agents to serve, at most k of those with a gain, and a way to the next best choice (None: no other)."""
    if form.is_leximin or (form.is_product and _someone_stays_at_zero(base, gain, k)):
        return choose_by(None, base, gain, k, rng)
    return choose_by(lambda who: form.among(who).rank(base[who], gain[who]), base, gain, k, rng)


def choose_by(
    score: Key | None, base: np.ndarray, gain: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, Callable[[], np.ndarray | None]]:
    """As `choose`, by scores of the agents asked for, and where they tie by leximin."""
    useful = None if gain.min() > 0 else np.flatnonzero(gain > 0)
    # Of each key only the entries that are asked for are computed: usually few, after the first.
    keys: list[Key] = [] if score is None else [score]
    keys += [lambda who: -base[who], lambda who: gain[who]]
    if useful is not None:
        keys = [_among(key, useful) for key in keys]
    n = len(gain) if useful is None else len(useful)
    served = best_k(keys, n, k, rng)

    def runner_up() -> np.ndarray | None:
        other = swap_one(keys, n, served, rng)
        return other if other is None or useful is None else useful[other]

    return served if useful is None else useful[served], runner_up


def _someone_stays_at_zero(base: np.ndarray, gain: np.ndarray, k: int) -> bool:
    empty = base == 0
    return bool(np.count_nonzero(empty) > k or (gain[empty] == 0).any())


def swap_one(keys: Sequence[Key], n: int, served: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The second best choice: the last of the served gives way to the first of the others, or to nobody."""
    if not len(served):
        return None
    others = np.setdiff1d(np.arange(n), served, assume_unique=True)
    kept = served[best_k([_among(key, served) for key in keys], len(served), len(served) - 1, rng)]
    first = others[best_k([_among(key, others) for key in keys], len(others), 1, rng)]
    return np.sort(np.concatenate([kept, first]))


def _among(key: Key, some: np.ndarray) -> Key:
    return lambda who: key(some[who])
