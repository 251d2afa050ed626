r"""The rule that the paper's reward asks for, without training: it serves the agents worth most to it.

The reward of a step is $(1-\lambda)\,U_t + \lambda\,(W(Z^t) - W(Z^{t-1}))$, and a learner discounts rewards by
$\delta$. From step $t$ on, the changes of welfare add up to

$$ \sum_{s\ge 0} \delta^s \bigl(W(Z^{t+s}) - W(Z^{t+s-1})\bigr)
   = (1-\delta) \sum_{s\ge 0} \delta^s\,W(Z^{t+s}) - W(Z^{t-1}). $$

An agent that is served now receives $u$, of which $\gamma^s u$ is still remembered $s$ steps later. At the best policy,
changing later decisions in response would alter the sum to second order only, so they are taken as given. Serving
agent $i$ is then worth

$$ (1-\lambda)\,u + \lambda\,(1-\delta) \sum_{s\ge 0} \delta^s\,
   \mathbb{E}\bigl[W(Z^{t+s} + \gamma^s u\,e_i) - W(Z^{t+s})\bigr], $$

where $Z^{t+s}$ is the memory to come without it. The rule serves the $k$ agents for whom this is largest. It makes
one assumption: **levels stay the same**, $Z^{t+s} \approx \gamma Z^{t-1}$, because later gifts replace what fades. A
unit of utility is then remembered with a total weight of

$$ \kappa = (1-\delta) \sum_{s\ge 0} (\delta\gamma)^s = \frac{1-\delta}{1-\delta\gamma}. $$

**Nash.** To second order in $u$, the differences of $\ln(z + \gamma^s u)$ and $\ln z$ sum to
$\kappa u/z - \kappa_2 u^2/2z^2$ with $\kappa_2 = (1-\delta)/(1-\delta\gamma^2)$. The simplest fraction that agrees with
both terms, and stays finite where $z$ is small, is $\kappa u/(z + c\,u)$ with $c = \kappa_2/2\kappa$. So the rule
serves the agents with the largest

$$ u\,\Bigl[(1-\lambda) + \frac{\lambda\kappa}{\gamma z + \epsilon + c\,u}\Bigr],
   \qquad c = \frac{1-\delta\gamma}{2\,(1-\delta\gamma^2)}. $$

For perfect recall $c$ is ½: the slope of welfare falls while a gift is received, and half a gift further on it has its
mean. Averages lead to the same decisions, because $\ln(z_i/d) = \ln z_i - \ln d$ and no decision changes $d$.

**Egalitarian.** A gift counts while its receiver is the worst-off agent. So the rule serves the agents with the largest

$$ u\,\Bigl[(1-\lambda) + \frac{\lambda\kappa}{d}\,g_i\Bigr], \qquad
   g_i = \frac{e^{-\gamma z_i/\tau}}{\sum_j e^{-\gamma z_j/\tau}}, \qquad
   \tau = \frac{\sigma}{\sqrt{1-\delta\gamma}}, $$

where $g_i$ is the chance that $i$ will be the worst-off agent. A gift lasts for about $1/(1-\delta\gamma)$ steps, in
which levels move by $\tau$; $\sigma^2$ is the variance of an agent's utility at a step if all are served equally
often. For Gumbel noise of that size, $g_i$ is exact. Here $z$ are sums. If the memory averages, a gift raises it by
$u/d$ only; otherwise $d$ is 1.

**What follows.** With perfect recall, $z$ grows with $t$. The slope $1/z$ of Nash welfare falls, and beyond
$z \approx \lambda/(1-\lambda)$ the reward asks for utility. The slope of egalitarian welfare does not fall for sums,
but it falls as $1/d$ for averages. An agent with more is never preferred at equal needs. So the reward never
asks for a Gini coefficient above that of serving the largest needs.

An agent without memory ($\gamma = 0$) is asked to serve the largest needs. With egalitarian welfare and $\lambda = 1$
its reward is always 0, and asks for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bygones._arrays import Floats, check_between, check_one_of
from bygones.allocation import RankingPolicy
from bygones.envs.needs import advantaged
from bygones.learn.settings import Settings
from bygones.memory import Discounted, Memory
from bygones.memory.contract import AnyState
from bygones.paper.grid import WELFARES
from bygones.paper.untrained import FEW_SEEDS, Reached, as_reached
from bygones.simulation import simulate_seeds

EPS = 1e-6
"""The ε of logarithmic Nash welfare."""


def asked_for(run: Settings, horizons: Sequence[int], seeds: int = FEW_SEEDS) -> dict[int, Reached]:
    """The utilities of agents under the rule of a run's reward, as means over episodes of these horizons."""
    rule, needs, k = AskedFor(run), advantaged(run.n_agents, run.n_advantaged), run.n_resources
    played = simulate_seeds(rule, needs, rule.memory, run.welfare, max(horizons), k, range(seeds))
    return {
        horizon: as_reached(np.array([each.cumulative[horizon - 1] for each in played]), run, horizon)
        for horizon in horizons
    }


def lasting(gamma: float, discount: float) -> float:
    """κ: how much a unit of utility adds to the memory, as a learner with this discount counts it."""
    return (1 - discount) / (1 - discount * gamma)


@dataclass(frozen=True, eq=False)
class AskedFor(RankingPolicy):
    """The rule of a run's reward, as a policy.

    Attributes:
        run: its memory, welfare, λ, agents and discount are used.
    """

    run: Settings

    def __post_init__(self) -> None:
        check_one_of("welfare", self.run.welfare, WELFARES)
        check_between("discount", self.run.discount, 0.0, 1.0, "at least 0 and below 1", open_high=True)

    @cached_property
    def memory(self) -> Memory:
        """The sums by which the rule decides, whether the run adds up or averages."""
        return Discounted(gamma=self.run.gamma)

    def keys(self, needs: np.ndarray, k: int, state: AnyState, step: int) -> tuple[np.ndarray, ...]:
        run = self.run
        left = run.gamma * np.asarray(self.memory.read(state))
        slopes = self._nash(left, needs) if run.welfare == "nash" else self._egalitarian(left, state)
        return (needs * ((1 - run.weight) + run.weight * lasting(run.gamma, run.discount) * slopes),)

    def _nash(self, left: Floats, needs: Floats) -> Floats:
        gamma, discount = self.run.gamma, self.run.discount
        c = (1 - discount * gamma) / (1 - discount * gamma**2) / 2
        return 1 / (left + EPS + c * needs)

    def _egalitarian(self, left: Floats, state: AnyState) -> Floats:
        chances = np.exp((left.min(axis=-1, keepdims=True) - left) / self._spread)
        shares: Floats = chances / chances.sum(axis=-1, keepdims=True)
        if self.run.aggregation == "additive":
            return shares
        return shares / (1 + self.run.gamma * np.asarray(self.memory.denominator(state))[..., None])

    @cached_property
    def _spread(self) -> float:
        """τ: how far levels move while a gift lasts."""
        run = self.run
        needs, served = advantaged(run.n_agents, run.n_advantaged), run.n_resources / run.n_agents
        mean = np.asarray(needs.mean)
        squares = mean**2 + np.asarray(needs.span) ** 2 / 12
        variance = float(np.mean(served * squares - (served * mean) ** 2))
        return math.sqrt(variance / (1 - run.discount * run.gamma))
