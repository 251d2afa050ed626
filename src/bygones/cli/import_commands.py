"""`bygones ledger import` and `undo-import`: a table into a ledger, looked at before and taken back after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._text import counted
from bygones.cli.arguments import optional
from bygones.cli.console import answering, print_json, print_table, say
from bygones.cli.ledger_arguments import Author, Json, Key, Note, Target, open_ledger

if TYPE_CHECKING:
    from bygones.ledger import Preview
    from bygones.ledger.actions.imports import Share


def import_(
    target: Target,
    history: Annotated[Positional[Path], arg(metavar="HISTORY", help="CSV file with a header.")],
    agent: Annotated[str, arg(help="Column with the agent's name.")] = "agent",
    time: Annotated[str, arg(help="Column with the time.")] = "time",
    amount: Annotated[
        str | None, optional("Column with the amount received (default: amount, or utility).", "STR")
    ] = None,
    join: Annotated[bool, arg(help="Let unknown agents join with their first row, starting with zero.")] = False,
    dry_run: Annotated[bool, arg(help="Only show what would be recorded, and what looks like a mistake.")] = False,
    again: Annotated[
        bool, arg(help="Record rows even if the ledger has the same agent, time and amount already.")
    ] = False,
    distinct: Annotated[bool, arg(help="Treat names that are nearly the same as different agents.")] = False,
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Record a history from a CSV file. If a row is wrong, nothing is recorded.

    If the file has a column key, each row counts once, however often it is imported.

    For example:
        bygones ledger import team.db history.csv --dry-run
        bygones ledger import team.db history.csv
    """
    from bygones.ledger.exchange import read_entries

    entries = read_entries(history, agent, time, amount)
    with open_ledger(target, author) as ledger:
        used = key is not None and bool(ledger.with_key(key))
        found = ledger.preview(entries, join=join or used)
        if dry_run:
            if not used:
                ledger.record_all(entries, join=join, distinct=True, keep=False)  # refused as the import would be
            _print_preview(found, ledger.zone(), json)
            return
        before = ledger.n_events()
        events = ledger.record_all(entries, join=join, distinct=distinct, again=again, key=key, source=history.name)
        new = [event for event in events if event.seq > before]
        put_back = 0 if new else ledger.n_events() - before
    with answering():
        if json:
            first, last = (new or events)[0].seq, (new or events)[-1].seq
            print_json({"recorded": len(new), "put_back": put_back, "first": first, "last": last})
        elif put_back:
            say(f"{counted(put_back, 'row')} that had been taken back {'counts' if put_back == 1 else 'count'} again.")
        elif not new:
            rows = "its one row was" if len(events) == 1 else f"all {len(events)} rows were"
            say(f"Nothing new: {rows} recorded before with the same {'key' if len(events) == 1 else 'keys'}.")
        else:
            numbers = f"event {new[0].seq}" if len(new) == 1 else f"{len(new):,} events, {new[0].seq} to {new[-1].seq}"
            say(f"Recorded {numbers}.")
            if found.repeated:
                say(found.repetition())
            them = "it" if len(new) == 1 else "them"
            say(f"To take {them} back: bygones ledger undo-import {target} {new[0].seq}")


def undo_import(
    target: Target,
    number: Annotated[
        Positional[int], arg(metavar="IMPORT", help="The number of any event of the import, as the import printed it.")
    ],
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Take back everything that an import recorded. The events stay, and each is corrected to 0.

    For example:
        bygones ledger undo-import team.db 5
    """
    with open_ledger(target, author, key) as ledger:
        events = ledger.undo_import(number, note=note, key=key)
    with answering():
        if json:
            print_json([event.to_dict() for event in events])
        else:
            taken = counted(len(events), "event")
            say(f"Took back {taken} of import {number}. Agents who joined with it are still there.")


def _print_preview(found: Preview, zone: str, json: bool) -> None:
    """Prints what an import would record."""
    from bygones.ledger.model.times import day

    if json:
        print_json(found.to_dict())
        return
    rows = [
        [share.agent, share.rows, day(share.first, zone), day(share.last, zone), share.total, _new(share)]
        for share in found.shares
    ]
    columns = ["agent", "rows", "first", "last", "sum", ""]
    of = f"{counted(found.rows, 'row')} of {counted(len(found.shares), 'agent')}"
    print_table(f"Would record {of}", columns, rows)
    if found.repeated:
        say(found.repetition())
    for warning in found.warnings():
        say(f"{warning[0].upper()}{warning[1:]}.")
    say("Nothing was recorded.")


def _new(share: Share) -> str:
    return "" if share.known else "new"
