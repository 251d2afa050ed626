r"""An upper bound on the long-run mean of $W(Z^t)$ for any number of agents, by information relaxation.

Let $\hat Z^t$ be the recent totals under a *reference policy* that meets the same needs. Welfare is concave, so it
lies below its tangents: there are slopes $\mu^t$, which depend on $\hat Z^t$ only, and a tangent
$V^t(z) = V^t(\hat Z^t) + \mu^t\cdot(z - \hat Z^t)$ with $W \le V^t$ everywhere. For every other policy

$$ \sum_t W(Z^t) \le \sum_t V^t(Z^t) = \sum_t V^t(\hat Z^t) + \sum_s \nu^s\cdot(u^s - \hat u^s), \qquad
   \nu^s = \sum_{t\ge s}\gamma^{t-s}\mu^t, $$

since $Z^t = \sum_{s\le t}\gamma^{t-s}u^s$. The prices $\nu^s$ depend on needs after $s$, which no policy knows, so only
their expectation given the past matters to a policy. A decision maker who knows the mean $\bar\nu$ of several futures,
drawn independently of each other, knows no less. So the long-run mean of $W(Z^t)$ is at most

$$ \mathbb{E}\,V(\hat Z) + \mathbb{E}\Bigl[\text{sum of the $k$ largest } \bar\nu_i x_i - \bar\nu\cdot\hat u\Bigr]. $$

The second term is what the reference policy could have gained with that knowledge. With one future the decision maker
sees everything in advance; more futures take that advantage away (Brown, Smith and Sun 2010, with slopes as penalties
as in Brown and Smith 2014). What remains of the gap is that the reference policy is not the best, and that the bound
also holds if goods could be divided.

Every reference policy and every tangent gives a valid bound; good ones are chosen on a separate sample. The policy
serves the largest need × $w_i e^{-\theta(\hat Z_i/c_i - 1)}$, where $w$ and $c$ are the weights and the mean memory of
the optimum of mean utilities. Tangents touch at $c + \eta\,(\hat Z - c)$. For egalitarian welfare every $\mu \ge 0$
that adds up to 1 gives a tangent $\mu\cdot z$; $\mu$ is in proportion to $w_i e^{-4\eta\theta(\hat Z_i/c_i - 1)}$. At
$\eta = 0$ both are the bound that ignores fluctuation.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from bygones._arrays import Floats, check_between, check_count
from bygones.envs.needs import Lognormal, Uniform
from bygones.forms import AlphaFair
from bygones.memory import Discounted
from bygones.paper.optimum import Optimum, optimum
from bygones.welfare import AnyWelfare, as_judge

STEEPNESS, FOLLOWING = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 0.75, 1.0)
"""The values of θ and of η that are tried."""
SETTLED = 1e-4
"""A memory has settled, and a future is long enough, when this share of its beginning is left."""
STRETCH = 4
"""The reference policy's own mean is taken over this many times as many steps."""


class Foresight(NamedTuple):
    """The bound.

    Attributes:
        bound: the upper bound on the long-run mean of W(Zᵗ), as estimated.
        error: its standard error.
        without_fluctuation: the welfare of a memory without fluctuation, also an upper bound.
        confidence: the probability with which `upper` holds.
    """

    bound: float
    error: float
    without_fluctuation: float
    confidence: float

    @property
    def upper(self) -> float:
        """An upper bound on every policy's long-run mean, with confidence."""
        return min(self.bound + float(special.ndtri(self.confidence)) * self.error, self.without_fluctuation)


def foresight(
    needs: Uniform | Lognormal,
    memory: Discounted,
    welfare: AnyWelfare,
    n_resources: int,
    *,
    samples: int = 1000,
    futures: int = 20,
    confidence: float = 0.999,
    seed: int = 0,
) -> Foresight:
    """An upper bound on the long-run mean of the welfare of recent totals.

    Args:
        needs: drawn afresh at every step.
        memory: discounted, with γ below 1; summed or averaged.
        welfare: utilitarian, nash (its logarithm), egalitarian or any α-fair.
        n_resources: k, how many agents are served at a step.
        samples: independent runs of the reference policy, each of which gives the bound at one step.
        futures: that are averaged at each of these steps; 1 is perfect foresight.
        confidence: of `upper`.
        seed: of all draws.
    """
    if not isinstance(needs, Uniform | Lognormal):
        raise ValueError(f"needs must be drawn afresh at every step, uniform or log-normal, got {needs}")
    judge = as_judge(welfare)
    if not isinstance(judge.form, AlphaFair) or judge.form.product:
        raise ValueError(f"welfare must be utilitarian, nash, egalitarian or alpha_fair(alpha=...), got {welfare}")
    check_between("memory.gamma", memory.gamma, 0.0, 1.0, "below 1", open_high=True)
    check_count("samples", samples, least=2)
    check_count("futures", futures)
    gamma = float(memory.gamma)
    # An averaged memory has settled when its denominator has, at 1/(1 − γ).
    unit = 1 - gamma if memory.average else 1.0
    settled = optimum(_times(needs, unit / (1 - gamma)), n_resources, judge, confidence=confidence, seed=seed)
    trial, final = np.random.SeedSequence(seed, spawn_key=(2,)).spawn(2)
    candidates = [
        _Reference(_times(needs, unit), gamma, n_resources, settled, judge.form, steepness, following)
        for steepness, following in itertools.product(STEEPNESS, FOLLOWING)
    ]

    def tried(candidate: _Reference) -> float:
        mean, error = _mean(_bounds(candidate, max(2, samples // 10), futures, np.random.default_rng(trial)))
        return mean + 3 * error

    bounds = _bounds(min(candidates, key=tried), samples, futures, np.random.default_rng(final))
    return Foresight(*_mean(bounds), settled.upper, confidence)


class _Step(NamedTuple):
    """The recent totals after a step, the needs, and the utilities received; one row per run."""

    Z: Floats
    needs: Floats
    received: Floats


@dataclass(frozen=True, eq=False)
class _Reference:
    """The reference policy and its tangents."""

    needs: Uniform | Lognormal
    gamma: float
    k: int
    settled: Optimum
    form: AlphaFair
    steepness: float
    following: float

    @cached_property
    def centre(self) -> Floats:
        """The mean memory of the optimum, a little more where an agent would have none."""
        return np.asarray(np.maximum(self.settled.utilities, self.settled.utilities.mean() / 100))

    def step(self, Z: Floats, rng: np.random.Generator) -> _Step:
        needs = np.asarray(self.needs.draw(rng.random(Z.shape), rng.random(0), 1)[0])
        score = needs * self._falling(Z, self.steepness)
        served = np.argpartition(-score, self.k - 1, axis=-1)[:, : self.k]
        received = np.zeros(Z.shape)
        np.put_along_axis(received, served, np.take_along_axis(needs, served, axis=-1), axis=-1)
        return _Step(self.gamma * Z + received, needs, received)

    def tangent(self, Z: Floats) -> tuple[Floats, Floats]:
        """Its slopes μ, and its value V at Z."""
        if self.form.alpha == math.inf:
            weights = self._falling(Z, 4 * self.following * self.steepness)
            slopes = weights / weights.sum(axis=-1, keepdims=True)
            return slopes, (slopes * Z).sum(axis=-1)
        touches = self.centre + self.following * (Z - self.centre)
        slopes = (touches + self.form.shift) ** -self.form.alpha
        return slopes, np.asarray(self.settled.welfare.judge(touches)) + (slopes * (Z - touches)).sum(axis=-1)

    def _falling(self, Z: Floats, steepness: float) -> Floats:
        """Prices that fall as memories rise above their means."""
        return np.asarray(self.settled.weights * np.exp(-steepness * (Z / self.centre - 1)))


def _bounds(reference: _Reference, samples: int, futures: int, rng: np.random.Generator) -> Floats:
    """The bound at one step of each of several independent runs."""
    gamma = reference.gamma
    length = 1 + math.ceil(math.log(SETTLED) / math.log(gamma)) if gamma > 0 else 1
    Z, values = np.tile(reference.centre, (samples, 1)), np.zeros(samples)
    for _ in range(length):
        Z = reference.step(Z, rng).Z
    for _ in range(STRETCH * length):
        now = reference.step(Z, rng)
        Z = now.Z
        slopes, value = reference.tangent(Z)
        values += value
    # The step at which the run ends is the first of every future.
    ahead, prices, count = np.repeat(Z, futures, axis=0), np.repeat(slopes, futures, axis=0), 1.0
    for _ in range(length):
        count *= gamma
        ahead = reference.step(ahead, rng).Z
        slopes, _ = reference.tangent(ahead)
        prices = prices + count * slopes
    # Slopes that are later still hardly depend on this step: their mean stands for them.
    prices = prices + count * gamma / (1 - gamma) * slopes.mean(axis=0)
    expected = prices.reshape(samples, futures, -1).mean(axis=1)
    best = -np.partition(-now.needs * expected, reference.k - 1, axis=-1)[:, : reference.k].sum(axis=-1)
    left = best - (now.received * expected).sum(axis=-1)
    return np.asarray(values / (STRETCH * length) + left)


def _times(needs: Uniform | Lognormal, factor: float) -> Uniform | Lognormal:
    """The needs in another unit."""
    if isinstance(needs, Uniform):
        return Uniform(factor * needs.low, factor * needs.span)
    return Lognormal(needs.mu + math.log(factor), needs.sigma)


def _mean(values: Floats) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
