"""Verdicts on the paper's claims as a page shows them: in groups, with the numbers and the seeds behind each."""

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
    HOLDS: ("What stands", "True at every observation scale at which the runs could decide it."),
    DEPENDS: ("What depends", "True at one observation scale and false at another."),
    FAILS: ("What does not stand", "False at every observation scale at which the runs could decide it."),
    NOT_ENOUGH: ("What is open", "The runs are too few, or their seeds too far apart, to say."),
}
"""Verdicts in the order in which they are told, each with a heading and what it means."""

ALL_SHOWN, SOME_SHOWN = 12, 8
"""As many comparisons are all shown; of more, only some are, and the rest on demand."""

_OUTCOMES = {True: (HOLDS, "as asked"), False: (FAILS, "not so"), None: (CANNOT_TELL, CANNOT_TELL)}


class Chip(NamedTuple):
    """A verdict under one observation scale, in a word."""

    scale: str
    word: str

    @property
    def symbol(self) -> str:
        """The word as a sign."""
        return SYMBOLS[self.word]

    @property
    def kind(self) -> str:
        """The word as the style sheet knows it."""
        return self.word.split()[0]


class Row(NamedTuple):
    """A comparison, ready to be shown."""

    made: Comparison

    @property
    def outcome(self) -> Chip:
        """Whether it came out as the claim asks."""
        return Chip("", _OUTCOMES[self.made.outcome][0])

    @property
    def said(self) -> str:
        """The same in words."""
        return _OUTCOMES[self.made.outcome][1]

    @property
    def asked(self) -> str:
        """What the claim asks of the quantity."""
        return self.made.wanted

    @property
    def value(self) -> str:
        """The quantity."""
        return _decimals(self.made.value)

    @property
    def interval(self) -> str:
        """Its bootstrap interval."""
        return " to ".join(map(_decimals, self.made.interval))

    @property
    def middle(self) -> str:
        """The same from the middle half of the seeds, where there is such."""
        return _decimals(self.made.middle)

    @property
    def effect(self) -> str:
        """Cliff's delta, where two sets of seeds are compared."""
        return _decimals(self.made.effect, 2)

    @property
    def seeds(self) -> Markup:
        """Every seed as a dot."""
        return seeds_drawing(self.made.seeds)


class Judged(NamedTuple):
    """A verdict with its comparisons: those to show, among them the ones that decide it, and the rest."""

    chip: Chip
    reason: str
    first: list[Row]
    rest: list[Row]
    of: int
    """How many comparisons there are in all; of the sets beside the main one, only the first are kept."""


@dataclass(frozen=True)
class Claim:
    """A claim with everything that a page says of it; verdicts by set of runs, the one that counts first."""

    name: str
    claim: str
    criterion: str
    word: str
    by_set: Mapping[str, Sequence[Judged]]


def grouped(judgements: Mapping[str, Sequence[Judgement]]) -> dict[str, list[Claim]]:
    """The claims by their verdict under the first set of runs, in the order in which verdicts are told.

    The other sets are named beside it, as far as they have enough runs to be judged or are all that there is.
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
    """The claims as HTML, each of which opens to show its numbers."""
    return fragment("claims.html.jinja", groups=groups, about=GROUPS, symbols=SYMBOLS)


def seeds_drawing(sets: Sequence[Sequence[float]]) -> Markup:
    """One or two sets of seeds as rows of dots on a common scale, as a small picture with its description."""
    values = [value for seeds in sets for value in seeds]
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    dots = [
        "".join(f"M{4 + 92 * (value - low) / width:.0f} {5 + 9 * row}h0" for value in seeds)
        for row, seeds in enumerate(sets)
    ]
    said = "; ".join(map(_seeds_in_words, sets))
    return fragment("seeds.svg.jinja", dots=dots, said=said, height=1 + 9 * len(sets))


def _decimals(value: float | None, places: int = 3) -> str:
    """A number with as many decimals as all of its column, and a true minus sign; nothing for None."""
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
