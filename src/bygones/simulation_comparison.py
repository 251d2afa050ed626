"""Several policies that were simulated with the same needs, compared in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bygones._text import counted
from bygones.document.document import Answer, Cell, Column, Document, Table
from bygones.simulation import Simulation


@dataclass(frozen=True, eq=False)
class SimulationComparison(Answer):
    """Policies with the same needs, memory and welfare.

    Attributes:
        simulations: what happened, by the name of the policy; at least one.
        n_resources: how many agents were served at each step.
        memory: in words.
        welfare: the name of the welfare function.
    """

    simulations: Mapping[str, Simulation]
    n_resources: int
    memory: str
    welfare: str

    def document(self) -> Document:
        """A table with a row per policy."""
        first = next(iter(self.simulations.values()))
        steps, n_agents = first.utilities.shape
        is_good = first.kind == "good"
        names = ("worst-off", "geometric mean", "total") if is_good else ("heaviest load", "total load")
        note = "Utilities are per step. Geometric mean: Nash welfare." if is_good else "Loads are per step."
        if first.entitlements is not None:
            note += " All columns but the total are per unit of entitlement."
        rows: list[list[Cell]] = [
            [name, *simulation.summary().values()] for name, simulation in self.simulations.items()
        ]
        columns: list[Column | str] = ["policy", "Gini", *(Column(name, measure="utility") for name in names)]
        return Document(
            f"{self.n_resources} of {counted(n_agents, 'agent')} {'served' if is_good else 'work'} for "
            f"{counted(steps, 'step')}, {self.memory}, {self.welfare} welfare",
            [Table("", columns, rows, note=note)],
            "Simulation",
        )
