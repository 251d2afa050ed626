"""How much the verdicts on the paper's claims depend on the thresholds and tests by which they are judged.

`python -m benchmarks.sensitivity` prints the table of `docs/claims.md`, which `benchmarks.claims_note` writes. Each row
changes one thing and judges all claims again:

- `FAIR_SHARE`, the share of the myopic agent's Gini below which a memory is fair;
- `MARGIN`, the smallest difference in Gini that matters;
- the myopic agent by which fairness is measured, which is a learner as well: in its place the Gini of serving the
  largest needs, which no learner can move;
- medians and sign tests: in their place means and Student's tests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal
from unittest import mock

import numpy as np
from scipy import stats

from bygones._arrays import AnyArray
from bygones.learn.settings import Settings
from bygones.paper import criteria, judging
from bygones.paper.asked import asked_for
from bygones.paper.cells import Cells, PerSeed
from bygones.paper.claims import judge
from bygones.paper.criteria import MYOPIC
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import HORIZONS
from bygones.paper.judging import FAILS, HOLDS
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.paper.results import Results, read

FAIR_SHARES = (0.4, 0.45, 0.55, 0.6)
MARGINS = (0.02, 0.1)

BY_THE_BAR = ("C1a", "C2", "C4a", "C4b", "C7", "C8", "C9", "C10c", "C10d", "C12", "C13a", "C13b")
"""The claims about being fair. C3 is about the myopic agent itself, and the others compare memories with each other."""

Verdicts = dict[tuple[str, str, str], str]
"""The verdict by claim, observation scale and welfare."""


def verdicts(results: Results, names: Sequence[str] | None = None) -> Verdicts:
    """The verdicts on the paper's claims, or on some of them."""
    return {
        (judged.name, scale, welfare): verdict.short
        for judged in judge(results, names or [claim.name for claim in PAPER_CLAIMS])
        for scale, of_scale in judged.by_scale.items()
        for welfare, verdict in of_scale.by_welfare.items()
    }


def largest_needs() -> dict[int, float]:
    """The Gini of serving the largest needs, by horizon: the rule of a reward without memory."""
    return {T: result.gini for T, result in asked_for(Settings(gamma=MYOPIC, welfare="nash"), HORIZONS).items()}


@contextlib.contextmanager
def by_the_largest_needs() -> Iterator[None]:
    """Fairness measured by the Gini of serving the largest needs."""
    seeds, bar = Cells.seeds, largest_needs()

    def replaced(
        cells: Cells, metric: str, welfare: str, aggregation: str, gamma: float, horizon: int, **changes: object
    ) -> PerSeed:
        found = seeds(cells, metric, welfare, aggregation, gamma, horizon, **changes)
        if (metric, gamma) != ("gini", MYOPIC):
            return found
        return PerSeed(dict.fromkeys(found.by_seed, bar[horizon]))

    with mock.patch.object(Cells, "seeds", replaced):
        yield


def mean_chance(values: AnyArray, bound: float, side: Literal["less", "greater"]) -> float:
    """The p-value of Student's test that a mean is less, or greater, than a bound."""
    if not np.isfinite(bound) or np.ptp(values) == 0:
        inside = np.mean(values) < bound if side == "less" else np.mean(values) > bound
        return float(not inside)
    return float(stats.ttest_1samp(values, bound, alternative=side).pvalue)


def changes() -> dict[str, contextlib.AbstractContextManager[Any]]:
    """Every change, by its description."""
    return {
        **{
            f"fair below {share:g} of the myopic agent's Gini": mock.patch.object(criteria, "FAIR_SHARE", share)
            for share in FAIR_SHARES
        },
        "fair below half of the Gini of serving the largest needs": by_the_largest_needs(),
        **{f"a margin of {margin:g}": mock.patch.object(criteria, "MARGIN", margin) for margin in MARGINS},
        "means and Student's tests": mock.patch.object(judging, "median_chance", mean_chance),
    }


def table(results: Results) -> str:
    """For each change, how many verdicts it changes, how many it reverses, and the claims in question."""
    usual = verdicts(results)
    lines = [
        "| change | verdicts that change | from holds to fails or back | claims |",
        "| --- | --- | --- | --- |",
    ]
    for description, change in changes().items():
        with change:
            changed = usual | verdicts(results, BY_THE_BAR if "largest needs" in description else None)
        moved = [key for key, word in usual.items() if changed[key] != word]
        reversed_ = [key for key in moved if {usual[key], changed[key]} == {HOLDS, FAILS}]
        claims = ", ".join(dict.fromkeys(name for name, _, _ in moved))
        lines.append(f"| {description} | {len(moved)} of {len(usual)} | {len(reversed_)} | {claims} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(read(*sorted(evidence_folder().iterdir()))))
