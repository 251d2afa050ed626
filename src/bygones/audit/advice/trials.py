r"""Rules and memories tried on a history, judged period by period, and the choice among them.

Every trial replays all decisions; each decision knows only what came before it. A trial is judged by the totals
of agents within *periods*: $x_i / (w_i\,p_i)$, where $w_i$ is the entitlement and $p_i$ the part of the period in which
the agent took part. The *worst-off quarter* are those with the least of it (of burdens, with the most), a quarter of
all $w_i\,p_i$. The first period is left out, because every memory starts empty. Periods overlap by three quarters,
and so no memory gains by beginning and ending with them.

Differences between two trials are taken period by period, and their uncertainty is a bootstrap of runs of neighbouring
periods, each with one of the draws among ties.

The simple choice is a half-life as long as a period and the rule `one-step`. Another is recommended only if it is
clearly better: by at least 5%, with an interval above zero that allows for the number of comparisons. It may be better
for the worst-off quarter, or no worse for them, without much longer waits, and better in total. Of several such, the
simplest is taken that is within 5% of the best for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from bygones.audit.replay.courses import Course
from bygones.audit.replay.memories import Alternative
from bygones.audit.replay.past_decisions import Decisions, measure
from bygones.kinds import Kind

WORST = 0.25
"""The part of the agents who are called the worst-off."""

QUARTERS = 4
"""A period is divided into this many parts, and periods begin at each of them."""

RESAMPLES = 4000
"""How often the periods are resampled."""

LEVEL = 0.95
"""How sure an interval is, all comparisons together."""

WORTH = 0.05
"""The least difference that matters, as a share of an even share."""

LONGER = 2
"""A choice that is better only in total may not make the longest streak of being turned down, or of work, longer than
this many times that of the simple choice."""

LEAST_PERIODS = 4
"""The fewest independent periods by which trials are compared."""

AdviceVerdict = Literal["better", "better in total", "hardly matters", "cannot tell", "nothing to decide"]
"""How the recommendation compares with the simple choice: better for the worst-off quarter, no worse for them and
better in total, the simple choice itself since nothing is better, the simple choice since there are too few periods to
compare, or since there never was a choice."""


class Gain(NamedTuple):
    """How much better one trial is than another, per period: the mean and its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class JudgedTrials:
    """Trials judged by the totals within periods.

    Attributes:
        worst: the mean total of the worst-off quarter in a period, by trial, draw and group of neighbouring periods.
        total: the total of all, in the same way.
        gini: the Gini coefficient.
        level: the even share of a period, by trial.
        kind: goods or burdens.
    """

    worst: np.ndarray
    total: np.ndarray
    gini: np.ndarray
    level: np.ndarray
    kind: Kind

    @property
    def n_periods(self) -> int:
        """The number of independent periods."""
        return int(self.worst.shape[2])

    def mean(self, what: np.ndarray, trial: int) -> float:
        """The mean of a measure over draws and periods."""
        return float(what[trial].mean())

    def gain(self, what: np.ndarray, trial: int, other: int, comparisons: int = 1) -> Gain:
        """How much better a trial is than another: more of goods, less of burdens."""
        sign = -1.0 if self.kind == "burden" else 1.0
        differences = sign * (what[trial] - what[other])
        drawn = differences[_draws(*differences.shape)].mean(axis=1)
        tail = (1 - LEVEL) / 2 / comparisons
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return Gain(float(differences.mean()), float(low), float(high))

    def better(self, trial: int, other: int, simple: int, comparisons: int) -> bool:
        """Whether a trial is clearly better for the worst-off quarter, by a part of an even share of a period.

        `simple` is the trial whose even share counts, `comparisons` how many are made in all.
        """
        gain = self.gain(self.worst, trial, other, comparisons)
        return gain.low > 0 and gain.mean >= WORTH * self.level[simple]

    def better_in_total(self, trial: int, simple: int, comparisons: int) -> bool:
        """Whether a trial is clearly better in total than the simple choice, and no worse for the worst-off quarter."""
        gain = self.gain(self.total, trial, simple, comparisons)
        enough = gain.mean >= WORTH * self.mean(self.total, simple)
        return gain.low > 0 and enough and self.gain(self.worst, trial, simple).mean >= 0

    def part(self, of: slice) -> JudgedTrials:
        """The same, judged by some of the periods only."""
        worst, total, gini = (each[:, :, of] for each in (self.worst, self.total, self.gini))
        return replace(self, worst=worst, total=total, gini=gini)


def _draws(n_draws: int, n_periods: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of resampled periods in runs of neighbours, each with one draw among ties."""
    rng = np.random.default_rng(0)
    run = max(1, round(n_periods ** (1 / 3)))
    starts = rng.integers(0, n_periods, (RESAMPLES, math.ceil(n_periods / run)))
    periods = (starts[:, :, None] + np.arange(run)).reshape(RESAMPLES, -1)[:, :n_periods] % n_periods
    return np.broadcast_to((np.arange(RESAMPLES) % n_draws)[:, None], periods.shape), periods


def judge(decisions: Decisions, trials: Sequence[Course], period: float, kind: Kind) -> JudgedTrials | None:
    """Judges trials by the totals within periods; None if there are too few periods after the first."""
    times, part = decisions.times, period / QUARTERS
    of_decision = np.floor((times - times[0]) / part).astype(int)
    n_parts = int((times[-1] - times[0] + decisions.usual) // part)
    starts = np.arange(QUARTERS, n_parts - QUARTERS + 1)
    shape = (max(n_parts, int(of_decision[-1]) + 1), len(decisions.who.names))
    exposure = _exposure(decisions, of_decision, shape)
    weights = [exposure[start] * decisions.who.entitlements for start in starts]
    usable = [i for i, each in enumerate(weights) if (each > 0).any()]
    groups = [usable[i : i + QUARTERS] for i in range(0, len(usable), QUARTERS)]
    if len(groups) > 1 and len(groups[-1]) < QUARTERS:
        groups[-2:] = [groups[-2] + groups[-1]]
    if len(groups) < LEAST_PERIODS:
        return None
    n_draws = max(len(each.runs) for each in trials)
    measured = np.empty((len(trials), n_draws, len(groups), 3))
    for i, trial in enumerate(trials):
        for draw in range(n_draws):
            served = trial.runs[draw % len(trial.runs)].served
            received = np.zeros(shape)
            np.add.at(received, (of_decision[decisions.index[served]], decisions.rows[served]), decisions.needs[served])
            sums = {k: received[starts[k] : starts[k] + QUARTERS].sum(axis=0) for k in usable}
            each = {k: _measure(sums[k], weights[k], kind) for k in usable}
            measured[i, draw] = [np.mean([each[k] for k in group], axis=0) for group in groups]
    worst, total, gini = (measured[..., k] for k in range(3))
    level = total.mean(axis=(1, 2)) / np.mean([weights[k].sum() for k in usable])
    return JudgedTrials(worst, total, gini, level, kind)


def _exposure(decisions: Decisions, of_decision: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """For the period that begins with each part: the share of its decisions in which each agent took part.

    An agent takes part from its first request in the history to its last, and not in a period in which it never asks.
    """
    first, last, asks = decisions.first, decisions.last, np.zeros(shape)
    np.add.at(asks, (of_decision[decisions.index], decisions.rows), 1)
    edges = np.searchsorted(of_decision, np.arange(shape[0] + 1))
    exposure = np.zeros(shape)
    for start in range(shape[0]):
        low, high = edges[start], edges[min(start + QUARTERS, shape[0])]
        if high > low:
            part = np.clip(np.minimum(last + 1, high) - np.maximum(first, low), 0, None) / (high - low)
            exposure[start] = np.where(asks[start : start + QUARTERS].sum(axis=0) > 0, part, 0.0)
    return exposure


def _measure(received: np.ndarray, weights: np.ndarray, kind: Kind) -> tuple[float, float, float]:
    """The mean total of the worst-off quarter, the total of all, and the Gini coefficient."""
    took_part = weights > 0
    received, weights = received[took_part], weights[took_part]
    levels = received / weights
    order = np.argsort(-levels if kind == "burden" else levels)
    before = np.cumsum(weights[order]) - weights[order]
    counts = np.clip(WORST * weights.sum() - before, 0.0, weights[order])
    gini = measure(received, weights).gini
    return float(counts @ levels[order] / counts.sum()), float(received.sum()), 0.0 if math.isnan(gini) else gini


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trials:
    """Trials, and their comparison.

    Attributes:
        trials: the courses that were replayed, the actual one first. Empty if there was nothing to decide.
        judged: the trials judged by the totals within periods; None if there are too few.
        period: the time over which shares should even out.
    """

    trials: tuple[Course, ...]
    judged: JudgedTrials | None
    period: float

    def index(self, memory: Alternative, rule: str) -> int:
        """The trial of a memory and a rule; the actual course is none."""
        return next(i for i, each in enumerate(self.trials) if i and each.memory == memory and each.rule == rule)

    def fading(self) -> list[int]:
        """The trials of half-lives, perfect recall among them."""
        return [i for i, each in enumerate(self.trials) if i and each.memory.is_half_life]

    @property
    def simple(self) -> int:
        """The trial of the simple choice."""
        return self.index(nearest([self.trials[i].memory for i in self.fading()], self.period), "one-step")

    @property
    def _comparisons(self) -> int:
        return len(self.fading()) - 1

    def gain(self, trial: int, other: int) -> Gain:
        """How much more a trial gives the worst-off quarter than another, with an interval for all comparisons."""
        if self.judged is None:
            raise ValueError("there are too few periods to compare trials")
        return self.judged.gain(self.judged.worst, trial, other, self._comparisons)

    def clearly_better(self, trial: int, other: int) -> bool:
        """Whether a trial is better for the worst-off quarter than another, beyond chance and by more than a little."""
        return self.judged is not None and self.judged.better(trial, other, self.simple, self._comparisons)

    def choose(self, reported: bool) -> tuple[AdviceVerdict, int]:
        """The simple choice, or the simplest choice that is clearly better and about as good as the best."""
        simple, pool, judged, trials = self.simple, self.fading(), self.judged, self.trials
        if judged is None:
            return "cannot tell", simple
        if reported:
            pool = [i for i in pool if trials[i].rule == "one-step"]
        verdict: AdviceVerdict = "better"
        better = [i for i in pool if self.clearly_better(i, simple)]
        if not better:
            verdict = "better in total"
            patient = [i for i in pool if trials[i].longest <= LONGER * trials[simple].longest]
            better = [i for i in patient if judged.better_in_total(i, simple, self._comparisons)]
        if not better:
            return "hardly matters", simple
        sign = -1.0 if judged.kind == "burden" else 1.0
        best = max(better, key=lambda i: sign * judged.mean(judged.worst, i))
        good = [i for i in better if judged.gain(judged.worst, best, i).mean < WORTH * judged.level[simple]]
        of_period = {i: abs(math.log(trials[i].memory.length / self.period)) for i in good}
        return verdict, min(good, key=lambda i: (trials[i].rule != "one-step", of_period[i]))

    def choose_early(self, reported: bool) -> tuple[Alternative, str, float] | None:
        """The choice by the first half of the periods, and its gain in the second as a share of the simple choice's."""
        if self.judged is None or self.judged.n_periods < 2 * LEAST_PERIODS:
            return None
        middle, simple = self.judged.n_periods // 2, self.simple
        _, trial = replace(self, judged=self.judged.part(slice(0, middle))).choose(reported)
        later = self.judged.part(slice(middle, None))
        usual = later.mean(later.worst, simple)
        if not usual:
            return None
        chosen = self.trials[trial]
        return chosen.memory, chosen.rule, later.gain(later.worst, trial, simple).mean / usual


def compare(decisions: Decisions, trials: Sequence[Course], period: float, kind: Kind) -> Trials:
    """Compares trials by the totals within periods."""
    judged = judge(decisions, trials, period, kind) if trials else None
    return Trials(trials=tuple(trials), judged=judged, period=period)


def nearest(memories: Sequence[Alternative], period: float) -> Alternative:
    """The half-life nearest to a period, by ratio."""
    return min((each for each in memories if each.is_half_life), key=lambda each: abs(math.log(each.length / period)))
