"""Verdicts on the paper's claims as the page shows them: grouped, with the numbers and the seeds behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from bygones.paper.claims import Judgement
from bygones.paper.judging import CANNOT_TELL, FAILS, HOLDS, NOT_ENOUGH, TOO_FEW, Comparison, Verdict
from bygones.report.page import fragment

DEPENDS = "depends on the observation scale"

SYMBOLS = {HOLDS: "●", FAILS: "✕", DEPENDS: "◐", CANNOT_TELL: "?", TOO_FEW: "–", NOT_ENOUGH: "?"}

GROUPS = {
    HOLDS: ("Claims that hold", "True under every observation scale for which the runs decide the claim."),
    DEPENDS: (
        "Claims that depend on the observation scale",
        "True under one observation scale and false under another.",
    ),
    FAILS: ("Claims that fail", "False under every observation scale for which the runs decide the claim."),
    NOT_ENOUGH: ("Undecided claims", "There are too few runs, or their seeds vary too much."),
}
"""Verdicts in the order of the page, each with a heading and an explanation."""

ALL_SHOWN, SOME_SHOWN = 12, 8
"""Up to `ALL_SHOWN` comparisons are all shown; of more, `SOME_SHOWN` are shown and the rest on demand."""

_OUTCOMES = {True: (HOLDS, "as claimed"), False: (FAILS, "not as claimed"), None: (CANNOT_TELL, CANNOT_TELL)}


class Chip(NamedTuple):
    """A verdict under one observation scale."""

    scale: str
    word: str

    @property
    def symbol(self) -> str:
        """The symbol of the verdict."""
        return SYMBOLS[self.word]

    @property
    def kind(self) -> str:
        """The class of the verdict in the style sheet."""
        return self.word.split()[0]


class Row(NamedTuple):
    """A comparison as a row of a table."""

    made: Comparison

    @property
    def outcome(self) -> Chip:
        """Whether the outcome is as claimed."""
        return Chip("", _OUTCOMES[self.made.outcome][0])

    @property
    def outcome_text(self) -> str:
        """The outcome in words."""
        return _OUTCOMES[self.made.outcome][1]

    @property
    def claimed(self) -> str:
        """The range that the claim states."""
        return self.made.wanted

    @property
    def value(self) -> str:
        """The value of the quantity."""
        return _decimals(self.made.value)

    @property
    def interval(self) -> str:
        """Its bootstrap interval."""
        return " to ".join(map(_decimals, self.made.interval))

    @property
    def middle(self) -> str:
        """The value from interquartile means, if there is one."""
        return _decimals(self.made.middle)

    @property
    def effect(self) -> str:
        """Cliff's delta, if two sets of seeds are compared."""
        return _decimals(self.made.effect, 2)

    @property
    def seeds(self) -> Markup:
        """Every seed as a dot."""
        return seeds_drawing(self.made.seeds)


class Judged(NamedTuple):
    """A verdict with its comparisons: first those to show, starting with the decisive ones, then the rest."""

    chip: Chip
    reason: str
    first: list[Row]
    rest: list[Row]
    of: int
    """The number of all comparisons; for sets other than the main one, only the first are kept."""


@dataclass(frozen=True)
class Claim:
    """A claim with its verdicts by set of runs, the main set first."""

    name: str
    claim: str
    criterion: str
    word: str
    by_set: Mapping[str, Sequence[Judged]]


def grouped(judgements: Mapping[str, Sequence[Judgement]]) -> dict[str, list[Claim]]:
    """The claims by their verdict under the first set of runs, in the order of `GROUPS`.

    The verdicts of the other sets are included if these have enough runs to be judged.
    """
    main, *others = judgements
    groups: dict[str, list[Claim]] = {word: [] for word in GROUPS}
    for number, judged in enumerate(judgements[main]):
        by_set = {
            name: [
                _judged(scale, verdict, all_of_them=name == main) for scale, verdict in each[number].by_scale.items()
            ]
            for name, each in judgements.items()
        }
        enough = {name: [one for one in by_set[name] if one.chip.word != TOO_FEW] for name in others}
        shown = {main: by_set[main], **{name: some for name, some in enough.items() if some}}
        groups[judged.word].append(Claim(judged.name, judged.claim, judged.criterion, judged.word, shown))
    return {word: some for word, some in groups.items() if some}


def claims_html(groups: Mapping[str, Sequence[Claim]]) -> Markup:
    """The claims as HTML; each can be opened to show its numbers."""
    return fragment("paper/templates/claims.html.jinja", groups=groups, about=GROUPS, symbols=SYMBOLS)


def seeds_drawing(sets: Sequence[Sequence[float]]) -> Markup:
    """One or two sets of seeds as rows of dots on a common scale, as a small SVG image with a description."""
    values = [value for seeds in sets for value in seeds]
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    dots = [
        "".join(f"M{4 + 92 * (value - low) / width:.0f} {5 + 9 * row}h0" for value in seeds)
        for row, seeds in enumerate(sets)
    ]
    description = "; ".join(map(_seeds_in_words, sets))
    height = 1 + 9 * len(sets)
    return fragment("paper/templates/seeds.svg.jinja", dots=dots, description=description, height=height)


def _decimals(value: float | None, places: int = 3) -> str:
    """A number with a fixed number of decimals and a true minus sign; empty for None."""
    return "" if value is None else f"{value:z.{places}f}".replace("-", "\u2212")


def _seeds_in_words(seeds: Sequence[float]) -> str:
    if len(seeds) == 1:
        return f"one seed at {seeds[0]:.3g}"
    return f"{len(seeds)} seeds from {min(seeds):.3g} to {max(seeds):.3g}"


def _judged(scale: str, verdict: Verdict, all_of_them: bool) -> Judged:
    word = verdict.short
    wanted = {FAILS: False, CANNOT_TELL: None}.get(word, True)
    rows = [Row(made) for made in verdict.comparisons]
    rows.sort(key=lambda row: row.made.outcome is not wanted)
    n_first = len(rows) if len(rows) <= ALL_SHOWN else SOME_SHOWN
    return Judged(Chip(scale, word), verdict.reason, rows[:n_first], rows[n_first:] if all_of_them else [], len(rows))
