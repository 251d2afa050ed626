"""The `bygones` program: runs the command that the words ask for, and turns every error into one sentence."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from bygones import __version__
from bygones._imports import blamed
from bygones._parts import MissingPartError, missing
from bygones._secrets import redacted, secrets_in
from bygones.cli.arguments import DEFAULT_LEDGER
from bygones.cli.commands import PROGRAM, Command, Group
from bygones.cli.console import reason, say
from bygones.cli.damage import damage_in, is_sentence
from bygones.cli.usage import MissingArgumentsError, check_command, read_call, with_flag

FAILED = 1
"""The exit code when a check failed, memory ran out, or bygones or a custom module has a bug."""

REFUSED = 2
"""The exit code when the command line or its input is wrong, or a file cannot be read or written."""

STOPPED = 130
"""The exit code after Ctrl-C, by the convention of shells."""

LONGEST = 2000
"""The most characters of an error; the middle of a longer one is left out."""

NO_LEDGER_FIRST = ("anchors", "key", "restore")
"""The commands of the ledger whose first argument is not a ledger: the default ledger is not put there."""


def add(command: Callable[..., None], extra: str | None = None) -> None:
    """Adds a command, named after its function. Its arguments become flags and its docstring becomes its help.

    Args:
        command: the function; the first line of its docstring is its summary.
        extra: the extra of bygones that brings everything the command needs.
    """
    name = command.__name__.replace("_", "-")
    if name in PROGRAM.commands:
        raise ValueError(f"command {name!r} exists already: choose another name")
    summary = (command.__doc__ or "").partition("\n")[0]
    PROGRAM.sections.setdefault("Added commands", {})[name] = Command(summary, command, extra)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line.

    Exits with code 0 on success, `REFUSED` and one sentence for wrong usage or input, `FAILED` for a failure and
    `STOPPED` after Ctrl-C. Code 3 means that a ledger has recorded something, but the answer could not be written, for
    example because the disk is full. Code 4 means that the database did not confirm whether it recorded anything. No
    password of the command line or of the default ledger's URL is ever printed.
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
        extras = getattr(PROGRAM.commands[words[0]], "extra", None)
        if extras or not isinstance(error, MissingPartError):
            error = missing("this command", error.name, extras)
        _refuse(str(error), secrets)
    except BrokenPipeError:
        # The reader of a pipe, such as head, has closed it. The rest of the buffer is discarded.
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
        if (failure := blamed(error)) is not None:
            _refuse(failure, secrets, FAILED)
        if (damage := damage_in(words)) is not None:
            _refuse(damage, secrets)
        # A bug. Python's own report would show a password that a library put into its message.
        say(*redacted(traceback.format_exc(), secrets).splitlines(), error=True)
        _refuse("this is a bug in bygones: please report the lines above", secrets, FAILED)


def _run(words: list[str]) -> None:
    if words == ["--version"]:
        say(f"bygones {__version__}")
        return
    command: Command | Group = PROGRAM
    program, rest = "bygones", words
    while isinstance(command, Group):
        if rest[:1] in (["-h"], ["--help"]):
            say(*command.help(program))
            return
        name = check_command(command.commands, rest, program)
        command, program, rest = command.commands[name], f"{program} {name}", rest[1:]
    try:
        call = read_call(command.function, rest, program)
    except MissingArgumentsError:
        default = os.environ.get(DEFAULT_LEDGER)
        if words[0] != "ledger" or words[1] in NO_LEDGER_FIRST or not default:
            raise
        call = read_call(command.function, [default, *rest], program)
    call()


def _refuse(sentence: str, secrets: Iterable[str], code: int = REFUSED) -> NoReturn:
    sentence = redacted(re.sub(r"\s*\n\s*", " ", sentence), secrets)
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 2 :]}"
    say(f"bygones: {sentence}", error=True)
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
