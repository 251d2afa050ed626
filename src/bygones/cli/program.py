"""The `bygones` program: assembles the commands of all groups and runs the one that was asked for."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

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
    ledger_commands,
    memory_commands,
    plan_commands,
    recording_commands,
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
    memory_commands.decay: None,
    memory_commands.stability: None,
}
"""The commands that are imported with the program, each with the extra that brings everything it needs."""


class LateCommand(NamedTuple):
    """A command that is imported when it is called: it needs JAX, or belongs to the research beside the product."""

    module: str
    """The module below `bygones.cli` that has a function of the command's name."""
    extra: str | None
    """The extra that brings everything it needs."""
    summary: str
    """What `bygones --help` says of it."""


LATE = {
    "leaderboard": LateCommand(
        "research.leaderboard_commands",
        "learn,report",
        "Compare rules and learners in every scenario, with every memory, and say where learning is worth it.",
    ),
    "figure": LateCommand("research.paper_commands", None, "Draw a figure of the paper as PNG and SVG."),
    "table": LateCommand(
        "research.paper_commands", None, "Compute a table of the paper, print it and write it as CSV."
    ),
    "report": LateCommand(
        "research.report_commands",
        "report",
        "Write one HTML page with the paper's claims and every run behind them; it opens without a network.",
    ),
    "claims": LateCommand(
        "research.results_commands",
        "results",
        "Judge the paper's claims C1 to C13 and ours, B1 to B5, from results, under every observation scale in them.",
    ),
    "results": LateCommand(
        "research.results_commands",
        "results",
        "Show, filter, merge and export results: means over seeds, one line for each combination of settings.",
    ),
    "train": LateCommand(
        "learning_commands",
        "learn",
        "Train PPO or another --learner on the paper's problem, or on a scenario; every setting is a flag.",
    ),
    "evaluate": LateCommand(
        "evaluation_commands",
        "learn",
        "Play a saved policy, with actions drawn from it and with its most probable actions.",
    ),
    "reproduce": LateCommand(
        "research.reproduce_commands",
        "learn,report",
        "Run the paper's experiment: training, figures, a verdict on every claim, and a report.",
    ),
}
"""The commands that are imported late, by name."""

LEDGER = "Keep a fairness memory in a file or database between decisions."

NO_LEDGER_FIRST = ("anchors", "key", "restore")
"""The commands of the ledger whose first argument is not a ledger, so that the default is not put there."""

SUMMARIES: dict[str, str] = {}
"""Every command with its summary, as `bygones --help` lists them."""

EXTRAS: dict[str, str | None] = {}
"""The extras that bring everything a command needs; None if it needs none, or only for some of what it does."""

app = SubcommandApp()
"""The commands themselves; those of `LATE` join when they are called."""

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
for _name, _late in LATE.items():
    _list(_name, _late.summary, _late.extra)


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
    """The commands among which tyro finds the one called `name`."""
    if name in LATE and name not in names_of(app):
        app.command(name=name)(late_command(name))
    return app if name in SUMMARIES else overview


def late_command(name: str) -> Callable[..., None]:
    """The function of one of the commands in `LATE`."""
    function: Callable[..., None] = getattr(import_module(f"bygones.cli.{LATE[name].module}"), name)
    return function


def _refuse(sentence: str, secrets: Iterable[str], code: int = REFUSED) -> NoReturn:
    sentence = redacted(re.sub(r"\s*\n\s*", " ", sentence), secrets)
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 2 :]}"
    say(f"bygones: {sentence}", error=True)
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
