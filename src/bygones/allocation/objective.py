"""The objective: the welfare of the memory that an allocation would leave, and its form among the agents."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from bygones._arrays import Array
from bygones.forms import Curves, Form, Ranked
from bygones.kinds import Kind
from bygones.welfare import Welfare, check_axis, judged


def judge_of(welfare: Welfare, entitlements: np.ndarray | None, kind: Kind = "good") -> Callable[[Array], Array]:
    """The welfare of remembered utilities per unit of entitlement, agents along the last axis.

    An agent counts in proportion to its entitlement. A welfare of no known form judges Z per unit of entitlement alone.
    Burdens are given with their sign turned, as in `outlook.py`, and are judged so, unless the form is about loads.
    """
    form = welfare.form
    if form is None:
        return functools.partial(_with_a_value, welfare, kind)
    judge: Callable[[Array], Array] = (lambda Z: welfare(np.negative(Z) + 0.0)) if form.of_loads else welfare
    if entitlements is None:
        return judge
    if isinstance(form, Ranked):
        return form.counting(entitlements).of
    if form.is_leximin:
        return judge
    # The welfare of one agent alone is its curve.
    if form.is_product:
        return lambda Z: np.prod(judge(np.asarray(Z)[..., None]) ** entitlements, axis=-1)
    return lambda Z: np.sum(judge(np.asarray(Z)[..., None]) * entitlements, axis=-1)


def form_of(welfare: Welfare, base: np.ndarray, entitlements: np.ndarray | None = None) -> Form | None:
    """The form of the welfare among these agents, None if it has none; refused where the memory is outside its domain.

    Args:
        welfare: the welfare to maximise.
        base: the recent total of each agent, per unit of entitlement, below 0 for burdens.
        entitlements: per agent, or None if all are equal.
    """
    form = welfare.form
    if form is None:
        return None
    if isinstance(form, Curves):
        welfare(np.ones(1))  # its parameters are checked where they are defined
    if form.needs_non_negative:
        _check_domain(welfare, -base if form.of_loads else base)
    return form.shared(entitlements, len(base))


def check_form(welfare: Welfare, kind: Kind, n_agents: int | None = None) -> None:
    """Refuses a welfare that has no meaning for the thing that is allocated.

    If the number of agents is known, a function of no known form is tried. For burdens, one that is better if everyone
    takes more is about loads, or a product, and would decide the wrong way round.
    """
    form = welfare.form
    if form is not None and kind == "good" and not form.judges(kind):
        raise ValueError(f"welfare {welfare} is for burdens: for goods use one such as 'egalitarian' or 'nash'")
    if form is not None and not form.judges(kind):
        raise ValueError(
            f"welfare {welfare} has no meaning for burdens: use egalitarian, utilitarian, generalized_gini or "
            "power_burden(p=2)"
        )
    if form is not None or n_agents is None:
        return
    if welfare.is_named:  # A plain function is given one vector at a time.
        check_axis(welfare, n_agents)
    if kind == "burden":
        with np.errstate(all="ignore"):
            less, more = (judged(welfare, np.full(n_agents, -load)) for load in (1.0, 2.0))
        if more > less:  # where there is no value, the values that occur in the decision tell whether one is needed
            raise ValueError(
                f"welfare {welfare} would have everyone take as much as possible: loads are given to it "
                "below zero, as -3 for a load of 3, and a larger result must be better"
            )


def _with_a_value(welfare: Welfare, kind: Kind, Z: Array) -> Array:
    """The welfare of Z by a function of no known form, refused where it has no value that can be compared."""
    with np.errstate(all="ignore"):
        value = judged(welfare, Z)
    bad = np.isnan(value) if kind == "good" else ~np.isfinite(value)
    if np.any(bad):
        at = np.unravel_index(int(np.argmax(bad)), np.shape(bad))
        where = f"welfare {welfare} must be a number for every Z, got {np.asarray(value)[at]} for {np.asarray(Z)[at]}"
        if kind == "good":
            raise ValueError(where)
        raise ValueError(
            f"{where}, which are loads with their sign turned: for burdens use a function that takes numbers "
            "below 0, or egalitarian, utilitarian, generalized_gini or power_burden(p=2)"
        )
    return value


def _check_domain(welfare: Welfare, base: np.ndarray) -> None:
    if base.min() < 0:
        bad = int(np.argmin(base))
        raise ValueError(
            f"welfare {welfare} needs remembered utilities of at least 0, got {base[bad]:g} for agent {bad}: "
            "use egalitarian, utilitarian or generalized_gini, or a memory without negative entries"
        )
