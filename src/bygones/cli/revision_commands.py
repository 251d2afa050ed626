"""`bygones ledger void` and `redecide`: mistaken events, and the decisions that depended on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones.cli.ledger_arguments import Recorded, Recording, Target, print_answer

if TYPE_CHECKING:
    from bygones.ledger import Event


def void(
    target: Target,
    event: Annotated[Positional[int], arg(metavar="EVENT", help="The number of the event.")],
    recording: Recorded = Recording(),
) -> None:
    """Make an event void, as if it had never been recorded; the event itself stays in the ledger.

    With a decision, the amounts that it assigned are void too. Voiding a void puts the event back in effect.

    For example:
        bygones ledger void team.db 12 --note "wrong year"
    """
    with recording.open(target) as ledger:
        entry, account, zone = ledger.void(event, **recording.details), ledger.account(event), ledger.zone()
    voided = account.event
    restored = f", and event {voided.refers} counts again" if voided.kind == "void" else account.in_brackets()
    sentences = [f"Event {entry.seq}: event {event} is void{restored}."]
    if voided.kind in ("planned", "plan") and voided.time > entry.recorded:
        sentences.append(_vacant(target, voided, zone))
    recording.print_events([entry], *sentences)


def redecide(
    target: Target,
    from_: Annotated[str, arg(name="from", help="The first time of the period.", metavar="TIME")],
    until: Annotated[
        str | None,
        arg(help="The first time after the period (default: now).", help_behavior_hint="", metavar="TIME"),
    ] = None,
    accept: Annotated[bool, arg(help="Record the result; otherwise it is only shown.")] = False,
    recording: Recorded = Recording(),
) -> None:
    """Decide a past period again with today's knowledge, and list the later decisions that depended on it.

    Only decisions that come out differently are replaced: they become void and are made again at their own time.

    For example:
        bygones ledger redecide team.db --from 2026-03-01 --until 2026-04-01
        bygones ledger redecide team.db --from 2026-03-01 --accept --note "a hold was recorded late"
    """
    from bygones.ledger.actions.differences import differences

    with recording.open(target) as ledger:
        redecisions, zone = ledger.redecide(from_, until, accept=accept, **recording.details), ledger.zone()
        in_force = ledger.rules()
    data = {"recorded": accept, "decisions": [each.to_dict() for each in redecisions]}
    is_recorded = accept and any(each.in_period for each in redecisions)
    print_answer(differences(redecisions, in_force, zone, recorded=accept), data, recording.json, recorded=is_recorded)


def _vacant(target: str, planned: Event, zone: str) -> str:
    """Which turns nobody has now, and how to plan them again."""
    from bygones.ledger.model.times import SECOND, format_instant, shown

    when = format_instant(planned.time, zone)
    if planned.kind == "plan":
        return f"Nobody has a turn on {when} now. To plan it again, use bygones ledger plan."
    first, end = (shown(at, zone).replace(" ", "T") for at in (planned.time, planned.time + 60 * SECOND))
    return (
        f"Nobody has this turn on {when} now. To plan the date again, take back the rest of its plan (bygones ledger "
        f"unplan {target} --from {first} --until {end}) and use bygones ledger plan."
    )
