"""Questions that need the events again: the parts of a standing, since when it holds, and later changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from bygones._text import amount, capitalized
from bygones.document.document import Block, Cell, Column, Document, Faint, Share, Table
from bygones.kinds import words
from bygones.ledger.model import fold
from bygones.ledger.model.events import AMOUNTS, DECISIONS, LARGEST, RECEIVED, Event, counted, is_counted
from bygones.ledger.model.fold import Facts
from bygones.ledger.model.owed_since import DailyWatch, Watch
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.times import day
from bygones.ledger.storage import derived, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.timeline import Known

CAP = "cap"
"""In place of a kind of event: the amount lost because it was above the cap."""


BEYOND = (
    f"An amount beyond {LARGEST:g}, which only an earlier version could record, does not count: correct it to the "
    "right amount."
)


SWAPPED = "swapped, was event"
"""The remark on a turn that was swapped, before the number of the turn, if nobody made another."""


class Contribution(NamedTuple):
    """The part of one event that still counts: `counts`, its `amount` times its `weight` by now."""

    seq: int
    kind: str
    time: int
    amount: float
    weight: float
    counts: float
    note: str


def contributions_document(agent: str, parts: Sequence[Contribution], rules: Rules, zone: str) -> Document:
    """An agent's recent total, event by event."""
    word, thing, total = words(rules.kind), rules.handed_out, math.fsum(part.counts for part in parts)
    columns = [
        Column("event"), Column("kind"), Column("day"), Column(thing.with_unit("amount"), gives_way=2, measure="total"),
        Column("still counts", gives_way=1), Column(thing.with_unit("recent"), measure="total"),
        Column("note", gives_way=3, folds=True),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            part.seq or None,
            word.received if part.kind in RECEIVED else part.kind,
            day(part.time, zone),
            part.amount if is_counted(part.amount) else Faint(f"{part.amount:.6g} (too large to count)"),
            Share(part.weight),
            part.counts,
            part.note,
        ]
        for part in parts
    ]
    blocks: list[Block] = [Table("", columns, rows).without_empty(), f"{rules.memory_sentence} Days are in {zone}."]
    if not all(is_counted(part.amount) for part in parts):
        blocks.append(BEYOND)
    return Document(f"{capitalized(word.recent)} of {agent}: {thing.with_unit(amount(total))}.", blocks, "Record")


def contributions(connection: sa.Connection, book: RuleBook, at: int, agent: str) -> list[Contribution]:
    """The events of an agent up to an instant with the part of each that still counts, the largest first."""
    changes = rows.participation_of(connection, [agent])
    if not changes:
        raise rows.unknown_agent(agent, rows.load_names(connection))
    table = schema.events
    where = [schema.agents.c.name == agent, table.c.time <= at, table.c.kind.in_(AMOUNTS), in_effect()]
    starts = {start.joining.key: start.amount for start in timeline.due(connection, book, at)}
    events = [
        event._replace(amount=starts.get(event.seq, event.amount)) for event in rows.load_events(connection, *where)
    ]
    # Each event is remembered as if it belonged to a separate agent, who received one unit and nothing else.
    n, remembering = len(events), book.at(at).uncapped
    alone = fold.empty([agent] * n, [changes[agent]] * n, remembering)
    times = np.array([event.time for event in events], dtype=np.int64)
    units = Facts(np.arange(n), times, np.ones(n), np.ones(n, dtype=bool), np.zeros(n, dtype=bool))
    weights = fold.remembered(fold.add(alone, book, units), book, at).tolist()
    parts = []
    for event, weight in zip(events, weights, strict=True):
        size = event.amount or 0.0
        parts.append(Contribution(event.seq, event.kind, event.time, size, weight, counted(size) * weight, event.note))
    parts.sort(key=lambda part: (-abs(part.counts), part.seq))
    if book.at(at).cap is not None:
        stood = timeline.standing(connection, book, at)
        excess = float(stood.remembered[stood.names.index(agent)]) - math.fsum(part.counts for part in parts)
        parts.append(Contribution(0, CAP, at, excess, 1.0, excess, "lost above the cap"))
    return parts


def owed_since(connection: sa.Connection, book: RuleBook, at: int) -> dict[str, int]:
    """Since when each agent who is owed something at an instant has been, without a break.

    All events up to then are read once, in the order of time; see `Watch`.
    """
    known = timeline.known_at(connection, book, at)
    agents = fold.empty(known.agents.names, known.agents.participation, known.agents.remembering)
    fades_alike = all(rules.fades_alike for rules in book.history)
    watch = Watch(book, agents) if fades_alike else DailyWatch(book, agents)
    for facts in _in_order(connection, known, at):
        watch.follow(facts)
    watch.go_on(at)
    return {name: int(since) for name, since in zip(agents.names, watch.owed_since, strict=True) if since >= 0}


def _in_order(connection: sa.Connection, known: Known, at: int) -> Iterator[Facts]:
    """The facts up to an instant in the order of time, many at once, facts of one instant always together."""
    row_of = {name: row for row, name in enumerate(known.agents.names)}
    waiting = Facts.joined(
        Facts.amounts([row_of[start.joining.name]], start.joining.time, [start.amount], is_received=False)
        for start in known.starts
    )
    kept = Facts.joined([])
    for facts in timeline.facts(connection, known.ids, [schema.events.c.time <= at]):
        last = int(facts.time[-1])
        due = int(np.searchsorted(waiting.time, last, side="right"))
        kept = Facts.joined([kept, facts, waiting.part(0, due)])
        kept, waiting = kept.only(np.argsort(kept.time, kind="stable")), waiting.part(due, None)
        whole = int(np.searchsorted(kept.time, last))
        yield kept.part(0, whole)
        kept = kept.part(whole, None)
    yield kept


class LaterChange(NamedTuple):
    """A later event that changes an earlier one.

    Attributes:
        event: the later event.
        changed: the event it changes: the earlier one, or an amount received through it.
        was: the amount that counted before, None where there is none.
        now: the amount that counts since, None where there is none.
    """

    event: Event
    changed: Event
    was: float | None
    now: float | None

    def sentence(self, received: str = "received") -> str:
        """The change in words; `received` is the word for having got something."""
        event, who = self.event, self.changed.agent
        why = f" ({event.note})" if event.note else ""
        if self.was is None or self.now is None:
            if event.kind == "void":
                if self.changed.kind in RECEIVED:
                    given = f"What {who} was given (event {self.changed.seq})"
                    return f"{given} was made void later by event {event.seq}{why}."
                return f"Made void later by event {event.seq}{why}."
            if event.kind in RECEIVED:
                why = "" if event.note.startswith(SWAPPED) else why
                return f"Swapped later: {event.agent} takes it (event {event.seq}){why}."
            about = "" if event.agent is None else f" of {event.agent}"
            return f"Changed later by event {event.seq}: {event.kind}{about}{why}."
        what = f"what {who} {received}" if self.changed.kind in RECEIVED else f"the amount of {who}"
        return f"Corrected later by event {event.seq}: {what} went from {self.was:.6g} to {self.now:.6g}{why}."


def changes_since(connection: sa.Connection, event: Event) -> list[LaterChange]:
    """The later events that change this one, in the order of recording."""
    direct = _referring(connection, [event.seq])
    if event.kind in RECEIVED:
        direct += [rows.load_event(connection, seq) for seq in derived.other_ends(connection, "takes", event.seq)]
        cause = [] if event.refers is None else _referring(connection, [event.refers])
        direct += [each for each in cause if each.kind == "void"]
        return _of(connection, event, sorted(direct, key=lambda each: each.seq))
    if event.kind not in DECISIONS:
        return _of(connection, event, direct)
    # The amounts received through a decision were recorded with it. Later events change them, as a swap does.
    receipts = [each for each in direct if each.kind in RECEIVED and not derived.linked(connection, "takes", each.seq)]
    changes = [LaterChange(each, event, None, None) for each in direct if each not in receipts]
    later = _referring(connection, [each.seq for each in receipts])
    for receipt in receipts:
        changes += _of(connection, receipt, [each for each in later if each.refers == receipt.seq])
    return sorted(changes, key=lambda change: change.event.seq)


def made_again(connection: sa.Connection, decision: Event) -> Event | None:
    """The decision in effect that was made in place of this one, or None."""
    other = revised_table.other_version(connection, decision.seq)
    return rows.load_event(connection, other) if other is not None and other > decision.seq else None


def _of(connection: sa.Connection, changed: Event, later: list[Event]) -> list[LaterChange]:
    table = schema.revised
    query = sa.select(table.c.since, table.c.amount).where(table.c.event == changed.seq, table.c.amount.is_not(None))
    to = {since: float(amount) for since, amount in connection.execute(query)}
    was, changes = counted(changed.amount or 0.0), []
    for each in later:
        if each.kind != "correction":
            changes.append(LaterChange(each, changed, None, None))
            continue
        # A correction to what the amount was already changes nothing.
        now = to.get(each.seq, was)
        changes.append(LaterChange(each, changed, was, now))
        was = now
    return changes


def _referring(connection: sa.Connection, numbers: list[int]) -> list[Event]:
    return list(rows.load_events(connection, schema.events.c.refers.in_(numbers)))
