"""The decision: who gets what, the memory after it, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bygones._arrays import AnyArray, Array, Json, Number
from bygones._text import listed
from bygones.allocation.comparison import next_best
from bygones.allocation.explanation import Explanation
from bygones.allocation.objective import judge_of
from bygones.allocation.pricing import PriceList
from bygones.allocation.problem_contract import NAMED, Given, Problem
from bygones.allocation.problems import in_words
from bygones.allocation.why_not import why_not
from bygones.document.document import Answer, Document
from bygones.kinds import UNNAMED, Thing
from bygones.memory import Memory
from bygones.memory.contract import AnyState
from bygones.memory.priced import PricedState
from bygones.welfare import Welfare


@dataclass(frozen=True, eq=False)
class RunnerUp:
    """The next best choice.

    Attributes:
        given: as in `Decision`.
        utilities: the utility it would have given each agent.
        after: the remembered utilities that it would have left, per unit of entitlement.
        welfare: its welfare.
        cost: how much less that is than the welfare of the choice made; zero where leximin or the draw decided.
    """

    given: np.ndarray
    utilities: np.ndarray
    after: Array
    welfare: float
    cost: float


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Answer):
    """The best allocation of a problem, and everything needed to justify it.

    Remembered utilities are per unit of entitlement throughout; NaN for agents who are exempt from a burden.

    Attributes:
        problem: the things that were allocated, and the needs.
        memory: how the past is remembered.
        state: the recent totals before the decision.
        welfare: the welfare that was maximised.
        elapsed: time since the last utilities, in steps of the memory.
        entitlements: per agent, or None.
        time_unit: the length of a step of the memory.
        thing: the name of the thing that is allocated, such as `shift`.
        given: who gets what, in the form of the problem. `ChooseK`: the indices of the agents served. `Assign`: the
            agent of each item, -1 if it is left over. `Divide`: the amount of each agent.
        optimal: whether the allocation is proven to be the best.
        gap: how much more welfare another allocation could have, at most; 0.0 for an exact algorithm.
        price_list: the prices where the rule is `prices`, else None. It is then the sum of priced utilities that is
            largest (for burdens, smallest), and that `gap` and the next best choice are about.
        calibration: the prices that were learned from past needs, around which the memory corrects, or None.
        learned_from: the past that these were learned from, in words, or None.
        unrounded: for a division in whole units, the best division without rounding, else None.
        policy: the policy that chose, if it is neither `one-step` nor `prices`; nothing is then known of a best choice.
    """

    problem: Problem
    memory: Memory
    state: AnyState
    welfare: Welfare
    elapsed: Number
    entitlements: np.ndarray | None
    time_unit: str
    given: np.ndarray
    optimal: bool
    gap: float
    price_list: PriceList | None
    calibration: PricedState | None
    learned_from: str | None
    find_runner_up: Callable[[], np.ndarray | None]
    unrounded: np.ndarray | None = None
    thing: Thing = UNNAMED
    policy: str = ""

    @cached_property
    def utilities(self) -> np.ndarray:
        """The utility of each agent."""
        return self.problem.utilities_of(self.given)

    @cached_property
    def served(self) -> np.ndarray:
        """The indices of the agents who get something, in ascending order."""
        return self.problem.served(self.given)

    @property
    def rule(self) -> str:
        """The rule of the decision: `one-step`, `prices` or another policy."""
        return self.policy or ("one-step" if self.price_list is None else "prices")

    @property
    def prices(self) -> np.ndarray | None:
        """Each agent's price where the rule is `prices`, 1 on average; else None."""
        return None if self.price_list is None else self.price_list.all

    @property
    def agent_names(self) -> Sequence[str]:
        """The agents' names, or `agent 0`, `agent 1`, … where they have none."""
        return self.problem.agent_names

    @property
    def gets(self) -> dict[str, str]:
        """The part of each agent who is served, in words."""
        return in_words(self.handed_out, self.problem, self.problem.kind, self.thing)

    @property
    def handed_out(self) -> list[Given]:
        """The allocation by name."""
        return self.problem.handed_out(self.given)

    def listed_as(self, problem: Problem) -> Decision:
        """The same decision of the same problem with the agents in another order."""
        row_of = {name: i for i, name in enumerate(self.agent_names)}
        order = np.array([row_of[name] for name in problem.agent_names], dtype=np.int64)

        def in_order(given: np.ndarray) -> np.ndarray:
            return problem.allocation_of(self.problem.handed_out(given))

        def find_runner_up() -> np.ndarray | None:
            other = self.find_runner_up()
            return None if other is None else in_order(other)

        prices = self.prices
        return replace(
            self,
            problem=problem,
            state=_reordered(self.state, order),
            entitlements=None if self.entitlements is None else self.entitlements[order],
            given=in_order(self.given),
            price_list=None if prices is None else PriceList(lambda who: prices[order][who]),
            calibration=None if self.calibration is None else _reordered(self.calibration, order),
            find_runner_up=find_runner_up,
            unrounded=None if self.unrounded is None else self.unrounded[order],
        )

    @cached_property
    def state_after(self) -> Any:
        """The memory once the utilities have been received."""
        return self.memory.update(self.state, self.utilities, self.elapsed)

    @cached_property
    def before(self) -> Array:
        """The remembered utilities before the decision."""
        return self.per_unit(self.memory.read(self.state))

    @cached_property
    def after(self) -> Array:
        """The remembered utilities after the decision."""
        return self.per_unit(self.memory.read(self.state_after))

    @cached_property
    def welfare_before(self) -> float:
        """The welfare of `before`."""
        return float(self._judge(self.before))

    @cached_property
    def welfare_after(self) -> float:
        """The welfare of `after`, the number that the decision maximises; for burdens, the burden below zero."""
        return float(self._judge(self.after))

    @cached_property
    def past_kept(self) -> Array:
        """The share of each agent's remembered utility that still counts now; NaN where nothing was remembered."""
        nothing = np.zeros(self.problem.n_agents)
        kept = self.per_unit(self.memory.ahead(self.state, nothing, self.elapsed))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.asarray(self.before) != 0, kept / self.before, math.nan)

    @cached_property
    def runner_up(self) -> RunnerUp | None:
        """The next best choice, or None if there is none, as for a division: others come arbitrarily close to the best.

        It is found when first asked for, which for a matching takes one more matching per pair. It is also None where
        the solver ran into its time limit.
        """
        given = self.find_runner_up()
        if given is None:
            return None
        utilities = self.problem.utilities_of(given)
        after = self.after_receiving(utilities)
        welfare = float(self._judge(after))
        lost = self.welfare_after - welfare
        if self.prices is not None:
            lost = (utilities - self.utilities if self.problem.is_burden else self.utilities - utilities) @ self.prices
        return RunnerUp(given, utilities, after, welfare, max(0.0, float(lost)))

    def after_receiving(self, utilities: np.ndarray) -> Array:
        """The remembered utilities that other utilities would leave."""
        return self.per_unit(self.memory.ahead(self.state, utilities, self.elapsed))

    def welfare_of(self, utilities: np.ndarray) -> float:
        """The welfare of other utilities."""
        return float(self._judge(self.after_receiving(utilities)))

    def _judge(self, values: Array) -> Array:
        judge = judge_of(self.welfare, self.entitlements, self.problem.kind)
        return judge(-np.nan_to_num(np.asarray(values)) if self.problem.is_burden else values)

    def per_unit(self, Z: Array) -> Array:
        """Z per unit of entitlement, NaN for the exempt."""
        if self.entitlements is None:
            return Z
        exempt = np.full(np.shape(Z), math.nan)
        return np.asarray(np.divide(Z, self.entitlements, out=exempt, where=self.entitlements > 0))

    @property
    def explanation(self) -> Explanation:
        """Why this is the decision."""
        return Explanation(self)

    def document(self) -> Document:
        """The decision and its reasons, as people read them."""
        return self.explanation.document

    def reasons(self) -> list[str]:
        """The decision and its reasons, one sentence each; `document` has the numbers behind them as well."""
        return self.explanation.sentences

    def explain(self) -> str:
        """The decision and its reasons as plain text, with a table of everyone who came into question."""
        from bygones.document.terminal import text

        return text(self.document())

    def why_not(self, agent: str) -> str:
        """Why an agent was not chosen, in a sentence or two."""
        return why_not(self.explanation.compared, agent)

    def to_dict(self, reasons: Sequence[str] | None = None) -> Json:
        """The decision and its reasons in lists, numbers and strings; a number that is not finite is None.

        Args:
            reasons: instead of the decision's own.
        """
        names, burden = self.agent_names, self.problem.is_burden
        extreme = int((np.nanargmax if burden else np.nanargmin)(self.before))
        reasons = self.reasons() if reasons is None else reasons
        other = next_best(self)
        return {
            "problem": type(self.problem).__name__,
            "kind": self.problem.kind,
            "thing": self.thing.name or None,
            "unit": self.thing.unit or None,
            "memory": repr(self.memory),
            "welfare": str(self.welfare),
            "rule": self.rule,
            "elapsed": _number(self.elapsed),
            "time_unit": self.time_unit,
            "agents": list(names),
            "served": [names[i] for i in self.served.tolist()],
            "gets": self.gets,
            **self.problem.given_data(self.given),
            "utilities": _numbers(self.utilities),
            "entitlements": None if self.entitlements is None else _numbers(self.entitlements),
            "remembered_before": _numbers(self.before),
            "remembered_after": _numbers(self.after),
            "past_kept": _numbers(self.past_kept),
            "prices": None if self.prices is None else _numbers(self.prices),
            "learned_from": self.learned_from,
            "heaviest" if burden else "lowest": {
                "agent": names[extreme],
                "before": _number(self.before[extreme]),
                "after": _number(self.after[extreme]),
            },
            "welfare_before": _number(self.welfare_before),
            "welfare_after": _number(self.welfare_after),
            "optimal": self.optimal,
            "gap": _number(self.gap),
            "runner_up": None
            if other is None
            else {
                "served": [names[i] for i in self.problem.served(other.given).tolist()],
                "utilities": _numbers(other.utilities),
                "welfare": _number(other.welfare),
                "cost": _number(other.cost),
            },
            "reasons": list(reasons),
            "explanation": " ".join(reasons),
        }

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        gets = listed([f"{agent}: {what}" for agent, what in self.gets.items()], NAMED) or "nobody is served"
        return f"<Decision: {gets}; {self.welfare} welfare, rule {self.rule}>"


def _reordered(state: Any, order: np.ndarray) -> Any:
    """A state with the agents in another order; numbers that are not per agent stay."""
    if isinstance(state, tuple):
        return type(state)(*(_reordered(part, order) for part in state))
    return np.asarray(state)[..., order] if np.ndim(state) and np.shape(state)[-1] == len(order) else state


def _number(value: Number) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: AnyArray) -> list[float | None]:
    return [_number(value) for value in np.asarray(values).tolist()]
