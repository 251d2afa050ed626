"""Statistics of a handful of seeds: means with intervals, effect sizes, and whether the seeds split into two groups.

Near collapse, outcomes are bimodal: some seeds learn, most do not. A mean then describes no run at all, so a summary
always includes the seeds themselves and whether they split. Intervals are percentile bootstrap intervals over seeds:
they assume nothing about the shape of the distribution, and the same data always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from bygones._arrays import AnyArray, Floats, check_finite

CONFIDENCE = 0.95
RESAMPLES = 2000
SPLIT_EXPLAINS = 0.85
"""The share of the variance that a split must explain to count; evenly spread values reach 0.75."""


class Interval(NamedTuple):
    """A bootstrap interval of a quantity."""

    low: float
    high: float


class Summary(NamedTuple):
    """A summary of the seeds of one configuration."""

    seeds: tuple[float, ...]
    mean: float
    standard_error: float
    mean_interval: Interval
    interquartile_mean: float
    interquartile_interval: Interval
    groups: tuple[tuple[float, ...], ...]
    """The seeds in ascending order, in two groups if they split, otherwise in one."""


def summary(values: AnyArray, apart: float = 0.0, seed: int = 0) -> Summary:
    """Summarises the seeds of a configuration; groups count as two if their means differ by at least `apart`."""
    values = _seeds("values", values)
    return Summary(
        tuple(values.tolist()),
        float(values.mean()),
        standard_error(values),
        interval(values, np.mean, seed),
        interquartile_mean(values),
        interval(values, interquartile_mean, seed),
        groups(values, apart),
    )


def standard_error(values: AnyArray) -> float:
    """The standard error of the mean, as in the paper's shaded regions; NaN for a single seed."""
    values = _seeds("values", values)
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def interquartile_mean(values: AnyArray, axis: int = -1) -> Any:
    """The mean of the middle half, which a few outliers cannot move."""
    means = stats.trim_mean(values, 0.25, axis=axis)
    return float(means) if np.ndim(means) == 0 else means


def interval(values: AnyArray, statistic: Callable[..., Any], seed: int = 0) -> Interval:
    """A seeded percentile bootstrap interval of a statistic of one sample; a single value is its own interval."""
    values = _seeds("values", values)
    if np.ptp(values) == 0:
        return Interval(float(values[0]), float(values[0]))
    return _bootstrap((values,), statistic, seed)


def difference_interval(a: AnyArray, b: AnyArray, seed: int = 0, of: Callable[..., Any] = np.mean) -> Interval:
    """A seeded percentile bootstrap interval of mean(a) − mean(b), or of another statistic's difference."""
    a, b = _seeds("a", a), _seeds("b", b)
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return Interval(float(a[0] - b[0]), float(a[0] - b[0]))

    def difference(a: Floats, b: Floats, axis: int = -1) -> Floats:
        return np.asarray(of(a, axis=axis) - of(b, axis=axis))

    return _bootstrap((a, b), difference, seed)


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


def _bootstrap(samples: tuple[Floats, ...], statistic: Callable[..., Any], seed: int) -> Interval:
    found = stats.bootstrap(
        # SciPy refuses a sample of one; a single seed given twice is always resampled as itself.
        tuple(np.repeat(sample, 2) if len(sample) == 1 else sample for sample in samples),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(found.low), float(found.high))


def _seeds(name: str, given: AnyArray) -> Floats:
    values = np.asarray(check_finite(name, given))
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be one number per seed, for at least one seed, got shape {values.shape}")
    return values
