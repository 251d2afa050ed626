"""Several policies that were simulated with the same needs, compared in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bygones._text import counted
from bygones.document.document import Answer, Cell, Column, Document, Table
from bygones.simulation import Course


@dataclass(frozen=True, eq=False)
class SimulationComparison(Answer):
    """Policies with the same needs, memory and welfare.

    Attributes:
        courses: what happened, by the name of the policy; at least one.
        n_resources: how many agents were served at each step.
        memory: in words.
        welfare: the name of the welfare function.
    """

    courses: Mapping[str, Course]
    n_resources: int
    memory: str
    welfare: str

    def document(self) -> Document:
        """A table with a row per policy."""
        first = next(iter(self.courses.values()))
        is_good = first.kind == "good"
        names = ("worst-off", "geometric mean", "total") if is_good else ("heaviest load", "total load")
        note = "Utilities are per step. Geometric mean: Nash welfare." if is_good else "Loads are per step."
        if first.is_per_unit:
            note += " All columns but the total are per unit of entitlement."
        rows: list[list[Cell]] = [[name, *course.summary.values()] for name, course in self.courses.items()]
        columns: list[Column | str] = ["policy", "Gini", *(Column(name, measure="utility") for name in names)]
        return Document(
            f"{self.n_resources} of {counted(first.n_agents, 'agent')} {'served' if is_good else 'work'} for "
            f"{counted(first.steps, 'step')}, {self.memory}, {self.welfare} welfare",
            [Table("", columns, rows, note=note)],
            "Simulation",
        )
