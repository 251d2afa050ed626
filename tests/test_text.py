"""What is printed is safe for a terminal, and names are what they look like."""

import ast
import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bygones.cli
from bygones._csv import number_hint, unshield
from bygones._text import check_name, exact, listed, printable, printable_json, rounded
from bygones.cli import console, program
from bygones.document.document import Document, Table
from bygones.ledger import Ledger

HOSTILE = [
    "\x1b[31m",
    "\x9b1m",
    "\x07",
    "a\nb",
    "a\rb",
    "\u202eb",
    "\u2066b",
    "a\u200bb",
    "\ufeffa",
    "\u00ada",
    "\udcff",
]
HARMLESS = ["ana", "José", "李", "דנה", "🌙 O'Brien", "👩‍💻", "❤️", "[bold]Bo[/bold]", "<b>", "=cmd()", "Zoë-Lou"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_would_move_reorder_or_hide_text_is_spelled_out(text):
    assert printable(text).isascii()
    assert "\\" in printable(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_everything_else_is_printed_as_it_is(text):
    assert printable(text) == text
    assert check_name("agent", text) == text


@given(st.text(st.characters()))
def test_printing_twice_changes_nothing_and_can_be_encoded(text):
    once = printable(text)
    assert printable(once) == once
    assert "\n" not in once
    once.encode("utf-8")


@given(st.text(st.characters()))
def test_json_means_the_same(text):
    safe = printable_json(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(safe) == {text: text}
    assert printable(safe) == safe


@pytest.mark.parametrize("name", ["a\u200bb", "a\u202eb", "a\u200db", "ana\u2060", "a\ufe0f", "\u3164x"])
def test_names_that_cannot_be_told_apart_are_refused(name, tmp_path, capsys):
    with pytest.raises(ValueError, match="invisible or bidirectional"):
        check_name("agent", name)
    with Ledger.new(tmp_path / "team.db") as ledger:
        with pytest.raises(ValueError, match="invisible or bidirectional"):
            ledger.join(name)
        with pytest.raises(ValueError, match="invisible or bidirectional"):
            ledger.record_all([(name, 1.0)], join=True)
    needs = tmp_path / "needs.csv"
    needs.write_text(f"agent,need\n{name},1\nben,1\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        program.main(["allocate", str(needs), "--half-life", "3"])
    assert "invisible or bidirectional" in capsys.readouterr().err


def test_a_ledger_that_has_such_a_name_opens_and_prints_safely(tmp_path, capsys):
    path = tmp_path / "old.db"
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join("anab", at="2026-01-01")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE agents SET name = ?", ("ana\u202eb",))
    connection.close()
    with Ledger.open(path) as ledger:
        ledger.record("ana\u202eb", 1)
    for words in (["standing"], ["standing", "--json"], ["explain", "ana\u202eb"], ["leave", "ana\u202eb"]):
        program.main(["ledger", words[0], str(path), *words[1:]])
        out = capsys.readouterr().out
        assert "\u202e" not in out
    program.main(["audit", str(path), "--json"])
    assert "\u202e" not in capsys.readouterr().out


def test_an_export_to_a_terminal_is_safe_and_elsewhere_exact(tmp_path, capsys, monkeypatch):
    path = tmp_path / "old.db"
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01", note="a\u202eb")
    program.main(["ledger", "export", str(path)])
    assert "a\u202eb" in capsys.readouterr().out
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdout", terminal)
    program.main(["ledger", "export", str(path)])
    assert "a\\u202eb" in terminal.getvalue()
    assert "\u202e" not in terminal.getvalue()


def test_tables_and_progress_are_no_markup(capsys):
    table = Table("[bold]x[/]", ["[red]y"], [["\x1b[31mz"], ["[/]"]])
    console.print_document(Document("[bold]x[/]\x1b", [table]))
    with console.progress("[/] \x1b", 1) as advance:
        advance(1, "[bold]\x1b")
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert captured.out.count("[bold]x[/]") == 2
    assert captured.out.count("\\x1b[31mz") == 1


def test_numbers_that_json_lacks(capsys):
    console.print_json({"a": [float("nan"), float("inf"), -float("inf")], "b": "\u202e"})
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=pytest.fail) == {"a": [None, "inf", "-inf"], "b": "\u202e"}
    assert "\u202e" not in out


def test_an_error_is_one_line_of_a_bearable_length(capsys):
    with pytest.raises(SystemExit):
        program.main(["x\ny" + "z" * 100_000])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert len(err) < 2100


def test_no_command_prints_past_the_console():
    for path in Path(bygones.cli.__file__).parent.glob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        assert path.name == "console.py" or "print" not in names, f"{path.name}: call say instead of print"


def test_no_csv_has_a_formula(tmp_path, capsys):
    from bygones.paper.results import Results
    from support.synthetic_results import results

    needs, out = tmp_path / "needs.csv", tmp_path / "out.csv"
    needs.write_text("agent,@i\n'=a(),1\n-b,2\n", encoding="utf-8")
    program.main(["allocate", str(needs), "--half-life", "3", "--out", str(out)])
    with out.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=a()" in cells
    assert {unshield(cell) for cell in cells} >= {"=a()", "-b", "@i"}
    table = results(seeds=1).table
    column = table.schema.get_field_index("command")
    shouting = table.set_column(column, table.schema.field(column), [["=cmd()"] * len(table)])
    Results(shouting).to_csv(out)
    with out.open(newline="") as file:
        assert {row["command"] for row in csv.DictReader(file)} == {"'=cmd()"}


def test_names_keep_their_case(tmp_path, capsys):
    needs = tmp_path / "needs.csv"
    needs.write_text("agent,i1,i2\na,1,1\nA,1,1\n")
    program.main(["allocate", str(needs), "--half-life", "3"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(("a gets i1 and A i2:", "A gets i1 and a i2:"))


@pytest.mark.parametrize(
    ("cell", "plain"), [("1,200", "1200"), ("12 345 678.5", "12345678.5"), ("1'000", "1000"), ("1\u202f000", "1000")]
)
def test_a_number_with_separators_is_refused_with_the_plain_one(cell, plain):
    assert number_hint(cell) == f": write {plain}, without separators"


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("10,5", "10.5, with a decimal point"),
        ("12345,678", "12345.678, with a decimal point"),
        ("1.000,5", "1000.5, without separators"),
        ("", "a number such as 8.5, or leave the row out"),
    ],
)
def test_a_number_in_another_notation_is_refused_with_how_to_write_it(cell, written):
    assert number_hint(cell) == f": write {written}"


@pytest.mark.parametrize("cell", ["much", "1,2,3", "1.200", "1.20,5"])
def test_other_text_has_no_hint(cell):
    assert number_hint(cell) == ""


def test_amounts_that_were_entered_are_shown_whole():
    shown = {11.25: "11.25", 28.5: "28.5", 0.1 + 0.2: "0.3", 1090.0: "1,090", -0.0: "0", 9.8125: "9.8125"}
    assert {value: exact(value) for value in shown} == shown
    assert (exact(10 / 3), exact(0.00001234), exact(1e20)) == ("3.333", "1.234e-05", "1e+20")
    assert (rounded(3.146, 1), rounded(-0.001, 1), rounded(2.0, 1, sign=True)) == ("3.1", "0.0", "+2.0")


def test_lists_of_names_with_commas():
    assert listed(["Krüger, Ben", "Lê", "O'B"]) == "Krüger, Ben; Lê; and O'B"
    assert listed(["Lê", "Krüger, Ben"]) == "Lê; and Krüger, Ben"
    assert listed(["1,090 jobs", "Lê", "O'B"]) == "1,090 jobs, Lê and O'B"
