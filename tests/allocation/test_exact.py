"""Every problem, welfare and memory against brute force, on instances full of ties, zeros and forbidden pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall
from bygones.allocation import Assign, ChooseK, allocate
from bygones.allocation.solvers.enumerate import Options, count
from bygones.welfare import parse_welfare
from support import brute_force

WELFARES = [
    parse_welfare("utilitarian"),
    parse_welfare("egalitarian"),
    parse_welfare("nash"),
    parse_welfare("log_nash"),
    parse_welfare("alpha_fair(alpha=0.5)"),
    parse_welfare("alpha_fair(alpha=2)"),
    parse_welfare("alpha_fair(alpha=6)"),
    parse_welfare("generalized_gini"),
]

# Few values make ties and zeros common; the odd ones out make instances generic.
NUMBERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.sampled_from([0.0, 1.0]), st.floats(0.05, 3.0))


def memories(n):
    mixed = 0.4 * np.eye(n) + 0.3 / n
    readout = np.hstack([np.eye(n), 0.5 * np.eye(n) + 0.25 / n])
    return st.sampled_from(
        [
            Instantaneous(),
            PerfectRecall(),
            PerfectRecall(average=True),
            Discounted(gamma=0.5),
            Discounted(gamma=0.9, average=True),
            Multiscale(gammas=(0.5, 1.0), weights=(0.25, 0.75)),
            Linear(mixed),
            Linear(np.kron(np.diag([0.5, 0.9]), np.eye(n)), readout=readout),
        ]
    )


@st.composite
def pasts(draw, n):
    """A memory, what it remembers, and the circumstances of a decision."""
    memory = draw(memories(n))
    state = memory.init(n)
    for _ in range(draw(st.integers(0, 2))):
        state = memory.update(state, np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n))))
    entitlements = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    return memory, state, {"elapsed": draw(st.sampled_from([1, 2])), "entitlements": entitlements}


def tables(n, m):
    return st.lists(st.lists(NUMBERS, min_size=m, max_size=m), min_size=n, max_size=n).map(np.array)


def assert_best(decision, rows, memory, state, welfare, given):
    W, ascending = brute_force.best(rows, memory, state, welfare, **given, decided=decision.after)
    assert decision.welfare_after == pytest.approx(W, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(np.sort(decision.after), ascending, rtol=1e-7, atol=1e-7)
    assert decision.optimal
    assert decision.gap == 0.0


@given(data=st.data(), welfare=st.sampled_from(WELFARES))
@settings(max_examples=400, deadline=None)
def test_choose_k_is_the_best_of_all_subsets(data, welfare):
    n = data.draw(st.integers(1, 6))
    memory, state, given = data.draw(pasts(n))
    needs, k = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n))), data.draw(st.integers(1, n))
    decision = allocate(ChooseK(needs, k), memory, state, welfare, rng=np.random.default_rng(0), **given)
    assert len(decision.served) <= k
    assert_best(decision, brute_force.candidates(needs, k=k), memory, state, welfare, given)


def test_somebody_with_nothing_does_not_hide_what_the_others_gain():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), np.array([0.0, 2.8, 2.9]))
    decision = allocate(ChooseK(np.array([0.0, 0.5, 1.0]), 1), memory, state, "alpha_fair(alpha=6)")
    # 2.8⁻⁵ − 3.3⁻⁵ < 2.9⁻⁵ − 3.9⁻⁵, beside which the first agent's (10⁻⁶)⁻⁵ leaves no digits for either.
    assert decision.served.tolist() == [2]


def test_gains_that_only_eps_tells_apart_are_told_apart():
    memory = PerfectRecall()
    state = memory.update(memory.init(4), np.array([0.0, 0.0, 1.0, 0.99999]))
    # Both double what they have; log(2 + ε) − log(1 + ε) is larger by 5e-12, also if two with nothing stand beside.
    decision = allocate(ChooseK([0.0, 0.0, 1.0, 0.99999], 1), memory, state, "log_nash")
    assert decision.served.tolist() == [2]


def test_below_alpha_one_having_nothing_is_no_infinite_claim():
    memory = PerfectRecall()
    state = memory.update(memory.init(2), np.array([0.0, 1.0]))
    # √9 − √0 > √11 − √1, but √0.01 − √0 < √2 − √1.
    for needs, served in [([9.0, 10.0], 0), ([0.01, 1.0], 1)]:
        assert allocate(ChooseK(needs, 1), memory, state, "alpha_fair(alpha=0.5)").served.tolist() == [served]


@given(data=st.data(), welfare=st.sampled_from(WELFARES), sparsely=st.booleans())
@settings(max_examples=500, deadline=None)
def test_assign_one_each_is_the_best_of_all_matchings(data, welfare, sparsely):
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    check_assign(data, welfare, sparsely, n, m, np.ones(n, dtype=int))


def test_an_exchange_passes_through_what_is_left_over():
    memory = PerfectRecall()
    state = memory.update(memory.init(4), np.array([2.0, 1.0, 0.0, 2.0]))
    utilities = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    decision = allocate(Assign(utilities), memory, state, "utilitarian", rng=np.random.default_rng(0))
    # Any three who are served are worth 3; most equal is to serve those with 0 and 1, and one of those with 2.
    assert sorted(decision.after) == [1.0, 2.0, 2.0, 3.0]


def test_no_item_is_left_over_to_make_equally_good_matchings_more_equal():
    memory = PerfectRecall()
    state = memory.update(memory.init(4), np.array([0.0, 0.0, 10.0, 10.0]))
    utilities = np.array([[1.0, 3.0, 0.0], [1.0, 0.0, 3.0], [0.0, 2.5, 0.0], [0.0, 0.0, 2.5]])
    decision = allocate(Assign(utilities), memory, state, "utilitarian")
    # One of the poor takes the first item, worth 1, so that one of the rich gets 2.5: 3 for both poor would be only 6.
    assert decision.utilities.sum() == 6.5


@given(data=st.data(), welfare=st.sampled_from(WELFARES), sparsely=st.booleans())
@settings(max_examples=300, deadline=None)
def test_assign_bundles_is_the_best_of_all_allocations(data, welfare, sparsely):
    n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    capacity = data.draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    check_assign(data, welfare, sparsely, n, m, capacity)


@pytest.mark.parametrize("sparsely", [False, True])
@pytest.mark.parametrize("past", [1.0, 1e-3, 1e-9])
def test_a_product_is_largest_beside_those_who_have_nothing_or_next_to_nothing(past, sparsely):
    memory, utilities = PerfectRecall(), np.array([[1.0, 2.0], [1.0, 100.0]])
    state = memory.update(memory.init(2), np.array([0.0, past]))
    decision = allocate(Assign(sparse.csr_array(utilities) if sparsely else utilities), memory, state, "nash")
    assert decision.utilities.tolist() == [1, 100]  # of 100 and 2; leximin would prefer 2 and 1


def check_assign(data, welfare, sparsely, n, m, capacity):
    memory, state, given = data.draw(pasts(n))
    utilities = data.draw(tables(n, m))
    allowed = np.array(data.draw(st.lists(st.sampled_from([True, True, False]), min_size=n * m, max_size=n * m)))
    allowed = allowed.reshape(n, m)
    allowed[0, 0] = True
    if sparsely:
        pairs = np.nonzero(allowed)
        problem = Assign(sparse.coo_array((utilities[pairs], pairs), shape=(n, m)), capacity)
    else:
        problem = Assign(utilities, capacity, allowed)
    decision = allocate(problem, memory, state, welfare, rng=np.random.default_rng(0), **given)
    owned = np.flatnonzero(decision.given >= 0)
    assert allowed[decision.given[owned], owned].all()
    rows = brute_force.candidates(utilities, capacity=capacity, allowed=allowed)
    assert_best(decision, rows, memory, state, welfare, given)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(1, 5), st.booleans())
def test_allocations_of_single_options_are_counted_exactly(agents, total, everything):
    each = np.arange(len(agents))
    roomy = np.full(5, len(agents))
    options = Options(np.array(agents), each, np.ones(len(agents)), roomy, total, everything=everything)
    sizes = [sum(taken) for taken in itertools.product([False, True], repeat=len(agents))]
    assert count(options) == sum(size == total if everything else size <= total for size in sizes)


def test_the_next_best_owner_of_an_only_item_is_nobody():
    memory = PerfectRecall()
    for worth, owner in ((3.0, 0), (0.0, -1)):
        problem = Assign([[worth, 0.0], [0.0, 0.0]], capacity=None)
        decision = allocate(problem, memory, memory.init(2), "utilitarian")
        assert decision.given.tolist() == [owner, -1]
        assert (decision.runner_up is None) == (owner < 0)
        assert decision.runner_up is None or decision.runner_up.given.tolist() == [-1, -1]
