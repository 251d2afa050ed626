"""`bygones audit` from a person's and a program's side."""

import csv
import json
from functools import partial

import pytest

from support import command_line

STRANGE = [*command_line.STRANGE, "\x1b[31mred"]


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return partial(command_line.run, capsys, "audit")


@pytest.fixture
def refused(capsys):
    return partial(command_line.refused, capsys, "audit")


@pytest.fixture
def rides(tmp_path):
    path = tmp_path / "rides.csv"
    rows = [("ana", "2026-01-01", 10), ("ben", "2026-01-15", 6), ("ana", "2026-02-01", 1), ("ben", "2026-02-02", 0)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("driver", "at", "fare"), *rows])
    return path


COLUMNS = ("--agent", "driver", "--time", "at", "--utility", "fare")


def test_an_audit_in_the_terminal(run, rides):
    out = run(rides, *COLUMNS, "--half-life", "1d,7d,inf", "--timezone", "Europe/Berlin")
    assert "4 events for 2 agents, from 2026-01-01 00:00 to 2026-02-02 00:00 Europe/Berlin." in out
    assert "Times without a time zone were read as Europe/Berlin" in out
    assert "1 agent joined after the first 1d (newcomer rule: zero)." in out
    assert "Standing, half-life 7d" in out
    assert "Standing, nothing fades" in out
    row = next(line for line in out.split("nothing fades")[1].splitlines() if " ben " in line)
    assert row.split() == ["ben", "6", "6", "███▎", "35.3%", "50.0%", "+2.5", "2026-01-15"]
    assert "Gini" in out
    assert "ben is owed most" in out
    assert "Holds at every half-life from 1d to inf\n- ben is owed most.\n" in out
    tables = [line for line in out.splitlines() if line.startswith(" ")]
    assert all(len(line) <= 80 for line in tables)


def test_an_audit_for_programs(run, rides, tmp_path):
    shares = tmp_path / "shares.csv"
    shares.write_text("agent,entitlement\nana,3\nzoe,1\n")
    result = json.loads(
        run(rides, *COLUMNS, "--half-life", "7d,inf", "--entitlements", shares, "--newcomers", "mean", "--every", "7d",
            "--at", "2026-02-03", "--gone-after", "90d", "--refine", "no", "--json")
    )  # fmt: skip
    assert [each["half_life"] for each in result["half_lives"]] == ["7d", "inf"]
    agents = {agent["agent"]: agent for agent in result["half_lives"][1]["agents"]}
    assert agents["zoe"]["owed"] > 0
    assert agents["ana"]["entitled_share"] == 0.6
    assert result["newcomer_rule"] == "mean"
    assert result["at"] == "2026-02-03T00:00:00Z"


def test_many_agents_are_shown_in_part(run, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("agent,time,utility\n" + "".join(f"agent {i:03},{i % 7},{i}\n" for i in range(60)))
    out = run(path, "--half-life", "3")
    assert "… 40 more" in out
    assert "more (see --page or --json)" in out
    assert "pairs of agents" not in out


def test_flips_that_were_not_searched_for_say_so(run, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("agent,time,utility\nana,0,10\nben,20,6\nana,30,0\n")
    assert "--refine yes" in run(path, "--half-life", "2,inf", "--refine", "no")
    assert "--refine yes" not in run(path, "--half-life", "2,inf")


def test_needs_are_decided_again(run, tmp_path):
    path = tmp_path / "asked.csv"
    rows = "".join(
        f"{name},{day},2,{'yes' if name == 'ana' else 'no'}\n" for day in range(4) for name in ("ana", "ben")
    )
    path.write_text("agent,time,need,served\n" + rows)
    out = run(path, "--needs", "need", "--served", "served", "--half-life", "inf", "--welfare", "nash")
    assert "Actual decisions and the allocator's, on the same needs" in out
    assert "the allocator makes 2 of 4 decisions differently." in out
    result = json.loads(run(path, "--needs", "need", "--served", "served", "--half-life", "inf", "--json"))
    assert result["decided_again"]["inf"]["instead"]["gini"] == 0


def test_names_are_data(run, tmp_path):
    path = tmp_path / "strange.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [(name, day, 1 + day) for day, name in enumerate(STRANGE)]
        csv.writer(file).writerows([("agent", "time", "utility"), *rows])
    out = run(path, "--half-life", "2,inf")
    assert "[bold]Bo" in out
    assert "\x1b[31m" not in out
    result = json.loads(run(path, "--half-life", "2", "--json"))
    names = {agent["agent"] for agent in result["half_lives"][0]["agents"]}
    assert names == {*STRANGE[:-1], "\ufffd[31mred"}


def test_bad_input_is_one_sentence(refused, rides, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("agent,time,utility\nana,2026-01-01,1\nben,2026-01-02,-5\n")
    shares = tmp_path / "shares.csv"
    shares.write_text("agent,entitlement\nana,0\n")
    twice = tmp_path / "twice.csv"
    twice.write_text("agent,entitlement\nana,1\nana,1\n")
    text = tmp_path / "text.db"
    text.write_bytes(b"SQLite format 3\x00 and no more")
    for message, *arguments in [
        ("no column 'agent': found 'driver', 'at', 'fare'", rides),
        ("did you mean 'driver'?", rides, "--agent", "drivers", "--time", "at", "--utility", "fare"),
        ("row 3: utility must be a finite number of at least 0, got '-5'", bad),
        ("half-life of zero nothing is remembered", rides, *COLUMNS, "--half-life", "0d"),
        ("half_life must be a time above 0", rides, *COLUMNS, "--half-life", "7"),
        ("No such file", tmp_path / "absent.csv"),
        ("cannot be read", tmp_path / "absent.parquet"),
        (f"page must be a file, got the folder {tmp_path}", rides, *COLUMNS, "--page", tmp_path),
        ("cannot be read", text),
        ("timezone must be a name", rides, "--timezone", "Mars"),
        ("entitlement must be above 0", rides, *COLUMNS, "--entitlements", shares),
        ("'ana' appears twice", rides, *COLUMNS, "--entitlements", twice),
        ("at must be a date", rides, *COLUMNS, "--at", "soon"),
        ("at must not be before the first event", rides, *COLUMNS, "--at", "2020-01-01"),
        ("newcomers must be", rides, *COLUMNS, "--newcomers", "lots"),
        ("every must be", rides, *COLUMNS, "--every", "often"),
        ("welfare must be one of", rides, *COLUMNS, "--welfare", "kind"),
    ]:
        assert message in refused(*arguments), arguments
