"""`Ledger.plans`: dates ahead, from a draft to the turns received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bygones.ledger.model.events import RECEIVED, Event
from bygones.ledger.model.span import save_spans
from bygones.ledger.model.times import When
from bygones.ledger.plans import plan_changes, planned_dates
from bygones.ledger.plans.calendar_turns import CalendarTurn, calendar_turns
from bygones.ledger.plans.date_needs import DateNeeds
from bygones.ledger.plans.on_duty import OnDuty, on_duty
from bygones.ledger.plans.plan_changes import Replanned, Uncovered
from bygones.ledger.plans.planned_dates import Plan, PlannedTurn
from bygones.ledger.storage import keys, rows, schema
from bygones.ledger.storage.transaction import Recorder, Transaction


class Plans:
    """The plans of a ledger; each turn counts as received from its time on.

    Everything recorded takes a key of the caller's choice. The same again with the same key records nothing and returns
    the first answer.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def draft(self, dates: Sequence[DateNeeds]) -> Plan:
        """A plan for dates ahead, decided one after the other; nothing is recorded."""
        with self._recorder.store.reading() as connection:
            head = connection.execute(sa.select(schema.ledger)).one()
            book, now = rows.load_book(head.rules), rows.clock(connection)
            return planned_dates.draft(connection, book, int(head.head), dates, now)

    def publish(self, dates: Sequence[DateNeeds], *, note: str = "", key: str | None = None) -> Plan:
        """Plans dates ahead and records the plan."""

        def act(tx: Transaction) -> Plan:
            plan = planned_dates.draft(tx.connection, tx.book, int(tx.head.head), dates, tx.recorded)
            planned_dates.publish(tx, plan, note)
            return plan

        return self._recorder.once(
            key,
            lambda _: ["plan", None, _asked(dates), note],
            act,
            lambda tx, events: planned_dates.published(tx, dates, events),
        )

    def turns(self, start: When | None = None, end: When | None = None) -> list[PlannedTurn]:
        """The turns that are planned from an instant on, by default now, until before another."""
        with self._recorder.store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            first = rows.clock(connection) if start is None else book.instant(start, "from")
            return planned_dates.planned(connection, book, first, None if end is None else book.instant(end, "until"))

    def calendar(
        self, start: When | None = None, end: When | None = None, *, agent: str | None = None
    ) -> list[CalendarTurn]:
        """The turns of everyone or of one agent as entries of a calendar, with the cancelled ones."""
        with self._recorder.store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            first = rows.clock(connection) if start is None else book.instant(start, "from")
            return calendar_turns(connection, book, first, None if end is None else book.instant(end, "until"), agent)

    def on_duty(self, at: When | None = None) -> OnDuty:
        """Who has a turn at an instant, by default now, and who is next."""
        with self._recorder.store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            return on_duty(connection, book, rows.clock(connection) if at is None else book.instant(at))

    def uncovered(self) -> list[Uncovered]:
        """Decisions of today, rather than planned turns, for agents who are now on hold or away."""
        with self._recorder.store.reading() as connection:
            book = rows.load_book(connection.execute(sa.select(schema.ledger.c.rules)).scalar_one())
            return plan_changes.uncovered(connection, book, rows.clock(connection))

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
        """Decides planned dates again where an agent can no longer take a turn. Only the necessary turns change.

        Args:
            start: the first instant that may change; by default now.
            needs: the agents available on each date, with their needs, instead of the needs in the plan.
            source: the source of the needs, such as the text of a table. A key is for this source, not for the needs,
                which are read only for the dates still ahead. So a later retry is the same.
            accept: whether to record the result; otherwise nothing is recorded.
            note: a remark.
            key: chosen by the caller. The same again with the same key records nothing and returns the first answer.
        """
        by_date = {each.at: each for each in needs}

        def act(tx: Transaction) -> list[Replanned]:
            return plan_changes.replan(tx, tx.time(start, name="from"), note, by_date)

        if not accept:
            keys.check_unused(key)
            return self._recorder.write(act, keep=False)
        return self._recorder.once(
            key,
            lambda book: ["replan", book.maybe(start), source or _asked(needs), note],
            act,
            plan_changes.replanned,
        )

    def void(
        self, start: When | None = None, end: When | None = None, *, note: str = "", key: str | None = None
    ) -> list[int]:
        """Takes back the plans from an instant on, by default now, until before another; the instants."""

        def act(tx: Transaction) -> list[Event]:
            return plan_changes.unplan(tx, tx.time(start, name="from"), tx.book.maybe(end, "until"), note)

        events = self._recorder.once(
            key,
            lambda book: ["unplan", book.maybe(start), book.maybe(end, "until"), note],
            act,
            lambda _, events: events,
        )
        return [event.time for event in events]

    def swap(self, first: int, second: int, *, note: str = "", key: str | None = None) -> list[Event]:
        """Exchanges two agents' turns, by the numbers of their events, and credits the agent who serves."""
        return self._recorder.once(
            key,
            lambda _: ["swap", None, first, second, note],
            lambda tx: plan_changes.swap(tx, first, second, note),
            lambda _, events: [event for event in events if event.kind in RECEIVED],
        )


def _asked(dates: Sequence[DateNeeds]) -> list[Any]:
    return [
        [each.at, each.all_day, each.request.to_dict(), list(each.unavailable), *save_spans(each.spans).values()]
        for each in dates
    ]
