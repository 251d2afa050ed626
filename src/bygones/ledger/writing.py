"""One writing transaction: checks what is to be recorded, then events, snapshot and head are saved together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._text import check_text
from bygones.ledger import draws, keys, rows, schema, snapshot, turns, voids
from bygones.ledger.bounds import check_amount, check_settings, check_start, counted
from bygones.ledger.events import AMOUNTS, GENESIS, RECEIVED, Event
from bygones.ledger.rules import Change, RuleBook, Rules
from bygones.ledger.snapshot import Snapshot
from bygones.ledger.starting import START, Start, advance, waiting
from bygones.ledger.times import SECOND, When, instant
from bygones.ledger.voids import in_effect

FURTHEST = 366 * 86400 * SECOND
"""Nothing is recorded more than a year ahead, which would be a typing error."""

SKEW = 300 * SECOND
"""What was received can be this far ahead of the clock, since clocks differ; further ahead, nothing has been."""

MEMORY_SETTINGS = ("half_life", "hold_stops_clock")
"""Rules on which the snapshot depends."""


class Entry(NamedTuple):
    """Something received, or an offset, to be recorded; by default now. With a key it is recorded once only.

    `where` says where it was read, such as a file and a row of it, for messages.
    """

    agent: str
    amount: float
    at: When | None = None
    note: str = ""
    key: str | None = None
    where: str = ""


def begin(connection: sa.Connection, rules: Rules, began: When | None, author: str = "") -> None:
    """The first event of a ledger: its rules."""
    check_settings(rules.to_dict())
    recorded = rows.clock(connection)
    time = recorded if began is None else instant(began, "began", rules.time_zone)
    details = {**rules.to_dict(), "draw": draws.publish(connection, 1)}
    event = Event(1, "rules", time, recorded, details=details, author=author)
    book = RuleBook([Change(event.time, event.seq, rules.to_dict())])
    head = rows.save_events(connection, [event], [None], GENESIS)
    row = {"id": 1, "head": 1, "head_hash": head, "settled": recorded, "rules": rows.save_book(book)}
    connection.execute(schema.ledger.insert(), row)


class LedgerWriter:
    """Collects the events of one transaction; `finish` saves them.

    The snapshot holds the events up to `settled`, which is now or, if clocks have been put back, later. Events that lie
    ahead wait in the table of events; the first transaction after their time adds them to the snapshot.
    """

    def __init__(self, connection: sa.Connection, head: sa.Row[Any], author: str = "") -> None:
        self.connection, self.head, self.author = connection, head, author
        self.book = rows.load_book(head.rules)
        self.recorded = rows.clock(connection)
        self.settled = int(head.settled)
        self._committed = draws.upcoming(connection).event is not None
        self._began_with = int(head.head)
        self._events: list[Event] = []
        self._ids: list[int | None] = []
        if self.recorded > self.settled:
            self._settle()
        self._settled_with = int(self.head.head)

    def time(self, at: When | None, *, ahead: int = FURTHEST, name: str = "at") -> int:
        """The instant of an event, refused if it is before the ledger began or too far ahead."""
        time = max(self.recorded, self.book.began) if at is None else self.book.instant(at, name)
        if time < self.book.began:
            raise ValueError(
                f"{name} must not be before the ledger began ({self.book.named(self.book.began)}), got {at}: to record "
                "an earlier past, make a ledger that begins earlier (--began)"
            )
        if time > self.recorded + ahead:
            given = self.book.named(time) if at is None else at
            if ahead == SKEW:
                raise ValueError(
                    f"{name} must not be in the future (it is now {self.book.named(self.recorded)}), got {given}: "
                    "nothing can have been received then yet; check the date, or plan it (bygones ledger plan)"
                )
            raise ValueError(f"{name} must not be more than a year ahead, got {given}")
        return time

    @property
    def recorded_something(self) -> bool:
        """Whether this transaction has recorded any event."""
        return bool(self._events) or self.head.head > self._began_with

    @property
    def began_with(self) -> int:
        """The number of the last event before this transaction."""
        return self._began_with

    @property
    def next(self) -> int:
        """The number of the next event."""
        return int(self.head.head) + len(self._events) + 1

    def append(self, kind: str, time: int, number: int | None = None, **fields: Any) -> Event:
        """Adds an event to those that `finish` saves."""
        if not self._committed:
            # A ledger of before there were commitments makes its first.
            self._committed = True
            drawn = draws.publish(self.connection, self.next)
            fields["details"] = {"draw": drawn, **(fields.get("details") or {})}
        event = Event(self.next, kind, time, self.recorded, author=self.author, **fields)
        self._events.append(event)
        self._ids.append(number)
        return event

    def together(self, content: str = "", key: str | None = None, **more: Any) -> None:
        """Marks all events so far as recorded together, with a key, in the details of the first that is not saved."""
        saved = int(self.head.head) - self._settled_with
        if saved + len(self._events) == 0:
            return
        first = self._events[0]
        details = dict(first.details or {})
        batch = keys.batch(saved + len(self._events), saved, content, **more)
        details["batch"] = {**details.get("batch", {}), **batch}
        self._events[0] = first._replace(key=key or first.key, details=details)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """What is recorded in a `with` block can be read there, and is undone at its end."""
        self.finish()
        head, book = self.head, self.book
        savepoint = self.connection.begin_nested()
        try:
            yield
        finally:
            savepoint.rollback()
        self._events, self._ids, self.head, self.book = [], [], head, book

    def finish(self) -> None:
        """Saves events and head."""
        head_hash = rows.save_events(self.connection, self._events, self._ids, self.head.head_hash)
        self.connection.execute(
            schema.ledger.update().values(
                head=self.head.head + len(self._events), head_hash=head_hash, rules=rows.save_book(self.book)
            )
        )
        self._events, self._ids = [], []
        self.head = self.connection.execute(sa.select(schema.ledger)).one()

    def _settle(self) -> None:
        """Adds the events whose time has come to the snapshot."""
        table = schema.events
        due = [table.c.time > self.settled, table.c.time <= self.recorded, table.c.agent.is_not(None)]
        names = sa.select(schema.agents.c.name).join(table, table.c.agent == schema.agents.c.id).where(*due).distinct()
        concerned = list(self.connection.execute(names).scalars())
        joined: list[Start] = []
        if concerned:
            # What somebody who joined meanwhile starts with depends on everybody.
            joins = waiting(self.connection, self.settled, self.recorded)
            ids, agents = rows.load_agents(self.connection, None if joins else concerned)
            known, joined = advance(self.connection, self.book, ids, agents, self.settled, self.recorded)
            rows.save_agents(self.connection, ids, known)
        self.settled = self.recorded
        self.connection.execute(schema.ledger.update().values(settled=self.settled))
        for each in joined:
            fields = {"agent": each.name, "amount": each.amount, "refers": each.join, "note": "start when joining"}
            self.append("correction", each.time, each.agent, **fields)
        if joined:
            self.finish()

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
        latest = self._latest_after(time)
        if latest is not None and any(name in settings for name in MEMORY_SETTINGS):
            raise ValueError(
                f"{' and '.join(name for name in MEMORY_SETTINGS if name in settings)} cannot change before the latest "
                f"event ({self.book.named(latest)}), got {self.book.named(time)}"
            )
        event = self.append("rules", time, details=settings, note=check_text("note", note))
        self.book = self.book.after(Change(time, event.seq, settings))
        if any(name in settings for name in MEMORY_SETTINGS):
            self.replay_since(time)
        return event

    def replay_since(self, time: int) -> None:
        """Makes the snapshot anew of those who have an event after an instant, from which on other rules count.

        Once clocks have been put back, the snapshot holds events that lie ahead.
        """
        ids, agents = rows.load_agents(self.connection)
        late = np.flatnonzero(agents.as_of > time)
        if len(late):
            known = rows.replay(self.connection, self.book, ids[late], agents.take(late), self.settled)
            rows.save_agents(self.connection, ids[late], known)

    def join(self, name: str, time: int, start: float, rule: str | None, note: str) -> Event:
        """An agent joins and starts with an amount remembered or, if the time has not come, by a rule then."""
        ahead = time > self.settled
        start = 0.0 if ahead else check_start(name, start)
        ids, agents = rows.load_agents(self.connection, [name])
        if len(agents):
            known = self._turned(agents, 0, "join", time)
        else:
            ids, known = rows.new_agents(self.connection, [name], [time])
        rows.save_agents(self.connection, ids, self._added(known, [0], [time], [start], is_received=False))
        details = {START: rule} if ahead else None
        fields = {"agent": name, "amount": start, "note": check_text("note", note), "details": details}
        return self.append("join", time, int(ids[0]), **fields)

    def turn(self, kind: str, agent: str, time: int, note: str) -> Event:
        """An agent leaves, goes on hold or resumes."""
        ids, agents = self._agents([agent])
        if kind == "leave":
            self._check_nothing_after(agents.names[0], int(ids[0]), time)
        known = self._turned(agents, 0, kind, time)
        if time < agents.as_of[0]:
            known = rows.replay(self.connection, self.book, ids, known, self.settled)
        rows.save_agents(self.connection, ids, self._added(known, [0], [time], [0.0], is_received=False))
        return self.append(kind, time, int(ids[0]), agent=agents.names[0], note=check_text("note", note))

    def amounts(
        self,
        kind: str,
        entries: Sequence[Entry],
        *,
        join: bool = False,
        refers: int | None = None,
        details: Sequence[dict[str, Any]] | None = None,
    ) -> list[Event]:
        """Many amounts at once, received, planned or offset, perhaps with details, such as what is planned."""
        if not entries:
            return []
        ahead = FURTHEST if kind == "planned" else SKEW
        abouts = [None] * len(entries) if details is None else details
        times = [self.time(entry.at, ahead=ahead, name=name_of(i, entries, "at")) for i, entry in enumerate(entries)]
        names = [check_text(name_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
        amounts = [check_amount(name_of(i, entries, "amount"), entry.amount, kind) for i, entry in enumerate(entries)]
        notes = [check_text(name_of(i, entries, "note"), entry.note) for i, entry in enumerate(entries)]
        if join:
            self._join_the_unknown(names, times)
        ids, agents = self._agents(names)
        row_of = {name: row for row, name in enumerate(agents.names)}
        who = [row_of[name] for name in names]
        for i, (row, time) in enumerate(zip(who, times, strict=True)):
            if not turns.was_member(agents.turns[row], time):
                what = f"{name_of(i, entries, 'agent')} {names[i]!r}"
                raise ValueError(f"{what} was not a member at {self.book.named(time)}")
        known = self._added(agents, who, times, amounts, is_received=kind in RECEIVED)
        rows.save_agents(self.connection, ids, known)
        numbers = ids.tolist()
        own = [None if entry.key is None else keys.check_key(entry.key) for entry in entries]
        return [
            self.append(
                kind, time, numbers[row], agent=name, amount=amount, refers=refers, note=note, details=about, key=key
            )
            for row, time, name, amount, note, about, key in zip(
                who, times, names, amounts, notes, abouts, own, strict=True
            )
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
        since = voids.void_since(self.connection, seq)
        if since is not None:
            raise ValueError(f"event {seq} has been void since event {since}: record what is true as a new event")
        wanted = check_amount("amount", amount, found.kind)
        earlier = self.connection.execute(
            sa.select(table.c.amount).where(table.c.refers == seq, table.c.kind == "correction", in_effect())
        )
        difference = math.fsum([wanted, -counted(found.amount), *(-each for each in earlier.scalars())]) + 0.0
        name = self.connection.execute(
            sa.select(schema.agents.c.name).where(schema.agents.c.id == found.agent)
        ).scalar_one()
        ids, agents = self._agents([name])
        is_received = found.kind in RECEIVED
        known = self._added(agents, [0], [found.time], [difference], is_received=is_received)
        rows.save_agents(self.connection, ids, known)
        note = check_text("note", note)
        return self.append("correction", found.time, found.agent, agent=name, amount=difference, refers=seq, note=note)

    def take_back(self, received: Sequence[Event], note: str, details: dict[str, Any]) -> list[Event]:
        """Corrects many events of kind `received` to 0 at once."""
        table, seqs = schema.events, [event.seq for event in received]
        corrections = sa.select(table.c.refers, table.c.amount).where(
            table.c.kind == "correction", table.c.refers >= min(seqs), table.c.refers <= max(seqs), in_effect()
        )
        counts = {event.seq: [counted(event.amount or 0.0)] for event in received}
        for refers, amount in self.connection.execute(corrections):
            counts.get(refers, []).append(amount)
        off = [0.0 - math.fsum(counts[seq]) for seq in seqs]
        names, times = [str(event.agent) for event in received], [event.time for event in received]
        ids, agents = self._agents(names)
        row_of = {name: row for row, name in enumerate(agents.names)}
        who = [row_of[name] for name in names]
        known = self._added(agents, who, times, off, is_received=True)
        rows.save_agents(self.connection, ids, known)
        shared = {"note": check_text("note", note), "details": details}
        return [
            self.append("correction", time, int(ids[row]), agent=name, amount=by, refers=seq, **shared)
            for seq, time, row, name, by in zip(seqs, times, who, names, off, strict=True)
        ]

    def _agents(self, names: Sequence[str]) -> tuple[np.ndarray, Snapshot]:
        wanted = {check_text("agent", name, empty=False) for name in names}
        ids, agents = rows.load_agents(self.connection, wanted)
        unknown = sorted(wanted.difference(agents.names))
        if unknown:
            error = rows.unknown_agent(unknown[0], rows.load_names(self.connection))
            raise ValueError(f"{error}; join them first, or import with --join")
        return ids, agents

    def _turned(self, agents: Snapshot, row: int, kind: str, time: int) -> Snapshot:
        name, latest = agents.names[row], int(agents.as_of[row])
        if kind == "join" and time < latest:
            then, before = self.book.named(time), self.book.named(latest)
            raise ValueError(f"{name!r} cannot join at {then}, before their latest event ({before})")
        return replace(agents, turns=(turns.with_turn(agents.turns[row], time, kind, name, self.book.zone),))

    def _check_nothing_after(self, name: str, number: int, time: int) -> None:
        """Refuses to let an agent leave before something that it received; a turn ahead can go to somebody else."""
        table = schema.events
        served = sa.and_(table.c.kind == "planned", table.c.time <= self.recorded)
        counts = table.c.kind.in_(("received", "offset")) | served
        after = [table.c.agent == number, table.c.time > time, counts, in_effect()]
        latest = self.connection.execute(sa.select(sa.func.max(table.c.time)).where(*after)).scalar()
        if latest is not None:
            then, before = self.book.named(time), self.book.named(latest)
            raise ValueError(f"{name!r} cannot leave at {then}, before their latest event ({before})")

    def _latest_after(self, time: int) -> int | None:
        """The latest instant after this one, up to now, of anything but a rule change."""
        table = schema.events
        query = sa.select(table.c.time).where(
            table.c.time > time, table.c.time <= self.recorded, table.c.kind.not_in(("rules", "void")), in_effect()
        )
        return self.connection.execute(query.order_by(table.c.time.desc()).limit(1)).scalar()

    def _added(
        self,
        agents: Snapshot,
        who: Sequence[int],
        times: Sequence[int],
        amounts: Sequence[float],
        *,
        is_received: bool,
    ) -> Snapshot:
        """The snapshot with these events, of which those that lie ahead still wait."""
        due = np.asarray(times, dtype=np.int64) <= self.settled
        count = int(due.sum())
        return snapshot.add(
            agents,
            self.book,
            np.asarray(who, dtype=np.int64)[due],
            np.asarray(times, dtype=np.int64)[due],
            np.asarray(amounts, dtype=float)[due],
            np.full(count, is_received),
        )

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


def name_of(i: int, entries: Sequence[Entry], name: str) -> str:
    """What part of which entry a message is about."""
    if entries[i].where:
        return f"{entries[i].where}: {'time' if name == 'at' else name}"
    return name if len(entries) == 1 else f"entry {i + 1}: {name}"
