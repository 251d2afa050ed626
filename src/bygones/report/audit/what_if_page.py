"""What a history would have been, as a page: who would have been served instead, and what it changes for whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bygones._text import counted, listed
from bygones.audit import QueueReplay, WhatIf
from bygones.audit.measure.groups import Group
from bygones.audit.replay.courses import Course
from bygones.kinds import words
from bygones.report.audit.audit_page import opened
from bygones.report.audit.what_if_charts import course_name, fairness_chart, gains_chart, largest, waits_chart
from bygones.report.page import Block, Page, Section, Table, asset, fragment, write

SHOWN = 30
"""The most agents in a figure: those with the largest changes."""

ROWS = 200
"""The most agents or jobs in a table; JSON has them all."""

CHANGES = 30
"""The most decisions listed of each alternative; JSON has them all."""

_TIES = (
    "Where several decisions are equally good, one is drawn. Each alternative was run {draws} times with other draws; "
    "where a range is given, it goes from the smallest result to the largest."
)
_OPENINGS = (
    "Every start of a job counts as an opening, which goes to the pending job of whoever has used least per unit of "
    "entitlement. Sizes of jobs are not matched with openings, so this is an order of jobs with times, not a schedule "
    "that the cluster could have run as it is."
)


def write_what_if(found: WhatIf, path: Path, title: str = "") -> Path:
    """Writes the replays of decisions as a self-contained HTML file."""
    return write(what_if_page(found, title), path)


def write_queue(found: QueueReplay, path: Path, title: str = "") -> Path:
    """Writes the replays of a queue as a self-contained HTML file."""
    return write(queue_page(found, title), path)


def what_if_page(found: WhatIf, title: str = "") -> Page:
    """The page of the replays of decisions."""
    memories = list(dict.fromkeys(course.memory for course in found.alternatives()))
    groups = [
        Group(
            memory.phrase,
            [
                f"By the rule {course.rule}, {found.change(course)}"
                for course in found.alternatives()
                if course.memory == memory
            ],
        )
        for memory in memories
    ]
    changed = [course for course in found.alternatives() if course.changes]
    instead = "Who would have carried instead" if found.kind == "burden" else "Who would have been served instead"
    return Page(
        title=title or "What if",
        lede=_lede(found),
        sections=[
            Section("In short", [fragment("audit/templates/conclusions.html.jinja", groups=opened(groups))]),
            Section("Fairness and total", [fairness_chart(found), _outcomes(found)]),
            Section(f"Who would have {words(found.kind).received} more", _gains(found), "gains"),
            *([Section(instead, [_changes(found, course) for course in changed], "instead")] if changed else []),
            Section("Data and method", [" ".join(found.notes), _TIES.format(draws=found.draws)]),
        ],
        kicker=f"{found.label} · {counted(found.decisions, 'decision')} · {counted(len(found.names), 'agent')}",
        footer="Made by bygones what-if.",
        styles=[asset("audit/templates/audit.css")],
    )


def _lede(found: WhatIf) -> str:
    """Which alternative would have been the most equal, and what it costs."""
    actual, word = found.courses[0], words(found.kind).received
    fairest = min(found.alternatives(), key=lambda course: course.gini_received.high)
    if fairest.gini_received.high >= actual.gini_received.low:
        return f"No alternative would have made what was {word} clearly more equal than what happened."
    return (
        f"Of {counted(len(found.alternatives()), 'alternative')}, {course_name(fairest)} would have made what was "
        f"{word} most equal: a Gini coefficient of {fairest.gini_received.text} instead of "
        f"{actual.gini_received.text}, with a total of {fairest.total.text} instead of {actual.total.text}."
    )


def _outcomes(found: WhatIf) -> Table:
    received = words(found.kind).received
    load = "heaviest load" if found.kind == "burden" else "least"
    return Table(
        f"Before and after: the Gini coefficient of what was {received}, which never fades; and under each memory the "
        f"Gini coefficient and the {load} of what it remembers in the end.",
        ["memory", "rule", "other decisions", f"total {received}", f"Gini {received}", "Gini remembered", load],
        [
            [
                course_name(each, with_rule=False), "what happened" if each.is_actual else each.rule,
                "" if each.is_actual else each.differ.text, each.total.text, each.gini_received.text, each.gini.text,
                each.worst.text,
            ]
            for each in found.courses
        ],
    )  # fmt: skip


def _gains(found: WhatIf) -> list[Block]:
    actual = found.courses[0].received
    changes = np.array([course.received - actual for course in found.alternatives()])
    rows = largest(changes, ROWS)
    more = "" if len(rows) == len(found.names) else f" The {len(rows)} with the largest changes; --json has all."
    table = Table(
        f"What each agent {words(found.kind).received}: actually, and on average over the draws of each "
        f"alternative.{more}",
        ["agent", "actual", *(course_name(course) for course in found.alternatives())],
        [
            [found.names[row], float(actual[row]), *(float(course.received[row]) for course in found.alternatives())]
            for row in rows
        ],
    )
    return [gains_chart(found, largest(changes, SHOWN)), table]


def _changes(found: WhatIf, course: Course) -> Table:
    total, ties = len(course.changes), sum(not change.certain for change in course.changes)
    some = "" if total <= CHANGES else f" The first {CHANGES}; --json has all."
    settled = f", {ties:,} of them only in some draws" if ties else ""
    # Decisions by the day need no time of day.
    times = [change.time for change in course.changes]
    shown = found.clock.day if all(found.clock.shown(time).endswith(" 00:00") for time in times) else found.clock.shown
    verb = ("carries", "carried") if found.kind == "burden" else ("served", "was served")
    return Table(
        f"{course.memory.phrase} and the rule {course.rule}: {counted(total, 'decision')} would have been "
        f"different{settled}.{some}",
        ["when", f"{verb[0]} instead", f"who {verb[1]}", "sure"],
        [
            [
                shown(change.time), listed(change.served) or "nobody",
                listed(change.instead_of) or "nobody", "yes" if change.certain else "a tie",
            ]
            for change in course.changes[:CHANGES]
        ],
    )  # fmt: skip


def queue_page(found: QueueReplay, title: str = "") -> Page:
    """The page of the replays of a queue."""
    waits = np.array(list(found.waits.values()))
    rows = largest(waits, SHOWN)
    length = found.clock.length_text
    jobs = [
        Table(
            f"At {length(half_life)} instead of {length(found.half_lives[-1])}, these jobs would have started earlier"
            f"{'' if len(moved) <= ROWS else f' (the first {ROWS})'}.",
            ["job", "agent", "start", "instead of", "earlier by", "sure"],
            [
                [
                    each.job, each.agent, found.clock.shown(each.after), found.clock.shown(each.before),
                    length(each.before - each.after), "yes" if each.certain else "not in every draw",
                ]
                for each in moved[:ROWS]
            ],
        )
        for half_life, moved in found.earlier.items()
        if moved
    ]  # fmt: skip
    table = Table(
        "Mean wait in hours.",
        ["agent", *("as it was" if name == "actual" else f"half-life {name}" for name in found.waits)],
        [
            [found.names[row], *(float(each[row]) / 3600e6 for each in found.waits.values())]
            for row in largest(waits, ROWS)
        ],
    )
    groups = [Group("Which jobs would have started earlier", found.sentences())]
    return Page(
        title=title or "What if",
        lede=found.sentences()[0],
        sections=[
            Section("In short", [fragment("audit/templates/conclusions.html.jinja", groups=opened(groups))]),
            Section("How long jobs would have waited", [waits_chart(found, rows), table], "waits"),
            *([Section("Jobs that would have started earlier", jobs, "jobs")] if jobs else []),
            Section("Data and method", [_OPENINGS, _TIES.format(draws=found.draws)]),
        ],
        kicker=f"{found.label} · {counted(found.jobs, 'job')} · {counted(len(found.names), 'agent')}",
        footer="Made by bygones what-if.",
        styles=[asset("audit/templates/audit.css")],
    )
