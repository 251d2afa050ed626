"""The command line as a person uses it: what it prints, and how it refuses."""

import pytest

from bygones.cli import program

STRANGE = [
    "=cmd()",
    "<script>alert(1)</script>",
    "[bold]Bo[/bold]",
    "🌙 O'Brien",
    '"; DROP TABLE events; --',
]
"""Names of agents that are data all the same."""


def run(capsys, *arguments):
    """What a command prints."""
    program.main([*map(str, arguments)])
    return capsys.readouterr().out


def refused(capsys, *arguments):
    """The one sentence with which a command is refused, with exit code 2 and nothing else printed."""
    with pytest.raises(SystemExit) as stop:
        program.main([*map(str, arguments)])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert captured.err.count("\n") == 1
    return captured.err
