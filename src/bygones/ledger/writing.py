"""One writing transaction: checks what is to be recorded, then events, snapshot and head are saved together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._arrays import AnyArray
from bygones._text import check_text
from bygones.ledger import rows, schema, snapshot, turns
from bygones.ledger.bounds import check_amount, check_settings, check_start, counted
from bygones.ledger.events import AMOUNTS, GENESIS, Event
from bygones.ledger.rules import Change, RuleBook, Rules
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.times import SECOND, When, instant, now, shown

FURTHEST = 366 * 86400 * SECOND
"""Nothing is recorded more than a year ahead, which would be a typing error."""

MEMORY_SETTINGS = ("half_life", "hold_stops_clock")
"""Rules on which the snapshot depends."""


class Entry(NamedTuple):
    """Something received, or an offset, to be recorded; by default now."""

    agent: str
    amount: float
    at: When | None = None
    note: str = ""


def begin(connection: sa.Connection, rules: Rules, began: int | None, author: str = "") -> None:
    """The first event of a ledger: its rules."""
    check_settings(rules.to_dict())
    recorded = now()
    event = Event(1, "rules", recorded if began is None else began, recorded, details=rules.to_dict(), author=author)
    book = RuleBook([Change(event.time, event.seq, rules.to_dict())])
    head = rows.save_events(connection, [event], [None], GENESIS)
    row = {"id": 1, "head": 1, "head_hash": head, "latest": event.time, "rules": rows.save_book(book)}
    connection.execute(schema.ledger.insert(), row)


class LedgerWriter:
    """Collects the events of one transaction; `finish` saves them."""

    def __init__(self, connection: sa.Connection, head: sa.Row[Any], author: str = "") -> None:
        self.connection, self.head, self.author = connection, head, author
        self.book = rows.load_book(head.rules)
        self.recorded = now()
        self._latest = int(head.latest)
        self._events: list[Event] = []
        self._ids: list[int | None] = []

    def time(self, at: When | None, *, ahead: float = FURTHEST, name: str = "at") -> int:
        """The instant of an event, refused if it is before the ledger began or far ahead."""
        if at is None:
            return max(self.recorded, self.book.began)
        time = instant(at, name)
        if time < self.book.began:
            raise ValueError(
                f"{name} must not be before the ledger began ({shown(self.book.began)} UTC), got {at}: to record an "
                "earlier past, make a ledger that begins earlier (--began)"
            )
        if time > self.recorded + ahead:
            raise ValueError(f"{name} must not be more than a year ahead, got {at}")
        return time

    def append(self, kind: str, time: int, number: int | None = None, **fields: Any) -> Event:
        """Adds an event to those that `finish` saves."""
        event = Event(self.head.head + len(self._events) + 1, kind, time, self.recorded, author=self.author, **fields)
        self._events.append(event)
        self._ids.append(number)
        if kind != "rules":
            self._latest = max(self._latest, time)
        return event

    def finish(self) -> None:
        """Saves events and head."""
        head_hash = rows.save_events(self.connection, self._events, self._ids, self.head.head_hash)
        self.connection.execute(
            schema.ledger.update().values(
                head=self.head.head + len(self._events),
                head_hash=head_hash,
                latest=self._latest,
                rules=rows.save_book(self.book),
            )
        )

    def change_rules(self, time: int, settings: dict[str, Any], note: str = "") -> Event:
        """Changes settings from an instant on."""
        if not settings:
            raise ValueError("a rule change must change at least one setting, got none")
        if "kind" in settings:
            raise ValueError("kind cannot change, since it says what was recorded: make a ledger of the other kind")
        after = self.book.at(time).changed(settings).to_dict()
        after["entitlements"] = {name: after["entitlements"][name] for name in settings.get("entitlements", ())}
        settings = {name: after[name] for name in settings}
        check_settings(settings)
        if time < self._latest and any(name in settings for name in MEMORY_SETTINGS):
            raise ValueError(
                f"{' and '.join(name for name in MEMORY_SETTINGS if name in settings)} cannot change before the latest "
                f"event ({shown(self._latest)} UTC), got {shown(time)} UTC"
            )
        event = self.append("rules", time, details=settings, note=check_text("note", note))
        self.book = self.book.after(Change(time, event.seq, settings))
        return event

    def join(self, name: str, time: int, start: float, note: str) -> Event:
        """An agent joins and starts with an amount remembered."""
        check_start(name, start)
        ids, agents = rows.load_agents(self.connection, [name])
        if len(agents):
            known = self._turned(agents, 0, "join", time)
        else:
            ids, known = rows.new_agents(self.connection, [name], [time])
        known = _add(known, self.book, [0], [time], [start], is_received=[False], serves=[False])
        rows.save_agents(self.connection, ids, known)
        return self.append("join", time, int(ids[0]), agent=name, amount=start, note=check_text("note", note))

    def turn(self, kind: str, agent: str, time: int, note: str) -> Event:
        """An agent leaves, goes on hold or resumes."""
        ids, agents = self._agents([agent])
        known = self._turned(agents, 0, kind, time)
        if time < agents.as_of[0]:
            known = rows.replay(self.connection, self.book, ids, known)
        known = _add(known, self.book, [0], [time], [0.0], is_received=[False], serves=[False])
        rows.save_agents(self.connection, ids, known)
        return self.append(kind, time, int(ids[0]), agent=agents.names[0], note=check_text("note", note))

    def amounts(
        self,
        kind: str,
        entries: Sequence[Entry],
        *,
        join: bool = False,
        refers: int | None = None,
    ) -> list[Event]:
        """Many amounts at once, received or offset."""
        if not entries:
            return []
        times = [self.time(entry.at, name=_of(i, entries, "at")) for i, entry in enumerate(entries)]
        names = [check_text(_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
        amounts = [check_amount(_of(i, entries, "amount"), entry.amount, kind) for i, entry in enumerate(entries)]
        notes = [check_text(_of(i, entries, "note"), entry.note) for i, entry in enumerate(entries)]
        if join:
            self._join_the_unknown(names, times)
        ids, agents = self._agents(names)
        row_of = {name: row for row, name in enumerate(agents.names)}
        who = [row_of[name] for name in names]
        for i, (row, time) in enumerate(zip(who, times, strict=True)):
            if not turns.was_member(agents.turns[row], time):
                raise ValueError(f"{_of(i, entries, 'agent')} {names[i]!r} was not a member at {shown(time)} UTC")
        every = np.full(len(who), kind == "received")
        known = _add(agents, self.book, who, times, amounts, is_received=every, serves=every)
        rows.save_agents(self.connection, ids, known)
        numbers = ids.tolist()
        return [
            self.append(kind, time, numbers[row], agent=name, amount=amount, refers=refers, note=note)
            for row, time, name, amount, note in zip(who, times, names, amounts, notes, strict=True)
        ]

    def correct(self, seq: int, amount: float, note: str) -> Event:
        """The difference that makes an event count as if it had been recorded with another amount."""
        table = schema.events
        found = self.connection.execute(sa.select(table).where(table.c.seq == seq)).one_or_none()
        if found is None:
            raise ValueError(f"there is no event {seq} to correct")
        if found.kind == "correction":
            raise ValueError(f"event {seq} is itself a correction: correct event {found.refers} instead")
        if found.kind not in AMOUNTS:
            raise ValueError(f"event {seq} has no amount to correct: it is of kind {found.kind}")
        wanted = check_amount("amount", amount, found.kind)
        earlier = self.connection.execute(
            sa.select(table.c.amount).where(table.c.refers == seq, table.c.kind == "correction")
        )
        difference = math.fsum([wanted, -counted(found.amount), *(-each for each in earlier.scalars())]) + 0.0
        name = self.connection.execute(
            sa.select(schema.agents.c.name).where(schema.agents.c.id == found.agent)
        ).scalar_one()
        ids, agents = self._agents([name])
        is_received = [found.kind == "received"]
        known = _add(agents, self.book, [0], [found.time], [difference], is_received=is_received, serves=[False])
        rows.save_agents(self.connection, ids, known)
        note = check_text("note", note)
        return self.append("correction", found.time, found.agent, agent=name, amount=difference, refers=seq, note=note)

    def _agents(self, names: Sequence[str]) -> tuple[np.ndarray, Snapshot]:
        wanted = {check_text("agent", name, empty=False) for name in names}
        ids, agents = rows.load_agents(self.connection, wanted)
        unknown = sorted(wanted.difference(agents.names))
        if unknown:
            raise ValueError(f"{rows.unknown_agent(unknown[0])}; join them first, or import with --join")
        return ids, agents

    def _turned(self, agents: Snapshot, row: int, kind: str, time: int) -> Snapshot:
        name = agents.names[row]
        latest = int(agents.as_of[row])
        if kind in ("join", "leave") and time < latest:
            raise ValueError(
                f"{name!r} cannot {kind} at {shown(time)} UTC, before their latest event ({shown(latest)} UTC)"
            )
        return replace(agents, turns=(turns.with_turn(agents.turns[row], time, kind, name),))

    def _join_the_unknown(self, names: Sequence[str], times: Sequence[int]) -> None:
        first: dict[str, int] = {}
        for name, time in zip(names, times, strict=True):
            first[name] = min(time, first.get(name, time))
        _, known = rows.load_agents(self.connection, list(first))
        there = set(known.names)
        unknown = [name for name in first if name not in there]
        if unknown:
            ids, agents = rows.new_agents(self.connection, unknown, [first[name] for name in unknown])
            for number, name in zip(ids.tolist(), agents.names, strict=True):
                self.append("join", first[name], number, agent=name, amount=0.0)


def _add(
    agents: Snapshot,
    book: RuleBook,
    who: AnyArray,
    times: AnyArray,
    amounts: AnyArray,
    *,
    is_received: AnyArray,
    serves: AnyArray,
) -> Snapshot:
    return snapshot.add(
        agents,
        book,
        np.asarray(who, dtype=np.int64),
        np.asarray(times, dtype=np.int64),
        np.asarray(amounts, dtype=float),
        np.asarray(is_received, dtype=bool),
        np.asarray(serves, dtype=bool),
    )


def _of(i: int, entries: Sequence[object], name: str) -> str:
    return name if len(entries) == 1 else f"entry {i + 1}: {name}"
