"""A plant in which agents collect the parts of their products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_one_of, namespace
from bygones.envs.scenario import Scenario
from bygones.envs.walking import CHOICES, Control, cells_of, joint, past_others, walked

SIDE, MIDDLE = 8, 6
"""Agents walk on as many rows and columns; parts lie in so many of them, in the middle."""
N_PARTS, KINDS = 8, 3
"""How many parts lie about, and of how many kinds."""
SHOWN = 10
"""An agent that has more parts of a kind is observed with as many."""
BONUS = 0.01

Bonus = Literal["needed", "any", "none"]


class ShopFloor(NamedTuple):
    """The places of agents and parts, the kind of each part, the parts of each agent, and the number of parts taken."""

    places: Array
    parts: Array
    kinds: Array
    had: Array
    taken: Array


@dataclass(frozen=True)
class Plant(Scenario):
    r"""Agents collect parts on a factory floor, and assemble them to their own products.

    ## Description
    Agents walk on a floor of eight by eight cells; eight parts of three kinds lie in its middle. An agent that comes to
    a part takes it, needed or not, and a part of a random kind appears in another cell. As soon as an agent has what
    its product takes, the product is made. There are only `supply` parts, so parts in the wrong hands are lost. Once
    the supply is used up, no part can be taken. Agents move one after the other. An agent cannot enter a cell that
    another was in before the step, or has just entered.

    ## Source
    matthieu637/DFRL, `common/env_plant.py` (Zimmer, Glanois, Siddique and Weng, "Learning Fair Policies in
    Decentralized Cooperative Multi-Agent Reinforcement Learning", 2021), after Jiang and Lu, "Learning Fairness in
    Multi-Agent Systems", 2019.

    ## Observation Space
    The row and the column of each agent, and how many parts of each kind it has, up to ten; the row, the column and the
    kind of each part; the share of the supply that is left; then the memory.

    ## Action Space
    The moves of all agents, every combination in lexicographic order, the last agent's varying fastest. With
    `control="go"` 1 is a step to the nearest part that the agent needs, along the longer distance first, and 0 stays.
    An agent turns aside if someone is in its way. If it needs none of the parts that lie about, it goes to the nearest
    and takes it away, so another can appear. With `control="moves"` 0 stays, and 1 to 4 go up, down, left and right.

    ## Utilities
    The products that each agent made, and 0.01 for each part that it took and needed.

    ## Starting State
    Agents and parts are in different cells, drawn at random; nobody has a part.

    ## Arguments
    - `requirements`: how many parts of each kind the product of each agent takes, one row per agent.
    - `control`: whether agents `"go"` or stay, or have their `"moves"` decided, as in the original.
    - `supply`: how many parts there are.
    - `bonus`: whether 0.01 is for each part that is `"needed"`, for `"any"`, or for `"none"`.

    ## Bound
    None is known.

    ## The original
    Its episode has 10,000 steps and ends when 800 parts were taken; each agent sees five by five cells around it. It
    pays 0.01 for every part, needed or not; a note in its code calls that a bug, and `bonus="any"` has it. A new part
    can appear where another lies or an agent stands, here as well.
    """

    horizon: int = 1000
    requirements: tuple[tuple[int, ...], ...] = ((2, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 0), (0, 1, 2))
    control: Control = "go"
    supply: int = 800
    bonus: Bonus = "needed"

    largest_utility = N_PARTS * (1 + BONUS)  # if all parts lie in one cell, and each completes a product
    features = ("row", "column", *(f"parts of kind {kind}" for kind in range(KINDS)))
    shared = (
        *(f"{what} of part {part}" for what in ("row", "column", "kind") for part in range(N_PARTS)),
        "supply left",
    )

    def check(self) -> None:
        for row in self.requirements:
            if len(row) != KINDS or not sum(check_count("requirements", one, 0) for one in row):
                raise ValueError(f"requirements must have {KINDS} numbers per agent, not all 0, got {row}")
        check_count("agents", self.n_agents, most=SIDE**2)
        check_one_of("control", self.control, get_args(Control))
        check_one_of("bonus", self.bonus, get_args(Bonus))
        check_count("supply", self.supply)

    @property
    def n_agents(self) -> int:
        return len(self.requirements)

    @property
    def n_choices(self) -> int:
        return CHOICES[self.control]

    @property
    def n_noise(self) -> int:
        return SIDE**2 + MIDDLE**2 + N_PARTS

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        of_agents = np.repeat([SIDE - 1.0, SIDE - 1.0, *[SHOWN] * KINDS], self.n_agents)
        of_parts = np.repeat([SIDE - 1.0, SIDE - 1.0, KINDS - 1.0], N_PARTS)
        high = np.concatenate([of_agents, of_parts, [1.0]])
        return np.zeros(len(high)), high

    def actions(self) -> Floats:
        """One row per combination of the agents' moves."""
        return joint(self.n_agents, self.control)

    def start(self, noise: Array) -> ShopFloor:
        xp, after = namespace(noise), SIDE**2 + MIDDLE**2
        return ShopFloor(
            cells_of(noise[: SIDE**2], self.n_agents, SIDE),
            cells_of(noise[SIDE**2 : after], N_PARTS, MIDDLE) + (SIDE - MIDDLE) // 2,
            xp.floor(noise[after:] * KINDS),
            xp.zeros((self.n_agents, KINDS), dtype=noise.dtype),
            xp.zeros((), dtype=noise.dtype),
        )

    def observe(self, state: ShopFloor) -> Array:
        xp = namespace(state.places)
        seen = [state.places.T, xp.minimum(state.had, SHOWN).T, state.parts.T, state.kinds]
        left = xp.maximum(1 - state.taken / self.supply, 0)
        return xp.concatenate([*(each.reshape((-1,)) for each in seen), left[None]])

    def advance(self, noise: Array, state: ShopFloor, action: Array) -> tuple[ShopFloor, Array]:
        xp, dtype = namespace(noise), noise.dtype
        drawn, lots = noise[: 3 * N_PARTS].reshape((N_PARTS, 3)), noise[3 * N_PARTS :][: self.n_agents]
        directions = self._to_parts(state, lots) * action if self.control == "go" else action
        places = walked(state.places, directions.astype(np.int32), SIDE)
        is_taken = (state.parts[:, None] == places[None]).all(axis=-1) & (state.taken < self.supply)
        is_of_kind = (state.kinds[:, None] == xp.arange(KINDS)).astype(dtype)
        got = is_taken.T.astype(dtype) @ is_of_kind
        had = state.had + got
        takes = xp.asarray(self.requirements, dtype=dtype)
        products = xp.where(takes > 0, had // xp.maximum(takes, 1), np.inf).min(axis=-1)
        counted = xp.minimum(got, xp.maximum(takes - state.had, 0)) if self.bonus == "needed" else got
        worth = products + (0.0 if self.bonus == "none" else BONUS) * counted.sum(axis=-1)
        is_gone = is_taken.any(axis=-1)
        elsewhere = xp.floor(drawn[:, :2] * MIDDLE) + (SIDE - MIDDLE) // 2
        after = ShopFloor(
            places,
            xp.where(is_gone[:, None], elsewhere, state.parts),
            xp.where(is_gone, xp.floor(drawn[:, 2] * KINDS), state.kinds),
            had - takes * products[:, None],
            state.taken + is_gone.sum(),
        )
        return after, worth.astype(dtype)

    def _to_parts(self, state: ShopFloor, lots: Array) -> Array:
        """The direction of the nearest part that each agent needs; where there is none, of the nearest part."""
        xp = namespace(state.places)
        lacks = state.had < xp.asarray(self.requirements)
        needs = lacks[:, state.kinds.astype(np.int32)]
        away = abs(state.places[:, None] - state.parts[None]).sum(axis=-1)
        nearest = xp.argmin(away + xp.where(needs, 0, 2 * SIDE), axis=-1)
        return past_others(state.places, state.parts[nearest], lots, SIDE)
