r"""The standing of all agents at one instant, and the starting amounts of newcomers.

Agent $i$ is entitled to the share $w_i/\sum_j w_j$ of the sum of all recent totals of those present. The agent is owed
the difference,

$$ \text{owed}_i = \frac{w_i}{\sum_j w_j}\sum_j Z_j - Z_i , $$

if it is above zero, and ahead by it if it is below zero. Over those present it sums to zero. Agents on hold or away
are left out.

Agents are compared *per unit* of entitlement: the agent who is owed most per unit, $\text{owed}_i/w_i = \bar Z -
Z_i/w_i$, has the least remembered per unit, and comes before the others in standings, decisions and audits alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bygones._text import amount, counted, decimals_of, listed, rounded
from bygones.document.document import Answer, Bar, Cell, Column, Document, Faint, Table
from bygones.kinds import words
from bygones.ledger.model import fold
from bygones.ledger.model.fold import NEVER, Snapshot
from bygones.ledger.model.participation import PRESENT, Participation, status
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.times import format_instant, iso, short_day

LEVEL = 5e-4
"""Who is owed less than this is level: nobody acts on so little."""


@dataclass(frozen=True, repr=False)
class Standing(Answer):
    """The standing at one instant, one entry per agent.

    Attributes:
        at: the instant.
        rules: the rules in force then.
        names: the agents who have joined by then.
        status: `present`, `on hold` or `away`.
        received: the true total, which never fades.
        remembered: the recent total, which includes offsets.
        entitlements: relative to one another.
        owed: by how much `remembered` is below the entitled share (above it if negative); NaN for those on hold or
            away. For burdens, an agent below the share of the load is *due*: they work next.
        joined: the instants at which they last joined.
        last: the instants at which something was last received, or `NEVER`.
        zone: the time zone in which instants are shown.
        participation: when they took part, and will by the holds, joins and departures ahead.
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
    participation: tuple[Participation, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Standing of {counted(len(self), 'agent')} at {format_instant(self.at, self.zone)}>"

    def document(self, since: Mapping[str, int] | None = None, later: Standing | None = None) -> Document:
        """The standing as people read it, the next agent first.

        Args:
            since: since when each agent who is owed something has been; without it, the table has the day on which
                each agent last received something.
            later: the standing at a later time if nothing more is recorded, to show next to this one.
        """
        if not len(self):
            return Document(f"No agent has joined by {format_instant(self.at, self.zone)}.", label="Standing")
        rules, thing, word = self.rules, self.rules.handed_out, words(self.rules.kind)
        most, ranking, following = max(self.remembered.max(), 0.0) or 1.0, self.ranked(), self.following
        columns: list[tuple[Column, Sequence[Cell]]] = [
            (Column("agent", folds=True), self.names),
            (Column(thing.with_unit(word.received), gives_way=3, exact=True), self.received.tolist()),
            (Column(thing.with_unit("recent"), 7, measure="total"), self.remembered.tolist()),
            (Column("", gives_way=1), [Bar(total / most) for total in self.remembered.tolist()]),
            (Column("balance"), self.balances()),
        ]
        if later is not None:
            row_of, day = {name: row for row, name in enumerate(later.names)}, short_day(later.at, self.zone, self.at)
            when, then = f"on {day}", [row_of[name] for name in self.names]
            columns.insert(
                4, (Column(f"{thing.with_unit('recent')} {when}", 4, measure="total"), later.remembered[then].tolist())
            )
            columns.append((Column(f"balance {when}", 5), [later.balances()[row] for row in then]))
        if self.is_unequal:
            shares = [Column("share", exact=True), Column(f"{thing.with_unit('recent')} per share", measure="total")]
            place = next(i for i, (column, _) in enumerate(columns) if column.name == "balance")
            cells = [self.entitlements.tolist(), self.recent_per_share.tolist()]
            columns[place:place] = zip(shares, cells, strict=True)
        instants = self.last.tolist() if since is None else [since.get(name, NEVER) for name in self.names]
        days = ["" if at == NEVER else short_day(at, self.zone, self.at) for at in instants]
        columns.append((Column(f"last {thing.name or word.received}" if since is None else "since", 6), days))
        rows = [[cells[row] for _, cells in columns] for row in ranking]
        chosen = frozenset(i for i, row in enumerate(ranking) if row in following)
        share = f"the {word.share}" if self.is_unequal else "an equal share"
        note = f"Balance: how far the {word.recent} is below ({word.owes}) or above (ahead) {share}."
        how = (
            f"Standing of {format_instant(self.at, self.zone)}, with {rules.welfare} welfare and the rule {rules.rule}."
        )
        table = Table("", [column for column, _ in columns], rows, chosen, note)
        return Document(
            self._headline(following), [table.without_empty(), f"{rules.memory_sentence} {how}"], "Standing"
        )

    def _headline(self, following: Sequence[int]) -> str:
        if not following:
            return "Everyone is level." if len(self.present) else "Nobody is present."
        names = [self.names[row] for row in following]
        rules, least = self.rules, words(self.rules.kind).least
        totals = self.recent_per_share if self.is_unequal else self.remembered
        shown = [*self.remembered.tolist(), *(totals.tolist() if self.is_unequal else [])]
        lowest = float(totals[following[0]])
        total = rules.handed_out.with_unit(rounded(lowest, decimals_of(shown)) if lowest else "0")
        lead = f"{listed(names, 3)} {'is next' if len(names) == 1 else 'are tied for the next turn'}, with"
        if rules.welfare == "utilitarian" or rules.rule == "prices":  # the needs decide as well, or alone
            lead = f"{listed(names, 3)} {'has' if len(names) == 1 else 'have'}"
        return f"{lead} the {least}{' per share' if self.is_unequal else ''}: {total}."

    @property
    def following(self) -> list[int]:
        """The rows of the agents who come next: owed something, and as much per unit of entitlement as the first."""
        ranking = self.ranked()
        if not ranking or not self.per_unit[ranking[0]] > LEVEL:
            return []
        return [row for row in ranking if self.per_unit[row] >= self.per_unit[ranking[0]] - LEVEL]

    def balances(self) -> list[Cell]:
        """The balance of each agent in words: `owes 2.3 h`, `6.1 h ahead`, `level`, `on hold`."""
        thing, owes = self.rules.handed_out, words(self.rules.kind).owes
        decimals = decimals_of([value for value in self.owed.tolist() if abs(value) > LEVEL])
        cells: list[Cell] = []
        for value, state in zip(self.owed.tolist(), self.status, strict=True):
            size = amount(abs(value)) if decimals is None else f"{abs(value):,.{decimals}f}"
            if math.isnan(value):
                cells.append(Faint("exempt" if state == PRESENT else state))
            elif abs(value) < LEVEL:
                cells.append("level")
            else:
                cells.append(f"{owes} {thing.with_unit(size)}" if value > 0 else f"{thing.with_unit(size)} ahead")
        return cells

    @cached_property
    def per_unit(self) -> np.ndarray:
        """The amount owed to each agent per unit of entitlement, by which agents are compared."""
        return per_unit(self.owed, self.entitlements)

    @property
    def recent_per_share(self) -> np.ndarray:
        """Each agent's recent total per unit of entitlement; NaN for agents who are exempt."""
        return per_unit(self.remembered, self.entitlements)

    @cached_property
    def is_unequal(self) -> bool:
        """Whether the entitlements of agents who are owed something or ahead differ."""
        return len(set(self.entitlements[~np.isnan(self.owed)].tolist())) > 1

    def ranked(self) -> list[int]:
        """The rows of all agents in the order in which they come: the most owed per unit of entitlement first."""
        return ranked(self.per_unit, self.names)

    @property
    def present(self) -> np.ndarray:
        """The rows of the agents present, who are not away and not on hold."""
        return np.flatnonzero([state == PRESENT for state in self.status])

    def to_dict(self, since: Mapping[str, int] | None = None, later: Standing | None = None) -> dict[str, Any]:
        """The standing, of the types that JSON has; the arguments are as in `document`."""
        agents = list(self.rows())
        after = {} if later is None else {row["agent"]: row for row in later.rows()}
        for row in agents:
            name = row["agent"]
            if since is not None:
                row["owed_since"] = iso(since[name]) if name in since else None
            if later is not None:
                then = after[name]
                row["later"] = {"at": iso(later.at), "remembered": then["remembered"], "owed": then["owed"]}
        return {"at": iso(self.at), "rules": self.rules.to_dict(), "agents": agents}

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
    """The standing at an instant of all agents who have joined by then, from a snapshot with nothing later in it."""
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
        participation=agents.participation,
    )


def owed(remembered: np.ndarray, entitlements: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The amount owed to each agent present; NaN for absent agents, and for agents exempt from a burden."""
    result = np.full(len(remembered), np.nan)
    present = present[entitlements[present] > 0]
    if len(present):
        weights = entitlements[present]
        result[present] = weights / weights.sum() * remembered[present].sum() - remembered[present]
    return result


def per_unit(owed: np.ndarray, entitlements: np.ndarray) -> np.ndarray:
    """The amount owed per unit of entitlement; NaN for agents who are away or exempt."""
    return np.asarray(np.divide(owed, entitlements, out=np.full(len(owed), np.nan), where=entitlements > 0))


def ranked(per_unit: np.ndarray, names: Sequence[str]) -> list[int]:
    """The rows of agents by the amount owed per unit, the most first, by name if equal, and absent agents last."""
    keys = [(math.isnan(each), -each, name) for each, name in zip(per_unit.tolist(), names, strict=True)]
    return sorted(range(len(names)), key=keys.__getitem__)


def newcomer_start(standing: Standing, rule: str, entitlement: float = 1.0) -> float:
    """The remembered utility that a newcomer of this entitlement starts with under a newcomer rule."""
    present = standing.present
    weights, weight = standing.entitlements[present], np.array(entitlement)
    return float(fold.newcomer_starts(rule, standing.remembered[present], weights, weight))
