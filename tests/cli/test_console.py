import pytest

from bygones._text import amount
from bygones.cli.console import print_document, say
from bygones.document.document import Column, Document, Table


def print_table(columns, rows):
    print_document(Document("Title", [Table("", columns, rows)]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1e-15, "0"), (0.12345, "0.123"), (12.345, "12.3"), (999.4, "999"), (4652.3, "4,652"),
     (-1119.7, "-1,120"), (12_345_678.0, "12,345,678"), (1e18, "1e+18"), (float("inf"), "inf")],
)  # fmt: skip
def test_amounts_as_people_write_them(value, text):
    assert amount(value) == text


def test_a_table_in_a_pipe_is_not_cut(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table([Column("name", folds=True), "number"], [["word " * 30, 1 / 3], ["x" * 200, 2.0]])
    lines = capsys.readouterr().out.splitlines()
    assert sum("x" * 200 in line and " 2.00" in line for line in lines) == 1
    assert sum("word " * 30 in line and "0.33" in line for line in lines) == 1
    monkeypatch.setenv("COLUMNS", "60")
    print_table([Column("name", folds=True), "number"], [["word " * 30, 1 / 3]])
    assert max(map(len, capsys.readouterr().out.splitlines())) == 60


def test_in_a_pipe_no_column_gives_way(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table([Column("who"), Column("why", gives_way=1)], [["ana", "a reason " * 20]])
    assert "a reason " * 19 in capsys.readouterr().out


def test_signs_and_more_digits():
    assert amount(4652.3, sign=True) == "+4,652"
    assert amount(0.5, sign=True) == "+0.5"
    assert amount(0.0, sign=True) == "0"
    assert amount(4652.3, digits=5) == "4,652.3"
    assert amount(4652.3, digits=4) == "4,652"


@pytest.mark.parametrize("width", range(28, 60))
def test_a_table_fits_and_loses_no_letter_of_the_columns_that_stay(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = [Column("who", folds=True), Column("how much"), Column("since", gives_way=2),
               Column("bar", gives_way=1), Column("why", gives_way=2)]  # fmt: skip
    print_table(columns, [["someone with a name", "12345678", "2026-01-01", "███", "a reason"]])
    out = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in out.splitlines() if "wider" not in line) <= width
    assert "…" not in out
    assert "12345678" in out
    header = next(line for line in out.splitlines() if " who " in line)
    shown = [name for name in ("since", "bar", "why") if name in header]
    assert shown == (["since", "bar", "why"] if width >= 50 else ["since", "why"] if width >= 45 else [])
    assert all(word in out for word in ("someone", "with", "name"))
    assert ("A wider terminal also shows:" in out) == (width < 50)


def test_a_password_that_was_pasted_as_a_name_is_not_repeated(capsys):
    say("http://u:hunter2@127.0.0.1:9/ joined.")
    printed = capsys.readouterr().out
    assert "hunter2" not in printed
    assert printed.startswith("http://u:")
