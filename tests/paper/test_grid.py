import subprocess
import sys

import numpy as np
import pytest

from bygones.learn.settings import Settings
from bygones.paper.grid import (
    GAMMAS,
    HORIZONS,
    Grid,
    grid,
    identity,
    memory_label,
    parse_setting,
    parse_shared_settings,
)


def test_the_papers_grid_is_a_thousand_different_runs():
    runs = grid("paper").runs()
    assert len(runs) == 2 * 2 * 5 * 5 * 10 == len({identity(run) for run in runs})
    assert {run.horizon for run in runs} == set(HORIZONS)
    assert {run.gamma for run in runs} == set(GAMMAS)
    assert {run.total_steps for run in runs} == {1_000_000}


def test_the_weight_is_the_papers():
    for run in grid("paper", seeds=1).runs():
        assert run.weight == (0.999 if (run.welfare, run.aggregation) == ("egalitarian", "averaged") else 0.9)
    assert {run.weight for run in grid("paper", weight=0.9).runs()} == {0.9}


def test_a_welfare_is_the_papers_however_it_is_written():
    paper, spelled = (
        grid("paper", seeds=1, welfare=names).runs() for names in (("egalitarian", "nash"), (" egalitarian", "nash()"))
    )
    assert [identity(run) for run in spelled] == [identity(run) for run in paper]
    with pytest.raises(ValueError, match="welfare must be a list of different values"):
        grid("paper", welfare=("nash", "nash()"))


def test_quick_is_a_slice_of_the_paper():
    quick, paper = grid("quick").runs(), grid("paper").runs()
    assert len(quick) == 2 * 3 * 5
    assert {identity(run) for run in quick} < {identity(run) for run in paper}


def test_subsets_and_common_settings():
    runs = grid(
        "paper", gamma=(1.0,), horizon=(5000, 10000), seeds=2, total_steps=10_000_000, ends="termination"
    ).runs()
    assert len(runs) == 2 * 2 * 2 * 2
    assert {(run.total_steps, run.ends, run.gamma) for run in runs} == {(10_000_000, "termination", 1.0)}


def test_settings_on_a_command_line():
    assert parse_setting("ends=termination") == ("ends", "termination")
    assert parse_setting("total_steps=10000000") == ("total_steps", 10_000_000)
    assert parse_setting("observe_denominator=true") == ("observe_denominator", True)
    with pytest.raises(ValueError, match="a setting must be written name=value, got 'ends'"):
        parse_setting("ends")


def test_settings_that_a_grid_varies_have_their_own_flags():
    assert parse_shared_settings(["ends=termination", "n_agents=4"]) == {"ends": "termination", "n_agents": 4}
    with pytest.raises(ValueError, match="horizon has its own flag: use --horizon instead of --set horizon="):
        parse_shared_settings(["horizon=5"])
    with pytest.raises(ValueError, match="use --observation-scale instead of --set"):
        parse_shared_settings(["observation_scale=none"])
    with pytest.raises(ValueError, match="set their number with --seeds"):
        parse_shared_settings(["seed=5"])


def test_a_size_is_not_an_observation_scale():
    with pytest.raises(
        ValueError, match="observation_scale must be one of none, fixed, window, expected, relative, running, got"
    ):
        grid("quick", observation_scale="paper")


def test_bad_grids_are_refused():
    with pytest.raises(ValueError, match="size must be one of quick, paper, got 'huge'"):
        grid("huge")
    with pytest.raises(ValueError, match="unknown setting 'colour'"):
        grid("quick", colour="red")
    with pytest.raises(ValueError, match="gamma must be a list of different values"):
        Grid(gamma=(0.9, 0.9))
    with pytest.raises(ValueError, match="welfare must be a list"):
        Grid(welfare="nash")
    with pytest.raises(ValueError, match="horizon must be a list"):
        Grid(horizon=())
    with pytest.raises(ValueError, match=r"horizon must be at most total_steps \(1000000\)"):
        Grid(horizon=(100, 2_000_000)).runs()
    with pytest.raises(ValueError, match="seeds must be a whole number"):
        Grid(seeds=0)


def test_identity_depends_on_values_and_not_on_how_they_are_written():
    assert identity(Settings(gamma=1)) == identity(Settings(gamma=1.0)) == identity(Settings(gamma=np.float64(1)))
    assert identity(Settings(seed=1)) != identity(Settings(seed=2))
    assert identity(Settings(hidden=(64,))) != identity(Settings(hidden=(64, 64)))
    assert identity(Settings(observe_memory=None)) != identity(Settings(observe_memory=True))


def test_identity_is_the_same_in_another_process():
    code = "from bygones.paper.grid import *; from bygones.learn.settings import *; print(identity(Settings()))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == identity(Settings())


def test_memories_have_the_names_of_the_house_style():
    from bygones.report.style import MEMORY_LOOK

    assert all(memory_label(gamma) in MEMORY_LOOK for gamma in GAMMAS)
