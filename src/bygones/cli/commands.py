"""Every command, by its name and one line about it, under the headings of the help.

Nothing is imported for the help of a group. A command is imported when it is called, with the libraries that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module


@dataclass
class Command:
    """A command, which is a function: its arguments are flags, and its docstring is its help."""

    summary: str
    """One line for the help of its group."""
    source: str | Callable[..., None]
    """The function, or its module below `bygones.cli` and its name, as `plan_commands.plan`."""
    extra: str | None = None
    """The extra that brings everything the command needs; None if it needs none, or only for some of its work."""

    @property
    def function(self) -> Callable[..., None]:
        """The function; its module is imported now."""
        if not isinstance(self.source, str):
            return self.source
        module, _, name = self.source.rpartition(".")
        function: Callable[..., None] = getattr(import_module(f"bygones.cli.{module}"), name)
        return function


@dataclass
class Group:
    """Commands, and groups of commands, under headings."""

    summary: str
    sections: dict[str, dict[str, Command | Group]]
    """The commands by name, under each heading."""

    @property
    def commands(self) -> dict[str, Command | Group]:
        """The commands of all sections, by name."""
        return {name: command for section in self.sections.values() for name, command in section.items()}

    def leaves(self, *words: str) -> Iterator[tuple[tuple[str, ...], Command]]:
        """Every command in the group and in the groups below it, with the words that call it, after `words`."""
        for name, command in self.commands.items():
            if isinstance(command, Group):
                yield from command.leaves(*words, name)
            else:
                yield (*words, name), command

    def help(self, program: str) -> list[str]:
        """The lines of the group's help, where `program` is what people type before a command."""
        width = max(map(len, self.commands))
        lines = [self.summary]
        for heading, commands in self.sections.items():
            lines += ["", heading, *(f"  {name:{width}}  {each.summary}" for name, each in commands.items())]
        return [*lines, "", f"Run {program} COMMAND --help for options and examples."]


_KEY = Group(
    "Make a key for signing, or show its public half.",
    {
        "Keys": {
            "new": Command("Make a key in a file that only you can read.", "signing_commands.new_key"),
            "public": Command("Show the public half of a key.", "signing_commands.public_key"),
        }
    },
)

_LEDGER = Group(
    "Keep a ledger in a file or a database, and decide from it.",
    {
        "Set up": {
            "new": Command("Create a ledger.", "ledger_commands.new"),
            "rules": Command("Show the rules, or change them from a given time on.", "ledger_commands.rules"),
            "join": Command("Add agents.", "recording_commands.join"),
            "leave": Command("Remove an agent, who may join again later.", "recording_commands.leave"),
            "hold": Command("Put an agent on hold, as for a vacation.", "recording_commands.hold"),
            "resume": Command("End a hold.", "recording_commands.resume"),
            "newcomers": Command("Compare the amounts a newcomer may start with.", "ledger_commands.newcomers"),
        },
        "Decide": {
            "decide": Command("Decide who gets what now, and record it.", "ledger_commands.decide"),
            "standing": Command("Show who is owed, and who is ahead.", "ledger_commands.standing"),
            "explain": Command("Explain a decision, or the record of an agent.", "ledger_commands.explain"),
        },
        "Plan ahead": {
            "plan": Command("Decide for several dates ahead.", "plan_commands.plan"),
            "now": Command("Show who is on and until when, and who is next.", "plan_commands.now"),
            "planned": Command("Show the plan, or write it as CSV or as a calendar.", "plan_commands.planned"),
            "replan": Command("Find someone else where an agent cannot come.", "plan_commands.replan"),
            "unplan": Command("Take back planned dates.", "plan_commands.unplan"),
            "swap": Command("Swap the turns of two agents.", "plan_commands.swap"),
        },
        "Record and correct": {
            "record": Command("Record an amount that an agent received.", "recording_commands.record"),
            "import": Command("Record a history from a CSV file.", "import_commands.import_"),
            "undo-import": Command("Take back an import.", "import_commands.undo_import"),
            "correct": Command("Correct the amount of an event.", "recording_commands.correct"),
            "void": Command("Make an event void, or undo that.", "revision_commands.void"),
            "offset": Command("Add to the recent total of an agent.", "recording_commands.offset"),
            "redecide": Command("Repeat past decisions with today's knowledge.", "revision_commands.redecide"),
        },
        "Keep and verify": {
            "export": Command("Write the events as CSV or JSON.", "ledger_commands.export"),
            "copy": Command("Copy the ledger to another file or database.", "keeping_commands.copy"),
            "backup": Command("Write a backup to one file.", "keeping_commands.backup"),
            "restore": Command("Restore a ledger from a backup.", "keeping_commands.restore"),
            "rebuild": Command("Repair tables that are computed from the events.", "keeping_commands.rebuild"),
            "verify": Command("Check all events, decisions and signatures.", "signing_commands.verify"),
            "sign": Command("Sign the ledger for others to compare.", "signing_commands.sign"),
            "anchors": Command("Check signatures without the ledger.", "signing_commands.anchors"),
            "key": _KEY,
        },
    },
)

PROGRAM = Group(
    "Decide who receives what this time, given what everyone received before.",
    {
        "Allocate and keep": {
            "allocate": Command("Decide who gets what now, from a table.", "allocation_commands.allocate"),
            "ledger": _LEDGER,
            "decay": Command("Convert between half-life, discount factor and window.", "memory_commands.decay"),
            "example": Command("Write files to try these commands with.", "example_commands.example"),
        },
        "Audit": {
            "audit": Command("Show who is owed, since when and by how much.", "audit_commands.audit", "audit"),
            "what-if": Command("Replay a history with other memories and rules.", "what_if_commands.what_if", "audit"),
            "advise": Command("Recommend a half-life and a rule for a history.", "advice_commands.advise", "audit"),
        },
        "Learn": {
            "scenarios": Command("List the scenarios, or explain one.", "scenario_commands.scenarios"),
            "simulate": Command("Run an example, or compare policies.", "simulation_commands.simulate"),
            "train": Command("Train PPO or another learner.", "learning_commands.train", "learn"),
            "evaluate": Command("Play a policy, sampled and greedy.", "evaluation_commands.evaluate", "learn"),
            "leaderboard": Command(
                "Compare rules and learners in every scenario.",
                "research.leaderboard_commands.leaderboard",
                "learn,report",
            ),
        },
        "The paper": {
            "figure": Command("Draw a figure of the paper.", "research.paper_commands.figure"),
            "table": Command("Compute a table of the paper.", "research.paper_commands.table"),
            "stability": Command("Check whether a linear memory is bounded.", "memory_commands.stability"),
            "results": Command(
                "Show, filter, merge and export results.", "research.results_commands.results", "results"
            ),
            "claims": Command(
                "Judge the claims of the paper from results.", "research.results_commands.claims", "results"
            ),
            "report": Command(
                "Write a page with the claims and all runs.", "research.report_commands.report", "report"
            ),
            "reproduce": Command(
                "Repeat the paper's experiment, from training to report.",
                "research.reproduce_commands.reproduce",
                "learn,report",
            ),
        },
    },
)
"""All commands."""
