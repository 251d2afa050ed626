"""Tables of the worth of finished policies, and of two networks side by side, for the report and docs/claims.md."""

from __future__ import annotations

from collections.abc import Sequence

from bygones.document.document import Cell, Table
from bygones.paper.claims import RECALL
from bygones.paper.grid import GAMMAS, SCALES, WELFARE_NAMES, WELFARES, memory_label
from bygones.paper.policy_worth import MEASURED, WAYS, CellWorth, measured, most_for_the_least
from bygones.paper.results import Results
from bygones.paper.untrained import RULES, reached

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
    cells = [cell for cell in measured(results, aggregation="additive") if len(cell.seeds("sampled", "gini"))]
    longest = max((cell.run.horizon for cell in cells), default=0)
    cells = [cell for cell in cells if cell.run.horizon == longest]
    tables = []
    for welfare in WELFARES:
        of_welfare = [cell for cell in cells if cell.run.welfare == welfare]
        for metric in MEASURED if of_welfare else ():
            what = f"{MEASURED[metric]} at T = {longest:,}, {WELFARE_NAMES[welfare]}"
            caption = f"{what[0].upper()}{what[1:]}, means over seeds: {' · '.join(WAYS.values())}"
            gammas = [gamma for gamma in GAMMAS if any(cell.run.gamma == gamma for cell in of_welfare)]
            columns = ["network and memory", *map(memory_label, gammas)]
            rows = [*_trained(of_welfare, gammas, metric), *_untrained(of_welfare, gammas, metric)]
            tables.append(Table(caption, columns, rows))
    return tables


def tables_of_networks(results: Results) -> list[Table]:
    """For each welfare function: perfect recall with the paper's network and the symmetric one, at every horizon."""
    cells = measured(results, aggregation="additive", gamma=RECALL)
    problems = {_problem(cell) for cell in cells if _symmetric(cell)}
    tables = []
    for welfare in WELFARES:
        of_welfare = [cell for cell in cells if cell.run.welfare == welfare and _problem(cell) in problems]
        if of_welfare:
            caption = (
                f"Perfect recall under {WELFARE_NAMES[welfare]}: medians over seeds, exact 95% intervals; no policy "
                f"gives the worst-off agent more than {most_for_the_least(of_welfare[0].run):.4f} a step"
            )
            columns = ["network and memory", "T", "seeds", "Gini coefficient", "worst-off agent, per step"]
            tables.append(Table(caption, columns, [_network_row(cell) for cell in _by_horizon(of_welfare)]))
    return tables


def network_name(cell: CellWorth) -> str:
    """A network and its observation of the memory, in words."""
    run = cell.run
    seen = SCALES[run.observation_scale]
    if run.observation_scale == "fixed":
        seen = seen.replace("a constant", f"{run.fixed_scale:g}")
    if not _symmetric(cell):
        return f"paper’s network, {seen}"
    if run.agent_features == "logarithmic":
        scaled = "" if run.observation_scale == "none" else f" {seen.removeprefix('memory ')}"
        seen = f"logarithm of the memory{scaled}"
    return f"symmetric network, {seen}"


def _symmetric(cell: CellWorth) -> bool:
    return cell.run.policy == SYMMETRIC


def _problem(cell: CellWorth) -> tuple[str, str, float]:
    return cell.run.welfare, cell.run.observation_scale, cell.run.fixed_scale


def _by_horizon(cells: Sequence[CellWorth]) -> list[CellWorth]:
    return sorted(cells, key=lambda cell: (cell.run.horizon, cell.run.observation_scale == "fixed", _symmetric(cell)))


def _network_row(cell: CellWorth) -> list[Cell]:
    measures = [cell.over_seeds("final", metric) for metric in MEASURED]
    values = [
        f"{measure.median:.{n}f} ({measure.interval.low:.{n}f} to {measure.interval.high:.{n}f})"
        for measure, n in zip(measures, (3, 4), strict=True)
        if measure
    ]
    return [network_name(cell), f"{cell.run.horizon:,}", str(len(cell.runs)), *values]


def _trained(cells: Sequence[CellWorth], gammas: Sequence[float], metric: str) -> list[list[Cell]]:
    rows: dict[str, dict[float, str]] = {}
    for cell in cells:
        means = [measure.mean for way in WAYS if (measure := cell.over_seeds(way, metric))]
        rows.setdefault(network_name(cell), {})[cell.run.gamma] = BETWEEN.join(
            f"{mean:.{DIGITS[metric]}f}" for mean in means
        )
    return [[name, *(means_by_gamma.get(gamma, "") for gamma in gammas)] for name, means_by_gamma in rows.items()]


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
