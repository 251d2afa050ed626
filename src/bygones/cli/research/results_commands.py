"""`bygones claims` and `bygones results`, and the figures of `bygones figure`: read results, need no JAX."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._files import check_output
from bygones._parts import needed_by
from bygones._text import listed
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json, print_paths

if TYPE_CHECKING:
    from bygones.paper.results import Results

PLACES_HELP = "Folders or files of results; by default the shipped evidence, every folder in evidence/grid."


def setting(help_text: str) -> object:
    """The argument `--set`, which names settings of runs."""
    return arg(name="set", metavar="NAME=VALUE…", help=help_text, help_behavior_hint="")


def claims(
    places: Annotated[Positional[tuple[Path, ...]], optional(PLACES_HELP, "[PATH…]")] = (),
    why: Annotated[tuple[str, ...], optional("Show every number behind these claims, such as C6 C13.", "CLAIM…")] = (),
    settings: Annotated[
        tuple[str, ...],
        setting("Judge only runs with these settings instead of the paper's, such as ends=termination."),
    ] = (),
    output: Printed = Output(),
) -> None:
    """Judge the paper's claims C1 to C13 and ours, B1 to B5, from results, under every observation scale in them.

    --json also lists how good the policies of every cell are, next to untrained rules and the best possible.

    Example: bygones claims --why C6

    Example: bygones claims --set ends=termination
    """
    from bygones.paper import policy_worth
    from bygones.paper.claims import CLAIMS, judge
    from bygones.paper.grid import parse_setting
    from bygones.paper.results import read

    changes = dict(map(parse_setting, settings))
    runs = read(*(places or _evidence()))
    check_results(runs, places or _evidence())
    judgements = judge(runs, why or tuple(CLAIMS), **changes)
    if output.json:
        cells = policy_worth.measured(runs)
        print_json(
            {
                "claims": [judgement.to_dict() for judgement in judgements],
                "policies": [cell.to_dict() for cell in cells],
                "without_training": policy_worth.without_training(cells),
            }
        )
    elif why:
        for judgement in judgements:
            print_document(judgement.document())
    else:
        print_document(judgements.document())


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

    Gini, fairness score and utility per step are means over the last episodes of training. Where the trained policy was
    evaluated, its Gini with sampled and with greedy actions is shown as well.

    Example: bygones results evidence/grid/none --where welfare=nash horizon=10000 --csv runs.csv
    """
    from bygones.paper.grid import parse_setting
    from bygones.paper.results import merge, read

    if not places:
        raise ValueError("name at least one folder or file of results, such as out/paper/results")
    if csv_file:
        check_output(csv_file, places)
    wanted, every = dict(map(parse_setting, where)), read(*places)
    check_results(every, places)
    runs = every.where(**wanted)
    if not len(runs):
        none = f"none of the {len(every)} runs" if len(every) > 1 else "the one run"
        match = "match" if len(every) > 1 else "does not match"
        raise ValueError(f"{none} in {', '.join(map(str, places))} {match} --where {' '.join(where)}")
    if merge_into:
        merge(places, merge_into, **wanted)
    if csv_file:
        runs.to_csv(csv_file)
        print_paths([csv_file])
    print_document(runs.document())


def check_results(results: Results, places: Sequence[Path]) -> None:
    """Refuses named places that hold no results."""
    if not len(results):
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
    runs, changes = read(*(places or _evidence())), dict(map(parse_setting, settings))
    check_results(runs, places or _evidence())
    if observation_scale is None and len(runs.distinct("observation_scale")) > 1:
        observation_scale = paper_figures.DEFAULT_SCALE
    if name in ("claims", "all"):
        print_paths(save(claims_figure(judge(runs, **changes)), out, "figure-claims"))
    changes = changes or departure(runs)
    if name == "all":
        print_paths(paper_figures.draw_all(runs, out, observation_scale, **changes))
    elif name != "claims":
        print_paths(save(paper_figures.draw(name, runs, observation_scale, **changes), out, f"figure-{name}"))


def _evidence() -> list[Path]:
    from bygones.paper.evidence import evidence_folder

    folder = evidence_folder()
    if not folder.is_dir():
        reason = "the shipped evidence was not found (it comes with the repository); name folders of results instead"
        raise FileNotFoundError(errno.ENOENT, reason, str(folder))
    return sorted(folder.iterdir())
