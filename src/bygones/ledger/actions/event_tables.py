"""Histories read from CSV, and events written to CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from bygones._csv import number, read, shield
from bygones._text import check_text
from bygones.ledger.model.events import KINDS, Entry, Event, details_text
from bygones.ledger.model.times import instant, iso

EVENT_COLUMNS = (*Event._fields, "hash")
"""The columns of exported events."""


def read_entries(path: Path, agent: str = "agent", time: str = "time", amount: str | None = None) -> list[Entry]:
    """Who received what, when: one row each, with optional columns `note` and `key`.

    The amount is in the column `amount`, or in `utility`, as it is called in a history that is audited.
    """
    entries = []
    needed = (agent, time) if amount is None else (agent, time, amount)
    rows = read(path, needed, options=("--agent", "--time", "--amount"))
    amount = amount or _amount_column(path, rows[0][1])
    for line, row in rows:
        place = f"{path}, row {line}"
        where = f"{place}: "
        kind = row.get("kind", "received")
        if kind != "received":
            raise ValueError(
                f"{where}kind must be received, got {kind!r}: a history has only what was received; to move a whole "
                "ledger, use `bygones ledger copy`"
            )
        try:
            instant(row[time], time)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        name = check_text(f"{where}{agent}", row[agent], empty=False)
        entries.append(
            Entry(
                name,
                number(f"{where}{amount}", row[amount]),
                row[time],
                row.get("note", ""),
                row.get("key") or None,
                where=place,
            )
        )
    return entries


def _amount_column(path: Path, row: dict[str, str]) -> str:
    """Where the amounts are if nobody says so."""
    names = [name for name in ("amount", "utility") if name in row]
    if len(names) == 1:
        return names[0]
    found = "both" if names else ", ".join(map(repr, row))
    raise ValueError(f"{path} must have one column 'amount' or 'utility', found {found}: name the column with --amount")


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
    """An event, of the types that JSON has."""
    row = event._asdict() | {"time": iso(event.time), "recorded": iso(event.recorded)}
    return row if hashed is None else row | {"hash": bytes(hashed).hex()}


def of_kind(events: Iterable[tuple[Event, bytes]], kind: str | None) -> Iterator[tuple[Event, bytes]]:
    """The events of one kind, or all."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return (pair for pair in events if kind is None or pair[0].kind == kind)
