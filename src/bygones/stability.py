r"""Linear memories $Z^{t+1} = A Z^t + u^{t+1}$: which matrices keep the memory bounded, and by how much.

Theorem 5: the memory stays bounded for every bounded sequence of utilities exactly when the spectral radius
$\rho(A) < 1$. Then, with $\|u^t\|_\infty \le u_{\max}$,

$$ \|Z^t\|_\infty \;\le\; u_{\max} \sum_{k=0}^{\infty} \|A^k\|_\infty , $$

and this module computes the sum with a proven bound on the truncated tail: if
$q = \|A^m\|_\infty < 1$ then $\sum_{k\ge m}\|A^k\|_\infty \le \frac{q}{1-q}\sum_{k<m}\|A^k\|_\infty$.

The condition applies to matrices that do not change over time. An averaging memory, a sliding window or a memory
that is reset from time to time is bounded without satisfying it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bygones._arrays import AnyArray, Array, Floats, Number, check_between, check_finite, is_traced
from bygones._parts import needed_by

_MOST_POWERS = 1_000_000


@dataclass(frozen=True)
class Bound:
    r"""A bound on a linear memory: the true $u_{\max}\sum_k\|A^k\|_\infty$ lies in [`value` − `error`, `value`]."""

    value: float
    error: float
    powers: int
    """How many powers of the matrix were summed before the tail was bounded."""


@dataclass(frozen=True)
class Growth:
    r"""The worst transient growth $\max_k \|A^k\|_\infty$ and the step at which it happens."""

    factor: float
    step: int


@dataclass(frozen=True)
class Design:
    """The verdict of `design` on a matrix: accepted or rejected, with the reasons in sentences."""

    accepted: bool
    reasons: tuple[str, ...]
    spectral_radius: float
    bound: Bound | None
    growth: Growth | None

    def __str__(self) -> str:
        verdict = "accepted" if self.accepted else "rejected"
        return "\n".join([f"This memory is {verdict}.", *(f"- {reason}" for reason in self.reasons)])


def check_square(name: str, matrix: AnyArray) -> Array:
    """The matrix as an array; raises ValueError unless it is square, non-empty and finite."""
    array = check_finite(name, matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise ValueError(f"{name} must be a square matrix, got shape {array.shape}")
    return array


def spectral_radius(matrix: AnyArray) -> float:
    r"""$\rho(A)$, the largest absolute eigenvalue."""
    return float(np.abs(np.linalg.eigvals(_checked(matrix))).max())


def is_bounded(matrix: AnyArray) -> bool:
    r"""Whether every bounded sequence of utilities leaves the memory bounded: $\rho(A) < 1$ (Theorem 5).

    The eigenvalues of a defective matrix are far less precise than machine precision, so the test uses powers instead:
    the memory is bounded when some $\|A^m\|_\infty$ is small. Powers up to $2^{40}$ are tried, so a radius within about
    $10^{-12}$ of one counts as one.
    """
    power = _checked(matrix)
    for _ in range(40):
        norm = _norm(power)
        # Squaring doubles the relative error each time; one half is far enough below one to be safe.
        if norm < 0.5:
            return True
        if not norm < 1e100:
            return False
        power = power @ power
    return False


def bound(matrix: AnyArray, u_max: float = 1.0, steps: float = math.inf, tolerance: float = 1e-9) -> Bound:
    r"""The bound $u_{\max}\sum_{k<\text{steps}}\|A^k\|_\infty$ with its truncation error.

    Powers are added until the tail is proven to be below `tolerance` times the sum. The value includes
    the bound on the tail, so it is always an upper bound. Infinite if the matrix is not bounded and `steps` is not
    given.
    """
    A = _checked(matrix)
    _check_u_max(u_max)
    check_between("steps", steps, 0.0, math.inf, "at least 0")
    check_between("tolerance", tolerance, 0.0, 1.0, "between 0 and 1", open_low=True)
    if steps == math.inf and not is_bounded(A):
        return Bound(math.inf, math.inf, 0)
    total, power, powers, tail = 0.0, np.eye(len(A)), 0, math.inf
    while powers < steps:
        q = _norm(power)
        if powers and q < 1:
            tail = total * q / (1 - q)
            if tail <= tolerance * total or powers >= _MOST_POWERS:
                break
        total, power, powers = total + q, power @ A, powers + 1
    else:
        tail = 0.0
    return Bound(u_max * (total + tail), u_max * tail, powers)


def transient_growth(matrix: AnyArray) -> Growth:
    r"""The worst transient growth $\max_{k\ge 0}\|A^k\|_\infty$ of a bounded matrix.

    A memory with $\rho(A)<1$ can still swell before it fades. The search stops at the first $m \ge 1$ with
    $\|A^m\|_\infty < 1$: by submultiplicativity no later power exceeds those before it.
    """
    A = _checked(matrix)
    if not is_bounded(A):
        raise ValueError(f"matrix must have a spectral radius below 1 to have a worst growth, got {spectral_radius(A)}")
    worst, power, step = Growth(1.0, 0), A, 1
    while (norm := _norm(power)) >= 1:
        if norm > worst.factor:
            worst = Growth(norm, step)
        power, step = power @ A, step + 1
    return worst


def design(matrix: AnyArray, u_max: float = 1.0, non_negative: bool = True) -> Design:
    """Checks a memory matrix before it is used, and explains the verdict.

    Args:
        matrix: the memory transition matrix A, one row and column per agent.
        u_max: the largest utility of a step.
        non_negative: whether the memory must stay non-negative, as log-Nash and α-fair welfare require. Pass
            False for welfare functions that accept negative values (utilitarian, egalitarian).
    """
    A = _checked(matrix)
    _check_u_max(u_max)
    radius, bounded = spectral_radius(A), is_bounded(A)
    against = [] if bounded else [_why_unbounded(radius)]
    if non_negative and (A < 0).any():
        i, j = (int(x) for x in np.argwhere(A < 0)[0])
        against.append(
            f"Entry ({i}, {j}) is {A[i, j]:g}: utility of agent {j} lowers the remembered utility of agent {i}, "
            "which can fall below zero, where log-Nash and alpha-fair welfare are undefined."
        )
    if not bounded:
        return Design(False, tuple(against), radius, None, None)
    reach, growth = bound(A, u_max), transient_growth(A)
    remarks = [
        f"The spectral radius is {radius:.6g}, below 1, so the memory forgets.",
        f"With utilities up to {u_max:g}, it never exceeds {reach.value:.6g}.",
    ]
    if growth.factor > 1:
        remarks.append(
            f"Before it fades, a utility can grow to {growth.factor:.4g} times its size (at step {growth.step})."
        )
    return Design(not against, tuple(against + remarks), radius, reach, growth)


def power(matrix: Array, elapsed: Number) -> Array:
    r"""$A^{\text{elapsed}}$: how a linear memory fades over real time.

    Whole numbers of steps work for every matrix. A fraction of a step needs a matrix with a real fractional power,
    which a matrix with negative real eigenvalues does not have.
    """
    if is_traced(elapsed) or np.ndim(elapsed):
        raise ValueError(f"elapsed must be a plain number for a linear memory, got {elapsed!r}")
    if elapsed == 1:
        return matrix
    if float(elapsed).is_integer():
        return np.linalg.matrix_power(np.asarray(matrix), int(elapsed))
    with needed_by("a linear memory that fades over a fraction of a step"):
        from scipy.linalg import fractional_matrix_power

    result: np.ndarray = fractional_matrix_power(np.asarray(matrix, dtype=float), float(elapsed))
    if np.iscomplexobj(result):
        if np.abs(result.imag).max() > 1e-9 * max(1.0, np.abs(result.real).max()):
            raise ValueError(
                f"elapsed must be a whole number for a matrix with negative real eigenvalues, got {elapsed}"
            )
        result = result.real
    return result


def _checked(matrix: AnyArray) -> Floats:
    return np.asarray(check_square("matrix", matrix), dtype=float)


def _check_u_max(u_max: float) -> None:
    check_between("u_max", u_max, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)


def _why_unbounded(radius: float) -> str:
    if radius > 1 + 1e-9:
        return (
            f"The spectral radius is {radius:.6g}, above 1: a single utility grows without bound, "
            f"about {radius:.4g}-fold each step."
        )
    return (
        f"The spectral radius is {radius:.6g}, not below 1: part of the past is never forgotten, so constant "
        "utilities add up without bound, as under perfect recall."
    )


def _norm(matrix: Floats) -> float:
    return float(np.abs(matrix).sum(axis=1).max())
