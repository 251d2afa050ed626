"""What all advice has in common, whether rules were compared or not."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from bygones._html import bullets, card, heading, note, table
from bygones.audit.read.clock import Clock
from bygones.kinds import Kind

OTHERS_TOO = "With one agent, every half-life and rule does the same: add the rows of the others who take part, too."
"""What would change the advice about a history of one agent."""

KIND_ASSUMED = "The history is taken to be about goods. If these are burdens, such as shifts, add --kind burden."
"""What would change the advice if nobody said whether goods are handed out, or burdens."""


class AdviceTable(NamedTuple):
    """The table of some advice: its title, its columns, its rows (none if there is no table) and what they mean."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    about: str


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recommendation(ABC):
    """A half-life and a rule, with reasons and what would change them.

    Attributes:
        label: where the history came from.
        clock: what its times mean.
        kind: goods or burdens.
        kind_assumed: whether it was not said, and goods are assumed.
        period: the time over which shares should even out.
        rule: the rule that is recommended.
        reported: whether needs are what agents report themselves.
        newcomers: the newcomer rule.
        is_ledger: whether the history is a ledger already.
        is_log: whether the history is the log of a cluster, whose queue can be replayed.
        gone_after: after how long without an event agents count as away; empty if never.
        notes: what was skipped or assumed, in sentences.
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
        """Whether rules were replayed, so that `bygones what-if` can show more."""
        return False

    @abstractmethod
    def headline(self) -> list[str]:
        """What to take, and how sure that is, in a few sentences."""

    @abstractmethod
    def reasons(self) -> list[str]:
        """Why, in sentences."""

    @abstractmethod
    def doubts(self) -> list[str]:
        """What would change it, in sentences."""

    @abstractmethod
    def table(self) -> AdviceTable:
        """The numbers behind it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The advice as plain data for JSON."""

    def length(self, value: float) -> str:
        """A length of time in a sentence: `30d`, or `30 steps`."""
        text = self.clock.length_text(value)
        return text if not self.clock.steps or math.isinf(value) else f"{text} step{'' if text == '1' else 's'}"

    def _repr_html_(self) -> str:
        parts, shown, doubts = [bullets(self.reasons())], self.table(), self.doubts()
        if shown.rows:
            parts += [heading(shown.title), table(shown.columns, shown.rows), note(shown.about)]
        parts += [heading("What would change it"), bullets(doubts)] if doubts else []
        return card(" ".join(self.headline()), *parts, name="Advice")
