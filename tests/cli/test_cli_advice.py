"""`bygones advise` from a person's and a program's side: what to take and to type next comes first."""

import json
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bygones.cli import program
from bygones.ledger import Ledger, Rules
from support import command_line


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return partial(command_line.run, capsys, "advise")


@pytest.fixture
def refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(command_line.refused, capsys, "advise")


@pytest.fixture
def shifts(tmp_path):
    """A hundred nights, of which four nurses could each work some; the hours differ."""
    rng, rows = np.random.default_rng(5), ["nurse;night;hours;worked"]
    for night in range(100):
        can = [name for name in ("Ana", "Ben", "Cem", "Dana") if rng.random() < 0.9] or ["Ana"]
        worked = rng.choice(can)
        rows += [
            f"{name};{np.datetime64('2026-01-01') + night};{rng.integers(6, 12)},5;{'yes' if name == worked else 'no'}"
            for name in can
        ]
    (tmp_path / "shifts.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return "shifts.csv"


COLUMNS = ("--agent", "nurse", "--time", "night", "--needs", "hours", "--served", "worked")
QUICK = ("--kind", "burden", "--half-life", "14d,inf", "--period", "14d", "--draws", "1")


def test_advice_in_the_terminal(run, shifts):
    out = run(shifts, *COLUMNS, *QUICK, "--page", "advice.html")
    first, rest = out.split("\n", 1)
    assert first.startswith("Use a half-life of 14d and the rule ")
    parts = ["To begin with it:\n  bygones ledger new team.db --half-life 14d", "\nWhy\n- There were 100 decisions",
             "What would have been worked per 14d", "  recommended", "What would change this\n- ",
             "shifts.csv: Times without a time zone", "wrote advice.html"]  # fmt: skip
    places = [rest.index(part) for part in parts]
    assert places == sorted(places)
    page = Path("advice.html").read_text(encoding="utf-8")
    assert first in page
    assert "bygones ledger new team.db" in page
    assert "Worked by the heaviest quarter per 14d" in page
    assert all(len(line) <= 100 for line in out.splitlines() if not line.startswith("  bygones"))


def test_what_it_says_to_type_next_can_be_typed(run, shifts, tmp_path, capsys):
    (tmp_path / "shares.csv").write_text("agent,entitlement\nAna,1\nBen,0.5\n", encoding="utf-8")
    found = json.loads(
        run(shifts, *COLUMNS, *QUICK, "--entitlements", "shares.csv", "--others", "1", "--where", "hours>=7", "--json")
    )
    assert set(found["recommendation"]) == {"half_life", "rule", "newcomers", "reports", "verdict", "sentences"}
    assert found["trials"][0]["rule"] == "actual"
    assert {"heaviest_quarter", "total", "gini", "gain", "longest_in_a_row"} <= set(found["trials"][1])
    assert len(found["next"]) == 2
    for command in found["next"].values():
        assert "--kind burden" in command
        program.main(shlex.split(command)[1:])
    assert (tmp_path / "team.db").exists()
    assert (tmp_path / "what-if.html").exists()


def test_a_history_without_needs_says_what_to_record(run, tmp_path):
    rows = [f"ana,2026-01-{day:02},8\nben,2026-01-{day:02},{day % 3}" for day in range(1, 29)]
    (tmp_path / "done.csv").write_text("agent,time,utility\n" + "\n".join(rows) + "\n", encoding="utf-8")
    out = run("done.csv", "--page", "advice.html")
    assert out.startswith("Begin with a half-life of 3d.\nRules could not be compared, because ")
    assert "bygones audit done.csv --half-life 3d --newcomers zero --gone-after 6d --page audit.html" in out
    assert "Who is owed most now does not depend on the half-life: ben" in out
    assert "record one row for each agent who asked" in out
    assert (tmp_path / "advice.html").exists()


def test_a_ledger_is_told_how_to_change_its_rules(run, tmp_path):
    with Ledger.new("ward.db", Rules(half_life="90d", kind="burden"), began="2026-01-01") as ledger:
        for name in ("ana", "ben"):
            ledger.join(name, at="2026-01-01")
        for day in range(2, 28):
            ledger.record("ana" if day % 2 else "ben", 8.0, at=f"2026-01-{day:02}")
    found = json.loads(run("ward.db", "--json"))
    assert found["kind"] == "burden"
    assert found["recommendation"]["half_life"] == "7d"
    assert found["next"] == {"To begin with it": "bygones ledger rules ward.db --half-life 7d"}


def test_the_queue_of_a_cluster_is_replayed_elsewhere(run, tmp_path):
    rows = [
        f"{i}|{'ana' if i % 2 else 'ben'}|{day}T00:00:00|{day}T01:00:00|{day}T03:00:00|02:00:00|4"
        for i in range(1, 25)
        for day in [f"2026-01-{i:02}"]
    ]
    (tmp_path / "sacct.txt").write_text("\n".join(["JobID|User|Submit|Start|End|Elapsed|AllocCPUS", *rows]) + "\n")
    found = json.loads(run("sacct.txt", "--json"))
    assert found["recommendation"]["verdict"] == "not compared"
    assert "bygones what-if" in found["recommendation"]["sentences"][1]
    assert "bygones what-if sacct.txt --half-life 7d,inf" in found["next"].values()


def test_refusals_name_what_to_type(refused, shifts, tmp_path):
    error = refused(shifts)
    assert "shifts.csv has no columns called agent, time and utility: name them with --agent COLUMN, " in error
    assert "(or --needs and --served, if it records who asked); found 'nurse', 'night', 'hours', 'worked'" in error
    error = refused(shifts, *COLUMNS[:4], "--needs", "hours")
    assert "it is not known which column tells who was served: name it with --served" in error
    error = refused(shifts, *COLUMNS[:4], "--utility", "hours", "--served", "worked")
    assert "give either --utility, or --needs and --served" in error
    error = refused(shifts, *COLUMNS[:4], "--utility", "hours", "--reports", "normalised")
    assert "--reports normalised needs a history with needs" in error
    assert "period must be" in refused(shifts, *COLUMNS, "--period", "soon")
    assert "shifts.csv is an input of this command" in refused(shifts, *COLUMNS, "--page", shifts)
