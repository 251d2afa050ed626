"""Prints advice: what to take and what to type next, then why, a table, and what would change it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from bygones.audit.advice.advice_text import AdviceText
from bygones.cli.console import Column, print_fitting, print_sentences, say, say_bold

_GIVES_WAY = {"Gini": 1, "in vain": 2, "in a row": 2, "all together": 3}
_WORDS = ("memory", "rule", "half-life", "owed most", "due next")


def next_commands(text: AdviceText, history: Sequence[str], given: Mapping[str, object]) -> dict[str, str]:
    """What to type next, by what it is for.

    Args:
        text: the advice.
        history: the history, as it was given.
        given: the options about its columns and entitlements, which `bygones what-if` takes as well.
    """
    kind = ["--kind", "burden"] if text.kind == "burden" else []
    rule = ["--rule", text.rule] if text.rule != "one-step" else []
    found = {}
    if text.is_ledger:
        found["To begin with it"] = ["ledger", "rules", history[0], "--half-life", text.half_life]
    elif text.is_log:
        found["To see which jobs would have started earlier"] = [
            "what-if", *history, *_options(given), "--half-life", f"{text.half_life},inf",
        ]  # fmt: skip
    elif text.steps:
        found["To decide with it"] = ["allocate", "needs.csv", "--history", "past.csv", "--half-life", text.half_life]
        found["To decide with it"] += [*rule, *kind]
    else:
        reports = ["--reports", "normalised"] if text.normalised else []
        found["To begin with it"] = ["ledger", "new", "team.db", "--half-life", text.half_life, *rule, *kind, *reports]
    if text.compared:
        found["To see what it would have changed, and for whom"] = [
            "what-if", *history, *_options(given), "--half-life", text.half_life, *rule, *kind,
            "--newcomers", text.newcomers, "--page", "what-if.html",
        ]  # fmt: skip
    elif not text.is_ledger:
        who = "To see who is due" if text.kind == "burden" else "To see who is owed what"
        found[who] = [
            "audit", *history, *_options(given), *kind, "--half-life", text.half_life, "--newcomers", text.newcomers,
            *(["--gone-after", text.gone_after] if text.gone_after else []), "--page", "audit.html",
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


def print_advice(text: AdviceText, commands: Mapping[str, str]) -> None:
    """Prints advice."""
    say_bold(text.headline[0])
    print_sentences(text.headline[1:])
    for what, command in commands.items():
        say("", f"{what}:", f"  {command}")
    say("")
    say_bold("Why")
    print_sentences(f"- {each}" for each in text.reasons)
    if text.rows:
        say("")
        columns = [
            Column(name, "left" if name in _WORDS else "right", _GIVES_WAY.get(name, 0))
            for i, name in enumerate(text.columns)
        ]
        print_fitting(text.title, columns, text.rows)
        print_sentences([text.about])
    say("")
    say_bold("What would change this")
    print_sentences(f"- {each}" for each in text.doubts)
    say("")
    print_sentences([" ".join([f"{text.label}:", *text.notes])])
