import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones.memory import (
    Capped,
    Discounted,
    Instantaneous,
    Linear,
    Memory,
    MemoryState,
    Multiscale,
    PerAgent,
    PerfectRecall,
    Relative,
    Reset,
    SlidingWindow,
    check_entitlements,
)

gammas = st.floats(0, 1)
histories = arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(0, 10))
MIXING = np.array([[0.6, 0.1, 0.0], [0.2, 0.5, 0.1], [0.0, 0.3, 0.4]])
MEMORIES = [
    Instantaneous(),
    PerfectRecall(),
    PerfectRecall(average=True),
    Discounted(gamma=0.9),
    Discounted(gamma=0.3, average=True),
    Discounted(half_life=7),
    Linear(MIXING),
    Linear(MIXING, readout=[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]),
    Multiscale(gammas=(0.5, 0.99), weights=(0.7, 0.3)),
]
every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=lambda m: type(m).__name__)


def remember(memory: Memory, history, elapsed=1) -> MemoryState:
    state = memory.init(3)
    for utilities in history:
        state = memory.update(state, utilities, elapsed)
    return state


def test_additive_memory_by_hand():
    memory = Discounted(gamma=0.5)
    state = remember(memory, [[1, 0, 4], [2, 0, 0]])
    np.testing.assert_array_equal(memory.values(state), [2.5, 0, 2])
    assert state.d == 1.5


def test_averaged_memory_by_hand():
    memory = Discounted(gamma=0.5, average=True)
    np.testing.assert_allclose(memory.values(remember(memory, [[1, 0, 4], [2, 0, 0]])), [2.5 / 1.5, 0, 2 / 1.5])


@given(histories)
def test_perfect_recall_sums_and_averages(history):
    np.testing.assert_allclose(
        PerfectRecall().values(remember(PerfectRecall(), history)), history.sum(axis=0), rtol=1e-12
    )
    averaged = PerfectRecall(average=True)
    np.testing.assert_allclose(averaged.values(remember(averaged, history)), history.mean(axis=0), rtol=1e-12)


@given(histories)
def test_instantaneous_holds_exactly_the_latest_utilities(history):
    np.testing.assert_array_equal(Instantaneous().values(remember(Instantaneous(), history)), history[-1])


@given(histories)
def test_at_gamma_zero_additive_and_averaged_agree_to_the_bit(history):
    additive, averaged = (remember(Discounted(gamma=0.0, average=a), history) for a in (False, True))
    for a, b in zip(additive, averaged, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        Discounted(gamma=0.0).values(additive), Discounted(gamma=0.0, average=True).values(averaged)
    )


def test_instantaneous_and_perfect_recall_are_the_ends_of_one_scale():
    assert Instantaneous() == Discounted(gamma=0.0)
    assert (Instantaneous().gamma, PerfectRecall().gamma) == (0.0, 1.0)
    assert PerfectRecall(average=True).average is True
    assert Instantaneous().average is False
    assert PerfectRecall().half_life == math.inf


def test_a_decay_can_be_said_in_three_ways():
    assert Discounted(half_life=7).gamma == pytest.approx(0.5 ** (1 / 7))
    assert Discounted(half_life=7).half_life == pytest.approx(7)
    assert Discounted(window=10).gamma == pytest.approx(0.9)
    assert Discounted(gamma=0.9).gamma == 0.9


@every_memory
def test_an_empty_memory_remembers_nothing(memory):
    np.testing.assert_array_equal(memory.values(memory.init(3)), np.zeros(3))
    assert memory.n_agents(memory.init(3)) == 3


@every_memory
def test_nothing_the_caller_passes_is_changed(memory):
    state, utilities = remember(memory, [[1, 2, 3]]), np.array([3.0, 2.0, 1.0])
    before = copy.deepcopy(state)
    memory.update(state, utilities)
    memory.ahead(state, np.stack([utilities, utilities]))
    np.testing.assert_array_equal(utilities, [3, 2, 1])
    for a, b in zip(state, before, strict=True):
        np.testing.assert_array_equal(a, b)


@every_memory
def test_ahead_is_what_values_would_be_for_each_candidate(memory):
    state = remember(memory, [[1, 2, 3], [0, 1, 0]])
    candidates = np.random.default_rng(0).random((4, 5, 3))
    ahead = memory.ahead(state, candidates, elapsed=2)
    assert ahead.shape == (4, 5, 3)
    np.testing.assert_array_equal(memory.ahead(state, candidates), memory.ahead(state, candidates, elapsed=1))
    for i, j in np.ndindex(4, 5):
        alone = memory.values(memory.update(state, candidates[i, j], elapsed=2))
        np.testing.assert_allclose(ahead[i, j], alone, rtol=1e-13)


@every_memory
def test_a_batch_of_memories_is_many_memories(memory):
    history = np.random.default_rng(1).random((6, 4, 3))
    batch = remember(memory, history)
    for b in range(4):
        np.testing.assert_allclose(memory.values(batch)[b], memory.values(remember(memory, history[:, b])), rtol=1e-13)


@pytest.mark.parametrize("memory", [Discounted(gamma=0.8, average=True), Multiscale((0.5, 0.9), (1, 2))])
def test_elapsed_may_differ_within_a_batch(memory):
    history, elapsed = np.random.default_rng(2).random((5, 2, 3)), np.array([0.5, 3.0])
    state = memory.init(3)
    for utilities in history:
        state = memory.update(state, utilities, elapsed)
    for b in range(2):
        np.testing.assert_allclose(
            memory.values(state)[b], memory.values(remember(memory, history[:, b], elapsed[b])), rtol=1e-13
        )


@given(st.floats(0.01, 1), histories, st.floats(0, 5))
def test_irregular_events_fade_by_real_time(g, history, elapsed):
    memory = Discounted(gamma=g)
    expected = sum(g ** (elapsed * k) * u for k, u in enumerate(history[::-1]))
    np.testing.assert_allclose(memory.values(remember(memory, history, elapsed)), expected, rtol=1e-9, atol=1e-12)


def test_a_half_life_of_seven_days():
    memory = Discounted(half_life=7)
    state = memory.update(memory.init(2), [8, 0])
    state = memory.update(state, [0, 1], elapsed=14)
    np.testing.assert_allclose(memory.values(state), [2, 1])


def test_events_in_the_same_instant_add_up_in_any_order():
    memory = Discounted(gamma=0.0)
    state = memory.update(memory.update(memory.init(2), [1, 2]), [3, 4], elapsed=0)
    np.testing.assert_array_equal(memory.values(state), [4, 6])


def test_two_short_times_are_one_long_time():
    memory = Discounted(half_life=3)
    state = memory.update(memory.init(1), [1.0])
    one = memory.ahead(state, [0.0], elapsed=5)
    two = memory.ahead(memory.update(state, [0.0], elapsed=2), [0.0], elapsed=3)
    np.testing.assert_allclose(one, two)


# ---- linear memories -------------------------------------------------------------------------------------------


def test_linear_memory_follows_its_equation():
    memory, history = Linear(MIXING), np.random.default_rng(3).random((5, 3))
    Z = np.zeros(3)
    for u in history:
        Z = MIXING @ Z + u
    np.testing.assert_allclose(memory.values(remember(memory, history)), Z)


def test_linear_denominator_is_the_memory_of_ones():
    memory = Linear(MIXING)
    state = remember(memory, np.ones((7, 3)))
    np.testing.assert_allclose(state.d, state.Z)


def test_discounting_is_the_linear_memory_with_gamma_on_the_diagonal():
    history = np.random.default_rng(4).random((9, 3))
    linear, discounted = Linear(0.9 * np.eye(3)), Discounted(gamma=0.9)
    for elapsed in (1, 2, 0.5):
        np.testing.assert_allclose(
            linear.values(remember(linear, history, elapsed)), discounted.values(remember(discounted, history, elapsed))
        )


def test_multiscale_is_a_linear_memory_without_its_matrix():
    scales, weights = np.array([0.5, 0.9, 1.0]), np.array([1.0, -0.5, 2.0])
    lean = Multiscale(scales, weights)
    full = Linear(np.kron(np.diag(scales), np.eye(3)), readout=np.kron(weights, np.eye(3)))
    history = np.random.default_rng(5).random((8, 3))
    for elapsed in (1, 3):
        np.testing.assert_allclose(
            lean.values(remember(lean, history, elapsed)), full.values(remember(full, history, elapsed)), rtol=1e-12
        )


def test_linear_memory_over_part_of_a_step_needs_a_real_power():
    rotation = Linear([[0.0, -0.5], [-0.5, 0.0]])
    state = rotation.update(rotation.init(2), [1, 2])
    np.testing.assert_allclose(rotation.ahead(state, [0, 0], elapsed=2), [0.25, 0.5])
    with pytest.raises(ValueError, match="elapsed must be a whole number for a matrix with negative real eigenvalues"):
        rotation.ahead(state, [0, 0], elapsed=0.5)


# ---- bounds ----------------------------------------------------------------------------------------------------


@every_memory
def test_bound_holds_and_is_reached_by_constant_input(memory):
    state = memory.init(3)
    for t in range(1, 30):
        state = memory.update(state, np.full(3, 2.0))
        assert np.abs(memory.values(state)).max() <= memory.bound(2.0, t) * (1 + 1e-12)
    if not isinstance(memory, Linear):
        assert memory.values(state).max() == pytest.approx(memory.bound(2.0, 29))


def test_bounds_over_an_infinite_horizon():
    assert Discounted(gamma=0.75).bound(2.0) == 8.0
    assert Discounted(gamma=0.75, average=True).bound(2.0) == 2.0
    assert PerfectRecall().bound(2.0) == math.inf
    assert PerfectRecall(average=True).bound(2.0) == 2.0
    assert Multiscale((0.5, 0.75), (1, -2)).bound(3.0) == pytest.approx(3 * (2 + 8))
    assert Multiscale((0.5, 1.0), (1, 0)).bound(1.0) == pytest.approx(2)
    assert Linear(0.5 * np.eye(2)).bound(1.0) == pytest.approx(2)
    assert Linear(0.5 * np.eye(2), readout=[[3, -1], [0, 1]]).bound(1.0) == pytest.approx(8)
    assert Linear(np.eye(2)).bound(1.0) == math.inf
    assert Linear(np.eye(2)).bound(1.0, 5) == 5


@pytest.mark.parametrize(("unit", "per_step"), [("half_life", math.log(2)), ("window", 1.0)])
def test_a_slow_memory_said_by_its_length_is_not_rounded_to_a_gamma(unit, per_step):
    memory = Discounted(**{unit: 1e12})
    state = memory.update(memory.update(memory.init(1), [1.0]), [0.0])
    lost = (1.0 - float(state.Z[0])) - float(state.Z_lost[0])
    assert lost == pytest.approx(per_step * 1e-12, rel=1e-9, abs=0)
    assert lost != pytest.approx(1.0 - memory.gamma, rel=1e-9, abs=0)


@pytest.mark.parametrize("elapsed", [0, 1, 2, 2.5])
@pytest.mark.parametrize("kind", [np.int64, np.float32, np.asarray])
def test_elapsed_may_be_any_kind_of_number(elapsed, kind):
    memory = Discounted(half_life=3)
    state = memory.update(memory.init(2), [1.0, 2.0])
    time = kind(elapsed)
    np.testing.assert_allclose(
        memory.ahead(state, [1.0, 0.0], time), memory.ahead(state, [1.0, 0.0], float(time)), rtol=1e-6
    )


def test_a_linear_memory_of_several_cells_takes_many_candidates_at_once():
    memory = Linear(np.kron(np.diag([0.9, 0.5]), np.eye(2)), readout=np.kron([0.3, 0.7], np.eye(2)))
    state, candidates = memory.update(memory.init(2), [1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]])
    together = memory.ahead(state, candidates)
    np.testing.assert_allclose(together, [memory.ahead(state, candidate) for candidate in candidates], rtol=1e-14)


# ---- entitlements ----------------------------------------------------------------------------------------------


@every_memory
def test_entitlements_divide_what_is_remembered(memory):
    state = remember(memory, [[1, 2, 3]])
    np.testing.assert_allclose(memory.values(state, [1, 2, 4]), memory.values(state) / [1, 2, 4])
    np.testing.assert_allclose(
        memory.ahead(state, [1, 1, 1], entitlements=[1, 2, 4]), memory.ahead(state, [1, 1, 1]) / [1, 2, 4]
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0, 1], "entitlements must be above 0 for every agent, got"),
        ([1, -2, 1], "entitlements must be above 0"),
        ([1, math.nan, 1], "entitlements must be finite, got nan at index 1"),
        ([1, math.inf, 1], "entitlements must be finite, got inf at index 1"),
        ([1, 1], r"entitlements must have one entry per agent \(3\), got shape \(2,\)"),
        (["a", 1, 1], "entitlements must be an array of numbers"),
    ],
)
def test_bad_entitlements_are_refused(weights, message):
    memory = Discounted(gamma=0.5)
    with pytest.raises(ValueError, match=message):
        memory.values(memory.init(3), weights)


def test_good_entitlements_come_back_as_an_array():
    np.testing.assert_array_equal(check_entitlements([1, 2], 2), np.array([1.0, 2.0]))


# ---- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Discounted(), "exactly one of gamma, half_life.*got none of them"),
        (lambda: Discounted(gamma=0.5, half_life=3), "exactly one of.*got gamma and half_life"),
        (lambda: Discounted(gamma=1.5), "gamma must be between 0 and 1, got 1.5"),
        (lambda: Discounted(gamma=math.nan), "gamma must be between 0 and 1, got nan"),
        (lambda: Discounted(half_life=0), "half_life must be above 0"),
        (lambda: Discounted(window=0.9), "window must be at least 1"),
        (lambda: Multiscale((0.5, 1.5), (1, 1)), "gammas must be between 0 and 1, each of them"),
        (lambda: Multiscale((0.5,), (1, 1)), r"same length of at least 1, got shapes \(1,\) and \(2,\)"),
        (lambda: Multiscale((), ()), "same length of at least 1"),
        (lambda: Multiscale(0.5, 1.0), r"two lists of the same length of at least 1, got shapes \(\) and \(\)"),
        (lambda: Multiscale((0.5,), (math.inf,)), "weights must be finite, got inf at index 0"),
        (lambda: Linear([[1, 2]]), r"matrix must be a square matrix, got shape \(1, 2\)"),
        (lambda: Linear([[math.nan]]), r"matrix must be finite, got nan at index \(0, 0\)"),
        (lambda: Linear(np.eye(2), readout=[[1, 0, 0]]), r"readout must have shape \(n_agents, 2\)"),
        (lambda: Linear(np.eye(2), readout=[1, 0]), r"readout must have shape \(n_agents, 2\)"),
        (lambda: Linear(np.eye(2), readout=[[1, math.inf]]), "readout must be finite"),
        (lambda: Linear(np.eye(2)).init(3), "read out for 2 agents in 2 cells, got 3 agents"),
        (lambda: Linear(np.eye(3), readout=np.ones((2, 3))).init(2), "read out for 2 agents in 3 cells"),
        (lambda: Discounted(gamma=0.5).init(0), "n_agents must be a whole number of at least 1, got 0"),
        (lambda: Discounted(gamma=0.5).init(2.0), "n_agents must be a whole number of at least 1, got 2.0"),
        (lambda: Discounted(gamma=0.5).init(True), "n_agents must be a whole number"),
        (lambda: Multiscale((0.5,), (1,)).init(-1), "n_agents must be a whole number"),
        (lambda: Linear(np.eye(2)).init(0), "n_agents must be a whole number"),
    ],
)
def test_bad_settings_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


subnormal = st.builds(
    math.copysign, st.floats(5e-324, np.finfo(float).tiny, exclude_max=True), st.sampled_from([1, -1])
)


@given(st.lists(st.floats(-2, 2, allow_subnormal=False), min_size=3, max_size=3), st.integers(0, 2), subnormal)
def test_weights_so_small_that_products_lose_their_digits_are_refused(weights, position, small):
    weights[position] = small
    with pytest.raises(ValueError, match=r"weights must be 0 or at least 2.23e-308 in size, got .*: use 0"):
        Multiscale((0.5, 0.9, 1.0), weights)
    with pytest.raises(ValueError, match=r"readout must be 0 or at least 2.23e-308 in size, got .*: use 0"):
        Linear(np.eye(3), readout=[weights])


def test_the_smallest_weights_that_are_accepted():
    tiny = np.finfo(float).tiny
    assert Multiscale((0.5, 0.5), (-tiny, 0.0)).bound(1.0, 1) == tiny
    assert Linear([[0.5]], readout=[[tiny]]).bound(1.0, 1) == tiny


@every_memory
@pytest.mark.parametrize(
    ("utilities", "elapsed", "message"),
    [
        ([1, math.nan, 0], 1, "utilities must be finite, got nan at index 1"),
        ([1, 0, -math.inf], 1, "utilities must be finite, got -inf at index 2"),
        ([[1, 0, 0], [0, math.inf, 0]], 1, r"utilities must be finite, got inf at index \(1, 1\)"),
        ([1, 2], 1, r"utilities must have one entry per agent \(3\) along the last axis, got shape \(2,\)"),
        (5.0, 1, r"utilities must have one entry per agent \(3\) along the last axis, got shape \(\)"),
        ("much", 1, "utilities must be an array of numbers, got 'much'"),
        ([1, 2, 3], -1, "elapsed must be a finite time of at least 0, got -1"),
        ([1, 2, 3], math.nan, "elapsed must be a finite time of at least 0, got nan"),
        ([1, 2, 3], math.inf, "elapsed must be a finite time of at least 0, got inf"),
    ],
)
def test_bad_updates_are_refused(memory, utilities, elapsed, message):
    with pytest.raises(ValueError, match=message):
        memory.update(memory.init(3), utilities, elapsed)
    with pytest.raises(ValueError, match=message):
        memory.ahead(memory.init(3), utilities, elapsed)


# ---- being a value ---------------------------------------------------------------------------------------------


@every_memory
def test_memories_are_frozen_and_pickle(memory):
    with pytest.raises(dataclasses.FrozenInstanceError):
        memory.gamma = 0.1
    again = pickle.loads(pickle.dumps(memory))
    np.testing.assert_array_equal(
        again.values(remember(again, [[1, 2, 3]])), memory.values(remember(memory, [[1, 2, 3]]))
    )


@pytest.mark.parametrize("number", range(len(MEMORIES) + 5))
def test_memories_are_equal_if_their_parameters_are(number):
    def made():
        return [
            *pickle.loads(pickle.dumps(MEMORIES)),
            PerAgent(half_lives=[5, 7, 9]),
            Capped(Multiscale(gammas=(0.5, 0.99), weights=(0.7, 0.3)), 2.0),
            Relative(Linear(MIXING)),
            SlidingWindow(3),
            Reset(4),
        ]

    one, others = made()[number], made()
    assert (
        [one == other for other in others]
        == [other == one for other in others]
        == [position == number for position in range(len(others))]
    )
    assert hash(one) == hash(others[number])
    assert len({*made(), *made()}) == len(others)
    assert one != "memory"


def test_memories_show_what_they_are():
    assert repr(PerfectRecall(average=True)) == "Discounted(gamma=1.0, average=True)"
    assert repr(Discounted(gamma=0.9)) == "Discounted(gamma=0.9, average=False)"
    assert Discounted(gamma=0.9) == Discounted(gamma=0.9) != Discounted(gamma=0.9, average=True)
    assert dataclasses.replace(Discounted(gamma=0.9), average=True) == Discounted(gamma=0.9, average=True)


# ---- exactness -------------------------------------------------------------------------------------------------


def exact_sum(gamma: float, history: list[float]) -> float:
    """Σ γ^k u, by Horner in integers: no rounding anywhere but in the last conversion."""
    p, q = Fraction(gamma).as_integer_ratio()
    shift = q.bit_length() - 1
    assert q == 1 << shift
    # Integers of a fixed 400-bit scale stand for the running sum: truncation is far below double precision.
    scale, total = 400, 0
    for u in history:
        n, d = u.as_integer_ratio()
        total = ((total * p) >> shift) + (n << scale) // d
    return float(Fraction(total, 1 << scale))


@pytest.mark.parametrize("gamma", [1.0, 0.9999, 0.6, 0.5, 0.4])
def test_twenty_thousand_updates_are_as_exact_as_one(gamma):
    memory, state = Discounted(gamma=gamma), MemoryState(0.0, 0.0, 0.0, 0.0)
    for _ in range(20_000):
        state = memory.advance(state, 0.1)
    assert float(state.Z) == pytest.approx(exact_sum(gamma, [0.1] * 20_000), rel=2e-16)
    assert float(state.d) == pytest.approx(exact_sum(gamma, [1.0] * 20_000), rel=2e-16)
    assert abs(state.Z_lost) <= np.spacing(state.Z)


def test_linear_perfect_recall_keeps_what_rounding_drops():
    memory = Linear(np.eye(1))
    state = memory.init(1)
    for _ in range(20_000):
        state = memory.advance(state, np.array([0.1]))
    assert state.Z[0] == pytest.approx(exact_sum(1.0, [0.1] * 20_000), rel=2e-16)


@every_memory
def test_one_step_is_the_default(memory):
    state, u = remember(memory, [[1, 2, 3]]), np.array([0.5, 0.25, 1.0])
    for a, b in zip(memory.advance(state, u), memory.advance(state, u, 1), strict=True):
        np.testing.assert_array_equal(a, b)


def test_multiscale_counts_its_denominators():
    state = remember(Multiscale((0.5, 1.0), (1, 1)), np.ones((3, 3)))
    np.testing.assert_array_equal(state.d, [1.75, 3.0])


def test_settings_are_kept_as_arrays():
    assert isinstance(Linear([[0.5]], readout=[[2]]).readout, np.ndarray)
    assert isinstance(Multiscale([0.5], [2]).weights, np.ndarray)
    assert isinstance(Multiscale([0.5], [2]).gammas, np.ndarray)


@pytest.mark.parametrize(
    ("gamma", "kind"),
    [
        (0.999999, "constant"),
        (1.0, "wide"),
        pytest.param(1.0, "constant", marks=pytest.mark.soak),
        pytest.param(0.999999, "random", marks=pytest.mark.soak),
        pytest.param(0.999, "wide", marks=pytest.mark.soak),
    ],
)
@pytest.mark.soak
def test_a_million_updates_are_as_exact_as_one(gamma, kind):
    rng = np.random.default_rng(7)
    n = 1_000_000
    history = {
        "constant": np.full(n, 0.1),
        "random": rng.random(n),
        "wide": rng.random(n) * 10.0 ** rng.integers(-9, 3, n),
    }[kind]
    memory = Discounted(gamma=gamma)
    state = MemoryState(0.0, 0.0, 0.0, 0.0)
    for u in history.tolist():
        state = memory.advance(state, u)
    exact, exact_d = exact_sum(gamma, history.tolist()), exact_sum(gamma, [1.0] * n)
    total, denominator = state.Z, state.d
    assert total == pytest.approx(exact, rel=1e-15)
    assert denominator == pytest.approx(exact_d, rel=1e-15)
    assert total / denominator == pytest.approx(exact / exact_d, rel=2e-15)
