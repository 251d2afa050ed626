"""Ledgers for tests: SQLite in a quick folder, and a real PostgreSQL server where its programs are installed."""

import itertools
import os
import tempfile
from pathlib import Path

import pytest

from bygones.ledger import Ledger, Rules
from support.servers import new_database, postgres  # noqa: F401

_numbers = itertools.count()


@pytest.fixture(scope="session")
def quick_folder():
    """A folder in memory where there is one, so that syncing costs nothing."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def new_path(quick_folder):
    """A function that names a file which does not exist yet."""
    return lambda: quick_folder / f"{next(_numbers)}.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def new_target(request):
    """A function that names a place for a new ledger, on either kind of database."""
    return request.getfixturevalue("new_path" if request.param == "sqlite" else "new_database")


@pytest.fixture
def team(new_path):
    """Ana, Ben and Cem, who joined when the ledger began, with a half-life of a week."""
    ledger = Ledger.new(new_path(), Rules(half_life="7d"), began="2026-01-01")
    for name in ("ana", "ben", "cem"):
        ledger.join(name, at="2026-01-01")
    yield ledger
    ledger.close()
