"""Results as notebooks show them: one row per cell of the grid, with the means of its seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bygones._text import counted
from bygones.document.document import Cell, Document, Table
from bygones.paper.grid import memory_label

if TYPE_CHECKING:
    from bygones.paper.results import Results

CELL = ("welfare", "aggregation", "horizon", "gamma", "weight", "observation_scale", "total_steps", "policy", "learner")
"""The settings that tell cells apart in the table; those that all runs share are left out of it."""

_TITLES = {
    "gamma": "memory", "horizon": "T", "weight": "λ", "observation_scale": "observation scale", "total_steps": "steps",
}  # fmt: skip
_SHARED = ("gamma", "horizon")
_SHOWN = {"final_gini": "Gini", "final_welfare": "fairness score", "final_utility_per_step": "utility per step"}


def document(results: Results) -> Document:
    """The results as a table with a row per cell, and what all runs have in common."""
    title = counted(len(results), "run")
    if not len(results):
        return Document(title, label="Results")
    varying = [name for name in CELL if name in _SHARED or len(results.distinct(name)) > 1]
    cells: dict[tuple[Any, ...], list[int]] = {}
    for row, cell in enumerate(zip(*(results[name].tolist() for name in varying), strict=True)):
        cells.setdefault(cell, []).append(row)
    metrics = {name: results[name].astype(float) for name in _SHOWN}
    rows = [
        [*_settings(varying, cell), len(members), *(_mean(values[members]) for values in metrics.values())]
        for cell, members in sorted(cells.items())
    ]
    same = [f"{_TITLES.get(name, name)} {_plain(results[name].tolist()[0])}" for name in CELL if name not in varying]
    columns = [*(_TITLES.get(name, name) for name in varying), "runs", *_SHOWN.values()]
    note = f"Means over runs at the end of training. All runs: {', '.join(same)}."
    return Document(title, [Table("", columns, rows, note=note)], "Results")


def _settings(names: list[str], cell: tuple[Any, ...]) -> list[Cell]:
    return [memory_label(value) if name == "gamma" else value for name, value in zip(names, cell, strict=True)]


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
