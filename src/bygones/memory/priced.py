r"""A memory that also learns a price for each agent: how much a unit of its utility should count.

A decision that looks ahead weighs each agent's utility by a price $\lambda_i$ and takes the allocation of largest
$\sum_i \lambda_i u_i$. The best constant prices of an α-fair welfare $\sum_i \varphi(\bar u_i)$ of mean utilities are
those at which $\lambda_i = \varphi'(\bar u_i)$, and they solve a dual problem by mirror descent (Balseiro, Lu and
Mirrokni 2020): after each step

$$ \log\lambda_i \leftarrow \log\lambda_i - s_t\,g_i, \qquad
   g_i = \frac{u_i - \sigma_i\,\bar u}{v}, \qquad \sigma_i \propto w_i\,\lambda_i^{-1/\alpha}, $$

where $\bar u$ is the step's utility per agent, $\sigma_i$ the agent's share of it at these prices (1 for egalitarian
welfare, where everyone should have the same), $w_i$ its entitlement, and $v$ the usual utility per agent and step. So
prices are a second memory: $n$ more numbers, which stand still where everyone gets the share that the prices imply.

The step is about $s_t = a/\sqrt{\sum_\tau g_\tau^2}$ over `REACH` times as many steps as the fairness memory remembers
(all of them under perfect recall), so there is nothing to tune. A $g^2$ below 1 counts as 1, or small differences that
happen to be steady would move prices as much as large ones. It does not shrink step by step, or an early turn would
count more than a late one, and where all need the same the next turn would go to the agent that had the last. It has
one size for the first `EVEN` rounds and a smaller one whenever the past has doubled; where all need the same, $g^2$ is
$n/k - 1$, and so a round is $1 + g^2$ steps. Needs that linger make successive $g$ alike and their sum noisier than its
terms suggest; the sum is then measured on $g$ smoothed over `SMOOTH` steps, and prices rest on more of the past.

For burdens the signs are turned: the best allocation has the least $\sum_i \lambda_i u_i$, the price of an agent that
took more than its share goes up, and of the welfare $-\sum_i \bar u_i^p$ the shares are $\sigma_i \propto
w_i\,\lambda_i^{1/(p-1)}$, so $\alpha$ stands for $p-1$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bygones._arrays import AnyArray, Array, Number, at_least, is_traced, namespace
from bygones.kinds import Kind, check_kind
from bygones.memory.around import PROMISES, Around
from bygones.memory.contract import AnyState, check_entitlements
from bygones.memory.exact_sums import per_agent

STEP = 0.5
"""a, the size of the first steps of the logarithm of a price."""

REACH = 50.0
"""How many times as much past the prices rest on as the fairness memory remembers."""

EVEN = 30.0
"""The first steps of prices are of one size for so many rounds, in each of which everyone could be served once."""

SMOOTH = 30.0
"""Steps over which the direction of prices is smoothed to see whether it lingers."""


_TINY = float(np.finfo(np.float32).tiny)


def steadiness(squares: Array, drift_squares: Array) -> Array:
    """How much a direction of prices can be trusted, at most 1: less where it lingers, as needs may."""
    return squares / at_least(squares, drift_squares)


class PricedState(NamedTuple):
    """The state of a priced memory.

    Attributes:
        remembered: the state of the fairness memory.
        log_prices: the logarithm of each agent's price, zero on average.
        level: v, the mean utility per agent and step.
        largest: the mean of the largest utility of a step.
        weight: how many steps these means rest on.
        squares: the sum of the squares of g, each at least 1.
        drift: g, summed with exponential weights over `SMOOTH` steps.
        drift_squares: the same sum as `squares`, as measured on `drift`.
    """

    remembered: AnyState
    log_prices: Array
    level: Array
    largest: Array
    weight: Array
    squares: Array
    drift: Array
    drift_squares: Array


@dataclass(frozen=True, eq=False)
class Priced(Around[PricedState]):
    """A fairness memory, and the prices learned alongside. It remembers the same as the fairness memory.

    Attributes:
        memory: the fairness memory.
        alpha: the α of the α-fair welfare that the prices serve, p - 1 for burdens; infinity is egalitarian.
        entitlements: per agent, or None if all are equal.
        start: an earlier state, whose prices are taken but not its memory; None for equal prices.
        kind: `good` or `burden`.
    """

    keeps = tuple(set(PROMISES) - {"forgets_at_once"})  # prices rest on more of the past

    alpha: float = math.inf
    entitlements: AnyArray | None = None
    start: PricedState | None = field(default=None, repr=False)
    kind: Kind = "good"

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if not self.alpha > 0:
            raise ValueError(f"alpha must be above 0 (at 0 every price is 1), got {self.alpha}")

    def inner(self, state: PricedState) -> AnyState:
        return state.remembered

    def init(self, n_agents: int) -> PricedState:
        """The empty memory, at the prices to start from."""
        if self.entitlements is not None:
            check_entitlements(self.entitlements, n_agents, exempt=self.kind == "burden")
        remembered = self.memory.init(n_agents)
        if self.start is not None:
            if self.start.log_prices.shape != (n_agents,):
                raise ValueError(
                    f"start must have one price per agent ({n_agents}), got shape {self.start.log_prices.shape}"
                )
            return self.start._replace(remembered=remembered)
        nothing, zeros = np.zeros(()), np.zeros(n_agents)
        return PricedState(remembered, zeros, nothing, nothing, nothing, nothing, zeros, nothing)

    def advance(self, state: PricedState, utilities: Array, elapsed: Number = 1) -> PricedState:
        xp = namespace(utilities, state.log_prices)
        remembered = self.memory.advance(state.remembered, utilities, elapsed)
        # Where needs linger, the same number of steps holds less information, so prices must rest on more of them.
        # `drift_squares` is `squares` for needs that do not linger; a ratio of up to 2 may be chance.
        lingers = at_least(state.drift_squares / at_least(2.0 * state.squares, 1.0), 1.0)
        kept = 1.0 - 1.0 / (REACH * lingers * at_least(self._steps(remembered, state), 1.0))
        n = utilities.shape[-1]  # sums and products: NumPy's own means would take longer than all the rest
        mean = utilities.sum(axis=-1) / n
        # Means with the weights of `kept`, updated in place of sums: they stay in range however long the past is.
        weight = kept * state.weight + 1.0
        level = state.level + (mean - state.level) / weight
        largest = state.largest + (utilities.max(axis=-1) - state.largest) / weight
        fair = per_agent(mean) if self.shares_are_equal else per_agent(mean) * self.shares(state)
        # In units of the usual utility, so prices do not depend on the unit in which utilities are measured.
        g = (utilities - fair) / per_agent(at_least(level, _TINY))
        drift = (1.0 - 1.0 / SMOOTH) * state.drift + g
        squares = kept * state.squares + at_least(xp.vecdot(g, g) / n, 1.0)
        drift_squares = kept * state.drift_squares + xp.vecdot(drift, drift) * (2.0 / SMOOTH / n)
        # Where g lingers, its sum is noisier than its squares suggest. Shares are 1 on average, so g and the logarithms
        # add up to 0.
        typical = squares / weight
        # The step shrinks only when the past has doubled (a power of 2 rounds), not at every step: with shrinking steps
        # an early turn would count more than a late one.
        first = EVEN * (1.0 + typical)
        rests_on = first * xp.exp2(xp.rint(xp.log2(at_least(weight / first, 1.0))))
        # Mirror descent: the price of an agent with more than its share falls, and for burdens it rises.
        step = STEP * steadiness(squares, drift_squares) / xp.sqrt(typical * rests_on)
        prices = state.log_prices - per_agent(self._sign * step) * g
        return PricedState(remembered, prices, level, largest, weight, squares, drift, drift_squares)

    def shares(self, state: PricedState) -> Array:
        r"""$\sigma$: each agent's share of utility at these prices, 1 on average."""
        xp = namespace(state.log_prices)
        if self.shares_are_equal:
            return xp.ones_like(state.log_prices)
        logs = (-self._sign / self.alpha) * state.log_prices
        shares = xp.exp(logs - logs.max(axis=-1, keepdims=True))
        if self.entitlements is not None:
            shares = shares * self.entitlements
        return shares * (1.0 / shares.mean(axis=-1, keepdims=True))

    @cached_property
    def shares_are_equal(self) -> bool:
        """Whether everyone's share is the same at any prices, as in egalitarian welfare of equal entitlements."""
        return self.entitlements is None and not is_traced(self.alpha) and self.alpha == math.inf

    @cached_property
    def _sign(self) -> float:
        return -1.0 if self.kind == "burden" else 1.0

    def _steps(self, remembered: AnyState, state: PricedState) -> Array:
        """How many steps the fairness memory remembers."""
        d = self.memory.denominator(remembered)
        return state.weight + 1.0 if d is None else d
