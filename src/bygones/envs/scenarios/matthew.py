"""Agents that eat grow, and agents that have grown eat more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from bygones._arrays import Array, Bools, Floats, check_count, check_one_of, namespace
from bygones.envs.scenario import Scenario
from bygones.envs.walking import CHOICES, DIRECTIONS, Control, joint

N_FOOD = 3
"""How many pieces of food there are."""
SMALLEST, BIGGEST, GROWS, SLOWEST = 0.01, 0.15, 0.005, 0.01
N_ENTITLED = 2
"""The agents, the first ones, to whom the last piece of food is reserved."""

Food = Literal["all", "reserved", "half-reserved"]
Pays = Literal["each", "once"]


class Hunters(NamedTuple):
    """Where agents are, how large they are, and where the food is."""

    places: Array
    sizes: Array
    food: Array


@dataclass(frozen=True)
class Matthew(Scenario):
    r"""Agents hunt for food in a square. An agent that eats grows, is faster and reaches further.

    ## Description
    Ten agents move in the unit square, in which there are three pieces of food. An agent of size s moves by s + 0.01 at
    a step, and eats food closer to it than s; of several agents the first one eats. It then grows by 0.005, up to
    0.15, and the food appears elsewhere. So unto every one that hath shall be given, which is the Matthew effect.

    ## Source
    matthieu637/DFRL, `common/env_matthew.py` (Zimmer, Glanois, Siddique and Weng, "Learning Fair Policies in
    Decentralized Cooperative Multi-Agent Reinforcement Learning", 2021), after Jiang and Lu, "Learning Fairness in
    Multi-Agent Systems", 2019.

    ## Observation Space
    The place of each agent (two numbers), its size, and the place of the nearest food that is for it (two numbers);
    then the memory.

    ## Action Space
    The moves of all agents, every combination in lexicographic order, the last agent's varying fastest. With
    `control="go"` 1 is a step towards the nearest food, along the axis on which it is further away, and 0 stays. With
    `control="moves"` 0 stays, 1 and 2 go down and up along the first axis, 3 and 4 along the second.

    ## Utilities
    The pieces of food that each agent ate.

    ## Starting State
    Places are uniform in the square, sizes between 0.01 and 0.05.

    ## Arguments
    - `n`: the number of agents; if one policy decides for all, at most 16, or 7 with `"moves"`.
    - `control`: whether agents `"go"` or stay, or have their `"moves"` decided.
    - `food`: whether `"all"` food is for everyone, or the last piece is `"reserved"` for the first two agents;
      `"half-reserved"`, it is only shown to them, and others can eat it.
    - `pays`: whether a utility counts `"each"` piece, or is 1 at most, `"once"` for all pieces of a step.

    ## Bound
    None is known.

    ## The original
    Its ten agents have five moves each, and decide separately. One policy for all of them would have 5¹⁰ actions, which
    cannot be listed: `control="go"` is ours, and `control="moves"` is theirs, for up to seven agents. Separate learners
    can have all ten, with `bygones.envs.separate`. The versions `rr` and `nrr` of the original are `food="reserved"`
    and `"half-reserved"`; the latter hides food from agents who may eat it. If an agent eats two pieces at once it
    grows twice, but is paid for one: `pays="once"`.
    """

    horizon: int = 1000
    n: int = 10
    control: Control = "go"
    food: Food = "all"
    pays: Pays = "each"

    features = ("x", "y", "size", "x of food", "y of food")

    def check(self) -> None:
        check_count("n", self.n)
        for name, of in (("control", Control), ("food", Food), ("pays", Pays)):
            check_one_of(name, getattr(self, name), get_args(of))

    @property
    def n_agents(self) -> int:
        return self.n

    @property
    def n_choices(self) -> int:
        return CHOICES[self.control]

    @property
    def n_noise(self) -> int:
        return 2 * N_FOOD + 3 * self.n

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n), np.full(self.n, 1.0 if self.pays == "once" else float(N_FOOD))

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        low, high = [0.0, 0.0, SMALLEST, 0.0, 0.0], [1.0, 1.0, BIGGEST, 1.0, 1.0]
        return np.repeat(low, self.n), np.repeat(high, self.n)

    def actions(self) -> Floats:
        """One row per combination of the agents' moves."""
        return joint(self.n, self.control)

    def start(self, noise: Array) -> Hunters:
        of_agents = noise[2 * N_FOOD :].reshape((self.n, 3))
        sizes = SMALLEST + of_agents[:, 2] * 0.04
        return Hunters(of_agents[:, :2], sizes, noise[: 2 * N_FOOD].reshape((N_FOOD, 2)))

    def observe(self, state: Hunters) -> Array:
        xp = namespace(state.sizes)
        return xp.concatenate([state.places.T.reshape((-1,)), state.sizes, self._nearest(state).T.reshape((-1,))])

    def advance(self, noise: Array, state: Hunters, action: Array) -> tuple[Hunters, Array]:
        xp, dtype = namespace(noise), noise.dtype
        directions = self._to_food(state) * action if self.control == "go" else action
        steps = xp.asarray(DIRECTIONS, dtype=dtype)[directions.astype(np.int32)]
        places = xp.clip(state.places + steps * (SLOWEST + state.sizes)[:, None], 0.0, 1.0)
        elsewhere, sizes, food = noise[: 2 * N_FOOD].reshape((N_FOOD, 2)), state.sizes, []
        eaten = xp.zeros((self.n,), dtype=dtype)
        for piece in range(N_FOOD):
            reaches = ((state.food[piece] - places) ** 2).sum(axis=-1) < sizes**2
            if self.food == "reserved":
                reaches = reaches & self._is_for[:, piece]
            eats = reaches & (xp.cumsum(reaches) == 1)
            eaten = eaten + eats
            sizes = xp.where(eats, xp.minimum(sizes + GROWS, BIGGEST), sizes)
            food.append(xp.where(eats.any(), elsewhere[piece], state.food[piece]))
        utilities = xp.minimum(eaten, 1) if self.pays == "once" else eaten
        return Hunters(places, sizes.astype(dtype), xp.stack(food)), utilities.astype(dtype)

    @property
    def _is_for(self) -> Bools:
        """Which agent is shown which piece of food."""
        shown = np.ones((self.n, N_FOOD), bool)
        if self.food != "all":
            shown[N_ENTITLED:, -1] = False
        return shown

    def _nearest(self, state: Hunters) -> Array:
        """The place of the nearest food that each agent is shown."""
        xp, away = namespace(state.sizes), ((state.food[None] - state.places[:, None]) ** 2).sum(axis=-1)
        return state.food[xp.argmin(xp.where(self._is_for, away, np.inf), axis=-1)]

    def _to_food(self, state: Hunters) -> Array:
        """The direction of that food, along the axis on which it is further away."""
        xp, off = namespace(state.sizes), self._nearest(state) - state.places
        along = xp.where(off > 0, xp.asarray([2, 4]), xp.asarray([1, 3]))
        return xp.where(abs(off[:, 0]) >= abs(off[:, 1]), along[:, 0], along[:, 1])
