"""The paper's theorems and its corollary, in the paper's order, as properties of the code."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones import decay, stability
from bygones.memory import Discounted, Linear, PerfectRecall

U_MAX = 2.0
utilities = arrays(float, st.tuples(st.integers(1, 40), st.just(3)), elements=st.floats(0, U_MAX))
below_one = st.floats(0, 0.999)


def trajectory(memory, history):
    """Z after each utility of a history."""
    state, Z = memory.init(history.shape[1]), []
    for u in history:
        state = memory.update(state, u)
        Z.append(memory.values(state))
    return np.array(Z)


def remembered(memory, events):
    """The memory of utilities of different ages, of which the latest has just arrived."""
    events = sorted(events, key=lambda event: -event[0])
    state, before = memory.init(len(events[0][1])), events[0][0]
    for age, u in events:
        state, before = memory.update(state, u, elapsed=before - age), age
    return state


def same_for_ever(memory, a, b, future):
    """Whatever comes, the two states remember the same, to rounding."""
    for u in future:
        a, b = memory.update(a, u), memory.update(b, u)
        np.testing.assert_allclose(memory.values(a), memory.values(b), rtol=1e-9, atol=1e-12)


class TestTheorem1StateExplosionUnderPerfectRecall:
    @given(utilities)
    def test_the_memory_is_the_sum_of_the_past_within_its_bound(self, history):
        Z = trajectory(PerfectRecall(), history)
        np.testing.assert_allclose(Z, np.cumsum(history, axis=0), rtol=1e-12)
        for t, z in enumerate(Z, 1):
            assert (z >= 0).all()
            assert (z <= decay.additive_bound(U_MAX, 1.0, t) * (1 + 1e-12)).all()

    @given(st.integers(1, 10**6), st.fractions(Fraction(1, 1000), 10), st.integers(1, 12))
    def test_bins_grow_linearly_with_time_and_exponentially_with_agents(self, t, width, n):
        width = float(round(width, 3))
        assume(width > 0)
        bins = decay.bins_perfect_recall(t, width, U_MAX)
        assert bins * Fraction(str(width)) >= t * Fraction(U_MAX) > (bins - 1) * Fraction(str(width))
        assert decay.bins_perfect_recall(t, width, U_MAX, n_agents=n) == bins**n
        assert decay.bins_perfect_recall(3 * t, width, U_MAX) >= 3 * (bins - 1)

    @given(st.integers(1, 60))
    def test_the_linear_growth_is_reached(self, t):
        assert (
            trajectory(PerfectRecall(), np.full((t, 1), U_MAX))[-1, 0]
            == decay.additive_bound(U_MAX, 1.0, t)
            == t * U_MAX
        )


class TestTheorem2BoundednessUnderPastDiscounting:
    @given(below_one, utilities)
    def test_the_recursion_equals_the_unrolled_sum(self, gamma, history):
        t = len(history)
        weights = gamma ** np.arange(t - 1, -1, -1.0)
        np.testing.assert_allclose(
            trajectory(Discounted(gamma=gamma), history)[-1], weights @ history, rtol=1e-10, atol=1e-12
        )

    @given(below_one, utilities)
    def test_the_bounds_hold_at_every_time(self, gamma, history):
        for t, z in enumerate(trajectory(Discounted(gamma=gamma), history), 1):
            assert (z >= 0).all()
            assert (z <= decay.additive_bound(U_MAX, gamma, t) * (1 + 1e-12)).all()
            assert decay.additive_bound(U_MAX, gamma, t) <= decay.additive_bound(U_MAX, gamma) * (1 + 1e-12)

    @given(st.floats(0.01, 0.95))
    def test_constant_input_reaches_the_finite_bound_and_approaches_the_supremum_from_below(self, gamma):
        Z = trajectory(Discounted(gamma=gamma), np.full((30, 1), U_MAX))[:, 0]
        finite = [decay.additive_bound(U_MAX, gamma, t) for t in range(1, 31)]
        np.testing.assert_allclose(Z, finite, rtol=1e-12)
        supremum = U_MAX / (1 - gamma)
        assert decay.additive_bound(U_MAX, gamma) == pytest.approx(supremum)
        assert Z[0] < supremum
        steps = math.ceil(math.log(1e-6) / math.log(gamma))
        assert decay.additive_bound(U_MAX, gamma, steps) >= supremum * (1 - 1.01e-6)


class TestCorollary1Discretization:
    @given(st.integers(0, 999), st.integers(1, 1000), st.integers(1, 8))
    def test_bins_enough_for_every_horizon(self, thousandths, width_thousandths, n):
        gamma, width = thousandths / 1000, width_thousandths / 1000
        bins = decay.bins_discounted(gamma, width, U_MAX)
        assert bins == math.ceil(Fraction(2) / (1 - Fraction(thousandths, 1000)) / Fraction(width_thousandths, 1000))
        assert bins * width >= decay.additive_bound(U_MAX, gamma) * (1 - 1e-12)
        assert decay.bins_discounted(gamma, width, U_MAX, n_agents=n) == bins**n

    def test_perfect_recall_overtakes_any_fixed_grid(self):
        grid = decay.bins_discounted(0.99, 0.1)
        assert decay.bins_perfect_recall(100, 0.1) == grid
        assert decay.bins_perfect_recall(101, 0.1) > grid


class TestTheorem3AveragedPerfectRecallNeedsTime:
    @given(st.floats(0, U_MAX), st.floats(0, U_MAX), st.integers(1, 20), st.integers(1, 20))
    def test_equal_memories_at_different_times_part_ways(self, z, u, t, later):
        """(i), which needs z ≠ u: with the same Z and the same next utility, the next Z differs."""
        assume(abs(z - u) > 1e-3)
        memory = PerfectRecall(average=True)
        short, long = np.full((t, 1), z), np.full((t + later, 1), z)
        np.testing.assert_allclose(trajectory(memory, short)[-1], trajectory(memory, long)[-1])
        after_short = trajectory(memory, np.vstack([short, [[u]]]))[-1, 0]
        after_long = trajectory(memory, np.vstack([long, [[u]]]))[-1, 0]
        assert after_short == pytest.approx((t * z + u) / (t + 1))
        assert abs(after_short - u) < abs(after_long - u)

    @given(utilities, st.data())
    def test_with_the_time_they_do_not(self, past, data):
        """Pasts with the same Z at the same time have the same future: here utilities swapped and passed on."""
        memory = PerfectRecall(average=True)
        other = past[data.draw(st.permutations(range(len(past))))]
        passed_on = data.draw(st.floats(0, 1)) * np.minimum(other[0], U_MAX - other[-1])
        other[0] -= passed_on
        other[-1] += passed_on
        a, b = (remembered(memory, [(float(-t), u) for t, u in enumerate(history)]) for history in (past, other))
        np.testing.assert_allclose(memory.values(a), memory.values(b), rtol=1e-12, atol=1e-15)
        assert a.d == b.d
        same_for_ever(memory, a, b, future=data.draw(utilities))

    @given(st.floats(0, U_MAX), st.integers(1, 20), st.integers(1, 20))
    def test_if_the_next_utility_equals_the_memory_they_do_not(self, z, t, later):
        memory = PerfectRecall(average=True)
        a, b = (trajectory(memory, np.full((k + 1, 1), z))[-1, 0] for k in (t, t + later))
        assert a == pytest.approx(b)

    @given(st.integers(1, 50))
    def test_the_denominator_that_tells_them_apart_is_unbounded(self, t):
        memory = PerfectRecall(average=True)
        state = memory.init(1)
        for _ in range(t):
            state = memory.update(state, [1.0])
        assert state.d == t


class TestTheorem4PastDiscountedAveraging:
    @given(below_one, utilities)
    def test_i_memory_and_denominator_are_bounded(self, gamma, history):
        memory = Discounted(gamma=gamma, average=True)
        state = memory.init(3)
        for t, u in enumerate(history, 1):
            state = memory.update(state, u)
            assert state.d == pytest.approx(decay.denominator(gamma, t))
            assert state.d <= decay.window(gamma=gamma) * (1 + 1e-9)
            assert (memory.values(state) >= 0).all()
            assert (memory.values(state) <= decay.averaged_bound(U_MAX) * (1 + 1e-12)).all()

    @given(below_one, utilities)
    def test_i_the_next_memory_is_a_convex_combination(self, gamma, history):
        memory = Discounted(gamma=gamma, average=True)
        Z = np.vstack([np.zeros(3), trajectory(memory, history)])
        for t, u in enumerate(history, 1):
            before = gamma * decay.denominator(gamma, t - 1)
            np.testing.assert_allclose(Z[t], (before * Z[t - 1] + u) / (before + 1), rtol=1e-9, atol=1e-12)
            assert (Z[t] <= np.maximum(Z[t - 1], u) + 1e-12).all()
            assert t == 1 or (Z[t] >= np.minimum(Z[t - 1], u) - 1e-12).all()

    @given(st.floats(0.1, 0.999), utilities.filter(lambda past: len(past) > 1), st.data())
    def test_ii_memory_and_denominator_suffice(self, gamma, past, data):
        """Two pasts of different lengths with the same (Z, d) have the same future, uᵗ⁺¹, uᵗ⁺², … being given.

        For some utilities before the last, the other past has two that came a half-life earlier and have the same
        mean: each counts half as much.
        """
        memory = Discounted(gamma=gamma, average=True)
        events = [(float(age), u) for age, u in zip(range(len(past) - 1, -1, -1), past, strict=True)]
        doubled = data.draw(st.sets(st.integers(0, len(past) - 2), min_size=1))
        shift = data.draw(st.floats(-1, 1)) * np.minimum(past, U_MAX - past)
        other = [event for i, event in enumerate(events) if i not in doubled]
        for i in doubled:
            age, u = events[i]
            other += [(age + memory.half_life, u + shift[i]), (age + memory.half_life, u - shift[i])]
        a, b = remembered(memory, events), remembered(memory, other)
        np.testing.assert_allclose(memory.values(a), memory.values(b), rtol=1e-9, atol=1e-12)
        assert a.d == pytest.approx(b.d, rel=1e-9)
        same_for_ever(memory, a, b, future=data.draw(utilities))

    @given(st.floats(0.5, 0.999), st.floats(0, U_MAX), st.floats(0, U_MAX), st.integers(1, 5), st.integers(1, 5))
    def test_ii_memory_alone_does_not(self, gamma, z, u, t, later):
        """With the same Z but another d, the same next utility (other than Z) moves Z further where d is smaller."""
        assume(abs(z - u) > 1e-3)
        memory = Discounted(gamma=gamma, average=True)
        short, long = (remembered(memory, [(float(age), [z]) for age in range(k)]) for k in (t, t + later))
        np.testing.assert_allclose(memory.values(short), memory.values(long))
        after_short, after_long = (memory.ahead(state, [u])[0] for state in (short, long))
        assert abs(after_short - u) < abs(after_long - u) - 1e-7

    @given(below_one, st.integers(1, 40), st.floats(0.1, 1))
    def test_iii_the_newest_utility_keeps_its_weight(self, gamma, t, more):
        memory = Discounted(gamma=gamma, average=True)
        past = np.full((t - 1, 1), 0.7)
        low, high = (trajectory(memory, np.vstack([past, [[u]]]))[-1, 0] for u in (0.5, 0.5 + more))
        assert (high - low) / more == pytest.approx(decay.responsiveness(gamma, t), rel=1e-6)
        assert decay.responsiveness(gamma, t) >= (1 - gamma) * (1 - 1e-9)
        assert decay.responsiveness(gamma) == pytest.approx(1 - gamma)
        assert decay.responsiveness(1.0, t) == pytest.approx(1 / t)


class TestTheorem5LinearStability:
    matrices = arrays(float, (3, 3), elements=st.floats(-1, 1))

    @given(matrices, st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
    def test_below_one_every_bounded_input_keeps_the_memory_bounded(self, A, radius, seed):
        current = stability.spectral_radius(A)
        assume(current > 1e-3)
        A = A * (radius / current)
        rng = np.random.default_rng(seed)
        history = rng.uniform(-U_MAX, U_MAX, (60, 3))
        reach = stability.bound(A, U_MAX).value
        assert np.abs(trajectory(Linear(A), history)).max() <= reach * (1 + 1e-9)

    @given(arrays(int, (3, 3), elements=st.integers(-8, 8)))
    def test_at_one_some_bounded_input_makes_it_grow_without_end(self, A):
        """Feeding back the sign of the leading left eigenvector adds a fixed amount at every step."""
        current = stability.spectral_radius(A)
        assume(current > 1e-2)
        values, vectors = np.linalg.eig((A / current).T)
        assume(np.linalg.cond(vectors) < 100)
        A, lead = A / current, int(np.abs(values).argmax())
        value, left = values[lead], vectors[:, lead]
        state, heights = Linear(A).init(3), []
        for t in range(1, 201):
            # w·Zᵗ = λ w·Zᵗ⁻¹ + w·uᵗ with |λ| = 1: u follows the phase of λᵗ, so every step adds to |w·Z|.
            phase = (left * (value / abs(value)) ** -t).real
            state = Linear(A).update(state, np.sign(phase))
            heights.append(np.abs(left @ state.Z))
        assert heights[-1] > 0.3 * np.abs(left).sum() * 200 / 3
        assert heights[-1] > heights[99] > heights[49]

    @given(st.floats(0, 1))
    def test_the_papers_two_cases(self, gamma):
        A = gamma * np.eye(3)
        assert stability.spectral_radius(A) == pytest.approx(gamma)
        assert stability.is_bounded(A) == (gamma < 1 - 1e-11)
        assert stability.is_bounded(np.eye(3)) is False
        assert stability.bound(min(gamma, 0.99) * np.eye(3)).value == pytest.approx(1 / (1 - min(gamma, 0.99)))
