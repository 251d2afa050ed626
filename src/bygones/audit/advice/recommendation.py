"""The common parts of all advice: facts about a history, the period that follows from them, and a recommendation.

The facts that matter for the choice of a rule are how often, among how many, how unequal and how long. The choice is
judged over a *period*: totals are compared within periods, not over the whole history, because nobody waits for ever to
come out even. A period is long enough for a few turns each.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._files import file_name
from bygones.audit.read.clock import Clock
from bygones.audit.replay.past_decisions import Decisions
from bygones.document.document import Answer, Bullets, Chart, Command, Document, Section, Table
from bygones.kinds import Kind
from bygones.ledger.model.times import SECOND, UNITS

TURNS = 3.0
"""A period is long enough for about this many turns of each agent."""

PERIODS = 8
"""A history can be judged if it is at least this many periods long."""

AROUND = 10.0
"""Half-lives are compared that are up to this many times longer or shorter than the period."""

OTHERS_TOO = "With one agent, every half-life and rule does the same: add the rows of the others who take part, too."
"""The doubt about a history of one agent."""

KIND_ASSUMED = "The history is taken to be about goods. If these are burdens, such as shifts, add --kind burden."
"""The doubt if it was not given whether the history is about goods or burdens."""

_ROUND = ((1, "s"), (10, "s"), (1, "min"), (10, "min"), (1, "h"), (6, "h"), (1, "d"), (3, "d"), (7, "d"), (14, "d"),
          (30, "d"), (90, "d"), (180, "d"), (365, "d"))  # fmt: skip
_MOST_YEARS = 100
_BREAK = 20.0


class HistoryFacts(NamedTuple):
    """Facts about a history that matter for the choice of a rule.

    Attributes:
        decisions: the number of decisions.
        contested: the number of decisions in which an agent who asked was not served.
        agents: the number of agents who asked.
        asking: how many ask at a decision, on average.
        served: how many are served at a decision, on average.
        first: the time of the first decision.
        last: the time of the last decision.
        every: the mean time between two decisions, apart from long breaks.
        turn: the mean time between two turns of the same agent, if all had as many.
        stay: the median time between the first and the last request of agents who left; infinite if nobody did.
        joined: how many asked for the first time only after a few turns.
        left: how many did not ask any more at the end, for as long as a few turns take.
        within: how much the needs of one agent vary, as their standard deviation over their mean; the median of agents.
        between: the smallest and the largest of the agents' mean needs.
        differ: in which share of the decisions the needs of the agents who ask differ.
        drift: how far mean needs moved from the first half to the second, as a share of all needs.
    """

    decisions: int
    contested: int
    agents: int
    asking: float
    served: float
    first: float
    last: float
    every: float
    turn: float
    stay: float
    joined: int
    left: int
    within: float
    between: tuple[float, float]
    differ: float
    drift: float

    @property
    def span(self) -> float:
        """The length of the history."""
        return self.last - self.first + self.every

    @property
    def equal(self) -> bool:
        """Whether the needs at a decision are equal, so it does not matter who is served when."""
        return self.differ < 0.01


def facts_of(decisions: Decisions) -> HistoryFacts:
    """The facts about some decisions."""
    requests, times, rows, needs = decisions.requests, decisions.times, decisions.rows, decisions.needs
    n_agents = len(decisions.who.names)
    asked = decisions.last >= 0
    first, last = decisions.first[asked], decisions.last[asked]
    every = _every(np.diff(times), decisions.usual)
    served = int(decisions.served.sum())
    turn = float((last - first + 1).sum()) / served * every
    joins, leaves = times[first], times[last]
    has_left = leaves < times[-1] - TURNS * turn
    largest = float(needs.max()) or 1.0
    relative = needs / largest  # squares of large needs would overflow
    counts = np.bincount(rows, minlength=n_agents)[asked]
    means = np.bincount(rows, relative, n_agents)[asked] / counts
    squares = np.bincount(rows, relative**2, n_agents)[asked]
    spread = np.sqrt(np.maximum(squares / counts - means**2, 0.0))
    varies = (spread / np.where(means > 0, means, 1.0))[counts > 1]
    return HistoryFacts(
        decisions=len(requests),
        contested=sum(not request.served.all() for request in requests),
        agents=int(asked.sum()),
        asking=len(rows) / len(requests),
        served=served / len(requests),
        first=float(times[0]),
        last=float(times[-1]),
        every=every,
        turn=turn,
        stay=float(np.median((leaves - joins)[has_left])) + every if has_left.any() else math.inf,
        joined=int((joins > times[0] + TURNS * turn).sum()),
        left=int(has_left.sum()),
        within=float(np.median(varies)) if len(varies) else 0.0,
        between=(largest * float(means.min()), largest * float(means.max())),
        differ=float(np.mean([np.ptp(request.needs) > 1e-9 * request.needs.max() for request in requests])),
        drift=_drift(rows, needs, times[decisions.index], n_agents),
    )


def _every(gaps: np.ndarray, usual: float) -> float:
    """The mean time between two decisions, in which a long break counts for no more than twenty usual times."""
    return float(np.minimum(gaps, _BREAK * np.median(gaps)).mean()) if len(gaps) else usual


def _drift(rows: np.ndarray, needs: np.ndarray, when: np.ndarray, n_agents: int) -> float:
    """Which share of all needs moved to other agents between the halves of a history, between 0 and 1."""
    late = when > (when[0] + when[-1]) / 2
    halves = [np.bincount(rows[half], needs[half], n_agents) for half in (~late, late)]
    shares = [half / (half.sum() or 1.0) for half in halves]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def round_lengths(clock: Clock, span: float) -> list[float]:
    """The round lengths of time up to a span, the shortest first, each about two or three times the one before."""
    if clock.steps:
        top = math.ceil(math.log10(max(span, 1.0)))
        lengths = [float(n * 10**power) for power in range(top + 1) for n in (1, 3)]
    else:
        years = [n * UNITS["y"] * SECOND for n in range(2, _MOST_YEARS + 1, 3)]
        lengths = [*(n * UNITS[unit] * SECOND for n, unit in _ROUND), *years]
    return [length for length in lengths if length <= span] or lengths[:1]


def suitable_period(clock: Clock, turn: float, span: float) -> float:
    """The shortest round period with a few turns for each agent; less where the history is too short for it."""
    known = round_lengths(clock, 10 * TURNS * turn)
    wanted = next((length for length in known if length >= TURNS * turn), known[-1])
    shorter = [length for length in known if turn <= length <= span / PERIODS]
    return wanted if wanted * PERIODS <= span or not shorter else shorter[-1]


def period_of(clock: Clock, given: str | float | None, turn: float, span: float) -> float:
    """The period that was given, or a suitable one."""
    period = suitable_period(clock, turn, span) if given is None else clock.length(given, "period")
    if math.isinf(period):
        raise ValueError("period must be finite, got inf")
    return period


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recommendation(Answer):
    """A half-life and a rule, with reasons and what would change them.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        kind: goods or burdens.
        kind_assumed: whether the kind was not given, and goods are assumed.
        period: the time over which shares should even out.
        rule: the rule that is recommended.
        reported: whether agents report their needs themselves.
        newcomers: the newcomer rule.
        is_ledger: whether the history is a ledger already.
        is_log: whether the history is the log of a cluster, whose queue can be replayed.
        gone_after: after how long without an event agents count as away; empty if never.
        notes: skipped rows and assumptions, in sentences.
    """

    label: str
    clock: Clock
    kind: Kind
    kind_assumed: bool
    period: float
    rule: str = "one-step"
    reported: bool = False
    newcomers: str
    is_ledger: bool = False
    is_log: bool = False
    gone_after: str = ""
    notes: tuple[str, ...]

    @property
    @abstractmethod
    def takes(self) -> str:
        """The half-life that is recommended, as a duration."""

    @property
    def was_replayed(self) -> bool:
        """Whether rules were replayed, so `bygones what-if` can show more."""
        return False

    @abstractmethod
    def headline(self) -> list[str]:
        """The choice, and how sure it is, in a few sentences."""

    @abstractmethod
    def reasons(self) -> list[str]:
        """Why, in sentences."""

    @abstractmethod
    def doubts(self) -> list[str]:
        """The changes that would lead to another choice, in sentences."""

    @abstractmethod
    def table(self) -> Table:
        """The numbers behind it."""

    @abstractmethod
    def _choice(self) -> dict[str, object]:
        """The rest of the choice, besides a half-life and a rule, as plain data."""

    @abstractmethod
    def _numbers(self) -> dict[str, object]:
        """The numbers behind it, as plain data."""

    def to_dict(self) -> dict[str, object]:
        """The advice as plain data for JSON."""
        choice = {"half_life": self.takes, "rule": self.rule, **self._choice(), "sentences": self.headline()}
        return {
            "history": self.label,
            "kind": self.kind,
            "recommendation": choice,
            "reasons": self.reasons(),
            "would_change_it": self.doubts(),
            "period": self.clock.length_text(self.period),
            **self._numbers(),
            "notes": list(self.notes),
        }

    def length(self, value: float) -> str:
        """A length of time in a sentence: `30d`, or `30 steps`."""
        text = self.clock.length_text(value)
        return text if not self.clock.steps or math.isinf(value) else f"{text} step{'' if text == '1' else 's'}"

    def charts(self) -> list[Chart]:
        """The numbers in pictures."""
        return []

    def document(self, commands: Mapping[str, str] | None = None) -> Document:
        """The advice as people read it, with the commands to type next by their purpose."""
        first, *more = self.headline()
        numbers, doubts = self.table(), self.doubts()
        typed = [Command(purpose, line) for purpose, line in (commands or {}).items()]
        sections = [
            *([Section("What to type next", typed, "next")] if typed else []),
            Section("Why", [Bullets(self.reasons())]),
            *([Section("What was compared", [*self.charts(), numbers], "compared")] if numbers.rows else []),
            *([Section("What would change this", [Bullets(doubts)], "change")] if doubts else []),
            Section("Data", [" ".join([f"{file_name(self.label)}:", *self.notes])]),
        ]
        return Document(first, [*more, *sections], "Advice", "Which rule?")
