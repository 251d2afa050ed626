r"""What is maximised, by its shape, because the shape decides which exact algorithm applies.

- `ConcaveSum`: a sum of one concave curve per agent, $\sum_i m_i\varphi(z_i)$ with $\varphi'(z) = (z+s)^{-\alpha}$.
  Utilitarian is $\alpha=0$, Nash and log-Nash $\alpha=1$, α-fair every other.
- `Leximin`: the worst-off agent first, then the second worst, and so on: egalitarian welfare with its ties resolved.
- `Gini`: the utilities in ascending order times falling weights.

The product $\prod_i z_i$ of Nash welfare is the sum of logarithms where somebody's having nothing can be avoided;
where it cannot, every allocation has the product zero, all are tied, and leximin decides.

An agent of entitlement $w_i$ counts as $w_i$ agents with $z_i = Z_i/w_i$ each: its mass $m_i$ is $w_i$. Nash welfare is
then $\prod_i (Z_i/w_i)^{w_i}$, and where everybody's use is the same every welfare is best with $Z_i$ in proportion to
$w_i$: twice the entitlement is worth twice the resource. The weights of generalised Gini are weights of ranks, spread
evenly over the mass that holds the rank. Total utility $\sum_i w_i z_i = \sum_i Z_i$ does not look at entitlements,
which then decide among equally useful allocations only.

For burdens $z = -Z$ is judged (see `outlook.py`): leximin is the lowest of heaviest loads first, $\alpha=0$ the least
total load, generalised Gini has its largest weight on the heaviest load, and `PowerSum` is $-\sum_i m_i(-z_i)^p$.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from bygones._arrays import Array, Operand
from bygones.kinds import Kind
from bygones.welfare import AlphaFair, PowerOfLoads, Ranked, Welfare, check_axis, judged


@dataclass(frozen=True, eq=False)
class ConcaveSum:
    r"""$\sum_i m_i\varphi(z_i)$ with $\varphi'(z) = (z+\text{shift})^{-\alpha}$; `product` marks the Nash product."""

    alpha: float
    shift: float = 0.0
    product: bool = False
    mass: float | np.ndarray = 1.0

    def among(self, who: Operand) -> ConcaveSum:
        """The curves of these agents."""
        return replace(self, mass=self.mass[who]) if isinstance(self.mass, np.ndarray) else self

    @property
    def order(self) -> float:
        """How the sum grows with the unit of z: as this power of it."""
        return 1.0 - self.alpha

    def in_units(self, unit: float, mass: float) -> ConcaveSum:
        """The same curves of z in units of its own, with masses in units of theirs."""
        return replace(self, shift=self.shift / unit, mass=self.mass / mass)

    def gain(self, base: np.ndarray, step: np.ndarray, unit: float = 1.0) -> np.ndarray:
        r"""$m\,\varphi(\text{base}+\text{step}) - m\,\varphi(\text{base})$ free of cancellation.

        In units of $\text{unit}^{1-\alpha}$, which keeps steep curves within the range of floating point and does not
        change which gain is larger.
        """
        if self.alpha == 0:
            return self.mass * (step / unit)
        start = base + self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            growth = np.log1p(step / start)
            if self.alpha == 1:
                return self.mass * growth
            order = 1.0 - self.alpha
            curved = (start / unit) ** order * np.expm1(order * growth) / order
        return self.mass * (curved if order < 0 else np.where(start > 0, curved, (step / unit) ** order / order))

    def value(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,\varphi(z)$."""
        shifted = z + self.shift
        if self.alpha == 1:
            with np.errstate(divide="ignore"):
                return self.mass * np.log(shifted)
        return self.mass * shifted ** (1.0 - self.alpha) / (1.0 - self.alpha)

    def slope(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,\varphi'(z)$."""
        return self.mass * (z + self.shift) ** -self.alpha


@dataclass(frozen=True, eq=False)
class PowerSum:
    r"""$-\sum_i m_i(-z_i)^p$ with $z \le 0$, what agents carry counted against them."""

    order: float
    mass: float | np.ndarray = 1.0

    def among(self, who: Operand) -> PowerSum:
        """The curves of these agents."""
        return replace(self, mass=self.mass[who]) if isinstance(self.mass, np.ndarray) else self

    def in_units(self, unit: float, mass: float) -> PowerSum:
        """The same curves of z in units of its own, with masses in units of theirs."""
        return replace(self, mass=self.mass / mass)

    def cost(self, load: np.ndarray, more: np.ndarray) -> np.ndarray:
        r"""$m(\text{load}+\text{more})^p - m\,\text{load}^p$ free of cancellation."""
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = load**self.order * np.expm1(self.order * np.log1p(more / load))
        return self.mass * np.where(load > 0, grown, more**self.order)

    def value(self, z: np.ndarray) -> np.ndarray:
        r"""$-m(-z)^p$."""
        return np.asarray(-self.mass * np.maximum(-z, 0.0) ** self.order)

    def slope(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,p(-z)^{p-1}$."""
        return np.asarray(self.mass * self.order * np.maximum(-z, 0.0) ** (self.order - 1.0))


@dataclass(frozen=True)
class Leximin:
    """The worst-off first: the lexicographically largest utilities in ascending order."""


@dataclass(frozen=True, eq=False)
class Gini:
    r"""$\sum_i w_i z_{(i)}$ with falling weights and $z$ in ascending order; `mass` adds up to the number of agents."""

    weights: np.ndarray
    mass: np.ndarray

    def among(self, who: Operand) -> Gini:
        """The same with the agents in this order."""
        return replace(self, mass=self.mass[who])

    def of(self, Z: Array) -> np.ndarray:
        """The welfare of utilities, agents along the last axis."""
        order = np.argsort(Z, axis=-1)
        ends = np.cumsum(self.mass[order], axis=-1)
        until = self.weight_until(ends)
        return np.asarray(
            (np.take_along_axis(np.asarray(Z), order, -1) * np.diff(until, axis=-1, prepend=0.0)).sum(axis=-1)
        )

    def weight_until(self, mass: np.ndarray) -> np.ndarray:
        """The weight of the worst-off of this mass."""
        ranks = np.arange(len(self.weights) + 1)
        return np.asarray(np.interp(mass, ranks, np.concatenate([[0.0], np.cumsum(self.weights)])))


Aim: TypeAlias = ConcaveSum | PowerSum | Leximin | Gini


def entitled(welfare: Welfare, entitlements: np.ndarray | None, kind: Kind = "good") -> Callable[[Array], Array]:
    """The welfare of remembered utilities per unit of entitlement, agents along the last axis.

    An agent counts as often as it is entitled. A welfare of no known form judges Z per unit of entitlement as it is.
    Burdens are given with their sign turned, as in `outlook.py`, and are judged so; only `PowerOfLoads` is about loads.
    """
    form = welfare.form
    if form is None:
        return functools.partial(_with_a_value, welfare, kind)
    if isinstance(form, PowerOfLoads):
        if entitlements is None:
            return lambda Z: welfare(np.negative(Z) + 0.0)
        return lambda Z: np.sum(welfare(np.negative(Z)[..., None] + 0.0) * entitlements, axis=-1)
    if entitlements is None:
        return welfare
    if isinstance(form, Ranked):
        return _gini(form, entitlements).of
    if form.alpha == math.inf:
        return welfare
    # The welfare of one agent alone is its curve.
    if form.product:
        return lambda Z: np.prod(welfare(np.asarray(Z)[..., None]) ** entitlements, axis=-1)
    return lambda Z: np.sum(welfare(np.asarray(Z)[..., None]) * entitlements, axis=-1)


def aim(welfare: Welfare, base: np.ndarray, entitlements: np.ndarray | None = None) -> Aim | None:
    """The shape of the welfare, None if it has no known form; refused where the memory is outside its domain."""
    mass = 1.0 if entitlements is None else entitlements
    form = welfare.form
    if form is None:
        return None
    if isinstance(form, PowerOfLoads):
        welfare(np.ones(1))  # its parameters are checked where they are defined
        _check_domain(welfare, -base)
        return PowerSum(float(form.p), mass)
    if isinstance(form, Ranked):
        return _plainest(_gini(form, np.broadcast_to(mass, len(base))), mass)
    welfare(np.ones(1))  # its parameters are checked where they are defined
    if form.alpha == math.inf:
        return Leximin()
    if form.alpha == 0:
        return ConcaveSum(0.0, mass=mass)
    _check_domain(welfare, base)
    return ConcaveSum(float(form.alpha), float(form.shift), form.product, mass)


def check_form(welfare: Welfare, kind: Kind, n_agents: int | None = None) -> None:
    """Refuses a welfare that has no meaning for what is handed out.

    If the number of agents is known, a function of no known form is tried. Of burdens, one that is better if everybody
    carries more is about loads, or a product, and would decide the wrong way round.
    """
    form = welfare.form
    if kind == "good" and isinstance(form, PowerOfLoads):
        raise ValueError(f"welfare {welfare} is for burdens: for goods use one such as 'egalitarian' or 'nash'")
    if kind == "burden" and isinstance(form, AlphaFair) and form.alpha not in (0, math.inf):
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
        if more > less:  # where there is no value, what is decided about tells whether one is needed
            raise ValueError(
                f"welfare {welfare} would have everybody carry as much as possible: what agents carry is given to it "
                "below zero, as -3 for a load of 3, and a larger result must be better"
            )


def _with_a_value(welfare: Welfare, kind: Kind, Z: Array) -> Array:
    """The welfare of Z by a function of no known form, refused where it has no value that can be compared."""
    with np.errstate(all="ignore"):
        found = judged(welfare, Z)
    bad = np.isnan(found) if kind == "good" else ~np.isfinite(found)
    if np.any(bad):
        at = np.unravel_index(int(np.argmax(bad)), np.shape(bad))
        where = f"welfare {welfare} must be a number for every Z, got {np.asarray(found)[at]} for {np.asarray(Z)[at]}"
        if kind == "good":
            raise ValueError(where)
        raise ValueError(
            f"{where}, which is what agents carry with its sign turned: for burdens use a function that takes numbers "
            "below 0, or egalitarian, utilitarian, generalized_gini or power_burden(p=2)"
        )
    return found


def _check_domain(welfare: Welfare, base: np.ndarray) -> None:
    if base.min() < 0:
        bad = int(np.argmin(base))
        raise ValueError(
            f"welfare {welfare} needs remembered utilities of at least 0, got {base[bad]:g} for agent {bad}: "
            "use egalitarian, utilitarian or generalized_gini, or a memory without negative entries"
        )


def _gini(form: Ranked, entitlements: np.ndarray) -> Gini:
    n_agents = len(entitlements)
    return Gini(form.among(n_agents), entitlements * (n_agents / entitlements.sum()))


def _plainest(gini: Gini, mass: float | np.ndarray) -> Aim:
    """Generalised Gini, or the plainer shape that its weights amount to."""
    if gini.weights[0] == gini.weights[-1] > 0:
        return ConcaveSum(0.0, mass=mass)
    # With weight on the worst-off alone, or on nobody, leximin decides: by definition, or because all are tied.
    alone = not gini.weights[1:].any() and (gini.mass >= 1).all()
    return Leximin() if alone or not gini.weights.any() else gini
