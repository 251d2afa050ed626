"""Uniform noise, drawn in blocks because drawing it step by step would take longer than a step of few agents.

Every environment has its own generator and consumes its noise row by row, one number per agent. The noise depends only
on the seed, not on the number of environments or the size of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from bygones._arrays import Floats, Ints


class Noise:
    """The noise of one environment: `row()` is the next row of n uniform numbers."""

    def __init__(self, generator: np.random.Generator, n_agents: int, ahead: int = 256) -> None:
        self.generator = generator
        self._shape = (ahead, n_agents)
        self._rows = np.empty((0, n_agents))
        self._next = 0

    def row(self) -> Floats:
        """The next row."""
        if self._next == len(self._rows):
            self._rows, self._next = self.generator.random(self._shape), 0
        row: Floats = self._rows[self._next]
        self._next += 1
        return row

    def rows(self, count: int) -> Floats:
        """The next rows, one behind the other."""
        return np.concatenate([self.row() for _ in range(count)])


class NoiseBatch:
    """The noise of many environments, the same for each as if it ran alone."""

    def __init__(self, generators: Sequence[np.random.Generator], n_agents: int, ahead: int = 64) -> None:
        self.generators = list(generators)
        self._rows = np.empty((len(self.generators), ahead, n_agents))
        self._next = np.full(len(self.generators), ahead)
        self._all = np.arange(len(self.generators))

    def reseed(self, i: int, generator: np.random.Generator) -> None:
        """Gives environment i a new generator."""
        self.generators[i] = generator
        self._next[i] = self._rows.shape[1]

    def row(self, which: Ints | None = None) -> Floats:
        """The next row of each of these environments; by default of all."""
        which = self._all if which is None else which
        at = self._next[which]
        used_up = at == self._rows.shape[1]
        if used_up.any():
            for i in which[used_up]:
                self.generators[i].random(out=self._rows[i])
            at = np.where(used_up, 0, at)
        self._next[which] = at + 1
        return cast(Floats, self._rows[which, at])

    def rows(self, count: int, which: Ints | None = None) -> Floats:
        """The next rows of each of these environments, by default of all, one behind the other."""
        return np.concatenate([self.row(which) for _ in range(count)], axis=-1)
