"""`bygones reproduce`: the paper's experiment from training to the report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from bygones._secrets import redacted
from bygones._text import counted
from bygones.cli.arguments import optional
from bygones.cli.console import print_document, print_paths, say
from bygones.cli.research.results_commands import setting
from bygones.document.document import Cell, Column, Document, Table
from bygones.envs.problem import Scale
from bygones.learn.evaluation import EPISODES
from bygones.learn.settings import Settings

if TYPE_CHECKING:
    from bygones.paper.results import Results


def reproduce(
    size: Annotated[
        Literal["quick", "paper"], arg(help="A slice of the paper's grid with one seed, or all of its 1000 runs.")
    ] = "quick",
    welfare: Annotated[tuple[str, ...], optional("Only these welfare functions.", "WELFARE…")] = (),
    aggregation: Annotated[tuple[str, ...], optional("Only these aggregations.", "{additive,averaged}…")] = (),
    horizon: Annotated[tuple[int, ...], optional("Only these horizons.", "STEPS…")] = (),
    gamma: Annotated[tuple[float, ...], optional("Only these discount factors γ.", "NUMBER…")] = (),
    seeds: Annotated[int | None, optional("Number of seeds; by default the size's.", "NUMBER")] = None,
    weight: Annotated[float | None, optional("λ of every run; by default the paper's.", "NUMBER")] = None,
    observation_scale: Annotated[
        Scale, arg(help="How the network sees the memory: unscaled, or divided by one of several scales.")
    ] = "none",
    settings: Annotated[
        tuple[str, ...], setting("Train all runs with these settings instead of the paper's, such as ends=termination.")
    ] = (),
    on: Annotated[Literal["auto", "cpu", "accelerator", "ray"], arg(help="Where to train.")] = "auto",
    address: Annotated[str | None, optional("Address of a Ray cluster, for --on ray.", "ADDRESS")] = None,
    workers: Annotated[int | None, optional("Processes on a CPU; by default one per core.", "NUMBER")] = None,
    evaluation_episodes: Annotated[
        int,
        arg(help="Episodes that each policy plays after training, both sampled and deterministic; 0 for none."),
    ] = EPISODES,
    keep_policies: Annotated[bool, arg(help="Save each policy too, in the folder results/policies.")] = False,
    plan: Annotated[bool, arg(help="Only print the plan and a measured estimate of how long it would take.")] = False,
    out: Annotated[
        Path, arg(help="Folder for results, figures and the report; the same command resumes a stopped experiment.")
    ] = Path("out/paper"),
) -> None:
    """Run the paper's experiment: train, draw the figures, judge every claim and write a report for the browser.

    Example: bygones reproduce --size quick
    """
    from bygones.paper.claims import judge
    from bygones.paper.evidence import evidence_folder
    from bygones.paper.grid import grid, parse_shared_settings
    from bygones.paper.judging import departure
    from bygones.paper.progress import watched
    from bygones.paper.run import estimate, execute
    from bygones.report.paper.paper_figures import draw_all
    from bygones.report.paper.paper_page import read_evidence, write_report

    lists = {"welfare": welfare, "aggregation": aggregation, "horizon": horizon, "gamma": gamma}
    changes: dict[str, Any] = {name: values for name, values in lists.items() if values}
    changes |= {name: value for name, value in (("seeds", seeds), ("weight", weight)) if value is not None}
    runs = grid(size, **changes, **parse_shared_settings(settings), observation_scale=observation_scale).runs()
    results_folder = out / "results"
    if plan:
        say(f"{_varied(runs)}, in {results_folder}")
        say(*str(estimate(runs, results_folder, on=on, workers=workers, address=address)).splitlines())
        return
    with watched() as heard:
        results = execute(
            runs, results_folder, on=on, progress=heard, workers=workers, address=address, command=_own_command(),
            evaluation_episodes=evaluation_episodes, keep_policies=keep_policies,
        )  # fmt: skip
    print_paths(draw_all(results, out / "figures", **departure(results)))
    print_document(_ginis(results))
    print_document(judge(results).document())
    print_paths([write_report(out / "report.html", results, read_evidence(evidence_folder()))])


def _ginis(results: Results) -> Document:
    """The final Gini of true utilities by memory and horizon, as means over seeds."""
    from bygones.paper.grid import memory_label

    horizons = results.distinct("horizon")
    settings = ("welfare", "aggregation", "gamma")
    rows: list[list[Cell]] = []
    for welfare, aggregation, gamma in sorted(set(zip(*(results[name].tolist() for name in settings), strict=True))):
        runs = results.where(welfare=welfare, aggregation=aggregation, gamma=gamma)
        ginis = [runs.where(horizon=horizon)["final_gini"] for horizon in horizons]
        means = [float(values.mean()) if len(values) else None for values in ginis]
        rows.append([f"{welfare} {aggregation}", memory_label(gamma), *means])
    columns: list[Column | str] = ["welfare", "memory", *(Column(f"T = {T:,}", measure="Gini") for T in horizons)]
    return Document("Final Gini coefficient (0 is equality)", [Table("", columns, rows)])


def _varied(runs: Sequence[Settings]) -> str:
    """The lists of values in a plan, in words."""
    from bygones.paper.results import GRID_COLUMNS, setting_text

    lists = {name: list(dict.fromkeys(getattr(run, name) for run in runs)) for name in GRID_COLUMNS}
    parts = [f"{name} {', '.join(map(setting_text, values))}" for name, values in lists.items()]
    seeds = counted(len({run.seed for run in runs}), "seed")
    return f"{'; '.join(parts)}; {seeds} of {runs[0].total_steps:,} steps"


def _own_command() -> str:
    return redacted(shlex.join(["bygones", *sys.argv[1:]]))
