"""Replays as people read them: which alternative is the fairest, and who gains or loses by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bygones._files import file_name
from bygones._text import amount, capitalized, counted, listed, number_in_words
from bygones.audit.read.clock import Clock
from bygones.audit.replay.courses import Course, Spread
from bygones.document.charts import MOST_ROWS, Dots, dot_chart
from bygones.document.document import Block, Bullets, Cell, Chart, Column, Document, Section, Table
from bygones.kinds import words

if TYPE_CHECKING:
    from bygones.audit.replay.what_if import WhatIf

SHOWN = 10
"""The decisions, jobs or agents that a terminal shows; pages have more."""

LISTED = 500
"""The most decisions, jobs or agents on a page; JSON has them all."""


def what_if_document(what_if: WhatIf) -> Document:
    """The replays of decisions."""
    burden, word = what_if.kind == "burden", words(what_if.kind)
    agents = counted(len(what_if.names), "agent")
    size = f"{counted(what_if.decisions, 'decision')} about {agents}, replayed {what_if.draws} times each"
    instead = "Who would have worked instead" if burden else "Who would have been served instead"
    changed = [course for course in what_if.alternatives() if course.changes]
    sections = [
        Section("In short", [Bullets(what_if.sentences(), SHOWN)]),
        Section("Fairness and total", [*_outcome_charts(what_if), _outcomes(what_if)]),
        Section(f"Who would have {word.received} more", _gains(what_if), "gains"),
        *([Section(instead, [_changes(what_if, course) for course in changed], "instead")] if changed else []),
        Section("Data and method", [*what_if.notes, _draws_note(what_if.draws)]),
    ]
    blocks: list[Block] = [f"{file_name(what_if.label)}: {size}.", *sections]
    return Document(_fairest(what_if), blocks, "What if")


def _draws_note(draws: int) -> str:
    return (
        f"Where several decisions are equally good, one is sampled. Each alternative was run {draws} times. A range "
        "goes from the smallest result to the largest."
    )


def _fairest(what_if: WhatIf) -> str:
    """Which alternative would have been fairer than the actual course, by how much, and at which cost."""
    actual, rest = what_if.courses[0], what_if.alternatives()
    measure = f"the Gini coefficient of the totals {words(what_if.kind).received}"
    best = min(rest, key=lambda course: (course.gini_received.high, course.gini_received.low))
    was, gini = actual.gini_received, best.gini_received
    if gini.high >= was.low:
        lowest = f"{measure} would have been {gini.text} at best, and was {was.text}"
        return f"No alternative would have been clearly fairer than what happened: {lowest}."
    # A draw decides between ranges that meet, so none of their alternatives is the fairest.
    close = [course for course in rest if course.gini_received.low <= gini.high]
    equal = [course for course in close if course.gini_received.text == gini.text]
    others = [course for course in close if course not in equal]
    is_fairest = not others and len(equal) < len(rest)
    fairer = (
        f"the fairest of the {number_in_words(len(rest))} alternatives" if is_fairest else "fairer than what happened"
    )
    size = f"{'' if gini.low == gini.high and was.low == was.high else 'at least '}{amount(was.low - gini.high)} lower"
    numbers = f"{measure} would have been {gini.text} instead of the actual {was.text} ({size})"
    doubt = f" {_courses(others)} may be as fair, since the ranges overlap." if others else ""
    total = f" The total would have been {best.total.text} instead of {actual.total.text}."
    return f"{_courses(equal)} would have been {fairer}: {numbers}.{doubt}{total}"


def _courses(courses: Sequence[Course]) -> str:
    """Alternatives at the beginning of a sentence."""
    names = [f"{course.rule} with {course.memory.phrase.removeprefix('With ')}" for course in courses]
    return capitalized(listed(names, 2))


def _name(course: Course) -> str:
    return "actual" if course.is_actual else f"{course.memory.title}, {course.rule}"


def _number(spread: Spread) -> Cell:
    """A number, or a range as text."""
    return spread.text if spread.low != spread.high else spread.low


def _outcomes(what_if: WhatIf) -> Table:
    word, worst = words(what_if.kind), what_if.worst
    recent = "recent work" if what_if.kind == "burden" else "recent totals"
    load = "the heaviest load of any agent" if what_if.kind == "burden" else "the lowest of any agent"
    rows: list[list[Cell]] = [
        [
            course.memory.title, course.rule, None if course.is_actual else _number(course.differ),
            _number(course.gini_received), _number(course.total), _number(course.gini), _number(course.worst),
        ]
        for course in what_if.courses
    ]  # fmt: skip
    columns = [
        Column("memory"), Column("rule"), Column("differ", 1), Column(f"Gini {word.received}"), Column("total"),
        Column("Gini recent", 2), Column(worst, 3),
    ]  # fmt: skip
    return Table(
        "On the same needs",
        columns,
        rows,
        note=f"Gini {word.received} is of the true totals, which never fade, so all lines can be compared. Gini recent "
        f"and {worst} are of the {recent} at the end: compare them with the actual line of the same memory; {worst} is "
        f"{load}. A range shows how much the result depends on ties.",
    )


def _outcome_charts(what_if: WhatIf) -> list[Chart]:
    """Inequality and total, with a row for each alternative, so none hides another."""
    courses, received = [what_if.courses[0], *what_if.alternatives()], words(what_if.kind).received
    better = "less" if what_if.kind == "burden" else "more"
    charts = []
    for measure, title, reading in (
        ("gini_received", f"Gini coefficient of the totals {received}", "Further to the left is fairer."),
        ("total", f"total {received}", f"Further to the {'left' if better == 'less' else 'right'} is {better}."),
    ):
        spreads: list[Spread] = [getattr(course, measure) for course in courses]
        middles = [(spread.low + spread.high) / 2 for spread in spreads]
        ends = [(spread.low, spread.high) for spread in spreads]
        actual = Dots("actual", [middles[0], *(None for _ in middles[1:])], look="grey")
        rest = Dots("alternatives", [None, *middles[1:]], ends)
        texts = "; ".join(f"{_name(course)}: {spread.text}" for course, spread in zip(courses, spreads, strict=True))
        caption = f"{capitalized(title)}. {reading} Bars are the uncertainty of ties."
        rows = [_name(course) for course in courses]
        charts.append(dot_chart(rows, [actual, rest], title, alt=f"{capitalized(title)}. {texts}.", caption=caption))
    return charts


def _gains(what_if: WhatIf) -> list[Block]:
    """How much more or less each agent would have had, in a chart and in a table."""
    actual, rest, received = what_if.courses[0].received, what_if.alternatives(), words(what_if.kind).received
    changes = np.array([course.received - actual for course in rest])
    rows = largest(changes, MOST_ROWS)
    few = "" if len(rows) == len(what_if.names) else f" The {len(rows)} agents with the largest changes."
    first = ", ".join(f"{what_if.names[row]} {amount(changes[0][row], sign=True)}" for row in rows[:6])
    chart = dot_chart(
        [what_if.names[row] for row in rows],
        [Dots(_name(course), change[rows].tolist()) for course, change in zip(rest, changes, strict=True)],
        f"{received} more or less than actually",
        alt=f"Change of the total of each agent. With {_name(rest[0])}: {first}.",
        caption=f"How much more or less each agent would have {received}, with a dot for each alternative.{few}",
        numbers="+,.4g",
    )
    cells: list[list[Cell]] = [
        [what_if.names[row], *(float(each.received[row]) for each in (what_if.courses[0], *rest))]
        for row in largest(changes, LISTED)
    ]
    columns = [
        Column("agent", folds=True),
        *(Column(_name(each), measure="total") for each in (what_if.courses[0], *rest)),
    ]
    title = f"What each agent {received}: actually, and on average over the draws of each alternative"
    return [chart, Table(title, columns, cells, most=2 * SHOWN, ends=True)]


def _changes(what_if: WhatIf, course: Course) -> Section:
    """The decisions that would have been different."""
    total, ties = len(course.changes), sum(not change.certain for change in course.changes)
    some = f", the first {LISTED}" if total > LISTED else ""
    settled = f", {ties:,} of them only in some draws" if ties else ""
    verb = ("works", "worked") if what_if.kind == "burden" else ("served", "was served")
    when = _day_or_minute(what_if.clock, [change.time for change in course.changes])
    rows: list[list[Cell]] = [
        [
            when(change.time), listed(change.served) or "no one", listed(change.instead_of) or "no one",
            "yes" if change.certain else "a tie",
        ]
        for change in course.changes[:LISTED]
    ]  # fmt: skip
    title = f"{counted(total, 'decision')} would have been different{settled}{some}"
    columns = [
        Column("when"),
        Column(f"{verb[0]} instead", folds=True),
        Column(f"who {verb[1]}", folds=True),
        Column("sure"),
    ]
    return Section(_name(course), [Table(title, columns, rows, most=SHOWN)])


def _day_or_minute(clock: Clock, times: Sequence[float]) -> Callable[[float], str]:
    """How times are shown: decisions by the day need no time of day."""
    return clock.day if all(clock.shown(time).endswith(" 00:00") for time in times) else clock.shown


def largest(changes: np.ndarray, most: int) -> list[int]:
    """The rows with the largest changes, from the largest gain to the largest loss."""
    size = np.abs(changes).max(axis=0)
    chosen = np.argsort(-size, kind="stable")[:most]
    return [int(row) for row in chosen[np.argsort(-changes[0][chosen], kind="stable")]]
