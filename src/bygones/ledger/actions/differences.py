"""Decisions that come out differently now, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bygones._text import counted, plural
from bygones.document.document import Block, Cell, Column, Document, Table
from bygones.kinds import words
from bygones.ledger.actions.redecisions import Redecision
from bygones.ledger.model.rules import Rules
from bygones.ledger.model.times import shown


def differences(redecisions: Sequence[Redecision], rules: Rules, zone: str, *, recorded: bool) -> Document:
    """The decisions of a period that come out differently, and the later ones that depended on them."""
    changed, later = ([each for each in redecisions if each.in_period is inside] for inside in (True, False))
    blocks: list[Block] = []
    headline = "All decisions of this period come out unchanged."
    if changed:
        differ = "decided again" if recorded else "would come out differently"
        headline = f"{counted(len(changed), 'decision')} {differ} (times in {zone})"
        blocks.append(_table("", changed, "now" if recorded else "would be", zone))
    if later:
        blocks.append(_table(f"Later decisions that would now be different (times in {zone})", later, "would be", zone))
        blocks.append("These were not changed. To change them, decide their period again as well.")
    if changed:
        thing, received = rules.thing or "turn", words(rules.kind).received
        if recorded:
            blocks.append(f"Recorded. Each {thing} now counts for the agent in the column now.")
        else:
            is_one = sum(len(each.before) for each in changed) == 1
            past, they = (f"This {thing} is", "it was") if is_one else (f"These {plural(thing)} are", "they were")
            blocks.append(f"{past} in the past: accept only if {they} not {received} as decided.")
            blocks.append("Nothing was recorded: add --accept to record this.")
    return Document(headline, blocks, "Decided again")


def _table(title: str, redecisions: Sequence[Redecision], now: str, zone: str) -> Table:
    columns = [Column("decision"), Column("time"), Column("was", folds=True), Column(now, folds=True)]
    rows: list[list[Cell]] = [
        [
            each.seq,
            shown(each.time, zone),
            _gets(each.before),
            _gets(each.after) if each.after or not each.reasons else each.reasons[0],
        ]
        for each in redecisions
    ]
    return Table(title, columns, rows)


def _gets(gets: Mapping[str, str]) -> str:
    return "; ".join(f"{agent}: {what}" for agent, what in gets.items()) or "nobody"
