"""The seeds of the cells that claims are about, and arithmetic with them seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from bygones._arrays import Floats, Json
from bygones._text import counted
from bygones.paper.grid import memory_label, paper_weight
from bygones.paper.results import Results

MIN_SEEDS = 10
"""The least number of seeds that a comparison needs; the paper has ten."""


class NotEnoughRunsError(Exception):
    """A cell that a claim is about has too few seeds; the message names the cell."""


@dataclass(frozen=True)
class PerSeed:
    """A quantity of each seed. Sums, differences and multiples are taken seed by seed, over the seeds in common."""

    by_seed: Mapping[int, float]

    @property
    def values(self) -> Floats:
        """The values in the order of the seeds."""
        return np.array([self.by_seed[seed] for seed in sorted(self.by_seed)], float)

    def __add__(self, other: PerSeed) -> PerSeed:
        return PerSeed({seed: value + other.by_seed[seed] for seed, value in self._shared(other).items()})

    def __sub__(self, other: PerSeed) -> PerSeed:
        return self + (-1.0) * other

    def __rmul__(self, factor: float) -> PerSeed:
        return PerSeed({seed: factor * value for seed, value in self.by_seed.items()})

    def shared(self, other: PerSeed) -> PerSeed:
        """Only the seeds that the other has as well."""
        return PerSeed(self._shared(other))

    def _shared(self, other: PerSeed) -> dict[int, float]:
        return {seed: value for seed, value in self.by_seed.items() if seed in other.by_seed}


def mean_of(parts: Sequence[PerSeed]) -> PerSeed:
    """The mean of several quantities, seed by seed: for pooling horizons."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return (1 / len(parts)) * total


@dataclass(frozen=True)
class Cells:
    """The seeds of every cell of the grid, under one observation scale and one protocol."""

    results: Results
    """Runs of one observation scale that follow the protocol, except in the settings that some claims vary."""
    protocol: Json
    """The protocol's values of those settings that are fixed."""
    scale: str = "none"
    alike: Results | None = None
    """Runs of other observation scales that observe the same, so the scale makes no difference."""
    used: dict[tuple[object, ...], Results] = field(default_factory=dict, repr=False, compare=False)
    """The cells that were looked at, in order."""
    _known: dict[tuple[object, ...], Results] = field(default_factory=dict, repr=False, compare=False)
    """Cells that were asked for before; claims ask for the same ones again and again."""

    def seeds(
        self, metric: str, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: object
    ) -> PerSeed:
        """The values of a final metric, one per seed.

        Raises:
            NotEnoughRunsError: there are fewer than `MIN_SEEDS`.
        """
        return per_seed(self.runs(welfare, aggregation, gamma, horizon, **changes), f"final_{metric}")

    def runs(self, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: object) -> Results:
        """The finished runs of a cell, in the order of their seeds.

        Raises:
            NotEnoughRunsError: there are fewer than `MIN_SEEDS`.
        """
        changed = "".join(f", {name} {value}" for name, value in changes.items())
        where = f"{welfare} {aggregation}, {memory_label(gamma)}, T = {horizon}{changed}"
        asked = {"weight": paper_weight(welfare, aggregation), **self.protocol, **changes}
        asked |= {"welfare": welfare, "aggregation": aggregation, "gamma": gamma, "horizon": horizon}
        key = tuple(asked.items())
        if key not in self._known:
            self._known[key] = self._look_up(asked)
        check_enough(len(self._known[key]), where)
        self.used[key] = self._known[key]
        return self._known[key]

    def _look_up(self, asked: Mapping[str, object]) -> Results:
        if not set(asked) <= set(self.results.table.column_names):
            return Results(self.results.table.slice(0, 0))
        places = [self.results] if self.alike is None else [self.results, self.alike]
        runs = pa.concat_tables([place.where(**asked).finished().table for place in places])
        _, first = np.unique(runs.column("seed").to_numpy(), return_index=True)
        return Results(runs.take(first))


def check_enough(n_seeds: int, where: str) -> None:
    """Raises `NotEnoughRunsError` if there are fewer than `MIN_SEEDS`."""
    if n_seeds < MIN_SEEDS:
        raise NotEnoughRunsError(f"{where}: {counted(n_seeds, 'seed')}, at least {MIN_SEEDS} are needed")


def per_seed(runs: Results, column: str) -> PerSeed:
    """A column of runs with different seeds, without the seeds that lack a value."""
    if column not in runs.table.column_names:
        return PerSeed({})
    pairs = zip(runs["seed"].tolist(), runs[column].astype(float).tolist(), strict=True)
    return PerSeed({seed: value for seed, value in pairs if not math.isnan(value)})
