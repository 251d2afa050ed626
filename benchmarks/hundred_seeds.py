"""A hundred seeds for every cell in which a claim is open.

    python -m benchmarks.hundred_seeds evidence/grid/hundred-seeds

Judges the claims from the shipped evidence and trains the missing seeds, up to a hundred, of every cell that an open
comparison is about. Needs an accelerator: each cell has 90 runs of a million steps, or of ten million for C13. With
`--plan` it only lists the cells; `--only` takes those whose line matches, such as `--only total_steps`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bygones.learn.settings import Settings
from bygones.paper.cells import Cells
from bygones.paper.claims import CLAIMS, UNSCALED_AVERAGES, cells_by_scale
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import memory_label, paper_weight
from bygones.paper.judging import CANNOT_TELL, Claim, Comparison, DoesNotArise, Some, verdicts
from bygones.paper.progress import now_and_then
from bygones.paper.results import Results, read
from bygones.paper.run import execute

SEEDS = 100
MOST_IN_A_BATCH = 1250
"""About two and a half minutes on an H200, so little is lost if it is cut off."""


class Cell(NamedTuple):
    """A cell of the grid that a claim asks about, under an observation scale."""

    scale: str
    welfare: str
    aggregation: str
    gamma: float
    horizon: int
    changes: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        changed = "".join(f", {name} {value}" for name, value in self.changes)
        return (
            f"{self.scale}: {self.welfare} {self.aggregation}, {memory_label(self.gamma)}, T = {self.horizon}{changed}"
        )

    def run(self, seed: int) -> Settings:
        """The settings of one of its runs."""
        return Settings.from_dict(
            {
                "observation_scale": self.scale,
                "welfare": self.welfare,
                "aggregation": self.aggregation,
                "gamma": self.gamma,
                "horizon": self.horizon,
                "weight": paper_weight(self.welfare, self.aggregation),
                "seed": seed,
                **dict(self.changes),
            }
        )


@dataclass(frozen=True)
class Watched(Cells):
    """Cells that note which of them are asked for, and the seeds that these have."""

    asked: dict[Cell, set[int]] = field(default_factory=dict)

    def runs(self, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: Any) -> Results:
        found = super().runs(welfare, aggregation, gamma, horizon, **changes)
        alike = aggregation == "averaged" and self.scale in UNSCALED_AVERAGES
        scale = UNSCALED_AVERAGES[0] if alike else self.scale
        cell = Cell(scale, welfare, aggregation, gamma, horizon, tuple(changes.items()))
        self.asked[cell] = set(found["seed"].tolist())
        return found


def missing_runs(results: Results) -> dict[Cell, list[Settings]]:
    """The runs that bring every cell of an open comparison to a hundred seeds."""
    found: dict[Cell, set[int]] = {}
    for cells in cells_by_scale(results).values():
        for claim in CLAIMS.values():
            if claim.scales is None or cells.scale in claim.scales:
                found |= dict(open_cells(claim, cells))
    missing = {cell: [seed for seed in range(SEEDS) if seed not in seeds] for cell, seeds in found.items()}
    return {cell: [cell.run(seed) for seed in seeds] for cell, seeds in missing.items() if seeds}


def open_cells(claim: Claim, cells: Cells) -> Iterator[tuple[Cell, set[int]]]:
    """The cells that the open comparisons of a claim are about, and the seeds that they have."""
    judged = verdicts(claim, cells)
    for welfare, verdict in judged.by_welfare.items():
        if verdict.word != CANNOT_TELL or not verdict.comparisons:
            continue  # Without ten seeds nothing is open yet.
        watched = Watched(cells.results, cells.protocol, cells.scale, cells.alike)
        compared = iter(verdict.comparisons)
        try:
            for asked in claim.asks(watched, welfare):
                together = _number_of_comparisons(asked)
                if None in [next(compared).outcome for _ in range(together)]:
                    yield from watched.asked.items()
                watched.asked.clear()
        except DoesNotArise:
            yield from watched.asked.items()


def _number_of_comparisons(asked: Comparison | Some) -> int:
    return sum(map(len, asked.alternatives)) if isinstance(asked, Some) else 1


def main() -> None:
    """Trains the missing runs, or lists them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hundred_seeds", description=__doc__)
    parser.add_argument("folder", help="where the results are kept")
    parser.add_argument("--plan", action="store_true", help="only list the cells")
    parser.add_argument("--only", default="", metavar="REGEX", help="only the cells whose line matches this")
    options = parser.parse_args()
    every = missing_runs(read(*sorted(evidence_folder().iterdir())))
    missing = {cell: runs for cell, runs in every.items() if re.search(options.only, str(cell))}
    for cell, runs in missing.items():
        print(f"{cell}: {len(runs)} runs")
    runs = [run for some in missing.values() for run in some]
    print(f"{len(missing)} cells, {len(runs)} runs", flush=True)
    if not options.plan:
        progress = now_and_then(lambda line: print(line, flush=True))
        execute(runs, options.folder, on="accelerator", batch=MOST_IN_A_BATCH, progress=progress)


if __name__ == "__main__":
    main()
