r"""What a unit of utility counts for each agent, so that a decision looks ahead.

Deciding by welfare one step at a time serves whoever is behind, even when that agent hardly needs it today. A decision
by prices takes the allocation of largest $\sum_i \lambda_i u_i$: whoever has had little has a high price, and waits
for a step that is worth it. For smooth welfare the price is the gradient $\lambda = \nabla W$ at what has been
received, which is asymptotically optimal (Stolyar 2005); with an exponential average of the past, as in
proportional-fair scheduling (Kushner and Whiting 2004), that average is the paper's discounted memory.

A short memory is noisy, and a steep price of a noisy number does harm. So the price has a temperature, which follows
from how much is remembered:

$$ \log\lambda_i = p_i - c\,\frac{Z_i - \sigma_i\bar Z}{\bar Z + m} $$

Here $p_i$ is learned (`bygones.memory.priced`) or calibrated, $\sigma_i$ is the share that these prices imply, and $m$
is the utility of being served once. A memory that learns no prices has

$$ \log\lambda_i = -\kappa\,\log\frac{Z_i+m}{\bar Z+m}, \qquad \kappa = \min\bigl(\alpha,\ a\sqrt{N k/n}\bigr), $$

$N$ being the number of steps remembered: at most as steep as the welfare, and no steeper than mirror descent over
$N$ steps would be.

Burdens are the same with the sign turned. The allocation of least $\sum_i \lambda_i u_i$ is taken, and prices rise with
what has been carried: $\log\lambda_i = +\kappa\log\frac{Z_i+m}{\bar Z+m}$, where $\alpha = p-1$ for the welfare
$-\sum_i Z_i^p$, whose gradient is a price again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from bygones._arrays import AnyArray, Number
from bygones.allocation.problems import Problem
from bygones.kinds import Kind
from bygones.memory import Memory, check_entitlements
from bygones.memory.priced import STEP, Priced, PricedState
from bygones.welfare import AlphaFair, AnyWelfare, PowerOfLoads, Ranked, Welfare, named

CORRECTION = 0.25
"""c, how strongly the memory corrects around learned or calibrated prices."""


def prices(
    problem: Problem,
    memory: Memory,
    state: Any,
    welfare: AnyWelfare,
    *,
    elapsed: Number = 1,
    entitlements: AnyArray | None = None,
    calibration: PricedState | None = None,
) -> np.ndarray:
    r"""$\lambda$: what a unit of utility counts for each agent, 1 on (geometric) average.

    Args:
        problem: what there is to hand out now, which tells what being served once is worth.
        memory: how the past is remembered. One that learns prices, `Priced`, is used with what it has learned.
        state: what is remembered.
        welfare: what the prices serve; an α-fair or a ranked welfare, or `power_burden` for burdens.
        elapsed: time since the last utilities, in steps of the memory.
        entitlements: per agent.
        calibration: prices for a memory that learns none; see `bygones.allocation.calibrate`. They stay as they are,
            so the memory corrects around them more strongly.
    """
    form = price_form(named(welfare))
    n = problem.n_agents
    if isinstance(form, AlphaFair) and form.alpha == 0:
        return np.ones(n)
    weights, sign = np.ones(n), -1.0 if problem.is_burden else 1.0
    if entitlements is not None:
        weights = np.asarray(check_entitlements(entitlements, n, exempt=problem.is_burden), dtype=float)
    Z, steps = _remembered(memory, state, elapsed, problem)
    Z = Z - min(0.0, float(Z.min()))  # an offset in a ledger may take somebody below 0
    learned = state if isinstance(memory, Priced) else calibration
    once = problem.worth_once
    steepness = STEP * math.sqrt(max(steps, 1.0) * problem.share_served)
    alpha = _steepest(form)
    if learned is None:
        counts = weights > 0
        level = np.divide(Z, weights, out=np.zeros(n), where=counts)
        usual, once = float(level[counts].mean()), max(once, np.finfo(float).tiny)
        logs = np.where(counts, -sign * min(alpha, steepness) * np.log((level + once) / (usual + once)), 0.0)
    else:
        once = float(learned.largest) or once
        shares = Priced(memory, alpha, weights, kind=problem.kind).shares(learned)
        scale = max(float(Z.mean()) + once, np.finfo(float).tiny)
        correction = CORRECTION if learned is state else max(CORRECTION, min(alpha, steepness))
        logs = np.asarray(learned.log_prices) - sign * correction * (Z - Z.mean() * shares) / scale
    if isinstance(form, Ranked):
        return _nearest_mixture(logs + 1.0, form.among(n))
    return np.asarray(np.exp(logs - logs.mean()))


def learning(memory: Memory, welfare: AnyWelfare, entitlements: AnyArray | None = None, kind: Kind = "good") -> Priced:
    """The memory that learns prices for this welfare beside what it remembers."""
    alpha = _steepest(price_form(named(welfare)))
    return Priced(memory, alpha if alpha > 0 else math.inf, entitlements, kind=kind)


def _steepest(form: AlphaFair | Ranked | PowerOfLoads) -> float:
    """How steeply a price may follow what is remembered."""
    if isinstance(form, AlphaFair):
        return form.alpha
    return form.p - 1.0 if isinstance(form, PowerOfLoads) else math.inf


def price_form(welfare: Welfare) -> AlphaFair | Ranked | PowerOfLoads:
    """The form of a welfare, refused where it has none."""
    form = welfare.form
    if form is None:
        raise ValueError(
            f"rule 'prices' needs a welfare of known form (Welfare.form), which {welfare} has not: "
            "use one that has, such as 'nash', or rule 'one-step'"
        )
    return form


def _remembered(memory: Memory, state: Any, elapsed: Number, problem: Problem) -> tuple[np.ndarray, float]:
    """The memory as totals, faded until now, and how many steps they rest on."""
    if isinstance(memory, Priced):
        return _remembered(memory.memory, state.remembered, elapsed, problem)
    response, d = memory.response(state, elapsed), memory.denominator(state)
    if response is not None and d is not None and not memory.average:
        return response.base, float(d)
    faded = memory.advance(state, np.zeros(problem.n_agents), elapsed)
    Z = np.asarray(memory.read(faded) if response is None else response.base, dtype=float)
    if d is None:
        # As many steps as would have made the total, had all been like this one.
        a_step = problem.worth_once * problem.share_served
        return Z, float(Z.mean()) / a_step if a_step > 0 else 0.0
    return (Z * np.asarray(memory.denominator(faded), dtype=float) if memory.average else Z), float(d)


def _nearest_mixture(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mixture of orders of the weights that is closest to the scores, the weights being 1 on average."""
    weights = weights * (len(weights) / weights.sum())
    order = np.argsort(-scores)
    # The nearest point of a permutohedron has the order of the scores; what is left is a monotone regression.
    excess = isotonic_regression(scores[order] - weights, increasing=False).x
    nearest = np.empty_like(scores)
    nearest[order] = scores[order] - excess
    return nearest
