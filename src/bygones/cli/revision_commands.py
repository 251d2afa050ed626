"""`bygones ledger void` and `redecide`: what was recorded by mistake, and decisions that rested on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones.cli.console import answering, print_json
from bygones.cli.ledger_arguments import Author, Json, Key, Note, Target, open_ledger, print_recorded

if TYPE_CHECKING:
    from bygones.ledger import Event


def void(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event.")],
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Make an event void, so that everything reads as if it had not been recorded; the event itself stays.

    With a decision, what was received through it is void too. Voiding a void puts the event back in effect.

    For example:
        bygones ledger void team.db 12 --note "wrong year"
    """
    with open_ledger(target, author, key) as ledger:
        entry = ledger.void(event, note=note, key=key)
        voided = ledger.event(event)
        zone = ledger.zone()
    restored = f", and event {voided.refers} counts again" if voided.kind == "void" else ""
    told = [f"Event {entry.seq}: event {event} is void{restored}."]
    if voided.kind in ("planned", "plan") and voided.time > entry.recorded:
        told.append(_nobody(target, voided, zone))
    print_recorded([entry], json, *told)


def redecide(
    target: Target,
    from_: Annotated[str, arg(name="from", help="The first time of the period.", metavar="TIME")],
    to: Annotated[
        str | None,
        arg(help="The first time after the period (default: now).", help_behavior_hint="", metavar="TIME"),
    ] = None,
    accept: Annotated[bool, arg(help="Record the result; otherwise it is only shown.")] = False,
    note: Note = "",
    key: Key = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Decide a past period again with what is known now, and list the later decisions that depended on it.

    Only decisions that come out differently are replaced: they become void and are made again at their own time.

    For example:
        bygones ledger redecide team.db --from 2026-03-01 --to 2026-04-01
        bygones ledger redecide team.db --from 2026-03-01 --accept --note "a hold was recorded late"
    """
    from bygones.cli.ledger_tables import print_redecisions

    with open_ledger(target, author, key) as ledger:
        found, zone = ledger.redecide(from_, to, accept=accept, note=note, key=key), ledger.zone()
    with answering(accept and any(each.in_period for each in found)):
        if json:
            print_json({"recorded": accept, "decisions": [each.to_dict() for each in found]})
        else:
            print_redecisions(found, zone, recorded=accept)


def _nobody(target: str, planned: Event, zone: str) -> str:
    """What is no longer planned, and how to plan it again."""
    from bygones.ledger.model.times import SECOND, named, shown

    when = named(planned.time, zone)
    if planned.kind == "plan":
        return f"Nobody has a turn on {when} now. To plan it again, use bygones ledger plan."
    first, end = (shown(at, zone).replace(" ", "T") for at in (planned.time, planned.time + 60 * SECOND))
    return (
        f"Nobody has this turn on {when} now. To plan the date again, take back what is left of its plan (bygones "
        f"ledger unplan {target} --from {first} --until {end}) and use bygones ledger plan."
    )
