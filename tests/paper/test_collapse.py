"""The runs that vary one thing at a time: what is planned, and what the evidence holds of it."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks import symmetric_parts
from benchmarks.collapse import names_of, plan

from bygones.learn.settings import Settings
from bygones.paper.columns import METRICS, SETTINGS, WAYS
from bygones.paper.results import read

pytestmark = pytest.mark.soak

EVIDENCE = Path(__file__).parents[2] / "evidence"


@pytest.fixture(scope="module")
def planned():
    parts = [run for name in symmetric_parts.TRIED for run in symmetric_parts.runs(name)]
    return {**plan(read(*sorted((EVIDENCE / "grid").iterdir()))), "symmetric-parts": parts}


@pytest.fixture(scope="module")
def held():
    return {folder.name: read(folder) for folder in sorted((EVIDENCE / "collapse").iterdir())}


def test_no_run_is_planned_twice_and_every_cell_has_ten_seeds(planned):
    runs = [run for some in planned.values() for run in some]
    assert len(set(names_of(runs))) == len(runs)
    cells = Counter(tuple(getattr(run, name) for name in SETTINGS if name != "seed") for run in runs)
    assert set(cells.values()) == {10}


def test_folders_vary_what_they_say(planned):
    varied = {
        name: {field for field in SETTINGS if len({getattr(run, field) for run in runs}) > 1} - {"seed"}
        for name, runs in planned.items()
    }
    cells = {"welfare", "horizon", "gamma"}
    assert varied["weight"] == {*cells, "aggregation", "weight", "observation_scale"}
    assert varied["symmetric"] == {*cells, "weight"}
    assert varied["learner"] == {"welfare", "gamma", "weight", "learning_rate", "entropy_weight", "discount"}
    assert varied["symmetric-parts"] == {"welfare", "gamma", "weight", "policy", "learner"}
    # λ is the paper's, which depends on the welfare function.
    assert varied["denominator"] == {*cells, "weight", "observation_scale"}


def test_what_is_observed_alike_is_trained_once(planned):
    def scales(**cell):
        runs = [run for run in planned["weight"] if all(getattr(run, name) == value for name, value in cell.items())]
        return {run.observation_scale for run in runs}

    every = {"none", "fixed", "window", "expected", "relative", "running"}
    assert scales(gamma=1.0, aggregation="additive", weight=1.0) == every
    assert scales(gamma=1.0, aggregation="averaged", weight=1.0) == every - {"window"}
    assert scales(gamma=0.0, weight=1.0) == {"none", "running"}


def test_the_paper_s_own_runs_are_left_to_the_grid(planned):
    assert Settings(seed=3) not in planned["weight"]
    assert Settings(seed=3, weight=1.0) in planned["weight"]
    # The grid holds these under one scale only with an evaluation.
    again = [run for run in planned["weight"] if run.weight == 0.9]
    assert {(run.welfare, run.aggregation) for run in again} == {("egalitarian", "averaged")}
    assert {run.observation_scale for run in again} == {"none", "fixed", "expected", "relative"}


def test_the_evidence_holds_planned_runs_finished_and_evaluated(planned, held):
    for name, results in held.items():
        assert set(results["run"]) <= set(names_of(planned[name]))
        assert not np.isfinite(results["stopped_at"].astype(float)).any()
        for metric in METRICS:
            assert all(np.isfinite(results[f"{kind}_{metric}"]).all() for kind in ("final", *WAYS))


def test_the_table_says_how_many_runs_each_folder_holds(planned, held):
    text = (EVIDENCE / "README.md").read_text(encoding="utf-8")
    section = text.partition("## `collapse/`")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([\d,]+) \|", section, re.MULTILINE)
    stated = {name: int(number.replace(",", "")) for name, number in rows}
    assert stated == {name: len(held[name]) for name in planned}
    assert stated == {name: len(runs) for name, runs in planned.items()}
