"""Decides a past period again with what is known now, and finds the later decisions that depended on it.

Decisions are taken in the order of time. Each is asked again from the standing as it follows from everything that is
now in effect: what was recorded late, corrected or made void since, and what the decisions before it now say.

A decision keeps its lot: it draws with the seed of the decision that was made first, however often it is made again. So
it comes out as it would have, had everything been known in time; where nothing has changed, it comes out as it was; and
nobody gains by asking again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._text import check_text
from bygones.allocation.requests import request_from
from bygones.ledger import rows, schema, snapshot, voiding
from bygones.ledger.deciding import METHOD, Proposal, proposal
from bygones.ledger.draws import Draw
from bygones.ledger.events import RECEIVED, Event
from bygones.ledger.planning import possible
from bygones.ledger.rebuilding import rebuilt
from bygones.ledger.rules import RuleBook
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.standing import standing_of
from bygones.ledger.times import as_datetime, iso
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import Entry, LedgerWriter


class Redecision(NamedTuple):
    """A decision that would now be different.

    Attributes:
        seq: the decision.
        time: its instant.
        before: what each agent who was served got, in words.
        after: what each would get now; empty if it could not be made.
        in_period: whether it is in the period that is decided again; if not, it stays and only depends on it.
        reasons: of the new decision, or why it could not be made.
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

    def stored(self) -> list[Any]:
        """The decision as a ledger stores it, with agents in their order, which JSON's objects do not keep."""
        before, after = list(self.before.items()), list(self.after.items())
        return [self.seq, self.time, before, after, self.in_period, list(self.reasons)]

    @classmethod
    def from_stored(cls, fields: Sequence[Any]) -> Redecision:
        """The decision that was stored."""
        seq, time, before, after, in_period, reasons = fields
        return cls(seq, time, dict(before), dict(after), in_period, tuple(reasons))


def redecide(writer: LedgerWriter, start: int, end: int | None, note: str = "") -> list[Redecision]:
    """Decides the decisions from an instant until before another again; the decisions that are different now."""
    book, first = writer.book, max(start, writer.book.began)
    if first > writer.recorded:
        raise ValueError(
            f"from must not be in the future (it is now {book.named(writer.recorded)}), got {book.named(first)}"
        )
    end = writer.recorded + 1 if end is None else end
    if end <= first:
        raise ValueError(f"to must be after from ({book.named(first)}), got {book.named(end)}")
    past = _Past(writer.connection, book, first, writer.recorded)
    if not any(first <= decision.time < end for decision in past.decisions):
        raise ValueError(f"no decision was made between {book.named(first)} and {book.named(end)}")
    found: list[Redecision] = []
    replaced: list[tuple[Event, Proposal]] = []
    with writer.trying():  # prices are learned from the decisions before, with those that were made again
        for decision, asked in past.walk():
            if past.was_swapped(decision) or (isinstance(asked, Proposal) and _same(asked, decision)):
                past.keep(decision)
                continue
            in_period = decision.time < end
            details = decision.details or {}
            if isinstance(asked, Proposal):
                found.append(Redecision(
                    decision.seq, decision.time, details["gets"], asked.gets(), in_period, tuple(asked.reasons())
                ))  # fmt: skip
                if in_period:
                    _replace(writer, decision, asked, note)
                    writer.finish()
                    replaced.append((decision, asked))
                    past.put(decision.time, asked.utilities)
                    continue
            elif in_period:
                raise ValueError(f"decision {decision.seq} ({book.named(decision.time)}) cannot be made again: {asked}")
            else:
                found.append(Redecision(decision.seq, decision.time, details["gets"], {}, in_period, (str(asked),)))
            past.keep(decision)
    for decision, made in replaced:
        _replace(writer, decision, made, note)
    return found


class _Past:
    """The events in effect from an instant on, and the snapshot as the walk through them goes on."""

    def __init__(self, connection: sa.Connection, book: RuleBook, first: int, until: int) -> None:
        self._connection, self._book = connection, book
        self._agents: Snapshot = rebuilt(connection, first - 1).agents
        self._row_of = {name: row for row, name in enumerate(self._agents.names)}
        table = schema.events
        where = [table.c.time >= first, table.c.time <= until, in_effect()]
        events = [event for chunk in rows.load_events(connection, where, by_time=True) for event, _ in chunk]
        self.decisions = sorted((e for e in events if e.kind == "decision"), key=lambda e: (e.time, _origin(e)))
        made_through = {decision.seq: decision.seq for decision in self.decisions}
        for event in events:
            if event.refers in made_through and event.kind in (*RECEIVED, "correction"):
                made_through[event.seq] = made_through[event.refers]
        self._kinds = {event.seq: event.kind for event in events}
        self._through: dict[int, list[Event]] = {}
        self._others: list[Event] = []
        for event in events:
            if event.amount is not None:
                decision = made_through.get(event.seq)
                (self._others if decision is None else self._through.setdefault(decision, [])).append(event)

    def walk(self) -> Iterator[tuple[Event, Proposal | ValueError]]:
        """Each decision with what it would be now, or why it could not be made; the caller says what came of it."""
        head = int(self._connection.execute(sa.select(schema.ledger.c.head)).scalar_one())
        done = 0
        for i, decision in enumerate(self.decisions):
            until = done
            while until < len(self._others) and self._others[until].time <= decision.time:
                until += 1
            self._add(self._others[done:until])
            done = until
            request = request_from((decision.details or {})["request"])
            not_yet = [each.seq for each in self.decisions[i:] if each.time == decision.time]
            try:
                if request is None:
                    raise ValueError("its kind of request is not known to this version")
                stood = standing_of(self._book, self._agents, decision.time)
                request, _ = possible(request, stood)  # somebody may have been on hold or away, as is known now
                yield decision, proposal(self._connection, stood, request, head, self._draw(decision), not_yet)
            except ValueError as error:
                yield decision, error

    def keep(self, decision: Event) -> None:
        """A decision stays as it is."""
        self._add(self._through.get(decision.seq, []))

    def was_swapped(self, decision: Event) -> bool:
        """Whether somebody else served in the end; what was agreed on then is not decided again."""
        received = [event for event in self._through.get(decision.seq, []) if event.kind in RECEIVED]
        return any(event.recorded != decision.recorded for event in received)

    def put(self, time: int, utilities: Mapping[str, float]) -> None:
        """Something else is received through a decision."""
        self._add([Event(0, "received", time, time, name, utility) for name, utility in utilities.items()])

    def _add(self, events: Sequence[Event]) -> None:
        if not events:
            return
        truly = [self._kinds.get(e.refers or 0) if e.kind == "correction" else e.kind for e in events]
        self._agents = snapshot.add(
            self._agents,
            self._book,
            np.array([self._row_of[str(event.agent)] for event in events], dtype=np.int64),
            np.array([event.time for event in events], dtype=np.int64),
            np.array([event.amount for event in events], dtype=float),
            np.array([kind in RECEIVED for kind in truly], dtype=bool),
        )

    def _draw(self, decision: Event) -> Draw:
        """The draw of the decision that was made first, which those in its place keep."""
        table, origin = schema.events, _origin(decision)
        query = sa.select(table.c.seq, table.c.hash, table.c.details).where(table.c.seq.in_((origin - 1, origin)))
        before, first = self._connection.execute(query.order_by(table.c.seq)).all()
        drawn = json.loads(first.details).get("draw")
        # Before there were commitments, the hash before a decision was the seed of its draw.
        return Draw(bytes(before.hash).hex(), None) if drawn is None else Draw(drawn["seed"], drawn["committed_in"])


def _origin(decision: Event) -> int:
    """The number of the decision that was made first; those made in its place have its draw."""
    return int((decision.details or {}).get("redecides", decision.seq))


def _replace(writer: LedgerWriter, decision: Event, made: Proposal, note: str) -> None:
    """Makes a decision void and records another in its place."""
    voiding.void(writer, decision.seq, note)
    request = (decision.details or {})["request"]
    details = {"method": METHOD, "request": request, **made.details(), "redecides": _origin(decision)}
    event = writer.append("decision", decision.time, details=details, note=check_text("note", note))
    at = as_datetime(decision.time)
    writer.amounts("received", [Entry(name, u, at) for name, u in made.utilities.items()], refers=event.seq)


def _same(made: Proposal, decision: Event) -> bool:
    """Whether a proposal gives everybody what the decision gave them."""
    details = decision.details or {}
    before, after = details["utilities"], made.utilities
    if before.keys() != after.keys():
        return False
    if made.request.items is not None:
        gets = made.gets()
        if any(_things(details["gets"][name]) != _things(gets[name]) for name in after):
            return False
    return all(math.isclose(before[name], after[name], rel_tol=1e-9, abs_tol=1e-12) for name in before)


def _things(words: str) -> set[str]:
    """The items in a list of them, however it is worded."""
    return set(re.split(r", | and ", words))
