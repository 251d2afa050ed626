"""What there is to hand out, by the agents' names; a `Problem` knows agents by position only.

A table of needs is read as a request, and so is what a ledger is asked to decide. Whether it is about goods or burdens
is not part of a request: the same table can be either, and a ledger's rules say which.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bygones._arrays import check_between
from bygones._text import listed
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.problems import Assign, ChooseK, Divide, place_in_words
from bygones.kinds import Kind


class Request(ABC):
    """What there is to hand out, and who asks for it."""

    @property
    @abstractmethod
    def agents(self) -> tuple[str, ...]:
        """Those who ask for something, in the order in which they are named."""

    @property
    def items(self) -> tuple[str, ...] | None:
        """The names of the items, or None if there are none."""
        return None

    @abstractmethod
    def problem(self, agents: Sequence[str], kind: Kind = "good") -> Problem:
        """The problem for these agents, of whom some may not ask for anything; of a burden they carry nothing."""

    @property
    def asking(self) -> tuple[str, ...]:
        """Those who could be served."""
        return self.agents

    def contest(self, kind: Kind = "good") -> tuple[tuple[str, ...], Problem] | None:
        """Those who could be served and the problem for them alone, or None where nobody would have to do without."""
        return (self.asking, self.problem(self.asking, kind)) if len(self.asking) > 1 else None

    @property
    def reports(self) -> dict[str, list[float]]:
        """What each agent reports: how much it needs something, or would carry."""
        raise self._has_no("reports")

    def scaled(self, factors: Mapping[str, float]) -> Request:
        """The request with each agent's reports multiplied by a factor, 1 for those not named."""
        raise self._has_no("scaled")

    def _has_no(self, name: str) -> ValueError:
        return ValueError(f"normalised reports need {type(self).__name__}.{name}: define it, or take reports as given")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The request, of the types that JSON has; `request_from` reads it again."""


@dataclass(frozen=True)
class Places(Request):
    """`k` identical places; `needs` is the utility of a place to each agent, None for one who may not take it."""

    needs: Mapping[str, float | None]
    k: int = 1

    @property
    def agents(self) -> tuple[str, ...]:
        """Those who have a need, in the order in which they are named."""
        return tuple(self.needs)

    @property
    def asking(self) -> tuple[str, ...]:
        """Those who may take a place."""
        return tuple(name for name, need in self.needs.items() if need is not None)

    def contest(self, kind: Kind = "good") -> tuple[tuple[str, ...], Problem] | None:
        """Those who may take a place and the problem for them alone, or None where there is a place for each."""
        return super().contest(kind) if self.k < len(self.asking) else None

    def problem(self, agents: Sequence[str], kind: Kind = "good") -> ChooseK:
        """The problem for these agents; an agent without a need may not be served."""
        found = [self.needs.get(name) for name in agents]
        needs = [0.0 if need is None else _number(need, f"need of {agents[i]!r}") for i, need in enumerate(found)]
        allowed = [need is not None for need in found]
        return ChooseK(needs, self.k, allowed=None if kind == "good" or all(allowed) else allowed, kind=kind)

    @property
    def reports(self) -> dict[str, list[float]]:
        """The need of each."""
        return {name: [need] for name, need in self.needs.items() if need is not None}

    def scaled(self, factors: Mapping[str, float]) -> Places:
        """The same places, with other needs."""
        needs = {name: None if need is None else need * factors.get(name, 1.0) for name, need in self.needs.items()}
        return replace(self, needs=needs)

    def to_dict(self) -> dict[str, Any]:
        """The request, of the types that JSON has."""
        return {"needs": dict(self.needs), "k": self.k}


@dataclass(frozen=True)
class Items(Request):
    """Distinct items.

    Attributes:
        utilities: `utilities[agent][item]` is the utility of the item to the agent; an agent may not take an item that
            is missing.
        capacity: the most items that one agent may take; None is unlimited.
        order: all items in order, where some may be taken by nobody; by default those in `utilities`, in the order in
            which they are first named.
    """

    utilities: Mapping[str, Mapping[str, float]]
    capacity: int | None = 1
    order: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        missing = [item for item in self._named() if item not in (self.order or self._named())]
        if missing:
            raise ValueError(f"order must name every item, got {self.order!r} without {missing[0]!r}")

    @property
    def agents(self) -> tuple[str, ...]:
        """Those who may take something, in the order in which they are named."""
        return tuple(self.utilities)

    @property
    def asking(self) -> tuple[str, ...]:
        """Those who may take an item."""
        return tuple(name for name, mine in self.utilities.items() if mine)

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in order."""
        return self.order or self._named()

    def problem(self, agents: Sequence[str], kind: Kind = "good") -> Assign:
        """The problem for these agents; an agent without utilities may take no item."""
        utilities, allowed = np.zeros((len(agents), len(self.items))), np.zeros((len(agents), len(self.items)), bool)
        column = {item: j for j, item in enumerate(self.items)}
        for i, name in enumerate(agents):
            for item, utility in self.utilities.get(name, {}).items():
                utilities[i, column[item]] = _number(utility, f"utility of {item!r} to {name!r}")
                allowed[i, column[item]] = True
        return Assign(utilities, self.capacity, allowed, kind=kind)

    @property
    def reports(self) -> dict[str, list[float]]:
        """What each item is worth to each."""
        return {name: list(mine.values()) for name, mine in self.utilities.items()}

    def scaled(self, factors: Mapping[str, float]) -> Items:
        """The same items, with other utilities."""
        utilities = {
            name: {item: utility * factors.get(name, 1.0) for item, utility in mine.items()}
            for name, mine in self.utilities.items()
        }
        return replace(self, utilities=utilities)

    def to_dict(self) -> dict[str, Any]:
        """The request, of the types that JSON has; the items in order, since whoever keeps JSON may sort its keys."""
        utilities = {agent: dict(mine) for agent, mine in self.utilities.items()}
        return {"utilities": utilities, "capacity": self.capacity, "items": list(self.items)}

    def _named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item for mine in self.utilities.values() for item in mine))


@dataclass(frozen=True)
class Amount(Request):
    """An amount of something divisible; `rates` is utility per unit, `caps` the most that an agent may have.

    With `whole` every part is a whole number, as of doses.
    """

    amount: float
    rates: Mapping[str, float]
    caps: Mapping[str, float] | None = None
    whole: bool = False

    @property
    def agents(self) -> tuple[str, ...]:
        """Those who have a rate or a cap, in the order in which they are named."""
        return tuple(dict.fromkeys((*self.rates, *(self.caps or ()))))

    @property
    def asking(self) -> tuple[str, ...]:
        """Those who have a rate."""
        return tuple(self.rates)

    def problem(self, agents: Sequence[str], kind: Kind = "good") -> Divide:
        """The problem for these agents; an agent without a rate may not have a part, one without a cap any."""
        rates = [_number(self.rates.get(name, 0.0), f"rate of {name!r}") for name in agents]
        named = [name in self.rates for name in agents]
        allowed = None if kind == "good" or all(named) else named
        if self.caps is None:
            return Divide(self.amount, rates, allowed=allowed, kind=kind, whole=self.whole)
        caps = [_number(self.caps.get(name, math.inf), f"cap of {name!r}", finite=False) for name in agents]
        return Divide(self.amount, rates, caps, allowed=allowed, kind=kind, whole=self.whole)

    @property
    def reports(self) -> dict[str, list[float]]:
        """The rate of each."""
        return {name: [rate] for name, rate in self.rates.items()}

    def scaled(self, factors: Mapping[str, float]) -> Amount:
        """The same amount, with other rates."""
        return replace(self, rates={name: rate * factors.get(name, 1.0) for name, rate in self.rates.items()})

    def to_dict(self) -> dict[str, Any]:
        """The request, of the types that JSON has."""
        # JSON has no infinity; an agent without a cap is not limited either.
        caps = None if self.caps is None else {name: cap for name, cap in self.caps.items() if cap != math.inf}
        whole = {"whole": True} if self.whole else {}
        return {"amount": self.amount, "rates": dict(self.rates), "caps": caps, **whole}


def request_from(data: Mapping[str, Any]) -> Request | None:
    """The request of which this is the `to_dict`; None if it is of a kind of your own."""
    if "needs" in data:
        return Places(data["needs"], data["k"])
    if "utilities" in data:
        order = data.get("items")
        return Items(data["utilities"], data["capacity"], None if order is None else tuple(order))
    if "rates" in data:
        return Amount(data["amount"], data["rates"], data["caps"], data.get("whole", False))
    return None


def only(request: Request, agents: Collection[str]) -> Request:
    """The request of some agents alone."""
    if isinstance(request, Places):
        return replace(request, needs={name: need for name, need in request.needs.items() if name in agents})
    if isinstance(request, Items):
        utilities = {name: mine for name, mine in request.utilities.items() if name in agents}
        return replace(request, utilities=utilities, order=request.items)
    if isinstance(request, Amount):
        caps = None if request.caps is None else {name: cap for name, cap in request.caps.items() if name in agents}
        return replace(request, rates={name: rate for name, rate in request.rates.items() if name in agents}, caps=caps)
    raise ValueError(f"a request must be for places, items or an amount, got {type(request).__name__}")


def in_words(given: Sequence[Given], request: Request | None, kind: Kind) -> dict[str, str]:
    """What each agent was given, in words."""
    found: dict[str, list[str]] = {}
    for each in given:
        if each.item is not None:
            what = each.item
        elif isinstance(request, Amount) and each.part is not None:
            what = f"{each.part:.4g} of {request.amount:.4g}"
        else:
            what = place_in_words(each.utility, kind)
        found.setdefault(each.agent, []).append(what)
    return {agent: listed(words) for agent, words in found.items()}


def _number(value: float, name: str, *, finite: bool = True) -> float:
    if type(value) is float and 0.0 <= value < math.inf:  # as nearly all are, of perhaps ten thousand
        return value
    accepted = "a finite number of at least 0" if finite else "a number of at least 0"
    return float(check_between(name, value, 0.0, math.inf, accepted, open_high=finite))
