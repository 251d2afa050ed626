"""Needs replayed from a table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Floats, check_count, check_finite, namespace
from bygones.envs.scenario import Most, Scenario


class Line(NamedTuple):
    """Where in the table an episode is."""

    row: Array
    needs: Array


@dataclass(frozen=True)
class Replay(Scenario):
    r"""The needs of a table, row by row: a log, played again with other decisions.

    ## Description
    A table has a row for each step and a column for each agent. An episode begins at a random row (`anywhere`) or at
    the first, goes through the table and starts again at its end. k agents are served at each step. Actions do not
    change the needs, which were written down before.

    ## Source
    Our own.

    ## Observation Space
    The need of each agent; then the memory.

    ## Action Space
    The subset of k agents to serve.

    ## Utilities
    Its need for each agent that is served, 0 for all others.

    ## Starting State
    The needs of the first row of the episode.

    ## Arguments
    - `needs`: the rows of the table; or the path of a CSV file with a header of agents and numbers below. By default a
      small week of three agents.
    - `n_resources`: k.
    - `anywhere`: whether an episode begins at a random row.

    ## Bound
    If T is a multiple of the rows, no policy reaches more in total than the k largest needs of every row, or more for
    an agent than all of its needs. Otherwise no bound is given.
    """

    horizon: int = 70
    needs: tuple[tuple[float, ...], ...] | str = (
        (3.0, 1.0, 0.0), (2.0, 2.0, 1.0), (4.0, 1.0, 1.0), (3.0, 0.0, 2.0), (2.0, 1.0, 1.0), (5.0, 4.0, 0.0),
        (4.0, 4.0, 3.0),
    )  # fmt: skip
    n_resources: int = 1
    anywhere: bool = True

    n_noise = 1

    def check(self) -> None:
        if isinstance(self.needs, str):
            object.__setattr__(self, "needs", _read(Path(self.needs)))
        table = np.asarray(check_finite("needs", self.needs))
        if table.ndim != 2 or not table.size or table.min() < 0 or table.max() <= 0:
            raise ValueError(
                f"needs must be a table of numbers of at least 0, not all 0, one row per step, got shape {table.shape}"
            )
        if check_count("n_resources", self.n_resources) > self.n_agents:
            raise ValueError(
                f"n_resources must be at most the number of agents ({self.n_agents}), got {self.n_resources}"
            )

    @property
    def n_agents(self) -> int:
        return len(self.needs[0])

    @property
    def n_served(self) -> int:
        return self.n_resources

    @property
    def utility_bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.n_agents), np.array(self.needs, float).max(axis=0)

    @property
    def seen_bounds(self) -> tuple[Floats, Floats]:
        return self.utility_bounds

    def start(self, noise: Array) -> Line:
        first = (noise[0] * (len(self.needs) if self.anywhere else 0)).astype(np.int32)
        return self._at(first, noise)

    def observe(self, state: Line) -> Array:
        return state.needs

    def advance(self, noise: Array, state: Line, action: Array) -> tuple[Line, Array]:
        return self._at((state.row + 1) % len(self.needs), noise), action * state.needs

    def most(self) -> Most | None:
        table = np.array(self.needs, float)
        if self.horizon % len(table):
            return None
        return Most(float(np.sort(table, axis=1)[:, -self.n_resources :].sum(axis=1).mean()), table.mean(axis=0))

    def _at(self, row: Array, noise: Array) -> Line:
        return Line(row, namespace(noise).asarray(self.needs, dtype=noise.dtype)[row])


def _read(path: Path) -> tuple[tuple[float, ...], ...]:
    """The rows of a CSV file, without its header."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    table = []
    for number, row in enumerate(rows, start=2):
        try:
            table.append(tuple(map(float, row)))
        except ValueError:
            raise ValueError(f"{path}, row {number}: needs must be numbers, got {', '.join(row)}") from None
        if len(row) != len(rows[0]):
            raise ValueError(f"{path}, row {number}: expected {len(rows[0])} needs, got {len(row)}")
    return tuple(table)
