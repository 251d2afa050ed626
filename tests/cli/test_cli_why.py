"""Why someone is chosen and someone else is not, in every command that decides, also where agents tie."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from support import command_line

FIRST, SECOND, THIRD = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (10, 11, 12))

TIED = "for the lowest recent workload of the three available, and picked by a random draw"


@pytest.fixture
def run(capsys):
    return partial(command_line.run, capsys)


@pytest.fixture
def refused(capsys):
    return partial(command_line.refused, capsys)


@pytest.fixture
def ward(tmp_path, run, monkeypatch):
    """A ledger in which Ana and Ben are tied, and Cem has worked more; its decisions are in `shift.csv`."""
    monkeypatch.chdir(tmp_path)
    run("ledger", "new", "w.db", "--kind", "burden", "--half-life", "inf", "--began", "2026-01-01", "--thing", "shift")
    run("ledger", "join", "w.db", "Ana", "Ben", "Cem", "--at", "2026-01-01")
    run("ledger", "record", "w.db", "Cem", "8", "--at", "2026-01-02")
    (tmp_path / "shift.csv").write_text("agent,need\nAna,8\nBen,8\nCem,8\n")
    (tmp_path / "past.csv").write_text("agent,time,utility\nAna,1,0\nBen,1,0\nCem,1,8\n")
    return "w.db"


def other(chosen):
    return {"Ana": "Ben", "Ben": "Ana"}[chosen]


def check(printed, reasons):
    """The headline names the agents who tied, and why-not gives the same reason; Cem has more work."""
    headline = " ".join(printed.split())
    chosen = "Ana" if "Ana takes" in headline else "Ben"
    assert f": tied with {other(chosen)} {TIED}." in headline
    assert reasons(other(chosen)).count("They were tied, so a random draw decided.") == 1
    assert "Cem has more recent work" in reasons("Cem")


def test_a_tie_of_an_allocation(run, ward):
    command = (
        "allocate",
        "shift.csv",
        "--history",
        "past.csv",
        "--half-life",
        "inf",
        "--kind",
        "burden",
        "--seed",
        "1",
    )
    check(run(*command), lambda agent: run(*command, "--why-not", agent))


def test_a_tie_of_a_decision_and_of_its_explanation(run, ward):
    command = ("ledger", "decide", ward, "shift.csv", "--at", "2026-01-03")
    check(run(*command, "--json"), lambda agent: run(*command, "--json", "--why-not", agent))
    run(*command, "--yes")
    told = ("ledger", "explain", ward, "6")
    check(run(*told), lambda agent: run(*told, "--why-not", agent))


def test_a_tie_of_a_plan_and_why_not_on_each_date(run, refused, ward):
    people = ("ledger", "plan", ward, "shift.csv", "--from", FIRST, "--until", THIRD)
    plan = json.loads(run(*people, "--json"))
    tied, least = (date["reasons"][0].split(": ", 1)[1] for date in plan["dates"])
    chosen = plan["dates"][0]["turns"][0]["agent"]
    assert tied == f"tied with {other(chosen)} {TIED}."
    assert least == "lowest recent workload of the three available."
    printed = " ".join(run(*people, "--why-not", other(chosen)).split())
    assert "because" in printed
    assert f"{SECOND} {other(chosen)}: the shift (load 8) lowest recent workload" in printed
    assert f"{FIRST}: {other(chosen)} has as much recent work (0) as {chosen} (0). They were tied" in printed
    assert f"{SECOND}: {other(chosen)} was chosen." in printed
    answers = json.loads(run(*people, "--why-not", "Cem", "--date", SECOND, "--json"))["why_not"]
    assert [answer.partition(":")[0] for answer in answers] == [SECOND]
    assert "date must be a date of the plan" in refused(*people, "--why-not", "Cem", "--date", "2020-01-01")
    assert "add --why-not" in refused(*people, "--date", SECOND)


def test_why_not_of_an_agent_who_is_left_out(run, ward, tmp_path):
    run("ledger", "hold", ward, "Ben", "--at", FIRST)
    run("ledger", "join", ward, "Dana", "--at", SECOND)
    (tmp_path / "dates.csv").write_text(
        f"date,agent,need\n{FIRST},Ana,8\n{FIRST},Ben,8\n{FIRST},Dana,8\n{SECOND},Cem,8\n{SECOND},Dana,8\n"
    )
    plan = ("ledger", "decide", ward, "dates.csv")
    assert f"{FIRST}: Ben is on hold." in run(*plan, "--why-not", "Ben")
    run(*plan, "--yes")
    assert "Ben is on hold." in run("ledger", "explain", ward, "8", "--why-not", "Ben")
    assert "Dana joins on " in run("ledger", "explain", ward, "9", "--why-not", "Dana")
    assert "Why a turn is planned: bygones ledger explain" in run("ledger", "planned", ward)


def test_a_decision_that_is_recorded_is_not_refused_for_a_name(run, ward, capsys):
    with pytest.raises(SystemExit) as stop:
        run("ledger", "decide", ward, "shift.csv", "--at", "2026-01-03", "--yes", "--why-not", "Zoe")
    assert stop.value.code == 3
    assert "recorded, but the answer could not be written: why_not must name an agent" in capsys.readouterr().err


def test_the_recent_work_of_a_newcomer_is_explained(run, ward, tmp_path):
    run("ledger", "join", ward, "Dana", "--at", "2026-01-02T12:00")
    (tmp_path / "shift.csv").write_text("agent,need\nAna,8\nDana,8\nCem,8\n")
    printed = " ".join(run("ledger", "decide", ward, "shift.csv", "--at", "2026-01-03", "--yes").split())
    assert "Dana has had no shift yet: the recent work is what newcomers start with, or an offset." in printed


def test_under_prices_no_one_is_next_for_a_low_total_alone(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("ledger", "new", "p.db", "--rule", "prices", "--half-life", "inf", "--began", "2026-01-01")
    run("ledger", "join", "p.db", "Ana", "Ben", "--at", "2026-01-01")
    run("ledger", "record", "p.db", "Ana", "8", "--at", "2026-01-02")
    assert run("ledger", "standing", "p.db", "--at", "2026-01-03").startswith("Ben has the lowest recent total: 0.\n")
