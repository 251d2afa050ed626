"""`bygones ledger plan`, `planned`, `replan`, `unplan` and `swap`: who gets what on dates ahead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._files import check_output, replacing
from bygones.cli.allocation_commands import AmountToDivide, Capacity, NumberOfPlaces, Whole, WhyNot
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import answering, print_paths, say
from bygones.cli.ledger_arguments import (
    At,
    Length,
    Recorded,
    Recording,
    Target,
    open_ledger,
    print_answer,
    print_recorded,
)
from bygones.cli.pictures import save_beside

if TYPE_CHECKING:
    from bygones.ledger.model.span import Span

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
    length: Length = (),
    amount: AmountToDivide = None,
    whole: Whole = False,
    capacity: Capacity = None,
    why_not: WhyNot = None,
    date: Annotated[str | None, optional("With --why-not, only this date (default: every date).", "DATE")] = None,
    publish: Annotated[bool, arg(help="Record the plan; otherwise it is only shown.")] = False,
    out: Annotated[Path, arg(help="The folder for the figure.")] = Path("out"),
    recording: Recorded = Recording(),
) -> None:
    """Decide who has a turn on each of the coming dates, and show the standing before and after.

    Each date is decided from the holds, joins, rules and standing expected on it. A turn counts as received, or worked,
    from its date on. A figure is saved as well.

    For example:
        bygones ledger plan ward.db december.csv
        bygones ledger plan ward.db people.csv --from 2026-12-01 --until 2027-01-01 --length 20:00-06:00 --publish
        bygones ledger plan ward.db december.csv --why-not Ana --date 2026-12-24
    """
    from bygones.ledger.model.span import read_lengths
    from bygones.ledger.plans.date_needs import dates_from, read_dates
    from bygones.ledger.storage.keys import check_unused
    from bygones.report.figures.plan_figures import plan_figure

    if (from_ is None) != (until is None):
        raise ValueError("from and until must be given together: the first date, and the first that is not included")
    if date is not None and why_not is None:
        raise ValueError("date is for a question: add --why-not with the name of an agent")
    with recording.open(target) if publish else open_ledger(target, recording.author) as ledger:
        zone = ledger.zone()
        dates = [] if from_ is None or until is None else dates_from(from_, until, every, zone)
        lengths = read_lengths(length)
        needs = read_dates(table, zone, dates, k=k, capacity=capacity, amount=amount, whole=whole, lengths=lengths)
        if publish:
            answer = ledger.plans.publish(needs, **recording.details)
        else:
            check_unused(recording.key)
            answer = ledger.plans.draft(needs)
    with answering(publish):
        reasons = [] if why_not is None else answer.why_not(why_not, date)
    data = {"recorded": publish, **answer.to_dict(), **({"why_not": reasons} if reasons else {})}
    print_answer(answer.document().and_also(reasons), data, recording.json, recorded=publish)
    with answering(publish):
        if not recording.json:
            say("Published." if publish else "Nothing was recorded: bygones ledger plan --publish records a plan.")
        paths = save_beside(lambda: plan_figure(answer), out, "plan")
        print_paths([] if recording.json else paths)


def planned(
    target: Target,
    from_: From = None,
    until: Until = None,
    agent: Annotated[str | None, optional("Only the turns of this agent.", "AGENT")] = None,
    out: Annotated[Path | None, optional("Write the turns to this file: .csv, or .ics for calendars.", "FILE")] = None,
    output: Printed = Output(),
) -> None:
    """Show the plan, or write it as CSV or as a calendar.

    Calendars replace a turn that has changed, and delete one that was taken back or went to another agent.

    For example:
        bygones ledger planned ward.db
        bygones ledger planned ward.db --agent Ana --out ana.ics
    """
    from bygones.ledger.exchange import plan_csv, plan_ics
    from bygones.ledger.plans.planned_dates import turns_document
    from bygones.ledger.storage.rows import unknown_agent

    with open_ledger(target) as ledger:
        turns, zone, name = ledger.plans.turns(from_, until), ledger.zone(), Path(ledger.name).stem
        is_calendar = out is not None and out.suffix == ".ics"
        entries = ledger.plans.calendar(from_, until, agent=agent) if is_calendar else []
        known = ledger.standing().names if agent is not None else ()
    if agent is not None and agent not in {*known, *(turn.agent for turn in turns)}:
        raise unknown_agent(agent, known)
    turns = [turn for turn in turns if agent in (None, turn.agent)]
    if out is not None:
        title = name if agent is None else f"{name}: {agent}"
        kinds = {".csv": lambda: plan_csv(turns, zone).encode(), ".ics": lambda: plan_ics(entries, zone, title)}
        if out.suffix not in kinds:
            raise ValueError(f"out must end in .csv or .ics, got {out.name!r}")
        check_output(out, [target])
        with replacing(out, private=True) as file:
            file.write(kinds[out.suffix]())
        print_paths([out])
        return
    print_answer(turns_document(turns, zone), [turn.to_dict() for turn in turns], output.json)


def now(target: Target, at: At = None, output: Printed = Output()) -> None:
    """Show who is on and until when, and who is next.

    It knows turns that have a length, see --length of plan, decide and record.

    For example:
        bygones ledger now ward.db
        bygones ledger now ward.db --at 2026-12-24T21:00
    """
    with open_ledger(target) as ledger:
        answer = ledger.plans.on_duty(at)
    print_answer(answer.document(), answer.to_dict(), output.json)


def replan(
    target: Target,
    table: Annotated[
        Path | None,
        optional("CSV file as for plan, with the people available now and their needs now.", "FILE"),
    ] = None,
    from_: From = None,
    accept: Annotated[bool, arg(help="Record the result; otherwise it is only shown.")] = False,
    recording: Recorded = Recording(),
) -> None:
    """Decide planned dates again where someone can no longer take a turn; all other turns stay.

    For example:
        bygones ledger replan ward.db
        bygones ledger replan ward.db --from 2026-12-05 --accept
        bygones ledger replan ward.db --table people.csv --accept
    """
    from bygones.allocation.tables import read_rows
    from bygones.ledger.model.times import iso
    from bygones.ledger.plans.date_needs import has_dates, read_dates
    from bygones.ledger.plans.plan_changes import replanned_document

    with recording.open(target) as ledger:
        zone = ledger.zone()
        turns = ledger.plans.turns(from_)
        dates = list(dict.fromkeys(iso(turn.at) for turn in turns))
        lengths: dict[int, dict[str, Span]] = {}
        for turn in turns:
            if turn.span.hours:
                lengths.setdefault(turn.at, {})[turn.item or ""] = turn.span
        decided, in_force = ledger.plans.uncovered(), ledger.rules()
        needs, source = [], ""
        if table is not None:
            own_dates = has_dates(read_rows(table))
            dates_asked = [] if own_dates else dates
            needs = read_dates(table, zone, dates_asked, nobody=True, planned=lengths) if dates else []
            source = table.read_bytes().hex()
        changes = ledger.plans.redecide(from_, needs=needs, source=source, accept=accept, **recording.details)
    data = {
        "recorded": accept,
        "dates": [change.to_dict() for change in changes],
        "decided": [turn.to_dict() for turn in decided],
    }
    document = replanned_document(changes, in_force, zone, recorded=accept, is_planned=bool(dates), decided=decided)
    print_answer(document, data, recording.json, recorded=accept and bool(changes))


def unplan(target: Target, from_: From = None, until: Until = None, recording: Recorded = Recording()) -> None:
    """Take back planned dates.

    For example:
        bygones ledger unplan ward.db --from 2026-12-15
    """
    from bygones._text import counted
    from bygones.ledger.model.times import iso

    with recording.open(target) as ledger:
        instants = ledger.plans.void(from_, until, **recording.details)
    sentence = f"The plan for {counted(len(instants), 'date')} is void."
    print_recorded([iso(at) for at in instants], recording.json, sentence)


def swap(
    target: Target,
    first: Annotated[
        Positional[int], arg(metavar="FIRST", help="The number of the event of one turn, as `planned` shows it.")
    ],
    second: Annotated[Positional[int], arg(metavar="SECOND", help="The number of the event of the other turn.")],
    recording: Recorded = Recording(),
) -> None:
    """Swap two agents' turns, planned or past; each turn counts for the agent who takes it.

    For example:
        bygones ledger swap ward.db 31 37
    """
    from bygones.ledger.model.times import format_instant

    with recording.open(target) as ledger:
        turns, zone = ledger.plans.swap(first, second, **recording.details), ledger.zone()
    recording.print_events(
        turns,
        *(f"Event {turn.seq}: {turn.agent} takes the turn on {format_instant(turn.time, zone)}." for turn in turns),
    )
