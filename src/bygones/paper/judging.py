"""How a statement about results is judged: by quantities, the ranges they must lie in, and their spread over seeds.

A comparison is a quantity, such as a mean Gini or a difference of two, with a bootstrap interval over seeds and the
range that the statement asks for. It is true if the whole interval lies in the range and false if the whole interval
lies outside; otherwise the seeds cannot tell. Statements about cells of the grid with too few seeds are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bygones._arrays import AnyArray, Floats
from bygones.learn.settings import Settings
from bygones.paper.grid import memory_label, paper_weight
from bygones.paper.results import Results
from bygones.paper.statistics import (
    Interval,
    cliffs_delta,
    difference_interval,
    groups,
    interquartile_mean,
    standard_error,
    summary,
)

MIN_SEEDS = 3
"""The least number of seeds that a cell needs: fewer do not show how seeds differ."""

APART = 0.05
"""The least difference in means at which two groups of seeds count as two."""

HOLDS, FAILS, NOT_ENOUGH = "holds", "fails", "not enough runs"
CANNOT_TELL, TOO_FEW = "cannot tell", "too few"

_IN_THE_GRID = ("welfare", "aggregation", "gamma", "horizon", "weight", "observation_scale", "seed")

PROTOCOL: dict[str, Any] = {name: value for name, value in Settings().to_dict().items() if name not in _IN_THE_GRID}
"""The paper's protocol: the value of every setting that the grid does not vary."""


def departure(results: Results) -> dict[str, Any]:
    """The settings that all of these runs share, but that differ from the paper's protocol."""
    columns = {name: results.table.column(name).unique().to_pylist() for name in PROTOCOL if name != "hidden"}
    columns["hidden"] = [list(sizes) for sizes in set(map(tuple, results.table.column("hidden").to_pylist()))]
    return {name: values[0] for name, values in columns.items() if len(values) == 1 and values[0] != PROTOCOL[name]}


class NotEnoughRunsError(Exception):
    """A cell that a claim is about has too few seeds; the message names the cell."""


class Comparison(NamedTuple):
    """One quantity that a claim makes a statement about.

    Attributes:
        what: the quantity in words.
        value: its estimate from all seeds.
        interval: its bootstrap interval over seeds.
        asked: the range that the claim states.
        middle: the same quantity from interquartile means, if it is about means.
        middle_interval: the bootstrap interval of `middle`.
        errors: the standard error of the mean of each set of seeds, as in the paper's bands.
        effect: Cliff's delta, if two sets of seeds are compared.
        seeds: the values of the seeds, one set or two.
        splits: whether a set of seeds splits into two groups.
    """

    what: str
    value: float
    interval: Interval
    asked: Interval
    middle: float | None
    effect: float | None
    seeds: tuple[tuple[float, ...], ...]
    splits: bool
    middle_interval: Interval | None = None
    errors: tuple[float, ...] = ()

    @property
    def outcome(self) -> bool | None:
        """True if the seeds agree with the claim, False if they contradict it, None if they cannot tell."""
        if self.asked.low <= self.interval.low and self.interval.high <= self.asked.high:
            return True
        if self.interval.high < self.asked.low or self.interval.low > self.asked.high:
            return False
        return None

    @property
    def wanted(self) -> str:
        """The range that the claim states, in words."""
        low, high = (f"{end:g}" for end in self.asked)
        if math.isinf(self.asked.low):
            return f"at most {high}"
        return f"at least {low}" if math.isinf(self.asked.high) else f"between {low} and {high}"

    def __str__(self) -> str:
        answer = {True: "yes", False: "no", None: "the seeds cannot tell"}[self.outcome]
        low, high = (f"{end:.3g}" for end in self.interval)
        return f"{self.what}: {self.value:.3g} [{low}, {high}], {self.wanted}? {answer}"


class Verdict(NamedTuple):
    """The verdict on a claim under one observation scale."""

    word: str
    """`HOLDS`, `FAILS` or `NOT_ENOUGH`."""
    reason: str
    comparisons: tuple[Comparison, ...]

    @property
    def short(self) -> str:
        """The word; instead of `NOT_ENOUGH`, whether the runs are too few or their seeds cannot tell."""
        if self.word != NOT_ENOUGH:
            return self.word
        return CANNOT_TELL if self.comparisons else TOO_FEW


@dataclass(frozen=True)
class Cells:
    """The seeds of every cell of the grid, under one observation scale and one protocol."""

    results: Results
    """Runs of one observation scale that follow the protocol, except in the settings that some claims vary."""
    protocol: dict[str, Any]
    """The protocol's values of those settings, as far as they are fixed."""

    def seeds(self, metric: str, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: Any) -> Floats:
        """The values of a final metric, one per seed, in the order of the seeds."""
        cell = self.runs(welfare, aggregation, gamma, horizon, **changes)
        return cell[f"final_{metric}"]

    def runs(self, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: Any) -> Results:
        """The finished runs of a cell.

        Raises:
            NotEnoughRunsError: there are fewer than `MIN_SEEDS`.
        """
        asked = {"weight": paper_weight(welfare, aggregation), **self.protocol, **changes}
        cell = self.results.where(
            welfare=welfare,
            aggregation=aggregation,
            gamma=gamma,
            horizon=horizon,
            **asked,
        )
        finished = Results(cell.table.filter(np.isnan(cell["stopped_at"].astype(float))).sort_by("seed"))
        if len(finished) < MIN_SEEDS:
            changed = "".join(f", {name} {value}" for name, value in changes.items())
            where = f"{welfare} {aggregation}, {memory_label(gamma)}, T = {horizon}{changed}"
            seeds = "1 seed" if len(finished) == 1 else f"{len(finished)} seeds"
            raise NotEnoughRunsError(f"{where}: {seeds}, at least {MIN_SEEDS} are needed")
        return finished


def mean_within(what: str, values: AnyArray, low: float = -math.inf, high: float = math.inf) -> Comparison:
    """Asks that a mean over seeds lies in a range."""
    summed = summary(values, APART)
    return Comparison(
        what,
        summed.mean,
        summed.mean_interval,
        Interval(low, high),
        summed.interquartile_mean,
        None,
        (summed.seeds,),
        len(summed.groups) > 1,
        summed.interquartile_interval,
        (summed.standard_error,),
    )


def difference_within(
    what: str, a: AnyArray, b: AnyArray, low: float = -math.inf, high: float = math.inf
) -> Comparison:
    """Asks that mean(a) − mean(b) lies in a range."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return Comparison(
        what,
        float(a.mean() - b.mean()),
        difference_interval(a, b),
        Interval(low, high),
        interquartile_mean(a) - interquartile_mean(b),
        cliffs_delta(a, b),
        (tuple(a.tolist()), tuple(b.tolist())),
        any(len(groups(seeds, APART)) > 1 for seeds in (a, b)),
        difference_interval(a, b, of=interquartile_mean),
        (standard_error(a), standard_error(b)),
    )


def number_within(what: str, value: float, low: float = -math.inf, high: float = math.inf) -> Comparison:
    """Asks that a number without uncertainty lies in a range."""
    return Comparison(what, value, Interval(value, value), Interval(low, high), None, None, (), False)


def verdict(comparisons: Callable[[Cells], Iterable[Comparison]], cells: Cells) -> Verdict:
    """A claim holds if all its comparisons are true, and fails if any is false."""
    try:
        made = tuple(comparisons(cells))
    except NotEnoughRunsError as missing:
        return Verdict(NOT_ENOUGH, str(missing), ())
    false = [comparison for comparison in made if comparison.outcome is False]
    unknown = [comparison for comparison in made if comparison.outcome is None]
    if false:
        return Verdict(FAILS, _some(false, len(made)), made)
    if unknown:
        return Verdict(NOT_ENOUGH, _some(unknown, len(made)), made)
    return Verdict(HOLDS, f"all {len(made)} comparisons", made)


def _some(comparisons: list[Comparison], of: int) -> str:
    return f"{len(comparisons)} of {of} comparisons, first: {comparisons[0]}"
