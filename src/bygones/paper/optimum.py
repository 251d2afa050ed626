r"""The optimum: the best welfare that any policy can reach, and a stationary policy that reaches it.

At every step each of $n$ agents has a need $x_i$ and $k$ of them are served, who receive a utility equal to their need.
The mean utilities that policies can reach form a convex set $\mathcal{U}$, given by its support function: for weights
$w \ge 0$ it is best to serve the $k$ agents with the largest weight × need,

$$ h(w) = \max_{u \in \mathcal{U}} w \cdot u = \mathbb{E}\Bigl[\text{sum of the $k$ largest } w_i x_i\Bigr]. $$

By convex duality every $w$ bounds the welfare of every policy from above, and the best $w$ bounds it tightly:

$$ \max_{u\in\mathcal{U}} \sum_i g_i u_{(i)} = \min_{w \in \operatorname{conv}\{\pi(g)\}} h(w), \qquad
   \max_{u\in\mathcal{U}} \sum_i f(u_i) = \min_{w > 0}\ h(w) + \sum_i \max_v\,\bigl(f(v) - w_i v\bigr). $$

On the left is generalised Gini welfare with weights $g_1 \ge \dots \ge g_n$ by rank, whose dual weights are mixtures of
the orders $\pi(g)$; egalitarian welfare is $g = (1, 0, \dots, 0)$, utilitarian $g = (1, \dots, 1)$. On the right $f$ is
that of α-fair welfare. For Nash welfare the best weights are the fixed point $w_i = 1/u_i$.

**The bound.** It also holds for policies with memory: whatever the history, the expected utilities of a
step lie in $\mathcal{U}$ (its needs have the same distribution), and so does the mean of an episode; welfare
is concave, so the expected welfare of an episode's mean utilities is at most the optimum, at every horizon.

**The certificate.** Weights are chosen on one sample of needs and evaluated on a fresh one. The bound $h(w)$ and the
mean utilities $\hat u$ of the policy that $w$ stands for are then means of independent draws, with standard errors.
`lower` and `upper` are such that, with the stated confidence (normal approximation), the policy's welfare is at least
`lower` and no policy's is above `upper`; the optimum lies between. The bound holds for weights that are not the best,
so a poor search for them (`bygones.paper.dual`) can only widen the gap.

**Why `lower` needs no bound per agent.** Welfare is concave: for every slope $s$ of $W$ at the true utilities $u$,

$$ W(\hat u) \le W(u) + s \cdot (\hat u - u), $$

so $W(u)$ is below $W(\hat u) - z\,\sigma_s$ only if the one number $s \cdot \hat u$ is more than $z$ of its standard
errors $\sigma_s = \sqrt{s^\top C s}$ too high, where $C$ is the covariance of $\hat u$. That the estimate $W(\hat u)$
is biased makes the bound safer, as the bias is downwards. α-fair welfare has one slope, and it is taken at $\hat u$
(the delta method). Welfare by rank has one slope for each order of the agents, and the true order is not known, so the
bound has to hold for all of them.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from bygones import inequality
from bygones._arrays import Floats, Number, check_between, check_count
from bygones.envs.needs import Needs, advantaged
from bygones.forms import AlphaFair, Ranked
from bygones.learn.settings import Settings
from bygones.paper.dual import best_weights, curve_of, served_by, weights_by_rank
from bygones.welfare import AnyWelfare, Welfare, as_judge

SAMPLES = 1_000_000
"""The number of fresh draws of needs on which the weights are evaluated."""
CHOOSING_SAMPLES = 2**16
"""The number of quasi-random draws on which the weights are chosen; they need only be evenly spread."""
CHUNK = 2**16
"""Draws are processed in chunks of this size, so memory use does not grow with their number."""
GINI_STEPS = 100_000
"""Steps over which the Gini of episodes is averaged, five episodes at least."""
JITTER = 1e-3
"""Relative noise on the needs as the policy sees them. It breaks ties, so of two agents whose weighted needs are
always equal a policy can serve either with any probability. Its cost is part of the gap."""


@dataclass(frozen=True)
class Optimum:
    """The best welfare: a policy's welfare from below, and a bound on every policy's from above.

    Attributes:
        welfare: α-fair at some α, or generalised Gini.
        weights: the weights of the policy: serve the k agents with the largest weight × need.
        utilities: the mean utility per step that it gives each agent, as estimated from fresh needs.
        covariance: that of these estimates. As k agents are served at a step, one agent's luck is another's loss.
        support: the largest mean of weights × utilities per step, h(w), as estimated from fresh needs.
        support_error: its standard error.
        confidence: the probability with which `lower` and `upper` both hold.
        steps: the number of steps over which utilities are added up; 1 for utilities per step.
    """

    welfare: Welfare
    weights: Floats
    utilities: Floats
    covariance: Floats
    support: float
    support_error: float
    confidence: float
    steps: int = 1

    def over(self, steps: int) -> Optimum:
        """The same optimum for utilities added up over this many steps."""
        return dataclasses.replace(self, steps=check_count("steps", steps))

    @property
    def utility_errors(self) -> Floats:
        """The standard errors of the utilities."""
        return np.array([_error(agent, self.covariance) for agent in np.eye(len(self.weights))])

    @property
    def value(self) -> float:
        """The welfare of the policy, as estimated."""
        return float(self.welfare(self.steps * self.utilities))

    @property
    def bound(self) -> float:
        """The upper bound on every policy's welfare, as estimated."""
        return self._dual(self.support)

    @property
    def lower(self) -> float:
        """A lower bound on the policy's welfare, with confidence."""
        by_rank = weights_by_rank(self.welfare, len(self.weights))
        if by_rank is None:
            # An agent that never received anything has no error, and where there is no shift, no slope.
            reached = np.where(self.utilities > 0, self.steps * self.utilities, math.inf)
            slopes = curve_of(self.welfare).slope(reached)
            return self.value - self._quantile * _error(self.steps * slopes, self.covariance)
        # Both hold for every order: the errors of agents add up at worst, and no order's error is above the largest.
        surely = np.clip(self.utilities - self._quantile * self.utility_errors, 0.0, None)
        largest = self.steps * _largest_error(by_rank, self.covariance)
        return max(float(self.welfare(self.steps * surely)), self.value - self._quantile * largest)

    @property
    def upper(self) -> float:
        """An upper bound on every policy's welfare, with confidence."""
        return self._dual(self.support + self._quantile * self.support_error)

    @property
    def gap(self) -> float:
        """The most that the policy can be below the optimum."""
        return self.upper - self.lower

    @property
    def utility(self) -> float:
        """The best welfare as a utility per agent and step: the one that is as good if all agents have it."""
        return float(equal_utility(self.welfare, self.bound, len(self.weights)) / self.steps)

    def share(self, welfare: Number) -> Floats:
        """A welfare as a share of the optimum; 1 is the optimum.

        Ratios of logarithms have no meaning, so both are first converted to the equal utilities that would be as good.
        """
        n_agents = len(self.weights)
        return equal_utility(self.welfare, welfare, n_agents) / equal_utility(self.welfare, self.bound, n_agents)

    @property
    def _quantile(self) -> float:
        """How many standard errors a bound is away; `lower` and `upper` fail with half of the probability each."""
        return float(special.ndtri(1 - (1 - self.confidence) / 2))

    def _dual(self, support: float) -> float:
        if weights_by_rank(self.welfare, len(self.weights)) is not None:
            return float(self.steps * support)
        # Over more steps an agent has more, and welfare's slope there is smaller: the weights shrink with it.
        form = curve_of(self.welfare)
        slope = self.steps**-form.alpha
        return float(self.steps * slope * support) + form.conjugate(slope * self.weights)


def optimum(
    needs: Needs,
    n_resources: int,
    welfare: Welfare | str,
    *,
    samples: int = SAMPLES,
    confidence: float = 0.999,
    seed: int = 0,
) -> Optimum:
    """The optimum for needs whose distribution is the same at every step (replayed needs: over their table).

    Args:
        needs: where needs come from, see `bygones.envs.needs`; the number of agents is theirs.
        n_resources: k, how many agents are served at a step.
        welfare: utilitarian, nash (its logarithm), egalitarian, any α-fair or generalised Gini.
        samples: number of fresh draws of needs on which the weights are evaluated.
        confidence: of `lower` and `upper` together.
        seed: of all draws.
    """
    judge = as_judge(welfare)
    form = judge.form
    if not isinstance(form, AlphaFair | Ranked) or (isinstance(form, AlphaFair) and form.product):
        accepted = "utilitarian, nash, egalitarian, alpha_fair(alpha=...) or generalized_gini"
        raise ValueError(f"welfare must be {accepted}, got {welfare}")
    if check_count("n_resources", n_resources) > needs.n_agents:
        raise ValueError(f"n_resources must be at most the number of agents ({needs.n_agents}), got {n_resources}")
    check_count("samples", samples, least=2)
    check_between("confidence", confidence, 0.0, 1.0, "above 0 and below 1", open_low=True, open_high=True)
    choosing_seed, judging_seed = np.random.SeedSequence(seed).spawn(2)
    weights = best_weights(_spread(needs, choosing_seed), n_resources, judge)
    utilities, support = _Mean(), _Mean()
    rng = np.random.default_rng(judging_seed)
    for start in range(0, samples, CHUNK):
        noise = rng.random((min(CHUNK, samples - start), 3 * needs.n_agents + 1))
        drawn, seen = _draw(needs, noise)
        utilities.add(served_by(weights, seen, n_resources) * drawn)
        largest = -np.partition(-weights * drawn, n_resources - 1, axis=-1)[:, :n_resources]
        support.add(largest.sum(axis=-1, keepdims=True))
    return Optimum(
        judge,
        weights,
        utilities.mean,
        utilities.covariance,
        float(support.mean[0]),
        _error(np.ones(1), support.covariance),
        confidence,
    )


def for_settings(settings: Settings) -> Optimum:
    """The optimum of the fairness score of a training run: of totals for additive memories, of means for averaged."""
    best = _for_sizes(settings.welfare, settings.n_agents, settings.n_resources, settings.n_advantaged)
    return best.over(settings.horizon if settings.aggregation == "additive" else 1)


def episode_gini(settings: Settings) -> float:
    """The mean Gini of episodes of this horizon under the best stationary policy, chance included."""
    best = _for_sizes(settings.welfare, settings.n_agents, settings.n_resources, settings.n_advantaged)
    needs, rng = advantaged(settings.n_agents, settings.n_advantaged), np.random.default_rng(0)
    ginis = []
    for _ in range(max(5, GINI_STEPS // settings.horizon)):
        drawn, seen = _draw(needs, rng.random((settings.horizon, 3 * needs.n_agents + 1)))
        utilities = served_by(best.weights, seen, settings.n_resources) * drawn
        ginis.append(inequality.gini(utilities.sum(axis=0)))
    return float(np.mean(ginis))


def equal_utility(welfare: AnyWelfare, value: Number, n_agents: int) -> Floats:
    """The utility that, if all agents had it, would give welfare this value."""
    judge = as_judge(welfare)
    values = np.asarray(value, dtype=float)
    by_rank = weights_by_rank(judge, n_agents)
    if by_rank is not None:
        return values / float(by_rank.sum())
    alpha, eps = curve_of(judge).alpha, curve_of(judge).shift
    if alpha == 1:
        return np.exp(values / n_agents) - eps
    return (values * (1 - alpha) / n_agents) ** (1 / (1 - alpha)) - eps


@functools.cache
def _for_sizes(welfare: str, n_agents: int, n_resources: int, n_advantaged: int) -> Optimum:
    return optimum(advantaged(n_agents, n_advantaged), n_resources, welfare)


def _spread(needs: Needs, seed: np.random.SeedSequence) -> tuple[Floats, Floats]:
    """Needs of many steps, evenly spread over their distribution."""
    sequence = stats.qmc.Sobol(3 * needs.n_agents + 1, rng=np.random.default_rng(seed))
    return _draw(needs, sequence.random(CHOOSING_SAMPLES))


def _draw(needs: Needs, noise: Floats) -> tuple[Floats, Floats]:
    """Needs of steps at random times, from uniform noise, and as the policy sees them."""
    first, then, jitter = np.split(noise[:, :-1], 3, axis=-1)
    t = 1 + (noise[:, -1] * 2**30).astype(np.int64)
    drawn = np.asarray(needs.draw(then, needs.start(first), t)[0])
    return drawn, drawn * (1 + JITTER * (2 * jitter - 1))


def _error(slope: Floats, covariance: Floats) -> float:
    r"""The standard error $\sqrt{s^\top C s}$; rounding may leave less than nothing of a variance of 0."""
    return math.sqrt(max(0.0, float(slope @ covariance @ slope)))


def _largest_error(by_rank: Floats, covariance: Floats) -> float:
    r"""No order of g has a larger standard error $\sqrt{\pi(g)^\top C\,\pi(g)}$.

    All orders have the same mean weight, and deviate from it by vectors of the same length that add up to 0.
    """
    n_agents = len(by_rank)
    centre = np.eye(n_agents) - 1 / n_agents
    worst = np.linalg.eigh(centre @ covariance @ centre).eigenvectors[:, -1]
    of_mean, of_deviation = _error(np.ones(n_agents), covariance), _error(centre @ worst, covariance)
    return float(by_rank.mean() * of_mean + np.linalg.norm(by_rank - by_rank.mean()) * of_deviation)


class _Mean:
    """The mean of rows that come in chunks, and its covariance."""

    def __init__(self) -> None:
        self._count, self._sum, self._products = 0, np.zeros(()), np.zeros(())

    def add(self, rows: Floats) -> None:
        self._count += len(rows)
        self._sum = self._sum + rows.sum(axis=0)
        self._products = self._products + rows.T @ rows

    @property
    def mean(self) -> Floats:
        return self._sum / self._count

    @property
    def covariance(self) -> Floats:
        among_rows = (self._products - self._count * np.outer(self.mean, self.mean)) / (self._count - 1)
        return among_rows / self._count
