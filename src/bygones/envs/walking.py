"""Agents who walk on a square grid, one cell at a time, and are in each other's way.

Directions are numbers: 0 stays, 1 and 2 go one row up and down, 3 and 4 one column to the left and to the right.
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from bygones._arrays import Array, Floats, namespace
from bygones.envs.fair_problem import MOST_ACTIONS

Control = Literal["go", "moves"]
"""What is decided of each agent: whether it goes for what it wants, or in which direction it moves."""

DIRECTIONS = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])

_CHOICES: dict[Control, int] = {"go": 2, "moves": len(DIRECTIONS)}


def check_joint(n_agents: int, control: Control) -> None:
    """Refuses more agents than all of whose choices together can be listed."""
    if _CHOICES[control] ** n_agents > MOST_ACTIONS:
        most = max(n for n in range(1, 20) if _CHOICES[control] ** n <= MOST_ACTIONS)
        raise ValueError(f"control {control!r} lists what all agents do: n must be at most {most}, got {n_agents}")


def joint(n_agents: int, control: Control) -> Floats:
    """One row for each combination of what the agents do, in lexicographic order."""
    return np.array(list(itertools.product(range(_CHOICES[control]), repeat=n_agents)), float)


def cells_of(noise: Array, count: int, side: int) -> Array:
    """That many different cells of a square grid, every choice equally likely, from one uniform number per cell."""
    xp = namespace(noise)
    cells = xp.argsort(noise)[:count]
    return xp.stack([xp.floor(cells / side), cells % side], axis=-1).astype(noise.dtype)


def towards(places: Array, goals: Array) -> Array:
    """The direction from each place to its goal, by rows first; 0 at the goal."""
    xp, off = namespace(places), goals - places
    by_column = xp.where(off[..., 1] < 0, 3, xp.where(off[..., 1] > 0, 4, 0))
    return xp.where(off[..., 0] < 0, 1, xp.where(off[..., 0] > 0, 2, by_column))


def walked(places: Array, directions: Array, side: int) -> Array:
    """Where agents are after a step, one after the other.

    An agent stays where it is if its step leads off the grid, or to a cell in which somebody was before the step or to
    which somebody has come in it.
    """
    xp = namespace(places)
    wanted = places + xp.asarray(DIRECTIONS, dtype=places.dtype)[directions]
    is_free = ((wanted >= 0) & (wanted < side)).all(axis=-1)
    is_free = is_free & ~(wanted[:, None] == places[None]).all(axis=-1).any(axis=-1)
    after: list[Array] = []
    for i in range(len(places)):
        is_met = [(there == wanted[i]).all(axis=-1) for there in after]
        stays = ~is_free[i] | xp.asarray(is_met, dtype=bool).any()
        after.append(xp.where(stays, places[i], wanted[i]))
    return xp.stack(after)
