"""What is planned, written for spreadsheets (CSV) and for calendars (iCalendar)."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from bygones._csv import shield
from bygones._parts import needed_by
from bygones.ledger.model.times import as_datetime, day
from bygones.ledger.plans.planned_dates import PlannedTurn

COLUMNS = ("date", "time", "agent", "what", "amount", "event")
"""The columns of an exported plan."""


def plan_csv(turns: Sequence[PlannedTurn], zone: str) -> str:
    """The turns as CSV: the day in the ledger's time zone, and the time in ISO 8601 with its offset."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for turn in turns:
        time = as_datetime(turn.at).astimezone(ZoneInfo(zone)).isoformat()
        writer.writerow([day(turn.at, zone), time, shield(turn.agent), shield(turn.what), turn.amount, turn.seq])
    return text.getvalue()


def plan_ics(turns: Sequence[PlannedTurn], zone: str, name: str) -> bytes:
    """The turns as a calendar: whole days where the plan has no times, else an hour each from their time on.

    A turn has the same identity in every export, whoever takes it, so that a calendar replaces it rather than adding
    another.
    """
    with needed_by("a calendar"):
        from icalendar import Calendar, Event

    calendar = Calendar()
    calendar.add("prodid", "-//bygones//ledger//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", name)
    seen: dict[tuple[int, str], int] = {}
    for turn in turns:
        slot = turn.at, turn.item or ""
        seen[slot] = seen.get(slot, 0) + 1
        which = hashlib.sha256(f"{name}/{turn.item or ''}/{seen[slot]}".encode()).hexdigest()[:16]
        start = as_datetime(turn.at).astimezone(ZoneInfo(zone))
        event = Event()
        event.add("uid", f"{turn.at}-{which}@bygones")
        event.add("dtstamp", as_datetime(turn.recorded))
        event.add("dtstart", start.date() if turn.all_day else start)
        event.add("dtend", start.date() + timedelta(days=1) if turn.all_day else start + timedelta(hours=1))
        event.add("summary", f"{turn.agent}: {turn.what}")
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return bytes(calendar.to_ical())
