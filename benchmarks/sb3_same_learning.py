"""Does our learner learn what Stable-Baselines3 learns? Real runs of both on cells of the grid, and their comparison.

    PYTHONPATH=src python -m benchmarks.sb3_same_learning sb3 out/same --workers 16
    PYTHONPATH=src python -m benchmarks.sb3_same_learning ours out/same --seeds 100
    PYTHONPATH=src python -m benchmarks.sb3_same_learning compare out/same

`sb3` streams every episode's metrics to one file per run, so little is lost if it is killed, and skips runs whose file
is complete. `ours` adds to a folder of results, as `bygones reproduce` does. `compare` reports for each cell and metric
whether every seed of Stable-Baselines3 lies within the range of bygones and how likely such ranks are by chance (Mann
and Whitney, exact). It also draws the curves of both in one figure.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bygones.learn.settings import Settings
from bygones.paper.results import read

CELLS = {
    "nash-0.99-T1000": Settings(gamma=0.99, welfare="nash", horizon=1000),
    "nash-0.9-T10000": Settings(gamma=0.9, welfare="nash", horizon=10_000),
    "nash-1-T10000": Settings(gamma=1.0, welfare="nash", horizon=10_000),
    "egalitarian-0.99-T1000": Settings(gamma=0.99, welfare="egalitarian", horizon=1000),
    "egalitarian-1-T500": Settings(gamma=1.0, welfare="egalitarian", horizon=500),
    "egalitarian-1-T10000": Settings(gamma=1.0, welfare="egalitarian", horizon=10_000),
}
"""Cells that span success and collapse, both welfare functions, short and long horizons."""

LABELS = {
    "gini": "Gini coefficient of an episode",
    "welfare": "welfare of an episode's true utilities",
    "utility_per_step": "utility a step",
}
JUDGED = tuple(LABELS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sb3", "ours", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", nargs="*", default=list(CELLS), choices=list(CELLS), help="which cells")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds of each cell")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.what == "compare":
        compare(args.folder, args.cells)
        return
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    runs = [(cell, CELLS[cell].replace(seed=seed, total_steps=args.steps)) for seed in seeds for cell in args.cells]
    (run_sb3 if args.what == "sb3" else run_ours)(runs, args)


def run_sb3(runs: list[tuple[str, Settings]], args: argparse.Namespace) -> None:
    """One process per run, each on one thread."""
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    jobs = [(cell, run, args.folder) for cell, run in runs if not finished(place(args.folder, cell, run))]
    with multiprocessing.get_context("spawn").Pool(min(args.workers, len(jobs) or 1), maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(one_sb3, jobs, chunksize=1):
            print(line, flush=True)


def one_sb3(job: tuple[str, Settings, Path]) -> str:
    """Trains one run, a line of JSON per episode; the last line marks it as complete."""
    from bygones.learn import sb3

    cell, settings, folder = job
    path = place(folder, cell, settings)
    start = time.perf_counter()
    with path.open("w") as file:
        file.write(json.dumps({"settings": settings.to_dict()}) + "\n")

        def seen(steps: int, metrics: dict[str, float]) -> None:
            file.write(json.dumps({"steps": steps, **metrics}) + "\n")
            file.flush()

        sb3.train(settings, seen)
        seconds = time.perf_counter() - start
        file.write(json.dumps({"complete": True, "seconds": seconds}) + "\n")
    return f"{path.name}: {settings.total_steps / seconds:.0f} steps/s"


def run_ours(runs: list[tuple[str, Settings]], args: argparse.Namespace) -> None:
    """All runs as one plan, into `ours/`."""
    from bygones.paper.run import execute

    start = time.perf_counter()
    execute([run for _, run in runs], args.folder / "ours", workers=args.workers)
    print(f"{len(runs)} runs of bygones in {time.perf_counter() - start:.0f} s")


def compare(folder: Path, cells: list[str]) -> None:
    """The verdict as text and JSON, and a figure."""
    verdicts = []
    for cell in cells:
        finals = {who: [run["final"] for run in found(folder, who, cell) if run["final"]] for who in ("sb3", "ours")}
        if not finals["sb3"] or not finals["ours"]:
            print(f"{cell}: {len(finals['sb3'])} and {len(finals['ours'])} runs, nothing to compare")
            continue
        print(f"{cell}: {len(finals['sb3'])} seeds of Stable-Baselines3, {len(finals['ours'])} of bygones")
        for metric in JUDGED:
            theirs, ours = (np.sort([final[metric] for final in finals[who]]) for who in ("sb3", "ours"))
            outside = theirs[(theirs < ours[0]) | (theirs > ours[-1])]
            chance = float(stats.mannwhitneyu(theirs, ours, method="exact").pvalue)
            both = {"sb3": theirs.tolist(), "ours": ours.tolist()}
            verdicts.append({"cell": cell, "metric": metric, "outside": outside.tolist(), "chance": chance, **both})
            where = f"outside {np.round(outside, 4)}" if len(outside) else "every seed inside"
            span = f"ours {ours[0]:9.4f} to {ours[-1]:9.4f}"
            print(f"  {metric:17s} {span}, theirs {np.round(theirs, 4)}: {where}; by chance {chance:.2f}")
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))
    for metric in JUDGED:
        draw(folder, cells, metric)


def draw(folder: Path, cells: list[str], metric: str) -> None:
    """A metric over steps, a panel per cell: ours in blue, theirs in black."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(2 if len(cells) == 4 else 3, len(cells))
    rows = -(-len(cells) // columns)
    shared = metric != "welfare"
    size = (3.7 * columns, 2.8 * rows)
    figure, axes = plt.subplots(
        rows, columns, figsize=size, sharex=True, sharey=shared, layout="constrained", squeeze=False
    )
    for panel, cell in zip(axes.flat, cells, strict=False):
        looks = {"ours": ("bygones", "#4c9be8", 0.5, 0.35), "sb3": ("Stable-Baselines3", "#111111", 1.2, 0.9)}
        for who, (name, colour, width, alpha) in looks.items():
            for run in found(folder, who, cell):
                steps, values = binned(run["steps"], run[metric])
                panel.plot(steps / 1e6, values, color=colour, linewidth=width, alpha=alpha)
            panel.plot([], color=colour, linewidth=1.2, label=name)
        settings = CELLS[cell]
        title = f"{settings.welfare.capitalize()}, γ = {settings.gamma:g}, T = {settings.horizon}"
        panel.set_title(title, fontsize=10, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    if shared:
        # Once everything is drawn: a limit set earlier would end the panels' common scaling.
        axes[0, 0].set_ylim(bottom=0)
    for panel in axes.flat[len(cells) :]:
        panel.set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8, loc="best")
    figure.supxlabel("million steps", fontsize=10)
    figure.supylabel(LABELS[metric], fontsize=10)
    figure.savefig(folder / f"curves-{metric}.png", dpi=150)
    plt.close(figure)


def binned(steps: np.ndarray, values: np.ndarray, width: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Means over equal stretches of steps, which makes many short episodes comparable with few long ones."""
    which = (steps - 1) // width
    present = np.unique(which)
    return (present + 0.5) * width, np.array([np.nanmean(values[which == i]) for i in present])


def found(folder: Path, who: str, cell: str) -> list[dict[str, Any]]:
    """Every run of a cell: final metrics, and curves over `steps`."""
    if who == "sb3":
        return [load(path) for path in sorted(folder.glob(f"sb3-{cell}-seed*.jsonl"))]
    wanted = CELLS[cell]
    runs = read(folder / "ours").where(gamma=wanted.gamma, welfare=wanted.welfare, horizon=wanted.horizon)
    curves = {metric: runs.curves(metric) for metric in JUDGED}
    ends = curves["gini"][0]
    middles = (ends + np.concatenate([[0], ends[:-1]])) / 2  # each point is a mean over the steps up to it
    return [
        {
            "final": {metric: float(runs[f"final_{metric}"][i]) for metric in JUDGED},
            "steps": middles,
            **{metric: values[i] for metric, (_, values) in curves.items()},
        }
        for i in range(len(runs))
    ]


def place(folder: Path, cell: str, settings: Settings) -> Path:
    return folder / f"sb3-{cell}-seed{settings.seed}.jsonl"


def finished(path: Path) -> bool:
    return path.exists() and load(path)["complete"]


def load(path: Path) -> dict[str, Any]:
    """A run's file: its curves and final metrics, as far as it has come."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    settings = Settings.from_dict(lines[0]["settings"])
    episodes = [line for line in lines if "steps" in line]
    complete = next((line for line in lines if "complete" in line), {})
    final = None
    if complete:
        last = episodes[settings.first_counted :]
        final = {name: float(np.mean([row[name] for row in last])) for name in episodes[0] if name != "steps"}
    curves = {name: np.array([row[name] for row in episodes]) for name in (episodes[0] if episodes else ())}
    return {"complete": bool(complete), "final": final, **curves}


if __name__ == "__main__":
    main()
