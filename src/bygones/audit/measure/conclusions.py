"""The conclusions of an audit: which hold at every half-life, which flip, and at which half-life they do.

A conclusion answers one question at every half-life, such as who is owed most, whether an agent is owed at all, or
whether one agent is owed more than another. Agents are compared by the amount owed per unit of entitlement. Differences
below `TIED` of an average share count as ties, and no conclusion is drawn from them. Only a reversal is a flip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bygones._text import listed, sentence
from bygones.kinds import Kind, words

Owed: TypeAlias = Mapping[float, np.ndarray]
"""For each half-life, the amount owed to each agent per unit of entitlement (of the average entitlement), as a
share of the recent total; NaN for agents who are away."""

TIED = 1e-3
"""A difference below this part of an average share is a tie."""

CHANGES = 3
"""A sentence spells out this many changes of an answer; of more it gives the number, the first and the last answer."""

NARROW = 0.001
"""How wide an interval of half-lives may be that counts as one half-life."""

_NO_AGENT, _NOBODY = "no agent", "nobody is"


def is_narrow(low: float, high: float) -> bool:
    """Whether an interval of half-lives is at most 0.1% wide."""
    return high <= low * (1 + NARROW)


@dataclass(frozen=True)
class Flip:
    """An answer that changes between two half-lives: it is `before` up to `low`, and `after` from `high` on.

    `half_life` is the interpolated half-life at which it changes.
    """

    low: float
    high: float
    before: str
    after: str
    half_life: float

    @property
    def is_exact(self) -> bool:
        """Whether the interval is at most 0.1% wide."""
        return is_narrow(self.low, self.high)

    @property
    def is_at_infinity(self) -> bool:
        """Whether the answer changes only with perfect recall, where it ends in a tie."""
        return math.isinf(self.high) and isinstance(self.after, Tie)


class Tie(str):
    """An answer that names several agents as equals, or calls two agents equal."""

    __slots__ = ()


@dataclass(frozen=True)
class Conclusion:
    """A question, its answers, and where they change.

    Attributes:
        kind: `most` (who is owed most), `owed` (whether `agent` is owed) or `order` (whether `agent` comes before
            `other`, being owed more per unit of entitlement, or less far ahead).
        agent: the agent in question; empty for `most`.
        other: the agent it is compared with.
        answers: the answer at each half-life of the audit; a `Tie` where there is none.
        flips: where the answer changes, the shortest half-life first. Ties in between are no change.
        about: goods or burdens, which have their own words: agents who are owed goods are due to work.
        per_unit: whether entitlements differ, so agents are compared per unit of entitlement.
        searched: whether half-lives between the audit's own were looked at, too.
    """

    kind: str
    agent: str
    other: str
    answers: dict[float, str]
    flips: tuple[Flip, ...]
    about: Kind = "good"
    per_unit: bool = False
    searched: bool = True

    @property
    def holds(self) -> bool:
        """Whether the answer is the same at every half-life at which there is one."""
        return not self.flips

    @property
    def is_tie(self) -> bool:
        """Whether there is no answer at any half-life."""
        return all(isinstance(answer, Tie) for answer in self.answers.values())

    @property
    def claim(self) -> str:
        """The answer at the shortest half-life at which there is one, as a clause."""
        if self._is_mostly_tied:
            return f"{_NO_AGENT} stands out as {'due next' if self.about == 'burden' else 'owed most'}"
        decided = [answer for _, answer in sorted(self.answers.items()) if not isinstance(answer, Tie)]
        return self._claim(decided[0] if decided else next(iter(self.answers.values())))

    @property
    def _is_mostly_tied(self) -> bool:
        """Whether several share the first place, not always the same ones, at more than half of the half-lives."""
        tied = sum(isinstance(answer, Tie) for answer in self.answers.values())
        return self.kind == "most" and 2 * tied > len(self.answers) and len(set(self.answers.values())) > 1

    def held(self, length_text: Callable[[float], str]) -> str:
        """The conclusion that holds, as a sentence below a heading with the half-lives."""
        return _whole(self.claim + self._ties(length_text))

    def sentence(self, length_text: Callable[[float], str]) -> str:
        """The conclusion as a sentence; `length_text` formats a half-life."""
        half_lives = sorted(self.answers)
        if self.holds:
            is_negative = self.answers[half_lives[0]] == "" or self.claim.startswith("no ")
            where = span(half_lives, length_text, searched=self.searched, is_negative=is_negative)
            return _whole(f"{self.claim} at {where}{self._ties(length_text)}")
        flips = [flip for flip in self.flips if not flip.is_at_infinity]
        claims = [self._claim(self.flips[0].before), *(self._claim(flip.after) for flip in flips)]
        until = [f"{claim} up to {_until(flip, length_text)}" for claim, flip in zip(claims, flips, strict=False)]
        if len(flips) > CHANGES:
            low, high = length_text(flips[0].low), length_text(flips[-1].high)
            clause = (
                f"{claims[0]} at the shortest half-life, and {claims[-1]} at the longest. Between {low} and {high} "
                f"the answer changes {len(flips)} times"
            )
        elif flips:
            clause = f"{', '.join(until)}, and {claims[-1]} beyond that"
        else:
            clause = f"{claims[0]} at {'every finite half-life' if self.searched else 'each finite half-life compared'}"
        at_infinity = (
            f". With perfect recall, {self._claim(self.flips[-1].after)}" if len(flips) < len(self.flips) else ""
        )
        return _whole(f"{clause}{at_infinity}")

    def _ties(self, length_text: Callable[[float], str]) -> str:
        """At which half-lives of the audit there is no answer, if there is one at others."""
        if self._is_mostly_tied:
            clear = [(h, answer) for h, answer in sorted(self.answers.items()) if not isinstance(answer, Tie)]
            return f" (except at {listed([f'{length_text(h)}: {name}' for h, name in clear])})" if clear else ""
        tied = [length_text(half_life) for half_life, answer in sorted(self.answers.items()) if isinstance(answer, Tie)]
        return f" (a tie at {listed(tied)})" if tied and not self.is_tie else ""

    def _claim(self, answer: str) -> str:
        burden = self.about == "burden"
        per = " per unit of entitlement" if self.per_unit and not burden else ""
        if self.kind == "most":
            if not answer:
                return f"{_NOBODY} due" if burden else f"{_NOBODY} owed anything"
            verb = "are" if isinstance(answer, Tie) else "is"
            return f"{answer} {verb} {'due next' if burden else f'owed most{per}'}"
        if self.kind == "owed":
            even = f"{self.agent} has exactly the {words(self.about).share}"
            owed = f"{self.agent} is {words(self.about).owed}"
            return {"owed": owed, "ahead": f"{self.agent} is ahead"}.get(answer, even)
        one, two = (self.other, self.agent) if answer == "less" else (self.agent, self.other)
        if isinstance(answer, Tie):
            return f"{one} and {two} are level"
        return f"{one} {'is due' if burden else 'comes'} before {two}"

    def to_dict(self, number: Callable[[float], float]) -> dict[str, object]:
        """The conclusion as plain data for JSON; `number` converts a half-life to the unit of the output."""
        return {
            "kind": self.kind,
            "agent": self.agent or None,
            "other": self.other or None,
            "holds": self.holds,
            "answers": {str(number(half_life)): answer for half_life, answer in self.answers.items()},
            "ties": [number(half_life) for half_life, answer in self.answers.items() if isinstance(answer, Tie)],
            "flips": [
                {
                    "half_life": number(f.half_life),
                    "low": number(f.low),
                    "high": number(f.high),
                    "exact": f.is_exact,
                    "before": f.before,
                    "after": f.after,
                }
                for f in self.flips
            ],
        }


@dataclass(frozen=True)
class Conclusions:
    """All conclusions of an audit, and the number of pairs of agents whose order depends on the half-life.

    Attributes:
        found: who is owed most; whether each agent is owed; and the order of each pair that flips and of the notable
            agents.
        pairs: the number of pairs of agents; None if there are too many to compare.
        pairs_flip: the number of pairs whose order is reversed at some half-life; None if not all were compared.
        unlisted: how many of those are not in `found`.
        sides_flip: the number of agents who are owed at some half-life and ahead at another.
        asked: the amount owed to each agent at every half-life at which it was computed.
        notable: the rows of the agents owed most at some half-life and of those furthest ahead.
        searched: whether the half-lives at which answers change were searched for.
    """

    found: tuple[Conclusion, ...]
    pairs: int | None
    pairs_flip: int | None
    unlisted: int
    sides_flip: int
    asked: Owed
    notable: tuple[int, ...]
    searched: bool

    def of(self, kind: str, *, holds: bool) -> tuple[Conclusion, ...]:
        """The conclusions of a kind that hold at every half-life, or that flip."""
        return tuple(each for each in self.found if each.kind == kind and each.holds == holds)

    @property
    def hold(self) -> tuple[Conclusion, ...]:
        """The conclusions that are the same at every half-life."""
        return tuple(each for each in self.found if each.holds)

    @property
    def informative(self) -> tuple[Conclusion, ...]:
        """The conclusions that hold, without comparisons of two level agents, which are none, and without any that
        follow from one agent being owed and the other ahead.
        """
        sides = {each.agent: set(each.answers.values()) for each in self.hold if each.kind == "owed"}
        apart = [{"owed"}, {"ahead"}]
        return tuple(
            each
            for each in self.hold
            if each.kind != "order" or not (each.is_tie or [sides.get(each.agent), sides.get(each.other)] == apart)
        )

    @property
    def flip(self) -> tuple[Conclusion, ...]:
        """The conclusions that depend on the half-life."""
        return tuple(each for each in self.found if not each.holds)

    @property
    def all_exact(self) -> bool:
        """Whether every half-life at which an answer changes is known to 0.1%."""
        return all(flip.is_exact or flip.is_at_infinity for each in self.flip for flip in each.flips)


def span(
    half_lives: Sequence[float],
    length_text: Callable[[float], str],
    *,
    searched: bool = True,
    is_negative: bool = False,
) -> str:
    """The half-lives at which a conclusion holds, the shortest first, as a phrase.

    Unless those in between were searched, it holds at those that were compared, and may not hold between them. "Nobody
    is owed anything" `is_negative`, and takes "at any".
    """
    first, last = length_text(half_lives[0]), length_text(half_lives[-1])
    if len(half_lives) == 1:
        return f"a half-life of {first}"
    if searched:
        return f"{'any' if is_negative else 'every'} half-life from {first} to {last}"
    return f"{'any' if is_negative else 'each'} half-life compared, from {first} to {last}"


def _whole(clause: str) -> str:
    """A clause as a sentence. It begins with a capital unless it begins with the name of an agent."""
    return sentence(clause[0].upper() + clause[1:] if clause.startswith((_NO_AGENT, _NOBODY)) else clause)


def _until(flip: Flip, length_text: Callable[[float], str]) -> str:
    low, high = length_text(flip.low), length_text(flip.high)
    if flip.is_exact or low == high:
        return f"a half-life of {length_text(flip.half_life)}"
    return f"a half-life between {low} and {high}"
