"""Who has a turn at a moment and until when, and who comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._text import listed
from bygones.allocation.problem_contract import Given
from bygones.allocation.problems import problem_from
from bygones.document.document import Answer, Block, Cell, Column, Document, Table
from bygones.ledger.model.participation import PRESENT, status
from bygones.ledger.model.rules import RuleBook
from bygones.ledger.model.span import EARLIER, Span
from bygones.ledger.model.times import format_instant, iso, shown
from bygones.ledger.plans.planned_dates import PlannedTurn, planned
from bygones.ledger.storage import rows
from bygones.ledger.storage.turn_times import TimedTurn, turns_during


class Duty(NamedTuple):
    """A turn of someone who is on or next.

    Attributes:
        event: the event of the turn.
        agent: whose turn it is.
        what: the assignment, in words.
        span: its time; an instant if no length is known.
        status: whether the agent is `present` at its beginning or, if it has begun, now; or `on hold` or `away`.
    """

    event: int
    agent: str
    what: str
    span: Span
    status: str

    def to_dict(self) -> dict[str, Any]:
        """The turn, of the types that JSON has."""
        return {name: value for name, value in self._asdict().items() if name != "span"} | self.span.to_dict()


@dataclass(frozen=True)
class OnDuty(Answer):
    """Who is on at an instant, and who begins next.

    Attributes:
        at: the instant.
        on: the turns that last then.
        next: the turns that begin next, all at the same time; empty if nothing is planned.
        zone: the time zone in which times are shown.
    """

    at: int
    on: tuple[Duty, ...]
    next: tuple[Duty, ...]
    zone: str

    def document(self) -> Document:
        """Who is on and until when, and who is next."""
        on = [f"{duty.agent} until {self._clock(duty.span.end)}" for duty in self.on]
        headline = f"On now: {listed(on, 10)}." if on else "Nobody has a turn now."
        columns = [
            Column(""), Column("agent", folds=True), Column("what", folds=True), Column("from"), Column("until"),
            Column("hours"), Column("event"), Column("status"),
        ]  # fmt: skip
        cells = [*self._rows("now", self.on), *self._rows("next", self.next)]
        blocks: list[Block] = [Table("", columns, cells).without_empty()] if cells else []
        if not self.next:
            blocks.append("Nothing is planned after it.")
        blocks.append(f"At {format_instant(self.at, self.zone)}.")
        return Document(headline, blocks, "On duty")

    def _rows(self, when: str, duties: Sequence[Duty]) -> list[list[Cell]]:
        return [
            [
                when,
                duty.agent,
                duty.what,
                shown(duty.span.start, self.zone),
                shown(duty.span.end, self.zone) if duty.span.hours else None,
                duty.span.hours or None,
                duty.event,
                "" if duty.status == PRESENT else duty.status,
            ]
            for duty in duties
        ]

    def _clock(self, at: int) -> str:
        """A time, without its day if that is today."""
        today, then = shown(self.at, self.zone), shown(at, self.zone)
        return then[11:] if today[:10] == then[:10] else then

    def to_dict(self) -> dict[str, Any]:
        """The answer, of the types that JSON has."""
        on, following = ([duty.to_dict() for duty in duties] for duties in (self.on, self.next))
        return {"at": iso(self.at), "on": on, "next": following}


def on_duty(connection: sa.Connection, book: RuleBook, at: int) -> OnDuty:
    """Who is on at an instant, and who begins next by the plan."""
    on = [_duty(connection, book, turn, at) for turn in turns_during(connection, Span(at, at + 1))]
    ahead = [turn for turn in planned(connection, book, max(book.began, at - EARLIER)) if turn.span.start > at]
    first = min((turn.span.start for turn in ahead), default=None)
    following = [_planned_duty(connection, turn) for turn in ahead if turn.span.start == first]
    return OnDuty(at, tuple(on), tuple(following), book.zone)


def _duty(connection: sa.Connection, book: RuleBook, turn: TimedTurn, at: int) -> Duty:
    rules = book.at(turn.span.start)
    request = None if turn.cause is None else problem_from(rows.details_of(connection, turn.cause).get("request", {}))
    given = Given(turn.agent, turn.item, None, turn.amount)
    what = rules.handed_out.with_unit(f"{turn.amount:g}") if turn.cause is None else (
        rules.gets_in_words([given], request)[turn.agent]
    )  # fmt: skip
    return Duty(turn.seq, turn.agent, what, turn.span, _status(connection, turn.agent, at))


def _planned_duty(connection: sa.Connection, turn: PlannedTurn) -> Duty:
    return Duty(turn.seq, turn.agent, turn.what, turn.span, _status(connection, turn.agent, turn.span.start))


def _status(connection: sa.Connection, agent: str, at: int) -> str:
    return status(rows.participation_of(connection, [agent]).get(agent, ()), at)
