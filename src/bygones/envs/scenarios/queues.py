"""Machines with queues: an agent that is not served today needs more tomorrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, namespace
from bygones.envs.scenario import Most, Scenario, check_chances


class Jobs(NamedTuple):
    """How many jobs wait in each queue."""

    waiting: Array


@dataclass(frozen=True)
class Queues(Scenario):
    r"""A few servers work through queues of jobs; a queue that is not served grows.

    ## Description
    Each of n agents has a queue. At each step the action gives k servers to k of the queues, and each server finishes
    up to `speed` jobs of its queue. Then a job arrives in queue i with probability $p_i$, unless the queue is full: a
    job that finds `room` others waiting is lost. Serving an agent lowers its need tomorrow, and letting it wait raises
    it, so being fair is a matter of when as well as of who.

    ## Source
    Our own; the dynamics of a discrete-time queue with Bernoulli arrivals.

    ## Observation Space
    For each agent, the jobs that it could be relieved of at this step, then the jobs in its queue; then the memory.

    ## Action Space
    The subset of k queues to serve.

    ## Utilities
    The jobs that were finished for each agent.

    ## Starting State
    Each queue holds one job with probability $p_i$, and none otherwise.

    ## Arguments
    - `arrivals`: the probability $p_i$ of a new job in each queue. By default the first two of eight agents are busy.
    - `n_servers`: k.
    - `speed`: how many jobs a server finishes at a step.
    - `room`: the most jobs that wait in a queue.

    ## Bound
    No more jobs are finished than arrive or than k servers can do: per step at most
    $\min(\sum_i a_i, k\,\text{speed})$ in total and $a_i$ for agent i, where $a_i = p_i\,(T+1)/T$ counts the job of the
    start too.
    """

    horizon: int = 500
    arrivals: tuple[float, ...] = (0.9, 0.9, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3)
    n_servers: int = 1
    speed: int = 3
    room: int = 20

    features = ("need", "jobs waiting")

    def check(self) -> None:
        check_chances("arrivals", self.arrivals)
        check_count("speed", self.speed)
        check_count("room", self.room)
        if check_count("n_servers", self.n_servers) > self.n_agents:
            raise ValueError(f"n_servers must be at most the number of queues ({self.n_agents}), got {self.n_servers}")

    @property
    def n_agents(self) -> int:
        return len(self.arrivals)

    @property
    def n_served(self) -> int:
        return self.n_servers

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n_agents), np.full(self.n_agents, float(min(self.speed, self.room)))

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(2 * self.n_agents), np.concatenate(
            [self.utility_bounds[1], np.full(self.n_agents, float(self.room))]
        )

    def start(self, noise: Array) -> Jobs:
        return Jobs(self._arrived(noise))

    def observe(self, state: Jobs) -> Array:
        xp = namespace(state.waiting)
        return xp.concatenate([xp.minimum(state.waiting, self.speed), state.waiting])

    def advance(self, noise: Array, state: Jobs, action: Array) -> tuple[Jobs, Array]:
        xp = namespace(noise)
        finished = action * xp.minimum(state.waiting, self.speed)
        waiting = xp.minimum(state.waiting - finished + self._arrived(noise), self.room)
        return Jobs(waiting), finished

    def revealed(self, seen: Array, guess: Jobs) -> Jobs:
        return Jobs(seen[self.n_agents :])

    def most(self) -> Most:
        each = np.minimum(np.array(self.arrivals) * (self.horizon + 1) / self.horizon, self.speed)
        return Most(float(min(each.sum(), self.n_servers * self.speed)), each)

    def _arrived(self, noise: Array) -> Array:
        xp = namespace(noise)
        return (noise < xp.asarray(self.arrivals, dtype=noise.dtype)).astype(noise.dtype)
