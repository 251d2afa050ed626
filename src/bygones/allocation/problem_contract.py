"""What every problem promises: what its allocations mean, to everybody who reports them.

Decisions, their tables and their JSON ask the problem, so that they need not know its kind. The kinds that bygones has
are in `bygones.allocation.problems`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bygones._text import counted
from bygones.kinds import Kind, words

NAMED = 10
"""Sentences name as many agents; of more they give the number."""


class Given(NamedTuple):
    """Something that one agent was given.

    Attributes:
        agent: the agent's name.
        item: which item it is, None for problems without items.
        part: how much of an amount, None where nothing is divided.
        utility: what it is worth to the agent, or what the agent carries.
    """

    agent: str
    item: str | None
    part: float | None
    utility: float


class Problem(ABC):
    """What there is to hand out, and what an allocation of it means.

    An allocation is an array `given`, whose form each kind of problem chooses. The solver of the problem returns it;
    everybody else asks the problem what it means.
    """

    kind: Kind = "good"
    """Whether goods or burdens are handed out."""

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
        """The number of items that have names, 0 for problems without."""
        return 0

    @abstractmethod
    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent."""

    @abstractmethod
    def gets(self, given: np.ndarray, agent: int, items: Sequence[str]) -> str:
        """What an agent who is served gets, in words."""

    @abstractmethod
    def left_over(self, given: np.ndarray) -> str:
        """What nobody gets, in words; empty if everything is handed out."""

    @abstractmethod
    def column(self, given: np.ndarray, items: Sequence[str]) -> tuple[str, list[str] | list[float]]:
        """What each agent gets as a column of a table: its heading, and one cell per agent."""

    def handed_out(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> list[Given]:
        """An allocation by name: what was given to whom, one entry each."""
        utilities = self.utilities_of(given)
        return [Given(agents[i], None, None, float(utilities[i])) for i in self.served(given).tolist()]

    def allocation_of(self, handed: Sequence[Given], agents: Sequence[str], items: Sequence[str]) -> np.ndarray:
        """The allocation of which these are the names; the agents may be in another order."""
        raise ValueError(f"an allocation of {type(self).__name__} cannot be read by name: define allocation_of")

    def given_data(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> dict[str, Any]:
        """What `served` and `utilities` leave open about the allocation, of the types that JSON has."""
        return {}

    @property
    def share_served(self) -> float:
        """About what share of the agents is served at a time, above 0 and at most 1; for decisions by prices."""
        return self._say("share_served")

    @property
    def worth_once(self) -> float:
        """About what being served once is worth to those who are; for decisions by prices."""
        return self._say("worth_once")

    def _say(self, name: str) -> float:
        raise ValueError(f"rule 'prices' needs to know {name} of {type(self).__name__}: define it, or use 'one-step'")

    @property
    def is_burden(self) -> bool:
        """Whether what is handed out has to be carried."""
        return self.kind == "burden"

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who get something, in ascending order."""
        return np.flatnonzero(self.utilities_of(given) > 0)

    def describe(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> str:
        """Who gets what, in one sentence."""
        served = self.served(given).tolist()
        if not served:
            return "Nobody is served: no allocation would raise welfare."
        named = served if len(served) <= NAMED + 1 else served[:NAMED]
        parts = [f"{agents[i]} {words(self.kind).gets} {self.gets(given, i, items)}" for i in named]
        others = [f"and {len(served) - len(named)} others"] if len(named) < len(served) else []
        left = self.left_over(given)
        count = f"{len(served)} of {counted(self.n_agents, 'agent')}{left and f'; {left} left over'}"
        return f"{'; '.join([*parts, *others])} ({count})."
