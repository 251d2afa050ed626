import inspect
import re

import pytest

from bygones.paper.grid import Grid
from bygones.paper.paper_tables import PPO_SETTINGS, table_1, table_2
from support.extras import ROOT


def test_table_1():
    rows = [(row.gamma, round(row.half_life, 2), round(row.window, 1)) for row in table_1().rows]
    assert rows == [(0.8, 3.11, 5.0), (0.9, 6.58, 10.0), (0.95, 13.51, 20.0), (0.97, 22.76, 33.3), (0.99, 68.97, 100.0)]


def test_table_2_says_the_same_as_the_paper():
    rows = {row.setting: row for row in table_2().rows}
    for setting in (
        "agents n",
        "advantaged agents",
        "resources per step",
        "seeds per cell",
        "total_steps",
        "horizon T",
    ):
        assert rows[setting].trained == rows[setting].paper
    assert rows["weight λ"].trained == rows["weight λ"].paper
    listed = [float(gamma) for gamma in rows["discount factor γ"].paper.split(", ")]
    assert listed == [float(gamma) for gamma in rows["discount factor γ"].trained.split(", ")] == list(Grid().gamma)
    assert rows["memories"].trained == "myopic, γ = 0.9, γ = 0.99, γ = 0.999, perfect recall"


def test_settings_of_ppo_are_the_defaults_of_stable_baselines3():
    ppo = pytest.importorskip("stable_baselines3").PPO
    theirs = {name: default.default for name, default in inspect.signature(ppo).parameters.items()}
    decisions = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    rows = {row.setting: float(row.trained) for row in table_2().rows if row.setting in PPO_SETTINGS}
    assert list(rows) == list(PPO_SETTINGS)
    for setting, value in rows.items():
        name = re.search(rf"^\| `{setting}` \| \S+ \| `(\w+)`", decisions, re.MULTILINE)[1]
        assert value == theirs.get(name, 1e-5), setting  # Adam's eps is part of the policy, not of PPO
