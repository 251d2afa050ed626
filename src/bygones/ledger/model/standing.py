r"""Where everybody stands at one instant, and what newcomers start with.

Of all that is remembered, agent $i$ is entitled to the share $w_i/\sum_j w_j$ among those present. The agent is owed
the difference,

$$ \text{owed}_i = \frac{w_i}{\sum_j w_j}\sum_j Z_j - Z_i , $$

if it is above zero, and ahead by it if it is below zero. Over those present it sums to zero. Agents on hold or away
are left out.

Agents are compared *per unit* of entitlement: whoever is owed most per unit, $\text{owed}_i/w_i = \bar Z - Z_i/w_i$,
has the least remembered per unit, and comes before the others in standings, decisions and audits alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bygones._text import amount, counted
from bygones.document.document import Answer, Bar, Cell, Document, Table
from bygones.kinds import words
from bygones.ledger.model import fold
from bygones.ledger.model.fold import NEVER, Snapshot
from bygones.ledger.model.participation import PRESENT, status
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.times import day, iso, named


@dataclass(frozen=True, repr=False)
class Standing(Answer):
    """Where everybody stands at one instant, one entry per agent.

    Attributes:
        at: the instant.
        rules: the rules in force then.
        names: the agents who have joined by then.
        status: `present`, `on hold` or `away`.
        received: the true total, which never fades.
        remembered: how much of it, and of offsets, still counts.
        entitlements: relative to one another.
        owed: by how much `remembered` is below the entitled share (above it if negative); NaN for those on hold or
            away. Of burdens, below the share of the load is *due*: they are to carry more before the others do.
        joined: the instants at which they last joined.
        last: the instants at which something was last received, or `NEVER`.
        zone: the time zone in which instants are shown.
    """

    at: int
    rules: Rules
    names: tuple[str, ...]
    status: tuple[str, ...]
    received: np.ndarray
    remembered: np.ndarray
    entitlements: np.ndarray
    owed: np.ndarray
    joined: np.ndarray
    last: np.ndarray
    zone: str = "UTC"

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Standing of {counted(len(self), 'agent')} at {named(self.at, self.zone)}>"

    def document(self) -> Document:
        """The standing as people read it."""
        title = f"{named(self.at, self.zone)}, {self.rules.memory_in_words}, {self.rules.welfare} welfare"
        if not len(self):
            return Document(title, ["No agent has joined yet."], "Standing")
        word, most = words(self.rules.kind), max(self.remembered.max(), 0.0) or 1.0
        per_unit = ["per unit"] if self.is_unequal else []
        columns = ["agent", word.received, "remembered", "", word.owed, *per_unit, f"last {word.received}"]
        rows: list[list[Cell]] = [
            [
                self.names[row],
                float(self.received[row]),
                float(self.remembered[row]),
                Bar(self.remembered[row] / most),
                self.owed_text(row),
                *([self.per_unit_text(row)] if per_unit else []),
                self.last_text(row),
            ]
            for row in self.ranked()
        ]
        return Document(title, [Table("", columns, rows, note=self.owed_meaning)], "Standing")

    def owed_text(self, row: int) -> str:
        """What an agent is owed, as tables show it, or why nothing is: `exempt`, `on hold` or `away`."""
        if np.isnan(self.owed[row]):
            return "exempt" if self.status[row] == PRESENT else self.status[row]
        return _signed(self.owed[row])

    def per_unit_text(self, row: int) -> str:
        """What an agent is owed per unit of entitlement, as tables show it."""
        return "" if np.isnan(self.owed[row]) else _signed(self.per_unit[row])

    def last_text(self, row: int) -> str:
        """The day on which an agent last received something, empty if never."""
        return "" if self.last[row] == NEVER else day(int(self.last[row]), self.zone)

    @property
    def owed_meaning(self) -> str:
        """What the column of what is owed says, in a sentence."""
        is_burden = self.rules.kind == "burden"
        share = "share of the load that is remembered" if is_burden else "entitled share of what is remembered"
        return f"{words(self.rules.kind).owed.capitalize()}: how far below (+) or above (-) the {share}."

    @cached_property
    def per_unit(self) -> np.ndarray:
        """What each agent is owed per unit of entitlement, by which agents are compared."""
        return per_unit(self.owed, self.entitlements)

    @cached_property
    def is_unequal(self) -> bool:
        """Whether the entitlements of those who are owed something or ahead differ."""
        return len(set(self.entitlements[~np.isnan(self.owed)].tolist())) > 1

    def ranked(self) -> list[int]:
        """The rows of all agents in the order in which they come: the most owed per unit of entitlement first."""
        return ranked(self.per_unit, self.names)

    @property
    def present(self) -> np.ndarray:
        """The rows of those who are present, not away and not on hold."""
        return np.flatnonzero([state == PRESENT for state in self.status])

    def to_dict(self) -> dict[str, Any]:
        """The standing, of the types that JSON has."""
        return {"at": iso(self.at), "rules": self.rules.to_dict(), "agents": list(self.rows())}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One agent after the other, in the order of `names`."""
        each = self.per_unit
        for i, name in enumerate(self.names):
            yield {
                "agent": name,
                "status": self.status[i],
                "received": float(self.received[i]),
                "remembered": float(self.remembered[i]),
                "entitlement": float(self.entitlements[i]),
                "owed": None if np.isnan(self.owed[i]) else float(self.owed[i]),
                "owed_per_unit": None if np.isnan(self.owed[i]) else float(each[i]),
                "joined": iso(int(self.joined[i])),
                "last_received": None if self.last[i] == NEVER else iso(int(self.last[i])),
            }


def standing_of(book: RuleBook, agents: Snapshot, at: int) -> Standing:
    """The standing at an instant of those who have joined by then, from a snapshot with nothing later in it."""
    rules = book.at(at)
    joined = np.flatnonzero([changes[0][0] <= at for changes in agents.participation])
    agents = agents if len(joined) == len(agents) else agents.take(joined)
    states = tuple(status(changes, at) for changes in agents.participation)
    joins = [max(time for time, kind in each if kind == "join" and time <= at) for each in agents.participation]
    entitlements = rules.entitlements_of(agents.names)
    remembered, received = fold.remembered(agents, book, at), agents.received
    fold.check_sums(agents.names, remembered, received)
    return Standing(
        at=at,
        rules=rules,
        names=agents.names,
        status=states,
        received=received,
        remembered=remembered,
        entitlements=entitlements,
        owed=owed(remembered, entitlements, np.flatnonzero([state == PRESENT for state in states])),
        joined=np.array(joins, dtype=np.int64),
        last=agents.last,
        zone=book.zone,
    )


def owed(remembered: np.ndarray, entitlements: np.ndarray, present: np.ndarray) -> np.ndarray:
    """What each of those present is owed; NaN for the others, and for those who are exempt from a burden."""
    result = np.full(len(remembered), np.nan)
    present = present[entitlements[present] > 0]
    if len(present):
        weights = entitlements[present]
        result[present] = weights / weights.sum() * remembered[present].sum() - remembered[present]
    return result


def per_unit(owed: np.ndarray, entitlements: np.ndarray) -> np.ndarray:
    """What is owed per unit of entitlement; NaN for agents who are away or exempt."""
    return np.asarray(np.divide(owed, entitlements, out=np.full(len(owed), np.nan), where=entitlements > 0))


def ranked(per_unit: np.ndarray, names: Sequence[str]) -> list[int]:
    """The rows of agents by what they are owed per unit, the most first, by name if equal; those who are away last."""
    keys = [(math.isnan(each), -each, name) for each, name in zip(per_unit.tolist(), names, strict=True)]
    return sorted(range(len(names)), key=keys.__getitem__)


def newcomer_start(standing: Standing, rule: str, entitlement: float = 1.0) -> float:
    """The remembered utility that a newcomer of this entitlement starts with under a newcomer rule."""
    present = standing.present
    weights, weight = standing.entitlements[present], np.array(entitlement)
    return float(fold.newcomer_starts(rule, standing.remembered[present], weights, weight))


def _signed(value: float) -> str:
    return "0" if abs(value) < 5e-4 else amount(float(value), sign=True)
