"""Exchange between a ledger and other programs: histories, events and plans as CSV, and plans as calendars."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo

from bygones._csv import number, read, separator, shield
from bygones._parts import needed_by
from bygones._text import check_text
from bygones._times import Order, with_year_first
from bygones.ledger.model.events import Entry, Event, details_text
from bygones.ledger.model.times import as_datetime, day, instant
from bygones.ledger.plans.calendar_turns import CalendarTurn
from bygones.ledger.plans.planned_dates import PlannedTurn

EVENT_COLUMNS = (*Event._fields, "hash")
"""The columns of exported events."""

PLAN_COLUMNS = ("date", "time", "until", "hours", "agent", "what", "amount", "event")
"""The columns of an exported plan."""


def read_entries(
    path: Path, agent: str = "agent", time: str = "time", amount: str | None = None, order: Order | None = None
) -> list[Entry]:
    """Entries of a history, one row each, with optional columns `note`, `key`, and `length` or `until` for the length.

    Empty rows are left out.
    The amount is in the column `amount`, or in `utility`, its name in a history for an audit. `order` tells how dates
    with slashes are written.
    """
    entries = []
    needed = (agent, time) if amount is None else (agent, time, amount)
    rows = read(path, needed, options=("--agent", "--time", "--amount"))
    amount = amount or _amount_column(path, rows[0][1])
    rows = [(line, row) for line, row in rows if any(row.values())]
    if not rows:
        raise ValueError(f"{path} has only empty rows below its header")
    for line, row in rows:
        place = f"{path}, row {line}"
        where = f"{place}: "
        kind = row.get("kind", "received")
        if kind != "received":
            raise ValueError(
                f"{where}kind must be received, got {kind!r}: a history has only amounts received; to move a whole "
                "ledger, use `bygones ledger copy`"
            )
        at = row[time] if order is None else with_year_first(row[time], order)
        try:
            instant(at, time)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        name = check_text(f"{where}{agent}", row[agent], empty=False)
        entries.append(
            Entry(
                name,
                number(f"{where}{amount}", row[amount]),
                at,
                row.get("note", ""),
                row.get("key") or None,
                where=place,
                length=row.get("length") or (f"until {row['until']}" if row.get("until") else ""),
            )
        )
    return entries


def ignored_columns(path: Path, *used: str) -> list[str]:
    """The columns of a history that `read_entries` does not read, given the names that it was told to read."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = file.readline()
        file.seek(0)
        names = [name.strip() for name in next(csv.reader(file, delimiter=separator(header)), [])]
    amounts = {"amount", "utility"} if len(used) < 3 else set[str]()
    return [name for name in names if name and name not in {*used, *amounts, "note", "key", "kind", "length", "until"}]


def _amount_column(path: Path, row: dict[str, str]) -> str:
    """The column of the amounts if none is named."""
    names = [name for name in ("amount", "utility") if name in row]
    if len(names) == 1:
        return names[0]
    columns = "both" if names else ", ".join(map(repr, row))
    raise ValueError(
        f"{path} must have one column 'amount' or 'utility', found {columns}: name the column with --amount"
    )


def write_events(file: TextIO, events: Iterable[tuple[Event, bytes]]) -> None:
    """Events as CSV, times in ISO 8601."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(EVENT_COLUMNS)
    for event, hashed in events:
        row = event.to_dict() | {"details": details_text(event), "hash": hashed.hex()}
        writer.writerow(
            ["" if cell is None else shield(cell) if isinstance(cell, str) else cell for cell in row.values()]
        )


def plan_csv(turns: Sequence[PlannedTurn], zone: str) -> str:
    """The turns as CSV: the day in the ledger's time zone, and the times in ISO 8601 with their offset.

    The end and the length in hours are empty where no length is known.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PLAN_COLUMNS)
    for turn in turns:
        start, end = (as_datetime(at).astimezone(ZoneInfo(zone)).isoformat() for at in turn.span)
        length = [end, turn.span.hours] if turn.span.hours else ["", ""]
        name, what = shield(turn.agent), shield(turn.what)
        writer.writerow([day(turn.span.start, zone), start, *length, name, what, turn.amount, turn.seq])
    return text.getvalue()


def plan_ics(entries: Sequence[CalendarTurn], zone: str, name: str) -> bytes:
    """Planned turns as a calendar, with the cancelled ones.

    A turn lasts from its start until its end. If no length is known, it is the whole day where the plan has no times,
    and else has a start only.
    """
    with needed_by("a calendar"):
        from icalendar import Calendar
        from icalendar import Event as CalendarEvent

    calendar = Calendar()
    calendar.add("prodid", "-//bygones//ledger//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", name)
    for entry in entries:
        turn, changed = entry.turn, as_datetime(entry.changed)
        start, end = (as_datetime(at).astimezone(ZoneInfo(zone)) for at in turn.span)
        event = CalendarEvent()
        event.add("uid", entry.uid)
        event.add("sequence", entry.sequence)
        event.add("dtstamp", changed)
        event.add("last-modified", changed)
        event.add("status", "CANCELLED" if entry.cancelled else "CONFIRMED")
        if turn.span.hours:
            event.add("dtstart", start)
            event.add("dtend", end)
        else:
            event.add("dtstart", start.date() if turn.all_day else start)
        event.add("summary", f"{turn.agent}: {turn.what}")
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return bytes(calendar.to_ical())
