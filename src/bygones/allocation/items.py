"""Distinct items, each to at most one agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bygones._arrays import AnyArray, Bools, Json
from bygones._text import counted
from bygones.allocation import checks
from bygones.allocation.checks import is_sparse
from bygones.allocation.problem_contract import Given, Problem
from bygones.kinds import Kind, check_kind


@dataclass(frozen=True, eq=False)
class Assign(Problem):
    """Distinct items, each to at most one agent; an agent's utilities add up.

    Attributes:
        utilities: one row per agent and one column per item, at least 0. In a `scipy.sparse` matrix a pair that is not
            stored is forbidden, a stored zero is not. By name, `utilities[agent][item]`; a pair that is missing is
            forbidden.
        capacity: the most items that an agent may have: one number for all or one per agent, at least 1; None is
            unlimited.
        allowed: for dense utilities, False where the pair is forbidden; by default every pair is allowed. The utility
            of a forbidden pair is ignored.
        kind: `good` or `burden`; of a burden, every item is taken by someone.
        agents: the agents' names, where utilities are by position.
        items: the items' names. By name, all items in order, where some may be taken by nobody; by default those in
            `utilities`, in the order in which they are first named.
        room: the most items of each agent, none above the number of items.
    """

    utilities: Any
    capacity: Any = 1
    allowed: Bools | None = None
    _: KW_ONLY
    kind: Kind = "good"
    agents: tuple[str, ...] | None = None
    items: tuple[str, ...] | None = None
    room: np.ndarray = field(init=False, repr=False)

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self,
            utilities: Any,
            capacity: AnyArray | None = 1,
            allowed: AnyArray | None = None,
            *,
            kind: Kind = "good",
            agents: Sequence[str] | None = None,
            items: Sequence[str] | None = None,
        ) -> None: ...

    next_best_is_slow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if isinstance(self.utilities, Mapping):
            checks.names_alone(agents=self.agents, allowed=self.allowed)
            self.__dict__["worth"] = {agent: dict(mine) for agent, mine in self.utilities.items()}
            agents: tuple[str, ...] | None = tuple(self.utilities)
            items, utilities, allowed = checks.by_item(self.utilities, self.items)
        else:
            utilities, allowed = checks.utilities(self.utilities, self.allowed)
            agents = checks.names("agents", self.agents, utilities.shape[0])
            items = checks.names("items", self.items, utilities.shape[1])
        room = checks.capacities(self.capacity, *utilities.shape)
        fields = {"utilities": utilities, "allowed": allowed, "agents": agents, "items": items, "room": room}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if "worth" not in self.__dict__:
            self.check()

    def check(self) -> None:
        """Refuses a problem in which no agent may have any item."""
        some = self.utilities.size if self.allowed is None else self.allowed.any()
        if 0 in self.utilities.shape or not some:
            raise ValueError(
                f"utilities must allow at least one pair of agent and item, got none in shape {self.utilities.shape}"
            )

    @property
    def n_agents(self) -> int:
        """The number of agents, the rows of `utilities`."""
        return int(self.utilities.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items, the columns of `utilities`."""
        return int(self.utilities.shape[1])

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Agents, items and utilities of the pairs that are allowed."""
        if is_sparse(self.utilities):
            stored = self.utilities.tocoo()
            return stored.row.astype(int), stored.col.astype(int), stored.data
        agents, items = np.nonzero(np.ones(self.utilities.shape, dtype=bool) if self.allowed is None else self.allowed)
        return agents, items, self.utilities[agents, items]

    @property
    def share_served(self) -> float:
        """As many agents as there are items, at most all."""
        return min(self.n_items, self.n_agents) / self.n_agents

    @property
    def worth_once(self) -> float:
        """The mean over items of the largest utility of each; for a burden, the mean over all allowed pairs."""
        if self.is_burden:
            return float(self.pairs[2].mean())
        most = self.utilities.max(axis=0)
        return float((most.toarray() if is_sparse(most) else most).mean())

    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent, where `given` is the agent of each item, -1 if it is left over."""
        items = np.flatnonzero(given >= 0)
        worth = self.utilities[given[items], items]
        worth = worth.toarray() if is_sparse(worth) else worth
        return np.bincount(given[items], weights=np.ravel(worth), minlength=self.n_agents).astype(float)

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who have an item, in ascending order."""
        return np.unique(given[given >= 0])

    def left_over(self, given: np.ndarray) -> str:
        """The items that nobody gets."""
        left = int((given < 0).sum())
        return f"{counted(left, 'item')} {'is' if left == 1 else 'are'}" if left else ""

    def column(self, given: np.ndarray) -> tuple[str, list[str] | list[float]]:
        """The items of each agent."""
        names, owned = self.item_names, [np.flatnonzero(given == agent).tolist() for agent in range(self.n_agents)]
        return "items", ["; ".join(names[j] for j in mine) for mine in owned]

    def handed_out(self, given: np.ndarray) -> list[Given]:
        """Each item that someone gets, in the order of the items."""
        agents, items = self.agent_names, self.item_names
        owned = [(int(i), j) for j, i in enumerate(given.tolist()) if i >= 0]
        return [Given(agents[i], items[j], None, float(self.utilities[i, j])) for i, j in owned]

    def allocation_of(self, handed: Sequence[Given]) -> np.ndarray:
        """The agent of each item, -1 if it is left over."""
        row_of = {name: i for i, name in enumerate(self.agent_names)}
        owner = {each.item: each.agent for each in handed}
        return np.array([row_of[owner[item]] if item in owner else -1 for item in self.item_names], dtype=np.int64)

    def given_data(self, given: np.ndarray) -> Json:
        """The owner of each item."""
        agents, items = self.agent_names, self.item_names
        return {"owners": {items[j]: None if i < 0 else agents[i] for j, i in enumerate(given.tolist())}}

    @cached_property
    def worth(self) -> Mapping[str, Mapping[str | None, float]]:
        """The utility of each item that an agent may take, by agent and item."""
        agents, items = self.agent_names, self.item_names
        worth: dict[str, dict[str | None, float]] = {name: {} for name in agents}
        for i, j, utility in zip(*(numbers.tolist() for numbers in self.pairs), strict=True):
            worth[agents[i]][items[j]] = utility
        return worth

    def with_worth(self, worth: Mapping[str, Mapping[str | None, float]], kind: Kind) -> Assign:
        """The same items for other agents or at other utilities."""
        if np.ndim(self.capacity):
            raise ValueError(f"capacity must be one number for all agents by name, got {self.capacity!r}")
        return replace(self, utilities=worth, allowed=None, agents=None, items=tuple(self.item_names), kind=kind)

    def vacancies(self, vacant: Sequence[str | None]) -> Assign:
        """The items that are vacant."""
        utilities = {
            name: {item: utility for item, utility in mine.items() if item in vacant}
            for name, mine in self.worth.items()
        }
        items = tuple(item for item in self.item_names if item in vacant)
        return replace(self, utilities=utilities, allowed=None, agents=None, items=items)

    def to_dict(self) -> Json:
        """The utilities by name, and the items in order, since JSON may be stored with sorted keys."""
        if type(self) is not Assign:
            return super().to_dict()
        utilities = {agent: dict(mine) for agent, mine in self.worth.items()}
        return {"utilities": utilities, "capacity": self.capacity, "items": list(self.item_names)}
