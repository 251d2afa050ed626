"""Vaccines for regions in an epidemic."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_between, check_count, check_finite, check_one_of, namespace
from bygones.envs.scenario import Most, Scenario


class Epidemic(NamedTuple):
    """The susceptible, exposed, infected and recovered share of each region, one row each."""

    shares: Array


@dataclass(frozen=True)
class Vaccines(Scenario):
    r"""The vaccines of a day are shared among regions through which an epidemic runs.

    ## Description
    Each region has susceptible, exposed, infected and recovered people (SEIR). At each step its vaccines move that many
    people from susceptible to recovered. Then, in shares of the region's people, $S' = S - \beta S I$, $E' = E + \beta
    S I - \sigma E$, $I' = I + \sigma E - \gamma I$, $R' = R + \gamma I$. Vaccines for more people than are susceptible
    are wasted. There is no randomness.

    ## Source
    bozo22/remembering-to-be-fair-again, `envs/covid.py`, a reproduction of Alamdari et al. 2024. Its experiment has
    three regions of 50,000 people, 1,000 vaccines a step and 150 steps.

    ## Observation Space
    The susceptible, the exposed, the infected and the recovered share of each region; then the memory.

    ## Action Space
    How the vaccines are divided: every way to give each region a multiple of 1/`parts` of them, in lexicographic order.

    ## Utilities
    The vaccines of each region, as a share of the step's: the used ones, or with `counts="allocated"` all.

    ## Starting State
    99% of each region are susceptible, 1% exposed.

    ## Arguments
    - `people`: the number of people of each region.
    - `doses`: the vaccines of a step.
    - `beta`, `sigma`, `gamma`: how fast people infect each other, fall ill and recover.
    - `parts`: into how many parts the vaccines can be divided.
    - `counts`: whether `"used"` or `"allocated"` vaccines are utilities.

    ## Bound
    Per step at most all vaccines in total; of used ones, a region at most its susceptible people.

    ## The original
    It rewards minus the number of susceptible people. Its memory counts allocated vaccines even if they were wasted,
    and `step` changes the array that it returned before: its learner stores states in which people are already
    vaccinated.
    """

    horizon: int = 150
    people: tuple[int, ...] = (50_000, 50_000, 50_000)
    doses: int = 1_000
    beta: float = 0.3
    sigma: float = 0.2
    gamma: float = 0.1
    parts: int = 10
    counts: Literal["used", "allocated"] = "used"

    n_noise = 0
    largest_utility, largest_seen = 1.0, 1.0
    features = ("susceptible", "exposed", "infected", "recovered")

    def check(self) -> None:
        check_finite("people", self.people)
        for one in self.people:
            check_count("people", one)
        check_count("doses", self.doses)
        check_count("parts", self.parts, most=100)
        check_one_of("counts", self.counts, ("used", "allocated"))
        for name in ("beta", "sigma", "gamma"):
            check_between(name, getattr(self, name), 0.0, 1.0, "between 0 and 1")

    @property
    def n_agents(self) -> int:
        return len(self.people)

    def actions(self) -> Floats:
        """One row per division: the share of each region."""
        every = itertools.product(range(self.parts + 1), repeat=self.n_agents)
        return np.array([row for row in every if sum(row) == self.parts]) / self.parts

    def start(self, noise: Array) -> Epidemic:
        xp = namespace(noise)
        rows = [[share] * self.n_agents for share in (0.99, 0.01, 0.0, 0.0)]
        return Epidemic(xp.asarray(rows, dtype=noise.dtype))

    def observe(self, state: Epidemic) -> Array:
        return state.shares.reshape((-1,))

    def advance(self, noise: Array, state: Epidemic, action: Array) -> tuple[Epidemic, Array]:
        xp = namespace(noise)
        people = xp.asarray(self.people, dtype=noise.dtype)
        S, E, I, R = state.shares  # noqa: E741  (the model's letters)
        used = xp.minimum(action * self.doses, S * people)
        S, R = xp.clip(S - used / people, 0, 1), xp.clip(R + used / people, 0, 1)
        infected, fell_ill, recovered = self.beta * S * I, self.sigma * E, self.gamma * I
        rows = [S - infected, E + infected - fell_ill, I + fell_ill - recovered, R + recovered]
        shares = xp.clip(xp.array(rows), 0, 1).astype(noise.dtype)
        utilities = used / self.doses if self.counts == "used" else action
        return Epidemic(shares), utilities.astype(noise.dtype)

    def brings(self, seen: Floats) -> Floats:
        if self.counts == "allocated":
            return np.broadcast_to(self.actions(), (len(seen), self.n_actions, self.n_agents))
        susceptible = seen[:, None, : self.n_agents] * np.array(self.people) / self.doses
        return np.asarray(np.minimum(self.actions(), susceptible))

    def most(self) -> Most:
        if self.counts == "allocated":
            return Most(1.0, np.ones(self.n_agents))
        each = np.minimum(0.99 * np.array(self.people) / self.doses / self.horizon, 1.0)
        return Most(float(min(1.0, each.sum())), each)
