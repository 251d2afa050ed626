"""One donut at every step, and people who are not always there to take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, namespace
from bygones.envs.scenario import Most, Scenario, check_chances


class Shop(NamedTuple):
    """Who is there."""

    there: Array


@dataclass(frozen=True)
class Donut(Scenario):
    r"""One donut is allocated at every step, to people who come and go at random.

    ## Description
    At each step person i is in the shop with probability $p_i$, independently of the past. The donut goes to one of
    them. If that person is not there, it is lost.

    ## Source
    Alamdari, Klassen, Toro Icarte and McIlraith, "Remembering to Be Fair", 2024; `envs/donut.py` of
    praal/remembering-to-be-fair, whose experiments have five people, p = 0.8 and 100 steps.

    ## Observation Space
    For each person, 1 if they are there and 0 if not; then the memory.

    ## Action Space
    The person who is offered the donut.

    ## Utilities
    1 for the person who takes it, 0 for all others.

    ## Starting State
    Each person is there with probability $p_i$.

    ## Arguments
    - `chances`: the probability $p_i$ of each person to be there.

    ## Bound
    No policy serves more than $1-\prod_i(1-p_i)$ donuts a step, or more than $p_i$ to person i.

    ## The original
    It rewards a step by the Nash welfare of all donuts so far, $\sum_i \ln(1 + d_i + 10^{-4})$, and by 0 if the donut
    is lost; here memory, welfare and reward are chosen freely. Three of its bugs have no counterpart here: the mode
    `binary-reset` of its instructions is called `reset-binary` in its code, and an unknown mode is played as `full`; if
    the number of steps is a power of two, its binary counts are a bit shorter than the space that it declares; and all
    environments share one global generator.
    """

    horizon: int = 100
    chances: tuple[float, ...] = (0.8,) * 5

    n_served = 1
    largest_utility, largest_seen = 1.0, 1.0
    features = ("is there",)

    def check(self) -> None:
        check_chances("chances", self.chances)

    @property
    def n_agents(self) -> int:
        return len(self.chances)

    def start(self, noise: Array) -> Shop:
        xp = namespace(noise)
        return Shop((noise <= xp.asarray(self.chances, dtype=noise.dtype)).astype(noise.dtype))

    def observe(self, state: Shop) -> Array:
        return state.there

    def advance(self, noise: Array, state: Shop, action: Array) -> tuple[Shop, Array]:
        return self.start(noise), action * state.there

    def revealed(self, seen: Array, guess: Shop) -> Shop:
        return Shop(seen)

    def most(self) -> Most:
        chances = np.array(self.chances)
        return Most(float(1 - np.prod(1 - chances)), chances)
