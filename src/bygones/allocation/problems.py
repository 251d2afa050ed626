r"""What there is to hand out, and to whom it may go.

Three kinds of problem, all with utilities of at least zero:

- `ChooseK`: $k$ identical resources, at most one per agent (the paper's problem).
- `Assign`: $m$ distinct items, each to at most one agent; an agent's utility is the sum over its items.
- `Divide`: an amount of something divisible, each agent's utility proportional to its part.

What is handed out is a *good* or a *burden* (`kind`). Nothing has to be handed out of goods: a resource that no agent
has a use for is left over. Of burdens everything has to be: exactly $k$ agents are chosen, every item and the whole
amount is carried by somebody, and a problem in which that is impossible is refused when it is decided. The utilities
of a burden are what each agent would carry.

A new kind of problem is a subclass of `Problem` (`bygones.allocation.problem_contract`) and a function with
`bygones.allocation.decide.solver`; see `docs/extending.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bygones._arrays import AnyArray, Bools, Floats, check_between, check_count
from bygones._text import counted, listed
from bygones.allocation.checks import allowed_agents, capacities, first_bad, is_sparse, matrix, per_agent
from bygones.allocation.problem_contract import NAMED, Given, Problem
from bygones.allocation.ties import largest
from bygones.kinds import Kind, check_kind

__all__ = ["MOST_UNITS", "NAMED", "Assign", "ChooseK", "Divide", "Problem"]

MOST_UNITS = 100_000
"""The most whole units of a division, which are handed out one by one."""

_ROUNDING = 1e-9
"""A smaller share of an amount is not reported as left over."""


def place_in_words(worth: float, kind: Kind) -> str:
    """A place, and what it is worth; or a turn, and what is carried in it."""
    return f"a {'turn of' if kind == 'burden' else 'place worth'} {worth:.4g}"


@dataclass(frozen=True, eq=False)
class ChooseK(Problem):
    """`k` identical resources, at most one per agent.

    Attributes:
        needs: the utility that each agent would have from being served, or what it would carry; at least 0.
        k: the number of resources, from 1 to the number of agents; of a burden, exactly as many agents carry it.
        allowed: False for agents who may not be served, whose need is ignored; by default everybody may.
        kind: `good` or `burden`.
    """

    needs: Floats
    k: int
    _: KW_ONLY
    allowed: Bools | None = None
    kind: Kind = "good"

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self, needs: AnyArray, k: int, *, allowed: AnyArray | None = None, kind: Kind = "good"
        ) -> None: ...

    def __post_init__(self) -> None:
        check_kind(self.kind)
        needs = per_agent("needs", self.needs)
        allowed = allowed_agents(self.allowed, len(needs))
        object.__setattr__(self, "needs", needs if allowed is None else np.where(allowed, needs, 0.0))
        object.__setattr__(self, "allowed", allowed)
        object.__setattr__(self, "k", check_count("k", self.k))
        if self.k > len(needs):
            raise ValueError(f"k must be at most the number of agents ({len(needs)}), got {self.k}")

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
        """The mean of the k largest needs; of a burden, the mean of all who may carry it."""
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

    def gets(self, given: np.ndarray, agent: int, items: Sequence[str]) -> str:
        """A place, and what it is worth to the agent; or a turn, and what the agent carries in it."""
        return place_in_words(self.needs[agent], self.kind)

    def left_over(self, given: np.ndarray) -> str:
        """The resources that nobody gets."""
        left = self.k - len(given)
        return counted(left, "place") if left else ""

    def column(self, given: np.ndarray, items: Sequence[str]) -> tuple[str, list[str] | list[float]]:
        """Whether each agent is served."""
        return "served", ["yes" if is_served else "no" for is_served in np.isin(np.arange(self.n_agents), given)]

    def allocation_of(self, handed: Sequence[Given], agents: Sequence[str], items: Sequence[str]) -> np.ndarray:
        """The indices of the agents served."""
        row_of = {name: i for i, name in enumerate(agents)}
        return np.array(sorted(row_of[each.agent] for each in handed), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Assign(Problem):
    """Distinct items, each to at most one agent; an agent's utilities add up.

    Attributes:
        utilities: one row per agent and one column per item, at least 0. In a `scipy.sparse` matrix a pair that is not
            stored is forbidden, a stored zero is not.
        capacity: the most items that an agent may have: one number for all or one per agent, at least 1; None is
            unlimited.
        allowed: for dense utilities, False where the pair is forbidden; by default every pair is allowed. The utility
            of a forbidden pair is ignored.
        kind: `good` or `burden`; of a burden, every item is carried by somebody.
    """

    utilities: Any
    capacity: Any = 1
    allowed: Bools | None = None
    _: KW_ONLY
    kind: Kind = "good"

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self, utilities: Any, capacity: AnyArray | None = 1, allowed: AnyArray | None = None, *, kind: Kind = "good"
        ) -> None: ...

    next_best_is_slow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if is_sparse(self.utilities):
            if self.allowed is not None:
                raise ValueError(
                    "allowed must be None for sparse utilities, where unstored pairs are the forbidden ones"
                )
            from scipy.sparse import csr_array

            utilities = csr_array(self.utilities, dtype=float, copy=True)
            utilities.sum_duplicates()
            numbers = utilities.data
        else:
            utilities = matrix("utilities", self.utilities, float)
            if self.allowed is not None:
                allowed = matrix("allowed", self.allowed, bool)
                if allowed.shape != utilities.shape:
                    raise ValueError(f"allowed must have the shape of utilities {utilities.shape}, got {allowed.shape}")
                object.__setattr__(self, "allowed", allowed)
                utilities = np.where(allowed, utilities, 0.0)
            numbers = utilities
        if 0 in utilities.shape or not (numbers.size if self.allowed is None else self.allowed.any()):
            raise ValueError(
                f"utilities must allow at least one pair of agent and item, got none in shape {utilities.shape}"
            )
        if not (numbers.min() >= 0 and numbers.max() < math.inf):
            row, column, value = first_bad(utilities)
            raise ValueError(
                f"utilities must be finite and at least 0, got {value} in row {row}, column {column} "
                "(a forbidden pair is one where allowed is False, or one not stored in a sparse matrix)"
            )
        object.__setattr__(self, "utilities", utilities)
        object.__setattr__(self, "capacity", capacities(self.capacity, *utilities.shape))

    @property
    def n_agents(self) -> int:
        """The number of agents, the rows of `utilities`."""
        return int(self.utilities.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items, the columns of `utilities`."""
        return int(self.utilities.shape[1])

    @property
    def share_served(self) -> float:
        """As many agents as there are items, at most all."""
        return min(self.n_items, self.n_agents) / self.n_agents

    @property
    def worth_once(self) -> float:
        """What an item is worth to whoever values it most, on average; of a burden, to whoever may carry it."""
        if self.is_burden:
            stored = self.utilities.data if is_sparse(self.utilities) else self.utilities
            return float((stored if self.allowed is None else stored[self.allowed]).mean())
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

    def gets(self, given: np.ndarray, agent: int, items: Sequence[str]) -> str:
        """The agent's items."""
        return listed([items[j] for j in np.flatnonzero(given == agent).tolist()])

    def left_over(self, given: np.ndarray) -> str:
        """The items that nobody gets."""
        left = int((given < 0).sum())
        return counted(left, "item") if left else ""

    def column(self, given: np.ndarray, items: Sequence[str]) -> tuple[str, list[str] | list[float]]:
        """The items of each agent."""
        owned = [np.flatnonzero(given == agent).tolist() for agent in range(self.n_agents)]
        return "items", ["; ".join(items[j] for j in mine) for mine in owned]

    def handed_out(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> list[Given]:
        """Each item that somebody gets, in the order of the items."""
        owned = [(int(i), j) for j, i in enumerate(given.tolist()) if i >= 0]
        return [Given(agents[i], items[j], None, float(self.utilities[i, j])) for i, j in owned]

    def allocation_of(self, handed: Sequence[Given], agents: Sequence[str], items: Sequence[str]) -> np.ndarray:
        """The agent of each item, -1 if it is left over."""
        row_of, owner = {name: i for i, name in enumerate(agents)}, {each.item: each.agent for each in handed}
        return np.array([row_of[owner[item]] if item in owner else -1 for item in items], dtype=np.int64)

    def given_data(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> dict[str, Any]:
        """The owner of each item."""
        return {"owners": {items[j]: None if i < 0 else agents[i] for j, i in enumerate(given.tolist())}}


@dataclass(frozen=True, eq=False)
class Divide(Problem):
    """An amount of a divisible resource.

    Attributes:
        amount: how much there is, above 0.
        rates: each agent's utility per unit of the resource, at least 0.
        caps: the most of the resource that an agent may have: one number for all or one per agent, at least 0; by
            default unlimited.
        allowed: False for agents who may not have a part, whose rate and cap are ignored; by default everybody may.
        kind: `good` or `burden`; of a burden, the whole amount is carried.
        whole: whether every part is a whole number, as of doses; the amount is then a whole number too.
    """

    amount: float
    rates: Floats
    caps: Any = None
    _: KW_ONLY
    allowed: Bools | None = None
    kind: Kind = "good"
    whole: bool = False

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self,
            amount: float,
            rates: AnyArray,
            caps: AnyArray | None = None,
            *,
            allowed: AnyArray | None = None,
            kind: Kind = "good",
            whole: bool = False,
        ) -> None: ...

    has_next_best: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_between("amount", self.amount, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)
        object.__setattr__(self, "amount", float(self.amount))
        if self.whole and (self.amount != int(self.amount) or self.amount > MOST_UNITS):
            raise ValueError(f"amount must be a whole number of at most {MOST_UNITS:,} units, got {self.amount:g}")
        rates = per_agent("rates", self.rates)
        caps = math.inf if self.caps is None else self.caps
        caps = np.full(len(rates), caps, dtype=float) if np.ndim(caps) == 0 else per_agent("caps", caps, math.inf)
        if caps.shape != rates.shape or not caps.min() >= 0:
            raise ValueError(
                f"caps must be one number of at least 0 or one per agent ({len(rates)}), got {self.caps!r}"
            )
        allowed = allowed_agents(self.allowed, len(rates))
        object.__setattr__(self, "allowed", allowed)
        object.__setattr__(self, "rates", rates if allowed is None else np.where(allowed, rates, 0.0))
        object.__setattr__(self, "caps", caps if allowed is None else np.where(allowed, caps, 0.0))

    @property
    def n_agents(self) -> int:
        """The number of agents who share."""
        return len(self.rates)

    @property
    def share_served(self) -> float:
        """As many agents as it takes to use up the amount, on average."""
        cap = min(float(np.minimum(self.caps, self.amount).mean()), self.amount)
        return min(1.0, self.amount / max(cap, self.amount / self.n_agents) / self.n_agents)

    @property
    def worth_once(self) -> float:
        """What an agent at its cap has, on average, or all if it has none."""
        return float((self.rates * np.minimum(self.caps, self.amount)).mean())

    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent, where `given` is the amount of each."""
        return np.asarray(self.rates * given)

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who have a part, in ascending order."""
        return np.flatnonzero(given > 0)

    def gets(self, given: np.ndarray, agent: int, items: Sequence[str]) -> str:
        """The agent's part of the amount."""
        return f"{given[agent]:.4g} of {self.amount:.4g}"

    def left_over(self, given: np.ndarray) -> str:
        """The amount that nobody gets."""
        left = self.amount - given.sum()
        return f"{left:.4g}" if left > _ROUNDING * self.amount else ""

    def column(self, given: np.ndarray, items: Sequence[str]) -> tuple[str, list[str] | list[float]]:
        """The amount of each agent."""
        return "amount", given.tolist()

    def handed_out(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> list[Given]:
        """Each part of the amount."""
        parts = [(i, float(given[i])) for i in self.served(given).tolist()]
        return [Given(agents[i], None, part, float(self.rates[i] * part)) for i, part in parts]

    def allocation_of(self, handed: Sequence[Given], agents: Sequence[str], items: Sequence[str]) -> np.ndarray:
        """The amount of each agent."""
        part = {each.agent: each.part for each in handed}
        return np.array([part.get(name) or 0.0 for name in agents], dtype=float)

    def given_data(self, given: np.ndarray, agents: Sequence[str], items: Sequence[str]) -> dict[str, Any]:
        """The amount of each agent."""
        return {"amounts": given.tolist()}
