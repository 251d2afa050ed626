"""`bygones ledger …`: each command reads its input, calls the ledger, and prints for people or for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional, arg

from bygones.cli.allocation_commands import AmountToDivide, Capacity, Needs, NumberOfPlaces
from bygones.cli.console import print_json, print_paths

if TYPE_CHECKING:
    from bygones.ledger import Event, Ledger

app = tyro.extras.SubcommandApp()
"""The commands; the main command line adds them under the name `ledger`."""


def _optional(help_text: str, metavar: str) -> object:
    return arg(help=help_text, help_behavior_hint="", metavar=metavar)


Target = Annotated[
    Positional[str], arg(metavar="LEDGER", help="A file such as team.db, or postgresql://user@host/name.")
]
Agent = Annotated[Positional[str], arg(metavar="AGENT", help="The agent's name.")]
At = Annotated[
    str | None,
    _optional(
        "The time, such as 2026-03-02 or 2026-03-02T22:00+01:00; in the ledger's time zone if it names none "
        "(default: now).",
        "TIME",
    ),
]
Note = Annotated[str, _optional("A remark to record.", "TEXT")]
Json = Annotated[bool, arg(help="Print JSON for programs.")]


@app.command
def new(
    target: Target,
    half_life: Annotated[str, arg(help="The time after which a utility counts half: 30d, 12h, never.")] = "30d",
    welfare: Annotated[str, arg(help="What decisions maximise, e.g. nash or 'alpha_fair(alpha=2)'.")] = "egalitarian",
    newcomers: Annotated[
        str,
        arg(
            help="What newcomers start with: zero, mean, median, entitled-share or a number. With zero they receive, "
            "or carry, nearly everything until they have caught up."
        ),
    ] = "mean",
    hold_stops_clock: Annotated[bool, arg(help="Whether the past of an agent on hold stops fading.")] = True,
    kind: Annotated[
        Literal["good", "burden"],
        arg(help="Whether the ledger is about goods, or about burdens such as night shifts. It cannot change later."),
    ] = "good",
    rule: Annotated[
        Literal["one-step", "prices"],
        arg(help="How to decide: one-step serves whoever is furthest behind; prices looks ahead, and learns."),
    ] = "one-step",
    reports: Annotated[
        Literal["as-reported", "normalised"],
        arg(help="Whether needs count as reported, or as multiples of what each agent usually reports."),
    ] = "as-reported",
    time_zone: Annotated[
        str, arg(help="The time zone in which days begin and times are read and shown, such as Europe/Berlin.")
    ] = "UTC",
    began: Annotated[str | None, _optional("The earliest time that can be recorded (default: now).", "TIME")] = None,
    json: Json = False,
) -> None:
    """Create a ledger.

    For example:
        bygones ledger new team.db --half-life 30d --began 2026-01-01
        bygones ledger new nights.db --kind burden --time-zone Europe/Berlin
        bygones ledger new gpus.db --rule prices
    """
    from bygones.ledger import Ledger, Rules

    rules = Rules(
        half_life, welfare, newcomers, hold_stops_clock, kind=kind, rule=rule, reports=reports, time_zone=time_zone
    )
    with Ledger.new(target, rules, began=began) as ledger:
        _print_recorded([ledger.event(1)], json, f"Created {ledger.name}.")


@app.command
def rules(
    target: Target,
    half_life: Annotated[str | None, _optional("The new half-life.", "DURATION")] = None,
    welfare: Annotated[str | None, _optional("What decisions maximise.", "WELFARE")] = None,
    rule: Annotated[Literal["one-step", "prices"] | None, _optional("How to decide.", "{one-step,prices}")] = None,
    reports: Annotated[
        Literal["as-reported", "normalised"] | None,
        _optional("How reported needs count.", "{as-reported,normalised}"),
    ] = None,
    newcomers: Annotated[str | None, _optional("What newcomers start with.", "RULE")] = None,
    hold_stops_clock: Annotated[
        Literal["yes", "no"] | None, _optional("Whether a hold stops the clock.", "{yes,no}")
    ] = None,
    time_zone: Annotated[str | None, _optional("The ledger's time zone, such as Europe/Berlin.", "ZONE")] = None,
    entitlement: Annotated[
        tuple[str, ...],
        _optional(
            "An agent's entitlement, such as dana=2; of burdens, the share of the load (0 is exempt).", "AGENT=NUMBER"
        ),
    ] = (),
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Show the rules, or change some of them from a given time on.

    For example:
        bygones ledger rules team.db
        bygones ledger rules team.db --half-life 60d --entitlement dana=2 --at 2026-06-01
    """
    from bygones.cli.ledger_tables import print_rules

    changes: dict[str, Any] = {"half_life": half_life, "welfare": welfare, "rule": rule, "newcomers": newcomers}
    changes["reports"], changes["time_zone"] = reports, time_zone
    changes["hold_stops_clock"] = None if hold_stops_clock is None else hold_stops_clock == "yes"
    changes["entitlements"] = dict(map(_parse_entitlement, entitlement)) or None
    changes = {name: value for name, value in changes.items() if value is not None}
    with _open(target) as ledger:
        if changes:
            _print_recorded([ledger.change_rules(at=at, note=note, **changes)], json, "Rules changed.")
            return
        settings = ledger.rules(at).to_dict()
    if json:
        print_json(settings)
    else:
        print_rules(settings)


@app.command
def join(
    target: Target,
    agents: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="AGENT…", help="The names of the agents; all start with the same.", help_behavior_hint=""),
    ],
    at: At = None,
    entitlement: Annotated[
        float | None,
        _optional("Entitlement relative to the others' (default: 1); 0 is exempt, for burdens only.", "NUMBER"),
    ] = None,
    start: Annotated[
        str | None, _optional("What to start with, instead of the ledger's newcomer rule.", "RULE")
    ] = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Let agents join.

    For example:
        bygones ledger join team.db ana ben cem
        bygones ledger join team.db dana --entitlement 0.5 --start mean
    """
    if not agents:
        raise ValueError("give the name of at least one agent who joins")
    with _open(target) as ledger:
        joined = ledger.join_all(agents, at=at, entitlement=entitlement, newcomers=start, note=note)
    _print_recorded(
        joined, json, *(f"{event.agent} joined, starting with {event.amount:.4g} remembered." for event in joined)
    )


@app.command
def leave(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Let an agent leave.

    For example:
        bygones ledger leave team.db ana --at 2026-03-02
    """
    with _open(target) as ledger:
        event, zone = ledger.leave(agent, at=at, note=note), ledger.zone()
    _print_recorded([event], json, f"{agent} left." if _has_come(event) else f"{agent} leaves{_from(event, zone)}.")


@app.command
def hold(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Put an agent on hold, for example during illness or parental leave.

    For example:
        bygones ledger hold team.db ana --note "parental leave"
    """
    with _open(target) as ledger:
        event, zone = ledger.hold(agent, at=at, note=note), ledger.zone()
    _print_recorded([event], json, f"{agent} is on hold{_from(event, zone)}.")


@app.command
def resume(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Let an agent on hold take part again.

    For example:
        bygones ledger resume team.db ana
    """
    with _open(target) as ledger:
        event, zone = ledger.resume(agent, at=at, note=note), ledger.zone()
    _print_recorded([event], json, f"{agent} takes part again{_from(event, zone)}.")


@app.command
def record(
    target: Target,
    agent: Agent,
    amount: Annotated[Positional[float], arg(metavar="AMOUNT", help="The utility received.")],
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Record what an agent received or, in a ledger of burdens, carried.

    For example:
        bygones ledger record team.db ana 8 --at 2026-03-02T22:00+01:00
    """
    from bygones.kinds import words

    with _open(target) as ledger:
        event = ledger.record(agent, amount, at=at, note=note)
        received = words(ledger.rules(at).kind).received
    _print_recorded([event], json, f"Event {event.seq}: {agent} {received} {amount:.6g}.")


@app.command
def offset(
    target: Target,
    agent: Agent,
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="The amount to add; a negative amount is taken off.")
    ],
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Change what is remembered of an agent without changing what was received.

    For example:
        bygones ledger offset team.db ana 5 --note "worked elsewhere"
    """
    with _open(target) as ledger:
        event = ledger.offset(agent, amount, at=at, note=note)
    _print_recorded([event], json, f"Event {event.seq}: remembered utility of {agent} changed by {amount:+.6g}.")


@app.command(name="import")
def import_(
    target: Target,
    history: Annotated[Positional[Path], arg(metavar="HISTORY", help="CSV file with a header.")],
    agent: Annotated[str, arg(help="Column with the agent's name.")] = "agent",
    time: Annotated[str, arg(help="Column with the time.")] = "time",
    amount: Annotated[str, arg(help="Column with the amount received.")] = "amount",
    join: Annotated[bool, arg(help="Let unknown agents join with their first row, starting with zero.")] = False,
    json: Json = False,
) -> None:
    """Record a history from a CSV file. If a row is wrong, nothing is recorded.

    For example:
        bygones ledger import team.db history.csv
    """
    from bygones.ledger.csv_files import read_history

    entries = read_history(history, agent, time, amount)
    with _open(target) as ledger:
        events = ledger.record_all(entries, join=join)
    if json:
        print_json({"recorded": len(events), "first": events[0].seq, "last": events[-1].seq})
    else:
        print(f"Recorded {len(events)} events, {events[0].seq} to {events[-1].seq}.")


@app.command
def standing(
    target: Target,
    at: At = None,
    ahead: Annotated[
        str, arg(help="Also show what will be remembered and owed after this time, if nothing more is recorded.")
    ] = "7d",
    since: Annotated[bool, arg(help="Show since when agents have been owed, which reads all events.")] = True,
    as_recorded: Annotated[
        str | None, _optional("Count only what had been recorded by this time, as if it had been asked then.", "TIME")
    ] = None,
    before: Annotated[
        int | None,
        _optional(
            "Count only what had been recorded before this event: where everybody stood for a decision.", "EVENT"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show where everybody stands: received, remembered and owed (carried and due), now and in a week.

    For example:
        bygones ledger standing team.db
        bygones ledger standing team.db --before 12
    """
    from bygones.cli.ledger_tables import print_standing, standing_data
    from bygones.ledger.times import as_datetime, later_by

    with _open(target) as ledger:
        now = ledger.standing(at, as_recorded=as_recorded, before=before)
        moment = as_datetime(now.at)
        later = ledger.outlook(later_by(moment, ahead, "ahead"), moment, as_recorded=as_recorded, before=before)
        as_now = as_recorded is None and before is None
        beginnings = ledger.owed_since(moment) if since and as_now else None
    if json:
        print_json(standing_data(now, later, beginnings))
    else:
        print_standing(now, later, ahead, beginnings)


@app.command
def decide(
    target: Target,
    needs: Needs,
    k: NumberOfPlaces = None,
    amount: AmountToDivide = None,
    capacity: Capacity = None,
    at: At = None,
    yes: Annotated[bool, arg(help="Record without asking.")] = False,
    note: Note = "",
    json: Json = False,
) -> None:
    """Decide who gets what now, with the reasons, and record the decision if you confirm.

    With --json there is no question: the decision is recorded only with --yes. A table with a column date is a plan,
    see bygones ledger plan, and is published with --yes.

    For example:
        bygones ledger decide team.db needs.csv --k 2
    """
    from bygones.allocation.tables import read_needs
    from bygones.cli.ledger_tables import agreed, print_decision
    from bygones.ledger import StaleProposalError
    from bygones.ledger.plan_tables import has_dates

    if has_dates(needs):
        from bygones.cli.plan_commands import plan

        if at is not None:
            raise ValueError(f"at cannot be used with {needs}, which has a column 'date'")
        plan(target, needs, k=k, amount=amount, capacity=capacity, publish=yes, note=note, json=json)
        return
    request = read_needs(needs, k=k, amount=amount, capacity=capacity)
    with _open(target) as ledger:
        if yes:
            proposal = ledger.decide(request, at=at, note=note)
            print_decision(proposal, json, recorded=True)
            return
        while True:
            proposal = ledger.propose(request, at=at)
            print_decision(proposal, json, recorded=False)
            if json:
                return
            if not agreed():
                print("Nothing was recorded.")
                return
            try:
                ledger.accept(proposal, note)
            except StaleProposalError as stale:
                print(f"{stale}. The new proposal:")
                continue
            print("Recorded.")
            return


@app.command
def correct(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event that was wrong.")],
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="What the amount should have been; 0 if it never happened.")
    ],
    note: Note = "",
    json: Json = False,
) -> None:
    """Correct the amount of an event by a further event; the event itself stays.

    For example:
        bygones ledger correct team.db 12 6
    """
    with _open(target) as ledger:
        entry = ledger.correct(event, amount, note=note)
    _print_recorded([entry], json, f"Event {entry.seq} corrects event {event} by {entry.amount:+.6g}.")


@app.command
def explain(
    target: Target,
    what: Annotated[Positional[str], arg(metavar="WHAT", help="An agent's name, or the number of an event.")],
    at: At = None,
    json: Json = False,
) -> None:
    """Show what an agent's remembered utility consists of, or why a decision was made.

    For example:
        bygones ledger explain team.db ana
        bygones ledger explain team.db 12
    """
    from bygones.cli.ledger_tables import print_contributions, print_event
    from bygones.ledger.events import DECISIONS, RECEIVED

    with _open(target) as ledger:
        if what.isdecimal() and what not in ledger.standing(at).names:
            event = ledger.event(int(what))
            cause = ledger.event(event.refers) if event.kind in RECEIVED and event.refers else event
            since = ledger.void_since(event.seq)
            print_event(event, cause if cause.kind in DECISIONS else None, json, ledger.zone(), since)
            return
        print_contributions(what, ledger.contributions(what, at), json, ledger.rules(at).kind, ledger.zone())


@app.command
def verify(
    target: Target,
    head: Annotated[
        str | None, _optional("A head noted earlier, to check that no event up to it has changed.", "HASH")
    ] = None,
    json: Json = False,
) -> None:
    """Check the chain of hashes and replay all events. The exit code is 1 if anything is wrong.

    For example:
        bygones ledger verify team.db
    """
    with _open(target) as ledger:
        found = ledger.verify(head)
    if json:
        print_json(found._asdict() | {"ok": found.ok})
    elif found.ok:
        print(f"Verified {found.events} events of {found.agents} agents. Head: {found.head}")
    else:
        for problem in found.problems:
            print(problem)
    if not found.ok:
        raise SystemExit(1)


@app.command
def export(
    target: Target,
    out: Annotated[Path | None, _optional("The file to write (default: the terminal).", "FILE")] = None,
    kind: Annotated[str | None, _optional("Only events of this kind, such as received.", "KIND")] = None,
    json: Json = False,
) -> None:
    """Write all events as CSV or JSON; of one kind, those that are not void.

    In CSV, text that looks like a formula starts with an apostrophe.

    For example:
        bygones ledger export team.db --out events.csv
    """
    import json as json_module

    from bygones.ledger.csv_files import event_dict, of_kind, write_events

    with _open(target) as ledger:
        events = of_kind(ledger.events(in_effect=kind is not None), kind)
        with _output(out) as file:
            if json:
                json_module.dump([event_dict(*pair) for pair in events], file, ensure_ascii=False, indent=2)
                file.write("\n")
            else:
                write_events(file, events)
    if out is not None:
        print_paths([out])


@app.command
def newcomers(
    target: Target,
    agent: Annotated[str, arg(help="The name of the newcomer.")],
    decisions: Annotated[int, arg(help="How many decisions to look ahead.")] = 30,
    every: Annotated[str, arg(help="The time between two decisions.")] = "1d",
    places: Annotated[int, arg(help="The number of places each time.")] = 1,
    worth: Annotated[float, arg(help="What a place is worth.")] = 1.0,
    entitlement: Annotated[float, arg(help="The newcomer's entitlement, relative to the others'.")] = 1.0,
    number: Annotated[
        float | None, _optional("Also show what happens when starting with this number.", "NUMBER")
    ] = None,
    at: At = None,
    out: Annotated[Path, arg(help="The folder for the figure.")] = Path("out"),
    json: Json = False,
) -> None:
    """Compare the newcomer rules for an agent over the next decisions, in a table and a figure.

    In a ledger of burdens, somebody who starts with zero carries more than their share until they have caught up.

    For example:
        bygones ledger newcomers team.db --agent elif --decisions 20 --every 1d
    """
    from bygones.cli.ledger_tables import print_forecasts
    from bygones.ledger.newcomers import foresee_all
    from bygones.report.figures.newcomer_figures import newcomers_figure
    from bygones.report.style import save

    with _open(target) as ledger:
        stood, seed = ledger.standing(at), int(ledger.head(), 16)
    outcomes = foresee_all(
        stood, agent=agent, number=number, decisions=decisions, every=every, places=places,
        worth=worth, entitlement=entitlement, seed=seed,
    )  # fmt: skip
    share = entitlement / (entitlement + stood.entitlements[stood.present].sum())
    paths = save(newcomers_figure(agent, outcomes, share, places * worth, every, stood.rules.kind), out, "newcomers")
    if json:
        print_json([outcome.to_dict() for outcome in outcomes])
        return
    print_forecasts(agent, outcomes, share * places * worth * decisions, stood.rules.kind)
    print_paths(paths)


def _open(target: str) -> Ledger:
    """The ledger at a path or URL."""
    from bygones.ledger import Ledger

    return Ledger.open(target)


def _print_recorded(events: Iterable[Event], json: bool, *sentences: str) -> None:
    """Prints what was recorded: the events for programs, sentences for people."""
    from bygones.ledger.csv_files import event_dict

    if json:
        print_json([event_dict(event) for event in events])
    else:
        print("\n".join(sentences))


def _has_come(event: Event) -> bool:
    return event.time <= event.recorded


def _from(event: Event, zone: str) -> str:
    """From when on an event counts, if it lies ahead."""
    from bygones.ledger.times import named

    return "" if _has_come(event) else f" from {named(event.time, zone)} on"


def _parse_entitlement(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise ValueError(f"entitlement must be AGENT=NUMBER, got {text!r}") from None


def _output(out: Path | None) -> Any:
    return nullcontext(sys.stdout) if out is None else out.open("w", newline="", encoding="utf-8")
