"""`bygones ledger join`, `leave`, `hold`, `resume`, `record`, `offset` and `correct`: what is recorded of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from bygones.cli.arguments import ledger_and_names, optional
from bygones.cli.ledger_arguments import (
    Agent,
    At,
    Author,
    Json,
    Key,
    Note,
    Target,
    from_when,
    has_come,
    open_ledger,
    print_recorded,
)

if TYPE_CHECKING:
    from bygones.ledger import Event, Ledger


def join(
    target: Target,
    agents: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="AGENT…", help="The names of the agents; all start with the same amount.", help_behavior_hint=""),
    ],
    at: At = None,
    entitlement: Annotated[
        float | None,
        optional("Entitlement relative to the others' (default: 1); 0 is exempt, for burdens only.", "NUMBER"),
    ] = None,
    start: Annotated[
        str | None,
        optional(
            "What to start with, instead of the ledger's newcomer rule; with zero, an agent who returns keeps just "
            "what is remembered.",
            "RULE",
        ),
    ] = None,
    distinct: Annotated[bool, arg(help="Treat names that are nearly the same as different agents.")] = False,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Record that agents join.

    An agent who returns keeps what is still remembered. If newcomers start with more, the agent is raised to that.

    For example:
        bygones ledger join team.db ana ben cem
        bygones ledger join team.db dana --entitlement 0.5 --start mean
    """
    target, agents = ledger_and_names(target, agents)
    if not agents:
        raise ValueError("give the name of at least one agent who joins")
    with open_ledger(target, author, key) as ledger:
        joined = ledger.join_all(
            agents, at=at, entitlement=entitlement, newcomers=start, distinct=distinct, note=note, key=key
        )
        told = [_joined(ledger, event) for event in joined]
    print_recorded(joined, json, *told)


def leave(
    target: Target,
    agent: Agent,
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Record that an agent leaves.

    For example:
        bygones ledger leave team.db ana --at 2026-03-02
    """
    _turn("leave", target, agent, at, note, key, author, json)


def hold(
    target: Target,
    agent: Agent,
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Put an agent on hold, for example during illness or parental leave.

    For example:
        bygones ledger hold team.db ana --note "parental leave"
    """
    _turn("hold", target, agent, at, note, key, author, json)


def resume(
    target: Target,
    agent: Agent,
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Record that an agent on hold takes part again.

    For example:
        bygones ledger resume team.db ana
    """
    _turn("resume", target, agent, at, note, key, author, json)


def record(
    target: Target,
    agent: Agent,
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="The amount received or, in a ledger of burdens, carried.")
    ],
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Record what an agent received or, in a ledger of burdens, carried.

    For example:
        bygones ledger record team.db ana 8 --at 2026-03-02T22:00+01:00
    """
    from bygones.kinds import words

    with open_ledger(target, author, key) as ledger:
        event = ledger.record(agent, amount, at=at, note=note, key=key)
        received = words(ledger.rules(at).kind).received
    print_recorded([event], json, f"Event {event.seq}: {agent} {received} {amount:.6g}.")


def offset(
    target: Target,
    agent: Agent,
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="The amount to add; a negative amount is subtracted.")
    ],
    at: At = None,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Change what is remembered of an agent without changing what was received.

    For example:
        bygones ledger offset team.db ana 5 --note "worked elsewhere"
    """
    with open_ledger(target, author, key) as ledger:
        event = ledger.offset(agent, amount, at=at, note=note, key=key)
    print_recorded([event], json, f"Event {event.seq}: what is remembered of {agent} changed by {amount:+.6g}.")


def correct(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event that was wrong.")],
    amount: Annotated[
        Positional[float], arg(metavar="AMOUNT", help="What the amount should have been; 0 if it never happened.")
    ],
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Correct the amount of an event with a further event; the event itself stays.

    For example:
        bygones ledger correct team.db 12 6
    """
    with open_ledger(target, author, key) as ledger:
        entry = ledger.correct(event, amount, note=note, key=key)
    print_recorded([entry], json, f"Event {entry.seq} corrects event {event} by {entry.amount:+.6g}.")


def _turn(
    kind: Literal["leave", "hold", "resume"],
    target: str,
    agent: str,
    at: str | None,
    note: str,
    key: str | None,
    author: str | None,
    json: bool,
) -> None:
    """Records that an agent leaves, goes on hold or resumes, and says so."""
    with open_ledger(target, author, key) as ledger:
        event, zone = getattr(ledger, kind)(agent, at=at, note=note, key=key), ledger.zone()
    does = {"leave": "left" if has_come(event) else "leaves", "hold": "is on hold", "resume": "takes part again"}[kind]
    print_recorded([event], json, f"{agent} {does}{from_when(event, zone)}.")


def _joined(ledger: Ledger, event: Event) -> str:
    from bygones.ledger.model.times import as_datetime

    zone = ledger.zone()
    if "start" in (event.details or {}):
        return f"{event.agent} joins{from_when(event, zone)}; what they start with is computed then."
    joined = "joined" if has_come(event) else f"joins{from_when(event, zone)}"
    if not ledger.joined_before(event):
        return f"{event.agent} {joined}, starting with {event.amount:.4g} remembered."
    then = ledger.standing(as_datetime(event.time))
    remembered = float(then.remembered[then.names.index(str(event.agent))])
    if not event.amount:
        return f"{event.agent} {joined} again, with the {remembered:.4g} still remembered of them."
    return (
        f"{event.agent} {joined} again, with {remembered:.4g} remembered: {remembered - event.amount:.4g} from before, "
        f"and {event.amount:.4g} more, to start where newcomers do. With --start zero, nothing is added."
    )
