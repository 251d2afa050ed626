"""`bygones ledger …`: thin. Every command reads its input, calls the ledger, and prints for people or for programs."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional, arg

from bygones.cli.console import print_json, print_paths, print_table

if TYPE_CHECKING:
    from bygones.ledger import Ledger

app = tyro.extras.SubcommandApp()
"""The commands; the main command line adds them under the name `ledger`."""


def _optional(help_text: str, metavar: str) -> object:
    return arg(help=help_text, help_behavior_hint="", metavar=metavar)


Target = Annotated[
    Positional[str], arg(metavar="LEDGER", help="A file such as team.db, or postgresql://user@host/name.")
]
Agent = Annotated[Positional[str], arg(metavar="AGENT", help="Whose, by name.")]
At = Annotated[
    str | None, _optional("When: 2026-03-02 or 2026-03-02T22:00+01:00; in UTC unless said; now if left out.", "TIME")
]
Note = Annotated[str, _optional("Why, in your words.", "TEXT")]
Json = Annotated[bool, arg(help="Print JSON for programs.")]


@app.command
def new(
    target: Target,
    half_life: Annotated[str, arg(help="After this time a past utility counts half: 30d, 12h, inf.")] = "30d",
    welfare: Annotated[str, arg(help="What decisions maximise, e.g. nash or 'alpha_fair(alpha=2)'.")] = "egalitarian",
    newcomers: Annotated[str, arg(help="Newcomers start with zero, mean, median, entitled-share, a number.")] = "mean",
    hold_stops_clock: Annotated[bool, arg(help="Whether the past of somebody on hold stops fading.")] = True,
    began: Annotated[str | None, _optional("The first moment that may be recorded; now if left out.", "TIME")] = None,
    json: Json = False,
) -> None:
    """Make a new ledger.

    Example: bygones ledger new team.db --half-life 30d --began 2026-01-01
    """
    from bygones.cli.ledger_tables import tell
    from bygones.ledger import Ledger, Rules

    rules = Rules(half_life, welfare, newcomers, hold_stops_clock)
    with Ledger.new(target, rules, began=began) as ledger:
        tell([ledger.event(1)], json, f"{ledger.name} is a new ledger")


@app.command
def rules(
    target: Target,
    half_life: Annotated[str | None, _optional("The new half-life.", "DURATION")] = None,
    welfare: Annotated[str | None, _optional("What decisions maximise from then on.", "WELFARE")] = None,
    newcomers: Annotated[str | None, _optional("What newcomers start with from then on.", "RULE")] = None,
    hold_stops_clock: Annotated[
        Literal["yes", "no"] | None, _optional("Whether a hold stops the clock.", "{yes,no}")
    ] = None,
    entitlement: Annotated[tuple[str, ...], _optional("For example dana=2.", "AGENT=NUMBER")] = (),
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Show the rules in force, or change some of them from a moment on."""
    from bygones.cli.ledger_tables import print_rules, tell

    changes: dict[str, Any] = {"half_life": half_life, "welfare": welfare, "newcomers": newcomers}
    changes["hold_stops_clock"] = None if hold_stops_clock is None else hold_stops_clock == "yes"
    changes["entitlements"] = dict(map(_parse_entitlement, entitlement)) or None
    changes = {name: value for name, value in changes.items() if value is not None}
    with _open(target) as ledger:
        if changes:
            tell([ledger.change_rules(at=at, note=note, **changes)], json, "rules changed")
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
        arg(metavar="AGENT…", help="Who, by name; several at once start alike.", help_behavior_hint=""),
    ],
    at: At = None,
    entitlement: Annotated[float | None, _optional("Relative to the others'; 1 if left out.", "NUMBER")] = None,
    start: Annotated[
        str | None, _optional("What to start with, in place of the ledger's newcomer rule.", "RULE")
    ] = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Somebody takes part from now on."""
    from bygones.cli.ledger_tables import tell

    if not agents:
        raise ValueError("agents must name at least one who joins")
    with _open(target) as ledger:
        joined = ledger.join_all(agents, at=at, entitlement=entitlement, newcomers=start, note=note)
    tell(joined, json, *(f"{event.agent} joined, starting with {event.amount:.4g}" for event in joined))


@app.command
def leave(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Somebody no longer takes part."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        tell([ledger.leave(agent, at=at, note=note)], json, f"{agent} left")


@app.command
def hold(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Somebody pauses: ill, on leave, on parental time."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        tell([ledger.hold(agent, at=at, note=note)], json, f"{agent} is on hold")


@app.command
def resume(target: Target, agent: Agent, at: At = None, note: Note = "", json: Json = False) -> None:
    """Somebody on hold takes part again."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        tell([ledger.resume(agent, at=at, note=note)], json, f"{agent} takes part again")


@app.command
def record(
    target: Target,
    agent: Agent,
    amount: Annotated[Positional[float], arg(metavar="AMOUNT", help="How much they received.")],
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Somebody received something."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        event = ledger.record(agent, amount, at=at, note=note)
    tell([event], json, f"event {event.seq}: {agent} received {amount:.6g}")


@app.command
def offset(
    target: Target,
    agent: Agent,
    amount: Annotated[Positional[float], arg(metavar="AMOUNT", help="How much; below zero, it is forgiven.")],
    at: At = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """An amount is remembered of somebody though they did not receive it."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        event = ledger.offset(agent, amount, at=at, note=note)
    tell([event], json, f"event {event.seq}: {amount:.6g} is remembered of {agent}, not received")


@app.command(name="import")
def import_(
    target: Target,
    history: Annotated[Positional[Path], arg(metavar="HISTORY", help="CSV file with a header.")],
    agent: Annotated[str, arg(help="Column with the agent's name.")] = "agent",
    time: Annotated[str, arg(help="Column with the time.")] = "time",
    amount: Annotated[str, arg(help="Column with the amount received.")] = "amount",
    join: Annotated[bool, arg(help="Agents who never joined do so with their first row, starting with zero.")] = False,
    json: Json = False,
) -> None:
    """Record a history from a table, all of it or, if a row is wrong, nothing."""
    from bygones.ledger.csv_files import read_history

    entries = read_history(history, agent, time, amount)
    with _open(target) as ledger:
        events = ledger.record_all(entries, join=join)
    if json:
        print_json({"recorded": len(events), "first": events[0].seq, "last": events[-1].seq})
    else:
        print(f"recorded {len(events)} events, {events[0].seq} to {events[-1].seq}")


@app.command
def standing(
    target: Target,
    at: At = None,
    ahead: Annotated[str, arg(help="Also show how things would stand after this time, if nothing happens.")] = "7d",
    since: Annotated[bool, arg(help="Say since when somebody has been owed, for which all events are read.")] = True,
    json: Json = False,
) -> None:
    """Where everybody stands: received, remembered, owed, since when, and next week if nothing happens."""
    from bygones.cli.ledger_tables import print_standing
    from bygones.ledger.times import as_datetime, iso, later_by

    with _open(target) as ledger:
        now = ledger.standing(at)
        moment = as_datetime(now.at)
        later = ledger.standing(later_by(moment, ahead, "ahead"))
        beginnings = ledger.owed_since(moment) if since else None
    if not json:
        print_standing(now, later, ahead, beginnings)
        return
    told = now.to_dict()
    after = {row["agent"]: row for row in later.rows()}
    for row in told["agents"]:
        then = after[row["agent"]]
        row["owed_since"] = iso(beginnings[row["agent"]]) if beginnings and row["agent"] in beginnings else None
        row["later"] = {"at": iso(later.at), "remembered": then["remembered"], "owed": then["owed"]}
    print_json(told)


@app.command
def decide(
    target: Target,
    needs: Annotated[
        Positional[Path],
        arg(metavar="NEEDS", help="CSV: agent,need for places; agent,item,utility; agent,rate,cap for an amount."),
    ],
    k: Annotated[int, arg(help="How many places there are.", aliases=["-k"])] = 1,
    amount: Annotated[float | None, _optional("Divide this amount instead.", "NUMBER")] = None,
    capacity: Annotated[int, arg(help="The most items that one agent may get.")] = 1,
    at: At = None,
    yes: Annotated[bool, arg(help="Record without asking.")] = False,
    note: Note = "",
    json: Json = False,
) -> None:
    """Decide who gets what, say why, and record it if you agree.

    With --json nothing is asked: it is recorded with --yes only.
    """
    from bygones.cli.ledger_tables import agreed, tell_decision
    from bygones.ledger import StaleProposalError
    from bygones.ledger.csv_files import read_request

    request = read_request(needs, k=k, amount=amount, capacity=capacity)
    with _open(target) as ledger:
        if yes:
            proposal = ledger.decide(request, at=at, note=note)
            tell_decision(proposal, json, recorded=True)
            return
        while True:
            proposal = ledger.propose(request, at=at)
            tell_decision(proposal, json, recorded=False)
            if json:
                return
            if not agreed():
                print("nothing changed")
                return
            try:
                ledger.accept(proposal, note)
            except StaleProposalError as stale:
                print(f"{stale}; this is the new proposal:")
                continue
            print("recorded")
            return


@app.command
def correct(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event that was wrong.")],
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="What it should have been; 0 if it never happened.")
    ],
    note: Note = "",
    json: Json = False,
) -> None:
    """Set an event right by a compensating entry; the event itself stays."""
    from bygones.cli.ledger_tables import tell

    with _open(target) as ledger:
        entry = ledger.correct(event, amount, note=note)
    tell([entry], json, f"event {entry.seq} corrects event {event} by {entry.amount:+.6g}")


@app.command
def explain(
    target: Target,
    what: Annotated[Positional[str], arg(metavar="WHAT", help="An agent's name, or the number of an event.")],
    at: At = None,
    json: Json = False,
) -> None:
    """What somebody's standing is made of, or why a decision was made."""
    from bygones.cli.ledger_tables import tell_contributions, tell_event

    with _open(target) as ledger:
        if what.isdecimal() and what not in ledger.standing(at).names:
            event = ledger.event(int(what))
            cause = ledger.event(event.refers) if event.kind == "received" and event.refers else event
            tell_event(event, cause if cause.kind == "decision" else None, json)
            return
        tell_contributions(what, ledger.contributions(what, at), json)


@app.command
def verify(
    target: Target,
    head: Annotated[str | None, _optional("A head noted earlier: no event up to it may have changed.", "HASH")] = None,
    json: Json = False,
) -> None:
    """Replay all events, compare with the snapshot, and check the chain of hashes. Exit code 1 if anything is wrong."""
    with _open(target) as ledger:
        found = ledger.verify(head)
    if json:
        print_json(found._asdict() | {"ok": found.ok})
    elif found.ok:
        print(f"{found.events} events of {found.agents} agents: all is well. Head: {found.head}")
    else:
        for problem in found.problems:
            print(problem)
    if not found.ok:
        raise SystemExit(1)


@app.command
def export(
    target: Target,
    out: Annotated[Path | None, _optional("The file to write; the terminal if left out.", "FILE")] = None,
    kind: Annotated[str | None, _optional("Only events of this kind, such as received.", "KIND")] = None,
    json: Json = False,
) -> None:
    """Write all events as CSV or JSON. In CSV, text that looks like a formula has an apostrophe before it."""
    import json as json_module

    from bygones.ledger.csv_files import event_dict, of_kind, write_events

    with _open(target) as ledger:
        events = of_kind(ledger.events(), kind)
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
    agent: Annotated[str, arg(help="Who would join.")],
    decisions: Annotated[int, arg(help="How many decisions to look ahead.")] = 30,
    every: Annotated[str, arg(help="The time between two decisions.")] = "1d",
    places: Annotated[int, arg(help="How many are served each time.")] = 1,
    worth: Annotated[float, arg(help="What a place is worth.")] = 1.0,
    entitlement: Annotated[float, arg(help="The newcomer's, relative to the others'.")] = 1.0,
    number: Annotated[float | None, _optional("Also show starting with this number.", "NUMBER")] = None,
    at: At = None,
    out: Annotated[Path, arg(help="Folder for the picture.")] = Path("out"),
    json: Json = False,
) -> None:
    """What each newcomer rule would mean for somebody over the next decisions, as a picture."""
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
    paths = save(newcomers_figure(agent, outcomes, share, places * worth, every), out, "newcomers")
    if json:
        print_json([outcome.to_dict() for outcome in outcomes])
        return
    rows = [[o.rule, o.start, o.received[-1], share * places * worth * decisions] for o in outcomes]
    columns = ["newcomer rule", "starts with", "would receive", "entitled share"]
    print_table(f"{agent} over the next {decisions} decisions", columns, rows)
    print_paths(paths)


def _open(target: str) -> Ledger:
    from bygones.ledger import Ledger

    return Ledger.open(target)


def _parse_entitlement(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise ValueError(f"entitlement must be AGENT=NUMBER, got {text!r}") from None


def _output(out: Path | None) -> Any:
    return nullcontext(sys.stdout) if out is None else out.open("w", newline="", encoding="utf-8")
