"""Judges claims from results: under each observation scale, under each welfare function, and overall.

The paper's claims are in `bygones.paper.paper_claims`, with its sentences, our criteria and the results known before.
The comparisons of each claim are in `bygones.paper.criteria`, and how they become verdicts is in
`bygones.paper.judging`. Statements beyond the paper are in `bygones.paper.beyond`.

How the memory is scaled before the network observes it is not known (docs/decisions.md, row 6). No scale is the
paper's: "normalized to the approximate expected range" allows a division by a constant, by the largest value and by the
expected value, and does not describe an unscaled memory, a memory relative to its mean, or running normalisation. All
are judged and shown side by side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from bygones.paper.beyond import BEYOND
from bygones.paper.cells import Cells
from bygones.paper.criteria import FAIR_SHARE, MYOPIC, RECALL
from bygones.paper.grid import in_order
from bygones.paper.judgements import Judgement, Judgements
from bygones.paper.judging import PROTOCOL, Claim, Quote, departure, verdicts
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.paper.results import Results

__all__ = ["CLAIMS", "FAIR_SHARE", "MYOPIC", "RECALL", "Claim", "Judgement", "Judgements", "Quote", "add", "judge"]

ASKED_ABOUT = ("total_steps", "weight", "fixed_scale", "policy", "agent_features")
"""The parts of the protocol that claims vary: C13 the steps, C12 λ, B1 and B2 the divisor and the network."""

NORMALISES_NEEDS = "running"
"""The observation scale that changes the observations of a myopic agent; under all others its runs are the same."""

UNSCALED_AVERAGES = ("none", "window")
"""Observation scales under which averages look the same: none is above 1, which is what `window` divides them by."""

CLAIMS: dict[str, Claim] = {}
"""Every claim by its name, in the order in which they are judged."""


def add(claim: Claim) -> None:
    """Adds a claim to be judged.

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


def judge(results: Results, names: Sequence[str] | None = None, **changes: object) -> Judgements:
    """Judges claims from results, under every observation scale that occurs in them.

    Args:
        results: the runs to judge by.
        names: the claims to judge, or the beginnings of their names: C4 is C4a and C4b; by default all.
        changes: the settings in which the runs to judge differ from the paper's protocol: `ends="termination"`.
    """
    every = cells_by_scale(results, **changes)
    judgements = (
        Judgement(
            claim,
            {
                scale: verdicts(claim, cells)
                for scale, cells in every.items()
                if claim.scales is None or scale in claim.scales
            },
        )
        for claim in select_claims(names)
    )
    return Judgements(judgements, {} if changes else departure(results))


def cells_by_scale(results: Results, **changes: object) -> dict[str, Cells]:
    """The cells of the runs that follow the paper's protocol except for these changes, by observation scale."""
    protocol = {**PROTOCOL, **changes}
    left = {name: protocol.pop(name) for name in ASKED_ABOUT if name in protocol}
    follow = results.where(**protocol)
    scales = in_order(results.distinct("observation_scale"))
    return {scale: Cells(follow.where(observation_scale=scale), left, scale, _alike(follow, scale)) for scale in scales}


def _alike(results: Results, scale: str) -> Results:
    """The runs of any observation scale that observe the same as with this one."""
    parts = []
    if scale != NORMALISES_NEEDS:
        scales = [other for other in results.distinct("observation_scale") if other != NORMALISES_NEEDS]
        parts.append(results.where(gamma=MYOPIC, observe_memory=[None, False], observation_scale=scales).table)
    if scale in UNSCALED_AVERAGES:
        averaged = results.where(aggregation="averaged", observation_scale=UNSCALED_AVERAGES)
        parts.append(averaged.table)
    return Results(pa.concat_tables([results.table.slice(0, 0), *parts]))


def select_claims(names: Sequence[str] | None = None) -> list[Claim]:
    """The claims of these names, or of names that begin with them and go on with a letter; by default all.

    Raises:
        ValueError: there is no such claim.
    """
    claims = []
    for name in CLAIMS if names is None else names:
        some = [claim for claim in CLAIMS.values() if re.fullmatch(rf"{re.escape(name)}[a-z]?", claim.name)]
        if not some:
            raise ValueError(f"a claim must be one of {', '.join(CLAIMS)}, got {name}")
        claims += some
    return claims
