"""Accounts of single events: the entry itself, the reasons of a decision, its draw, and later changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from bygones._text import amount, counted, listed
from bygones.document.document import Answer, Block, Document
from bygones.kinds import words
from bygones.ledger.actions.decisions import why_left_out
from bygones.ledger.actions.explanations import BEYOND, LaterChange, changes_since, made_again
from bygones.ledger.actions.remade import Told, causes, told
from bygones.ledger.model.draws import check_draw, number_of_day
from bygones.ledger.model.events import AMOUNTS, DECISIONS, RECEIVED, Event, is_counted
from bygones.ledger.model.fold import START
from bygones.ledger.model.rule_settings import settings_in_words
from bygones.ledger.model.rules import Rules
from bygones.ledger.model.span import Span, load_spans
from bygones.ledger.model.times import day_in_words, format_instant
from bygones.ledger.storage import derived, draw_table, revised_table, rows
from bygones.ledger.storage.turn_times import span_of_event

_VERBS = {"leave": "leaves", "hold": "goes on hold", "resume": "takes part again"}


class DecisionAccount(NamedTuple):
    """A decision, and what belongs to it.

    Attributes:
        decision: the decision.
        told: its assignments and reasons.
        first: the decision in whose place it was made, and whose draw it has; the decision itself if there is none, or
            if it has the draw of a day.
        committing: the event that had committed to the draw, None where none had.
        again: the decision that was made in its place and counts instead, None where there is none.
        gets_again: the assignments of that one, in words.
    """

    decision: Event
    told: Told
    first: Event
    committing: Event | None
    again: Event | None
    gets_again: dict[str, str]

    def sentences(self) -> Iterator[str]:
        """Why a date was planned again, how the draw is checked, and what the decision in its place gives."""
        details = self.decision.details or {}
        if "turns" in details:
            yield f"Planned again in place of event {details['redecides']}: {'; '.join(causes(details['turns']))}."
        drawn = (self.first.details or {}).get("draw") or {}
        needed_none = self.told.again is not None and not self.told.again.explanation.was_drawn
        if "seed" in drawn and not needed_none:
            yield from self._draw(drawn)
        if self.again is not None:
            gets = "; ".join(f"{agent}: {what}" for agent, what in self.gets_again.items()) or "nobody"
            yield f"Decided again as event {self.again.seq}, with the same draw: {gets}."

    def _draw(self, drawn: dict[str, Any]) -> Iterator[str]:
        of = "" if self.first is self.decision else f" of event {self.first.seq}, in whose place this was decided"
        committing, seed = self.committing, drawn["seed"]
        if committing is None:
            yield f"Draws were made with the seed {seed}{of}, to which no earlier event had committed."
            return
        published, is_kept = (committing.details or {})["draw"], check_draw(self.first, committing)
        if "day" in drawn:
            yield f"The draw of {drawn['day']} was made with the seed {seed}."
            yield "An agent's lot is the SHA-256 of the seed, the day and the name."
            yield _commitment(committing.seq, published["days"], number_of_day(drawn["day"]), is_kept)
            return
        if "chain" in published and "number" in drawn:
            steps = drawn["number"] - published.get("before", 0)
            yield f"Draw {drawn['number']} was made with the seed {seed}{of}."
            yield "An agent's lot is the SHA-256 of the seed and the name."
            yield _commitment(committing.seq, published["chain"], steps, is_kept)
            return
        yield f"Draws were made with the seed {seed}{of}."
        yield _commitment(committing.seq, published["next"], 1, is_kept)
        yield f"To check it yourself: printf %s {seed} | sha256sum"


def _commitment(seq: int, published: str, steps: int, is_kept: bool) -> str:
    """Whether the hash of a seed is the one that an event published."""
    hashed = "Its SHA-256" if steps == 1 else f"Hashed {counted(steps, 'time')} with SHA-256, it"
    if is_kept:
        return f"{hashed} is {published}, as published in event {seq}."
    return f"{hashed} IS NOT {published}, which was published in event {seq}."


@dataclass(frozen=True)
class EventAccount(Answer):
    """An event and all that belongs to it.

    Attributes:
        event: the event.
        rules: the rules at its time.
        zone: the time zone in which times are shown.
        decision: the decision that it is or follows from, None where there is none.
        changes: what changed it later.
        void_since: the event since which it is void, None if it counts.
        kept: the plans made in place of the first one in which the agent kept this turn, the latest first.
        taken_over: the turn of another agent that this one took over in a swap, None where there is none.
        spans: its times, if it lasts: one, or of several items given at once, several.
    """

    event: Event
    rules: Rules
    zone: str
    decision: DecisionAccount | None
    changes: list[LaterChange]
    void_since: int | None
    kept: tuple[Event, ...] = ()
    taken_over: Event | None = None
    spans: tuple[Span, ...] = ()

    def document(self) -> Document:
        """The event as people read it."""
        event, received = self.event, words(self.rules.kind).received
        blocks: list[Block] = [] if is_counted(event.amount or 0.0) else [BEYOND]
        if event.kind == "void":
            blocks.append(f"It makes event {event.refers} void.")
        if self.void_since is not None:
            blocks.append(f"Void since event {self.void_since}: it counts as if it had not been recorded.")
        if START in (event.details or {}) and not self.changes:
            blocks.append("The starting amount is computed at that time.")
        if event.note:
            blocks.append(f"Note: {event.note}")
        if event.kind == "rules":
            blocks += [f"{name}: {setting}" for name, setting in settings_in_words(event.details or {})]
        if self.decision is not None:
            explanation = self.decision.told.explanation
            blocks += [explanation.headline, *explanation.blocks, *self.decision.sentences()]
        blocks += [
            f"{event.agent} kept this turn when the date was planned again (event {plan.seq}): "
            f"{'; '.join(causes((plan.details or {})['turns']))}."
            for plan in reversed(self.kept)
        ]
        if self.taken_over is not None:
            blocks.append(f"{event.agent} took over the turn of {self.taken_over.agent} (event {self.taken_over.seq}).")
        blocks += [change.sentence(received) for change in self.changes]
        return Document(self._headline(received), blocks, "Event")

    def _headline(self, received: str) -> str:
        event = self.event
        size = "" if event.amount is None else f" {self.rules.handed_out.with_unit(amount(event.amount, 6))}"
        match event.kind:
            case "received":
                what = f"{event.agent} {received}{size}"
            case "join":
                starts = size and START not in (event.details or {})
                what = f"{event.agent} joins, starting with{size}," if starts else f"{event.agent} joins"
            case kind:
                what = f"{event.agent} {_VERBS[kind]}" if kind in _VERBS else f"{event.agent}, {kind}{size}"
        lasts = listed([span.in_words(self.zone) for span in self.spans])
        begins = f"from {lasts} {self.zone}" if lasts else f"at {format_instant(event.time, self.zone)}"
        when = f"{begins}, recorded at {format_instant(event.recorded, self.zone)}"
        return (
            f"Event {event.seq}: {what if event.agent is not None else f'{event.kind}{size}'} {when}"
            f"{f' by {event.author}' if event.author else ''}"
        )

    def in_brackets(self) -> str:
        """The content of the event, after its number: ` (Ana, 8 h on 1 March 2026)`; may be empty."""
        event, when = self.event, day_in_words(self.event.time, self.zone)
        if event.kind in DECISIONS and self.decision is not None:
            gets = "; ".join(f"{agent}: {what}" for agent, what in self.decision.told.gets.items()) or "nobody"
            return f" ({gets} on {when})"
        if event.agent is None:
            return ""
        if event.kind in AMOUNTS and event.amount:
            return f" ({event.agent}, {self.rules.handed_out.with_unit(amount(event.amount, 6))} on {when})"
        return f" ({event.agent}, {event.kind} on {when})"

    def why_not(self, agent: str) -> str:
        """Why an agent was not chosen in the decision."""
        again, left_out = None, {}
        if self.decision is not None:
            again, left_out = self.decision.told.again, dict((self.decision.decision.details or {}).get("left_out", []))
        if agent in left_out:
            return why_left_out(agent, left_out[agent])
        if again is None:
            missing = "is no decision" if self.decision is None else "was decided by a version that cannot be repeated"
            raise ValueError(f"why-not cannot be answered: event {self.event.seq} {missing}")
        return again.why_not(agent)

    def to_dict(self) -> dict[str, Any]:
        """The account, of the types that JSON has."""
        changes = [change.event.to_dict() | {"was": change.was, "now": change.now} for change in self.changes]
        decision, again = None, None
        if self.decision is not None:
            reasons = {"gets": self.decision.told.gets, "reasons": self.decision.told.reasons}
            decision = self.decision.decision.to_dict() | reasons
            again = None if self.decision.again is None else self.decision.again.seq
        data = {"decided_again_as": again, "decision": decision, "changed_by": changes}
        length = {"length": [span.to_dict() for span in self.spans]} if self.spans else {}
        return self.event.to_dict() | {"void_since": self.void_since} | length | data


def account_of(connection: sa.Connection, rules: Rules, zone: str, seq: int) -> EventAccount:
    """The account of an event by its number; of something received, with the decision through which it was."""
    event = rows.load_event(connection, seq)
    cause = rows.load_event(connection, event.refers) if event.kind in RECEIVED and event.refers else event
    kept: list[Event] = []
    while _is_kept(event, cause):
        kept.append(cause)
        cause = rows.load_event(connection, (cause.details or {})["redecides"])
    decision = _decision(connection, cause) if cause.kind in DECISIONS else None
    if decision is not None and kept:
        decision = decision._replace(again=None, gets_again={})  # the plan that this turn belongs to
    taken = derived.linked(connection, "takes", seq)
    taken_over = rows.load_event(connection, taken[0]) if taken else None
    void_since = revised_table.void_since(connection, seq)
    changes = changes_since(connection, event)
    spans = span_of_event(connection, event) if event.kind in RECEIVED else load_spans(event.details or {}).values()
    lasting = tuple(dict.fromkeys(span for span in spans if span.hours))
    return EventAccount(event, rules, zone, decision, changes, void_since, tuple(kept), taken_over, lasting)


def _is_kept(turn: Event, plan: Event) -> bool:
    """Whether an agent had a turn already, and kept it, when its date was planned again."""
    details, mine = plan.details or {}, turn.details or {}
    if "turns" not in details or "swapped" in mine or turn.kind not in RECEIVED:
        return False
    item = mine.get("item")
    had = any(agent == turn.agent and other == item and not why for agent, other, *_, why in details["turns"])
    return had and not any(agent == turn.agent and other == item for agent, other, *_ in details["given"])


def committing(connection: sa.Connection, decision: Event) -> Event | None:
    """The earlier event that had committed to the draw of a decision, or None."""
    drawn = (decision.details or {}).get("draw") or {}
    seq = drawn.get("committed_in") or draw_table.published_in(connection, drawn)
    return None if seq is None or seq >= decision.seq else rows.load_event(connection, seq)


def _decision(connection: sa.Connection, decision: Event) -> DecisionAccount:
    details = decision.details or {}
    origin = None if "day" in details.get("draw", {}) else details.get("redecides")
    first = decision if origin is None else rows.load_event(connection, origin)
    again = made_again(connection, decision)
    gets_again = {} if again is None else told(connection, again).gets
    return DecisionAccount(
        decision, told(connection, decision), first, committing(connection, first), again, gets_again
    )
