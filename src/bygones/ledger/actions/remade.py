"""Recorded decisions made again, from the events recorded before them.

This is how a decision is explained long after it was made, how a command that is repeated with its key gives the same
answer, and how `verify` sees that a decision follows from its past.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones.allocation.problem_contract import Given
from bygones.allocation.problems import problem_from
from bygones.document.document import Document
from bygones.kinds import words
from bygones.ledger.actions.decisions import METHODS, Proposal, check_all_through, fill, possible, proposal
from bygones.ledger.model.draws import Draw, number_of_day
from bygones.ledger.model.events import RECEIVED, Event, load_details
from bygones.ledger.model.span import load_spans, whole
from bygones.ledger.model.standing import Standing
from bygones.ledger.storage import derived, rows, schema, timeline
from bygones.ledger.storage.turn_times import turns_during


class Told(NamedTuple):
    """The known facts about a recorded decision: the assignment of each agent, and the explanation."""

    gets: dict[str, str]
    explanation: Document
    again: Proposal | None

    @property
    def reasons(self) -> list[str]:
        """The explanation in sentences."""
        return [self.explanation.headline] if self.again is None else self.again.reasons()


def told(connection: sa.Connection, event: Event) -> Told:
    """The assignments of a recorded decision, and the reasons."""
    given, stood = derived.load_given(connection, event.seq), standing_before(connection, event)
    gets = stood.rules.gets_in_words(_assigned(connection, event), problem_from((event.details or {})["request"]))
    again = as_recorded(connection, event, stood, given)
    if again is None:
        verb = words(stood.rules.kind).gets
        headline = "; ".join(f"{agent} {verb} {what}" for agent, what in gets.items()) or "Nobody is served."
        return Told(gets, Document(headline, label="Decision"), None)
    return Told(gets, again.document(), again)


def _assigned(connection: sa.Connection, event: Event) -> list[Given]:
    """The assignments of a decision, with the turns that stayed on a date that was planned again."""
    if "turns" not in (event.details or {}):
        return derived.load_given(connection, event.seq)
    table = schema.events
    turns = rows.load_events(connection, table.c.refers == event.seq, table.c.kind.in_(RECEIVED))
    own = [turn.seq for turn in turns if not derived.linked(connection, "takes", turn.seq)]
    return [given for seq in own for given in derived.load_given(connection, seq)]


def answer(connection: sa.Connection, event: Event) -> Proposal:
    """The answer that was given when a decision was recorded."""
    again = as_recorded(connection, event, standing_before(connection, event))
    if again is None:
        raise ValueError(f"decision {event.seq} was made by an earlier version and cannot be told again: see `explain`")
    return again


def as_recorded(
    connection: sa.Connection, event: Event, stood: Standing, given: Sequence[Given] | None = None
) -> Proposal | None:
    """A recorded decision with everything that justifies it, or None if it cannot be repeated."""
    given = derived.load_given(connection, event.seq) if given is None else given
    try:
        again = decided_again(connection, event, stood)
    except ValueError:
        return None
    if again is None or {*again.given} == {*given}:
        return again
    # Made by another method: the reasons belong to the recorded assignments, without a next best choice.
    allocation = again.allocation
    try:
        recorded = allocation.problem.allocation_of(given)
    except (KeyError, ValueError):
        return None
    kept = replace(allocation, given=recorded, find_runner_up=lambda: None, unrounded=None)
    return replace(again, allocation=kept)


def decided_again(connection: sa.Connection, event: Event, stood: Standing) -> Proposal | None:
    """A recorded decision made again from a standing; None if its request or its draw is not known.

    Raises:
        ValueError: it could not have been made.
    """
    details = event.details or {}
    request, draw = problem_from(details.get("request", {})), draw_of(connection, event)
    if request is None or draw is None:
        return None
    spans = load_spans(details)
    turns = turns_during(connection, whole(spans), event.seq - 1) if spans else []
    if "turns" in details or "kept" in details:
        here, (kept, vacant) = possible(request, stood, spans, turns)[0], kept_and_vacant(details)
        again = fill(connection, stood, here, [agent for agent, *_ in kept], vacant, event.seq - 1, draw)[0]
        return replace(again, spans=spans)
    if event.kind == "plan" or "redecides" in details:
        request, _ = possible(request, stood, spans, turns)  # someone may have been on hold or away
    else:
        check_all_through(connection, request, stood, spans, event.seq - 1)
    made = proposal(connection, stood, request, event.seq - 1, draw, _made_together(connection, event))
    return replace(made, spans=spans)


def kept_and_vacant(details: dict[str, Any]) -> tuple[list[list[Any]], list[str | None]]:
    """The turns that could stay on a date that was decided again, each with its agent first, and the vacant items."""
    if "turns" not in details:  # version 2 stored both
        return details["kept"], details["vacant"]
    turns = details["turns"]
    return [turn for turn in turns if not turn[-1]], [turn[1] for turn in turns if turn[-1]]


def causes(turns: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Why a date was planned again: who could not take a turn that they had."""
    return tuple(f"{agent} is {why}" for agent, *_, why in turns if why)


def can_repeat(details: dict[str, Any]) -> bool:
    """Whether this version decides a request in the same way."""
    # Version 0.2.0 did not record in which order the items of a request were, on which a draw depends.
    unordered = "utilities" in details["request"] and details["request"].get("items") is None
    return details.get("method") in METHODS and not unordered


def standing_before(connection: sa.Connection, event: Event) -> Standing:
    """The standing at the time of an event, from the events recorded before it."""
    book = rows.load_changes(connection, event.seq - 1)
    return timeline.standing(connection, book, max(event.time, book.began), event.seq - 1)


def draw_of(connection: sa.Connection, event: Event) -> Draw | None:
    """The draw of a decision: its own, or that of the decision in whose place it was made; None if it is not known."""
    details = event.details or {}
    drawn = details.get("draw", {})
    if "day" in drawn:
        return Draw(str(drawn["seed"]), number_of_day(drawn["day"]), drawn["day"])
    if "number" in drawn:
        return Draw(str(drawn["seed"]), int(drawn["number"]))
    return _draw_of_version_2(connection, event, details)


def _draw_of_version_2(connection: sa.Connection, event: Event, details: dict[str, Any]) -> Draw | None:
    """Each decision had its own seed; the dates of a plan shared that of the first, hashed with their instants."""
    table = schema.events
    if event.kind == "plan" and "redecides" in details:
        query = sa.select(table.c.hash).where(table.c.seq == details["redecides"])
        return Draw(bytes(connection.execute(query).scalar_one()).hex())
    if event.kind == "plan":
        plans = sa.select(table.c.details).where(table.c.kind == "plan", table.c.seq <= event.seq)
        for text in connection.execute(plans.order_by(table.c.seq.desc())).scalars():
            seed = load_details(text).get("draw", {}).get("seed")
            if seed is not None:
                return Draw(hashlib.sha256(f"{seed} {event.time}".encode()).hexdigest())
        return None
    origin = int(details.get("redecides", event.seq))
    seed = rows.details_of(connection, origin).get("draw", {}).get("seed")
    if seed is not None:
        return Draw(str(seed))
    # Before there were commitments, the hash before a decision was the seed of its draw.
    query = sa.select(table.c.hash).where(table.c.seq == origin - 1)
    return Draw(bytes(connection.execute(query).scalar_one()).hex())


def _made_together(connection: sa.Connection, event: Event) -> list[int]:
    """The dates of the same plan, which were decided at once and did not learn from each other's requests."""
    if event.kind != "plan" or "redecides" in (event.details or {}):
        return []
    table = schema.events
    query = sa.select(table.c.seq).where(table.c.kind == "plan", table.c.recorded == event.recorded)
    return list(connection.execute(query.where(table.c.seq <= event.seq)).scalars())
