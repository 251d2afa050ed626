import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones import stability
from bygones.stability import bound, design, is_bounded, power, spectral_radius, transient_growth

matrices = arrays(float, (3, 3), elements=st.floats(-1, 1))
SWELLING = np.array([[0.5, 10.0], [0.0, 0.5]])


def norm(A):
    return np.abs(A).sum(axis=1).max()


def stable(A, radius=0.9):
    current = spectral_radius(A)
    return A * (radius / current) if current > 1e-6 else 0 * A


def test_spectral_radius_by_hand():
    assert spectral_radius(0.5 * np.eye(3)) == pytest.approx(0.5)
    assert spectral_radius([[0, -1], [1, 0]]) == pytest.approx(1)
    assert spectral_radius([[-2.0]]) == 2
    assert spectral_radius(SWELLING) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.eye(3), False),
        (0.999999 * np.eye(3), True),
        ((1 - 1e-10) * np.eye(2), True),
        ([[0.0, 1.0], [-1.0, 0.0]], False),
        ([[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]], False),
        ([[1.0, 1.0], [0.0, 1.0]], False),
        ([[0.99, 1e6], [0.0, 0.99]], True),
        ([[0.0, 1.0], [0.0, 0.0]], True),
        ([[1.0000001]], False),
        ([[-1.0]], False),
        ([[0.0]], True),
        ([[1e200, 0], [0, 1e200]], False),
        (np.full((4, 4), 0.25), False),
        (np.full((4, 4), 0.2499), True),
    ],
)
def test_bounded_exactly_when_the_radius_is_below_one(matrix, expected):
    assert is_bounded(matrix) is expected


@given(matrices, st.floats(0.1, 0.95))
def test_scaled_to_a_radius_it_is_bounded_below_one_and_not_above(A, radius):
    assume(spectral_radius(A) > 1e-3)
    assert is_bounded(stable(A, radius))
    assert not is_bounded(stable(A, 2 - radius))


@given(matrices)
def test_bound_brackets_the_long_sum(A):
    A = stable(A)
    total, P = 0.0, np.eye(3)
    for _ in range(2000):
        total, P = total + norm(P), P @ A
    got = bound(A, u_max=2.0)
    assert got.value - got.error <= 2 * total * (1 + 1e-12)
    assert got.value >= 2 * total * (1 - 1e-12)
    assert got.error <= 2e-9 * got.value


def test_bound_by_hand():
    assert bound(0.5 * np.eye(2)).value == pytest.approx(2)
    assert bound(0.5 * np.eye(2), u_max=3).value == pytest.approx(6)
    assert bound(np.zeros((2, 2))) == stability.Bound(1.0, 0.0, 1)
    assert bound(np.eye(2)) == stability.Bound(math.inf, math.inf, 0)
    assert bound(np.eye(2), steps=7) == stability.Bound(7.0, 0.0, 7)
    assert bound(0.5 * np.eye(2), steps=2) == stability.Bound(1.5, 0.0, 2)
    assert bound(2 * np.eye(1), steps=3).value == 7
    assert bound(np.eye(2), steps=0).value == 0


def test_a_coarser_tolerance_is_a_wider_but_true_bound():
    coarse, fine = (bound(0.9 * np.eye(2), tolerance=t) for t in (0.5, 1e-12))
    assert coarse.powers < fine.powers
    assert coarse.value >= 10 - 1e-9
    assert coarse.value - coarse.error <= 10 <= coarse.value + 1e-9
    assert coarse.error <= 0.5 * 10
    assert fine.value == pytest.approx(10)


def test_transient_growth_by_hand():
    assert transient_growth(0.5 * np.eye(2)) == stability.Growth(1.0, 0)
    growth = transient_growth(SWELLING)
    norms = [norm(np.linalg.matrix_power(SWELLING, k)) for k in range(100)]
    assert growth == stability.Growth(max(norms), int(np.argmax(norms)))
    assert growth.factor == 10.5
    assert growth.step == 1
    slow = np.array([[0.9, 1.0], [0.0, 0.9]])
    norms = [norm(np.linalg.matrix_power(slow, k)) for k in range(300)]
    assert transient_growth(slow).step == int(np.argmax(norms)) > 1
    assert transient_growth(slow).factor == pytest.approx(max(norms))


def test_unbounded_matrices_have_no_worst_growth():
    with pytest.raises(ValueError, match="matrix must have a spectral radius below 1 to have a worst growth, got 1"):
        transient_growth(np.eye(2))


def test_growth_that_pauses_at_one_goes_on_and_the_first_peak_counts():
    """A row that shifts its weight along keeps a norm of one, swells later, and swells twice to the same height."""
    shift = np.diag([1.0, 3.0, 1.0], k=1)
    assert transient_growth(shift) == stability.Growth(3.0, 1)
    late = np.diag([1.0, 1.0], k=1)
    late[2, 2] = 0.0
    assert transient_growth(late) == stability.Growth(1.0, 0)
    assert transient_growth(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.3]])).factor == 1.0


def test_unit_utilities_are_the_default():
    assert bound([[0.5]]).value == bound([[0.5]], u_max=1.0).value
    assert design([[0.5]]).bound.value == pytest.approx(2)


def test_design_accepts_and_says_what_to_expect():
    verdict = design(0.5 * np.eye(2), u_max=3)
    assert verdict.accepted
    assert verdict.spectral_radius == pytest.approx(0.5)
    assert verdict.bound.value == pytest.approx(6)
    assert verdict.growth.factor == 1
    assert verdict.reasons == (
        "The spectral radius is 0.5, below 1, so the memory forgets.",
        "With utilities up to 3, it never exceeds 6.",
    )
    assert str(verdict).startswith("This memory is accepted.\n- The spectral radius is 0.5")


def test_design_warns_of_swelling():
    verdict = design(SWELLING)
    assert verdict.accepted
    assert verdict.reasons[-1] == "Before it fades, a utility can grow to 10.5 times its size (at step 1)."
    assert "can grow to 1.5 times its size" in design([[0.5, 1.0], [0.0, 0.5]]).reasons[-1]


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (np.eye(2), "The spectral radius is 1, not below 1: part of the past is never forgotten"),
        (2 * np.eye(2), "The spectral radius is 2, above 1: a single utility grows without bound, about 2-fold"),
    ],
)
def test_design_refuses_what_is_unbounded(matrix, reason):
    verdict = design(matrix)
    assert not verdict.accepted
    assert verdict.bound is None
    assert verdict.growth is None
    assert verdict.accepted is False
    assert verdict.spectral_radius == pytest.approx(matrix[0, 0])
    assert verdict.reasons[0].startswith(reason)
    assert verdict.reasons[0].endswith(("as under perfect recall.", "each step."))
    assert len(verdict.reasons) == 1
    assert str(verdict).startswith("This memory is rejected.\n- The spectral")


def test_design_refuses_negative_entries_for_log_nash():
    matrix = np.array([[0.5, 0.0], [-0.1, 0.5]])
    verdict = design(matrix)
    assert not verdict.accepted
    assert "Entry (1, 0) is -0.1: utility of agent 0 lowers the remembered utility of agent 1" in verdict.reasons[0]
    assert verdict.reasons[0].endswith("below zero, where log-Nash and alpha-fair welfare are undefined.")
    assert verdict.bound is not None
    assert design(matrix, non_negative=False).accepted
    assert len(design(-2 * np.eye(2)).reasons) == 2


def test_half_a_step_of_a_rotation_is_half_the_angle():
    def turned(angle):
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    half = power(0.81 * turned(2.0), 0.5)
    assert half.dtype == float
    np.testing.assert_allclose(half, 0.9 * turned(1.0), atol=1e-12)
    np.testing.assert_allclose(power(np.array([[4, 0], [0, 9]]), 0.5), [[2, 0], [0, 3]], atol=1e-12)


def test_power_over_whole_and_broken_time():
    A = np.array([[0.5, 0.2], [0.1, 0.4]])
    assert power(A, 1) is A
    np.testing.assert_allclose(power(A, 0), np.eye(2))
    np.testing.assert_allclose(power(A, 3), A @ A @ A)
    half = power(A, 0.5)
    np.testing.assert_allclose(half @ half, A)
    assert not np.iscomplexobj(half)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spectral_radius([[1, 2]]), r"matrix must be a square matrix, got shape \(1, 2\)"),
        (lambda: spectral_radius(np.zeros((0, 0))), "matrix must be a square matrix"),
        (lambda: spectral_radius([1.0]), r"matrix must be a square matrix, got shape \(1,\)"),
        (lambda: is_bounded([[math.inf]]), r"matrix must be finite, got inf at index \(0, 0\)"),
        (lambda: transient_growth([[math.nan]]), "matrix must be finite"),
        (lambda: bound([[0.5]], u_max=0), "u_max must be a finite number above 0, got 0"),
        (lambda: bound([[0.5]], u_max=math.inf), "u_max must be a finite number above 0, got inf"),
        (lambda: bound([[0.5]], steps=-1), "steps must be at least 0, got -1"),
        (lambda: bound([[0.5]], tolerance=0), "tolerance must be between 0 and 1, got 0"),
        (lambda: bound([[1, 2]]), "matrix must be a square matrix"),
        (lambda: bound([[0.5]], tolerance=1.5), "tolerance must be between 0 and 1, got 1.5"),
        (lambda: design([[0.5]], u_max=-1), "u_max must be a finite number above 0, got -1"),
        (lambda: design([["a"]]), "matrix must be an array of numbers"),
        (lambda: power(np.eye(2), np.array([1.0, 2.0])), "elapsed must be a plain number for a linear memory"),
        (lambda: power(-np.eye(2), 0.5), "elapsed must be a whole number for a matrix with negative real eigenvalues"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
