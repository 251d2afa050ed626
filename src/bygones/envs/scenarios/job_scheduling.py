"""One machine on a grid, and jobs that must go to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_one_of, namespace
from bygones.envs.scenario import Most, Scenario
from bygones.envs.walking import CHOICES, Control, cells_of, joint, towards, walked

SIDE = 5
"""The grid has as many rows and columns."""


class Queueing(NamedTuple):
    """The row and column of each agent, and of the machine."""

    places: Array
    machine: Array


@dataclass(frozen=True)
class JobScheduling(Scenario):
    r"""Agents walk to a machine that only one of them can use at a time.

    ## Description
    Agents stand on a grid of five by five cells, and a machine is in one of them. The agent in the machine's cell at
    the end of a step is served. Agents move one after the other. Nobody can enter a cell in which someone was before
    the step or to which someone has come in it, so taking turns costs a step: one agent has to leave before the next
    can come.

    ## Source
    matthieu637/DFRL, `common/env_job.py` (Zimmer, Glanois, Siddique and Weng, "Learning Fair Policies in Decentralized
    Cooperative Multi-Agent Reinforcement Learning", 2021), after Jiang and Lu, "Learning Fairness in Multi-Agent
    Systems", 2019. There are two versions: three agents of whom each goes or wanders, and four with five moves each.

    ## Observation Space
    The row and the column of each agent, and how many rows and columns it is away from the machine; then the memory.

    ## Action Space
    The moves of all agents, every combination in lexicographic order, the last agent's varying fastest. With
    `control="go"` 1 is a step to the machine, by rows first, and 0 one in a random direction. With `control="moves"` 0
    stays, and 1 to 4 go up, down, left and right.

    ## Utilities
    1 for the agent at the machine, 0 for all others.

    ## Starting State
    The machine is in one of the nine middle cells; agents are in different cells, drawn at random.

    ## Arguments
    - `n`: the number of agents; if one policy decides for all, at most 16, or 7 with `"moves"`.
    - `control`: whether agents `"go"` or wander, or have their `"moves"` decided.

    ## Bound
    At most 1 per step, in total and for each agent.

    ## The original
    Each agent sees its own place, the machine and the eight cells around it; here one policy sees and decides for all.
    It has no memory and no welfare: its learners bring them.
    """

    horizon: int = 1000
    n: int = 3
    control: Control = "go"

    largest_utility = 1.0
    features = ("row", "column", "rows to the machine", "columns to the machine")

    def check(self) -> None:
        check_count("n", self.n, most=SIDE**2)
        check_one_of("control", self.control, get_args(Control))

    @property
    def n_agents(self) -> int:
        return self.n

    @property
    def n_choices(self) -> int:
        return CHOICES[self.control]

    @property
    def n_noise(self) -> int:
        return 2 + SIDE**2

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        furthest = SIDE - 2.0
        return np.repeat([0.0, -furthest], 2 * self.n), np.repeat([SIDE - 1.0, furthest], 2 * self.n)

    def actions(self) -> Floats:
        """One row per combination of the agents' moves."""
        return joint(self.n, self.control)

    def start(self, noise: Array) -> Queueing:
        middle = 1 + namespace(noise).floor(noise[:2] * (SIDE - 2))
        return Queueing(cells_of(noise[2:], self.n, SIDE), middle)

    def observe(self, state: Queueing) -> Array:
        away = state.machine - state.places
        return namespace(away).concatenate([state.places.T.reshape((-1,)), away.T.reshape((-1,))])

    def advance(self, noise: Array, state: Queueing, action: Array) -> tuple[Queueing, Array]:
        xp = namespace(noise)
        if self.control == "go":
            wandering = 1 + xp.floor(noise[: self.n] * 4)
            directions = xp.where(action > 0, towards(state.places, state.machine), wandering)
        else:
            directions = action
        places = walked(state.places, directions.astype(np.int32), SIDE)
        served = (places == state.machine).all(axis=-1)
        return Queueing(places, state.machine), served.astype(noise.dtype)

    def revealed(self, seen: Array, guess: Queueing) -> Queueing:
        row, column, down, right = seen.reshape((4, self.n))
        places = namespace(seen).stack([row, column], axis=-1)
        return Queueing(places, places[0] + namespace(seen).stack([down[0], right[0]]))

    def brought(self, before: Queueing, action: Array, after: Queueing) -> Array:
        served: Array = (after.places == after.machine).all(axis=-1)
        return served.astype(action.dtype)

    def most(self) -> Most:
        return Most(1.0, np.ones(self.n))
