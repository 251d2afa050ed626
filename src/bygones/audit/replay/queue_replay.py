"""A cluster's queue under other half-lives: which users and jobs would have waited less, and which longer.

The queue is simulated (`bygones.audit.replay.job_queue`) with the same jobs, on as much as the cluster has. First the
policy in force is replayed, which should give what happened. `Fidelity` measures how far it is from it. A replay that
is too far from what happened names no users and no jobs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from bygones._arrays import check_between, check_one_of
from bygones._text import amount, counted, listed
from bygones.allocation.settling import settle
from bygones.audit.read.clock import Clock
from bygones.audit.read.entitlements import Shares
from bygones.audit.read.history import History
from bygones.audit.replay.fidelity import Fidelity, clear, fidelity
from bygones.audit.replay.job_queue import simulated
from bygones.audit.replay.memories import Alternative, alternatives
from bygones.audit.replay.queue_document import queue_document
from bygones.audit.replay.queued_jobs import HOUR, MINUTE, Jobs
from bygones.audit.replay.turn_order import FairTree, flat, recent_usage, slurm_tree
from bygones.document.document import Answer, Document

Backfill: TypeAlias = Literal["auto", "requested", "actual", "no"]
"""The run times by which jobs are backfilled: requested if the log has them for all jobs, else actual; or none."""

IN_FORCE = "7d"
"""The policy in force where none is named: Slurm's default for PriorityDecayHalfLife."""


DRAWS = 5
"""How often each policy is replayed, with jobs that are seen up to a minute late."""

MOST_REPLAYED = 200_000
"""Long logs are replayed less often: each policy on about so many jobs in all."""


class Moved(NamedTuple):
    """A job that would have started at another time.

    Attributes:
        job: its number.
        agent: whose it is.
        before: its actual start.
        after: its start in the replay.
    """

    job: str
    agent: str
    before: float
    after: float


class Change(NamedTuple):
    """How the mean wait of a user would have changed, in microseconds.

    Attributes:
        agent: the user.
        before: the actual mean wait.
        after: the mean wait in the replay of the alternative.
        gain: by how much less the user would have waited on average over the draws, negative if longer; 0 if it is not
            clear (`bygones.audit.replay.fidelity.clear`).
    """

    agent: str
    before: float
    after: float
    gain: float


@dataclass(frozen=True, eq=False)
class QueueCourse:
    """The queue under one memory.

    Attributes:
        memory: the memory.
        start: the start of each job, where the scheduler sees jobs at their submission.
        changes: how the mean wait of each user would have changed, the largest gain first.
        earlier: the jobs that would have started earlier, the largest gain first.
        later: the jobs that would have started later, the largest loss first.
    """

    memory: Alternative
    start: np.ndarray
    changes: tuple[Change, ...]
    earlier: tuple[Moved, ...]
    later: tuple[Moved, ...]

    @property
    def gainers(self) -> list[Change]:
        """The users who would have waited less, the largest gain first."""
        return [each for each in self.changes if each.gain > 0]

    @property
    def losers(self) -> list[Change]:
        """The users who would have waited longer, the largest loss first."""
        return [each for each in reversed(self.changes) if each.gain < 0]


@dataclass(frozen=True, eq=False, repr=False)
class QueueReplay(Answer):
    """The result of `replay_queue`.

    Attributes:
        label: where the history came from.
        clock: the meaning of its times.
        jobs: the jobs.
        unit: what the size of jobs and the capacity are counted in.
        capacity: how much the replays use at most.
        is_observed: whether the capacity is the most that was in use at once.
        order: how associations are ordered, in a sentence.
        backfill: the run times by which jobs are backfilled, in a sentence.
        in_force: the memory of the policy in force.
        is_assumed: whether it was not named.
        fidelity: how far its replay is from what happened.
        waits: each user's mean wait in microseconds: `actual`, `in force` and by the name of each alternative.
        courses: the queue under each alternative.
        draws: how often each policy was replayed.
        notes: skipped rows and assumptions, in sentences.
    """

    label: str
    clock: Clock
    jobs: Jobs
    unit: str
    capacity: float
    is_observed: bool
    order: str
    backfill: str
    in_force: Alternative
    is_assumed: bool
    fidelity: Fidelity
    waits: dict[str, np.ndarray]
    courses: tuple[QueueCourse, ...]
    draws: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        names = listed([course.memory.name for course in self.courses])
        return f"<QueueReplay for {self.label}: {counted(len(self.jobs), 'job')}, {names}>"

    def document(self) -> Document:
        """The result as people read it."""
        return queue_document(self)

    def headline(self) -> str:
        """Whether the replay can be trusted, and how many jobs would have started earlier and later."""
        if not self.fidelity.is_enough:
            return (
                f"No users or jobs are named, because the replay of the policy in force ({self.in_force.title}) is too "
                "far from what happened."
            )
        of = f" of {counted(len(self.jobs), 'job')} would have started"
        moved = [
            f"{len(course.earlier):,}{of if not i else ''} earlier and {len(course.later):,} later "
            f"{_lower(course.memory.phrase)}"
            for i, course in enumerate(self.courses)
        ]
        return f"{listed(moved)}."

    def fidelity_sentence(self) -> str:
        """How far the replay of the policy in force is from what happened."""
        fidelity, policy = self.fidelity, f"the policy in force ({self.in_force.title})"
        if not fidelity.waited:
            return f"No job waited a minute or more, neither actually nor in the replay of {policy}."
        tau = (
            f"Kendall's tau of the order of starts is {fidelity.tau:.2f}, over {counted(fidelity.pairs, 'pair')} of "
            "jobs that were in the queue at the same time"
            if fidelity.pairs
            else "No two jobs were in the queue at the same time"
        )
        return (
            f"The replay of {policy} has a median error of {self.clock.time_text(fidelity.error)} in the waits of the "
            f"{counted(fidelity.waited, 'job')} that waited a minute or more, whose mean wait was "
            f"{self.clock.time_text(fidelity.wait)}. {tau}."
        )

    def sentences(self) -> list[str]:
        """Who would have waited less and who longer under each alternative."""
        return [self._changed(course) for course in self.courses]

    def _changed(self, course: QueueCourse) -> str:
        gainers, losers = course.gainers, course.losers
        phrases = [
            f"{counted(len(users), 'user')} would have waited {how}, {users[0].agent} by the most (from "
            f"{_hours(users[0].before)} to {_hours(users[0].after)} on average)"
            for users, how in ((gainers, "less"), (losers, "longer"))
            if users
        ]
        return f"{course.memory.phrase}, {listed(phrases) or 'no user would clearly have waited less or longer'}."

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON; waits in hours."""
        time, fidelity = self.clock.json_time, self.fidelity
        named = fidelity.is_enough
        return {
            "history": self.label,
            "jobs": len(self.jobs),
            "capacity": {"amount": self.capacity, "unit": self.unit, "observed": self.is_observed},
            "in_force": {"memory": self.in_force.name, "assumed": self.is_assumed},
            "draws": self.draws,
            "fidelity": {
                "enough": named,
                "median_error_hours": fidelity.error / HOUR,
                "mean_wait_hours": fidelity.wait / HOUR,
                "jobs_that_waited": fidelity.waited,
                "kendall_tau": fidelity.tau if math.isfinite(fidelity.tau) else None,
                "pairs": fidelity.pairs,
            },
            "mean_wait_hours": {
                name: dict(zip(self.jobs.names, (waits / HOUR).tolist(), strict=True))
                for name, waits in self.waits.items()
            }
            if named
            else {},
            "alternatives": {
                course.memory.name: {
                    "gain": [each.agent for each in course.gainers],
                    "lose": [each.agent for each in course.losers],
                    **{
                        name: [
                            each._asdict() | {"before": time(each.before), "after": time(each.after)} for each in jobs
                        ]
                        for name, jobs in (("earlier", course.earlier), ("later", course.later))
                    },
                }
                for course in self.courses
            }
            if named
            else {},
            "notes": list(self.notes),
        }


def replay_queue(
    history: History,
    half_lives: Sequence[str | float] = (),
    *,
    memories: Sequence[str] = (),
    in_force: str | None = None,
    capacity: float | None = None,
    backfill: Backfill = "auto",
    entitlements: Shares | dict[str, float] | None = None,
    others: str | float | None = None,
) -> QueueReplay:
    """Simulates a cluster's queue under several half-lives, and first under the policy in force.

    Args:
        history: usage that records when each job was submitted, as `sacct` does with its field Submit.
        half_lives: durations such as `7d`; `inf` is perfect recall.
        memories: other memories, such as `sliding_window(length=7d)`; `none` starts jobs in the order of submission.
        in_force: the half-life or memory by which the cluster really ordered jobs; by default `7d`, as in Slurm.
        capacity: how much the cluster has of the resource that is counted; by default the most that was in use at once.
        backfill: the run times by which jobs are backfilled.
        entitlements: of each user, by default the same for everyone; or what `read_shares` read. With a Slurm cluster's
            account tree, jobs are ordered by its fair tree.
        others: the entitlement of users that `entitlements` does not name, see `audit`.
    """
    check_one_of("backfill", backfill, get_args(Backfill))
    clock, jobs = history.clock, Jobs.of(history)
    chosen = alternatives(clock, half_lives, memories)
    if not chosen:
        raise ValueError("half_lives must name at least one, or there is nothing to replay")
    current = _memory(clock, in_force or IN_FORCE)
    if not len(jobs):
        raise ValueError(f"{history.source.label} has no job of the resource that is counted: choose --resource")
    tree, order = _order(jobs, entitlements, others, history.source.label)
    unit, planned, plan = history.columns["utility"].removesuffix("-hours"), *_planned(jobs, backfill)
    used, largest = jobs.most_in_use(), float(jobs.size.max())
    if capacity is not None:
        accepted = f"a number of at least {amount(largest, 6)}, the size of the largest job"
        check_between("capacity", capacity, largest, math.inf, accepted, open_high=True)
    room = used if capacity is None else float(capacity)

    # Schedulers work in cycles, so in all draws but the first they see each job up to a minute late.
    rng, draws = np.random.default_rng(0), max(1, min(DRAWS, MOST_REPLAYED // len(jobs)))
    seen = [jobs.submit, *(jobs.submit + rng.uniform(0, MINUTE, len(jobs)) for _ in range(draws - 1))]

    def starts(memory: Alternative, times: np.ndarray) -> np.ndarray:
        usage = recent_usage(memory, tree.size, float(jobs.submit[0]))
        return simulated(jobs, tree, usage, room, planned, times)

    replayed = np.array([starts(current, times) for times in seen])
    courses = tuple(
        _course(jobs, memory, replayed, np.array([starts(memory, times) for times in seen])) for memory in chosen
    )
    notes = [clock.sentence(), *history.notes, *jobs.notes]
    if isinstance(entitlements, Shares):
        notes += entitlements.notes
    if capacity is not None and used > room * (1 + 1e-9):
        notes.append(f"Actually up to {amount(used, 6)} {unit} were in use at once, more than the capacity given.")
    return QueueReplay(
        label=history.source.label,
        clock=clock,
        jobs=jobs,
        unit=unit,
        capacity=room,
        is_observed=capacity is None,
        order=order,
        backfill=plan,
        in_force=current,
        is_assumed=in_force is None,
        fidelity=fidelity(jobs, replayed[0]),
        waits={
            "actual": jobs.mean_wait(jobs.start),
            "in force": jobs.mean_wait(replayed[0]),
            **{course.memory.name: jobs.mean_wait(course.start) for course in courses},
        },
        courses=courses,
        draws=draws,
        notes=tuple(notes),
    )


def _memory(clock: Clock, text: str) -> Alternative:
    """A memory from a half-life or from a name."""
    is_half_life = text[:1].isdigit() or text.strip() in ("inf", ".")
    (memory,) = alternatives(clock, [text], ()) if is_half_life else alternatives(clock, (), [text])
    return memory


def _order(
    jobs: Jobs, entitlements: Shares | dict[str, float] | None, others: str | float | None, label: str
) -> tuple[FairTree, str]:
    """The associations, and how they are ordered."""
    if isinstance(entitlements, Shares) and entitlements.tree is not None:
        tree = slurm_tree(jobs, entitlements.tree, by_user=entitlements.by_user)
        return tree, "Jobs are ordered by Slurm's fair tree of accounts and users."
    weights = dict.fromkeys(jobs.names, 1.0)
    if entitlements is not None:
        given = entitlements.entitlements if isinstance(entitlements, Shares) else entitlements
        weights = settle(given, weights, others, label)
    per = "recent usage" if entitlements is None else "recent usage per unit of entitlement"
    return flat(jobs, np.array([weights[name] for name in jobs.names])), f"The user with the least {per} goes first."


def _planned(jobs: Jobs, backfill: Backfill) -> tuple[np.ndarray | None, str]:
    """The run times by which jobs are backfilled, and which these are."""
    known = ~np.isnan(jobs.requested)
    if backfill == "no":
        return None, "Jobs are not backfilled."
    if backfill == "requested" and not known.any():
        raise ValueError("backfill requested needs the run times that were requested: add Timelimit to the --format")
    if backfill == "actual" or not known.any():
        return jobs.lasts, "Jobs are backfilled by their actual run times."
    rest = "" if known.all() else f", {counted(int((~known).sum()), 'job')} without one by the actual run time"
    return np.where(known, jobs.requested, jobs.lasts), f"Jobs are backfilled by the run times requested{rest}."


def _course(jobs: Jobs, memory: Alternative, replayed: np.ndarray, starts: np.ndarray) -> QueueCourse:
    """The clear changes of an alternative against the actual starts; both replays have a row per draw."""
    start, before = starts[0], jobs.mean_wait(jobs.start)
    in_force, waits = (np.array([jobs.mean_wait(each) for each in draws]) for draws in (replayed, starts))
    gains = clear(before - waits, before - in_force)
    changes = [
        Change(*each) for each in zip(jobs.names, before.tolist(), waits[0].tolist(), gains.tolist(), strict=True)
    ]
    by_job = clear(jobs.start - starts, jobs.start - replayed)
    order = np.argsort(-by_job, kind="stable").tolist()
    moved = [
        tuple(Moved(jobs.number[i], jobs.names[jobs.who[i]], float(jobs.start[i]), float(start[i])) for i in rows)
        for rows in ([i for i in order if by_job[i] > 0], [i for i in reversed(order) if by_job[i] < 0])
    ]
    return QueueCourse(memory, start, tuple(sorted(changes, key=lambda each: -each.gain)), *moved)


def _hours(time: float) -> str:
    return f"{amount(time / HOUR)} h"


def _lower(phrase: str) -> str:
    return f"{phrase[:1].lower()}{phrase[1:]}"
