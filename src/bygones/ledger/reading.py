"""Everything that can be asked of a ledger, each question about one moment; nothing is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import sqlalchemy as sa

from bygones._text import check_text
from bygones.ledger.actions.explanations import (
    Contribution,
    LaterChange,
    changes_since,
    contributions,
    made_again,
    owed_since,
)
from bygones.ledger.actions.imports import Preview, preview
from bygones.ledger.actions.remade import Told, told
from bygones.ledger.model.events import KINDS, Entry, Event, check_event
from bygones.ledger.model.rules import Change, RuleBook, Rules
from bygones.ledger.model.standing import Standing
from bygones.ledger.model.times import When
from bygones.ledger.proof.verification import Verification, verify
from bygones.ledger.storage import draw_table, keys, revisions, rows, schema, timeline
from bygones.ledger.storage.store import Store

T = TypeVar("T")


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
        return self._read(lambda connection, book, time: book.at(time), at)

    def standing(
        self, at: When | None = None, *, as_recorded: When | None = None, before: int | None = None
    ) -> Standing:
        """Where everybody stands at an instant, past or future, by default now.

        Args:
            at: the instant.
            as_recorded: count only what had been recorded by this instant, as if it had been asked then.
            before: count only what had been recorded before the event with this number; `at` is then by default the
                time of that event, so that the result is what a decision saw.
        """
        with self._store.reading() as connection:
            book, time, head = self._asked(connection, at, as_recorded, before)
            return timeline.standing(connection, book, time, head)

    def outlook(
        self, until: When, at: When | None = None, *, as_recorded: When | None = None, before: int | None = None
    ) -> Standing:
        """Where everybody stands at a later instant if nothing is received after `at`, by default now."""
        with self._store.reading() as connection:
            book, time, head = self._asked(connection, at, as_recorded, before)
            return timeline.outlook(connection, book, time, book.instant(until, "until"), head)

    def owed_since(self, at: When | None = None) -> dict[str, int]:
        """For each agent who is owed something at an instant, since when they have been owed without a break."""
        return self._read(owed_since, at)

    def contributions(self, agent: str, at: When | None = None) -> list[Contribution]:
        """What an agent's remembered utility consists of, the largest part first."""
        name = check_text("agent", agent, empty=False)
        return self._read(lambda connection, book, time: contributions(connection, book, time, name), at)

    def events(self, kind: str | None = None, *, in_effect: bool = False) -> Generator[tuple[Event, bytes], None, None]:
        """All events with their hashes, in the order of recording, or only those of a kind, or that are not void."""
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        where = [] if kind is None else [schema.events.c.kind == kind]
        with self._store.reading() as connection:
            for chunk in rows.load_events(connection, [*where, revisions.in_effect()] if in_effect else where):
                yield from chunk

    def hashes(self) -> Generator[bytes, None, None]:
        """The hashes of all events, in the order of recording."""
        query = sa.select(schema.events.c.hash).order_by(schema.events.c.seq)
        with self._store.reading() as connection:
            for part in connection.execute(query, execution_options=rows.IN_CHUNKS).partitions():
                yield from (bytes(stored) for (stored,) in part)

    def event(self, seq: int) -> Event:
        """One event by its number."""
        check_event(seq)
        with self._store.reading() as connection:
            return rows.load_event(connection, seq)

    def told(self, decision: Event) -> Told:
        """What a recorded decision or plan gave, and why, from what had been recorded before it."""
        with self._store.reading() as connection:
            return told(connection, decision)

    def void_since(self, seq: int) -> int | None:
        """The number of the event since which an event is void, or None if it counts."""
        with self._store.reading() as connection:
            return revisions.void_since(connection, seq)

    def zone(self) -> str:
        """The name of the ledger's time zone."""
        return self._read(lambda connection, book, time: book.zone, None)

    def with_key(self, key: str) -> list[Event]:
        """What was recorded with this key; empty if nothing was."""
        with self._store.reading() as connection:
            return keys.events_of(connection, keys.check_key(key))

    def changes_since(self, event: Event) -> list[LaterChange]:
        """The later events that change this one, or what was received through it: corrections and swaps."""
        with self._store.reading() as connection:
            return changes_since(connection, event)

    def made_again(self, decision: Event) -> Event | None:
        """The decision that was made in place of this one and counts instead, or None."""
        with self._store.reading() as connection:
            return made_again(connection, decision)

    def committing(self, decision: Event) -> Event | None:
        """The event that had committed to the draw of a decision, or None."""
        drawn = (decision.details or {}).get("draw") or {}
        with self._store.reading() as connection:
            seq = drawn.get("committed_in") or draw_table.published_in(connection, drawn.get("number"))
            return None if seq is None else rows.load_event(connection, seq)

    def decisions_at(self, at: When) -> list[int]:
        """The numbers of the decisions of one instant that count."""

        def read(connection: sa.Connection, _: RuleBook, time: int) -> list[int]:
            table = schema.events
            query = sa.select(table.c.seq).where(
                table.c.kind == "decision", table.c.time == time, revisions.in_effect()
            )
            return list(connection.execute(query.order_by(table.c.seq)).scalars())

        return self._read(read, at)

    def joined_before(self, join: Event) -> bool:
        """Whether the agent who joins with this event had joined before, so that it returns."""
        table, agents = schema.events, schema.agents
        earlier = [agents.c.name == join.agent, table.c.kind == "join", table.c.seq < join.seq, revisions.in_effect()]
        query = sa.select(table.c.seq).join_from(table, agents, table.c.agent == agents.c.id).where(*earlier)
        with self._store.reading() as connection:
            return connection.execute(query.limit(1)).scalar() is not None

    def rule_changes_after(self, at: When | None = None) -> list[Change]:
        """The rule changes that wait for their time after an instant, by default now."""
        return self._read(lambda _, book, time: [change for change in book.changes if change.time > time], at)

    def preview(self, entries: Sequence[Entry], *, join: bool = False) -> Preview:
        """What importing these entries would record, with what looks like a mistake; nothing is recorded."""
        return self._read(lambda connection, book, _: preview(connection, book, entries, join=join), None)

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

    def _read(self, what: Callable[[sa.Connection, RuleBook, int], T], at: When | None) -> T:
        with self._store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            time = max(rows.clock(connection), book.began) if at is None else book.instant(at)
            return what(connection, book, time)

    def _asked(
        self, connection: sa.Connection, at: When | None, as_recorded: When | None, before: int | None
    ) -> tuple[RuleBook, int, int | None]:
        """The rules, the instant, and the last event that counts if not all do."""
        book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
        time = None if at is None else book.instant(at)
        if as_recorded is not None and before is not None:
            raise ValueError("as_recorded and before say the same in two ways: give only one of them")
        if as_recorded is None and before is None:
            return book, max(rows.clock(connection), book.began) if time is None else time, None
        table = schema.events
        if before is not None:
            if not 1 < before <= connection.execute(sa.select(schema.ledger.c.head)).scalar_one():
                raise ValueError(f"before must be the number of an event after the first, got {before}")
            query = sa.select(table.c.time).where(table.c.seq == before)
            head, known_by = before - 1, int(connection.execute(query).scalar_one())
        elif as_recorded is not None:
            known_by = book.instant(as_recorded, "as_recorded")
            last = connection.execute(sa.select(sa.func.max(table.c.seq)).where(table.c.recorded <= known_by)).scalar()
            if last is None:
                raise ValueError(f"nothing had been recorded by {book.named(known_by)}")
            head = int(last)
        book = rows.load_changes(connection, head)
        return book, max(known_by, book.began) if time is None else time, head
