"""A standing as notebooks show it: who is owed what, the most owed first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bygones._html import bar, card, note, table
from bygones._text import amount
from bygones.kinds import words
from bygones.ledger.model.fold import NEVER
from bygones.ledger.model.participation import PRESENT
from bygones.ledger.model.times import day, named

if TYPE_CHECKING:
    from bygones.ledger.model.standing import Standing


def as_html(standing: Standing) -> str:
    """The standing as a table with a row per agent."""
    rules, word = standing.rules, words(standing.rules.kind)
    title = f"{named(standing.at, standing.zone)}, {rules.memory_in_words}, {rules.welfare} welfare"
    if not len(standing):
        return card(title, note("No agent has joined yet."), name="Standing")
    per_unit = ["per unit"] if standing.is_unequal else []
    columns = ["agent", word.received, "remembered", "", word.owed, *per_unit, f"last {word.received}"]
    most = max(standing.remembered.max(), 0.0) or 1.0
    rows = [
        [
            standing.names[row],
            float(standing.received[row]),
            float(standing.remembered[row]),
            bar(standing.remembered[row] / most),
            _owed(standing, row),
            *([_signed(standing.per_unit[row])] if per_unit else []),
            "" if standing.last[row] == NEVER else day(int(standing.last[row]), standing.zone),
        ]
        for row in standing.ranked()
    ]
    share = "share of the load that is remembered" if rules.kind == "burden" else "entitled share of what is remembered"
    about = note(f"{word.owed.capitalize()}: how far below (+) or above (-) the {share}.")
    return card(title, table(columns, rows), about, name="Standing")


def _owed(standing: Standing, row: int) -> str:
    if standing.status[row] != PRESENT:
        return standing.status[row]
    return "exempt" if math.isnan(standing.owed[row]) else _signed(standing.owed[row])


def _signed(value: float) -> str:
    return "" if math.isnan(value) else "0" if abs(value) < 5e-4 else amount(float(value), sign=True)
