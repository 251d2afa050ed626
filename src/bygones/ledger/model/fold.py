r"""The fold: from events in the order of effect to a snapshot of every agent.

Standings of any time, decisions, plans, decisions made again, the checks of `verify` and audits of a ledger all come
from here. They differ in which events they read, and where.

A snapshot holds two counters of each agent at the instant of its latest event. Each counter is the state of a memory of
`bygones.memory`: `received` is the true total, and `remembered` is the fairness memory $Z$ of the ledger's rules. Every
agent has its own clock, so a counter is a batch of one-agent memories. If an event is recorded late, corrected or made
void, all events of its agent are folded again, so the order of recording does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from bygones.ledger.model.events import LARGEST
from bygones.ledger.model.participation import PRESENT, Participation, status
from bygones.ledger.model.remembering import TimedMemory
from bygones.ledger.model.rules import NEWCOMER_RULES, RuleBook
from bygones.memory import Memory, PerfectRecall
from bygones.memory.contract import AnyState

RECEIVED: Memory[Any] = PerfectRecall()
"""The memory of true totals."""

LARGEST_SUM = 1e300
"""No finite sum of a snapshot is larger."""

NEVER = -1
"""In place of an instant, where there is none."""

START = "start"
"""In the details of an agent who joins ahead of time: the newcomer rule, or None for the one in force then."""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of some agents, one row each.

    Attributes:
        names: the agents.
        participation: when they took part.
        as_of: the instants of their latest events, at which the counters hold.
        last: the instants at which they last received something, or `NEVER`.
        counters: by name, the states of their memories.
        remembering: the memory of the counter `remembered`, and its clock.
    """

    names: tuple[str, ...]
    participation: tuple[Participation, ...]
    as_of: np.ndarray
    last: np.ndarray
    counters: Mapping[str, AnyState]
    remembering: TimedMemory

    def __len__(self) -> int:
        return len(self.names)

    @property
    def received(self) -> np.ndarray:
        """The true total of each agent."""
        return np.asarray(RECEIVED.read(self.counters["received"]))[:, 0]

    def take(self, rows: Sequence[int] | np.ndarray) -> Snapshot:
        """The rows of some agents."""
        rows = np.asarray(rows, dtype=np.int64)
        return Snapshot(
            tuple(self.names[row] for row in rows),
            tuple(self.participation[row] for row in rows),
            self.as_of[rows],
            self.last[rows],
            {name: mapped(lambda part: part[rows], state) for name, state in self.counters.items()},
            self.remembering,
        )

    def put(self, rows: np.ndarray, agents: Snapshot) -> Snapshot:
        """The snapshot with the rows of some agents replaced."""
        participation = list(self.participation)
        for row, changes in zip(rows.tolist(), agents.participation, strict=True):
            participation[row] = changes

        def replaced(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            changed = np.array(old)
            changed[rows] = new
            return changed

        counters = {name: mapped(replaced, state, agents.counters[name]) for name, state in self.counters.items()}
        as_of, last = replaced(self.as_of, agents.as_of), replaced(self.last, agents.last)
        return replace(self, participation=tuple(participation), as_of=as_of, last=last, counters=counters)


class Facts(NamedTuple):
    """The contents of events, one entry each.

    Attributes:
        who: the row of the agent, -1 for none.
        time: the instant.
        amount: the amount that counts, corrections included; 0 where there is none.
        is_received: whether the amount was truly received, or only counts as remembered.
        is_change: whether an agent joins, leaves, goes on hold or resumes, or a rule changes.
    """

    who: np.ndarray
    time: np.ndarray
    amount: np.ndarray
    is_received: np.ndarray
    is_change: np.ndarray

    def part(self, first: int, end: int | None) -> Facts:
        """Some of them, one after the other."""
        return self.only(slice(first, end))

    def only(self, which: slice | np.ndarray) -> Facts:
        """Some of them, or all in another order."""
        return Facts(*(column[which] for column in self))

    @classmethod
    def joined(cls, parts: Iterable[Facts]) -> Facts:
        """The facts of several, one after the other."""
        nothing = cls.amounts([], 0, [], is_received=False)
        return cls(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))

    @classmethod
    def amounts(cls, who: Sequence[int], time: int, amounts: Sequence[float], *, is_received: bool) -> Facts:
        """Amounts of some agents at one instant."""
        n = len(who)
        rows, values = np.asarray(who, dtype=np.int64), np.asarray(amounts, dtype=float)
        return cls(rows, np.full(n, time, dtype=np.int64), values, np.full(n, is_received), np.zeros(n, dtype=bool))


class Joining(NamedTuple):
    """An agent joins, and their start is not known before that instant.

    Attributes:
        time: the instant.
        name: the agent's.
        rule: the newcomer rule, or None for the one in force then.
        key: by which the caller knows them.
    """

    time: int
    name: str
    rule: str | None
    key: int


class Start(NamedTuple):
    """The amount with which an agent starts, in addition to their recent total; never below zero."""

    joining: Joining
    amount: float


Load = Callable[[int | None, int], Iterable[Facts]]
"""The facts after one instant, or all, up to another."""


def fold(
    agents: Snapshot,
    book: RuleBook,
    load: Load,
    after: int | None,
    until: int,
    joining: Sequence[Joining] = (),
    given: Callable[[Start], float] = lambda start: start.amount,
) -> tuple[Snapshot, list[Start]]:
    """The snapshot with the events between two instants, and the starts of agents who join by a rule in between.

    Facts are asked for up to each instant at which an agent joins, in the order of time. `given` returns the amount
    that the agent was really given to start with, where that is known.
    """
    starts: list[Start] = []
    for time, together in groupby(joining, lambda each: each.time):
        for facts in load(after, time):
            agents = add(agents, book, facts)
        new = starts_at(agents, book, time, list(together))
        agents = give(agents, book, time, [(each.joining.name, given(each)) for each in new], is_received=False)
        starts, after = [*starts, *new], time
    for facts in load(after, until):
        agents = add(agents, book, facts)
    return agents, starts


def starts_at(agents: Snapshot, book: RuleBook, time: int, joining: Sequence[Joining]) -> list[Start]:
    """The newcomer rule, applied to the recent totals of the others at an instant.

    An agent who returns keeps their recent total, and is topped up to the start if that is more.
    """
    rules = book.at(time)
    present = remembered(agents, book, time)
    own = dict(zip(agents.names, present.tolist(), strict=True))
    weights = rules.entitlements_of(agents.names)
    new = {each.name for each in joining}
    here = [
        row
        for row, (name, changes) in enumerate(zip(agents.names, agents.participation, strict=True))
        if name not in new and status(changes, time) == PRESENT
    ]
    starts = []
    for each in joining:
        rule = rules.newcomers if each.rule is None else each.rule
        weight = rules.entitlements_of([each.name])
        wanted = float(newcomer_starts(rule, present[here], weights[here], weight)[0])
        starts.append(Start(each, max(wanted - own.get(each.name, 0.0), 0.0)))
    return starts


def newcomer_starts(rule: str, remembered: np.ndarray, entitlements: np.ndarray, joining: np.ndarray) -> np.ndarray:
    """The recent totals with which newcomers of these entitlements start, given the recent totals of agents present.

    If nobody is present they start with zero, unless the rule is a number.
    """
    if rule not in NEWCOMER_RULES:
        return np.full(joining.shape, float(rule))
    counts = entitlements > 0  # the exempt are no measure of a load
    if rule == "zero" or not counts.any():
        return np.zeros(joining.shape)
    remembered, entitlements = remembered[counts], entitlements[counts]
    if rule == "entitled share":
        return np.asarray(joining * (remembered.sum() / entitlements.sum()))
    return np.asarray(joining * (np.mean if rule == "mean" else np.median)(remembered / entitlements))


def empty(names: Sequence[str], participation: Sequence[Participation], remembering: TimedMemory) -> Snapshot:
    """A snapshot of agents without any amounts, with the times at which they took part."""
    began = np.array([changes[0][0] for changes in participation], dtype=np.int64)
    n = len(names)
    counters = {
        name: mapped(lambda part: np.repeat(np.asarray(part, dtype=float)[None], n, axis=0), each.init(1))
        for name, each in memories(remembering).items()
    }
    return Snapshot(tuple(names), tuple(participation), began, np.full(n, NEVER), counters, remembering)


def memories(remembering: TimedMemory) -> dict[str, Memory[Any]]:
    """The memory of each counter."""
    return {"received": RECEIVED, "remembered": remembering.memory}


def add(snapshot: Snapshot, book: RuleBook, facts: Facts) -> Snapshot:
    """The snapshot with more facts, none before the latest of its agent; it is not changed itself.

    Each agent's facts enter one after the other, in the order of time. So it makes no difference, to the last digit,
    in how many parts they come: a snapshot that is folded again from the events equals the one that was kept.
    """
    if (facts.who < 0).any():
        facts = facts.only(facts.who >= 0)
    if not len(facts.who):
        return snapshot
    facts = facts.only(np.lexsort((facts.time, facts.who)))
    who, times, amounts, is_received, _ = facts
    is_first = np.diff(who, prepend=-1) != 0
    since = np.where(is_first, snapshot.as_of[who], np.concatenate([[0], times[:-1]]))
    clocks = book.clocks(snapshot.remembering, snapshot.names, snapshot.participation)
    elapsed = clocks.steps(who, since, np.maximum(times, since))
    counters = {name: mapped(np.array, state) for name, state in snapshot.counters.items()}
    true = np.where(is_received, amounts, 0.0)
    start = np.flatnonzero(is_first)
    nth = np.arange(len(who)) - np.repeat(start, np.diff(np.append(start, len(who))))
    by_nth = np.argsort(nth, kind="stable")
    memory = snapshot.remembering.memory
    # The first facts of all agents, then their second ones: each agent's stay in order, and agents do not mix.
    for some in np.split(by_nth, np.flatnonzero(np.diff(nth[by_nth])) + 1):
        _advance(memory, counters["remembered"], who[some], amounts[some], elapsed[some])
        _advance(RECEIVED, counters["received"], who[some], true[some], np.zeros(len(some)))
    as_of, last = snapshot.as_of.copy(), snapshot.last.copy()
    np.maximum.at(as_of, who, times)
    counts = is_received & (amounts > 0)
    np.maximum.at(last, who[counts], times[counts])
    return replace(snapshot, as_of=as_of, last=last, counters=counters)


def give(
    agents: Snapshot, book: RuleBook, time: int, amounts: Iterable[tuple[str, float]], *, is_received: bool = True
) -> Snapshot:
    """The snapshot after agents are given amounts at an instant, which they receive or only have as remembered."""
    row_of = {name: row for row, name in enumerate(agents.names)}
    given = [(row_of[name], amount) for name, amount in amounts]
    facts = Facts.amounts([row for row, _ in given], time, [amount for _, amount in given], is_received=is_received)
    return add(agents, book, facts)


def _advance(memory: Memory[Any], state: AnyState, who: np.ndarray, amounts: np.ndarray, elapsed: np.ndarray) -> None:
    """Adds an amount to the memory of each of some agents, in place."""
    new = memory.advance(mapped(lambda part: part[who], state), amounts[:, None], elapsed)
    for part, changed in zip(parts(state), parts(new), strict=True):
        part[who] = changed


def remembered(snapshot: Snapshot, book: RuleBook, at: int) -> np.ndarray:
    """The remembered utility $Z$ of each agent at an instant after its latest event, if nothing happens until then.

    An agent who joins later has nothing yet.
    """
    clocks, n = book.clocks(snapshot.remembering, snapshot.names, snapshot.participation), len(snapshot)
    elapsed = clocks.steps(np.arange(n), snapshot.as_of, np.full(n, at))
    memory = snapshot.remembering.memory
    faded = memory.advance(snapshot.counters["remembered"], np.zeros((n, 1)), elapsed)
    return np.asarray(memory.read(faded))[:, 0]


def check_sums(names: Sequence[str], *sums: np.ndarray) -> None:
    """Refuses sums that are not finite, which only amounts from before there were bounds can lead to."""
    beyond = np.flatnonzero(~np.logical_and.reduce([np.abs(each) <= LARGEST_SUM for each in sums]))
    if len(beyond):
        raise ValueError(
            f"the sum of {names[beyond[0]]!r} is not a finite number, since an earlier version recorded amounts "
            f"beyond {LARGEST:g}: `bygones ledger verify` lists them, and explains what to do"
        )


def mapped(function: Callable[..., Any], state: Any, *others: Any) -> Any:
    """The state of a memory, a tuple of arrays or of such tuples, with a function applied to each array."""
    if isinstance(state, tuple):
        parts = (mapped(function, *together) for together in zip(state, *others, strict=True))
        return type(state)(*parts)
    return function(state, *others)


def parts(state: Any) -> list[np.ndarray]:
    """The arrays of which the state of a memory consists."""
    return [array for part in state for array in parts(part)] if isinstance(state, tuple) else [np.asarray(state)]
