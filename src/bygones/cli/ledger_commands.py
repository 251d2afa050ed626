"""`bygones ledger …`: each command reads its input, calls the ledger, and prints for people or for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import tyro
from tyro.conf import Positional, UseAppendAction, arg

from bygones._files import check_output, replacing_text
from bygones._text import check_text, listed
from bygones.cli.allocation_commands import (
    AmountToDivide,
    Capacity,
    Needs,
    NumberOfPlaces,
    ThingName,
    Unit,
    Whole,
    WhyNot,
)
from bygones.cli.arguments import optional
from bygones.cli.console import answering, json_text, print_json, print_paths, say
from bygones.cli.ledger_arguments import (
    At,
    Author,
    Json,
    Key,
    Note,
    Target,
    from_when,
    open_ledger,
    print_recorded,
)
from bygones.cli.pictures import save_beside

if TYPE_CHECKING:
    from bygones.cli.explaining import Explained
    from bygones.ledger import Ledger

app = tyro.extras.SubcommandApp()
"""The commands; the main command line adds them under the name `ledger`."""


@app.command
def new(
    target: Target,
    half_life: Annotated[
        str | None,
        optional("The time after which a utility counts half: 30d, 12h, never (default: 30d).", "DURATION"),
    ] = None,
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
    memory: Annotated[
        str,
        arg(
            help="How the past is remembered: discounted fades by the half-life, 'sliding_window(length=28d)' counts "
            "the last 28 days in full, 'reset(every=month)' starts over each month."
        ),
    ] = "discounted",
    cap: Annotated[
        str | None, optional("The most that is remembered of anybody (default: no limit).", "NUMBER")
    ] = None,
    thing: ThingName = None,
    unit: Unit = None,
    began: Annotated[str | None, optional("The earliest time that can be recorded (default: now).", "TIME")] = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Create a ledger.

    For example:
        bygones ledger new team.db --half-life 30d --began 2026-01-01
        bygones ledger new nights.db --kind burden --time-zone Europe/Berlin
        bygones ledger new gpus.db --rule prices
        bygones ledger new quota.db --memory 'reset(every=month)'
    """
    from bygones.ledger import Ledger, Rules

    if half_life is not None and not memory.strip().startswith("discounted"):
        raise ValueError(f"half_life has no effect with {memory}: leave out one of the two")
    rules = Rules(
        half_life or "30d", welfare, newcomers, hold_stops_clock, kind=kind, rule=rule, reports=reports,
        time_zone=time_zone, memory=memory, cap=_parse_cap(cap), thing=thing or "", unit=unit or "",
    )  # fmt: skip
    with Ledger.new(target, rules, began=began, author=author) as ledger:
        print_recorded([ledger.event(1)], json, f"Created {ledger.name}.")


@app.command
def rules(
    target: Target,
    half_life: Annotated[str | None, optional("The new half-life.", "DURATION")] = None,
    half_life_of: Annotated[
        tuple[tuple[str, ...], ...],
        UseAppendAction,
        optional(
            "A half-life for one agent that differs from the others', such as dana=14d, or none.", "AGENT=DURATION"
        ),
    ] = (),
    memory: Annotated[
        str | None,
        optional(
            "How the past is remembered: discounted, 'sliding_window(length=28d)', 'reset(every=month)'.", "MEMORY"
        ),
    ] = None,
    cap: Annotated[str | None, optional("The most that is remembered of anybody, or none.", "NUMBER")] = None,
    welfare: Annotated[str | None, optional("What decisions maximise.", "WELFARE")] = None,
    rule: Annotated[Literal["one-step", "prices"] | None, optional("How to decide.", "{one-step,prices}")] = None,
    reports: Annotated[
        Literal["as-reported", "normalised"] | None,
        optional("How reported needs count.", "{as-reported,normalised}"),
    ] = None,
    newcomers: Annotated[str | None, optional("What newcomers start with.", "RULE")] = None,
    hold_stops_clock: Annotated[
        Literal["yes", "no"] | None, optional("Whether the past of an agent on hold stops fading.", "{yes,no}")
    ] = None,
    time_zone: Annotated[str | None, optional("The ledger's time zone, such as Europe/Berlin.", "ZONE")] = None,
    thing: ThingName = None,
    unit: Unit = None,
    entitlement: Annotated[
        tuple[tuple[str, ...], ...],
        UseAppendAction,
        optional(
            "An agent's entitlement, such as dana=2; for burdens, the share of the load (0 is exempt).", "AGENT=NUMBER"
        ),
    ] = (),
    entitlements: Annotated[
        Path | None,
        optional("CSV file with the columns agent and entitlement, for all agents of the ledger.", "FILE"),
    ] = None,
    others: Annotated[
        str | None,
        optional(
            "The entitlement of agents who are not in that file, such as 1 (default: they are refused).", "NUMBER"
        ),
    ] = None,
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Show the rules, or change some of them from a given time on.

    For example:
        bygones ledger rules team.db
        bygones ledger rules team.db --half-life 60d --entitlement dana=2 --at 2026-06-01
    """
    from bygones.cli.ledger_tables import print_rules
    from bygones.ledger.model.times import iso

    changes: dict[str, Any] = {"half_life": half_life, "welfare": welfare, "rule": rule, "newcomers": newcomers}
    changes |= {"reports": reports, "time_zone": time_zone, "memory": memory, "thing": thing, "unit": unit}
    changes["half_lives"] = dict(_parse_half_life(text) for texts in half_life_of for text in texts) or None
    changes["hold_stops_clock"] = None if hold_stops_clock is None else hold_stops_clock == "yes"
    weights = dict(_parse_entitlement(text) for texts in entitlement for text in texts)
    changes["entitlements"] = weights or None
    with open_ledger(target, author, key) as ledger:
        if entitlements is not None:
            changes["entitlements"] = _read_entitlements(ledger, entitlements, others) | weights
        elif others is not None:
            raise ValueError("others is for --entitlements: give a file, or leave others out")
        changes = {name: value for name, value in changes.items() if value is not None}
        if cap is not None:
            changes["cap"] = _parse_cap(cap)
        if changes:
            event = ledger.change_rules(at=at, note=note, key=key, **changes)
            print_recorded([event], json, f"Rules changed{from_when(event, ledger.zone())}.")
            return
        settings, ahead, zone = ledger.rules(at).to_dict(), ledger.rule_changes_after(at), ledger.zone()
    if json:
        print_json({**settings, "ahead": [{"at": iso(each.time), **each.settings} for each in ahead]})
    else:
        print_rules(settings, ahead, zone)


@app.command
def standing(
    target: Target,
    at: At = None,
    ahead: Annotated[
        str, arg(help="Also show what will be remembered and owed after this time, if nothing more is recorded.")
    ] = "7d",
    since: Annotated[bool, arg(help="Show since when agents have been owed, which reads all events.")] = True,
    as_recorded: Annotated[
        str | None, optional("Count only what had been recorded by this time, as if you had asked then.", "TIME")
    ] = None,
    before: Annotated[
        int | None,
        optional(
            "Count only what had been recorded before this event, such as a decision: where everybody stood then.",
            "EVENT",
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
    from bygones.ledger.model.times import as_datetime, later_by

    with open_ledger(target) as ledger:
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
    whole: Whole = False,
    capacity: Capacity = None,
    at: At = None,
    why_not: WhyNot = None,
    yes: Annotated[bool, arg(help="Record without asking.")] = False,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Decide who gets what now, with the reasons, and record the decision if you confirm.

    With --json nothing is asked: the decision is recorded only with --yes. A table with a column date is a plan,
    see bygones ledger plan, and is published with --yes.

    For example:
        bygones ledger decide team.db needs.csv --k 2
    """
    from bygones.allocation.tables import problem_of_rows, read_rows
    from bygones.cli.ledger_tables import agreed, print_decision
    from bygones.ledger import StaleProposalError
    from bygones.ledger.plans.date_needs import has_dates

    rows = read_rows(needs)
    if has_dates(rows):
        from bygones.cli.plan_commands import plan

        if at is not None:
            raise ValueError(f"at cannot be used with {needs}, which has a column 'date'")
        plan(
            target, needs, k=k, amount=amount, whole=whole, capacity=capacity, publish=yes, note=note, key=key,
            author=author, json=json,
        )  # fmt: skip
        return
    request = problem_of_rows(needs, rows, k=k, amount=amount, capacity=capacity, whole=whole)
    with open_ledger(target, author, key) as ledger:
        if at is not None and not (key is not None and ledger.with_key(key)):
            _note_same_moment(ledger, at)
        if yes:
            proposal = ledger.decide(request, at=at, note=note, key=key)
            print_decision(proposal, json, recorded=True, why_not=why_not)
            return
        while True:
            proposal = ledger.propose(request, at=at)
            print_decision(proposal, json, recorded=False, why_not=why_not)
            if json:
                return
            if not agreed():
                say("Nothing was recorded.")
                return
            try:
                ledger.accept(proposal, note, key=key)
            except StaleProposalError as stale:
                say(f"{stale}. The new proposal:")
                continue
            with answering():
                say("Recorded.")
            return


@app.command
def explain(
    target: Target,
    what: Annotated[Positional[str], arg(metavar="WHAT", help="An agent's name, or the number of an event.")],
    at: At = None,
    why_not: WhyNot = None,
    json: Json = False,
) -> None:
    """Show what an agent's remembered utility consists of, or why a decision was made.

    For a decision, it also shows whether it was corrected later, and how to check its draw.

    For example:
        bygones ledger explain team.db ana
        bygones ledger explain team.db 12
        bygones ledger explain team.db 12 --why-not ben
    """
    from bygones.cli.explaining import explained, print_contributions, print_event
    from bygones.ledger.model.events import DECISIONS, RECEIVED

    with open_ledger(target) as ledger:
        if what.isdecimal() and what not in ledger.standing(at).names:
            event = ledger.event(int(what))
            cause = ledger.event(event.refers) if event.kind in RECEIVED and event.refers else event
            decision = explained(ledger, cause) if cause.kind in DECISIONS else None
            changes, void_since = ledger.changes_since(cause), ledger.void_since(event.seq)
            answer = "" if why_not is None else _why_not(decision, why_not, event.seq)
            print_event(event, decision, changes, json, ledger.rules(at).kind, ledger.zone(), void_since, answer)
            return
        if why_not is not None:
            raise ValueError(f"why-not is for the number of a decision, such as 12, got {what}")
        print_contributions(what, ledger.contributions(what, at), json, ledger.rules(at).kind, ledger.zone())


def _why_not(found: Explained | None, agent: str, event: int) -> str:
    """Why an agent was not chosen in a recorded decision."""
    again = None if found is None else found.told.again
    if again is None:
        missing = "is no decision" if found is None else "was decided by a version that cannot be repeated"
        raise ValueError(f"why-not cannot be answered: event {event} {missing}")
    return again.why_not(agent)


@app.command
def export(
    target: Target,
    out: Annotated[Path | None, optional("The file to write (default: the terminal).", "FILE")] = None,
    kind: Annotated[str | None, optional("Only events of this kind, such as received.", "KIND")] = None,
    json: Json = False,
) -> None:
    """Write all events as CSV or JSON, or only those of one kind that are not void.

    In CSV, text that looks like a formula starts with an apostrophe.

    Only you can read the file it creates.

    For example:
        bygones ledger export team.db --out events.csv
    """
    from bygones.ledger.exchange import write_events

    if out is not None:
        check_output(out, [target])
    with open_ledger(target) as ledger:
        events = ledger.events(kind, in_effect=kind is not None)
        with _output(out) as file:
            if json:
                file.write(json_text([event.to_dict() | {"hash": hashed.hex()} for event, hashed in events]) + "\n")
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
        float | None, optional("Also show what happens when starting with this number.", "NUMBER")
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
    from bygones.ledger.forecast import foresee_all
    from bygones.report.figures.newcomer_figures import newcomers_figure

    with open_ledger(target) as ledger:
        stood, seed = ledger.standing(at), int(ledger.head(), 16)
    outcomes = foresee_all(
        stood, agent=agent, number=number, decisions=decisions, every=every, places=places,
        worth=worth, entitlement=entitlement, seed=seed,
    )  # fmt: skip
    share = entitlement / (entitlement + stood.entitlements[stood.present].sum())
    handed = places * worth
    paths = save_beside(
        lambda: newcomers_figure(agent, outcomes, share, handed, every, stood.rules.kind), out, "newcomers"
    )
    if json:
        print_json([outcome.to_dict() for outcome in outcomes])
        return
    print_forecasts(agent, outcomes, share * places * worth * decisions, stood.rules.kind)
    print_paths(paths)


def _read_entitlements(ledger: Ledger, path: Path, others: str | None) -> dict[str, float]:
    """The entitlement of every agent of a ledger, from a table."""
    from bygones.allocation.tables import read_entitlements

    stood = ledger.standing()
    exempt = stood.rules.kind == "burden"
    found = read_entitlements(path, stood.names, exempt=exempt, others=others, where="the ledger")
    return dict(zip(stood.names, found.tolist(), strict=True))


def _note_same_moment(ledger: Ledger, at: str) -> None:
    """Says that something was decided for the same moment, which may be the same decision made twice."""
    there = [str(seq) for seq in ledger.decisions_at(at)]
    if there:
        events = f"event{'' if len(there) == 1 else 's'} {listed(there)}"
        say(f"There is a decision for this moment already ({events}). If this is another one, both count.", error=True)


def _parse_cap(text: str | None) -> float | None:
    if text is None or text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"cap must be a number above 0, or none, got {text!r}") from None


def _parse_half_life(text: str) -> tuple[str, str | None]:
    name, given, half_life = text.rpartition("=")
    if not given:
        raise ValueError(f"half_life_of must be AGENT=DURATION, got {text!r}")
    return check_text("the agent of a half-life", name), None if half_life.strip().lower() == "none" else half_life


def _parse_entitlement(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        raise ValueError(f"entitlement must be AGENT=NUMBER, got {text!r}") from None
    return check_text("the agent of an entitlement", name), weight


@contextmanager
def _output(out: Path | None) -> Iterator[TextIO]:
    """The file that only its owner can read, or standard output, with escapes where it is a terminal."""
    if out is not None:
        with replacing_text(out, private=True) as file:
            yield file
    elif sys.stdout.isatty():
        shown = StringIO()
        yield shown
        say(*shown.getvalue().splitlines())
    else:
        yield sys.stdout
