r"""How unequal a vector of true utilities is.

All measures work over the last axis, on $x_1,\dots,x_n$ with mean $\mu$. Negative utilities raise a `ValueError`,
because shares of a total are meaningless where some parts are below zero. When nobody has anything, everyone has the
same: the inequality is zero (Jain's index, which counts the agents treated equally, is one). A single agent is always
equal.
"""

from __future__ import annotations

import math

import numpy as np

from bygones._arrays import AnyArray, Array, Number, check_between, check_finite, namespace, select


def gini(x: AnyArray) -> Array:
    r"""The Gini coefficient $\frac{\sum_i\sum_j |x_i - x_j|}{2 n^2 \mu}$: 0 is equality, $1-1/n$ one agent with all."""
    x = _utilities(x)
    xp, n = namespace(x), x.shape[-1]
    if xp is not np and n <= 32:
        # Compiled programs compare few agents pair by pair much faster than they sort them.
        spread = xp.abs(x[..., :, None] - x[..., None, :]).sum(axis=(-1, -2)) / 2
    else:
        spread = (xp.sort(x, axis=-1) * (2.0 * np.arange(1, n + 1) - n - 1)).sum(axis=-1)
    return _ratio(spread, n * x.sum(axis=-1))


def lorenz(x: AnyArray) -> Array:
    r"""The Lorenz curve: the share of the total held by the poorest $k$ agents, for $k = 0,\dots,n$.

    The last axis grows by one. When nobody has anything it is the line of equality.
    """
    x = _utilities(x)
    xp = namespace(x)
    n = x.shape[-1]
    held = xp.cumsum(xp.sort(x, axis=-1), axis=-1)
    held = xp.concatenate([xp.zeros_like(held[..., :1]), held], axis=-1)
    total = held[..., -1:]
    return xp.where(total > 0, held / xp.where(total > 0, total, 1.0), np.arange(n + 1) / n)


def jain(x: AnyArray) -> Array:
    r"""Jain's index $\frac{(\sum_i x_i)^2}{n\sum_i x_i^2}$: 1 is equality, $1/n$ one agent with everything."""
    x = _utilities(x)
    xp = namespace(x)
    largest = x.max(axis=-1, keepdims=True)
    # Relative to the largest, squares neither overflow nor vanish.
    relative = xp.where(largest > 0, x / xp.where(largest > 0, largest, 1.0), 1.0)
    return relative.sum(axis=-1) ** 2 / (x.shape[-1] * (relative**2).sum(axis=-1))


def theil(x: AnyArray) -> Array:
    r"""Theil's index $\frac1n\sum_i \frac{x_i}{\mu}\ln\frac{x_i}{\mu}$ : 0 is equality, $\ln n$ one agent with all."""
    relative = _relative_to_mean(_utilities(x))
    xp = namespace(relative)
    return (relative * xp.log(xp.where(relative > 0, relative, 1.0))).mean(axis=-1)


def atkinson(x: AnyArray, epsilon: Number) -> Array:
    r"""Atkinson's index $1 - \frac1\mu\bigl(\frac1n\sum_i x_i^{1-\epsilon}\bigr)^{1/(1-\epsilon)}$, $\epsilon > 0$.

    At $\epsilon=1$ one minus the geometric over the arithmetic mean; from there on, one agent with nothing (while
    others have something) makes it 1. Infinity is $1 - \min_i x_i/\mu$.
    """
    check_between(
        "epsilon", epsilon, 0.0, math.inf, "above 0 (infinity considers only the worst-off agent)", open_low=True
    )
    relative = _relative_to_mean(_utilities(x))
    xp = namespace(relative, epsilon)
    has = relative > 0
    logs = xp.log(xp.where(has, relative, 1.0))
    is_log, is_min = epsilon == 1, epsilon == math.inf
    order = select(is_log | is_min, 1.0, 1.0 - epsilon)
    # The power mean in logarithms, with the largest term factored out, so no power overflows.
    terms = xp.where(has, order * logs, -math.inf)
    largest = terms.max(axis=-1, keepdims=True)
    power_mean = xp.exp((largest[..., 0] + xp.log(xp.exp(terms - largest).mean(axis=-1))) / order)
    mean = select(is_log, xp.exp(logs.mean(axis=-1)), select(is_min, relative.min(axis=-1), power_mean))
    someone_has_nothing = xp.logical_not(has.all(axis=-1))
    return xp.clip(1.0 - xp.where(someone_has_nothing & (epsilon >= 1), 0.0, mean), 0.0, 1.0)


def _utilities(x: AnyArray) -> Array:
    x = check_finite("x", x)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x must have at least one agent along its last axis, got shape {x.shape}")
    return check_between("x", x, 0.0, math.inf, "at least 0, because shares are undefined for negative utilities")


def _ratio(part: Array, whole: Array) -> Array:
    """The part over the whole, and zero where the whole is zero."""
    xp = namespace(part, whole)
    return xp.where(whole > 0, part / xp.where(whole > 0, whole, 1.0), 0.0)


def _relative_to_mean(x: Array) -> Array:
    """Utilities over their mean; ones where nobody has anything."""
    xp = namespace(x)
    mean = x.mean(axis=-1, keepdims=True)
    return xp.where(mean > 0, x / xp.where(mean > 0, mean, 1.0), 1.0)
