"""Small problems: every allocation is looked at, which is its own proof.

Used where no structure helps (a welfare function of the user's own) and where a small problem with one, such as bundles
under generalised Gini welfare, is decided faster by looking than by an integer programme.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array
from bygones.allocation.outlook import Outlook, Unstructured
from bygones.allocation.ties import best_of

COUNTLESS = 1e9
"""Larger numbers of divisions are not told apart. Sums of smaller ones are exact, so no difference loses any."""


class Options(NamedTuple):
    """The single gifts that allocations are made of: option k gives `utility[k]` to `agent[k]`.

    At most one option of the same `item` is taken, at most `capacity[i]` of agent i, at most `total` of all, or
    exactly as many where `everything` has to be allocated.
    """

    agent: np.ndarray
    item: np.ndarray
    utility: np.ndarray
    capacity: np.ndarray
    total: int
    everything: bool = False


def count(options: Options) -> float:
    """The number of allocations, or a bound on it where capacities rule some out."""
    per_item = np.unique_counts(options.item).counts
    if (per_item == 1).all():
        items, least = len(per_item), options.total if options.everything else 0
        return float(sum(math.comb(items, size) for size in range(least, min(options.total, items) + 1)))
    choices = np.log(per_item) if options.everything else np.log1p(per_item)
    return math.exp(min(700.0, float(choices.sum())))


def enumerate_all(
    options: Options,
    look: Outlook | Unstructured,
    welfare: Callable[[Array], Array],
    rng: np.random.Generator,
    *,
    batched: bool,
) -> tuple[np.ndarray, np.ndarray | None]:
    """The options taken in the best allocation, and in the next best (None if there is no other).

    Args:
        options: what can be given to whom.
        look: the memory that it would leave.
        welfare: the welfare of one vector Z or, if `batched`, of one per row.
        rng: draws among equally good allocations.
        batched: whether `welfare` takes many vectors at once.
    """
    taken = _all_allocations(options)
    gifts = np.zeros((len(options.agent), len(options.capacity)))
    gifts[np.arange(len(options.agent)), options.agent] = options.utility
    W, Z = _judged(taken @ gifts, look, welfare, batched=batched)
    first = best_of(W, Z, rng)
    others = np.delete(np.arange(len(W)), first)
    second = others[best_of(W[others], Z[others], rng)] if len(others) else None
    return np.flatnonzero(taken[first]), None if second is None else np.flatnonzero(taken[second])


def count_divisions(most: np.ndarray, units: int, *, everything: bool) -> float:
    """The number of ways to divide like units, with at most so many for each agent; up to `COUNTLESS`."""
    ways = np.zeros(units + 1)
    ways[0] = 1.0
    for room in np.minimum(most, units).tolist():
        # An agent who may have 0 to `room` units: a running sum over the last `room` + 1 totals.
        total = np.cumsum(ways)
        ways = np.minimum(total - np.concatenate([np.zeros(room + 1), total[: units - room]]), COUNTLESS)
    return float(min(ways[units] if everything else ways.sum(), COUNTLESS))


def best_division(
    most: np.ndarray,
    units: int,
    rates: np.ndarray,
    look: Outlook | Unstructured,
    welfare: Callable[[Array], Array],
    rng: np.random.Generator,
    *,
    everything: bool,
    batched: bool,
) -> np.ndarray:
    """The best division of like units: how many each agent has. Every division counts once."""
    given = _all_divisions(most, units, everything=everything)
    return np.asarray(given[best_of(*_judged(given * rates, look, welfare, batched=batched), rng)])


def _judged(
    utilities: np.ndarray, look: Outlook | Unstructured, welfare: Callable[[Array], Array], *, batched: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The welfare of each row of utilities, and the Z that they lead to."""
    Z = look.after(utilities)
    return np.asarray(welfare(Z) if batched else [float(welfare(z)) for z in Z], dtype=float), Z


def _all_divisions(most: np.ndarray, units: int, *, everything: bool) -> np.ndarray:
    """One row per division, one column per agent."""
    given, used = np.zeros((1, 0)), np.zeros(1, dtype=np.int64)
    later = np.cumsum(most[::-1])[::-1] - most
    for room, rest in zip(most.tolist(), later.tolist(), strict=True):
        grown = []
        for part in range(min(room, units) + 1):
            fits = used + part <= units
            if everything:
                fits &= used + part + rest >= units
            grown.append((np.column_stack([given[fits], np.full(fits.sum(), float(part))]), used[fits] + part))
        given, used = (np.concatenate(parts) for parts in zip(*grown, strict=True))
    return given


def _all_allocations(options: Options) -> np.ndarray:
    """One row per allocation, one column per option."""
    taken = np.zeros((1, len(options.agent)), dtype=bool)
    load = np.zeros((1, len(options.capacity)), dtype=int)
    items = np.unique(options.item)
    for nth, item in enumerate(items):
        grown = [(taken, load)]
        for option in np.flatnonzero(options.item == item):
            agent = options.agent[option]
            room = (load[:, agent] < options.capacity[agent]) & (load.sum(axis=1) < options.total)
            more_taken, more_load = taken[room], load[room]
            more_taken[:, option] = True
            more_load[:, agent] += 1
            grown.append((more_taken, more_load))
        taken, load = (np.concatenate(parts) for parts in zip(*grown, strict=True))
        if options.everything:
            can = load.sum(axis=1) + len(items) - 1 - nth >= options.total
            taken, load = taken[can], load[can]
    return taken
