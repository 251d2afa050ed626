"""A real PostgreSQL server for tests, where its programs are installed."""

import getpass
import itertools
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

_numbers = itertools.count()


class Server:
    """A server of its own in a temporary folder.

    Attributes:
        url: of a database, to be completed with its name.
    """

    def __init__(self, programs, folder):
        as_root = os.geteuid() == 0
        # PostgreSQL refuses to run as root, and a path to a socket may not be long.
        owner = "postgres" if as_root else getpass.getuser()
        self._before = ["runuser", "-u", owner, "--"] if as_root else []
        self._programs, self._folder = programs, folder
        self.url = f"postgresql://postgres@/%s?host={folder}"
        shutil.chown(folder, owner)
        self._run("initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8")

    def start(self):
        # No test takes the power away, so nothing needs to reach the disk before it is answered.
        options = f"-c listen_addresses='' -c unix_socket_directories={self._folder} -c max_connections=50 -c fsync=off"
        self._control("-l", f"{self._folder}/log", "-o", options, "start")

    def stop(self):
        """Stops it at once, as a crash does: whatever is being done is not finished."""
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments):
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-w", "-s", *arguments)

    def _run(self, program, *arguments):
        command = [*self._before, self._programs / program, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder)


def installed():
    """The folder of PostgreSQL's programs, or None."""
    found = [shutil.which("initdb"), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True))]
    return next((Path(path).parent for path in found if path), None)


@contextmanager
def running(programs):
    """A server that runs within this context."""
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        server = Server(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def create_database(url):
    """An empty database on a server; its URL."""
    import psycopg

    name = f"database{next(_numbers)}"
    with psycopg.connect(url % "postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url % name


@pytest.fixture(scope="session")
def postgres():
    """The URL of the server, without a database."""
    programs = installed()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    with running(programs) as server:
        yield server.url


@pytest.fixture(scope="session")
def new_database(postgres):
    """A function that makes an empty database and gives its URL."""
    return lambda: create_database(postgres)
