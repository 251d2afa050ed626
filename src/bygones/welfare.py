r"""How good a vector of remembered utilities is.

A welfare function judges $Z = (z_1,\dots,z_n)$ by one number, larger is better. All functions here work over the last
axis, so $W(Z \mid \mathcal{A})$ of many candidate allocations is one call.

A function with its parameters fixed is a `Welfare`: `parse_welfare("alpha_fair", alpha=2)` or, as on the command line,
`parse_welfare("alpha_fair(alpha=2)")`. Wherever a name is accepted, so is a `Welfare` and any function of $Z$.

The uses of a welfare depend on its *form*, which has the mathematics (`bygones.forms`):

- `AlphaFair`: a sum of one concave curve per agent, or its limits, total utility and the worst-off agent;
- `Ranked`: the utilities in ascending order, times falling weights;
- `PowerOfLoads`: a convex sum of loads, for burdens only;
- None: any other function. It can be evaluated, and nothing more is known about it.

`register` gives a function a name.

Loads of burdens are given with their sign turned, so larger is better there as well. Only a function of the form
`PowerOfLoads` is given the loads themselves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, overload

import numpy as np

from bygones._arrays import AnyArray, Array, Number, check_between, check_finite, is_traced, namespace
from bygones._registry import Registry, as_text, check_parameters
from bygones.forms import AlphaFair, Form, PowerOfLoads, Ranked, check_weights, gini_weights


def utilitarian(Z: AnyArray) -> Array:
    r"""Utilitarian welfare $W_U(Z) = \sum_i z_i$: total utility, blind to who has it."""
    return _sum(_vector(Z))


def egalitarian(Z: AnyArray) -> Array:
    r"""Egalitarian welfare $W_{MMF}(Z) = \min_i z_i$: the worst-off agent's utility. Ties: see `leximin_key`."""
    return _min(_vector(Z))


def nash(Z: AnyArray) -> Array:
    r"""Nash welfare $W_N(Z) = \prod_i z_i$. For learning and for many agents use its logarithm, `log_nash`."""
    return _product(_non_negative("nash", _vector(Z)))


def log_nash(Z: AnyArray, eps: Number = 1e-6) -> Array:
    r"""Logarithmic Nash welfare $\sum_i \log(z_i + \epsilon)$; an empty memory has $W(0) = n\log\epsilon$."""
    _check_eps(eps)
    return _log_sum(_non_negative("log_nash", _vector(Z)), eps)


def alpha_fair(Z: AnyArray, alpha: Number, eps: Number = 1e-6) -> Array:
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


def generalized_gini(Z: AnyArray, weights: AnyArray | None = None) -> Array:
    r"""Generalised Gini welfare $\sum_i w_i z_{(i)}$, the worst-off agent with the largest weight.

    $z_{(1)} \le \dots \le z_{(n)}$ are the sorted utilities and $w_1 \ge \dots \ge w_n \ge 0$. Without weights they
    are $w_i = (2(n-i)+1)/n^2$, for which the welfare is the mean times one minus the Gini coefficient. Equal
    weights give the utilitarian, weights $(1, 0, \dots, 0)$ the egalitarian welfare.
    """
    Z = _vector(Z)
    return _sorted_sum(Z, None if weights is None else check_weights(weights, Z.shape[-1]))


def power_burden(Z: AnyArray, p: Number = 2.0) -> Array:
    r"""The welfare $-\sum_i z_i^p$ of burdens: twice the load is more than twice as bad.

    $p\to 1$ is the total load. As $p\to\infty$ it ranks as the heaviest load does, `egalitarian` for burdens.
    """
    check_between("p", p, 1.0, math.inf, "a finite number above 1", open_low=True, open_high=True)
    return _minus_powers(_non_negative("power_burden", _vector(Z)), p)


def leximin_key(Z: AnyArray) -> Array:
    """The utilities in ascending order: the leximin-better vector has the lexicographically larger key.

    Where two vectors have the same worst-off utility, the second worst decides, and so on. For two plain vectors
    compare `tuple(leximin_key(Z))`.
    """
    Z = _vector(Z)
    return namespace(Z).sort(Z, axis=-1)


@dataclass(frozen=True)
class Welfare:
    """A welfare function with its parameters fixed; call it with Z.

    Attributes:
        name: a registered name, or that of `function`, or `module:name` if it was named so.
        parameters: by name.
        function: None for a registered name, else the function of Z that this welfare is.
    """

    name: str
    parameters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    function: Callable[..., Array] | None = None
    judge: Callable[[Array], Array] = field(init=False, repr=False, compare=False)
    """The same function without its checks, for inner loops that have checked already."""

    def __post_init__(self) -> None:
        entry = self._entry
        check_parameters("welfare", self.name, entry.function, self.parameters, given=1)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        judge = functools.partial(entry.formula, **self.parameters) if self.parameters else entry.formula
        object.__setattr__(self, "judge", judge)

    @property
    def form(self) -> Form | None:
        """The properties of the function besides its values."""
        return self._entry.form(**self.parameters)

    @property
    def needs_non_negative(self) -> bool:
        """Whether it has no value where an agent has less than 0."""
        return self.form is not None and self.form.needs_non_negative

    @property
    def is_named(self) -> bool:
        """Whether its text, `str(welfare)`, describes it fully."""
        return self.function is None

    @property
    def _entry(self) -> _Entry:
        function = functions.part(self.name) if self.function is None else self.function
        return _ENTRIES.get(function) or _Entry(function, function, _formless)

    def __call__(self, Z: AnyArray) -> Array:
        return self._entry.function(Z, **self.parameters)

    def __str__(self) -> str:
        return as_text(self.name, self.parameters)

    def __reduce__(self) -> tuple[type[Welfare], tuple[str, dict[str, object], Callable[..., Array] | None]]:
        return Welfare, (self.name, dict(self.parameters), self.function)

    def __hash__(self) -> int:
        return hash((str(self), self.function))


AnyWelfare: TypeAlias = str | Welfare | Callable[..., Array]
"""A welfare as people give it: a name, a `Welfare`, or a function of Z."""


class _Entry(NamedTuple):
    function: Callable[..., Array]
    formula: Callable[..., Array]
    """The function without its checks."""
    form: Callable[..., Form | None]
    """The form, given the parameters."""


functions: Registry[Array] = Registry("welfare", "a function of Z", given=1, takes_text=False)
"""The welfare functions by name."""

_ENTRIES: dict[Callable[..., Array], _Entry] = {}
"""The properties registered with each function."""


def _formless(**parameters: object) -> Form | None:
    return None


@overload
def register(function: Callable[..., Array], /) -> Callable[..., Array]: ...


@overload
def register(
    *, form: Callable[..., Form | None] = ..., formula: Callable[..., Array] | None = ...
) -> Callable[[Callable[..., Array]], Callable[..., Array]]: ...


def register(
    function: Callable[..., Array] | None = None,
    /,
    *,
    form: Callable[..., Form | None] = _formless,
    formula: Callable[..., Array] | None = None,
) -> Callable[..., Array] | Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Gives a welfare function its name on the command line and in settings. A decorator, with or without arguments.

    Args:
        function: takes Z, agents along its last axis, and its parameters by name; larger is better. Loads of a burden
            are given below zero, as -3 for a load of 3.
        form: takes the same parameters and returns the form, which makes `allocate` exact for large problems. Without
            one, nothing is known of the function but its values.
        formula: the same function without checks, for inner loops.
    """

    def add(function: Callable[..., Array]) -> Callable[..., Array]:
        functions.add(function, name=function.__name__)
        _ENTRIES[function] = _Entry(function, formula or function, form)
        return function

    return add if function is None else add(function)


def names() -> tuple[str, ...]:
    """The names of all registered welfare functions."""
    return functions.names()


def parse_welfare(welfare: AnyWelfare, /, **parameters: object) -> Welfare:
    """The welfare of a name, as in `parse_welfare("alpha_fair", alpha=2)` or `parse_welfare("alpha_fair(alpha=2)")`.

    Spaces and empty brackets make no difference: `"nash"`, `" nash"` and `"nash()"` are one welfare. A function that is
    registered is the welfare of its name; any other function of Z is taken unchanged.
    """
    if isinstance(welfare, Welfare):
        if not parameters:
            return welfare
        return Welfare(welfare.name, {**welfare.parameters, **parameters}, welfare.function)
    if isinstance(welfare, str):
        entry = functions.read(welfare, **parameters)
        return Welfare(entry.name, entry.parameters, entry.part if ":" in entry.name else None)
    if not callable(welfare):
        raise ValueError(f"welfare must be a name such as 'nash', a Welfare, or a function of Z, got {welfare!r}")
    name = functions.name_of(welfare)
    if name is not None:
        return Welfare(name, parameters)
    return Welfare(getattr(welfare, "__name__", type(welfare).__name__), parameters, welfare)


def judged(welfare: Welfare, Z: Array) -> Array:
    """The welfare of Z, refused unless it is one number per leading index."""
    value = welfare(Z)
    if np.shape(value) != np.shape(Z)[:-1]:
        raise ValueError(
            f"welfare {welfare} must judge the last axis of Z, one number per leading index, "
            f"got shape {np.shape(value)} for Z of shape {np.shape(Z)}"
        )
    return value


def check_axis(welfare: Welfare, n_agents: int) -> None:
    """Refuses a function that does not judge the last axis of Z.

    It is tried on another number of rows than of agents: in a square, the sum over the wrong axis has the right shape.
    """
    with np.errstate(all="ignore"):
        judged(welfare, np.ones((3 if n_agents == 2 else 2, n_agents)))


def as_judge(welfare: AnyWelfare) -> Welfare:
    """The welfare by which learning is rewarded, in the form that shares one compiled program with most others.

    The name `nash` means log-Nash here, as in the paper's experiments; a `Welfare` or a function is taken unchanged.
    Total utility, log-Nash and the worst-off agent are α-fair welfare at α = 0, 1 and ∞.
    """
    chosen = parse_welfare(welfare)
    if isinstance(welfare, str) and chosen.name == "nash":
        chosen = parse_welfare("log_nash")
    form = chosen.form
    if not isinstance(form, AlphaFair) or form.product:
        return chosen
    if not form.eps and 1 <= form.alpha < math.inf:
        return chosen  # `alpha_fair` is shifted by ε there, and a function of someone's own may not be.
    return parse_welfare("alpha_fair", alpha=float(form.alpha), eps=float(form.eps or 1e-6))


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
        weights = gini_weights(Z.shape[-1])
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


def _alpha_fair_at_traced(Z: Array, alpha: Number, eps: Number) -> Array:
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


def _minus_powers(Z: Array, p: Number = 2.0) -> Array:
    return -(Z**p).sum(axis=-1)


def _vector(Z: AnyArray) -> Array:
    Z = check_finite("Z", Z)
    if Z.ndim == 0 or Z.shape[-1] == 0:
        raise ValueError(f"Z must have at least one agent along its last axis, got shape {Z.shape}")
    return Z


def _non_negative(name: str, Z: Array) -> Array:
    return check_between("Z", Z, 0.0, math.inf, f"at least 0 for {name} welfare")


def _check_eps(eps: Number) -> None:
    check_between("eps", eps, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)


register(formula=_sum, form=lambda: AlphaFair(0.0))(utilitarian)
register(formula=_min, form=lambda: AlphaFair(math.inf))(egalitarian)
register(formula=_product, form=lambda: AlphaFair(1.0, product=True))(nash)
register(formula=_log_sum, form=lambda eps=1e-6: AlphaFair(1.0, eps))(log_nash)
register(formula=_alpha_fair, form=lambda alpha, eps=1e-6: AlphaFair(alpha, eps))(alpha_fair)
register(formula=_sorted_sum, form=lambda weights=None: Ranked(weights))(generalized_gini)
register(formula=_minus_powers, form=lambda p=2.0: PowerOfLoads(p))(power_burden)
