"""The paper's problem: a few of the agents are served at every step, and some of them always need more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, Json, check_count, namespace
from bygones.envs.needs import Needs, advantaged
from bygones.envs.scenario import Scenario


class Day(NamedTuple):
    """The needs of this step."""

    needs: Array
    needs_state: Array
    """The state of the distribution of needs."""
    step: Array
    """The number of the step, from 1."""


@dataclass(frozen=True, init=False, eq=False)
class Allocation(Scenario):
    r"""The paper's problem: two of ten agents are served at every step, and two of them always need more.

    ## Description
    At each step t = 1, …, T each of n agents has a need, and k resources become available. The action picks the k
    agents that receive one; each of them receives a utility equal to its need. Some agents always have higher needs
    than the others, so a policy that serves the highest needs serves the same few agents for ever. Actions never
    change the needs that follow.

    By default there are n = 10 agents and k = 2 resources. Agents 0 and 1 are advantaged: their needs come from
    U(0.8, 1), and the others' from U(0, 1).

    ## Source
    The paper, Section 5.

    ## Observation Space
    The need of each agent; then the memory.

    ## Action Space
    The subset of k agents to serve, in lexicographic order. With more than 100,000 subsets it is a priority for each
    agent instead, and the k agents with the highest priorities are served.

    ## Utilities
    Its need for each agent that is served, 0 for all others.

    ## Starting State
    The needs of the first step are drawn.

    ## Arguments
    - `n_resources`: k.
    - `n_agents`, `n_advantaged`: n, and how many of the first agents have needs from U(0.8, 1) instead of U(0, 1).
    - `needs`: a distribution from `bygones.envs.needs`, instead of `n_agents` and `n_advantaged` (row 17).

    ## Bound
    None here: `bygones.paper.optimum` computes the optimum.
    """

    n_resources: int = 2
    needs: Needs = field(default_factory=advantaged)

    start_rows: ClassVar[int] = 2
    takes_batches: ClassVar[bool] = True
    traced: ClassVar[tuple[str, ...]] = ("horizon", "needs")

    def __init__(
        self,
        horizon: int = 1000,
        n_resources: int = 2,
        needs: Needs | None = None,
        n_agents: int | None = None,
        n_advantaged: int | None = None,
    ) -> None:
        if needs is None:
            needs = advantaged(10 if n_agents is None else n_agents, 2 if n_advantaged is None else n_advantaged)
        elif n_agents is not None or n_advantaged is not None:
            raise ValueError("give needs, or n_agents and n_advantaged for the paper's needs, not both")
        for name, value in (("horizon", horizon), ("n_resources", n_resources), ("needs", needs)):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def check(self) -> None:
        if not all(hasattr(self.needs, name) for name in ("n_agents", "bounds", "mean", "start", "draw")):
            raise ValueError(f"needs must be a distribution such as bygones.envs.needs.uniform(10), got {self.needs!r}")
        low, high = self.needs.bounds
        if not (np.min(low) >= 0 and np.max(high) > 0):
            raise ValueError(
                f"needs must have lower bounds of at least 0 and an upper bound above 0, got {low} and {high}"
            )
        if check_count("n_resources", self.n_resources) > self.n_agents:
            raise ValueError(
                f"n_resources must be at most the number of agents ({self.n_agents}), got {self.n_resources}"
            )

    def __eq__(self, other: object) -> bool:
        return type(other) is Allocation and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.horizon, self.n_resources, _parts(self.needs)

    def arguments(self) -> Json:
        """The parameters by name; the needs only if they are not the paper's, which are plain numbers."""
        plain = {"horizon": self.horizon, "n_resources": self.n_resources}
        n_advantaged = int(np.count_nonzero(self.seen_bounds[0]))
        if self == Allocation(self.horizon, self.n_resources, advantaged(self.n_agents, n_advantaged)):
            return {**plain, "n_agents": self.n_agents, "n_advantaged": n_advantaged}
        return {**plain, "needs": self.needs}

    @property
    def n_agents(self) -> int:
        return self.needs.n_agents

    @property
    def n_served(self) -> int:
        return self.n_resources

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n_agents), self.seen_bounds[1]

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        low, high = (np.asarray(bound, dtype=float) for bound in self.needs.bounds)
        return low, high

    @property
    def expected_utility(self) -> float:
        return self.n_resources / self.n_agents * float(np.mean(self.needs.mean))

    def start(self, noise: Array) -> Day:
        n, step = self.n_agents, 1 + namespace(noise).zeros(noise.shape[:-1], dtype=np.int32)
        return Day(*self.needs.draw(noise[..., n:], self.needs.start(noise[..., :n]), step), step)

    def observe(self, state: Day) -> Array:
        return state.needs

    def advance(self, noise: Array, state: Day, action: Array) -> tuple[Day, Array]:
        step = state.step + 1
        return Day(*self.needs.draw(noise, state.needs_state, step), step), action * state.needs


def _parts(value: object) -> tuple[object, ...]:
    """Needs as something that can be compared and hashed."""
    if isinstance(value, tuple):
        return type(value), *map(_parts, value)
    array = np.asarray(value, float)
    return array.shape, array.tobytes()
