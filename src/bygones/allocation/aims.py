r"""What is maximised, by its shape, because the shape decides which exact algorithm applies.

- `Curve`: a sum of one concave curve per agent, $\sum_i \varphi(z_i)$ with $\varphi'(z) = (z+s)^{-\alpha}$. Utilitarian
  is $\alpha=0$, Nash and log-Nash $\alpha=1$, α-fair every other.
- `Leximin`: the worst-off agent first, then the second worst, and so on: egalitarian welfare with its ties resolved.
- `Gini`: the utilities in ascending order times falling weights.

The product $\prod_i z_i$ of Nash welfare is the sum of logarithms where somebody's having nothing can be avoided;
where it cannot, every allocation has the product zero, all are tied, and leximin decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bygones import welfare as functions
from bygones.welfare import REGISTRY, Welfare, named


@dataclass(frozen=True)
class Curve:
    r"""$\sum_i\varphi(z_i)$ with $\varphi'(z) = (z+\text{shift})^{-\alpha}$; `product` marks the Nash product."""

    alpha: float
    shift: float = 0.0
    product: bool = False

    def gain(self, base: Any, step: Any, unit: float = 1.0) -> Any:
        r"""$\varphi(\text{base}+\text{step}) - \varphi(\text{base})$ free of cancellation.

        In units of $\text{unit}^{1-\alpha}$, which keeps steep curves within the range of floating point and does not
        change which gain is larger.
        """
        if self.alpha == 0:
            return step / unit
        start = base + self.shift
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            growth = np.log1p(step / start)
            if self.alpha == 1:
                return growth
            order = 1.0 - self.alpha
            curved = (start / unit) ** order * np.expm1(order * growth) / order
        return curved if self.alpha > 1 else np.where(start > 0, curved, (step / unit) ** order / order)

    def value(self, z: Any, unit: float = 1.0) -> Any:
        r"""$\varphi(z)$ in the same unit."""
        shifted = (z + self.shift) / unit
        if self.alpha == 1:
            with np.errstate(divide="ignore"):
                return np.log(shifted)
        return shifted ** (1.0 - self.alpha) / (1.0 - self.alpha)

    def slope(self, z: Any, unit: float = 1.0) -> Any:
        r"""$\varphi'(z)$ in the same unit."""
        return ((z + self.shift) / unit) ** -self.alpha / unit


@dataclass(frozen=True)
class Leximin:
    """The worst-off first: the lexicographically largest utilities in ascending order."""


@dataclass(frozen=True, eq=False)
class Gini:
    r"""$\sum_i w_i z_{(i)}$ with falling weights and $z$ in ascending order."""

    weights: np.ndarray


Aim: TypeAlias = Curve | Leximin | Gini


def as_welfare(welfare: object) -> Welfare | Callable[[Any], Any]:
    """The welfare said by a name, a `Welfare`, or one of the functions of `bygones.welfare`; other functions as is."""
    if isinstance(welfare, str | Welfare):
        return named(welfare)
    if callable(welfare):
        name = getattr(welfare, "__name__", "")
        return named(name) if REGISTRY.get(name) is welfare else welfare
    raise ValueError(f"welfare must be a name such as 'nash', a Welfare, or a function of Z, got {welfare!r}")


def aim(welfare: Welfare, base: np.ndarray) -> Aim:
    """The shape of the welfare, refused where the memory is outside its domain."""
    n_agents, said = len(base), dict(welfare.parameters)
    if welfare.name == "generalized_gini":
        return _gini(n_agents, said.get("weights"))
    alpha = {"utilitarian": 0.0, "egalitarian": math.inf, "nash": 1.0, "log_nash": 1.0}.get(welfare.name)
    alpha = float(said["alpha"]) if alpha is None else alpha  # type: ignore[arg-type]
    welfare(np.ones(1))  # its parameters are checked where they are defined
    if alpha == math.inf:
        return Leximin()
    if alpha == 0:
        return Curve(0.0)
    if base.min() < 0:
        bad = int(np.argmin(base))
        raise ValueError(
            f"welfare {welfare} needs remembered utilities of at least 0, got {base[bad]:g} for agent {bad}: "
            "take egalitarian, utilitarian or generalized_gini, or a memory without negative entries"
        )
    if welfare.name == "nash":
        return Curve(1.0, product=True)
    eps = float(said.get("eps", 1e-6))  # type: ignore[arg-type]
    return Curve(alpha, shift=eps if alpha >= 1 else 0.0)


def _gini(n_agents: int, weights: Any) -> Aim:
    """Generalised Gini, or the plainer shape that its weights amount to."""
    if weights is None:
        weights = (2 * np.arange(n_agents, 0, -1) - 1) / n_agents**2
    functions.generalized_gini(np.zeros(n_agents), weights)  # refuses weights that are not falling, or not n of them
    weights = np.asarray(weights, dtype=float)
    if weights[0] == weights[-1] > 0:
        return Curve(0.0)
    # With weight on the worst-off alone, or on nobody, leximin decides: by definition, or because all are tied.
    return Gini(weights) if weights[1:].any() else Leximin()
