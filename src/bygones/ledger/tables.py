"""Tables that people keep: histories and needs read from CSV, events written to CSV.

A cell that a spreadsheet would take for a formula (it begins with = + - @, a tab or a return) is written with an
apostrophe before it, as spreadsheets expect of text; reading takes the apostrophe off again.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from bygones.ledger.events import Event, check_text, details_text
from bygones.ledger.requests import Amount, Items, Places, Request
from bygones.ledger.times import instant, iso
from bygones.ledger.writing import Entry

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_SHIELDED = re.compile(r"'+[=+\-@\t\r]")

EVENT_COLUMNS = (*Event._fields, "hash")
"""The columns of exported events."""


def shield(cell: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unshield(cell: str) -> str:
    """The text that `shield` was given."""
    return cell[1:] if _SHIELDED.match(cell) else cell


def read(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line number; refused where a needed column is missing."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            found = [str(name).strip() for name in reader.fieldnames or ()]
            reader.fieldnames = found
            missing = [name for name in needed if name not in found]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}: found {', '.join(map(repr, found)) or 'none'}")
            rows = []
            for row in reader:
                if None in row or None in row.values():
                    raise ValueError(f"{path}, row {reader.line_num}: expected {len(found)} cells as in the header")
                rows.append((reader.line_num, {name: unshield(cell.strip()) for name, cell in row.items()}))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise ValueError(f"{path} has no rows below its header")
    return rows


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
        entries.append(Entry(name, _number(f"{where}{amount}", row[amount]), row[time], row.get("note", "")))
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
            mine[check_text(f"{where}item", row["item"], empty=False)] = _number(f"{where}utility", row["utility"])
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
        numbers[name] = _number(f"{where}{wanted}", row.get(wanted, "1"))
        if "cap" in row:
            caps[name] = _number(f"{where}cap", row["cap"] or "inf", finite=False)
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
    return (pair for pair in events if kind is None or pair[0].kind == kind)


def _number(name: str, cell: str, *, finite: bool = True) -> float:
    accepted = "a finite number of at least 0" if finite else "a number of at least 0"
    try:
        number = float(cell)
    except ValueError:
        raise ValueError(f"{name} must be {accepted}, got {cell!r}") from None
    if not number >= 0 or (finite and math.isinf(number)):
        raise ValueError(f"{name} must be {accepted}, got {cell!r}")
    return number
