"""Which algorithm finds the best allocation of each problem, for goods and for burdens.

Every algorithm is given a `Case` and answers with a `Choice`. Of burdens everything has to be done, and what nobody
can take is refused. An agent may take what the problem allows, unless it is exempt (its share of the load is 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias

import numpy as np
from typing_extensions import TypeVar

from bygones._arrays import Array
from bygones._parts import needed_by
from bygones._text import counted
from bygones.allocation.outlook import Outlook
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.carry import carry_amount, choose_carriers
from bygones.allocation.solvers.choose import choose
from bygones.allocation.solvers.divide import divide, equal
from bygones.allocation.solvers.whole import hand_out
from bygones.allocation.ties import TIE, best_of
from bygones.forms import LEXIMIN, Curves, Ranked
from bygones.welfare import Welfare

SomeProblem = TypeVar("SomeProblem", bound=Problem, default=Any)
"""The kind of problem that a solver takes."""

FEW = 100_000
"""As many allocations, or fewer, are looked at one by one where no faster exact algorithm applies."""


@dataclass(frozen=True, eq=False)
class Case(Generic[SomeProblem]):
    """The input of a solver: the problem, and the known structure of the memory and the welfare.

    Attributes:
        problem: a problem of the solver's own kind.
        look: the memory that an allocation would leave: an `Outlook`, or `Unstructured` where it has no response.
        welfare: the welfare to maximise.
        judge: the welfare of Z, entitlements included.
        form: the form of the welfare among these agents; None where it has none.
        rng: draws among ties.
        time_limit: seconds after which an integer programme stops; None for no limit.
        entitlements: per agent, or None if all are equal.
    """

    problem: SomeProblem
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
        """Whether the memory states its response to utilities."""
        return isinstance(self.look, Outlook)

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
    """The result of a solver.

    Attributes:
        given: the best allocation, in the form of the problem.
        runner_up: finds the next best allocation, None if there is none.
        gap: how much more the sum or welfare could be, at most.
        optimal: whether the allocation is proven to be the best.
        unrounded: for a division in whole units, the best division without rounding.
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
        some: where everything has to be allocated, for each option whether it is taken in some way to do so.
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


def _in_whole_units(case: Case[Divide], most: np.ndarray) -> Choice:
    """The best division in whole units, of which each agent may have so many at most.

    Exact: unit by unit where agents' memories are apart and the welfare is a sum or leximin, else by looking at all
    divisions where they are few, else by an integer programme.

    Args:
        case: what the solver was given.
        most: the most whole units of each agent.
    """
    problem, everything = case.problem, case.problem.is_burden
    units = int(problem.amount)
    # In parts of units there are infinitely many divisions, so only an algorithm finds the best.
    parts = (
        _divide(replace(case, problem=replace(problem, whole=False))).given
        if case.has_response and case.form is not None
        else None
    )
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


def _choose_k(case: Case[ChooseK]) -> Choice:
    needs, k, burden = case.problem.needs, case.problem.k, case.problem.is_burden
    if case.is_separable and not burden:
        return Choice(*choose(case.look.base, case.look.gain(needs), k, case.form, case.rng))
    who = np.flatnonzero(_can_carry(case) if burden else needs > 0)
    if burden and len(who) < k:
        raise ValueError(f"k must be at most the number of agents who can take the burden ({len(who)}), got {k}")
    if case.is_separable:
        more = np.broadcast_to(-case.look.slope * needs, len(needs))
        return Choice(*choose_carriers(-case.look.base, more, who, k, case.form, case.rng))
    options = enumerate.Options(who, who, needs[who], np.ones(len(needs), dtype=int), k, everything=burden)
    return by_options(case, options, lambda taken: who[taken], np.arange(len(who)) < k if burden else None)


def _assign(case: Case[Assign]) -> Choice:
    with needed_by("Assign"):
        from bygones.allocation.solvers.assign import to_the_best
    problem, m = case.problem, case.problem.n_items
    if case.is_separable and (problem.room == 1).all():
        return _carry_one_each(case) if problem.is_burden else _give_one_each(case)
    if case.is_separable and not problem.is_burden and (problem.room == m).all() and case.form.is_linear:
        unique = to_the_best(problem.utilities, case.look, case.form.mass)
        if unique is not None:
            return Choice(unique[0], lambda: unique[1] if (unique[0] >= 0).any() else None)
    agents, items, worth = _pairs(case)

    def owners(taken: np.ndarray) -> np.ndarray:
        owner = np.full(m, -1)
        owner[items[taken]] = agents[taken]
        return owner

    options = enumerate.Options(agents, items, worth, problem.room, m, everything=problem.is_burden)
    return by_options(case, options, owners, _carried(problem, agents, items) if problem.is_burden else None)


def _divide(case: Case[Divide]) -> Choice:
    problem, look, form, burden = case.problem, case.look, case.form, case.problem.is_burden
    caps = np.minimum(problem.caps, problem.amount)
    if burden:
        caps = np.where(_can_carry(case), caps, 0.0)
        if caps.sum() < problem.amount * (1.0 - TIE):
            raise ValueError(
                f"amount must be at most what the agents who can take it may have together ({caps.sum():g}), "
                f"got {problem.amount:g}"
            )
    if problem.whole:
        most = np.floor(caps).astype(np.int64)
        if burden and most.sum() < problem.amount:
            raise ValueError(
                f"amount must be at most the whole units that the agents who can take it may have together "
                f"({most.sum()}), got {problem.amount:g}"
            )
        return _in_whole_units(case, most)
    case.check_structure()
    if look.mixing is None:
        slope = np.broadcast_to(look.slope * problem.rates, len(caps))
        if not burden:
            return Choice(divide(look.base, slope, problem.caps, problem.amount, form), _nothing_else)
        if isinstance(form, Ranked) and equal((form.masses * -slope)[caps > 0]):
            # At equal rates the most equal division is the best for every welfare that prefers equality.
            form = LEXIMIN
        if not isinstance(form, Ranked):
            return Choice(carry_amount(-look.base, -slope, caps, problem.amount, form), _nothing_else)
    with needed_by("Divide, with this welfare or memory,"):
        from scipy import sparse

        from bygones.allocation.solvers.linear_model import Programme
        from bygones.allocation.solvers.milp import solve
    response = np.diag(np.broadcast_to(look.slope, len(caps))) if look.mixing is None else look.mixing
    programme = Programme(
        look.base,
        sparse.csr_array(response * problem.rates),
        sparse.csr_array(np.ones((1, len(caps)))),
        np.array([problem.amount]),
        caps,
        whole=False,
        total=problem.amount if burden else None,
        some=caps * (problem.amount / caps.sum()) if burden else None,
    )
    solution = solve(programme, form, case.rng, case.time_limit)
    return Choice(solution.x, _nothing_else, solution.gap, solution.optimal)


SOLVERS: dict[type[Problem], Solver] = {ChooseK: _choose_k, Assign: _assign, Divide: _divide}
"""By kind of problem, for goods and burdens."""


def _nothing_else() -> None:
    """Other divisions come arbitrarily close to the best: none is the next."""


def _can_carry(case: Case[ChooseK] | Case[Divide]) -> np.ndarray:
    """Who may take a part, and is not exempt."""
    return case.able if case.problem.allowed is None else case.able & case.problem.allowed


def _pairs(case: Case[Assign]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Agents, items and utilities of the pairs that come into question: of goods, only pairs worth something."""
    agents, items, worth = case.problem.pairs
    can = case.able[agents] if case.problem.is_burden else worth > 0
    return agents[can], items[can], worth[can]


def _give_one_each(case: Case[Assign]) -> Choice:
    from bygones.allocation.solvers.assign import one_each

    def owners(utilities: Any) -> np.ndarray:
        holds = one_each(utilities, case.look, case.form, case.rng)
        owner = np.full(case.problem.n_items, -1)
        owner[holds[holds >= 0]] = np.flatnonzero(holds >= 0)
        return owner

    def without(item: int) -> np.ndarray:
        utilities = case.problem.utilities.copy()
        utilities[best[item], item] = 0.0
        return owners(utilities)

    best = owners(case.problem.utilities)
    # The agents in order, as lots are drawn from one generator for one after the other.
    items = np.flatnonzero(best >= 0)
    items = items[np.argsort(best[items])].tolist()
    return Choice(best, lambda: _best_among(case, [without(item) for item in items]))


def _carry_one_each(case: Case[Assign]) -> Choice:
    from scipy import sparse

    from bygones.allocation.solvers.carry_items import carry_one_each

    agents, items, loads = _pairs(case)
    slope = np.broadcast_to(-case.look.slope, case.problem.n_agents)
    shape = (case.problem.n_agents, case.problem.n_items)

    def owners(keep: np.ndarray) -> np.ndarray | None:
        steps = sparse.csr_array(((slope[agents] * loads)[keep], (agents[keep], items[keep])), shape=shape)
        return carry_one_each(-case.look.base, steps, case.form, case.rng)

    best = owners(np.ones(len(agents), dtype=bool))
    if best is None:
        raise _too_little_room(case.problem, int(_flow(case.problem, agents, items).flow_value))

    def runner_up() -> np.ndarray | None:
        without = (owners((agents != best[item]) | (items != item)) for item in range(shape[1]))
        return _best_among(case, [each for each in without if each is not None])

    return Choice(best, runner_up)


def _best_among(case: Case[Assign], others: Sequence[np.ndarray]) -> np.ndarray | None:
    """The next best assignment lacks at least one of the pairs, so it is the best one that lacks a given pair."""
    if not others:
        return None
    Z = case.look.after(np.array([case.problem.utilities_of(owners) for owners in others]))
    return others[best_of(np.asarray(case.judge(Z)), Z, case.rng)]


def _carried(problem: Assign, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
    """For each pair whether it is used, in some way to assign every item; refused if there is none."""
    from scipy import sparse

    flow = _flow(problem, agents, items)
    if flow.flow_value < problem.n_items:
        raise _too_little_room(problem, int(flow.flow_value))
    return np.asarray(np.asarray(sparse.csr_array(flow.flow)[problem.n_agents + items, agents]).ravel() > 0)


def _flow(problem: Assign, agents: np.ndarray, items: np.ndarray) -> Any:
    """As many items as possible flow from a source to agents who may take them, and on to a sink."""
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_flow

    n, m = problem.n_agents, problem.n_items
    source, sink = n + m, n + m + 1
    tails = np.concatenate([np.full(m, source), n + items, np.arange(n)])
    heads = np.concatenate([n + np.arange(m), agents, np.full(n, sink)])
    most = np.concatenate([np.ones(m + len(agents)), problem.room]).astype(np.int32)
    return maximum_flow(sparse.csr_array((most, (tails, heads)), shape=(n + m + 2, n + m + 2)), source, sink)


def _too_little_room(problem: Assign, room: int) -> ValueError:
    return ValueError(
        f"every item must be taken, but the agents who can take them have room for {room} of "
        f"{counted(problem.n_items, 'item')}: allow more pairs of agent and item, or raise the capacity"
    )
