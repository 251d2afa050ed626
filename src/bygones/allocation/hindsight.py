r"""How well anybody could have done: an upper bound on welfare for a sequence of problems, by duality.

Whatever was decided at steps $t = 1, \dots, T$, and however cleverly, the mean utilities $\bar u$ satisfy

$$ \sum_i \lambda_i \bar u_i \le D(\lambda)
   = \frac{1}{T}\sum_t \max_{\mathcal{A}_t} \sum_i \lambda_i u_i(\mathcal{A}_t) $$

for all prices $\lambda \ge 0$. So the lowest utility is at most $D(\lambda)$ for prices that add up to 1, and
$\sum_i\log\bar u_i \le D(\lambda) - n - \sum_i\log\lambda_i$. Every choice of prices gives a valid bound; good prices
give a tight one. The needs are the ones that were met, so the bound includes the luck of the horizon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bygones.allocation.problems import ChooseK, Problem
from bygones.welfare import AlphaFair, AnyWelfare, named

ITERATIONS = 200
SAMPLE = 200
"""Problems on which prices are chosen; the bound itself is over all of them."""
SAMPLE_OF_SELECTIONS = 4_000
"""The same for `ChooseK`, which is solved for all of them at once."""


class Hindsight(NamedTuple):
    """The bound.

    Attributes:
        upper: no sequence of decisions has a higher lowest utility per step (egalitarian), or a higher geometric mean
            of utilities per step (Nash).
        prices: the prices that prove it.
    """

    upper: float
    prices: np.ndarray


def hindsight(problems: Sequence[Problem], welfare: AnyWelfare) -> Hindsight:
    """An upper bound on the welfare of mean utilities that any decisions on these problems could have reached.

    Args:
        problems: what there was to hand out, step after step.
        welfare: `"egalitarian"`, or `"nash"` for the geometric mean.
    """
    form = named(welfare).form
    if not isinstance(form, AlphaFair) or form.alpha not in (1.0, math.inf):
        raise ValueError(f"welfare must be egalitarian or nash, got {welfare}")
    if not problems:
        raise ValueError("problems must hold at least one problem, got none")
    if any(problem.is_burden for problem in problems):
        raise ValueError("problems must be of goods: for burdens no bound is known here")
    every = max(1, len(problems) // (SAMPLE_OF_SELECTIONS if isinstance(problems[0], ChooseK) else SAMPLE))
    logs = _search(_utilities(problems[::every]), problems[0].n_agents, form.alpha)
    prices = np.exp(logs)
    # The best scale of the prices is known: they add up to 1, or their priced utilities to n.
    total = float(_utilities(problems)(prices) @ prices)
    if form.alpha == math.inf:
        return Hindsight(total / prices.sum(), prices / prices.sum())
    n = len(prices)
    prices = prices * (n / total)
    return Hindsight(math.exp(-float(np.log(prices).mean())), prices)


def _search(utilities: Callable[[np.ndarray], np.ndarray], n: int, alpha: float) -> np.ndarray:
    """Logarithms of good prices, by mirror descent; the mean of the later half."""
    logs, seen = np.zeros(n), []
    for i in range(ITERATIONS):
        made = utilities(np.exp(logs))
        shares = np.exp(-logs / alpha)
        excess = made / max(made.mean(), np.finfo(float).tiny) - shares / shares.mean()
        logs = logs - 0.5 / math.sqrt(i + 1) * np.clip(excess, -2, 2)
        logs -= logs.mean()
        seen.append(logs)
    return np.asarray(np.mean(seen[ITERATIONS // 2 :], axis=0))


def _utilities(problems: Sequence[Problem]) -> Callable[[np.ndarray], np.ndarray]:
    """The mean utilities of the decisions that are best at given prices."""
    first = problems[0]
    if all(isinstance(problem, ChooseK) and problem.k == first.k for problem in problems):  # type: ignore[attr-defined]
        needs = np.array([problem.needs for problem in problems])  # type: ignore[attr-defined]
        return lambda prices: _of_the_largest(needs, prices, first.k)  # type: ignore[attr-defined]
    from bygones.allocation.decide import at_prices

    return lambda prices: np.mean([p.utilities_of(at_prices(p, prices)) for p in problems], axis=0)


def _of_the_largest(needs: np.ndarray, prices: np.ndarray, k: int) -> np.ndarray:
    served = np.argpartition(-needs * prices, k - 1, axis=1)[:, :k]
    rows = np.arange(len(needs))[:, None]
    return np.bincount(served.ravel(), weights=needs[rows, served].ravel(), minlength=len(prices)) / len(needs)
