r"""`allocate`: the allocation $\mathcal{A}$ of largest welfare $W(Z \mid \mathcal{A})$ (equation 5 of the paper).

Burdens are allocated completely, and the burden of the recent work is made as small as possible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bygones._arrays import AnyArray, Array, Number, check_between
from bygones._parts import needed_by
from bygones._text import counted
from bygones.allocation.checks import is_sparse
from bygones.allocation.decision import Decision
from bygones.allocation.dispatch import SOLVERS, Case, Choice, Solver, by_options
from bygones.allocation.objective import check_form, form_of, judge_of
from bygones.allocation.outlook import Outlook, Unstructured, check_state, outlook, priced_outlook
from bygones.allocation.policy_contract import AllocationPolicy, RankingPolicy, Setting, policies, policy_of, served_by
from bygones.allocation.pricing import PriceList, pricing_of
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK
from bygones.allocation.solvers.choose import choose_by
from bygones.allocation.ties import best_k_of_row, chances
from bygones.forms import AlphaFair, Curves, Form
from bygones.kinds import Thing
from bygones.memory import Memory
from bygones.memory.contract import State
from bygones.memory.priced import PricedState
from bygones.welfare import AnyWelfare, Welfare, parse_welfare

__all__ = ["Case", "Choice", "Solver", "allocate", "at_prices", "by_options", "checked_rule", "solver"]

RULES = ("one-step", "prices")
"""The policies that allocate problems of every kind; the others choose k agents."""

_SOLVERS: dict[type[Problem], Solver] = dict(SOLVERS)
"""Of goods, by kind of problem; of burdens, only `SOLVERS`."""


def solver(kind: type[Problem]) -> Callable[[Solver], Solver]:
    """A decorator: the function solves problems of this class, for goods.

    A subclass may allow fewer allocations than its parent, so it needs a separate solver.
    """

    def add(solve: Solver) -> Solver:
        _SOLVERS[kind] = solve
        return solve

    return add


def allocate(
    problem: Problem,
    memory: Memory[State],
    state: State,
    welfare: AnyWelfare,
    *,
    elapsed: Number = 1,
    entitlements: AnyArray | None = None,
    time_unit: str = "step",
    thing: str = "",
    unit: str = "",
    rule: str = "one-step",
    calibration: PricedState | None = None,
    learned_from: str = "a sample of past needs",
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
) -> Decision:
    r"""The best allocation now, given the recent totals.

    Exact for problems of any size where the memory states its response to utilities (`Memory.response`) and the
    welfare has a known form (`Welfare.form`), as all of bygones' own do. Otherwise every allocation is looked at, and
    problems with too many of them are refused. Among allocations of equal welfare leximin decides, and among those
    still equal a draw, so over many repetitions tied agents are served equally often.

    Burdens (`kind="burden"` of the problem) are allocated completely; a problem where that is impossible is refused.
    `egalitarian` then is leximin on loads (the heaviest load as light as possible, then the next), `utilitarian` the
    least total, `generalized_gini` has its largest weight on the heaviest load, and `power_burden(p=2)` is the least
    $\sum_i Z_i^p$. Other names have no meaning for burdens and are refused. Welfare is the burden with its sign turned,
    so larger is better throughout. A custom function is given loads below zero, as -3 for a load of 3:
    `Z.sum(axis=-1)` is `utilitarian`, and `Z.min(axis=-1)` judges by the heaviest load.

    Args:
        problem: the things to allocate: `ChooseK`, `Assign`, `Divide`, or a custom kind with a `solver`.
        memory: how the past is remembered.
        state: the recent totals, before this decision; it is not changed.
        welfare: a name such as `"nash"` or `"alpha_fair(alpha=2)"`, a `Welfare`, or a function of Z.
        elapsed: time since the last utilities, in steps of the memory.
        entitlements: per agent. An agent of entitlement $w_i$ counts as $w_i$ agents with a remembered utility of
            $Z_i/w_i$ each: a sum such as log-Nash is $\sum_i w_i\,\varphi(Z_i/w_i)$, egalitarian the least $Z_i/w_i$.
            In the long run twice the entitlement gets twice the resource. A custom function is given the
            $Z_i/w_i$. The entitlement to a burden is the share of the load: an agent with 0 is exempt, takes nothing,
            and counts for nothing.
        time_unit: the length of a step of the memory, such as `"day"`, for the explanation.
        thing: the thing that is allocated, in the singular, such as `"shift"`, for the explanation.
        unit: that of utilities, such as `"h"`, for the explanation.
        rule: `"one-step"` makes the welfare of the recent totals after this decision as large as possible.
            `"prices"` looks ahead: it makes the sum of utilities, each times the agent's price, as large as possible
            (see `bygones.allocation.pricing`), or as small as possible for burdens. Another policy, such as
            `"max-min"` or your own as `"module:name"`, chooses k agents (`ChooseK`).
        calibration: for `"prices"`, the prices learned from a sample of past problems; see `calibrate`.
        learned_from: what the calibration was learned from, for the explanation, such as `"the 42 decisions before"`.
        time_limit: seconds after which an integer programme stops with the best found; then `optimal` is False and
            `gap` is its largest possible distance from the best. Other algorithms do not need one.
        rng: draws among ties; by default a fresh `numpy.random.default_rng()`, so decisions differ between runs.
    """
    solve = _solver_of(problem)
    rule = checked_rule(rule)
    if calibration is not None and rule != "prices":
        raise ValueError(f"calibration is for rule 'prices', got rule {rule!r}")
    if time_limit is not None:
        check_between("time_limit", time_limit, 0.0, math.inf, "a number of seconds above 0, or None", open_low=True)
    problem.check()
    n_agents = problem.n_agents
    function = parse_welfare(welfare)
    check_form(function, problem.kind, n_agents)
    weights = None if entitlements is None else np.asarray(entitlements, dtype=float)
    judge: Callable[[Array], Array] = judge_of(function, weights, problem.kind)
    look: Outlook | Unstructured
    form: Form | None
    paid = None
    if rule == "prices":
        check_state(memory, state, n_agents, elapsed)
        pricing = pricing_of(problem, memory, function, entitlements, calibration)
        past, steps = pricing.remembered(state, problem, elapsed)
        paid = pricing.at(past, steps, state, problem)
        look = priced_outlook(past, entitlements, problem.kind)
        solve, form = functools.partial(_by_prices, solve, paid), None
    else:
        look = outlook(memory, state, n_agents, elapsed, entitlements, problem.kind)
        form = form_of(function, look.base, weights)
        _check_signs(function, form, look)
        if rule not in RULES:
            policy = policy_of(rule, Setting(memory, function, problem.kind, weights))
            if getattr(policy, "memory", memory) is not memory:
                raise ValueError(f"policy {rule} has another memory, of which a single decision has no state")
            now = memory.advance(state, np.zeros(n_agents), elapsed)
            solve = functools.partial(_by_policy, rule, policy, now)
    rng = np.random.default_rng() if rng is None else rng
    choice = solve(Case(problem, look, function, judge, form, rng, time_limit, weights))
    gap = choice.gap
    if gap and isinstance(form, Curves) and form.is_product:
        # The product was maximised by its logarithm.
        gap = float(judge(look.after(problem.utilities_of(choice.given)))) * math.expm1(gap)
    return Decision(
        problem=problem,
        memory=memory,
        state=state,
        welfare=function,
        elapsed=elapsed,
        entitlements=weights,
        time_unit=time_unit,
        thing=Thing(thing, unit),
        given=choice.given,
        optimal=choice.optimal,
        gap=gap,
        price_list=paid,
        calibration=calibration,
        learned_from=None if calibration is None else learned_from,
        find_runner_up=choice.runner_up,
        unrounded=choice.unrounded,
        policy="" if rule in RULES else rule,
    )


def checked_rule(rule: str) -> str:
    """The text of a policy with its parameters; refused if there is no such policy."""
    return rule if rule in RULES else str(policies.read(rule))


def _by_policy(name: str, policy: AllocationPolicy, state: State, case: Case) -> Choice:
    """The choice of a policy: for goods among agents with a need, for burdens among agents who can take one."""
    problem = case.problem
    if type(problem) is not ChooseK:
        raise ValueError(
            f"policy {name} chooses k agents, and cannot allocate {type(problem).__name__}: use one-step or prices"
        )
    if getattr(policy, "counts_steps", False):
        raise ValueError(f"policy {name} goes by the number of the step, which a single decision does not have")
    could = case.able & (True if problem.allowed is None else problem.allowed)
    could = could if problem.is_burden else could & (problem.needs > 0)
    who = np.flatnonzero(could)
    k = min(problem.k, len(who))
    if problem.is_burden and k < problem.k:
        raise ValueError(f"k must be at most the number of agents who can take a burden ({k}), got {problem.k}")
    if isinstance(policy, RankingPolicy):
        keys = policy.keys(problem.needs, k, state, 0)
        served = who[best_k_of_row(tuple(key[who] for key in keys), k, case.rng)] if k else who
    elif len(who) == problem.n_agents:
        served = served_by(policy, problem.needs, k, state, 0, case.rng)
    else:
        raise ValueError(
            f"policy {name} is not told who may be served, and here only {counted(len(who), 'agent')} of "
            f"{problem.n_agents} may: make it a RankingPolicy"
        )
    return Choice(served, runner_up=lambda: None)


def _by_prices(solve: Solver, paid: PriceList, case: Case) -> Choice:
    """The allocation with the largest sum of priced utilities (burdens: the smallest)."""
    if type(case.problem) is ChooseK and not case.problem.is_burden:
        # A selection asks for the prices of the agents in question, not of everyone.
        needs, look = case.problem.needs, case.look
        return Choice(
            *choose_by(lambda who: needs[who] * paid.of(who), look.base, look.gain(needs), case.problem.k, case.rng)
        )
    # A sum of priced utilities is utilitarian welfare in which each agent counts as often as its price.
    mass = paid.all if case.entitlements is None else paid.all * case.entitlements
    return solve(replace(case, judge=functools.partial(np.dot, b=mass), form=AlphaFair(0.0, mass=mass)))


def at_prices(
    problem: Problem,
    prices: np.ndarray,
    rng: np.random.Generator | None = None,
    entitlements: np.ndarray | None = None,
) -> np.ndarray:
    r"""An allocation of largest (of burdens, least) $\sum_i \lambda_i u_i$, in the form of the problem's `given`."""
    rng = np.random.default_rng(0) if rng is None else rng
    look, form = priced_outlook(np.zeros(problem.n_agents), None, problem.kind), AlphaFair(0.0, mass=prices)
    judge = functools.partial(np.dot, b=prices)
    case = Case(problem, look, parse_welfare("utilitarian"), judge, form, rng, entitlements=entitlements)
    if type(problem) is Assign and not is_sparse(problem.utilities):
        with needed_by("Assign"):
            from bygones.allocation.solvers.assign import largest_sum
        worth = (-prices if problem.is_burden else prices)[:, None] * problem.utilities
        able = np.broadcast_to(case.able[:, None], worth.shape)
        may = able if problem.allowed is None else able & problem.allowed
        forbidden = -math.inf if problem.is_burden else 0.0
        owners = largest_sum(np.where(may, worth, forbidden), problem.room, everything=problem.is_burden)
        if owners is not None:
            return owners
    return _solver_of(problem)(case).given


def expected_at_prices(
    problem: Problem, prices: np.ndarray, rng: np.random.Generator, entitlements: np.ndarray | None = None
) -> np.ndarray:
    """The utilities of `at_prices`; of a `ChooseK` their mean over the draws among tied agents."""
    if type(problem) is not ChooseK:
        return problem.utilities_of(at_prices(problem, prices, rng, entitlements))
    could = problem.allowed if problem.is_burden else problem.needs > 0
    could = np.ones(problem.n_agents, dtype=bool) if could is None else could
    if entitlements is not None:
        could = could & (entitlements > 0)
    worth = np.where(could, (-prices if problem.is_burden else prices) * problem.needs, -math.inf)
    return np.asarray(problem.needs * chances(worth, min(problem.k, int(np.count_nonzero(could)))))


def _solver_of(problem: Problem) -> Solver:
    """The solver for exactly this kind of problem, refused if it has none."""
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be one of {', '.join(kind.__name__ for kind in _SOLVERS)}, got {problem!r}")
    name, solvers = type(problem).__name__, SOLVERS if problem.is_burden else _SOLVERS
    if type(problem) in solvers:
        return solvers[type(problem)]
    if problem.is_burden:
        kinds = ", ".join(kind.__name__ for kind in SOLVERS)
        raise ValueError(f"{name} has no solver for burdens: problems of burdens are {kinds}")
    raise ValueError(f"{name} has no solver: decorate one with bygones.allocation.decide.solver({name})")


def _check_signs(welfare: Welfare, form: Form | None, look: Outlook | Unstructured) -> None:
    """Refuses a memory that could fall below 0, and so out of the domain of a curved welfare."""
    mixing = look.mixing if isinstance(look, Outlook) else None
    if mixing is None or form is None or not form.needs_non_negative:
        return
    mixing = -mixing if form.of_loads else mixing
    if mixing.min() < 0:
        i, j = (int(x) for x in np.argwhere(mixing < 0)[0])
        raise ValueError(
            f"welfare {welfare} needs a memory that never falls below 0, but a gain of agent {j} lowers the "
            f"recent total of agent {i}: use egalitarian, utilitarian or generalized_gini"
        )
