"""The question that each of the paper's claims asks of results; `bygones.paper.paper_claims` has words and quotes.

Fairness is judged by the Gini coefficient of true utilities, which can be compared across memories and welfare
functions; fairness scores cannot, and are used only where a claim is about them. *Fair* has the paper's meaning, which
compares agents with each other: nearer to equality than to the myopic agent with the same seed, in the same cell. No
fixed Gini would work, because chance alone makes short episodes unequal: over 100 steps even the best stationary policy
has a Gini of 0.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from bygones.paper.cells import Cells, PerSeed, mean_of
from bygones.paper.grid import AGGREGATIONS, GAMMAS, HORIZONS, WEIGHT, memory_label
from bygones.paper.judging import (
    EQUIVALENCE_LEVEL,
    LEVEL,
    Asked,
    Comparison,
    DoesNotArise,
    Some,
    difference_within,
    number_within,
    within,
)
from bygones.paper.results import Results

FAIR_SHARE = 0.5
"""A run is fair if its Gini is below this share of the myopic agent's: nearer to equality than to myopia."""

MARGIN = 0.05
"""The smallest difference in Gini that matters. The paper's contrasts are visible on an axis from 0 to 0.8, where two
curves less than 0.05 apart look the same."""

MYOPIC_UTILITY = (1.7, 1.9)
"""The range that counts as 1.8 per step: closer to 1.8 than to 1.6 or 2.0."""

LOOKS_FINE = 0.25
"""A fairness score looks similar to another if it lies within this share of the way from it to the myopic agent's."""

GROWS = 0.5
"""The rank correlation from which a quantity counts as growing with the horizon."""

MORE_STEPS = 10_000_000
"""The "sufficient time" of C13: ten times the paper's steps."""

MYOPIC, RECALL = 0.0, 1.0
DISCOUNTED = (0.9, 0.99, 0.999)
REMEMBERING = (*DISCOUNTED, RECALL)
SHORT, UP_TO_WINDOW, LONG = (100, 500), (100, 500, 1000), (5000, 10000)

Ask = Iterator[Asked]


def c1a(cells: Cells, welfare: str) -> Ask:
    """In every cell some memory is fair."""
    for aggregation in AGGREGATIONS:
        for horizon in HORIZONS:
            yield Some(tuple((fair(cells, welfare, aggregation, gamma, horizon),) for gamma in REMEMBERING))


def c1b(cells: Cells, welfare: str) -> Ask:
    """In every cell the myopic agent's utility per step is about 1.8."""
    for aggregation in AGGREGATIONS:
        for horizon in HORIZONS:
            utility = cells.seeds("utility_per_step", welfare, aggregation, MYOPIC, horizon)
            yield within(f"myopic utility per step, {_where(welfare, aggregation, horizon)}", utility, *MYOPIC_UTILITY)


def c2(cells: Cells, welfare: str) -> Ask:
    """Perfect recall is fair at T ≤ 500."""
    for horizon in SHORT:
        yield fair(cells, welfare, "additive", RECALL, horizon)


def c3(cells: Cells, welfare: str) -> Ask:
    """At T = 10000 perfect recall is not fairer than the myopic agent."""
    myopic, recall = (cells.seeds("gini", welfare, "additive", gamma, 10000) for gamma in (MYOPIC, RECALL))
    what = f"Gini of myopic less that of perfect recall, {_where(welfare, 'additive', 10000)}"
    yield difference_within(what, myopic, recall, high=MARGIN)


def c4a(cells: Cells, welfare: str) -> Ask:
    """Some discounted memory is fair at every horizon."""
    yield Some(
        tuple(tuple(fair(cells, welfare, "additive", gamma, T) for T in HORIZONS) for gamma in DISCOUNTED)
    )  # fmt: skip


def c4b(cells: Cells, welfare: str) -> Ask:
    """Every discounted memory is fair at every horizon."""
    for gamma in DISCOUNTED:
        if (welfare, gamma) != ("egalitarian", 0.9):
            for horizon in HORIZONS:
                yield fair(cells, welfare, "additive", gamma, horizon)


def c5a(cells: Cells, welfare: str) -> Ask:
    """γ = 0.999 and perfect recall are equivalent up to T = 1000."""
    for horizon in UP_TO_WINDOW:
        long, recall = (cells.seeds("gini", welfare, "additive", gamma, horizon) for gamma in (0.999, RECALL))
        what = f"Gini of γ = 0.999 less that of perfect recall, {_where(welfare, 'additive', horizon)}"
        yield difference_within(what, long, recall, -MARGIN, MARGIN, EQUIVALENCE_LEVEL)


def c5b(cells: Cells, welfare: str) -> Ask:
    """γ = 0.99 and perfect recall are equivalent at T = 100, the effective window of γ = 0.99."""
    for aggregation in AGGREGATIONS:
        short, recall = (cells.seeds("gini", welfare, aggregation, gamma, 100) for gamma in (0.99, RECALL))
        what = f"Gini of γ = 0.99 less that of perfect recall, {_where(welfare, aggregation, 100)}"
        yield difference_within(what, short, recall, -MARGIN, MARGIN, EQUIVALENCE_LEVEL)


def c6a(cells: Cells, welfare: str) -> Ask:
    """Beyond T = 1000 perfect recall is less fair than γ = 0.999."""
    for horizon in LONG:
        recall, long = (cells.seeds("gini", welfare, "additive", gamma, horizon) for gamma in (RECALL, 0.999))
        what = f"Gini of perfect recall less that of γ = 0.999, {_where(welfare, 'additive', horizon)}"
        yield difference_within(what, recall, long, low=MARGIN)


def c6b(cells: Cells, welfare: str) -> Ask:
    """Beyond T = 1000 γ = 0.999 is fairer than at T = 1000."""
    for horizon in LONG:
        yield _rise(cells, welfare, "additive", 0.999, horizon, (1000,), high=0.0)


def c6c(cells: Cells, welfare: str) -> Ask:
    """Perfect recall is less fair at T ≥ 5000 than at T ≤ 500."""
    for horizon in LONG:
        yield _rise(cells, welfare, "additive", RECALL, horizon, SHORT, low=MARGIN)


def c7(cells: Cells, welfare: str) -> Ask:
    """γ = 0.9 is fair at every horizon."""
    for horizon in HORIZONS:
        yield fair(cells, welfare, "additive", 0.9, horizon)


def c8(cells: Cells, welfare: str) -> Ask:
    """γ = 0.9 is not fair over all horizons together, and γ = 0.99 is fair at every one."""
    yield fair(cells, welfare, "additive", 0.9, *HORIZONS, expected=False)
    yield from c9(cells, welfare)


def c9(cells: Cells, welfare: str) -> Ask:
    """γ = 0.99 is fair at every horizon."""
    for horizon in HORIZONS:
        yield fair(cells, welfare, "additive", 0.99, horizon)


def c10a(cells: Cells, welfare: str) -> Ask:
    """Averaged perfect recall is less fair at T ≥ 5000 than at T ≤ 500."""
    for horizon in LONG:
        yield _rise(cells, welfare, "averaged", RECALL, horizon, SHORT, low=MARGIN)


def c10b(cells: Cells, welfare: str) -> Ask:
    """Averaged discounted memories are not less fair at T ≥ 5000 than at T ≤ 500."""
    for gamma in DISCOUNTED:
        for horizon in LONG:
            yield _rise(cells, welfare, "averaged", gamma, horizon, SHORT, high=MARGIN)


def c10c(cells: Cells, welfare: str) -> Ask:
    """Some averaged discounted memory is fair at every horizon."""
    yield Some(tuple(tuple(fair(cells, welfare, "averaged", gamma, T) for T in HORIZONS) for gamma in DISCOUNTED))


def c10d(cells: Cells, welfare: str) -> Ask:
    """Every averaged discounted memory is fair at every horizon."""
    for gamma in DISCOUNTED:
        for horizon in HORIZONS:
            yield fair(cells, welfare, "averaged", gamma, horizon)


def c11(cells: Cells, welfare: str) -> Ask:
    """Averaged Nash scores are negative; that of perfect recall looks similar to the best, and its Gini is worse."""

    def seeds(metric: str, gamma: float, horizon: int) -> PerSeed:
        return cells.seeds(metric, welfare, "averaged", gamma, horizon)

    scores = [seeds("welfare", gamma, horizon).values for gamma in GAMMAS for horizon in HORIZONS]
    yield number_within(
        "largest fairness score of all averaged Nash runs", float(np.concatenate(scores).max()), high=0.0
    )
    for horizon in LONG:
        where = _where(welfare, "averaged", horizon)
        myopic, recall = (seeds("welfare", gamma, horizon) for gamma in (MYOPIC, RECALL))
        for gamma in DISCOUNTED:
            score = seeds("welfare", gamma, horizon)
            bar = score - LOOKS_FINE * (score - myopic)
            what = f"score of perfect recall less a bar {LOOKS_FINE:g} of the way from that of {memory_label(gamma)}"
            yield difference_within(f"{what} to the myopic agent's, {where}", recall, bar, low=0.0)
        worse = (
            difference_within(
                f"Gini of perfect recall less that of {memory_label(gamma)}, {where}",
                seeds("gini", RECALL, horizon),
                seeds("gini", gamma, horizon),
                low=MARGIN,
            )
            for gamma in DISCOUNTED
        )
        yield Some(tuple((each,) for each in worse))


def c12(cells: Cells, welfare: str) -> Ask:
    """Averaged: over T ≤ 1000 together no memory is fair at λ = 0.9 and every memory is at λ = 0.999."""
    for gamma in REMEMBERING:
        yield fair(cells, welfare, "averaged", gamma, *UP_TO_WINDOW, expected=False, weight=WEIGHT)
        yield fair(cells, welfare, "averaged", gamma, *UP_TO_WINDOW)


def c13a(cells: Cells, welfare: str) -> Ask:
    """At some long horizon perfect recall is unfair after a million steps and fairer after ten million."""
    catching_up = []
    for horizon, unfair in _unfair_after_a_million(cells, welfare).items():
        longer = cells.seeds("gini", welfare, "additive", RECALL, horizon, total_steps=MORE_STEPS)
        shorter = cells.seeds("gini", welfare, "additive", RECALL, horizon)
        what = (
            f"Gini of perfect recall after ten times the steps less that before, {_where(welfare, 'additive', horizon)}"
        )
        catching_up.append((unfair, difference_within(what, longer, shorter, high=-MARGIN)))
    yield Some(tuple(catching_up))


def c13b(cells: Cells, welfare: str) -> Ask:
    """At long horizons perfect recall is fair after a million steps or later than γ = 0.99, by more as T grows."""
    _unfair_after_a_million(cells, welfare)
    trained = {horizon: {"total_steps": MORE_STEPS} if horizon in LONG else {} for horizon in HORIZONS}
    between_points = 0.0
    for horizon in LONG:
        recall = _steps_until_fair(cells, welfare, RECALL, horizon, **trained[horizon])
        discounted = _steps_until_fair(cells, welfare, 0.99, horizon)
        recorded, _ = cells.runs(welfare, "additive", RECALL, horizon, **trained[horizon]).curves("gini")
        between_points = max(between_points, float(recorded[0]))
        what = f"steps until perfect recall is fair less the steps of γ = 0.99, {_where(welfare, 'additive', horizon)}"
        slower = difference_within(what, recall, discounted, low=float(recorded[0]))
        yield Some(((fair(cells, welfare, "additive", RECALL, horizon),), (slower,)))
    steps = [_steps_until_fair(cells, welfare, RECALL, horizon, **trained[horizon]) for horizon in HORIZONS]
    what = f"rank correlation of the horizon and the steps until fair, {welfare} additive"
    yield within(what, _growth(steps, between_points), low=GROWS)


def fair(
    cells: Cells, welfare: str, aggregation: str, gamma: float, *horizons: int, expected: bool = True, **changes: object
) -> Comparison:
    """Asks that a memory is fair over these horizons together, or that it is not."""
    memory, myopic = (
        mean_of([cells.seeds("gini", welfare, aggregation, one, T, **changes) for T in horizons])
        for one in (gamma, MYOPIC)
    )
    weight = "".join(f", λ = {value:g}" for value in changes.values())
    where = f"{welfare} {aggregation}, T = {', '.join(map(str, horizons))}{weight}"
    what = f"Gini of {memory_label(gamma)} less {FAIR_SHARE:g} × that of myopic, {where}"
    asked = {"high": 0.0} if expected else {"low": 0.0}
    return difference_within(what, memory, FAIR_SHARE * myopic, **asked)


def _where(welfare: str, aggregation: str, horizon: int) -> str:
    return f"{welfare} {aggregation}, T = {horizon}"


def _rise(
    cells: Cells,
    welfare: str,
    aggregation: str,
    gamma: float,
    horizon: int,
    shorter: Sequence[int],
    low: float = -np.inf,
    high: float = np.inf,
) -> Comparison:
    """How much the Gini rises from shorter horizons, together, to a longer one."""
    long, short = (
        mean_of([cells.seeds("gini", welfare, aggregation, gamma, T) for T in each]) for each in ((horizon,), shorter)
    )
    together = " and ".join(map(str, shorter))
    what = f"Gini of {memory_label(gamma)} at T = {horizon} less that at T = {together}, {welfare} {aggregation}"
    return difference_within(what, long, short, low, high)


def _unfair_after_a_million(cells: Cells, welfare: str) -> dict[int, Comparison]:
    """Asks of each long horizon that perfect recall is unfair there after a million steps.

    Raises:
        DoesNotArise: it is shown to be fair at all of them, so there is nothing to catch up on.
    """
    asked = {T: fair(cells, welfare, "additive", RECALL, T, expected=False) for T in LONG}
    if all(each.p_fails <= LEVEL for each in asked.values()):
        raise DoesNotArise(
            "perfect recall is shown to be fair after a million steps, so there is nothing to catch up on",
            [each._replace(outcome=False) for each in asked.values()],
        )
    return asked


def _steps_until_fair(cells: Cells, welfare: str, gamma: float, horizon: int, **changes: object) -> PerSeed:
    """The steps from which on each run is fair until its end; `MORE_STEPS` if it ends unfair, however long it was."""
    bar = FAIR_SHARE * cells.seeds("gini", welfare, "additive", MYOPIC, horizon).values.mean()
    runs = cells.runs(welfare, "additive", gamma, horizon, **changes)
    return PerSeed(dict(zip(runs["seed"].tolist(), _steps_until_it_stays_below(bar, runs).tolist(), strict=True)))


def _steps_until_it_stays_below(gini: float, runs: Results) -> np.ndarray:
    """The first of the recorded steps from which on each run's Gini is below a value; `MORE_STEPS` if it ends above.

    Not the first below: a policy that still acts at random is fair, and so is nearly every run where its curve begins.
    """
    steps, ginis = runs.curves("gini")
    below_from_here_on = np.logical_and.accumulate((ginis < gini)[:, ::-1], axis=1)[:, ::-1]
    until: np.ndarray = np.where(below_from_here_on[:, -1], steps[below_from_here_on.argmax(axis=1)], MORE_STEPS)
    return until


def _growth(steps: Sequence[PerSeed], least: float) -> PerSeed:
    """The rank correlation of the horizons and these steps, one set for each; 0 for a seed with equal steps.

    Fewer steps than `least` are not told apart: the curves of long runs begin later.
    """
    common = set.intersection(*(set(one.by_seed) for one in steps))
    by_horizon = {seed: np.maximum([one.by_seed[seed] for one in steps], least) for seed in common}
    return PerSeed(
        {
            seed: float(stats.spearmanr(HORIZONS, some).statistic) if np.ptp(some) else 0.0
            for seed, some in by_horizon.items()
        }
    )
