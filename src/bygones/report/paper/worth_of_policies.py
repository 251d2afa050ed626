"""Tables of the worth of finished policies, and of two networks side by side, for the report and docs/claims.md."""

from __future__ import annotations

from collections.abc import Sequence

from bygones.document.document import Cell, Table
from bygones.paper.claims import RECALL
from bygones.paper.grid import GAMMAS, SCALES, WELFARES, memory_label
from bygones.paper.policy_worth import MEASURED, WAYS, CellWorth, measured, most_for_the_least
from bygones.paper.results import Results
from bygones.paper.untrained import RULES, reached
from bygones.report.paper.paper_figures import WELFARE_NAMES

DIGITS = {"gini": 2, "utility_least": 3}
SHOWN_RULES = ("prices", "one-step")
BETWEEN = "\u00a0· "
"""Between the values of the three ways to measure a policy, which stay on one line."""
SYMMETRIC = "symmetric"


def tables_of_worth(results: Results) -> list[Table]:
    """For each welfare function and metric: the worth of each memory at the longest horizon, measured in three ways.

    A row is a network and its observation of the memory. The last rows are rules that need no training, and the best
    possible.
    """
    cells = [one for one in measured(results, aggregation="additive") if len(one.seeds("sampled", "gini"))]
    longest = max((one.run.horizon for one in cells), default=0)
    cells = [one for one in cells if one.run.horizon == longest]
    tables = []
    for welfare in WELFARES:
        some = [one for one in cells if one.run.welfare == welfare]
        for metric in MEASURED if some else ():
            what = f"{MEASURED[metric]} at T = {longest:,}, {WELFARE_NAMES[welfare]}"
            caption = f"{what[0].upper()}{what[1:]}, means over seeds: {' · '.join(WAYS.values())}"
            gammas = [gamma for gamma in GAMMAS if any(one.run.gamma == gamma for one in some)]
            columns = ["network and memory", *map(memory_label, gammas)]
            tables.append(Table(caption, columns, [*_trained(some, gammas, metric), *_untrained(some, gammas, metric)]))
    return tables


def tables_of_networks(results: Results) -> list[Table]:
    """For each welfare function: perfect recall with the paper's network and the symmetric one, at every horizon."""
    every = measured(results, aggregation="additive", gamma=RECALL)
    problems = {(one.run.welfare, one.run.observation_scale, one.run.fixed_scale) for one in every if _symmetric(one)}
    tables = []
    for welfare in WELFARES:
        some = [
            one
            for one in every
            if one.run.welfare == welfare and (welfare, one.run.observation_scale, one.run.fixed_scale) in problems
        ]
        if some:
            caption = (
                f"Perfect recall under {WELFARE_NAMES[welfare]}: medians over seeds, exact 95% intervals; no policy "
                f"gives the worst-off agent more than {most_for_the_least(some[0].run):.4f} a step"
            )
            columns = ["network and memory", "T", "seeds", "Gini coefficient", "worst-off agent, per step"]
            tables.append(Table(caption, columns, [_network_row(one) for one in _by_horizon(some)]))
    return tables


def network_name(one: CellWorth) -> str:
    """A network and its observation of the memory, in words."""
    run = one.run
    seen = SCALES[run.observation_scale]
    if run.observation_scale == "fixed":
        seen = seen.replace("a constant", f"{run.fixed_scale:g}")
    if not _symmetric(one):
        return f"paper’s network, {seen}"
    if run.agent_features == "logarithmic":
        scaled = "" if run.observation_scale == "none" else f" {seen.removeprefix('memory ')}"
        seen = f"logarithm of the memory{scaled}"
    return f"symmetric network, {seen}"


def _symmetric(one: CellWorth) -> bool:
    return one.run.policy == SYMMETRIC


def _by_horizon(cells: Sequence[CellWorth]) -> list[CellWorth]:
    return sorted(cells, key=lambda one: (one.run.horizon, one.run.observation_scale == "fixed", _symmetric(one)))


def _network_row(one: CellWorth) -> list[Cell]:
    found = [one.over_seeds("final", metric) for metric in MEASURED]
    values = [
        f"{each.median:.{n}f} ({each.interval.low:.{n}f} to {each.interval.high:.{n}f})"
        for each, n in zip(found, (3, 4), strict=True)
        if each
    ]
    return [network_name(one), f"{one.run.horizon:,}", str(len(one.runs)), *values]


def _trained(cells: Sequence[CellWorth], gammas: Sequence[float], metric: str) -> list[list[Cell]]:
    rows: dict[str, dict[float, str]] = {}
    for one in cells:
        means = [found.mean for way in WAYS if (found := one.over_seeds(way, metric))]
        rows.setdefault(network_name(one), {})[one.run.gamma] = BETWEEN.join(
            f"{mean:.{DIGITS[metric]}f}" for mean in means
        )
    return [[name, *(of.get(gamma, "") for gamma in gammas)] for name, of in rows.items()]


def _untrained(cells: Sequence[CellWorth], gammas: Sequence[float], metric: str) -> list[list[Cell]]:
    run, digits = cells[0].run, DIGITS[metric]
    rows: list[list[Cell]] = []
    for rule in (name for name in RULES if name in SHOWN_RULES):
        values = [
            getattr(reached(rule, run.replace(gamma=gamma), [run.horizon])[run.horizon], metric) for gamma in gammas
        ]
        rows.append([f"{rule}, without training", *(f"{value:.{digits}f}" for value in values)])
    if metric == "utility_least":
        rows.append(["best possible", *[f"{most_for_the_least(run):.{digits}f}"] * len(gammas)])
    return rows
