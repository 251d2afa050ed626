"""Made-up results of the paper's whole grid, in which the paper's claims hold: for tests and for trying out figures."""

import datetime

import numpy as np
import pyarrow as pa

from bygones.paper.columns import SCHEMA
from bygones.paper.grid import grid
from bygones.paper.provenance import Provenance
from bygones.paper.results import Results, RunResult, _row, thinned

POINTS = 50
BEST = 0.178
"""Near the egalitarian optimum, per agent and step."""


def as_the_paper_says(run):
    """The Gini that the paper would have a run come to."""
    if run.gamma == 0.0:
        return 0.45
    if (run.welfare, run.aggregation, run.weight) == ("egalitarian", "averaged", 0.9):
        return 0.3
    if run.gamma == 1.0 and run.horizon >= 5000:
        return 0.25 if run.total_steps > 1_000_000 else 0.44 + 0.02 * (run.horizon == 10000)
    if (run.welfare, run.gamma) == ("egalitarian", 0.9) and run.aggregation == "additive":
        return 0.3
    if run.gamma in (0.999, 1.0) and run.horizon <= 1000:
        return 0.07
    return 0.04


def results(gini=as_the_paper_says, spread=0.004, seeds=10, scales=("window",), extra=True, **settings):
    """The paper's grid, and with `extra` the runs that C12 and C13 need besides; `settings` are those of all runs."""
    rows = []
    for scale in scales:
        common = {"seeds": seeds, "observation_scale": scale, **settings}
        runs = grid("paper", **common).runs()
        if extra:
            long = {"gamma": (1.0,), "horizon": (5000, 10000), "total_steps": 10_000_000}
            runs += grid("paper", welfare=("egalitarian",), aggregation=("averaged",), weight=0.9, **common).runs()
            runs += grid("paper", aggregation=("additive",), **long, **common).runs()
        rows += [made_up(run, gini, spread) for run in runs]
    origin = Provenance({"python": "3"}, "made up", "made up")
    now = datetime.datetime.fromtimestamp(0, datetime.UTC)
    return Results(pa.Table.from_pylist([_row(row, origin, now) for row in rows], schema=SCHEMA))


def made_up(run, gini, spread):
    rng = np.random.default_rng([run.seed, run.horizon, int(run.gamma * 1000), len(run.welfare), len(run.aggregation)])
    final = max(0.0, gini(run) + spread * rng.normal())
    utility = 1.8 if run.gamma == 0 else 1.75
    least = BEST * (1 - final)
    metrics = {
        "gini": final,
        "welfare": score(run, final),
        "welfare_memory": score(run, final),
        "utility_per_step": utility + 0.01 * rng.normal(),
        "utility_least": least,
        "utility_most": 2 * BEST - least,
    }
    progress = np.linspace(0, 1, POINTS)
    rate = 12 * 200 / run.horizon if run.gamma == 1.0 else 12
    noise = 0.3 * spread * rng.normal(size=POINTS)
    ginis = np.clip(final + (0.42 - final) * np.exp(-rate * progress) + noise, 0, 0.9)
    curves = {
        "steps": (progress * run.total_steps).astype(int) + 1,
        "episodes": np.ones(POINTS),
        "gini": ginis,
        "welfare": score(run, ginis),
        "utility_per_step": utility + 0.02 * rng.normal(size=POINTS),
    }
    return RunResult(run, metrics, thinned(curves), 1.0)


def score(run, gini):
    """A fairness score to go with a Gini; under Nash welfare the myopic agent leaves some with nothing."""
    equal = BEST * (1 - gini) * (run.horizon if run.aggregation == "additive" else 1)
    return equal if run.welfare == "egalitarian" else 10 * np.log(equal) - 40 * (run.gamma == 0)
