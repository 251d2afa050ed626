"""Judges claims from results: under each observation scale, under each welfare function, and overall.

The paper's claims are in `bygones.paper.paper_claims`, with its sentences, our criteria and what was known before. What
a claim asks for is in `bygones.paper.criteria`, and how the answers become verdicts in `bygones.paper.judging`.
Statements beyond the paper are in `bygones.paper.beyond`.

How the memory is scaled before the network observes it is not known (docs/decisions.md, row 6). No scale is the
paper's: "normalized to the approximate expected range" allows a division by a constant, by the largest value and by the
expected value, and does not describe an unscaled memory, a memory relative to its mean, or running normalisation. All
are judged and shown side by side.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bygones.paper.beyond import BEYOND
from bygones.paper.cells import Cells
from bygones.paper.criteria import FAIR_SHARE, MYOPIC, RECALL
from bygones.paper.grid import in_order
from bygones.paper.judging import (
    CANNOT_TELL,
    DEPENDS_ON_SCALE,
    DEPENDS_ON_WELFARE,
    DOES_NOT_ARISE,
    FAILS,
    HOLDS,
    PROTOCOL,
    Claim,
    Comparison,
    Quote,
    ScaleVerdict,
    combined,
    verdicts,
)
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.paper.results import Results

__all__ = ["CLAIMS", "FAIR_SHARE", "MYOPIC", "RECALL", "Claim", "Judgement", "Quote", "add", "judge"]

ASKED_ABOUT = ("total_steps", "weight", "fixed_scale", "policy", "agent_features")
"""The parts of the protocol that claims vary: C13 the steps, C12 λ, B1 and B2 the divisor and the network."""

NORMALISES_NEEDS = "running"
"""The observation scale that changes what a myopic agent observes; under all others its runs are the same."""

SHOW_AVERAGES_AS_THEY_ARE = ("none", "window")
"""Observation scales under which averages look the same: none is above 1, which is what `window` divides them by."""

TEST = (
    "For each seed the quantity is computed from that seed's runs; its median over seeds is judged by exact sign tests "
    "at {level:g}% on each side, with the {confidence:g}% interval from order statistics. The claim holds if every "
    "comparison is shown, and fails if at least one is contradicted after Holm's correction over all comparisons of "
    "the claim under the observation scale; otherwise the seeds cannot tell. It does not arise where what it is about "
    "is shown not to occur. The levels are those of one of two looks, "
    "with ten seeds and, where these cannot tell, with a hundred."
)

WORDS = (HOLDS, FAILS, CANNOT_TELL, DOES_NOT_ARISE)
"""The verdicts under one observation scale and one welfare function."""

CLAIMS: dict[str, Claim] = {}
"""Every claim by its name, in the order in which they are judged."""


def add(claim: Claim) -> None:
    """Adds a claim to those that are judged.

    Raises:
        ValueError: there is a claim of that name that asks for something else. The same one may be added again, as
            when a cell of a notebook is run twice.
    """
    known = CLAIMS.get(claim.name, claim).asks
    if any(getattr(known, name, None) != getattr(claim.asks, name, None) for name in ("__module__", "__qualname__")):
        raise ValueError(f"claim {claim.name} exists already: choose another name")
    CLAIMS[claim.name] = claim


for each in (*PAPER_CLAIMS, *BEYOND):
    add(each)


@dataclass(frozen=True)
class Judgement:
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
            welfare: {scale: found.by_welfare[welfare].word for scale, found in self.by_scale.items()}
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
        """Under how many scales each verdict was found, so that none is lost in the overall word."""
        parts = []
        for welfare, words in self.by_welfare.items():
            found = list(words.values())
            counts = [f"{word} under {found.count(word)}" for word in WORDS if word in found]
            parts.append(f"{welfare}: {', '.join(counts)} of {len(found)} scales")
        return "; ".join(parts) if self.by_scale else ""

    def to_dict(self) -> dict[str, Any]:
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
                    "word": found.word,
                    "welfares": {
                        welfare: {
                            "word": verdict.word,
                            "reason": verdict.reason,
                            "comparisons": [_plain(made) for made in verdict.comparisons],
                        }
                        for welfare, verdict in found.by_welfare.items()
                    },
                }
                for scale, found in self.by_scale.items()
            },
        }


def judge(results: Results, names: Sequence[str] | None = None, **changes: Any) -> list[Judgement]:
    """Judges claims from results, under every observation scale that occurs in them.

    Args:
        results: the runs to judge by.
        names: the claims to judge, or the beginnings of their names: C4 is C4a and C4b; by default all.
        changes: the settings in which the runs to judge differ from the paper's protocol: `ends="termination"`.
    """
    every = cells_by_scale(results, **changes)
    return [
        Judgement(
            asked,
            {
                scale: verdicts(asked, cells)
                for scale, cells in every.items()
                if asked.scales is None or scale in asked.scales
            },
        )
        for asked in named(names)
    ]


def cells_by_scale(results: Results, **changes: Any) -> dict[str, Cells]:
    """The cells of the runs that follow the paper's protocol except for these changes, by observation scale."""
    protocol = {**PROTOCOL, **changes}
    left = {name: protocol.pop(name) for name in ASKED_ABOUT if name in protocol}
    follow = results.where(**protocol)
    scales = in_order(results.distinct("observation_scale"))
    return {scale: Cells(follow.where(observation_scale=scale), left, scale, _alike(follow, scale)) for scale in scales}


def _alike(results: Results, scale: str) -> Results:
    """The runs of any observation scale that observe the same as those of this one."""
    parts = []
    if scale != NORMALISES_NEEDS:
        scales = [other for other in results.distinct("observation_scale") if other != NORMALISES_NEEDS]
        parts.append(results.where(gamma=MYOPIC, observe_memory=[None, False], observation_scale=scales).table)
    if scale in SHOW_AVERAGES_AS_THEY_ARE:
        averaged = results.where(aggregation="averaged", observation_scale=SHOW_AVERAGES_AS_THEY_ARE)
        parts.append(averaged.table)
    return Results(pa.concat_tables([results.table.slice(0, 0), *parts]))


def named(names: Sequence[str] | None = None) -> list[Claim]:
    """The claims of these names, or of names that begin with them and go on with a letter; by default all.

    Raises:
        ValueError: there is no such claim.
    """
    found = []
    for name in CLAIMS if names is None else names:
        some = [claim for claim in CLAIMS.values() if re.fullmatch(rf"{re.escape(name)}[a-z]?", claim.name)]
        if not some:
            raise ValueError(f"a claim must be one of {', '.join(CLAIMS)}, got {name}")
        found += some
    return found


def with_values(claim: Claim) -> str:
    """The criterion of a claim with the thresholds that it names, such as `MARGIN`, replaced by their values.

    They are constants of the module that has what the claim asks for.
    """
    constants = getattr(claim.asks, "__globals__", {})

    def value(name: re.Match[str]) -> str:
        found = constants.get(name[1])
        if found is None:
            return name[0]
        return " to ".join(f"{end:g}" for end in (found if isinstance(found, tuple) else (found,)))

    return re.sub(r"`([A-Z_]+)`", value, textwrap.dedent(claim.criterion))


def _plain(made: Comparison) -> dict[str, Any]:
    """A comparison for JSON, which has no infinity and no NaN."""
    found = made._asdict() | {"n_seeds": len(made.seeds[0]) if made.seeds else None}
    return {name: _finite(value) for name, value in found.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
