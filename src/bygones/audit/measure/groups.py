"""The conclusions of an audit in sentences and in groups, the important first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bygones._text import listed, sentence
from bygones.audit.measure.conclusions import span
from bygones.audit.measure.pasts import Trajectory
from bygones.audit.replay.courses import Spread
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.audit.measure.findings import Audit

NEXT = 3
"""The number of agents named as next."""

NAMED = 10
"""The most agents that are named in one sentence."""


class Group(NamedTuple):
    """Conclusions under a heading: sentences, and how many more there are that are not listed."""

    title: str
    sentences: list[str]
    unlisted: int = 0


def grouped(audit: Audit) -> list[Group]:
    """Conclusions that hold throughout; agents who change sides; and pairs that change their order."""
    conclusions, length = audit.conclusions, audit.clock.length_text
    word, half_lives = words(audit.kind), [each.half_life for each in audit.standings]
    throughout: list[str] = []
    sides: dict[str, list[str]] = {"owed": [], "ahead": []}
    for each in conclusions.of("owed", holds=True):
        answers = set(each.answers.values())
        for side in sides:
            if answers == {side}:
                sides[side].append(each.agent)
    for side, names in sides.items():
        if names:
            verb = "is" if len(names) == 1 else "are"
            throughout.append(f"{listed(names, NAMED)} {verb} {word.owed if side == 'owed' else side}.")
    throughout += [each.held(length) for each in conclusions.informative if each.kind == "order"]
    groups = [
        Group(f"Holds at {span(half_lives, length, searched=conclusions.searched)}", throughout),
        Group(
            f"Depends on the half-life: who is {word.owed} and who is ahead{_sides_note(audit)}",
            [each.sentence(length) for each in conclusions.of("owed", holds=False)],
            max(0, conclusions.sides_flip - len(conclusions.of("owed", holds=False))),
        ),
        Group(
            f"Depends on the half-life: {pairs_note(audit)}",
            [each.sentence(length) for each in conclusions.of("order", holds=False)],
            conclusions.unlisted,
        ),
    ]
    return [group for group in groups if group.sentences]


class Turns(NamedTuple):
    """Whose turn is next: the rows of the agents who come first, together if tied, and of the agent to wait longest."""

    first: tuple[int, ...]
    are_tied: bool
    last: tuple[int, ...]


def next_steps(audit: Audit) -> list[str]:
    """The next steps: who comes first, by how much, and who can wait; one sentence per half-life.

    Half-lives with the same answer share a sentence.
    """
    if not audit.is_present.any() or len(audit.names) < 2:
        return []
    half_lives: dict[Turns, list[Trajectory]] = {}
    for stood in audit.standings:
        half_lives.setdefault(_turns(audit, stood), []).append(stood)
    return [*(_next(audit, turns, stood) for turns, stood in half_lives.items()), *_by_fair_tree(audit)]


def _by_fair_tree(audit: Audit) -> list[str]:
    """Who comes first by Slurm's fair tree, where that is someone else, and why the two orders differ."""
    half_lives: dict[str, list[str]] = {}
    for stood in audit.standings:
        factors = audit.factors(stood).get("fair_tree", {})
        present = {name: factors[name] for name in audit.present_names if name in factors}
        highest = max(present.values(), default=0.0)
        first = [name for name, factor in present.items() if factor == highest]
        ours = [audit.names[row] for row in _turns(audit, stood).first[:1]]
        if first and ours and ours[0] not in first:
            half_lives.setdefault(listed(first, NEXT), []).append(audit.clock.length_text(stood.half_life))
    if not half_lives:
        return []
    all_alike = len(half_lives) == 1 and len(*half_lives.values()) == len(audit.standings)
    firsts = listed([name if all_alike else f"{name} at {listed(each)}" for name, each in half_lives.items()])
    return [
        f"Slurm's fair tree would serve {firsts} first. It ranks accounts before their users, by the ratio of shares "
        "to usage, so an account's usage counts for all its users. This audit compares each agent's own recent total "
        "with its own share."
    ]


def _turns(audit: Audit, stood: Trajectory) -> Turns:
    relative = audit.conclusions.asked[stood.half_life]
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row]]
    owed = [row for row in ranked if relative[row] > audit.little]
    tied = [row for row in owed if relative[row] >= relative[owed[0]] - audit.little]
    ahead = [row for row in reversed(ranked) if relative[row] < -audit.little]
    return Turns(tuple(tied if len(tied) > 1 else owed[:NEXT]), len(tied) > 1, tuple(ahead[:1]))


def _next(audit: Audit, turns: Turns, stood: list[Trajectory]) -> str:
    lengths, word = [audit.clock.length_text(each.half_life) for each in stood], words(audit.kind)
    where = f"With {'a half-life' if len(lengths) == 1 else 'half-lives'} of {listed(lengths)}"
    where = "With perfect recall" if [each.half_life for each in stood] == [math.inf] else where
    where = "At every half-life of this audit" if 1 < len(stood) == len(audit.standings) else where
    if not turns.first:
        return f"{where}, no one has to come first, because everyone is at the {word.share}."
    burden, names = audit.kind == "burden", [audit.names[row] for row in turns.first]
    if turns.are_tied:
        does = "the next turn is for " if burden else "serve first "
        does += f"any of {listed(names, NEXT)}, who are tied ({word.owed} {_each(audit, stood, turns.first)})"
    else:
        owed = [f"({word.owed} {_range(audit, stood, row)}{_ranked_by(audit, stood, row)})" for row in turns.first]
        does = f"the next turn is for {names[0]} {owed[0]}" if burden else f"serve {names[0]} first {owed[0]}"
        does += "".join(f", then {name} {how}" for name, how in zip(names[1:], owed[1:], strict=True))
    waits = ""
    for row in turns.last:
        others = [_until_level(audit, each, row) for each in stood]
        waits = (
            f" {audit.names[row]} is furthest ahead, and level again once the others have {word.received} another "
            f"{_amounts(audit, others)}."
        )
    return f"{sentence(f'{where}, {does}')}{waits}"


def _until_level(audit: Audit, stood: Trajectory, row: int) -> float:
    """How much the others have to receive until an agent who is ahead is at its share.

    The agent is at its share e of the total T when its recent total Z = e T, and only T grows: it lacks Z / e - T.
    """
    total = float(stood.remembered[audit.is_present].sum())
    return float(stood.remembered[row] / audit.entitled[row] - total)


def _range(audit: Audit, stood: list[Trajectory], row: int) -> str:
    return _amounts(audit, [float(each.owed[row]) for each in stood])


def _each(audit: Audit, stood: list[Trajectory], rows: tuple[int, ...]) -> str:
    """The amount owed to each of several who are tied; if their entitlements differ, they are tied per unit of it."""
    if len(set(audit.members.entitlements[list(rows)].tolist())) == 1:
        return f"{_range(audit, stood, rows[0])} each"
    return f"{_per_unit(audit, stood, rows[0])} per unit"


def _ranked_by(audit: Audit, stood: list[Trajectory], row: int) -> str:
    """The number by which agents are ranked, where it is not the amount."""
    return f", {_per_unit(audit, stood, row)} per unit" if audit.per_unit else ""


def _per_unit(audit: Audit, stood: list[Trajectory], row: int) -> str:
    return Spread.of([float(audit.per_unit_of(each)[row]) for each in stood]).text


def _amounts(audit: Audit, values: list[float]) -> str:
    return f"{Spread.of(values).text} {audit.unit}".strip()


def _sides_note(audit: Audit) -> str:
    flips, present = audit.conclusions.sides_flip, int(audit.is_present.sum())
    return f" ({flips:,} of {present:,} agents)" if flips > NAMED else ""


def pairs_note(audit: Audit) -> str:
    """How many pairs of agents change their order with the half-life, as a clause."""
    conclusions = audit.conclusions
    if conclusions.pairs is None:
        return "the order of some of the pairs that were compared"
    if conclusions.pairs == 1:
        return "the order of the two" if conclusions.pairs_flip else "not the order of the two"
    return f"the order of {conclusions.pairs_flip:,} of {conclusions.pairs:,} pairs of agents"


def compared_note(audit: Audit) -> str:
    """Which pairs were compared where there are too many agents for all, as a sentence."""
    return (
        f"Not all pairs were compared: with {int(audit.is_present.sum()):,} agents, only those of the "
        f"{len(audit.conclusions.notable)} agents most {words(audit.kind).owed} or furthest ahead."
    )
