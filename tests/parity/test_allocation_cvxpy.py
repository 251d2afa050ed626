"""Medium instances against CVXPY, which knows nothing of our algorithms."""

import numpy as np
import pytest
from scipy import sparse

from bygones import Discounted, Linear, PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.welfare import parse_welfare

cp = pytest.importorskip("cvxpy")

NAMES = ["utilitarian", "egalitarian", "log_nash", "alpha_fair(alpha=2)", "generalized_gini"]


def objective(name, z, n):
    """The welfare as a concave expression."""
    if name == "utilitarian":
        return cp.sum(z)
    if name == "egalitarian":
        return cp.min(z)
    if name == "log_nash":
        return cp.sum(cp.log(z + 1e-6))
    if name == "alpha_fair(alpha=2)":
        return -cp.sum(cp.inv_pos(z + 1e-6))
    steps = -np.diff(np.append((2 * np.arange(n, 0, -1) - 1) / n**2, 0.0))
    return sum(step * cp.sum_smallest(z, k) for k, step in enumerate(steps, start=1))


def past(memory, n, rng):
    state = memory.init(n)
    for _ in range(3):
        state = memory.update(state, rng.random(n))
    base = memory.ahead(state, np.zeros(n))
    response = (memory.ahead(state, np.eye(n)) - base).T
    return state, base, response


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("capped", [False, True])
def test_divide(name, capped):
    rng = np.random.default_rng(1)
    n, memory = 20, Discounted(gamma=0.9, average=True)
    state, base, response = past(memory, n, rng)
    rates, caps = rng.random(n) + 0.1, rng.random(n) if capped else np.full(n, 100.0)
    decision = allocate(Divide(3.0, rates, caps), memory, state, name)
    x = cp.Variable(n, nonneg=True)
    z = base + response @ cp.multiply(rates, x)
    best = cp.Problem(cp.Maximize(objective(name, z, n)), [cp.sum(x) <= 3.0, x <= caps]).solve(solver=cp.CLARABEL)
    assert decision.welfare_after == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_divide_with_a_memory_that_mixes_agents(name):
    rng = np.random.default_rng(2)
    n = 8
    memory = Linear(0.5 * np.eye(n), readout=np.eye(n) + 0.1 * rng.random((n, n)))
    state, base, response = past(memory, n, rng)
    rates = rng.random(n) + 0.1
    decision = allocate(Divide(2.0, rates), memory, state, name)
    x = cp.Variable(n, nonneg=True)
    z = base + response @ cp.multiply(rates, x)
    best = cp.Problem(cp.Maximize(objective(name, z, n)), [cp.sum(x) <= 2.0]).solve(solver=cp.CLARABEL)
    assert decision.welfare_after == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("name", ["utilitarian", "egalitarian", "generalized_gini"])
def test_choose_k(name):
    rng = np.random.default_rng(3)
    n, k, memory = 24, 8, PerfectRecall()
    state, base, response = past(memory, n, rng)
    needs = rng.random(n)
    decision = allocate(ChooseK(needs, k), memory, state, name)
    x = cp.Variable(n, boolean=True)
    z = base + response @ cp.multiply(needs, x)
    best = cp.Problem(cp.Maximize(objective(name, z, n)), [cp.sum(x) <= k]).solve(solver=cp.HIGHS)
    assert decision.welfare_after == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    "name", ["utilitarian", "egalitarian", pytest.param("generalized_gini", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(("n", "m", "capacity"), [(10, 10, 1), (10, 7, 1), (5, 9, 3)])
def test_assign(name, n, m, capacity):
    rng = np.random.default_rng(4)
    memory = Discounted(gamma=0.8)
    state, base, response = past(memory, n, rng)
    utilities = rng.random((n, m))
    decision = allocate(Assign(utilities, capacity), memory, state, name)
    x = cp.Variable((n, m), boolean=True)
    z = base + response @ cp.sum(cp.multiply(utilities, x), axis=1)
    limits = [cp.sum(x, axis=0) <= 1, cp.sum(x, axis=1) <= capacity]
    best = cp.Problem(cp.Maximize(objective(name, z, n)), limits).solve(solver=cp.HIGHS)
    assert decision.welfare_after == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("name", ["log_nash", "alpha_fair(alpha=2)"])
@pytest.mark.parametrize("sparsely", [False, True])
def test_assign_sums_of_curves_by_the_relaxation_that_is_tight(name, sparsely):
    # With one item each the gain of a pair is fixed, and the relaxed assignment has whole solutions.
    rng = np.random.default_rng(5)
    n, memory = 40, PerfectRecall()
    state, base, _ = past(memory, n, rng)
    utilities = rng.random((n, n)) + 0.01
    decision = allocate(Assign(sparse.csr_array(utilities) if sparsely else utilities), memory, state, name)
    W = parse_welfare(name)
    alone = np.array([W(base[[i]]) for i in range(n)])
    gains = np.array([[W(base[[i]] + u) for u in utilities[i]] for i in range(n)]) - alone[:, None]
    x = cp.Variable((n, n), nonneg=True)
    limits = [cp.sum(x, axis=0) <= 1, cp.sum(x, axis=1) <= 1]
    best = cp.Problem(cp.Maximize(cp.sum(cp.multiply(gains, x))), limits).solve(solver=cp.HIGHS)
    assert decision.welfare_after == pytest.approx(best + alone.sum(), rel=1e-6)
