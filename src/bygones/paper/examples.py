r"""The paper's two examples: Alice and Bob share a cake and a donut at every step.

At each step both items are allocated to maximise the welfare of the memory $W(Z^t \mid \mathcal{A})$
(equation 5). In Example 1 both agents take part from the start. In Example 2 Bob joins after ten steps, during
which Alice receives everything. What happens next depends on the memory, as Figure 1 shows.

Ties go to the allocation that is better under leximin, then to a seeded random draw, never to the first in the list.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bygones import welfare
from bygones._arrays import Floats, Ints, check_count
from bygones._text import counted
from bygones.allocation.ties import best_of
from bygones.document.document import Answer, Column, Document, Table
from bygones.memory import Discounted, Instantaneous, Memory, PerfectRecall
from bygones.welfare import Welfare


@dataclass(frozen=True)
class Example:
    """The same items, allocated among a few agents at every step.

    Attributes:
        agents: the names of the agents.
        items: the names of the items allocated at every step.
        utilities: the worth of each item to each agent, one row per agent.
        joins: the number of steps before each agent joins.
    """

    agents: tuple[str, ...]
    items: tuple[str, ...]
    utilities: tuple[tuple[float, ...], ...]
    joins: tuple[int, ...]


EXAMPLE_1 = Example(("Alice", "Bob"), ("cake", "donut"), ((0.2, 0.5), (0.3, 0.5)), joins=(0, 0))
"""Both agents take part from the start."""

EXAMPLE_2 = Example(("Alice", "Bob"), ("cake", "donut"), ((0.2, 0.5), (0.3, 0.5)), joins=(0, 10))
"""Alice is alone for ten steps; Bob joins at step 11."""

EXAMPLES = {"example-1": EXAMPLE_1, "example-2": EXAMPLE_2}
"""The examples by the names used on the command line."""

FIGURE_1_MEMORIES: dict[str, Memory] = {
    "no memory": Instantaneous(),
    "half-life 6.6 (γ = 0.9)": Discounted(gamma=0.9),
    "half-life 13.5 (γ = 0.95)": Discounted(gamma=0.95),
    "half-life 69 (γ = 0.99)": Discounted(gamma=0.99),
    "perfect recall (half-life inf)": PerfectRecall(),
}
"""The memories compared in Figure 1, by their labels; half-lives are in steps."""


@dataclass(frozen=True)
class ExampleHistory:
    """The course of an example, one row per step.

    Attributes:
        example: the example that was run.
        utilities: the utility of each agent at each step.
        remembered: Z after each step.
        owners: the index of the agent who received each item at each step; -1 for an item left over.
    """

    example: Example
    utilities: Floats
    remembered: Floats
    owners: Ints

    @property
    def cumulative(self) -> Floats:
        """The true, undiscounted utilities after each step."""
        return np.cumsum(self.utilities, axis=0)

    @property
    def difference(self) -> Floats:
        """How far the first agent is ahead of the second in true utility, after each step."""
        return self.cumulative[:, 0] - self.cumulative[:, 1]

    @property
    def perceived_difference(self) -> Floats:
        """How far the first agent is ahead of the second in remembered utility, after each step."""
        return self.remembered[:, 0] - self.remembered[:, 1]

    def to_dict(self) -> dict[str, object]:
        """The history as plain lists, for JSON."""
        return {
            "agents": list(self.example.agents),
            "items": list(self.example.items),
            "owners": self.owners.tolist(),
            "utilities": self.utilities.tolist(),
            "cumulative": self.cumulative.tolist(),
            "remembered": self.remembered.tolist(),
        }


@dataclass(frozen=True)
class ExampleComparison(Answer):
    """An example under several memories.

    Attributes:
        name: the example's, as in `EXAMPLES`.
        histories: what happened, by the name of the memory; at least one.
        welfare: the name of the welfare function.
    """

    name: str
    histories: Mapping[str, ExampleHistory]
    welfare: str

    def document(self) -> Document:
        """The totals and leads at the end, with a row per memory."""
        first = next(iter(self.histories.values()))
        agents = first.example.agents
        names = (*agents, f"{agents[0]}'s lead", "in memory")
        columns: list[Column | str] = ["memory", *(Column(name, measure="utility") for name in names)]
        note = f"Total utilities, and {agents[0]}'s lead in total utility and in the memory."
        rows = [
            [
                memory,
                *history.cumulative[-1].tolist(),
                float(history.difference[-1]),
                float(history.perceived_difference[-1]),
            ]
            for memory, history in self.histories.items()
        ]
        title = f"{self.name.replace('-', ' ').capitalize()} after {counted(len(first.owners), 'step')}"
        return Document(f"{title}, {self.welfare} welfare", [Table("", columns, rows, note=note)], "Example")


def run(
    example: Example,
    memory: Memory,
    welfare_function: Welfare | str = "egalitarian",
    steps: int = 50,
    *,
    bundles: bool = True,
    seed: int = 0,
) -> ExampleHistory:
    """Runs an example under a memory and a welfare function.

    Args:
        example: `EXAMPLE_1`, `EXAMPLE_2`, or your own.
        memory: how the past is remembered.
        welfare_function: judges the remembered utilities of the agents who have joined.
        steps: the number of steps.
        bundles: whether one agent may receive several items at the same step. If not, each agent receives at most one,
            and items without a taker are left over.
        seed: seeds the draw among equally good allocations.
    """
    steps = check_count("steps", steps, most=100_000)
    judge, rng = welfare.parse_welfare(welfare_function), np.random.default_rng(seed)
    worth, joins = np.array(example.utilities), np.array(example.joins)
    state = memory.init(len(example.agents))
    utilities, remembered, owners = [], [], []
    for t in range(steps):
        present = np.flatnonzero(joins <= t)
        choices = _allocations(len(example.items), present, bundles)
        candidates = _utilities(choices, worth)
        Z = np.asarray(memory.ahead(state, candidates))[:, present]
        chosen = best_of(np.asarray(judge(Z)), Z, rng)
        state = memory.update(state, candidates[chosen])
        utilities.append(candidates[chosen])
        remembered.append(memory.values(state))
        owners.append(choices[chosen])
    return ExampleHistory(example, np.array(utilities), np.array(remembered), np.array(owners))


def figure_1(steps: int = 50, done: Callable[[], object] = lambda: None) -> dict[str, dict[str, ExampleHistory]]:
    """The histories behind Figure 1: for each example, one per memory, under egalitarian welfare.

    `done` is called after each history, for example to advance a progress bar.
    """
    histories: dict[str, dict[str, ExampleHistory]] = {name: {} for name in EXAMPLES}
    for (name, example), (label, memory) in itertools.product(EXAMPLES.items(), FIGURE_1_MEMORIES.items()):
        histories[name][label] = run(example, memory, steps=steps)
        done()
    return histories


def _allocations(n_items: int, present: Ints, bundles: bool) -> Ints:
    """Every possible allocation of the items: one row per allocation, one owner per item."""
    if bundles:
        return np.array(list(itertools.product(present, repeat=n_items)))
    takers = [*present, *[-1] * max(0, n_items - len(present))]
    return np.unique(list(itertools.permutations(takers, n_items)), axis=0)


def _utilities(owners: Ints, worth: Floats) -> Floats:
    """The utility of each agent under each allocation."""
    received = owners[:, None, :] == np.arange(len(worth))[None, :, None]
    utilities: Floats = (received * worth).sum(axis=-1)
    return utilities
