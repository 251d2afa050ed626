"""`bygones claims` and `bygones results`, and the figures of `bygones figure`: read results, need no JAX."""

from __future__ import annotations

import errno
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from bygones._files import check_output
from bygones._parts import needed_by
from bygones._text import listed
from bygones.cli.arguments import Json, optional
from bygones.cli.console import print_json, print_paths, print_sentences, print_table
from bygones.cli.research.claims_tables import print_claims, print_comparisons, setting_text

if TYPE_CHECKING:
    import numpy as np

    from bygones.paper.results import Results

SETTING_HELP = "Judge only runs with these settings instead of the paper's, such as ends=termination."
PLACES_HELP = "Folders or files of results; by default the shipped evidence, every folder in evidence/grid."
SHOWN_METRICS = {
    "final_gini": "Gini", "final_welfare": "fairness", "final_utility_per_step": "utility/step",
    "sampled_gini": "sampled", "deterministic_gini": "deterministic",
}  # fmt: skip
"""The columns of results whose means `results` shows, where there are any: of training, then of evaluation."""
EVALUATED = (
    "Gini, fairness score and utility per step are those of training. Sampled and deterministic are the Gini of the "
    "trained policy, with actions drawn from it and with its most probable actions."
)
GRID_COLUMNS = ("observation_scale", "welfare", "aggregation", "horizon", "gamma", "weight")


def claims(
    places: Annotated[Positional[tuple[Path, ...]], optional(PLACES_HELP, "[PATH…]")] = (),
    why: Annotated[tuple[str, ...], optional("Show every number behind these claims, such as C6 C13.", "CLAIM…")] = (),
    settings: Annotated[
        tuple[str, ...], arg(name="set", metavar="NAME=VALUE…", help=SETTING_HELP, help_behavior_hint="")
    ] = (),
    json: Json = False,
) -> None:
    """Judge the paper's claims C1 to C13 and ours, B1 to B5, from results, under every observation scale in them.

    --json also says what the policies of every cell are worth, beside the best possible and untrained rules.

    Example: bygones claims --why C6

    Example: bygones claims --set ends=termination
    """
    from bygones.paper import policy_worth
    from bygones.paper.claims import CLAIMS, judge
    from bygones.paper.grid import parse_setting
    from bygones.paper.judging import departure
    from bygones.paper.results import read

    changes = dict(map(parse_setting, settings))
    found = read(*(places or _evidence()))
    check_results(found, places or _evidence())
    judgements = judge(found, why or tuple(CLAIMS), **changes)
    if json:
        cells = policy_worth.measured(found)
        print_json(
            {
                "claims": [judgement.to_dict() for judgement in judgements],
                "policies": [cell.to_dict() for cell in cells],
                "without_training": policy_worth.without_training(cells),
            }
        )
    elif why:
        for judgement in judgements:
            print_comparisons(judgement)
    else:
        print_claims(judgements, {} if changes else departure(found))


def results(
    places: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="PATH…", help="Folders or files of results.", help_behavior_hint="(required)"),
    ],
    csv_file: Annotated[
        Path | None,
        arg(
            name="csv", metavar="FILE", help="Write all columns except the curves to this file.", help_behavior_hint=""
        ),
    ] = None,
    merge_into: Annotated[Path | None, optional("Write these runs to a new folder.", "FOLDER")] = None,
    where: Annotated[
        tuple[str, ...], optional("Only runs with these values, such as welfare=nash gamma=[0.99,1].", "NAME=VALUE…")
    ] = (),
) -> None:
    """Show, filter, merge and export results: means over seeds, one line for each combination of settings.

    Gini, fairness score and utility per step are those of training, over its last episodes. Sampled and deterministic
    are the Gini of the trained policy, where it was evaluated: with actions drawn, and with the most probable ones.

    Example: bygones results evidence/grid/none --where welfare=nash horizon=10000 --csv runs.csv
    """
    from bygones.paper.columns import SETTINGS
    from bygones.paper.grid import parse_setting
    from bygones.paper.results import merge, read

    if not places:
        raise ValueError("name at least one folder or file of results, such as out/paper/results")
    if csv_file:
        check_output(csv_file, places)
    wanted, every = dict(map(parse_setting, where)), read(*places)
    check_results(every, places)
    found = every.where(**wanted)
    if not len(found):
        runs = f"none of the {len(every)} runs" if len(every) > 1 else "the one run"
        does = "match" if len(every) > 1 else "does not match"
        raise ValueError(f"{runs} in {', '.join(map(str, places))} {does} --where {' '.join(where)}")
    if merge_into:
        merge(places, merge_into, **wanted)
    if csv_file:
        found.to_csv(csv_file)
        print_paths([csv_file])
    kinds: dict[tuple[str, ...], list[int]] = {}
    rows = found.table.select([name for name in SETTINGS if name != "seed"]).to_pylist()
    for number, row in enumerate(rows):
        kinds.setdefault(tuple(map(setting_text, row.values())), []).append(number)
    order = [*GRID_COLUMNS, *(name for name in rows[0] if name not in GRID_COLUMNS)]
    varied = [name for name in order if len({setting_text(row[name]) for row in rows}) > 1]
    shared = [f"{name}={setting_text(rows[0][name])}" for name in GRID_COLUMNS if name not in varied]
    shown = {name: title for name, title in SHOWN_METRICS.items() if found.table.column(name).null_count < len(found)}
    metrics = [found[name] for name in shown]
    print_table(
        ", ".join([f"{len(found)} runs", *shared]),
        [*varied, "runs", *shown.values()],
        [
            [*(rows[some[0]][name] for name in varied), len(some), *(_mean(m[some]) for m in metrics)]
            for _, some in sorted(kinds.items(), key=lambda kind: [_sortable(rows[kind[1][0]][v]) for v in varied])
        ],
    )
    if "sampled_gini" in shown:
        print_sentences([EVALUATED])


def check_results(found: Results, places: Sequence[Path]) -> None:
    """Refuses places that were named and hold no results."""
    if not len(found):
        raise ValueError(
            f"{listed(list(map(str, places)))} {'has' if len(places) == 1 else 'have'} no results: there is no "
            f"*.parquet file with runs, neither there nor in a folder directly below; bygones reproduce writes them"
        )


def draw(
    name: str, places: tuple[Path, ...], observation_scale: str | None, settings: Sequence[str], out: Path
) -> None:
    """Draws a figure from results, or all of them, and prints the files that were written."""
    from bygones._arrays import check_one_of
    from bygones.paper.grid import parse_setting

    with needed_by("a figure of results", "figures,results"):
        from bygones.paper.claims import judge
        from bygones.paper.judging import departure
        from bygones.paper.results import read
        from bygones.report.paper import paper_figures
        from bygones.report.paper.claims_figure import claims_figure
        from bygones.report.style import save

    check_one_of("figure", name, ["1", *paper_figures.names(), "claims", "all"])
    found, changes = read(*(places or _evidence())), dict(map(parse_setting, settings))
    check_results(found, places or _evidence())
    if observation_scale is None and len(found.distinct("observation_scale")) > 1:
        observation_scale = paper_figures.DEFAULT_SCALE
    if name in ("claims", "all"):
        print_paths(save(claims_figure(judge(found, **changes)), out, "figure-claims"))
    changes = changes or departure(found)
    if name == "all":
        print_paths(paper_figures.draw_all(found, out, observation_scale, **changes))
    elif name != "claims":
        print_paths(save(paper_figures.draw(name, found, observation_scale, **changes), out, f"figure-{name}"))


def _mean(values: np.ndarray) -> float | None:
    """The mean to four digits; None if a run was not evaluated."""
    mean = float(values.mean())
    return None if math.isnan(mean) else round(mean, 4)


def _sortable(value: object) -> tuple[bool, Any]:
    return (value is None, str(value) if isinstance(value, list) or value is None else value)


def _evidence() -> list[Path]:
    from bygones.paper.evidence import evidence_folder

    folder = evidence_folder()
    if not folder.is_dir():
        reason = "the shipped evidence was not found (it comes with the repository); name folders of results instead"
        raise FileNotFoundError(errno.ENOENT, reason, str(folder))
    return sorted(folder.iterdir())
