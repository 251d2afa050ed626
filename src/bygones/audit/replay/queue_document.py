"""Replays of a cluster's queue as people read them: how far they can be trusted, and who would have waited less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bygones._files import file_name
from bygones._text import amount, counted
from bygones.audit.replay.fidelity import CLEAR, LEAST_TAU, MOST_ERROR
from bygones.audit.replay.queued_jobs import HOUR
from bygones.audit.replay.what_if_document import LISTED, SHOWN, largest
from bygones.document.charts import MOST_ROWS, Dots, dot_chart
from bygones.document.document import Block, Bullets, Cell, Column, Document, Section, Signed, Table

if TYPE_CHECKING:
    from bygones.audit.replay.queue_replay import Moved, QueueCourse, QueueReplay


def queue_document(queue: QueueReplay) -> Document:
    """The replays of a queue."""
    users, agrees = counted(len(queue.jobs.names), "user"), queue.fidelity.is_enough
    if agrees:
        moved = [table for course in queue.courses for table in _moved(queue, course)]
        sections = [
            Section("In short", [Bullets(queue.sentences(), SHOWN)]),
            Section("How long users would have waited", _waits(queue), "waits"),
            *([Section("Jobs that would have started at another time", moved, "jobs")] if moved else []),
        ]
    else:
        sections = [Section("What to try", [Bullets(_remedies())])]
    opening = f"{file_name(queue.label)}: {counted(len(queue.jobs), 'job')} of {users}, simulated."
    method = Section("Data and method", [*_method(queue), *queue.notes])
    return Document(
        queue.headline(), [queue.fidelity_sentence(), opening, _settings(queue), *sections, method], "What if"
    )


def _settings(queue: QueueReplay) -> str:
    """What the replays assume."""
    how = "the most that was in use at once; --capacity sets it" if queue.is_observed else "as given"
    sentences = [f"The capacity is {amount(queue.capacity, 6)} {queue.unit} ({how}).", queue.order, queue.backfill]
    if queue.is_assumed:
        sentences.append(f"A half-life of {queue.in_force.name} in force is assumed; --in-force sets it.")
    return " ".join(sentences)


def _remedies() -> list[str]:
    """What makes the replay of the policy in force more like what happened."""
    return [
        "Name the half-life or memory by which the cluster ordered jobs with --in-force, as PriorityDecayHalfLife in "
        "scontrol show config; none is the order of submission.",
        "Give the shares with --entitlements, as the output of sshare -a -P.",
        "Replay one partition at a time with --where Partition=NAME, and give its size with --capacity.",
        "Add Timelimit, Eligible, Account and Partition to the --format of sacct.",
        "Begin the log some half-lives before the jobs that matter: earlier usage is not known to the replay.",
    ]


def _method(queue: QueueReplay) -> list[str]:
    return [
        "Jobs keep their sizes, their run times and the times of their submission. Whenever a job is submitted or "
        "ends, jobs start in the order of priority as long as they fit, and others are backfilled if they do not "
        "delay the first that does not fit. Priorities go by the usage in the replay itself.",
        f"Users and jobs are named if Kendall's tau is at least {LEAST_TAU} and the median error of waits at most "
        f"{MOST_ERROR:.0%} of the mean wait. Schedulers work in cycles, so each policy was replayed "
        f"{counted(queue.draws, 'time')}, with jobs that are seen up to a minute late. A user or a job is named if its "
        f"wait changes the same way in all of them, by more than a minute, and by more than {CLEAR:g} times the "
        "root mean square error of the policy in force.",
    ]


def _waits(queue: QueueReplay) -> list[Block]:
    """Each user's mean wait, in a chart and in a table."""
    hours = {name: waits / HOUR for name, waits in queue.waits.items()}
    actual, rest = hours["actual"], [hours[course.memory.name] for course in queue.courses]
    names, titles = queue.jobs.names, [course.memory.title for course in queue.courses]
    rows = largest(np.array([actual - waits for waits in rest]), MOST_ROWS)
    first = ", ".join(f"{names[row]} {amount(actual[row])} h" for row in rows[:6])
    chart = dot_chart(
        [names[row] for row in rows],
        [
            Dots("actual", actual[rows].tolist(), look="grey"),
            *(Dots(title, waits[rows].tolist()) for title, waits in zip(titles, rest, strict=True)),
        ],
        "mean wait (h)",
        alt=f"Mean wait of each user's jobs, actually: {first}.",
        caption="Mean wait from the submission of a job to its start, actually and in each replay.",
    )
    cells: list[list[Cell]] = [
        [names[row], float(actual[row]), float(hours["in force"][row]), *(float(waits[row]) for waits in rest)]
        for row in sorted(range(len(names)), key=lambda row: (-actual[row], names[row]))[:LISTED]
    ]
    columns = [
        Column("user", folds=True),
        *(Column(name, measure="wait") for name in ("actual", "in force, replayed", *titles)),
    ]
    table = Table("Mean wait in hours", columns, cells, most=2 * SHOWN)
    return [chart, table, *(_changes(course) for course in queue.courses if course.gainers or course.losers)]


def _changes(course: QueueCourse) -> Table:
    """The users who would have waited less, and longer, by how much."""
    named = [*course.gainers, *reversed(course.losers)]
    cells: list[list[Cell]] = [
        [each.agent, each.before / HOUR, each.after / HOUR, Signed((each.before - each.after) / HOUR)] for each in named
    ]
    title = f"{course.memory.phrase}: who would have waited less (+) and longer (-), in hours"
    columns = [
        Column("user", folds=True), Column("actual", measure="wait"), Column("replayed", measure="wait"),
        Column("less", measure="wait"),
    ]  # fmt: skip
    return Table(title, columns, cells, most=2 * SHOWN, ends=True)


def _moved(queue: QueueReplay, course: QueueCourse) -> list[Table]:
    """The jobs that would have started earlier, and later."""
    return [
        _jobs(queue, f"{course.memory.phrase}, {counted(len(jobs), 'job')} would have started {how}", jobs, how)
        for jobs, how in ((course.earlier, "earlier"), (course.later, "later"))
        if jobs
    ]


def _jobs(queue: QueueReplay, title: str, jobs: tuple[Moved, ...], how: str) -> Table:
    shown = queue.clock.shown
    some = f", the first {LISTED}" if len(jobs) > LISTED else ""
    rows: list[list[Cell]] = [
        [
            job.job, job.agent, shown(job.after), shown(job.before),
            queue.clock.time_text(abs(job.before - job.after)),
        ]
        for job in jobs[:LISTED]
    ]  # fmt: skip
    return Table(f"{title}{some}", ["job", "user", "start", "actual start", f"{how} by"], rows, most=SHOWN)
