r"""Which jobs of a cluster would have started earlier under another half-life.

Every start in the history is an opening. Under a half-life, each opening goes to the pending job of the user with the
least recent usage per unit of entitlement, and of that user's jobs to the one submitted first. A job then uses its
resources from its new start for as long as it ran. The sizes of jobs are not matched with the sizes of openings, so the
result is an order of jobs with times, not a schedule that the cluster could have run. Every opening is used again, so
the mean wait of all jobs never changes.

Usage fades while it accrues: over a time $\tau$ in which a user runs jobs at a rate $r$,

$$ Z \leftarrow 2^{-\tau/h} Z + r\,\frac{h}{\ln 2}\,\bigl(1 - 2^{-\tau/h}\bigr) . $$
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bygones._arrays import check_count
from bygones._text import amount, capitalized, counted, listed, sentence
from bygones.allocation.settling import settle
from bygones.audit.read.clock import Clock
from bygones.audit.read.history import History
from bygones.audit.replay.memories import of_length
from bygones.audit.replay.what_if import DRAWS
from bygones.audit.replay.what_if_document import queue_document
from bygones.document.document import Answer, Document
from bygones.ledger.model.owed_since import SETTLED

MOST_JOBS = 500_000
"""The largest number of jobs that are replayed."""

_LISTED = 200
_MINUTE = 60e6
_HOUR = 3600e6


class Moved(NamedTuple):
    """A job that would start at another time.

    Attributes:
        job: its number.
        agent: whose it is.
        before: its actual start.
        after: its start under the half-life.
        certain: whether it starts earlier in every draw.
    """

    job: str
    agent: str
    before: float
    after: float
    certain: bool


class Counts(NamedTuple):
    """How many jobs start more than a minute earlier, and later, each in the draw with the fewest and the most."""

    earlier: tuple[int, int]
    later: tuple[int, int]

    @classmethod
    def of(cls, gains: np.ndarray) -> Counts:
        """The counts, from how much earlier each job starts in each draw."""
        numbers = [(sign * gains > _MINUTE).sum(axis=1) for sign in (1.0, -1.0)]
        earlier, later = ((int(each.min()), int(each.max())) for each in numbers)
        return cls(earlier, later)

    def clause(self, started: str = "") -> str:
        """The counts in a sentence: `15 of 130 jobs would have started earlier and 20 later`."""
        return f"{_range(*self.earlier)}{started} earlier and {_range(*self.later)} later"


@dataclass(frozen=True, eq=False, repr=False)
class QueueReplay(Answer):
    """The result of `replay_queue`.

    Attributes:
        label: where the history came from.
        clock: the meaning of its times.
        names: the users.
        jobs: the number of jobs.
        half_lives: the half-lives, the longest last.
        waits: by half-life, each user's mean wait in microseconds, over all draws; under `actual` the real one.
        earlier: by half-life, the jobs that would start earlier than they did, the largest gain first.
        moved: by half-life, how many would start earlier and later than they did.
        instead: by half-life but the longest, how many would start earlier and later than under the longest.
        draws: how often each course was run.
    """

    label: str
    clock: Clock
    names: tuple[str, ...]
    jobs: int
    half_lives: tuple[float, ...]
    waits: dict[str, np.ndarray]
    earlier: dict[float, tuple[Moved, ...]]
    moved: dict[float, Counts]
    instead: dict[float, Counts]
    draws: int

    def __repr__(self) -> str:
        half_lives = listed(list(map(self.clock.length_text, self.half_lives)))
        return f"<QueueReplay for {self.label}: {counted(self.jobs, 'job')}, half-lives {half_lives}>"

    def document(self) -> Document:
        """The result as people read it."""
        return queue_document(self)

    def headline(self) -> str:
        """How many jobs would have started earlier and later than they did, under each half-life."""
        first, *more = self.half_lives
        jobs = self.moved[first].clause(f" of {counted(self.jobs, 'job')} would have started")
        moved = [f"{jobs} {self._with(first)}", *(f"{self.moved[each].clause()} {self._with(each)}" for each in more)]
        return f"Compared with the actual starts, {listed(moved)}."

    def sentences(self) -> list[str]:
        """How long jobs would have waited, which gain most, and what half-lives change compared with the longest."""
        than = self._with(self.half_lives[-1]).removeprefix("with ").removeprefix("a half-life of ")
        sentences = [waits for waits in map(self._changed_waits, self.half_lives) if waits]
        for half_life, earlier in self.earlier.items():
            certain = [job for job in earlier[:3] if job.certain]
            gains = [f"job {job.job} ({job.agent}), {self.clock.time_text(job.before - job.after)}" for job in certain]
            if gains:
                biggest = "biggest gain" if self.moved[half_life].earlier[1] == 1 else "biggest gains"
                begins = capitalized(self._with(half_life))
                sentences.append(sentence(f"{begins}, the {biggest} over the actual start: {'; '.join(gains)}"))
        jobs = f" of {counted(self.jobs, 'job')} would have started"
        return sentences + [
            f"{capitalized(self._with(half_life))} instead of {than}, {counts.clause(jobs)}."
            for half_life, counts in self.instead.items()
        ]

    def _changed_waits(self, half_life: float) -> str:
        """Whose mean wait gets shorter, and whose longer, by the most; empty if none changes by a minute."""
        courses = (self.waits["actual"], self.waits[self.clock.length_text(half_life)])
        before, after = ([f"{amount(wait / _HOUR)} h" for wait in waits.tolist()] for waits in courses)
        changes = courses[1] - courses[0]
        phrases = [
            f"{verb} most for {self.names[row]} (from {before[row]} to {after[row]})"
            for verb, row in (("falls", int(changes.argmin())), ("rises", int(changes.argmax())))
            if (changes[row] < -_MINUTE if verb == "falls" else changes[row] > _MINUTE)
        ]
        return f"{capitalized(self._with(half_life))}, the mean wait {' and '.join(phrases)}." if phrases else ""

    def _with(self, half_life: float) -> str:
        """A half-life in a sentence: `with a half-life of 7d`, or `with perfect recall`."""
        phrase = of_length(self.clock, half_life).phrase
        return f"{phrase[0].lower()}{phrase[1:]}"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON; waits in hours."""
        time, length = self.clock.json_time, self.clock.length_text
        return {
            "history": self.label,
            "jobs": self.jobs,
            "draws": self.draws,
            "mean_wait_hours": {
                name: dict(zip(self.names, (waits / _HOUR).tolist(), strict=True)) for name, waits in self.waits.items()
            },
            "earlier": {
                length(half_life): {
                    "jobs": list(self.moved[half_life].earlier),
                    "later": list(self.moved[half_life].later),
                    "listed": [
                        each._asdict() | {"before": time(each.before), "after": time(each.after)} for each in jobs
                    ],
                }
                for half_life, jobs in self.earlier.items()
            },
            "compared_with_the_longest": {
                length(half_life): {name: list(each) for name, each in counts._asdict().items()}
                for half_life, counts in self.instead.items()
            },
        }


def replay_queue(
    history: History,
    half_lives: Sequence[str | float],
    *,
    entitlements: dict[str, float] | None = None,
    others: str | float | None = None,
    draws: int = DRAWS,
) -> QueueReplay:
    """Replays the order of a cluster's jobs under several half-lives.

    Args:
        history: usage that records when each job was submitted, as `sacct` does with its field Submit.
        half_lives: at least two; each is compared with the longest.
        entitlements: of each user; by default the same for everyone.
        others: the entitlement of users that `entitlements` does not name, see `audit`.
        draws: how often each course is run, with other draws among users with the same usage.
    """
    check_count("draws", draws, most=10_000)
    if "submit" not in history.events.columns:
        raise ValueError(
            f"{history.source.label} does not record when jobs were submitted: add Submit to the --format of sacct"
        )
    chosen = sorted({history.clock.length(each) for each in half_lives})
    if len(chosen) < 2:
        raise ValueError("half_lives must name at least two, or there is nothing to compare")
    if history.n_events > MOST_JOBS:
        raise ValueError(
            f"up to {MOST_JOBS:,} jobs can be replayed, got {history.n_events:,}: choose some with --where"
        )
    jobs = _Jobs.of(history)
    weights = np.ones(len(jobs.names))
    if entitlements is not None:
        settled = settle(entitlements, dict.fromkeys(jobs.names, 1.0), others, history.source.label)
        weights = np.array([settled[name] for name in jobs.names])
    starts = {h: [_replay(jobs, weights, h, seed) for seed in range(draws)] for h in chosen}
    courses = {"actual": [jobs.start]} | {history.clock.length_text(h): each for h, each in starts.items()}
    earlier: dict[float, tuple[Moved, ...]] = {}
    gains = {half_life: jobs.start - np.array(each) for half_life, each in starts.items()}
    for half_life, gain in gains.items():
        is_earlier, after = gain > _MINUTE, starts[half_life][0]
        order = [int(i) for i in np.argsort(-gain.min(axis=0), kind="stable") if is_earlier[:, i].any()][:_LISTED]
        earlier[half_life] = tuple(
            Moved(
                jobs.number[i], jobs.names[jobs.who[i]], float(jobs.start[i]), float(after[i]),
                bool(is_earlier[:, i].all()),
            )
            for i in order
        )  # fmt: skip
    return QueueReplay(
        label=history.source.label,
        clock=history.clock,
        names=jobs.names,
        jobs=len(jobs.start),
        half_lives=tuple(chosen),
        waits={name: np.mean([jobs.mean_wait(each) for each in course], axis=0) for name, course in courses.items()},
        earlier=earlier,
        moved={half_life: Counts.of(gain) for half_life, gain in gains.items()},
        instead={half_life: Counts.of(gains[half_life] - gains[chosen[-1]]) for half_life in chosen[:-1]},
        draws=draws,
    )


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


class _Jobs(NamedTuple):
    """The jobs: their users and numbers, when they were submitted and started, how long they ran, and their usage."""

    names: tuple[str, ...]
    who: np.ndarray
    number: list[str]
    submit: np.ndarray
    start: np.ndarray
    lasts: np.ndarray
    used: np.ndarray

    @classmethod
    def of(cls, history: History) -> _Jobs:
        events = history.events
        # A run before an eviction has no name of a job: it was not started from the queue in one piece.
        jobs = events.filter(events.job.notnull())
        table = history.fetch(jobs.select("agent", "job", "submit", "start", "time", "utility"))
        agents = [history.source.clean_name(str(name)) for name in table["agent"].to_pylist()]
        names = tuple(sorted(set(agents)))
        row_of = {name: row for row, name in enumerate(names)}
        start, end = (np.asarray(table[name].to_numpy(), dtype=float) for name in ("start", "time"))
        submit = np.asarray(table["submit"].to_numpy(), dtype=float)
        submit = np.where(np.isnan(submit), start, np.minimum(submit, start))
        who = np.array([row_of[name] for name in agents], dtype=np.int64)
        used = np.asarray(table["utility"].to_numpy(), dtype=float)
        return cls(names, who, table["job"].to_pylist(), submit, start, np.maximum(end - start, 1.0), used)

    def mean_wait(self, start: np.ndarray) -> np.ndarray:
        """Each user's mean wait."""
        counts = np.maximum(np.bincount(self.who, minlength=len(self.names)), 1)
        return np.asarray(np.bincount(self.who, start - self.submit, len(self.names)) / counts)


def _replay(jobs: _Jobs, weights: np.ndarray, half_life: float, seed: int) -> np.ndarray:
    """The start of each job under a half-life."""
    rng, n = np.random.default_rng(seed), len(jobs.names)
    by_submit, openings = np.argsort(jobs.submit, kind="stable"), np.sort(jobs.start)
    remembered, rate, now = np.zeros(n), np.zeros(n), float(openings[0])
    pending: list[deque[int]] = [deque() for _ in range(n)]
    running: list[tuple[float, int, float]] = []
    starts, next_job = np.empty(len(jobs.start)), 0

    def go(until: float) -> None:
        nonlocal remembered, now
        if until > now:
            if math.isinf(half_life):
                remembered = remembered + rate * (until - now)
            else:
                left = 2.0 ** (-(until - now) / half_life)
                remembered = remembered * left + rate * (half_life / math.log(2)) * (1 - left)
            now = until

    for opening in openings.tolist():
        # Usage is brought up to date at the end of each job, since the rate of its user changes there.
        while running and running[0][0] <= opening:
            end, row, used = heapq.heappop(running)
            go(end)
            rate[row] -= used
        go(opening)
        while next_job < len(by_submit) and jobs.submit[by_submit[next_job]] <= opening:
            job = int(by_submit[next_job])
            pending[jobs.who[job]].append(job)
            next_job += 1
        waiting = [row for row in range(n) if pending[row]]
        # Rounding can leave less than nothing, and tell users apart who are level; then a draw decides.
        levels = np.maximum(remembered[waiting], 0.0) / weights[waiting]
        least = np.flatnonzero(levels <= levels.min() + SETTLED * max(levels.max(), 1e-300))
        row = waiting[int(rng.choice(least))] if len(least) > 1 else waiting[int(least[0])]
        job = pending[row].popleft()
        starts[job] = opening
        used = float(jobs.used[job] / jobs.lasts[job])
        rate[row] += used
        heapq.heappush(running, (opening + float(jobs.lasts[job]), row, used))
    return starts
