"""Reads the events of a ledger, from its tables or an export: the amounts received, and everything for its replay.

Events are read some at a time and kept as columns of numbers, about 60 bytes an event. Which of them count, and with
what amounts, follows from the events as in the ledger itself.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import ibis
import numpy as np
import pyarrow as pa

from bygones.audit.read.sources import BATCH, DETAILED, LEDGER_COLUMNS, Source, check_columns, readable
from bygones.audit.read.time_columns import Timed, with_times
from bygones.ledger.model.events import DECISIONS, KINDS, LARGEST_CORRECTION, RECEIVED, load_details
from bygones.ledger.model.revisions import RELATING, RESTING, Related, related, revisions, slot
from bygones.ledger.model.rules import Change, RuleBook
from bygones.ledger.model.times import now

NOBODY = -1
"""Stands for no agent, and for no event that is referred to."""


class LedgerEvents(NamedTuple):
    """The events of a ledger that are not void, in the order of recording, one entry per event.

    Attributes:
        names: the agents.
        seq: the number of the event.
        kind: its place in `bygones.ledger.model.events.KINDS`.
        time: in microseconds.
        agent: the row of the agent in `names`, or `NOBODY`.
        amount: the amount that counts, corrections included; 0 where there is none, and of a correction.
        refers: the number of the event that it refers to, or `NOBODY`.
    """

    names: tuple[str, ...]
    seq: np.ndarray
    kind: np.ndarray
    time: np.ndarray
    agent: np.ndarray
    amount: np.ndarray
    refers: np.ndarray

    def are(self, *kinds: str) -> np.ndarray:
        """Which events are of one of these kinds."""
        return np.asarray(np.isin(self.kind, [KINDS.index(each) for each in kinds]))

    def only(self, which: np.ndarray) -> LedgerEvents:
        """Some of the events."""
        names, *columns = self
        return LedgerEvents(names, *(column[which] for column in columns))

    def received(self) -> pa.Table:
        """Amounts received, with the columns `agent`, `time` and `utility`; an agent who joins has 0."""
        events, names = self.only(self.are(*RECEIVED, "join")), pa.array(self.names, type=pa.string())
        counts = events.are(*RECEIVED) & (np.abs(events.amount) <= LARGEST_CORRECTION)  # as in the ledger itself
        who = pa.DictionaryArray.from_arrays(pa.array(events.agent, mask=events.agent == NOBODY), names)
        columns = [who, pa.array(events.time), pa.array(np.where(counts, events.amount, 0.0))]
        return pa.Table.from_arrays(columns, names=["agent", "time", "utility"])

    def span(self) -> tuple[int, int]:
        """The times of the first and the last event that is no rule and no decision.

        What lies ahead waits, unless there is nothing else.
        """
        times = self.time[~self.are("rules", *DECISIONS)]
        come = times[times <= now()]
        return int(times.min()), int((come if len(come) else times).max())


def read_events(source: Source, zone: str) -> tuple[LedgerEvents, RuleBook | None, Timed]:
    """The events of a ledger that are not void, its rules if they are among them, and how times were read."""
    check_columns(source.columns, LEDGER_COLUMNS, source.label)
    timed = with_times(source, source.table, "time", zone)
    rows = timed.rows
    numbers = {name: source.number(rows[name], name) for name in ("seq", "amount", "refers")}
    details = rows.details if "details" in source.columns else ibis.null("string")
    chosen = rows.select("kind", "time", "agent", details=details, **numbers).order_by("seq")
    row_of: dict[str | None, int] = {None: NOBODY, "": NOBODY}
    parts, told = [], dict[int, dict[str, Any]]()
    with readable(source.label), warnings.catch_warnings():
        # Ibis 12 calls a function that DuckDB 1.5 has given another name.
        warnings.simplefilter("ignore", DeprecationWarning)
        for batch in chosen.to_pyarrow_batches(chunk_size=BATCH):
            parts.append(_columns(batch, row_of))
            told |= _details(batch, source.label)
    names: dict[str, int] = {}
    # Two spellings of a name are one agent.
    codes = {code: names.setdefault(source.clean_name(name), len(names)) for name, code in row_of.items() if name}
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    same = np.array([codes[code] for code in range(len(codes))] + [NOBODY], dtype=np.int32)
    columns[3] = same[columns[3]]
    events = _in_effect(LedgerEvents(tuple(names), *columns), told)
    rules = events.only(events.are("rules"))
    at = zip(rules.time.tolist(), rules.seq.tolist(), strict=True)
    changes = [Change(time, seq, told[seq]) for time, seq in at if seq in told]
    return events, RuleBook(changes) if changes else None, timed


def _columns(batch: pa.RecordBatch, row_of: dict[str | None, int]) -> tuple[np.ndarray, ...]:
    """Some events as columns of numbers; new names are given the next row."""
    place = {kind: code for code, kind in enumerate(KINDS)}
    kinds, agents = batch["kind"].to_pylist(), batch["agent"].to_pylist()
    for name in agents:
        row_of.setdefault(name, len(row_of) - 2)
    return (
        _numbers(batch["seq"], NOBODY).astype(np.int64),
        np.array([place.get(kind, NOBODY) for kind in kinds], dtype=np.int8),
        _numbers(batch["time"], 0),
        np.array([row_of[name] for name in agents], dtype=np.int32),
        _numbers(batch["amount"], 0.0).astype(float),
        _numbers(batch["refers"], NOBODY).astype(np.int64),
    )


def _numbers(column: pa.Array, missing: float) -> np.ndarray:
    return np.asarray(column.fill_null(missing).to_numpy(zero_copy_only=False))


def _details(batch: pa.RecordBatch, label: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """By their numbers, the details of rules, and those of other events that relate them to others."""
    for seq, kind, text in zip(*(batch[name].to_pylist() for name in ("seq", "kind", "details")), strict=True):
        if text and kind in DETAILED:
            try:
                details = load_details(text)
            except (TypeError, ValueError):
                raise ValueError(f"{label}: the details of event {seq:g} are damaged") from None
            yield int(seq), details if kind == "rules" else {name: details.get(name) for name in RELATING}


def _in_effect(events: LedgerEvents, told: Mapping[int, dict[str, Any]]) -> LedgerEvents:
    """The events that are not void, with the amounts that count."""
    decisions = list(_related(events.only(events.are(*DECISIONS)), told))
    versions = Counter(map(slot, decisions))
    again = np.array([each.seq for each in decisions if versions[slot(each)] > 1], dtype=np.int64)
    changing = events.are("void", "correction")
    about = np.concatenate([again, events.seq[changing], events.refers[changing]])
    about = about[about != NOBODY]
    amount = np.where(events.are("correction"), 0.0, events.amount)
    keep = ~events.are("void")
    if len(about):
        concerned = np.isin(events.seq, about) | (events.are(*RESTING) & np.isin(events.refers, about))
        for (seq, _), (until, instead) in revisions(_related(events.only(concerned), told)).items():
            if until is None:
                place = np.searchsorted(events.seq, seq)
                keep[place] &= instead is not None
                amount[place] = instead or 0.0
    return events._replace(amount=amount).only(keep)


def _related(events: LedgerEvents, told: Mapping[int, dict[str, Any]]) -> Iterator[Related]:
    """The links of events to one another, without those that no ledger records, such as a circle."""
    kinds = dict(zip(events.seq.tolist(), events.kind.tolist(), strict=True))
    columns = (events.seq, events.kind, events.time, events.refers, events.amount)
    for seq, code, time, refers, amount in zip(*(column.tolist() for column in columns), strict=True):
        kind, target = (KINDS[each] if each != NOBODY else "" for each in (code, kinds.get(refers, NOBODY)))
        rests_well = target in DECISIONS if kind in RECEIVED else kind != target or kind == "void"
        yield related(seq, kind, time, refers if refers < seq and rests_well else None, amount, told.get(seq, {}))
