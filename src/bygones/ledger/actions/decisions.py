"""Who gets what now, from everyone's standing and under the ledger's rule.

A decision is recorded as data: the request, the assignments, the rule with its prices, and the draw. Its reasons follow
from these and from the standing before it, whenever someone asks. Between equally good choices lots decide, which were
fixed before the proposal; see `model/draws.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import sqlalchemy as sa

from bygones._text import amount, check_text, listed
from bygones.allocation import Decision, allocate, normalised, usual_reports
from bygones.allocation.explanation import Circumstances, Explanation
from bygones.allocation.problem_contract import NAMED, Given, Problem
from bygones.allocation.problems import Assign
from bygones.allocation.why_not import why_not
from bygones.document.document import Answer, Document
from bygones.kinds import words
from bygones.ledger.actions import learned_prices, records
from bygones.ledger.model.draws import Draw
from bygones.ledger.model.events import DECISIONS, RECEIVED, Entry, Event
from bygones.ledger.model.fold import NEVER
from bygones.ledger.model.participation import ON_HOLD, PRESENT, status_over
from bygones.ledger.model.rules import RuleBook, Rules
from bygones.ledger.model.span import Span, Spans, lasting_all, save_spans, span_of, whole
from bygones.ledger.model.standing import LEVEL, Standing
from bygones.ledger.model.times import UNITS, When, as_datetime, day_in_words, format_instant, iso, short_day
from bygones.ledger.storage import draw_table, rows, schema, timeline
from bygones.ledger.storage.revised_table import in_effect
from bygones.ledger.storage.store import LedgerError
from bygones.ledger.storage.transaction import SKEW, Transaction
from bygones.ledger.storage.turn_times import TimedTurn, turns_during
from bygones.memory import Capped, Discounted, Memory, MemoryState, PerfectRecall

METHOD = 2
"""Goes up by one when the same request, rules and past would be decided otherwise than before. Method 1 drew lots in
another way; `verify` makes decisions of both methods again."""

METHODS = (1, METHOD)
"""The methods that this version can repeat."""


class StaleProposalError(LedgerError):
    """Something has been recorded since the proposal was made."""


JOINS = "joins on"
"""Begins the reason why an agent who joins later is left out of a date."""

HAS_TURN = "has a turn from"
"""Begins the reason why an agent is left out who has another turn at the same time."""


@dataclass(frozen=True, eq=False, repr=False)
class Proposal(Answer):
    """A decision, made but perhaps not recorded.

    Attributes:
        request: the things to allocate, and everyone's needs.
        head: the number of the ledger's last event, from whose standing this follows.
        standing: where everyone stood.
        members: the rows of `standing` that took part in the decision, in the order of `allocation`.
        allocation: who gets what.
        draw: by which equally good choices were told apart.
        usual: the usual report of each agent, where reports are normalised; else empty.
        learned_from: from how many decisions prices were learned.
        spans: how long each thing lasts, if known.
    """

    request: Problem
    head: int
    standing: Standing
    members: np.ndarray
    allocation: Decision
    draw: Draw
    usual: Mapping[str, float] = field(default_factory=dict)
    learned_from: int = 0
    spans: Spans = field(default_factory=dict)

    @property
    def at(self) -> int:
        """The instant of the decision."""
        return self.standing.at

    @property
    def given(self) -> list[Given]:
        """The assignments."""
        return self.allocation.handed_out

    @property
    def utilities(self) -> dict[str, float]:
        """The utility of each agent who is served."""
        worth = self.allocation.utilities
        names = self.allocation.agent_names
        return {names[row]: float(worth[row]) for row in self.allocation.served.tolist()}

    @property
    def commitment(self) -> str:
        """The hash that was published before the seed of the draw."""
        return self.draw.commitment

    def gets(self) -> dict[str, str]:
        """The assignment of each agent who is served, in words."""
        return self.allocation.gets

    @cached_property
    def explanation(self) -> Explanation:
        """Why this is the decision, with the last time that each agent in question was served."""
        stood, names = self.standing, set(self.request.asking)
        asking = {row for row, name in enumerate(self.allocation.agent_names) if name in names}
        means = [f"{name} {amount(self.usual[name])}" for name in self.request.agent_names if name in self.usual][
            :NAMED
        ]
        more = [f"Requests count as multiples of the average request: {listed(means)}."] if means else []
        totals = zip(stood.names, stood.last.tolist(), stood.remembered.tolist(), strict=True)
        new = [name for name, at, total in totals if name in names and at == NEVER and total > LEVEL]
        if new:
            own, word = f"{listed(new, NAMED)} {'has' if len(new) == 1 else 'have'}", words(stood.rules.kind).recent
            entry = stood.rules.handed_out.entry(stood.rules.kind)
            more.append(f"{own} had no {entry} yet: the {word} is what newcomers start with, or an offset.")
        last = [
            "never" if (at := int(stood.last[member])) == NEVER else short_day(at, stood.zone, stood.at)
            for member in self.members
        ]
        when = day_in_words(stood.at, stood.zone)
        weights = stood.entitlements if stood.rules.entitlements else np.ones(len(stood))
        on_hold = [
            (name, float(total), float(weight))
            for name, state, total, weight in zip(stood.names, stood.status, stood.remembered, weights, strict=True)
            if state == ON_HOLD
        ]
        memory = stood.rules.memory_sentence
        return Explanation(self.allocation, Circumstances(asking, last, when, memory, more, True, on_hold))

    def document(self) -> Document:
        """The decision and its reasons, as people read them."""
        return self.explanation.document

    def reasons(self) -> list[str]:
        """The decision and its reasons, one sentence each; `document` has the numbers behind them as well."""
        return self.explanation.sentences

    def why_not(self, agent: str) -> str:
        """Why an agent was not chosen, in a sentence or two."""
        status = dict(zip(self.standing.names, self.standing.status, strict=True))
        if agent not in status:
            raise ValueError(
                f"why_not must name an agent who had joined by {format_instant(self.at, self.standing.zone)}, such as "
                f"{listed(self.standing.names, 5)}, got {agent!r}"
            )
        if status[agent] != PRESENT:
            return f"{agent} was {status[agent]}."
        return why_not(self.explanation.compared, agent)

    def details(self) -> dict[str, Any]:
        """The details of the decision that a ledger stores."""
        return {
            "method": METHOD,
            "request": self.request.to_dict(),
            "given": [list(each) for each in self.given],
            "welfare": self.standing.rules.welfare,
            **({"half_life": self.standing.rules.half_life} if self.standing.rules.fades_alike else {}),
            **({} if self.allocation.prices is None else self._priced() | {"learned_from": self.learned_from}),
            **({"usual": dict(self.usual)} if self.usual else {}),
            "optimal": self.allocation.optimal,
            "gap": self.allocation.gap,
            **save_spans(self.spans),
        }

    def to_dict(self) -> dict[str, Any]:
        """The decision and its reasons, of the types that JSON has.

        It has the keys of `Decision.to_dict`, where `utilities` are by name and only of the agents served, and
        `prices` are by name and only of the agents who asked.
        """
        return {
            **self.allocation.to_dict(self.reasons()),
            "at": iso(self.at),
            "welfare": self.standing.rules.welfare,
            "half_life": self.standing.rules.half_life,
            **({} if self.standing.rules.fades_alike else {"memory": self.standing.rules.memory_in_words}),
            **({} if self.allocation.prices is None else self._priced()),
            **({"usual": dict(self.usual)} if self.usual else {}),
            "utilities": self.utilities,
            "commitment": self.commitment,
            **({"length": {item: span.to_dict() for item, span in self.spans.items()}} if self.spans else {}),
        }

    def __repr__(self) -> str:
        return f"<Proposal at {format_instant(self.at, self.standing.zone)}: {self.allocation!r}>"

    def _priced(self) -> dict[str, Any]:
        """The rule, and the price of a unit for each agent who asked, where the rule is `prices`."""
        paid = dict(zip(self.allocation.agent_names, np.asarray(self.allocation.prices).tolist(), strict=True))
        return {"rule": self.allocation.rule, "prices": {name: paid[name] for name in self.request.agent_names}}


def propose(
    connection: sa.Connection,
    book: RuleBook,
    head: int,
    request: Problem,
    at: When | None,
    now: int,
    lengths: Mapping[str, str] = MappingProxyType({}),
) -> Proposal:
    """The best allocation from the standing at an instant, by default now.

    It cannot be ahead of the clock, and not before anything that has been received or decided by now. `lengths` are how
    long each thing lasts; who cannot be there all the time, or has another turn then, is refused.
    """
    time = _time(connection, book, at, now)
    stood = timeline.standing(connection, book, time)
    spans = lasting_all(lengths, time, book.zone)
    check_all_through(connection, request, stood, spans)
    request = stood.rules.weighted(request, spans, time, book.zone)
    draw = draw_table.next_draw(connection, request.to_dict(), time, book.zone)
    return replace(proposal(connection, stood, request, head, draw), spans=spans)


def check_all_through(
    connection: sa.Connection, request: Problem, stood: Standing, spans: Spans, head: int | None = None
) -> None:
    """Refuses a decision about things that last if someone in the request cannot take one of them."""
    if not spans:
        return
    check_together(request, spans, stood.rules)
    _check_agents(request, stood, [stood.names[row] for row in stood.present])
    turns = turns_during(connection, whole(spans), head)
    for agent, why in _prevented(request, stood, spans, turns).items():
        for reason in why.values():
            raise ValueError(
                f"agent {why_left_out(repr(agent), reason)[:-1]} and cannot take part in this decision: leave them "
                "out, or empty their cell; `bygones ledger rules LEDGER --overlaps allowed` allows overlapping turns"
            )


def proposal(
    connection: sa.Connection,
    stood: Standing,
    request: Problem,
    head: int,
    draw: Draw,
    without: Collection[int] = (),
) -> Proposal:
    """The best allocation from a standing.

    Args:
        connection: the ledger.
        stood: where everyone stands.
        request: the things to allocate, and everyone's needs.
        head: the number of the last event that is known.
        draw: decides between equally good choices.
        without: decisions from whose requests nothing is learned.
    """
    members = stood.present
    names = [stood.names[row] for row in members]
    _check_agents(request, stood, names)
    rules = stood.rules
    by_prices, normalising = rules.rule == "prices", rules.reports == "normalised"
    past = learned_prices.requests(connection, stood.at, head, without) if by_prices or normalising else []
    usual = usual_reports([*past, request]) if normalising else {}
    asked = normalised(request, usual) if usual else request
    past = [normalised(each, usual) for each in past] if usual else past
    listed_problem = asked.among(names, rules.kind)
    # A custom kind of problem may not know its agents by name; its draw depends on their order.
    by_lot = type(listed_problem).allocation_of is not Problem.allocation_of
    order = draw.order(names) if by_lot else list(range(len(names)))
    drawn, rows_drawn = [names[i] for i in order], members[order]
    problem = listed_problem if drawn == names else asked.among(drawn, rules.kind)
    remembered = stood.remembered[rows_drawn]
    learned = learned_prices.learned(past, rules, drawn) if by_prices else None
    steps = learned_prices.steps_like(problem, remembered) if by_prices else 0.0
    allocation = allocate(
        problem,
        memory_of(rules),
        MemoryState(remembered, np.asarray(steps), np.zeros_like(remembered), np.zeros(())),
        rules.welfare,
        elapsed=0,
        entitlements=stood.entitlements[rows_drawn] if rules.entitlements else None,
        time_unit="day",
        thing=rules.thing,
        unit=rules.unit,
        rule=rules.rule,
        calibration=None if learned is None else learned.prices,
        learned_from=learned_prices.described(learned) if by_prices else "",
        rng=draw.rng if by_lot else np.random.default_rng(int(draw.seed, 16)),
    )
    if drawn != names:
        allocation = allocation.listed_as(listed_problem)
    count = 0 if learned is None else learned.requests
    return Proposal(request, head, stood, members, allocation, draw, usual, count)


def accept(tx: Transaction, proposal: Proposal, note: str = "") -> list[Event]:
    """Records a decision that was proposed before, unless anything has been recorded since."""
    nothing_since = proposal.head in (tx.began_with, tx.head.head)
    draw = draw_table.next_draw(tx.connection, proposal.request.to_dict(), proposal.at, tx.book.zone)
    if not nothing_since or draw.seed != proposal.draw.seed:
        raise StaleProposalError("something has been recorded since this proposal was made: decide again")
    return enact(tx, proposal, note)


def enact(tx: Transaction, proposal: Proposal, note: str) -> list[Event]:
    """Records a decision with its draw, and the utilities received through it."""
    drawn = draw_table.reveal(tx.connection, proposal.draw, tx.next)
    time = tx.time(as_datetime(proposal.at), ahead=SKEW)
    return record(tx, time, proposal, {**proposal.details(), "draw": drawn}, note)


def record(tx: Transaction, time: int, proposal: Proposal, details: dict[str, Any], note: str) -> list[Event]:
    """Records a decision and the amounts received through it."""
    decision = tx.append("decision", time, details=details, note=check_text("note", note))
    entries = [Entry(name, utility, as_datetime(time)) for name, utility in proposal.utilities.items()]
    return [decision, *records.amounts(tx, "received", entries, refers=decision.seq)]


def possible(
    request: Problem, stood: Standing, spans: Spans | None = None, turns: Sequence[TimedTurn] = ()
) -> tuple[Problem, dict[str, str]]:
    """The request of the agents who can take part, and why others cannot.

    Args:
        request: the things to allocate, and everyone's needs.
        stood: where everyone stands, and when they take part.
        spans: how long each thing lasts; the agent has to be there all the time.
        turns: the turns that agents have then, which must not overlap with new ones.
    """
    status = dict(zip(stood.names, stood.status, strict=True))
    for agent in request.agent_names:
        if agent not in status:
            raise rows.unknown_agent(agent, stood.names)
    if spans:
        return _possible_all_through(request, stood, spans, turns)
    left_out = {agent: status[agent] for agent in request.agent_names if status[agent] != PRESENT}
    return request.among([agent for agent in request.agent_names if agent not in left_out]), left_out


def _possible_all_through(
    request: Problem, stood: Standing, spans: Spans, turns: Sequence[TimedTurn]
) -> tuple[Problem, dict[str, str]]:
    """As `possible`, for things that last: an agent may be able to take some of them and not others."""
    prevented = _prevented(request, stood, spans, turns)
    able = {
        agent: {item: utility for item, utility in request.worth.get(agent, {}).items() if item not in why}
        for agent, why in prevented.items()
    }
    left_out = {agent: next(iter(why.values())) for agent, why in prevented.items() if why and not able[agent]}
    here = request.among([agent for agent in request.agent_names if agent not in left_out])
    if not any(why for agent, why in prevented.items() if agent not in left_out):
        return here, left_out
    return here.with_worth({agent: able[agent] for agent in here.agent_names}, request.kind), left_out


def _prevented(
    request: Problem, stood: Standing, spans: Spans, turns: Sequence[TimedTurn]
) -> dict[str, dict[str | None, str]]:
    """By agent, the things that they cannot take, and why."""
    changes = dict(zip(stood.names, stood.participation, strict=True))
    taken: dict[str, list[Span]] = {}
    for turn in turns if stood.rules.overlaps == "refused" else ():
        taken.setdefault(turn.agent, []).append(turn.span)

    def why(agent: str, span: Span) -> str:
        state = status_over(changes[agent], span)
        other = next((each for each in taken.get(agent, ()) if each.overlaps(span)), None)
        overlap = "" if other is None else f"{HAS_TURN} {other.in_words(stood.zone)}"
        return overlap if state == PRESENT else state

    return {
        agent: {
            item: reason
            for item in request.worth.get(agent) or [None]
            if (reason := why(agent, span_of(spans, item, stood.at)))
        }
        for agent in request.agent_names
    }


def check_together(request: Problem, spans: Spans, rules: Rules) -> None:
    """Refuses items that one agent might have at the same time."""
    if rules.overlaps == "allowed" or not spans or not isinstance(request, Assign):
        return
    most = request.n_items if request.capacity is None else int(np.max(request.capacity))
    times = {item: span_of(spans, item, 0) for item in request.item_names}
    for one, other in combinations(times, 2) if most > 1 else ():
        if times[one].overlaps(times[other]):
            raise ValueError(
                f"{one} and {other} are at the same time, and with a capacity of {most} one agent could have both: "
                f"leave the capacity out, give the time of each (--length {one}=10h), or allow it with `bygones ledger "
                "rules LEDGER --overlaps allowed`"
            )


def why_left_out(agent: str, why: str) -> str:
    """Why an agent could not be chosen on a date, in a sentence."""
    return f"{agent} {why if why.startswith((JOINS, HAS_TURN)) else f'is {why}'}."


def fill(
    connection: sa.Connection,
    stood: Standing,
    request: Problem,
    taken: Collection[str],
    vacant: Sequence[str | None],
    head: int,
    draw: Draw,
) -> tuple[Proposal, bool]:
    """Assigns vacant items among the agents who have nothing yet, or decides everything again if they cannot take them.

    Args:
        connection: the ledger.
        stood: where everyone stands.
        request: the things to allocate, and the needs of the agents who can take part.
        taken: the agents who keep their items.
        vacant: the items that are vacant, or None for each place.
        head: the number of the last event that is known.
        draw: decides between equally good choices.

    Returns:
        The decision, and whether the agents in `taken` keep their items.
    """
    rest = request.among([agent for agent in request.agent_names if agent not in taken]).vacancies(vacant)
    if rest is not None:
        try:
            return proposal(connection, stood, rest, head, draw), True
        except ValueError:
            pass  # the remaining agents cannot fill the vacancies
    return proposal(connection, stood, request, head, draw), False


def _time(connection: sa.Connection, book: RuleBook, at: When | None, now: int) -> int:
    """The instant of a decision."""
    time = max(now, book.began) if at is None else book.instant(at)
    if time > now + SKEW:
        raise ValueError(
            f"at must not be in the future (it is now {book.format_instant(now)}), got "
            f"{book.format_instant(time) if at is None else at}: decide when the time has come, or plan it "
            "(bygones ledger plan)"
        )
    table = schema.events
    kinds = (*DECISIONS, *RECEIVED, "offset", "correction")
    later = [table.c.time > time, table.c.time <= now, table.c.kind.in_(kinds), in_effect()]
    query = sa.select(table.c.time).where(*later).order_by(table.c.time.desc()).limit(1)
    latest = connection.execute(query).scalar()
    if latest is not None:
        raise ValueError(
            f"at must not be before the last amount or decision ({book.format_instant(latest)}), got {at}: "
            "to decide a past period again, use `bygones ledger redecide`"
        )
    return time


def memory_of(rules: Rules) -> Memory:
    """The memory of these rules at one instant, in steps of a day.

    The standing holds the recent totals at the instant of a decision, and the decision adds to them at that instant. So
    memories that forget in another way than by one half-life are perfect recall here.
    """
    days = rules.seconds / UNITS["d"]
    if rules.fades_alike and math.isfinite(days):
        return Discounted(half_life=days)
    everything: Memory[Any] = PerfectRecall()
    return everything if rules.cap is None else Capped(everything, rules.cap)


def _check_agents(request: Problem, stood: Standing, names: Sequence[str]) -> None:
    status = dict(zip(stood.names, stood.status, strict=True))
    for agent in sorted(set(request.agent_names) - set(names)):
        if agent not in status:
            raise rows.unknown_agent(agent, stood.names)
        raise ValueError(
            f"agent {agent!r} is {status[agent]} at {format_instant(stood.at, stood.zone)} and cannot take part in "
            f"this decision: {'resume' if status[agent] == ON_HOLD else 'join'} them first, or leave them out of the "
            "request"
        )
    if not names:
        raise ValueError("no agent is present: let someone join first")
    if stood.rules.kind == "burden" and not request.asking:
        raise ValueError(
            f"no one can take this burden at {format_instant(stood.at, stood.zone)}: everyone in the request is on "
            "hold, away, not available or has an empty cell; add someone who can"
        )
