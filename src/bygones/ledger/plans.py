"""`Ledger.plans`: dates ahead, from a draft to what was received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import sqlalchemy as sa

from bygones.ledger import planning, replanning, rows, schema
from bygones.ledger.events import Event
from bygones.ledger.plan_tables import DateNeeds
from bygones.ledger.planning import Plan, PlannedTurn
from bygones.ledger.replanning import Replanned
from bygones.ledger.store import Store
from bygones.ledger.times import When
from bygones.ledger.writing import LedgerWriter, written

T = TypeVar("T")


class Plans:
    """What is planned for dates ahead in a ledger; each turn counts as received from its time on."""

    def __init__(self, store: Store, author: str = "") -> None:
        self._store, self._author = store, author

    def draft(self, dates: Sequence[DateNeeds]) -> Plan:
        """What would be planned for dates ahead, decided one after the other; nothing is recorded."""
        with self._store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger)).one()
            return planning.draft(connection, head, dates)

    def publish(self, dates: Sequence[DateNeeds], *, note: str = "") -> Plan:
        """Plans dates ahead and records the plan."""

        def write(writer: LedgerWriter) -> Plan:
            plan = planning.draft(writer.connection, writer.head, dates)
            planning.publish(writer, plan, note)
            return plan

        return self._write(write)

    def turns(self, start: When | None = None, end: When | None = None) -> list[PlannedTurn]:
        """The turns that are planned from an instant on, by default now, until before another."""
        with self._store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            first = rows.clock(connection) if start is None else book.instant(start, "from")
            return planning.planned(connection, book, first, None if end is None else book.instant(end, "until"))

    def redecide(
        self,
        start: When | None = None,
        *,
        needs: Sequence[DateNeeds] = (),
        accept: bool = False,
        note: str = "",
    ) -> list[Replanned]:
        """Decides planned dates again where somebody can no longer take a turn, with the fewest turns reassigned.

        Args:
            start: the first instant that may change; by default now.
            needs: who is available on which date and what they need, instead of what the plan was made from.
            accept: whether to record the result; otherwise nothing is recorded.
            note: a remark.
        """
        by_date = {each.at: each for each in needs}

        def write(writer: LedgerWriter) -> list[Replanned]:
            return replanning.replan(writer, writer.time(start, name="from"), note, by_date)

        return self._write(write, keep=accept)

    def void(self, start: When | None = None, end: When | None = None, *, note: str = "") -> list[int]:
        """Takes back what is planned from an instant on, by default now, until before another; the instants."""

        def write(writer: LedgerWriter) -> list[int]:
            until = None if end is None else writer.book.instant(end, "until")
            return replanning.unplan(writer, writer.time(start, name="from"), until, note)

        return self._write(write)

    def swap(self, first: int, second: int, *, note: str = "") -> list[Event]:
        """Exchanges two agents' turns, by the numbers of their events, and credits whoever serves."""
        return self._write(lambda writer: replanning.swap(writer, first, second, note))

    def _write(self, what: Callable[[LedgerWriter], T], *, keep: bool = True) -> T:
        return written(self._store, what, self._author, keep=keep)
