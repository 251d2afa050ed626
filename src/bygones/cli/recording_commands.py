"""`bygones ledger join`, `leave`, `hold`, `resume`, `record`, `offset` and `correct`: events about agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from bygones.cli.arguments import Amount, Number, ledger_and_names, optional
from bygones.cli.ledger_arguments import (
    Agent,
    Recorded,
    RecordedAt,
    Recording,
    RecordingAt,
    Target,
    has_come,
    when_ahead,
)

if TYPE_CHECKING:
    from bygones.ledger import Event, Ledger


def join(
    target: Target,
    agents: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="AGENT…", help="The names of the agents; all start with the same amount.", help_behavior_hint=""),
    ],
    entitlement: Annotated[
        Number,
        optional("Entitlement relative to the others' (default: 1); 0 is exempt, for burdens only.", "NUMBER"),
    ] = None,
    start: Annotated[
        str | None,
        optional(
            "A newcomer rule or a number to start with, instead of the ledger's newcomer rule. With zero, an agent who "
            "returns just keeps their recent total.",
            "RULE",
        ),
    ] = None,
    distinct: Annotated[bool, arg(help="Treat names that are nearly the same as different agents.")] = False,
    recording: RecordedAt = RecordingAt(),
) -> None:
    """Record that agents join.

    An agent who returns keeps their recent total. If newcomers start with more, the agent is topped up to that.

    For example:
        bygones ledger join team.db ana ben cem
        bygones ledger join team.db dana --entitlement 0.5 --start mean
    """
    target, agents = ledger_and_names(target, agents)
    files = [agent for agent in agents if Path(agent).suffix and Path(agent).is_file()]
    if files:
        raise ValueError(
            f"{files[0]} is a file: give the names of the agents, or record a history in which they join with `bygones "
            "ledger import --join`"
        )
    if not agents:
        raise ValueError("give the name of at least one agent who joins")
    with recording.open(target) as ledger:
        joins = ledger.join_all(
            agents, entitlement=entitlement, newcomers=start, distinct=distinct, **recording.details
        )
        sentences = [_joined(ledger, event) for event in joins]
    recording.print_events(joins, *sentences)


def leave(target: Target, agent: Agent, recording: RecordedAt = RecordingAt()) -> None:
    """Record that an agent leaves.

    For example:
        bygones ledger leave team.db ana --at 2026-03-02
    """
    _take_part("leave", target, agent, recording)


def hold(target: Target, agent: Agent, recording: RecordedAt = RecordingAt()) -> None:
    """Put an agent on hold, for example while they are sick or on parental leave.

    For example:
        bygones ledger hold team.db ana --note "parental leave"
    """
    _take_part("hold", target, agent, recording)


def resume(target: Target, agent: Agent, recording: RecordedAt = RecordingAt()) -> None:
    """Record that an agent on hold takes part again.

    For example:
        bygones ledger resume team.db ana
    """
    _take_part("resume", target, agent, recording)


def record(
    target: Target,
    agent: Agent,
    amount: Annotated[
        Positional[Amount], arg(metavar="AMOUNT", help="The amount received or, in a ledger of burdens, worked.")
    ],
    length: Annotated[
        str, optional("How long the turn lasted: 10h, 20:00-06:00 or 'until 06:00' (default: not known).", "LENGTH")
    ] = "",
    recording: RecordedAt = RecordingAt(),
) -> None:
    """Record an amount that an agent received or, in a ledger of burdens, worked.

    For example:
        bygones ledger record team.db ana 8 --at 2026-03-02T22:00 --length 8h
    """
    from bygones.kinds import words

    with recording.open(target) as ledger:
        event, rules = ledger.record(agent, amount, length=length, **recording.details), ledger.rules(recording.at)
    size = rules.handed_out.with_unit(f"{amount:.6g}")
    recording.print_events([event], f"Event {event.seq}: {agent} {words(rules.kind).received} {size}.")


def offset(
    target: Target,
    agent: Agent,
    amount: Annotated[
        Positional[Amount], arg(metavar="AMOUNT", help="The amount to add; a negative amount is subtracted.")
    ],
    recording: RecordedAt = RecordingAt(),
) -> None:
    """Change an agent's recent total without changing the total received.

    For example:
        bygones ledger offset team.db ana 5 --note "worked elsewhere"
    """
    from bygones.kinds import words

    with recording.open(target) as ledger:
        event, recent = ledger.offset(agent, amount, **recording.details), words(ledger.rules().kind).recent
    recording.print_events([event], f"Event {event.seq}: the {recent} of {agent} changed by {amount:+.6g}.")


def correct(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event that was wrong.")],
    amount: Annotated[Positional[Amount], arg(metavar="AMOUNT", help="The right amount; 0 if it never happened.")],
    recording: Recorded = Recording(),
) -> None:
    """Correct the amount of an event with a further event; the event itself stays.

    For example:
        bygones ledger correct team.db 12 6
    """
    from bygones.ledger.model.times import as_datetime, day_in_words

    with recording.open(target) as ledger:
        correction, zone = ledger.correct(event, amount, **recording.details), ledger.zone()
        with_unit = ledger.rules(as_datetime(correction.time)).handed_out.with_unit
    right, wrong = (with_unit(f"{size:.6g}") for size in (amount, amount - (correction.amount or 0.0)))
    what = f"{correction.agent}, {day_in_words(correction.time, zone)}: {right} instead of {wrong}"
    recording.print_events([correction], f"Event {correction.seq} corrects event {event}: {what}.")


def _take_part(kind: Literal["leave", "hold", "resume"], target: str, agent: str, recording: RecordingAt) -> None:
    """Records that an agent leaves, goes on hold or resumes, and prints it."""
    with recording.open(target) as ledger:
        before = ledger.n_events()
        event, zone = getattr(ledger, kind)(agent, **recording.details), ledger.zone()
        new = [ledger.event(seq) for seq in range(before + 1, event.seq)]
    now = {"leave": "left", "hold": "is on hold", "resume": "takes part again"}
    ahead = {"leave": "leaves", "hold": "goes on hold", "resume": "takes part again"}
    sentence = f"{agent} {(now if has_come(event) else ahead)[kind]}{when_ahead(event, zone)}."
    void = [f"Event {each.refers} is void, which was ahead." for each in new if each.kind == "void"]
    recording.print_events([event], sentence, *void)


def _joined(ledger: Ledger, event: Event) -> str:
    from bygones.kinds import words
    from bygones.ledger.model.times import as_datetime

    then, zone = as_datetime(event.time), ledger.zone()
    if "start" in (event.details or {}):
        return f"{event.agent} joins{when_ahead(event, zone)}. Their starting amount is computed then."
    joined = "joined" if has_come(event) else f"joins{when_ahead(event, zone)}"
    rules = ledger.rules(then)
    with_unit, word = rules.handed_out.with_unit, words(rules.kind)
    holding = f"{word.recent} of" if rules.kind == "burden" else f"a {word.recent} of"
    if not ledger.joined_before(event):
        return f"{event.agent} {joined}, starting with {holding} {with_unit(f'{event.amount:.4g}')}."
    stood = ledger.standing(then)
    total = float(stood.remembered[stood.names.index(str(event.agent))])
    now = f"{holding} {with_unit(f'{total:.4g}')}"
    if not event.amount:
        return f"{event.agent} {joined} again, and keeps {now}."
    return (
        f"{event.agent} {joined} again, with {now}: {total - event.amount:.4g} from before, and {event.amount:.4g} "
        "more to start where newcomers do. With --start zero, nothing is added."
    )
