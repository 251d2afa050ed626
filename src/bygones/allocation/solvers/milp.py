r"""Everything else: $W(b + Cx)$ is maximised over linear constraints by mixed-integer programming with HiGHS.

Bundles of items, generalised Gini welfare of indivisible things, and linear memories that mix agents. No polynomial
algorithm is known for these: dividing bundles fairly is NP-hard, and so is the densest-subgraph problem that choosing
agents under generalised Gini welfare resembles. Every welfare becomes linear:

- A sum of curves by tangents: $t_i \le \varphi(z) + \varphi'(z)(z_i - z)$, more of them at each solution until
  the curve and its tangents agree there. Where $x$ is whole, no $z_i$ lies between $b_i$ and $b_i$ plus the
  smallest single gain, and there the chord takes the place of steeper tangents.
- Generalised Gini, which is the least $\sum_i w_{\pi(i)} z_i$ over orders $\pi$, by the dual of that assignment:
  the largest $\sum_r \alpha_r + \sum_i m_i\beta_i$ with $\alpha_r + \beta_i \le w_r z_i$.
- Leximin by the sums of the $k$ smallest, one after the other: the largest $k r - \sum_i d_i$ with
  $d_i \ge r - z_i$, $d_i \ge 0$.

A second solution, with the first one excluded, shows whether there may be ties; leximin then decides among them.
The solver sees agents and options in random order, so interchangeable agents have equal chances. All comparisons
are as exact as the solver, about $10^{-6}$ of the largest utility; `gap` is the proven bound.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from bygones.allocation.outlook import Outlook
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.linear_model import Model, Programme
from bygones.allocation.ties import SEEN, first_by_leximin
from bygones.forms import LEXIMIN, Curves, Form

RESOLUTION = 1e-6
"""Differences of welfare below this, in units of the largest utility, are too small for the solver to see."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The best x found; `gap` is how much better another could be at most; a runner-up where x is whole."""

    x: np.ndarray
    gap: float
    optimal: bool
    runner_up: np.ndarray | None = None


def solve(programme: Programme, form: Form, rng: np.random.Generator, time_limit: float | None = None) -> Solution:
    """The best x, proven unless the time limit (in seconds) came first."""
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    unit = max(float(np.abs(programme.base).max()), float(np.abs(programme.response).max()), 1e-300)
    agents, options = rng.permutation(len(programme.base)), rng.permutation(len(programme.upper))
    shuffled = replace(
        programme,
        base=programme.base[agents] / unit,
        response=sparse.csr_array(programme.response / unit)[agents][:, options],
        rows=programme.rows[:, options],
        upper=programme.upper[options],
        some=None if programme.some is None else programme.some[options],
    )
    form, worth = form.in_units(unit)
    solution = _solve(shuffled, form.among(agents), deadline)
    back = np.argsort(options)
    return Solution(
        solution.x[back],
        solution.gap * worth,
        solution.optimal,
        None if solution.runner_up is None else solution.runner_up[back],
    )


def _solve(programme: Programme, form: Form, deadline: float) -> Solution:
    model = Model(programme, form, deadline)
    if isinstance(form, Curves) and form.is_leximin:
        return _by_leximin(model)
    first = _best(model)
    if first is None:
        # Someone stays at zero whatever is done, so every Nash product is zero.
        return _by_leximin(Model(programme, LEXIMIN, deadline))
    if not (first.optimal and programme.whole):
        return first
    # If the best x but this one is worse, nothing ties with it. Else leximin decides among all that are as good.
    excluded = len(model.rows)
    model.exclude(first.x)
    second = _best(model)
    if second is None:
        return first
    score = model.score(first.x)
    if not second.optimal or model.score(second.x) < score - RESOLUTION:
        return replace(first, runner_up=second.x if second.optimal else None)
    del model.rows[excluded]
    model.hold(score - RESOLUTION)
    third = _by_leximin(model)
    # The third may be worse than the others by the solver's resolution, so welfare is compared once more, exactly.
    choices = [choice.x for choice in (first, second, third)]
    best = max(model.score(x) for x in choices)
    equal = [x for x in choices if model.score(x) >= best - SEEN]
    x = equal[first_by_leximin([programme.after(x) for x in equal])]
    other = next(y for y in choices if (y != x).any())
    return Solution(x, max(0.0, first.gap + score - model.score(x)), third.optimal, other)


def _by_leximin(model: Model) -> Solution:
    """The sums of the k smallest, each as large as can be without lowering the ones before."""
    programme = model.programme
    n, x, gap = len(programme.base), None, math.inf
    for k in range(1, n + 1):
        r, d = model.columns(1), model.columns(n, 0.0)
        model.at_most([(r, np.ones((n, 1))), (d, -np.eye(n)), (model.x, -programme.response)], programme.base)
        k_smallest = [(r, np.array([float(k)])), (d, -np.ones(n))]
        optimum = model.maximise(k_smallest)
        if optimum.x is None:
            break
        x = model.clean(optimum.x)
        reached = float(np.sort(programme.after(x))[:k].sum())
        # The least Z is the welfare, and the other sums only break its ties.
        gap = max(0.0, optimum.bound - reached) if k == 1 else gap
        if not optimum.proven:
            break
        if k == n:
            return Solution(x, gap, True)
        # A little less than was reached, or the solver's tolerance could exclude the point that reached it.
        model.at_most([(columns, -vector[None, :]) for columns, vector in k_smallest], np.array([1e-7 - reached]))
    if x is None:
        x = model.greedy()
        gap = float(programme.most().min() - programme.after(x).min())
    return Solution(x, gap, False)


def _best(model: Model) -> Solution | None:
    """The x of largest welfare, with tangents added until they are as good as the curves; None if infeasible."""
    x, bound, stalled = None, math.inf, 0
    while stalled < 3:
        optimum = model.maximise(model.objective)
        if optimum.infeasible:
            return None
        # Below the solver's tolerance tangents no longer lower the bound.
        stalled = stalled + 1 if optimum.bound > bound - 1e-9 * abs(bound) else 0
        bound = min(bound, optimum.bound)
        if optimum.x is None:
            break
        new = model.clean(optimum.x)
        x = new if x is None or model.score(new) > model.score(x) else x
        if not optimum.proven or bound - model.score(x) <= 1e-9 or not model.refine(optimum.x):
            break
    if x is None:
        x, bound = model.greedy(), min(bound, model.score_of(model.programme.most()))
    return Solution(x, max(0.0, bound - model.score(x)), optimum.proven)


def programme_of(options: enumerate.Options, look: Outlook) -> Programme:
    """The integer programme of these options."""
    p, n = len(options.agent), len(options.capacity)
    each = np.arange(p)
    gifts = sparse.csr_array((options.utility, (options.agent, each)), shape=(n, p))
    response = look.mixing if look.mixing is not None else sparse.diags_array(np.broadcast_to(look.slope, n))
    items, item = np.unique(options.item, return_inverse=True)
    rows = sparse.vstack(
        [
            sparse.csr_array((np.ones(p), (item, each)), shape=(len(items), p)),
            sparse.csr_array((np.ones(p), (options.agent, each)), shape=(n, p)),
            sparse.csr_array(np.ones((1, p))),
        ]
    )
    limits = np.concatenate([np.ones(len(items)), options.capacity, [options.total]])
    return Programme(look.base, sparse.csr_array(response @ gifts), sparse.csr_array(rows), limits, np.ones(p), True)
