"""Changes of a published plan: with the fewest turns reassigned, taken back, or two turns swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bygones._text import amount, check_text, counted
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.problems import Assign, ChooseK, Divide, problem_from
from bygones.document.document import Block, Column, Document, Table
from bygones.ledger.actions import records
from bygones.ledger.actions.decisions import Proposal, fill, possible
from bygones.ledger.actions.explanations import SWAPPED
from bygones.ledger.actions.remade import causes
from bygones.ledger.model.events import RECEIVED, Entry, Event, load_details
from bygones.ledger.model.participation import PRESENT, Participation, status, status_over
from bygones.ledger.model.participation import read as read_participation
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.span import Spans, load_spans, whole
from bygones.ledger.model.times import as_datetime, day_in_words, instant, iso
from bygones.ledger.plans.date_needs import DateNeeds
from bygones.ledger.plans.planned_dates import (
    PlannedTurn,
    Turn,
    date_in_words,
    planned,
    record_date,
    turn_details,
    turns_in_words,
    turns_of,
    without_later_joiners,
)
from bygones.ledger.storage import derived, draw_table, keys, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.transaction import Transaction
from bygones.ledger.storage.turn_times import span_of_event, turns_during

NOBODY_ELSE = "nobody else can take it"


class Replanned(NamedTuple):
    """A date of a plan that was decided again.

    Attributes:
        at: the instant.
        all_day: whether the date has no time.
        before: who had which turn.
        after: who has which turn now.
        why: for each turn that could not stay, the reason.
        spans: how long each item lasts, if known.
    """

    at: int
    all_day: bool
    before: tuple[Turn, ...]
    after: tuple[Turn, ...]
    why: tuple[str, ...]
    spans: Spans = MappingProxyType({})

    @property
    def changed(self) -> int:
        """How many turns went to someone else."""
        left = [(turn.agent, turn.what) for turn in self.before]
        for turn in self.after:
            if (turn.agent, turn.what) in left:
                left.remove((turn.agent, turn.what))
        return len(left)

    def to_dict(self) -> dict[str, Any]:
        """The date, of the types that JSON has."""
        before, after = ([turn._asdict() for turn in turns] for turns in (self.before, self.after))
        length = {"length": {item: span.to_dict() for item, span in self.spans.items()}} if self.spans else {}
        return {
            "at": iso(self.at), "all_day": self.all_day, "before": before, "after": after, "why": list(self.why),
            "changed": self.changed, **length,
        }  # fmt: skip


class Uncovered(NamedTuple):
    """A turn that was decided, not planned, for an agent who cannot take it any more.

    Attributes:
        decision: the event of the decision.
        at: its instant.
        agent: whose turn it is.
        amount: its utility, as corrected.
        status: `on hold` or `away`.
    """

    decision: int
    at: int
    agent: str
    amount: float
    status: str

    def to_dict(self) -> dict[str, Any]:
        """The turn, of the types that JSON has."""
        return self._asdict() | {"at": iso(self.at)}


def uncovered(connection: sa.Connection, book: RuleBook, now: int) -> list[Uncovered]:
    """Decisions of today for agents who are on hold or away by the end of the day."""
    today = as_datetime(now).astimezone(ZoneInfo(book.zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = instant(today), instant(today + timedelta(days=1))
    table, names, decisions = schema.events, schema.agents, schema.events.alias("decisions")
    query = (
        sa.select(table.c.seq, table.c.amount, table.c.time, decisions.c.seq.label("decision"), names.c.name)
        .add_columns(names.c.participation)
        .join_from(table, names, table.c.agent == names.c.id)
        .join(decisions, decisions.c.seq == table.c.refers)
        .where(table.c.kind == "received", decisions.c.kind == "decision", in_effect())
        .where(table.c.time >= start, table.c.time < end)
    )
    turns = connection.execute(query.order_by(table.c.seq)).all()
    counts = revised_table.amounts_of(connection, [turn.seq for turn in turns])
    states = [status(read_participation(turn.participation), end - 1) for turn in turns]
    return [
        Uncovered(turn.decision, turn.time, turn.name, counts.get(turn.seq, turn.amount), state)
        for turn, state in zip(turns, states, strict=True)
        if state != PRESENT and counts.get(turn.seq, turn.amount)
    ]


def replanned_document(
    dates: Sequence[Replanned],
    rules: Rules,
    zone: str,
    *,
    recorded: bool,
    is_planned: bool = True,
    decided: Sequence[Uncovered] = (),
) -> Document:
    """The dates that change, and why.

    Args:
        dates: the dates that change.
        rules: the rules, for the unit of amounts.
        zone: the time zone in which times are shown.
        recorded: whether the changes were recorded.
        is_planned: whether anything is planned.
        decided: turns that nobody covers and that no plan can change.
    """
    open_turns: list[Block] = [
        f"{turn.agent} is {turn.status}, and has {rules.handed_out.with_unit(amount(turn.amount, 4))} by the decision "
        f"of {day_in_words(turn.at, zone)} (event {turn.decision}). A decision is not planned again: make event "
        f"{turn.decision} void and decide again."
        for turn in decided
    ]
    if not dates:
        unchanged = "Everyone can take their planned turns: nothing changes."
        return Document(unchanged if is_planned else "Nothing is planned.", open_turns, label="Plan")
    columns = [
        Column("date"), Column("was", folds=True), Column("now" if recorded else "would be", folds=True),
        Column("because", folds=True),
    ]  # fmt: skip
    rows = [
        [
            date_in_words(date.at, date.all_day, zone, date.spans),
            turns_in_words(date.before),
            turns_in_words(date.after),
            "; ".join(date.why),
        ]
        for date in dates
    ]
    changed = counted(sum(date.changed for date in dates), "turn")
    headline = f"{changed} reassigned on {counted(len(dates), 'date')} (times in {zone})"
    if recorded and all(date.before == date.after for date in dates):
        closing = "Nothing was recorded, since nothing can be changed."
    else:
        closing = "Recorded." if recorded else "Nothing was recorded: add --accept to record this."
    return Document(headline, [Table("", columns, rows), *open_turns, closing], "Plan")


def replan(
    tx: Transaction, start: int, note: str = "", needs: Mapping[int, DateNeeds] | None = None
) -> list[Replanned]:
    """Decides the planned dates from an instant on again, where an agent can no longer take a turn.

    Only the turns that have to change are changed. The rule of the ledger assigns them, among the agents who have no
    turn on that date yet. `needs`, by instant, replace the availability and the needs that a plan was made from.
    """
    changes: list[Replanned] = []
    stuck: list[list[Any]] = []
    for plan in _plans(tx, start):
        of_date = planned(tx.connection, tx.book, plan.time, plan.time + 1)
        turns = [turn for turn in of_date if turn.plan == plan.seq and turn.at > tx.recorded]
        details = load_details(plan.details)
        now = (needs or {}).get(int(plan.time))
        if now is not None:
            now, _ = without_later_joiners(now, _members(tx, now), tx.book.zone)
        request = problem_from(details["request"])
        if now is not None and isinstance(request, Assign) is not isinstance(now.request, Assign):
            raise ValueError(
                f"{tx.book.format_instant(plan.time)} was planned from a table of another form, either with or without "
                "items: give a table with the columns of the plan's table"
            )
        if now is not None:
            rules = tx.book.at(plan.time)
            now = now._replace(request=rules.weighted(now.request, load_spans(details), plan.time, tx.book.zone))
        request = _asked(request, now)
        why = {turn.seq: _cannot(turn, now) for turn in turns}
        if not any(why.values()) or request is None:
            continue
        had = [[turn.agent, turn.item, turn.part, turn.amount, why[turn.seq]] for turn in turns]
        before, all_day, spans = tuple(turn.turn for turn in turns), turns[0].all_day, load_spans(details)
        kept = [turn for turn in turns if not why[turn.seq]]
        try:
            decision, stay = _filled(tx, plan, request, kept, [turn.item for turn in turns if why[turn.seq]])
        except ValueError:
            changes.append(Replanned(plan.time, all_day, before, before, (*causes(had), NOBODY_ELSE), spans))
            stuck.append([plan.seq, had])
            continue
        records.void(tx, plan.seq, note)
        staying = [Given(turn.agent, turn.item, turn.part, turn.amount) for turn in kept] if stay else []
        about = decision.details() | {
            "request": request.to_dict(),
            "turns": had,
            "draw": draw_table.reveal(tx.connection, decision.draw, tx.next),
            "all_day": all_day,
            "redecides": plan.seq,
        }
        new = record_date(tx, plan.time, about, [*staying, *decision.given], check_text("note", note))
        left = [turn for turn in turns if not (stay and turn in kept)]
        now_counts = _correct_again(tx, left, decision.given, new[len(staying) :])
        after = (*(turn.turn for turn in kept if stay), *turns_of(now_counts, request, tx.book.at(plan.time)))
        changes.append(Replanned(plan.time, all_day, before, after, causes(had), spans))
    if stuck and len(stuck) < len(changes):
        tx.together(stuck=stuck)
    return changes


def _correct_again(
    tx: Transaction, left: Sequence[PlannedTurn], given: Sequence[Given], turns: Sequence[Event]
) -> list[Given]:
    """Corrects new turns to the amounts to which the turns before them were corrected; their amounts now.

    A corrected amount holds for every agent, as in a swap. The parts of an amount are divided again.
    """
    counts = revised_table.amounts_of(tx.connection, [turn.seq for turn in left if turn.part is None])
    corrected = [(turn.item, counts[turn.seq]) for turn in left if turn.seq in counts]
    now = list(given)
    for place, each in enumerate(given):
        amount_of = next((pair for pair in corrected if pair[0] == each.item), None)
        if amount_of is not None:
            corrected.remove(amount_of)
            now[place] = each._replace(utility=amount_of[1])
    changed = [place for place, each in enumerate(given) if now[place] != each]
    to = [now[place].utility for place in changed]
    records.correct_all(tx, [turns[place] for place in changed], to, "as corrected before")
    return now


def _filled(
    tx: Transaction, plan: sa.Row[Any], request: Problem, kept: Sequence[PlannedTurn], vacant: Sequence[str | None]
) -> tuple[Proposal, bool]:
    """Fills the vacant turns of a date whose plan is void, if anyone can; also whether the other turns stay."""
    with tx.trying():
        records.void(tx, plan.seq)
        tx.finish()
        stood, spans = timeline.standing(tx.connection, tx.book, plan.time), load_spans(load_details(plan.details))
        others = turns_during(tx.connection, whole(spans)) if spans else []
        here, _ = possible(request, stood, spans, others)
        draw = draw_table.draw_for_date(tx.connection, plan.time, tx.book.zone)
        taken = {turn.agent for turn in kept}
        decision, stay = fill(tx.connection, stood, here, taken, vacant, int(tx.head.head), draw)
        return replace(decision, spans=spans), stay


def replanned(tx: Transaction, events: Sequence[Event]) -> list[Replanned]:
    """The dates of a plan that some events decided again, and those for which nobody could be found."""
    changes = []
    for seq, turns in keys.together_with(events).get("stuck", []):
        plan = rows.load_event(tx.connection, seq)
        details = plan.details or {}
        given = [Given(*fields) for *fields, _ in turns]
        before = turns_of(given, problem_from(details["request"]), tx.book.at(plan.time))
        why, spans = (*causes(turns), NOBODY_ELSE), load_spans(details)
        changes.append(Replanned(plan.time, details["all_day"], before, before, why, spans))
    to = {event.refers: (event.details or {})["to"] for event in events if event.kind == "correction"}
    for event in (event for event in events if event.kind == "plan"):
        details, rules = event.details or {}, tx.book.at(event.time)
        request = problem_from(details["request"])
        had = [Given(*fields) for *fields, _ in details["turns"]]
        after = [
            derived.load_given(tx.connection, turn.seq)[0]._replace(utility=to.get(turn.seq, turn.amount or 0.0))
            for turn in events
            if turn.refers == event.seq
        ]
        before, now = (turns_of(given, request, rules) for given in (had, after))
        why, spans = causes(details["turns"]), load_spans(details)
        changes.append(Replanned(event.time, details["all_day"], before, now, why, spans))
    return sorted(changes, key=lambda change: change.at)


def _members(tx: Transaction, now: DateNeeds) -> dict[str, Participation]:
    """When each agent of a date took part, refused if any has never joined."""
    participation = rows.participation_of(tx.connection, now.request.agent_names)
    for agent in now.request.agent_names:
        if agent not in participation:
            error = rows.unknown_agent(agent, rows.load_names(tx.connection))
            raise ValueError(f"{tx.book.format_instant(now.at)}: {error}")
    return participation


def _asked(planned_for: Problem | None, now: DateNeeds | None) -> Problem | None:
    """The request of a plan, with the agents available now and their needs now."""
    if planned_for is None or now is None:
        return planned_for
    if isinstance(planned_for, ChooseK) and isinstance(now.request, ChooseK):
        return planned_for.with_worth(now.request.worth, planned_for.kind)
    if isinstance(planned_for, Assign) and isinstance(now.request, Assign):
        return Assign(now.request.worth, planned_for.capacity, items=now.request.item_names)
    return planned_for.among([agent for agent in planned_for.agent_names if agent in now.request.asking])


def _cannot(turn: PlannedTurn, now: DateNeeds | None) -> str:
    """Why a turn cannot be taken any more; empty if it can."""
    if turn.status != PRESENT:
        return turn.status
    if now is None:
        return ""
    return "" if turn.item in now.request.worth.get(turn.agent, {}) else "not available"


def unplan(tx: Transaction, start: int, end: int | None = None, note: str = "") -> list[Event]:
    """Takes back the plans from an instant on; the events by which each date's plan is void."""
    voids = [records.void(tx, plan.seq, note) for plan in _plans(tx, start) if end is None or plan.time < end]
    if not voids:
        raise ValueError(f"nothing is planned from {tx.book.format_instant(max(start, tx.recorded))} on")
    return voids


def swap(tx: Transaction, first: int, second: int, note: str = "") -> list[Event]:
    """Exchanges two agents' turns, planned or already received: from here on each counts for the agent who serves."""
    one, other = (_turn(tx, seq) for seq in (first, second))
    if one.agent == other.agent:
        raise ValueError(f"events {first} and {second} are both turns of {one.agent!r}: there is nothing to swap")
    terms = [_terms(tx, row, given) for row, given in ((one, other), (other, one))]
    for row in (one, other):
        records.void(tx, row.seq, note, swapping=True)
    taken: list[Event] = []
    for row, given in zip((one, other), terms, strict=True):
        note_of = check_text("note", note or f"{SWAPPED} {row.seq}")
        entry = Entry(given.agent, given.utility, as_datetime(row.time), note_of)
        details = {"swapped": [one.seq, other.seq], **(turn_details(given) or {})}
        taken += records.amounts(tx, row.kind, [entry], refers=row.refers, details=[details])
    return taken


def _plans(tx: Transaction, start: int) -> Sequence[sa.Row[Any]]:
    """The plans of dates ahead, from an instant on."""
    table = schema.events
    query = sa.select(table).where(table.c.kind == "plan", table.c.time >= max(start, tx.recorded), in_effect())
    return tx.connection.execute(query.order_by(table.c.time, table.c.seq)).all()


def _turn(tx: Transaction, seq: int) -> Event:
    """A turn by the number of its event, refused if it is void or something else."""
    turn = rows.load_event(tx.connection, seq) if 0 < seq <= tx.head.head else None
    if turn is None or turn.kind not in RECEIVED:
        raise ValueError(f"event {seq} is not a turn: give the number of something planned or received")
    since = revised_table.void_since(tx.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} has been void since event {since}")
    return turn


def _terms(tx: Transaction, row: Event, given: Event) -> Given:
    """The terms on which an agent takes a turn in exchange for theirs, refused if they cannot take it."""
    taker, when = str(given.agent), tx.book.format_instant(row.time)
    stood = timeline.standing(tx.connection, tx.book, row.time)
    changes = dict(zip(stood.names, stood.participation, strict=True)).get(taker)
    for span in span_of_event(tx.connection, row):
        status = "not a member" if changes is None else status_over(changes, span)
        if status != PRESENT:
            raise ValueError(f"{taker!r} is {status} at {when} and cannot take event {row.seq}")
        others = turns_during(tx.connection, span, without=[row.seq, given.seq])
        mine = next((turn for turn in others if turn.agent == taker), None)
        if mine is not None and stood.rules.overlaps == "refused":
            raise ValueError(
                f"{taker!r} has a turn from {mine.span.in_words(tx.book.zone)} (event {mine.seq}) and cannot take "
                f"event {row.seq} at {when}"
            )
    counts = revised_table.amounts_of(tx.connection, [row.seq])
    amount = counts.get(row.seq, row.amount or 0.0)
    if row.refers is None:
        return Given(taker, None, None, amount)
    table = schema.events
    received = rows.load_events(tx.connection, table.c.refers == row.refers, table.c.kind.in_(RECEIVED), in_effect())
    for turn in list(received):
        if turn.agent == taker and turn.seq != given.seq:
            raise ValueError(f"{taker!r} has a turn at {when} already (event {turn.seq})")
    request = problem_from(rows.details_of(tx.connection, row.refers)["request"])
    terms = derived.load_given(tx.connection, row.seq) or [
        each for each in derived.load_given(tx.connection, row.refers) if each.agent == row.agent
    ]
    item = terms[0].item if len(terms) == 1 else None
    is_part = isinstance(request, Divide)
    worth = amount if request is None or is_part else request.worth.get(taker, {}).get(item)
    if worth is None:
        raise ValueError(f"{taker!r} is not available for event {row.seq} at {when}")
    if row.seq in counts:
        worth = amount  # a corrected amount holds for every agent
    return Given(taker, item, terms[0].part if len(terms) == 1 else None, worth)
