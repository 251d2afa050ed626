"""A decision to be made, and what was chosen: what every algorithm is given, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias

import numpy as np
from typing_extensions import TypeVar

from bygones._arrays import Array
from bygones._parts import needed_by
from bygones.allocation.outlook import Outlook
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Divide
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.whole import hand_out
from bygones.forms import Curves
from bygones.welfare import Welfare

Given = TypeVar("Given", bound=Problem, default=Any)
"""The kind of problem that a solver takes."""

FEW = 100_000
"""As many allocations, or fewer, are looked at one by one where no faster exact algorithm applies."""


@dataclass(frozen=True, eq=False)
class Case(Generic[Given]):
    """What a solver is given: the problem, and what is known of the memory and the welfare.

    Attributes:
        problem: what there is to hand out, of the solver's own kind.
        look: what an allocation would make of the memory: an `Outlook`, or `Unstructured` where it has no response.
        welfare: what is maximised.
        judge: the welfare of Z, entitlements included.
        form: the form of the welfare among these agents; None where it has none.
        rng: draws among ties.
        time_limit: seconds after which an integer programme stops; None for no limit.
        entitlements: per agent, or None if all are equal.
    """

    problem: Given
    look: Any
    welfare: Welfare
    judge: Callable[[Array], Array]
    form: Any
    rng: np.random.Generator
    time_limit: float | None = None
    entitlements: np.ndarray | None = None

    @property
    def able(self) -> np.ndarray:
        """Who is not exempt."""
        if self.entitlements is None:
            return np.ones(self.problem.n_agents, dtype=bool)
        return np.asarray(self.entitlements > 0)

    @property
    def is_separable(self) -> bool:
        """Whether agents' memories depend on their own utilities, and a fast algorithm knows the welfare."""
        return self.has_response and self.look.mixing is None and isinstance(self.form, Curves)

    @property
    def has_response(self) -> bool:
        """Whether the memory says how it responds to utilities."""
        return isinstance(self.look, Outlook)

    @property
    def has_structure(self) -> bool:
        """Whether there is an algorithm, so that not every allocation has to be looked at."""
        return self.has_response and self.form is not None

    def check_structure(self, allocations: float = math.inf) -> None:
        """Refuses what can be solved only by looking at every allocation, where there are too many."""
        how_many, smaller = "a division has infinitely many allocations", ", or divide in whole units (whole=True)"
        if math.isfinite(allocations):
            about = "at least" if allocations >= enumerate.COUNTLESS else "about"
            how_many = f"this problem has {about} {allocations:.3g} allocations, more than the {FEW:,} we can look at"
            smaller = ", or a smaller problem"
        if not self.has_response:
            memory = type(self.look.memory).__name__
            raise ValueError(
                f"{memory} memory does not say how it responds to utilities (Memory.response), and {how_many}: "
                f"use a memory that does, such as Discounted{smaller}"
            )
        if self.form is None:
            raise ValueError(
                f"welfare {self.welfare} has no known form (Welfare.form), and {how_many}: use a welfare that has one, "
                f"such as 'nash'{smaller}"
            )


@dataclass(frozen=True, eq=False)
class Choice:
    """What a solver returns.

    Attributes:
        given: the best allocation, in the form of the problem.
        runner_up: finds the next best allocation, None if there is none.
        gap: how much more the sum or welfare could be, at most.
        optimal: whether the allocation is proven to be the best.
        unrounded: of a division in whole units, the best in parts of units.
    """

    given: np.ndarray
    runner_up: Callable[[], np.ndarray | None]
    gap: float = 0.0
    optimal: bool = True
    unrounded: np.ndarray | None = None


Solver: TypeAlias = Callable[[Case[Any]], Choice]


def by_options(
    case: Case,
    options: enumerate.Options,
    given: Callable[[np.ndarray], np.ndarray],
    some: np.ndarray | None = None,
) -> Choice:
    """The best allocation that is made of these options: each is taken or not.

    Exact: by looking at all allocations where they are few, else by an integer programme.

    Args:
        case: what the solver was given.
        options: what can be given to whom, and how much of it together.
        given: the allocation in the form of the problem, from the indices of the options taken.
        some: where everything has to be handed out, for each option whether it is taken in some way to do so.
    """
    allocations = enumerate.count(options)
    if allocations <= FEW:
        batched = case.welfare.is_named
        taken, second = enumerate.enumerate_all(options, case.look, case.judge, case.rng, batched=batched)
        return Choice(given(taken), lambda: None if second is None else given(second))
    case.check_structure(allocations)
    with needed_by("a problem of this size"):
        from bygones.allocation.solvers.milp import programme_of, solve
    programme = programme_of(options, case.look)
    if some is not None:
        programme = replace(programme, total=float(options.total), some=some.astype(float))
    solution = solve(programme, case.form, case.rng, case.time_limit)

    def runner_up() -> np.ndarray | None:
        return None if solution.runner_up is None else given(np.flatnonzero(solution.runner_up))

    return Choice(given(np.flatnonzero(solution.x)), runner_up, solution.gap, solution.optimal)


def in_whole_units(case: Case[Divide], most: np.ndarray, divided: Callable[[Case[Divide]], Choice]) -> Choice:
    """The best division in whole units, of which each agent may have so many at most.

    Exact: unit by unit where agents' memories are apart and the welfare is a sum or leximin, else by looking at all
    divisions where they are few, else by an integer programme.

    Args:
        case: what the solver was given.
        most: the most whole units of each agent.
        divided: finds the best division in parts of units.
    """
    problem, everything = case.problem, case.problem.is_burden
    units = int(problem.amount)
    # In parts of units there are infinitely many divisions, so only an algorithm finds the best.
    parts = divided(replace(case, problem=replace(problem, whole=False))).given if case.has_structure else None
    if case.is_separable:
        step = np.broadcast_to(case.look.slope * problem.rates, len(most))
        given = hand_out(case.look.base, step, most, units, case.form, case.rng, everything=everything)
        return Choice(given.astype(float), lambda: None, unrounded=parts)
    most = most if everything else np.where(problem.rates > 0, most, 0)
    divisions = enumerate.count_divisions(most, units, everything=everything)
    if divisions <= FEW:
        given = enumerate.best_division(
            most, units, problem.rates, case.look, case.judge, case.rng,
            everything=everything, batched=case.welfare.is_named,
        )  # fmt: skip
        return Choice(given, lambda: None, unrounded=parts)
    case.check_structure(divisions)
    agent = np.repeat(np.arange(len(most)), most)
    each = np.arange(len(agent))
    options = enumerate.Options(agent, each, problem.rates[agent], most, units, everything=everything)

    def given_by(taken: np.ndarray) -> np.ndarray:
        return np.bincount(agent[taken], minlength=len(most)).astype(float)

    best = by_options(case, options, given_by, each < units if everything else None)
    return replace(best, runner_up=lambda: None, unrounded=parts)
