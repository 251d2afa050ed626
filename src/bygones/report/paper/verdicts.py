"""Verdicts on the paper's claims as the page shows them: grouped, with the numbers and the seeds behind each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from bygones.paper.claims import CLAIMS, Judgement
from bygones.paper.grid import SCALES, WELFARE_NAMES
from bygones.paper.judgements import OUTCOMES
from bygones.paper.judging import (
    CANNOT_TELL,
    DEPENDS_ON_SCALE,
    DEPENDS_ON_WELFARE,
    DOES_NOT_ARISE,
    FAILS,
    HOLDS,
    TOO_FEW,
    Comparison,
    Quote,
    ScaleVerdict,
)
from bygones.report.page import fragment

SYMBOLS = {
    HOLDS: "●",
    FAILS: "✕",
    DEPENDS_ON_SCALE: "◐",
    DEPENDS_ON_WELFARE: "◐",
    CANNOT_TELL: "?",
    DOES_NOT_ARISE: "○",
    TOO_FEW: "–",
}

GROUPS = {
    HOLDS: ("Claims that hold", "True however the memory is scaled, under each of their welfare functions."),
    DEPENDS_ON_WELFARE: (
        "Claims that depend on the welfare function",
        "Where the runs decide, true under one welfare function and false under the other, however the memory is "
        "scaled.",
    ),
    DEPENDS_ON_SCALE: (
        "Claims that depend on how the memory is scaled",
        "True for one way of scaling the memory for the network and false for another.",
    ),
    FAILS: ("Claims that fail", "False however the memory is scaled."),
    CANNOT_TELL: (
        "Claims that are open somewhere",
        "Where the runs decide, they agree; but somewhere there are too few runs, or their seeds vary too much.",
    ),
    DOES_NOT_ARISE: ("Claims that do not arise", "The situations that they describe do not occur in these runs."),
}
"""Verdicts in the order of the page, each with a heading and an explanation."""

ALL_SHOWN, SOME_SHOWN = 12, 8
"""Up to `ALL_SHOWN` comparisons are all shown; of more, `SOME_SHOWN` are shown and the rest on demand."""

_VERDICTS = {True: HOLDS, False: FAILS, None: CANNOT_TELL}


class Chip(NamedTuple):
    """A verdict with a label, such as its welfare function."""

    of: str
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

    comparison: Comparison
    outcome: Chip
    value: str
    """The median over seeds; the mean is empty for a single number."""
    interval: str
    share: str
    """How many of the seeds are as claimed."""
    chances: str
    """The p-values: if the claim were false, and, corrected, if it were true."""
    mean: str
    seeds: Markup
    """Every seed as a dot."""

    @classmethod
    def of(cls, comparison: Comparison) -> Row:
        """The row of a comparison."""
        n_seeds = len(comparison.seeds[0]) if comparison.seeds else 0
        return cls(
            comparison,
            Chip(OUTCOMES[comparison.outcome], _VERDICTS[comparison.outcome]),
            _decimals(comparison.value),
            " to ".join(map(_decimals, comparison.interval)),
            f"{round(comparison.as_claimed * n_seeds)} of {n_seeds}" if n_seeds else "",
            " / ".join(map(_chance, (comparison.p_holds, comparison.p_adjusted))),
            _decimals(comparison.mean) if n_seeds else "",
            seeds_drawing(comparison.seeds),
        )


class Judged(NamedTuple):
    """The verdicts under an observation scale with their comparisons, starting with the decisive ones."""

    scale: str
    """The observation scale in plain words."""
    word: str
    chips: list[Chip]
    """The verdict of each welfare function."""
    reason: str
    first: list[Row]
    rest: list[Row]
    of: int
    """The number of all comparisons; for sets other than the main one, only the first are kept."""

    @property
    def verdicts(self) -> list[Chip]:
        """The verdict of each welfare function, or one that all share."""
        words = {chip.word for chip in self.chips}
        return self.chips if len(words) > 1 else [Chip("", words.pop())]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdicts by set of runs, the main set first."""

    name: str
    claim: str
    quotes: Sequence[Quote]
    criterion: str
    known: str
    confidence: str
    word: str
    counted: str
    by_set: Mapping[str, Sequence[Judged]]


def grouped(judgements: Mapping[str, Sequence[Judgement]]) -> dict[str, list[JudgedClaim]]:
    """The paper's claims by their verdict under the first set of runs, in the order of `GROUPS`.

    The verdicts of the other sets are included if these have enough runs to be judged.
    """
    groups: dict[str, list[JudgedClaim]] = {word: [] for word in GROUPS}
    for claim in _shown(judgements, of_the_paper=True):
        groups[claim.word].append(claim)
    return {word: claims for word, claims in groups.items() if claims}


def beyond(judgements: Mapping[str, Sequence[Judgement]]) -> list[JudgedClaim]:
    """The statements beyond the paper."""
    return _shown(judgements, of_the_paper=False)


def _shown(judgements: Mapping[str, Sequence[Judgement]], *, of_the_paper: bool) -> list[JudgedClaim]:
    judgements = {
        name: [judged for judged in of_set if bool(judged.asked.quotes) is of_the_paper]
        for name, of_set in judgements.items()
    }
    main, *others = judgements
    claims = []
    for number, judged in enumerate(judgements[main]):
        by_set = {
            name: [_judged(scale, verdict, name == main) for scale, verdict in of_set[number].by_scale.items()]
            for name, of_set in judgements.items()
        }
        enough = {name: [under for under in by_set[name] if under.word != TOO_FEW] for name in others}
        claims.append(
            JudgedClaim(
                judged.name,
                judged.claim,
                judged.asked.quotes,
                judged.criterion,
                judged.asked.known,
                f"{100 * (1 - 2 * judged.asked.level):g}%",
                judged.word,
                judged.counted,
                {main: by_set[main], **{name: scales for name, scales in enough.items() if scales}},
            )
        )
    return claims


def claims_html(groups: Mapping[str, Sequence[JudgedClaim]]) -> Markup:
    """The claims as HTML; each can be opened to show its numbers."""
    return fragment("paper/templates/claims.html.jinja", groups=groups, about=GROUPS, symbols=SYMBOLS)


class Sentence(NamedTuple):
    """A sentence of the paper and the claims that quote it."""

    quote: Quote
    claims: list[JudgedClaim]


def sentences(groups: Mapping[str, Sequence[JudgedClaim]]) -> list[Sentence]:
    """Every quoted sentence of the paper once, in the order of the claims, each with its claims."""
    by_quote: dict[Quote, list[JudgedClaim]] = {}
    every = {claim.name: claim for claims in groups.values() for claim in claims}
    for name in (name for name in CLAIMS if name in every):
        for quote in every[name].quotes:
            by_quote.setdefault(quote, []).append(every[name])
    return [Sentence(quote, claims) for quote, claims in by_quote.items()]


def sentences_html(groups: Mapping[str, Sequence[JudgedClaim]]) -> Markup:
    """The paper's sentences as a table that leads to the claims."""
    return fragment("paper/templates/sentences.html.jinja", sentences=sentences(groups), symbols=SYMBOLS)


def seeds_drawing(sets: Sequence[Sequence[float]]) -> Markup:
    """One or two sets of seeds as rows of dots on a common scale, as a small SVG image with a description."""
    values = [value for seeds in sets for value in seeds]
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    # A path does not get darker where it crosses itself, so one dot stands for all seeds at a place.
    places = [sorted({round(4 + 92 * (value - low) / width) for value in seeds}) for seeds in sets]
    # Each dot is a closed path of length 0, moved to from the dot before: a page has a hundred thousand of them.
    steps = [[after - before for before, after in itertools.pairwise(some)] for some in places]
    dots = [
        f"M{some[0]} {5 + 9 * row}z" + "".join(f"m{step} 0z" for step in steps[row]) for row, some in enumerate(places)
    ]
    description = "; ".join(map(_seeds_in_words, sets))
    height = 1 + 9 * len(sets)
    return fragment("paper/templates/seeds.svg.jinja", dots=dots, description=description, height=height)


def _decimals(value: float, places: int = 3) -> str:
    """A number with a fixed number of decimals and a true minus sign."""
    return f"{value:z.{places}f}".replace("-", "\u2212")


def _chance(p: float) -> str:
    """A p-value with two digits; those below a thousandth are not told apart."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def _seeds_in_words(seeds: Sequence[float]) -> str:
    if len(seeds) == 1:
        return f"one seed at {seeds[0]:.3g}"
    return f"{len(seeds)} seeds from {min(seeds):.3g} to {max(seeds):.3g}"


def _judged(scale: str, verdict: ScaleVerdict, all_of_them: bool) -> Judged:
    decisive = {FAILS: False, HOLDS: True}.get(verdict.word)
    comparisons = sorted(verdict.comparisons, key=lambda comparison: comparison.outcome is not decisive)
    rows = list(map(Row.of, comparisons))
    n_first = len(rows) if len(rows) <= ALL_SHOWN else SOME_SHOWN
    chips = [Chip(WELFARE_NAMES[welfare], each.short) for welfare, each in verdict.by_welfare.items()]
    rest = rows[n_first:] if all_of_them else []
    return Judged(SCALES[scale], verdict.short, chips, verdict.reason, rows[:n_first], rest, len(rows))
