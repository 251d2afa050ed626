"""Everything that can be decided over and over when needs never change: an oracle for long-run means."""

import itertools

import numpy as np

from bygones.welfare import Welfare


def best_cycle(needs: np.ndarray, gamma: float, judge: Welfare, longest: int) -> float:
    """The largest long-run mean of W(Zᵗ) of all cycles of decisions up to a length, one agent served at each step."""
    best = -np.inf
    for length in range(1, longest + 1):
        served = np.array(list(itertools.product(range(len(needs)), repeat=length)))
        utilities = np.eye(len(needs))[served] * needs
        # What is left of all earlier rounds of the cycle, and then one more round.
        weights = gamma ** np.arange(length - 1, -1, -1)
        Z = np.einsum("t,ctn->cn", weights, utilities) / (1 - gamma**length)
        total = np.zeros(len(served))
        for t in range(length):
            Z = gamma * Z + utilities[:, t]
            total += np.asarray(judge(Z))
        best = max(best, float(total.max()) / length)
    return best
