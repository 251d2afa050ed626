"""Decisions from tables and into tables: needs, past utilities and entitlements read from CSV, the decision written.

Every refusal names the file, the row and the column. Times are numbers of steps, or dates and times in ISO 8601, which
become numbers of days; a table keeps to one of the two.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bygones._csv import number, read, shield
from bygones._times import instant
from bygones.allocation.decision import Decision
from bygones.allocation.problems import Assign, ChooseK
from bygones.memory import Memory, MemoryState

_DAY = 86_400_000_000
"""Microseconds in a day."""


class NeedsTable(NamedTuple):
    """What there is to hand out, with the names that the table gives to agents and items."""

    problem: ChooseK | Assign
    agents: tuple[str, ...]
    items: tuple[str, ...] | None


class Moment(NamedTuple):
    """A time: a number of steps, or of days since 1970 if it was said as a date."""

    time: float
    is_date: bool


class Past(NamedTuple):
    """What is remembered, and when it was last added to; None if it never was."""

    state: MemoryState
    last: Moment | None


def read_needs(path: Path, *, k: int | None = None, capacity: int | None = None) -> NeedsTable:
    """The problem in a table with a column `agent` and either `need`, or one column per item.

    With needs, `k` agents are to be served (1 if left out). With items, an empty cell is a forbidden pair, and an agent
    may have up to `capacity` items (1 if left out). A column `note` is passed over.
    """
    rows = read(path, ("agent",))
    columns = [name for name in rows[0][1] if name not in ("agent", "note")]
    if not columns or ("need" in columns and len(columns) > 1):
        found = ", ".join(map(repr, columns)) or "none"
        raise ValueError(f"{path} must have beside 'agent' the column 'need' or one column per item, found {found}")
    agents = _agents(path, rows)
    if columns == ["need"]:
        if capacity is not None:
            raise ValueError(f"capacity is for tables with one column per item, but {path} has needs: use k")
        needs = [_number(path, line, row, "need") for line, row in rows]
        return NeedsTable(ChooseK(needs, 1 if k is None else k), agents, None)
    if k is not None:
        raise ValueError(f"k is for tables with a column 'need', but {path} has items: use capacity")
    if "" in columns:
        raise ValueError(f"{path} has a column without a name")
    allowed = np.array([[row[name] != "" for name in columns] for _, row in rows])
    if not allowed.any():
        raise ValueError(f"{path} cannot be decided: every cell of {', '.join(map(repr, columns))} is empty")
    utilities = [[_number(path, line, row, name) if row[name] else 0.0 for name in columns] for line, row in rows]
    problem = Assign(utilities, 1 if capacity is None else capacity, allowed)
    return NeedsTable(problem, agents, tuple(columns))


def read_past(path: Path, agents: Sequence[str], memory: Memory) -> Past:
    """What is remembered of a table `agent`, `time`, `utility`, in the order of time, at its last row."""
    position = {name: i for i, name in enumerate(agents)}
    state, last = memory.init(len(agents)), None
    received, seen = np.zeros(len(agents)), set()
    elapsed = 0.0
    for line, row in read(path, ("agent", "time", "utility"), empty=True):
        where = f"{path}, row {line}: "
        name = row["agent"]
        if name not in position:
            raise ValueError(
                f"{where}column 'agent' must be an agent with needs, got {name!r} (to keep somebody out of this "
                "decision, give them a need of 0)"
            )
        now = moment(row["time"], f"{where}column 'time'")
        if last is not None and since(last, now, f"{where}column 'time'", row["time"]) > 0:
            state = memory.update(state, received, elapsed)
            received, seen, elapsed = np.zeros(len(agents)), set(), now.time - last.time
        if name in seen:
            raise ValueError(
                f"{where}column 'agent' has {name!r} a second time at {row['time']}: add several utilities of one "
                "moment up in one row"
            )
        seen.add(name)
        received[position[name]] = _number(path, line, row, "utility")
        last = now
    return Past(state if last is None else memory.update(state, received, elapsed), last)


def read_entitlements(path: Path, agents: Sequence[str]) -> np.ndarray:
    """One entitlement per agent, above 0, from a table `agent`, `entitlement`."""
    rows = read(path, ("agent", "entitlement"))
    found = {}
    for name, (line, row) in zip(_agents(path, rows), rows, strict=True):
        if name not in agents:
            raise ValueError(f"{path}, row {line}: column 'agent' must be an agent with needs, got {name!r}")
        found[name] = _number(path, line, row, "entitlement")
        if not found[name]:
            raise ValueError(f"{path}, row {line}: column 'entitlement' must be above 0, got {row['entitlement']!r}")
    missing = [name for name in agents if name not in found]
    if missing:
        raise ValueError(f"{path} has no row for agent {missing[0]!r}")
    return np.array([found[name] for name in agents])


def moment(text: str, name: str) -> Moment:
    """The time in a cell or an option."""
    try:
        time = float(text)
    except ValueError:
        try:
            return Moment(instant(text, name) / _DAY, True)
        except ValueError:
            raise ValueError(f"{name} must be a number or a date such as 2026-03-02, got {text!r}") from None
    if not math.isfinite(time):
        raise ValueError(f"{name} must be a finite number or a date, got {text!r}")
    return Moment(time, False)


def since(last: Moment, now: Moment, name: str, said: str, before: str = "the row above") -> float:
    """The time between, refused where it runs backwards or where dates and numbers meet."""
    if now.is_date != last.is_date:
        raise ValueError(f"{name} must be a {'date' if last.is_date else 'number'} as in {before}, got {said!r}")
    if now.time < last.time:
        raise ValueError(f"{name} must not run backwards, got {said!r}, earlier than {before}")
    return now.time - last.time


def until_now(last: Moment | None, now: str | None) -> float:
    """The time from the last past utilities to the decision.

    Left out, the decision is one step after the last, or now where times are dates.
    """
    if now is None and last is not None and last.is_date:
        now = datetime.now(UTC).isoformat()
    at = None if now is None else moment(now, "now")
    return 1.0 if last is None or at is None else since(last, at, "now", str(now), "the last row of the history")


def unit_of(last: Moment | None) -> str:
    """What a step of the memory is: a day where times are dates."""
    return "day" if last is not None and last.is_date else "step"


def decision_csv(decision: Decision) -> str:
    """The decision as CSV: one row per agent."""
    names, agents = decision.items, decision.agents or ()
    if names is None:
        is_served = np.isin(np.arange(len(agents)), decision.served)
        given = ["yes" if served else "no" for served in is_served.tolist()]
    else:
        owned = [np.flatnonzero(decision.given == i).tolist() for i in range(len(agents))]
        given = [shield("; ".join(names[j] for j in mine)) for mine in owned]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["agent", "served" if names is None else "items", "utility", "remembered_before", "remembered_after"]
    )
    numbers = zip(decision.utilities.tolist(), decision.before.tolist(), decision.after.tolist(), strict=True)
    writer.writerows([shield(agent), what, *three] for agent, what, three in zip(agents, given, numbers, strict=True))
    return text.getvalue()


def _agents(path: Path, rows: Sequence[tuple[int, dict[str, str]]]) -> tuple[str, ...]:
    seen: set[str] = set()
    for line, row in rows:
        if not row["agent"]:
            raise ValueError(f"{path}, row {line}: column 'agent' must not be empty")
        if row["agent"] in seen:
            raise ValueError(f"{path}, row {line}: column 'agent' has {row['agent']!r} a second time")
        seen.add(row["agent"])
    return tuple(row["agent"] for _, row in rows)


def _number(path: Path, line: int, row: dict[str, str], column: str) -> float:
    return number(f"{path}, row {line}: column {column!r}", row[column])
