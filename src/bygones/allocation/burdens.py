"""Burdens: which algorithm finds the best way to carry everything, and the refusal where nobody can.

An agent may carry what the problem allows, unless it is exempt (its share of the load is 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bygones._parts import needed_by
from bygones._text import counted
from bygones.allocation.cases import Case, Choice, Solver, by_options, in_whole_units
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.solvers import enumerate
from bygones.allocation.solvers.carry import carry_amount, choose_carriers
from bygones.allocation.solvers.divide import equal
from bygones.allocation.ties import TIE, best_of
from bygones.forms import LEXIMIN, Ranked


def _choose_k(case: Case[ChooseK]) -> Choice:
    needs, k = case.problem.needs, case.problem.k
    who = np.flatnonzero(_can_carry(case))
    if len(who) < k:
        raise ValueError(f"k must be at most the number of agents who can carry the burden ({len(who)}), got {k}")
    if case.is_separable:
        more = np.broadcast_to(-case.look.slope * needs, len(needs))
        return Choice(*choose_carriers(-case.look.base, more, who, k, case.form, case.rng))
    ones = np.ones(len(needs), dtype=int)
    options = enumerate.Options(who, who, needs[who], ones, k, everything=True)
    some = np.arange(len(who)) < k
    return by_options(case, options, lambda taken: who[taken], some)


def _assign(case: Case[Assign]) -> Choice:
    problem = case.problem
    agents, items, loads = _pairs(case)
    if case.is_separable and (problem.room == 1).all():
        return _one_each(case, agents, items, loads)
    options = enumerate.Options(agents, items, loads, problem.room, problem.n_items, everything=True)

    def owners(taken: np.ndarray) -> np.ndarray:
        owner = np.full(problem.n_items, -1)
        owner[items[taken]] = agents[taken]
        return owner

    return by_options(case, options, owners, _carried(problem, agents, items))


def _divide(case: Case[Divide]) -> Choice:
    problem, look = case.problem, case.look
    caps = np.where(_can_carry(case), np.minimum(problem.caps, problem.amount), 0.0)
    if caps.sum() < problem.amount * (1.0 - TIE):
        raise ValueError(
            f"amount must be at most what the agents who can carry it may have together ({caps.sum():g}), "
            f"got {problem.amount:g}"
        )
    if problem.whole:
        most = np.floor(caps).astype(np.int64)
        if most.sum() < problem.amount:
            raise ValueError(
                f"amount must be at most the whole units that the agents who can carry it may have together "
                f"({most.sum()}), got {problem.amount:g}"
            )
        return in_whole_units(case, most, _divide)
    case.check_structure()
    form = case.form
    if look.mixing is None:
        slope = np.broadcast_to(-look.slope * problem.rates, len(problem.rates))
        if isinstance(form, Ranked) and equal((form.masses * slope)[caps > 0]):
            # At equal rates the most equal division is the best for every welfare that prefers equality.
            form = LEXIMIN
        if not isinstance(form, Ranked):
            return Choice(carry_amount(-look.base, slope, caps, problem.amount, form), lambda: None)
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
        total=problem.amount,
        some=caps * (problem.amount / caps.sum()),
    )
    solution = solve(programme, form, case.rng, case.time_limit)
    return Choice(solution.x, lambda: None, solution.gap, solution.optimal)


CARRY: dict[type[Problem], Solver] = {ChooseK: _choose_k, Assign: _assign, Divide: _divide}


def _can_carry(case: Case[ChooseK] | Case[Divide]) -> np.ndarray:
    """Who may take a part, and is not exempt."""
    return case.able if case.problem.allowed is None else case.able & case.problem.allowed


def _pairs(case: Case[Assign]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Agents, items and loads of the pairs that are allowed."""
    agents, items, loads = case.problem.pairs
    can = case.able[agents]
    return agents[can], items[can], loads[can]


def _one_each(case: Case[Assign], agents: np.ndarray, items: np.ndarray, loads: np.ndarray) -> Choice:
    with needed_by("Assign"):
        from scipy import sparse

        from bygones.allocation.solvers.carry_items import carry_one_each
    slope = np.broadcast_to(-case.look.slope, case.problem.n_agents)
    shape = (case.problem.n_agents, case.problem.n_items)

    def solved(keep: np.ndarray) -> np.ndarray | None:
        steps = sparse.csr_array(((slope[agents] * loads)[keep], (agents[keep], items[keep])), shape=shape)
        return carry_one_each(-case.look.base, steps, case.form, case.rng)

    best = solved(np.ones(len(agents), dtype=bool))
    if best is None:
        raise _too_little_room(case.problem, int(_flow(case.problem, agents, items).flow_value))

    def runner_up() -> np.ndarray | None:
        """The next best lacks at least one of the pairs: the best of those that lack a given one."""
        without = (solved((agents != best[item]) | (items != item)) for item in range(shape[1]))
        others = [owners for owners in without if owners is not None]
        if not others:
            return None
        Z = case.look.after(np.array([case.problem.utilities_of(owners) for owners in others]))
        return others[best_of(np.asarray(case.judge(Z)), Z, case.rng)]

    return Choice(best, runner_up)


def _carried(problem: Assign, agents: np.ndarray, items: np.ndarray) -> np.ndarray:
    """For each pair whether it is used, in some way to have every item carried; refused if there is none."""
    with needed_by("Assign"):
        from scipy import sparse
    found = _flow(problem, agents, items)
    if found.flow_value < problem.n_items:
        raise _too_little_room(problem, int(found.flow_value))
    return np.asarray(np.asarray(sparse.csr_array(found.flow)[problem.n_agents + items, agents]).ravel() > 0)


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
        f"every item must be carried, but the agents who can take them have room for {room} of "
        f"{counted(problem.n_items, 'item')}: allow more pairs of agent and item, or raise the capacity"
    )
