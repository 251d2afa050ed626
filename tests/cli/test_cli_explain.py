"""`bygones ledger explain` and `rules`: decisions made again, work, amounts too large, and rules that wait."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from bygones.allocation import ChooseK
from bygones.ledger import Ledger, Rules
from support.command_line import refused, run


@pytest.fixture
def ward(tmp_path):
    path = tmp_path / "ward.db"
    with Ledger.new(path, Rules(half_life="7d", newcomers="zero", kind="burden"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
    return path


def decided_again(path):
    """A draw that a late hold makes different: the number of the decision and that of the one in its place."""
    with Ledger.open(path) as ledger:
        ledger.join("dan", at="2026-01-03")
        decision = ledger.decide(ChooseK({"ben": 2.0, "cem": 2.0, "dan": 2.0}), at="2026-01-05")
        first = ledger.n_events() - 1
        ledger.hold(*decision.gets(), at="2026-01-04")
        ledger.redecide("2026-01-05", accept=True)
        (again,) = [e.seq for e, _ in ledger.events() if (e.details or {}).get("redecides") == first]
    return first, again


def test_a_decision_that_was_made_again_names_the_other_and_its_draw(ward, capsys):
    first, again = decided_again(ward)
    told = run(capsys, "ledger", "explain", ward, str(first))
    assert f"Decided again as event {again}, with the same draw: " in told
    seed = told.split("with the seed ")[1].split(".")[0]
    other = run(capsys, "ledger", "explain", ward, str(again))
    assert f"with the seed {seed} of event {first}, in whose place this was decided." in other
    assert ", as published in event " in other
    assert "Decided again" not in other
    assert json.loads(run(capsys, "ledger", "explain", ward, str(first), "--json"))["decided_again_as"] == again


def test_a_burden_is_worked(ward, capsys):
    assert run(capsys, "ledger", "explain", ward, "5").startswith("Event 5: ana worked 8 at 2026-01-02")


def test_those_who_were_not_available_are_not_said_to_be_passed_over(ward, capsys):
    with Ledger.open(ward) as ledger:
        ledger.record("cem", 1, at="2026-01-02")
        ledger.decide(ChooseK({"ana": 2.0, "cem": 3.0}), at="2026-01-05")
        told = run(capsys, "ledger", "explain", ward, str(ledger.n_events() - 1))
    assert "Not available: ben (0.00)." in told


def test_rules_that_wait_are_shown(ward, capsys):
    ahead = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%d")
    run(capsys, "ledger", "rules", ward, "--half-life", "60d", "--entitlement-of", "ana=2", "--at", ahead)
    assert f"From {ahead} 00:00 UTC on (event 6): entitlements ana 2, half-life 60d." in run(
        capsys, "ledger", "rules", ward
    )
    (change,) = json.loads(run(capsys, "ledger", "rules", ward, "--json"))["ahead"]
    assert change == {"at": f"{ahead}T00:00:00Z", "half_life": "60d", "entitlements": {"ana": 2.0}}
    assert "From" not in run(capsys, "ledger", "rules", ward, "--at", ahead)


def test_amounts_from_before_there_were_bounds_are_marked_and_do_not_count(ward, capsys):
    with closing(sqlite3.connect(ward)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE events SET amount = 1.7e308 WHERE seq = 5")
    told = run(capsys, "ledger", "explain", ward, "ana")
    assert "1.7e+308 (too large to count)" in told
    assert "Recent work of ana: 0." in told
    assert "does not count: correct it" in told
    assert "does not count: correct it" in run(capsys, "ledger", "explain", ward, "5")
    audited = run(capsys, "audit", ward, "--half-life", "inf")
    assert "Amounts beyond 1e+15 do not count (event 5)" in audited
    assert "e+308" not in audited


def test_plan_says_how_to_give_the_dates(ward, tmp_path, capsys):
    people = tmp_path / "people.csv"
    people.write_text("agent,need\nana,1\nben,1\n", encoding="utf-8")
    assert "give the dates with --from and --until" in refused(capsys, "ledger", "plan", ward, people)
    printed = refused(capsys, "ledger", "plan", ward, people, "--from", "soon", "--until", "2027-01-01")
    assert "column 'date'" not in printed
    assert "from must be" in printed


def test_an_audit_names_the_newcomer_rule_for_those_to_whom_it_applied(ward, tmp_path, capsys):
    with Ledger.open(ward) as ledger:
        ledger.join("dan", at="2026-02-01", newcomers="mean")
        ledger.change_rules(newcomers="mean", at="2026-01-20")
        ledger.join("eve", at="2026-02-02")
        ledger.record("eve", 1, at="2026-02-03")
    table = tmp_path / "table.csv"
    table.write_text("agent,time,amount\nfay,2026-02-04,3\n", encoding="utf-8")
    run(capsys, "ledger", "import", ward, table, "--join")
    printed = run(capsys, "audit", ward, "--half-life", "7d")
    assert "newcomer rule for dan and eve: mean; the others start with what the ledger records" in printed


def test_why_another_agent_was_not_chosen(ward, capsys):
    with Ledger.open(ward) as ledger:
        ledger.record("cem", 1, at="2026-01-02")
        ledger.hold("ben", at="2026-01-04")
        ledger.decide(ChooseK({"ana": 2.0, "cem": 3.0}), at="2026-01-05")
        number = str(ledger.n_events() - 1)
    told = run(capsys, "ledger", "explain", ward, number, "--why-not", "ana")
    assert "\nana has more recent work (" in told
    assert "ben was on hold." in run(capsys, "ledger", "explain", ward, number, "--why-not", "ben")
    as_json = json.loads(run(capsys, "ledger", "explain", ward, number, "--why-not", "cem", "--json"))
    assert as_json["why_not"] == "cem was chosen."
    for what in ("ana", "2"):
        with pytest.raises(SystemExit):
            run(capsys, "ledger", "explain", ward, what, "--why-not", "ana")


def test_a_thing_and_a_unit_are_rules(capsys, tmp_path):
    team = tmp_path / "team.db"
    run(capsys, "ledger", "new", team, "--kind", "burden", "--began", "2026-01-01", "--thing", "shift", "--unit", "h")
    run(capsys, "ledger", "join", team, "ana", "ben", "--at", "2026-01-01")
    run(capsys, "ledger", "rules", team, "--unit", "min", "--at", "2026-01-03")
    request = ChooseK({"ana": 30.0, "ben": 40.0})
    with Ledger.open(team) as ledger:
        first, second = (ledger.decide(request, at=f"2026-01-{day}").reasons()[0] for day in ("02", "03"))
        assert first.startswith("ana takes the 30-hour shift on 2 January 2026: ")
        assert second.startswith("ben takes the 40-minute shift on 3 January 2026: ")
        assert ledger.rules().to_dict()["thing"] == "shift"
        assert ledger.verify().ok
