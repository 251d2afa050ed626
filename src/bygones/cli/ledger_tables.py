"""What the ledger's commands print for people and programs. Names are printed as they are, never as markup."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from bygones._text import amount, counted
from bygones.cli.console import (
    Column,
    answering,
    print_document,
    print_fitting,
    print_json,
    print_sentences,
    print_table,
    say,
)
from bygones.kinds import Kind, words
from bygones.ledger.model.remembering import DISCOUNTED
from bygones.ledger.model.rules import NO_RULES, Change
from bygones.ledger.model.standing import Standing
from bygones.ledger.model.times import day, iso, named, shown

if TYPE_CHECKING:
    from bygones.ledger.actions.decisions import Proposal
    from bygones.ledger.actions.redecisions import Redecision
    from bygones.ledger.forecast import Forecast

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDTH = 6


def print_standing(now: Standing, later: Standing, ahead: str, since: dict[str, int] | None) -> None:
    """Prints where everybody stands now and, if nothing more is recorded, later.

    Those who are owed most per unit of entitlement come first.
    """
    rules, word = now.rules, words(now.rules.kind)
    if not len(now):
        say(f"No agent has joined by {named(now.at, now.zone)}.")
        return
    last = f"{word.owed} since" if since is not None else f"last {word.received}"
    columns = [
        Column("agent", "left", folds=True), Column(word.received, gives_way=3), Column("remembered", gives_way=4),
        Column("", "left", gives_way=1), Column(f"in {ahead}", gives_way=2), Column(word.owed),
        Column(f"in {ahead}", gives_way=2), *([Column("per unit")] if now.is_unequal else []), Column(last, "left"),
    ]  # fmt: skip
    later_row = {name: row for row, name in enumerate(later.names)}
    most = max([0.0, *now.remembered.tolist()])
    rows: list[list[str | Text]] = []
    for row in now.ranked():
        name = now.names[row]
        then = later_row[name]
        rows.append([
            name,
            amount(now.received[row]),
            amount(now.remembered[row]),
            Text(bar(now.remembered[row], most), style="cyan"),
            amount(later.remembered[then]),
            _owed(now, row),
            _owed(later, then),
            *([now.per_unit_text(row)] if now.is_unequal else []),
            _since(name, now, row, since),
        ])  # fmt: skip
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    how = ", by prices" if rules.rule == "prices" else ""
    title = f"Standing at {named(now.at, now.zone)} ({rules.memory_in_words}, {rules.welfare} welfare{how})"
    print_fitting(title, columns, rows)
    say(now.owed_meaning)
    if now.is_unequal:
        unit = "of the share of the load" if rules.kind == "burden" else "of entitlement"
        say(f"Per unit: {word.owed} per unit {unit}. The agent with the most comes first.")
    say(f"In {ahead}: what will be remembered and {word.owed} if nothing more is recorded.")


def standing_data(now: Standing, later: Standing, since: dict[str, int] | None) -> dict[str, Any]:
    """The same for programs."""
    data = now.to_dict()
    after = {row["agent"]: row for row in later.rows()}
    for row in data["agents"]:
        then = after[row["agent"]]
        row["owed_since"] = iso(since[row["agent"]]) if since and row["agent"] in since else None
        row["later"] = {"at": iso(later.at), "remembered": then["remembered"], "owed": then["owed"]}
    return data


def print_forecasts(agent: str, forecasts: Sequence[Forecast], entitled: float, kind: Kind) -> None:
    """Prints what each newcomer rule would lead to, beside the share that the newcomer is entitled to."""
    decisions = len(forecasts[0].received) - 1
    word = words(kind)
    columns = ["newcomer rule", "starts with", f"would {word.receive}", word.share]
    rows = [[each.rule, each.start, each.received[-1], entitled] for each in forecasts]
    print_table(f"{agent} over the next {decisions} decisions", columns, rows)


def print_rules(settings: Mapping[str, object], ahead: Sequence[Change] = (), zone: str = "UTC") -> None:
    """Prints the rules in force, and what changes later."""
    unused = ("memory",) if settings["memory"] == DISCOUNTED else ("half_life", "half_lives")
    in_force = {
        name: value
        for name, value in settings.items()
        if name not in unused and (value or name not in ("half_lives", "cap"))
    }
    print_table("Rules", ["rule", "setting"], list(settings_in_words(in_force)))
    for change in ahead:
        told = ", ".join(f"{name} {setting}" for name, setting in settings_in_words(change.settings))
        say(f"From {named(change.time, zone)} on (event {change.seq}): {told}.")


def settings_in_words(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Rules and their settings, as people read them."""
    for name, value in settings.items():
        if name in NO_RULES:
            continue
        yield name.replace("_", " ").replace("half li", "half-li"), _setting(value)


def _setting(setting: object) -> str:
    if isinstance(setting, bool):
        return "yes" if setting else "no"
    if isinstance(setting, dict):
        return ", ".join(f"{agent} {_setting(own)}" for agent, own in setting.items()) or "equal"
    if isinstance(setting, float):
        return f"{setting:g}"
    if setting is None:
        return "no limit"
    if setting == "":
        return "none"
    return str(setting)


def bar(value: float, most: float, width: int = _WIDTH) -> str:
    """A bar of eighths of a character, as long as the value's share of the largest."""
    eighths = round(8 * width * (value / most)) if most > 0 and value > 0 else 0
    return _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _owed(stood: Standing, row: int) -> Text:
    """What an agent is owed, in the colour of its sign."""
    text = stood.owed_text(row)
    if math.isnan(stood.owed[row]):
        return Text(text, style="dim")
    return Text(text, style="" if text == "0" else "green" if stood.owed[row] > 0 else "yellow")


def _since(name: str, now: Standing, row: int, since: dict[str, int] | None) -> str:
    if since is None:
        return now.last_text(row)
    return day(since[name], now.zone) if name in since else ""


def print_decision(proposal: Proposal, json: bool, *, recorded: bool, why_not: str | None = None) -> None:
    """Prints who gets what and why, and why one agent was not chosen."""
    answers = [] if why_not is None else [proposal.why_not(why_not)]
    with answering(recorded):
        if json:
            print_json({"recorded": recorded, **proposal.to_dict(), **({"why_not": answers[0]} if answers else {})})
        else:
            print_document(proposal.document())
            print_sentences(answers)
            if recorded:
                say("Recorded.")


def print_redecisions(found: Sequence[Redecision], zone: str, *, recorded: bool) -> None:
    """Prints the decisions that come out differently, and the later ones that depended on them."""
    changed, later = ([each for each in found if each.in_period is inside] for inside in (True, False))

    def columns(last: str) -> list[Column]:
        what = [Column(name, "left", folds=True) for name in ("was", last)]
        return [Column("decision"), Column("time", "left"), *what]

    def row(each: Redecision) -> list[str | Text]:
        now = _served(each.after) if each.after or not each.reasons else each.reasons[0]
        return [str(each.seq), shown(each.time, zone), _served(each.before), now]

    if changed:
        title = f"{counted(len(changed), 'decision')} decided again (times in {zone})"
        print_fitting(title, columns("now" if recorded else "would be"), [row(each) for each in changed])
    else:
        say("Every decision of this period comes out as it was.")
    if later:
        title = f"Later decisions that would now be different (times in {zone})"
        print_fitting(title, columns("would be"), [row(each) for each in later])
        say("These were not changed. To change them, decide their period again as well.")
    if changed:
        say("Recorded." if recorded else "Nothing was recorded: add --accept to record this.")


def _served(gets: Mapping[str, str]) -> str:
    return "; ".join(f"{agent}: {what}" for agent, what in gets.items()) or "nobody"


def agreed() -> bool:
    """Whether the person at the terminal answers yes; no answer means no."""
    try:
        answer = input("Record this? [y/N] ")
    except EOFError:
        answer = ""
        say()
    return answer.strip().lower() in ("y", "yes")
