"""`Ledger.plans`: dates ahead, from a draft to what was received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bygones.ledger import keys, planning, replanning, rows, schema
from bygones.ledger.events import RECEIVED, Event
from bygones.ledger.plan_tables import DateNeeds
from bygones.ledger.planning import Plan, PlannedTurn
from bygones.ledger.recording import Recorder
from bygones.ledger.replanning import Replanned
from bygones.ledger.rules import RuleBook
from bygones.ledger.store import Store
from bygones.ledger.times import When
from bygones.ledger.writing import LedgerWriter


class Plans:
    """What is planned for dates ahead in a ledger; each turn counts as received from its time on.

    What is recorded takes a key of the caller's choice. The same again with the same key records nothing and returns
    the first answer.
    """

    def __init__(self, store: Store, recorder: Recorder) -> None:
        self._store, self._recorder = store, recorder

    def draft(self, dates: Sequence[DateNeeds]) -> Plan:
        """What would be planned for dates ahead, decided one after the other; nothing is recorded."""
        with self._store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger)).one()
            return planning.draft(connection, head, dates)

    def publish(self, dates: Sequence[DateNeeds], *, note: str = "", key: str | None = None) -> Plan:
        """Plans dates ahead and records the plan."""

        def write(writer: LedgerWriter) -> Plan:
            plan = planning.draft(writer.connection, writer.head, dates)
            planning.publish(writer, plan, note)
            return plan

        return self._recorder.answer(
            write, key, "plan", None, _asked(dates), note,
            tell=Plan.besides,
            read=lambda events, besides: planning.published(dates, events, besides),
        )  # fmt: skip

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
        source: str = "",
        accept: bool = False,
        note: str = "",
        key: str | None = None,
    ) -> list[Replanned]:
        """Decides planned dates again where somebody can no longer take a turn, with the fewest turns reassigned.

        Args:
            start: the first instant that may change; by default now.
            needs: who is available on which date and what they need, instead of what the plan was made from.
            source: what the needs were read from, such as the text of a table. It stands for them where they are read
                for the dates that are still ahead, so that a later retry is the same.
            accept: whether to record the result; otherwise nothing is recorded.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first answer.
        """
        by_date = {each.at: each for each in needs}

        def write(writer: LedgerWriter) -> list[Replanned]:
            return replanning.replan(writer, writer.time(start, name="from"), note, by_date)

        if not accept:
            keys.check_unused(key)
            return self._recorder.write(write, keep=False)
        return self._recorder.answer(
            write, key, "replan", start, source or _asked(needs), note,
            tell=lambda found: [each.to_dict() for each in found],
            read=lambda _, told: [Replanned.from_dict(each) for each in told],
        )  # fmt: skip

    def void(
        self, start: When | None = None, end: When | None = None, *, note: str = "", key: str | None = None
    ) -> list[int]:
        """Takes back what is planned from an instant on, by default now, until before another; the instants."""

        def until(book: RuleBook) -> int | None:
            return None if end is None else book.instant(end, "until")

        def write(writer: LedgerWriter) -> list[Event]:
            return replanning.unplan(writer, writer.time(start, name="from"), until(writer.book), note)

        return [event.time for event in self._recorder.events(write, key, "unplan", start, until, note)]

    def swap(self, first: int, second: int, *, note: str = "", key: str | None = None) -> list[Event]:
        """Exchanges two agents' turns, by the numbers of their events, and credits whoever serves."""

        def write(writer: LedgerWriter) -> list[Event]:
            return replanning.swap(writer, first, second, note)

        found = self._recorder.events(write, key, "swap", None, first, second, note)
        return [event for event in found if event.kind in RECEIVED]


def _asked(dates: Sequence[DateNeeds]) -> list[Any]:
    return [[each.at, each.all_day, each.request.to_dict(), list(each.unavailable)] for each in dates]
