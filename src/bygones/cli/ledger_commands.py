"""`bygones ledger …`: each command reads its input, calls the ledger, and prints for people or for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

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
from bygones.cli.arguments import Output, Printed, number_of, optional
from bygones.cli.console import answering, json_text, print_paths, say
from bygones.cli.ledger_arguments import (
    At,
    Author,
    Length,
    RecordedAt,
    Recording,
    RecordingAt,
    Target,
    has_come,
    open_ledger,
    print_answer,
    when_ahead,
)
from bygones.cli.pictures import save_beside

if TYPE_CHECKING:
    from bygones.ledger import Ledger, Proposal


TurnWeights = Annotated[
    str | None,
    optional(
        "The weight of a turn by its time, such as '22:00-06:00=1.25, sat-sun=1.5, holiday(DE-BE)=2'. A CSV file "
        "with a column date stands for its dates, and the word hours counts the length (default: all alike).",
        "WEIGHTS",
    ),
]


def new(
    target: Target,
    half_life: Annotated[
        str | None,
        optional(
            "The time after which an amount counts half: 30d, 12h, or inf for perfect recall (default: 30d).",
            "DURATION",
        ),
    ] = None,
    welfare: Annotated[str, arg(help="What decisions maximise, e.g. nash or 'alpha_fair(alpha=2)'.")] = "egalitarian",
    newcomers: Annotated[
        str,
        arg(
            help="The recent total that newcomers start with: zero, mean, median, entitled-share or a number. With "
            "zero they get nearly everything until they have caught up."
        ),
    ] = "mean",
    hold_stops_clock: Annotated[bool, arg(help="Stop the fading of an agent's past while they are on hold.")] = True,
    kind: Annotated[
        Literal["good", "burden"],
        arg(help="good: something people want. burden: work that someone has to do. It cannot change later."),
    ] = "good",
    rule: Annotated[
        str,
        arg(
            help="How to decide: one-step considers one decision at a time, prices learns from past needs. Another "
            "policy, such as max-min or your own as module:name, chooses agents for places.",
            metavar="POLICY",
        ),
    ] = "one-step",
    reports: Annotated[
        Literal["as-reported", "normalised"],
        arg(help="Count needs as reported, or as multiples of each agent's average request."),
    ] = "as-reported",
    time_zone: Annotated[
        str, arg(help="The time zone in which days begin and times are read and shown, such as Europe/Berlin.")
    ] = "UTC",
    memory: Annotated[
        str,
        arg(
            help="The memory: discounted fades by the half-life, 'sliding_window(length=28d)' counts the last 28 days "
            "in full, 'reset(every=month)' starts over each month."
        ),
    ] = "discounted",
    cap: Annotated[
        str | None, optional("The largest recent total that an agent can have (default: no limit).", "NUMBER")
    ] = None,
    thing: ThingName = None,
    unit: Unit = None,
    turn_weights: TurnWeights = None,
    began: Annotated[str | None, optional("The earliest time that can be recorded (default: now).", "TIME")] = None,
    author: Author = None,
    output: Printed = Output(),
) -> None:
    """Create a ledger.

    For example:
        bygones ledger new team.db --half-life 30d --began 2026-01-01
        bygones ledger new nights.db --kind burden --thing shift --unit h --time-zone Europe/Berlin
        bygones ledger new ward.db --kind burden --turn-weights 'sat-sun=1.5, holiday(DE)=2'
        bygones ledger new gpus.db --rule prices
        bygones ledger new quota.db --memory 'reset(every=month)'
    """
    from bygones.ledger import Ledger, Rules

    if half_life is not None and not memory.strip().startswith("discounted"):
        raise ValueError(f"--half-life has no effect with --memory {memory}: leave out one of the two")
    rules = Rules(
        half_life or "30d", welfare, newcomers, hold_stops_clock, kind=kind, rule=rule, reports=reports,
        time_zone=time_zone, memory=memory, cap=_parse_cap(cap), thing=thing or "", unit=unit or "",
        turn_weights=_with_dates(turn_weights or ""),
    )  # fmt: skip
    with Ledger.new(target, rules, began=began, author=author) as ledger:
        Recording(json=output.json).print_events([ledger.event(1)], f"Created {ledger.name}.")


def rules(
    target: Target,
    half_life: Annotated[str | None, optional("The new half-life.", "DURATION")] = None,
    half_life_of: Annotated[
        tuple[tuple[str, ...], ...],
        UseAppendAction,
        optional(
            "A half-life of one agent, such as dana=14d; with dana=none, that of the others again.", "AGENT=DURATION"
        ),
    ] = (),
    memory: Annotated[
        str | None,
        optional("The memory: discounted, 'sliding_window(length=28d)' or 'reset(every=month)'.", "MEMORY"),
    ] = None,
    cap: Annotated[str | None, optional("The largest recent total that an agent can have, or none.", "NUMBER")] = None,
    welfare: Annotated[str | None, optional("What decisions maximise.", "WELFARE")] = None,
    rule: Annotated[
        str | None, optional("How to decide: one-step, prices, or another policy such as max-min.", "POLICY")
    ] = None,
    reports: Annotated[
        Literal["as-reported", "normalised"] | None,
        optional("How reported needs count.", "{as-reported,normalised}"),
    ] = None,
    newcomers: Annotated[str | None, optional("What newcomers start with.", "RULE")] = None,
    hold_stops_clock: Annotated[
        Literal["yes", "no"] | None, optional("Stop the fading of an agent's past while they are on hold.", "{yes,no}")
    ] = None,
    time_zone: Annotated[str | None, optional("The ledger's time zone, such as Europe/Berlin.", "ZONE")] = None,
    thing: ThingName = None,
    unit: Unit = None,
    entitlement_of: Annotated[
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
    turn_weights: TurnWeights = None,
    overlaps: Annotated[
        Literal["refused", "allowed"] | None,
        optional("Whether an agent may have two turns at the same time (default: refused).", "{refused,allowed}"),
    ] = None,
    recording: RecordedAt = RecordingAt(),
) -> None:
    """Show the rules, or change some of them from a given time on.

    For example:
        bygones ledger rules team.db
        bygones ledger rules team.db --half-life 60d --entitlement-of dana=2 --at 2026-06-01
    """
    from bygones.ledger.model.rule_settings import rules_document
    from bygones.ledger.model.times import iso

    changes: dict[str, Any] = {"half_life": half_life, "welfare": welfare, "rule": rule, "newcomers": newcomers}
    changes |= {"reports": reports, "time_zone": time_zone, "memory": memory, "thing": thing, "unit": unit}
    changes["overlaps"] = overlaps
    changes["turn_weights"] = None if turn_weights is None else _with_dates(turn_weights)
    changes["half_lives"] = dict(_parse_half_life(text) for texts in half_life_of for text in texts) or None
    changes["hold_stops_clock"] = None if hold_stops_clock is None else hold_stops_clock == "yes"
    weights = dict(_parse_entitlement(text) for texts in entitlement_of for text in texts)
    changes["entitlements"] = weights or None
    with recording.open(target) as ledger:
        if entitlements is not None:
            changes["entitlements"] = _read_entitlements(ledger, entitlements, others) | weights
        elif others is not None:
            raise ValueError("others is for --entitlements: give a file, or leave others out")
        changes = {name: value for name, value in changes.items() if value is not None}
        if cap is not None:
            changes["cap"] = _parse_cap(cap)
        if changes:
            before = ledger.rules(recording.at).entitlements
            event = ledger.change_rules(**recording.details, **changes)
            changed = f"Rules {'changed' if has_come(event) else 'change'}{when_ahead(event, ledger.zone())}."
            recording.print_events([event], changed, *_no_longer_exempt(before, changes.get("entitlements", {})))
            return
        in_force, ahead, zone = ledger.rules(recording.at), ledger.rule_changes_after(recording.at), ledger.zone()
    data = {**in_force.to_dict(), "ahead": [{"at": iso(change.time), **change.settings} for change in ahead]}
    print_answer(rules_document(in_force, ahead, zone), data, recording.json)


def standing(
    target: Target,
    at: At = None,
    ahead: Annotated[
        str | None,
        optional("Also show the standing after this time, such as 7d, if nothing more is recorded.", "DURATION"),
    ] = None,
    since: Annotated[bool, arg(help="Show since when agents have been owed, which reads all events.")] = True,
    as_recorded: Annotated[
        str | None, optional("Count only the events recorded by this time, as if you had asked then.", "TIME")
    ] = None,
    before: Annotated[
        int | None,
        optional("Count only the events before this one, such as a decision: the standing it was based on.", "EVENT"),
    ] = None,
    output: Printed = Output(),
) -> None:
    """Show each agent's total, recent total and balance, and who is next.

    For example:
        bygones ledger standing team.db
        bygones ledger standing team.db --ahead 7d
        bygones ledger standing team.db --before 12
    """
    from bygones.ledger.model.times import as_datetime, later_by

    with open_ledger(target) as ledger:
        now = ledger.standing(at, as_recorded=as_recorded, before=before)
        moment, later = as_datetime(now.at), None
        if ahead is not None:
            until = later_by(moment, ahead, "ahead")
            later = ledger.outlook(until, moment, as_recorded=as_recorded, before=before)
        as_now = as_recorded is None and before is None
        beginnings = ledger.owed_since(moment) if since and as_now else None
    print_answer(now.document(beginnings, later), now.to_dict(beginnings, later), output.json)


def decide(
    target: Target,
    needs: Needs,
    k: NumberOfPlaces = None,
    length: Length = (),
    amount: AmountToDivide = None,
    whole: Whole = False,
    capacity: Capacity = None,
    why_not: WhyNot = None,
    yes: Annotated[bool, arg(help="Record without asking.")] = False,
    recording: RecordedAt = RecordingAt(),
) -> None:
    """Decide who is served now, explain why, and record the decision if you confirm.

    With --json nothing is asked: the decision is recorded only with --yes. A table with a column date is a plan,
    see bygones ledger plan, and is published with --yes.

    For example:
        bygones ledger decide team.db needs.csv --k 2
    """
    from bygones.allocation.tables import problem_of_rows, read_rows
    from bygones.ledger import StaleProposalError
    from bygones.ledger.model.span import read_lengths
    from bygones.ledger.plans.date_needs import has_dates

    rows, json = read_rows(needs), recording.json
    if has_dates(rows):
        from bygones.cli.plan_commands import plan

        if recording.at is not None:
            raise ValueError(f"at cannot be used with {needs}, which has a column 'date'")
        plan(
            target,
            needs,
            k=k,
            amount=amount,
            whole=whole,
            capacity=capacity,
            why_not=why_not,
            publish=yes,
            length=length,
            recording=recording,
        )
        return
    request = problem_of_rows(needs, rows, k=k, amount=amount, capacity=capacity, whole=whole)
    lengths = read_lengths(length)
    with recording.open(target) as ledger:
        if recording.at is not None and not (recording.key is not None and ledger.with_key(recording.key)):
            _note_same_moment(ledger, recording.at)
        if yes:
            _print_decision(ledger.decide(request, lengths=lengths, **recording.details), why_not, json, recorded=True)
            return
        while True:
            proposal = ledger.propose(request, at=recording.at, lengths=lengths)
            _print_decision(proposal, why_not, json, recorded=False)
            if json:
                return
            if not _agreed():
                say("Nothing was recorded.")
                return
            try:
                ledger.accept(proposal, recording.note, key=recording.key)
            except StaleProposalError as stale:
                say(f"{stale}. The new proposal:")
                continue
            with answering():
                say("Recorded.")
            return


def explain(
    target: Target,
    what: Annotated[Positional[str], arg(metavar="WHAT", help="An agent's name, or the number of an event.")],
    at: At = None,
    why_not: WhyNot = None,
    output: Printed = Output(),
) -> None:
    """Explain an agent's recent total event by event, or why a decision was made.

    For a decision, it also shows later corrections and, if a draw was needed, how to check it.

    For example:
        bygones ledger explain team.db ana
        bygones ledger explain team.db 12
        bygones ledger explain team.db 12 --why-not ben
    """
    from bygones.ledger.actions.explanations import contributions_document
    from bygones.ledger.model.times import iso

    with open_ledger(target) as ledger:
        if what.isdecimal() and what not in ledger.standing(at).names:
            account = ledger.account(int(what))
            answer = [] if why_not is None else [account.why_not(why_not)]
            data = account.to_dict() | ({"why_not": answer[0]} if answer else {})
            print_answer(account.document().and_also(answer), data, output.json)
            return
        if why_not is not None:
            raise ValueError(f"why-not is for the number of a decision, such as 12, got {what}")
        parts = ledger.contributions(what, at)
        document = contributions_document(what, parts, ledger.rules(at), ledger.zone())
    print_answer(document, [part._asdict() | {"time": iso(part.time)} for part in parts], output.json)


def export(
    target: Target,
    out: Annotated[Path | None, optional("The file to write (default: the terminal).", "FILE")] = None,
    kind: Annotated[str | None, optional("Only events of this kind, such as received.", "KIND")] = None,
    output: Printed = Output(),
) -> None:
    """Write all events as CSV or JSON, or only the events of one kind that are not void.

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
            if output.json:
                file.write(json_text([event.to_dict() | {"hash": hashed.hex()} for event, hashed in events]) + "\n")
            else:
                write_events(file, events)
    if out is not None:
        print_paths([out])


def newcomers(
    target: Target,
    agent: Annotated[str, arg(help="The name of the newcomer.")],
    decisions: Annotated[int, arg(help="How many decisions to look ahead.")] = 30,
    every: Annotated[str, arg(help="The time between two decisions.")] = "1d",
    k: Annotated[int, arg(aliases=["-k"], metavar="NUMBER", help="The number of places each time.")] = 1,
    worth: Annotated[float, arg(help="The worth of a place.")] = 1.0,
    entitlement: Annotated[float, arg(help="The newcomer's entitlement, relative to the others'.")] = 1.0,
    number: Annotated[
        float | None, optional("Also show what happens when starting with this number.", "NUMBER")
    ] = None,
    at: At = None,
    out: Annotated[Path, arg(help="The folder for the figure.")] = Path("out"),
    output: Printed = Output(),
) -> None:
    """Compare the newcomer rules for an agent over the next decisions, in a table and a figure.

    In a ledger of burdens, a newcomer who starts with zero works more than their share until they have caught up.

    For example:
        bygones ledger newcomers team.db --agent elif --decisions 20 --every 1d
    """
    from bygones.ledger.forecast import forecasts_document, foresee_all
    from bygones.report.figures.newcomer_figures import newcomers_figure

    with open_ledger(target) as ledger:
        stood, seed = ledger.standing(at), int(ledger.head(), 16)
    outcomes = foresee_all(
        stood, agent=agent, number=number, decisions=decisions, every=every, places=k,
        worth=worth, entitlement=entitlement, seed=seed,
    )  # fmt: skip
    share = entitlement / (entitlement + stood.entitlements[stood.present].sum())
    each_time = k * worth
    paths = save_beside(
        lambda: newcomers_figure(agent, outcomes, share, each_time, every, stood.rules.kind), out, "newcomers"
    )
    document = forecasts_document(agent, outcomes, float(share * each_time * decisions), stood.rules)
    print_answer(document, [outcome.to_dict() for outcome in outcomes], output.json)
    print_paths([] if output.json else paths)


def _print_decision(proposal: Proposal, why_not: str | None, json: bool, *, recorded: bool) -> None:
    """Prints who gets what and why, and why one agent was not chosen."""
    with answering(recorded):
        answer = [] if why_not is None else [proposal.why_not(why_not)]
    data = {"recorded": recorded, **proposal.to_dict(), **({"why_not": answer[0]} if answer else {})}
    print_answer(proposal.document().and_also(answer), data, json, recorded=recorded)
    if recorded and not json:
        with answering():
            say("Recorded.")


def _agreed() -> bool:
    """Whether the person at the terminal answers yes; no answer means no."""
    try:
        answer = input("Record this? [y/N] ")
    except EOFError:
        answer = ""
        say()
    return answer.strip().lower() in ("y", "yes")


def _read_entitlements(ledger: Ledger, path: Path, others: str | None) -> dict[str, float]:
    """The entitlement of every agent of a ledger, from a table."""
    from bygones.allocation.tables import read_entitlements

    stood = ledger.standing()
    exempt = stood.rules.kind == "burden"
    weights = read_entitlements(path, stood.names, exempt=exempt, others=others, where="the ledger")
    return dict(zip(stood.names, weights.tolist(), strict=True))


def _with_dates(weights: str) -> str:
    """A line of weights with the dates of a table in the place of its name."""
    from bygones._csv import read

    terms = []
    for term in weights.split(","):
        path, given, weight = term.strip().rpartition("=")
        is_table = given and path.lower().endswith(".csv")
        dates = [row["date"] for _, row in read(Path(path), ("date",))] if is_table else []
        terms += [f"{date}={weight}" for date in dates if date] if is_table else [term.strip()]
    return ", ".join(terms)


def _no_longer_exempt(before: Mapping[str, float], changed: Mapping[str, float]) -> list[str]:
    """A sentence about each agent who was exempt before these entitlements changed."""
    return [
        f"{agent} was exempt, and now has an entitlement of {weight:g}."
        for agent, weight in changed.items()
        if weight and before.get(agent, 1.0) == 0
    ]


def _note_same_moment(ledger: Ledger, at: str) -> None:
    """Points out a decision for the same moment, which may be the same one made twice."""
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
    weight = number_of(
        number, f"entitlement_of must be AGENT=NUMBER, such as dana=0.5, got {text!r}: expected a number"
    )
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
