"""A decision to be made, and what was chosen: what every algorithm is given, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from bygones.allocation.aims import ConcaveSum, Leximin, PowerSum
from bygones.allocation.outlook import Outlook
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.linear_model import Programme
from bygones.allocation.solvers.milp import solve
from bygones.welfare import Welfare

FEW = 100_000
"""As many allocations, or fewer, are looked at one by one where no faster exact algorithm applies."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, what each allocation of it would make of the memory, and how that is judged."""

    problem: Any
    look: Any
    welfare: Welfare
    judge: Callable[[Any], Any]
    aim: Any
    rng: np.random.Generator
    time_limit: float | None
    entitlements: np.ndarray | None

    @property
    def able(self) -> np.ndarray:
        """Who is not exempt."""
        if self.entitlements is None:
            return np.ones(self.problem.n_agents, dtype=bool)
        return np.asarray(self.entitlements > 0)

    @property
    def can_carry(self) -> np.ndarray:
        """Who may take a part, where a problem asks agents and not pairs."""
        return self.able if self.problem.allowed is None else self.able & self.problem.allowed

    @property
    def is_separable(self) -> bool:
        """Whether agents' memories depend on their own utilities, and a fast algorithm knows the welfare."""
        return self.has_response and self.look.mixing is None and isinstance(self.aim, ConcaveSum | PowerSum | Leximin)

    @property
    def has_response(self) -> bool:
        """Whether the memory says how it responds to utilities."""
        return isinstance(self.look, Outlook)

    def check_structure(self, allocations: float = math.inf) -> None:
        """Refuses what can be solved only by looking at every allocation, where there are too many."""
        how_many, smaller = "a division has infinitely many allocations", ""
        if math.isfinite(allocations):
            how_many = f"this problem has about {allocations:.3g} allocations, more than the {FEW:,} we can look at"
            smaller = ", or a smaller problem"
        if not self.has_response:
            memory = type(self.look.memory).__name__
            raise ValueError(
                f"{memory} memory does not say how it responds to utilities (Memory.response), and {how_many}: "
                f"use a memory that does, such as Discounted{smaller}"
            )
        if self.aim is None:
            raise ValueError(
                f"welfare {self.welfare} has no known form (Welfare.form), and {how_many}: use a welfare that has one, "
                f"such as 'nash'{smaller}"
            )


@dataclass(frozen=True, eq=False)
class Choice:
    """An allocation, a way to the next best, and what is proven about it."""

    given: np.ndarray
    runner_up: Callable[[], np.ndarray | None]
    gap: float = 0.0
    optimal: bool = True


def by_options(case: Case, options: enumerate.Options, some: np.ndarray | None = None) -> Choice:
    """The options taken, by looking at all allocations where they are few, else by an integer programme.

    Where everything has to be handed out, `some` are options that do.
    """
    allocations = enumerate.count(options)
    if allocations <= FEW:
        batched = case.welfare.is_named
        taken, second = enumerate.enumerate_all(options, case.look, case.judge, case.rng, batched=batched)
        return Choice(taken, lambda: second)
    case.check_structure(allocations)
    programme = programme_of(options, case.look)
    if some is not None:
        programme = replace(programme, total=float(options.total), some=some.astype(float))
    solution = solve(programme, case.aim, case.rng, case.time_limit)

    def runner_up() -> np.ndarray | None:
        return None if solution.runner_up is None else np.flatnonzero(solution.runner_up)

    return Choice(np.flatnonzero(solution.x), runner_up, solution.gap, solution.optimal)


def programme_of(options: enumerate.Options, look: Outlook) -> Programme:
    """The integer programme of these options."""
    p, n = len(options.agent), len(options.capacity)
    each = np.arange(p)
    gifts = sparse.csr_array((options.utility, (options.agent, each)), shape=(n, p))
    response = look.mixing if look.mixing is not None else sparse.diags_array(np.broadcast_to(look.slope, n))
    items, item = np.unique(options.item, return_inverse=True)
    rows = sparse.vstack(
        [
            sparse.csr_array((np.ones(p), (item, each)), shape=(len(items), p)),
            sparse.csr_array((np.ones(p), (options.agent, each)), shape=(n, p)),
            sparse.csr_array(np.ones((1, p))),
        ]
    )
    limits = np.concatenate([np.ones(len(items)), options.capacity, [options.total]])
    return Programme(look.base, sparse.csr_array(response @ gifts), sparse.csr_array(rows), limits, np.ones(p), True)


def translate(choice: Choice, given: Callable[[np.ndarray], np.ndarray]) -> Choice:
    """A choice of options as one of the problem's allocations."""

    def runner_up() -> np.ndarray | None:
        second = choice.runner_up()
        return None if second is None else given(second)

    return Choice(given(choice.given), runner_up, choice.gap, choice.optimal)
