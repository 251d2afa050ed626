"""`bygones ledger import` and `undo-import`: a table into a ledger, looked at before and taken back after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones._text import counted
from bygones._times import Order
from bygones.cli.arguments import optional
from bygones.cli.ledger_arguments import (
    Keyed,
    Recorded,
    RecordedOnce,
    Recording,
    Target,
    open_ledger,
    print_answer,
    print_recorded,
)


def import_(
    target: Target,
    history: Annotated[Positional[Path], arg(metavar="HISTORY", help="CSV file with a header.")],
    agent: Annotated[str, arg(help="Column with the agent's name.")] = "agent",
    time: Annotated[str, arg(help="Column with the time.")] = "time",
    amount: Annotated[
        str | None, optional("Column with the amount received (default: amount, or utility).", "STR")
    ] = None,
    time_format: Annotated[
        Order | None,
        optional("How dates with slashes are written, such as 12/25/2026.", "{month-first,day-first}"),
    ] = None,
    join: Annotated[bool, arg(help="Let unknown agents join with their first row, starting with zero.")] = False,
    dry_run: Annotated[bool, arg(help="Only show what would be recorded, and what looks like a mistake.")] = False,
    again: Annotated[
        bool, arg(help="Record rows even if the ledger has the same agent, time and amount already.")
    ] = False,
    distinct: Annotated[bool, arg(help="Treat names that are nearly the same as different agents.")] = False,
    recording: RecordedOnce = Keyed(),
) -> None:
    """Record a history from a CSV file. If a row is wrong, nothing is recorded.

    If the file has a column key, each row counts once, however often it is imported.

    For example:
        bygones ledger import team.db history.csv --dry-run
        bygones ledger import team.db history.csv
    """
    from bygones.ledger.exchange import ignored_columns, read_entries

    entries = read_entries(history, agent, time, amount, time_format)
    with open_ledger(target, recording.author) as ledger:
        is_repeated = recording.key is not None and bool(ledger.with_key(recording.key))
        ignored = ignored_columns(history, *filter(None, (agent, time, amount)))
        preview = replace(ledger.preview(entries, join=join or is_repeated), ignored=tuple(ignored))
        if dry_run:
            if not is_repeated:
                ledger.record_all(entries, join=join, distinct=True, keep=False)  # refused as the import would be
            print_answer(preview.document(), preview.to_dict(), recording.json)
            return
        before = ledger.n_events()
        events = ledger.record_all(
            entries, join=join, distinct=distinct, again=again, source=history.name, **recording.details
        )
        new = [event for event in events if event.seq > before]
        put_back = 0 if new else ledger.n_events() - before
    first, last = (new or events)[0].seq, (new or events)[-1].seq
    if put_back:
        sentences = [
            f"{counted(put_back, 'row')} that had been taken back {'counts' if put_back == 1 else 'count'} again."
        ]
    elif not new:
        rows = "its one row was" if len(events) == 1 else f"all {len(events)} rows were"
        sentences = [f"Nothing new: {rows} recorded before with the same {'key' if len(events) == 1 else 'keys'}."]
    else:
        numbers, them = (
            (f"event {first}", "it") if len(new) == 1 else (f"{len(new):,} events, {first} to {last}", "them")
        )
        undo = f"To take {them} back: bygones ledger undo-import {target} {first}"
        sentences = [f"Recorded {numbers}.", *preview.notes(), undo]
    data = {"recorded": len(new), "put_back": put_back, "first": first, "last": last}
    print_recorded(data, recording.json, *sentences)


def undo_import(
    target: Target,
    number: Annotated[
        Positional[int], arg(metavar="IMPORT", help="The number of any event of the import, as the import printed it.")
    ],
    recording: Recorded = Recording(),
) -> None:
    """Take back everything that an import recorded. The events stay, and each is corrected to 0.

    For example:
        bygones ledger undo-import team.db 5
    """
    with recording.open(target) as ledger:
        events = ledger.undo_import(number, **recording.details)
    corrected = counted(len(events), "event")
    recording.print_events(
        events, f"Took back {corrected} of import {number}. Agents who joined with it are still there."
    )
