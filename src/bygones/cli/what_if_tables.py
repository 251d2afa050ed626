"""Prints what a history would have been under other half-lives and rules."""

from __future__ import annotations

from bygones._text import amount, counted, listed
from bygones.audit.courses import Course, Reassignment, WhatIf
from bygones.audit.queue_replay import QueueReplay
from bygones.cli.console import print_sentences, print_table, say

SHOWN = 10
"""The number of decisions, agents or jobs that are shown; JSON has them all."""


def print_what_if(found: WhatIf) -> None:
    """Prints the replays of decisions: a table, sentences, and who would have been served instead."""
    length = found.clock.length_text
    agents = counted(len(found.names), "agent")
    say(f"{found.label}: {counted(found.decisions, 'decision')} about {agents}, replayed {found.draws} times each.")
    for note in found.notes:
        say(note)
    say()
    columns = ["half-life", "rule", "differ", "Gini", "least", "total"]
    rows = [
        [length(each.half_life), each.rule, each.differ.text, each.gini.text, each.least.text, each.total.text]
        for each in found.courses
    ]
    print_table("On the same needs", columns, rows)
    say("Where a range is given, it is the uncertainty of ties: equally good decisions were drawn in several ways.", "")
    print_sentences(found.sentences())
    for course in found.courses:
        if course.changes:
            _print_changes(found, course)


def _print_changes(found: WhatIf, course: Course) -> None:
    title = f"With a half-life of {found.clock.length_text(course.half_life)} and the rule {course.rule}"
    say("", f"{title}, served instead:")
    for change in course.changes[:SHOWN]:
        say(f"- {found.clock.shown(change.time)}: {_change(change)}")
    if len(course.changes) > SHOWN:
        say(f"- and {len(course.changes) - SHOWN:,} more: --json lists them")


def _change(change: Reassignment) -> str:
    tie = "" if change.certain else " (a tie: other draws choose others)"
    return f"{listed(change.served) or 'nobody'} instead of {listed(change.instead_of) or 'nobody'}{tie}"


def print_queue(found: QueueReplay) -> None:
    """Prints the replays of a queue: mean waits, and the jobs that would have started earlier."""
    say(f"{found.label}: {counted(found.jobs, 'job')} of {counted(len(found.names), 'agent')}, replayed by fair share.")
    say(
        "Every start of a job counts as an opening, which goes to the pending job of whoever has used least per unit "
        "of entitlement. Sizes of jobs are not matched with openings.",
        "",
    )
    shown = sorted(range(len(found.names)), key=lambda row: -found.waits["actual"][row])[: 2 * SHOWN]
    rows = [[found.names[row], *(amount(waits[row] / 3600e6) for waits in found.waits.values())] for row in shown]
    print_table("Mean wait in hours", ["agent", *found.waits], rows)
    print_sentences(found.sentences())
    length = found.clock.length_text
    for half_life, jobs in found.earlier.items():
        if jobs:
            say(
                "",
                f"At {length(half_life)} instead of {length(found.half_lives[-1])}, these would have started earlier:",
            )
        for each in jobs[:SHOWN]:
            when = f"{found.clock.shown(each.after)} instead of {found.clock.shown(each.before)}"
            say(f"- {each.job} of {each.agent}: {when}{'' if each.certain else ' (not in every draw)'}")
        if len(jobs) > SHOWN:
            say(f"- and more: --json lists {len(jobs):,}")
