r"""`allocate`: the allocation $\mathcal{A}$ of largest welfare $W(Z \mid \mathcal{A})$ (equation 5 of the paper).

Of burdens everything is handed out, and it is the burden of what has been carried that is as small as possible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
<<<<<<< HEAD
from typing import Any, Literal, get_args
=======
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args
>>>>>>> main

import numpy as np

<<<<<<< HEAD
from bygones._arrays import Array, Number, check_between, check_one_of
from bygones.allocation.aims import Aim, ConcaveSum, PowerSum, aim, check_form, entitled
from bygones.allocation.burdens import CARRY
from bygones.allocation.cases import Case
=======
from bygones._arrays import AnyArray, Array, Number, check_between, check_one_of
from bygones.allocation.aims import Aim, ConcaveSum, Leximin, aim, entitled
>>>>>>> main
from bygones.allocation.decision import Decision
from bygones.allocation.goods import GIVE
from bygones.allocation.outlook import Outlook, outlook
from bygones.allocation.prices import prices
from bygones.allocation.problems import Problem
from bygones.memory import Memory
from bygones.memory.contract import State
from bygones.memory.priced import PricedState
from bygones.welfare import AnyWelfare, Welfare, named

Rule = Literal["one-step", "prices"]


def allocate(
    problem: Problem,
    memory: Memory[State],
    state: State,
    welfare: AnyWelfare,
    *,
    elapsed: Number = 1,
    entitlements: AnyArray | None = None,
    agents: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    time_unit: str = "step",
    rule: Rule = "one-step",
    calibration: PricedState | None = None,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
) -> Decision:
    r"""The best allocation now, given what is remembered.

    Exact for problems of any size where the memory says how it responds to utilities (`Memory.response`) and the
    welfare has a known form (`Welfare.form`), as all of bygones' own do. Otherwise every allocation is looked at, and
    problems with too many of them are refused. Among allocations of equal welfare leximin decides, and among those
    still equal a draw, so that over many repetitions tied agents are served equally often.

    Of burdens (`kind="burden"` of the problem) everything is handed out, refused if that is impossible. `egalitarian`
    then is leximin on what agents carry (the heaviest load as light as possible, then the next), `utilitarian` the
    least total, `generalized_gini` has its largest weight on the heaviest load, and `power_burden(p=2)` is the least
    $\sum_i Z_i^p$; other names have no meaning for burdens and are refused. Welfare is the burden with its sign turned,
    so that larger is better throughout. A function of your own is given what agents carry.

    Args:
        problem: what there is to hand out: `ChooseK`, `Assign`, `Divide`, or a kind of your own with a `solver`.
        memory: how the past is remembered.
        state: what is remembered, before this decision; it is not changed.
        welfare: a name such as `"nash"` or `"alpha_fair(alpha=2)"`, a `Welfare`, or a function of Z.
        elapsed: time since the last utilities, in steps of the memory.
        entitlements: per agent. An agent of entitlement $w_i$ counts as $w_i$ agents with a remembered utility of
            $Z_i/w_i$ each: a sum such as log-Nash is $\sum_i w_i\,\varphi(Z_i/w_i)$, egalitarian the least $Z_i/w_i$.
            In the long run twice the entitlement gets twice the resource. A function of your own is given the
            $Z_i/w_i$. Of a burden it is the share of the load: who has 0 is exempt, carries nothing, and counts for
            nothing.
        agents: the agents' names, for the explanation.
        items: the items' names, for the explanation of an `Assign`.
        time_unit: what a step of the memory is, such as `"day"`, for the explanation.
        rule: `"one-step"` makes the welfare of what is remembered after this decision as large as possible.
            `"prices"` looks ahead: it makes the sum of utilities, each times the agent's price, as large as possible
            (see `bygones.allocation.prices`), or as small as possible for burdens.
        calibration: for `"prices"`, what was learned from a sample of past problems; see `calibrate`.
        time_limit: seconds after which an integer programme stops with the best found; then `optimal` is False and
            `gap` says how far, at most, it is from the best. Other algorithms do not need one.
        rng: draws among ties; by default a fresh `numpy.random.default_rng()`, so that decisions differ between runs.
    """
<<<<<<< HEAD
    solvers = CARRY if isinstance(problem, Problem) and problem.is_burden else GIVE
    if type(problem) not in solvers:
        raise ValueError(f"problem must be one of {', '.join(kind.__name__ for kind in solvers)}, got {problem!r}")
=======
    if not isinstance(problem, Problem):
        raise ValueError(f"problem must be one of {', '.join(kind.__name__ for kind in _SOLVERS)}, got {problem!r}")
    if type(problem) not in _SOLVERS:
        name = type(problem).__name__
        raise ValueError(f"{name} has no solver: decorate one with bygones.allocation.decide.solver({name})")
>>>>>>> main
    check_one_of("rule", rule, get_args(Rule))
    if calibration is not None and rule != "prices":
        raise ValueError(f"calibration is for rule 'prices', got rule {rule!r}")
    if time_limit is not None:
        check_between("time_limit", time_limit, 0.0, math.inf, "a number of seconds above 0, or None", open_low=True)
    n_agents = problem.n_agents
    look = outlook(memory, state, n_agents, elapsed, entitlements, problem.kind)
    function = named(welfare)
    check_form(function, problem.kind)
    weights = None if entitlements is None else np.asarray(entitlements, dtype=float)
    judge: Callable[[Any], Any] = entitled(function, weights, problem.kind)
    shape: Aim | None
    paid = None
    if rule == "prices":
        paid = prices(
            problem, memory, state, function, elapsed=elapsed, entitlements=entitlements, calibration=calibration
        )
        # A sum of priced utilities is utilitarian welfare in which an agent counts as often as its price says.
        sign = -1.0 if problem.is_burden else 1.0
        look, shape, judge = Outlook(look.base, sign), ConcaveSum(0.0, mass=paid), functools.partial(np.dot, b=paid)
    else:
        shape = aim(function, look.base, weights)
        _check_signs(function, shape, look)
    rng = np.random.default_rng() if rng is None else rng
<<<<<<< HEAD
    choice = solvers[type(problem)](Case(problem, look, function, judge, shape, rng, time_limit, weights))
=======
    choice = _SOLVERS[type(problem)](Case(problem, look, function, judge, shape, rng, time_limit))
>>>>>>> main
    gap = choice.gap
    if gap and isinstance(shape, ConcaveSum) and shape.product:
        # The product was maximised by its logarithm.
        gap = float(judge(look.after(problem.utilities_of(choice.given)))) * math.expm1(gap)
    return Decision(
        problem=problem,
        memory=memory,
        state=state,
        welfare=function,
        elapsed=elapsed,
        entitlements=weights,
        agents=_names("agents", agents, n_agents),
        items=_names("items", items, problem.n_items),
        time_unit=time_unit,
        given=choice.given,
        optimal=choice.optimal,
        gap=gap,
        prices=paid,
        find_runner_up=choice.runner_up,
    )


def at_prices(problem: Problem, prices: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
    r"""The allocation of largest $\sum_i \lambda_i u_i$, in the form of the problem's `given`."""
    rng = np.random.default_rng(0) if rng is None else rng
    look, shape = Outlook(np.zeros(problem.n_agents), 1.0), ConcaveSum(0.0, mass=prices)
    judge = functools.partial(np.dot, b=prices)
    return _SOLVERS[type(problem)](Case(problem, look, named("utilitarian"), judge, shape, rng, None)).given


def _check_signs(welfare: Welfare, shape: Aim | None, look: Any) -> None:
    """Refuses a memory that could fall below 0, and so out of the domain of a curved welfare."""
    mixing = look.mixing if isinstance(look, Outlook) else None
    if mixing is None or not isinstance(shape, ConcaveSum | PowerSum) or shape.order == 1:
        return
    mixing = -mixing if isinstance(shape, PowerSum) else mixing
    if mixing.min() < 0:
        i, j = (int(x) for x in np.argwhere(mixing < 0)[0])
        raise ValueError(
            f"welfare {welfare} needs a memory that never falls below 0, but what agent {j} gets lowers what is "
            f"remembered of agent {i}: take egalitarian, utilitarian or generalized_gini"
        )


<<<<<<< HEAD
=======
@dataclass(frozen=True, eq=False)
class Case:
    """What a solver is given: the problem, and what is known of the memory and the welfare.

    Attributes:
        problem: what there is to hand out, of the solver's own kind.
        look: what an allocation would make of the memory.
        welfare: what is maximised.
        judge: the welfare of Z, entitlements included.
        aim: the form of the welfare that the solvers work with; None where it has no known form.
        rng: draws among ties.
        time_limit: seconds after which an integer programme stops; None for no limit.
    """

    problem: Any
    look: Any
    welfare: Welfare
    judge: Callable[[Array], Array]
    aim: Any
    rng: np.random.Generator
    time_limit: float | None

    @property
    def is_separable(self) -> bool:
        """Whether agents' memories depend on their own utilities, and a fast algorithm knows the welfare."""
        return self.has_response and self.look.mixing is None and isinstance(self.aim, ConcaveSum | Leximin)

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
    """What a solver returns.

    Attributes:
        given: the best allocation, in the form of the problem.
        runner_up: finds the next best allocation, None if there is none.
        gap: how much more the aim of the solver could be, at most.
        optimal: whether the allocation is proven to be the best.
    """

    given: np.ndarray
    runner_up: Callable[[], np.ndarray | None]
    gap: float = 0.0
    optimal: bool = True


Solver: TypeAlias = Callable[[Case], Choice]

_SOLVERS: dict[type[Problem], Solver] = {}


def solver(kind: type[Problem]) -> Callable[[Solver], Solver]:
    """A decorator: the function solves problems of this class.

    A subclass may allow fewer allocations than its parent, so it needs a solver of its own.
    """

    def add(solve: Solver) -> Solver:
        _SOLVERS[kind] = solve
        return solve

    return add


@solver(ChooseK)
def _choose_k(case: Case) -> Choice:
    needs, k = case.problem.needs, case.problem.k
    if case.is_separable:
        return Choice(*choose(case.look.base, case.look.gain(needs), k, case.aim, case.rng))
    useful = np.flatnonzero(needs > 0)
    ones = np.ones(len(needs), dtype=int)
    return by_options(case, enumerate.Options(useful, useful, needs[useful], ones, k), lambda taken: useful[taken])


@solver(Assign)
def _assign(case: Case) -> Choice:
    utilities, capacity = case.problem.utilities, case.problem.capacity
    m = case.problem.n_items
    if case.is_separable and (capacity == 1).all():
        holds = one_each(utilities, case.look, case.aim, case.rng)
        return Choice(_owners(holds, m), lambda: _without_one_pair(case, holds))
    if case.is_separable and (capacity == m).all() and isinstance(case.aim, ConcaveSum) and case.aim.alpha == 0:
        unique = to_the_best(utilities, case.look, case.aim.mass)
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


@solver(Divide)
def _divide(case: Case) -> Choice:
    problem, look = case.problem, case.look
    case.check_structure()
    if look.mixing is None:
        slope = np.broadcast_to(look.slope * problem.rates, len(problem.rates))
        parts = divide(look.base, slope, problem.caps, problem.amount, case.aim)
        return Choice(parts, lambda: None)
    programme = Programme(
        look.base,
        sparse.csr_array(look.mixing * problem.rates),
        sparse.csr_array(np.ones((1, len(problem.rates)))),
        np.array([problem.amount]),
        np.minimum(problem.caps, problem.amount),
        whole=False,
    )
    solution = solve(programme, case.aim, case.rng, case.time_limit)
    return Choice(solution.x, lambda: None, solution.gap, solution.optimal)


def by_options(case: Case, options: enumerate.Options, given: Callable[[np.ndarray], np.ndarray]) -> Choice:
    """The best allocation that is made of these options: each is taken or not.

    Exact: by looking at all allocations where they are few, else by an integer programme.

    Args:
        case: what the solver was given.
        options: what can be given to whom, and how much of it together.
        given: the allocation in the form of the problem, from the indices of the options taken.
    """
    allocations = enumerate.count(options)
    if allocations <= FEW:
        batched = case.welfare.is_named
        taken, second = enumerate.enumerate_all(options, case.look, case.judge, case.rng, batched=batched)
        return Choice(given(taken), lambda: None if second is None else given(second))
    case.check_structure(allocations)
    solution = solve(programme_of(options, case.look), case.aim, case.rng, case.time_limit)

    def runner_up() -> np.ndarray | None:
        return None if solution.runner_up is None else given(np.flatnonzero(solution.runner_up))

    return Choice(given(np.flatnonzero(solution.x)), runner_up, solution.gap, solution.optimal)


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


def _without_one_pair(case: Case, holds: np.ndarray) -> np.ndarray | None:
    """The next best matching lacks at least one of the pairs: the best of those that lack a given one."""
    utilities, m = case.problem.utilities, case.problem.n_items
    others = []
    for agent in np.flatnonzero(holds >= 0):
        without = utilities.copy()
        without[agent, holds[agent]] = 0.0
        others.append(_owners(one_each(without, case.look, case.aim, case.rng), m))
    if not others:
        return None
    Z = case.look.after(np.array([case.problem.utilities_of(owners) for owners in others]))
    return others[best_of(np.asarray(case.judge(Z)), Z, case.rng)]


def _owners(holds: np.ndarray, n_items: int) -> np.ndarray:
    owners = np.full(n_items, -1)
    owners[holds[holds >= 0]] = np.flatnonzero(holds >= 0)
    return owners


>>>>>>> main
def _names(name: str, names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if names is not None and len(names) != count:
        raise ValueError(f"{name} must be {count} names, one for each, got {len(names)}")
    return None if names is None else tuple(str(each) for each in names)
