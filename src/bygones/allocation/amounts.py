"""An amount of something divisible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bygones._arrays import AnyArray, Bools, Floats, Json, check_between
from bygones._text import exact
from bygones.allocation import checks
from bygones.allocation.problem_contract import Given, Problem
from bygones.kinds import Kind, check_kind

MOST_UNITS = 100_000
"""The most whole units of a division, which are allocated one by one."""

_ROUNDING = 1e-9
"""A smaller share of an amount is not reported as left over."""


@dataclass(frozen=True, eq=False)
class Divide(Problem):
    """An amount of a divisible resource.

    Attributes:
        amount: how much there is, above 0.
        rates: each agent's utility per unit of the resource, at least 0. By name, an agent without a rate may not have
            a part.
        caps: the most of the resource that an agent may have: one number for all or one per agent, at least 0; by
            default unlimited. By name, an agent without a cap is not limited.
        allowed: False for agents who may not have a part, whose rate and cap are ignored; by default everyone may.
        kind: `good` or `burden`; of a burden, the whole amount is divided.
        whole: whether every part is a whole number, as of doses; the amount is then a whole number too.
        agents: the agents' names, where rates are by position.
    """

    amount: float
    rates: Floats
    caps: Any = None
    _: KW_ONLY
    allowed: Bools | None = None
    kind: Kind = "good"
    whole: bool = False
    agents: tuple[str, ...] | None = None

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(
            self,
            amount: float,
            rates: AnyArray | Mapping[str, float | None],
            caps: AnyArray | Mapping[str, float] | None = None,
            *,
            allowed: AnyArray | None = None,
            kind: Kind = "good",
            whole: bool = False,
            agents: Sequence[str] | None = None,
        ) -> None: ...

    has_next_best: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_between("amount", self.amount, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)
        if self.whole and (self.amount != int(self.amount) or self.amount > MOST_UNITS):
            raise ValueError(f"amount must be a whole number of at most {MOST_UNITS:,} units, got {self.amount:g}")
        caps = self.caps
        if isinstance(self.rates, Mapping):
            checks.names_alone(agents=self.agents, allowed=self.allowed)
            limits = caps if isinstance(caps, Mapping) else {}
            by_name = {name: self.rates.get(name) for name in (*self.rates, *limits)}
            rates, allowed, self.__dict__["worth"] = checks.of_names(by_name, "rate", self.kind)
            agents: tuple[str, ...] | None = tuple(by_name)
            if isinstance(caps, Mapping):
                numbers = {name: checks.number(cap, f"cap of {name!r}", finite=False) for name, cap in caps.items()}
                caps, self.__dict__["caps_by_name"] = [numbers.get(name, math.inf) for name in by_name], dict(caps)
        else:
            rates = checks.per_agent("rates", self.rates)
            allowed = checks.allowed_agents(self.allowed, len(rates))
            agents = checks.names("agents", self.agents, len(rates))
        caps = checks.caps(caps, len(rates)) if len(rates) else rates
        fields = {
            "amount": self.amount if type(self.amount) is int else float(self.amount),
            "rates": rates if allowed is None else np.where(allowed, rates, 0.0),
            "caps": caps if allowed is None else np.where(allowed, caps, 0.0),
            "allowed": allowed,
            "agents": agents,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if "worth" not in self.__dict__:
            self.check()

    def check(self) -> None:
        """Refuses a problem without agents who may have a part."""
        checks.some_agents("rates", self.rates, self.allowed)

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
        """The mean of the caps, or the whole amount where there are none."""
        return float((self.rates * np.minimum(self.caps, self.amount)).mean())

    def utilities_of(self, given: np.ndarray) -> np.ndarray:
        """The utility of each agent, where `given` is the amount of each."""
        return np.asarray(self.rates * given)

    def served(self, given: np.ndarray) -> np.ndarray:
        """The indices of the agents who have a part, in ascending order."""
        return np.flatnonzero(given > 0)

    def left_over(self, given: np.ndarray) -> str:
        """The amount that nobody gets."""
        left = self.amount - given.sum()
        return f"{exact(float(left))} of {exact(self.amount)} is" if left > _ROUNDING * self.amount else ""

    def column(self, given: np.ndarray) -> tuple[str, list[str] | list[float]]:
        """The amount of each agent."""
        return "amount", given.tolist()

    def handed_out(self, given: np.ndarray) -> list[Given]:
        """Each part of the amount."""
        names, parts = self.agent_names, [(i, float(given[i])) for i in self.served(given).tolist()]
        return [Given(names[i], None, part, float(self.rates[i] * part)) for i, part in parts]

    def allocation_of(self, handed: Sequence[Given]) -> np.ndarray:
        """The amount of each agent."""
        part = {each.agent: each.part for each in handed}
        return np.array([part.get(name) or 0.0 for name in self.agent_names], dtype=float)

    def given_data(self, given: np.ndarray) -> Json:
        """The amount of each agent."""
        return {"amounts": given.tolist()}

    @cached_property
    def worth(self) -> Mapping[str, Mapping[str | None, float]]:
        """The rate of each agent who may have a part."""
        return checks.worth_of(self.agent_names, self.rates, self.allowed)

    @cached_property
    def caps_by_name(self) -> Mapping[str, float] | None:
        """The caps by name; None where nobody is limited."""
        limited = np.isfinite(self.caps).any()
        return dict(zip(self.agent_names, self.caps.tolist(), strict=True)) if limited else None

    def with_worth(self, worth: Mapping[str, Mapping[str | None, float]], kind: Kind) -> Divide:
        """The same amount for other agents or at other rates."""
        rates: Any = {name: mine.get(None) for name, mine in worth.items()}
        caps = self.caps_by_name
        caps = None if caps is None else {name: caps[name] for name in worth if name in caps}
        return replace(self, rates=rates, caps=caps, allowed=None, agents=None, kind=kind)

    def to_dict(self) -> Json:
        """The amount, and rates and caps by name; JSON has no infinity, and who has no cap is not limited either."""
        if type(self) is not Divide:
            return super().to_dict()
        caps = self.caps_by_name
        caps = None if caps is None else {name: cap for name, cap in caps.items() if cap != math.inf}
        rates = {name: mine[None] for name, mine in self.worth.items() if mine}
        return {"amount": self.amount, "rates": rates, "caps": caps, **({"whole": True} if self.whole else {})}
