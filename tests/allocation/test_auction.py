import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from bygones.allocation.solvers import auction as module
from bygones.allocation.solvers.auction import auction


def instances(count, rng):
    for number in range(count):
        n, m = rng.integers(1, 8, 2)
        gains = rng.integers(1, 4, (n, m)).astype(float) if number % 2 else rng.random((n, m)) + 0.01
        yield gains, rng.random((n, m)) < 0.7


# Without rounds every agent is placed along an augmenting path; with many, almost all by bidding.
@pytest.mark.parametrize("rounds", [0.0, 0.2, 20.0])
def test_it_finds_as_much_as_the_dense_solver(rounds, monkeypatch):
    monkeypatch.setattr(module, "_ROUNDS_PER_AGENT", rounds)
    for gains, allowed in instances(150, np.random.default_rng(0)):
        pairs = np.nonzero(allowed)
        holds = auction(sparse.csr_array((gains[pairs], pairs), shape=gains.shape), np.zeros(len(gains)))
        served = np.flatnonzero(holds >= 0)
        assert allowed[served, holds[served]].all()
        assert len(set(holds[served])) == len(served)
        full = np.where(allowed, gains, 0.0)
        best = full[linear_sum_assignment(full, maximize=True)].sum()
        assert gains[served, holds[served]].sum() == pytest.approx(best)


def test_a_large_one_is_proven_by_the_dense_solver():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random((300, 300)) < 0.03, rng.random((300, 300)), 0.0)
    holds = auction(sparse.csr_array(gains), np.zeros(300))
    served = np.flatnonzero(holds >= 0)
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert gains[served, holds[served]].sum() == pytest.approx(best, rel=1e-12)


def test_who_loses_by_going_without_is_served():
    gains = sparse.csr_array(np.array([[5.0, 0.0], [5.0, 4.0], [0.0, 4.5]]))
    assert auction(gains, np.zeros(3)).tolist() == [0, -1, 1]
    assert auction(gains, np.array([0.0, -100.0, 0.0]))[1] >= 0


def test_the_highest_bid_gets_the_item():
    gains = sparse.csr_array(np.array([[5.0, 0.0], [6.0, 0.0], [0.0, 4.0]]))
    assert auction(gains, np.zeros(3), to_the_end=False).tolist() == [-1, 0, 1]
