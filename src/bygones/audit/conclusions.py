r"""Which conclusions hold at every half-life, which flip, and at which half-life they do.

A conclusion is a question with an answer at every half-life: who is owed most, whether an agent is owed at all, whether
one agent is owed more than another. It is answered at the half-lives of the audit. Where the answers at two adjacent
half-lives differ, the answer flips somewhere between them. The search computes the answer exactly at half-lives in
between; an interpolation chooses where to compute, never what the answer is. The result is an interval of half-lives at
most 0.1% wide with different answers at its two ends.

An answer that flips and flips back between two adjacent half-lives is not noticed. To make that less likely, the
search begins with additional half-lives between those of the audit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bygones.kinds import Kind, words
from bygones.ledger.watch import SETTLED

Owed: TypeAlias = Mapping[float, np.ndarray]
"""For each half-life, what each agent is owed as a share of everything remembered; NaN for agents who are away."""

Ask: TypeAlias = Callable[[Sequence[float]], Owed]
"""Computes what each agent is owed at the given half-lives."""

NOTABLE = 8
"""The number of agents compared pair by pair: those owed most at some half-life, and those furthest ahead."""

SEARCHED = 16
"""The number of flips to search for; others are only reported to lie between two half-lives of the audit."""

PAIRS_COUNTED = 2000
"""The largest number of agents for which the pairs that keep their order are counted."""

_BETWEEN = 3
_NAMED = 4
_PASSES = 8
_NARROW = 0.001


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
        return _is_narrow(self.low, self.high)

    @property
    def is_at_infinity(self) -> bool:
        """Whether the answer changes only if nothing fades at all, where it ends in a tie."""
        return math.isinf(self.high) and _is_tie(self.after)


class Tie(str):
    """An answer that names several agents as equals, or says that two agents are equal."""

    __slots__ = ()


@dataclass(frozen=True)
class Conclusion:
    """A question, its answer at the shortest half-life, and where the answer changes.

    Attributes:
        kind: `most` (who is owed most), `owed` (whether `agent` is owed) or `order` (whether `agent` is owed more than
            `other`).
        agent: the agent in question; empty for `most`.
        other: the agent it is compared with.
        answers: the answer at each half-life of the audit.
        flips: where the answer changes, the shortest half-life first.
        about: goods or burdens, which have their own words: whoever is owed a good is due to carry a burden.
    """

    kind: str
    agent: str
    other: str
    answers: dict[float, str]
    flips: tuple[Flip, ...]
    about: Kind = "good"

    @property
    def holds(self) -> bool:
        """Whether the answer is the same at every half-life."""
        return not self.flips

    @property
    def claim(self) -> str:
        """The answer at the shortest half-life, as a clause."""
        return self._claim(self.answers[min(self.answers)])

    def sentence(self, length_text: Callable[[float], str]) -> str:
        """The conclusion as a sentence; `length_text` formats a half-life."""
        half_lives = sorted(self.answers)
        if self.holds:
            # "Nobody is owed anything" takes "at any half-life"; every other claim takes "at every".
            which = "any" if self.answers[half_lives[0]] == "" else "every"
            over = f"{which} half-life from {length_text(half_lives[0])} to {length_text(half_lives[-1])}"
            where = over if len(half_lives) > 1 else f"a half-life of {length_text(half_lives[0])}"
            return f"{self.claim} at {where}."
        flips = [flip for flip in self.flips if not flip.is_at_infinity]
        claims = [self._claim(self.flips[0].before), *(self._claim(flip.after) for flip in flips)]
        until = [f"{claim} up to {_until(flip, length_text)}" for claim, flip in zip(claims, flips, strict=False)]
        found = (
            f"{'; then '.join(until)}; beyond that {claims[-1]}" if flips else f"{claims[0]} at every finite half-life"
        )
        at_infinity = f"; if nothing fades, {self._claim(self.flips[-1].after)}" if len(flips) < len(self.flips) else ""
        return f"{found}{at_infinity}."

    def _claim(self, answer: str) -> str:
        burden = self.about == "burden"
        if self.kind == "most":
            if not answer:
                return "nobody is due" if burden else "nobody is owed anything"
            return f"{answer} {'are' if isinstance(answer, Tie) else 'is'} {'due next' if burden else 'owed most'}"
        if self.kind == "owed":
            even = f"{self.agent} has exactly the {words(self.about).share}"
            owed = f"{self.agent} is {words(self.about).owed}"
            return {"owed": owed, "ahead": f"{self.agent} is ahead"}.get(answer, even)
        one, two = (self.other, self.agent) if answer == "less" else (self.agent, self.other)
        if burden:
            return f"{one} is due as much as {two}" if answer == "as much" else f"{one} is due before {two}"
        return f"{one} is owed as much as {two}" if answer == "as much" else f"{one} is owed more than {two}"

    def to_dict(self, number: Callable[[float], float]) -> dict[str, Any]:
        """The conclusion as plain data for JSON; `number` converts a half-life to the unit of the output."""
        return {
            "kind": self.kind,
            "agent": self.agent or None,
            "other": self.other or None,
            "holds": self.holds,
            "answers": {str(number(half_life)): answer for half_life, answer in self.answers.items()},
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
        found: the conclusions, who is owed most first.
        pairs: the number of pairs of agents; None if there are too many to count.
        pairs_flip: the number of pairs whose order is not the same at every half-life of the audit.
        asked: what each agent is owed at every half-life at which that was computed.
        notable: the rows of the agents who were compared pair by pair.
        searched: whether the half-lives at which answers change were searched for.
    """

    found: tuple[Conclusion, ...]
    pairs: int | None
    pairs_flip: int | None
    asked: Owed
    notable: tuple[int, ...]
    searched: bool

    @property
    def hold(self) -> tuple[Conclusion, ...]:
        """The conclusions that are the same at every half-life."""
        return tuple(each for each in self.found if each.holds)

    @property
    def informative(self) -> tuple[Conclusion, ...]:
        """The conclusions that hold, without comparisons that follow from one agent being owed and the other ahead."""
        sides = {each.agent: each.answers[min(each.answers)] for each in self.hold if each.kind == "owed"}
        apart = {"owed", "ahead"}
        return tuple(
            each
            for each in self.hold
            if each.kind != "order" or {sides.get(each.agent), sides.get(each.other)} != apart
        )

    @property
    def flip(self) -> tuple[Conclusion, ...]:
        """The conclusions that depend on the half-life."""
        return tuple(each for each in self.found if not each.holds)


def conclude(
    names: Sequence[str],
    owed: Owed,
    ask: Ask | None,
    settled: float = SETTLED,
    guess: Ask | None = None,
    kind: Kind = "good",
) -> Conclusions:
    """The conclusions at the half-lives of the audit; if `ask` is given, it is used to search for flips.

    Where `ask` is expensive, its approximation `guess` decides where to ask. Every answer still comes from `ask`.
    """
    notable = _notable(owed)
    questions = _questions(names, notable, owed, settled)
    known = owed
    if ask is not None and len(owed) > 1:
        between = [h for low, high in itertools.pairwise(sorted(owed)) for h in _between(low, high)]
        if guess is not None:
            guessed = _search(questions, {**known, **guess(between)}, guess)
            between = [h for question in questions for gap in _gaps(question, guessed) for h in gap]
        known = _search(questions, {**known, **ask(sorted(set(between) - set(known)))}, ask)
    found = tuple(
        Conclusion(
            q.kind, q.agent, q.other, {h: q.answer(owed[h]) for h in sorted(owed)},
            tuple(_flip(q, known, *gap) for gap in _gaps(q, known)), kind,
        )
        for q in questions
    )  # fmt: skip
    return Conclusions(found, *_count_pairs(owed), known, tuple(notable), ask is not None)


def _search(questions: Sequence[_Question], known: Owed, ask: Ask) -> Owed:
    """What is known after asking at half-lives close to where the answers change."""
    for _ in range(_PASSES):
        wide = [(q, gap) for q in questions for gap in _gaps(q, known) if _is_wide(q, known, *gap)][:SEARCHED]
        wanted = {h for q, gap in wide for h in _aim(gap, *q.margins(*(known[end] for end in gap)))} - set(known)
        if not wanted:
            break
        known = {**known, **ask(sorted(wanted))}
    return known


@dataclass(frozen=True)
class _Question:
    kind: str
    agent: str
    other: str
    answer: Callable[[np.ndarray], str]
    margins: Callable[[np.ndarray, np.ndarray], tuple[float, float]]
    """For two half-lives with different answers, the values of a margin that is zero where the answer changes."""


def _notable(owed: Owed) -> list[int]:
    """The rows of the agents owed most at some half-life and of those furthest ahead, in alternation."""
    shares = np.array([np.nan_to_num(each) for each in owed.values()])
    present = ~np.isnan(next(iter(owed.values())))
    ends = [np.argsort(-side.max(axis=0), kind="stable").tolist() for side in (shares, -shares)]
    alternating = dict.fromkeys(row for pair in zip(*ends, strict=True) for row in pair if present[row])
    return list(alternating)[:NOTABLE]


def _questions(names: Sequence[str], notable: Sequence[int], owed: Owed, settled: float) -> list[_Question]:
    shortest = owed[min(owed)]
    # Amounts count as zero if they are tiny compared with an average share.
    little = settled / max(1, int((~np.isnan(shortest)).sum()))
    questions = [_who_is_owed_most(names, settled, little)] if notable else []
    questions += [_is_owed(names, row, little) for row in notable]
    # Each pair is put in the order that is true at the shortest half-life.
    for one, two in itertools.combinations(notable, 2):
        pair = (one, two) if shortest[one] >= shortest[two] else (two, one)
        questions.append(_is_owed_more(names, *pair, settled))
    return questions


def _who_is_owed_most(names: Sequence[str], settled: float, little: float) -> _Question:
    def answer(each: np.ndarray) -> str:
        most = float(np.nanmax(each))
        if most <= little:
            return Tie("")
        first = [names[row] for row in np.flatnonzero(each >= most * (1 - settled)).tolist()]
        return first[0] if len(first) == 1 else Tie(_together(first))

    def margins(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        one, two = int(np.nanargmax(low)), int(np.nanargmax(high))
        return float(low[one] - low[two]), float(high[one] - high[two])

    return _Question("most", "", "", answer, margins)


def _is_owed(names: Sequence[str], row: int, little: float) -> _Question:
    def answer(each: np.ndarray) -> str:
        return "owed" if each[row] > little else "ahead" if each[row] < -little else Tie("even")

    return _Question("owed", names[row], "", answer, lambda low, high: (float(low[row]), float(high[row])))


def _is_owed_more(names: Sequence[str], row: int, other: int, settled: float) -> _Question:
    def margin(each: np.ndarray) -> float:
        return float(each[row] - each[other])

    def answer(each: np.ndarray) -> str:
        even = settled * max(abs(each[row]), abs(each[other]))
        return "more" if margin(each) > even else "less" if margin(each) < -even else Tie("as much")

    return _Question("order", names[row], names[other], answer, lambda low, high: (margin(low), margin(high)))


def _gaps(question: _Question, known: Owed) -> list[tuple[float, float]]:
    """Neighbouring half-lives with different answers."""
    half_lives = sorted(known)
    answers = [question.answer(known[half_life]) for half_life in half_lives]
    return [(half_lives[i], half_lives[i + 1]) for i in range(len(half_lives) - 1) if answers[i] != answers[i + 1]]


def _aim(gap: tuple[float, float], low_margin: float, high_margin: float) -> list[float]:
    """Half-lives close to where the margin is zero, one on each side."""
    low, high = gap
    slow, fast = 1 / high, 1 / low
    rate = _crossing(slow, fast, low_margin, high_margin)
    aimed = [rate * (1 + _NARROW / 2.1), rate / (1 + _NARROW / 2.1)]
    if fast > 1.02 * slow:
        # A wide gap is also halved, because interpolation alone converges slowly where the margin is far from linear.
        aimed.append(_middle(slow, fast))
    return [1 / each for each in aimed if slow < each < fast]


def _crossing(slow: float, fast: float, low_margin: float, high_margin: float) -> float:
    """The rate at which a linear margin is zero, or the middle if the margin does not change its sign."""
    if low_margin * high_margin >= 0:
        return _middle(slow, fast)
    return fast + (slow - fast) * low_margin / (low_margin - high_margin)


def _middle(slow: float, fast: float) -> float:
    return math.sqrt(fast * slow) if slow > 0 else fast / 4


def _flip(question: _Question, known: Owed, low: float, high: float) -> Flip:
    rate = _crossing(1 / high, 1 / low, *question.margins(known[low], known[high]))
    return Flip(low, high, question.answer(known[low]), question.answer(known[high]), 1 / rate)


def _between(low: float, high: float) -> list[float]:
    if math.isinf(high):
        return [low * 4.0**n for n in range(1, _BETWEEN + 1)]
    return [float(each) for each in np.geomspace(low, high, _BETWEEN + 2)[1:-1]]


def _is_wide(question: _Question, known: Owed, low: float, high: float) -> bool:
    """Whether two half-lives with different answers are far enough apart to search between them."""
    at_infinity = math.isinf(high) and _is_tie(question.answer(known[high]))
    return not at_infinity and not _is_narrow(low, high)


def _is_tie(answer: str) -> bool:
    return isinstance(answer, Tie)


def _together(names: Sequence[str]) -> str:
    """Several names joined into a phrase."""
    shown = list(names) if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_narrow(low: float, high: float) -> bool:
    return high <= low * (1 + _NARROW)


def _until(flip: Flip, length_text: Callable[[float], str]) -> str:
    if flip.is_exact:
        return f"a half-life of {length_text(flip.half_life)}"
    return f"a half-life between {length_text(flip.low)} and {length_text(flip.high)}"


def _count_pairs(owed: Owed) -> tuple[int | None, int | None]:
    values = [each[~np.isnan(each)] for each in owed.values()]
    n = len(values[0])
    if n > PAIRS_COUNTED:
        return None, None
    signs = [np.sign(each[:, None] - each[None, :]).astype(np.int8) for each in values]
    flips = sum((sign != signs[0]).astype(np.int8) for sign in signs[1:]) if len(signs) > 1 else np.zeros((n, n))
    return n * (n - 1) // 2, int(np.triu(flips > 0, 1).sum())
