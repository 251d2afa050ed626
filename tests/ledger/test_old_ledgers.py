"""A ledger written by an earlier version stays readable and verifiable: its file is frozen here for ever."""

import re
import sqlite3
from pathlib import Path

import pytest

from bygones.allocation import ChooseK
from bygones.cli import program
from bygones.ledger import Ledger
from bygones.ledger.storage import rows
from support.frozen_ledgers import VERSION_2, thawed

HEAD = "82cf624a3bed6739a4cdc0ec562c43d2653facfe6e090c039a4165b629de9ca0"


@pytest.fixture
def old(tmp_path):
    """A ledger of version 1 with every kind of event and of request."""
    return thawed("ledger_version_1", tmp_path / "old.db")


@pytest.fixture(params=VERSION_2)
def version_2(request, tmp_path):
    """A ledger of version 2, and what it was when it was written."""
    return thawed(request.param, tmp_path / "old.db"), VERSION_2[request.param]


def test_one_of_version_2_is_verified_with_all_its_decisions(version_2):
    path, (events, agents, decisions, head) = version_2
    with Ledger.open(path) as ledger:
        found = ledger.verify(head)
        assert found.problems == ()
        assert (found.events, found.agents, found.decisions, len(found.unchecked)) == (events, agents, decisions, 0)
        assert found.head == head


def test_one_of_version_2_has_the_same_tables_as_a_new_ledger_once_opened(version_2, tmp_path):
    path, _ = version_2
    Ledger.open(path).close()
    Ledger.new(tmp_path / "new.db").close()
    assert columns(tmp_path / "new.db") == columns(path)
    assert definitions(tmp_path / "new.db") == definitions(path)


def test_one_of_version_2_goes_on(version_2):
    path, (*_, head) = version_2
    with Ledger.open(path) as ledger:
        stood = ledger.standing()
        present = [name for name, status in zip(stood.names, stood.status, strict=True) if status == "present"]
        ledger.record(present[0], 1)
        ledger.decide(ChooseK(dict.fromkeys(present, 1.0)))
        assert ledger.verify(head).problems == ()


def test_every_ledger_of_version_2_is_tried():
    assert {path.stem for path in Path(__file__).parent.glob("ledger_version_2*.sql")} == set(VERSION_2)


def test_it_is_verified_and_stands_where_it_stood(old):
    with Ledger.open(old) as ledger:
        found = ledger.verify(HEAD)
        assert (found.ok, found.events, found.agents, found.head) == (True, 19, 3, HEAD)
        assert (found.decisions, len(found.unchecked)) == (0, 3)  # which may have been decided otherwise
        stood = ledger.standing("2026-01-20")
        assert stood.names == ("Ana", "Ben O'Hara", "Zoë 🌙")
        assert stood.status == ("away", "present", "present")
        assert stood.received.tolist() == [10, 18, 4]
        assert stood.remembered.tolist() == pytest.approx([2.9715658934334854, 9.458862614405938, 2.3202587723203254])


def columns(path):
    """The name, type, obligation and key of each column of each table."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {table: connection.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}
    connection.close()
    return found


def definitions(path):
    """The words with which tables and indexes were defined, bounds and all; a table's may be in another order."""
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
    connection.close()
    return {name: sorted(re.findall(r"\w+|[<>=]+", sql or "")) for name, sql in found.items()}


def test_once_opened_it_has_the_same_tables_as_a_new_ledger(old, tmp_path):
    Ledger.open(old).close()
    Ledger.new(tmp_path / "new.db").close()
    assert columns(tmp_path / "new.db") == columns(old)
    assert definitions(tmp_path / "new.db") == definitions(old)


def test_it_goes_on(old):
    with Ledger.open(old) as ledger:
        ledger.decide(ChooseK({"Ben O'Hara": 1, "Zoë 🌙": 1}), at="2026-01-20")
        assert ledger.verify(HEAD).ok


def test_the_reasons_of_an_old_decision_are_told_from_what_was_recorded(old, capsys):
    program.main(["ledger", "explain", str(old), "11"])
    printed = capsys.readouterr().out
    assert printed.startswith("Event 11: decision at 2026-01-09 00:00 UTC, recorded at ")
    assert "Note: rota\n" in printed
    assert "Ben O'Hara gets the place on 9 January 2026: lowest recent total" in printed
    program.main(["ledger", "explain", str(old), "11", "--why-not", "Ana"])
    assert "Ana has a higher recent total (" in capsys.readouterr().out


def test_its_past_can_be_decided_again(old):
    with Ledger.open(old) as ledger:
        assert ledger.redecide("2026-01-01") == []
        ledger.record("Ben O'Hara", 50, at="2026-01-05", note="late")
        (found,) = ledger.redecide("2026-01-01", accept=True)
        assert (found.seq, list(found.before), list(found.after)) == (11, ["Ben O'Hara"], ["Ana"])
        assert ledger.redecide("2026-01-01") == []
        assert ledger.verify(HEAD).problems == ()


def test_its_events_can_be_made_void(old):
    with Ledger.open(old) as ledger:
        before = ledger.standing("2026-01-20").received.sum()
        ledger.void(11, note="rota")
        assert ledger.standing("2026-01-20").received.sum() < before
        assert ledger.zone() == "UTC"
        assert ledger.verify(HEAD).problems == ()


def test_it_decides_one_step_at_a_time_until_it_is_told_otherwise(old):
    request = ChooseK({"Ben O'Hara": 1, "Zoë 🌙": 1})
    with Ledger.open(old) as ledger:
        assert ledger.rules().rule == "one-step"
        assert ledger.propose(request, at="2026-01-20").to_dict()["rule"] == "one-step"
        ledger.change_rules(rule="prices", at="2026-01-20")
        # A place, items and an amount, for which Ana and one of the others asked.
        told = ledger.decide(request, at="2026-01-20").reasons()
        assert "Prices were learned from the 3 decisions before." in told
        assert ledger.verify(HEAD).ok


def test_a_date_of_version_2_that_is_planned_again_has_the_draw_of_its_day(tmp_path, monkeypatch):
    with Ledger.open(thawed("ledger_version_2_swapped", tmp_path / "old.db")) as ledger:
        now = max(event.recorded for event, _ in ledger.events()) + 1
        monkeypatch.setattr(rows, "clock", lambda _: now)
        ledger.hold(ledger.plans.turns()[0].agent)
        ledger.plans.redecide(accept=True)
        (plan,) = [event for event, _ in ledger.events() if "day" in (event.details or {}).get("draw", {})]
        account = ledger.account(plan.seq).decision
        assert account.first.seq == plan.seq
        assert "days" in account.committing.details["draw"]
        assert ledger.verify().problems == ()
