"""Trains the policies that the repository ships.

    python -m benchmarks.shipped_policies evidence/policies

A policy is of the first seed whose Gini coefficient is not among the lowest or the highest tenth of the shipped runs
with the same settings, so that it plays as most of them do. Some minutes on two cores.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

from bygones._arrays import Floats
from bygones.learn import TrainResult, train
from bygones.learn.settings import Settings
from bygones.paper.columns import SETTINGS
from bygones.paper.evidence import evidence_folder
from bygones.paper.results import read
from bygones.paper.shipped_policies import NAMES


def ginis_of_runs(settings: Settings) -> Floats:
    """The Gini coefficients of the shipped runs that differ from these settings in the seed only."""
    same = {name: getattr(settings, name) for name in SETTINGS if name not in ("seed", "hidden")}
    return read(*sorted(evidence_folder().iterdir())).where(**same)["final_gini"].astype(float)


def typical(settings: Settings) -> TrainResult:
    """The run of the first seed that is not among the lowest or the highest tenth."""
    low, high = np.quantile(ginis_of_runs(settings), [0.1, 0.9])
    for seed in itertools.count():
        result = train(settings.replace(seed=seed))
        print(f"seed {seed}: Gini {result.final['gini']:.3f}, wanted {low:.3f} to {high:.3f}", flush=True)
        if low <= result.final["gini"] <= high:
            return result
    raise AssertionError


def main() -> None:
    """Trains the policies that the folder lacks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shipped_policies", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the policies are kept")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings in NAMES.items():
        path = folder / f"{name}.safetensors"
        if not path.exists():
            print(path, flush=True)
            typical(settings).policy.save(path)


if __name__ == "__main__":
    main()
