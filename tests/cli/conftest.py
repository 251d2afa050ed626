"""The commands of a ledger, run as from a terminal."""

from functools import partial

import pytest

from support import command_line


@pytest.fixture
def run(capsys):
    return partial(command_line.run, capsys, "ledger")


@pytest.fixture
def refused(capsys):
    return partial(command_line.refused, capsys, "ledger")
