"""Ledgers in which one cell holds something else: another type, a number out of range, malformed JSON, nothing.

The ledger is made with commands, and its tables and columns are read from the database, so this knows nothing about how
a ledger is built inside.
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import chdir, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from fuzz import hostile
from fuzz.generator import Case

FILES = {
    "past.csv": "agent,time,amount\nana,2026-01-03,8\nben,2026-01-04,3\n",
    "shift.csv": "agent,need\nana,1\nben,2\ncem,1\n",
    "tasks.csv": "agent,early,late\nana,1,2\nben,2,1\ncem,1,1\n",
    "rates.csv": "agent,rate,cap\nana,1,5\nben,2,\ncem,1,1\n",
    "pair.csv": "agent,need\nana,1\nben,1\n",
    "turns.csv": "agent,early,late\nana,1,2\nben,2,1\n",
}
"""What the commands read."""

MADE_BY = (
    "ledger new L --half-life 7d --began 2026-01-01 --time-zone Europe/Berlin",
    "ledger join L ana ben --at 2026-01-01 --note first",
    "ledger join L cem --at 2026-01-02 --entitlement 2",
    "ledger import L past.csv",
    "ledger record L ana 2.5 --at 2026-01-05 --key k1",
    "ledger decide L shift.csv --k 1 --at 2026-01-06 --yes --key k2",
    "ledger decide L tasks.csv --at 2026-01-07 --yes",
    "ledger decide L rates.csv --amount 4 --at 2026-01-08 --yes",
    "ledger offset L ben -0.5 --at 2026-01-09",
    "ledger correct L 8 1 --note wrong",
    "ledger hold L cem --at 2026-01-10",
    "ledger resume L cem --at 2026-01-12",
    "ledger rules L --at 2026-01-13 --half-life 14d --welfare nash",
    "ledger rules L --at 2026-01-14 --rule prices",
    "ledger decide L shift.csv --k 1 --at 2026-01-15 --yes",
    "ledger void L 10 --note mistaken",
    "ledger redecide L --from 2026-01-06 --accept",
    "ledger leave L cem --at 2026-01-20",
    "ledger plan L turns.csv --from SOON --until LATER --publish",
    "ledger swap L 34 35",
)
"""A ledger with every kind of event; L is its name."""

TRIED = (
    "ledger standing L --at 2026-01-25",
    "ledger standing L --since --at 2026-01-25 --json",
    "ledger standing L --before 12",
    "ledger rules L",
    "ledger explain L ana --at 2026-01-25",
    "ledger explain L 9 --json",
    "ledger explain L 11",
    "ledger export L",
    "ledger export L --json",
    "ledger verify L",
    "ledger verify L --json",
    "ledger decide L pair.csv --k 1 --at 2026-01-25 --yes",
    "ledger record L ana 1 --at 2026-01-25",
    "ledger record L ana 2.5 --at 2026-01-05 --key k1",
    "ledger decide L shift.csv --k 1 --at 2026-01-06 --yes --key k2",
    "ledger correct L 8 2",
    "ledger void L 9",
    "ledger join L dana --at 2026-01-25",
    "ledger hold L ana --at 2026-01-25",
    "ledger planned L",
    "ledger replan L",
    "ledger unplan L",
    "ledger import L past.csv --again",
    "ledger undo-import L 6",
    "ledger redecide L --from 2026-01-01",
    "ledger newcomers L --agent eve --number 3",
    "ledger backup L copy.db",
    "ledger restore L copy.db",
    "ledger rebuild L",
    "audit L",
    "advise L",
)
"""Commands on it; each word that is L is its name."""

VALUES = (
    None, "", "x", b"\xff\x00", -1, 0, 0.5, 7, 2**63 - 1, -(2**63), 1e308, -1e308, float("inf"), "nan", "1e400",
    "9" * 400, "9999999999999999999", "\x1b[31m\u202e", "null", "[]", "{}", "[[0]]", '{"a":', "[" * 5000,
    '[[9e99,"join"]]', "[[1,2,3,4]]",
)  # fmt: skip
"""Put in the place of every cell."""


class Cell(NamedTuple):
    """A cell of a ledger, and what is put there instead."""

    table: str
    row: int
    column: str
    value: Any


def make(folder: Path) -> Path:
    """The ledger, made in a folder."""
    from bygones.cli import program

    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with chdir(folder):
        for line in MADE_BY:
            program.main(words_of(line, "team.db"))
    return folder / "team.db"


def words_of(line: str, ledger: str) -> tuple[str, ...]:
    """The words of a command on a ledger."""
    today = datetime.now(UTC).date()  # what is planned lies ahead, and not far
    meant = {"L": ledger, "SOON": f"{today + timedelta(10)}", "LATER": f"{today + timedelta(13)}"}
    return tuple(meant.get(word, word) for word in line.split())


def cells(path: Path) -> Iterator[Cell]:
    """Every cell of every table with every hostile value; if it holds JSON, also with every hostile value in that."""
    with closing(sqlite3.connect(path)) as connection:
        for table in _tables(connection):
            columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            for row, *values in connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall():
                for column, old in zip(columns, values, strict=True):
                    for value in (*VALUES, *_other_json(old)):
                        if value != old or type(value) is not type(old):
                            yield Cell(table, row, column, value)


def some(path: Path, seed: int, number: int) -> list[tuple[Cell, str]]:
    """So many cells with hostile values, the same for the same seed, each with a command to try."""
    rng = random.Random(seed)
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells(path):
        by_place.setdefault((cell.table, cell.column), []).append(cell)
    places = list(by_place)  # columns of small tables are tried as often as those of large ones
    return [(rng.choice(by_place[places[i % len(places)]]), rng.choice(TRIED)) for i in range(number)]


def write(path: Path, cell: Cell) -> bool:
    """Puts a hostile value into a cell, past constraints and triggers; False where SQLite itself does not take it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            connection.execute(f"UPDATE {cell.table} SET {cell.column} = ? WHERE rowid = ?", (cell.value, cell.row))
        except (sqlite3.IntegrityError, OverflowError):
            return False
        finally:
            for _, sql in triggers:
                connection.execute(sql)
    return True


def case(path: Path, line: str) -> Case:
    """A command on a ledger, as the harness takes it."""
    return Case(words_of(line, "team.db"), {**FILES, "team.db": path.read_bytes().decode("utf-8", "surrogateescape")})


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(name for (name,) in found)


def _other_json(old: Any) -> Iterator[str]:
    try:
        document = json.loads(old) if isinstance(old, str) else None
    except ValueError:
        return
    if isinstance(document, dict | list):
        for _, other in hostile.changed(document):
            yield json.dumps(other)
