"""What there is to hand out, by the agents' names; the allocators know agents by position only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bygones.allocation import Assign, ChooseK, Decision, Divide


@dataclass(frozen=True)
class Places:
    """`k` identical places; `needs` is what each agent would have from one of them."""

    needs: Mapping[str, float]
    k: int = 1

    @property
    def agents(self) -> set[str]:
        """Those who ask for something."""
        return set(self.needs)

    def problem(self, names: Sequence[str]) -> ChooseK:
        """The problem for these agents; who does not ask has no need."""
        return ChooseK([self.needs.get(name, 0.0) for name in names], self.k)

    def given(self, allocation: Decision, row: int) -> str:
        """What an agent gets, in words."""
        return f"a place worth {allocation.utilities[row]:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON can hold it."""
        return {"needs": dict(self.needs), "k": self.k}


@dataclass(frozen=True)
class Items:
    """Distinct items; `utilities[agent][item]` is what the agent would have from it, absent pairs are forbidden."""

    utilities: Mapping[str, Mapping[str, float]]
    capacity: int | None = 1

    @property
    def agents(self) -> set[str]:
        """Those who ask for something."""
        return set(self.utilities)

    @property
    def names(self) -> list[str]:
        """The items, in the order in which they are first named."""
        return list(dict.fromkeys(item for wishes in self.utilities.values() for item in wishes))

    def problem(self, names: Sequence[str]) -> Assign:
        """The problem for these agents; who does not ask may have no item."""
        utilities = np.full((len(names), len(self.names)), np.nan)
        column = {item: j for j, item in enumerate(self.names)}
        for i, name in enumerate(names):
            for item, utility in self.utilities.get(name, {}).items():
                utilities[i, column[item]] = _number(utility, f"utility of {item!r} for {name!r}")
        allowed = ~np.isnan(utilities)
        return Assign(np.where(allowed, utilities, 0.0), self.capacity, allowed)

    def given(self, allocation: Decision, row: int) -> str:
        """What an agent gets, in words."""
        return ", ".join(self.names[j] for j in np.flatnonzero(allocation.given == row).tolist())

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON can hold it."""
        return {
            "utilities": {agent: dict(wishes) for agent, wishes in self.utilities.items()},
            "capacity": self.capacity,
        }


@dataclass(frozen=True)
class Amount:
    """An amount of something divisible; `rates` is utility per unit, `caps` the most that an agent may have."""

    amount: float
    rates: Mapping[str, float]
    caps: Mapping[str, float] | None = None

    @property
    def agents(self) -> set[str]:
        """Those who ask for something."""
        return set(self.rates) | set(self.caps or {})

    def problem(self, names: Sequence[str]) -> Divide:
        """The problem for these agents; who does not ask has no use for any."""
        caps = None if self.caps is None else [self.caps.get(name, np.inf) for name in names]
        return Divide(self.amount, [self.rates.get(name, 0.0) for name in names], caps)

    def given(self, allocation: Decision, row: int) -> str:
        """What an agent gets, in words."""
        return f"{allocation.given[row]:.4g} of {self.amount:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON can hold it."""
        caps = None if self.caps is None else dict(self.caps)
        return {"amount": self.amount, "rates": dict(self.rates), "caps": caps}


Request: TypeAlias = Places | Items | Amount


def _number(value: object, name: str) -> float:
    number = float(value)  # type: ignore[arg-type]
    if np.isnan(number):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return number
