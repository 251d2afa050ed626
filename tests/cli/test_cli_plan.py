"""`bygones ledger plan`, `planned`, `replan`, `unplan` and `swap`."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from bygones.ledger.model.times import day_in_words, instant


def ahead(days):
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}"


@pytest.fixture
def ward(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ward.db"
    run("new", path, "--kind", "burden", "--half-life", "inf", "--began", "2026-01-01")
    run("join", path, "ana", "ben", "cem", "--at", "2026-01-01")
    for amount, name in enumerate(("ana", "ben", "cem")):
        run("record", path, name, amount, "--at", "2026-01-02")
    (tmp_path / "people.csv").write_text("agent,need,available\nana,10,\nben,10,\ncem,10,no\n")
    return path


def test_from_a_preview_to_a_changed_plan(run, refused, ward, tmp_path):
    preview = run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(4))
    assert "Plan for 3 dates" in preview
    assert "cem: not available" in preview
    assert "Standing now, and after the plan" in preview
    assert "Nothing was recorded" in preview
    assert (tmp_path / "out" / "plan.png").exists()
    assert run("planned", ward) == "Nothing is planned.\n"
    assert "Published." in run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(4), "--publish")
    turns = json.loads(run("planned", ward, "--json"))
    assert [turn["agent"] for turn in turns] == ["ana", "ben", "ana"]
    assert "3 planned turns" in run("planned", ward)
    assert "2 planned turns" in run("planned", ward, "--agent", "ana")
    assert "unknown agent 'zoe'" in refused("planned", ward, "--agent", "zoe")
    assert "is planned already" in refused("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(4))
    assert "from and until must be given together" in refused("plan", ward, "people.csv", "--from", ahead(1))
    swapped = run("swap", ward, turns[0]["seq"], turns[1]["seq"])
    assert f"ben takes the turn on {ahead(1)} 00:00 UTC." in swapped
    assert "Everyone can take their planned turns" in run("replan", ward)
    assert run("hold", ward, "ben", "--at", ahead(1)) == f"ben goes on hold on {day_in_words(instant(ahead(1)))}.\n"
    assert "1 turn cannot be taken: decide again with bygones ledger replan." in run("planned", ward)
    assert "1 turn reassigned on 1 date" in run("replan", ward)
    data = json.loads(run("replan", ward, "--json"))
    assert (data["recorded"], data["dates"][0]["changed"]) == (False, 1)
    assert "Recorded." in run("replan", ward, "--accept")
    assert run("unplan", ward, "--from", ahead(2)) == "The plan for 2 dates is void.\n"
    assert json.loads(run("unplan", ward, "--json")) == [f"{ahead(1)}T00:00:00Z"]
    assert "nothing is planned" in refused("unplan", ward)
    assert "Verified" in run("verify", ward)


def test_a_date_on_which_nobody_is_available_is_named_and_the_others_are_planned_again(run, refused, ward, tmp_path):
    run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(4), "--publish")
    rows = ["agent,need,available", f"ana,10,not {ahead(1)}", "ben,10,no", f"cem,10,not {ahead(1)}"]
    (tmp_path / "now.csv").write_text("\n".join(rows))
    data = json.loads(run("replan", ward, "--table", "now.csv", "--accept", "--json"))
    assert [each["why"] for each in data["dates"]] == [
        ["ana is not available", "nobody else can take it"],
        ["ben is not available"],
    ]
    assert [turn["agent"] for turn in json.loads(run("planned", ward, "--json"))] == ["ana", "cem", "ana"]
    dates = ("--from", ahead(1), "--until", ahead(2))
    assert f"nobody is available on {ahead(1)}" in refused("plan", ward, "now.csv", *dates)
    assert "Verified" in run("verify", ward)


def test_decide_takes_a_table_with_dates(run, refused, ward, tmp_path):
    table = tmp_path / "dates.csv"
    table.write_text(f"date,agent,need\n{ahead(2)},ana,10\n{ahead(2)},ben,10\n{ahead(1)},cem,8\n{ahead(1)},ben,8\n")
    assert "Plan for 2 dates" in run("decide", ward, table)
    data = json.loads(run("decide", ward, table, "--json"))
    assert data["recorded"] is False
    assert [date["turns"][0]["agent"] for date in data["dates"]] == ["ben", "ana"]
    assert "Published." in run("decide", ward, table, "--yes")
    assert "at cannot be used with" in refused("decide", ward, table, "--at", "2026-01-03")


def test_exports(run, refused, ward, tmp_path):
    run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(3), "--publish")
    assert run("planned", ward, "--out", "plan.csv") == "wrote plan.csv\n"
    assert (tmp_path / "plan.csv").read_text().startswith("date,time,until,hours,agent,what,amount,event\n")
    run("planned", ward, "--agent", "ana", "--out", "ana.ics")
    assert (tmp_path / "ana.ics").read_text().count("BEGIN:VEVENT") == 1
    assert "out must end in .csv or .ics" in refused("planned", ward, "--out", "plan.pdf")


@pytest.mark.parametrize("how", ["a link to a ledger", "a ledger of that name"])
def test_an_export_never_replaces_a_ledger(run, refused, ward, tmp_path, how):
    other, out = tmp_path / "other.db", tmp_path / "plan.csv"
    run("copy", ward, other)
    before = other.read_bytes()
    if how == "a link to a ledger":
        out.symlink_to(other)
    else:
        out.write_bytes(before)
    assert "which may be a ledger: choose another file to write" in refused("planned", ward, "--out", out)
    assert out.read_bytes() == before


def test_plans_divide_in_whole_units_too(run, refused, ward, tmp_path):
    days = ("--from", ahead(1), "--until", ahead(2))
    (tmp_path / "dates.csv").write_text(f"date,agent,need\n{ahead(1)},ana,9\n{ahead(1)},ben,9\n")
    for words in (("plan", ward, "people.csv", *days), ("decide", ward, "dates.csv")):
        turns = json.loads(run(*words, "--amount", 4, "--whole", "--json"))["dates"][0]["turns"]
        doses = {turn["agent"]: turn["amount"] for turn in turns}
        # Without, 2.5 and 1.5. Either of these leaves loads of 3 and 2, so a draw decides.
        assert doses in ({"ana": 3.0, "ben": 1.0}, {"ana": 2.0, "ben": 2.0})
    assert "whole is for an amount" in refused("plan", ward, "people.csv", *days, "--whole")


def test_a_date_on_which_nobody_can_serve_is_named(run, refused, ward):
    for name in ("ana", "ben"):
        run("hold", ward, name, "--at", ahead(2))
    told = refused("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(4))
    assert f"no one can take this burden at {ahead(2)} 00:00 UTC: everyone in the request is on hold" in told


def test_a_turn_that_nobody_has_is_pointed_out_and_can_be_planned_again(run, ward):
    plan = ("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(3))
    run(*plan, "--publish")
    turns = json.loads(run("planned", ward, "--json"))
    told = " ".join(run("void", ward, turns[0]["seq"]).split())
    assert f"Nobody has this turn on {ahead(1)} 00:00 UTC now." in told
    unplan = told.partition("(bygones ledger ")[2].partition(")")[0]
    assert run(*unplan.split()) == "The plan for 1 date is void.\n"
    run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(2), "--publish")
    told = " ".join(run("void", ward, turns[1]["plan"]).split())
    assert told.endswith(f"Nobody has a turn on {ahead(2)} 00:00 UTC now. To plan it again, use bygones ledger plan.")
    run("plan", ward, "people.csv", "--from", ahead(2), "--until", ahead(3), "--publish")
    assert "Verified" in run("verify", ward)


def test_a_future_joiner_is_planned_from_then_on(run, ward, tmp_path):
    told = run("join", ward, "dan", "--at", ahead(2))
    assert told == f"dan joins on {day_in_words(instant(ahead(2)))}. Their starting amount is computed then.\n"
    assert "starting with" not in run("explain", ward, 8)
    assert "The starting amount is computed at that time." in run("explain", ward, 8)
    (tmp_path / "people.csv").write_text("agent,need\nana,10\ndan,10\n")
    drafted = json.loads(
        run("plan", ward, "people.csv", "--from", ahead(1), "--until", ahead(6), "--publish", "--json")
    )
    left_out = [each["left_out"] for each in drafted["dates"]]
    assert left_out == [{"dan": f"joins on {day_in_words(instant(ahead(2)))}"}, {}, {}, {}, {}]
    assert "dan" in run("planned", ward, "--agent", "dan")
    assert "Verified" in run("verify", ward)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on POSIX only")
def test_replan_refuses_a_pipe_also_if_nothing_is_planned(refused, ward, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is a device or a pipe" in refused("replan", ward, "--table", "pipe")


def test_replan_points_out_a_turn_that_was_decided(run, ward, tmp_path):
    assert run("replan", ward).strip() == "Nothing is planned."
    (tmp_path / "now.csv").write_text("agent,need\nana,10\n")
    assert "Recorded." in run("decide", ward, "now.csv", "--yes")
    run("hold", ward, "ben")
    assert run("replan", ward).strip() == "Nothing is planned.", "ben has no turn"
    run("hold", ward, "ana")
    told = " ".join(run("replan", ward).split())
    today = day_in_words(instant(datetime.now(UTC)))
    assert told == (
        f"Nothing is planned. ana is on hold, and has 10 by the decision of {today} (event 8). A decision is not "
        "planned again: make event 8 void and decide again."
    )
    (turn,) = json.loads(run("replan", ward, "--json"))["decided"]
    assert (turn["decision"], turn["agent"], turn["amount"], turn["status"]) == (8, "ana", 10, "on hold")
    run("void", ward, 8)
    assert run("replan", ward).strip() == "Nothing is planned."
