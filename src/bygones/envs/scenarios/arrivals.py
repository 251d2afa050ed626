"""The paper's Example 2: agents who join late, and leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_finite, namespace
from bygones.envs.scenario import Most, Scenario


class StepsTaken(NamedTuple):
    """How many steps have been taken."""

    t: Array


@dataclass(frozen=True)
class Arrivals(Scenario):
    r"""A cake and a donut at every step for Alice and Bob, of whom Bob joins late.

    ## Description
    The same items are allocated at every step. Agent i takes part from step `joins[i]` + 1 to step `leaves[i]`. An item
    given to someone who does not take part is lost.

    ## Source
    The paper, Example 2 (and Example 1, with `joins=(0, 0)`); see `bygones.paper.examples`.

    ## Observation Space
    For each agent, 1 while it takes part and 0 otherwise; then the memory.

    ## Action Space
    Who receives each item: one agent for each, possibly the same. The last item varies fastest.

    ## Utilities
    The worth of its items to each agent that takes part.

    ## Starting State
    Step 1.

    ## Arguments
    - `worth`: the worth of each item to each agent, one row per agent.
    - `joins`: the number of steps before each agent takes part.
    - `leaves`: the last step of each agent; by default nobody leaves.

    ## Presence
    Absent agents are not judged: in the reward they count as if they had the mean of the agents present.

    ## Bound
    Per step at most the largest worth of every item among the agents present, and for an agent all items while it takes
    part.
    """

    horizon: int = 50
    worth: tuple[tuple[float, ...], ...] = ((0.2, 0.5), (0.3, 0.5))
    joins: tuple[int, ...] = (0, 10)
    leaves: tuple[int, ...] | None = None

    n_noise = 0
    largest_seen = 1.0
    features = ("takes part",)

    def check(self) -> None:
        worth = np.asarray(check_finite("worth", self.worth))
        if worth.ndim != 2 or not worth.size or worth.min() < 0:
            raise ValueError(
                f"worth must be a table of numbers of at least 0, one row per agent, got shape {worth.shape}"
            )
        for name, steps in (("joins", self.joins), ("leaves", self.leaves)):
            if steps is None:
                continue
            if len(steps) != self.n_agents:
                raise ValueError(f"{name} must have one number per agent ({self.n_agents}), got {len(steps)}")
            for one in steps:
                check_count(name, one, 0)

    @property
    def n_agents(self) -> int:
        return len(self.worth)

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n_agents), np.array(self.worth).sum(axis=1)

    def actions(self) -> Floats:
        """One row per way to allocate the items: the utility of each agent, if it takes part."""
        n, items = np.array(self.worth).shape
        owners = np.stack(np.unravel_index(np.arange(n**items), (n,) * items), axis=1)
        received = owners[:, None, :] == np.arange(n)[None, :, None]
        return np.asarray((received * np.array(self.worth)).sum(axis=-1))

    def start(self, noise: Array) -> StepsTaken:
        return StepsTaken(namespace(noise).zeros((), dtype=np.int32))

    def observe(self, state: StepsTaken) -> Array:
        return self.present(state) * 1.0

    def present(self, state: StepsTaken) -> Array:
        xp = namespace(state.t)
        has_joined = xp.asarray(self.joins) <= state.t
        return has_joined if self.leaves is None else has_joined & (state.t < xp.asarray(self.leaves))

    def advance(self, noise: Array, state: StepsTaken, action: Array) -> tuple[StepsTaken, Array]:
        return StepsTaken(state.t + 1), namespace(noise).where(self.present(state), action, 0.0).astype(noise.dtype)

    def brings(self, seen: Floats) -> Floats:
        return self.actions() * seen[:, None, : self.n_agents]

    def most(self) -> Most:
        worth = np.array(self.worth)
        present = np.array([self.present(StepsTaken(np.array(t))) for t in range(self.horizon)])
        best = [worth[there].max(axis=0).sum() if there.any() else 0.0 for there in present]
        return Most(float(np.mean(best)), worth.sum(axis=1) * present.mean(axis=0))
