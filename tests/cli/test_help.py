"""Walks every command: its help opens with one sentence, explains every flag, and its examples can be run."""

import dataclasses
import functools
import inspect
import re
import shlex
from typing import get_type_hints

import pytest

from bygones.cli import program
from bygones.cli.commands import PROGRAM

pytest.importorskip("jax")

HEADING = re.compile(r"^ +(?:[\w-]+ )?(?:arguments|options|subcommands) *\n(?: -+ *\n)?", re.MULTILINE)


COMMANDS = {" ".join(words): command for words, command in PROGRAM.leaves()}
GROUPS = {"": PROGRAM, "ledger": PROGRAM.commands["ledger"], "ledger key": PROGRAM.commands["ledger"].commands["key"]}


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
    assert {words.split()[0] for words in COMMANDS} == set(PROGRAM.commands)
    assert {"ledger record", "ledger import", "ledger key new", "train", "decay"} <= set(COMMANDS)


def test_the_help_groups_commands_by_reader():
    assert list(PROGRAM.sections) == ["Allocate and keep", "Audit", "Learn", "The paper"]


@pytest.mark.parametrize("words", GROUPS)
def test_the_help_of_a_group_has_one_line_for_each_command(capsys, words):
    program.main([*words.split(), "-h"])
    lines = capsys.readouterr().out.splitlines()
    assert is_a_sentence(lines[0])
    assert max(map(len, lines)) <= 80
    listed = {line.split()[0]: line for line in lines if line.startswith("  ")}
    assert listed.keys() == GROUPS[words].commands.keys()
    for name, line in listed.items():
        assert re.search(rf"^  {name} +[A-Z].*[^.]\.$", line)
    assert [line for line in lines if line in GROUPS[words].sections] == list(GROUPS[words].sections)


def test_the_help_of_the_program_fits_one_screen_and_that_of_the_ledger_two():
    assert len(PROGRAM.help("bygones")) <= 30
    assert len(GROUPS["ledger"].help("bygones ledger")) <= 2 * 24


@pytest.mark.parametrize("words", COMMANDS)
def test_help_opens_with_one_sentence_and_explains_every_argument(capsys, monkeypatch, words):
    text = help_of(capsys, monkeypatch, words)
    assert is_a_sentence(description(text).split("\n\n")[0])
    explained = explanations(text)
    assert len(explained) > len(flags_of(COMMANDS[words].function))
    assert "{None}|" not in text
    assert "(default: )" not in text
    for argument, about in explained.items():
        assert re.sub(r"\((default|required|optional|repeatable).*", "", about).strip(), argument


@pytest.mark.parametrize("words", COMMANDS)
def test_the_examples_in_the_help_parse(capsys, monkeypatch, words):
    shown = examples(help_of(capsys, monkeypatch, words))
    assert shown, f"bygones {words} --help has no example"
    calls = []
    record = functools.wraps(COMMANDS[words].function)(lambda *values, **options: calls.append(options))
    monkeypatch.setattr(COMMANDS[words], "source", record)
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


def test_no_two_options_are_nearly_the_same():
    """An option is not another one in the plural or with a prefix, unless one names one thing and the other several."""
    names = {name.rstrip("_") for command in COMMANDS.values() for name in flags_of(command.function)}
    near = {(name, other) for name in names for other in (f"{name}s", f"{name}ed", f"n_{name}")}
    names_of_agents = {("agent", "agents"), ("agents", "n_agents")}  # ledger join takes names, not an option
    several = {("seed", "seeds"), ("entitlement", "entitlements"), *names_of_agents}
    assert {pair for pair in near if set(pair) <= names} <= several
    for one, other in (("now", "at"), ("to", "until"), ("timezone", "time_zone")):
        assert one not in names
        assert other in names


def test_the_option_for_json_is_declared_once():
    signatures = [inspect.signature(command.function).parameters for command in COMMANDS.values()]
    assert not any("json" in parameters for parameters in signatures)
