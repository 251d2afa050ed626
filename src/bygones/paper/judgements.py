"""Claims with their verdicts, and what people read of them: all in a table, or one with every number behind it."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from bygones._arrays import Json
from bygones._text import counted, listed
from bygones.document.document import Answer, Block, Column, Command, Document, Section, Table
from bygones.learn.settings import Settings
from bygones.paper.cells import MIN_SEEDS
from bygones.paper.collapse import learned
from bygones.paper.grid import WELFARE_NAMES
from bygones.paper.judging import (
    CANNOT_TELL,
    DEPENDS_ON_SCALE,
    DEPENDS_ON_WELFARE,
    DOES_NOT_ARISE,
    FAILS,
    HOLDS,
    Claim,
    Comparison,
    ScaleVerdict,
    combined,
)
from bygones.paper.results import HEADINGS, Results, setting_cell, setting_text

TEST = (
    "For each seed the quantity is computed from that seed's runs. Its median over seeds is judged by exact sign tests "
    "at {level:g}% on each side, with the {confidence:g}% interval from order statistics. The claim holds if every "
    "comparison is shown, and fails if at least one is contradicted after Holm's correction over all comparisons of "
    "the claim under the observation scale; otherwise the seeds cannot tell. It does not arise where the situation it "
    "describes is shown not to occur. The levels are those of one of two looks, "
    "with ten seeds and, where these cannot tell, with a hundred."
)

WORDS = (HOLDS, FAILS, CANNOT_TELL, DOES_NOT_ARISE)
"""The verdicts under one observation scale and one welfare function."""

PREDICATES = {
    HOLDS: ("holds", "hold"),
    DEPENDS_ON_WELFARE: ("depends on the welfare function", "depend on the welfare function"),
    DEPENDS_ON_SCALE: ("depends on how the memory is scaled", "depend on how the memory is scaled"),
    FAILS: ("fails", "fail"),
    CANNOT_TELL: ("is open somewhere", "are open somewhere"),
    DOES_NOT_ARISE: ("does not arise", "do not arise"),
}
"""The predicate of one claim with a verdict, and of several."""

BOTH = "Egalitarian and Nash welfare; one verdict if they agree."

BOTH_MEASURES = "Medians at the end of training. Learned: 0 is as good as drawing lots, 1 is the optimum."

CELL = ("welfare", "aggregation", "gamma", "horizon", "weight", "total_steps", "policy", "fixed_scale")
"""The settings in which the cells of a claim may differ."""

OUTCOMES = {True: "as claimed", False: "not as claimed", None: "cannot tell"}
"""The outcomes of a comparison in words."""

READING = (
    "Medians over seeds with exact intervals. p (false): the chance of such seeds if the claim were false (sign test). "
    "p (true): the chance if it were true, after Holm's correction. Mean: with Student's 95% interval, as in the "
    "paper's figures. Where there are alternatives, the claim needs one of them in full. For all seeds, add --json."
)


@dataclass(frozen=True)
class Judgement(Answer):
    """A claim and its verdicts, under each observation scale and overall."""

    asked: Claim
    by_scale: Mapping[str, ScaleVerdict]

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.asked.name

    @property
    def claim(self) -> str:
        """The claim in one sentence."""
        return self.asked.text

    @property
    def criterion(self) -> str:
        """The criterion, with the values of its thresholds."""
        return with_values(self.asked)

    @property
    def by_welfare(self) -> dict[str, dict[str, str]]:
        """The verdict for each welfare function and observation scale."""
        return {
            welfare: {scale: verdict.by_welfare[welfare].word for scale, verdict in self.by_scale.items()}
            for welfare in self.asked.welfares
        }

    @property
    def word(self) -> str:
        """The verdict that all share; or that decided ones differ between scales, or else between welfare functions.

        If none differ but some cannot tell, neither can the whole.
        """
        across = [combined(list(words.values()), DEPENDS_ON_SCALE) for words in self.by_welfare.values()]
        if DEPENDS_ON_SCALE in across:
            return DEPENDS_ON_SCALE
        every = [word for words in self.by_welfare.values() for word in words.values()]
        return combined(every, DEPENDS_ON_WELFARE)

    @property
    def counted(self) -> str:
        """The number of scales with each verdict, under each welfare function, or once where they agree."""
        welfares: dict[str, list[str]] = {}
        for welfare, by_scale in self.by_welfare.items():
            words = list(by_scale.values())
            counts = ", ".join(f"{word} under {words.count(word)}" for word in WORDS if word in words)
            welfares.setdefault(f"{counts} of {len(words)} scales", []).append(WELFARE_NAMES.get(welfare, welfare))
        parts = [f"{counts} with {listed(names)}" for counts, names in welfares.items()]
        return ", and ".join(parts) if self.by_scale else ""

    def document(self) -> Document:
        """The claim, its criterion, and every comparison under each observation scale."""
        quotes = [f"The paper: “{quote.text}” ({quote.place})" for quote in self.asked.quotes]
        return Document(
            f"{self.name}  {self.claim}  {self.word.upper()}",
            [
                *([f"Verdicts by welfare function: {self.counted}."] if self.counted else []),
                *quotes,
                f"Criterion: {self.criterion}",
                *([f"Known before: {self.asked.known}"] if self.asked.known else []),
                *(self._under(scale, verdict) for scale, verdict in self.by_scale.items()),
                READING,
            ],
            "Claim",
        )

    def to_dict(self) -> Json:
        """The judgement as plain lists and dictionaries, for JSON."""
        level = self.asked.level
        return {
            "name": self.name,
            "claim": self.claim,
            "quotes": [quote._asdict() for quote in self.asked.quotes],
            "criterion": self.criterion,
            "known_before": self.asked.known,
            "test": TEST.format(level=100 * level, confidence=100 * (1 - 2 * level)),
            "word": self.word,
            "counted": self.counted,
            "scales": {
                scale: {
                    "word": under.word,
                    "cells": [cell.to_dict() for cell in map(_fair_and_learned, under.cells)],
                    "welfares": {
                        welfare: {
                            "word": verdict.word,
                            "reason": verdict.reason,
                            "comparisons": [_plain(comparison) for comparison in verdict.comparisons],
                        }
                        for welfare, verdict in under.by_welfare.items()
                    },
                }
                for scale, under in self.by_scale.items()
            },
        }

    def _under(self, scale: str, verdict: ScaleVerdict) -> Section:
        """The comparisons under an observation scale, or why there are none."""
        title = f"{self.name} under observation scale {scale}: {verdict.short}"
        if not verdict.comparisons:
            return Section(title, [f"{verdict.reason}."])
        columns: list[Column | str] = [
            Column("outcome", folds=True),
            Column("quantity", folds=True),
            Column("median", measure="quantity"),
            f"{100 * (1 - 2 * self.asked.level):g}% interval",
            "claimed",
            Column("seeds as claimed", 3),
            Column("p (false)", 2),
            Column("p (true)", 2),
            Column("mean", 1),
        ]
        comparisons = Table("", columns, [_row(comparison) for comparison in verdict.comparisons])
        cells = [_fair_and_learned(runs) for runs in verdict.cells]
        differ = [name for name in CELL if len({getattr(cell.run, name) for cell in cells}) > 1]
        headings = [*(HEADINGS.get(name, name) for name in differ), "seeds", "Gini", "learned"]
        rows = [[*(setting_cell(name, getattr(cell.run, name)) for name in differ), *cell[1:]] for cell in cells]
        return Section(title, [comparisons, Table("Is it fair, did it learn?", headings, rows, note=BOTH_MEASURES)])


class Judgements(list[Judgement], Answer):
    """Judged claims.

    Attributes:
        departure: the settings in which all the runs differ from the protocol that they were judged by.
    """

    def __init__(self, judgements: Iterable[Judgement], departure: Mapping[str, object]) -> None:
        super().__init__(judgements)
        self.departure = departure

    def document(self) -> Document:
        """The verdict on every claim, overall and under each observation scale."""
        verdicts = [verdict for judgement in self for verdict in judgement.by_scale.values()]
        if not any(verdict.comparisons for verdict in verdicts):
            return self._too_few(verdicts)
        overall = [[judgement.name, judgement.word, judgement.claim] for judgement in self]
        scales = list(dict.fromkeys(scale for judgement in self for scale in judgement.by_scale))
        by_scale = [
            [
                judgement.name,
                *(by_welfare(judgement.by_scale[scale]) if scale in judgement.by_scale else None for scale in scales),
            ]
            for judgement in self
        ]
        folded = [Column(scale, folds=True) for scale in scales]
        return Document(
            counted_verdicts(self),
            [
                Table("", ["", "verdict", Column("claim", folds=True)], overall),
                Section("Under each observation scale", [Table("", ["", *folded], by_scale, note=BOTH)]),
                Command("The numbers behind a verdict", "bygones claims --why C6"),
            ],
            "Claims",
        )

    def _too_few(self, verdicts: list[ScaleVerdict]) -> Document:
        blocks: list[Block] = []
        if self.departure:
            text = " ".join(f"{name}={setting_text(value)}" for name, value in self.departure.items())
            blocks.append(
                f"These runs differ from the paper's protocol. To judge them anyway: bygones claims … --set {text}"
            )
        elif verdicts:
            blocks.append(f"The first gap: {verdicts[0].reason}.")
        return Document(
            f"There are too few runs to judge any of the paper's claims: a claim needs {MIN_SEEDS} seeds per cell.",
            blocks,
            "Claims",
        )


def counted_verdicts(judgements: Sequence[Judgement]) -> str:
    """How many claims have each verdict: `13 claims with 18 verdicts: 6 hold and 12 fail`."""
    counts = Counter(judgement.word for judgement in judgements)
    parts = [f"{n} {PREDICATES[word][n > 1]}" for word in PREDICATES if (n := counts[word])]
    return f"{count_claims([judgement.name for judgement in judgements])}: {listed(parts)}"


def count_claims(names: Sequence[str]) -> str:
    """The number of claims, and of verdicts where parts of a claim such as C1a and C1b have one each."""
    claims = counted(len({name.rstrip(ascii_lowercase) for name in names}), "claim")
    return claims if claims == counted(len(names), "claim") else f"{claims} with {len(names)} verdicts"


def by_welfare(verdict: ScaleVerdict) -> str:
    """The verdicts under the welfare functions, once if they are the same."""
    return ", ".join(dict.fromkeys(of_welfare.short for of_welfare in verdict.by_welfare.values()))


def with_values(claim: Claim) -> str:
    """The criterion of a claim with the thresholds that it names, such as `MARGIN`, replaced by their values.

    They are constants of the module that has the claim's function.
    """
    constants = getattr(claim.asks, "__globals__", {})

    def value(name: re.Match[str]) -> str:
        constant = constants.get(name[1])
        if constant is None:
            return name[0]
        return " to ".join(f"{end:g}" for end in (constant if isinstance(constant, tuple) else (constant,)))

    return re.sub(r"`([A-Z_]+)`", value, textwrap.dedent(claim.criterion))


class _FairAndLearned(NamedTuple):
    """Both measures of a cell, as medians over its seeds, and the settings of its first run."""

    run: Settings
    n_seeds: int
    gini: float
    learned: float

    def to_dict(self) -> Json:
        """The cell as plain values, for JSON."""
        return {name: getattr(self.run, name) for name in CELL} | dict(zip(self._fields[1:], self[1:], strict=True))


def _fair_and_learned(runs: Results) -> _FairAndLearned:
    run = Results(runs.table.slice(0, 1)).settings()[0]
    gini, welfare = (runs[f"final_{metric}"].astype(float) for metric in ("gini", "welfare"))
    return _FairAndLearned(run, len(runs), float(np.median(gini)), float(np.median(learned(run, welfare))))


def _row(comparison: Comparison) -> list[str | float | None]:
    low, high = comparison.interval
    place = comparison.place and f" ({comparison.place})"
    mean = None
    if comparison.mean_interval is not None:
        mean = "{:.3g} ({:.3g} to {:.3g})".format(comparison.mean, *comparison.mean_interval)
    share = f"{comparison.as_claimed:.0%} of {len(comparison.seeds[0])}" if comparison.seeds else None
    split = ", in two groups" if comparison.splits else ""
    return [
        f"{OUTCOMES[comparison.outcome]}{place}",
        comparison.what,
        comparison.value,
        f"{low:.3g} to {high:.3g}",
        comparison.wanted,
        share and f"{share}{split}",
        f"{comparison.p_holds:.2g}",
        f"{comparison.p_adjusted:.2g}",
        mean,
    ]


def _plain(comparison: Comparison) -> Json:
    """A comparison for JSON, which has no infinity and no NaN."""
    values = comparison._asdict() | {"n_seeds": len(comparison.seeds[0]) if comparison.seeds else None}
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: object) -> object:
    if isinstance(value, tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
