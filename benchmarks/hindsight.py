r"""How well anybody could have done: an upper bound on welfare for a sequence of problems, by duality.

Whatever was decided at steps $t = 1, \dots, T$, and however cleverly, the mean utilities $\bar u$ satisfy

$$ \sum_i \lambda_i \bar u_i \le D(\lambda)
   = \frac{1}{T}\sum_t \max_{\mathcal{A}_t} \sum_i \lambda_i u_i(\mathcal{A}_t) $$

for all prices $\lambda \ge 0$. So the lowest utility is at most $D(\lambda)$ for prices that add up to 1, and
$\sum_i\log\bar u_i \le D(\lambda) - n - \sum_i\log\lambda_i$. Every choice of prices gives a valid bound; good prices
give a tight one. The needs are the ones that were met, so the bound includes the luck of the horizon.

For burdens some agent has a load of at least $\sum_i \lambda_i \bar u_i \ge D(\lambda)$, where $D$ now takes the
*least* priced sum of each step. So the heaviest load is at least $D(\lambda)$ for prices that add up to 1. The convex
conjugate of $z^p$ is $(p-1)(\lambda/p)^q$ with $\frac{1}{p} + \frac{1}{q} = 1$. So $\sum_i \bar u_i^p \ge D(\lambda) -
(p-1)\sum_i(\lambda_i/p)^q$; at the best scale of the prices this is Hölder's inequality,

$$ \Bigl(\sum_i \bar u_i^p\Bigr)^{1/p} \ge \frac{D(\lambda)}{\bigl(\sum_i \lambda_i^q\bigr)^{1/q}}, $$

and the heaviest load is the case $p = \infty$, $q = 1$.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.forms import Curves
from bygones.kinds import Kind
from bygones.welfare import AnyWelfare, parse_welfare

ITERATIONS = 200
SAMPLE = 500
"""Problems on which prices are chosen; the bound itself is over all of them."""
SAMPLE_AT_ONCE = 4_000
"""The same for `ChooseK` and `Divide`, which are solved for all of them at once."""


class Hindsight(NamedTuple):
    r"""The bound.

    Attributes:
        upper: no sequence of decisions has a higher lowest utility per step (egalitarian), or a higher geometric mean
            of utilities per step (Nash). Of burdens, welfare is the burden with its sign turned: no sequence has a
            heaviest load per step below $-$`upper` (egalitarian), or a power mean of loads per step,
            $(\frac{1}{n}\sum_i \bar u_i^p)^{1/p}$, below it (`power_burden`).
        prices: the prices that prove it.
    """

    upper: float
    prices: np.ndarray


def hindsight(problems: Sequence[Problem], welfare: AnyWelfare) -> Hindsight:
    """An upper bound on the welfare of mean utilities that any decisions on these problems could have reached.

    Args:
        problems: what there was to hand out, step after step; all of goods or all of burdens.
        welfare: `"egalitarian"`; for goods also `"nash"`, for the geometric mean; for burdens also `"power_burden"`.
    """
    if not problems:
        raise ValueError("problems must hold at least one problem, got none")
    kind = problems[0].kind
    if any(problem.kind != kind for problem in problems):
        raise ValueError("problems must be all of goods or all of burdens, got both")
    alpha = _steepness(welfare, kind)
    every = max(1, len(problems) // (SAMPLE_AT_ONCE if isinstance(problems[0], ChooseK | Divide) else SAMPLE))
    prices = _search(_utilities(problems[::every]), problems[0].n_agents, alpha, kind)
    return _bound(_utilities(problems)(prices), prices, alpha, kind)


def _bound(made: np.ndarray, prices: np.ndarray, alpha: float, kind: Kind) -> Hindsight:
    """What prices prove by the mean utilities of the decisions that are best at them.

    The best scale is known: they add up to 1, or their priced utilities to n.
    """
    n, total = len(prices), float(made @ prices)
    if kind == "burden":
        q = 1.0 + 1.0 / alpha
        norm = float((prices**q).mean() ** (1.0 / q)) * n
        return Hindsight(-total / norm, prices / norm)
    if alpha == math.inf:
        return Hindsight(total / float(prices.sum()), prices / prices.sum())
    prices = prices * (n / total)
    return Hindsight(math.exp(-float(np.log(prices).mean())), prices)


def _steepness(welfare: AnyWelfare, kind: Kind) -> float:
    """Alpha, or p - 1 for burdens; refused where no bound is known."""
    form = parse_welfare(welfare).form
    known = form is not None and form.judges(kind) and (form.of_loads or form.steepness in (1.0, math.inf))
    if isinstance(form, Curves) and known:
        return form.steepness
    accepted = "egalitarian or nash for goods" if kind == "good" else "egalitarian or power_burden for burdens"
    raise ValueError(f"welfare must be {accepted}, got {welfare}")


def _search(utilities: Callable[[np.ndarray], np.ndarray], n: int, alpha: float, kind: Kind) -> np.ndarray:
    """The prices of the tightest bound met on a path of mirror descent, or at the mean of its later half."""
    logs, sign = np.zeros(n), -1.0 if kind == "burden" else 1.0
    seen: list[np.ndarray] = []
    met: list[Hindsight] = []
    squares = np.finfo(float).tiny
    for i in range(ITERATIONS):
        if i == ITERATIONS - 1:
            logs = np.mean(seen[ITERATIONS // 2 :], axis=0)
        made = utilities(np.exp(logs))
        met.append(_bound(made, np.exp(logs), alpha, kind))
        shares = np.exp(-sign * logs / alpha)
        excess = np.clip(made / max(made.mean(), np.finfo(float).tiny) - shares / shares.mean(), -2, 2)
        squares += float((excess**2).mean())
        logs = logs - sign * 0.5 * excess / math.sqrt(squares)
        logs -= logs.mean()
        seen.append(logs)
    return min(met, key=lambda bound: bound.upper).prices


def _utilities(problems: Sequence[Problem]) -> Callable[[np.ndarray], np.ndarray]:
    """The mean utilities of the decisions that are best at given prices."""
    selections = [problem for problem in problems if isinstance(problem, ChooseK)]
    if len(selections) == len(problems) and len({problem.k for problem in selections}) == 1:
        return _of_selections(selections, selections[0].k)
    divisions = [problem for problem in problems if isinstance(problem, Divide)]
    if len(divisions) == len(problems):
        return _of_divisions(divisions)
    matchings = [problem for problem in problems if isinstance(problem, Assign) and _is_matching(problem)]
    if len(matchings) == len(problems):
        return _of_matchings(matchings)
    from bygones.allocation.decide import at_prices

    return lambda prices: np.mean([p.utilities_of(at_prices(p, prices)) for p in problems], axis=0)


def _of_selections(problems: Sequence[ChooseK], k: int) -> Callable[[np.ndarray], np.ndarray]:
    """Those k are chosen whose priced needs are the largest, or the smallest for burdens."""
    needs = np.array([problem.needs for problem in problems])
    order = np.array([_may_carry(problem) for problem in problems]) if problems[0].is_burden else -needs
    rows = np.arange(len(needs))[:, None]

    def utilities(prices: np.ndarray) -> np.ndarray:
        chosen = np.argpartition(order * prices, k - 1, axis=1)[:, :k]
        return np.bincount(chosen.ravel(), needs[rows, chosen].ravel(), len(prices)) / len(needs)

    return utilities


def _of_divisions(problems: Sequence[Divide]) -> Callable[[np.ndarray], np.ndarray]:
    """Agents have as much as they may in the order of their priced rates, until the amount is used up."""
    amounts = np.array([[problem.amount] for problem in problems])
    rates = np.array([problem.rates for problem in problems])
    room = np.minimum([problem.caps for problem in problems], amounts)
    sign = 1.0 if problems[0].is_burden else -1.0

    def utilities(prices: np.ndarray) -> np.ndarray:
        order = np.argsort(sign * rates * prices, axis=1)
        most, rate = np.take_along_axis(room, order, 1), np.take_along_axis(rates, order, 1)
        parts = np.clip(amounts - (np.cumsum(most, axis=1) - most), 0.0, most)
        return np.bincount(order.ravel(), (rate * parts).ravel(), len(prices)) / len(rates)

    return utilities


def _is_matching(problem: Assign) -> bool:
    return not sparse.issparse(problem.utilities) and bool((problem.room == 1).all())


def _of_matchings(problems: Sequence[Assign]) -> Callable[[np.ndarray], np.ndarray]:
    """One item each, matched for the largest priced sum, or the smallest for burdens."""
    burden = problems[0].is_burden
    worth = [
        p.utilities if p.allowed is None else np.where(p.allowed, p.utilities, math.inf if burden else 0.0)
        for p in problems
    ]

    def utilities(prices: np.ndarray) -> np.ndarray:
        made = np.zeros(len(prices))
        for own in worth:
            agents, items = linear_sum_assignment(own * prices[:, None], maximize=not burden)
            made[agents] += own[agents, items]
        return made / len(worth)

    return utilities


def _may_carry(problem: ChooseK) -> np.ndarray:
    """The load of each agent, infinite for agents that may not take any."""
    return problem.needs if problem.allowed is None else np.where(problem.allowed, problem.needs, math.inf)
