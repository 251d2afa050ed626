"""What policies are compared with: drawing lots, the optimum, and the formula of the reward, as tables of the evidence.

    python -m benchmarks.yardsticks evidence/yardsticks

writes `ends.parquet`, the ends of the scale of "learned" for every horizon, welfare and aggregation, and
`asked.parquet`, the results of the formula of `bygones.paper.asked` for every memory, λ, horizon, welfare and
aggregation. With them, the numbers of `docs/why-recall-collapses.md` follow from the runs by arithmetic alone
(`docs/recompute.md`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from bygones._arrays import Json
from bygones.learn.settings import Settings
from bygones.paper.asked import asked_for
from bygones.paper.collapse import LOTS, WEIGHTS
from bygones.paper.grid import AGGREGATIONS, GAMMAS, HORIZONS, WELFARES
from bygones.paper.optimum import for_settings
from bygones.paper.untrained import reached


def ends() -> Iterator[Json]:
    """The welfare and the Gini coefficient of drawing lots, and the optimal welfare."""
    for horizon, welfare, aggregation in product(HORIZONS, WELFARES, AGGREGATIONS):
        run = Settings(horizon=horizon, welfare=welfare, aggregation=aggregation)
        lots = reached(LOTS, run, [horizon])[horizon]
        cell = {"horizon": horizon, "welfare": welfare, "aggregation": aggregation}
        yield {**cell, "lots_gini": lots.gini, "lots": lots.welfare, "optimum": for_settings(run).bound}


def asked() -> Iterator[Json]:
    """The Gini coefficient and the welfare of the rule that follows the reward."""
    for gamma, weight, welfare, aggregation in product(GAMMAS, WEIGHTS, WELFARES, AGGREGATIONS):
        run = Settings(gamma=gamma, weight=weight, welfare=welfare, aggregation=aggregation)
        cell = {"gamma": gamma, "weight": weight, "welfare": welfare, "aggregation": aggregation}
        for horizon, result in asked_for(run, HORIZONS).items():
            yield {**cell, "horizon": horizon, "asked_gini": result.gini, "asked_welfare": result.welfare}


TABLES = {"ends": ends, "asked": asked}


def main(folder: Path) -> None:
    """Writes both tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in TABLES.items():
        parquet.write_table(pa.Table.from_pylist(list(rows())), folder / f"{name}.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
