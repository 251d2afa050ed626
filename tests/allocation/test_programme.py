"""The integer programmes, on instances small enough to look at every allocation instead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bygones import Discounted, Linear, PerfectRecall
from bygones.allocation import Assign, ChooseK, allocate, dispatch
from bygones.allocation.solvers.linear_model import Programme
from bygones.allocation.solvers.milp import solve
from bygones.forms import AlphaFair
from bygones.welfare import parse_welfare
from support import brute_force

NUMBERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0.05, 3.0))
WELFARES = [parse_welfare(name) for name in brute_force.WELFARES]


@pytest.fixture(autouse=True)
def _never_look_at_every_allocation(monkeypatch):
    monkeypatch.setattr(dispatch, "FEW", 0)


def entitlements(n):
    return st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0, 20.0]), min_size=n, max_size=n)


def mixing(n):
    return Linear(0.5 * np.eye(n), readout=0.75 * np.eye(n) + 0.25 / n)


def check(problem, rows, memory, state, welfare, entitlements):
    given = {"entitlements": entitlements}
    decision = allocate(problem, memory, state, welfare, rng=np.random.default_rng(0), **given)
    W, ascending = brute_force.best(rows, memory, state, welfare, **given)
    assert decision.optimal
    assert decision.gap <= 1e-5 * max(1.0, abs(W))
    assert decision.welfare_after == pytest.approx(W, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(np.sort(decision.after), ascending, atol=1e-5)


@given(data=st.data(), welfare=st.sampled_from(WELFARES))
@settings(max_examples=60, deadline=None)
def test_bundles(data, welfare):
    n, m = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 4))
    memory = data.draw(st.sampled_from([PerfectRecall(), Discounted(gamma=0.5, average=True), mixing(n)]))
    state = memory.update(memory.init(n), np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n))))
    utilities = np.array(data.draw(st.lists(NUMBERS, min_size=n * m, max_size=n * m))).reshape(n, m)
    utilities[0, 0] = 1.0
    capacity = data.draw(st.sampled_from([None, 2]))
    rows = brute_force.candidates(utilities, capacity=capacity, allowed=np.ones((n, m), dtype=bool))
    check(Assign(utilities, capacity), rows, memory, state, welfare, data.draw(entitlements(n)))


def test_products_that_are_next_to_nothing_are_told_apart():
    """Twenty times the entitlement makes every Nash product about 1e-33: the largest is still the best."""
    utilities = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5], [1.5, 0.0, 0.0, 0.0]])
    memory, every = mixing(3), np.ones((3, 4), dtype=bool)
    rows = brute_force.candidates(utilities, capacity=None, allowed=every)
    check(Assign(utilities, None), rows, memory, memory.init(3), parse_welfare("nash"), [2.0, 20.0, 0.5])


@given(
    data=st.data(),
    welfare=st.sampled_from(
        [parse_welfare("generalized_gini"), parse_welfare("egalitarian"), parse_welfare("log_nash")]
    ),
)
@settings(max_examples=40, deadline=None)
def test_choosing_under_gini_or_with_a_mixing_memory(data, welfare):
    n = data.draw(st.integers(2, 5))
    memory = PerfectRecall() if welfare.name == "generalized_gini" else mixing(n)
    state = memory.update(memory.init(n), np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n))))
    needs = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    needs[0] = 1.0
    k = data.draw(st.integers(1, n))
    rows = brute_force.candidates(needs, k=k)
    check(ChooseK(needs, k), rows, memory, state, welfare, data.draw(entitlements(n)))


@pytest.mark.parametrize("seed", range(4))
def test_where_the_solvers_simplifications_fail_it_does_without(seed):
    utilities = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 2.0]])
    memory = PerfectRecall()
    decision = allocate(Assign(utilities, None), memory, memory.init(3), "nash", rng=np.random.default_rng(seed))
    assert decision.welfare_after == pytest.approx(1.5)


def hard_instance():
    rng = np.random.default_rng(3)
    return Assign(rng.random((10, 40)), capacity=None)


def test_out_of_time_says_so_and_proves_a_gap():
    memory = PerfectRecall()
    decision = allocate(hard_instance(), memory, memory.init(10), "egalitarian", time_limit=0.3)
    assert not decision.optimal
    assert 0 < decision.gap < np.inf
    assert "There may be a better choice, with a higher welfare by at most " in decision.reasons()[-1]


def test_out_of_time_before_anything_is_found():
    memory = PerfectRecall()
    for welfare in ["egalitarian", "log_nash", "generalized_gini"]:
        decision = allocate(hard_instance(), memory, memory.init(10), welfare, time_limit=1e-9)
        assert not decision.optimal
        assert 0 < decision.gap < np.inf
        assert len(decision.served) > 0


def test_rounding_makes_no_gap_negative():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.array([0.1, 0.2, 0.7]))
    # Several allocations are equally good, and their sums differ in the last digit.
    utilities = np.array([[0.2, 0.1, 0.2, 0.2], [0.2, 0.3, 0.2, 0.2], [0.1, 0.2, 0.3, 0.1]])
    decision = allocate(Assign(utilities, capacity=2), memory, state, "utilitarian", rng=np.random.default_rng(0))
    assert decision.gap == 0.0


@pytest.mark.soak
def test_interchangeable_agents_have_equal_chances():
    memory, problem = mixing(3), ChooseK(np.ones(3), 1)
    rng = np.random.default_rng(0)
    served = np.zeros(3)
    for _ in range(90):
        served[allocate(problem, memory, memory.init(3), "utilitarian", rng=rng).served] += 1
    assert served.sum() == 90
    # Four standard deviations of a fair draw.
    assert np.abs(served - 30).max() < 4 * np.sqrt(90 * (1 / 3) * (2 / 3))


def test_the_only_way_to_leave_nobody_at_zero_has_no_runner_up():
    memory = PerfectRecall()
    decision = allocate(Assign(np.eye(2), capacity=2), memory, memory.init(2), "nash")
    assert decision.utilities.tolist() == [1.0, 1.0]
    assert decision.optimal
    assert decision.runner_up is None


def test_a_programme_of_its_own():
    programme = Programme(
        base=np.array([0.0, 1.0]),
        response=sparse.csr_array(np.array([[1.0, 0.0], [0.0, 3.0]])),
        rows=sparse.csr_array(np.ones((1, 2))),
        limits=np.array([1.0]),
        upper=np.ones(2),
        whole=True,
    )
    solution = solve(programme, AlphaFair(0.0), np.random.default_rng(0))
    np.testing.assert_array_equal(solution.x, [0.0, 1.0])
    np.testing.assert_array_equal(solution.runner_up, [1.0, 0.0])
    np.testing.assert_array_equal(programme.most(), [1.0, 4.0])
