"""What is recorded as it happened: who joins and leaves, what was received, offsets, corrections and rule changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._names import quoted, spelled_alike
from bygones._text import check_text, listed
from bygones.allocation.settling import check_known
from bygones.ledger.model import fold, participation
from bygones.ledger.model.bounds import check_amount, check_settings, check_start, counted
from bygones.ledger.model.events import AMOUNTS, RECEIVED, Entry, Event
from bygones.ledger.model.fold import Facts, Joining, Snapshot
from bygones.ledger.model.newcomers import START
from bygones.ledger.model.rules import MEMORY_SETTINGS, Change, check_entitlement, check_newcomers
from bygones.ledger.model.times import When
from bygones.ledger.storage import keys, revisions, rows, schema, timeline
from bygones.ledger.storage.revisions import in_effect
from bygones.ledger.storage.transaction import FURTHEST, SKEW, Transaction


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
    """Several agents join at once; what they start with depends on those already present, not on one another."""
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
    numbers = [_join(tx, name, time) for name in names]
    starts = [0.0] * len(names)
    if not is_ahead:
        known = timeline.known_at(tx.connection, tx.book, time)
        joining = [Joining(time, int(np.searchsorted(known.ids, number)), rule, number) for number in numbers]
        found = fold.starts_at(known.agents, tx.book, time, joining)
        starts = [check_start(name, start.amount) for name, start in zip(names, found, strict=True)]
    ids, agents_known = _agents(tx, names)
    row_of = {int(number): row for row, number in enumerate(ids)}
    rows_of = [row_of[number] for number in numbers]
    tx.add(ids, agents_known, Facts.amounts(rows_of, time, starts, is_received=False))
    details = {START: rule} if is_ahead else None
    return [
        tx.append("join", time, number, agent=name, amount=start, note=check_text("note", note), details=details)
        for name, number, start in zip(names, numbers, starts, strict=True)
    ]


def _join(tx: Transaction, name: str, time: int) -> int:
    """Makes somebody take part from an instant on; their number."""
    ids, agents = rows.load_agents(tx.connection, [name])
    if not len(agents):
        ids, _ = rows.new_agents(tx.connection, [name], [time])
    elif time < agents.as_of[0]:
        then, before = tx.book.named(time), tx.book.named(int(agents.as_of[0]))
        raise ValueError(f"{name!r} cannot join at {then}, before their latest event ({before})")
    else:
        rows.save_agents(tx.connection, ids, _with_turn(tx, agents, "join", time))
    return int(ids[0])


def take_part(tx: Transaction, kind: str, agent: str, at: When | None, note: str) -> Event:
    """An agent leaves, goes on hold or resumes."""
    time = tx.time(at)
    ids, agents = _agents(tx, [agent])
    if kind == "leave":
        _check_nothing_after(tx, agents.names[0], int(ids[0]), time)
    tx.add(ids, _with_turn(tx, agents, kind, time), Facts.amounts([0], time, [0.0], is_received=False))
    return tx.append(kind, time, int(ids[0]), agent=agents.names[0], note=check_text("note", note))


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
    abouts = [None] * len(entries) if details is None else details
    times = [tx.time(entry.at, ahead=ahead, name=name_of(i, entries, "at")) for i, entry in enumerate(entries)]
    names = [check_text(name_of(i, entries, "agent"), entry.agent, empty=False) for i, entry in enumerate(entries)]
    numbers = [check_amount(name_of(i, entries, "amount"), entry.amount, kind) for i, entry in enumerate(entries)]
    notes = [check_text(name_of(i, entries, "note"), entry.note) for i, entry in enumerate(entries)]
    if join:
        _join_the_unknown(tx, names, times)
    ids, agents = _agents(tx, names)
    row_of = {name: row for row, name in enumerate(agents.names)}
    who = [row_of[name] for name in names]
    for i, (row, time) in enumerate(zip(who, times, strict=True)):
        if not participation.was_member(agents.turns[row], time):
            what = f"{name_of(i, entries, 'agent')} {names[i]!r}"
            raise ValueError(f"{what} was not a member at {tx.book.named(time)}")
    n = len(entries)
    received, nothing = np.full(n, kind in RECEIVED), np.zeros(n, dtype=bool)
    columns = np.array(who, dtype=np.int64), np.array(times, dtype=np.int64), np.array(numbers, dtype=float)
    tx.add(ids, agents, Facts(*columns, received, nothing))
    own = [None if entry.key is None else keys.check_key(entry.key) for entry in entries]
    agent_numbers = ids.tolist()
    return [
        tx.append(
            kind, time, agent_numbers[row], agent=name, amount=amount, refers=refers, note=note, details=about, key=key
        )
        for row, time, name, amount, note, about, key in zip(
            who, times, names, numbers, notes, abouts, own, strict=True
        )
    ]


def correct(tx: Transaction, seq: int, amount: float, note: str) -> Event:
    """Says with what amount an event counts from here on."""
    tx.finish()  # so that what this transaction has recorded so far is among the events
    table = schema.events
    row = tx.connection.execute(sa.select(table).where(table.c.seq == seq)).one_or_none()
    if row is None:
        raise ValueError(f"there is no event {seq} to correct")
    if row.kind == "correction":
        raise ValueError(f"event {seq} is itself a correction: correct event {row.refers} instead")
    if row.kind not in AMOUNTS:
        raise ValueError(f"event {seq} has no amount to correct: it is of kind {row.kind}")
    since = revisions.void_since(tx.connection, seq)
    if since is not None:
        raise ValueError(f"event {seq} has been void since event {since}: record what is true as a new event")
    wanted = check_amount("amount", amount, row.kind)
    return correct_all(tx, [row], [wanted], check_text("note", note))[0]


def correct_all(
    tx: Transaction, events: Sequence[sa.Row[Any]], to: Sequence[float], note: str, **details: Any
) -> list[Event]:
    """Corrects many events that count, each to an amount; what the events are in effect follows from `finish`."""
    table = schema.agents
    named = {row.id: row.name for row in tx.connection.execute(sa.select(table.c.id, table.c.name))}
    now = revisions.amounts_of(tx.connection, [row.seq for row in events])
    return [
        tx.append(
            "correction", row.time, row.agent, agent=named[row.agent], refers=row.seq, note=note,
            amount=wanted - now.get(row.seq, counted(row.amount)) + 0.0, details={"to": wanted, **details},
        )
        for row, wanted in zip(events, to, strict=True)
    ]  # fmt: skip


def change_rules(tx: Transaction, time: int, settings: dict[str, Any], note: str = "") -> Event:
    """Changes settings from an instant on."""
    if not settings:
        raise ValueError("a rule change must change at least one setting, got none")
    if "kind" in settings:
        raise ValueError("kind cannot change, since it says what was recorded: make a ledger of the other kind")
    after = tx.book.at(time).changed(settings).to_dict()
    after["entitlements"] = {name: after["entitlements"][name] for name in settings.get("entitlements", ())}
    settings = {name: after[name] for name in settings}
    check_settings(settings)
    latest = _latest_after(tx, time)
    if latest is not None and any(name in settings for name in MEMORY_SETTINGS):
        raise ValueError(
            f"{' and '.join(name for name in MEMORY_SETTINGS if name in settings)} cannot change before the latest "
            f"event ({tx.book.named(latest)}), got {tx.book.named(time)}"
        )
    event = tx.append("rules", time, details=settings, note=check_text("note", note))
    tx.book = tx.book.after(Change(time, event.seq, settings))
    if any(name in settings for name in MEMORY_SETTINGS):
        tx.refold_since(time)
    return event


def check_entitled(tx: Transaction, settings: dict[str, Any]) -> None:
    """Refuses entitlements of agents who are not in the ledger."""
    named = list(settings.get("entitlements", ()))
    known = rows.load_agents(tx.connection, named)[1].names if named else ()
    check_known(named, known, "entitlements", "the ledger")


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
    """What part of which entry a message is about."""
    if entries[i].where:
        return f"{entries[i].where}: {'time' if name == 'at' else name}"
    return name if len(entries) == 1 else f"entry {i + 1}: {name}"


def _agents(tx: Transaction, names: Sequence[str]) -> tuple[np.ndarray, Snapshot]:
    wanted = {check_text("agent", name, empty=False) for name in names}
    ids, agents = rows.load_agents(tx.connection, wanted)
    unknown = sorted(wanted.difference(agents.names))
    if unknown:
        error = rows.unknown_agent(unknown[0], rows.load_names(tx.connection))
        raise ValueError(f"{error}; join them first, or import with --join")
    return ids, agents


def _with_turn(tx: Transaction, agents: Snapshot, kind: str, time: int) -> Snapshot:
    """The snapshot of one agent who joins, leaves, goes on hold or resumes."""
    return replace(agents, turns=(participation.with_turn(agents.turns[0], time, kind, agents.names[0], tx.book.zone),))


def _check_nothing_after(tx: Transaction, name: str, number: int, time: int) -> None:
    """Refuses to let an agent leave before something that it received; a turn ahead can go to somebody else."""
    table = schema.events
    served = sa.and_(table.c.kind == "planned", table.c.time <= tx.recorded)
    counts = table.c.kind.in_(("received", "offset")) | served
    after = [table.c.agent == number, table.c.time > time, counts, in_effect()]
    latest = tx.connection.execute(sa.select(sa.func.max(table.c.time)).where(*after)).scalar()
    if latest is not None:
        then, before = tx.book.named(time), tx.book.named(latest)
        raise ValueError(f"{name!r} cannot leave at {then}, before their latest event ({before})")


def _latest_after(tx: Transaction, time: int) -> int | None:
    """The latest instant after this one, up to now, of anything but a rule change."""
    table = schema.events
    query = sa.select(table.c.time).where(
        table.c.time > time, table.c.time <= tx.recorded, table.c.kind.not_in(("rules", "void")), in_effect()
    )
    return tx.connection.execute(query.order_by(table.c.time.desc()).limit(1)).scalar()


def _join_the_unknown(tx: Transaction, names: Sequence[str], times: Sequence[int]) -> None:
    first: dict[str, int] = {}
    for name, time in zip(names, times, strict=True):
        first[name] = min(time, first.get(name, time))
    _, known = rows.load_agents(tx.connection, list(first))
    there = set(known.names)
    unknown = [name for name in first if name not in there]
    if unknown:
        ids, agents = rows.new_agents(tx.connection, unknown, [first[name] for name in unknown])
        for number, name in zip(ids.tolist(), agents.names, strict=True):
            tx.append("join", first[name], number, agent=name, amount=0.0)
