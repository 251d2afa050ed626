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
    # In a cluster with a fair tree, its order is the only one, and it is not by the amount owed.
    in_tree = bool(first_in_tree(audit))
    throughout += [each.held(length) for each in conclusions.informative if each.kind == "order" and not in_tree]
    groups = [
        Group(f"Holds at {span(half_lives, length, searched=conclusions.searched)}", throughout),
        Group(
            f"Depends on the half-life: who is {word.owed} and who is ahead{_sides_note(audit)}",
            [each.sentence(length) for each in conclusions.of("owed", holds=False)],
            max(0, conclusions.sides_flip - len(conclusions.of("owed", holds=False))),
        ),
        Group(
            f"Depends on the half-life: {pairs_note(audit)}",
            [] if in_tree else [each.sentence(length) for each in conclusions.of("order", holds=False)],
            conclusions.unlisted,
        ),
    ]
    return [group for group in groups if group.sentences]


class Turns(NamedTuple):
    """Whose turn is next: the rows of the agents who come first, together if tied, and of the agent to wait longest."""

    first: tuple[int, ...]
    are_tied: bool
    last: tuple[int, ...]


def first_in_tree(audit: Audit) -> str:
    """Who comes first by Slurm's fair tree under each half-life, as a sentence; empty if there is no such tree."""
    lengths: dict[str, list[str]] = {}
    for stood in audit.standings:
        if audit.tree_factors(stood) is None:
            return ""
        first = [audit.names[row] for row in _turns(audit, stood).first]
        names = first if _turns(audit, stood).are_tied else first[:1]
        lengths.setdefault(listed(names, NEXT) or "nobody", []).append(audit.clock.length_text(stood.half_life))
    if len(lengths) == 1:
        return f"By Slurm's fair tree, {next(iter(lengths))} comes first at each half-life compared."
    who = listed([f"{names} at {listed(each)}" for names, each in lengths.items()])
    return f"Who comes first by Slurm's fair tree depends on the half-life: {who}."


def next_steps(audit: Audit) -> list[str]:
    """The next steps: who comes first, by how much, and who can wait; one sentence per half-life.

    Half-lives with the same answer share a sentence.
    """
    if not audit.is_present.any() or len(audit.names) < 2:
        return []
    half_lives: dict[Turns, list[Trajectory]] = {}
    for stood in audit.standings:
        half_lives.setdefault(_turns(audit, stood), []).append(stood)
    steps = [_next(audit, turns, stood) for turns, stood in half_lives.items()]
    if audit.knows_pending:
        steps.append("Only agents with pending jobs in the log are named to be served.")
    return steps


def _turns(audit: Audit, stood: Trajectory) -> Turns:
    relative, factors = audit.conclusions.asked[stood.half_life], audit.tree_factors(stood)
    ranked = [row for row in audit.ranked(stood) if audit.is_present[row]]
    waiting = [row for row in ranked if audit.waits(row)]
    if factors is not None and waiting:
        equal = [row for row in waiting if factors[audit.names[row]] == factors[audit.names[waiting[0]]]]
        first = tuple(equal if len(equal) > 1 else waiting[:NEXT])
        return Turns(first, len(equal) > 1, ())
    # An agent that waits alone is served, even if it is ahead.
    owed = [row for row in waiting if relative[row] > audit.little or audit.knows_pending]
    tied = [row for row in owed if relative[row] >= relative[owed[0]] - audit.little]
    ahead = [row for row in reversed(ranked) if relative[row] < -audit.little]
    return Turns(tuple(tied if len(tied) > 1 else owed[:NEXT]), len(tied) > 1, tuple(ahead[:1]))


def _next(audit: Audit, turns: Turns, stood: list[Trajectory]) -> str:
    lengths, word = [audit.clock.length_text(each.half_life) for each in stood], words(audit.kind)
    where = f"With {'a half-life' if len(lengths) == 1 else 'half-lives'} of {listed(lengths)}"
    where = "With perfect recall" if [each.half_life for each in stood] == [math.inf] else where
    where = "At every half-life of this audit" if 1 < len(stood) == len(audit.standings) else where
    if not turns.first:
        why = f"everyone is at the {word.share}" if audit.demand is None else "no one who is owed waits for anything"
        return f"{where}, no one has to come first, because {why}."
    burden, names = audit.kind == "burden", [audit.names[row] for row in turns.first]
    in_tree = audit.tree_factors(stood[0]) is not None
    if turns.are_tied:
        does = "the next turn is for " if burden else "serve first "
        how = "in the fair tree" if in_tree else f"({word.owed} {_each(audit, stood, turns.first)})"
        does += f"any of {listed(names, NEXT)}, who are tied {how}"
    else:
        owed = [f"({_owed_or_ahead(audit, stood, row)})" for row in turns.first]
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


def _owed_or_ahead(audit: Audit, stood: list[Trajectory], row: int) -> str:
    """How much an agent is owed, or by how much it is ahead; in the fair tree, it may come first either way."""
    values = [float(each.owed[row]) for each in stood]
    if max(values) < 0:
        return f"ahead by {_amounts(audit, [-value for value in values])}"
    per_unit = "" if audit.tree_factors(stood[0]) is not None else _ranked_by(audit, stood, row)
    return f"{words(audit.kind).owed} {_amounts(audit, values)}{per_unit}"


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
