"""Goods: which algorithm finds the best allocation of each problem."""

from __future__ import annotations

import numpy as np

from bygones._parts import needed_by
from bygones.allocation.cases import Case, Choice, Solver, by_options, in_whole_units
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.choose import choose
from bygones.allocation.solvers.divide import divide
from bygones.allocation.ties import best_of


def _choose_k(case: Case[ChooseK]) -> Choice:
    needs, k = case.problem.needs, case.problem.k
    if case.is_separable:
        return Choice(*choose(case.look.base, case.look.gain(needs), k, case.form, case.rng))
    useful = np.flatnonzero(needs > 0)
    ones = np.ones(len(needs), dtype=int)
    return by_options(case, enumerate.Options(useful, useful, needs[useful], ones, k), lambda taken: useful[taken])


def _assign(case: Case[Assign]) -> Choice:
    with needed_by("Assign"):
        from scipy import sparse

        from bygones.allocation.solvers.assign import one_each, to_the_best
    utilities, capacity = case.problem.utilities, case.problem.room
    m = case.problem.n_items
    if case.is_separable and (capacity == 1).all():
        holds = one_each(utilities, case.look, case.form, case.rng)
        return Choice(_owners(holds, m), lambda: _without_one_pair(case, holds))
    if case.is_separable and (capacity == m).all() and case.form.is_linear:
        unique = to_the_best(utilities, case.look, case.form.mass)
        if unique is not None:
            return Choice(unique[0], lambda: unique[1] if (unique[0] >= 0).any() else None)
    pairs = sparse.coo_array(utilities)
    useful = pairs.data > 0
    agents, items = pairs.row[useful], pairs.col[useful]

    def owners(taken: np.ndarray) -> np.ndarray:
        owner = np.full(m, -1)
        owner[items[taken]] = agents[taken]
        return owner

    return by_options(case, enumerate.Options(agents, items, pairs.data[useful], capacity, m), owners)


def _divide(case: Case[Divide]) -> Choice:
    problem, look = case.problem, case.look
    if problem.whole:
        return in_whole_units(case, np.floor(np.minimum(problem.caps, problem.amount)).astype(np.int64), _divide)
    case.check_structure()
    if look.mixing is None:
        slope = np.broadcast_to(look.slope * problem.rates, len(problem.rates))
        parts = divide(look.base, slope, problem.caps, problem.amount, case.form)
        return Choice(parts, lambda: None)
    with needed_by("Divide, with a memory in which agents depend on each other,"):
        from scipy import sparse

        from bygones.allocation.solvers.linear_model import Programme
        from bygones.allocation.solvers.milp import solve
    programme = Programme(
        look.base,
        sparse.csr_array(look.mixing * problem.rates),
        sparse.csr_array(np.ones((1, len(problem.rates)))),
        np.array([problem.amount]),
        np.minimum(problem.caps, problem.amount),
        whole=False,
    )
    solution = solve(programme, case.form, case.rng, case.time_limit)
    return Choice(solution.x, lambda: None, solution.gap, solution.optimal)


def _without_one_pair(case: Case[Assign], holds: np.ndarray) -> np.ndarray | None:
    """The next best matching lacks at least one of the pairs: the best of those that lack a given one."""
    from bygones.allocation.solvers.assign import one_each

    utilities, m = case.problem.utilities, case.problem.n_items
    others = []
    for agent in np.flatnonzero(holds >= 0):
        without = utilities.copy()
        without[agent, holds[agent]] = 0.0
        others.append(_owners(one_each(without, case.look, case.form, case.rng), m))
    if not others:
        return None
    Z = case.look.after(np.array([case.problem.utilities_of(owners) for owners in others]))
    return others[best_of(np.asarray(case.judge(Z)), Z, case.rng)]


def _owners(holds: np.ndarray, n_items: int) -> np.ndarray:
    owners = np.full(n_items, -1)
    owners[holds[holds >= 0]] = np.flatnonzero(holds >= 0)
    return owners


GIVE: dict[type[Problem], Solver] = {ChooseK: _choose_k, Assign: _assign, Divide: _divide}
