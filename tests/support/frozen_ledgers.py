"""Ledgers that earlier versions wrote, frozen for ever."""

import sqlite3
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "ledger"

VERSION_2 = {
    "ledger_version_2": (154, 6, 33, "aeb894f829031530d7f94cfb714a96eb6cf40457b4483823ad687ac6475e6e25"),
    "ledger_version_2_burdens": (104, 6, 28, "0ea506d227f1b658beb9cf51ddfe51daf21e1646e50cdbe74be442e12fe3d261"),
    "ledger_version_2_swapped": (27, 5, 6, "00176af69a004dfcc594fe4a0e542bb707bd747d3ebfed49c9b2413461428c30"),
}
"""The events, agents and decisions of each ledger, and its head; the documents in tests/approval say what is in it."""


def thawed(name, path):
    """A frozen ledger as a file."""
    connection = sqlite3.connect(path)
    connection.executescript((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    connection.close()
    return path
