r"""How good a vector of remembered utilities is.

A welfare function judges $Z = (z_1,\dots,z_n)$ by one number, larger is better. All functions here work over the
last axis, so that $W(Z \mid \mathcal{A})$ of many candidate allocations is one call.

A function with parameters becomes a `Welfare` when they are fixed: `named("alpha_fair", alpha=2)` or, as on the
command line, `named("alpha_fair(alpha=2)")`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from bygones._arrays import Array, Number, check_between, check_finite, is_traced, namespace


def utilitarian(Z: Array) -> Array:
    r"""Utilitarian welfare $W_U(Z) = \sum_i z_i$: total utility, blind to who has it."""
    return _sum(_vector(Z))


def egalitarian(Z: Array) -> Array:
    r"""Egalitarian welfare $W_{MMF}(Z) = \min_i z_i$: the worst-off agent's utility. Ties: see `leximin_key`."""
    return _min(_vector(Z))


def nash(Z: Array) -> Array:
    r"""Nash welfare $W_N(Z) = \prod_i z_i$. For learning and for many agents use its logarithm, `log_nash`."""
    return _product(_non_negative("nash", _vector(Z)))


def log_nash(Z: Array, eps: Number = 1e-6) -> Array:
    r"""Logarithmic Nash welfare $\sum_i \log(z_i + \epsilon)$; an empty memory has $W(0) = n\log\epsilon$."""
    _check_eps(eps)
    return _log_sum(_non_negative("log_nash", _vector(Z)), eps)


def alpha_fair(Z: Array, alpha: Number, eps: Number = 1e-6) -> Array:
    r"""α-fair welfare $\sum_i z_i^{1-\alpha}/(1-\alpha)$, from total utility to the worst-off agent.

    $\alpha=0$ is utilitarian and $\alpha=1$ is `log_nash`. From $\alpha=1$ on, where an agent with nothing would be
    infinitely bad, $z_i + \epsilon$ takes the place of $z_i$. As $\alpha\to\infty$ it ranks as `egalitarian`
    does, and `alpha=inf` is `egalitarian`.
    """
    check_between("alpha", alpha, 0.0, math.inf, "at least 0 (infinity is egalitarian)")
    _check_eps(eps)
    Z = _vector(Z)
    if not is_traced(alpha) and alpha not in (0, math.inf):
        _non_negative("alpha_fair", Z)
    return _alpha_fair(Z, alpha, eps)


def generalized_gini(Z: Array, weights: Array | None = None) -> Array:
    r"""Generalised Gini welfare $\sum_i w_i z_{(i)}$, the worst-off agent with the largest weight.

    $z_{(1)} \le \dots \le z_{(n)}$ are the sorted utilities and $w_1 \ge \dots \ge w_n \ge 0$. Without weights they
    are $w_i = (2(n-i)+1)/n^2$, for which the welfare is the mean times one minus the Gini coefficient. Equal
    weights give the utilitarian, weights $(1, 0, \dots, 0)$ the egalitarian welfare.
    """
    Z = _vector(Z)
    n_agents = Z.shape[-1]
    if weights is None:
        return _sorted_sum(Z)
    weights = check_finite("weights", weights)
    if weights.shape != (n_agents,):
        raise ValueError(f"weights must have one entry per agent ({n_agents}), got shape {weights.shape}")
    if not is_traced(weights):
        numbers = np.asarray(weights)
        if (np.diff(numbers) > 0).any() or numbers[-1] < 0:
            raise ValueError(f"weights must not increase and not be negative, the worst-off first, got {numbers}")
    return _sorted_sum(Z, weights)


def leximin_key(Z: Array) -> Array:
    """The utilities in ascending order: the leximin-better vector has the lexicographically larger key.

    Where two vectors have the same worst-off utility, the second worst decides, and so on. For two plain vectors
    compare `tuple(leximin_key(Z))`.
    """
    Z = _vector(Z)
    return namespace(Z).sort(Z, axis=-1)


@dataclass(frozen=True)
class Welfare:
    """A welfare function with its parameters fixed; call it with Z."""

    name: str
    parameters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    judge: Callable[[Array], Array] = field(init=False, repr=False, compare=False)
    """The same function without its checks, for inner loops that have checked already."""

    def __post_init__(self) -> None:
        if self.name not in REGISTRY:
            raise ValueError(f"welfare must be one of {', '.join(REGISTRY)}, got {self.name!r}")
        known = [name for name in inspect.signature(REGISTRY[self.name]).parameters if name != "Z"]
        for name in self.parameters:
            if name not in known:
                raise ValueError(f"welfare {self.name} takes {', '.join(known) or 'no parameters'}, got {name!r}")
        if self.name == "alpha_fair" and "alpha" not in self.parameters:
            raise ValueError("welfare alpha_fair needs its alpha, e.g. alpha_fair(alpha=2)")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "judge", functools.partial(_FORMULAS[self.name], **self.parameters))

    @property
    def needs_non_negative(self) -> bool:
        """Whether it has no value where an agent has less than 0."""
        return self.name in ("nash", "log_nash") or (
            self.name == "alpha_fair" and self.parameters["alpha"] not in (0, math.inf)
        )

    def __call__(self, Z: Array) -> Array:
        return REGISTRY[self.name](Z, **self.parameters)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name

    def __reduce__(self) -> tuple[type[Welfare], tuple[str, dict[str, object]]]:
        return Welfare, (self.name, dict(self.parameters))

    def __hash__(self) -> int:
        return hash(str(self))


REGISTRY: dict[str, Callable[..., Array]] = {
    function.__name__: function for function in (utilitarian, egalitarian, nash, log_nash, alpha_fair, generalized_gini)
}
"""Every welfare function by its name on the command line and in settings."""


def named(name: str | Welfare, **parameters: object) -> Welfare:
    """The welfare of that name: `named("nash")`, `named("alpha_fair", alpha=2)`, `named("alpha_fair(alpha=2)")`."""
    if isinstance(name, Welfare):
        return Welfare(name.name, {**name.parameters, **parameters})
    base, said = _parse(name)
    return Welfare(base, {**said, **parameters})


def _parse(text: str) -> tuple[str, dict[str, object]]:
    if not isinstance(text, str):
        raise ValueError(f"welfare must be a name such as 'nash' or 'alpha_fair(alpha=2)', got {text!r}")
    name, opened, inside = text.strip().partition("(")
    name = name.strip().replace("-", "_")
    if not opened:
        return name, {}
    try:
        call = ast.parse(f"dict({inside}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            return name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        raise ValueError
    except (SyntaxError, ValueError):
        raise ValueError(f"welfare must be a name or name(parameter=number), got {text!r}") from None


def _sum(Z: Array) -> Array:
    return Z.sum(axis=-1)


def _min(Z: Array) -> Array:
    return Z.min(axis=-1)


def _product(Z: Array) -> Array:
    return Z.prod(axis=-1)


def _log_sum(Z: Array, eps: Number = 1e-6) -> Array:
    return namespace(Z, eps).log(Z + eps).sum(axis=-1)


def _sorted_sum(Z: Array, weights: Array | None = None) -> Array:
    if weights is None:
        n_agents = Z.shape[-1]
        weights = (2 * np.arange(n_agents, 0, -1) - 1) / n_agents**2
    return (namespace(Z).sort(Z, axis=-1) * weights).sum(axis=-1)


def _alpha_fair(Z: Array, alpha: Number, eps: Number = 1e-6) -> Array:
    if not isinstance(alpha, float) and is_traced(alpha):
        return _alpha_fair_at_traced(Z, alpha, eps)
    if alpha == 0:
        return _sum(Z)
    if alpha == 1:
        return _log_sum(Z, eps)
    if alpha == math.inf:
        return _min(Z)
    shifted = Z + eps if alpha > 1 else Z
    return (shifted ** (1.0 - alpha)).sum(axis=-1) / (1.0 - alpha)


_FORMULAS: dict[str, Callable[..., Array]] = {
    "utilitarian": _sum,
    "egalitarian": _min,
    "nash": _product,
    "log_nash": _log_sum,
    "alpha_fair": _alpha_fair,
    "generalized_gini": _sorted_sum,
}


def _alpha_fair_at_traced(Z: Array, alpha: Array, eps: Number) -> Array:
    """`alpha_fair` where the case is known only when the program runs: every case is computed, one is taken."""
    xp = namespace(Z, alpha)
    is_power = (alpha != 0) & (alpha != 1) & (alpha != math.inf)
    order = xp.where(is_power, 1.0 - alpha, 0.5)
    # A base of one where no power is wanted keeps its gradient finite.
    shifted = xp.where(is_power, Z + xp.where(alpha > 1, eps, 0.0), 1.0)
    powers = (shifted**order).sum(axis=-1) / order
    logs = xp.log(xp.where(alpha == 1, Z, 1.0) + eps).sum(axis=-1)
    others = xp.where(alpha == 0, Z.sum(axis=-1), Z.min(axis=-1))
    return xp.where(is_power, powers, xp.where(alpha == 1, logs, others))


def _vector(Z: Array) -> Array:
    Z = check_finite("Z", Z)
    if Z.ndim == 0 or Z.shape[-1] == 0:
        raise ValueError(f"Z must have at least one agent along its last axis, got shape {Z.shape}")
    return Z


def _non_negative(name: str, Z: Array) -> Array:
    return check_between("Z", Z, 0.0, math.inf, f"at least 0 for {name} welfare")


def _check_eps(eps: Number) -> None:
    check_between("eps", eps, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)
