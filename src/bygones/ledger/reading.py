"""Everything that can be asked of a ledger, each question about one moment; nothing is recorded."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa

from bygones._text import check_text
from bygones.ledger.actions.accounts import EventAccount, account_of, committing
from bygones.ledger.actions.explanations import (
    Contribution,
    LaterChange,
    changes_since,
    contributions,
    owed_since,
)
from bygones.ledger.actions.imports import Preview, preview
from bygones.ledger.actions.remade import Told, told
from bygones.ledger.model.events import KINDS, Entry, Event
from bygones.ledger.model.rules import Change, RuleBook, Rules
from bygones.ledger.model.standing import Standing
from bygones.ledger.model.times import When
from bygones.ledger.proof.verification import Verification, verify
from bygones.ledger.storage import keys, revised_table, rows, schema, timeline
from bygones.ledger.storage.store import Store


class _Asked(NamedTuple):
    """The terms of a question: the ledger, its rules, an instant, and the last event that counts if not all do."""

    connection: sa.Connection
    book: RuleBook
    time: int
    head: int | None


class Readable:
    """A ledger as far as it can be read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self.name}>"

    @property
    def name(self) -> str:
        """The file or the URL, without the password."""
        return self._store.name

    def rules(self, at: When | None = None) -> Rules:
        """The rules in force at an instant, by default now or when the ledger begins."""
        with self._asked(at) as asked:
            return asked.book.at(asked.time)

    def standing(
        self, at: When | None = None, *, as_recorded: When | None = None, before: int | None = None
    ) -> Standing:
        """The standing at an instant, past or future, by default now.

        Args:
            at: the instant.
            as_recorded: count only the events recorded by this instant, as if you had asked then.
            before: count only the events recorded before the one with this number; `at` is then by default the
                time of that event, and the result is the standing on which a decision was based.
        """
        with self._asked(at, as_recorded, before) as asked:
            return timeline.standing(*asked)

    def outlook(
        self, until: When, at: When | None = None, *, as_recorded: When | None = None, before: int | None = None
    ) -> Standing:
        """The standing at a later instant if nothing is received after `at`, by default now."""
        with self._asked(at, as_recorded, before) as (connection, book, time, head):
            return timeline.outlook(connection, book, time, book.instant(until, "until"), head)

    def owed_since(self, at: When | None = None) -> dict[str, int]:
        """For each agent who is owed something at an instant, since when they have been owed without a break."""
        with self._asked(at) as (connection, book, time, _):
            return owed_since(connection, book, time)

    def contributions(self, agent: str, at: When | None = None) -> list[Contribution]:
        """The parts of an agent's recent total, the largest first."""
        name = check_text("agent", agent, empty=False)
        with self._asked(at) as (connection, book, time, _):
            return contributions(connection, book, time, name)

    def events(self, kind: str | None = None, *, in_effect: bool = False) -> Generator[tuple[Event, bytes], None, None]:
        """All events with their hashes, in the order of recording, perhaps only of one kind or not void."""
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        where = [] if kind is None else [schema.events.c.kind == kind]
        with self._store.reading() as connection:
            yield from rows.load_hashed(connection, [*where, revised_table.in_effect()] if in_effect else where)

    def hashes(self) -> Generator[bytes, None, None]:
        """The hashes of all events, in the order of recording."""
        query = sa.select(schema.events.c.hash).order_by(schema.events.c.seq)
        with self._store.reading() as connection:
            for part in connection.execute(query, execution_options=rows.IN_CHUNKS).partitions():
                yield from (bytes(stored) for (stored,) in part)

    def event(self, seq: int) -> Event:
        """One event by its number."""
        with self._store.reading() as connection:
            return rows.load_event(connection, seq)

    def told(self, decision: Event) -> Told:
        """The assignments of a recorded decision or plan and their reasons, from the events before it."""
        with self._store.reading() as connection:
            return told(connection, decision)

    def void_since(self, seq: int) -> int | None:
        """The number of the event since which an event is void, or None if it counts."""
        with self._store.reading() as connection:
            return revised_table.void_since(connection, seq)

    def zone(self) -> str:
        """The name of the ledger's time zone."""
        with self._asked() as asked:
            return asked.book.zone

    def with_key(self, key: str) -> list[Event]:
        """The events recorded with this key; empty if there are none."""
        with self._store.reading() as connection:
            return keys.events_of(connection, keys.check_key(key))

    def changes_since(self, event: Event) -> list[LaterChange]:
        """The later events that change this one, or the amounts received through it: corrections and swaps."""
        with self._store.reading() as connection:
            return changes_since(connection, event)

    def account(self, seq: int) -> EventAccount:
        """The account of one event: the entry, the reasons of a decision, and later changes."""
        with self._asked() as (connection, book, _, _):
            event = rows.load_event(connection, seq)
            return account_of(connection, book.at(max(event.time, book.began)), book.zone, seq)

    def committing(self, decision: Event) -> Event | None:
        """The event that had committed to the draw of a decision, or None."""
        with self._store.reading() as connection:
            return committing(connection, decision)

    def decisions_at(self, at: When) -> list[int]:
        """The numbers of the decisions of one instant that count."""
        table = schema.events
        with self._asked(at) as (connection, _, time, _):
            decided = [table.c.kind == "decision", table.c.time == time, revised_table.in_effect()]
            return list(connection.execute(sa.select(table.c.seq).where(*decided).order_by(table.c.seq)).scalars())

    def joined_before(self, join: Event) -> bool:
        """Whether the agent who joins with this event had joined before, and returns."""
        table, agents = schema.events, schema.agents
        earlier = [
            agents.c.name == join.agent,
            table.c.kind == "join",
            table.c.seq < join.seq,
            revised_table.in_effect(),
        ]
        query = sa.select(table.c.seq).join_from(table, agents, table.c.agent == agents.c.id).where(*earlier)
        with self._store.reading() as connection:
            return connection.execute(query.limit(1)).scalar() is not None

    def rule_changes_after(self, at: When | None = None) -> list[Change]:
        """The rule changes that wait for their time after an instant, by default now."""
        with self._asked(at) as asked:
            return [change for change in asked.book.changes if change.time > asked.time]

    def preview(self, entries: Sequence[Entry], *, join: bool = False) -> Preview:
        """The events that importing these entries would record, with likely mistakes; nothing is recorded."""
        with self._asked() as (connection, book, _, _):
            return preview(connection, book, entries, join=join)

    def n_events(self) -> int:
        """The number of events so far."""
        with self._store.reading() as connection:
            return int(connection.execute(sa.select(schema.ledger.c.head)).scalar_one())

    def head(self) -> str:
        """The hash of the last event. Kept elsewhere, it shows later that no event up to it has changed."""
        with self._store.reading() as connection:
            return bytes(connection.execute(sa.select(schema.ledger.c.head_hash)).scalar_one()).hex()

    def verify(self, head: str | None = None) -> Verification:
        """Checks the database and the chain of hashes, replays all events and makes all decisions again.

        Args:
            head: a hash noted earlier, which must be one of the chain.
        """
        if head is not None:
            head = head.strip().lower()
            if not re.fullmatch(r"[0-9a-f]{64}", head):
                raise ValueError(f"head must be the 64 digits and letters that verify prints, got {head!r}")
        with self._store.reading() as connection:
            return verify(connection, head)

    @contextmanager
    def _asked(
        self, at: When | None = None, as_recorded: When | None = None, before: int | None = None
    ) -> Iterator[_Asked]:
        """The ledger at one moment and the terms of a question: an instant, by default now, and the events counted."""
        with self._store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger.c.rules, schema.ledger.c.head)).one()
            book, table, known_by, last = rows.load_book(head.rules), schema.events, None, None
            if as_recorded is not None and before is not None:
                raise ValueError("as_recorded and before have the same purpose: give only one of them")
            time = None if at is None else book.instant(at)
            if before is not None:
                if not 1 < before <= head.head:
                    raise ValueError(f"before must be the number of an event after the first, got {before}")
                last = before - 1
                known_by = connection.execute(sa.select(table.c.time).where(table.c.seq == before)).scalar_one()
            elif as_recorded is not None:
                known_by = book.instant(as_recorded, "as_recorded")
                query = sa.select(sa.func.max(table.c.seq)).where(table.c.recorded <= known_by)
                last = connection.execute(query).scalar()
                if last is None:
                    raise ValueError(f"nothing had been recorded by {book.format_instant(known_by)}")
            if last is not None:
                book = rows.load_changes(connection, last)
            if time is None:
                time = max(rows.clock(connection) if known_by is None else known_by, book.began)
            yield _Asked(connection, book, time, last)
