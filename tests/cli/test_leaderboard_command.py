"""`bygones leaderboard` plays, shows and resumes."""

from __future__ import annotations

import json

from bygones.leaderboard import board
from support.command_line import refused, run
from support.made_up_board import BOARD

SMALL = (
    "leaderboard",
    "--scenario",
    "donut(horizon=10)",
    "lending(horizon=10)",
    "--player",
    "random",
    "prices",
    "--seeds",
    2,
)
ONE = ("--memory", "perfect", "--workers", 1, "--out")


def test_rules_are_played_and_kept(capsys, tmp_path, monkeypatch):
    shown = run(capsys, *SMALL, *ONE, tmp_path)
    assert "In lending, prices does not apply: an action does not serve agents." in shown
    assert "nothing to compare" in shown
    assert f"wrote {tmp_path / 'leaderboard.html'}" in shown
    monkeypatch.setattr(board, "played", lambda entries, workers=None: ((entry, None) for entry in entries))
    again = json.loads(run(capsys, *SMALL, *ONE, tmp_path, "--json"))
    assert {(cell["scenario"], cell["player"]) for cell in again["cells"]} == {
        ("donut(horizon=10)", "prices"), ("donut(horizon=10)", "random"), ("lending(horizon=10)", "random"),
    }  # fmt: skip
    assert all(len(cell["scores"]) == 2 for cell in again["cells"])
    assert again["does_not_apply"][0]["player"] == "prices"


def test_the_table_has_every_player_with_its_best_memory(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(board, "fill", lambda *_: BOARD)
    shown = run(capsys, "leaderboard", "--out", tmp_path)
    assert "Learning wins in 1 of 3 scenarios: job_scheduling (+51% with ppo, window T/10)." in shown
    assert [line.split()[:2] for line in shown.splitlines() if line.strip().startswith("job_scheduling")][:2] == [
        ["job_scheduling", "ppo"], ["job_scheduling", "whoever-is-behind"],
    ]  # fmt: skip
    (prices,) = [line for line in shown.splitlines() if "donut" in line and "prices" in line and "50.0%" in line]
    assert prices.split()[:4] == ["donut", "prices", "perfect", "0.200"]


def test_what_cannot_be_drawn_is_refused_in_one_sentence(capsys, tmp_path):
    for words, message in (
        (("--player", "chess"), "player must be one of"),
        (("--memory", "yesterday"), "memory must be one of"),
        (("--scenario", "cake"), "scenario must be one of"),
        (("--seeds", "0"), "seeds must be"),
        (("--seeds", "1001"), "seeds must be"),
        (("--workers", "0"), "workers must be"),
    ):
        assert message in refused(capsys, "leaderboard", *words, "--out", tmp_path)
