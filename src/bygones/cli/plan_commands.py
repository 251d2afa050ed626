"""`bygones ledger plan`, `planned`, `replan`, `unplan` and `swap`: who gets what on dates ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones._files import check_output, replacing
from bygones.cli.allocation_commands import AmountToDivide, Capacity, NumberOfPlaces, Whole
from bygones.cli.arguments import optional
from bygones.cli.console import answering, print_json, print_paths, say
from bygones.cli.ledger_arguments import Author, Json, Key, Note, Target, open_ledger, print_recorded
from bygones.cli.pictures import save_beside

From = Annotated[
    str | None, arg(name="from", help="The first date (default: now).", help_behavior_hint="", metavar="DATE")
]
Until = Annotated[str | None, optional("The first date that is not included (default: no end).", "DATE")]


def plan(
    target: Target,
    table: Annotated[
        Positional[Path],
        arg(
            metavar="TABLE",
            help="CSV file as for decide, with a column date; or a table of people, with --from and --until. A "
            "column available may have yes, no, days such as mon-fri, or dates such as not 2026-12-24..2026-12-26; "
            "separate several with semicolons.",
        ),
    ],
    from_: Annotated[
        str | None, arg(name="from", help="The first date.", help_behavior_hint="", metavar="DATE")
    ] = None,
    until: Annotated[str | None, optional("The first date that is not included.", "DATE")] = None,
    every: Annotated[str, arg(help="The time from one date to the next, in whole days.")] = "1d",
    k: NumberOfPlaces = None,
    amount: AmountToDivide = None,
    whole: Whole = False,
    capacity: Capacity = None,
    publish: Annotated[bool, arg(help="Record the plan; otherwise it is only shown.")] = False,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    out: Annotated[Path, arg(help="The folder for the figure.")] = Path("out"),
    json: Json = False,
) -> None:
    """Decide who has a turn on each date ahead, and show everybody's standing before and after in a table and a figure.

    Holds, joins and rules count as they will be on each date. A turn counts as received from its date on.

    For example:
        bygones ledger plan ward.db december.csv
        bygones ledger plan ward.db people.csv --from 2026-12-01 --until 2027-01-01 --publish
    """
    from bygones.cli.plan_printing import print_plan
    from bygones.ledger.plans.date_needs import dates_from, read_dates
    from bygones.ledger.storage.keys import check_unused
    from bygones.report.figures.plan_figures import plan_figure

    if (from_ is None) != (until is None):
        raise ValueError("from and until must be given together: the first date, and the first that is not included")
    with open_ledger(target, author, key if publish else None) as ledger:
        zone = ledger.zone()
        dates = [] if from_ is None or until is None else dates_from(from_, until, every, zone)
        needs = read_dates(table, zone, dates, k=k, capacity=capacity, amount=amount, whole=whole)
        if publish:
            made = ledger.plans.publish(needs, note=note, key=key)
        else:
            check_unused(key)
            made = ledger.plans.draft(needs)
    with answering(publish):
        if json:
            print_json({"recorded": publish, **made.to_dict()})
        else:
            print_plan(made, recorded=publish)
    with answering(publish):
        paths = save_beside(lambda: plan_figure(made), out, "plan")
        print_paths([] if json else paths)


def planned(
    target: Target,
    from_: From = None,
    until: Until = None,
    agent: Annotated[str | None, optional("Only the turns of this agent.", "AGENT")] = None,
    out: Annotated[Path | None, optional("Write the turns to this file: .csv, or .ics for calendars.", "FILE")] = None,
    json: Json = False,
) -> None:
    """Show what is planned, or write it as CSV or as a calendar.

    For example:
        bygones ledger planned ward.db
        bygones ledger planned ward.db --agent Ana --out ana.ics
    """
    from bygones.cli.plan_printing import print_turns
    from bygones.ledger.exchange import plan_csv, plan_ics
    from bygones.ledger.storage.rows import unknown_agent

    with open_ledger(target) as ledger:
        turns, zone, name = ledger.plans.turns(from_, until), ledger.zone(), Path(ledger.name).stem
        known = ledger.standing().names if agent is not None else ()
    if agent is not None and agent not in known:
        raise unknown_agent(agent, known)
    turns = [turn for turn in turns if agent in (None, turn.agent)]
    if out is not None:
        kinds = {".csv": lambda: plan_csv(turns, zone).encode(), ".ics": lambda: plan_ics(turns, zone, name)}
        if out.suffix not in kinds:
            raise ValueError(f"out must end in .csv or .ics, got {out.name!r}")
        check_output(out, [target])
        with replacing(out, private=True) as file:
            file.write(kinds[out.suffix]())
        print_paths([out])
    elif json:
        print_json([turn.to_dict() for turn in turns])
    else:
        print_turns(turns, zone)


def replan(
    target: Target,
    table: Annotated[
        Path | None,
        optional(
            "CSV file as for plan: who is available now, and what they need, instead of what was planned.", "FILE"
        ),
    ] = None,
    from_: From = None,
    accept: Annotated[bool, arg(help="Record the result; otherwise it is only shown.")] = False,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Decide planned dates again where somebody can no longer take a turn; all other turns stay.

    For example:
        bygones ledger replan ward.db
        bygones ledger replan ward.db --from 2026-12-05 --accept
        bygones ledger replan ward.db --table people.csv --accept
    """
    from bygones.allocation.tables import read_rows
    from bygones.cli.plan_printing import print_replanned
    from bygones.ledger.model.times import iso
    from bygones.ledger.plans.date_needs import has_dates, read_dates

    with open_ledger(target, author, key) as ledger:
        zone = ledger.zone()
        dates = list(dict.fromkeys(iso(turn.at) for turn in ledger.plans.turns(from_)))
        known = (
            [] if table is None or not dates else read_dates(table, zone, [] if has_dates(read_rows(table)) else dates)
        )
        source = "" if table is None else table.read_bytes().hex()
        found = ledger.plans.redecide(from_, needs=known, source=source, accept=accept, note=note, key=key)
    with answering(accept and bool(found)):
        if json:
            print_json({"recorded": accept, "dates": [each.to_dict() for each in found]})
        else:
            print_replanned(found, zone, recorded=accept)


def unplan(
    target: Target,
    from_: From = None,
    until: Until = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Take back what is planned.

    For example:
        bygones ledger unplan ward.db --from 2026-12-15
    """
    from bygones._text import counted
    from bygones.ledger.model.times import iso

    with open_ledger(target, author, key) as ledger:
        found = ledger.plans.void(from_, until, note=note, key=key)
    with answering():
        if json:
            print_json([iso(at) for at in found])
        else:
            say(f"The plan for {counted(len(found), 'date')} is void.")


def swap(
    target: Target,
    first: Annotated[
        Positional[int], arg(metavar="FIRST", help="The number of the event of one turn, as `planned` shows it.")
    ],
    second: Annotated[Positional[int], arg(metavar="SECOND", help="The number of the event of the other turn.")],
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Swap two agents' turns, planned or past; each turn counts for whoever takes it.

    For example:
        bygones ledger swap ward.db 31 37
    """
    from bygones.ledger.model.times import named

    with open_ledger(target, author, key) as ledger:
        found, zone = ledger.plans.swap(first, second, note=note, key=key), ledger.zone()
    print_recorded(
        found, json, *(f"Event {event.seq}: {event.agent} serves on {named(event.time, zone)}." for event in found)
    )
