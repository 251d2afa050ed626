"""Replays of a history under other memories and rules, on the same needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bygones._arrays import check_count
from bygones._text import amount, counted, listed, sentence
from bygones.allocation.decide import checked_rule
from bygones.allocation.objective import check_form
from bygones.audit.read.clock import Clock
from bygones.audit.read.history import History
from bygones.audit.replay.courses import ACTUAL, Course, replay
from bygones.audit.replay.memories import Alternative, alternatives
from bygones.audit.replay.past_decisions import Decisions, decisions_of
from bygones.audit.replay.what_if_document import what_if_document
from bygones.document.document import Answer, Document
from bygones.kinds import Kind, check_kind, words
from bygones.welfare import AnyWelfare, parse_welfare

DRAWS = 10
"""How often each course is run."""


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Answer):
    """The result of `what_if`.

    Attributes:
        label: where the history came from.
        clock: the meaning of its times.
        names: the agents.
        decisions: the number of decisions.
        draws: how often each course was run.
        courses: for each memory the actual course, then one per rule.
        kind: goods or burdens.
        notes: skipped rows and assumptions, in sentences.
    """

    label: str
    clock: Clock
    names: tuple[str, ...]
    decisions: int
    draws: int
    courses: tuple[Course, ...]
    kind: Kind
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        alternatives = counted(len(self.alternatives()), "alternative")
        return f"<WhatIf for {self.label}: {counted(self.decisions, 'decision')}, {alternatives}>"

    def document(self) -> Document:
        """The result as people read it."""
        return what_if_document(self)

    @property
    def worst(self) -> str:
        """The measure of the worst-off agent in a word: the least of goods, the heaviest of burdens."""
        return "heaviest" if self.kind == "burden" else "least"

    def actual(self, course: Course) -> Course:
        """The actual course, judged by the memory of a course."""
        return next(each for each in self.courses if each.is_actual and each.memory == course.memory)

    def alternatives(self) -> list[Course]:
        """The courses that did not happen."""
        return [course for course in self.courses if not course.is_actual]

    def sentences(self) -> list[str]:
        """The changes by each rule, in sentences."""
        return [
            f"{course.memory.phrase} and the rule {course.rule}, {self.change(course)}"
            for course in self.alternatives()
        ]

    def change(self, course: Course) -> str:
        """The changes by a course, as the end of a sentence, and who would have gained."""
        was = self.actual(course)
        return (
            f"{course.differ.text} of {counted(self.decisions, 'decision')} would have been different. The Gini "
            f"coefficient of the {'recent work' if self.kind == 'burden' else 'recent totals'} would be "
            f"{course.gini.text} instead of the actual {was.gini.text}, and the total {course.total.text} instead of "
            f"{was.total.text}.{self._who_gains(course.received - was.received)}"
        )

    def _who_gains(self, gains: np.ndarray) -> str:
        """Who would have gained most, and who would have lost most, as a sentence."""
        most, least = int(np.argmax(gains)), int(np.argmin(gains))
        phrases = [f"{self.names[most]} would have {words(self.kind).received} {amount(gains[most])} more"]
        if gains[most] <= 1e-9:
            phrases = []
        if gains[least] < -1e-9:
            verb = "" if phrases else f" would have {words(self.kind).received}"
            phrases.append(f"{self.names[least]}{verb} {amount(-gains[least])} less")
        return f" {sentence(', and '.join(phrases))}" if phrases else ""

    def to_dict(self) -> dict[str, object]:
        """The result as plain data for JSON."""
        time = self.clock.json_time
        spreads = {"differ": "differ", "gini": "gini", self.worst: "worst", "gini_received": "gini_received",
                   "total": "total"}  # fmt: skip
        return {
            "history": self.label,
            "kind": self.kind,
            "decisions": self.decisions,
            "draws": self.draws,
            "notes": list(self.notes),
            "courses": [
                {
                    "memory": each.memory.name,
                    "half_life": each.memory.name if each.memory.kind == "discounted" else None,
                    "rule": each.rule,
                    **{key: getattr(each, name)._asdict() for key, name in spreads.items()},
                    "received": dict(zip(self.names, each.received.tolist(), strict=True)),
                    "changes": [change._asdict() | {"time": time(change.time)} for change in each.changes],
                }
                for each in self.courses
            ],
        }


def what_if(
    history: History,
    half_lives: Sequence[str | float] = (),
    rules: Sequence[str] = ("one-step",),
    *,
    memories: Sequence[str] = (),
    newcomers: str | float = "zero",
    welfare: AnyWelfare = "egalitarian",
    entitlements: dict[str, float] | None = None,
    others: str | float | None = None,
    kind: Kind = "good",
    draws: int = DRAWS,
) -> WhatIf:
    """Replays the decisions of a history under other memories and rules.

    Args:
        history: a history that records who asked, see `read_history(needs=…, served=…)`.
        half_lives: durations such as `7d`, or numbers of steps; `inf` is perfect recall.
        rules: policies, such as `one-step`, `prices` and `max-min`.
        memories: other memories, such as `sliding_window(length=30d)`; see `bygones.audit.replay.memories`.
        newcomers: the newcomer rule, for agents who ask for the first time.
        welfare: what decisions maximise.
        entitlements: of each agent; by default the same for everyone.
        others: the entitlement of agents that `entitlements` does not name, see `audit`.
        kind: goods or burdens.
        draws: how often each course is run, with other draws among ties.
    """
    rules = [checked_rule(rule) for rule in rules]
    check_count("draws", draws, most=10_000)
    check_kind(kind)
    check_form(parse_welfare(welfare), kind)
    clock = history.clock
    chosen = alternatives(clock, half_lives, memories)
    if not chosen:
        raise ValueError("what_if needs at least one half-life or memory")
    decisions = decisions_of(history, newcomers, entitlements, others)
    notes = [clock.sentence(), *history.notes]
    steps = {clock.length_text(each.memory(decisions.usual)[1]) for each in chosen if each.counts_in_steps}
    if steps:
        notes.append(f"The sliding window moves in steps of {listed(sorted(steps))}; times are rounded to them.")
    late = len(decisions.who.names) - len(decisions.requests[0].who)
    if late:
        rule = decisions.who.newcomers
        notes.append(f"{counted(late, 'agent')} asked for the first time later on (newcomer rule: {rule}).")
    return replay_all(history, decisions, chosen, rules, welfare, kind, draws=draws, notes=notes)


def replay_all(
    history: History,
    decisions: Decisions,
    memories: Sequence[Alternative],
    rules: Sequence[str],
    welfare: AnyWelfare,
    kind: Kind,
    *,
    draws: int = 1,
    until: float | None = None,
    notes: Sequence[str] = (),
) -> WhatIf:
    """The actual course and that of each rule, under each memory; see `replay` for `draws` and `until`."""
    courses: list[Course] = []
    for memory in memories:
        courses.append(replay(decisions, memory, ACTUAL, kind, until=until))
        courses += [replay(decisions, memory, rule, kind, welfare, draws=draws, until=until) for rule in rules]
    names, number = decisions.who.names, len(decisions.requests)
    return WhatIf(history.source.label, history.clock, names, number, draws, tuple(courses), kind, tuple(notes))
