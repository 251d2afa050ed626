import sys
import typing
from dataclasses import is_dataclass

import pytest
import tyro._errors

from bygones.cli import program, usage

WRONG = [
    ("allocate", "NEEDS and --half-life are missing; see bygones allocate --help"),
    ("ledger record", "LEDGER, AGENT and AMOUNT are missing; see bygones ledger record --help"),
    ("ledger record team.db ana", "AMOUNT is missing; see bygones ledger record --help"),
    ("ledger record team.db ana x", "AMOUNT must be a number, got 'x'; see bygones ledger record --help"),
    ("ledger correct team.db x 3", "EVENT must be a whole number, got 'x'; see bygones ledger correct --help"),
    ("audit h.csv --threads many", "--threads must be a whole number, got 'many'; see bygones audit --help"),
    (
        "audit h.csv --format odd",
        "--format must be one of auto, kueue, ledger, prometheus, sacct, table, got 'odd'; see",
    ),
    ("audit h.csv --refine odd", "--refine must be one of "),
    ("nosuch", "unknown command 'nosuch': choose one of ledger, allocate, "),
    ("alocate needs.csv", "unknown command 'alocate': did you mean 'allocate'? See bygones --help"),
    ("ledger recrd team.db", "unknown command 'recrd': did you mean 'record'? See bygones ledger --help"),
    ("--nope", "'--nope' is not recognized; see bygones --help"),
    ("ledger --nope", "'--nope' is not recognized; see bygones ledger --help"),
    (
        "--json ledger standing team.db",
        "'--json' is not recognized: options come after bygones ledger; see bygones --help",
    ),
    ("ledger --json standing team.db", "'--json' is not recognized: options come after bygones ledger standing; see"),
    ("--tyro-print-completion bash", "'--tyro-print-completion' is not recognized; see bygones --help"),
    ("-- ledger", "'--' is not recognized: options come after bygones ledger; see bygones --help"),
    ("--version now", "'--version' is not recognized; see bygones --help"),
    ("simulate some-example", "EXAMPLE must be one of example-1, example-2, got 'some-example'; see bygones simulate"),
    ("simulate --gamma 0.5 x", "--gamma must be numbers, got '0.5', 'x'; see bygones simulate --help"),
    ("decay --nope 3", "'--nope' and '3' are not recognized; see bygones decay --help"),
    (
        "allocate needs.csv --nope",
        "--half-life is missing, and '--nope' is not recognized; see bygones allocate --help",
    ),
    (
        "what-if asked.csv --rule prices one-step",
        "'one-step' is not recognized: separate the values of --rule with commas, as in --rule prices,one-step; see",
    ),
    (
        "what-if asked.csv --half-life 3d 7d inf --rule prices",
        "'7d' and 'inf' are not recognized: separate the values of --half-life with commas, as in --half-life 3d,7d,",
    ),
    ("what-if asked.csv --kind good one-step", "'one-step' is not recognized; see bygones what-if --help"),
    ("ledger new team.db --half-life 7d --time-zone Mars", "--time-zone must be a name such as UTC or Europe/Berlin"),
    ("decay --half-life", "--half-life needs a value; see bygones decay --help"),
    ("decay --half-life x", "--half-life: expected a number, got 'x'; see bygones decay --help"),
    ("table 2", "TABLE must be one of 1, got '2'; see bygones table --help"),
    ("reproduce --horizon 10 x", "--horizon must be whole numbers, got '10', 'x'; see bygones reproduce --help"),
    ("reproduce --gamma x", "--gamma must be numbers, got 'x'; see bygones reproduce --help"),
    ("reproduce --seeds x", "--seeds must be a whole number, got 'x'; see bygones reproduce --help"),
    ("", "choose a command: ledger, allocate, "),
    ("ledger", "choose a command: new, rules, "),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_a_wrong_command_line_is_explained_in_one_sentence(capsys, words, sentence):
    with pytest.raises(SystemExit) as stop:
        program.main(words.split())
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert err.startswith(f"bygones: {sentence}")
    assert err.count("\n") == 1
    assert "None" not in err


class New(tyro._errors.ParseErrorEvent):
    pass


@pytest.mark.parametrize("event", [New("bygones"), object()])
def test_events_of_a_later_tyro_are_left_to_tyro(event):
    assert usage._refuse(event, "bygones") is None


def test_without_the_hook_tyro_shows_its_own_box(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tyro._errors", None)
    with pytest.raises(SystemExit) as stop:
        program.main(["decay", "--nope"])
    assert stop.value.code == 2
    assert "Unrecognized options" in capsys.readouterr().err


def test_a_refusal_names_the_flag_that_was_typed():
    refusal = "half_life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay", "--half-life", "0"]) == "--half-life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay", "--half-life=0"]) == "--half-life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay"]) == refusal
    assert usage.with_flag("half_lives must name two", ["what-if", "--half-life", "7d"]) == "--half-life must name two"
    assert usage.with_flag("h.csv has half_life must", ["--half-life"]) == "h.csv has half_life must"


def test_every_flag_that_takes_a_list_is_known():
    """In the help such a flag is followed by LIST."""
    from bygones.cli import advice_commands, audit_commands, what_if_commands

    flags = set()
    for command in (audit_commands.audit, what_if_commands.what_if, advice_commands.advise):
        hints = typing.get_type_hints(command, include_extras=True)
        shared = [hint.__origin__ for hint in hints.values() if is_dataclass(getattr(hint, "__origin__", None))]
        for options in shared:
            hints |= typing.get_type_hints(options, include_extras=True)
        for name, hint in hints.items():
            if any(getattr(each, "metavar", None) == "LIST" for each in getattr(hint, "__metadata__", ())):
                flags.add("--" + name.replace("_", "-"))
    assert flags == set(usage.LISTS)
