"""What `bygones ledger explain` prints: an agent's standing event by event, or an event and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bygones._text import counted
from bygones.cli.console import Column, print_document, print_fitting, print_json, print_sentences, say
from bygones.cli.ledger_tables import settings_in_words
from bygones.kinds import Kind, words
from bygones.ledger import Event, Ledger
from bygones.ledger.actions.explanations import Contribution, LaterChange
from bygones.ledger.actions.remade import Told
from bygones.ledger.model.draws import check_draw
from bygones.ledger.model.events import LARGEST, RECEIVED, is_counted
from bygones.ledger.model.times import day, iso, named

BEYOND = (
    f"An amount beyond {LARGEST:g}, which only an earlier version could record, does not count: correct it to what it "
    "should have been."
)


class Explained(NamedTuple):
    """A decision, and what belongs to it.

    Attributes:
        decision: the decision.
        told: what it gave, and why.
        first: the decision in whose place it was made, and whose draw it has; the decision itself if there is none.
        committing: the event that had committed to the draw, None where none had.
        again: the decision that was made in its place and counts instead, None where there is none.
        given_again: what that one gave, in words.
    """

    decision: Event
    told: Told
    first: Event
    committing: Event | None
    again: Event | None
    given_again: dict[str, str]


def explained(ledger: Ledger, decision: Event) -> Explained:
    """A decision with what is told of it."""
    origin = (decision.details or {}).get("redecides")
    first = decision if origin is None else ledger.event(origin)
    again = ledger.made_again(decision)
    given_again = {} if again is None else ledger.told(again).gets
    return Explained(decision, ledger.told(decision), first, ledger.committing(first), again, given_again)


def print_contributions(agent: str, parts: Sequence[Contribution], json: bool, kind: Kind, zone: str = "UTC") -> None:
    """Prints an agent's remembered utility, event by event."""
    if json:
        print_json([part._asdict() | {"time": iso(part.time)} for part in parts])
        return
    word = words(kind)
    columns = [
        Column("event"), Column("kind", "left"), Column("day", "left"), Column("amount", gives_way=2),
        Column("still counts", gives_way=1), Column("remembered"), Column("note", "left", gives_way=3, folds=True),
    ]  # fmt: skip
    rows = [
        [
            str(p.seq) if p.seq else "",
            word.received if p.kind in RECEIVED else p.kind,
            day(p.time, zone),
            f"{p.amount:.6g}" if is_counted(p.amount) else f"{p.amount:.6g} (too large to count)",
            f"{p.weight:.1%}",
            f"{p.counts:.6g}",
            p.note,
        ]
        for p in parts
    ]
    if not any(part.note for part in parts):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    what = "burden" if kind == "burden" else "utility"
    print_fitting(f"Remembered {what} of {agent} (days in {zone})", columns, rows)
    if any(not is_counted(part.amount) for part in parts):
        say(BEYOND)
    say(f"Total remembered: {sum(part.counts for part in parts):.6g}")


def print_event(
    event: Event,
    found: Explained | None,
    changes: Sequence[LaterChange],
    json: bool,
    kind: Kind,
    zone: str = "UTC",
    void_since: int | None = None,
    why_not: str = "",
) -> None:
    """Prints an event and, if it is or follows from a decision, the reasons and the draw; and what changed it later."""
    if json:
        later = [change.event.to_dict() | {"was": change.was, "now": change.now} for change in changes]
        told = {} if found is None else {"gets": found.told.gets, "reasons": found.told.reasons}
        decision = None if found is None else found.decision.to_dict() | told
        data = {"decision": decision, "changed_by": later, **({"why_not": why_not} if why_not else {})}
        again = None if found is None or found.again is None else found.again.seq
        print_json(event.to_dict() | {"void_since": void_since, "decided_again_as": again} | data)
        return
    received = words(kind).received
    number = "" if event.amount is None else f" {event.amount:.6g}"
    about = "" if event.agent is None else f"{event.agent}, "
    when = f"at {named(event.time, zone)}, recorded at {named(event.recorded, zone)}"
    by = f" by {event.author}" if event.author else ""
    what = received if event.kind == "received" else event.kind
    say(f"Event {event.seq}: {about}{what}{number} {when}{by}")
    if not is_counted(event.amount or 0.0):
        say(BEYOND)
    if event.kind == "void":
        say(f"It makes event {event.refers} void.")
    if void_since is not None:
        say(f"Void since event {void_since}: it counts as if it had not been recorded.")
    if event.note:
        say(f"Note: {event.note}")
    if event.kind == "rules":
        print_sentences(f"{name}: {setting}" for name, setting in settings_in_words(event.details or {}))
    if found is not None:
        print_document(found.told.explanation)
        print_sentences([*([why_not] if why_not else []), *_draw(found), *_again(found)])
    print_sentences(change.sentence(received) for change in changes)


def _draw(found: Explained) -> list[str]:
    """The seed of a decision, and how to check it; nothing for decisions of before seeds were committed to."""
    drawn = (found.first.details or {}).get("draw")
    if drawn is None or "seed" not in drawn:
        return []
    kept = "" if found.first is found.decision else f" of event {found.first.seq}, in whose place this was decided"
    if found.committing is None:
        return [f"Draws were made with the seed {drawn['seed']}{kept}, to which no earlier event had committed."]
    committing = found.committing
    is_kept = "and it is" if check_draw(found.first, committing) else "BUT IT IS NOT"
    published = (committing.details or {})["draw"]
    if "chain" in published and "number" in drawn:
        steps = drawn["number"] - published.get("before", 0)
        return [
            f"Draw {drawn['number']} was made with the seed {drawn['seed']}{kept}. An agent's lot is the SHA-256 of "
            "the seed, the day of a plan and the name.",
            f"Event {committing.seq} had committed to it: hashed {counted(steps, 'time')} with SHA-256 it must be "
            f"{published['chain']}, {is_kept}.",
        ]
    return [
        f"Draws were made with the seed {drawn['seed']}{kept}.",
        f"Event {committing.seq} had committed to it: its SHA-256 must be {published['next']}, {is_kept}. To check it "
        f"yourself: printf %s {drawn['seed']} | sha256sum",
    ]


def _again(found: Explained) -> list[str]:
    if found.again is None:
        return []
    gets = "; ".join(f"{agent}: {what}" for agent, what in found.given_again.items()) or "nobody"
    return [f"Decided again as event {found.again.seq}, with the same draw: {gets}."]
