"""Imports are looked at before, refused where they look like a mistake, and can be taken back."""

import json
import subprocess
import sys

import pytest

from bygones._times import instant
from bygones.ledger import Entry, Ledger
from bygones.ledger.exchange import ignored_columns, read_entries
from support.command_line import refused, run

HISTORY = "agent,time,amount\nana,2026-01-02,8\nben,2026-01-03,4\nana,2026-01-04,2\n"


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(HISTORY, encoding="utf-8")
    return path


def test_a_dry_run_shows_what_would_be_recorded(team, history, capsys):
    head = team.head()
    printed = run(capsys, "ledger", "import", team.name, history, "--dry-run")
    assert "Would record 3 rows of 2 agents" in printed
    ana = next(line.split() for line in printed.splitlines() if "ana" in line)
    assert ana == ["ana", "2", "2026-01-02", "2026-01-04", "10"]
    assert "Nothing was recorded." in printed
    data = json.loads(run(capsys, "ledger", "import", team.name, history, "--dry-run", "--json"))
    assert (data["rows"], data["already_there"], data["repeated"], data["near_names"]) == (3, 0, 0, [])
    assert team.head() == head


def test_the_same_file_twice_is_refused_unless_one_insists(team, history, capsys):
    run(capsys, "ledger", "import", team.name, history)
    message = refused(capsys, "ledger", "import", team.name, history)
    assert "the ledger already has the agent, time and amount of 3 of 3 rows" in message
    assert "--again" in message
    assert "The ledger already has the agent, time and amount of 3 of 3 rows." in run(
        capsys, "ledger", "import", team.name, history, "--dry-run"
    )
    assert team.standing().received.tolist() == [10, 4, 0]
    run(capsys, "ledger", "import", team.name, history, "--again")
    assert team.standing().received.tolist() == [20, 8, 0]


def test_with_a_key_the_same_file_is_recorded_once(team, history, capsys):
    for _ in range(2):
        printed = run(capsys, "ledger", "import", team.name, history, "--key", "january")
    assert printed == "Nothing new: all 3 rows were recorded before with the same keys.\n"
    assert team.standing().received.tolist() == [10, 4, 0]


def test_a_file_that_grows_is_imported_again_by_the_keys_of_its_rows(team, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("agent,time,amount,key\nana,2026-01-02,8,r1\n", encoding="utf-8")
    run(capsys, "ledger", "import", team.name, path)
    path.write_text("agent,time,amount,key\nana,2026-01-02,8,r1\nben,2026-01-02,3,r2\n", encoding="utf-8")
    assert run(capsys, "ledger", "import", team.name, path).startswith("Recorded event 6.")
    assert team.standing().received.tolist() == [8, 3, 0]


@pytest.mark.parametrize("name", ["Ana", "aná", "a na", "ANA"])
def test_a_name_that_is_nearly_known_does_not_become_a_second_person(team, tmp_path, capsys, name):
    path = tmp_path / "near.csv"
    path.write_text(f"agent,time,amount\n{name},2026-01-02,8\n", encoding="utf-8")
    assert "did you mean 'ana'?" in refused(capsys, "ledger", "import", team.name, path)
    message = refused(capsys, "ledger", "import", team.name, path, "--join")
    assert f"some names are nearly the same: 'ana' and {name!r}" in message
    assert len(team.standing()) == 3
    run(capsys, "ledger", "import", team.name, path, "--join", "--distinct")
    assert len(team.standing()) == 4


def test_spaces_around_a_name_and_its_unicode_form_do_not_matter(team, tmp_path, capsys):
    path = tmp_path / "spaces.csv"
    path.write_text("agent,time,amount\n ana ,2026-01-02,8\n", encoding="utf-8")
    run(capsys, "ledger", "import", team.name, path)
    assert team.standing().received.tolist() == [8, 0, 0]


def test_an_import_is_taken_back_as_a_whole(team, tmp_path, capsys):
    team.record("ana", 1, at="2026-01-02")
    before = team.standing("2026-02-01")
    path = tmp_path / "new.csv"
    path.write_text(HISTORY + "zoe,2026-01-05,5\n", encoding="utf-8")
    printed = run(capsys, "ledger", "import", team.name, path, "--join")
    assert printed.endswith(f"To take them back: bygones ledger undo-import {team.name} 7\n")
    printed = run(capsys, "ledger", "undo-import", team.name, "7", "--note", "wrong year")
    assert printed == "Took back 4 events of import 7. Agents who joined with it are still there.\n"
    after = team.standing("2026-02-01")
    assert after.received[:3].tolist() == before.received.tolist()
    assert after.remembered[:3].tolist() == pytest.approx(before.remembered.tolist())
    assert after.received[3] == 0
    assert team.verify().ok
    assert "has been taken back already" in refused(capsys, "ledger", "undo-import", team.name, "9")
    run(capsys, "ledger", "import", team.name, path)  # and may be imported again
    assert team.standing().received.tolist() == [11, 4, 0, 5]


def test_what_was_not_imported_is_not_taken_back(team, history, capsys):
    assert "event 2 does not belong to an import: nothing was imported" in refused(
        capsys, "ledger", "undo-import", team.name, "2"
    )
    run(capsys, "ledger", "import", team.name, history)
    assert "the last imports began with event 5 (history.csv)" in refused(
        capsys, "ledger", "undo-import", team.name, "99"
    )


def test_rows_that_a_table_has_twice_are_pointed_out(team):
    found = team.preview([Entry("ana", 1, "2026-01-02"), Entry("ana", 1, "2026-01-02")])
    assert (found.repeated, found.there) == ((1,), ())


def test_repeated_rows_are_named_before_and_after_an_import(team, tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text("agent,time,amount\nana,2026-01-02,1\nben,2026-01-02,1\nana,2026-01-02,1\n")
    told = "The table repeats the agent, time and amount of an earlier row in row 4."
    assert told in run(capsys, "ledger", "import", team.name, path, "--dry-run").splitlines()
    assert told in run(capsys, "ledger", "import", team.name, path).splitlines()


def test_one_row_is_not_spoken_of_as_many(team, tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("agent,time,amount,key\nana,2026-01-02,1,k\n")
    printed = run(capsys, "ledger", "import", team.name, path)
    assert printed == f"Recorded event 5.\nTo take it back: bygones ledger undo-import {team.name} 5\n"
    again = run(capsys, "ledger", "import", team.name, path)
    assert again == "Nothing new: its one row was recorded before with the same key.\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Ana;05.02.2099;8", "time must not be in the future"),
        ("Ana;04.02.2026;8", "time must not be before the ledger began"),
        ("Ana;29.03.2026 02:30;8", "time must be a time that exists"),
        ("Ben;05.02.2026;8", "agent 'Ben' was not a member at 2026-02-05"),
        ("Ana;06.02.2026;9e20", "amount must be a number from 0"),
    ],
)
def test_a_dry_run_refuses_what_the_import_refuses_and_names_the_row(tmp_path, capsys, row, message):
    ward, path = tmp_path / "ward.db", tmp_path / "d.csv"
    run(capsys, "ledger", "new", ward, "--time-zone", "Europe/Berlin", "--began", "2026-02-05")
    run(capsys, "ledger", "join", ward, "Ben", "--at", "2026-02-06")
    path.write_text(f"agent;time;amount\nAna;05.02.2026;8\n{row}\n", encoding="utf-8")
    dry = refused(capsys, "ledger", "import", ward, path, "--join", "--dry-run")
    assert f"d.csv, row 3: {message}" in dry
    assert refused(capsys, "ledger", "import", ward, path, "--join") == dry


def test_a_dry_run_shows_days_in_the_time_zone_of_the_ledger_and_records_nothing(tmp_path, capsys):
    ward, path = tmp_path / "ward.db", tmp_path / "d.csv"
    run(capsys, "ledger", "new", ward, "--time-zone", "Europe/Berlin", "--began", "2026-02-05")
    path.write_text("agent;time;amount\nAna;05.02.2026;8\n", encoding="utf-8")
    before = ward.read_bytes()
    printed = run(capsys, "ledger", "import", ward, path, "--join", "--dry-run")
    assert printed.count("2026-02-05") == 2
    assert ward.read_bytes() == before


def test_an_answer_that_cannot_be_written_has_an_exit_code_of_its_own(team):
    command = [sys.executable, "-m", "bygones", "ledger", "record", team.name, "ana", "2", "--at", "2026-01-02"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([*command, "--key", "k"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr == "bygones: recorded, but the answer could not be written: No space left on device\n"
    again = subprocess.run([*command, "--key", "k"], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (0, "Event 5: ana received 2.\n")
    assert team.n_events() == 5


def test_on_either_database(new_target):
    with Ledger.new(new_target(), began="2026-01-01") as ledger:
        entries = [Entry("ana", 1, "2026-01-02"), Entry("ben", 2, "2026-01-02")]
        events = ledger.record_all(entries, join=True, source="file")
        assert ledger.preview(entries).there == (0, 1)
        ledger.undo_import(events[0].seq)
        assert ledger.preview(entries).there == ()
        assert ledger.verify().ok


@pytest.mark.parametrize("by_row", [True, False])
def test_a_keyed_table_can_be_imported_again_after_it_was_taken_back(team, tmp_path, capsys, by_row):
    path = tmp_path / "rows.csv"
    rows = ["agent,time,amount,key", "ana,2026-01-02,8,r1", "ben,2026-01-02,3,r2"]
    path.write_text("\n".join(row if by_row else row.rpartition(",")[0] for row in rows), encoding="utf-8")
    key = [] if by_row else ["--key", "january"]
    run(capsys, "ledger", "import", team.name, path, *key)
    run(capsys, "ledger", "undo-import", team.name, "5")
    assert team.standing().received.tolist() == [0, 0, 0]
    assert "2 rows that had been taken back count again" in run(capsys, "ledger", "import", team.name, path, *key)
    assert team.standing().received.tolist() == [8, 3, 0]
    assert "Nothing new" in run(capsys, "ledger", "import", team.name, path, *key)
    team.correct(5, 0)  # which no import undoes
    assert "Nothing new" in run(capsys, "ledger", "import", team.name, path, *key)
    assert team.standing().received.tolist() == [0, 3, 0]
    run(capsys, "ledger", "undo-import", team.name, "6")
    assert team.standing().received.tolist() == [0, 0, 0]
    assert team.verify().ok


def test_names_that_differ_in_spelling_only_are_refused_unless_one_insists(team, capsys):
    message = refused(capsys, "ledger", "join", team.name, "Ben")
    assert "'Ben' and 'ben' are nearly the same name" in message
    assert "--distinct" in message
    assert "did you mean 'ana'" in refused(capsys, "ledger", "record", team.name, "Ana", "3")
    with pytest.raises(ValueError, match="nearly the same name"):
        team.record_all([Entry("BEN", 1)], join=True)
    with pytest.raises(ValueError, match=r"'[dD]an' and '[dD]an' are nearly"):
        team.join_all(["dan", "Dan"])
    assert team.n_events() == 4
    run(capsys, "ledger", "join", team.name, "Ben", "--distinct")
    team.record_all([Entry("BEN", 1)], join=True, distinct=True)
    assert team.standing().names == ("ana", "ben", "cem", "Ben", "BEN")


def test_names_that_look_the_same_are_refused_unless_one_insists(team, capsys):
    message = refused(capsys, "ledger", "join", team.name, "аna")
    assert "'аna' (with a CYRILLIC SMALL LETTER A) and 'ana' are nearly the same name" in message
    assert "did you mean 'ana'" in refused(capsys, "ledger", "record", team.name, "аna", "3")
    with pytest.raises(ValueError, match="nearly the same name"):
        team.record_all([Entry("bеn", 1)], join=True)
    run(capsys, "ledger", "join", team.name, "аna", "--distinct")
    assert team.standing().names == ("ana", "ben", "cem", "аna")


def test_unusual_amounts_and_ignored_columns_are_pointed_out(team, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    rows = "ana,2026-01-02,8,x\nana,2026-01-03,8,\nben,2026-01-04,95,\nben,2026-01-05,40,\n"
    path.write_text(f"agent,time,amount,Bemerkung\n{rows}", encoding="utf-8")
    ignored = "Ignored column: Bemerkung."
    printed = run(capsys, "ledger", "import", team.name, path, "--dry-run").splitlines()
    assert ignored in printed
    assert not any("times the median" in line for line in printed), "95 is less than 5 times 24"
    path.write_text(f"agent,time,amount,Bemerkung\n{rows}ben,2026-01-06,8,\n", encoding="utf-8")
    unusual = "More than 5 times the median of 8: 95 in row 4."
    assert unusual in run(capsys, "ledger", "import", team.name, path, "--dry-run").splitlines()
    data = json.loads(run(capsys, "ledger", "import", team.name, path, "--dry-run", "--json"))
    assert data["unusual"] == [{"where": "row 4", "amount": 95}]
    assert data["ignored_columns"] == ["Bemerkung"]
    assert {unusual, ignored} <= set(run(capsys, "ledger", "import", team.name, path).splitlines())


def test_columns_that_are_read_are_not_called_ignored(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("name,time,hours,amount,note\nana,2026-01-02,8,8,x\n", encoding="utf-8")
    assert ignored_columns(path, "name", "time", "hours") == ["amount"]
    assert ignored_columns(path, "name", "time") == ["hours"]


@pytest.mark.parametrize(
    ("order", "written", "day"),
    [
        ("month-first", "12/25/2025", "2025-12-25T00:00"),
        ("month-first", "12/25/2025 10:30 PM", "2025-12-25T22:30"),
        ("month-first", "1/2/2026 12:05 am", "2026-01-02T00:05"),
        ("day-first", "25/12/2025 22:30", "2025-12-25T22:30"),
        ("day-first", "2025-12-25", "2025-12-25T00:00"),
    ],
)
def test_dates_with_slashes_are_read_in_the_order_that_is_given(tmp_path, order, written, day):
    path = tmp_path / "history.csv"
    path.write_text(f"agent,time,amount\nana,{written},8\n", encoding="utf-8")
    (entry,) = read_entries(path, order=order)
    assert instant(entry.at) == instant(day)


def test_the_command_takes_the_order_and_refuses_a_date_that_is_not_in_it(new_path, tmp_path, capsys):
    path, ledger = tmp_path / "history.csv", new_path()
    run(capsys, "ledger", "new", ledger, "--began", "2025-01-01")
    path.write_text("agent,time,amount\nana,12/25/2025,8\n", encoding="utf-8")
    assert "Recorded event" in run(capsys, "ledger", "import", ledger, path, "--join", "--time-format", "month-first")
    refusal = refused(capsys, "ledger", "import", ledger, path, "--time-format", "day-first")
    assert "row 2: time must be a date" in refusal


def test_empty_rows_are_left_out(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("agent,time,amount\nana,2026-01-02,8\n,,\n , ,\nben,2026-01-03,4\n", encoding="utf-8")
    assert [entry.agent for entry in read_entries(path)] == ["ana", "ben"]
    path.write_text("agent,time,amount\n,,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has only empty rows"):
        read_entries(path)


def test_of_many_names_alike_it_says_how_many_more_there_are(team):
    names = ["Krueger", "Mueller", "Schmidt", "Hoffmann", "Wagner", "Fischer", "Bergmann"]
    entries = [Entry(spelled, 1, "2026-01-02") for name in names for spelled in (name, name.lower())]
    (warning,) = team.preview(entries, join=True).warnings()
    assert warning.endswith("'Wagner' and 'wagner'; and 2 more")


def test_a_name_with_the_last_name_first_is_the_same_name(team):
    entries = [Entry("Krüger, Ben", 1, "2026-01-02"), Entry("Ben Krüger", 1, "2026-01-02")]
    assert team.preview(entries, join=True).near == (("Krüger, Ben", "Ben Krüger"),)
    with pytest.raises(ValueError, match="nearly the same"):
        team.record_all(entries, join=True, again=False)
