"""Attention for places where things happen: ignored problems grow."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_between, check_count, check_finite, namespace
from bygones.envs.scenario import Scenario

MOST_INCIDENTS = 25
"""The most incidents of a place at a step; more are as rare as 1 in 60,000 at the highest rate, and not counted."""


class Sites(NamedTuple):
    """How many incidents to expect at each place, how many were found at the last step, and how hard one looked."""

    rates: Array
    found: Array
    looked: Array


@dataclass(frozen=True)
class Attention(Scenario):
    r"""Inspectors are sent to places; incidents multiply where nobody looks.

    ## Description
    At place i a Poisson number of incidents happens at each step, with mean $r_i$. A place that a inspectors look at
    finds each of them with probability $1 - m^a$. Then $r_i$ falls by `dynamic_rate` per inspector, not below 0, or
    rises by it if nobody looked. The incidents themselves are not seen, only the ones that are found.

    ## Source
    google/ml-fairness-gym, `environments/attention_allocation.py` (D'Amour et al., "Fairness is not static", 2020),
    with `attention_replacement=True`: an inspector who has found an incident goes on looking.

    ## Observation Space
    For each place the incidents found at the last step, then the inspectors who were there; then the memory.

    ## Action Space
    How many inspectors go to each place, in lexicographic order.

    ## Utilities
    The incidents found at each place.

    ## Starting State
    The rates of `rates`; nothing found yet.

    ## Arguments
    - `rates`: the incidents to expect at each place at the start.
    - `n_inspectors`: how many there are.
    - `miss`: the probability m that one inspector misses an incident.
    - `dynamic_rate`: how much a rate changes at a step.
    - `highest`: the highest rate.

    ## Bound
    None is known.

    ## The original
    Its rates have no upper bound, and it draws with NumPy's Poisson and binomial generators, so only its rules can be
    compared and not its numbers. It also has incidents that are reported without being looked for, and noisy features
    of places; both are off or uninformative by default and left out.
    """

    horizon: int = 200
    rates: tuple[float, ...] = (4.0, 3.0, 2.0, 1.0)
    n_inspectors: int = 3
    miss: float = 0.2
    dynamic_rate: float = 0.1
    highest: float = 10.0

    largest_utility = float(MOST_INCIDENTS)
    features = ("incidents found", "inspectors")

    def check(self) -> None:
        check_between("highest", self.highest, 0.0, 10.0, "above 0 and at most 10", open_low=True)
        rates = np.asarray(check_finite("rates", self.rates))
        if rates.ndim != 1 or not len(rates) or rates.min() < 0 or rates.max() > self.highest:
            raise ValueError(f"rates must be numbers from 0 to highest ({self.highest:g}), got {self.rates}")
        check_count("n_inspectors", self.n_inspectors, most=20)
        check_between("miss", self.miss, 0.0, 1.0, "between 0 and 1")
        check_between("dynamic_rate", self.dynamic_rate, 0.0, math.inf, "a finite number of at least 0", open_high=True)

    @property
    def n_agents(self) -> int:
        return len(self.rates)

    @property
    def n_noise(self) -> int:
        return self.n_agents * (1 + MOST_INCIDENTS)

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        high = [float(MOST_INCIDENTS), float(self.n_inspectors)]
        return np.zeros(2 * self.n_agents), np.repeat(high, self.n_agents)

    def actions(self) -> Floats:
        """One row per way to send the inspectors: how many go to each place."""
        every = itertools.product(range(self.n_inspectors + 1), repeat=self.n_agents)
        return np.array([row for row in every if sum(row) == self.n_inspectors], float)

    def start(self, noise: Array) -> Sites:
        xp = namespace(noise)
        nothing = xp.zeros((self.n_agents,), dtype=noise.dtype)
        return Sites(xp.asarray(self.rates, dtype=noise.dtype), nothing, nothing)

    def observe(self, state: Sites) -> Array:
        return namespace(state.found).concatenate([state.found, state.looked])

    def advance(self, noise: Array, state: Sites, action: Array) -> tuple[Sites, Array]:
        xp, drawn = namespace(noise), noise.reshape((self.n_agents, 1 + MOST_INCIDENTS))
        happened = self._happened(drawn[:, 0], state.rates)
        is_found = drawn[:, 1:] < 1 - self.miss ** action[:, None]
        found = (is_found & (xp.arange(MOST_INCIDENTS) < happened[:, None])).sum(axis=-1).astype(noise.dtype)
        change = xp.where(action > 0, -action, 1.0) * self.dynamic_rate
        rates = xp.clip(state.rates + change, 0.0, self.highest).astype(noise.dtype)
        return Sites(rates, found, action.astype(noise.dtype)), found

    def revealed(self, seen: Array, guess: Sites) -> Sites:
        """Incidents are seen; the rates follow from the actions."""
        return guess._replace(found=seen[: self.n_agents])

    def brought(self, before: Sites, action: Array, after: Sites) -> Array:
        return after.found

    def _happened(self, noise: Array, rates: Array) -> Array:
        """A Poisson number for each place: how many values of the distribution function the noise exceeds."""
        xp, counts = namespace(noise), np.arange(MOST_INCIDENTS)
        factorials = np.array([math.factorial(int(j)) for j in counts], float)
        terms = xp.exp(-rates)[:, None] * rates[:, None] ** counts / factorials
        return (noise[:, None] > xp.cumsum(terms, axis=-1)).sum(axis=-1)
