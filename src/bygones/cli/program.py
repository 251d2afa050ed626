"""The `bygones` program: assembles the commands of all groups and runs the one that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from tyro.extras import SubcommandApp

from bygones import __version__
from bygones.cli import (
    allocation_commands,
    audit_commands,
    ledger_commands,
    memory_commands,
    paper_commands,
    plan_commands,
    report_commands,
    revision_commands,
    simulation_commands,
    what_if_commands,
)
from bygones.cli.usage import check_command, names_of, one_sentence

DESCRIPTION = """Decide who receives what this time, given what everyone received before.

Run bygones COMMAND --help for the options of a command, and bygones --version for the version."""

STOPPED = 130
"""The exit code after Ctrl-C, by the convention of shells."""

COMMANDS: dict[Callable[..., None], str | None] = {
    allocation_commands.allocate: None,
    audit_commands.audit: "audit",
    what_if_commands.what_if: "audit",
    simulation_commands.simulate: None,
    memory_commands.decay: None,
    memory_commands.stability: None,
    paper_commands.figure: "learn",
    paper_commands.table: None,
    report_commands.report: "report",
}
"""The commands that can be imported without JAX, each with the extra that installs its optional dependencies."""

LEARNING = {
    "train": "Train PPO on the paper's problem; every setting is a flag.",
    "reproduce": "Run the paper's experiment: training, figures, a verdict on every claim, and a report.",
    "claims": "Judge the paper's claims from results.",
    "results": "Show, merge and export results of experiments.",
}
"""Summaries of the commands in `bygones.cli.learning_commands`, kept here so that the help does not import JAX."""

LEDGER = "Keep a fairness memory in a file or database between decisions."

SUMMARIES: dict[str, str] = {}
"""Every command with its summary, as `bygones --help` lists them."""

EXTRAS: dict[str, str | None] = {}
"""The extra that installs the optional dependencies of a command; None if it has none."""

app = SubcommandApp()
"""The commands themselves, except those that need JAX."""

overview = SubcommandApp()
"""All commands, by name and summary only."""


def add(command: Callable[..., None], extra: str | None = None) -> None:
    """Adds a command, named after its function. Its arguments become flags and its docstring becomes its help.

    Args:
        command: the function; the first line of its docstring is its summary.
        extra: the extra of bygones that installs its optional dependencies.
    """
    name = command.__name__.replace("_", "-")
    if name in SUMMARIES:
        raise ValueError(f"command {name!r} exists already: choose another name")
    app.command(name=name)(command)
    _list(name, (command.__doc__ or "").partition("\n")[0], extra)


def _list(name: str, summary: str, extra: str | None) -> None:
    overview.command(name=name, help=summary)(lambda: None)
    SUMMARIES[name], EXTRAS[name] = summary, extra


for _command in (*plan_commands.COMMANDS, *revision_commands.COMMANDS):
    ledger_commands.app.command(_command)
app.command(ledger_commands.app, name="ledger", help=LEDGER)
_list("ledger", LEDGER, "ledger")
for _command, _extra in COMMANDS.items():
    add(_command, _extra)
for _name, _summary in LEARNING.items():
    _list(_name, _summary, "learn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line. Bad input exits with code 2 and one sentence, Ctrl-C with code 130."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"bygones {__version__}")
        return
    try:
        program = check_command(SUMMARIES, words, "bygones")
        if words[0] == "ledger":
            program = check_command(names_of(ledger_commands.app), words[1:], program)
        with one_sentence(program):
            _commands(words[0]).cli(prog="bygones", description=DESCRIPTION, args=words, use_underscores=False)
    except ValueError as error:
        _refuse(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(words[0])
        how = f": pip install 'bygones[{extra}]'" if extra else ""
        _refuse(f"this command needs {error.name}, which is not installed{how}")
    except BrokenPipeError:
        # The reader of a pipe, such as head, has closed it. What is still buffered is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        reason = error.strerror or str(error)
        _refuse(f"{error.filename}: {reason}" if error.filename else reason)
    except KeyboardInterrupt as stopped:
        print(f"bygones: {str(stopped) or 'stopped'}", file=sys.stderr)
        raise SystemExit(STOPPED) from None


def _commands(name: str) -> SubcommandApp:
    """The commands among which tyro finds the one called `name`; JAX is imported only for those that need it."""
    if name in LEARNING:
        from bygones.cli import learning_commands

        return learning_commands.app
    return app if name in SUMMARIES else overview


def _refuse(sentence: str) -> NoReturn:
    print(f"bygones: {sentence}", file=sys.stderr)
    raise SystemExit(2) from None


if __name__ == "__main__":
    main()
