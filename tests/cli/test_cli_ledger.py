"""`bygones ledger …` from a person's and a program's side."""

import csv
import json
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from bygones.cli import program
from bygones.ledger import Ledger
from support import command_line


@pytest.fixture
def team(tmp_path, run):
    path = tmp_path / "team.db"
    run("new", path, "--half-life", "7d", "--began", "2026-01-01")
    run("join", path, "ana", "ben", "cem", "--at", "2026-01-01")
    return path


@pytest.fixture
def needs(tmp_path):
    path = tmp_path / "needs.csv"
    path.write_text("agent,need\nana,8\nben,8\ncem,8\n")
    return path


def row_of(printed, agent):
    """The cells of an agent's row in a table."""
    return next(line for line in printed.splitlines() if line.startswith(f" {agent} ")).split()


def test_from_an_empty_folder_to_a_decision(run, team, needs, monkeypatch):
    assert run("record", team, "ana", 8, "--at", "2026-01-02") == "Event 5: ana received 8.\n"
    assert "ben is on hold" in run("hold", team, "ben", "--at", "2026-01-03", "--note", "ill")
    assert "takes part again" in run("resume", team, "ben", "--at", "2026-01-04")
    assert "dana joined, starting with" in run("join", team, "dana", "--at", "2026-01-05", "--start", "median")
    assert "dana left" in run("leave", team, "dana", "--at", "2026-01-06")
    assert "the recent total of cem changed by +4" in run("offset", team, "cem", 4, "--at", "2026-01-06")
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    printed = run("decide", team, needs)
    assert printed.startswith("ben gets the place on ")
    assert "lowest recent total of the three who asked" in " ".join(printed.split())
    assert "Recorded" not in printed
    assert printed.endswith("Nothing was recorded.\n")
    monkeypatch.setattr("builtins.input", lambda prompt: "yes")
    assert run("decide", team, needs).endswith("Recorded.\n")
    assert "Recorded." in run("decide", team, needs, "-k", 2, "--yes")
    assert "event 5: ana, 2 January 2026: 5 instead of 8." in run("correct", team, 5, 5, "--note", "left early")
    assert "Verified" in run("verify", team)


def test_nobody_at_the_terminal_means_no(run, team, needs, monkeypatch):
    def nobody(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    before = run("verify", team)
    run("decide", team, needs)
    assert run("verify", team) == before


def test_a_proposal_that_went_stale_is_made_again(run, team, needs, monkeypatch):
    def somebody_else_first(prompt):
        monkeypatch.setattr("builtins.input", lambda prompt: "y")
        with Ledger.open(team) as ledger:
            ledger.record("ana", 1)
        return "y"

    monkeypatch.setattr("builtins.input", somebody_else_first)
    printed = run("decide", team, needs)
    assert "decide again. The new proposal:" in printed
    assert printed.endswith("Recorded.\n")
    assert "Verified" in run("verify", team)


def test_standing_is_a_table_with_bars_that_marks_who_is_next(run, team, monkeypatch):
    run("record", team, "ana", 8, "--at", "2026-01-02")
    run("record", team, "ben", 1, "--at", "2026-01-09")
    printed = run("standing", team, "--at", "2026-01-09")
    assert printed.startswith("cem is next, with the lowest recent total: 0.\n")
    assert row_of(printed, "ana") == ["ana", "8", "4", "██████", "2.33", "ahead"]
    assert row_of(printed, "cem") == ["cem", "0", "0", "is", "owed", "1.67", "2", "Jan", "<-"]
    assert "<-" not in row_of(printed, "ben")
    headings = " ".join(printed.splitlines()[2].split())
    assert headings == "agent received recent balance since"
    assert "Balance: how far the recent total is below (is owed) or above (ahead) an equal share." in printed
    monkeypatch.setenv("COLUMNS", "80")
    assert all(len(line) <= 80 for line in run("standing", team, "--at", "2026-01-09").splitlines())


def test_the_standing_after_some_time_has_columns_of_its_own(run, team):
    run("record", team, "ana", 8, "--at", "2026-01-02")
    printed = run("standing", team, "--at", "2026-01-09", "--ahead", "7d")
    headings = printed.splitlines()[2]
    assert headings.split() == [
        "agent",
        "received",
        "recent",
        "recent",
        "on",
        "16",
        "Jan",
        "balance",
        "balance",
        "on",
        "16",
        "Jan",
        "since",
    ]
    assert row_of(printed, "ana") == ["ana", "8", "4", "██████", "2", "2.67", "ahead", "1.33", "ahead"]
    assert row_of(printed, "ben")[3:10] == ["0", "is", "owed", "1.33", "is", "owed", "0.67"]


def test_the_standing_names_everyone_who_is_next_or_that_all_are_level(run, team):
    assert run("standing", team, "--at", "2026-01-02").startswith("Everyone is level.\n")
    run("record", team, "ana", 8, "--at", "2026-01-02")
    assert run("standing", team, "--at", "2026-01-09").startswith(
        "ben and cem are tied for the next turn, with the lowest"
    )
    run("rules", team, "--entitlement-of", "cem=2", "--at", "2026-01-09")
    printed = run("standing", team, "--at", "2026-01-09")
    assert printed.startswith("ben and cem are tied for the next turn, with the lowest recent total per share: 0.\n")
    assert "per share" in printed
    run("rules", team, "--welfare", "utilitarian", "--at", "2026-01-09")
    assert run("standing", team, "--at", "2026-01-09").startswith(
        "ben and cem have the lowest recent total per share: 0."
    )


def test_the_standing_has_the_unit_and_the_thing_of_the_rules(run, tmp_path):
    path = tmp_path / "ward.db"
    run("new", path, "--kind", "burden", "--thing", "shift", "--unit", "h", "--began", "2026-01-01")
    run("join", path, "ana", "ben", "--at", "2026-01-01")
    assert run("record", path, "ana", 8, "--at", "2026-01-02") == "Event 4: ana worked 8 h.\n"
    printed = run("standing", path, "--at", "2026-01-02", "--no-since")
    assert printed.startswith("ben is next, with the lowest recent workload: 0 h.\n")
    assert " ".join(printed.splitlines()[2].split()) == "agent worked h recent h balance last shift"
    assert row_of(printed, "ben") == ["ben", "0", "0", "owes", "4", "h", "<-"]
    assert row_of(printed, "ana")[-5:] == ["4", "h", "ahead", "2", "Jan"]


@pytest.mark.parametrize("width", [80, 60, 46, 30])
def test_a_narrow_terminal_loses_columns_but_never_who_and_what(run, team, monkeypatch, width):
    run("record", team, "ana", 8, "--at", "2026-01-02")
    monkeypatch.setenv("COLUMNS", str(width))
    printed = run("standing", team, "--at", "2026-01-09")
    row = next(line for line in printed.splitlines() if line.startswith(" ben "))
    assert "owed 1.33" in row
    assert ("2 Jan" in row) == (width > 30)
    assert len(row.rstrip()) <= width
    assert ("A wider terminal also shows:" in printed) == (width < 60)


def test_an_agent_who_will_be_on_hold_is_shown_on_hold(run, team):
    run("hold", team, "cem", "--at", "2026-01-05")
    printed = run("standing", team, "--at", "2026-01-02", "--ahead", "7d")
    assert row_of(printed, "cem") == ["cem", "0", "0", "0", "level", "on", "hold"]


def test_without_since_it_shows_when_something_was_last_received(run, team):
    run("record", team, "ana", 8, "--at", "2026-01-02")
    printed = run("standing", team, "--at", "2026-01-09", "--no-since")
    assert "last received" in printed
    assert "since" not in printed
    assert row_of(printed, "ana")[-2:] == ["2", "Jan"]
    stood = json.loads(run("standing", team, "--no-since", "--json"))
    assert not any("owed_since" in agent or "later" in agent for agent in stood["agents"])


def test_everything_for_programs(run, team, needs, tmp_path):
    (event,) = json.loads(run("record", team, "ana", 8, "--at", "2026-01-02", "--json"))
    assert (event["seq"], event["time"], event["agent"]) == (5, "2026-01-02T00:00:00Z", "ana")
    stood = json.loads(run("standing", team, "--at", "2026-01-09", "--ahead", "7d", "--json"))
    ana, ben, _ = stood["agents"]
    assert (ana["remembered"], ana["later"]["remembered"], ben["owed_since"]) == (4, 2, "2026-01-02T00:00:00Z")
    proposal = json.loads(run("decide", team, needs, "--json"))
    assert proposal["recorded"] is False
    decision = json.loads(run("decide", team, needs, "--json", "--yes"))
    assert decision["recorded"] is True
    assert decision["utilities"] == proposal["utilities"]
    received = json.loads(run("explain", team, 7, "--json"))
    assert received["decision"]["reasons"] == decision["reasons"]
    assert json.loads(run("explain", team, "ana", "--at", "2026-01-09", "--json"))[0]["counts"] == 4
    assert json.loads(run("rules", team, "--json"))["half_life"] == "7d"
    assert json.loads(run("verify", team, "--json"))["ok"] is True
    assert [event["kind"] for event in json.loads(run("export", team, "--json"))][-2:] == ["decision", "received"]
    history = tmp_path / "history.csv"
    history.write_text("agent,time,amount\nben,2026-01-03,2\n")
    assert json.loads(run("import", team, history, "--json")) == {
        "recorded": 1,
        "put_back": 0,
        "first": 8,
        "last": 8,
    }
    for command in ("hold", "resume", "leave"):
        assert json.loads(run(command, team, "cem", "--json"))[0]["kind"] == command
    assert json.loads(run("join", team, "dana", "--json"))[0]["kind"] == "join"
    assert json.loads(run("offset", team, "ana", 1, "--json"))[0]["kind"] == "offset"
    assert json.loads(run("correct", team, 5, 1, "--json"))[0]["amount"] == -7
    outcomes = json.loads(run("newcomers", team, "--agent", "ed", "--decisions", 3, "--out", tmp_path, "--json"))
    assert [outcome["rule"] for outcome in outcomes] == ["zero", "mean", "median", "entitled share"]
    assert json.loads(run("new", tmp_path / "other.db", "--json"))[0]["kind"] == "rules"


def test_explain(run, team, needs):
    run("record", team, "ana", 8, "--at", "2026-01-02", "--note", "first night")
    printed = run("explain", team, "ana", "--at", "2026-01-09")
    assert "first" in printed
    assert "50.0%" in printed
    assert printed.startswith("Recent total of ana: 4.\n")
    assert "Each entry counts half after 7 days. Days are in UTC." in printed
    run("decide", team, needs, "--yes")
    assert "Each entry counts half after 7 days." in run("explain", team, 6)
    assert "gets the place" in run("explain", team, 7)
    assert run("explain", team, 2).startswith("Event 2: ana joins, starting with 0, at 2026-01-01 00:00 UTC")
    assert run("explain", team, 5).startswith("Event 5: ana received 8 at 2026-01-02 00:00 UTC, recorded at ")


def test_a_draw_is_explained_only_where_one_was_needed(run, team, needs):
    run("decide", team, needs, "--at", "2026-01-02", "--yes")
    drawn = run("explain", team, 5)
    assert "Draw 1 was made with the seed " in drawn
    assert ", as published in event 1." in drawn
    assert "no random draw" not in drawn
    winner = json.loads(run("explain", team, 6, "--json"))["agent"]
    for amount, name in enumerate(sorted({"ana", "ben", "cem"} - {winner}), 1):
        run("record", team, name, amount, "--at", "2026-01-02")
    run("record", team, winner, 20, "--at", "2026-01-02")
    run("decide", team, needs, "--at", "2026-01-03", "--yes")
    last = json.loads(run("export", team, "--json"))[-1]["seq"]
    settled = run("explain", team, last)
    assert "No tie, so no draw was needed." in settled
    assert "seed" not in settled


def test_a_rule_change_is_explained(run, team):
    run("rules", team, "--half-life", "14d", "--entitlement-of", "ana=2", "--at", "2026-02-01", "--note", "agreed")
    first, *settings = run("explain", team, 5).splitlines()
    assert first.startswith("Event 5: rules at 2026-02-01 00:00 UTC, recorded at ")
    assert settings == ["Note: agreed", "entitlements: ana 2", "half-life: 14d"]


def test_columns_without_content_are_left_out(run, team):
    assert "since" not in run("standing", team, "--at", "2026-01-02")
    assert "note" not in run("explain", team, "ana")
    run("record", team, "ana", 8, "--at", "2026-01-02", "--note", "first night")
    assert "since" in run("standing", team, "--at", "2026-01-02")
    assert "note" in run("explain", team, "ana")


def test_an_empty_ledger_says_so(run, tmp_path):
    run("new", tmp_path / "empty.db", "--began", "2026-01-01")
    assert (
        run("standing", tmp_path / "empty.db", "--at", "2026-01-02") == "No agent has joined by 2026-01-02 00:00 UTC.\n"
    )


def test_sentences_fit_the_terminal(run, team, needs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    printed = run("decide", team, needs, "--at", "2026-01-02", "--yes")
    assert all(len(line) <= 60 for line in printed.splitlines())
    assert "\n  " in printed
    monkeypatch.delenv("COLUMNS")
    explained = run("explain", team, 5).partition("Draw 1 was made")[0]
    assert " ".join(printed.split()).startswith(explained.splitlines()[1])


def test_rules_are_shown_and_changed(run, refused, team):
    shown = " ".join(run("rules", team).split())
    assert "half-life 7d" in shown
    assert "entitlements equal" in shown
    run(
        "rules",
        team,
        "--half-life",
        "14d",
        "--entitlement-of",
        "ana=2",
        "--hold-stops-clock",
        "no",
        "--at",
        "2026-02-01",
    )
    shown = " ".join(run("rules", team, "--at", "2026-02-01").split())
    assert "hold stops clock no entitlements ana 2" in shown
    changed = json.loads(run("rules", team, "--at", "2026-02-01", "--json"))
    assert (changed["half_life"], changed["entitlements"], changed["hold_stops_clock"]) == ("14d", {"ana": 2}, False)
    assert json.loads(run("rules", team, "--at", "2026-01-31", "--json"))["half_life"] == "7d"
    assert "AGENT=NUMBER" in refused("rules", team, "--entitlement-of", "ana")


def test_import_is_all_or_nothing(run, refused, team, tmp_path):
    history = tmp_path / "history.csv"
    history.write_text("agent,time,amount\nana,2026-01-02,8\ndana,2026-01-03,8\n")
    before = run("verify", team)
    assert "unknown agent 'dana'" in refused("import", team, history)
    assert run("verify", team) == before
    how = f"To take them back: bygones ledger undo-import {team} 6\n"
    assert run("import", team, history, "--join") == f"Recorded 2 events, 6 to 7.\n{how}"
    assert "Verified" in run("verify", team)


def test_names_are_data(run, team, tmp_path):
    run("join", team, *command_line.STRANGE, "--at", "2026-01-01")
    for amount, name in enumerate(command_line.STRANGE, 1):
        run("record", team, name, amount, "--at", "2026-01-02", "--note", "=1+1")
        assert name in run("explain", team, name)
    told = run("standing", team, "--json")
    assert {agent["agent"] for agent in json.loads(told)["agents"]} >= set(command_line.STRANGE)
    assert "[bold]Bo[/bold]"[:10] in run("standing", team)
    needs = tmp_path / "strange.csv"
    with needs.open("w", newline="") as file:
        csv.writer(file).writerows([["agent", "need"], *([name, 1] for name in command_line.STRANGE)])
    assert "gets the place" in run("decide", team, needs, "--yes")
    out = tmp_path / "events.csv"
    run("export", team, "--out", out)
    with out.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert "'=cmd()" in cells
    run("newcomers", team, "--agent", "$x_1$ <b>", "--decisions", 2, "--number", 3, "--out", tmp_path)
    assert (tmp_path / "newcomers.png").stat().st_size > 10_000
    assert "Verified" in run("verify", team)


def test_verify_ends_with_1_where_something_is_wrong(run, team, capsys):
    noted = json.loads(run("verify", team, "--json"))["head"]
    assert "Verified" in run("verify", team, "--head", noted)
    connection = sqlite3.connect(team)
    connection.execute("UPDATE events SET amount = 5 WHERE seq = 2")
    connection.commit()
    connection.close()
    with pytest.raises(SystemExit) as stop:
        program.main(["ledger", "verify", str(team)])
    assert stop.value.code == 1
    assert "event 2 has changed since it was recorded" in capsys.readouterr().out


def test_bad_input_is_one_sentence_and_nothing_changes(run, refused, team, needs, tmp_path):
    before = run("verify", team)
    bad = tmp_path / "bad.csv"
    bad.write_text("agent,when,hours\nana,2026-01-02,8\n")
    broken = tmp_path / "broken.csv"
    text = tmp_path / "text.db"
    text.write_text("dear diary " * 100)
    broken.write_text("agent,time,amount\nana,2026-01-02,8\nana,last night,8\n")
    for message, *arguments in [
        ("no column 'time': found 'agent', 'when', 'hours'", "import", team, bad),
        ("row 3: time must be a date", "import", team, broken),
        ("No such file", "import", team, tmp_path / "absent.csv"),
        ("row 2: column 'when' must be a finite number of at least 0, got '2026-01-02' (every column but agent, need",
         "decide", team, bad),
        ("unknown agent 'zoe'", "record", team, "zoe", 1),
        ("amount must be", "record", team, "ana", "nan"),
        ("at must be a date", "record", team, "ana", 1, "--at", "soon"),
        ("before the ledger began", "record", team, "ana", 1, "--at", "2025-01-01"),
        ("at least one agent who joins", "join", team),
        ("newcomers must be", "join", team, "dana", "--start", "lots"),
        ("half-life of zero", "new", tmp_path / "x.db", "--half-life", "0h"),
        ("welfare must be one of", "new", tmp_path / "x.db", "--welfare", "kind"),
        ("already exists", "new", team),
        ("does not exist", "standing", tmp_path / "absent.db"),
        ("not a SQLite file", "standing", text),
        ("k must be at most", "decide", team, needs, "-k", 9),
        ("has not joined yet", "newcomers", team, "--agent", "ana"),
        ("no event 99", "explain", team, 99),
        ("unknown agent 'zoe'", "explain", team, "zoe"),
        ("no event 99", "correct", team, 99, 0),
        ("ahead must end before the year 10000, got 'inf'", "standing", team, "--ahead", "inf"),
        ("ahead must be a time above 0 with its unit (s, min, h, d, w, y), such as 30d or 12h, got '0d'\n",
         "standing", team, "--ahead", "0d"),
        ("kind must be one of rules, decision, received", "export", team, "--kind", "gift", "--out", bad),
        ("head must be the 64 digits and letters", "verify", team, "--head", "abc"),
        ("decisions must be a whole number of at least 1", "newcomers", team, "--agent", "dana", "--decisions", 0),
        ("worth must be a finite number above 0", "newcomers", team, "--agent", "dana", "--worth", 0),
        ("entitlement of 'dana' must be", "newcomers", team, "--agent", "dana", "--entitlement", -1),
    ]:  # fmt: skip
        assert message in refused(*arguments), arguments
    assert run("verify", team) == before
    assert bad.read_text().startswith("agent,when")
    assert not (tmp_path / "x.db").exists()


def test_a_ledger_of_burdens_speaks_of_work(run, refused, tmp_path):
    nights, needs = tmp_path / "nights.db", tmp_path / "needs.csv"
    needs.write_text("agent,need\nana,12\nben,12\ncem,\n")
    run("new", nights, "--half-life", "7d", "--began", "2026-01-01", "--kind", "burden")
    run("join", nights, "ana", "ben", "cem", "--at", "2026-01-01")
    run("join", nights, "dana", "--entitlement", 0, "--at", "2026-01-01")
    assert run("record", nights, "ana", 8, "--at", "2026-01-02") == "Event 7: ana worked 8.\n"
    printed = run("standing", nights, "--at", "2026-01-02")
    assert printed.startswith("ben and cem are tied for the next turn, with the lowest recent workload: 0.\n")
    assert "worked" in printed
    assert "received" not in printed
    assert row_of(printed, "dana")[-1] == "exempt"
    assert row_of(printed, "ben")[3:] == ["owes", "2.67", "2", "Jan", "<-"]
    assert "Balance: how far the recent work is below (owes) or above (ahead) an equal share." in printed
    assert "last worked" in run("standing", nights, "--no-since")
    printed = run("decide", nights, needs, "--at", "2026-01-02", "--yes")
    assert printed.startswith("ben takes the job on 2 January 2026: lowest recent workload of the two available.")
    printed = run("explain", nights, "ana", "--at", "2026-01-02")
    assert printed.startswith("Recent work of ana: 8.\n")
    assert "worked" in printed
    assert "would work" in run("newcomers", nights, "--agent", "elif", "--at", "2026-01-03", "--out", tmp_path)
    assert "share of the load" in run("newcomers", nights, "--agent", "elif", "--at", "2026-01-03", "--out", tmp_path)
    assert json.loads(run("rules", nights, "--json"))["kind"] == "burden"
    assert "Verified" in run("verify", nights)
    assert "no meaning for burdens" in refused("rules", nights, "--welfare", "nash")


def test_a_ledger_decides_by_the_rule_it_was_made_with(run, tmp_path, needs):
    path = tmp_path / "prices.db"
    run("new", path, "--rule", "prices", "--began", "2026-01-01")
    run("join", path, "ana", "ben", "cem", "--at", "2026-01-01")
    assert json.loads(run("rules", path, "--json"))["rule"] == "prices"
    assert "with egalitarian welfare and the rule prices." in " ".join(run("standing", path).split())
    run("decide", path, needs, "--at", "2026-01-02", "--yes")
    out = run("decide", path, needs, "--at", "2026-01-03", "--yes")
    assert "Prices were learned from the decision before." in out
    data = json.loads(run("decide", path, needs, "--at", "2026-01-04", "--json"))
    assert (data["rule"], data["learned_from"]) == ("prices", "the 2 decisions before")
    assert set(data["prices"]) == {"ana", "ben", "cem"}
    assert "Prices were learned from the decision before." in run("explain", path, "7")
    stored = json.loads(run("explain", path, "7", "--json"))["details"]
    assert (stored["rule"], set(stored["prices"])) == ("prices", {"ana", "ben", "cem"})
    run("rules", path, "--rule", "one-step", "--at", "2026-01-05")
    assert "rule: one-step" in run("explain", path, "9")
    data = json.loads(run("decide", path, needs, "--at", "2026-01-06", "--json"))
    assert (data["rule"], data["prices"]) == ("one-step", None)


def test_who_returns_is_told_what_is_remembered_of_them(run, tmp_path):
    nights = tmp_path / "nights.db"
    run("new", nights, "--kind", "burden", "--half-life", "never", "--began", "2026-01-01")
    run("join", nights, "Ana", "Ben", "--at", "2026-01-01")
    run("record", nights, "Ana", 8, "--at", "2026-01-02")
    run("leave", nights, "Ana", "--at", "2026-01-03")
    again = run("join", nights, "Ana", "--at", "2026-01-04")
    assert again == "Ana joined again, and keeps recent work of 8.\n"
    run("leave", nights, "Ben", "--at", "2026-01-05")
    raised = " ".join(run("join", nights, "Ben", "--at", "2026-01-06").split())
    assert raised.startswith("Ben joined again, with recent work of 8: 0 from before, and 8 more ")
    assert raised.endswith("With --start zero, nothing is added.")
    run("leave", nights, "Ana", "--at", "2026-01-07")
    run("record", nights, "Ben", 4, "--at", "2026-01-07")
    kept = run("join", nights, "Ana", "--start", "zero", "--at", "2026-01-08")
    assert kept == "Ana joined again, and keeps recent work of 8.\n"


def test_a_second_decision_for_the_same_moment_is_pointed_out(run, team, needs, capsys):
    run("decide", team, needs, "--at", "2026-02-01", "--yes", "--key", "k")
    command_line.program.main(["ledger", "decide", str(team), str(needs), "--at", "2026-02-01", "--yes"])
    told = " ".join(capsys.readouterr().err.split())
    assert told == "There is a decision for this moment already (event 5). If this is another one, both count."
    command_line.program.main(["ledger", "decide", str(team), str(needs), "--at", "2026-02-01", "--yes", "--key", "k"])
    assert "for this moment" not in capsys.readouterr().err


def test_who_is_no_longer_exempt_is_named(run, tmp_path):
    ledger, table = tmp_path / "ward.db", tmp_path / "shares.csv"
    run("new", ledger, "--kind", "burden")
    run("join", ledger, "ana", "ben")
    run("join", ledger, "fay", "--entitlement", "0")
    table.write_text("agent,entitlement\nana,0.5\n")
    printed = run("rules", ledger, "--entitlements", table, "--others", "1")
    assert printed == "Rules changed.\nfay was exempt, and now has an entitlement of 1.\n"
    assert run("rules", ledger, "--entitlement-of", "ana=1") == "Rules changed.\n"


def test_a_file_does_not_join_as_a_person(run, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("new", "food.db")
    (tmp_path / "households.csv").write_text("agent\nana\n")
    assert "households.csv is a file: give the names" in refused("join", "food.db", "households.csv")
    assert "dr.smith joined" in run("join", "food.db", "dr.smith")


def test_leaving_names_the_holds_ahead_that_become_void(run, tmp_path):
    ledger = tmp_path / "team.db"
    run("new", ledger)
    run("join", ledger, "ana", "ben")
    later = [f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (10, 20)]
    held = json.loads(run("hold", ledger, "ana", "--at", later[0], "--json"))[0]["seq"]
    resumed = json.loads(run("resume", ledger, "ana", "--at", later[1], "--json"))[0]["seq"]
    printed = run("leave", ledger, "ana")
    assert printed.splitlines() == [
        "ana left.", f"Event {resumed} is void, which was ahead.", f"Event {held} is void, which was ahead."
    ]  # fmt: skip
