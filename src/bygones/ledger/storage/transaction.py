"""One writing transaction, and how a command records: everything of it or nothing, and with a key once only.

An action checks its arguments and appends events. `finish` saves them together with all that follows from them: links,
assignments, revisions, the snapshot of each agent, and the head of the chain. An action may finish more than once, to
read its own events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa

from bygones.ledger.model import fold, participation
from bygones.ledger.model.events import GENESIS, PARTICIPATION, RECEIVED, Event, canonical, load_details
from bygones.ledger.model.fold import Facts
from bygones.ledger.model.remembering import TimedMemory
from bygones.ledger.model.rules import MEMORY_SETTINGS, Change, RuleBook, Rules, check_settings
from bygones.ledger.model.times import SECOND, When, instant
from bygones.ledger.storage import derived, dialects, draw_table, keys, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.store import Store

T = TypeVar("T")

FURTHEST = 366 * 86400 * SECOND
"""Nothing is recorded more than a year ahead, which would be a typing error."""

SKEW = 300 * SECOND
"""Amounts can be received this far ahead of the clock, since clocks differ."""


REVISING = ("void", "correction", "plan")
"""Kinds of event that may change what others count, as a decision does that is made in place of another."""


class ImpossibleError(ValueError):
    """The events in effect would make no sense; the message gives the reason."""


def begin(connection: sa.Connection, rules: Rules, began: When | None, author: str = "") -> None:
    """The first event of a ledger: its rules."""
    check_settings(rules.to_dict())
    recorded = rows.clock(connection)
    time = recorded if began is None else instant(began, "began", rules.time_zone)
    details = {**rules.to_dict(), "draw": draw_table.publish(connection, 1)}
    event = Event(1, "rules", time, recorded, details=details, author=dialects.in_database(connection, author))
    book = RuleBook([Change(event.time, event.seq, rules.to_dict())])
    head = rows.save_events(connection, [event], {}, GENESIS)
    row = {"id": 1, "head": 1, "head_hash": head, "settled": recorded, "rules": rows.save_book(book)}
    connection.execute(schema.ledger.insert(), row)


class Transaction:
    """Collects the events of one transaction; `finish` saves them.

    The snapshot holds the events up to `settled`, which is now or, if clocks have been put back, later. Events that lie
    ahead wait in the table of events; the first transaction after their time adds them to the snapshot.
    """

    def __init__(self, connection: sa.Connection, head: sa.Row[Any], author: str = "") -> None:
        self.connection, self.head = connection, head
        self.author = dialects.in_database(connection, author)
        self.book = self._book_before = rows.load_book(head.rules)
        self.recorded = rows.clock(connection)
        self.settled = int(head.settled)
        self.remembering = self._in_force()
        """The memory of the stored snapshot."""
        self.began_with = int(head.head)
        """The number of the last event before this transaction."""
        self._has_published = False
        self._events: list[Event] = []
        if self.recorded > self.settled:
            self._settle()
        self._settled_with = int(self.head.head)

    def _in_force(self) -> TimedMemory:
        return self.book.at(max(self.settled, self.book.began)).remembering

    def time(self, at: When | None, *, ahead: int = FURTHEST, name: str = "at") -> int:
        """The instant of an event, refused if it is before the ledger began or too far ahead."""
        time = max(self.recorded, self.book.began) if at is None else self.book.instant(at, name)
        if time < self.book.began:
            raise ValueError(
                f"{name} must not be before the ledger began ({self.book.format_instant(self.book.began)}), got {at}: "
                "to record an earlier past, make a ledger that begins earlier (--began)"
            )
        if time > self.recorded + ahead:
            given = self.book.format_instant(time) if at is None else at
            if ahead == SKEW:
                is_burden = self.book.at(time).kind == "burden"
                known = "nobody can have worked" if is_burden else "nothing can have been received"
                raise ValueError(
                    f"{name} must not be in the future (it is now {self.book.format_instant(self.recorded)}), got "
                    f"{given}: {known} then yet; check the date, or plan it (bygones ledger plan)"
                )
            raise ValueError(f"{name} must not be more than a year ahead, got {given}")
        return time

    @property
    def next(self) -> int:
        """The number of the next event."""
        return int(self.head.head) + len(self._events) + 1

    def append(self, kind: str, time: int, **fields: Any) -> Event:
        """Adds an event for `finish` to save."""
        if not self._has_published:
            # The first event of a ledger of an earlier version publishes its chains of seeds.
            self._has_published = True
            details = fields.get("details") or {}
            drawn = draw_table.publish(self.connection, self.next) | details.get("draw", {})
            fields["details"] = {**details, **({"draw": drawn} if drawn else {})} or None
        fields["details"] = _as_stored(fields.get("details"))
        event = Event(self.next, kind, time, self.recorded, author=self.author, **fields)
        self._events.append(event)
        return event

    def together(self, content: str = "", key: str | None = None, **more: Any) -> Event | None:
        """Marks all events so far as recorded together, with a key, in the details of the first that is not saved.

        That event as it will be saved, or None if there are no events.
        """
        saved = int(self.head.head) - self._settled_with
        if saved + len(self._events) == 0:
            return None
        first = self._events[0]
        details = dict(first.details or {})
        about = {"events": saved + len(self._events), "before": saved or None, "content": content or None, **more}
        new = {name: value for name, value in about.items() if value is not None}
        details["batch"] = {**details.get("batch", {}), **new}
        self._events[0] = first._replace(key=key or first.key, details=_as_stored(details))
        return self._events[0]

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Whatever is recorded in a `with` block, and before it, can be read there; at its end the block is undone."""
        events, head, book, remembering = list(self._events), self.head, self.book, self.remembering
        has_published = self._has_published
        savepoint = self.connection.begin_nested()
        try:
            self.finish()
            yield
        finally:
            savepoint.rollback()
            self._events, self.head, self.book, self.remembering = events, head, book, remembering
            self._has_published = has_published

    def finish(self) -> list[sa.Row[Any]]:
        """Saves the events so far and all that follows from them; the earlier events that now count otherwise."""
        if not self._events:
            return []
        connection, events = self.connection, self._events
        self._events = []
        agents = dict.fromkeys(event.agent for event in events if event.agent is not None)
        numbers = rows.numbers_of(connection, agents)
        head_hash = rows.save_events(connection, events, numbers, self.head.head_hash)
        derived.save(connection, events)
        revising = [event.seq for event in events if event.kind in REVISING or "redecides" in (event.details or {})]
        revised = revised_table.refresh(connection, revising) if revising else []
        # Rules come first, since agents are folded under them.
        self._follow_rules(events, revised)
        self._follow_agents(events, numbers, {row.agent for row in revised if row.agent is not None})
        changed = {"head": events[-1].seq, "head_hash": head_hash, "rules": rows.save_book(self.book)}
        connection.execute(schema.ledger.update().values(changed))
        self.head = connection.execute(sa.select(schema.ledger)).one()
        return revised

    def _follow_rules(self, events: Sequence[Event], revised: Sequence[sa.Row[Any]]) -> None:
        """Makes the rules, and the snapshots that depend on them, follow from events that set rules."""
        new = [(event.time, event.details or {}) for event in events if event.kind == "rules"]
        old = [(row.time, load_details(row.details)) for row in revised if row.kind == "rules"]
        if not new and not old:
            return
        try:
            self.book = rows.load_changes(self.connection)
        except ValueError as error:
            raise ImpossibleError(f"later rules depend on it: {error}") from None
        times = [time for time, settings in (*new, *old) if not set(MEMORY_SETTINGS).isdisjoint(settings)]
        if self._in_force() != self.remembering:
            self.remembering = self._in_force()
            known = timeline.rebuilt(self.connection, self.settled)
            rows.save_agents(self.connection, known.ids, known.agents)
        elif times:
            # Once clocks have been put back, the snapshot holds events that lie ahead.
            ids, agents = rows.load_agents(self.connection, self.remembering)
            self._refold(ids[agents.as_of > min(times)].tolist())

    def _follow_agents(self, events: Sequence[Event], numbers: Mapping[str, int], revised: set[int]) -> None:
        """Makes the snapshots of agents follow from events of theirs, or that count otherwise than before.

        Events that lie ahead wait. An event that is the latest of its agent is added to the snapshot; after anything
        else, all events of the agent are folded again.
        """
        again = revised | {numbers[str(event.agent)] for event in events if event.kind in PARTICIPATION}
        amounts = [event for event in events if event.kind in (*RECEIVED, "offset")]
        due = [event for event in amounts if event.time <= self.settled and numbers[str(event.agent)] not in again]
        if due:
            ids, agents = rows.load_agents(self.connection, self.remembering, {str(event.agent) for event in due})
            row_of = {name: row for row, name in enumerate(agents.names)}
            who = np.array([row_of[str(event.agent)] for event in due], dtype=np.int64)
            times = np.array([event.time for event in due], dtype=np.int64)
            late = np.unique(who[times < agents.as_of[who]])
            again |= set(ids[late].tolist())
            amount = np.array([event.amount for event in due], dtype=float)
            received = np.array([event.kind in RECEIVED for event in due], dtype=bool)
            facts = Facts(who, times, amount, received, np.zeros(len(due), dtype=bool))
            agents = fold.add(agents, self.book, facts.only(~np.isin(who, late)))
            rows.save_agents(self.connection, ids, agents)
        self._refold(sorted(again))

    def _refold(self, numbers: Sequence[int]) -> None:
        """The snapshots of some agents from their events in effect alone, refused if these make no sense."""
        if not numbers:
            return
        table = schema.agents
        names = {row.id: row.name for row in self.connection.execute(sa.select(table.c.id, table.c.name))}
        changes = timeline.load_participation(self.connection, set(numbers))
        for number in numbers:
            impossible = participation.first_impossible(changes.get(number, ()))
            if impossible is not None:
                raise ImpossibleError(self._impossible(number, names[number], *impossible))
            if number not in changes:
                rows.save_nobody(self.connection, number)
        here = [number for number in numbers if number in changes]
        if here:
            ids, mine = np.array(here, dtype=np.int64), [changes[number] for number in here]
            empty = fold.empty([names[number] for number in here], mine, self.remembering)
            folded = timeline.refolded(self.connection, self.book, ids, empty, self.settled)
            rows.save_agents(self.connection, ids, folded)

    def _impossible(self, number: int, name: str, position: int, state: str) -> str:
        table = schema.events
        query = sa.select(table.c.seq, table.c.time, table.c.kind).order_by(table.c.time, table.c.seq)
        mine = query.where(table.c.agent == number, table.c.kind.in_(PARTICIPATION), in_effect())
        row = self.connection.execute(mine).all()[position]
        when = self.book.format_instant(row.time)
        return f"{name!r} would be {state} at {when} and could not {row.kind} then; void event {row.seq} first"

    def _settle(self) -> None:
        """Adds events that are no longer ahead to the snapshot, and records the starts of agents who have joined."""
        table = schema.events
        waited = sa.select(table.c.agent).where(table.c.time > self.settled, table.c.time <= self.recorded).distinct()
        concerned = self.connection.execute(waited).scalars().all()
        starts: Sequence[fold.Start] = ()
        if concerned:
            known = timeline.known_at(self.connection, self.book, self.recorded)
            is_new = np.isin(known.ids, [number for number in concerned if number is not None])
            # If another memory has come into force, the counters of all agents are new.
            changed = np.flatnonzero(is_new | (known.agents.remembering != self.remembering))
            rows.save_agents(self.connection, known.ids[changed], known.agents.take(changed))
            starts = known.starts
        self.settled = self.recorded
        self.remembering = self._in_force()
        self.connection.execute(schema.ledger.update().values(settled=self.settled))
        for start in starts:
            joined = start.joining
            self.append(
                "correction", joined.time, agent=joined.name, amount=start.amount, refers=joined.key,
                note="start when joining", details={"to": start.amount},
            )  # fmt: skip
        self.finish()

    def check_units(self) -> None:
        """Refuses to leave the memory in two units, by the rules before the transaction and now.

        Under normalised reports a decision records multiples of each agent's usual report, otherwise the needs
        themselves. Added up in one memory, 8 hours would count eight times an ordinary day. So from the first
        amount on, `reports` must not change.
        """
        before = self._book_before
        if len({rules.reports for book in (before, self.book) for rules in book.history}) == 1:
            return
        table = schema.events
        counts = sa.select(sa.func.min(table.c.time)).where(table.c.kind.in_((*RECEIVED, "offset")), in_effect())
        first = self.connection.execute(counts).scalar()
        if first is not None and len(before.reports_since(first) | self.book.reports_since(first)) > 1:
            raise ValueError(
                "reports cannot change once an amount was received or is planned, since recent totals would be in two "
                "units, needs as reported and multiples of each agent's usual report: make a new ledger (bygones "
                "ledger new --reports), or make the earlier amounts void"
            )


class Recorder(NamedTuple):
    """Records in one ledger in the name of one author."""

    store: Store
    author: str

    def write(self, act: Callable[[Transaction], T], *, keep: bool = True) -> T:
        """Does something to the ledger in one transaction; unless it is to be kept, it is undone again."""
        with self.store.writing() as (connection, head):
            transaction = Transaction(connection, head, self.author)
            answer = act(transaction)
            if keep:
                transaction.finish()
            if keep and transaction.head.head > head.head:
                transaction.check_units()
            else:
                # If nothing was recorded, waiting events would have been settled without a trace.
                connection.rollback()
        return answer

    def once(
        self,
        key: str | None,
        asked: Callable[[RuleBook], list[Any]],
        act: Callable[[Transaction], T],
        read: Callable[[Transaction, list[Event]], Any] = lambda _, events: events[0],
    ) -> T:
        """Does something with a key or, if that was done before, reads its answer from the events recorded then.

        However often and by how many at once it is asked for, it is done once, since writers wait for each other.

        Args:
            key: chosen by the caller; without one it is done in any case.
            asked: the request, given the rules, which know the time zone: its name, its time or None, and the rest.
            act: does it; its answer.
            read: the same answer, from the events; by default the first of them.
        """
        if key is None:
            return self.write(act)
        name = keys.check_key(key)

        def act_once(transaction: Transaction) -> T:
            content = keys.fingerprint(asked(transaction.book))
            known = keys.recorded(transaction.connection, name, content)
            if known:
                answer: T = read(transaction, known)
                return answer
            answer = act(transaction)
            return _with(answer, transaction.together(content, name))

        return self.write(act_once)


def _with(answer: T, marked: Event | None) -> T:
    """An answer made of events, in the form in which it is read again: with the key on the event that is marked."""
    if isinstance(answer, list):
        return [_with(each, marked) for each in answer]  # type: ignore[return-value]
    is_marked = isinstance(answer, Event) and marked is not None and answer.seq == marked.seq
    return marked if is_marked else answer  # type: ignore[return-value]


def _as_stored(details: dict[str, Any] | None) -> dict[str, Any] | None:
    """Details in the form in which they are read again: in the order of their names, of the types that JSON has."""
    return None if details is None else load_details(canonical(details))
