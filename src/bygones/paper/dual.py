r"""The dual of the best welfare, and the weights that minimise it on a sample of needs.

`bygones.paper.optimum` has the mathematics, and certifies the weights of this module: its bounds hold for any weights,
so the search for them need not be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from bygones._arrays import Floats
from bygones.forms import AlphaFair, Ranked
from bygones.welfare import Welfare

MOST_STEPS, SMALL_GAP = 300, 1e-5
"""The search for the best weights ends after this many steps, or at this relative gap on its sample."""


def best_weights(needs: tuple[Floats, Floats], n_resources: int, judge: Welfare) -> Floats:
    """The weights that minimise the dual on a sample."""
    _, seen = needs
    n_agents = seen.shape[-1]
    equal = np.ones(n_agents)

    def reached(weights: Floats) -> Floats:
        """The utilities of the policy, which are the gradient of the support function."""
        mean: Floats = (served_by(weights, seen, n_resources) * seen).mean(axis=0)
        return mean

    by_rank = weights_by_rank(judge, n_agents)
    if by_rank is not None:
        return _best_mixture(by_rank, reached)
    form = curve_of(judge)

    # Logarithms keep the weights above zero without a constraint.
    def dual_of_logs(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs)
        utilities = reached(weights)
        value = weights @ utilities + form.conjugate(weights)
        return float(value), weights * (utilities - form.inverse(weights))

    # The search starts with all equally well off.
    start = -form.alpha * np.log(reached(equal).mean() + form.shift) * equal
    solution = optimize.minimize(
        dual_of_logs, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-13, "gtol": 1e-7}
    )
    best: Floats = np.exp(solution.x)
    return best


def served_by(weights: Floats, seen: Floats, n_resources: int) -> Floats:
    """Who is served at each step: 1 for the k agents with the largest weight × need."""
    chosen = np.argpartition(-weights * seen, n_resources - 1, axis=-1)[:, :n_resources]
    served = np.zeros(seen.shape)
    np.put_along_axis(served, chosen, 1.0, axis=-1)
    return served


def weights_by_rank(judge: Welfare, n_agents: int) -> Floats | None:
    """The weights g by rank, the worst-off first, of a welfare that is linear in sorted utilities; None of others."""
    form = judge.form
    if isinstance(form, Ranked):
        return form.by_rank(n_agents)
    return {0.0: np.ones(n_agents), math.inf: np.eye(n_agents)[0]}.get(curve_of(judge).alpha)


def curve_of(judge: Welfare) -> AlphaFair:
    """The form of an α-fair welfare."""
    assert isinstance(judge.form, AlphaFair)
    return judge.form


def _best_mixture(by_rank: Floats, reached: Callable[[Floats], Floats]) -> Floats:
    """The mixture w of the orders of g with the least h(w), by spectral projected gradients.

    A step is as long as the last one's curvature suggests (Barzilai and Borwein), and is halved until h is below its
    largest value of late. The best g·u over all orders gives the smallest utility the largest weight, so w·u less that
    is the largest distance of w from the best on this sample.
    """
    weights = np.full_like(by_rank, by_rank.mean())
    utilities = reached(weights)
    step = by_rank.mean() / max(utilities.std(), np.finfo(float).tiny)
    supports = [weights @ utilities]
    best = weights
    for _ in range(MOST_STEPS):
        if supports[-1] - by_rank @ np.sort(utilities) <= SMALL_GAP * supports[-1]:
            break
        way = _nearest_mixture(weights - step * utilities, by_rank) - weights
        share, there = 1.0, reached(weights + way)
        while (weights + share * way) @ there > max(supports[-10:]) and share > SMALL_GAP:
            share /= 2
            there = reached(weights + share * way)
        way *= share
        turn = way @ (there - utilities)
        step = way @ way / turn if turn > 0 else 2 * step
        weights, utilities = weights + way, there
        supports.append(weights @ utilities)
        if supports[-1] == min(supports):
            best = weights
    return best


def _nearest_mixture(point: Floats, by_rank: Floats) -> Floats:
    """The point's projection onto the mixtures of the orders of g: an isotonic regression of the excess."""
    order = np.argsort(-point)
    excess = optimize.isotonic_regression(point[order] - by_rank, increasing=False).x
    nearest = np.empty_like(point)
    nearest[order] = point[order] - excess
    return np.clip(nearest, 0.0, None)
