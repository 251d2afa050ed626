"""Equation (5) by looking at every allocation, without any of the library's algorithms."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np

WELFARES = [
    "utilitarian",
    "egalitarian",
    "nash",
    "log_nash",
    "alpha_fair(alpha=0.5)",
    "alpha_fair(alpha=2)",
    "generalized_gini",
]
"""One of every kind."""


def candidates(needs_or_utilities, *, k=None, capacity=None, allowed=None):
    """The utilities of every allocation, one row each."""
    table = np.asarray(needs_or_utilities, dtype=float)
    if k is not None:
        n = len(table)
        for size in range(k + 1):
            for served in itertools.combinations(range(n), size):
                utilities = np.zeros(n)
                utilities[list(served)] = table[list(served)]
                yield utilities
        return
    n, m = table.shape
    limits = np.broadcast_to(math.inf if capacity is None else capacity, n)
    for owners in itertools.product(range(-1, n), repeat=m):
        counts = np.bincount([o for o in owners if o >= 0], minlength=n)
        if (counts > limits).any() or any(o >= 0 and not allowed[o, j] for j, o in enumerate(owners)):
            continue
        utilities = np.zeros(n)
        for j, o in enumerate(owners):
            if o >= 0:
                utilities[o] += table[o, j]
        yield utilities


def best(rows, memory, state, welfare, *, elapsed=1, entitlements=None, decided=None):
    """The largest welfare and, among allocations that reach it, the leximin-best remembered utilities, ascending.

    Floating point cannot tell apart what others have next to somebody with nothing, whose welfare is all digits. Where
    utilities that were decided on are better than the leximin-best of those that look equal, they are the best.
    """
    Z = np.asarray(memory.ahead(state, np.array(list(rows)), elapsed, entitlements))
    W = np.asarray(welfare(Z)) if entitlements is None else among_copies(welfare, Z, entitlements)
    score = W
    if welfare.name == "nash" and W.max() > 0:
        # Products of many small numbers are all next to nothing; their logarithms tell them apart.
        with np.errstate(divide="ignore"):
            score = np.log(W)
    tied = Z[score.max() - (1e-10 + 1e-13 * abs(score.max())) <= score]
    for column in range(tied.shape[1]):
        ascending = np.sort(tied, axis=1)
        tied = tied[ascending[:, column] >= ascending[:, column].max() - 1e-9]
    if (
        welfare.name in ("log_nash", "alpha_fair")
        and decided is not None
        and is_better(welfare, decided, tied[0], entitlements)
    ):
        return W.max(), np.sort(decided)
    return W.max(), np.sort(tied[0])


def is_better(welfare, Z, other, entitlements):
    """Whether one sum is larger than another, by forty digits: beside somebody with nothing, doubles have too few."""
    masses = np.ones(len(Z)) if entitlements is None else np.asarray(entitlements)
    with localcontext(prec=40):
        terms = [
            [Decimal(mass) * _term(welfare, z) for mass, z in zip(masses, each, strict=True)] for each in (Z, other)
        ]
        size = max(map(abs, {*terms[0]} ^ {*terms[1]}), default=0)
        return sum(terms[0]) - sum(terms[1]) > Decimal("1e-13") * size


def _term(welfare, z):
    """One agent's part of a sum over agents."""
    alpha, eps = welfare.parameters.get("alpha", 1), welfare.parameters.get("eps", 1e-6)
    shifted = Decimal(float(z)) + (Decimal(eps) if alpha >= 1 else 0)
    return shifted.ln() if alpha == 1 else shifted ** (1 - Decimal(alpha)) / (1 - Decimal(alpha))


def among_copies(welfare, Z, entitlements):
    """The welfare where each agent is there as often as it is entitled: one copy for every half."""
    n, copies = len(entitlements), np.rint(2 * np.asarray(entitlements)).astype(int)
    crowd = np.repeat(Z, copies, axis=-1)
    if welfare.name == "generalized_gini":
        weights = welfare.parameters.get("weights", (2 * np.arange(n, 0, -1) - 1) / n**2)
        until = np.interp(np.linspace(0, n, copies.sum() + 1), np.arange(n + 1), np.r_[0.0, np.cumsum(weights)])
        return np.asarray(welfare.__class__(welfare.name, {"weights": np.minimum.accumulate(np.diff(until))})(crowd))
    if welfare.name == "egalitarian":
        return np.asarray(welfare(crowd))
    return np.sqrt(welfare(crowd)) if welfare.name == "nash" else np.asarray(welfare(crowd)) / 2
