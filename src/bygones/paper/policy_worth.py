"""The worth of trained policies: while they learn, and once they are finished.

The paper's metric is measured in the last tenth of training, while the policy still learns and samples its actions. A
finished policy can go on sampling, or be greedy and always take the likeliest action. Every cell of the grid is
measured in all three ways, for the paper's network and for the symmetric one, which are never joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Floats, Json
from bygones.learn.settings import Settings
from bygones.paper.grid import GAMMAS, in_order, paper_weight
from bygones.paper.judging import PROTOCOL
from bygones.paper.optimum import for_settings
from bygones.paper.results import Results
from bygones.paper.statistics import Interval, median_interval
from bygones.paper.untrained import RULES, reached

WAYS = {"final": "in training", "sampled": "sampled actions", "deterministic": "greedy actions"}
"""The ways to measure a policy: the beginning of its columns, and their meaning."""

MEASURED = {"gini": "Gini coefficient", "utility_least": "utility per step of the worst-off agent"}
"""The metrics that are given for every cell."""

NETWORK = ("policy", "agent_features", "observation_scale", "fixed_scale")
"""The settings of the network, and of its view of the memory."""


class OverSeeds(NamedTuple):
    """A metric of the seeds of a cell."""

    mean: float
    median: float
    interval: Interval
    """The exact 95% interval of the median."""
    least: float
    most: float


@dataclass(frozen=True)
class CellWorth:
    """A cell of the grid and what its policies are worth."""

    run: Settings
    """The settings of one of its runs; all others differ in the seed."""
    runs: Results

    def over_seeds(self, way: str, metric: str) -> OverSeeds | None:
        """A metric, measured in one of `WAYS`; None if the policies were not evaluated in that way."""
        values = self.seeds(way, metric)
        if not len(values):
            return None
        return OverSeeds(
            float(values.mean()),
            float(np.median(values)),
            median_interval(values),
            float(values.min()),
            float(values.max()),
        )

    def seeds(self, way: str, metric: str) -> Floats:
        """The values of the seeds."""
        values: Floats = self.runs[f"{way}_{metric}"].astype(float)
        return values[np.isfinite(values)]

    def to_dict(self) -> Json:
        """The cell as plain values, for JSON."""
        cell = ("welfare", "aggregation", "gamma", "horizon", *NETWORK)
        metrics = {
            way: {name: measure._asdict() for name in MEASURED if (measure := self.over_seeds(way, name))}
            for way in WAYS
        }
        return {
            **{name: getattr(self.run, name) for name in cell},
            "n_seeds": len(self.runs),
            **{way: measures for way, measures in metrics.items() if measures},
        }


def measured(results: Results, **cell: object) -> list[CellWorth]:
    """Every cell of finished runs that follow the paper's protocol in all but the network, in the order of the grid.

    Args:
        results: the runs.
        cell: the settings of the cells that are asked for, such as `horizon=10000`.
    """
    cells = list(_cells(results, cell))
    scales = in_order({worth.run.observation_scale for worth in cells})
    return sorted(
        cells,
        key=lambda worth: (
            worth.run.welfare,
            worth.run.aggregation,
            worth.run.horizon,
            worth.run.policy,
            worth.run.agent_features,
            scales.index(worth.run.observation_scale),
            -worth.run.fixed_scale,
            worth.run.gamma,
        ),
    )


def _cells(results: Results, cell: Json) -> Iterator[CellWorth]:
    follow = results.where(**{name: value for name, value in PROTOCOL.items() if name not in NETWORK} | cell)
    for run, runs in follow.finished().cells():
        if run.weight == paper_weight(run.welfare, run.aggregation):
            yield CellWorth(run, runs)


def without_training(cells: Iterable[CellWorth]) -> list[Json]:
    """The best possible and the rules that need no training, for every problem of the cells, for JSON."""
    problems = {(run.welfare, run.aggregation, run.horizon): run for run in (cell.run for cell in cells)}
    values = []
    for (welfare, aggregation, horizon), run in problems.items():
        rules = {
            f"{gamma:g}": {
                rule: reached(rule, run.replace(gamma=gamma), [horizon])[horizon]._asdict() for rule in RULES
            }
            for gamma in GAMMAS
        }
        values.append(
            {
                "welfare": welfare,
                "aggregation": aggregation,
                "horizon": horizon,
                "best_possible": {"welfare": for_settings(run).bound, "utility_least": most_for_the_least(run)},
                "rules_by_gamma": rules,
            }
        )
    return values


def most_for_the_least(run: Settings) -> float:
    """The most that any policy can give to the worst-off agent, per step, in the problem of a run."""
    return for_settings(run.replace(welfare="egalitarian", aggregation="averaged")).bound
