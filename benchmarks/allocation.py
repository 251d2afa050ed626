"""Allocators compared with their building blocks and with other software, in one run.

    python -m benchmarks.allocation            all of it, a few minutes
    python -m benchmarks.allocation choose     only the parts whose name contains a word

Every ratio compares two timings of the same run, best of several; "wanted" is the promised ratio.
"""

import itertools
import resource
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.peers import peer
from bygones import Discounted
from bygones.allocation import Assign, ChooseK, Divide, OneStep, allocate, prices
from bygones.allocation.decide import at_prices
from bygones.allocation.pricing import learning

MEMORY = Discounted(half_life=30)


def best_of(times, *functions, clock=time.perf_counter):
    """The shortest time of each function, their calls interleaved because a busy machine then disturbs all alike."""
    shortest = [float("inf")] * len(functions)
    for _ in range(times):
        for number, function in enumerate(functions):
            start = clock()
            function()
            shortest[number] = min(shortest[number], clock() - start)
    return shortest


def row(what, ours, theirs, against, wanted):
    times = f"{1e3 * ours:10.1f} ms" if ours < 10 else f"{ours:10.1f} s "
    other = "" if theirs is None else f"{1e3 * theirs:10.1f} ms  {ours / theirs:8.3g}x"
    print(f"{what:44} {times}  {other:24}  {against:34} {wanted}", flush=True)


def remembered(n, rng):
    return MEMORY.update(MEMORY.init(n), rng.random(n) * 5)


def choose_k(rng):
    n = 1_000_000
    state, needs = remembered(n, rng), rng.random(n)
    for name in ["egalitarian", "nash", "log_nash", "alpha_fair(alpha=2)", "utilitarian"]:
        ours, theirs = best_of(
            15,
            lambda name=name: allocate(ChooseK(needs, 1000), MEMORY, state, name),
            lambda: np.argpartition(needs, -1000),
        )
        row(f"ChooseK 1,000 of 1,000,000, {name}", ours, theirs, "numpy.argpartition", "3x (egalitarian, nash)")


def assign_dense(rng):
    n = 1000
    state, utilities = remembered(n, rng), rng.random((n, n))
    gains = np.log1p(utilities / (MEMORY.ahead(state, np.zeros(n))[:, None]))
    for name, wanted in [("nash", "1.3x"), ("utilitarian", ""), ("egalitarian", "10x")]:
        ours, theirs = best_of(
            7,
            lambda name=name: allocate(Assign(utilities), MEMORY, state, name),
            lambda: linear_sum_assignment(gains, maximize=True),
        )
        row(f"Assign 1000 x 1000 dense, {name}", ours, theirs, "linear_sum_assignment", wanted)


def prices_choose_k(rng):
    """The whole call, the prices in it, and the selection in it, compared with a selection from given scores.

    The clock is that of this process: several milliseconds in a row are seldom had on a shared machine.
    """
    n, k = 1_000_000, 1000
    needs = rng.random(n)
    problem = ChooseK(needs, k)
    for name, memory in itertools.product(("egalitarian", "nash"), (MEMORY, None)):
        kind = "learned prices" if memory is None else "prices"
        memory = learning(MEMORY, name) if memory is None else memory
        state = memory.update(memory.init(n), rng.random(n) * 5)
        known = prices(problem, memory, state, name)
        scores = needs * known
        whole, priced, chosen, theirs = best_of(
            25,
            lambda m=memory, s=state, w=name: allocate(problem, m, s, w, rule="prices"),
            lambda m=memory, s=state, w=name: prices(problem, m, s, w),
            lambda p=known: at_prices(problem, p),
            lambda s=scores: np.argpartition(-s, k),
            clock=time.process_time,
        )
        what, against = f"ChooseK 1,000 of 1,000,000, {name}", "numpy.argpartition(-scores, k)"
        row(f"{what}, {kind}", whole, theirs, against, "1.5x")
        row("    of which the prices", priced, theirs, against, "")
        row("    of which the selection", chosen, theirs, against, "")


def prices_assign(rng):
    n = 1000
    state, utilities = remembered(n, rng), rng.random((n, n))
    problem = Assign(utilities)
    for name in ("egalitarian", "nash"):
        worth = utilities * prices(problem, MEMORY, state, name)[:, None]
        ours, theirs = best_of(
            9,
            lambda w=name: allocate(problem, MEMORY, state, w, rule="prices"),
            lambda x=worth: linear_sum_assignment(x, maximize=True),
            clock=time.process_time,
        )
        row(f"Assign 1000 x 1000 dense, {name}, prices", ours, theirs, "linear_sum_assignment", "1.1x")


def assign_sparse(rng):
    for n, kind, names in [
        (100_000, "any utilities", ["nash", "egalitarian"]),
        (100_000, "1 to 5 stars", ["nash"]),
        (10_000, "1 to 5 stars", ["egalitarian"]),
    ]:
        agents, items, state = np.repeat(np.arange(n), 10), rng.integers(0, n, 10 * n), remembered(n, rng)
        values = rng.integers(1, 6, 10 * n) if "stars" in kind else rng.random(10 * n) + 0.01
        problem = Assign(sparse.csr_array((values, (agents, items)), shape=(n, n)))
        for name in names:
            (ours,) = best_of(1, lambda name=name, p=problem, s=state: allocate(p, MEMORY, s, name))
            row(f"Assign {n:,} x {n:,} sparse, {name}", ours, None, f"10 choices per agent, {kind}", "60 s")


def divide(rng):
    n = 1_000_000
    state, rates, caps = remembered(n, rng), rng.random(n) + 0.1, rng.random(n)
    for name in ["egalitarian", "nash", "alpha_fair(alpha=2)", "utilitarian"]:
        for kind, most in [("", None), (", caps", caps)]:
            ours, theirs = best_of(
                3,
                lambda name=name, most=most: allocate(Divide(1e5, rates, most), MEMORY, state, name),
                lambda: np.sort(rates),
            )
            row(f"Divide 1,000,000 agents, {name}{kind}", ours, theirs, "numpy.sort", "5x")
    for n in (200, 1000):
        problem, state = Divide(n / 10, rng.random(n) + 0.1), remembered(n, rng)
        (ours,) = best_of(1, lambda p=problem, s=state: allocate(p, MEMORY, s, "generalized_gini"))
        row(f"Divide {n} agents, generalized_gini", ours, None, "", "")


def peers(rng):
    """Equal instances of 200 agents, equal results; building the model counts, as it would in use."""
    cp, fairpyx = peer("cvxpy"), peer("fairpyx")
    n = 200
    state, utilities, rates = remembered(n, rng), rng.random((n, n)), rng.random(n) + 0.1
    base = MEMORY.ahead(state, np.zeros(n))
    gains = np.log1p(utilities / base[:, None])

    def cvxpy_matching():
        x = cp.Variable((n, n), nonneg=True)
        limits = [cp.sum(x, axis=0) <= 1, cp.sum(x, axis=1) <= 1]
        return cp.Problem(cp.Maximize(cp.sum(cp.multiply(gains, x))), limits).solve(solver=cp.HIGHS)

    def cvxpy_division():
        x = cp.Variable(n, nonneg=True)
        return cp.Problem(cp.Maximize(cp.sum(cp.log(base + cp.multiply(rates, x)))), [cp.sum(x) <= 20.0]).solve()

    def fairpyx_matching():
        # Its network flow terminates for whole numbers only.
        whole = np.round(1e6 * gains).astype(int).tolist()
        table = {f"agent{i}": {f"item{j}": gain for j, gain in enumerate(own)} for i, own in enumerate(whole)}
        instance = fairpyx.Instance(valuations=table, agent_capacities=1, item_capacities=1)
        return fairpyx.divide(fairpyx.algorithms.utilitarian_matching, instance)

    def ours(problem, name):
        return lambda: allocate(problem, MEMORY, state, name)

    matching, division = ours(Assign(utilities), "nash"), ours(Divide(20.0, rates), "nash")
    for library, what, mine, other, against in [
        (cp, "Assign 200 x 200, nash", matching, cvxpy_matching, "CVXPY, HiGHS"),
        (fairpyx, "Assign 200 x 200, nash", matching, fairpyx_matching, "fairpyx utilitarian_matching"),
        (cp, "Divide 200 agents, nash", division, cvxpy_division, "CVXPY, Clarabel"),
    ]:
        if library is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine()
            a, b = best_of(3, mine, other)
        row(what, a, b, against, "0.05x")


def repeated(rng):
    policy, state = OneStep(MEMORY, "egalitarian"), MEMORY.init(10)
    start, before = time.perf_counter(), 0
    for step in range(100_000):
        needs = rng.random(10)
        served = policy(needs, 2, state, step, rng)
        utilities = np.zeros(10)
        utilities[served] = needs[served]
        state = MEMORY.advance(state, utilities)
        if step == 10_000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    took = time.perf_counter() - start
    row("100,000 decisions in a row, 2 of 10 agents", took, None, f"memory grown by {grown} KiB since 10,000", "flat")


if __name__ == "__main__":
    for part in (repeated, choose_k, prices_choose_k, divide, assign_dense, prices_assign, peers, assign_sparse):
        if len(sys.argv) < 2 or any(word in part.__name__ for word in sys.argv[1:]):
            part(np.random.default_rng(0))
