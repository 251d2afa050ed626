"""Statistics of a handful of seeds that are exact whatever the shape of their distribution.

Near collapse, outcomes have two humps: some seeds learn, the others do not. A mean then describes no run, and no
interval around it covers as often as stated: a second hump with a tenth of the runs is missed by ten seeds in every
third experiment. What ten seeds do tell exactly is how often something happens. So a quantity is computed for each seed
and judged by its median over seeds: the sign test gives p-values, and order statistics give the interval. Both need
only that seeds are independent. Means, which the paper plots, are given as well, with Student's interval.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from bygones._arrays import AnyArray, Floats, check_finite

CONFIDENCE = 0.95
SPLIT_EXPLAINS = 0.85
"""The share of the variance that a split must explain to count; evenly spread values reach 0.75."""


class Interval(NamedTuple):
    """A confidence interval, or a range that a claim states."""

    low: float
    high: float


def median_interval(values: AnyArray, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a median: two of the values themselves; infinite if there are too few values.

    Each end is wrong with a probability of at most (1 − confidence)/2, for every distribution. The same as
    `scipy.stats.quantile_test(…).confidence_interval()`, of which thousands would take minutes.
    """
    ordered = np.sort(_seeds("values", values))
    rank = _rank(len(ordered), confidence)
    return Interval(float(ordered[rank]), float(ordered[-1 - rank])) if rank >= 0 else Interval(-math.inf, math.inf)


def median_chance(values: AnyArray, bound: float, side: Literal["less", "greater"]) -> float:
    """The p-value of the sign test that a median is less, or greater, than a bound.

    The probability of at most as many values on the other side, or at the bound, if the median were the bound; exact
    for every distribution. The same as the p-value of `scipy.stats.quantile_test`.
    """
    values = _seeds("values", values)
    against = values >= bound if side == "less" else values <= bound
    return _at_most(int(against.sum()), len(values))


@functools.cache
def _at_most(count: int, of: int) -> float:
    """The chance of at most so many heads in so many tosses."""
    return float(stats.binom.cdf(count, of, 0.5))


@functools.cache
def _rank(of: int, confidence: float) -> int:
    """The position, from either end, of the value that bounds the median of so many; below 0 if none does."""
    return next((rank for rank in range(of // 2) if _at_most(rank, of) > (1 - confidence) / 2), of // 2) - 1


def holm(chances: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: the probability that any of several true hypotheses is rejected stays the level's."""
    order = np.argsort(chances, kind="stable")
    steps = np.asarray(chances, float)[order] * np.arange(len(chances), 0, -1)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(chance) for chance in adjusted]


def mean_interval(values: AnyArray, confidence: float = CONFIDENCE) -> Interval:
    """Student's interval of a mean. Its coverage is right for a single hump, not for two: see the module."""
    values = _seeds("values", values)
    mean, error = float(values.mean()), standard_error(values)
    if len(values) < 2 or error == 0:
        return Interval(mean, mean)
    reach = error * float(stats.t.ppf((1 + confidence) / 2, len(values) - 1))
    return Interval(mean - reach, mean + reach)


def mean_chance(values: AnyArray) -> float:
    """The p-value of Student's test that a mean is 0, two-sided; 1 for a single value, which has no spread."""
    values = _seeds("values", values)
    if len(values) < 2:
        return 1.0
    mean, error = float(values.mean()), standard_error(values)
    if error == 0:
        return float(mean == 0)
    return float(2 * stats.t.sf(abs(mean) / error, len(values) - 1))


def standard_error(values: AnyArray) -> float:
    """The standard error of the mean, as in the paper's shaded regions; NaN for a single seed."""
    values = _seeds("values", values)
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def cliffs_delta(a: AnyArray, b: AnyArray) -> float:
    """How often a seed of `a` lies above one of `b`, minus how often below: 1 is always, −1 is never.

    Unlike differences in standard deviations, this effect size does not assume a single mode.
    """
    a, b = _seeds("a", a), _seeds("b", b)
    return float(np.sign(a[:, None] - b[None, :]).mean())


def groups(values: AnyArray, apart: float = 0.0) -> tuple[tuple[float, ...], ...]:
    """The values in ascending order, split in two if that explains most of their variance.

    The split is the one that explains the most variance. It counts if it explains at least 85% and the means of the
    groups differ by at least `apart`; fewer than four values are always one group.
    """
    ordered = np.sort(_seeds("values", values))
    total = ((ordered - ordered.mean()) ** 2).sum()
    if len(ordered) >= 4 and total > 0:
        cuts = range(1, len(ordered))
        within = [sum(((part - part.mean()) ** 2).sum() for part in np.split(ordered, [cut])) for cut in cuts]
        low, high = np.split(ordered, [1 + int(np.argmin(within))])
        if 1 - min(within) / total >= SPLIT_EXPLAINS and high.mean() - low.mean() >= apart:
            return tuple(low.tolist()), tuple(high.tolist())
    return (tuple(ordered.tolist()),)


def _seeds(name: str, given: AnyArray) -> Floats:
    values = np.asarray(check_finite(name, given))
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be one number per seed, for at least one seed, got shape {values.shape}")
    return values
