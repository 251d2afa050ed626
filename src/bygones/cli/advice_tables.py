"""Prints advice: what to take and what to type next, then why, a table, and what would change it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from bygones.audit.advice.recommendation import Recommendation
from bygones.cli.console import console, print_sentences, say, say_bold
from bygones.document.terminal import show_table


def next_commands(advice: Recommendation, history: Sequence[str], given: Mapping[str, object]) -> dict[str, str]:
    """What to type next, by what it is for.

    Args:
        advice: the advice.
        history: the history, as it was given.
        given: the options about its columns and entitlements, which `bygones what-if` takes as well.
    """
    kind = ["--kind", "burden"] if advice.kind == "burden" else []
    rule = ["--rule", advice.rule] if advice.rule != "one-step" else []
    found = {}
    if advice.is_ledger:
        found["To begin with it"] = ["ledger", "rules", history[0], "--half-life", advice.takes]
    elif advice.is_log:
        found["To see which jobs would have started earlier"] = [
            "what-if", *history, *_options(given), "--half-life", f"{advice.takes},inf",
        ]  # fmt: skip
    elif advice.clock.steps:
        found["To decide with it"] = ["allocate", "needs.csv", "--history", "past.csv", "--half-life", advice.takes]
        found["To decide with it"] += [*rule, *kind]
    else:
        reports = ["--reports", "normalised"] if advice.reported else []
        found["To begin with it"] = ["ledger", "new", "team.db", "--half-life", advice.takes, *rule, *kind, *reports]
    if advice.was_replayed:
        found["To see what it would have changed, and for whom"] = [
            "what-if", *history, *_options(given), "--half-life", advice.takes, *rule, *kind,
            "--newcomers", advice.newcomers, "--page", "what-if.html",
        ]  # fmt: skip
    elif not advice.is_ledger:
        who = "To see who is due" if advice.kind == "burden" else "To see who is owed what"
        found[who] = [
            "audit", *history, *_options(given), *kind, "--half-life", advice.takes, "--newcomers", advice.newcomers,
            *(["--gone-after", advice.gone_after] if advice.gone_after else []), "--page", "audit.html",
        ]  # fmt: skip
    return {what: shlex.join(["bygones", *words]) for what, words in found.items()}


def _options(given: Mapping[str, object]) -> list[str]:
    """Options as they are typed; those that were left out are left out."""
    found = []
    for name, value in given.items():
        if value is None or value is False or value == "auto":
            continue
        values = [] if value is True else value if isinstance(value, tuple) else [value]
        found += [f"--{name}", *map(str, values)]
    return found


def print_advice(advice: Recommendation, commands: Mapping[str, str]) -> None:
    """Prints advice."""
    headline, table = advice.headline(), advice.table()
    say_bold(headline[0])
    print_sentences(headline[1:])
    for what, command in commands.items():
        say("", f"{what}:", f"  {command}")
    say("")
    say_bold("Why")
    print_sentences(f"- {each}" for each in advice.reasons())
    if table.rows:
        say("")
        show_table(table, console())
    say("")
    say_bold("What would change this")
    print_sentences(f"- {each}" for each in advice.doubts())
    say("")
    print_sentences([" ".join([f"{advice.label}:", *advice.notes])])
