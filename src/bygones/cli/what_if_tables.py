"""Prints what a history would have been under other memories and rules."""

from __future__ import annotations

from bygones._text import amount, counted, listed
from bygones.audit.replay.courses import Course, Reassignment
from bygones.audit.replay.queue_replay import QueueReplay
from bygones.audit.replay.what_if import WhatIf
from bygones.cli.console import print_sentences, print_table, say
from bygones.kinds import words

SHOWN = 10
"""The number of decisions, agents or jobs that are shown; JSON has them all."""


def print_what_if(found: WhatIf) -> None:
    """Prints the replays of decisions: a table, sentences, and who would have been served instead."""
    agents = counted(len(found.names), "agent")
    about = f"{counted(found.decisions, 'decision')} about {agents}, replayed {found.draws} times each"
    print_sentences([f"{found.label}: {about}.", *found.notes])
    say()
    columns = ["memory", "rule", "differ", "Gini", found.worst, f"Gini, {words(found.kind).received}", "total"]
    rows = [
        [
            each.memory.name, each.rule, each.differ.text, each.gini.text, each.worst.text, each.gini_received.text,
            each.total.text,
        ]
        for each in found.courses
    ]  # fmt: skip
    print_table("On the same needs", columns, rows)
    load = "the heaviest load of anyone" if found.kind == "burden" else "the least that anyone has"
    print_sentences([
        f"Gini and {found.worst}: of what each memory remembers at the end; {found.worst} is {load}.",
        "A range shows how much the result depends on how ties were drawn.",
    ])  # fmt: skip
    say()
    print_sentences(found.sentences())
    for course in found.alternatives():
        if course.changes:
            _print_changes(found, course)


def _print_changes(found: WhatIf, course: Course) -> None:
    does = "carrying instead" if found.kind == "burden" else "served instead"
    say("", f"{course.memory.phrase} and the rule {course.rule}, {does}:")
    for change in course.changes[:SHOWN]:
        say(f"- {found.clock.shown(change.time)}: {_change(change)}")
    if len(course.changes) > SHOWN:
        say(f"- and {len(course.changes) - SHOWN:,} more: --json lists them")


def _change(change: Reassignment) -> str:
    tie = "" if change.certain else " (a tie: other draws choose others)"
    return f"{listed(change.served) or 'nobody'} instead of {listed(change.instead_of) or 'nobody'}{tie}"


def print_queue(found: QueueReplay) -> None:
    """Prints the replays of a queue: mean waits, and the jobs that would have started earlier."""
    jobs = f"{counted(found.jobs, 'job')} of {counted(len(found.names), 'agent')}"
    print_sentences([
        f"{found.label}: {jobs}, replayed by fair share.",
        "Every start of a job counts as an opening, which goes to the pending job of whoever has used least per unit "
        "of entitlement. Sizes of jobs are not matched with openings.",
    ])  # fmt: skip
    say()
    shown = sorted(range(len(found.names)), key=lambda row: -found.waits["actual"][row])[: 2 * SHOWN]
    rows = [[found.names[row], *(amount(waits[row] / 3600e6) for waits in found.waits.values())] for row in shown]
    print_table("Mean wait in hours", ["agent", *found.waits], rows)
    print_sentences(found.sentences())
    length = found.clock.length_text
    for half_life, earlier in found.earlier.items():
        if earlier:
            say(
                "",
                f"At {length(half_life)} instead of {length(found.half_lives[-1])}, these would have started earlier:",
            )
        for each in earlier[:SHOWN]:
            when = f"{found.clock.shown(each.after)} instead of {found.clock.shown(each.before)}"
            say(f"- {each.job} of {each.agent}: {when}{'' if each.certain else ' (not in every draw)'}")
        if len(earlier) > SHOWN:
            most = found.n_earlier[half_life][1]
            which = "them" if most == len(earlier) else f"the first {len(earlier):,}"
            say(f"- and {most - SHOWN:,} more: --json lists {which}")
