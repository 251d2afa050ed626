"""Ledgers for tests: SQLite in a quick folder, and a real PostgreSQL server where its programs are installed."""

import getpass
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from bygones.ledger import Ledger, Rules

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


@pytest.fixture(scope="session")
def postgres():
    """The URL of the server, without a database."""
    found = [shutil.which("initdb"), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True))]
    programs = next((Path(path).parent for path in found if path), None)
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    as_root = os.geteuid() == 0
    # PostgreSQL refuses to run as root, and a path to a socket may not be long.
    owner = "postgres" if as_root else getpass.getuser()
    before = ["runuser", "-u", owner, "--"] if as_root else []
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        shutil.chown(folder, owner)

        def run(program, *arguments):
            subprocess.run([*before, programs / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder)

        data = f"{folder}/data"
        run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50"
        run("pg_ctl", "-D", data, "-w", "-s", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://postgres@/%s?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-w", "-s", "-m", "immediate", "stop")


@pytest.fixture(scope="session")
def new_database(postgres):
    """A function that makes an empty database and gives its URL."""
    import psycopg

    def make():
        name = f"ledger{next(_numbers)}"
        with psycopg.connect(postgres % "postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return postgres % name

    return make


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
