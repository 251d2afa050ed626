r"""How fast a memory fades, in every unit people use.

Under past discounting a utility received $k$ steps ago counts with weight $\gamma^k$. The same decay can be given as

- the discount factor $\gamma \in [0, 1]$,
- the half-life $t_{1/2} = \ln(1/2) / \ln\gamma$ (Definition 5), after which a weight has halved,
- the tenth-life $t_{1/10} = \ln(1/10) / \ln\gamma$, after which a tenth of it is left,
- the effective window $W_\mathrm{eff} = 1/(1-\gamma)$, the total weight of all the past,
- "at least a share $1-\varepsilon$ of the weight in the last $m$ steps", $\gamma = \varepsilon^{1/m}$.

Every function takes exactly one of these as a keyword and returns another: `half_life(window=100)`,
`gamma(last=30, share=0.95)`. All conversions go through the decay rate $r = -\ln\gamma$, which stays precise where
$\gamma$ is close to one. Perfect recall is $\gamma = 1$ ($r = 0$, everything else infinite); a memory that forgets
everything at once is $\gamma = 0$. A half-life of zero is an error, because it could be read as either.

The module also holds the sizes in the theorems: the denominator $d_t$, the bounds of the additive and the averaged
memory, the responsiveness of the averaged memory, and the number of bins of a grid over the memory. Time counts the
utilities received: after `steps=t` steps the index in Theorems 1 and 2 of the paper is $t-1$.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypedDict, Unpack, cast

import numpy as np

from bygones._arrays import ArrayModule, Number, check_between, check_count, is_traced, namespace, select

_RATE_TIMES = {"half_life": -math.log(1 / 2), "tenth_life": -math.log(1 / 10)}


class DecayOptions(TypedDict, total=False):
    """The keywords that specify a decay. Give exactly one; `last` and `share` go together and count as one."""

    gamma: Number | None
    half_life: Number | None
    tenth_life: Number | None
    window: Number | None
    last: Number | None
    share: Number | None


def rate(**options: Unpack[DecayOptions]) -> Number:
    r"""The decay rate $r = -\ln\gamma$ per step, from exactly one of the keywords below.

    Args:
        gamma: discount factor $\gamma \in [0, 1]$.
        half_life: steps until a weight has halved, $> 0$; infinity is perfect recall.
        tenth_life: steps until a tenth of a weight is left, $> 0$; infinity is perfect recall.
        window: effective window $W_\mathrm{eff} \ge 1$; infinity is perfect recall.
        last: number of recent steps $m > 0$, together with `share`.
        share: share $1-\varepsilon \in (0, 1)$ of the total weight that those steps hold.
    """
    decays = cast("dict[str, Number | None]", options)
    given = {name: value for name, value in decays.items() if value is not None}
    share = given.pop("share", None)
    if len(given) != 1 or (share is not None) != ("last" in given):
        named = [*given, *(["share"] if share is not None else [])]
        raise ValueError(
            "give exactly one of gamma, half_life, tenth_life, window, or last together with share; "
            f"got {' and '.join(named) or 'none of them'}"
        )
    (name, value), *_ = given.items()
    if name == "gamma":
        check_between(name, value, 0.0, 1.0, "between 0 and 1")
        return _quiet(lambda xp: 0.0 - xp.log(value), value)
    if name == "window":
        check_between(name, value, 1.0, math.inf, "at least 1 (1 is gamma=0, infinity is gamma=1)")
        return _quiet(lambda xp: 0.0 - xp.log1p(-1.0 / value), value)
    if name == "last" and share is not None:
        check_between(name, value, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)
        return _surprise(share) / value
    if name not in _RATE_TIMES:
        raise ValueError(f"unknown decay option {name!r}; choose one of {', '.join(DecayOptions.__annotations__)}")
    check_between(
        name, value, 0.0, math.inf, "above 0 (gamma=0 is no memory, gamma=1 is perfect recall)", open_low=True
    )
    return _RATE_TIMES[name] / value


def gamma(**options: Unpack[DecayOptions]) -> Number:
    r"""The discount factor $\gamma = e^{-r}$; with `last` and `share`, the largest one that satisfies them."""
    r = rate(**options)
    exact = options.get("gamma")
    return exact if exact is not None else _quiet(lambda xp: xp.exp(-r), r)


def half_life(**options: Unpack[DecayOptions]) -> Number:
    r"""The half-life $t_{1/2} = \ln 2 / r$: infinite at $\gamma=1$, zero at $\gamma=0$."""
    return _over(_RATE_TIMES["half_life"], rate(**options))


def tenth_life(**options: Unpack[DecayOptions]) -> Number:
    r"""The tenth-life $t_{1/10} = \ln 10 / r$: infinite at $\gamma=1$, zero at $\gamma=0$."""
    return _over(_RATE_TIMES["tenth_life"], rate(**options))


def window(**options: Unpack[DecayOptions]) -> Number:
    r"""The effective window $W_\mathrm{eff} = 1/(1-\gamma) = 1/(1-e^{-r})$: infinite at $\gamma=1$."""
    return _over(1.0, _share(rate(**options), 1.0))


def share_of_last(steps: Number, **options: Unpack[DecayOptions]) -> Number:
    r"""The share $1-\gamma^m$ of the total weight that the last $m$ steps hold (zero under perfect recall)."""
    check_between("steps", steps, 0.0, math.inf, "a finite number of at least 0", open_high=True)
    return _share(rate(**options), steps)


def steps_for_share(wanted: Number, **options: Unpack[DecayOptions]) -> Number:
    r"""The number of recent steps $m = \ln\varepsilon / \ln\gamma$ that hold a `wanted` share $1-\varepsilon$.

    A real number; the smallest whole number of steps is its ceiling. Infinite under perfect recall.
    """
    return _over(_surprise(wanted), rate(**options))


def equivalents(**options: Unpack[DecayOptions]) -> dict[str, Number]:
    """One decay in every unit; also the recent steps that hold 50, 90, 95 and 99% of the weight."""
    shares = {f"steps_for_{percent}%": steps_for_share(percent / 100, **options) for percent in (50, 90, 95, 99)}
    lives = {"half_life": half_life(**options), "tenth_life": tenth_life(**options), "window": window(**options)}
    return {"gamma": gamma(**options), **lives, **shares}


def denominator(gamma: Number, steps: Number = math.inf) -> Number:
    r"""The discounted denominator $d_t = \sum_{k=0}^{t-1}\gamma^k = (1-\gamma^t)/(1-\gamma)$ after `steps` steps.

    Over an infinite horizon it is $W_\mathrm{eff}$; at $\gamma=1$ it is the number of steps itself.
    """
    check_between("steps", steps, 0.0, math.inf, "at least 0")
    r = rate(gamma=gamma)
    remembers_all = r == 0
    forgotten = _share(select(remembers_all, 1.0, r), steps)
    return select(remembers_all, steps, forgotten / select(remembers_all, 1.0, 1.0 - gamma))


def additive_bound(u_max: Number, gamma: Number, steps: Number = math.inf) -> Number:
    r"""The largest additive memory after `steps` steps of utilities in $[0, u_{\max}]$ (Theorems 1 and 2).

    $u_{\max}(1-\gamma^t)/(1-\gamma)$, reached by constant input; over an infinite horizon the supremum
    $u_{\max}/(1-\gamma)$, which no finite history with $0<\gamma<1$ reaches; infinite at $\gamma=1$.
    """
    return _check_positive("u_max", u_max) * denominator(gamma, steps)


def averaged_bound(u_max: Number) -> Number:
    r"""The largest averaged memory: $u_{\max}$ at every horizon and every $\gamma$ (Theorem 4 (i))."""
    return _check_positive("u_max", u_max)


def responsiveness(gamma: Number, steps: Number = math.inf) -> Number:
    r"""The weight $\partial Z^t/\partial u^t = 1/d_t$ of the newest utility in the averaged memory (Theorem 4 (iii)).

    It tends to $1-\gamma$: it vanishes, like $1/t$, only under perfect recall. (In the additive memory the
    newest utility always has weight 1.)
    """
    check_between("steps", steps, 1.0, math.inf, "at least 1")
    return _over(1.0, denominator(gamma, steps))


def bins_perfect_recall(steps: int, bin_width: float, u_max: float = 1.0, n_agents: int = 1) -> int:
    r"""Grid cells needed for additive perfect recall after `steps` steps (Theorem 1), as an exact integer.

    $\lceil t\,u_{\max}/\Delta\rceil$ per coordinate, to the power of the number of coordinates. Decimal
    inputs are read as decimals: a width of 0.1 is one tenth, not the nearest binary fraction.
    """
    return _cells(check_count("steps", steps) * _exact("u_max", u_max), bin_width, n_agents)


def bins_discounted(gamma: float, bin_width: float, u_max: float = 1.0, n_agents: int = 1) -> int:
    r"""Grid cells enough for the additive discounted memory at any horizon (Corollary 1), as an exact integer.

    $\lceil u_{\max}/((1-\gamma)\Delta)\rceil$ per coordinate, to the power of the number of coordinates.
    """
    check_between("gamma", gamma, 0.0, 1.0, "at least 0 and below 1", open_high=True)
    return _cells(_exact("u_max", u_max) / (1 - Fraction(str(gamma))), bin_width, n_agents)


def kept(gamma: Number, elapsed: Number = 1, forgets: Number | None = None) -> tuple[Number, Number]:
    r"""The weights after `elapsed` steps: the share of the past that is left, $\gamma^{e}$, and the share that is gone,
    $1-\gamma^{e}$.

    Both are computed to full precision. `forgets` is $1-\gamma$, for callers who know it more precisely than
    subtraction can give.
    """
    if _is_one_step(elapsed):
        return gamma, 1 - gamma if forgets is None else forgets
    # The floor keeps 0**0 = 1 (an event in the same instant) from becoming 0 * log(0).
    taken = _quiet(lambda xp: 0.0 - xp.expm1(elapsed * xp.log(xp.maximum(gamma, 1e-30))), gamma, elapsed)
    return gamma**elapsed, taken


def _is_one_step(elapsed: Number) -> bool:
    if isinstance(elapsed, int | float):
        return elapsed == 1
    return not is_traced(elapsed) and np.ndim(elapsed) == 0 and bool(elapsed == 1)


def _share(r: Number, steps: Number) -> Number:
    return select(steps == 0, 0.0, _quiet(lambda xp: 0.0 - xp.expm1(-(r * steps)), r, steps))


def _surprise(share: Number) -> Number:
    check_between("share", share, 0.0, 1.0, "strictly between 0 and 1", open_low=True, open_high=True)
    return _quiet(lambda xp: -xp.log1p(-share), share)


def _check_positive(name: str, value: Number) -> Number:
    return check_between(name, value, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)


def _exact(name: str, value: float) -> Fraction:
    return Fraction(str(_check_positive(name, value)))


def _cells(reach: Fraction, bin_width: float, n_agents: int) -> int:
    bins = math.ceil(reach / _exact("bin_width", bin_width))
    return int(bins ** check_count("n_agents", n_agents))


def _over(numerator: Number, divisor: Number) -> Number:
    return _quiet(lambda xp: xp.divide(numerator, divisor), numerator, divisor)


def _quiet(formula: Callable[[ArrayModule], Number], *values: Number) -> Number:
    """Evaluates the formula in NumPy or JAX, as the values are; limits such as 1/0 are intended, scalars are floats."""
    xp = namespace(*values)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = formula(xp)
    return float(result) if xp is np and np.ndim(result) == 0 else result
