"""Every decision made again, from the events before it, to see that it was decided as it says.

The events before a decision are put into a ledger of their own, which is thrown away afterwards, and the recorded
request is decided there, with the seed that it reveals. So is the plan for each date, and what was decided again in
place of another, with the draw of the first. A decision that an earlier version made, by a method that may have been
another, is compared with what was recorded of it only: whoever was to get something must have received just that.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bygones.allocation.requests import Amount, Items, Request, request_from
from bygones.ledger import deciding, repairing, rows, schema
from bygones.ledger.chain import Chain
from bygones.ledger.draws import Draw
from bygones.ledger.events import DECISIONS, Event, details_text
from bygones.ledger.planning import Turn, possible
from bygones.ledger.replanning import filled
from bygones.ledger.standing import Standing, standing
from bygones.ledger.voids import in_effect

CLOSE = 1e-9
"""Utilities that differ by no more than this share are the same."""


@dataclass
class Rerun:
    """How many decisions were made again, how many were only compared, and which do not come out as recorded."""

    decisions: int
    older: int
    problems: list[str]


def rerun(connection: sa.Connection) -> Rerun:
    """Makes every decision of a ledger again."""
    found = Rerun(0, 0, [])
    if not connection.scalar(sa.select(sa.func.count()).where(schema.events.c.kind.in_(DECISIONS))):
        return found
    numbers = {row.name: row.id for row in connection.execute(sa.select(schema.agents.c.id, schema.agents.c.name))}
    decision, received = None, dict[str, float]()
    with _scratch() as past:
        for chunk in rows.load_events(connection):
            for event, stored in chunk:
                if decision is not None and event.refers == decision.seq and event.recorded == decision.recorded:
                    received[str(event.agent)] = received.get(str(event.agent), 0.0) + float(event.amount or 0.0)
                elif decision is not None:
                    _compare(decision, received, found)
                    decision = None
                if event.kind in DECISIONS:
                    decision, received = event, {}
                    _decide_again(past, event, found)
                past.append(event, bytes(stored), numbers)
    if decision is not None:
        _compare(decision, received, found)
    return found


class _ReplayedPast:
    """The ledger as it was before the next event."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._chain = Chain()
        self._waiting: list[dict[str, Any]] = []
        self._agents: dict[str, int] = {}
        self._new: dict[str, int] = {}
        self._touched: set[str] = set()
        self._last: dict[str, int] = {}
        self._draws: dict[int, Draw] = {}
        self._hashes: dict[int, bytes] = {}
        self._plans: list[Event] = []

    def draw_of(self, event: Event) -> Draw | None:
        """The draw of a decision: its own, or that of the decision in whose place it was made; None if not known.

        All dates of a plan draw with the seed that the first of them reveals.
        """
        details = event.details or {}
        if "seed" in details.get("draw", {}):
            self._draws[event.seq] = Draw(details["draw"]["seed"], details["draw"]["committed_in"])
            self._plans = [event]
        elif event.kind == "plan" and "redecides" not in details:
            self._plans.append(event)
        if event.kind == "decision":
            return self._draws.get(details.get("redecides", event.seq))
        if "redecides" in details:
            return Draw(self._hashes[details["redecides"]].hex(), None)
        first = self._draws.get(self._plans[0].seq)
        return None if first is None else first.at(event.time)

    def planned_with(self, event: Event) -> list[int]:
        """The other dates of a plan, which were decided at once and did not learn from each other's requests."""
        return [plan.seq for plan in self._plans] if event in self._plans else []

    def decided_at(self, time: int) -> bool:
        """Whether something else has been decided at this instant."""
        table = schema.events
        query = sa.select(sa.func.count()).where(table.c.kind == "decision", table.c.time == time, in_effect())
        self.now()
        return bool(self.connection.scalar(query))

    def append(self, event: Event, stored: bytes, numbers: Mapping[str, int]) -> None:
        self._chain.take(event, stored)
        if event.kind == "plan":
            self._hashes[event.seq] = stored
        number = None if event.agent is None else numbers[event.agent]
        self._waiting.append(event._asdict() | {"agent": number, "details": details_text(event), "hash": stored})
        if event.kind == "void":
            self._touched.update(self._agents)  # whomever it concerns
        if event.agent is not None and number is not None:
            self._touched.add(event.agent)
            self._last[event.agent] = max(event.time, self._last.get(event.agent, event.time))
            if event.agent not in self._agents:
                self._agents[event.agent] = self._new[event.agent] = number

    def now(self) -> sa.Row[Any]:
        """Brings the tables up to date; the ledger's row."""
        if self._new:
            zero = {column.name: 0 for column in schema.agents.c} | {"turns": "[]"}
            self.connection.execute(
                schema.agents.insert(), [zero | {"id": id_, "name": name} for name, id_ in self._new.items()]
            )
        if self._waiting:
            self.connection.execute(schema.events.insert(), self._waiting)
        repairing.refresh(self.connection, self._chain, self._touched)
        self._waiting, self._new = [], {}
        # Whoever has an event that lies ahead is looked at again, until it has been settled.
        self._last = {name: time for name, time in self._last.items() if time > self._chain.latest}
        self._touched = set(self._last)
        return self.connection.execute(sa.select(schema.ledger)).one()


@contextmanager
def _scratch() -> Iterator[_ReplayedPast]:
    """An empty ledger in memory, and in a temporary file where there is too little of it."""
    engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(""), poolclass=sa.StaticPool)
    with engine.connect() as connection:
        schema.create(connection)
        row = {"id": 1, "head": 0, "head_hash": b"", "settled": 0, "rules": "[]"}
        connection.execute(schema.ledger.insert(), row)
        yield _ReplayedPast(connection)
    engine.dispose()


def _decide_again(past: _ReplayedPast, event: Event, found: Rerun) -> None:
    details = event.details or {}
    request = request_from(details.get("request", {}))
    draw = past.draw_of(event)
    # Decisions of one instant that are decided again do not see each other, which the events do not tell.
    alone = "redecides" not in details or event.kind == "plan" or not past.decided_at(event.time)
    # Version 0.2.0 did not record in which order the items of a request were, on which a draw depends.
    unordered = isinstance(request, Items) and request.order is None
    if details.get("method") != deciding.METHOD or request is None or draw is None or unordered or not alone:
        found.older += 1
        return
    if not details["optimal"]:
        found.older += 1
        return
    found.decisions += 1
    head = past.now()
    try:
        stood = standing(past.connection, rows.load_book(head.rules), event.time)
        gets, utilities = _made(past, event, stood, request, draw)
    except ValueError as error:
        found.problems.append(f"decision {event.seq} could not have been made: {error}")
        return
    told = gets == details["gets"] or (isinstance(request, Amount) and _rounded_alike(gets, details["gets"]))
    if not told or not _same(utilities, details["utilities"]):
        found.problems.append(
            f"decision {event.seq} does not follow from what was recorded before it: with the same request, rules and "
            f"past, {_told(gets)}, but it was recorded that {_told(details['gets'])}"
        )


def _made(
    past: _ReplayedPast, event: Event, stood: Standing, request: Request, draw: Draw
) -> tuple[Mapping[str, str], Mapping[str, float]]:
    """What each agent gets in words, and its utility, if it is decided again."""
    details = event.details or {}
    if "kept" in details:
        kept = [Turn(*turn) for turn in details["kept"]]
        _, made = filled(past.connection, stood, request, kept, details["vacant"], draw, event.seq - 1)
        return made["gets"], made["utilities"]
    if event.kind == "plan" or "redecides" in details:
        request, _ = possible(request, stood)
    again = deciding.proposal(past.connection, stood, request, event.seq - 1, draw, past.planned_with(event))
    return again.gets(), again.utilities


def _compare(decision: Event, received: Mapping[str, float], found: Rerun) -> None:
    details = decision.details or {}
    told = dict(details.get("utilities", {}))
    if "redecides" in details and decision.kind == "plan":
        if "kept" not in details:
            return  # an earlier version did not say which turns stayed
        for agent, _, amount in details["kept"] if received.keys() != told.keys() else ():
            told[agent] = told.get(agent, 0.0) + amount
    if not _same(told, received):
        found.problems.append(
            f"decision {decision.seq} says that {_told(told)}, but what was recorded as received through it says that "
            f"{_told(received)}"
        )


def _same(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    return a.keys() == b.keys() and all(math.isclose(a[name], b[name], rel_tol=CLOSE, abs_tol=1e-12) for name in a)


def _rounded_alike(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Whether parts of an amount, in words, differ by no more than their last digit, as 25.62 and 25.63 of 51.25."""

    def parts(gets: Mapping[str, str]) -> dict[str, float]:
        return {name: float(what.split()[0].replace(",", "")) for name, what in gets.items()}

    one, other = parts(a), parts(b)
    return one.keys() == other.keys() and all(math.isclose(one[name], other[name], rel_tol=1e-3) for name in one)


def _told(gets: Mapping[str, object]) -> str:
    parts = [
        f"{name} gets {what:g}" if isinstance(what, float) else f"{name} gets {what}" for name, what in gets.items()
    ]
    return ", ".join(parts) or "nobody gets anything"
