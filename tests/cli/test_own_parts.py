"""Scenarios, memories and welfare functions of one's own on the command line, as `module:name` in this folder."""

import sys

import gymnasium as gym
import numpy as np
import pytest

from bygones._registry import no_imports
from bygones.envs import catalogue
from bygones.envs.problem import FairProblem
from bygones.learn import Settings, TrainedPolicy, train
from bygones.memory import Discounted, memories
from bygones.welfare import functions
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
PARTS = """
from bygones.memory import Discounted

def half(steps=1):
    return Discounted(half_life=steps)

def nothing():
    return None

def lowest(Z, share=1.0):
    return share * Z.min(axis=-1)
"""
FILES = {
    "own_parts": PARTS,
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
    assert catalogue.parse_scenario("own_ward:Ward(horizon=5)").horizon == 5
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
def test_a_policy_is_evaluated_if_its_scenario_is_named(folder, capsys, monkeypatch):
    problem = FairProblem(catalogue.parse_scenario("own_ward:Ward(horizon=6)"))
    trained = train(Settings(total_steps=64, rollout_steps=64, hidden=(4,)), problem=problem)
    trained.policy.save(folder / "mine.safetensors")
    monkeypatch.setattr(catalogue.scenarios, "_trusted", set())
    monkeypatch.delitem(sys.modules, "own_ward")
    told = command_line.refused(capsys, "evaluate", "mine.safetensors")
    asked = told.partition("--scenario ")[2].strip().strip("'")
    assert asked.startswith("own_ward:Ward(horizon=6, ")
    shown = command_line.run(capsys, "evaluate", "mine.safetensors", "--scenario", asked, "--episodes", "2")
    assert "policy, greedy actions" in shown
    told = command_line.refused(capsys, "evaluate", "mine.safetensors", "--scenario", "own_ward:Ward(horizon=7)")
    assert "mine.safetensors was trained on another problem, which differs in scenario" in told
    usual = train(Settings(total_steps=64, rollout_steps=64, hidden=(4,), horizon=8, n_agents=3, n_resources=1))
    usual.policy.save(folder / "usual.safetensors")
    with pytest.raises(ValueError, match=r"usual\.safetensors was not trained on a scenario"):
        TrainedPolicy.load(folder / "usual.safetensors", scenario=problem.scenario)


NEEDS = "agent,time,need,served\n" + "".join(
    f"{name},2026-01-0{day},{day},{int(name == 'ana')}\n" for day in range(1, 9) for name in ("ana", "ben")
)


def test_a_memory_in_every_command_that_takes_one(folder, capsys, monkeypatch):
    own = "own_parts:half(steps=3)"
    (folder / "asked.csv").write_text(NEEDS)
    for command in (
        ["simulate", "example-1", "--memory"],
        ["simulate", "--policy", "one-step", "--horizon", "9", "--memory"],
        ["what-if", "asked.csv", "--memory"],
    ):
        assert own in command_line.run(capsys, *command, own)
    command_line.run(capsys, "ledger", "new", "team.db", "--memory", own)
    assert own in command_line.run(capsys, "ledger", "rules", "team.db")
    command_line.run(capsys, "ledger", "rules", "team.db", "--memory", "own_parts:half(steps=4)")


@pytest.mark.soak
def test_a_memory_to_train_with(folder, capsys):
    few = ("--total-steps", "64", "--rollout-steps", "64", "--batch-size", "32")
    for i, memory in enumerate(("own_parts:half(steps=3)", "perfect", "none", "sliding-window(3)")):
        own = ("--memory", memory, "--out", f"run-{i}")
        shown = command_line.run(capsys, "train", "--scenario", "donut(horizon=9)", *own, *few)
        assert memory in shown


def test_a_memory_for_gymnasium(folder):
    env = gym.make("bygones.envs:bygones/Donut-v0", memory="own_parts:half(steps=3)")
    assert env.unwrapped.problem.memory == Discounted(half_life=3)


def test_a_welfare_in_every_command_that_takes_one(folder, capsys):
    own = "own_parts:lowest(share=2)"
    (folder / "asked.csv").write_text(NEEDS)
    (folder / "needs.csv").write_text("agent,need\nana,2\nben,3\n")
    for command in (
        ["simulate", "example-1"],
        ["simulate", "--policy", "one-step", "--horizon", "9"],
        ["allocate", "needs.csv", "--half-life", "5"],
        ["what-if", "asked.csv"],
        ["audit", "asked.csv", "--utility", "need"],
        ["ledger", "new", "team.db"],
        ["ledger", "rules", "team.db"],
    ):
        command_line.run(capsys, *command, "--welfare", own)
    assert Settings(welfare=own).welfare == own
    assert Settings(welfare=own).problem().welfare(np.array([3.0, 4.0])) == 6.0


def test_a_file_imports_no_module_unless_its_reader_says_so(folder, capsys, monkeypatch):
    command_line.run(capsys, "ledger", "new", "team.db", "--memory", "own_parts:half(steps=3)")
    command_line.run(capsys, "ledger", "join", "team.db", "ana")
    for parts in (memories, functions):
        monkeypatch.setattr(parts, "_trusted", set())
    told = command_line.refused(capsys, "ledger", "standing", "team.db")
    assert "memory own_parts:half is not imported, since only a file names it" in told
    assert "BYGONES_PARTS=own_parts:half" in told
    monkeypatch.setenv("BYGONES_PARTS", "own_parts:half")
    command_line.run(capsys, "ledger", "standing", "team.db")
    settings = Settings(welfare="own_parts:lowest", hidden=(4,)).to_dict()
    monkeypatch.setattr(functions, "_trusted", set())
    with no_imports(), pytest.raises(ValueError, match="welfare own_parts:lowest is not imported"):
        Settings.from_dict(settings)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("own_parts:nothing", "memory own_parts:nothing must be a Memory, got None"),
        ("own_parts:half(step=3)", "memory own_parts:half takes steps, got 'step'; did you mean steps?"),
        ("own_parts:half(steps=3d)", "steps must be a number of steps, got '3d'"),
        ("own_parts:missing", "memory own_parts:missing must be a class of memories, or a function that returns one"),
        ("perfekt", "did you mean perfect?"),
    ],
)
def test_what_is_wrong_with_a_memory_is_said(folder, capsys, memory, message):
    for command in (["simulate", "example-1"], ["train", "--scenario", "donut"], ["ledger", "new", "team.db"]):
        assert message in command_line.refused(capsys, *command, "--memory", memory)
