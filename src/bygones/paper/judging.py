"""How a claim is judged: by quantities of each seed, the ranges they must lie in, and exact tests over seeds.

A comparison is a quantity that every seed has, such as the Gini of one memory less that of another, with the range that
a claim states. Two p-values decide it: `p_holds`, the chance of such seeds if the median lay outside the range, and
`p_fails`, their chance if it lay inside.

A claim asks for several things. It holds only if every one of them is shown at the claim's level; no correction is
needed for that, because all must be shown (an intersection-union test). It fails if at least one is contradicted, and
there chance has many occasions: `p_fails` is corrected by Holm's method over everything that the claim asks for under
an observation scale, so a true claim is called false with a probability of at most the level. Holm's method is
exact under any dependence, which seeds and cells that are shared between comparisons require. Where a claim is about
some memory, the memories are tried with Bonferroni's correction. Otherwise the seeds cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bygones._arrays import Floats, Json
from bygones.learn.settings import Settings
from bygones.paper.cells import Cells, NotEnoughRunsError, PerSeed, check_enough
from bygones.paper.results import Results
from bygones.paper.statistics import (
    Interval,
    cliffs_delta,
    groups,
    holm,
    mean_interval,
    median_chance,
    median_interval,
    standard_error,
)

LOOKS = 2
"""How often a claim is judged: with ten seeds, and with a hundred in the cells where ten cannot tell. Each look has an
equal share of the error that is allowed."""

LEVEL = 0.025 / LOOKS
"""The level of every one-sided test at each look: as an interval of 95% for both looks together."""

EQUIVALENCE_LEVEL = 0.05 / LOOKS
"""The level of each of the two one-sided tests of equivalence (TOST) at each look: as an interval of 90% for both."""

APART = 0.05
"""The least difference in means at which two groups of seeds count as two."""

HOLDS, FAILS, CANNOT_TELL = "holds", "fails", "cannot tell"
DOES_NOT_ARISE = "does not arise"
"""The verdict where the situation that a claim describes is shown not to occur."""
TOO_FEW = "too few"
DEPENDS_ON_WELFARE = "depends on the welfare function"
DEPENDS_ON_SCALE = "depends on the observation scale"

_IN_THE_GRID = ("welfare", "aggregation", "gamma", "horizon", "weight", "observation_scale", "seed")

PROTOCOL: Json = {name: value for name, value in Settings().to_dict().items() if name not in _IN_THE_GRID}
"""The paper's protocol: the value of every setting that the grid does not vary."""


def departure(results: Results) -> Json:
    """The settings that all of these runs share, but that differ from the paper's protocol."""
    columns = {name: results.table.column(name).unique().to_pylist() for name in PROTOCOL if name != "hidden"}
    columns["hidden"] = [list(sizes) for sizes in set(map(tuple, results.table.column("hidden").to_pylist()))]
    return {name: values[0] for name, values in columns.items() if len(values) == 1 and values[0] != PROTOCOL[name]}


class Comparison(NamedTuple):
    """One quantity that a claim makes a statement about.

    Attributes:
        what: the quantity in words.
        value: its median over seeds.
        interval: the exact interval of the median, at the confidence that belongs to the level.
        asked: the range that the claim states.
        p_holds: the chance of such seeds if the median were not in the range.
        p_fails: the chance of such seeds if the median were in the range.
        as_claimed: the share of seeds that lie in the range.
        mean: its mean over seeds, which the paper plots.
        mean_interval: Student's 95% interval of the mean.
        errors: the standard error of the mean of each set of seeds, as in the paper's bands.
        effect: Cliff's delta, if two sets of seeds are compared.
        seeds: the values of the seeds, one set or two.
        splits: whether a set of seeds splits into two groups.
        alternative: where a claim asks for one of several alternatives, the number of the one that this belongs to, and
            how many there are.
        p_adjusted: `p_fails` after the correction for everything that the claim asks for.
        outcome: True if the seeds agree with the claim, False if they contradict it, None if they cannot tell.
    """

    what: str
    value: float
    interval: Interval
    asked: Interval
    p_holds: float
    p_fails: float
    as_claimed: float = math.nan
    mean: float = math.nan
    mean_interval: Interval | None = None
    errors: tuple[float, ...] = ()
    effect: float | None = None
    seeds: tuple[tuple[float, ...], ...] = ()
    splits: bool = False
    alternative: tuple[int, int] | None = None
    p_adjusted: float = 1.0
    outcome: bool | None = None

    @property
    def place(self) -> str:
        """Which alternative it belongs to, in words; empty if the claim asks for it in any case."""
        return "" if self.alternative is None else "alternative {} of {}".format(*self.alternative)

    @property
    def wanted(self) -> str:
        """The range that the claim states, in words."""
        low, high = (f"{end:g}" for end in self.asked)
        if math.isinf(self.asked.low):
            return f"below {high}"
        return f"above {low}" if math.isinf(self.asked.high) else f"between {low} and {high}"

    def __str__(self) -> str:
        answer = {True: "yes", False: "no", None: "the seeds cannot tell"}[self.outcome]
        low, high = (f"{end:.3g}" for end in self.interval)
        return f"{self.what}: {self.value:.3g} [{low}, {high}], {self.wanted}? {answer}"


class Some(NamedTuple):
    """Alternatives of which a claim asks for at least one; all comparisons of an alternative belong together."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    @property
    def p_holds(self) -> float:
        """Of the best alternative, all of whose comparisons must be shown, corrected for their number (Bonferroni)."""
        return len(self.alternatives) * min(
            max(comparison.p_holds for comparison in alternative) for alternative in self.alternatives
        )

    @property
    def p_fails(self) -> float:
        """Every alternative must be contradicted: in at least one of its comparisons, corrected for their number."""
        return max(
            len(alternative) * min(comparison.p_fails for comparison in alternative)
            for alternative in self.alternatives
        )


Asked = Comparison | Some
"""One thing that a claim asks for."""


class Verdict(NamedTuple):
    """The verdict on a claim under one observation scale and one welfare function."""

    word: str
    """`HOLDS`, `FAILS`, `CANNOT_TELL` or `DOES_NOT_ARISE`."""
    reason: str
    comparisons: tuple[Comparison, ...]

    @property
    def short(self) -> str:
        """The word; `TOO_FEW` if there were too few runs to compare anything."""
        return self.word if self.comparisons else TOO_FEW


class ScaleVerdict(NamedTuple):
    """The verdicts on a claim under one observation scale, by welfare function, and the cells behind them."""

    by_welfare: Mapping[str, Verdict]
    cells: tuple[Results, ...] = ()

    @property
    def word(self) -> str:
        """The verdict that the welfare functions share, or that it depends on them."""
        return combined([verdict.word for verdict in self.by_welfare.values()], DEPENDS_ON_WELFARE)

    @property
    def short(self) -> str:
        """The word; `TOO_FEW` if there were too few runs to compare anything."""
        return self.word if self.comparisons else TOO_FEW

    @property
    def reason(self) -> str:
        """Why, for each welfare function."""
        return "; ".join(dict.fromkeys(verdict.reason for verdict in self.by_welfare.values()))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every comparison that was made."""
        return tuple(comparison for verdict in self.by_welfare.values() for comparison in verdict.comparisons)


class DoesNotArise(Exception):  # noqa: N818 - nothing went wrong
    """The situation of a claim is not shown to occur; it does not arise if all of these comparisons contradict it."""

    def __init__(self, reason: str, comparisons: Sequence[Comparison]) -> None:
        super().__init__(reason)
        self.comparisons = tuple(comparisons)


def combined(words: Sequence[str], depends: str) -> str:
    """One word for several: theirs if it is the same, `depends` if decided ones differ, else that one cannot tell.

    Where a claim does not arise, it does not count, unless it arises nowhere.
    """
    decided = {word for word in words if word not in (CANNOT_TELL, DOES_NOT_ARISE)}
    if len(decided) > 1:
        return depends
    if CANNOT_TELL in words or not words:
        return CANNOT_TELL
    return decided.pop() if decided else DOES_NOT_ARISE


class Quote(NamedTuple):
    """A sentence of the paper, and where it stands."""

    text: str
    place: str


@dataclass(frozen=True)
class Claim:
    """A statement that results can show to be true or false.

    Attributes:
        name: C1 to C13 for the paper's claims, with a letter where one of them makes two statements; B1, … for ours.
        text: the claim in one sentence.
        quotes: the paper's sentences; none for our own statements.
        criterion: what must be true of results.
        known: the results known when the criterion was written, and the changes because of them.
        asks: what the claim asks for under a welfare function.
        welfares: the welfare functions that the claim is about.
        scales: the observation scales that the claim is about; None is all.
        level: of every test.
    """

    name: str
    text: str
    criterion: str
    asks: Callable[[Cells, str], Iterable[Asked]]
    quotes: tuple[Quote, ...] = ()
    known: str = ""
    welfares: tuple[str, ...] = ("egalitarian", "nash")
    scales: tuple[str, ...] | None = None
    level: float = LEVEL


def within(
    what: str, values: PerSeed, low: float = -math.inf, high: float = math.inf, level: float = LEVEL
) -> Comparison:
    """Asks that the median of a quantity over seeds lies in a range."""
    return _compared(what, values.values, (values.values,), Interval(low, high), level)


def difference_within(
    what: str, a: PerSeed, b: PerSeed, low: float = -math.inf, high: float = math.inf, level: float = LEVEL
) -> Comparison:
    """Asks that the median over seeds of a − b lies in a range."""
    return _compared(what, (a - b).values, (a.shared(b).values, b.shared(a).values), Interval(low, high), level)


def number_within(what: str, value: float, low: float = -math.inf, high: float = math.inf) -> Comparison:
    """Asks that a number without uncertainty lies in a range."""
    inside = low <= value <= high
    return Comparison(what, value, Interval(value, value), Interval(low, high), float(not inside), float(inside))


def verdicts(claim: Claim, cells: Cells) -> ScaleVerdict:
    """The verdicts on a claim under an observation scale, by welfare function."""
    asked: dict[str, list[Asked]] = {}
    undecided: dict[str, Verdict] = {}
    cells = replace(cells, used={})
    for welfare in claim.welfares:
        try:
            asked[welfare] = list(claim.asks(cells, welfare))
        except NotEnoughRunsError as error:
            undecided[welfare] = Verdict(CANNOT_TELL, str(error), ())
        except DoesNotArise as error:
            shown = all(comparison.outcome is False for comparison in error.comparisons)
            undecided[welfare] = Verdict(DOES_NOT_ARISE if shown else CANNOT_TELL, str(error), error.comparisons)
    adjusted = iter(holm([part.p_fails for parts in asked.values() for part in parts]))
    decided = {
        welfare: _verdict([_decided(part, next(adjusted), claim.level) for part in parts])
        for welfare, parts in asked.items()
    }
    by_welfare = decided | undecided
    return ScaleVerdict({welfare: by_welfare[welfare] for welfare in claim.welfares}, tuple(cells.used.values()))


class _Decided(NamedTuple):
    """One thing that a claim asks for, whether it is shown (None: the seeds cannot tell), and its comparisons."""

    outcome: bool | None
    comparisons: tuple[Comparison, ...]


def _decided(asked: Asked, p_adjusted: float, level: float) -> _Decided:
    outcome = _outcome(asked.p_holds, p_adjusted, level)
    if isinstance(asked, Comparison):
        return _Decided(outcome, (asked._replace(p_adjusted=p_adjusted, outcome=outcome),))
    correction = p_adjusted / asked.p_fails if asked.p_fails else 1.0
    comparisons = []
    for number, alternative in enumerate(asked.alternatives, 1):
        for comparison in alternative:
            p_each = min(1.0, comparison.p_fails * len(alternative) * correction)
            of_each = _outcome(len(asked.alternatives) * comparison.p_holds, p_each, level)
            place = (number, len(asked.alternatives))
            comparisons.append(comparison._replace(alternative=place, p_adjusted=p_each, outcome=of_each))
    return _Decided(outcome, tuple(comparisons))


def outcome(comparison: Comparison, level: float = LEVEL) -> bool | None:
    """Whether a single comparison is shown (True), contradicted (False), or cannot be told (None)."""
    return _outcome(comparison.p_holds, comparison.p_fails, level)


def _outcome(p_holds: float, p_fails: float, level: float) -> bool | None:
    if p_holds <= level:
        return True
    return False if p_fails <= level else None


def _verdict(decided: Sequence[_Decided]) -> Verdict:
    comparisons = tuple(comparison for part in decided for comparison in part.comparisons)
    false = [part for part in decided if part.outcome is False]
    unknown = [part for part in decided if part.outcome is None]
    if false:
        return Verdict(FAILS, _some(false, len(decided)), comparisons)
    if unknown:
        return Verdict(CANNOT_TELL, _some(unknown, len(decided)), comparisons)
    return Verdict(HOLDS, f"all {len(decided)} shown" if len(decided) > 1 else "shown", comparisons)


def _some(decided: Sequence[_Decided], of: int) -> str:
    outcome, comparisons = decided[0]
    first = min(comparisons, key=lambda each: (each.outcome is not outcome, each.outcome is True))
    return f"{len(decided)} of {of}, first: {first}"


def _compared(what: str, values: Floats, sets: tuple[Floats, ...], asked: Interval, level: float) -> Comparison:
    check_enough(len(values), what)
    below, above = (median_chance(values, asked.high, side) for side in ("less", "greater"))
    over, under = (median_chance(values, asked.low, side) for side in ("greater", "less"))
    two_sided = 2 if math.isfinite(asked.low) and math.isfinite(asked.high) else 1
    return Comparison(
        what,
        float(np.median(values)),
        median_interval(values, 1 - 2 * level),
        asked,
        p_holds=max(below, over),
        p_fails=min(1.0, two_sided * min(above, under)),
        as_claimed=float(((values > asked.low) & (values < asked.high)).mean()),
        mean=float(values.mean()),
        mean_interval=mean_interval(values),
        errors=tuple(map(standard_error, sets)),
        effect=cliffs_delta(*sets) if len(sets) == 2 else None,
        seeds=tuple(tuple(some.tolist()) for some in sets),
        splits=any(len(groups(some, APART)) > 1 for some in sets),
    )
