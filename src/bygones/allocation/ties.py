"""How equally good choices are told apart: leximin first, then a seeded draw, never the first index.

This is row 12 of `docs/decisions.md`. All allocators share it, and explanations rest on it. Numbers that differ by
rounding alone count as equal: by `TIE` where they were computed directly, by `SEEN` where they come from a solver with
tolerances, or where they are shown to people. A change of this rule is a new `METHOD` of ledgers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from bygones._arrays import Operand

TIE = 1e-12
"""Two numbers tie if they differ by no more than this share of their size."""

SEEN = 1e-9
"""The same for numbers from a solver, or as people see them."""

_DIGITS = 9
"""As many digits as `SEEN` leaves."""

_LARGEST = float(np.finfo(float).max)

_SAMPLE = 8_192
"""Among many more numbers than this, the largest are first looked for by a sample of as many."""

_AT_ONCE = 32_768
"""So many numbers at a time stay in the processor's cache."""

Key: TypeAlias = Callable[[np.ndarray | slice], np.ndarray]
"""Numbers to be selected by, of the agents asked for."""


class InOrder(np.random.Generator):
    """Draws nothing: the first of equals are chosen, where the order of the agents was drawn before."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def choice(self, a: Operand, size: Operand = None, *_: object, **__: object) -> Operand:
        """The first of the choices, or as many of them as are asked for."""
        return a[0] if size is None else a[:size]

    def permutation(self, x: Operand, *_: object, **__: object) -> Operand:
        """Everything in its place."""
        return np.arange(x) if np.ndim(x) == 0 else np.array(x)

    def random(self, size: Operand = None, *_: object, **__: object) -> Operand:
        """Weights that are larger the earlier they come."""
        return 0.5 if size is None else np.linspace(1.0, 0.0, size, endpoint=False)


def is_tied(welfare: float, other: float, lost: float) -> bool:
    """Whether a choice that loses so much is as good."""
    return lost <= TIE * max(abs(welfare), abs(other))


def first_apart(chosen: np.ndarray, instead: np.ndarray) -> int | None:
    """The rank from which on leximin tells two choices apart, both in the order of leximin; None if nothing does."""
    differ = np.flatnonzero(np.abs(chosen - instead) > SEEN * np.maximum(np.abs(chosen), np.abs(instead)))
    return int(differ[0]) if len(differ) else None


def first_by_leximin(Z: Sequence[np.ndarray]) -> int:
    """Of choices of equal welfare, found by a solver that drew their order, the leximin-best: the first of equals."""
    keys = [tuple(np.round(np.sort(each), _DIGITS)) for each in Z]
    return keys.index(max(keys))


def best_of_rows(W: np.ndarray, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The best choice of every row of W, as `best_of`, for numbers that policies have seen."""
    worst_first = np.moveaxis(np.sort(Z, axis=-1), -1, 0)
    keys = [rng.random(W.shape), *np.round(worst_first[::-1], _DIGITS), np.round(W, _DIGITS)]
    return np.asarray(np.lexsort(keys, axis=-1)[:, -1])


def best_of(W: np.ndarray, Z: np.ndarray, rng: np.random.Generator) -> int:
    """The largest welfare, then leximin, then a draw."""
    top = W.max()
    slack = 10 * TIE * abs(top) + TIE * min(1.0, np.abs(Z).max()) if math.isfinite(top) else 0.0
    tied = np.flatnonzero(top - slack <= W)
    ascending = np.sort(Z[tied], axis=1)
    for column in range(Z.shape[1]):
        worst = ascending[:, column]
        stay = worst >= worst.max() - TIE * abs(worst.max())
        tied, ascending = tied[stay], ascending[stay]
    return int(rng.choice(tied))


def best_k(keys: Sequence[Key], n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """The indices of the k of n with lexicographically largest keys, in ascending order; what still ties by lot."""
    if k >= n:
        return np.arange(n)
    chosen: list[np.ndarray] = []
    tied: np.ndarray | slice = _front(keys[0], n, k)
    for key in keys:
        values = key(tied)
        if len(values) <= k:
            break
        threshold = np.partition(values, len(values) - k)[len(values) - k] if k else math.inf
        slack = TIE * abs(threshold) if math.isfinite(threshold) else 0.0
        at_least = np.flatnonzero(values >= threshold - slack)
        above = values[at_least] > threshold + slack
        at_least = at_least if isinstance(tied, slice) else tied[at_least]
        chosen.append(at_least[above])
        tied = at_least[~above]
        k -= len(chosen[-1])
    assert not isinstance(tied, slice)
    if k < len(tied):
        tied = rng.choice(tied, k, replace=False)
    return np.sort(np.concatenate([*chosen, tied]))


def chances(values: np.ndarray, k: int) -> np.ndarray:
    """How likely each is among the k largest, if a draw decides among agents who tie for the last places."""
    if k == 0:
        return np.zeros(len(values))
    threshold = np.partition(values, len(values) - k)[len(values) - k]
    slack = TIE * abs(threshold)
    above = values > threshold + slack
    tied = (values >= threshold - slack) & ~above
    return np.where(tied, (k - np.count_nonzero(above)) / np.count_nonzero(tied), above)


def best_k_of_row(keys: Sequence[np.ndarray], k: int, rng: np.random.Generator) -> np.ndarray:
    """`best_k` of keys of shape (n,), quickly where nothing ties."""
    first, n = keys[0], len(keys[0])
    if 0 < k < n:
        ordered = first.copy()
        ordered.partition((n - k - 1, n - k))
        next_best, last = ordered[n - k - 1 : n - k + 1].tolist()  # plain numbers, with which Python is faster
        if next_best < last - TIE * min(abs(last), _LARGEST):
            return np.flatnonzero(first >= last)
    return best_k([key.__getitem__ for key in keys], n, k, rng)


def best_k_of_rows(keys: Sequence[np.ndarray], k: int, rngs: Sequence[np.random.Generator]) -> np.ndarray:
    """`best_k` of every row of the keys, of shape (rows, n), each with its own generator; of shape (rows, k)."""
    first = keys[0]
    rows, n = first.shape
    if k >= n:
        return np.broadcast_to(np.arange(n), (rows, n))
    ordered = first.copy()
    ordered.partition((n - k - 1, n - k))  # NumPy's function of this name spends as long on getting here
    last, next_best = ordered[:, n - k], ordered[:, n - k - 1]
    # Most rows are clear and settled at once. An infinite key has a finite slack, or it would be nobody's equal.
    clear = next_best < last - TIE * np.minimum(np.abs(last), _LARGEST)
    if clear.all():
        return (first >= last[:, None]).nonzero()[1].reshape(rows, k)
    chosen = np.empty((rows, k), dtype=np.intp)
    chosen[clear] = np.nonzero(first[clear] >= last[clear, None])[1].reshape(-1, k)
    for row in np.flatnonzero(~clear).tolist():
        chosen[row] = best_k([key[row].__getitem__ for key in keys], n, k, rngs[row])
    return chosen


def largest(values: np.ndarray, k: int) -> np.ndarray:
    """The k largest values, in any order."""
    values = values[_front(lambda who: values[who], len(values), k)]
    return np.partition(values, len(values) - k)[len(values) - k :]


def _front(key: Key, n: int, k: int) -> np.ndarray | slice:
    """Indices among which are the k with the largest keys and all who tie with the last of them, or all indices.

    A selection among many reads them several times. A sample tells about where the k-th largest is, and one reading
    finds all that are not below; if they are fewer than k, the sample was misleading.
    """
    every, everyone = n // _SAMPLE, slice(None)
    if every < 2 or k > n // 8:
        return everyone
    sample, expected = key(slice(None, None, every)), k / every
    rank = len(sample) - math.ceil(expected + 4.0 * math.sqrt(expected) + 4.0)
    guess = np.partition(sample, rank)[rank]
    if not math.isfinite(guess):
        return everyone
    least = guess - TIE * abs(guess)
    parts = range(0, n, _AT_ONCE)
    front = np.concatenate([np.flatnonzero(key(slice(i, i + _AT_ONCE)) >= least) + i for i in parts])
    return front if np.count_nonzero(key(front) >= guess) >= k else everyone
