"""Who gets what on dates ahead, decided date after date.

Each date is decided from the standing as it will be then, with the holds, joins and rules of then, and with what the
dates before it give. What is planned is an event of its own kind. Its time lies ahead: until then it waits, and from
then on it counts as received, without any command. Hard rules, such as times of rest, would restrict the request of a
date, in `possible`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._text import check_text
from bygones.allocation.problems import Assign
from bygones.allocation.requests import Amount, Items, Places, Request
from bygones.ledger import draws, rows, schema, snapshot
from bygones.ledger.deciding import METHOD, PastDecision, Proposal, proposal
from bygones.ledger.events import Event
from bygones.ledger.plan_tables import DateNeeds
from bygones.ledger.rules import RuleBook
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.standing import Standing, known_at, standing_of
from bygones.ledger.starting import advance
from bygones.ledger.times import as_datetime, iso
from bygones.ledger.turns import PRESENT
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import FURTHEST, Entry, LedgerWriter

PLANNED_AS = "planned_as"
"""In the details of a turn that was swapped: what it was in words when it was planned, if that is another now."""


class Turn(NamedTuple):
    """What one agent gets on a date, in words, and its utility."""

    agent: str
    what: str
    amount: float


class PlannedTurn(NamedTuple):
    """A turn of a published plan.

    Attributes:
        seq: the event.
        plan: the event of its date's plan.
        at: the instant.
        all_day: whether the date has no time.
        agent: whose turn it is.
        what: what it is, in words.
        amount: its utility.
        status: whether the agent is `present` then, `on hold` or `away`.
        recorded: when it was planned.
        planned_as: what it was in words when it was planned, which a swap does not change.
    """

    seq: int
    plan: int
    at: int
    all_day: bool
    agent: str
    what: str
    amount: float
    status: str
    recorded: int
    planned_as: str

    def to_dict(self) -> dict[str, Any]:
        """The turn, of the types that JSON has."""
        return self._asdict() | {"at": iso(self.at), "recorded": iso(self.recorded)}


@dataclass(frozen=True, eq=False)
class PlannedDate:
    """The plan for a date: what there is to hand out, who gets what, and who was left out for which reason."""

    needs: DateNeeds
    proposal: Proposal | PastDecision
    turns: list[Turn]
    left_out: dict[str, str]


@dataclass(frozen=True, eq=False)
class Plan:
    """Dates ahead, with everybody's standing before and, if all goes as planned, after them."""

    dates: tuple[PlannedDate, ...]
    before: Standing
    after: Standing

    def to_dict(self) -> dict[str, Any]:
        """The plan, of the types that JSON has."""
        dates = [
            {
                "date": iso(each.needs.at),
                "turns": [turn._asdict() for turn in each.turns],
                "left_out": each.left_out,
                "reasons": each.proposal.reasons(),
            }
            for each in self.dates
        ]
        return {"dates": dates, "before": self.before.to_dict(), "after": self.after.to_dict()}

    def besides(self) -> dict[str, Any]:
        """What does not follow from the events of the plan, of the types that JSON has.

        Those who were left out are in their order, which JSON's objects do not keep.
        """
        before, after = self.before.to_dict(), self.after.to_dict()
        left_out = [list(each.left_out.items()) for each in self.dates]
        return {"before": before, "after": after, "zone": self.after.zone, "left_out": left_out}


def draft(connection: sa.Connection, head: sa.Row[Any], wanted: Sequence[DateNeeds]) -> Plan:
    """Decides date after date; nothing is recorded."""
    book, now = rows.load_book(head.rules), rows.clock(connection)
    _check_dates(connection, book, now, wanted)
    before = standing_of(book, known_at(connection, book, now).agents, now)
    known = known_at(connection, book, wanted[0].at)
    agents, reached, found = known.agents, wanted[0].at, []
    drawn = draws.upcoming(connection)
    for needs in wanted:
        agents, _ = advance(connection, book, known.ids, agents, reached, needs.at)
        reached = needs.at
        stood = standing_of(book, agents, needs.at)
        request, left_out = possible(needs.request, stood)
        try:
            made = proposal(connection, stood, request, int(head.head), drawn.at(needs.at))
        except ValueError as error:
            raise ValueError(f"{book.named(needs.at)}: {error}") from None
        left_out |= dict.fromkeys(needs.unavailable, "not available")
        found.append(PlannedDate(needs, made, turns_of(made), left_out))
        agents = _served(agents, book, needs.at, found[-1].turns)
    return Plan(tuple(found), before, standing_of(book, agents, reached))


def published(wanted: Sequence[DateNeeds], events: Sequence[Event], besides: Mapping[str, Any]) -> Plan:
    """A plan that was published for these dates, from its events and what does not follow from them."""
    turns: dict[int | None, list[Turn]] = {}
    for event in events:
        if event.kind == "planned":
            turn = Turn(str(event.agent), str((event.details or {})["what"]), float(event.amount or 0.0))
            turns.setdefault(event.refers, []).append(turn)
    plans = [event for event in events if event.kind == "plan"]
    dates = [
        PlannedDate(needs, PastDecision(plan), turns.get(plan.seq, []), dict(left_out))
        for needs, plan, left_out in zip(wanted, plans, besides["left_out"], strict=True)
    ]
    before, after = (Standing.from_dict(besides[name], besides["zone"]) for name in ("before", "after"))
    return Plan(tuple(dates), before, after)


def publish(writer: LedgerWriter, plan: Plan, note: str = "") -> None:
    """Records a plan."""
    note = check_text("note", note)
    drawn = {"draw": draws.reveal(writer.connection, writer.next)}  # all dates draw with this seed, each in its own way
    for each in plan.dates:
        details = {"method": METHOD, "request": each.needs.request.to_dict(), **each.proposal.details()}
        details, drawn = {**details, "all_day": each.needs.all_day, **drawn}, {}
        record_date(writer, each.needs.at, details, each.turns, note)


def record_date(writer: LedgerWriter, at: int, details: dict[str, Any], turns: Sequence[Turn], note: str = "") -> None:
    """Records the plan for a date and its turns."""
    event = writer.append("plan", writer.time(as_datetime(at)), details=details, note=note)
    entries = [Entry(turn.agent, turn.amount, as_datetime(at)) for turn in turns]
    writer.amounts("planned", entries, refers=event.seq, details=[{"what": turn.what} for turn in turns])


def planned(connection: sa.Connection, book: RuleBook, start: int, end: int | None = None) -> list[PlannedTurn]:
    """The turns that are planned from an instant on, in the order of time."""
    table, names = schema.events, schema.agents
    plans = schema.events.alias("plans")
    query = (
        sa.select(table, names.c.name, names.c.turns, plans.c.details.label("plan_details"))
        .join(names, table.c.agent == names.c.id)
        .join(plans, plans.c.seq == table.c.refers)
        .where(table.c.kind == "planned", table.c.time >= start, in_effect())
    )
    if end is not None:
        query = query.where(table.c.time < end)
    found = []
    for row in connection.execute(query.order_by(table.c.time, table.c.seq)):
        about, all_day = rows.load_details(row.details), bool(rows.load_details(row.plan_details).get("all_day"))
        what, status = str(about.get("what", "")), rows.status_of(row.turns, row.time)
        first = str(about.get(PLANNED_AS, what))
        mine = (row.seq, row.refers, row.time, all_day, row.name, what, row.amount, status, row.recorded, first)
        found.append(PlannedTurn(*mine))
    return found


def turns_of(made: Proposal) -> list[Turn]:
    """Who gets what in a proposal, one turn for each item."""
    return list(_turns(made))


def _turns(made: Proposal) -> Iterator[Turn]:
    decided = made.allocation
    if not isinstance(decided.problem, Assign):
        for name, what in made.gets().items():
            yield Turn(name, what, made.utilities[name])
        return
    for item, row in enumerate(decided.given.tolist()):
        if row >= 0:
            worth = float(np.asarray(decided.problem.utilities)[row, item])
            yield Turn(decided.agent_names[row], decided.item_names[item], worth)


def possible(request: Request, stood: Standing) -> tuple[Request, dict[str, str]]:
    """The request of those who take part then, and why others do not."""
    status = dict(zip(stood.names, stood.status, strict=True))
    for agent in request.agents:
        if agent not in status:
            raise rows.unknown_agent(agent, stood.names)
    left_out = {agent: status[agent] for agent in request.agents if status[agent] != PRESENT}
    return (only(request, [agent for agent in request.agents if agent not in left_out]), left_out)


def only(request: Request, agents: Sequence[str]) -> Request:
    """The request of some agents alone."""
    kept = set(agents)
    if isinstance(request, Places):
        return replace(request, needs={name: need for name, need in request.needs.items() if name in kept})
    if isinstance(request, Items):
        utilities = {name: mine for name, mine in request.utilities.items() if name in kept}
        return replace(request, utilities=utilities, order=request.items)
    if isinstance(request, Amount):
        caps = None if request.caps is None else {name: cap for name, cap in request.caps.items() if name in kept}
        return replace(request, rates={name: rate for name, rate in request.rates.items() if name in kept}, caps=caps)
    raise ValueError(f"a plan hands out places, items or an amount, got {type(request).__name__}")


def _check_dates(connection: sa.Connection, book: RuleBook, now: int, wanted: Sequence[DateNeeds]) -> None:
    if not wanted:
        raise ValueError("a plan must have at least one date, got none")
    if wanted[0].at <= now:
        raise ValueError(
            f"a plan must lie in the future, got {book.named(wanted[0].at)}: leave out dates that have begun, or give "
            "a time as well"
        )
    if wanted[-1].at > now + FURTHEST:
        raise ValueError(f"a plan must not reach more than a year ahead, got {book.named(wanted[-1].at)}")
    table = schema.events
    query = sa.select(table.c.seq, table.c.time).where(
        table.c.kind == "plan", table.c.time.in_([needs.at for needs in wanted]), in_effect()
    )
    there = connection.execute(query.order_by(table.c.time).limit(1)).one_or_none()
    if there is not None:
        raise ValueError(
            f"{book.named(there.time)} is planned already (event {there.seq}): take it back with `bygones ledger "
            "unplan`, or decide it again with `bygones ledger replan`"
        )


def _served(agents: Snapshot, book: RuleBook, at: int, turns: Sequence[Turn]) -> Snapshot:
    row_of = {name: row for row, name in enumerate(agents.names)}
    return snapshot.add(
        agents,
        book,
        np.array([row_of[turn.agent] for turn in turns], dtype=np.int64),
        np.full(len(turns), at, dtype=np.int64),
        np.array([turn.amount for turn in turns], dtype=float),
        np.full(len(turns), True),
    )
