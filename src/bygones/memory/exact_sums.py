"""Discounted sums that lose nothing to rounding: the state that the discounted and linear memories share."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

from bygones._arrays import Array, Number, select


class MemoryState(NamedTuple):
    """The state of a memory between two steps; under JAX a pytree. Read it with `Memory.values`.

    Attributes:
        Z: the discounted sums of utilities, agents along the last axis.
        d: the discounted denominator, what `Z` would be had every utility been one.
        Z_lost: what rounding has dropped from `Z` so far.
        d_lost: what rounding has dropped from `d` so far.
    """

    Z: Array
    d: Array
    Z_lost: Array
    d_lost: Array


def fade_and_add(total: Array, lost: Array, new: Number, left: Number, taken: Number) -> tuple[Array, Array]:
    """`left * total + new`, and what rounding dropped from it.

    Where most is left, the lost part is subtracted instead: the product then rounds at the size of one utility, not at
    the size of the whole past.
    """
    most_is_left = left >= 0.5
    if most_is_left is True:
        return add(total, new - taken * total + left * lost)
    scale, taken_off = select(most_is_left, 1.0, left), select(most_is_left, taken, 0.0)
    return add(scale * total, new - taken_off * total + left * lost)


def add(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its rounding error, exactly (Knuth's two-sum)."""
    total = a + b
    b_seen = total - a
    return total, (a - (total - b_seen)) + (b - b_seen)


@overload
def per_agent(value: Array) -> Array: ...


@overload
def per_agent(value: Number) -> Number: ...


def per_agent(value: Any) -> Any:
    """A number per batch entry, made to multiply a row of agents."""
    return value if isinstance(value, float) or not getattr(value, "ndim", 0) else value[..., None]
