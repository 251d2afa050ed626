"""Who gets what now, from everybody's standing, with the reasons.

Ties are drawn by lot from the hash of the ledger's last event: anybody can draw again and get the same, nobody can
draw until they like the result, and nobody knows the lot before the events that lead to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones.allocation import Decision, allocate
from bygones.ledger import rows
from bygones.ledger.events import Event, check_text
from bygones.ledger.requests import Places, Request
from bygones.ledger.rules import Rules
from bygones.ledger.snapshot import NEVER
from bygones.ledger.standing import Standing, standing
from bygones.ledger.store import LedgerError
from bygones.ledger.times import UNITS, When, as_datetime, instant, iso, now, shown
from bygones.ledger.writing import Entry, LedgerWriter
from bygones.memory import Discounted, Memory, MemoryState, PerfectRecall

NAMED = 20
"""Reasons are given for as many agents who are served; for more, the numbers speak."""


class StaleProposalError(LedgerError):
    """Something was recorded since the proposal was made."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A decision that is recorded when it is accepted.

    Attributes:
        request: what there was to hand out.
        head: the number of the ledger's last event, from whose standing this follows.
        standing: where everybody stood.
        members: the rows of those who took part in the decision, in the order of `allocation`.
        allocation: who gets what.
    """

    request: Request
    head: int
    standing: Standing
    members: np.ndarray
    allocation: Decision

    @property
    def at(self) -> int:
        """The instant of the decision."""
        return self.standing.at

    @property
    def utilities(self) -> dict[str, float]:
        """What each of those who are served has from it."""
        worth = self.allocation.utilities
        return {self._name(row): float(worth[row]) for row in np.flatnonzero(worth > 0).tolist()}

    def gets(self) -> dict[str, str]:
        """What each of those who are served gets, in words."""
        served = np.flatnonzero(self.allocation.utilities > 0).tolist()
        return {self._name(row): self.request.given(self.allocation, row) for row in served}

    def reasons(self) -> list[str]:
        """Why, in plain sentences: where those served stood, and what the next best choice would have been."""
        served = np.flatnonzero(self.allocation.utilities > 0).tolist()
        if not served:
            return ["Nobody gets anything: nobody has any use for what there is."]
        return [*map(self._reason, served[:NAMED]), *self._past(), *self._runner_up()]

    def to_dict(self) -> dict[str, Any]:
        """The proposal as JSON can hold it."""
        return {
            "at": iso(self.at),
            "welfare": self.standing.rules.welfare,
            "half_life": self.standing.rules.half_life,
            "gets": self.gets(),
            "utilities": self.utilities,
            "reasons": self.reasons(),
            "optimal": self.allocation.optimal,
            "gap": self.allocation.gap,
        }

    def _name(self, row: int) -> str:
        return str(self.standing.names[self.members[row]])

    def _reason(self, row: int) -> str:
        member = self.members[row]
        level = (self.standing.remembered / self.standing.entitlements)[self.members]
        lower = int((level < level[row] * (1 - 1e-12)).sum())
        rank = "the lowest" if lower == 0 else f"{lower} lower"
        per = " per unit of entitlement" if self.standing.rules.entitlements else ""
        owed, last = self.standing.owed[member], int(self.standing.last[member])
        stood = f"owed {owed:.4g}" if owed >= 0 else f"{-owed:.4g} ahead of the entitled share"
        since = "nothing received before" if last == NEVER else f"last received {shown(last)} UTC"
        return (
            f"{self._name(row)} gets {self.request.given(self.allocation, row)}: remembered {level[row]:.4g}{per} "
            f"({rank} of {len(level)}), {stood}, {since}."
        )

    def _past(self) -> list[str]:
        rules = self.standing.rules
        if math.isinf(rules.seconds):
            return [f"Everything received counts in full ({rules.welfare} welfare, no half-life)."]
        return [f"What was received {rules.half_life} ago counts half ({rules.welfare} welfare)."]

    def _runner_up(self) -> list[str]:
        if not isinstance(self.request, Places):
            return []
        other = self.allocation.runner_up
        if other is None:
            return []
        chosen, instead = self.allocation.utilities > 0, other.utilities > 0
        into = ", ".join(self._name(row) for row in np.flatnonzero(instead & ~chosen).tolist()[:NAMED])
        out = ", ".join(self._name(row) for row in np.flatnonzero(chosen & ~instead).tolist()[:NAMED])
        if not into:
            return []
        if np.allclose(np.sort(self.allocation.after), np.sort(other.after), rtol=1e-9, atol=0):
            return [f"{into} instead of {out} would have been as good: the lot decided."]
        return [f"The next best choice was {into} instead of {out}."]


def propose(connection: sa.Connection, head: sa.Row[Any], request: Request, at: When | None) -> Proposal:
    """The best allocation from the standing at an instant, by default now; never before the latest event."""
    book = rows.load_book(head.rules)
    latest = max(int(head.latest), book.began)
    time = max(now(), latest) if at is None else instant(at)
    if time < latest:
        raise ValueError(f"at must not be before the latest event ({shown(latest)} UTC), got {at}")
    stood = standing(connection, book, time)
    members = stood.present
    names = [stood.names[row] for row in members]
    _check_agents(request, stood, names)
    allocation = allocate(
        request.problem(names),
        memory_of(stood.rules),
        _state(stood.remembered[members]),
        stood.rules.welfare,
        elapsed=0,
        entitlements=stood.entitlements[members] if stood.rules.entitlements else None,
        agents=names,
        time_unit="day",
        rng=np.random.default_rng(int.from_bytes(head.head_hash)),
    )
    return Proposal(request, int(head.head), stood, members, allocation)


def accept(writer: LedgerWriter, proposal: Proposal, note: str = "") -> list[Event]:
    """Records a decision and what was received by it."""
    if writer.head.head != proposal.head:
        raise StaleProposalError("somebody recorded something since this was proposed: decide again")
    reasons = {"request": proposal.request.to_dict(), **proposal.to_dict()}
    at = as_datetime(proposal.at)
    decision = writer.append("decision", writer.time(at), details=reasons, note=check_text("note", note))
    entries = [Entry(name, utility, at) for name, utility in proposal.utilities.items()]
    return [decision, *writer.amounts("received", entries, refers=decision.seq)]


def memory_of(rules: Rules) -> Memory:
    """The memory of these rules, whose step is a day."""
    days = rules.seconds / UNITS["d"]
    return PerfectRecall() if math.isinf(days) else Discounted(half_life=days)


def _state(remembered: np.ndarray) -> MemoryState:
    return MemoryState(remembered, np.zeros(()), np.zeros_like(remembered), np.zeros(()))


def _check_agents(request: Request, stood: Standing, names: Sequence[str]) -> None:
    status = dict(zip(stood.names, stood.status, strict=True))
    for agent in sorted(request.agents - set(names)):
        where = f"is {status[agent]} at {shown(stood.at)} UTC" if agent in status else "has not joined this ledger"
        raise ValueError(f"unknown agent {agent!r}: it {where}")
    if not names:
        raise ValueError("nobody is present to decide about: join somebody first")
