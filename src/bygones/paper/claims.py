"""The paper's claims C1 to C13, each as a question that results can answer.

Every claim is a function that lists the comparisons that must all be true; its docstring is the criterion. The
thresholds below come from the paper's wording, not from results, with one exception: *fair* meant a Gini below 0.11
until two runs at T = 100 had been seen, and is now relative, for the following reason. Fairness is judged by the Gini
coefficient of true utilities, which can be compared across memories and welfare functions; fairness scores cannot, and
are used only where a claim is about them. *Fair* has the paper's meaning, which compares agents with each other: nearer
to equality than to the myopic agent in the same cell. No fixed Gini would work, because chance alone makes short
episodes unequal: over 100 steps even the best stationary policy has a Gini of 0.11.

A claim is judged under each observation scale separately (docs/decisions.md, row 6). Where scales disagree, the claim
*depends on the observation scale*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from bygones.paper.grid import AGGREGATIONS, GAMMAS, HORIZONS, WEIGHT, WELFARES, in_order, memory_label
from bygones.paper.judging import (
    FAILS,
    HOLDS,
    NOT_ENOUGH,
    PROTOCOL,
    Cells,
    Comparison,
    Verdict,
    difference_within,
    mean_within,
    number_within,
    verdict,
)
from bygones.paper.results import Results

FAIR_SHARE = 0.5
"""A memory is fair if its mean Gini is below this share of the myopic agent's: nearer to equality than to myopia."""

MARGIN = 0.05
"""The smallest difference in Gini that matters. The paper's contrasts are visible on an axis from 0 to 0.8, where two
curves less than 0.05 apart look the same."""

MYOPIC_UTILITY = (1.7, 1.9)
"""What counts as "about 1.8" per step: closer to 1.8 than to 1.6 or 2.0."""

LOOKS_FINE = 0.25
"""A fairness score "looks fine" if it lies within this share of the way from the best memory to the myopic agent."""

GROWS = 0.5
"""The rank correlation from which a quantity counts as growing with the horizon."""

MORE_STEPS = 10_000_000
"""The "more steps" of C13: ten times the paper's."""

ASKED_ABOUT = ("total_steps", "weight")
"""The parts of the protocol that claims vary: C13 the steps, C12 the weight λ."""

MYOPIC, RECALL = 0.0, 1.0
DISCOUNTED = (0.9, 0.99, 0.999)
SHORT, UP_TO_WINDOW, LONG = (100, 500), (100, 500, 1000), (5000, 10000)

Ask = Iterator[Comparison]

Claim: TypeAlias = Callable[[Cells], Ask]

CLAIMS: dict[str, Claim] = {}
"""Every claim by its name, in the order in which they are judged."""


def claim(function: Claim) -> Claim:
    """A decorator: adds a claim, named after its function in capitals.

    The first paragraph of its docstring is the claim, the rest its criterion. The criterion may name thresholds of its
    module in backticks, such as `MARGIN`; readers are shown their values.
    """
    name = function.__name__.upper()
    if "\n\n" not in (function.__doc__ or ""):
        raise ValueError(f"claim {name} needs a docstring: the claim, an empty line, and the criterion")
    if name in CLAIMS and CLAIMS[name].__module__ != function.__module__:
        raise ValueError(f"claim {name} exists already: choose another name")
    CLAIMS[name] = function
    return function


@claim
def c1(cells: Cells) -> Ask:
    """Myopic is the least fair everywhere and settles at a utility of about 1.8 a step.

    In every cell no memory's mean Gini is above the myopic agent's by more than `MARGIN`, and the myopic agent's mean
    utility per step lies in the range `MYOPIC_UTILITY`.
    """
    for welfare in WELFARES:
        for aggregation in AGGREGATIONS:
            for horizon in HORIZONS:
                cell, where = (welfare, aggregation, MYOPIC, horizon), _where(welfare, aggregation, horizon)
                myopic = cells.seeds("gini", *cell)
                for gamma in GAMMAS:
                    if gamma != MYOPIC:
                        other = cells.seeds("gini", welfare, aggregation, gamma, horizon)
                        what = f"Gini of {memory_label(gamma)} less that of myopic, {where}"
                        yield difference_within(what, other, myopic, high=MARGIN)
                what = f"myopic utility per step, {where}"
                yield mean_within(what, cells.seeds("utility_per_step", *cell), *MYOPIC_UTILITY)


@claim
def c2(cells: Cells) -> Ask:
    """Perfect recall is effective for T ≤ 500.

    Additive, both welfare functions, T = 100 and 500: it is fair.
    """
    for welfare in WELFARES:
        yield from _fair(cells, welfare, RECALL, SHORT)


@claim
def c3(cells: Cells) -> Ask:
    """At T=10000 perfect recall is no fairer than myopic, under both welfare functions.

    Additive, T = 10000: the myopic agent's mean Gini is above perfect recall's by no more than `MARGIN`.
    """
    for welfare in WELFARES:
        myopic, recall = (cells.seeds("gini", welfare, "additive", gamma, 10000) for gamma in (MYOPIC, RECALL))
        what = f"Gini of myopic less that of perfect recall, {_where(welfare, 'additive', 10000)}"
        yield difference_within(what, myopic, recall, high=MARGIN)


@claim
def c4(cells: Cells) -> Ask:
    """Past-discounted agents stay fair at every horizon.

    Additive, every horizon: γ = 0.9, 0.99 and 0.999 are fair; γ = 0.9 under Nash welfare only, since the paper itself
    excepts it under egalitarian welfare (C8).
    """
    for welfare in WELFARES:
        for gamma in DISCOUNTED:
            if (welfare, gamma) != ("egalitarian", 0.9):
                yield from _fair(cells, welfare, gamma, HORIZONS)


@claim
def c5(cells: Cells) -> Ask:
    """γ=0.999 follows perfect recall up to T=1000.

    Additive, both welfare functions, T = 100, 500 and 1000: the two mean Ginis differ by at most `MARGIN`.
    """
    for welfare in WELFARES:
        for horizon in UP_TO_WINDOW:
            long, recall = (cells.seeds("gini", welfare, "additive", gamma, horizon) for gamma in (0.999, RECALL))
            what = f"Gini of γ = 0.999 less that of perfect recall, {_where(welfare, 'additive', horizon)}"
            yield difference_within(what, long, recall, -MARGIN, MARGIN)


@claim
def c6(cells: Cells) -> Ask:
    """Beyond T=1000 perfect recall collapses while γ=0.999 improves.

    Additive, both welfare functions, T = 5000 and 10000: compared with T = 1000 perfect recall's mean Gini is higher by
    more than `MARGIN`, and that of γ = 0.999 is lower.
    """
    for welfare in WELFARES:
        for horizon in LONG:
            yield _rise(cells, welfare, "additive", RECALL, horizon, low=MARGIN)
            yield _rise(cells, welfare, "additive", 0.999, horizon, high=0.0)


@claim
def c7(cells: Cells) -> Ask:
    """Under Nash welfare γ=0.9 is enough.

    Additive Nash, every horizon: it is fair.
    """
    yield from _fair(cells, "nash", 0.9, HORIZONS)


@claim
def c8(cells: Cells) -> Ask:
    """Under egalitarian welfare γ=0.9 is not enough and γ=0.99 is.

    Additive egalitarian: γ = 0.99 is fair at every horizon, and γ = 0.9 is not: at the horizon where its Gini is
    highest it is above `FAIR_SHARE` of the myopic agent's.
    """
    yield from _fair(cells, "egalitarian", 0.99, HORIZONS)
    worst = max(HORIZONS, key=lambda horizon: cells.seeds("gini", "egalitarian", "additive", 0.9, horizon).mean())
    yield _fairness(cells, "egalitarian", "additive", 0.9, (worst,), low=0.0)


@claim
def c9(cells: Cells) -> Ask:
    """γ=0.99 is robust under both welfare functions.

    Additive, both welfare functions, every horizon: it is fair.
    """
    for welfare in WELFARES:
        yield from _fair(cells, welfare, 0.99, HORIZONS)


@claim
def c10(cells: Cells) -> Ask:
    """Averaged utilities: perfect recall degrades from T=5000 on, past-discounted stays stable.

    Averaged, both welfare functions, T = 5000 and 10000, compared with T = 1000: perfect recall's mean Gini is higher
    by more than `MARGIN`; that of γ = 0.9, 0.99 and 0.999 is higher by no more than `MARGIN`.
    """
    for welfare in WELFARES:
        for horizon in LONG:
            yield _rise(cells, welfare, "averaged", RECALL, horizon, low=MARGIN)
            for gamma in DISCOUNTED:
                yield _rise(cells, welfare, "averaged", gamma, horizon, high=MARGIN)


@claim
def c11(cells: Cells) -> Ask:
    """Averaged Nash: every fairness score is negative; perfect recall looks fine there but its Gini is worse.

    Averaged Nash: the largest fairness score of all runs is below 0. At T = 5000 and 10000 perfect recall's mean score
    is within `LOOKS_FINE` of the way from the best memory's to the myopic agent's, and its mean Gini is above that of
    the memory with the lowest by more than `MARGIN`.
    """
    scores = [cells.seeds("welfare", "nash", "averaged", gamma, horizon) for gamma in GAMMAS for horizon in HORIZONS]
    yield number_within(
        "largest fairness score of all averaged Nash runs", float(np.concatenate(scores).max()), high=0.0
    )
    for horizon in LONG:
        where = _where("nash", "averaged", horizon)
        score = {gamma: cells.seeds("welfare", "nash", "averaged", gamma, horizon) for gamma in GAMMAS}
        best = max(score, key=lambda gamma: score[gamma].mean())
        way = score[best].mean() - score[MYOPIC].mean()
        what = f"how far perfect recall's score is from the best towards the myopic agent's, {where}"
        yield mean_within(what, (score[best].mean() - score[RECALL]) / way, high=LOOKS_FINE)
        ginis = {gamma: cells.seeds("gini", "nash", "averaged", gamma, horizon) for gamma in DISCOUNTED}
        fairest = min(ginis, key=lambda gamma: ginis[gamma].mean())
        recall = cells.seeds("gini", "nash", "averaged", RECALL, horizon)
        what = f"Gini of perfect recall less that of {memory_label(fairest)}, {where}"
        yield difference_within(what, recall, ginis[fairest], low=MARGIN)


@claim
def c12(cells: Cells) -> Ask:
    """Averaged egalitarian: all struggle at λ=0.9 and learn at λ=0.999.

    Averaged egalitarian, γ = 0.9, 0.99, 0.999 and perfect recall, each over T = 100, 500 and 1000 together (beyond, the
    paper has perfect recall degrade anyway): none is fair at λ = 0.9, all are at λ = 0.999.
    """
    for gamma in (*DISCOUNTED, RECALL):
        yield _fairness(cells, "egalitarian", "averaged", gamma, UP_TO_WINDOW, low=0.0, weight=WEIGHT)
        yield _fairness(cells, "egalitarian", "averaged", gamma, UP_TO_WINDOW, high=0.0)


@claim
def c13(cells: Cells) -> Ask:
    """Perfect recall is a matter of sample complexity: it catches up with more steps, ever more slowly as T grows.

    Additive, both welfare functions: with ten times the steps perfect recall's mean Gini at T = 5000 and 10000 is lower
    by more than `MARGIN`; and for each seed the steps until it is fair (all steps if it never is, from the longer runs
    at T ≥ 5000) grow with the horizon: their mean rank correlation is at least `GROWS`.
    """
    for welfare in WELFARES:
        runs = {horizon: cells.runs(welfare, "additive", RECALL, horizon) for horizon in HORIZONS}
        for horizon in LONG:
            longer = cells.runs(welfare, "additive", RECALL, horizon, total_steps=MORE_STEPS)
            what = f"Gini of perfect recall less that after ten times the steps, {_where(welfare, 'additive', horizon)}"
            yield difference_within(what, runs[horizon]["final_gini"], longer["final_gini"], low=MARGIN)
            runs[horizon] = longer
        common = set.intersection(*(set(part["seed"].tolist()) for part in runs.values()))
        fair = {T: FAIR_SHARE * cells.seeds("gini", welfare, "additive", MYOPIC, T).mean() for T in HORIZONS}
        steps = np.stack([_steps_until_below(fair[T], part.where(seed=common)) for T, part in runs.items()])
        grows = [stats.spearmanr(HORIZONS, one).statistic if np.ptp(one) else 0.0 for one in steps.T]
        yield mean_within(f"rank correlation of horizon and steps until fair, {welfare} additive", grows, low=GROWS)


@dataclass(frozen=True)
class Judgement:
    """A claim and its verdict, under each observation scale and overall."""

    name: str
    claim: str
    criterion: str
    by_scale: dict[str, Verdict]

    @property
    def word(self) -> str:
        """`holds`, `fails`, `depends on the observation scale` or `not enough runs`."""
        words = {found.word for found in self.by_scale.values()} - {NOT_ENOUGH}
        if words == {HOLDS, FAILS}:
            return "depends on the observation scale"
        return words.pop() if words else NOT_ENOUGH

    def to_dict(self) -> dict[str, Any]:
        """The judgement as plain lists and dictionaries, for JSON."""
        scales = {
            scale: {
                "word": found.word,
                "reason": found.reason,
                "comparisons": [{**made._asdict(), "outcome": made.outcome} for made in found.comparisons],
            }
            for scale, found in self.by_scale.items()
        }
        return {
            "name": self.name,
            "claim": self.claim,
            "criterion": self.criterion,
            "word": self.word,
            "scales": scales,
        }


def judge(results: Results, names: Sequence[str] | None = None, **changes: Any) -> list[Judgement]:
    """Judges claims from results, under every observation scale that occurs in them.

    Args:
        results: the runs to judge by.
        names: the claims to judge; by default all.
        changes: the settings in which the runs to judge differ from the paper's protocol: `ends="termination"`.
    """
    names = tuple(CLAIMS) if names is None else names
    unknown = [name for name in names if name not in CLAIMS]
    if unknown:
        raise ValueError(f"a claim must be one of {', '.join(CLAIMS)}, got {', '.join(unknown)}")
    protocol = {**PROTOCOL, **changes}
    left = {name: protocol.pop(name) for name in ASKED_ABOUT if name in protocol}
    follow = results.where(**protocol)
    every = {
        scale: Cells(follow.where(observation_scale=scale), left)
        for scale in in_order(results.distinct("observation_scale"))
    }
    judgements = []
    for name in names:
        asked = CLAIMS[name]
        text, _, criterion = (asked.__doc__ or "").partition("\n\n")
        verdicts = {scale: verdict(asked, cells) for scale, cells in every.items()}
        judgements.append(Judgement(name, text.strip(), _with_values(criterion, asked), verdicts))
    return judgements


def _with_values(criterion: str, asked: Claim) -> str:
    """A criterion with the thresholds that it names, such as `MARGIN`, replaced by their values."""

    def value(name: re.Match[str]) -> str:
        found = asked.__globals__[name[1]]
        return " to ".join(f"{end:g}" for end in (found if isinstance(found, tuple) else (found,)))

    return re.sub(r"`([A-Z_]+)`", value, " ".join(criterion.split()))


def _where(welfare: str, aggregation: str, horizon: int) -> str:
    return f"{welfare} {aggregation}, T = {horizon}"


def _fair(cells: Cells, welfare: str, gamma: float, horizons: Sequence[int]) -> Ask:
    """Asks that a memory is fair at each of these horizons, with additive utilities."""
    for horizon in horizons:
        yield _fairness(cells, welfare, "additive", gamma, (horizon,), high=0.0)


def _fairness(
    cells: Cells,
    welfare: str,
    aggregation: str,
    gamma: float,
    horizons: Sequence[int],
    low: float = -np.inf,
    high: float = np.inf,
    **changes: Any,
) -> Comparison:
    """How far a memory's Gini is above `FAIR_SHARE` of the myopic agent's; below zero it is fair."""
    memory, myopic = (
        np.concatenate([cells.seeds("gini", welfare, aggregation, one, T, **changes) for T in horizons])
        for one in (gamma, MYOPIC)
    )
    weight = "".join(f", λ = {value:g}" for value in changes.values())
    where = f"{welfare} {aggregation}, T = {', '.join(map(str, horizons))}{weight}"
    what = f"Gini of {memory_label(gamma)} less {FAIR_SHARE:g} × that of myopic, {where}"
    return difference_within(what, memory, FAIR_SHARE * myopic, low, high)


def _rise(
    cells: Cells, welfare: str, aggregation: str, gamma: float, horizon: int, low: float = -np.inf, high: float = np.inf
) -> Comparison:
    """How much the Gini rises from T = 1000 to a longer horizon."""
    longer, shorter = (cells.seeds("gini", welfare, aggregation, gamma, T) for T in (horizon, 1000))
    what = f"Gini of {memory_label(gamma)} at T = {horizon} less that at T = 1000, {welfare} {aggregation}"
    return difference_within(what, longer, shorter, low, high)


def _steps_until_below(gini: float, runs: Results) -> np.ndarray:
    """The steps until each run's Gini is first below a value; all its steps if it never is."""
    steps, ginis = runs.curves("gini")
    below = ginis < gini
    until: np.ndarray = np.where(below.any(axis=1), steps[below.argmax(axis=1)], steps[-1])
    return until
