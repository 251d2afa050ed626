"""`bygones ledger void` and `redecide`."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bygones.ledger.model.times import day_in_words, instant


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
    assert run("void", team, 11, "--note", "a slip") == "Event 12: event 11 is void (ana, 98.75 on 5 January 2026).\n"
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
    preview = run("redecide", team, "--from", "2026-01-02", "--until", "2026-01-03")
    assert "1 decision would come out differently" in preview
    assert "This turn is in the past: accept only if it was not received as decided." in preview
    assert "Later decisions that would now be different" in preview
    assert "Nothing was recorded: add --accept to record this." in preview
    data = json.loads(run("redecide", team, "--from", "2026-01-02", "--until", "2026-01-03", "--json"))
    assert data["recorded"] is False
    assert [each["in_period"] for each in data["decisions"]] == [True, False]
    accepted = run("redecide", team, "--from", "2026-01-02", "--accept")
    assert "decided again" in accepted
    assert "Recorded. Each turn now counts for the agent in the column now." in accepted
    assert "come out unchanged" in run("redecide", team, "--from", "2026-01-02")
    assert "Verified" in run("verify", team)
    assert "no decision was made" in refused("redecide", team, "--from", "2026-05-01")


def test_nothing_received_lies_ahead_and_what_does_is_said_so(run, refused, team):
    ahead = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    assert run("leave", team, "ana", "--at", ahead) == f"ana leaves on {day_in_words(instant(ahead))}.\n"
    assert "present" in {agent["status"] for agent in json.loads(run("standing", team, "--json"))["agents"]}
    assert "must not be in the future" in refused("record", team, "ana", 0, "--at", "2999-11-14")
    assert "more than a year ahead" in refused("hold", team, "ana", "--at", "2999-11-14")


def test_a_void_names_whose_it_was(run, team):
    assert run("void", team, 9).endswith("event 9 is void (ana: the place on 4 January 2026).\n")
    assert run("hold", team, "ana") == "ana is on hold.\n"
    assert "event 12 is void (ana, hold on " in run("void", team, 12)


def test_a_correction_names_the_amount_before_and_after(run, refused, tmp_path):
    ward = tmp_path / "ward.db"
    run("new", ward, "--kind", "burden", "--unit", "h", "--began", "2026-10-01")
    run("join", ward, "Ana", "--at", "2026-10-01", "--entitlement", "0,5")
    run("record", ward, "Ana", 95, "--at", "2026-10-11")
    event = json.loads(run("correct", ward, 4, "9,5", "--json"))[0]
    assert event["amount"] == -85.5
    told = run("correct", ward, 4, "9.25")
    assert told == "Event 6 corrects event 4: Ana, 11 October 2026: 9.25 h instead of 9.5 h.\n"
    assert "may mean thousands" in refused("correct", ward, 4, "1,000")
    assert "expected a number, got 'x'" in refused("record", ward, "Ana", "x")
    run("rules", ward, "--entitlement-of", "Ana=0,25")
    assert json.loads(run("rules", ward, "--json"))["entitlements"] == {"Ana": 0.25}
    assert "entitlement-of must be AGENT=NUMBER" in refused("rules", ward, "--entitlement-of", "Ana=x")
    assert "nobody can have worked then yet" in refused("record", ward, "Ana", 8, "--at", "2090-01-01")
