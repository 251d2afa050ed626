"""Changes of a published plan: with the fewest turns reassigned, taken back, or two turns swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._text import check_text
from bygones.allocation.problems import place_in_words
from bygones.allocation.requests import Items, Places, Request, request_from
from bygones.ledger import rows, schema, voiding, voids
from bygones.ledger.deciding import METHOD, proposal
from bygones.ledger.draws import Draw
from bygones.ledger.events import RECEIVED, Event
from bygones.ledger.plan_tables import DateNeeds
from bygones.ledger.planning import PLANNED_AS, PlannedTurn, Turn, only, planned, possible, record_date, turns_of
from bygones.ledger.standing import Standing, standing
from bygones.ledger.times import as_datetime, instant, iso
from bygones.ledger.turns import PRESENT
from bygones.ledger.voids import in_effect
from bygones.ledger.writing import Entry, LedgerWriter


class Replanned(NamedTuple):
    """A date of a plan that was decided again.

    Attributes:
        at: the instant.
        all_day: whether the date has no time.
        before: who had which turn.
        after: who has which turn now.
        why: for each turn that could not stay, the reason.
    """

    at: int
    all_day: bool
    before: tuple[Turn, ...]
    after: tuple[Turn, ...]
    why: tuple[str, ...]

    @property
    def changed(self) -> int:
        """How many turns went to somebody else."""
        left = [(turn.agent, turn.what) for turn in self.before]
        for turn in self.after:
            if (turn.agent, turn.what) in left:
                left.remove((turn.agent, turn.what))
        return len(left)

    def to_dict(self) -> dict[str, Any]:
        """The date, of the types that JSON has."""
        before, after = ([turn._asdict() for turn in turns] for turns in (self.before, self.after))
        return self._asdict() | {
            "at": iso(self.at), "before": before, "after": after, "why": list(self.why), "changed": self.changed
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Replanned:
        """The date of which `to_dict` told."""
        before, after = (tuple(Turn(**turn) for turn in data[name]) for name in ("before", "after"))
        return cls(instant(data["at"]), data["all_day"], before, after, tuple(data["why"]))


def replan(
    writer: LedgerWriter, start: int, note: str = "", needs: Mapping[int, DateNeeds] | None = None
) -> list[Replanned]:
    """Decides the planned dates from an instant on again, where somebody can no longer take a turn.

    Every turn that its agent can still take stays: no plan in which all can take their turns changes fewer. The others
    go to whoever the rule says, among those who have no turn on that date yet. With `needs`, by instant, who is
    available and what they need on a date is as they say now.
    """
    found = []
    for plan in _plans(writer, start):
        turns = [turn for turn in _of_plan(writer, plan.seq) if turn.at > writer.recorded]
        details = rows.load_details(plan.details)
        now = (needs or {}).get(int(plan.time))
        request = _asked(request_from(details["request"]), now)
        why = {turn.seq: _cannot(turn, now) for turn in turns}
        if not any(why.values()) or request is None:
            continue
        voiding.void(writer, plan.seq, note)
        writer.finish()
        stood = standing(writer.connection, writer.book, plan.time)
        kept = [Turn(turn.agent, turn.what, turn.amount) for turn in turns if not why[turn.seq]]
        vacant = [turn.what for turn in turns if why[turn.seq]]
        draw, number = Draw(bytes(plan.hash).hex(), None), int(writer.head.head)
        after, made = filled(writer.connection, stood, request, kept, vacant, draw, number)
        asked = {
            "method": METHOD,
            "request": request.to_dict(),
            "kept": [list(turn) for turn in kept],
            "vacant": vacant,
        }
        more = {"all_day": turns[0].all_day, "redecides": plan.seq}
        record_date(writer, plan.time, {**asked, **made, **more}, after, check_text("note", note))
        before = tuple(Turn(turn.agent, turn.what, turn.amount) for turn in turns)
        reasons = tuple(f"{turn.agent} is {why[turn.seq]}" for turn in turns if why[turn.seq])
        found.append(Replanned(plan.time, turns[0].all_day, before, tuple(after), reasons))
    return found


def _asked(planned_for: Request | None, now: DateNeeds | None) -> Request | None:
    """What a plan hands out, to those who are available now and for what they need now."""
    if planned_for is None or now is None:
        return planned_for
    if isinstance(planned_for, Places) and isinstance(now.request, Places):
        return replace(now.request, k=planned_for.k)
    if isinstance(planned_for, Items) and isinstance(now.request, Items):
        return replace(now.request, capacity=planned_for.capacity)
    return only(planned_for, [agent for agent in planned_for.agents if agent in now.request.asking])


def _cannot(turn: PlannedTurn, now: DateNeeds | None) -> str:
    """Why a turn cannot be taken any more; empty if it can."""
    if turn.status != PRESENT:
        return turn.status
    if now is None:
        return ""
    if isinstance(now.request, Items):
        can = turn.what in now.request.utilities.get(turn.agent, {})
    else:
        can = turn.agent in now.request.asking
    return "" if can else "not available"


def unplan(writer: LedgerWriter, start: int, end: int | None = None, note: str = "") -> list[Event]:
    """Takes back what is planned from an instant on; the events by which each date's plan is void."""
    found = [voiding.void(writer, plan.seq, note) for plan in _plans(writer, start) if end is None or plan.time < end]
    if not found:
        raise ValueError(f"nothing is planned from {writer.book.named(max(start, writer.recorded))} on")
    return found


def swap(writer: LedgerWriter, first: int, second: int, note: str = "") -> list[Event]:
    """Exchanges two agents' turns, planned or already received: from here on each counts for whoever serves."""
    one, other = (_turn(writer, seq) for seq in (first, second))
    if one.name == other.name:
        raise ValueError(f"events {first} and {second} are both turns of {one.name!r}: there is nothing to swap")
    terms = [_terms(writer, row, given) for row, given in ((one, other), (other, one))]
    found = []
    for row in (one, other):
        voiding.void(writer, row.seq, note, swapping=True)
    for row, taker, (amount, what) in zip((one, other), (other.name, one.name), terms, strict=True):
        before = rows.load_details(row.details)
        about = {"what": what, "swapped": [one.seq, other.seq]}
        if what != before.get("what"):
            about[PLANNED_AS] = before.get(PLANNED_AS, before.get("what"))
        entry = Entry(taker, amount, as_datetime(row.time), check_text("note", note or f"swapped, was event {row.seq}"))
        details = {name: value for name, value in about.items() if value is not None}
        found += writer.amounts(row.kind, [entry], refers=row.refers, details=[details])
    return found


def _plans(writer: LedgerWriter, start: int) -> Sequence[sa.Row[Any]]:
    """The plans of dates ahead, from an instant on."""
    table = schema.events
    query = sa.select(table).where(table.c.kind == "plan", table.c.time >= max(start, writer.recorded), in_effect())
    return writer.connection.execute(query.order_by(table.c.time, table.c.seq)).all()


def _of_plan(writer: LedgerWriter, plan: int) -> list[PlannedTurn]:
    at = writer.connection.execute(sa.select(schema.events.c.time).where(schema.events.c.seq == plan)).scalar_one()
    return [turn for turn in planned(writer.connection, writer.book, at, at + 1) if turn.plan == plan]


def filled(
    connection: sa.Connection, stood: Standing, request: Request, kept: list[Turn], vacant: Sequence[str],
    draw: Draw, head: int,
) -> tuple[list[Turn], dict[str, Any]]:  # fmt: skip
    """The turns that stay and, for those that are vacant, whom the rule chooses; if that cannot be, all anew."""
    here, _ = possible(request, stood)
    rest = _rest(here, kept, vacant)
    if rest is not None:
        try:
            made = proposal(connection, stood, rest, head, draw)
        except ValueError:
            pass  # those who are left cannot fill what is vacant
        else:
            return [*kept, *turns_of(made)], made.details()
    made = proposal(connection, stood, here, head, draw)
    return turns_of(made), made.details()


def _rest(here: Request, kept: Sequence[Turn], vacant: Sequence[str]) -> Request | None:
    """What is left to hand out, to those who have no turn yet; None if it cannot be divided from the rest."""
    taken = {turn.agent for turn in kept}
    free = only(here, [agent for agent in here.agents if agent not in taken])
    if isinstance(free, Places):
        return replace(free, k=len(vacant))
    if isinstance(free, Items):
        utilities = {
            name: {item: worth for item, worth in mine.items() if item in vacant}
            for name, mine in free.utilities.items()
        }
        return replace(free, utilities=utilities, order=tuple(item for item in here.items or () if item in vacant))
    return None


def _turn(writer: LedgerWriter, seq: int) -> sa.Row[Any]:
    table, names = schema.events, schema.agents
    query = sa.select(table, names.c.name).join(names, table.c.agent == names.c.id).where(table.c.seq == seq)
    found = writer.connection.execute(query).one_or_none() if 0 < seq <= writer.head.head else None
    if found is None or found.kind not in RECEIVED:
        raise ValueError(f"event {seq} is not a turn: give the number of something planned or received")
    since = voids.void_since(writer.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} has been void since event {since}")
    return found


def _terms(writer: LedgerWriter, row: sa.Row[Any], given: sa.Row[Any]) -> tuple[float, str | None]:
    """What a turn is worth to the agent who takes it over and gives another for it, and what it is called then.

    It is refused if they cannot take it.
    """
    taker, when = given.name, writer.book.named(row.time)
    stood = standing(writer.connection, writer.book, row.time)
    status = dict(zip(stood.names, stood.status, strict=True)).get(taker, "not a member")
    if status != PRESENT:
        raise ValueError(f"{taker!r} is {status} at {when} and cannot take event {row.seq}")
    named = rows.load_details(row.details).get("what")
    if row.refers is None:
        return float(row.amount), named
    table = schema.events
    of_taker = [table.c.agent == given.agent, table.c.refers == row.refers, table.c.kind.in_(RECEIVED), in_effect()]
    mine = sa.select(sa.func.min(table.c.seq)).where(*of_taker, table.c.seq != given.seq)
    there = writer.connection.execute(mine).scalar()
    if there is not None:
        raise ValueError(f"{taker!r} has a turn at {when} already (event {there})")
    query = sa.select(table.c.details).where(table.c.seq == row.refers)
    details = rows.load_details(writer.connection.execute(query).scalar())
    request = request_from(details["request"])
    what = named or details["gets"].get(row.name)
    worth: float | None = float(row.amount)
    if isinstance(request, Places):
        worth = request.needs.get(taker)
    elif isinstance(request, Items):
        worth = request.utilities.get(taker, {}).get(str(what))
    if worth is None:
        raise ValueError(f"{taker!r} is not available for event {row.seq} at {when}")
    if named is not None and isinstance(request, Places):
        named = place_in_words(worth, stood.rules.kind)
    return float(worth), named
