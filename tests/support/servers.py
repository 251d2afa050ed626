"""A real PostgreSQL server for tests, where its programs are installed."""

import getpass
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_numbers = itertools.count()


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
        name = f"database{next(_numbers)}"
        with psycopg.connect(postgres % "postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return postgres % name

    return make
