"""The answers of research as documents: no name is cut on a terminal, and a notebook shows them too."""

from __future__ import annotations

import numpy as np
import pytest

from bygones.document import notebook, terminal
from bygones.envs.needs import advantaged
from bygones.leaderboard.leaderboard import Leaderboard
from bygones.learn.evaluation import Evaluation
from bygones.learn.settings import Settings
from bygones.memory import Discounted
from bygones.paper import examples
from bygones.paper.claims import judge
from bygones.paper.evaluated_policy import METRICS, WAYS, EvaluatedPolicy
from bygones.paper.optimum import for_settings
from bygones.paper.results import read
from bygones.paper.untrained import RULES, Reached
from bygones.simulation import Course, policy_named, simulate
from bygones.simulation_comparison import SimulationComparison
from bygones.stability import design
from support.evidence_page import ROOT
from support.made_up_board import BOARD


def _evaluated():
    metrics = dict.fromkeys((*METRICS, "welfare_memory"), 0.123456)
    ways = {way: Evaluation(metrics, {"gini": np.array([0.1, 0.2])}) for way in WAYS}
    reached = Reached(0.1, -12.5, 1.7, 0.16, 0.18)
    optimum = for_settings(Settings(horizon=100))
    return EvaluatedPolicy("seed-0.safetensors", 100, 20, ways, None, optimum, dict.fromkeys(RULES, reached), reached)


def _simulated(kind="good", entitlements=None):
    needs, memory = advantaged(10, 2), Discounted(half_life=50)
    names = ("proportional-fair", "one-step") if kind == "good" else ("prices", "random")
    simulated = {
        name: simulate(
            policy_named(name, memory, "egalitarian", needs, 2, kind, entitlements),
            needs, memory, "egalitarian", 20, 2, kind=kind, entitlements=entitlements,
        )
        for name in names
    }  # fmt: skip
    courses = {name: Course.of([played], 20) for name, played in simulated.items()}
    return SimulationComparison(courses, 2, "half-life 50", "egalitarian")


ANSWERS = {
    "results": lambda: read(ROOT / "evidence" / "grid" / "tenfold", ROOT / "evidence" / "grid" / "symmetric-plain"),
    "claims": lambda: judge(read(ROOT / "evidence" / "grid" / "none")),
    "claim": lambda: judge(read(ROOT / "evidence" / "grid" / "none"), ["B4"])[0],
    "leaderboard": lambda: Leaderboard(BOARD),
    "evaluation": _evaluated,
    "example": lambda: examples.ExampleComparison("example-2", examples.figure_1(12)["example-2"], "egalitarian"),
    "goods": _simulated,
    "burdens": lambda: _simulated("burden", [2.0] + [1.0] * 9),
    "stability": lambda: design(np.array([[0.5, 0.2], [0.1, 0.4]])),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_fits_and_cuts_no_name(name: str) -> None:
    document = ANSWERS[name]().document()
    for width in (60, 80, 120, 200):
        lines = terminal.text(document, width).splitlines()
        assert not [line for line in lines if "…" in line.replace("claims … --set", "") and "“" not in line]
        # A command to copy stays on one line, however long.
        assert max(len(line) for line in lines if not line.startswith("  bygones")) <= width
    assert document.headline.split()[0] in notebook.html(document)


def test_all_but_totals_are_per_unit_of_entitlement() -> None:
    shown = terminal.text(ANSWERS["burdens"]().document())
    assert "2 of 10 agents work for 20 steps" in shown
    assert "All columns but the total are per unit of entitlement." in shown
    assert "entitlement" not in terminal.text(ANSWERS["goods"]().document())


def test_a_rejected_memory_has_no_bound() -> None:
    rejected = design(np.array([[1.5]]))
    assert rejected.document().headline == "This memory is rejected."
    assert rejected.to_dict()["bound"] == float("inf")
    assert "bound" not in terminal.text(rejected.document()).split("\n", 3)[3].replace("without bound", "")
    assert "bound" in terminal.text(ANSWERS["stability"]().document())


def test_an_evaluation_lists_policy_rules_and_the_best_in_this_order() -> None:
    (table,) = _evaluated().document().blocks
    assert [row[0] for row in table.rows] == [*WAYS.values(), *(f"rule: {rule}" for rule in RULES), "best possible"]
    assert "Of best" in table.note
    own = EvaluatedPolicy("own", 7, 1, {"deterministic": Evaluation(dict.fromkeys(METRICS, 1.0), {})}, bound=2.0)
    table, limit = own.document().blocks
    assert [row[0] for row in table.rows] == ["policy, greedy actions"]
    assert limit == "No policy has a fairness score above 2.0000 on average, and possibly none reaches it."
    assert own.to_dict()["best"] is None
