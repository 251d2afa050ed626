"""Tables that people keep: histories and needs read from CSV, events written to CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from bygones._csv import number, read, shield
from bygones.ledger.events import KINDS, Event, check_text, details_text
from bygones.ledger.requests import Amount, Items, Places, Request
from bygones.ledger.times import instant, iso
from bygones.ledger.writing import Entry

EVENT_COLUMNS = (*Event._fields, "hash")
"""The columns of exported events."""


def read_history(path: Path, agent: str = "agent", time: str = "time", amount: str = "amount") -> list[Entry]:
    """Who received what, when: one row each, with an optional column `note`."""
    entries = []
    for line, row in read(path, (agent, time, amount)):
        where = f"{path}, row {line}: "
        kind = row.get("kind", "received")
        if kind != "received":
            raise ValueError(f"{where}kind must be received, got {kind!r} (export with --kind received)")
        try:
            instant(row[time], time)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        name = check_text(f"{where}{agent}", row[agent], empty=False)
        entries.append(Entry(name, number(f"{where}{amount}", row[amount]), row[time], row.get("note", "")))
    return entries


def read_request(path: Path, *, k: int = 1, amount: float | None = None, capacity: int | None = 1) -> Request:
    """What there is to hand out, from a table of needs.

    Columns `agent` and optionally `need` (1 where there is none): k places. With `item` and `utility`: items. With an
    amount: `rate` (1 where there is none) and optionally `cap`.
    """
    rows = read(path, ("agent",))
    columns = rows[0][1]
    if "item" in columns:
        wishes: dict[str, dict[str, float]] = {}
        for line, row in read(path, ("agent", "item", "utility")):
            where = f"{path}, row {line}: "
            mine = wishes.setdefault(check_text(f"{where}agent", row["agent"], empty=False), {})
            if row["item"] in mine:
                raise ValueError(f"{where}{row['agent']!r} and {row['item']!r} are there already")
            mine[check_text(f"{where}item", row["item"], empty=False)] = number(f"{where}utility", row["utility"])
        return Items(wishes, capacity)
    wanted = "need" if amount is None else "rate"
    strange = [name for name in columns if name not in ("agent", "need", "rate", "cap", "note")]
    if wanted not in columns and strange:
        raise ValueError(f"{path} has no column {wanted!r}: found {', '.join(map(repr, columns))}")
    numbers, caps = {}, {}
    for line, row in rows:
        where = f"{path}, row {line}: "
        name = check_text(f"{where}agent", row["agent"], empty=False)
        if name in numbers:
            raise ValueError(f"{where}{name!r} is there already")
        numbers[name] = number(f"{where}{wanted}", row.get(wanted, "1"))
        if "cap" in row:
            caps[name] = number(f"{where}cap", row["cap"] or "inf", finite=False)
    return Places(numbers, k) if amount is None else Amount(amount, numbers, caps or None)


def write_events(file: TextIO, events: Iterable[tuple[Event, bytes]]) -> None:
    """Events as CSV, times in ISO 8601."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(EVENT_COLUMNS)
    for event, hashed in events:
        row = event_dict(event, hashed) | {"details": details_text(event)}
        writer.writerow(
            ["" if cell is None else shield(cell) if isinstance(cell, str) else cell for cell in row.values()]
        )


def event_dict(event: Event, hashed: bytes | None = None) -> dict[str, Any]:
    """An event as JSON can hold it."""
    row = event._asdict() | {"time": iso(event.time), "recorded": iso(event.recorded)}
    return row if hashed is None else row | {"hash": bytes(hashed).hex()}


def of_kind(events: Iterable[tuple[Event, bytes]], kind: str | None) -> Iterator[tuple[Event, bytes]]:
    """The events of one kind, or all."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return (pair for pair in events if kind is None or pair[0].kind == kind)
