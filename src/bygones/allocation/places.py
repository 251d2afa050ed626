"""Identical places, or turns: at most one for each agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bygones._arrays import AnyArray, Bools, Floats, Json, check_count
from bygones._text import counted
from bygones.allocation import checks
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.ties import largest
from bygones.kinds import Kind, check_kind


@dataclass(frozen=True, eq=False)
class ChooseK(Problem):
    """`k` identical resources, at most one per agent.

    Attributes:
        needs: the utility that each agent would have from being served, or its load; at least 0. By name,
            None is an agent who may not be served.
        k: the number of resources, from 1 to the number of agents; for a burden, exactly as many agents take it.
        allowed: False for agents who may not be served, whose need is ignored; by default everyone may.
        kind: `good` or `burden`.
        agents: the agents' names, where needs are by position.
    """

    needs: Floats
    k: int = 1
    _: KW_ONLY
    allowed: Bools | None = None
    kind: Kind = "good"
    agents: tuple[str, ...] | None = None

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self,
            needs: AnyArray | Mapping[str, float | None],
            k: int = 1,
            *,
            allowed: AnyArray | None = None,
            kind: Kind = "good",
            agents: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_kind(self.kind)
        object.__setattr__(self, "k", check_count("k", self.k))
        if isinstance(self.needs, Mapping):
            checks.names_alone(agents=self.agents, allowed=self.allowed)
            needs, allowed, self.__dict__["worth"] = checks.of_names(self.needs, "need", self.kind)
            agents: tuple[str, ...] | None = tuple(self.needs)
        else:
            needs = checks.per_agent("needs", self.needs)
            allowed = checks.allowed_agents(self.allowed, len(needs))
            needs = needs if allowed is None else np.where(allowed, needs, 0.0)
            agents = checks.names("agents", self.agents, len(needs))
        for name, value in (("needs", needs), ("allowed", allowed), ("agents", agents)):
            object.__setattr__(self, name, value)
        if "worth" not in self.__dict__:
            self.check()

    def check(self) -> None:
        """Refuses more resources than agents."""
        checks.some_agents("needs", self.needs, self.allowed)
        if self.k > len(self.needs):
            raise ValueError(f"k must be at most the number of agents ({len(self.needs)}), got {self.k}")

    @property
    def n_agents(self) -> int:
        """The number of agents who may be served."""
        return len(self.needs)

    @property
    def share_served(self) -> float:
        """K of n."""
        return self.k / self.n_agents

    @property
    def worth_once(self) -> float:
        """The mean of the k largest needs; of a burden, the mean of all who may take it."""
        if self.is_burden:
            return float(self.needs.mean() if self.allowed is None else self.needs[self.allowed].mean())
        return float(largest(self.needs, self.k).mean())

    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent, where `given` are the indices of the agents served."""
        utilities = np.zeros(self.n_agents)
        utilities[given] = self.needs[given]
        return utilities

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who are chosen, in ascending order."""
        return np.sort(given)

    def left_over(self, given: np.ndarray) -> str:
        """The resources that nobody gets."""
        left = self.k - len(given)
        return f"{counted(left, 'place')} {'is' if left == 1 else 'are'}" if left else ""

    def column(self, given: np.ndarray) -> tuple[str, list[str] | list[float]]:
        """Whether each agent is served."""
        return "served", ["yes" if is_served else "no" for is_served in np.isin(np.arange(self.n_agents), given)]

    def allocation_of(self, handed: Sequence[Given]) -> np.ndarray:
        """The indices of the agents served."""
        row_of = {name: i for i, name in enumerate(self.agent_names)}
        return np.array(sorted(row_of[each.agent] for each in handed), dtype=np.int64)

    @cached_property
    def worth(self) -> Mapping[str, Mapping[str | None, float]]:
        """The need of each agent who may be served."""
        return checks.worth_of(self.agent_names, self.needs, self.allowed)

    def with_worth(self, worth: Mapping[str, Mapping[str | None, float]], kind: Kind) -> ChooseK:
        """The same places for other agents or needs."""
        needs: Any = {name: mine.get(None) for name, mine in worth.items()}
        return replace(self, needs=needs, allowed=None, agents=None, kind=kind)

    def contest(self, kind: Kind | None = None) -> Problem | None:
        """The problem of only the agents who may take a place, or None where there is a place for each."""
        return super().contest(kind) if self.k < len(self.asking) else None

    def vacancies(self, vacant: Sequence[str | None]) -> ChooseK:
        """As many places as are vacant."""
        return replace(self, k=len(vacant)).with_worth(self.worth, self.kind)

    def to_dict(self) -> Json:
        """The needs by name, and the number of places."""
        needs = {name: mine.get(None) for name, mine in self.worth.items()}
        return super().to_dict() if type(self) is not ChooseK else {"needs": needs, "k": self.k}
