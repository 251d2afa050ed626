"""A hundred seeds for the cells in which ten could not tell, as `bygones claims` found on the first 10,950 runs.

    python -m benchmarks.hundred_seeds evidence/grid/hundred-seeds

Needs an accelerator: 4,680 runs of a million steps each. What the folder has already is not run again.
"""

from __future__ import annotations

import sys

from bygones.learn.settings import Settings
from bygones.paper.grid import grid
from bygones.paper.progress import now_and_then
from bygones.paper.run import execute

SEEDS = 100
SEEN = 10
"""The first seeds are in the grid's own folders."""

CELLS = """
none nash additive 0 100,500,1000,5000,10000
none nash additive 0.99,0.999,1 500
none nash additive 0.999,1 1000
none nash additive 0.999 10000
none egalitarian additive 0,0.999,1 10000
none egalitarian additive 0.999 1000,5000
fixed nash additive 0.999,1 100,500,1000,10000
window nash additive 0.999,1 100,1000
window nash additive 0.999 5000,10000
expected nash additive 0.999,1 100,500,1000,5000
expected nash additive 0.99 100
none nash averaged 0.999,1 100,500,5000
fixed nash averaged 1 100,500,5000,10000
expected nash averaged 0.999 100,500,5000
"""
"""Observation scale, welfare function, aggregation, past discounts and horizons."""


def runs() -> list[Settings]:
    """The runs of all seeds but the first ones."""
    found: list[Settings] = []
    for line in CELLS.strip().splitlines():
        scale, welfare, aggregation, gammas, horizons = line.split()
        cells = grid(
            "paper",
            observation_scale=scale,
            welfare=[welfare],
            aggregation=[aggregation],
            gamma=[float(gamma) for gamma in gammas.split(",")],
            horizon=[int(horizon) for horizon in horizons.split(",")],
            seeds=SEEDS,
        )
        found += [run for run in cells.runs() if run.seed >= SEEN]
    return found


if __name__ == "__main__":
    progress = now_and_then(lambda line: print(line, flush=True))
    execute(runs(), sys.argv[1], on="accelerator", batch=800, progress=progress)
