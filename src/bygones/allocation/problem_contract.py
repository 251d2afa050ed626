"""The interface of a problem: its agents and items, and the meaning of its allocations.

Decisions, their tables, their JSON and ledgers ask the problem, so they need not know its kind. The kinds that
bygones has are in `bygones.allocation.problems`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from bygones._arrays import Json
from bygones.kinds import Kind

NAMED = 10
"""Sentences name as many agents; of more they give the number."""


class Given(NamedTuple):
    """Something that one agent was given.

    Attributes:
        agent: the agent's name.
        item: which item it is, None for problems without items.
        part: how much of an amount, None where nothing is divided.
        utility: its worth to the agent, or the load.
    """

    agent: str
    item: str | None
    part: float | None
    utility: float


class Problem(ABC):
    """Goods or burdens to allocate, the agents, and the meaning of an allocation.

    An allocation is an array `given`, whose form each kind of problem chooses. The solver of the problem returns it;
    everyone else asks the problem for its meaning.

    A ledger asks for more: the same problem for other agents (`among`), by their names, and its JSON (`to_dict`).
    """

    kind: Kind = "good"
    """Whether goods or burdens are allocated."""

    agents: tuple[str, ...] | None = None
    """The agents' names, or None where they are known by position only."""

    items: tuple[str, ...] | None = None
    """The items' names, or None where there are none, or where they are known by position only."""

    has_next_best: ClassVar[bool] = True
    """Whether there is a next best allocation: not if others come arbitrarily close to the best."""

    next_best_is_slow: ClassVar[bool] = False
    """Whether finding the next best allocation takes one more solution per agent served."""

    @property
    @abstractmethod
    def n_agents(self) -> int:
        """The number of agents."""

    @property
    def n_items(self) -> int:
        """The number of items, 0 for problems without."""
        return 0

    @property
    def agent_names(self) -> Sequence[str]:
        """The agents' names, or `agent 0`, `agent 1`, … where they have none."""
        return self.agents or [f"agent {i}" for i in range(self.n_agents)]

    @property
    def item_names(self) -> Sequence[str]:
        """The items' names, or `item 0`, `item 1`, … where they have none; empty for problems without items."""
        return self.items or [f"item {j}" for j in range(self.n_items)]

    def check(self) -> None:
        """Refuses a problem that cannot be decided, whatever the past; by default there is none."""
        return

    @abstractmethod
    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent."""

    def left_over(self, given: np.ndarray) -> str:
        """The unused part in words with a verb, such as `2 places are`; empty if everything is allocated."""
        return ""

    @abstractmethod
    def column(self, given: np.ndarray) -> tuple[str, list[str] | list[float]]:
        """Each agent's part as a column of a table: its heading, and one cell per agent."""

    def handed_out(self, given: np.ndarray) -> list[Given]:
        """An allocation by name, one entry for each agent or item."""
        utilities, names = self.utilities_of(given), self.agent_names
        return [Given(names[i], None, None, float(utilities[i])) for i in self.served(given).tolist()]

    def allocation_of(self, handed: Sequence[Given]) -> np.ndarray:
        """The allocation that hands this out."""
        raise ValueError(f"an allocation of {type(self).__name__} cannot be read by name: define allocation_of")

    def given_data(self, given: np.ndarray) -> Json:
        """The parts of the allocation that `served` and `utilities` leave open, of the types that JSON has."""
        return {}

    @property
    def share_served(self) -> float:
        """About what share of the agents is served at a time, above 0 and at most 1; for decisions by prices."""
        raise self._lacks("rule 'prices' needs", "share_served", ", or use 'one-step'")

    @property
    def worth_once(self) -> float:
        """The rough worth of being served once, to an agent who is served; for decisions by prices."""
        raise self._lacks("rule 'prices' needs", "worth_once", ", or use 'one-step'")

    @property
    def is_burden(self) -> bool:
        """Whether the thing that is allocated has to be done."""
        return self.kind == "burden"

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who get something, in ascending order."""
        return np.flatnonzero(self.utilities_of(given) > 0)

    @property
    def worth(self) -> Mapping[str, Mapping[str | None, float]]:
        """By agent, the utility of each item that it may have; of a place or a unit, under None."""
        raise self._lacks("a ledger needs", "worth")

    def with_worth(self, worth: Mapping[str, Mapping[str | None, float]], kind: Kind) -> Problem:
        """The same things among these agents, at these worths."""
        raise self._lacks("a ledger needs", "with_worth")

    @property
    def asking(self) -> tuple[str, ...]:
        """The names of the agents who could be served."""
        return tuple(name for name, mine in self.worth.items() if mine)

    def among(self, agents: Sequence[str], kind: Kind | None = None) -> Problem:
        """The same things among these agents, in this order; an agent who was not in the problem may take nothing.

        Args:
            agents: their names.
            kind: whether it is a good or a burden; by default as before.
        """
        return self.with_worth({name: self.worth.get(name, {}) for name in agents}, kind or self.kind)

    def contest(self, kind: Kind | None = None) -> Problem | None:
        """The problem of only the agents who could be served, or None where nobody would have to do without."""
        return self.among(self.asking, kind) if len(self.asking) > 1 else None

    def vacancies(self, vacant: Sequence[str | None]) -> Problem | None:
        """The problem of the vacancies alone: these items, or a place for each None; None if it has no such parts."""
        return None

    def to_dict(self) -> Json:
        """The problem by name, of the types that JSON has and without its kind; `problem_from` reads it again."""
        raise self._lacks("a ledger needs", "to_dict")

    def _lacks(self, needed: str, name: str, otherwise: str = "") -> ValueError:
        return ValueError(f"{needed} to know {name} of {type(self).__name__}: define it{otherwise}")
