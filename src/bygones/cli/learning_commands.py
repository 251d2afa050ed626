"""`bygones train` and `reproduce`. They need JAX, so this module is imported only for them.

`evaluate` needs it too, and has a module of its own.
"""

from __future__ import annotations

import csv
import errno
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import OmitArgPrefixes, arg

from bygones._arrays import check_count
from bygones._files import replacing_text
from bygones._secrets import redacted
from bygones.cli.arguments import Json, optional
from bygones.cli.claims_tables import print_claims, setting_text
from bygones.cli.console import print_json, print_paths, print_table, progress, say
from bygones.cli.evaluation_commands import evaluate
from bygones.cli.results_commands import GRID_COLUMNS, SETTING_HELP
from bygones.cli.scenario_commands import DEFAULT_MEMORY, problem_of
from bygones.envs.problem import Scale
from bygones.learn import Run, TrainedPolicy, TrainResult, cache_compilations, train_many
from bygones.learn.evaluation import EPISODES
from bygones.learn.settings import Settings

if TYPE_CHECKING:
    from bygones.paper.results import Results

app = tyro.extras.SubcommandApp()
app.command(evaluate)


@app.command
def train(
    settings: Annotated[OmitArgPrefixes[Settings], arg(name="")],
    scenario: Annotated[
        str | None,
        optional(
            'What to learn instead of the paper\'s problem, such as donut or "queues(n_servers=2)"; see bygones '
            "scenarios.",
            "NAME",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        optional(
            f'The memory to use with --scenario, such as "discounted(half_life=50)" (default: {DEFAULT_MEMORY}).',
            "MEMORY",
        ),
    ] = None,
    seeds: Annotated[int, arg(help="Number of runs, with seeds counted from --seed.")] = 1,
    workers: Annotated[int | None, optional("Processes on a CPU; by default one per core.", "NUMBER")] = None,
    out: Annotated[Path, arg(help="Folder for policies and curves.")] = Path("out/train"),
    json: Json = False,
) -> None:
    """Train PPO or another --learner on the paper's problem, or on a scenario; every setting is a flag.

    Writes a policy (safetensors) and its training curves (CSV) for each seed. The same command resumes a stopped run.

    Example: bygones train --gamma 0.99 --horizon 10000 --welfare nash --seeds 10
    """
    problem = problem_of(settings, scenario, memory)
    all_seeds = [settings.seed + i for i in range(check_count("seeds", seeds, most=10_000))]
    runs = [Run(settings.replace(seed=seed), problem) for seed in all_seeds]
    if workers is not None:
        check_count("workers", workers, most=1024)
    for run in runs:
        _check_free(out, run)
    cache_compilations()
    taken = dict.fromkeys(range(len(runs)), 0)
    total = sum(run.settings.rollouts * run.settings.rollout_steps for run in runs)
    with progress(f"{len(runs)} runs, steps" if seeds > 1 else "1 run, steps", total) as advance:

        def heard(news: Any) -> None:
            for run in news.runs:
                advance(news.steps - taken[run])
                taken[run] = news.steps

        try:
            results = train_many(runs, progress=heard, checkpoints=out / "checkpoints", workers=workers)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the same command resumes from the last checkpoint") from None
    paths = [path for result in results for path in _keep(result, out)]
    rows = [{"seed": r.settings.seed, **r.final, "stopped_at": r.stopped_at} for r in results]
    if json:
        print_json(rows)
        return
    columns = {
        "seed": "seed", "gini": "Gini", "welfare": "fairness score", "utility_per_step": "utility per step",
        "utility_least": "worst-off agent", "utility_most": "best-off agent", "stopped_at": "stopped at step",
    }  # fmt: skip
    shown = [name for name in columns if any(row[name] is not None for row in rows)]
    print_table(
        f"{_title(settings, scenario, memory)}: means over the last episodes",
        [columns[name] for name in shown],
        [[row[name] for name in shown] for row in rows],
    )
    print_paths(paths)


@app.command
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
        Scale, arg(help="How the network sees the memory: as it is, or divided by one of several scales.")
    ] = "none",
    settings: Annotated[
        tuple[str, ...], arg(name="set", metavar="NAME=VALUE…", help=SETTING_HELP, help_behavior_hint="")
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
    from bygones.report.figures.paper_figures import draw_all
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
    _print_ginis(results)
    print_claims(judge(results), departure(results))
    print_paths([write_report(out / "report.html", results, read_evidence(evidence_folder()))])


def _title(settings: Settings, scenario: str | None, memory: str | None) -> str:
    """What was learned, in a few words."""
    if scenario is None:
        return f"γ = {settings.gamma:g}, T = {settings.horizon}, {settings.welfare}"
    return f"{scenario}, {memory or DEFAULT_MEMORY}, {settings.welfare}"


def _check_free(out: Path, run: Run) -> None:
    """Refuses to overwrite the policy of a run with other settings."""
    path = out / f"seed-{run.settings.seed}.safetensors"
    if not path.exists():
        return
    there, wanted = TrainedPolicy.load(path), run.settings.to_dict()
    different = [name for name, value in there.settings.to_dict().items() if wanted[name] != value]
    if Run(there.settings, there.custom_problem).distinction() != run.distinction():
        different = different or ["scenario, memory or welfare"]
    if different:
        raise FileExistsError(
            errno.EEXIST,
            f"this policy was trained with another {', '.join(different)}; choose another --out",
            str(path),
        )


def _keep(result: TrainResult, out: Path) -> list[Path]:
    """Writes the policy and the curves of a run."""
    stem = out / f"seed-{result.settings.seed}"
    result.policy.save(stem.with_suffix(".safetensors"))
    with replacing_text(stem.with_suffix(".csv")) as file:
        writer = csv.writer(file)
        writer.writerow(result.curves)
        writer.writerows(zip(*(curve.tolist() for curve in result.curves.values()), strict=True))
    return [stem.with_suffix(".safetensors"), stem.with_suffix(".csv")]


def _print_ginis(found: Results) -> None:
    """The final Gini of true utilities by memory and horizon, as means over seeds."""
    from bygones.paper.grid import memory_label

    horizons = found.distinct("horizon")
    kinds = sorted(set(zip(*(found[name].tolist() for name in ("welfare", "aggregation", "gamma")), strict=True)))
    rows = []
    for welfare, aggregation, gamma in kinds:
        some = found.where(welfare=welfare, aggregation=aggregation, gamma=gamma)
        cells = [some.where(horizon=horizon)["final_gini"] for horizon in horizons]
        means = [f"{cell.mean():.2f}" if len(cell) else "" for cell in cells]
        rows.append([f"{welfare} {aggregation}", memory_label(gamma), *means])
    print_table("Final Gini coefficient (0 is equality)", ["welfare", "memory", *(f"T = {T}" for T in horizons)], rows)


def _varied(runs: Sequence[Settings]) -> str:
    """The lists of values in a plan, in words."""
    lists = {name: list(dict.fromkeys(getattr(run, name) for run in runs)) for name in GRID_COLUMNS}
    parts = [f"{name} {', '.join(map(setting_text, values))}" for name, values in lists.items()]
    seeds = len({run.seed for run in runs})
    return f"{'; '.join(parts)}; {seeds} {'seed' if seeds == 1 else 'seeds'} of {runs[0].total_steps:,} steps"


def _own_command() -> str:
    return redacted(shlex.join(["bygones", *sys.argv[1:]]))
