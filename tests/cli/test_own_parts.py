"""Scenarios of one's own on the command line, as `module:Class` in the current folder."""

import sys

import pytest

from bygones.envs import catalogue
from bygones.envs.problem import FairProblem
from bygones.learn import Settings, TrainedPolicy, train
from support import command_line

WARD = """
from dataclasses import dataclass
from bygones.envs.scenarios.donut import Donut

@dataclass(frozen=True)
class Ward(Donut):
    horizon: int = 8

class Failing(Ward):
    @property
    def n_agents(self):
        return 1 / 0
"""
FILES = {
    "own_ward": WARD,
    "own_broken": "x = 1\ny = (2,\n",
    "own_raising": "import numpy\n\nraise RuntimeError('no beds')\n",
    "own_needing": "\nimport no_such_library\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which is not on Python's path, with modules in it."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name, None)


def test_a_module_in_the_current_folder_is_found(folder):
    assert catalogue.named("own_ward:Ward(horizon=5)").horizon == 5
    assert sys.path[-1] == str(folder)  # behind all others, so that it hides no library


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (
            "own_nowhere:Ward",
            ["there is no own_nowhere.py in the current folder", "no module own_nowhere is installed"],
        ),
        ("own_nowhere.inner:Ward", ["no module own_nowhere is installed"]),
        ("own_broken:Ward", ["own_broken.py, line 2: '(' was never closed"]),
        ("own_raising:Ward", ["own_raising.py, line 3: RuntimeError: no beds"]),
        ("own_needing:Ward", ["own_needing.py, line 2: no_such_library, which is imported there, is not installed"]),
        ("own_ward:Wards", ["scenario own_ward:Wards must be a class that inherits from"]),
    ],
)
@pytest.mark.parametrize("command", ["train", "leaderboard"])
def test_what_is_wrong_with_it_is_said(folder, capsys, command, scenario, words):
    told = command_line.refused(capsys, command, "--scenario", scenario)
    for each in (scenario, *words):
        assert each in told
    assert "pip install" not in told


def test_an_error_inside_it_is_not_a_bug_of_bygones(folder, capsys):
    with pytest.raises(SystemExit) as stopped:
        command_line.program.main(["train", "--scenario", "own_ward:Failing"])
    assert stopped.value.code == 1
    told = capsys.readouterr().err
    assert "own_ward.py, line 12: ZeroDivisionError: division by zero" in told
    assert "bug in bygones" not in told
    assert "Traceback" not in told


@pytest.mark.soak
def test_a_policy_is_evaluated_if_its_scenario_is_named(folder, capsys):
    problem = FairProblem(catalogue.named("own_ward:Ward(horizon=6)"))
    trained = train(Settings(total_steps=64, rollout_steps=64, hidden=(4,)), problem=problem)
    trained.policy.save(folder / "mine.safetensors")
    told = command_line.refused(capsys, "evaluate", "mine.safetensors")
    asked = told.partition("--scenario ")[2].strip().strip("'")
    assert asked.startswith("own_ward:Ward(horizon=6, ")
    shown = command_line.run(capsys, "evaluate", "mine.safetensors", "--scenario", asked, "--episodes", "2")
    assert "policy, most probable actions" in shown
    told = command_line.refused(capsys, "evaluate", "mine.safetensors", "--scenario", "own_ward:Ward(horizon=7)")
    assert "mine.safetensors was trained on another problem, which differs in scenario" in told
    usual = train(Settings(total_steps=64, rollout_steps=64, hidden=(4,), horizon=8, n_agents=3, n_resources=1))
    usual.policy.save(folder / "usual.safetensors")
    with pytest.raises(ValueError, match=r"usual\.safetensors was not trained on a scenario"):
        TrainedPolicy.load(folder / "usual.safetensors", scenario=problem.scenario)
