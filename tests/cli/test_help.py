"""Walks every command: its help opens with one sentence, explains every flag, and its examples can be run."""

import dataclasses
import functools
import inspect
import re
import shlex
from typing import get_type_hints

import pytest

from bygones.cli import ledger_commands, program

pytest.importorskip("jax")

HEADING = re.compile(r"^ +(?:[\w-]+ )?(?:arguments|options|subcommands) *\n(?: -+ *\n)?", re.MULTILINE)


def groups():
    """Every group of commands, with the words before the name of a command."""
    for name in program.LATE:
        program._commands(name)
    return [("", program.app), ("ledger ", ledger_commands.app)]


def functions():
    """Every command, by the words that call it, with the group it is in."""
    for words, group in groups():
        for name, spec in group._subcommands.items():
            if callable(spec.target):
                yield f"{words}{name}", group, name


COMMANDS = {words: (group, name) for words, group, name in functions()}


def help_of(capsys, monkeypatch, words):
    """The help of a command, with the lines of tyro's boxes taken off."""
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as stop:
        program.main([*words.split(), "--help"])
    assert stop.value.code == 0
    return re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out)


def description(text):
    """What the help says between the usage and the arguments."""
    return HEADING.split(text.partition("\n\n")[2])[0].strip()


def examples(text):
    lines = [line.strip().removeprefix("Example: ") for line in description(text).splitlines()]
    return [line for line in lines if line.startswith("bygones ")]


def explanations(text):
    """Every argument in the help with its explanation."""
    found, last = {}, ""
    for line in HEADING.sub("", text[HEADING.search(text).end() :]).splitlines():
        if match := re.match(r"  (\S.*?)(?:  +(\S.*))?$", line.rstrip()):
            last, about = match.groups()
            found[last] = about or ""
        elif line.strip():
            found[last] += f" {line.strip()}"
    return found


def test_the_walk_meets_every_command():
    assert {words.split()[0] for words in COMMANDS} | {"ledger"} == set(program.SUMMARIES)
    assert {"ledger record", "ledger import", "train", "decay"} <= set(COMMANDS)


@pytest.mark.parametrize("words", ["", "ledger"])
def test_the_help_of_a_group_lists_its_commands_with_summaries(capsys, monkeypatch, words):
    text = help_of(capsys, monkeypatch, words)
    known = program.SUMMARIES if words == "" else ledger_commands.app._subcommands
    listed = {name.removeprefix("• ").split()[0] for name in re.findall(r"• \S+", text)}
    assert listed == set(known)
    for name in known:
        assert re.search(rf"• {name} +[A-Z]\w+", text), name
    assert is_a_sentence(description(text).split("\n\n")[0])


@pytest.mark.parametrize("words", COMMANDS)
def test_help_opens_with_one_sentence_and_explains_every_argument(capsys, monkeypatch, words):
    text = help_of(capsys, monkeypatch, words)
    assert is_a_sentence(description(text).split("\n\n")[0])
    explained = explanations(text)
    group, name = COMMANDS[words]
    assert len(explained) > len(flags_of(group._subcommands[name].target))
    assert "{None}|" not in text
    assert "(default: )" not in text
    for argument, about in explained.items():
        assert re.sub(r"\((default|required|optional|repeatable).*", "", about).strip(), argument


@pytest.mark.parametrize("words", COMMANDS)
def test_the_examples_in_the_help_parse(capsys, monkeypatch, words):
    shown = examples(help_of(capsys, monkeypatch, words))
    assert shown, f"bygones {words} --help has no example"
    group, name = COMMANDS[words]
    calls = []
    record = functools.wraps(group._subcommands[name].target)(lambda *values, **options: calls.append(options))
    monkeypatch.setattr(group._subcommands[name], "target", record)
    for example in shown:
        _, *arguments = shlex.split(example)
        assert " ".join(arguments).startswith(words), example
        program.main(arguments)
    assert len(calls) == len(shown)


def flags_of(command):
    """The parameters of a command; those of a dataclass are flags of their own."""
    hints = get_type_hints(command)
    return [
        name
        for parameter in inspect.signature(command).parameters
        for name in (
            [field.name for field in dataclasses.fields(hints[parameter])]
            if dataclasses.is_dataclass(hints[parameter])
            else [parameter]
        )
    ]


def is_a_sentence(text):
    return re.fullmatch(r"[A-Z][^\n]*[.:]", text) is not None
