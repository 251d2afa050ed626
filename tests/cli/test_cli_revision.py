"""`bygones ledger void` and `redecide`."""

import json
from datetime import UTC, datetime, timedelta

import pytest


@pytest.fixture
def team(tmp_path, run):
    path = tmp_path / "team.db"
    run("new", path, "--half-life", "inf", "--began", "2026-01-01")
    run("join", path, "ana", "ben", "--at", "2026-01-01")
    run("record", path, "ben", 0.5, "--at", "2026-01-01")
    needs = tmp_path / "needs.csv"
    needs.write_text("agent,need\nana,1\nben,1\n")
    for day in (2, 3, 4):
        run("decide", path, needs, "--at", f"2026-01-0{day}", "--yes")
    return path


def test_a_slip_is_made_void_and_explained(run, refused, team):
    assert run("record", team, "ana", 98.75, "--at", "2026-01-05") == "Event 11: ana received 98.75.\n"
    assert run("void", team, 11, "--note", "a slip") == "Event 12: event 11 is void.\n"
    assert "Void since event 12" in run("explain", team, 11)
    assert "It makes event 11 void." in run("explain", team, 12)
    assert json.loads(run("explain", team, 11, "--json"))["void_since"] == 12
    assert "98.75" not in run("explain", team, "ana", "--at", "2026-01-06")
    assert "98.75" in run("export", team)
    assert "98.75" not in run("export", team, "--kind", "received")
    assert "event 11 is already void" in refused("void", team, 11)
    assert run("void", team, 12) == "Event 13: event 12 is void, and event 11 counts again.\n"
    assert "Verified 13 events" in run("verify", team)


def test_what_a_decision_saw(run, refused, team):
    run("record", team, "ana", 50, "--at", "2026-01-01")
    seen = json.loads(run("standing", team, "--before", 7, "--json"))
    assert {agent["agent"]: agent["received"] for agent in seen["agents"]} == {"ana": 1, "ben": 0.5}
    assert seen["at"] == "2026-01-03T00:00:00Z"
    assert "nothing had been recorded by" in refused("standing", team, "--as-recorded", "2026-01-02")
    assert "give only one of them" in refused("standing", team, "--as-recorded", "2026-01-02", "--before", 7)
    assert "Standing of 2026-01-03 00:00 UTC" in run("standing", team, "--before", 7)


def test_a_period_is_decided_again(run, refused, team):
    assert "All decisions of this period come out unchanged." in run("redecide", team, "--from", "2026-01-02")
    run("record", team, "ana", 2.8, "--at", "2026-01-01", "--note", "forgotten")
    preview = run("redecide", team, "--from", "2026-01-02", "--to", "2026-01-03")
    assert "1 decision decided again" in preview
    assert "Later decisions that would now be different" in preview
    assert "Nothing was recorded: add --accept to record this." in preview
    data = json.loads(run("redecide", team, "--from", "2026-01-02", "--to", "2026-01-03", "--json"))
    assert data["recorded"] is False
    assert [each["in_period"] for each in data["decisions"]] == [True, False]
    assert "Recorded." in run("redecide", team, "--from", "2026-01-02", "--accept")
    assert "come out unchanged" in run("redecide", team, "--from", "2026-01-02")
    assert "Verified" in run("verify", team)
    assert "no decision was made" in refused("redecide", team, "--from", "2026-05-01")


def test_nothing_received_lies_ahead_and_what_does_is_said_so(run, refused, team):
    ahead = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    assert run("leave", team, "ana", "--at", ahead) == f"ana leaves from {ahead} 00:00 UTC on.\n"
    assert "present" in {agent["status"] for agent in json.loads(run("standing", team, "--json"))["agents"]}
    assert "must not be in the future" in refused("record", team, "ana", 0, "--at", "2999-11-14")
    assert "more than a year ahead" in refused("hold", team, "ana", "--at", "2999-11-14")
