"""Revisions: which events are void, and which amounts were corrected.

An event lapses when a later event of kind `void` names it; a void of that void puts it back. What rests on an event
lapses with it: the amounts received through a decision, and the corrections of an amount. A correction sets an amount
from there on. If there are several, the last that is not void counts.

All decisions with one draw are *versions* of one decision, and so are all plans for one instant. Only the last version
that is not void is in effect, no matter which versions were made void or put back in between.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from bygones.ledger.model.events import DECISIONS, RECEIVED, counted

NOTHING = 1e-9
"""Corrections used to have the difference, not the new amount; a smaller share of an amount was left by rounding."""

RESTING = (*RECEIVED, "correction")
"""Kinds of event that lapse with the event they refer to."""

RELATING = ("to", "redecides", "draw")
"""Details that relate an event to others: the amount to which it corrects one, the decision that it replaces, and its
draw."""


class Related(NamedTuple):
    """The links of an event: to the event it refers to, the amount of a correction, the decision replaced, the draw."""

    seq: int
    kind: str
    time: int
    refers: int | None
    amount: float
    to: float | None
    origin: float | None
    draw: float | None


Revisions: TypeAlias = dict[tuple[int, int], tuple[int | None, float | None]]
"""By event and the event since which: until which it counts otherwise than recorded, and with what amount; None for not
at all."""


def related(
    seq: int, kind: str, time: int, refers: int | None, amount: float | None, details: Mapping[str, Any]
) -> Related:
    """The links of an event to others; anything but a number in its details is none."""
    draw = details.get("draw")
    said = details.get("to"), details.get("redecides"), draw.get("number") if isinstance(draw, dict) else None
    to, origin, number = (value if isinstance(value, int | float) else None for value in said)
    return Related(seq, kind, time, refers, amount or 0.0, to, origin, number)


def revisions(events: Iterable[Related]) -> Revisions:
    """The revisions that follow from related events."""
    known = {event.seq: event for event in sorted(events, key=lambda event: event.seq)}
    resting = defaultdict[int, list[int]](list)
    versions = defaultdict[tuple[str, float], list[int]](list)
    corrections = defaultdict[int, dict[int, float]](dict)
    voided: set[int] = set()
    revised_since: dict[int, int] = {}
    intervals: Revisions = {}

    def is_lapsed(seq: int) -> bool:
        event = known[seq]
        if seq in voided or any(later > seq and later not in voided for later in versions.get(slot(event), ())):
            return True
        return event.kind in RESTING and event.refers in known and is_lapsed(event.refers)

    def corrected(seq: int) -> float | None:
        standing = [to for each, to in corrections[seq].items() if each not in voided]
        return standing[-1] if standing else None

    def look(seq: int, at: int) -> None:
        """Notes whether and with which amount an event counts from event `at` on, and the same for the events on it."""
        is_void = is_lapsed(seq)
        amount = None if is_void else corrected(seq)
        is_revised = is_void or amount is not None
        # An interval ends where another begins, and none is ever rewritten. So the ledger as of any earlier event can
        # still be read.
        since = revised_since.get(seq)
        if since is not None and not (is_revised and intervals[seq, since][1] == amount):
            intervals[seq, since] = at, intervals[seq, since][1]
            del revised_since[seq]
        if is_revised and seq not in revised_since:
            revised_since[seq] = at
            intervals[seq, at] = None, amount
        for each in resting[seq]:
            look(each, at)

    for seq, event in known.items():
        target = known.get(event.refers or 0)
        if event.kind in RESTING and target is not None:
            resting[target.seq].append(seq)
        if event.kind in DECISIONS:
            versions[slot(event)].append(seq)
            about = event
        elif event.kind == "correction" and target is not None:
            now = corrected(target.seq)
            counts = counted(target.amount) if now is None else now
            corrections[target.seq][seq] = _corrected_to(event, counts, target.amount)
            about = target
        elif event.kind == "void" and target is not None:
            put_back = target.kind == "void" and target.refers is not None
            about = known[target.refers] if put_back and target.refers is not None else target
            (voided.discard if put_back else voided.add)(about.seq)
            if about.kind == "correction" and about.refers is not None:
                about = known[about.refers]
        elif event.kind in RESTING:
            about = event
        else:
            continue
        # As one version of a decision comes or goes, another comes into effect or lapses.
        for each in versions.get(slot(about), [about.seq]):
            look(each, seq)
    return intervals


def _corrected_to(correction: Related, now: float, recorded: float) -> float:
    """The amount after a correction of one that counts as `now`; older corrections only have the difference."""
    if correction.to is not None:
        return correction.to
    to = math.fsum([now, correction.amount])
    return 0.0 if abs(to) <= NOTHING * abs(recorded) else to


def slot(event: Related) -> tuple[str, float]:
    """The key of all versions of one decision: the instant of a plan; the draw or, in version 2, the first decision."""
    if event.kind == "plan":
        return "plan", event.time
    if event.draw is not None:
        return "draw", event.draw
    return event.kind, event.origin or event.seq
