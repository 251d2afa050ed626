"""A ledger in which a cell holds something else is reported in one sentence, whichever the cell and the command are."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from bygones.cli import program
from fuzz import ledger_cells
from fuzz.harness import Harness, fast_folder

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def ledger(place):
    (place / "made").mkdir()
    return ledger_cells.make(place / "made")


@pytest.fixture(scope="module")
def harness(place):
    return Harness(place)


def failures(harness, ledger, some):
    found, other = [], ledger.with_name("other.db")
    for cell, line in some:
        shutil.copy(ledger, other)
        if ledger_cells.write(other, cell):
            found += [f"{cell} {line}: {problem}" for problem in harness.problems(ledger_cells.case(other, line))]
    return found


@pytest.mark.parametrize("line", ledger_cells.TRIED)
def test_every_command_works_before_anything_is_changed(ledger, tmp_path, monkeypatch, line):
    shutil.copytree(ledger.parent, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    program.main(ledger_cells.words_of(line, ledger.name))


def test_cells_with_something_else(harness, ledger):
    assert not failures(harness, ledger, ledger_cells.some(ledger, seed=1, number=200))


@pytest.mark.soak
def test_many_cells_with_something_else(harness, ledger):
    assert not failures(harness, ledger, ledger_cells.some(ledger, seed=2, number=1500))


def test_every_cell_is_among_those_that_are_tried(ledger):
    tried = {(cell.table, cell.row, cell.column) for cell in ledger_cells.cells(ledger)}
    with closing(sqlite3.connect(ledger)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        there = {(table, connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for (table,) in tables}
    assert {(table, len({row for name, row, _ in tried if name == table})) for table, _ in there} == there
    assert ledger_cells.some(ledger, seed=1, number=50) == ledger_cells.some(ledger, seed=1, number=50)
