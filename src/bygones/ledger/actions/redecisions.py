"""Decides a past period again with today's knowledge, and finds the later decisions that depended on it.

Decisions are made again in the order of time. Each starts from the standing that follows from all events now in effect
and from the new decisions before it. Events that were recorded late, corrected or made void since are included.

A decision keeps its random draw: it uses the seed of the original decision, however often it is made again. So the
result is the same as if everything had been recorded on time. If nothing has changed, the result is the same,
and nobody gains by asking again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones.allocation.problem_contract import Given
from bygones.allocation.problems import problem_from
from bygones.ledger.actions import decisions, records, remade
from bygones.ledger.actions.decisions import Proposal, possible, proposal
from bygones.ledger.model import fold
from bygones.ledger.model.events import RECEIVED, Event
from bygones.ledger.model.fold import Facts, Snapshot
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.span import load_spans, whole
from bygones.ledger.model.standing import standing_of
from bygones.ledger.model.times import iso
from bygones.ledger.storage import derived, keys, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.transaction import Transaction
from bygones.ledger.storage.turn_times import turns_during

CANNOT = "it could not be made with today's knowledge"


class Redecision(NamedTuple):
    """A decision that would now be different.

    Attributes:
        seq: the decision.
        time: its instant.
        before: the assignment of each agent who was served, in words.
        after: the assignments that would be made now; empty if it could not be made.
        in_period: whether it is in the period that is decided again; if not, it stays and only depends on it.
        reasons: the reasons of the new decision, where it is in the period; or that it could not be made.
    """

    seq: int
    time: int
    before: Mapping[str, str]
    after: Mapping[str, str]
    in_period: bool
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The decision, of the types that JSON has."""
        return self._asdict() | {"time": iso(self.time), "reasons": list(self.reasons)}


def redecided(tx: Transaction, events: Sequence[Event]) -> list[Redecision]:
    """The decisions that some events made again, and the later ones that were found to depend on them."""
    answers = []
    for event in (event for event in events if event.kind == "decision"):
        first = rows.load_event(tx.connection, _replaced(tx.connection, event))
        before = _in_words(tx, first, derived.load_given(tx.connection, first.seq))
        again = remade.told(tx.connection, event)
        answers.append(Redecision(first.seq, first.time, before, again.gets, True, tuple(again.reasons)))
    for seq, given in keys.together_with(events).get("later", []):
        decision = rows.load_event(tx.connection, seq)
        before = _in_words(tx, decision, derived.load_given(tx.connection, seq))
        after = {} if given is None else _in_words(tx, decision, [Given(*each) for each in given])
        reasons = (CANNOT,) if given is None else ()
        answers.append(Redecision(seq, decision.time, before, after, False, reasons))
    return sorted(answers, key=lambda each: (each.time, each.seq))


def _in_words(tx: Transaction, decision: Event, given: Sequence[Given]) -> dict[str, str]:
    return tx.book.at(decision.time).gets_in_words(given, problem_from((decision.details or {})["request"]))


def _replaced(connection: sa.Connection, event: Event) -> int:
    """The decision that was made void to make way for this one, which was recorded right before it."""
    table = schema.events
    query = sa.select(table.c.refers).where(table.c.seq == event.seq - 1)
    return int(connection.execute(query).scalar_one())


def redecide(tx: Transaction, start: int, end: int | None, note: str = "") -> list[Redecision]:
    """Decides the decisions from an instant until before another again; the decisions that are different now."""
    book, first = tx.book, max(start, tx.book.began)
    if first > tx.recorded:
        raise ValueError(
            f"from must not be in the future (it is now {book.format_instant(tx.recorded)}), got "
            f"{book.format_instant(first)}"
        )
    end = tx.recorded + 1 if end is None else end
    if end <= first:
        raise ValueError(f"to must be after from ({book.format_instant(first)}), got {book.format_instant(end)}")
    changes = book.memory_changes_after(first)
    if changes is not None and changes < end <= tx.recorded:
        raise ValueError(
            f"the memory changes at {book.format_instant(changes)}, in the middle of this period: make the decisions "
            "before and after it again one after the other"
        )
    # Later decisions were made from another memory, and are not compared.
    until = tx.recorded if changes is None else min(changes - 1, tx.recorded)
    past = _Past(tx.connection, book, first, until)
    if not any(first <= decision.time < end for decision in past.decisions):
        raise ValueError(f"no decision was made between {book.format_instant(first)} and {book.format_instant(end)}")
    differ: list[Redecision] = []
    replaced: list[tuple[Event, Proposal]] = []
    later: list[list[Any]] = []
    with tx.trying():  # prices are learned from the decisions before, also the new ones
        for decision, again in past.walk():
            given = derived.load_given(tx.connection, decision.seq)
            if past.was_swapped(decision) or (isinstance(again, Proposal) and is_same(again.given, given)):
                past.keep(decision)
                continue
            in_period = decision.time < end
            before = _in_words(tx, decision, given)
            if isinstance(again, Proposal):
                reasons = tuple(again.reasons()) if in_period else ()
                differ.append(Redecision(decision.seq, decision.time, before, again.gets(), in_period, reasons))
                if not in_period:
                    later.append([decision.seq, [list(each) for each in again.given]])
                if in_period:
                    _replace(tx, decision, again, note)
                    tx.finish()
                    replaced.append((decision, again))
                    past.put(decision.time, again.utilities.items())
                    continue
            elif in_period:
                raise ValueError(
                    f"decision {decision.seq} ({book.format_instant(decision.time)}) cannot be made again: {again}"
                )
            else:
                differ.append(Redecision(decision.seq, decision.time, before, {}, in_period, (CANNOT,)))
                later.append([decision.seq, None])
            past.keep(decision)
    for decision, new in replaced:
        _replace(tx, decision, new, note)
    if replaced and later:
        tx.together(later=later)
    return differ


def is_same(one: Sequence[Given], other: Sequence[Given]) -> bool:
    """Whether the same was given to everyone, up to rounding."""
    mine, theirs = ({(each.agent, each.item): each for each in given} for given in (one, other))
    return mine.keys() == theirs.keys() and all(_is_close(mine[key], theirs[key]) for key in mine)


def _is_close(one: Given, other: Given) -> bool:
    pairs = ((one.utility, other.utility), (one.part or 0.0, other.part or 0.0))
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in pairs)


class _Past:
    """The events in effect from an instant on, and the snapshot as the walk through them goes on."""

    def __init__(self, connection: sa.Connection, book: RuleBook, first: int, until: int) -> None:
        self._connection, self._book = connection, book
        known = timeline.rebuilt(connection, first - 1)
        self._agents: Snapshot = known.agents
        table = schema.events
        within = [table.c.time >= first, table.c.time <= until, in_effect()]
        events = rows.load_events(connection, table.c.kind == "decision", *within)
        self.decisions = sorted(events, key=lambda event: (event.time, _origin(event)))
        seqs = [decision.seq for decision in self.decisions]
        self._through: dict[int, list[Event]] = {}
        for event in rows.load_events(connection, table.c.kind.in_(RECEIVED), table.c.refers.in_(seqs), in_effect()):
            self._through.setdefault(int(event.refers or 0), []).append(event)
        others = [*within, sa.or_(table.c.refers.is_(None), table.c.refers.not_in(seqs))]
        self._others = Facts.joined(timeline.facts(connection, known.ids, others))

    def walk(self) -> Iterator[tuple[Event, Proposal | ValueError]]:
        """Each decision with its new version, or why it could not be made; the caller then calls `keep` or `put`."""
        done = 0
        for i, decision in enumerate(self.decisions):
            until = int(np.searchsorted(self._others.time, decision.time, side="right"))
            self._agents = fold.add(self._agents, self._book, self._others.part(done, until))
            done = until
            not_yet = [each.seq for each in self.decisions[i:] if each.time == decision.time]
            try:
                yield decision, self._again(decision, not_yet)
            except ValueError as error:
                yield decision, error

    def _again(self, decision: Event, not_yet: Sequence[int]) -> Proposal:
        request = problem_from((decision.details or {})["request"])
        draw = remade.draw_of(self._connection, decision)
        if request is None or draw is None:
            raise ValueError("its kind of request is not known to this version")
        stood, spans = standing_of(self._book, self._agents, decision.time), load_spans(decision.details or {})
        turns = turns_during(self._connection, whole(spans), without=[decision.seq]) if spans else []
        request, _ = possible(request, stood, spans, turns)  # someone may have been on hold or away, or have a turn
        head = int(self._connection.execute(sa.select(schema.ledger.c.head)).scalar_one())
        return replace(proposal(self._connection, stood, request, head, draw, not_yet), spans=spans)

    def keep(self, decision: Event) -> None:
        """A decision stays unchanged."""
        received = self._through.get(decision.seq, [])
        corrected = revised_table.amounts_of(self._connection, [event.seq for event in received])
        self.put(
            decision.time, [(str(event.agent), corrected.get(event.seq, event.amount or 0.0)) for event in received]
        )

    def was_swapped(self, decision: Event) -> bool:
        """Whether someone else served in the end; a swap that was agreed on is not decided again."""
        received = self._through.get(decision.seq, [])
        return any(derived.linked(self._connection, "takes", event.seq) for event in received)

    def put(self, time: int, amounts: Iterable[tuple[str, float]]) -> None:
        """Agents receive amounts through a decision."""
        self._agents = fold.give(self._agents, self._book, time, amounts)


def _origin(decision: Event) -> int:
    """The number of the decision that was made first; those made in its place have its draw."""
    return int((decision.details or {}).get("redecides", decision.seq))


def _replace(tx: Transaction, decision: Event, new: Proposal, note: str) -> None:
    """Makes a decision void and records another in its place."""
    records.void(tx, decision.seq, note)
    details: dict[str, Any] = new.details() | {"request": (decision.details or {})["request"]}
    details["redecides"] = _origin(decision)
    if new.draw.number is not None:
        details["draw"] = {"number": new.draw.number, "seed": new.draw.seed}
    else:
        details["method"] = 1  # it keeps its draw, and so the way to draw
    decisions.record(tx, decision.time, new, details, note)
