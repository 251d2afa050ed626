"""The tables of the paper: half-lives and effective windows (Table 1), and settings of the experiments (Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bygones import decay
from bygones._text import listed
from bygones.document.document import Answer, Column, Document, Table

if TYPE_CHECKING:
    from bygones.learn.settings import Settings

TABLE_1_GAMMAS = (0.80, 0.90, 0.95, 0.97, 0.99)
"""The discount factors in Table 1."""

PPO_SETTINGS = (
    "rollout_steps", "batch_size", "epochs", "discount", "gae_lambda", "clip", "value_weight", "entropy_weight",
    "max_grad_norm", "learning_rate", "adam_eps",
)  # fmt: skip
"""The settings behind the paper's "Default Stable Baselines3 values" (docs/decisions.md, row 18)."""


class Table1Row(NamedTuple):
    """One row of Table 1: the half-life and the effective window of a discount factor."""

    gamma: float
    half_life: float
    window: float


class Table2Row(NamedTuple):
    """One row of Table 2: a setting, its value in the paper, and the value with which bygones trains."""

    part: str
    setting: str
    paper: str
    trained: str


@dataclass(frozen=True)
class PaperTable(Answer):
    """A table of the paper.

    Attributes:
        title: its number and its subject.
        rows: its rows, as numbers and words.
        shown: the printed table, with headings.
    """

    title: str
    rows: Sequence[Table1Row] | Sequence[Table2Row]
    shown: Table

    def document(self) -> Document:
        """The table under its title."""
        return Document(self.title, [self.shown])


def table_1(gammas: Sequence[float] = TABLE_1_GAMMAS) -> PaperTable:
    """Table 1: half-life and effective window of some discount factors."""
    rows = [Table1Row(g, float(decay.half_life(gamma=g)), float(decay.window(gamma=g))) for g in gammas]
    cells = [[f"{row.gamma:.2f}", f"{row.half_life:.2f}", f"{row.window:.1f}"] for row in rows]
    columns = ["γ", "half-life (steps)", "effective window (steps)"]
    return PaperTable("Table 1: half-life and effective window", rows, Table("", columns, cells))


def table_2() -> PaperTable:
    """Table 2: the settings of the paper's grid. Its rows on hardware are left out."""
    from bygones.paper.grid import Grid, memory_label

    grid = Grid()
    runs = grid.runs()
    run = runs[0]
    learning = [
        ("learner", "Proximal Policy Optimization (PPO)", run.learner),
        ("policy network", "MlpPolicy", f"{run.policy}, tanh layers of {listed([str(n) for n in run.hidden])} units"),
        ("total_steps", "1,000,000", f"{run.total_steps:,}"),
        *((name, "default of Stable Baselines3", f"{getattr(run, name):g}") for name in PPO_SETTINGS),
    ]
    environment = [
        ("agents n", "10", f"{run.n_agents}"),
        ("advantaged agents", "2", f"{run.n_advantaged}"),
        ("resources per step", "2", f"{run.n_resources}"),
        ("horizon T", "100, 500, 1000, 5000, 10000", _values(grid.horizon)),
        ("weight λ", "0.9 (0.999 for averaged egalitarian)", _weights(runs)),
        ("observation", "normalized to the approximate expected range", f"{run.observation_scale} (row 6)"),
        ("end of an episode", "not given", f"{run.ends} (row 14)"),
    ]
    experiment = [
        ("seeds per cell", "10", f"{grid.seeds}"),
        ("memories", "myopic, perfect recall, past-discounted", ", ".join(map(memory_label, grid.gamma))),
        ("discount factor γ", "0.0, 0.9, 0.99, 0.999, 1.0", _values(grid.gamma)),
        ("aggregation", "additive, averaged", ", ".join(grid.aggregation)),
        ("welfare", "egalitarian, Nash", ", ".join(grid.welfare)),
    ]
    parts = {"learning": learning, "environment": environment, "experiment": experiment}
    rows = [Table2Row(part, *row) for part, group in parts.items() for row in group]
    cells = [[row.part if row.setting == parts[row.part][0][0] else "", *row[1:]] for row in rows]
    columns: list[Column | str] = ["", "setting", Column("paper", folds=True), Column("bygones", folds=True)]
    note = "The rows are in docs/decisions.md, with the reasons for each choice. Row 18 is about PPO."
    return PaperTable("Table 2: settings of the experiments", rows, Table("", columns, cells, note=note))


def _values(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _weights(runs: Sequence[Settings]) -> str:
    """The usual λ, and the problems with another one."""
    by_problem = {f"{run.aggregation} {run.welfare}": run.weight for run in runs}
    usual = min(by_problem.values())
    others = [f"{weight:g} for {problem}" for problem, weight in by_problem.items() if weight != usual]
    return f"{usual:g} ({listed(others)})" if others else f"{usual:g}"
