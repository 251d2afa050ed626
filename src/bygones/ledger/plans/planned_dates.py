"""Who gets what on dates ahead, decided date after date.

Each date is decided from the standing expected on it, with the holds, joins and rules of that time, and with the turns
of the dates before it. A planned turn is an event of the kind `planned`. Its time lies ahead: until then it waits, and
from then on it counts as received, without any command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._text import check_text, counted, listed
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.problems import problem_from
from bygones.document.document import Answer, Block, Cell, Column, Document, Table
from bygones.ledger.actions import records, remade
from bygones.ledger.actions.decisions import JOINS, Proposal, check_together, possible, proposal, why_left_out
from bygones.ledger.model import fold
from bygones.ledger.model.events import Entry, Event, load_details
from bygones.ledger.model.participation import PRESENT, Participation, status_over
from bygones.ledger.model.participation import read as read_participation
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.span import Span, Spans, load_spans, span_of, whole
from bygones.ledger.model.standing import Standing, standing_of
from bygones.ledger.model.times import as_datetime, day, day_in_words, iso, shown
from bygones.ledger.plans.date_needs import DateNeeds
from bygones.ledger.storage import derived, draw_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import corrects, in_effect
from bygones.ledger.storage.transaction import FURTHEST, Transaction
from bygones.ledger.storage.turn_times import TimedTurn, turns_during


class Turn(NamedTuple):
    """The assignment of one agent on a date, in words, and its utility."""

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
        what: the assignment, in words.
        amount: its utility, as corrected.
        status: whether the agent is `present` all the time, `on hold` or `away`.
        recorded: when it was planned.
        item: which item it is, None for a place or a part of an amount.
        part: how much of an amount it is.
        span: its time, from `at` on and at an end unless its length is not known.
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
    item: str | None = None
    part: float | None = None
    span: Span = Span(0, 0)

    @property
    def turn(self) -> Turn:
        """The turn itself."""
        return Turn(self.agent, self.what, self.amount)

    def to_dict(self) -> dict[str, Any]:
        """The turn, of the types that JSON has."""
        times = {"at": iso(self.at), "recorded": iso(self.recorded)}
        fields = {name: value for name, value in self._asdict().items() if name != "span"}
        return fields | times | (self.span.to_dict() if self.span.hours else {})


@dataclass(frozen=True, eq=False)
class PlannedDate:
    """The plan for a date: its needs, its turns, and the reasons why agents were left out."""

    needs: DateNeeds
    proposal: Proposal
    left_out: dict[str, str]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the date."""
        return turns_of_decision(self.proposal)

    def why_not(self, agent: str) -> str:
        """Why an agent was not chosen on the date, in a sentence or two."""
        if agent in self.left_out:
            return why_left_out(agent, self.left_out[agent])
        return self.proposal.why_not(agent)


@dataclass(frozen=True, eq=False)
class Plan(Answer):
    """Dates ahead, with the standing before them and, if all goes as planned, after them."""

    dates: tuple[PlannedDate, ...]
    before: Standing
    after: Standing

    def document(self) -> Document:
        """Who has which turn on each date, and how the standing changes."""
        return Document(
            f"Plan for {counted(len(self.dates), 'date')} (times in {self.after.zone})",
            [self._dates_table(), self._standings_table()],
            "Plan",
        )

    def _dates_table(self) -> Table:
        columns = [Column("date")] + [Column(name, folds=True) for name in ("turns", "because", "left out")]
        rows = [
            [
                self._in_words(date),
                turns_in_words(date.turns),
                date.proposal.explanation.brief_reason,
                "; ".join(f"{agent}: {why}" for agent, why in date.left_out.items()),
            ]
            for date in self.dates
        ]
        return Table("", columns, rows).without_empty()

    def _standings_table(self) -> Table:
        before, after, thing = self.before, self.after, self.after.rules.handed_out
        row_of, now, then = {name: row for row, name in enumerate(before.names)}, before.balances(), after.balances()
        columns = [
            Column("agent", folds=True), Column(thing.with_unit("planned"), exact=True),
            Column(f"{thing.with_unit('recent')} now", gives_way=2, measure="total"),
            Column(f"{thing.with_unit('recent')} after", gives_way=2, measure="total"),
            Column("balance now"), Column("balance after"),
        ]  # fmt: skip
        rows: list[list[Cell]] = []
        for row, name in enumerate(after.names):
            planned = math.fsum(turn.amount for date in self.dates for turn in date.turns if turn.agent == name)
            was = row_of.get(name)  # None for an agent who joins in the meantime
            recent = None if was is None else float(before.remembered[was])
            balance = None if was is None else now[was]
            rows.append([name, planned, recent, float(after.remembered[row]), balance, then[row]])
        return Table("Standing now, and after the plan", columns, rows)

    def why_not(self, agent: str, date: str | None = None) -> list[str]:
        """Why an agent was not chosen, in one text for each date.

        Args:
            agent: the agent.
            date: the only date that is asked about, as the plan shows it, with or without its time.
        """
        shown = {self._in_words(each): each for each in self.dates}
        asked = {when: each for when, each in shown.items() if date is None or date in (when, when.partition(" ")[0])}
        if not asked:
            raise ValueError(f"date must be a date of the plan, such as {listed(list(shown), 5)}, got {date!r}")
        return [f"{when}: {each.why_not(agent)}" for when, each in asked.items()]

    def _in_words(self, date: PlannedDate) -> str:
        return date_in_words(date.needs.at, date.needs.all_day, self.after.zone, date.needs.spans)

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


def turns_document(turns: Sequence[PlannedTurn], zone: str) -> Document:
    """The turns of published plans, with a reason where the agent cannot take one."""
    columns = [
        Column("event"), Column("date"), Column("agent", folds=True), Column("what", folds=True),
        Column("hours", gives_way=2), Column("amount", gives_way=1, exact=True), Column("status"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            turn.seq,
            date_in_words(turn.at, turn.all_day, zone, {"": turn.span}),
            turn.agent,
            turn.what,
            turn.span.hours or None,
            turn.amount,
            "" if turn.status == PRESENT else turn.status,
        ]
        for turn in turns
    ]
    blocks: list[Block] = [Table("", columns, rows).without_empty()]
    impossible = sum(turn.status != PRESENT for turn in turns)
    if impossible:
        blocks.append(f"{counted(impossible, 'turn')} cannot be taken: decide again with bygones ledger replan.")
    if turns:
        blocks.append(
            "Why a turn is planned: bygones ledger explain LEDGER EVENT. Add --why-not AGENT for someone else."
        )
    headline = f"{counted(len(turns), 'planned turn')} (times in {zone})" if turns else "Nothing is planned."
    return Document(headline, blocks, "Planned")


def turns_in_words(turns: Sequence[Turn]) -> str:
    """Who has which turn."""
    return "; ".join(f"{turn.agent}: {turn.what}" for turn in turns) or "nobody"


def date_in_words(at: int, all_day: bool, zone: str, spans: Spans = MappingProxyType({})) -> str:
    """A date of a plan, with its time if it has one, and its end if all its turns are at the same time."""
    times = {span for span in spans.values() if span.hours}
    if len(times) == 1:
        return next(iter(times)).in_words(zone)
    return day(at, zone) if all_day else shown(at, zone)


def draft(connection: sa.Connection, book: RuleBook, head: int, wanted: Sequence[DateNeeds], now: int) -> Plan:
    """Decides date after date with today's knowledge; nothing is recorded."""
    _check_dates(connection, book, now, wanted)
    before = timeline.standing(connection, book, now)
    known = timeline.known_at(connection, book, wanted[0].at)
    participation = dict(zip(known.agents.names, known.agents.participation, strict=True))
    reached, dates, taken = wanted[0].at, list[PlannedDate](), list[TimedTurn]()
    for needs in wanted:
        changes = book.memory_changes_after(wanted[0].at)
        if changes is not None and changes <= needs.at:
            raise ValueError(
                f"the memory changes at {book.format_instant(changes)}, in the middle of this plan: plan the dates "
                "before and after it one after the other"
            )
        known = timeline.advance(connection, known, reached, needs.at)
        reached = needs.at
        stood = standing_of(book, known.agents, needs.at)
        needs, joining = without_later_joiners(needs, participation, book.zone)
        check_together(needs.request, needs.spans, stood.rules)
        needs = needs._replace(request=stood.rules.weighted(needs.request, needs.spans, needs.at, book.zone))
        others = [*turns_during(connection, whole(needs.spans)), *taken] if needs.spans else []
        request, left_out = possible(needs.request, stood, needs.spans, others)
        drawn = draw_table.draw_for_date(connection, needs.at, book.zone)
        try:
            decision = replace(proposal(connection, stood, request, head, drawn), spans=needs.spans)
        except ValueError as error:
            raise ValueError(f"{book.format_instant(needs.at)}: {error}") from None
        left_out |= joining | dict.fromkeys(needs.unavailable, "not available")
        dates.append(PlannedDate(needs, decision, left_out))
        taken += [
            TimedTurn(
                0, each.agent, each.item, span_of(needs.spans, each.item, needs.at), each.utility, "planned", None
            )
            for each in decision.given
        ]
        amounts = [(each.agent, each.utility) for each in decision.given]
        known = known._replace(agents=fold.give(known.agents, book, reached, amounts))
    return Plan(tuple(dates), before, standing_of(book, known.agents, reached))


def without_later_joiners(
    needs: DateNeeds, participation: Mapping[str, Participation], zone: str
) -> tuple[DateNeeds, dict[str, str]]:
    """The needs of a date without agents who join after it, and when each of them joins."""
    asking = needs.request.agent_names
    joins = {name: participation[name][0][0] for name in asking if name in participation}
    later = {name: f"{JOINS} {day_in_words(at, zone)}" for name, at in joins.items() if at > needs.at}
    if not later:
        return needs, later
    return needs._replace(request=needs.request.among([name for name in asking if name not in later])), later


def publish(tx: Transaction, plan: Plan, note: str = "") -> None:
    """Records a plan."""
    note = check_text("note", note)
    for each in plan.dates:
        drawn = draw_table.reveal(tx.connection, each.proposal.draw, tx.next)
        details = each.proposal.details() | {"request": each.needs.request.to_dict(), "draw": drawn}
        left_out = [list(pair) for pair in each.left_out.items()]
        details |= {"all_day": each.needs.all_day, **({"left_out": left_out} if left_out else {})}
        record_date(tx, each.needs.at, details, each.proposal.given, note)


def record_date(
    tx: Transaction, at: int, details: dict[str, Any], given: Sequence[Given], note: str = ""
) -> list[Event]:
    """Records the plan for a date, and a turn for each assignment; the turns."""
    event = tx.append("plan", tx.time(as_datetime(at)), details=details, note=note)
    entries = [Entry(each.agent, each.utility, as_datetime(at)) for each in given]
    return records.amounts(tx, "planned", entries, refers=event.seq, details=[turn_details(each) for each in given])


def turn_details(given: Given) -> dict[str, Any] | None:
    """The details that a turn stores: its item, or its part of an amount."""
    details = {"item": given.item, "part": given.part}
    return {name: value for name, value in details.items() if value is not None} or None


def published(tx: Transaction, wanted: Sequence[DateNeeds], events: Sequence[Event]) -> Plan:
    """The plan for these dates that was published by some events."""
    connection, head = tx.connection, events[0].seq - 1
    dates = []
    for needs, event in zip(wanted, (event for event in events if event.kind == "plan"), strict=True):
        stood = remade.standing_before(connection, event)
        decision = remade.as_recorded(connection, event, stood)
        if decision is None:
            raise ValueError(f"the plan of event {event.seq} was made by an earlier version: use another key")
        dates.append(PlannedDate(needs, decision, dict((event.details or {}).get("left_out", []))))
    last = next(event for event in reversed(events) if event.kind == "plan")
    book = rows.load_changes(connection, head)
    before = timeline.standing(connection, book, events[0].recorded, head)
    return Plan(tuple(dates), before, timeline.standing(connection, book, last.time, events[-1].seq))


def turns_of(given: Sequence[Given], request: Problem | None, rules: Rules) -> tuple[Turn, ...]:
    """The turns of a request, one for each item given."""
    return tuple(Turn(each.agent, rules.gets_in_words([each], request)[each.agent], each.utility) for each in given)


def turns_of_decision(decision: Proposal) -> tuple[Turn, ...]:
    """The turns that a decision assigns."""
    return turns_of(decision.given, decision.request, decision.standing.rules)


def planned(
    connection: sa.Connection, book: RuleBook, start: int, end: int | None = None, *, lapsed: bool = False
) -> list[PlannedTurn]:
    """The turns that are planned from an instant on, or the ones that are void, in the order of time."""
    table, names, instead = schema.events, schema.agents, schema.revised
    plans = schema.events.alias("plans")
    query = (
        sa.select(
            table,
            names.c.name,
            names.c.participation,
            plans.c.details.label("plan_details"),
            instead.c.amount.label("instead"),
        )
        .join_from(table, names, table.c.agent == names.c.id)
        .join(plans, plans.c.seq == table.c.refers)
        .outerjoin(instead, corrects())
        .where(table.c.kind == "planned", table.c.time >= start, ~in_effect() if lapsed else in_effect())
    )
    if end is not None:
        query = query.where(table.c.time < end)
    turns = []
    for row in connection.execute(query.order_by(table.c.time, table.c.seq)).all():
        details, amount = load_details(row.plan_details), row.amount if row.instead is None else row.instead
        (given,) = derived.load_given(connection, row.seq)
        (turn,) = turns_of([given._replace(utility=amount)], problem_from(details["request"]), book.at(row.time))
        span = span_of(load_spans(details), given.item, row.time)
        turns.append(PlannedTurn(
            row.seq, row.refers, row.time, bool(details.get("all_day")), row.name, turn.what, amount,
            status_over(read_participation(row.participation), span), row.recorded, given.item, given.part, span,
        ))  # fmt: skip
    return turns


def _check_dates(connection: sa.Connection, book: RuleBook, now: int, wanted: Sequence[DateNeeds]) -> None:
    if not wanted:
        raise ValueError("a plan must have at least one date, got none")
    if wanted[0].at <= now:
        raise ValueError(
            f"a plan must lie in the future, got {book.format_instant(wanted[0].at)}: leave out dates that have begun, "
            "or give a time as well"
        )
    if wanted[-1].at > now + FURTHEST:
        raise ValueError(f"a plan must not reach more than a year ahead, got {book.format_instant(wanted[-1].at)}")
    table = schema.events
    query = sa.select(table.c.seq, table.c.time).where(
        table.c.kind == "plan", table.c.time.in_([needs.at for needs in wanted]), in_effect()
    )
    there = connection.execute(query.order_by(table.c.time).limit(1)).one_or_none()
    if there is not None:
        raise ValueError(
            f"{book.format_instant(there.time)} is planned already (event {there.seq}): take it back with `bygones "
            "ledger unplan`, or decide it again with `bygones ledger replan`"
        )
