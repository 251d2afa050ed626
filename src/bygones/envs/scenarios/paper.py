"""The paper's problem, in the form of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, namespace
from bygones.envs.scenario import Scenario


class Day(NamedTuple):
    """The needs of this step."""

    needs: Array


@dataclass(frozen=True)
class Paper(Scenario):
    r"""The paper's problem: two of ten agents are served at every step, and two of them always need more.

    ## Description
    At each step every agent has a need, and k agents are served. What is done never changes what comes next.

    ## Source
    The paper, Section 5. It is the same problem as `bygones/Allocation-v0`, which has more settings, is drawn, and runs
    as a vector environment; as a scenario it can be compared with the others.

    ## Observation Space
    The need of each agent; then the memory.

    ## Action Space
    The subset of k agents to serve.

    ## Utilities
    Its need for each agent that is served, 0 for all others.

    ## Starting State
    The needs of the first step are drawn.

    ## Episode End
    After `horizon` steps.

    ## Arguments
    - `n`: the number of agents.
    - `n_advantaged`: how many of them, the first ones, have needs from U(0.8, 1) instead of U(0, 1).
    - `n_resources`: k.

    ## Bound
    None here: `bygones.paper.optimum` computes the optimum.
    """

    n: int = 10
    n_advantaged: int = 2
    n_resources: int = 2

    def check(self) -> None:
        check_count("n", self.n)
        for name, least in (("n_advantaged", 0), ("n_resources", 1)):
            if check_count(name, getattr(self, name), least) > self.n:
                raise ValueError(f"{name} must be at most the number of agents ({self.n}), got {getattr(self, name)}")

    @property
    def n_agents(self) -> int:
        return self.n

    @property
    def n_served(self) -> int:
        return self.n_resources

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n), np.ones(self.n)

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        return self._least, np.ones(self.n)

    def start(self, noise: Array) -> Day:
        low = namespace(noise).asarray(self._least, dtype=noise.dtype)
        return Day(low + (1 - low) * noise)

    def observe(self, state: Day) -> Array:
        return state.needs

    def advance(self, noise: Array, state: Day, action: Array) -> tuple[Day, Array]:
        return self.start(noise), action * state.needs

    @property
    def expected_utility(self) -> float:
        return self.n_resources / self.n * float(np.mean(1 + self._least) / 2)

    @property
    def _least(self) -> Floats:
        return np.where(np.arange(self.n) < self.n_advantaged, 0.8, 0.0)
