"""The section of the report on whether learning is worth it: rules that need no training, and trained policies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bygones._text import listed
from bygones.document.document import Table
from bygones.paper.grid import AGGREGATIONS, N_SEEDS, WELFARE_NAMES, memory_label
from bygones.paper.results import Results
from bygones.paper.untrained import PROBLEM, RULES, Worth, rule_shares, shares_of_optimum, worth
from bygones.report.page import Block, fragment

NETWORKS = {"mlp": "trained", "symmetric": "symmetric network"}
"""How tables call the policies of the paper's network and of the one that is shared across agents."""
_SIZES = PROBLEM[1:-1]
"""The numbers of agents, resources and advantaged agents."""


def without_training(sets: Mapping[str, Results]) -> list[Block]:
    """A sentence for each welfare function, and a table of rules and trained policies with each memory."""
    problems = problems_of(sets)
    sentences = [sentence(runs) for runs in problems.values()]
    tables = [Table(_caption(runs), columns(runs), rows(runs)) for runs in problems.values()]
    return [fragment("paper/templates/worth.html.jinja", sentences=sentences), *tables]


def problems_of(sets: Mapping[str, Results]) -> dict[str, Results]:
    """The runs with as many agents and resources as the last set's first run, by welfare, from all sets.

    They are runs with additive utilities if there are any.
    """
    *_, last = sets.values()
    every = Results(pa.concat_tables([results.table for results in sets.values()]))
    same = every.finished().where(**{name: last[name][0] for name in _SIZES})
    aggregation = next((name for name in AGGREGATIONS if name in same.distinct("aggregation")), "")
    by_welfare = {name: same.where(welfare=name, aggregation=aggregation) for name in same.distinct("welfare")}
    return {welfare: runs for welfare, runs in by_welfare.items() if len(runs)}


def sentence(runs: Results) -> str:
    """Whether learning is worth it at the longest horizon, and at which other horizons it is not so."""
    *shorter, last = (worth(runs.where(horizon=horizon)) for horizon in runs.distinct("horizon"))
    others = [one.horizon for one in shorter if one.learning is not last.learning]
    where = f"Under {WELFARE_NAMES.get(last.welfare, last.welfare)} at T = {last.horizon:,}"
    return f"{where}, {last}{_otherwise(last, others, len(shorter))}"


def columns(runs: Results) -> list[str]:
    """The header of the table of `rows`."""
    trained = [f"{NETWORKS[kind]}, {which} run" for kind in _networks(runs) for which in ("best", "median")]
    return ["memory", *trained, *RULES]


def rows(runs: Results) -> list[list[str]]:
    """The welfare of each memory at the longest horizon, trained with each network and with the rules.

    A median is over the paper's number of seeds, so cells with more of them do not count for more.
    """
    longest = runs.where(horizon=max(runs.distinct("horizon")))
    lines = []
    for gamma in longest.distinct("gamma"):
        row = [memory_label(gamma)]
        for kind in _networks(runs):
            some = longest.where(gamma=gamma, policy=kind)
            weighted = some.where(seed=range(N_SEEDS))
            row.append(f"{shares_of_optimum(some).max():.1%}" if len(some) else "")
            row.append(f"{np.median(shares_of_optimum(weighted)):.1%}" if len(weighted) else "")
        lines.append(row + [f"{share:.1%}" for share in rule_shares(longest, gamma).values()])
    return lines


def _networks(runs: Results) -> list[str]:
    return [kind for kind in NETWORKS if kind in runs.distinct("policy")]


def _caption(runs: Results) -> str:
    horizon, welfare = max(runs.distinct("horizon")), runs["welfare"][0]
    return f"Share of the best possible welfare at T = {horizon:,}, {WELFARE_NAMES.get(welfare, welfare)}"


def _otherwise(last: Worth, others: list[int], of: int) -> str:
    if not of:
        return ""
    if not others:
        return " The same is true at the shorter horizons."
    horizons = listed([f"{horizon:,}" for horizon in others])
    return f" At T = {horizons}, learning {'is not' if last.learning else 'is'} worth it."
