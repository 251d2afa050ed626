"""One name per policy, and one grammar: wherever a command takes a policy, it plays or is refused in a sentence."""

import sys

import numpy as np
import pytest

from bygones import ChooseK, Discounted, allocate
from bygones.allocation import Assign, RankingPolicy
from bygones.allocation.policy_contract import policies
from bygones.ledger import Ledger, Rules
from support import command_line

OWN = """
import numpy as np
from bygones.allocation import RankingPolicy

class LeastFirst(RankingPolicy):
    def __init__(self, setting, patience=1.0):
        self.memory, self.patience = setting.memory, patience

    def keys(self, needs, k, state, step):
        return (needs - self.patience * np.asarray(self.memory.read(state)),)

def first(setting):
    return lambda needs, k, state, step, rng: np.arange(k)

def nobody(setting):
    return lambda needs, k, state, step, rng: np.zeros(0, int)
"""
RANKING = "own_policies:LeastFirst(patience=0.5)"
IN_SCENARIOS = ("everybody", "whoever-is-behind", "slices(length=2)", "turns(length=2)", "lookahead(length=2)")
NAMES = tuple(name for name in policies.names() if not any(each.startswith(name) for each in IN_SCENARIOS))
NEEDS = "agent,need\nana,5\nben,3\ncem,4\n"
HISTORY = "agent,time,need,served\n" + "".join(
    f"{name},2026-01-0{day},{day},{int(name == 'ana')}\n" for day in range(1, 5) for name in ("ana", "ben")
)
WHO = "--n-agents 4 --n-advantaged 1 --horizon 5 --out out"
COMMANDS = {
    "allocate": ["allocate", "needs.csv", "--half-life", "30", "--rule", "{}"],
    "what-if": ["what-if", "history.csv", "--half-life", "2d", "--draws", "1", "--rule", "one-step,{}"],
    "simulate": ["simulate", *WHO.split(), "--policy", "{}"],
    "evaluate": ["evaluate", "{}", "--scenario", "allocation(horizon=5)", "--episodes", "2"],
    "leaderboard": [
        *("leaderboard", "--scenario", "allocation(horizon=5)", "--memory", "perfect", "--seeds", "1"),
        *("--workers", "1", "--player", "{}"),
    ],
}
NO_SAMPLE = "policy calibrated learns from a sample of needs, and none is known here"
NO_STEP = "policy round-robin goes by the number of the step, which a single decision does not have"
REFUSED = {
    ("allocate", "calibrated"): NO_SAMPLE,
    ("what-if", "calibrated"): NO_SAMPLE,
    ("evaluate", "calibrated"): NO_SAMPLE,
    ("leaderboard", "calibrated"): NO_SAMPLE,
    ("allocate", "round-robin"): NO_STEP,
    ("what-if", "round-robin"): NO_STEP,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_policies.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "needs.csv").write_text(NEEDS, encoding="utf-8")
    (tmp_path / "history.csv").write_text(HISTORY, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_policies", None)


@pytest.mark.parametrize("name", [*NAMES, *IN_SCENARIOS[2:3], "own_policies:first", RANKING, "fair"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_every_policy_or_says_why_not(folder, capsys, command, name):
    words = [word.format(name) for word in COMMANDS[command]]
    if name == "fair":
        told = " ".join(command_line.refused(capsys, *words).split())
        assert f"{'player' if command == 'leaderboard' else 'policy'} must be one of" in told
        assert "max-min" in told
    elif (command, name) in REFUSED:
        assert REFUSED[command, name] in " ".join(command_line.refused(capsys, *words).split())
    elif name in IN_SCENARIOS and command in ("allocate", "what-if", "simulate"):
        assert "policy slices takes the actions of a scenario" in command_line.refused(capsys, *words)
    else:
        assert command_line.run(capsys, *words)


def test_older_names_mean_the_same():
    assert [policies.read(name).name for name in ("dynamic-max-min", "Max_Min")] == ["max-min", "max-min"]
    assert policies.read("utilitarian").name == "largest-need"


def test_a_ledger_decides_by_any_policy(folder):
    for rule, gets in (("max-min", "ben"), ("largest-need", "ana"), (RANKING, "cem")):
        with Ledger.new(folder / f"{gets}.db", Rules(half_life="inf", rule=rule, newcomers="zero")) as ledger:
            for name in ("ana", "ben", "cem"):
                ledger.join(name)
            ledger.record("ana", 9)
            ledger.record("cem", 1)
            proposal = ledger.propose(ChooseK({"ana": 5, "ben": 0.2, "cem": 4}, 1))
            assert list(proposal.allocation.gets) == [gets]
            assert f"by the rule {rule}" in proposal.reasons()[0]
            ledger.accept(proposal)
            assert not ledger.verify().problems


def test_a_policy_that_cannot_decide_says_so(folder):
    memory = Discounted(gamma=0.9)
    three = ChooseK([1, 2, 3], 2)

    def decided(problem, rule):
        return allocate(problem, memory, memory.init(3), "egalitarian", rule=rule)

    with pytest.raises(
        ValueError, match="max-min chooses k agents, and cannot allocate Assign: use one-step or prices"
    ):
        decided(Assign(np.ones((3, 2))), "max-min")
    with pytest.raises(ValueError, match="slices takes the actions of a scenario"):
        decided(three, "slices(length=2)")
    with pytest.raises(ValueError, match="own_policies:first is not told who may be served"):
        decided(ChooseK([1, 2, 3], 2, allowed=[False, True, True]), "own_policies:first")
    with pytest.raises(ValueError, match=r"must return 2 of the agents 0 to 2, got \[\]"):
        decided(three, "own_policies:nobody")
    assert decided(ChooseK([1, 2, 3], 3, allowed=[False, True, True]), RANKING).served.tolist() == [1, 2]
    assert (
        decided(three, "own_policies:first").why_not("agent 2")
        == "The rule own_policies:first chose agent 0 and agent 1."
    )


def test_a_registered_policy_has_its_name_everywhere(monkeypatch):
    class Newest(RankingPolicy):
        def __init__(self, setting):
            pass

        def keys(self, needs, k, state, step):
            return (np.arange(needs.shape[-1], dtype=float),)

    monkeypatch.setattr(policies, "_parts", dict(policies._parts))
    policies.add(Newest)
    memory = Discounted(gamma=0.9)
    assert allocate(ChooseK([1, 2, 3]), memory, memory.init(3), "nash", rule="newest").served.tolist() == [2]
