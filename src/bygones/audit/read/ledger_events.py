"""Reads the events of a ledger, from its tables or an export: the amounts received, and everything for its replay.

Events are read some at a time and kept as columns of numbers, about 40 bytes an event.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import NamedTuple

import ibis
import numpy as np
import pyarrow as pa

from bygones.audit.read.sources import BATCH, LEDGER_COLUMNS, Source, check_columns, readable
from bygones.audit.read.time_columns import with_times
from bygones.ledger.model.events import DECISIONS, KINDS, LARGEST_CORRECTION, RECEIVED
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.model.times import now

NOBODY = -1
"""Stands for no agent, and for no event that is referred to."""


class LedgerEvents(NamedTuple):
    """The events of a ledger in the order of recording, one entry per event, and its rules.

    Attributes:
        names: the agents.
        seq: the number of the event.
        kind: its place in `bygones.ledger.model.events.KINDS`.
        time: in microseconds.
        agent: the row of the agent in `names`, or `NOBODY`.
        amount: 0 where there is none.
        refers: the number of the event that it refers to, or `NOBODY`.
        book: the ledger's rules.
    """

    names: tuple[str, ...]
    seq: np.ndarray
    kind: np.ndarray
    time: np.ndarray
    agent: np.ndarray
    amount: np.ndarray
    refers: np.ndarray
    book: RuleBook

    def are(self, *kinds: str) -> np.ndarray:
        """Which events are of one of these kinds."""
        return np.asarray(np.isin(self.kind, [KINDS.index(each) for each in kinds]))

    def span(self) -> tuple[int, int]:
        """The times of the first and the last event that is no rule and no decision.

        What lies ahead waits, unless there is nothing else.
        """
        times = self.time[~self.are("rules", *DECISIONS)]
        come = times[times <= now()]
        return int(times.min()), int((come if len(come) else times).max())


def all_events(source: Source) -> ibis.Table:
    """All events of a ledger that are not void."""
    check_columns(source.columns, LEDGER_COLUMNS, source.label)
    everything = source.table.select(*(name for name in (*LEDGER_COLUMNS, "details") if name in source.columns))
    return _in_effect(source, everything)


def received(source: Source, everything: ibis.Table) -> ibis.Table:
    """Amounts received, after corrections, with the columns `agent`, `time` and `utility`; an agent who joins has 0."""
    events = everything.filter(everything.kind.isin([*RECEIVED, "correction", "join"]))
    amount, seq, refers = (source.number(events[name], name) for name in ("amount", "seq", "refers"))
    amount = ibis.ifelse(amount.abs() <= LARGEST_CORRECTION, amount, 0.0)  # as in the ledger itself
    events = events.mutate(amount=amount, original=ibis.ifelse(events.kind == "correction", refers, seq))
    net = events.group_by("original", "agent", "time").aggregate(
        utility=events.amount.sum(),
        received=events.kind.isin(RECEIVED).any(),
        joined=(events.kind == "join").any(),
    )
    net = net.filter(net.received | net.joined)
    # A corrected amount is never negative, except for the rounding of the sum.
    utility = ibis.ifelse(net.received, ibis.greatest(net.utility, 0.0), 0.0)
    return net.order_by("original").select(agent=net.agent, time=net.time, utility=utility)


def read_events(source: Source, everything: ibis.Table, clean_name: Callable[[str], str]) -> LedgerEvents | None:
    """All events for the replay; None if they lack the rules or who joined."""
    rows = with_times(source, everything, "time", "UTC").rows
    numbers = {name: source.number(rows[name], name) for name in ("amount", "seq", "refers")}
    rows = rows.mutate(**numbers).drop("time_raw")
    book = _read_book(source, rows)
    if book is None:
        return None
    row_of: dict[str | None, int] = {None: NOBODY, "": NOBODY}
    chosen = rows.select("seq", "kind", "time", "agent", "amount", "refers").order_by("seq")
    with readable(source.label), warnings.catch_warnings():
        # Ibis 12 calls a function that DuckDB 1.5 has given another name.
        warnings.simplefilter("ignore", DeprecationWarning)
        parts = [_columns(batch, row_of) for batch in chosen.to_pyarrow_batches(chunk_size=BATCH)]
    names: dict[str, int] = {}
    # Two spellings of a name are one agent.
    codes = {code: names.setdefault(clean_name(name), len(names)) for name, code in row_of.items() if name}
    seq, kind, time, agent, amount, refers = (np.concatenate(column) for column in zip(*parts, strict=True))
    same = np.array([codes[code] for code in range(len(codes))] + [NOBODY], dtype=np.int32)
    events = LedgerEvents(tuple(names), seq, kind, time, same[agent], amount, refers, book)
    return events if events.are("join").any() else None


def _columns(batch: pa.RecordBatch, row_of: dict[str | None, int]) -> tuple[np.ndarray, ...]:
    """Some events as columns of numbers; new names are given the next row."""
    place = {kind: code for code, kind in enumerate(KINDS)}
    kinds, agents = batch["kind"].to_pylist(), batch["agent"].to_pylist()
    for name in agents:
        row_of.setdefault(name, len(row_of) - 2)
    return (
        _numbers(batch["seq"], NOBODY).astype(np.int64),
        np.array([place.get(kind, NOBODY) for kind in kinds], dtype=np.int8),
        _numbers(batch["time"], 0).astype(np.int64),
        np.array([row_of[name] for name in agents], dtype=np.int32),
        _numbers(batch["amount"], 0.0).astype(float),
        _numbers(batch["refers"], NOBODY).astype(np.int64),
    )


def _numbers(column: pa.Array, missing: float) -> np.ndarray:
    return np.asarray(column.fill_null(missing).to_numpy(zero_copy_only=False))


def _read_book(source: Source, rows: ibis.Table) -> RuleBook | None:
    """The rules of a ledger, from its tables or from its exported events; None if the export has none."""
    if source.rules is not None:
        from bygones.ledger.storage.rows import load_book

        return load_book(source.rules)
    if "details" not in rows.columns:
        return None
    rules = source.fetch(rows.filter(rows.kind == "rules").order_by("seq")).to_pylist()
    changes = [Change(int(r["time"]), int(r["seq"]), json.loads(r["details"])) for r in rules if r["details"]]
    return RuleBook(changes) if changes else None


def _in_effect(source: Source, events: ibis.Table) -> ibis.Table:
    """The events of a ledger that are not void."""
    numbered = events.mutate(**{name: source.number(events[name], name) for name in ("seq", "refers")})
    voided = numbered.filter(numbered.kind == "void").order_by("seq").select("seq", "refers")
    voids = source.fetch(voided).to_pylist()
    if not voids:
        return events
    again = {int(void["refers"]) for void in voids} & {int(void["seq"]) for void in voids}
    out = [int(void["refers"]) for void in voids if int(void["seq"]) not in again]
    resting = numbered.kind.isin([*RECEIVED, "correction"])
    for _ in range(2):  # amounts received through a decision, and their corrections
        dependent = numbered.filter(resting & numbered.refers.isin(out)).select("seq").to_pyarrow().to_pylist()
        out = sorted({*out, *(int(row["seq"]) for row in dependent)})
    return events.filter((events.kind != "void") & ~source.number(events.seq, "seq").isin(out))
