"""Who gets what now, from everybody's standing and under the ledger's rule, with the reasons.

A random draw decides between equally good choices, with a seed that was committed to before the proposal and is
revealed in the decision; see `draws.py`. Nobody can draw again until they like it, and anybody can check it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._text import check_text, listed
from bygones.allocation import Decision, allocate, normalised, usual_reports
from bygones.allocation.explain import sentences
from bygones.allocation.problem_contract import NAMED
from bygones.allocation.requests import Request
from bygones.kinds import words
from bygones.ledger import draws, past_needs, rows, schema
from bygones.ledger.draws import Draw
from bygones.ledger.events import DECISIONS, RECEIVED, Event
from bygones.ledger.rules import RuleBook, Rules
from bygones.ledger.snapshot import NEVER
from bygones.ledger.standing import Standing, standing
from bygones.ledger.store import LedgerError
from bygones.ledger.times import UNITS, When, as_datetime, iso, named
from bygones.ledger.turns import ON_HOLD
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import SKEW, Entry, LedgerWriter
from bygones.memory import Discounted, Memory, MemoryState, PerfectRecall

METHOD = 1
"""Goes up by one when the same request, rules and past would be decided otherwise than before; `verify` makes decisions
of this method again."""

ONLY_STORED = ("method", "request", "draw", "batch")
"""What a ledger stores of a decision and a proposal does not tell."""


class StaleProposalError(LedgerError):
    """Something has been recorded since the proposal was made."""


@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """A decision that is recorded once it is accepted.

    Attributes:
        request: what there was to hand out.
        head: the number of the ledger's last event, from whose standing this follows.
        standing: where everybody stood.
        members: the rows of `standing` of those who took part in the decision, in the order of `allocation`.
        allocation: who gets what.
        usual: what each agent usually reports, where reports are normalised; else empty.
        commitment: the hash of the seed that decided between equally good choices.
    """

    request: Request
    head: int
    standing: Standing
    members: np.ndarray
    allocation: Decision
    usual: Mapping[str, float] = field(default_factory=dict)
    commitment: str = ""

    @property
    def at(self) -> int:
        """The instant of the decision."""
        return self.standing.at

    @property
    def utilities(self) -> dict[str, float]:
        """The utility of each agent who is served."""
        worth = self.allocation.utilities
        return {self._name(row): float(worth[row]) for row in self.allocation.served.tolist()}

    def gets(self) -> dict[str, str]:
        """What each agent who is served gets, in words."""
        return self.allocation.gets

    def reasons(self) -> list[str]:
        """The decision and its reasons, with what those who are served are owed (due) and when they last received."""
        names = set(self.request.asking)
        asking = {row for row, name in enumerate(self.allocation.agent_names) if name in names}
        return [*sentences(self.allocation, self._standing_of, asking), *self._normalised()]

    def details(self) -> dict[str, Any]:
        """What the ledger stores of the decision."""
        return {
            "at": iso(self.at),
            "welfare": self.standing.rules.welfare,
            **self._priced(),
            **({"usual": dict(self.usual)} if self.usual else {}),
            "half_life": self.standing.rules.half_life,
            "gets": self.gets(),
            "utilities": self.utilities,
            "reasons": self.reasons(),
            "optimal": self.allocation.optimal,
            "gap": self.allocation.gap,
        }

    def to_dict(self) -> dict[str, Any]:
        """The proposal, of the types that JSON has.

        It has the keys of `Decision.to_dict`, where `utilities` are by name and only of those who are served, and
        `prices` are by name and only of those who asked.
        """
        details = self.details()
        data = {**self.allocation.to_dict(), **details, "commitment": self.commitment}
        return {**data, "explanation": " ".join(details["reasons"])}

    def besides(self) -> dict[str, Any]:
        """What `to_dict` says beyond `details` and the explanation."""
        details = self.details()
        return {name: each for name, each in self.to_dict().items() if name not in (*details, "explanation")}

    def __repr__(self) -> str:
        return f"<Proposal at {named(self.at, self.standing.zone)}: {self.allocation!r}>"

    def _repr_html_(self) -> str:
        from bygones.allocation.decision_card import as_html

        return as_html(self.allocation, self.reasons())

    def _normalised(self) -> list[str]:
        means = [f"{name} {self.usual[name]:.4g}" for name in self.request.agents if name in self.usual][:NAMED]
        if not means:
            return []
        return [f"Reports count as multiples of what each usually reports: {listed(means)} on average."]

    def _priced(self) -> dict[str, Any]:
        """The rule, and what a unit counted for each of those who asked, where that is `prices`."""
        if self.allocation.prices is None:
            return {}
        paid = dict(zip(self.allocation.agent_names, self.allocation.prices.tolist(), strict=True))
        return {
            "rule": self.allocation.rule,
            "prices": {name: paid[name] for name in self.request.agents},
            "learned_from": self.allocation.learned_from,
        }

    def _name(self, row: int) -> str:
        return self.allocation.agent_names[row]

    def _standing_of(self, row: int) -> str:
        member = self.members[row]
        owed, last = self.standing.owed[member], int(self.standing.last[member])
        word = words(self.standing.rules.kind)
        each = (
            f" ({abs(self.standing.per_unit[member]):.4g} per unit)" if self.standing.entitlements[member] != 1 else ""
        )
        stood = f"{word.owed} {owed:.4g}{each}" if owed >= 0 else f"ahead by {-owed:.4g}{each}"
        before = (
            f"nothing {word.received} before"
            if last == NEVER
            else f"last {word.received} {named(last, self.standing.zone)}"
        )
        return f"{stood}; {before}"


@dataclass(frozen=True)
class PastDecision:
    """A decision as it was recorded.

    Attributes:
        event: the decision.
    """

    event: Event

    @property
    def utilities(self) -> dict[str, float]:
        """The utility of each agent who was served."""
        return dict(self.details()["utilities"])

    def gets(self) -> dict[str, str]:
        """What each agent who was served got, in words."""
        return dict(self.details()["gets"])

    def reasons(self) -> list[str]:
        """The decision and its reasons."""
        return list(self.details()["reasons"])

    def details(self) -> dict[str, Any]:
        """What the ledger stored of the decision."""
        return self.event.details or {}

    def to_dict(self) -> dict[str, Any]:
        """The decision, of the types that JSON has; if it was made with a key, what the proposal told."""
        details, besides = self.details(), self.besides()
        if besides:
            details = besides | {name: each for name, each in details.items() if name not in ONLY_STORED}
        return {**details, "explanation": " ".join(self.reasons())}

    def besides(self) -> dict[str, Any]:
        """What the proposal told beyond `details` and the explanation; empty if it was not stored."""
        return self.details().get("batch", {}).get("answer") or {}

    def _repr_html_(self) -> str:
        from bygones._html import bullets, card

        title, *why = self.reasons()
        return card(title, bullets(why), name="Decision")


def propose(
    connection: sa.Connection, head: sa.Row[Any], request: Request, at: When | None, now: int | None = None
) -> Proposal:
    """The best allocation from the standing at an instant, by default now, as the clock says or the caller knows.

    It cannot be ahead of the clock, and not before anything that has been received or decided by now.
    """
    book = rows.load_book(head.rules)
    time = _time(connection, book, at, rows.clock(connection) if now is None else now)
    stood = standing(connection, book, time)
    return proposal(connection, stood, request, int(head.head), draws.upcoming(connection))


def proposal(
    connection: sa.Connection,
    stood: Standing,
    request: Request,
    head: int,
    draw: Draw,
    without: Collection[int] = (),
) -> Proposal:
    """The best allocation from a standing.

    Args:
        connection: the ledger.
        stood: where everybody stands.
        request: what there is to hand out.
        head: the number of the ledger's last event.
        draw: decides between equally good choices.
        without: decisions from whose requests nothing is learned.
    """
    members = stood.present
    names = [stood.names[row] for row in members]
    _check_agents(request, stood, names)
    rules, remembered = stood.rules, stood.remembered[members]
    by_prices, normalising = rules.rule == "prices", rules.reports == "normalised"
    past = past_needs.requests(connection, stood.at, without) if by_prices or normalising else []
    usual = usual_reports([*past, request]) if normalising else {}
    problem = (normalised(request, usual) if usual else request).problem(names, rules.kind)
    past = [normalised(each, usual) for each in past] if usual else past
    learned = past_needs.learned(past, rules, names) if by_prices else None
    allocation = allocate(
        problem,
        memory_of(rules),
        _state(remembered, past_needs.steps_like(problem, remembered) if by_prices else 0.0),
        rules.welfare,
        elapsed=0,
        entitlements=stood.entitlements[members] if rules.entitlements else None,
        agents=names,
        items=request.items,
        time_unit="day",
        rule=rules.rule,
        calibration=None if learned is None else learned.prices,
        learned_from=past_needs.described(learned),
        rng=draw.rng,
    )
    stood = replace(stood, last=_last_counted(connection, stood, members[allocation.served[:NAMED]].tolist()))
    return Proposal(request, head, stood, members, allocation, usual, draw.commitment)


def accept(writer: LedgerWriter, proposal: Proposal, note: str = "") -> list[Event]:
    """Records a decision and the utilities received through it."""
    nothing_since = proposal.head in (writer.began_with, writer.head.head)
    if not nothing_since or draws.upcoming(writer.connection).commitment != proposal.commitment:
        raise StaleProposalError("something has been recorded since this proposal was made: decide again")
    drawn = draws.reveal(writer.connection, writer.next)
    details = {"method": METHOD, "request": proposal.request.to_dict(), **proposal.details(), "draw": drawn}
    at = as_datetime(proposal.at)
    time = writer.time(at, ahead=SKEW)
    decision = writer.append("decision", time, details=details, note=check_text("note", note))
    entries = [Entry(name, utility, at) for name, utility in proposal.utilities.items()]
    return [decision, *writer.amounts("received", entries, refers=decision.seq)]


def _time(connection: sa.Connection, book: RuleBook, at: When | None, now: int) -> int:
    """The instant of a decision."""
    time = max(now, book.began) if at is None else book.instant(at)
    if time > now + SKEW:
        raise ValueError(
            f"at must not be in the future (it is now {book.named(now)}), got "
            f"{book.named(time) if at is None else at}: decide when the time has come, or plan it (bygones ledger plan)"
        )
    table = schema.events
    kinds = (*DECISIONS, *RECEIVED, "offset", "correction")
    later = [table.c.time > time, table.c.time <= now, table.c.kind.in_(kinds), in_effect()]
    query = sa.select(table.c.time).where(*later).order_by(table.c.time.desc()).limit(1)
    latest = connection.execute(query).scalar()
    if latest is not None:
        raise ValueError(
            f"at must not be before what was last received or decided ({book.named(latest)}), got {at}: "
            "to decide a past period again, use `bygones ledger redecide`"
        )
    return time


def _last_counted(connection: sa.Connection, stood: Standing, served: Sequence[int]) -> np.ndarray:
    """When agents last received something, for some of them without what is 0 or was corrected to 0."""
    table, agents, correction = schema.events, schema.agents, schema.events.alias("correction")
    corrections = [correction.c.refers == table.c.seq, correction.c.kind == "correction", in_effect(correction)]
    by = sa.select(sa.func.coalesce(sa.func.sum(correction.c.amount), 0.0)).where(*corrections).scalar_subquery()
    times = sa.select(table.c.time).join_from(table, agents, table.c.agent == agents.c.id)
    times = times.where(table.c.kind.in_(RECEIVED), in_effect()).order_by(table.c.time.desc()).limit(1)
    last = stood.last.copy()
    for row in served:
        mine = times.where(agents.c.name == stood.names[row])
        # A plan that is being made gives turns that are not among the events yet.
        if connection.execute(mine.where(table.c.time == int(last[row]))).scalar() is not None:
            counted = mine.where(table.c.time <= int(last[row]), table.c.amount + by > 1e-9 * table.c.amount)
            found = connection.execute(counted).scalar()
            last[row] = NEVER if found is None else found
    return last


def memory_of(rules: Rules) -> Memory:
    """The memory of these rules, whose step is a day."""
    days = rules.seconds / UNITS["d"]
    return PerfectRecall() if math.isinf(days) else Discounted(half_life=days)


def _state(remembered: np.ndarray, steps: float) -> MemoryState:
    return MemoryState(remembered, np.asarray(steps), np.zeros_like(remembered), np.zeros(()))


def _check_agents(request: Request, stood: Standing, names: Sequence[str]) -> None:
    status = dict(zip(stood.names, stood.status, strict=True))
    for agent in sorted(set(request.agents) - set(names)):
        if agent not in status:
            raise rows.unknown_agent(agent, stood.names)
        raise ValueError(
            f"agent {agent!r} is {status[agent]} at {named(stood.at, stood.zone)} and cannot take part in this "
            f"decision: {'resume' if status[agent] == ON_HOLD else 'join'} them first, or leave them out of the request"
        )
    if not names:
        raise ValueError("no agent is present: let somebody join first")
    if stood.rules.kind == "burden" and not request.asking:
        raise ValueError(
            f"nobody can carry this burden at {named(stood.at, stood.zone)}: everybody who was named is on hold, away, "
            "not available or has an empty cell; name somebody who can"
        )
