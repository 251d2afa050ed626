"""NumPy and JAX through one door, and the checks that every public function shares.

A function written against ``xp = namespace(...)`` runs on NumPy arrays and, unchanged, on JAX arrays and
tracers. JAX is never imported here: if the caller holds a JAX array, the caller has already imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy or JAX array, or a JAX tracer standing for one."""

Number: TypeAlias = Any
"""A Python, NumPy or JAX scalar, or a JAX tracer standing for one."""


_PLAIN = (np.ndarray, np.float64, float, int)


def namespace(*values: object) -> Any:
    """`jax.numpy` if any of the values is a JAX array or tracer, else `numpy`."""
    jax = sys.modules.get("jax")
    if jax is None:
        return np
    for value in values:
        # Asking JAX about a plain array costs more than adding two of them, so the plain kinds are told apart first.
        if type(value) not in _PLAIN and isinstance(value, jax.Array):
            return jax.numpy
    return np


def is_traced(value: object) -> bool:
    """Whether the value is a JAX tracer, whose numbers cannot be looked at yet."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def select(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true if condition else if_false`, elementwise where the condition is an array or a tracer."""
    if isinstance(condition, bool | np.bool_):
        return if_true if condition else if_false
    return namespace(condition, if_true, if_false).where(condition, if_true, if_false)


def as_array(value: object) -> Array:
    """The value as an array of its own kind; lists and scalars become NumPy arrays of floats."""
    if namespace(value) is not np:
        return value
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        return array.astype(float)
    if array.dtype.kind != "f":
        raise ValueError(f"expected numbers, got {value!r}")
    return array


def check_finite(name: str, value: object) -> Array:
    """The value as an array, refused if any entry is NaN or infinite (unless it is being traced)."""
    try:
        array = as_array(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {value!r}") from None
    if not is_traced(array):
        finite = np.isfinite(np.asarray(array))
        if not finite.all():
            where = tuple(int(i) for i in np.argwhere(~finite)[0])
            place = "" if finite.ndim == 0 else f" at index {where[0] if len(where) == 1 else where}"
            raise ValueError(f"{name} must be finite, got {np.asarray(array)[where]}{place}")
    return array


def check_between(
    name: str,
    value: object,
    low: float,
    high: float,
    accepted: str,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Any:
    """The value itself, refused if it is NaN, not a number, or outside the interval (unless traced)."""
    if is_traced(value):
        return value
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {accepted}, got {value!r}") from None
    above = numbers > low if open_low else numbers >= low
    below = numbers < high if open_high else numbers <= high
    if not np.all(above & below):
        raise ValueError(f"{name} must be {accepted}, got {value}")
    return value


def check_count(name: str, value: object, least: int = 1) -> int:
    """The value as an int, refused unless it is a whole number of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def check_one_of(name: str, value: object, accepted: Sequence[str]) -> str:
    """The value itself, refused unless it is one of the accepted words."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return str(value)
