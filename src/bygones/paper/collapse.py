r"""Why perfect recall collapses: is a policy fair, and did it learn, at each weight λ of welfare in the reward?

These are two questions. A policy can be fair and poor, as drawing lots is, and the Gini coefficient alone cannot tell a
policy that was asked to be unfair from one that learned nothing. So two measures stand together:

- **Fair**: the Gini coefficient of the totals of an episode; 0 is equality.
- **Learned**: how far the policy has come from drawing lots (0) to the certified optimum (1),

$$ \frac{s(W) - s(W_{\text{lots}})}{1 - s(W_{\text{lots}})}, $$

where $s(W)$ is a welfare as a share of the optimum, both in the utility that is as good if all agents have it
(`bygones.paper.optimum`). It is below 0 for policies that are worse than drawing lots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bygones._arrays import Floats
from bygones.learn.settings import Settings
from bygones.paper.asked import asked_for
from bygones.paper.evidence import evidence_folder
from bygones.paper.judging import PROTOCOL
from bygones.paper.optimum import for_settings
from bygones.paper.results import Results, read
from bygones.paper.statistics import Interval, median_interval
from bygones.paper.untrained import Reached, reached

WEIGHTS = (0.9, 0.99, 0.999, 1.0)
"""The values of λ that were tried. The paper has 0.9, and 0.999 for averaged egalitarian runs."""

SEEDS = tuple(range(10))
"""The seeds that every cell has; some cells of the grid have more, which are left out here."""

COLLAPSE = "collapse"
"""The folder of the evidence with the runs of this study, next to that of the grid."""

LOTS = "random"
"""The rule that draws lots."""


@dataclass(frozen=True)
class Cell:
    """Runs that differ in the seed only, with the two measures of their sampled policies.

    Attributes:
        run: the settings of one of them.
        gini: the Gini coefficient of each run.
        learned: how far each run has come from drawing lots (0) to the optimum (1).
        least: the utility per step of each run's worst-off agent.
    """

    run: Settings
    gini: Floats
    learned: Floats
    least: Floats

    def median(self, measure: str) -> float:
        """The median of a measure over the seeds."""
        return float(np.median(getattr(self, measure)))

    def interval(self, measure: str) -> Interval:
        """The exact 95% interval of that median."""
        return median_interval(getattr(self, measure))

    @cached_property
    def asked(self) -> Reached:
        """The results of the rule of the run's reward, without any learning."""
        return asked_for(self.run, [self.run.horizon])[self.run.horizon]

    @property
    def asked_learned(self) -> float:
        """The same between drawing lots and the optimum."""
        return float(learned(self.run, self.asked.welfare))


def learned(run: Settings, welfare: float | Floats) -> Floats:
    """How far a welfare is from that of drawing lots (0) to the optimum (1), in the problem of a run."""
    optimum = for_settings(run)
    lots = optimum.share(reached(LOTS, run, [run.horizon])[run.horizon].welfare)
    return (optimum.share(welfare) - lots) / (1 - lots)


def evaluated_runs() -> Results:
    """The runs of the grid and of this study whose policies were evaluated after training, with ten seeds a cell."""
    grid = evidence_folder()
    # The first occurrence of a run counts, and this study repeats some runs that the grid has without an evaluation.
    runs = read(*sorted((grid.parent / COLLAPSE).iterdir()), *sorted(grid.iterdir()))
    known = runs.where(seed=SEEDS)
    return Results(known.table.filter(np.isfinite(known["sampled_gini"].astype(float))))


def cells(runs: Results) -> Iterator[Cell]:
    """The cells of some runs, in the order of their first runs."""
    rows: dict[Settings, list[int]] = {}
    settings = runs.settings()
    for i, run in enumerate(settings):
        rows.setdefault(run.replace(seed=0), []).append(i)
    gini, welfare, least = (runs[f"sampled_{name}"].astype(float) for name in ("gini", "welfare", "utility_least"))
    for some in rows.values():
        run = settings[some[0]]
        yield Cell(run, gini[some], learned(run, welfare[some]), least[some])


NETWORKS: dict[str, dict[str, object]] = {
    "paper's network, unscaled totals": {"policy": "mlp", "observation_scale": "none"},
    "paper's network, totals divided by their bound": {"policy": "mlp", "observation_scale": "window"},
    "symmetric network, unscaled totals": {"policy": "symmetric", "observation_scale": "none"},
}
"""The networks that are compared, each with its observation of the memory."""


def cells_by_network(runs: Results, **settings: object) -> dict[str, list[Cell]]:
    """The cells of additive memories with these settings for each of `NETWORKS`; all else is the paper's protocol."""
    additive = {**PROTOCOL, "aggregation": "additive", **settings}
    return {name: list(cells(runs.where(**{**additive, **network}))) for name, network in NETWORKS.items()}
