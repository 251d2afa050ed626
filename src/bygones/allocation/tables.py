"""Decisions from tables and into tables: needs, the past and entitlements read from CSV, the decision written.

A request is one table, in one of five forms:

- `agent`, `need`: places; without the column `need`, every agent has a need of 1; an empty cell is an agent who may
  not be served.
- `agent` and one column per item: items; an empty cell is an item that the agent may not take.
- `agent`, `item`, `utility`: items, one row per agent and item; an agent may not take an item without a row, or with an
  empty cell.
- `agent`, `rate`, `cap`, with an amount to divide: both may be left out; an empty cell in `cap` is no limit.
- `agent`, `need`, with an amount to divide: nobody gets more than they need; a column `rate` is allowed too.

The numbers are utilities or, for burdens, loads. A column `note` is
ignored in all of them, and so are empty rows. Every error names the file, the row and the column. Times are numbers of
steps, or dates and times in ISO 8601, which become numbers of days; a table has one or the other.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from bygones._csv import number, read, shield
from bygones._text import check_text
from bygones._times import instant
from bygones.allocation.decision import Decision
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.settling import check_known, settle
from bygones.memory import Memory
from bygones.memory.contract import AnyState

_DAY = 86_400_000_000
"""Microseconds in a day."""

_COLUMNS = ("agent", "need", "item", "utility", "rate", "cap", "note")
"""The columns that have a meaning; every other column is an item."""

_HINTS = {
    "needs": ": use k for the number of places",
    "items": ": use capacity for the most items of one agent",
    "rates": "",
}
"""Advice about an option that is for another form of table."""


Row: TypeAlias = tuple[int, dict[str, str]]
"""A row of a table with its line number."""


class Moment(NamedTuple):
    """A time: a number of steps, or of days since 1970 if it was written as a date."""

    time: float
    is_date: bool


class Past(NamedTuple):
    """The recent totals, and the time of the last past utilities; None if there are none."""

    state: AnyState
    last: Moment | None


def read_needs(
    path: Path,
    *,
    k: int | None = None,
    capacity: int | None = None,
    amount: float | None = None,
    whole: bool = False,
) -> Problem:
    """The request in a table, in one of the forms above.

    Args:
        path: the CSV file.
        k: the number of places, for a table of needs; by default 1.
        capacity: the most items that one agent may take, for a table of items; by default 1.
        amount: the amount to divide, for a table of rates and caps, or of needs, which are then the caps.
        whole: whether an amount is divided in whole units.
    """
    return problem_of_rows(path, read_rows(path), k=k, capacity=capacity, amount=amount, whole=whole)


def read_rows(path: Path) -> list[Row]:
    """The rows of a table about agents that are not empty, each with its line."""
    return [(line, row) for line, row in read(path, ("agent",)) if any(row.values())]


def problem_of_rows(
    path: Path,
    rows: Sequence[Row],
    *,
    k: int | None = None,
    capacity: int | None = None,
    amount: float | None = None,
    whole: bool = False,
) -> Problem:
    """The request in some rows of a table; see `read_needs`."""
    if whole and amount is None:
        raise ValueError("whole is for an amount to divide: give the amount, or leave whole out")
    if not rows:
        raise ValueError(f"{path} has no rows below its header")
    columns = [name for name in rows[0][1] if name not in ("agent", "note")]
    _check_columns(path, columns)
    options = {"k": k, "capacity": capacity, "amount": amount}
    form, uses = _form(path, columns, amount)
    for option, value in options.items():
        if value is not None and option not in uses:
            raise ValueError(f"{option} cannot be used with {path}, a table of {form}{_HINTS[form]}")
    if form == "items":
        return _items(path, rows, columns, 1 if capacity is None else capacity)
    agents = _agents(path, rows)
    if amount is None:
        everyone = list(zip(agents, rows, strict=True))
        # Where every cell is empty, the error names the first of them.
        asking = [(name, each) for name, each in everyone if each[1].get("need", "1")] or everyone
        needs = _numbers(path, [each for _, each in asking], "need", [name for name, _ in asking])
        return ChooseK({name: needs.get(name) for name in agents}, 1 if k is None else k)
    limit = "need" if "need" in columns else "cap"
    caps = {
        name: number(_where(path, line, limit), row[limit], finite=limit == "need")
        for name, (line, row) in zip(agents, rows, strict=True)
        if row.get(limit)
    }
    rates = _numbers(path, rows, "rate", agents)
    if limit == "need":
        # An agent without a need may not have a part.
        rates = {name: rate for name, rate in rates.items() if name in caps}
    return Divide(amount, rates, caps or None, whole=whole)


def read_past_needs(path: Path, now: Problem) -> list[Problem]:
    """Earlier problems of the same form as now, from a table with one column per agent and one row per past step.

    A cell is the utility of a place, an item or a unit to the agent; an empty cell is an agent who could not be served.
    There may be agents who are not in the table of needs now, and agents without a column. A column `time` or `note` is
    ignored.
    """
    rows = [(line, row) for line, row in read(path, ()) if any(row.values())]
    columns = [name for name in (rows[0][1] if rows else ()) if name not in ("time", "note")]
    known = set(now.agent_names)
    if not known.intersection(columns):
        history = " (a history goes to --history)" if {"agent", "utility"} <= set(columns) else ""
        raise ValueError(
            f"{path} must have one column per agent and one row per past step, but no column is an agent in the table "
            f"of needs: found {', '.join(map(repr, columns)) or 'none'}{history}"
        )
    if "" in columns:
        raise ValueError(f"{path} has a column without a name: name it or delete it")
    needs = [{name: _number(path, line, row, name) for name in columns if row[name]} for line, row in rows]
    requests = [_as_now(now, each) for each in needs]
    if not any(request.contest() for request in requests):
        raise ValueError(f"{path} has no row in which anyone would have gone without: nothing can be learned from it")
    return requests


def read_past(path: Path, agents: Sequence[str], memory: Memory) -> Past:
    """The recent totals of a table `agent`, `time`, `utility`, in the order of time, at its last row.

    The utility may also be called `amount`, as in the tables that a ledger imports.
    """
    position = {name: i for i, name in enumerate(agents)}
    state, last = memory.init(len(agents)), None
    received, seen = np.zeros(len(agents)), set()
    elapsed = 0.0
    rows = read(path, ("agent", "time"), empty=True)
    utility = next((name for name in ("utility", "amount") if not rows or name in rows[0][1]), None)
    if utility is None:
        raise ValueError(f"{path} has no column 'utility' or 'amount': found {', '.join(map(repr, rows[0][1]))}")
    for line, row in rows:
        where = f"{path}, row {line}: "
        name = row["agent"]
        if name not in position:
            raise ValueError(
                f"{where}column 'agent' must be an agent in the table of needs, got {name!r} (list agents who cannot "
                "be served now with an empty cell)"
            )
        now = moment(row["time"], f"{where}column 'time'")
        if last is not None and since(last, now, f"{where}column 'time'", row["time"]) > 0:
            state = memory.update(state, received, elapsed)
            received, seen, elapsed = np.zeros(len(agents)), set(), now.time - last.time
        if name in seen:
            raise ValueError(
                f"{where}column 'agent' has {name!r} a second time at {row['time']}: add up utilities of the same "
                "time in one row"
            )
        seen.add(name)
        received[position[name]] = _number(path, line, row, utility)
        last = now
    return Past(state if last is None else memory.update(state, received, elapsed), last)


def read_entitlements(
    path: Path,
    agents: Sequence[str],
    *,
    exempt: bool = False,
    others: str | float | None = None,
    where: str = "the table of needs",
) -> np.ndarray:
    """One entitlement per agent, above 0, from a table `agent`, `entitlement`.

    Args:
        path: the CSV file.
        agents: everyone who needs one. Others in the file are refused.
        exempt: whether an entitlement may be 0.
        others: the entitlement of agents who are not in the file; None refuses them.
        where: where the agents come from, for the error.
    """
    rows = read(path, ("agent", "entitlement"))
    entitlements = {}
    for name, (line, row) in zip(_agents(path, rows), rows, strict=True):
        entitlements[name] = _number(path, line, row, "entitlement")
        if not entitlements[name] and not exempt:
            raise ValueError(f"{path}, row {line}: column 'entitlement' must be above 0, got {row['entitlement']!r}")
    check_known(entitlements, agents, str(path), where)
    settled = settle(entitlements, dict.fromkeys(agents, 0.0), others, where)
    return np.array([settled[name] for name in agents])


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


def since(last: Moment, now: Moment, name: str, text: str, before: str = "the row above") -> float:
    """The time from one to the other, which must both be dates or numbers, in this order."""
    if now.is_date != last.is_date:
        raise ValueError(f"{name} must be a {'date' if last.is_date else 'number'} as in {before}, got {text!r}")
    if now.time < last.time:
        raise ValueError(f"{name} must not go back in time, got {text!r}, which is before {before}")
    return now.time - last.time


def until_now(last: Moment | None, now: str | None) -> float:
    """The time from the last past utilities to the decision.

    By default the decision is one step after the last utilities, or now where times are dates.
    """
    if now is None and last is not None and last.is_date:
        now = datetime.now(UTC).isoformat()
    at = None if now is None else moment(now, "now")
    return 1.0 if last is None or at is None else since(last, at, "now", str(now), "the last row of the history")


def unit_of(last: Moment | None) -> str:
    """The length of a step of the memory: a day where times are dates."""
    return "day" if last is not None and last.is_date else "step"


def decision_csv(decision: Decision) -> str:
    """The decision as CSV: one row per agent."""
    heading, given = decision.problem.column(decision.given)
    columns = (
        [shield(name) for name in decision.agent_names],
        [shield(cell) if isinstance(cell, str) else cell for cell in given],
        decision.utilities.tolist(),
        decision.before.tolist(),
        decision.after.tolist(),
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["agent", heading, "utility", "remembered_before", "remembered_after"])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _as_now(now: Problem, needs: dict[str, float]) -> Problem:
    """The same things to allocate as now, at other needs; of items, one for each agent."""
    if isinstance(now, Divide):
        return Divide(now.amount, needs, now.caps_by_name, whole=now.whole)
    return ChooseK(needs, now.k if isinstance(now, ChooseK) else now.n_items)


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if "" in columns:
        raise ValueError(f"{path} has a column without a name: name it or delete it")
    singular = {"utilities": "utility"}
    for name in columns:
        meant = singular.get(name.lower(), name.lower().removesuffix("s"))
        if name not in _COLUMNS and meant in _COLUMNS:
            raise ValueError(f"{path} has a column {name!r}: did you mean {meant!r}?")


def _form(path: Path, columns: Sequence[str], amount: float | None) -> tuple[str, tuple[str, ...]]:
    """The form of a table, and the options that go with it."""
    headings = ", ".join(map(repr, columns))
    if "item" in columns or "utility" in columns:
        for name in ("item", "utility"):
            if name not in columns:
                raise ValueError(f"{path} has no column {name!r}: found 'agent', {headings}")
        _check_alone(path, columns, ("item", "utility"))
        return "items", ("capacity",)
    if "need" in columns and amount is not None:
        _check_alone(path, columns, ("need", "rate"))
        return "rates", ("amount",)
    if "need" in columns:
        _check_alone(path, columns, ("need",))
        return "needs", ("k",)
    if "rate" in columns or "cap" in columns:
        _check_alone(path, columns, ("rate", "cap"))
        if amount is None:
            raise ValueError(f"{path} has the columns {headings}: give the amount to divide")
        return "rates", ("amount",)
    if columns:
        return "items", ("capacity",)
    return ("needs", ("k",)) if amount is None else ("rates", ("amount",))


def _check_alone(path: Path, columns: Sequence[str], known: Sequence[str]) -> None:
    """Refuses a table with columns of two forms."""
    for name in columns:
        if name not in known:
            others = " and ".join(repr(each) for each in known if each in columns)
            raise ValueError(f"{path} has a column {name!r} next to {others}: delete it, or name it 'note'")


def _items(path: Path, rows: Sequence[Row], columns: Sequence[str], capacity: int) -> Assign:
    """Items from a table with one column per item, or with one row per agent and item."""
    utilities: dict[str, dict[str, float]] = {}
    if "item" in columns:
        seen: dict[tuple[str, str], int] = {}
        for line, row in rows:
            agent, item = (_name(path, line, row, column) for column in ("agent", "item"))
            if (agent, item) in seen:
                raise ValueError(
                    f"{path}, row {line}: agent {agent!r} and item {item!r} are in row {seen[agent, item]} already: "
                    "keep one of the two"
                )
            seen[agent, item] = line
            mine = utilities.setdefault(agent, {})
            if row["utility"]:
                mine[item] = _number(path, line, row, "utility")
        order = tuple(dict.fromkeys(item for _, item in seen))
    else:
        order = tuple(check_text(f"{path}: the name of a column", name, empty=False) for name in columns)
        for agent, (line, row) in zip(_agents(path, rows), rows, strict=True):
            try:
                utilities[agent] = {item: _number(path, line, row, item) for item in order if row[item]}
            except ValueError as error:
                raise ValueError(f"{error} (every column but agent, need and note is an item)") from None
    if not any(utilities.values()):
        raise ValueError(f"{path} gives no utility: no agent may take any of the items {', '.join(map(repr, order))}")
    return Assign(utilities, capacity, items=order)


def _agents(path: Path, rows: Sequence[Row]) -> tuple[str, ...]:
    """The agents of a table with one row each."""
    seen: dict[str, int] = {}
    for line, row in rows:
        name = _name(path, line, row, "agent")
        if name in seen:
            raise ValueError(
                f"{_where(path, line, 'agent')} has {name!r} a second time (first in row {seen[name]}): "
                "keep one of the two rows"
            )
        seen[name] = line
    return tuple(seen)


def _numbers(path: Path, rows: Sequence[Row], column: str, agents: Sequence[str]) -> dict[str, float]:
    """A number per agent; 1 for each where there is no such column."""
    return {
        name: _number(path, line, row, column) if column in row else 1.0
        for name, (line, row) in zip(agents, rows, strict=True)
    }


def _name(path: Path, line: int, row: dict[str, str], column: str) -> str:
    return check_text(_where(path, line, column), row[column], empty=False)


def _number(path: Path, line: int, row: dict[str, str], column: str) -> float:
    return number(_where(path, line, column), row[column])


def _where(path: Path, line: int, column: str) -> str:
    return f"{path}, row {line}: column {column!r}"
