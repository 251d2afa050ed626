"""`bygones audit` from a person's and a program's side."""

import csv
import json
import subprocess
import sys
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
    out = run(rides, *COLUMNS, "--half-life", "1d,7d,inf", "--time-zone", "Europe/Berlin")
    told = " ".join(out.split())
    assert "4 events for 2 agents, from 2026-01-01 00:00 to 2026-02-02 00:00 Europe/Berlin." in told
    assert "Times without a time zone were read as Europe/Berlin" in out
    assert "1 agent first appears more than 1d after the history begins (newcomer rule: zero)." in told
    assert "Standing, half-life 7d" in out
    assert "Standing, perfect recall (inf)" in out
    row = next(line for line in out.split("Standing, perfect recall")[1].splitlines() if " ben " in line)
    assert row.split() == ["ben", "6", "6.0", "███▎", "35.3%", "50.0%", "+2.5", "2026-01-15"]
    assert "Gini" in out
    assert out.startswith("ben is owed most at every half-life from 1d to inf.\n")
    assert "so equal shares are assumed: each of the 2 agents would receive 50.0%" in told
    assert "What to do next\n- " in out
    assert "serve ben first (owed " in out
    assert "Holds at every half-life from 1d to inf\n- ben is owed.\n" in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(rides) not in line)


def test_an_audit_for_programs(run, rides, tmp_path):
    shares = tmp_path / "shares.csv"
    shares.write_text("agent,entitlement\nana,3\nzoe,1\n")
    result = json.loads(
        run(rides, *COLUMNS, "--half-life", "7d,inf", "--entitlements", shares, "--others", "1", "--newcomers", "mean",
            "--every", "7d",
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
    assert "more: --page and --json list them" in out
    out = run(path, "--half-life", "3,inf")
    listed = json.loads(run(path, "--half-life", "3,inf", "--json"))["conclusions"]
    assert f"the order of {listed['pairs_that_flip']:,} of 1,770 pairs of agents" in out
    flips = [each for each in listed["found"] if each["kind"] == "order" and not each["holds"]]
    assert len(flips) == listed["pairs_that_flip"] > 10
    assert f"- and {len(flips) - 10:,} more" in out


def test_the_page_is_written_although_nobody_reads_on(rides, tmp_path):
    page = tmp_path / "audit.html"
    command = [sys.executable, "-m", "bygones", "audit", str(rides), *COLUMNS, "--page", str(page)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.close()
    assert page.exists()


def test_a_lone_agent_is_no_equality(run, tmp_path):
    path = tmp_path / "alone.csv"
    path.write_text("agent,time,utility\nana,0,10\nana,20,6\n")
    out = run(path, "--half-life", "10")
    assert "Only one agent takes part, so there is no one to compare with." in out
    assert json.loads(run(path, "--half-life", "10", "--json"))["half_lives"][0]["over_time"]["gini"][-1] is None


def test_small_and_large_numbers_are_written_out(run, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("agent,time,utility\nana,0,0.634\nben,0,999.6\ncem,0,5000\ndana,0,0.1\ndana,0,0.2\n")
    out = run(path, "--half-life", "inf")
    assert "1e+03" not in out
    assert " 0.6 " in out
    assert " 0.3 " in out
    assert " 999.6 " in out
    assert " 5,000.0 " in out
    even = tmp_path / "even.csv"
    even.write_text("agent,time,utility\n" + "".join(f"{name},0,{x}\n" for name in "abc" for x in (0.1, 0.2, 0.3)))
    assert "e-1" not in run(even, "--half-life", "inf")


def test_inputs_that_people_have(run, refused, tmp_path):
    us = tmp_path / "us.csv"
    us.write_text(
        "state,week,first,second,note\nMaine,01/31/2026,10,5,x\nVermont,02/07/2026,4,1,y\n,02/07/2026,1,1,z\n"
    )
    columns = ("--agent", "state", "--time", "week", "--utility", "first=1,second=0.5", "--half-life", "inf")
    assert "row 4: state must be a name, got nothing" in refused(us, *columns)
    out = run(us, *columns, "--skip-unnamed", "--title", "Doses", "--unit", "doses", "--note", "As of Monday.")
    assert "Times were read with the month first: '01/31/2026' is 2026-01-31 00:00." in out
    assert "Skipped 1 row without an agent." in out
    assert "As of Monday." in out
    assert "Amounts are in doses." in out
    result = json.loads(run(us, *columns, "--where", "note!=z", "--json"))
    received = {each["agent"]: each["received"] for each in result["half_lives"][0]["agents"]}
    assert received == {"Maine": 12.5, "Vermont": 4.5}
    more = tmp_path / "more.csv"
    more.write_text("state,week,first,second,note\nMaine,02/14/2026,1,0,x\nMaine,14.2.,1,0,x\n")
    assert "more.csv, row 3: week must be a date or time written as" in refused(us, more, *columns[:-2])
    bare = tmp_path / "bare.csv"
    bare.write_text("ana,1,2\nben,2,3\n")
    assert "bare.csv has no header line: it begins with 'ana', '1', '2'; name its columns with --fields" in refused(
        bare
    )
    assert "ana is owed most" in run(bare, "--fields", "agent,time,utility", "--half-life", "inf")


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
    assert "Actual decisions and the rule's, on the same needs" in out
    assert "the rule makes 2 of 4 decisions differently." in out
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
    assert names == {*STRANGE[:-1], "\\x1b[31mred"}


def test_bad_input_is_one_sentence(refused, rides, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("agent,time,utility\nana,2026-01-01,1\nben,2026-01-02,-5\n")
    shares = tmp_path / "shares.csv"
    shares.write_text("agent,entitlement\nana,0\n")
    some = tmp_path / "some.csv"
    some.write_text("agent,entitlement\nana,2\n")
    twice = tmp_path / "twice.csv"
    twice.write_text("agent,entitlement\nana,1\nana,1\n")
    text = tmp_path / "text.db"
    text.write_bytes(b"SQLite format 3\x00 and no more")
    for message, *arguments in [
        ("no column 'agent': found 'driver', 'at', 'fare'", rides),
        ("did you mean 'driver'?", rides, "--agent", "drivers", "--time", "at", "--utility", "fare"),
        ("row 3: utility must be a finite number of at least 0, got '-5'", bad),
        ("half-life of zero nothing is remembered", rides, *COLUMNS, "--half-life", "0d"),
        ("--half-life must be a time above 0", rides, *COLUMNS, "--half-life", "7"),
        ("No such file", tmp_path / "absent.csv"),
        ("cannot be read", tmp_path / "absent.parquet"),
        (f"{tmp_path} is a folder: give the name of a file to write", rides, *COLUMNS, "--page", tmp_path),
        ("cannot be read", text),
        ("--time-zone must be a name", rides, "--time-zone", "Mars"),
        ("1 of 2 agents in", rides, *COLUMNS, "--entitlements", some),
        ("have no entitlement: ben; add them, or set theirs with others", rides, *COLUMNS, "--entitlements", some),
        ("others must be a number above 0 or proportional", rides, *COLUMNS, "--entitlements", some, "--others", "x"),
        ("entitlement must be above 0", rides, *COLUMNS, "--entitlements", shares),
        ("'ana' appears twice", rides, *COLUMNS, "--entitlements", twice),
        ("fare is a column of the history: use --entitlement-column fare", rides, *COLUMNS, "--entitlements", "fare"),
        ("at must be a date", rides, *COLUMNS, "--at", "soon"),
        ("at must not be before the first event", rides, *COLUMNS, "--at", "2020-01-01"),
        ("newcomers must be", rides, *COLUMNS, "--newcomers", "lots"),
        ("every must be", rides, *COLUMNS, "--every", "often"),
        ("welfare must be one of", rides, *COLUMNS, "--welfare", "kind"),
    ]:
        assert message in refused(*arguments), arguments


@pytest.mark.parametrize("command", ["audit", "advise", "what-if"])
@pytest.mark.parametrize("option", [("--where", "nosuch=1"), ("--skip-unnamed",)])
def test_conditions_on_rows_are_refused_for_a_ledger(capsys, tmp_path, command, option):
    path = tmp_path / "team.db"
    for words in (("new", path, "--began", "2026-01-01"), ("join", path, "ana", "ben", "--at", "2026-01-01")):
        command_line.run(capsys, "ledger", *words)
    command_line.run(capsys, "ledger", "record", path, "ana", "3", "--at", "2026-01-02")
    message = command_line.refused(capsys, command, path, *option)
    assert "is for tables, and a ledger's events depend on one another" in message
    table = tmp_path / "received.csv"
    command_line.run(capsys, "ledger", "export", path, "--kind", "received", "--out", table)
    assert "ana" in command_line.run(capsys, "audit", table, "--utility", "amount", "--where", "agent=ana")
