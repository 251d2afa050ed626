"""What makes perfect recall collapse: the runs that vary λ, the network, the learner's settings and its observations.

    python -m benchmarks.collapse evidence/collapse

Needs an accelerator: a thousand runs of a million steps take two minutes on an H200. Runs that the grid of the evidence
holds already, with an evaluation of their policies, are not trained again; nor are those in which an agent observes the
same as in another run: without a memory to observe, the scale of the memory makes no difference (except under running
normalisation, which also scales needs), and averages are at most 1, which is what `window` divides them by. `--only`
takes some of the folders, and `--plan` lists them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from bygones.learn.evaluation import EPISODES
from bygones.learn.settings import Settings
from bygones.paper.claims import NORMALISES_NEEDS, UNSCALED_AVERAGES
from bygones.paper.columns import SETTINGS
from bygones.paper.criteria import MYOPIC, RECALL
from bygones.paper.evidence import evidence_folder
from bygones.paper.grid import SCALES, WEIGHT, grid, identities
from bygones.paper.progress import now_and_then
from bygones.paper.results import Results, read
from bygones.paper.run import execute

WEIGHTS = (1.0, 0.999, 0.99, 0.9)
"""The values of λ; the paper has the last, and 0.999 for averaged egalitarian runs."""
LEARNING_RATES = (3e-4, 1e-4, 3e-5)
ENTROPY_WEIGHTS = (0.0, 0.01)
DISCOUNTS = (0.99, 0.9, 0.999)
AS_IT_IS, *SCALED = SCALES


def plan(grid_of_evidence: Results) -> dict[str, list[Settings]]:
    """The runs of each folder, without those that the grid of the evidence holds with an evaluation."""
    held = set(grid_of_evidence.where(evaluation_episodes=EPISODES)["run"].tolist())
    every = {
        "weight": list(weight_runs()),
        "symmetric": list(symmetric_runs()),
        "learner": list(learner_runs()),
        "denominator": list(denominator_runs()),
    }
    return {
        name: [run for run, known_as in zip(runs, names_of(runs), strict=True) if known_as not in held]
        for name, runs in every.items()
    }


def names_of(runs: Sequence[Settings]) -> list[str]:
    """The names of runs, as of `identity`, all at once."""
    return identities({name: [getattr(run, name) for run in runs] for name in SETTINGS})


def weight_runs() -> Iterator[Settings]:
    """The grid with every λ, under every observation scale."""
    for weight, scale in product(WEIGHTS, SCALES):
        yield from filter(_differs, grid("paper", weight=weight, observation_scale=scale).runs())


def symmetric_runs() -> Iterator[Settings]:
    """The additive half of the grid with every λ, and with a network that treats agents alike."""
    for weight in WEIGHTS:
        yield from grid("paper", weight=weight, aggregation=("additive",), policy="symmetric").runs()


def learner_runs() -> Iterator[Settings]:
    """Other settings of the learner at the longest horizon, with the paper's λ and with welfare alone."""
    cells = {"aggregation": ("additive",), "horizon": (10000,), "gamma": (0.99, RECALL)}
    for entropy, rate, discount, weight in product(ENTROPY_WEIGHTS, LEARNING_RATES, DISCOUNTS, (1.0, WEIGHT)):
        changes = {"entropy_weight": entropy, "learning_rate": rate, "discount": discount}
        if changes != {name: getattr(Settings(), name) for name in changes}:
            yield from grid("paper", **cells, weight=weight, **changes).runs()


def denominator_runs() -> Iterator[Settings]:
    """Averages whose denominator is observed as well."""
    for scale in (*SCALED, AS_IT_IS):
        averaged = grid("paper", aggregation=("averaged",), observation_scale=scale, observe_denominator=True)
        yield from (run for run in averaged.runs() if run.gamma != MYOPIC)


def _differs(run: Settings) -> bool:
    """Whether its agent observes something else than in the same run of an earlier scale."""
    if run.gamma == MYOPIC:
        return run.observation_scale in (AS_IT_IS, NORMALISES_NEEDS)
    return run.aggregation == "additive" or run.observation_scale not in UNSCALED_AVERAGES[1:]


def main() -> None:
    """Trains the missing runs, or lists them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collapse", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the results are kept")
    parser.add_argument("--only", nargs="+", metavar="FOLDER", help="only these folders")
    parser.add_argument("--plan", action="store_true", help="only list the folders and how many runs they have")
    options = parser.parse_args()
    for name, runs in plan(read(*sorted(evidence_folder().iterdir()))).items():
        if options.only is None or name in options.only:
            print(f"{name}: {len(runs)} runs", flush=True)
            if not options.plan:
                progress = now_and_then(lambda line: print(line, flush=True))
                execute(runs, options.folder / name, on="accelerator", progress=progress)


if __name__ == "__main__":
    main()
