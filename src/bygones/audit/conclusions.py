r"""Which conclusions hold at every half-life, which flip, and at which half-life they do.

A conclusion is a question with an answer at every half-life: who is owed most, whether an agent is owed at all, whether
one agent is owed more than another. Agents are compared by what they are owed per unit of entitlement. A difference
below `TIED` of an average share is a tie, and a tie is no conclusion: only a reversal is a flip.

All agents and all pairs of agents are compared, at the half-lives of the audit and at some in between. Where the
answers at two of them differ, the answer flips somewhere between them. The search computes the answer exactly at more
half-lives; an interpolation chooses where to compute, never what the answer is. The result is an interval of half-lives
with different answers at its two ends, at most 0.1% wide unless there are too many flips to search for. An answer that
flips and flips back between two half-lives is not noticed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from bygones._text import listed
from bygones.audit.conclusion_words import Conclusion, Flip, Tie, is_narrow
from bygones.kinds import Kind
from bygones.ledger.watch import SETTLED

Owed: TypeAlias = Mapping[float, np.ndarray]
"""For each half-life, what each agent is owed per unit of entitlement, where a unit is the average entitlement, as a
share of everything remembered; NaN for agents who are away."""

Ask: TypeAlias = Callable[[Sequence[float]], Owed]
"""Computes what each agent is owed at the given half-lives."""

TIED = 1e-3
"""A difference below this part of an average share is a tie."""

NOTABLE = 8
"""The number of agents whose order is reported even if it holds: those owed most, and those furthest ahead."""

SEARCHED = 16
"""The number of flips to search for at once; others are only known to lie between two half-lives."""

PAIRS_COUNTED = 2000
"""The largest number of agents of whom all pairs are compared; of more, only pairs of the notable ones."""

LISTED = 5000
"""The largest number of pairs that flip, or agents, that are listed; of more, the number is given."""

_BETWEEN = 3
_NAMED = 4
_PASSES = 8
_NARROW = 0.001


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
        asked: what each agent is owed at every half-life at which that was computed.
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
        """The conclusions that hold, without comparisons of two who are level, which are none, and without those that
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


def conclude(
    names: Sequence[str],
    owed: Owed,
    ask: Ask | None,
    *,
    guess: Ask | None = None,
    kind: Kind = "good",
    per_unit: bool = False,
    searched: int = SEARCHED,
) -> Conclusions:
    """The conclusions at the half-lives of the audit; if `ask` is given, it is used to search for flips.

    Where `ask` is expensive, its approximation `guess` decides where to ask. Every answer still comes from `ask`.
    At most `searched` flips are narrowed down at once.
    """
    present = np.flatnonzero(~np.isnan(next(iter(owed.values()))))
    notable, little = _notable(owed, present), TIED / max(1, len(present))
    audited = _Known(owed)

    def questions(known: Owed) -> list[_Question]:
        return _questions(names, _Known(known), audited, present, notable, little)

    known: Owed = owed
    if ask is not None and len(owed) > 1 and len(present) > 1:
        between = [h for low, high in itertools.pairwise(sorted(owed)) for h in _between(low, high)]
        if guess is not None:
            first_look = {**known, **guess(between)}
            guessed = _search(questions(first_look), first_look, guess, searched, only_first=True)
            looked = _Known(guessed)
            gaps = itertools.islice((gap for each in questions(guessed) for gap in each.gaps(looked)), searched)
            between = [h for gap in gaps for h in gap[:2]]
        known = {**known, **ask(sorted(set(between) - set(known)))}
        known = _search(questions(known), known, ask, searched, only_first=guess is not None)
    everywhere = _Known(known)
    flipping = _flipping_pairs(everywhere, audited, present, little)
    found = tuple(each.conclusion(audited, everywhere, kind, per_unit) for each in questions(known))
    return Conclusions(
        found=found,
        pairs=None if flipping is None else len(present) * (len(present) - 1) // 2,
        pairs_flip=None if flipping is None else len(flipping),
        unlisted=max(0, len(flipping or ()) - sum(each.kind == "order" and not each.holds for each in found)),
        sides_flip=int((_swing(everywhere, present) > little).sum()) if len(present) else 0,
        asked=known,
        notable=tuple(notable),
        searched=ask is not None,
    )


class _Known:
    """What is known at several half-lives, the shortest first, as a matrix with a row per half-life."""

    def __init__(self, owed: Owed) -> None:
        self.half_lives = sorted(owed)
        self.values = np.array([owed[half_life] for half_life in self.half_lives])


class _Gap(NamedTuple):
    """Two half-lives between which an answer is reversed, the two answers, and the margin at both ends."""

    low: float
    high: float
    before: str
    after: str
    margins: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Question:
    """A question whose answer depends on the half-life.

    Attributes:
        answer: the answer at each half-life, given a tolerance within which two numbers count as equal.
        margin: for two answers, a number per half-life that is above zero where the first is right, below where the
            second is.
        little: the tolerance.
    """

    kind: str
    agent: str
    other: str
    answer: Callable[[np.ndarray, float], list[str]]
    margin: Callable[[np.ndarray, str, str], np.ndarray]
    little: float

    def gaps(self, known: _Known) -> list[_Gap]:
        """Where the answer is reversed, between neighbouring half-lives; ties are passed over."""
        answers = self.answer(known.values, self.little)
        decided = [i for i, answer in enumerate(answers) if not isinstance(answer, Tie)]
        found = []
        for i, j in itertools.pairwise(decided):
            if answers[i] != answers[j]:
                margins = self.margin(known.values[i : j + 1], answers[i], answers[j])
                first = int(np.argmax(margins <= 0))
                low, high = known.half_lives[i + first - 1 : i + first + 1]
                ends = (float(margins[first - 1]), float(margins[first]))
                found.append(_Gap(low, high, answers[i], answers[j], ends))
        return found

    def conclusion(self, audited: _Known, known: _Known, kind: Kind, per_unit: bool) -> Conclusion:
        """The conclusion, with the answers at the half-lives of the audit."""
        flips = []
        for gap in self.gaps(known):
            rate = _crossing(1 / gap.high, 1 / gap.low, *gap.margins)
            flips.append(Flip(gap.low, gap.high, gap.before, gap.after, 1 / rate if rate else math.inf))
        flips += self._at_infinity(known)
        answers = dict(zip(audited.half_lives, self.answer(audited.values, self.little), strict=True))
        return Conclusion(self.kind, self.agent, self.other, answers, tuple(flips), kind, per_unit)

    def _at_infinity(self, known: _Known) -> list[Flip]:
        """The change to an exact tie if nothing fades; of a pair, that is no reversal."""
        if self.kind == "order" or math.isfinite(known.half_lives[-1]):
            return []
        decided = [answer for answer in self.answer(known.values[:-1], self.little) if not isinstance(answer, Tie)]
        (exact,) = self.answer(known.values[-1:], self.little * SETTLED / TIED)
        if not decided or not isinstance(exact, Tie):
            return []
        return [Flip(known.half_lives[-2], math.inf, decided[-1], exact, math.inf)]


def _questions(
    names: Sequence[str], known: _Known, audited: _Known, present: np.ndarray, notable: Sequence[int], little: float
) -> list[_Question]:
    """Who is owed most; whether each agent is owed, those who flip first; and pairs, those who flip first.

    Of those who flip, the largest reversal at the half-lives of the audit comes first, wherever else was looked.
    """
    if not len(present):
        return []
    is_flip = _swing(known, present) > little
    by_swing = [int(row) for row in present[np.lexsort((-_swing(audited, present), ~is_flip))]]
    flips = int(is_flip.sum())
    sides = dict.fromkeys([*by_swing[:flips], *notable, *by_swing[flips:]])
    pairs = dict.fromkeys((_flipping_pairs(known, audited, present, little) or [])[:LISTED])
    pairs |= dict.fromkeys((min(pair), max(pair)) for pair in itertools.combinations(notable, 2))
    return [
        _who_is_owed_most(names, little),
        *(_is_owed(names, row, little) for row in itertools.islice(sides, max(LISTED, len(notable)))),
        *(_is_owed_more(names, *_in_order(pair, known, little), little) for pair in pairs),
    ]


def _swing(known: _Known, present: np.ndarray) -> np.ndarray:
    """How far each agent is both owed at one half-life and ahead at another; not above zero if it never changes."""
    values = known.values[:, present]
    return np.asarray(np.minimum(values.max(axis=0), (-values).max(axis=0)))


def _flipping_pairs(known: _Known, audited: _Known, present: np.ndarray, little: float) -> list[tuple[int, int]] | None:
    """The pairs whose order is reversed at some half-life, the largest reversal first; None if there are too many."""
    if len(present) > PAIRS_COUNTED:
        return None
    one, two = np.nonzero(np.triu(_pair_swing(known, present) > little, 1))
    order = np.argsort(-_pair_swing(audited, present)[one, two], kind="stable")
    return list(zip(present[one[order]].tolist(), present[two[order]].tolist(), strict=True))


def _pair_swing(known: _Known, present: np.ndarray) -> np.ndarray:
    """How far the order of each pair is reversed between two half-lives; not above zero if it never is."""
    most = np.full((len(present), len(present)), -math.inf)
    for each in known.values[:, present]:
        most = np.maximum(most, each[:, None] - each[None, :])
    return np.asarray(np.minimum(most, most.T))


def _search(questions: Sequence[_Question], known: Owed, ask: Ask, searched: int, *, only_first: bool) -> Owed:
    """What is known after asking at half-lives close to where the answers change.

    With `only_first`, only the first questions are pursued, as many as are searched for at once.
    """
    pursued = list(questions)
    for _ in range(_PASSES):
        table = _Known(known)
        found = [(each, gap) for each in pursued for gap in each.gaps(table)]
        found = found[:searched] if only_first else found
        pursued = list(dict.fromkeys(each for each, _ in found))
        gaps = [(each, gap) for each, gap in found if not is_narrow(gap.low, gap.high)]
        wanted = {h for _, gap in gaps[:searched] for h in _aim(gap)} - set(known)
        if not wanted:
            break
        known = {**known, **ask(sorted(wanted))}
    return known


def _notable(owed: Owed, present: np.ndarray) -> list[int]:
    """The rows of the agents owed most at some half-life and of those furthest ahead, in alternation."""
    shares = np.array([each[present] for each in owed.values()])
    ends = [np.argsort(-side.max(axis=0), kind="stable").tolist() for side in (shares, -shares)]
    alternating = dict.fromkeys(int(present[i]) for pair in zip(*ends, strict=True) for i in pair)
    return list(alternating)[:NOTABLE]


def _in_order(pair: tuple[int, int], known: _Known, little: float) -> tuple[int, int]:
    """The pair in the order that is true at the shortest half-life at which it is no tie."""
    one, two = pair
    margins = (known.values[:, one] - known.values[:, two]).tolist()
    decided = next((margin for margin in margins if abs(margin) > little), margins[0])
    return (one, two) if decided >= 0 else (two, one)


def _who_is_owed_most(names: Sequence[str], little: float) -> _Question:
    def answer(known: np.ndarray, tolerance: float) -> list[str]:
        return [first(each, tolerance) for each in known]

    def first(each: np.ndarray, tolerance: float) -> str:
        most = float(np.nanmax(each))
        if most <= tolerance:
            return Tie("")
        together = [names[row] for row in np.flatnonzero(each >= most - tolerance).tolist()]
        return together[0] if len(together) == 1 else Tie(listed(together, _NAMED - 1))

    def margin(known: np.ndarray, before: str, after: str) -> np.ndarray:
        return np.asarray(known[:, row_of[before]] - known[:, row_of[after]])

    row_of = {name: row for row, name in enumerate(names)}
    return _Question("most", "", "", answer, margin, little)


def _is_owed(names: Sequence[str], row: int, little: float) -> _Question:
    return _by_sign("owed", names[row], "", lambda known: known[:, row], ("owed", "ahead", Tie("even")), little)


def _is_owed_more(names: Sequence[str], row: int, other: int, little: float) -> _Question:
    answers = ("more", "less", Tie("as much"))
    return _by_sign("order", names[row], names[other], lambda known: known[:, row] - known[:, other], answers, little)


def _by_sign(
    kind: str,
    agent: str,
    other: str,
    value: Callable[[np.ndarray], np.ndarray],
    answers: tuple[str, str, Tie],
    little: float,
) -> _Question:
    """A question that is answered by whether a value is above zero, below zero or a tie."""
    above, below, even = answers

    def answer(known: np.ndarray, tolerance: float) -> list[str]:
        return [above if x > tolerance else below if x < -tolerance else even for x in value(known).tolist()]

    def margin(known: np.ndarray, before: str, _: str) -> np.ndarray:
        return value(known) if before == above else -value(known)

    return _Question(kind, agent, other, answer, margin, little)


def _aim(gap: _Gap) -> list[float]:
    """Half-lives close to where the margin is zero, one on each side."""
    slow, fast = 1 / gap.high, 1 / gap.low
    rate = _crossing(slow, fast, *gap.margins)
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


def _between(low: float, high: float) -> list[float]:
    if math.isinf(high):
        return [low * 4.0**n for n in range(1, _BETWEEN + 1)]
    return [float(each) for each in np.geomspace(low, high, _BETWEEN + 2)[1:-1]]
