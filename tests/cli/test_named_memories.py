"""One grammar of memories: every command with `--memory` takes each of them, or refuses it in a sentence."""

import inspect
import sys

import pytest

from bygones import Capped, Discounted, PerfectRecall, Relative, SlidingWindow
from bygones._registry import as_text
from bygones.cli.commands import PROGRAM
from bygones.memory import memories, parse_memory
from support import command_line

OWN = """
from bygones.memory import Discounted

def half(steps=1):
    return Discounted(half_life=steps)
"""
HISTORY = "agent,time,need,served\n" + "".join(
    f"{name},2026-01-0{day},{day},{int(name == 'ana')}\n" for day in range(1, 9) for name in ("ana", "ben")
)
EPISODE = ("--scenario", "donut(horizon=4)")
COMMANDS = {
    "allocate": ("allocate", "needs.csv", "--memory"),
    "simulate": ("simulate", "example-1", "--steps", "3", "--out", "out", "--memory"),
    "evaluate": ("evaluate", "random", *EPISODE, "--episodes", "1", "--memory"),
    "leaderboard": (
        *("leaderboard", *EPISODE, "--player", "one-step", "--seeds", "1", "--workers", "1", "--welfare"),
        *("egalitarian", "--memory"),
    ),
    "what-if": ("what-if", "history.csv", "--draws", "1", "--memory"),
    "ledger new": ("ledger", "new", "team.db", "--memory"),
    "train": (
        *("train", *EPISODE, "--total-steps", "64", "--rollout-steps", "64", "--batch-size", "64", "--epochs", "1"),
        *("--welfare", "egalitarian", "--memory"),
    ),
}
"""The commands that take a memory. `audit` has a `--memory` for bytes."""
MEMORIES = (
    "perfect",
    "none",
    "discounted(half_life=5)",
    "sliding-window(length=3)",
    "reset(every=2)",
    "multiscale([0.5, 0.9], [1, 1])",
    "capped(discounted(half_life=5), cap=4)",
    "relative(own_memories:half(steps=3))",
    "own_memories:half(steps=3)",
)
REFUSED = {
    ("ledger new", "none"): "a ledger needs a memory that lasts and keeps agents apart",
    ("ledger new", "relative(own_memories:half(steps=3))"): "a ledger needs a memory that lasts and keeps agents apart",
    ("ledger new", "discounted(half_life=5)"): "half_life must be a time above 0 with its unit",
    ("ledger new", "sliding-window(length=3)"): "length must be a time above 0 with its unit",
    ("ledger new", "reset(every=2)"): "every must be day, week, month, quarter, year or a whole number of days",
    ("what-if", "discounted(half_life=5)"): "half_life must be a time above 0 with its unit",
    ("what-if", "sliding-window(length=3)"): "length must be a time above 0 with its unit",
    ("what-if", "reset(every=2)"): "every must be a time above 0 with its unit",
}
"""Real time needs units."""
WRONG = {
    "fading(3)": "memory must be one of capped, relative, discounted",
    "capped(cap=3)": "memory capped needs its memory, as in capped(memory=...)",
    "capped(fading(3), cap=3)": "memory must be one of capped, relative, discounted",
    "relative(7)": "memory must be a name such as 'discounted(half_life=50)'",
    "perfect(half_life=3)": "memory perfect_recall takes average, got 'half_life'",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_memories.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "needs.csv").write_text("agent,need\nana,5\nben,3\n", encoding="utf-8")
    (tmp_path / "history.csv").write_text(HISTORY, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_memories", None)


@pytest.mark.parametrize("memory", [*MEMORIES, *WRONG])
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "train"])
def test_every_command_takes_every_memory_or_says_why_not(folder, capsys, command, memory):
    words = [*COMMANDS[command], memory]
    sentence = WRONG.get(memory) or REFUSED.get((command, memory))
    if sentence is None:
        assert command_line.run(capsys, *words)
    else:
        assert sentence in " ".join(command_line.refused(capsys, *words).split())


@pytest.mark.parametrize("memory", ["capped(discounted(half_life=5), cap=4)", *WRONG])
def test_training_takes_every_memory_or_says_why_not(folder, capsys, memory):
    if memory in WRONG:
        told = " ".join(command_line.refused(capsys, *COMMANDS["train"], memory).split())
        assert WRONG[memory] in told
    else:
        assert command_line.run(capsys, *COMMANDS["train"], memory)


def test_these_are_all_commands_with_a_memory():
    leaves = {" ".join(words): command.function for words, command in PROGRAM.leaves()}
    taking = {words for words, function in leaves.items() if "memory" in inspect.signature(function).parameters}
    assert taking == {*COMMANDS, "ledger rules"}


def test_a_memory_around_another_is_written_with_it():
    assert parse_memory("capped(discounted(half_life=30), cap=40)") == Capped(Discounted(half_life=30), 40)
    assert parse_memory("capped(memory=sliding_window(3), cap=5)") == Capped(SlidingWindow(3), 5)
    nested = "relative(capped(bygones.memory:PerfectRecall, cap=2))"
    assert parse_memory(nested) == Relative(Capped(PerfectRecall(), 2))
    named = memories.read(nested)
    assert parse_memory(str(named)) == parse_memory(nested)
    assert str(memories.read(as_text(named.name, named.parameters))) == str(named)


def test_lengths_inside_are_durations_where_time_is_real(folder, capsys):
    told = command_line.run(capsys, "allocate", "needs.csv", "--memory", "capped(sliding_window(length=28d), cap=4)")
    assert "counts in full for 28 days, then not at all. No recent total counts above 4." in " ".join(told.split())
    for wrong in ((), ("--memory", "perfect", "--half-life", "3")):
        assert "give --half-life or --memory, and not both" in command_line.refused(
            capsys, "allocate", "needs.csv", *wrong
        )
    assert "--average is for --half-life" in command_line.refused(
        capsys, "allocate", "needs.csv", "--memory", "perfect", "--average"
    )
