"""An error that nobody expected is reported as damage of the ledger if there is any, and otherwise as a bug."""

import json
import sqlite3
from contextlib import closing

import pytest

from bygones._times import check_zone
from bygones.cli import program
from bygones.cli.damage import damage_in, is_sentence
from bygones.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "team.db"
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
    return path


def damage(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(statement, values).rowcount == 1


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        program.main([str(word) for word in words])
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ("events SET time", "x", "time in row 4 of events is text instead of integer"),
        ("events SET amount", b"8", "amount in row 4 of events is blob instead of real"),
        ("events SET hash", 7, "hash in row 4 of events is integer instead of blob"),
        ("events SET recorded", 1e300, "recorded in row 4 of events is real instead of integer"),
    ],
)
def test_a_cell_of_another_type_is_named(path, capsys, cell, value, sentence):
    damage(path, f"UPDATE {cell} = ? WHERE seq = 4", value)
    for command in ("export", "rebuild"):
        assert f"team.db is damaged: {sentence}; try `bygones ledger rebuild`" in refused(
            capsys, "ledger", command, path
        )
    with Ledger.open(path) as ledger:
        assert ledger.verify().problems[0].startswith(sentence)


def test_a_column_that_may_be_empty_is_told_from_one_that_may_not(path):
    damage(path, "UPDATE events SET refers = NULL, note = 'fine' WHERE seq = 4")
    with Ledger.open(path) as ledger:
        (problem,) = ledger.verify().problems
        assert problem == "event 4 has changed since it was recorded: its hash does not match"


@pytest.mark.parametrize("column", ["counters", "last", "as_of"])
def test_a_snapshot_of_other_types_is_made_anew(path, column):
    damage(path, f"UPDATE agents SET {column} = 'x' WHERE name = 'ana'")
    program.main(["ledger", "rebuild", str(path)])
    damage(path, "UPDATE ledger SET settled = 'x', rules = x'00'")
    program.main(["ledger", "rebuild", str(path)])
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok


@pytest.mark.parametrize("details", ["{", "[]", "7"])
def test_what_was_not_recorded_is_named(path, capsys, details):
    damage(path, "UPDATE events SET details = ? WHERE seq = 1", details)
    err = refused(capsys, "ledger", "standing", path, "--before", 4)
    assert "team.db is damaged: " in err
    assert "`bygones ledger verify` lists all problems" in err


def test_a_bug_stays_a_bug(path, capsys, monkeypatch):
    def broken(words):
        raise KeyError("bug")

    monkeypatch.setattr(program, "_run", broken)
    with pytest.raises(SystemExit) as stop:
        program.main(["ledger", "standing", str(path)])
    assert stop.value.code == 1
    assert "this is a bug in bygones" in capsys.readouterr().err


def test_only_ledgers_are_looked_at(path, tmp_path, monkeypatch):
    assert damage_in(["ledger", "standing", str(path)]) is None
    damage(path, "UPDATE events SET amount = 9 WHERE seq = 4")
    told = f"{path} is damaged: event 4 has changed since it was recorded: its hash does not match; "
    told += "`bygones ledger verify` lists all problems"
    assert damage_in(["ledger", "standing", str(path)]) == damage_in(["audit", str(path)]) == told
    assert damage_in(["decay", str(path)]) is None
    monkeypatch.setenv("BYGONES_LEDGER", str(path))
    assert damage_in(["ledger", "standing"]) == told


@pytest.mark.parametrize(
    ("call", "is_ours"),
    [(lambda: check_zone("Mars"), True), (lambda: int("x"), False), (lambda: json.loads("{"), False)],
)
def test_errors_of_others_are_no_sentences(call, is_ours):
    with pytest.raises(ValueError, match=r"Mars|invalid literal|Expecting") as raised:
        call()
    assert is_sentence(raised.value) == is_ours
    assert not is_sentence(ValueError("never raised"))
