"""The `bygones` program: assembles the commands of all groups and runs the one that was asked for."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from tyro.extras import SubcommandApp

from bygones import __version__
from bygones._imports import blamed
from bygones._parts import MissingPartError, missing
from bygones._secrets import redacted, secrets_in
from bygones.cli import (
    advice_commands,
    allocation_commands,
    audit_commands,
    import_commands,
    keeping_commands,
    leaderboard_commands,
    ledger_commands,
    memory_commands,
    paper_commands,
    plan_commands,
    recording_commands,
    report_commands,
    results_commands,
    revision_commands,
    scenario_commands,
    signing_commands,
    simulation_commands,
    what_if_commands,
)
from bygones.cli.arguments import DEFAULT_LEDGER
from bygones.cli.console import reason, say
from bygones.cli.damage import damage_in, is_sentence
from bygones.cli.usage import MissingArgumentsError, check_command, names_of, one_sentence, with_flag

DESCRIPTION = """Decide who receives what this time, given what everyone received before.

Run bygones COMMAND --help for the options of a command, and bygones --version for the version."""

FAILED = 1
"""The exit code when a check failed, memory ran out, or bygones or a module of one's own has a bug."""

REFUSED = 2
"""The exit code when the command line or its input is wrong, or a file cannot be read or written."""

STOPPED = 130
"""The exit code after Ctrl-C, by the convention of shells."""

LONGEST = 2000
"""The most characters of an error; the middle of a longer one is left out."""

COMMANDS: dict[Callable[..., None], str | None] = {
    allocation_commands.allocate: None,
    audit_commands.audit: "audit",
    what_if_commands.what_if: "audit",
    advice_commands.advise: "audit",
    simulation_commands.simulate: None,
    scenario_commands.scenarios: None,
    leaderboard_commands.leaderboard: "learn,report",
    memory_commands.decay: None,
    memory_commands.stability: None,
    paper_commands.figure: None,
    paper_commands.table: None,
    report_commands.report: "report",
    results_commands.claims: "results",
    results_commands.results: "results",
}
"""The commands that can be imported without JAX, each with the extra that brings everything it needs."""

LEARNING = {
    "train": "Train PPO or another --learner on the paper's problem, or on a scenario; every setting is a flag.",
    "evaluate": "Play a saved policy, with actions drawn from it and with its most probable actions.",
    "reproduce": "Run the paper's experiment: training, figures, a verdict on every claim, and a report.",
}
"""Summaries of the commands in `bygones.cli.learning_commands`, kept here so that the help does not import JAX."""

LEARNING_EXTRAS = {"train": "learn", "evaluate": "learn", "reproduce": "learn,report"}

LEDGER = "Keep a fairness memory in a file or database between decisions."

NO_LEDGER_FIRST = ("anchors", "key", "restore")
"""The commands of the ledger whose first argument is not a ledger, so that the default is not put there."""

SUMMARIES: dict[str, str] = {}
"""Every command with its summary, as `bygones --help` lists them."""

EXTRAS: dict[str, str | None] = {}
"""The extras that bring everything a command needs; None if it needs none, or only for some of what it does."""

app = SubcommandApp()
"""The commands themselves, except those that need JAX."""

overview = SubcommandApp()
"""All commands, by name and summary only."""


class _Listed:
    """A command of the overview: a class, since tyro imports another, large library to look at functions."""


def add(command: Callable[..., None], extra: str | None = None) -> None:
    """Adds a command, named after its function. Its arguments become flags and its docstring becomes its help.

    Args:
        command: the function; the first line of its docstring is its summary.
        extra: the extra of bygones that brings everything the command needs.
    """
    name = command.__name__.replace("_", "-")
    if name in SUMMARIES:
        raise ValueError(f"command {name!r} exists already: choose another name")
    app.command(name=name)(command)
    _list(name, (command.__doc__ or "").partition("\n")[0], extra)


def _list(name: str, summary: str, extra: str | None) -> None:
    overview.command(name=name, help=summary)(_Listed)
    SUMMARIES[name], EXTRAS[name] = summary, extra


for _command in (
    *recording_commands.COMMANDS,
    *plan_commands.COMMANDS,
    *revision_commands.COMMANDS,
    *signing_commands.COMMANDS,
    *keeping_commands.COMMANDS,
):
    ledger_commands.app.command(_command)
ledger_commands.app.command(signing_commands.key, name="key", help=signing_commands.KEYS)
import_commands.add_to(ledger_commands.app)
app.command(ledger_commands.app, name="ledger", help=LEDGER)
_list("ledger", LEDGER, None)
for _command, _extra in COMMANDS.items():
    add(_command, _extra)
for _name, _summary in LEARNING.items():
    _list(_name, _summary, LEARNING_EXTRAS[_name])


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line.

    Exits with code 0 on success, `REFUSED` and one sentence for wrong usage or input, `FAILED` for a failure and
    `STOPPED` after Ctrl-C. Code 3 says that a ledger has recorded something, but that the answer could not be written,
    as to a full disk; code 4, that the database did not say whether it has recorded anything. No password of the
    command line or of the default ledger's URL is ever printed.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    secrets = set().union(*map(secrets_in, (*words, os.environ.get(DEFAULT_LEDGER, ""))))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character gets an escape instead of nothing at all.
            stream.reconfigure(errors="backslashreplace")
    try:
        _run(words)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        _refuse(f"text must be valid Unicode, got {error.object!r}", secrets)
    except ValueError as error:
        damage = None if is_sentence(error) else damage_in(words)
        _refuse(damage or with_flag(str(error), words), secrets, getattr(error, "exit_code", REFUSED))
    except ModuleNotFoundError as error:
        extras = EXTRAS.get(words[0])
        if extras or not isinstance(error, MissingPartError):
            error = missing("this command", error.name, extras)
        _refuse(str(error), secrets)
    except BrokenPipeError:
        # The reader of a pipe, such as head, has closed it. What is still buffered is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None
    except OSError as error:
        _refuse(reason(error), secrets)
    except RecursionError:
        _refuse("the input is nested too deeply", secrets)
    except MemoryError:
        _refuse("there is not enough memory for this: choose smaller sizes", secrets, FAILED)
    except KeyboardInterrupt as stopped:
        _refuse(str(stopped) or "stopped", secrets, STOPPED)
    except Exception as error:
        if (told := blamed(error)) is not None:
            _refuse(told, secrets, FAILED)
        if (told := damage_in(words)) is not None:
            _refuse(told, secrets)
        # A bug. Python's own report would show a password that a library put into its message.
        say(*redacted(traceback.format_exc(), secrets).splitlines(), error=True)
        _refuse("this is a bug in bygones: please report the lines above", secrets, FAILED)


def _run(words: list[str]) -> None:
    if words == ["--version"]:
        say(f"bygones {__version__}")
        return
    program = check_command(SUMMARIES, words, "bygones")
    if words[0] == "ledger":
        program = check_command(names_of(ledger_commands.app), words[1:], program)
        if words[1] == "key":
            program = check_command(names_of(signing_commands.key), words[2:], program)
    with one_sentence(program, words):
        try:
            _parse_and_call(words)
        except MissingArgumentsError:
            default = os.environ.get(DEFAULT_LEDGER)
            if words[0] != "ledger" or words[1] in NO_LEDGER_FIRST or not default:
                raise
            _parse_and_call([*words[:2], default, *words[2:]])


def _parse_and_call(words: list[str]) -> None:
    _commands(words[0]).cli(prog="bygones", description=DESCRIPTION, args=words, use_underscores=False)


def _commands(name: str) -> SubcommandApp:
    """The commands among which tyro finds the one called `name`; JAX is imported only for those that need it."""
    if name in LEARNING:
        from bygones.cli import learning_commands

        return learning_commands.app
    return app if name in SUMMARIES else overview


def _refuse(sentence: str, secrets: Iterable[str], code: int = REFUSED) -> NoReturn:
    sentence = redacted(re.sub(r"\s*\n\s*", " ", sentence), secrets)
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 2 :]}"
    say(f"bygones: {sentence}", error=True)
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
