r"""Rules and memories tried on a history, judged period by period, with the uncertainty of time and of ties.

Every trial replays all decisions; each decision knows only what came before it. A trial is judged by what agents
received within *periods*: $x_i / (w_i\,p_i)$, where $w_i$ is the entitlement and $p_i$ the part of the period in which
the agent took part. The *worst-off quarter* are those with the least of it (of burdens, with the most), a quarter of
all $w_i\,p_i$. The first period is left out, because every memory starts empty. Periods overlap by three quarters, so
that no memory gains by beginning and ending with them.

Differences between two trials are taken period by period, and their uncertainty is a bootstrap of runs of neighbouring
periods, each with one of the draws among ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from bygones.audit.replays.alternatives import Alternative
from bygones.audit.replays.course_runs import CourseRun, as_it_was, replayed
from bygones.audit.replays.replay_setting import ReplaySetting
from bygones.audit.trajectory import measure
from bygones.kinds import Kind

WORST = 0.25
"""The part of the agents who are called the worst-off."""

QUARTERS = 4
"""A period is divided into this many parts, and periods begin at each of them."""

RESAMPLES = 4000
"""How often the periods are drawn anew."""

LEVEL = 0.95
"""How sure an interval is, all comparisons together."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A memory and a rule on the needs of a history; what happened has no rule.

    Attributes:
        memory: what is remembered.
        rule: how it is decided, or `actual`.
        given: for each draw, who received how much in which decision, in three arrays: decision, agent, amount.
        longest: the most times in a row, in any draw, that somebody asked in vain; of burdens, carried.
    """

    memory: Alternative
    rule: str
    given: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]
    longest: int


def trials(
    setting: ReplaySetting,
    memories: Sequence[Alternative],
    rules: Sequence[str],
    kind: Kind,
    draws: int,
    advance: Callable[[float], None],
) -> list[Trial]:
    """What happened, then each rule under each memory; `advance` is told the share of the work that is done."""
    found = [_trial(setting, memories[0], "actual", kind, [as_it_was(setting, memories[0], kind)])]
    for done, (memory, rule) in enumerate(product(memories, rules), 1):
        runs = [replayed(setting, memory, rule, "egalitarian", kind, seed) for seed in range(draws)]
        found.append(_trial(setting, memory, rule, kind, runs))
        advance(done / (len(memories) * len(rules)))
    return found


def _trial(setting: ReplaySetting, memory: Alternative, rule: str, kind: Kind, runs: Sequence[CourseRun]) -> Trial:
    given, longest = [], 0
    for run in runs:
        served = _served(setting, run)
        given.append(_given(setting, served))
        longest = max(longest, _longest(setting, served, kind))
    return Trial(memory, rule, tuple(given), longest)


def _served(setting: ReplaySetting, run: CourseRun) -> list[np.ndarray]:
    """For each decision, which of those who asked were served."""
    found, is_served = [], np.zeros(len(setting.who.names), dtype=bool)
    for request, served in zip(setting.requests, run.served, strict=True):
        is_served[request.who] = False
        is_served[list(served)] = True
        found.append(is_served[request.who])
    return found


def _given(setting: ReplaySetting, served: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    decisions = np.repeat(np.arange(len(served)), [int(each.sum()) for each in served])
    pairs = list(zip(setting.requests, served, strict=True))
    agents = np.concatenate([request.who[each] for request, each in pairs])
    return decisions, agents, np.concatenate([request.needs[each] for request, each in pairs])


def _longest(setting: ReplaySetting, served: Sequence[np.ndarray], kind: Kind) -> int:
    streak, longest = np.zeros(len(setting.who.names), dtype=int), 0
    for request, each in zip(setting.requests, served, strict=True):
        goes_on = each if kind == "burden" else ~each
        streak[request.who] = np.where(goes_on, streak[request.who] + 1, 0)
        longest = max(longest, int(streak[request.who].max()))
    return longest


class Gain(NamedTuple):
    """How much better one trial is than another, per period: the mean and its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class JudgedTrials:
    """Trials judged by what was received within periods.

    Attributes:
        period: the length of a period.
        worst: what the worst-off quarter received in a period, by trial, draw and group of neighbouring periods.
        total: what all received, in the same way.
        gini: the Gini coefficient.
        level: what everybody would have received in a period if it were equal, by trial.
        kind: goods or burdens.
    """

    period: float
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

    def part(self, of: slice) -> JudgedTrials:
        """The same, judged by some of the periods only."""
        worst, total, gini = (each[:, :, of] for each in (self.worst, self.total, self.gini))
        return JudgedTrials(self.period, worst, total, gini, self.level, self.kind)


def _draws(n_draws: int, n_periods: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of resampled periods in runs of neighbours, each with one draw among ties."""
    rng = np.random.default_rng(0)
    run = max(1, round(n_periods ** (1 / 3)))
    starts = rng.integers(0, n_periods, (RESAMPLES, math.ceil(n_periods / run)))
    periods = (starts[:, :, None] + np.arange(run)).reshape(RESAMPLES, -1)[:, :n_periods] % n_periods
    return np.broadcast_to((np.arange(RESAMPLES) % n_draws)[:, None], periods.shape), periods


def judge(setting: ReplaySetting, found: Sequence[Trial], period: float, kind: Kind) -> JudgedTrials | None:
    """Judges trials by what was received within periods; None if there is not one after the first."""
    requests, n = setting.requests, len(setting.who.names)
    times = np.array([request.time for request in requests])
    part = period / QUARTERS
    of_decision = np.floor((times - times[0]) / part).astype(int)
    n_parts = int((times[-1] - times[0] + setting.usual) // part)
    starts = np.arange(QUARTERS, n_parts - QUARTERS + 1)
    exposure = _exposure(setting, of_decision, n_parts, n)
    weights = [exposure[start] * setting.who.entitlements for start in starts]
    usable = [i for i, each in enumerate(weights) if (each > 0).any()]
    groups = [usable[i : i + QUARTERS] for i in range(0, len(usable), QUARTERS)]
    if len(groups) > 1 and len(groups[-1]) < QUARTERS:
        groups[-2:] = [groups[-2] + groups[-1]]
    if not groups:
        return None
    n_draws = max(len(each.given) for each in found)
    measured = np.empty((len(found), n_draws, len(groups), 3))
    level = np.empty(len(found))
    for i, trial in enumerate(found):
        for draw in range(n_draws):
            decision, agent, amount = trial.given[draw % len(trial.given)]
            received = np.zeros((max(n_parts, int(of_decision[-1]) + 1), n))
            np.add.at(received, (of_decision[decision], agent), amount)
            sums = np.array([received[start : start + QUARTERS].sum(axis=0) for start in starts])
            each = np.array([_measure(sums[k], weights[k], kind) for k in usable])
            place = {k: row for row, k in enumerate(usable)}
            for g, group in enumerate(groups):
                measured[i, draw, g] = each[[place[k] for k in group]].mean(axis=0)
        level[i] = measured[i, :, :, 1].mean() / np.mean([weights[k].sum() for k in usable])
    return JudgedTrials(period, measured[..., 0], measured[..., 1], measured[..., 2], level, kind)


def _exposure(setting: ReplaySetting, of_decision: np.ndarray, n_parts: int, n: int) -> np.ndarray:
    """For the period that begins with each part: the share of its decisions in which each agent took part.

    An agent takes part from its first request in the history to its last, and not in a period in which it never asks.
    """
    rows = max(n_parts, int(of_decision[-1]) + 1)
    first, last = np.full(n, len(of_decision)), np.full(n, -1)
    asks = np.zeros((rows, n))
    for i, request in enumerate(setting.requests):
        first[request.who] = np.minimum(first[request.who], i)
        last[request.who] = i
        asks[of_decision[i], request.who] += 1
    order = np.arange(len(of_decision))
    edges = np.searchsorted(of_decision, np.arange(rows + 1))
    found = np.zeros((rows, n))
    for start in range(rows):
        low, high = edges[start], edges[min(start + QUARTERS, rows)]
        here = order[low:high]
        if len(here) and asks[start : start + QUARTERS].any():
            part = np.clip(np.minimum(last + 1, high) - np.maximum(first, low), 0, None) / len(here)
            found[start] = np.where(asks[start : start + QUARTERS].sum(axis=0) > 0, part, 0.0)
    return found


def _measure(received: np.ndarray, weights: np.ndarray, kind: Kind) -> tuple[float, float, float]:
    """What the worst-off quarter received, what all did, and the Gini coefficient."""
    took_part = weights > 0
    received, weights = received[took_part], weights[took_part]
    levels = received / weights
    order = np.argsort(-levels if kind == "burden" else levels)
    before = np.cumsum(weights[order]) - weights[order]
    counts = np.clip(WORST * weights.sum() - before, 0.0, weights[order])
    gini = measure(received, weights).gini
    return float(counts @ levels[order] / counts.sum()), float(received.sum()), 0.0 if math.isnan(gini) else gini
