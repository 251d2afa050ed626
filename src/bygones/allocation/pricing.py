r"""The price of a unit of utility for each agent, so a decision looks ahead.

Deciding by welfare one step at a time serves the agent who is behind, even when it hardly needs it today. A decision by
prices takes the allocation of largest $\sum_i \lambda_i u_i$: an agent with little has a high price, and waits
for a step that is worth it. For smooth welfare the price is the gradient $\lambda = \nabla W$ at the total
received, which is asymptotically optimal (Stolyar 2005); with an exponential average of the past, as in
proportional-fair scheduling (Kushner and Whiting 2004), that average is the paper's discounted memory.

A short memory is noisy, and a steep price of a noisy number does harm. So the price has a temperature, which follows
from the length of the memory:

$$ \log\lambda_i = p_i - c\,\frac{Z_i - \sigma_i\bar Z}{\bar Z + m} $$

Here $p_i$ is learned (`bygones.memory.priced`) or calibrated, $c$ is less where needs linger, $\sigma_i$ is the share
that these prices imply, and $m$ is the utility of being served once. A memory that learns no prices has

$$ \log\lambda_i = -\kappa\,\log\frac{Z_i+m}{\bar Z+m}, \qquad \kappa = \min\bigl(\alpha,\ a\sqrt{N k/n}\bigr), $$

$N$ being the number of steps remembered: at most as steep as the welfare, and no steeper than mirror descent over
$N$ steps would be.

Burdens are the same with the sign turned. The allocation of least $\sum_i \lambda_i u_i$ is taken, and prices rise with
recent work: $\log\lambda_i = +\kappa\log\frac{Z_i+m}{\bar Z+m}$, where $\alpha = p-1$ for the welfare
$-\sum_i Z_i^p$, whose gradient is a price again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import Protocol, TypeAlias

import numpy as np

from bygones._arrays import AnyArray, Number, at_least
from bygones._parts import needed_by
from bygones.allocation.outlook import check_state
from bygones.allocation.problem_contract import Problem
from bygones.forms import Form, Ranked
from bygones.kinds import Kind
from bygones.memory import Memory, check_entitlements
from bygones.memory.contract import AnyState
from bygones.memory.exact_sums import per_agent
from bygones.memory.priced import STEP, Priced, PricedState, steadiness
from bygones.welfare import AnyWelfare, Welfare, parse_welfare

CORRECTION = 0.25
"""c, how strongly the memory corrects around learned or calibrated prices; less where needs linger."""

_TINY = float(np.finfo(float).tiny)


def prices(
    problem: Problem,
    memory: Memory,
    state: AnyState,
    welfare: AnyWelfare,
    *,
    elapsed: Number = 1,
    entitlements: AnyArray | None = None,
    calibration: PricedState | None = None,
) -> np.ndarray:
    r"""$\lambda$: the price of a unit of utility for each agent, 1 on (geometric) average.

    Args:
        problem: the problem to decide now, which sets the utility of being served once.
        memory: how the past is remembered. One that learns prices, `Priced`, is used with its learned prices.
        state: the recent totals.
        welfare: what the prices serve; an α-fair or a ranked welfare, or `power_burden` for burdens.
        elapsed: time since the last utilities, in steps of the memory.
        entitlements: per agent.
        calibration: prices for a memory that learns none; see `bygones.allocation.calibrate`. They do not change,
            so the memory corrects around them more strongly.
    """
    check_state(memory, state, problem.n_agents, elapsed)
    pricing = pricing_of(problem, memory, welfare, entitlements, calibration)
    return pricing.prices(state, problem, elapsed)


class _Place(Protocol):
    """The numbers of a problem that prices depend on."""

    @property
    def worth_once(self) -> float | np.ndarray: ...
    @property
    def share_served(self) -> float: ...


_Who: TypeAlias = np.ndarray | slice | EllipsisType
_Some: TypeAlias = Callable[[_Who], np.ndarray]
"""Numbers of the agents asked for; `...` is everyone."""


@dataclass(frozen=True, eq=False)
class PriceList:
    """Prices, computed only for the agents in question: a choice among a million never needs all of them at a time.

    Attributes:
        of: the prices of some agents, up to a factor that they share; of everyone, 1 on (geometric) average.
    """

    of: _Some

    @cached_property
    def all(self) -> np.ndarray:
        """Everyone's price."""
        return self.of(...)


@dataclass(frozen=True, eq=False)
class Pricing:
    """How prices follow from a memory, for one welfare; leading axes of a state are a batch.

    Attributes:
        memory: how the past is remembered.
        form: the form of the welfare that the prices serve.
        entitlements: per agent, or None if all are equal.
        kind: `good` or `burden`.
        calibration: prices for a memory that learns none.
    """

    memory: Memory
    form: Form
    entitlements: AnyArray | None = None
    kind: Kind = "good"
    calibration: PricedState | None = None

    def prices(self, state: AnyState, problem: _Place, elapsed: Number = 1) -> np.ndarray:
        r"""$\lambda$, 1 on (geometric) average."""
        return self.at(*self.remembered(state, problem, elapsed), state, problem).all

    def remembered(self, state: AnyState, problem: _Place, elapsed: Number = 1) -> tuple[np.ndarray, np.ndarray]:
        """The memory as totals, faded until now, and how many steps they rest on."""
        return _remembered(self.memory, state, elapsed, problem)

    def at(self, past: np.ndarray, steps: np.ndarray, state: AnyState, problem: _Place) -> PriceList:
        """The prices where the past, as totals over so many steps, is known already."""
        if self.form.steepness == 0:
            return PriceList(lambda who: np.ones_like(past[who]))
        learned = state if isinstance(state, PricedState) else self.calibration
        if past.min() < 0:  # as an offset in a ledger can make it
            past = past - np.minimum(past.min(axis=-1, keepdims=True), 0.0)
        if learned is None:
            logs = self._followed(past, steps, problem)
        elif learned is state:
            trust = steadiness(at_least(learned.squares, 1.0), learned.drift_squares)
            logs = self._corrected(past, learned, per_agent(CORRECTION * trust))
        else:
            logs = self._corrected(past, learned, np.maximum(CORRECTION, self._steepness(steps, problem))[..., None])
        if isinstance(self.form, Ranked):
            scores, weights = logs(...) + 1.0, self.form.by_rank(past.shape[-1])
            mixed = np.asarray(np.apply_along_axis(_nearest_mixture, -1, scores, weights))
            return PriceList(lambda who: mixed[who])
        return PriceList(lambda who: _exponential(logs(who)))

    def _followed(self, past: np.ndarray, steps: np.ndarray, problem: _Place) -> _Some:
        """Logarithms of prices that follow from the recent totals alone."""
        level = past if self.entitlements is None else levels(past, self._in_average_units)
        once = np.asarray(np.maximum(problem.worth_once, _TINY))[..., None]
        steepness = -self._sign * self._steepness(steps, problem)[..., None]

        def logs(who: _Who) -> np.ndarray:
            some = level[who] + once
            np.log(some, out=some)
            if who is ...:
                some -= _mean(some)
            some *= steepness
            return np.asarray(some)

        return logs

    def _corrected(self, past: np.ndarray, learned: PricedState, correction: Number) -> _Some:
        """Logarithms of prices that were learned, corrected by the recent totals; both add up to 0."""
        usual = _mean(past)
        fair = None if self._learning.shares_are_equal else usual * self._learning.shares(learned)
        steepness = -self._sign * correction / at_least(usual + per_agent(learned.largest), _TINY)

        def logs(who: _Who) -> np.ndarray:
            some = past[who] - (usual if fair is None else fair[who])
            some *= steepness
            some += learned.log_prices[who]
            return np.asarray(some)

        return logs

    def _steepness(self, steps: np.ndarray, problem: _Place) -> np.ndarray:
        """No steeper than mirror descent over the steps that are remembered, and at most as steep as the welfare."""
        return np.asarray(
            np.minimum(self.form.steepness, STEP * np.sqrt(np.maximum(steps, 1.0) * problem.share_served))
        )

    @cached_property
    def _in_average_units(self) -> np.ndarray:
        """The entitlements, 1 on average over agents who have one, so their unit does not matter."""
        weights = np.asarray(self.entitlements, dtype=float)
        return np.asarray(weights / weights[weights > 0].mean())

    @cached_property
    def _sign(self) -> float:
        return -1.0 if self.kind == "burden" else 1.0

    @cached_property
    def _learning(self) -> Priced:
        return Priced(self.memory, self.form.steepness, self.entitlements, kind=self.kind)


def pricing_of(
    problem: Problem,
    memory: Memory,
    welfare: AnyWelfare,
    entitlements: AnyArray | None = None,
    calibration: PricedState | None = None,
) -> Pricing:
    """How prices of this problem follow from the memory."""
    if entitlements is not None:
        entitlements = check_entitlements(entitlements, problem.n_agents, exempt=problem.is_burden)
    return Pricing(memory, price_form(parse_welfare(welfare)), entitlements, problem.kind, calibration)


def learning(memory: Memory, welfare: AnyWelfare, entitlements: AnyArray | None = None, kind: Kind = "good") -> Priced:
    """The memory, extended to learn prices for this welfare."""
    alpha = price_form(parse_welfare(welfare)).steepness
    return Priced(memory, alpha if alpha > 0 else math.inf, entitlements, kind=kind)


def price_form(welfare: Welfare) -> Form:
    """The form of a welfare, refused where it has none."""
    form = welfare.form
    if form is None:
        raise ValueError(
            f"rule 'prices' needs a welfare of known form (Welfare.form), and {welfare} has none: "
            "use one such as 'nash', or rule 'one-step'"
        )
    return form


def _remembered(memory: Memory, state: AnyState, elapsed: Number, problem: _Place) -> tuple[np.ndarray, np.ndarray]:
    """The memory as totals, faded until now, and how many steps they rest on."""
    if isinstance(memory, Priced):
        assert isinstance(state, PricedState)
        return _remembered(memory.memory, state.remembered, elapsed, problem)
    d = memory.denominator(state)
    if d is None:
        # As many steps as would have made the total, had all been like this one.
        Z = np.asarray(memory.faded(state, elapsed), dtype=float)
        a_step = np.asarray(problem.worth_once) * problem.share_served
        return Z, np.divide(Z.mean(axis=-1), a_step, out=np.zeros(Z.shape[:-1]), where=a_step > 0)
    if not memory.average:
        return np.asarray(memory.faded(state, elapsed), dtype=float), np.asarray(d)
    after = memory.advance(state, np.zeros(memory.n_agents(state)), elapsed)
    return np.asarray(memory.read(after) * np.asarray(memory.denominator(after))[..., None], dtype=float), np.asarray(d)


def _exponential(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(logs, out=logs))


def _mean(values: np.ndarray) -> np.ndarray:
    # NumPy's own mean takes several times as long for a few agents.
    total: np.ndarray = np.add.reduce(values, axis=-1)
    return np.asarray(per_agent(total / values.shape[-1]))


def levels(past: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The past per unit of entitlement; those without any count as the others do on average."""
    counts = weights > 0
    level = np.divide(past, weights, out=np.zeros_like(past), where=counts)
    return (
        np.asarray(level) if counts.all() else np.where(counts, level, level[..., counts].mean(axis=-1, keepdims=True))
    )


def _nearest_mixture(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mixture of orders of the weights that is closest to the scores, the weights being 1 on average."""
    with needed_by("computing prices of generalised Gini welfare"):
        from scipy.optimize import isotonic_regression
    weights = weights * (len(weights) / weights.sum())
    order = np.argsort(-scores)
    # The nearest point of a permutohedron has the order of the scores; the rest is a monotone regression.
    excess = isotonic_regression(scores[order] - weights, increasing=False).x
    nearest = np.empty_like(scores)
    nearest[order] = scores[order] - excess
    return nearest
