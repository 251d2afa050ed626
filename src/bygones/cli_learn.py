"""`bygones train`, `reproduce`, `claims`, `results`: thin. Needs JAX, so it is imported only if one of them is run."""

from __future__ import annotations

import csv
import errno
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro
from tyro.conf import OmitArgPrefixes, Positional, arg

from bygones._terminal import print_json, print_paths, print_table, progress
from bygones.learn import Policy, TrainResult, cache_compilations, train_many
from bygones.learn.settings import Settings

if TYPE_CHECKING:
    from bygones.experiments.claims import Judgement
    from bygones.experiments.results import Results

app = tyro.extras.SubcommandApp()

Json = Annotated[bool, arg(help="Print JSON for programs.")]
SETTING_HELP = "Any other setting of the runs, such as ends=termination."
EVIDENCE = Path("evidence/grid")


@app.command
def train(
    settings: Annotated[OmitArgPrefixes[Settings], arg(name="")],
    seeds: Annotated[int, arg(help="How many runs, with seeds counted from --seed.")] = 1,
    workers: Annotated[
        int | None, arg(help="Processes on a CPU; by default one per core.", help_behavior_hint="")
    ] = None,
    out: Annotated[Path, arg(help="Folder for policies and curves.")] = Path("out/train"),
    json: Json = False,
) -> None:
    """Train PPO on the paper's problem; every setting is a flag.

    Writes a policy (safetensors) and its curves (CSV) per seed. A run that was stopped goes on where it was.

    Example: bygones train --gamma 0.99 --horizon 10000 --welfare nash --seeds 10
    """
    runs = [settings.replace(seed=settings.seed + i) for i in range(seeds)]
    cache_compilations()
    taken = dict.fromkeys(range(len(runs)), 0)
    total = sum(run.rollouts * run.rollout_steps for run in runs)
    with progress(f"{len(runs)} runs, steps", total) as advance:

        def heard(news: Any) -> None:
            for run in news.runs:
                advance(news.steps - taken[run])
                taken[run] = news.steps

        results = train_many(runs, progress=heard, checkpoints=out / "checkpoints", workers=workers)
    paths = [path for result in results for path in _keep(result, out)]
    rows = [{"seed": r.settings.seed, **r.final, "stopped_at": r.stopped_at} for r in results]
    if json:
        print_json(rows)
        return
    columns = ["seed", "gini", "welfare", "utility_per_step", "utility_least", "utility_most", "stopped_at"]
    print_table(
        f"γ = {settings.gamma:g}, T = {settings.horizon}, {settings.welfare}: the last episodes",
        columns,
        [[row[name] for name in columns] for row in rows],
    )
    print_paths(paths)


@app.command
def reproduce(
    scale: Annotated[
        Literal["quick", "paper"], arg(help="A slice of the paper with one seed, or its 1000 runs.")
    ] = "quick",
    welfare: Annotated[tuple[str, ...], arg(help="Only these welfare functions.")] = (),
    aggregation: Annotated[tuple[str, ...], arg(help="Only these aggregations.")] = (),
    horizon: Annotated[tuple[int, ...], arg(help="Only these horizons.")] = (),
    gamma: Annotated[tuple[float, ...], arg(help="Only these past discounts.")] = (),
    seeds: Annotated[int | None, arg(help="How many seeds.", help_behavior_hint="")] = None,
    weight: Annotated[float | None, arg(help="λ of every run; by default the paper's.", help_behavior_hint="")] = None,
    observation_scale: Annotated[
        str, arg(help="none, fixed, window, expected, relative, or paper: the one under which most claims hold.")
    ] = "none",
    settings: Annotated[tuple[str, ...], arg(name="set", help=SETTING_HELP)] = (),
    on: Annotated[Literal["auto", "cpu", "accelerator", "ray"], arg(help="Where it runs.")] = "auto",
    address: Annotated[str | None, arg(help="Address of a Ray cluster.", help_behavior_hint="")] = None,
    workers: Annotated[int | None, arg(help="Processes on a CPU.", help_behavior_hint="")] = None,
    plan: Annotated[bool, arg(help="Only say what would run, and how long it would take there, measured.")] = False,
    out: Annotated[Path, arg(help="Folder for results, figures and the report; a stopped run goes on from it.")] = Path(
        "out/paper"
    ),
) -> None:
    """Run the paper's experiment: training, figures, a verdict on every claim, and a report to open in a browser.

    Example: bygones reproduce --scale quick
    """
    from bygones.experiments.claims import judge
    from bygones.experiments.grid import grid, setting
    from bygones.experiments.progress import watched
    from bygones.experiments.run import Stopped, estimate, execute
    from bygones.report.paper_figures import draw_all
    from bygones.report.paper_page import read_evidence, write_report

    lists = {"welfare": welfare, "aggregation": aggregation, "horizon": horizon, "gamma": gamma}
    said: Mapping[str, Any] = {name: values for name, values in lists.items() if values}
    said = {**said, **{name: v for name, v in (("seeds", seeds), ("weight", weight)) if v is not None}}
    runs = grid(scale, **said, **dict(map(setting, settings)), observation_scale=observation_scale).runs()
    results_folder = out / "results"
    if plan:
        print(estimate(runs, results_folder, on=on, workers=workers, address=address))
        return
    with watched() as heard:
        try:
            results = execute(
                runs, results_folder, on=on, progress=heard, workers=workers, address=address, command=_said_command()
            )
        except Stopped as stopped:
            raise SystemExit(f"{stopped}") from None
    print_paths(draw_all(results, out / "figures"))
    _print_ginis(results)
    _print_claims(judge(results))
    print_paths([write_report(out / "report.html", results, read_evidence(EVIDENCE))])


@app.command
def claims(
    places: Annotated[
        Positional[tuple[Path, ...]], arg(help="Folders or files of results; by default evidence/grid/*.")
    ] = (),
    settings: Annotated[tuple[str, ...], arg(name="set", help=SETTING_HELP)] = (),
    json: Json = False,
) -> None:
    """Judge the paper's claims C1 to C13 from results, under every observation scale that is in them.

    Example: bygones claims --set ends=termination
    """
    from bygones.experiments.claims import judge
    from bygones.experiments.grid import setting
    from bygones.experiments.results import read

    judgements = judge(read(*(places or _evidence())), **dict(map(setting, settings)))
    if json:
        print_json([judgement.to_dict() for judgement in judgements])
    else:
        _print_claims(judgements)


@app.command
def results(
    places: Annotated[Positional[tuple[Path, ...]], arg(help="Folders or files of results.")],
    csv_file: Annotated[
        Path | None, arg(name="csv", help="Write all columns but the curves there.", help_behavior_hint="")
    ] = None,
    merge_into: Annotated[Path | None, arg(help="Write them all into one new folder.", help_behavior_hint="")] = None,
    where: Annotated[tuple[str, ...], arg(help="Only runs with these values, such as welfare=nash gamma=1.")] = (),
) -> None:
    """Show, filter, merge and export results of experiments.

    Example: bygones results evidence/grid/none --where welfare=nash horizon=10000 --csv runs.csv
    """
    from bygones.experiments.grid import setting
    from bygones.experiments.results import merge, read

    wanted = dict(map(setting, where))
    found = merge(places, merge_into, **wanted) if merge_into else read(*places).where(**wanted)
    if csv_file:
        found.to_csv(csv_file)
        print_paths([csv_file])
    columns = ["observation_scale", "welfare", "aggregation", "horizon", "gamma"]
    keys = sorted(set(zip(*(found[name].tolist() for name in columns), strict=True)))
    rows = []
    for key in keys:
        cell = found.where(**dict(zip(columns, key, strict=True)))
        finals = [float(np.mean(cell[f"final_{name}"])) for name in ("gini", "welfare", "utility_per_step")]
        rows.append([*key, len(cell), *finals])
    print_table(f"{len(found)} runs", [*columns, "runs", "gini", "welfare", "utility_per_step"], rows)


def draw(name: str, places: tuple[Path, ...], observation_scale: str, out: Path) -> None:
    """Draws a figure from results, or all of them, and says which files were written."""
    from bygones.experiments.claims import judge
    from bygones.experiments.results import read
    from bygones.report import paper_figures
    from bygones.style import save

    found = read(*(places or _evidence()))
    if name in ("claims", "all"):
        print_paths(save(paper_figures.claims_figure(judge(found)), out, "figure-claims"))
    if name == "all":
        print_paths(paper_figures.draw_all(found, out, observation_scale))
    elif name != "claims":
        print_paths(save(paper_figures.draw(name, found, observation_scale), out, f"figure-{name}"))


def _keep(result: TrainResult, out: Path) -> list[Path]:
    """Writes the policy and the curves of a run."""
    stem = out / f"seed-{result.settings.seed}"
    Policy(result.settings, result.networks).save(stem.with_suffix(".safetensors"))
    with stem.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(result.curves)
        writer.writerows(zip(*(curve.tolist() for curve in result.curves.values()), strict=True))
    return [stem.with_suffix(".safetensors"), stem.with_suffix(".csv")]


def _print_ginis(found: Results) -> None:
    """Memories against horizons: how unequal true utilities are in the end, the mean over seeds."""
    from bygones.experiments.grid import memory_label

    horizons = found.distinct("horizon")
    kinds = sorted(set(zip(*(found[name].tolist() for name in ("welfare", "aggregation", "gamma")), strict=True)))
    rows = []
    for welfare, aggregation, gamma in kinds:
        some = found.where(welfare=welfare, aggregation=aggregation, gamma=gamma)
        cells = [some.where(horizon=horizon)["final_gini"] for horizon in horizons]
        means = [f"{cell.mean():.2f}" if len(cell) else "" for cell in cells]
        rows.append([f"{welfare} {aggregation}", memory_label(gamma), *means])
    print_table("Gini in the end, 0 is equal", ["welfare", "memory", *(f"T = {T}" for T in horizons)], rows)


def _print_claims(judgements: Sequence[Judgement]) -> None:
    if not any(verdict.comparisons for judgement in judgements for verdict in judgement.by_scale.values()):
        print("Too few runs to judge any of the paper's claims: each needs several seeds of some cells of the grid.")
        return
    print_table("The paper's claims", ["", "verdict", "claim"], [[j.name, j.word, j.claim] for j in judgements])
    scales = list(judgements[0].by_scale)
    if len(scales) > 1:
        rows = [[j.name, *(j.by_scale[scale].word for scale in scales)] for j in judgements]
        print_table("Under each observation scale", ["", *scales], rows)


def _evidence() -> list[Path]:
    if not EVIDENCE.is_dir():
        raise FileNotFoundError(errno.ENOENT, "name folders of results; the shipped ones are not here", str(EVIDENCE))
    return sorted(EVIDENCE.iterdir())


def _said_command() -> str:
    return " ".join(["bygones", *sys.argv[1:]])
