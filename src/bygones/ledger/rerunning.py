"""Every decision made again, from the events before it, to see that it was decided as it says.

The events before a decision are put into a ledger of their own, which is thrown away afterwards, and the recorded
request is decided there, with the seed that it reveals. A decision that was made in place of another, with what was
known later, or that an earlier version made, by a method that may have been another, is compared
with what was recorded of it only: whoever was to get something must have received just that.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bygones.allocation.requests import request_from
from bygones.ledger import deciding, repairing, rows, schema
from bygones.ledger.chain import Chain
from bygones.ledger.draws import Draw
from bygones.ledger.events import Event, details_text
from bygones.ledger.standing import standing

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
    if not connection.scalar(sa.select(sa.func.count()).where(schema.events.c.kind == "decision")):
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
                if event.kind == "decision":
                    decision, received = event, {}
                    _decide_again(past, event, found)
                past.append(event, bytes(stored), numbers)
    if decision is not None:
        _compare(decision, received, found)
    return found


class _Past:
    """The ledger as it was before the next event."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._chain = Chain()
        self._waiting: list[dict[str, Any]] = []
        self._agents: dict[str, int] = {}
        self._new: dict[str, int] = {}
        self._touched: set[str] = set()
        self._last: dict[str, int] = {}

    def append(self, event: Event, stored: bytes, numbers: Mapping[str, int]) -> None:
        self._chain.take(event, stored)
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
        self.connection.execute(schema.events.insert(), self._waiting)
        repairing.refresh(self.connection, self._chain, self._touched)
        self._waiting, self._new = [], {}
        # Whoever has an event that lies ahead is looked at again, until it has been settled.
        self._last = {name: time for name, time in self._last.items() if time > self._chain.latest}
        self._touched = set(self._last)
        return self.connection.execute(sa.select(schema.ledger)).one()


@contextmanager
def _scratch() -> Iterator[_Past]:
    """An empty ledger in memory, and in a temporary file where there is too little of it."""
    engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(""), poolclass=sa.StaticPool)
    with engine.connect() as connection:
        schema.create(connection)
        row = {"id": 1, "head": 0, "head_hash": b"", "settled": 0, "rules": "[]"}
        connection.execute(schema.ledger.insert(), row)
        yield _Past(connection)
    engine.dispose()


def _decide_again(past: _Past, event: Event, found: Rerun) -> None:
    details = event.details or {}
    request = request_from(details.get("request", {}))
    if details.get("method") != deciding.METHOD or request is None or not details["optimal"]:
        found.older += 1
        return
    found.decisions += 1
    head = past.now()
    draw = Draw(details["draw"]["seed"], details["draw"]["committed_in"])
    try:
        stood = standing(past.connection, rows.load_book(head.rules), event.time)
        again = deciding.proposal(past.connection, stood, request, int(head.head), draw)
    except ValueError as error:
        found.problems.append(f"decision {event.seq} could not have been made: {error}")
        return
    if again.gets() != details["gets"] or not _same(again.utilities, details["utilities"]):
        found.problems.append(
            f"decision {event.seq} does not follow from what was recorded before it: with the same request, rules and "
            f"past, {_told(again.gets())}; recorded was that {_told(details['gets'])}"
        )


def _compare(decision: Event, received: Mapping[str, float], found: Rerun) -> None:
    told = (decision.details or {}).get("utilities", {})
    if not _same(told, received):
        found.problems.append(
            f"decision {decision.seq} says that {_told(told)}, but recorded as received through it was that "
            f"{_told(received)}"
        )


def _same(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    return a.keys() == b.keys() and all(math.isclose(a[name], b[name], rel_tol=CLOSE, abs_tol=1e-12) for name in a)


def _told(gets: Mapping[str, object]) -> str:
    parts = [
        f"{name} gets {what:g}" if isinstance(what, float) else f"{name} gets {what}" for name, what in gets.items()
    ]
    return ", ".join(parts) or "nobody gets anything"
