"""Actions that record: joining and leaving, amounts received, offsets, corrections, voids and rule changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from bygones._names import quoted, spelled_alike
from bygones._text import check_text, listed
from bygones.allocation.settling import check_known
from bygones.ledger.model import fold, participation
from bygones.ledger.model.events import AMOUNTS, LARGEST, RECEIVED, Entry, Event, check_amount, counted
from bygones.ledger.model.fold import START, Joining
from bygones.ledger.model.participation import Participation
from bygones.ledger.model.remembering import DISCOUNTED, check_memory
from bygones.ledger.model.rules import (
    BY_AGENT,
    MEMORY_SETTINGS,
    Change,
    check_entitlement,
    check_newcomers,
    check_settings,
)
from bygones.ledger.model.span import UNTIL, Span, lasted
from bygones.ledger.model.times import When
from bygones.ledger.storage import derived, keys, revised_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.transaction import FURTHEST, SKEW, ImpossibleError, Transaction
from bygones.ledger.storage.turn_times import turns_during

NAMED = 5
"""As many of the events that stand in the way of a void are named."""


def join(
    tx: Transaction,
    agents: Sequence[str],
    at: When | None,
    *,
    entitlement: float | None = None,
    newcomers: str | float | None = None,
    distinct: bool = False,
    note: str = "",
) -> list[Event]:
    """Several agents join at once; their start depends on the agents already present, not on one another."""
    names = [check_text("agent", agent, empty=False) for agent in agents]
    if not distinct:
        check_distinct(tx.connection, names)
    time = tx.time(at)
    if entitlement is not None:
        kind = tx.book.at(time).kind
        weights = {name: check_entitlement(entitlement, name, kind) for name in names}
        change_rules(tx, time, {"entitlements": weights}, note)
    rule = None if newcomers is None else check_newcomers(newcomers)
    is_ahead = time > tx.settled
    _check_can_join(tx, names, time)
    starts = [0.0] * len(names)
    if not is_ahead:
        known = timeline.known_at(tx.connection, tx.book, time)
        joining = [Joining(time, name, rule, 0) for name in names]
        by_rule = fold.starts_at(known.agents, tx.book, time, joining)
        starts = [start.amount for start in by_rule]
        for name, start in zip(names, starts, strict=True):
            if not abs(start) <= LARGEST:  # which a newcomer rule may make larger than any recorded amount
                accepted = f"at most {LARGEST:g}: give a number to start with"
                raise ValueError(f"{name!r} would start with {start:g}, which must be {accepted}")
    details = {START: rule} if is_ahead else None
    return [
        tx.append("join", time, agent=name, amount=start, note=check_text("note", note), details=details)
        for name, start in zip(names, starts, strict=True)
    ]


def _check_can_join(tx: Transaction, names: Sequence[str], time: int) -> None:
    """Refuses agents who are members already, or of whom something later has been recorded."""
    _, agents = rows.load_agents(tx.connection, tx.remembering, set(names))
    for name, as_of in zip(agents.names, agents.as_of.tolist(), strict=True):
        if time < as_of:
            then, before = tx.book.format_instant(time), tx.book.format_instant(as_of)
            raise ValueError(f"{name!r} cannot join at {then}, before their latest event ({before})")
    changes: dict[str, Participation] = dict(zip(agents.names, agents.participation, strict=True))
    for name in names:
        changes[name] = participation.with_change(changes.get(name, ()), time, "join", name, tx.book.zone)


def take_part(tx: Transaction, kind: str, agent: str, at: When | None, note: str) -> Event:
    """An agent leaves, goes on hold or resumes."""
    time = tx.time(at)
    (name,) = names = [check_text("agent", agent, empty=False)]
    changes = _participation(tx, names)[name]
    if kind == "leave":
        _check_nothing_after(tx, name, time)
        if _void_ahead(tx, name, time, note):
            tx.finish()
            changes = _participation(tx, names)[name]
    participation.with_change(changes, time, kind, name, tx.book.zone)
    return tx.append(kind, time, agent=name, note=check_text("note", note))


def _void_ahead(tx: Transaction, name: str, time: int, note: str) -> bool:
    """Makes an agent's holds and resumes that lie ahead, and after an instant, void; whether there were any."""
    table = schema.events
    ahead = [table.c.kind.in_(("hold", "resume")), table.c.time > max(time, tx.recorded), schema.agents.c.name == name]
    query = sa.select(table.c.seq).join_from(table, schema.agents).where(*ahead, in_effect())
    # The latest first: a hold whose resume still counts cannot be void.
    latest_first = query.order_by(table.c.time.desc(), table.c.seq.desc())
    seqs = list(tx.connection.execute(latest_first).scalars())
    for seq in seqs:
        void(tx, seq, note)
    return bool(seqs)


def amounts(
    tx: Transaction,
    kind: str,
    entries: Sequence[Entry],
    *,
    join: bool = False,
    refers: int | None = None,
    details: Sequence[dict[str, Any] | None] | None = None,
) -> list[Event]:
    """Many amounts at once, received, planned or offset, perhaps with details, such as which item is planned."""
    if not entries:
        return []
    ahead = FURTHEST if kind == "planned" else SKEW
    abouts = [None] * len(entries) if details is None else list(details)
    times = [tx.time(entry.at, ahead=ahead, name=name_of(i, entries, "at")) for i, entry in enumerate(entries)]
    names = [check_text(name_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
    numbers = [check_amount(name_of(i, entries, "amount"), entry.amount, kind) for i, entry in enumerate(entries)]
    notes = [check_text(name_of(i, entries, "note"), entry.note) for i, entry in enumerate(entries)]
    joined = _join_the_unknown(tx, names, times) if join else {}
    changes = _participation(tx, [name for name in names if name not in joined]) | joined
    for i, (name, time) in enumerate(zip(names, times, strict=True)):
        if not participation.was_member(changes[name], time):
            what = f"{name_of(i, entries, 'agent')} {name!r}"
            raise ValueError(f"{what} was not a member at {tx.book.format_instant(time)}")
    if any(entry.length for entry in entries):
        abouts = _with_ends(tx, entries, names, times, changes)
    own = [None if entry.key is None else keys.check_key(entry.key) for entry in entries]
    return [
        tx.append(kind, time, agent=name, amount=amount, refers=refers, note=note, details=about, key=key)
        for time, name, amount, note, about, key in zip(times, names, numbers, notes, abouts, own, strict=True)
    ]


def _with_ends(
    tx: Transaction,
    entries: Sequence[Entry],
    names: Sequence[str],
    times: Sequence[int],
    changes: Mapping[str, Participation],
) -> list[dict[str, Any] | None]:
    """The details of entries that last, refused if an agent was away for some of it or has two turns at once."""
    spans = [
        lasted(entry.length, time, tx.book.zone, name_of(i, entries, "length")) if entry.length else Span(time, time)
        for i, (entry, time) in enumerate(zip(entries, times, strict=True))
    ]
    tx.finish()
    taken: dict[str, list[Span]] = {}
    for turn in turns_during(tx.connection, Span(min(times), max(span.end for span in spans))):
        taken.setdefault(turn.agent, []).append(turn.span)
    for i, (name, span) in enumerate(zip(names, spans, strict=True)):
        if not span.hours:
            continue
        what = f"{name_of(i, entries, 'agent')} {name!r}"
        state = participation.status_over(changes[name], span)
        if state == participation.AWAY:
            raise ValueError(f"{what} was not a member all through {span.in_words(tx.book.zone)}")
        other = next((each for each in taken.setdefault(name, []) if each.overlaps(span)), None)
        if other is not None and tx.book.at(span.start).overlaps == "refused":
            raise ValueError(
                f"{what} has a turn from {other.in_words(tx.book.zone)}, which overlaps with "
                f"{span.in_words(tx.book.zone)}: correct one of them, or allow overlapping turns with `bygones ledger "
                "rules LEDGER --overlaps allowed --at TIME`"
            )
        taken[name].append(span)
    return [{UNTIL: span.end} if span.hours else None for span in spans]


def correct(tx: Transaction, seq: int, amount: float, note: str) -> Event:
    """Sets the amount with which an event counts from here on."""
    tx.finish()  # the events then include this transaction's
    event = rows.load_event(tx.connection, seq, "to correct")
    if event.kind == "correction":
        raise ValueError(f"event {seq} is itself a correction: correct event {event.refers} instead")
    if event.kind not in AMOUNTS:
        raise ValueError(f"event {seq} has no amount to correct: it is of kind {event.kind}")
    since = revised_table.void_since(tx.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} has been void since event {since}: record the right amount as a new event")
    wanted = check_amount("amount", amount, event.kind)
    return correct_all(tx, [event], [wanted], check_text("note", note))[0]


def correct_all(
    tx: Transaction, events: Sequence[Event], to: Sequence[float], note: str, **details: Any
) -> list[Event]:
    """Corrects many events that count, each to an amount."""
    now = revised_table.amounts_of(tx.connection, [event.seq for event in events])
    return [
        tx.append(
            "correction", event.time, agent=event.agent, refers=event.seq, note=note,
            amount=wanted - now.get(event.seq, counted(event.amount or 0.0)) + 0.0, details={"to": wanted, **details},
        )
        for event, wanted in zip(events, to, strict=True)
    ]  # fmt: skip


def void(tx: Transaction, seq: int, note: str = "", *, swapping: bool = False) -> Event:
    """Makes an event void, with the events that rest on it alone; a void that is void puts its event back in effect.

    Turns that were swapped can only be void by `swapping` again.
    """
    with tx.trying():  # the events then include this transaction's
        event = _voidable(tx, seq, swapping=swapping)
        made_void = tx.append("void", event.time, agent=event.agent, refers=seq, note=check_text("note", note))
        try:
            concerned = tx.finish()
        except ImpossibleError as error:
            raise ValueError(f"event {seq} cannot be made void: {error}") from None
        _check_corrections(tx.connection, concerned)
        for number in sorted({each.agent for each in concerned if each.agent is not None}):
            _check_membership(tx.connection, seq, number)
    return tx.append("void", made_void.time, agent=made_void.agent, refers=seq, note=made_void.note)


def _voidable(tx: Transaction, seq: int, *, swapping: bool) -> Event:
    """The event that is to be void, refused if it cannot be."""
    event = rows.load_event(tx.connection, seq, "to void")
    since = revised_table.void_since(tx.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} is already void, since event {since}")
    if seq == 1:
        raise ValueError("event 1 has the beginning and the first rules of the ledger: change the rules instead")
    if not swapping:
        _check_not_swapped(tx.connection, event)
    if event.kind == "void" and event.refers is not None:
        _check_can_be_put_back(tx.connection, seq, event.refers)
    return event


def _check_not_swapped(connection: sa.Connection, event: Event) -> None:
    """Neither half of a swap can be taken back alone, which would leave a turn to nobody or to two agents."""
    turns = [event.refers] if event.kind == "void" else derived.linked(connection, "swaps", event.seq)[:1]
    halves = [half for turn in turns if turn is not None for half in derived.other_ends(connection, "swaps", turn)]
    if halves:
        raise ValueError(
            f"event {event.seq} is half of a swap, and without it a turn would be nobody's or two agents': to undo the "
            f"swap, swap events {listed(list(map(str, halves)))} back; if a turn was not served, correct it to 0"
        )


def _check_can_be_put_back(connection: sa.Connection, void: int, target: int) -> None:
    """A void can be void once, and its event counts again only if no other version of it does."""
    again = rows.load_event(connection, target)
    if again.kind == "void":
        raise ValueError(f"event {void} put event {again.refers} back in effect: void event {again.refers} instead")
    table = schema.events
    ending = sa.select(sa.func.min(table.c.seq)).where(table.c.kind == "void", table.c.refers == void)
    ended = connection.execute(ending).scalar()
    if ended is not None:
        raise ValueError(f"event {void} is already void, since event {ended}")
    other = revised_table.other_version(connection, target)
    if other is not None:
        raise ValueError(f"event {target} was decided again as event {other}: void event {other} first")


def _check_corrections(connection: sa.Connection, changed: Sequence[sa.Row[Any]]) -> None:
    """Of several corrections of one amount the last counts: only that one can be taken back alone."""
    table, all_changed = schema.events, {row.seq for row in changed}
    for row in changed:
        if row.kind != "correction" or revised_table.void_since(connection, row.refers) is not None:
            continue
        if row.refers in all_changed and revised_table.void_since(connection, row.seq) is None:
            continue
        query = sa.select(sa.func.max(table.c.seq)).where(
            table.c.refers == row.refers, table.c.kind == "correction", table.c.seq > row.seq, in_effect()
        )
        later = connection.execute(query).scalar()
        if later is not None:
            raise ValueError(f"event {row.refers} was corrected again by event {later}: void event {later} first")


def _check_membership(connection: sa.Connection, seq: int, number: int) -> None:
    """Refuses to leave an agent with an amount received while they did not take part."""
    table = schema.events
    changes = timeline.load_participation(connection, [number]).get(number, ())
    # A turn planned for an agent who is away then can be decided again, unless the agent is unknown.
    kinds = ("received", "offset") if changes else (*RECEIVED, "offset")
    query = sa.select(table.c.seq, table.c.time).where(table.c.agent == number, table.c.kind.in_(kinds), in_effect())
    amounts = connection.execute(query.order_by(table.c.time, table.c.seq))
    left = [str(row.seq) for row in amounts if not participation.was_member(changes, row.time)]
    if left:
        name = connection.execute(sa.select(schema.agents.c.name).where(schema.agents.c.id == number)).scalar_one()
        what, them = ("event", "it") if len(left) == 1 else ("events", "them")
        raise ValueError(
            f"event {seq} cannot be made void: {name!r} would not be a member at the time of {what} "
            f"{listed(left, NAMED)}; void {them} first"
        )


def change_rules(tx: Transaction, time: int, settings: dict[str, Any], note: str = "") -> Event:
    """Changes settings from an instant on."""
    if not settings:
        raise ValueError("a rule change must change at least one setting, got none")
    if "kind" in settings:
        raise ValueError("kind cannot change, since it defines the meaning of amounts: make a ledger of the other kind")
    after = tx.book.at(time).changed(settings)
    if after.memory != DISCOUNTED and not {"half_life", "half_lives"}.isdisjoint(settings):
        raise ValueError(f"a half-life has no effect with {after.memory}: change the memory to {DISCOUNTED} as well")
    if check_memory(settings.get("memory", after.memory))[1] is not None:
        settings = settings | {"half_life": after.half_life}
    all_settings = after.to_dict()
    by_agent = {name: {agent: all_settings[name].get(agent) for agent in settings.get(name, ())} for name in BY_AGENT}
    settings = {name: by_agent.get(name, all_settings[name]) for name in settings}
    check_settings(settings)
    latest = _latest_after(tx, time)
    if latest is not None and any(name in settings for name in MEMORY_SETTINGS):
        raise ValueError(
            f"{' and '.join(name for name in MEMORY_SETTINGS if name in settings)} cannot change before the latest "
            f"event ({tx.book.format_instant(latest)}), got {tx.book.format_instant(time)}"
        )
    event = tx.append("rules", time, details=settings, note=check_text("note", note))
    tx.book = tx.book.after(Change(time, event.seq, settings))
    return event


def check_agents(tx: Transaction, settings: dict[str, Any]) -> None:
    """Refuses settings for agents who are not in the ledger."""
    named = list(settings.get("entitlements", ()))
    check_known(named, list(rows.participation_of(tx.connection, named)), "entitlements", "the ledger")
    _participation(tx, list(settings.get("half_lives", ())))


def check_distinct(connection: sa.Connection, names: Sequence[str]) -> None:
    """Refuses new agents whose name is that of another but for capitals, accents, spaces, signs and lookalikes."""
    known = connection.execute(sa.select(schema.agents.c.name)).scalars().all()
    new = set(names).difference(known)
    for group in spelled_alike([*known, *sorted(new)]) if new else ():
        mine = next((name for name in group if name in new), None)
        if mine is not None:
            other = next(name for name in group if name != mine)
            raise ValueError(
                f"{listed(quoted([mine, other]))} are nearly the same name: write them alike, or insist with "
                "--distinct that they are different agents"
            )


def name_of(i: int, entries: Sequence[Entry], name: str) -> str:
    """The name of a part of an entry, for messages."""
    if entries[i].where:
        return f"{entries[i].where}: {'time' if name == 'at' else name}"
    return name if len(entries) == 1 else f"entry {i + 1}: {name}"


def _participation(tx: Transaction, names: Sequence[str]) -> dict[str, Participation]:
    """When agents took part, refused if one of them has never joined."""
    changes = rows.participation_of(tx.connection, set(names))
    unknown = sorted(set(names).difference(changes))
    if unknown:
        error = rows.unknown_agent(unknown[0], rows.load_names(tx.connection))
        raise ValueError(f"{error}; join them first, or import with --join")
    return changes


def _check_nothing_after(tx: Transaction, name: str, time: int) -> None:
    """Refuses to let an agent leave before an amount that they received; a turn ahead can go to another agent."""
    table = schema.events
    served = sa.and_(table.c.kind == "planned", table.c.time <= tx.recorded)
    counts = table.c.kind.in_(("received", "offset")) | served
    after = [schema.agents.c.name == name, table.c.time > time, counts, in_effect()]
    query = sa.select(sa.func.max(table.c.time)).join_from(table, schema.agents).where(*after)
    latest = tx.connection.execute(query).scalar()
    if latest is not None:
        then, before = tx.book.format_instant(time), tx.book.format_instant(latest)
        raise ValueError(f"{name!r} cannot leave at {then}, before their latest event ({before})")


def _latest_after(tx: Transaction, time: int) -> int | None:
    """The latest instant after this one, up to now, of anything but a rule change."""
    table = schema.events
    query = sa.select(table.c.time).where(
        table.c.time > time, table.c.time <= tx.recorded, table.c.kind.not_in(("rules", "void")), in_effect()
    )
    return tx.connection.execute(query.order_by(table.c.time.desc()).limit(1)).scalar()


def _join_the_unknown(tx: Transaction, names: Sequence[str], times: Sequence[int]) -> dict[str, Participation]:
    """Agents who are not in the ledger join at the time of their first entry, starting with zero."""
    first: dict[str, int] = {}
    for name, time in zip(names, times, strict=True):
        first[name] = min(time, first.get(name, time))
    there = rows.participation_of(tx.connection, first.keys())
    new = {name: time for name, time in first.items() if name not in there}
    for name, time in new.items():
        tx.append("join", time, agent=name, amount=0.0)
    return {name: ((time, "join"),) for name, time in new.items()}
