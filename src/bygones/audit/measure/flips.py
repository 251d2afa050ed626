"""Finds the conclusions of an audit, and the half-lives at which they flip.

All agents and all pairs of agents are compared, at the half-lives of the audit and at some in between. Where the
answers at two of them differ, the answer flips somewhere between them. The search computes the answer exactly at more
half-lives; an interpolation chooses where to compute, never what the answer is. The result is an interval of half-lives
with different answers at its two ends, at most 0.1% wide unless there are too many flips to search for. An answer that
flips and flips back between two half-lives is not noticed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from bygones._text import listed
from bygones.audit.measure.conclusions import NARROW, TIED, Conclusion, Conclusions, Flip, Owed, Tie, is_narrow
from bygones.kinds import Kind
from bygones.ledger.model.owed_since import SETTLED

Ask: TypeAlias = Callable[[Sequence[float]], Owed]
"""Computes the amount owed to each agent at the given half-lives."""

NOTABLE = 8
"""The number of agents whose order is reported even if it holds: those owed most, and those furthest ahead."""

SEARCHED = 16
"""The number of flips to search for at once; others are only known to lie between two half-lives."""

PAIRS_COUNTED = 2000
"""The largest number of agents of whom all pairs are compared; of more, only pairs of the notable ones."""

LISTED = 5000
"""The largest number of pairs that flip, or agents, that are listed; of more, the number is given."""

_ANSWERS = {"owed": ("owed", "ahead", Tie("even")), "order": ("more", "less", Tie("as much"))}
_BETWEEN = 3
_NAMED = 4
_PASSES = 8


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
    # An average share is 1 / n of the total, so a tie is a difference below TIED / n.
    present = np.flatnonzero(~np.isnan(next(iter(owed.values()))))
    notable, little = _notable(owed, present), TIED / max(1, len(present))
    audited = _Known(owed)

    def questions(known: Owed) -> list[_Question]:
        return _questions(names, _Known(known), audited, present, notable, little)

    known: Owed = owed
    if ask is not None and len(owed) > 1 and len(present) > 1:
        between = [h for low, high in itertools.pairwise(sorted(owed)) for h in _between(low, high)]
        if guess is not None:
            # The guess is cheap at any number of half-lives. It narrows the gaps down, and `ask`, which needs a query
            # for each half-life, is used only at their ends. Every answer that is reported comes from `ask`.
            first_look = {**known, **guess(between)}
            guessed = _search(questions(first_look), first_look, guess, searched, only_first=True)
            looked = _Known(guessed)
            gaps = itertools.islice((gap for each in questions(guessed) for gap in each.gaps(looked)), searched)
            between = [h for gap in gaps for h in gap[:2]]
        known = {**known, **ask(sorted(set(between) - set(known)))}
        known = _search(questions(known), known, ask, searched, only_first=guess is not None)
    everywhere = _Known(known)
    flipping = _flipping_pairs(everywhere, audited, present, little)
    conclusions = tuple(
        each.conclusion(audited, everywhere, kind, per_unit, searched=ask is not None) for each in questions(known)
    )
    return Conclusions(
        found=conclusions,
        pairs=None if flipping is None else len(present) * (len(present) - 1) // 2,
        pairs_flip=None if flipping is None else len(flipping),
        unlisted=max(0, len(flipping or ()) - sum(each.kind == "order" and not each.holds for each in conclusions)),
        sides_flip=int((_swing(everywhere, present) > little).sum()) if len(present) else 0,
        asked=known,
        notable=tuple(notable),
        searched=ask is not None,
    )


class _Known:
    """The amounts owed at several half-lives, the shortest first, as a matrix with a row per half-life."""

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
    """A question whose answer depends on the half-life: who is owed most, or whether a value is above zero.

    Attributes:
        kind: as in `Conclusion`.
        names: all agents.
        little: the tolerance within which two numbers count as equal.
        row: the agent in question, unless it is who is owed most.
        other: the agent with whom it is compared, if any.
    """

    kind: str
    names: Sequence[str]
    little: float
    row: int = -1
    other: int = -1

    def answer(self, known: np.ndarray, tolerance: float) -> list[str]:
        """The answer at each half-life, given a tolerance."""
        if self.kind == "most":
            return [self._most(each, tolerance) for each in known]
        above, below, even = _ANSWERS[self.kind]
        return [above if x > tolerance else below if x < -tolerance else even for x in self._value(known).tolist()]

    def margin(self, known: np.ndarray, before: str, after: str) -> np.ndarray:
        """For two answers, a number per half-life: above zero where the first is right, below where the second is."""
        if self.kind == "most":
            row_of = {name: row for row, name in enumerate(self.names)}
            return np.asarray(known[:, row_of[before]] - known[:, row_of[after]])
        return self._value(known) if before == _ANSWERS[self.kind][0] else -self._value(known)

    def _value(self, known: np.ndarray) -> np.ndarray:
        return known[:, self.row] if self.other < 0 else known[:, self.row] - known[:, self.other]

    def _most(self, owed: np.ndarray, tolerance: float) -> str:
        most = float(np.nanmax(owed))
        if most <= tolerance:
            return Tie("")
        together = [self.names[row] for row in np.flatnonzero(owed >= most - tolerance).tolist()]
        return together[0] if len(together) == 1 else Tie(listed(together, _NAMED - 1))

    def gaps(self, known: _Known) -> list[_Gap]:
        """Where the answer is reversed, between neighbouring half-lives; ties are passed over."""
        answers = self.answer(known.values, self.little)
        decided = [i for i, answer in enumerate(answers) if not isinstance(answer, Tie)]
        gaps = []
        for i, j in itertools.pairwise(decided):
            if answers[i] != answers[j]:
                # Between the two decided answers there may be ties. The margin changes its sign in one of the steps
                # between i and j; the first half-life at which it is not positive ends the gap.
                margins = self.margin(known.values[i : j + 1], answers[i], answers[j])
                first = int(np.argmax(margins <= 0))
                low, high = known.half_lives[i + first - 1 : i + first + 1]
                ends = (float(margins[first - 1]), float(margins[first]))
                gaps.append(_Gap(low, high, answers[i], answers[j], ends))
        return gaps

    def conclusion(self, audited: _Known, known: _Known, kind: Kind, per_unit: bool, *, searched: bool) -> Conclusion:
        """The conclusion, with the answers at the half-lives of the audit."""
        flips = []
        for gap in self.gaps(known):
            # Interpolated over rates 1 / h: they are finite with perfect recall, and sums are nearly linear in them.
            rate = _crossing(1 / gap.high, 1 / gap.low, *gap.margins)
            flips.append(Flip(gap.low, gap.high, gap.before, gap.after, 1 / rate if rate else math.inf))
        flips += self._at_infinity(known)
        answers = dict(zip(audited.half_lives, self.answer(audited.values, self.little), strict=True))
        agent, other = (self.names[row] if row >= 0 else "" for row in (self.row, self.other))
        return Conclusion(self.kind, agent, other, answers, tuple(flips), kind, per_unit, searched)

    def _at_infinity(self, known: _Known) -> list[Flip]:
        """The change to an exact tie with perfect recall; for a pair, that is no reversal."""
        if self.kind == "order" or math.isfinite(known.half_lives[-1]):
            return []
        decided = [answer for answer in self.answer(known.values[:-1], self.little) if not isinstance(answer, Tie)]
        # Nothing has faded with perfect recall, so a tie there is exact up to rounding.
        (exact,) = self.answer(known.values[-1:], self.little * SETTLED / TIED)
        if not decided or not isinstance(exact, Tie):
            return []
        return [Flip(known.half_lives[-2], math.inf, decided[-1], exact, math.inf)]


def _questions(
    names: Sequence[str], known: _Known, audited: _Known, present: np.ndarray, notable: Sequence[int], little: float
) -> list[_Question]:
    """Who is owed most; whether each agent is owed; and the order of pairs. Agents and pairs that flip come first.

    Among the flips, the largest reversal at the half-lives of the audit comes first, wherever else was looked.
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
        _Question("most", names, little),
        *(_Question("owed", names, little, row) for row in itertools.islice(sides, max(LISTED, len(notable)))),
        *(_Question("order", names, little, *_in_order(pair, known, little)) for pair in pairs),
    ]


def _swing(known: _Known, present: np.ndarray) -> np.ndarray:
    """How far each agent is both owed at one half-life and ahead at another; not above zero if it never changes."""
    values = known.values[:, present]
    return np.asarray(np.minimum(values.max(axis=0), (-values).max(axis=0)))


def _flipping_pairs(known: _Known, audited: _Known, present: np.ndarray, little: float) -> list[tuple[int, int]] | None:
    """The pairs whose order is reversed at some half-life, the largest reversal first; None if there are too many."""
    if len(present) > PAIRS_COUNTED:
        return None
    # Whether a pair flips is judged at all half-lives that were looked at, but the order only at the audit's own.
    # So the list does not depend on where the search happened to look.
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
    """The amounts owed, with those at half-lives close to where the answers change.

    With `only_first`, only the first questions are pursued, as many as are searched for at once.
    """
    pursued = list(questions)
    for _ in range(_PASSES):
        table = _Known(known)
        flips = [(each, gap) for each in pursued for gap in each.gaps(table)]
        flips = flips[:searched] if only_first else flips
        # A question without a gap is settled. One with several gaps stays until all of them are narrow.
        pursued = list(dict.fromkeys(each for each, _ in flips))
        gaps = [(each, gap) for each, gap in flips if not is_narrow(gap.low, gap.high)]
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


def _aim(gap: _Gap) -> list[float]:
    """Half-lives close to where the margin is zero, one on each side."""
    slow, fast = 1 / gap.high, 1 / gap.low
    rate = _crossing(slow, fast, *gap.margins)
    # Both together make an interval just below NARROW wide: if the crossing is in it, the search is over in one step.
    aimed = [rate * (1 + NARROW / 2.1), rate / (1 + NARROW / 2.1)]
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
