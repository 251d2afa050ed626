"""Every decision made again from the events before it, and compared with the record.

The data are compared: who was given which amounts and items. A decision cannot be repeated if its kind of request is a
custom one, if it was not proven to be the best, or if this version does not know its method. It is then compared only
with the amounts received through it, and named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sqlalchemy as sa

from bygones.allocation.problem_contract import Given
from bygones.allocation.problems import problem_from
from bygones.ledger.actions.decisions import Proposal
from bygones.ledger.actions.redecisions import is_same
from bygones.ledger.actions.remade import can_repeat, decided_again, kept_and_vacant
from bygones.ledger.model.events import DECISIONS, RECEIVED, Event
from bygones.ledger.model.standing import Standing, standing_of
from bygones.ledger.model.times import day
from bygones.ledger.storage import derived, draw_table, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.timeline import Known

CLOSE = 1e-9
"""Numbers that differ by no more than this share are the same."""


@dataclass
class Checked:
    """The results of making decisions again.

    Attributes:
        decisions: how many were made again.
        unchecked: by its number, why a decision could only be compared with the amounts received through it.
        problems: the decisions with another result than recorded, one sentence each.
    """

    decisions: int = 0
    unchecked: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def check_decisions(connection: sa.Connection) -> Checked:
    """Makes every decision of a ledger again."""
    checked, past = Checked(), _Past(connection)
    for event in rows.load_events(connection, schema.events.c.kind.in_(DECISIONS)):
        given = derived.load_given(connection, event.seq)
        _compare_receipts(connection, event, given, checked)
        _check_draw(connection, event, checked)
        why = _cannot_be_repeated(connection, event)
        if why:
            checked.unchecked[event.seq] = why
        else:
            _decide_again(connection, event, given, past.before(event), checked)
    return checked


def _cannot_be_repeated(connection: sa.Connection, event: Event) -> str:
    details = event.details or {}
    request = problem_from(details.get("request", {}))
    if request is None:
        return "its request is of a kind that this program does not know"
    if not can_repeat(details):
        return "it was made by an earlier version, in another way"
    if not details.get("optimal", False):
        return "it was not proven to be the best"
    if "redecides" in details and event.kind == "decision" and _decided_at(connection, event):
        # Decisions of one instant that are decided again do not see each other, which the events do not tell.
        return "it was decided again together with others of the same instant"
    if event.kind == "decision" and "redecides" not in details and "seed" not in details.get("draw", {}):
        return "its draw is not recorded"
    return ""


def _check_draw(connection: sa.Connection, event: Event, checked: Checked) -> None:
    """A decision must have the draw that follows from the events before it, its request and its day."""
    details = event.details or {}
    drawn = details.get("draw", {})
    problems = []
    if event.kind == "decision" and "redecides" in details:
        problems.append(_other_draw(event, rows.load_event(connection, details["redecides"])))
    elif "day" in drawn:
        name = day(event.time, rows.load_changes(connection, event.seq - 1).zone)
        if drawn["day"] != name:
            problems.append(f"decision {event.seq} has the draw of {drawn['day']}, not of {name}")
    elif event.kind == "decision" and "number" in drawn:
        zone = rows.load_changes(connection, event.seq - 1).zone
        expected = draw_table.next_number(connection, details.get("request", {}), event.time, zone, event.seq - 1)
        if drawn["number"] != expected:
            problems.append(f"decision {event.seq} has draw {drawn['number']}, but it was the turn of {expected}")
        drawn = {}  # which nobody else has, since it is new or was free
    if not {"number", "day"}.isdisjoint(drawn):
        counted = revised_table.other_version(connection, event.seq, event.seq - 1)
        if counted is not None:
            problems.append(f"decision {event.seq} takes the place of decision {counted}, which was not void")
    checked.problems += filter(None, problems)


def _other_draw(event: Event, first: Event) -> str:
    """The problem with a decision that does not have the draw of the one in whose place it was made; empty if none."""
    mine, theirs = event.details or {}, first.details or {}
    draws = mine.get("draw", {}), theirs.get("draw", {})
    if all("number" not in drawn for drawn in draws):
        return ""  # version 2 did not record the draw
    if (first.kind, first.time, theirs.get("request")) != (event.kind, event.time, mine.get("request")):
        return f"decision {event.seq} is not decision {first.seq} made again, but another one"
    numbers, seeds = ([drawn.get(name) for drawn in draws] for name in ("number", "seed"))
    if len(set(numbers)) > 1 or len(set(seeds)) > 1:
        return f"decision {event.seq} has another draw than decision {first.seq}, which it replaces"
    return ""


def _decide_again(
    connection: sa.Connection, event: Event, given: Sequence[Given], stood: Standing, checked: Checked
) -> None:
    checked.decisions += 1
    try:
        again = decided_again(connection, event, stood)
    except ValueError as error:
        checked.problems.append(f"decision {event.seq} could not have been made: {error}")
        return
    if again is None:
        checked.problems.append(f"the draw of decision {event.seq} is not recorded")
        return
    if not is_same(again.given, given) and not _is_as_good(again, given, event):
        checked.problems.append(
            f"decision {event.seq} does not follow from the events before it: with the same request, rules and "
            f"past, {_in_words(again.gets())}, but it was recorded that "
            f"{_in_words(stood.rules.gets_in_words(given, again.request))}"
        )


def _is_as_good(again: Proposal, given: Sequence[Given], event: Event) -> bool:
    """Whether the recorded choice is as good as the one found now, and only the draw differs.

    By the first method corrected amounts left rounding errors behind, which could decide between equals.
    """
    if (event.details or {}).get("method") != 1:
        return False
    allocation = again.allocation
    try:
        recorded = allocation.problem.allocation_of(given)
    except (KeyError, ValueError):
        return False
    utilities = allocation.problem.utilities_of(recorded)
    theirs = np.sort(np.asarray(allocation.memory.ahead(allocation.state, utilities, allocation.elapsed)))
    mine = np.sort(np.asarray(allocation.memory.read(allocation.state_after)))
    size = float(np.abs(mine).max(initial=1.0))
    same_worth = all(
        math.isclose(each.utility, utility, rel_tol=CLOSE)
        for each in given
        for agent, utility in zip(allocation.agent_names, utilities.tolist(), strict=True)
        if agent == each.agent and each.item is None
    )
    return same_worth and bool(np.allclose(mine, theirs, rtol=CLOSE, atol=CLOSE * size))


class _Past:
    """The standing before each decision, in the order of recording; only those concerned are folded again."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._known: Known | None = None
        self._head, self._time = 0, -(2**63)

    def before(self, event: Event) -> Standing:
        """The standing at the time of an event, from the events recorded before it."""
        head = event.seq - 1
        book = rows.load_changes(self._connection, head)
        time = max(event.time, book.began)
        again = self._known is None or time < self._time or self._rules_changed(head)
        again = again or timeline.awaits_start(self._connection, time, head)
        if again or self._known is None or book.at(time).remembering != self._known.agents.remembering:
            known = timeline.rebuilt(self._connection, time, head)
        else:
            known = self._moved_on(self._known._replace(book=book), time, head)
        self._known, self._head, self._time = known, head, time
        return standing_of(known.book, known.agents, time)

    def _moved_on(self, known: Known, time: int, head: int) -> Known:
        """The snapshot with those looked at again of whom something was recorded, or came to its time, in between."""
        again = timeline.rebuilt(self._connection, time, head, self._concerned(time, head))
        new = set(again.ids.tolist()) - set(known.ids.tolist())
        if new or len(again.ids) == len(known.ids):
            return timeline.rebuilt(self._connection, time, head) if new else again
        where = np.searchsorted(known.ids, again.ids)
        return known._replace(agents=known.agents.put(where, again.agents))

    def _concerned(self, time: int, head: int) -> list[int]:
        table = schema.events
        new = sa.and_(table.c.seq > self._head, table.c.seq <= head)
        due = sa.and_(table.c.seq <= head, table.c.time > self._time, table.c.time <= time)
        agents = sa.select(table.c.agent).where(table.c.agent.is_not(None), new | due).distinct()
        concerned = set(self._connection.execute(agents).scalars())
        revised = schema.revised
        since = sa.and_(revised.c.since > self._head, revised.c.since <= head)
        until = sa.and_(revised.c.until > self._head, revised.c.until <= head)
        query = sa.select(table.c.agent).join(revised, revised.c.event == table.c.seq).where(since | until)
        concerned |= set(self._connection.execute(query.where(table.c.agent.is_not(None))).scalars())
        return sorted(concerned)

    def _rules_changed(self, head: int) -> bool:
        table = schema.events
        rules = sa.select(table.c.seq).where(table.c.kind == "rules")
        new = sa.select(table.c.seq).where(table.c.seq > self._head, table.c.seq <= head)
        changed = new.where((table.c.kind == "rules") | (table.c.refers.in_(rules)))
        return self._connection.execute(changed.limit(1)).first() is not None


def _decided_at(connection: sa.Connection, event: Event) -> bool:
    """Whether something else had been decided at the instant of a decision."""
    table = schema.events
    query = sa.select(table.c.seq).where(
        table.c.kind == "decision", table.c.time == event.time, in_effect(head=event.seq - 1)
    )
    return connection.execute(query.limit(1)).first() is not None


def _compare_receipts(connection: sa.Connection, decision: Event, given: Sequence[Given], checked: Checked) -> None:
    """The amounts recorded as received through a decision must be the decision's."""
    details, table = decision.details or {}, schema.events
    decided = _totals(given)
    query = sa.select(schema.agents.c.name, table.c.amount).join_from(table, schema.agents)
    through = [table.c.refers == decision.seq, table.c.kind.in_(RECEIVED), ~derived.was_taken_over(table)]
    received = _totals(Given(name, None, None, amount) for name, amount in connection.execute(query.where(*through)))
    if "redecides" in details and decision.kind == "plan":
        if "kept" not in details and "turns" not in details:
            return  # an earlier version did not record which turns stayed
        if received.keys() != decided.keys():
            for agent, *_, amount in (turn[:4] for turn in kept_and_vacant(details)[0]):
                decided[agent] = decided.get(agent, 0.0) + amount
    if not _same(decided, received):
        checked.problems.append(
            f"by decision {decision.seq} {_in_words(decided)}, but by the amounts recorded as received through it "
            f"{_in_words(received)}"
        )


def _totals(given: Iterable[Given]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for each in given:
        totals[each.agent] = totals.get(each.agent, 0.0) + each.utility
    return totals


def _same(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    return a.keys() == b.keys() and all(math.isclose(a[name], b[name], rel_tol=CLOSE, abs_tol=1e-12) for name in a)


def _in_words(gets: Mapping[str, str | float]) -> str:
    """The assignments, or amounts, of some agents as a clause."""
    sizes = {name: f"{what:g}" if isinstance(what, float) else what for name, what in gets.items()}
    return ", ".join(f"{name} gets {size}" for name, size in sizes.items()) or "nobody gets anything"
