"""Agents who walk on a square grid, one cell at a time, and are in each other's way.

Directions are numbers: 0 stays, 1 and 2 go one row up and down, 3 and 4 one column to the left and to the right.
"""

from __future__ import annotations

import itertools
from typing import Literal, cast

import numpy as np

from bygones._arrays import Array, Floats, namespace

Control = Literal["go", "moves"]
"""The decision about each agent: whether it goes to its goal, or in which direction it moves."""

DIRECTIONS = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])

CHOICES: dict[Control, int] = {"go": 2, "moves": len(DIRECTIONS)}
"""How many choices there are for each agent."""


def joint(n_agents: int, control: Control) -> Floats:
    """One row for each combination of the agents' moves, in lexicographic order."""
    return np.array(list(itertools.product(range(CHOICES[control]), repeat=n_agents)), float)


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


def past_others(places: Array, goals: Array, lots: Array, side: int) -> Array:
    """The direction from each place to its goal, along the longer of the two distances; 0 at the goal.

    An agent whose way is taken turns aside: along the other distance, or where that is 0, to a side that its lot (a
    uniform number) chooses. If it went on by the same way, two who meet would stand in each other's way for ever.
    """
    xp, off = namespace(places), goals - places
    rows, columns = off[..., 0], off[..., 1]
    by_row = xp.where(rows < 0, 1, xp.where(rows > 0, 2, 0))
    by_column = xp.where(columns < 0, 3, xp.where(columns > 0, 4, 0))
    is_by_row = abs(rows) >= abs(columns)
    ahead = xp.where(is_by_row, by_row, by_column)
    aside = xp.where(is_by_row, by_column, by_row)
    either = xp.where(is_by_row, 3, 1) + (lots < 0.5)
    aside = xp.where(aside == 0, either, aside)
    return xp.where((ahead > 0) & ~_is_free(places, ahead, side), aside, ahead)


def walked(places: Array, directions: Array, side: int) -> Array:
    """Where agents are after a step, one after the other.

    An agent stays where it is if its step leads off the grid, or to a cell in which someone was before the step or to
    which someone has come in it.
    """
    xp = namespace(places)
    wanted, is_free = _next(places, directions), _is_free(places, directions, side)
    after: list[Array] = []
    for i in range(len(places)):
        is_met = [(there == wanted[i]).all(axis=-1) for there in after]
        stays = ~is_free[i] | xp.asarray(is_met, dtype=bool).any()
        after.append(xp.where(stays, places[i], wanted[i]))
    return xp.stack(after)


def _next(places: Array, directions: Array) -> Array:
    """The cells next to places."""
    return places + namespace(places).asarray(DIRECTIONS, dtype=places.dtype)[directions]


def _is_free(places: Array, directions: Array, side: int) -> Array:
    """Whether the cell next to each place is on the grid, and nobody is in it."""
    wanted = _next(places, directions)
    is_there = (wanted[:, None] == places[None]).all(axis=-1)
    return cast(Array, ((wanted >= 0) & (wanted < side)).all(axis=-1) & ~is_there.any(axis=-1))
