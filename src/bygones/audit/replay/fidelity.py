"""How far the replay of a cluster's policy in force is from what happened: by the waits of jobs, and by their order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bygones.audit.replay.queued_jobs import MINUTE, Jobs

LEAST_TAU = 0.6
"""Users and jobs are named if Kendall's tau of the order of starts is at least this."""

MOST_ERROR = 0.25
"""Users and jobs are named if the median error of waits is at most this part of the mean wait of jobs that waited."""

CLEAR = 1.25
"""A change is clear if it is at least this many times the root mean square error of the policy in force."""

PAIRS = 200_000
"""The most pairs of jobs whose order is compared; of more, so many are sampled."""


class Fidelity(NamedTuple):
    """How far the replay of the policy in force is from what happened.

    Attributes:
        error: the median error of the waits of the jobs that waited a minute or more, in microseconds.
        wait: the mean wait of these jobs, actually.
        waited: the number of these jobs, in what happened or in the replay.
        tau: Kendall's tau of the order of starts, over pairs of jobs that were in the queue at the same time.
        pairs: the number of these pairs.
    """

    error: float
    wait: float
    waited: int
    tau: float
    pairs: int

    @property
    def is_enough(self) -> bool:
        """Whether the replay is near enough to what happened to name users and jobs."""
        return self.tau >= LEAST_TAU and self.error <= MOST_ERROR * self.wait


def clear(changes: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Changes against what happened, on average over draws, or 0 where they are not clear.

    A change is clear if it is more than a minute with the same sign in every draw, and if it is `CLEAR` times as large
    as the root mean square of the errors that the policy in force makes at the same place.

    Args:
        changes: a row per draw.
        errors: the errors of the policy in force, a row per draw.
    """
    mean = changes.mean(axis=0)
    same = (changes > MINUTE).all(axis=0) | (changes < -MINUTE).all(axis=0)
    return np.where(same & (np.abs(mean) >= CLEAR * np.sqrt((errors**2).mean(axis=0))), mean, 0.0)


def fidelity(jobs: Jobs, replayed: np.ndarray) -> Fidelity:
    """How far a replay of the policy in force is from what happened."""
    actual, wait = jobs.start - jobs.submit, replayed - jobs.submit
    waited = (actual >= MINUTE) | (wait >= MINUTE)
    error = float(np.median(np.abs(wait - actual)[waited])) if waited.any() else 0.0
    one, other = _pairs(jobs)
    signs = np.sign(jobs.start[one] - jobs.start[other]) * np.sign(replayed[one] - replayed[other])
    apart = int((signs != 0).sum())
    # Without a pair that tells anything, nothing contradicts the replay.
    tau = float(signs.sum() / apart) if apart else 1.0
    return Fidelity(error, float(actual[waited].mean()) if waited.any() else 0.0, int(waited.sum()), tau, apart)


def _pairs(jobs: Jobs) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of jobs that were in the queue at the same time: one was submitted while the other waited."""
    first = np.arange(len(jobs)) + 1
    number = np.maximum(np.searchsorted(jobs.submit, jobs.start, side="left") - first, 0)
    ends = np.cumsum(number)
    total = int(ends[-1])
    which = np.arange(total) if total <= PAIRS else np.sort(np.random.default_rng(0).integers(0, total, PAIRS))
    one = np.searchsorted(ends, which, side="right")
    return one, first[one] + which - (ends[one] - number[one])
