"""A cluster's queue, simulated: which job starts when, if priorities go by recent usage and no more fits than there is.

Whenever a job is submitted or ends, jobs start in the order of priority as long as they fit. The first that does not
fit gets a reservation: the earliest time at which enough will be free, by the run times that the scheduler plans with.
Other jobs are backfilled in the order of priority if they do not delay it: jobs that are planned to end before, and
jobs that fit alongside it (EASY backfill). A job's priority is the rank of its association. Associations that are tied,
and jobs of one association, go by the time of submission.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort

import numpy as np

from bygones.audit.replay.queued_jobs import Jobs
from bygones.audit.replay.turn_order import FairTree, RecentUsage

ROUNDING = 1e-9
"""Sizes are added and taken away; a job fits if it is this part of the capacity too large."""


def simulated(
    jobs: Jobs,
    tree: FairTree,
    usage: RecentUsage,
    capacity: float,
    planned: np.ndarray | None,
    seen: np.ndarray | None = None,
) -> np.ndarray:
    """The start of each job.

    Args:
        jobs: the jobs.
        tree: the associations, and their order from their usage.
        usage: the recent usage, which counts what jobs use here.
        capacity: how much there is; at least the size of the largest job.
        planned: how long the scheduler plans that each job runs; without, there is no backfill.
        seen: when the scheduler sees each job; by default at its submission.
    """
    return _Queue(jobs, tree, usage, capacity, planned).run(jobs.submit if seen is None else seen)


class _Queue:
    def __init__(
        self, jobs: Jobs, tree: FairTree, usage: RecentUsage, capacity: float, planned: np.ndarray | None
    ) -> None:
        self._jobs, self._tree, self._usage, self._planned = jobs, tree, usage, planned
        self._free, self._little = capacity, capacity * ROUNDING
        self._starts = np.full(len(jobs), np.nan)
        self._waiting = np.zeros(0, dtype=np.int64)  # in the order in which they were seen
        self._ends: list[tuple[float, int]] = []
        self._planned_ends: list[tuple[float, int]] = []
        self._size = jobs.size.tolist()

    def run(self, seen: np.ndarray) -> np.ndarray:
        order = np.argsort(seen, kind="stable")
        times, n = seen[order].tolist(), len(order)
        coming = 0
        while coming < n or self._ends:
            now = min(times[coming] if coming < n else np.inf, self._ends[0][0] if self._ends else np.inf)
            while self._ends and self._ends[0][0] <= now:
                self._end(now, heapq.heappop(self._ends)[1])
            first = coming
            while coming < n and times[coming] <= now:
                coming += 1
            self._waiting = np.concatenate([self._waiting, order[first:coming]])
            self._schedule(now)
        return self._starts

    def _schedule(self, now: float) -> None:
        """Starts all jobs that can start now."""
        sizes = self._jobs.size[self._waiting]
        if not (sizes <= self._free + self._little).any():
            return
        ranks = self._tree.ranks(self._usage.at(now))
        while len(self._waiting):
            of_jobs = ranks[self._tree.association[self._waiting]]
            head = int(self._waiting[int(of_jobs.argmin())])
            if self._size[head] > self._free + self._little:
                self._backfill(now, head, of_jobs)
                return
            self._start(now, head)

    def _backfill(self, now: float, head: int, ranks: np.ndarray) -> None:
        """Starts jobs that do not delay the first one."""
        if self._planned is None:
            return
        until, alongside = self._reservation(now, head)
        sizes, in_time = self._jobs.size[self._waiting], now + self._planned[self._waiting] <= until
        can = (sizes <= self._free + self._little) & (in_time | (sizes <= alongside + self._little))
        can &= self._waiting != head
        if not can.any():
            return
        jobs, is_short = self._waiting[can], in_time[can]
        for i in np.argsort(ranks[can], kind="stable").tolist():
            job, size = int(jobs[i]), self._size[jobs[i]]
            if size > self._free + self._little or (not is_short[i] and size > alongside + self._little):
                continue
            if not is_short[i]:
                alongside -= size
            self._start(now, job)

    def _reservation(self, now: float, head: int) -> tuple[float, float]:
        """When the first job will fit, and how much is free alongside it then."""
        free, until = self._free, now
        for end, job in self._planned_ends:
            if free + self._little >= self._size[head] and end > until:
                break
            # A job that runs longer than planned is expected to end at any moment.
            free, until = free + self._size[job], max(end, now)
        return until, free - self._size[head]

    def _start(self, now: float, job: int) -> None:
        self._waiting = self._waiting[self._waiting != job]
        self._starts[job] = now
        self._free -= self._size[job]
        self._usage.at(now)
        self._usage.add(int(self._tree.association[job]), self._size[job])
        heapq.heappush(self._ends, (now + float(self._jobs.lasts[job]), job))
        if self._planned is not None:
            insort(self._planned_ends, (now + float(self._planned[job]), job))

    def _end(self, now: float, job: int) -> None:
        self._free += self._size[job]
        self._usage.at(now)
        self._usage.add(int(self._tree.association[job]), -self._size[job])
        if self._planned is not None:
            entry = (float(self._starts[job]) + float(self._planned[job]), job)
            del self._planned_ends[bisect_left(self._planned_ends, entry)]
