r"""The forms of welfare functions, with the mathematics by which exact algorithms find the best allocation.

- `Curves`: a sum of one concave curve per agent, $\sum_i m_i\varphi(z_i)$. `AlphaFair` has
  $\varphi'(z) = (z+s)^{-\alpha}$: utilitarian is $\alpha=0$, Nash and log-Nash $\alpha=1$, and the limit
  $\alpha\to\infty$ is leximin, egalitarian welfare with its ties resolved: the worst-off agent first, then the second
  worst, and so on. `PowerOfLoads` is for burdens.
- `Ranked`: the utilities in ascending order, times falling weights.

An agent of entitlement $w_i$ counts as $w_i$ agents with $z_i = Z_i/w_i$ each: its mass $m_i$ is $w_i$. Nash welfare is
then $\prod_i (Z_i/w_i)^{w_i}$, and where everyone's use is the same every welfare is best with $Z_i$ in proportion to
$w_i$: twice the entitlement is worth twice the resource. The weights of `Ranked` are weights of ranks, spread evenly
over the mass that holds the rank. Total utility $\sum_i w_i z_i = \sum_i Z_i$ does not look at entitlements, which then
decide among equally useful allocations only.

For burdens $z = -Z$ is judged, loads with their sign turned: leximin is the lowest of heaviest loads first, $\alpha=0$
the least total load, and `Ranked` has its largest weight on the heaviest load.

A new form is a class here, and a function in `bygones.welfare` that has it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from bygones._arrays import AnyArray, Array, Operand, check_finite, is_traced
from bygones.kinds import Kind


@dataclass(frozen=True)
class Curves(ABC):
    r"""The form $\sum_i m_i\varphi(z_i)$ with a concave $\varphi$.

    Attributes:
        mass: the $m_i$, as many agents as each one counts; a number where all count alike.
    """

    mass: float | np.ndarray = field(default=1.0, kw_only=True)

    of_loads: ClassVar[bool] = False
    """Whether it is about loads: the function is given the loads themselves, and z is at most 0 here."""

    @property
    def is_product(self) -> bool:
        """Whether the welfare is the exponential of the sum, with ties wherever someone has nothing."""
        return False

    @property
    def is_curved(self) -> bool:
        """Whether φ is a curve: not for total utility, and not for leximin, which is a limit of curves."""
        return not (self.is_linear or self.is_leximin)

    @property
    def is_linear(self) -> bool:
        """Whether it is the total utility."""
        return False

    @property
    def is_leximin(self) -> bool:
        """Whether the worst-off agent decides, then the second worst, and so on."""
        return False

    @property
    @abstractmethod
    def steepness(self) -> float:
        """How steeply a price may follow the memory: the α of the slope."""

    @property
    @abstractmethod
    def order(self) -> float:
        """How the sum grows with the unit of z: as this power of it."""

    @abstractmethod
    def value(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,\varphi(z)$."""

    @abstractmethod
    def slope(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,\varphi'(z)$, infinite where the curve has no value."""

    @abstractmethod
    def gain(self, base: np.ndarray, step: np.ndarray, unit: float = 1.0) -> np.ndarray:
        r"""$m\,\varphi(\text{base}+\text{step}) - m\,\varphi(\text{base})$ free of cancellation.

        In units of $\text{unit}^\text{order}$, which keeps steep curves within the range of floating point and does not
        change which gain is larger.
        """

    @abstractmethod
    def levels(self, base: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""β and κ, by which marginal gains are equal at one water level ℓ for everyone where $x_i = κ_i(ℓ - β_i)$.

        Args:
            base: z before.
            step: the change of z per unit of the amount.
        """

    def rank(self, base: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Numbers in the order of the gains."""
        return self.gain(base, step)

    def unit(self, start: np.ndarray) -> float:
        """The unit in which gains from these values are compared."""
        return 1.0

    def judges(self, kind: Kind) -> bool:
        """Whether it has a meaning for goods, or for burdens."""
        return kind == ("burden" if self.of_loads else "good")

    @property
    def needs_non_negative(self) -> bool:
        """Whether it has no value where the total or load of an agent is below 0."""
        return self.is_curved

    def among(self, who: Operand) -> Self:
        """The curves of these agents."""
        return replace(self, mass=self.mass[who]) if isinstance(self.mass, np.ndarray) else self

    def shared(self, entitlements: np.ndarray | None, n_agents: int) -> Curves:
        """The form among so many agents, each weighted by its entitlement."""
        return self if entitlements is None else replace(self, mass=entitlements)

    def in_units(self, unit: float) -> tuple[Self, float]:
        """The same form of z in another unit, and the worth of that unit."""
        heaviest = float(np.max(self.mass))
        return replace(self, mass=self.mass / heaviest), heaviest * unit**self.order

    def of(self, Z: np.ndarray) -> np.ndarray:
        """The welfare of utilities, agents along the last axis."""
        return np.asarray(self.value(Z).sum(axis=-1))


@dataclass(frozen=True)
class AlphaFair(Curves):
    r"""Curves with $\varphi'(z) = (z+s)^{-\alpha}$, from total utility to the worst-off agent.

    Attributes:
        alpha: 0 is total utility, infinity the worst-off agent.
        eps: the shift $s$ where α is at least 1 and finite; elsewhere there is none.
        product: whether the welfare is the exponential of the sum, as Nash welfare is of the sum of logarithms. It
            ranks alike, except that all allocations that leave someone with nothing are tied, and leximin decides.
    """

    alpha: float
    eps: float = 0.0
    product: bool = False

    @property
    def shift(self) -> float:
        """The shift $s$, 0 where there is none."""
        return self.eps if 1 <= self.alpha < math.inf else 0.0

    @property
    def is_product(self) -> bool:
        """Whether it is the product."""
        return self.product

    @property
    def is_linear(self) -> bool:
        """Whether α is 0."""
        return self.alpha == 0

    @property
    def is_leximin(self) -> bool:
        """Whether α is infinite."""
        return self.alpha == math.inf

    @property
    def steepness(self) -> float:
        """The exponent α."""
        return self.alpha

    @property
    def order(self) -> float:
        """The exponent 1 - α; of leximin, which is in the units of z, 1."""
        return 1.0 if self.is_leximin else 1.0 - self.alpha

    def judges(self, kind: Kind) -> bool:
        """For burdens only total load and leximin have a meaning."""
        return kind == "good" or not self.is_curved

    def shared(self, entitlements: np.ndarray | None, n_agents: int) -> Curves:
        """The form among so many agents; leximin does not look at how many agents one counts as."""
        plain = replace(self, alpha=float(self.alpha), eps=float(self.eps))
        return plain if self.is_leximin or entitlements is None else replace(plain, mass=entitlements)

    def in_units(self, unit: float) -> tuple[Self, float]:
        """The same form of z in another unit, and the worth of that unit."""
        form, worth = super().in_units(unit)
        return replace(form, eps=self.eps / unit), worth

    def gain(self, base: np.ndarray, step: np.ndarray, unit: float = 1.0) -> np.ndarray:
        r"""$m\,\varphi(\text{base}+\text{step}) - m\,\varphi(\text{base})$, in units of $\text{unit}^{1-\alpha}$."""
        if self.is_linear:
            return self.mass * (step / unit)
        start = base + self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            growth = np.log1p(step / start)
            if self.alpha == 1:
                return self.mass * growth
            curved = (start / unit) ** self.order * np.expm1(self.order * growth) / self.order
        if self.order > 0:
            curved = np.where(start > 0, curved, (step / unit) ** self.order / self.order)
        return self.mass * curved

    def rank(self, base: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Numbers in the order of the gains, cheaper and of wider range than the gains themselves."""
        start = base + self.shift if self.shift else base
        if self.is_linear:
            return np.asarray(step * self.mass)
        if self.alpha == 1:
            with np.errstate(divide="ignore"):
                ratio = step / start
                return np.asarray(ratio if np.ndim(self.mass) == 0 else self.mass * np.log1p(ratio))
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.expm1(self.order * np.log1p(step / start)) / self.order
            logarithm = self.order * np.log(start) + np.log(growth)
        if self.alpha < 1:
            logarithm = np.where(start > 0, logarithm, self.order * np.log(step) - math.log(self.order))
        return np.asarray(np.exp((logarithm + np.log(self.mass)) / max(self.alpha, 1.0)))

    def unit(self, start: np.ndarray) -> float:
        """The least of the values where the curve is steep."""
        return float((start + self.shift).min()) if self.alpha > 1 else 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,\varphi(z)$."""
        shifted = z + self.shift
        if self.alpha == 1:
            with np.errstate(divide="ignore"):
                return self.mass * np.log(shifted)
        return self.mass * shifted**self.order / self.order

    def of(self, Z: np.ndarray) -> np.ndarray:
        """The welfare of utilities, agents along the last axis; of leximin, that of the worst-off agent."""
        return np.asarray(Z.min(axis=-1)) if self.is_leximin else super().of(Z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,(z+s)^{-\alpha}$."""
        with np.errstate(divide="ignore"):
            return self.mass * (z + self.shift) ** -float(self.alpha)

    def inverse(self, slope: np.ndarray) -> np.ndarray:
        r"""Where φ has this slope: $\varphi'^{-1}(w) = w^{-1/\alpha} - s$."""
        return np.asarray(slope ** (-1 / self.alpha) - self.shift)

    def conjugate(self, slopes: np.ndarray) -> float:
        r"""$\sum_i \max_z (\varphi(z) - w_i z)$."""
        if self.alpha == 1:
            return float((-np.log(slopes) - 1 + slopes * self.shift).sum())
        curved = slopes ** (1 - 1 / self.alpha) * self.alpha / (1 - self.alpha)
        return float((curved + slopes * self.shift).sum())

    def levels(self, base: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$\beta = (z+s)\,r^{-1/\alpha}$ and $\kappa = r^{1/\alpha}/\text{step}$ with $r = m\,\text{step}$."""
        rate = self.mass * step
        rate = rate / rate.max()
        with np.errstate(all="ignore"):
            return (base + self.shift) * rate ** (-1.0 / self.alpha), rate ** (1.0 / self.alpha) / step


LEXIMIN = AlphaFair(math.inf)


@dataclass(frozen=True)
class PowerOfLoads(Curves):
    r"""The form $-\sum_i m_i(-z_i)^p$ of loads, with p above 1: for burdens, not for goods."""

    p: float

    of_loads: ClassVar[bool] = True

    @property
    def steepness(self) -> float:
        """The exponent p - 1 of the slope."""
        return self.p - 1.0

    @property
    def order(self) -> float:
        """The exponent p."""
        return self.p

    def gain(self, base: np.ndarray, step: np.ndarray, unit: float = 1.0) -> np.ndarray:
        r"""$-m(\text{load}+\text{more})^p + m\,\text{load}^p$ where load and more are base and step below zero."""
        load, more = -base / unit, -step / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = load**self.p * np.expm1(self.p * np.log1p(more / load))
        return np.asarray(-self.mass * np.where(load > 0, grown, more**self.p))

    def value(self, z: np.ndarray) -> np.ndarray:
        r"""$-m(-z)^p$."""
        return np.asarray(-self.mass * np.maximum(-z, 0.0) ** self.p)

    def slope(self, z: np.ndarray) -> np.ndarray:
        r"""$m\,p(-z)^{p-1}$."""
        return np.asarray(self.mass * self.p * np.maximum(-z, 0.0) ** (self.p - 1.0))

    def levels(self, base: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$\beta = \text{load}\,r^{1/(p-1)}$ and $1/\kappa = r^{1/(p-1)}\,\text{more}$ with $r = m\,\text{more}$."""
        rate = self.mass * -step
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            dear = (rate / rate.min()) ** (1.0 / (self.p - 1.0))
            return -base * dear, 1.0 / (dear * -step)


@dataclass(frozen=True)
class Ranked:
    r"""The form $\sum_i w_i z_{(i)}$: the utilities in ascending order, times weights that never increase.

    Attributes:
        weights: one for each rank, the worst-off first, or a function that gives them for n agents; None for
            $w_i = (2(n-i)+1)/n^2$.
        mass: as many agents as each one counts, n together; None where all count alike.
    """

    weights: AnyArray | Callable[[int], AnyArray] | None = None
    mass: np.ndarray | None = None

    of_loads: ClassVar[bool] = False
    is_curved: ClassVar[bool] = False
    needs_non_negative: ClassVar[bool] = False
    steepness: ClassVar[float] = math.inf

    def judges(self, kind: Kind) -> bool:
        """For goods and burdens."""
        return True

    def by_rank(self, n_agents: int) -> np.ndarray:
        """The weights for that many agents, checked."""
        weights = gini_weights if self.weights is None else self.weights
        given = weights(n_agents) if callable(weights) else weights
        return np.asarray(check_weights(given, n_agents), dtype=float)

    def among(self, who: Operand) -> Ranked:
        """The same with the agents in this order."""
        return self if self.mass is None else replace(self, mass=self.mass[who])

    def counting(self, entitlements: np.ndarray) -> Ranked:
        """The form in which each agent counts in proportion to its entitlement, and all of them as many as they are."""
        n_agents = len(entitlements)
        return Ranked(self.by_rank(n_agents), entitlements * (n_agents / entitlements.sum()))

    def shared(self, entitlements: np.ndarray | None, n_agents: int) -> Form:
        """The form among so many agents, each weighted by its entitlement; a plainer one where it is the same."""
        ranked = self.counting(np.ones(n_agents) if entitlements is None else entitlements)
        weights = np.asarray(ranked.weights)
        if weights[0] == weights[-1] > 0:
            return AlphaFair(0.0).shared(entitlements, n_agents)
        # With weight on the worst-off alone, or on nobody, leximin decides: by definition, or because all are tied.
        alone = not weights[1:].any() and (ranked.masses >= 1).all()
        return LEXIMIN if alone or not weights.any() else ranked

    def in_units(self, unit: float) -> tuple[Ranked, float]:
        """The same form of z in another unit, and the worth of that unit."""
        return self, unit

    def of(self, Z: Array) -> np.ndarray:
        """The welfare of utilities, agents along the last axis."""
        order = np.argsort(Z, axis=-1)
        until = self.weight_until(np.cumsum(self.masses[order], axis=-1))
        weights = np.diff(until, axis=-1, prepend=0.0)
        return np.asarray((np.take_along_axis(np.asarray(Z), order, -1) * weights).sum(axis=-1))

    @property
    def masses(self) -> np.ndarray:
        """The mass of each agent, of a form that is `shared`."""
        assert self.mass is not None
        return self.mass

    def weight_until(self, mass: np.ndarray) -> np.ndarray:
        """The weight of the worst-off of this mass."""
        weights = np.asarray(self.weights)
        return np.asarray(np.interp(mass, np.arange(len(weights) + 1), np.concatenate([[0.0], np.cumsum(weights)])))


Form: TypeAlias = Curves | Ranked


def gini_weights(n_agents: int) -> np.ndarray:
    """The weights for which generalised Gini welfare is the mean times one minus the Gini coefficient."""
    return np.asarray((2 * np.arange(n_agents, 0, -1) - 1) / n_agents**2)


def check_weights(weights: AnyArray, n_agents: int) -> Array:
    """Weights of ranks, refused unless there is one per agent and they never increase."""
    weights = check_finite("weights", weights)
    if weights.shape != (n_agents,):
        raise ValueError(f"weights must have one entry per agent ({n_agents}), got shape {weights.shape}")
    if not is_traced(weights):
        numbers = np.asarray(weights)
        if (np.diff(numbers) > 0).any() or numbers[-1] < 0:
            raise ValueError(f"weights must not increase and not be negative, the worst-off first, got {numbers}")
    return weights
