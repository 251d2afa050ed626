"""`bygones train`. It needs JAX, and the program imports this module only for it."""

from __future__ import annotations

import csv
import errno
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, arg

from bygones._arrays import check_count
from bygones._files import replacing_text
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json, print_paths, progress
from bygones.cli.scenario_commands import DEFAULT_MEMORY, problem_of
from bygones.document.document import Column, Document, Table
from bygones.learn import Run, TrainedPolicy, TrainResult, cache_compilations, train_many
from bygones.learn.settings import Settings

_COLUMNS = {
    "seed": Column("seed"),
    "gini": Column("Gini"),
    "welfare": Column("fairness score"),
    "utility_per_step": Column("utility per step", measure="utility"),
    "utility_least": Column("worst-off", measure="utility"),
    "utility_most": Column("best-off", 1, measure="utility"),
    "stopped_at": Column("stopped at step"),
}
"""The columns of the results that are shown."""


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
            'The memory, such as perfect or "discounted(half_life=50)", instead of --gamma and --aggregation '
            f"(default with --scenario: {DEFAULT_MEMORY}).",
            "MEMORY",
        ),
    ] = None,
    seeds: Annotated[int, arg(help="Number of runs, with seeds counted from --seed.")] = 1,
    workers: Annotated[int | None, optional("Processes on a CPU; by default one per core.", "NUMBER")] = None,
    out: Annotated[Path, arg(help="Folder for policies and curves.")] = Path("out/train"),
    output: Printed = Output(),
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

        def advance_to(news: Any) -> None:
            for run in news.runs:
                advance(news.steps - taken[run])
                taken[run] = news.steps

        try:
            results = train_many(runs, progress=advance_to, checkpoints=out / "checkpoints", workers=workers)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the same command resumes from the last checkpoint") from None
    paths = [path for result in results for path in _keep(result, out)]
    rows = [{"seed": r.settings.seed, **r.final, "stopped_at": r.stopped_at} for r in results]
    if output.json:
        print_json(rows)
        return
    table = Table("", list(_COLUMNS.values()), [[row[name] for name in _COLUMNS] for row in rows])
    title = f"{_title(settings, scenario, memory)}: means over the last episodes"
    print_document(Document(title, [table.without_empty()], "Training"))
    print_paths(paths)


def _title(settings: Settings, scenario: str | None, memory: str | None) -> str:
    """The memory, horizon and welfare of training, in a few words."""
    if scenario is None:
        return f"{memory or f'γ = {settings.gamma:g}'}, T = {settings.horizon}, {settings.welfare}"
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
