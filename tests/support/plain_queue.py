"""A cluster's queue from its definitions, in plain Python and slow: what the simulation of `bygones` is compared with.

Usage is the integral of every past run, each moment weighed by its age. A free node is one that no run holds. A job
starts if no job of higher priority waits and it fits, or if it leaves the first job that does not fit alone.
"""

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True)
class Job:
    number: int
    user: str
    submit: float
    lasts: float
    limit: float
    size: int


@dataclass(frozen=True)
class Run:
    job: Job
    start: float

    @property
    def end(self):
        return self.start + self.job.lasts


def usage(runs, user, now, half_life):
    """The hours of a user's runs so far, each moment of them halved for every half-life since."""
    total = 0.0
    for run in runs:
        if run.job.user == user:
            begun, ended = now - run.start, now - min(run.end, now)  # ages
            if math.isinf(half_life):
                total += run.job.size * (begun - ended)
            else:
                total += (
                    run.job.size * half_life / math.log(2) * (2 ** (-ended / half_life) - 2 ** (-begun / half_life))
                )
    return total


def by_usage(half_life, shares):
    """Priorities: the user with the least usage per share first. Users who differ by a rounding error are level."""
    return lambda runs, users, now: {user: round(usage(runs, user, now, half_life) / shares[user], 6) for user in users}


def by_submission(runs, users, now):
    return dict.fromkeys(users, 0.0)


def schedule(jobs, capacity, priority, *, backfill=True, every=0.0, cycle=0.0):
    """The start of every job by its number.

    Args:
        jobs: the jobs.
        capacity: the number of nodes.
        priority: the keys of users from the runs so far and the time; the lowest goes first.
        backfill: whether jobs may pass the first that does not fit, planned with their limits.
        every: how often priorities are computed; at each decision if 0.
        cycle: how often decisions are made; whenever a job comes or ends if 0.
    """
    runs, waiting, coming = [], [], sorted(jobs, key=lambda job: (job.submit, job.number))
    users = sorted({job.user for job in jobs})
    now, computed, keys = -math.inf, -math.inf, {}
    while coming or waiting:
        moments = [job.submit for job in coming[:1]] + [run.end for run in runs if run.end > now]
        now = min(moments)
        if cycle:
            now = math.ceil(now / cycle - 1e-9) * cycle
        while coming and coming[0].submit <= now:
            waiting.append(coming.pop(0))
        if now - computed >= every:
            keys, computed = priority(runs, users, now), now
        waiting.sort(key=lambda job: (keys[job.user], job.submit, job.number))
        while waiting and waiting[0].size <= free(runs, capacity, now):
            runs.append(Run(waiting.pop(0), now))
        if waiting and backfill:
            pass_first(runs, waiting, capacity, now)
    return {run.job.number: run.start for run in runs}


def free(runs, capacity, now):
    return capacity - sum(run.job.size for run in runs if run.start <= now < run.end)


def pass_first(runs, waiting, capacity, now):
    """Starts jobs that do not delay the first one."""
    first, rest = waiting[0], waiting[1:]
    ends = sorted({now, *(planned_end(run, now) for run in runs if run.end > now)})
    until = next(end for end in ends if planned_free(runs, capacity, now, end) >= first.size)
    for job in rest:
        if job.size > free(runs, capacity, now):
            continue
        left = planned_free(runs, capacity, now, until) - first.size
        if now + job.limit <= until or job.size <= left:
            waiting.remove(job)
            runs.append(Run(job, now))


def planned_end(run, now):
    return max(run.start + run.job.limit, now)


def planned_free(runs, capacity, now, at):
    """The nodes that are free at a time, as planned now."""
    return capacity - sum(run.job.size for run in runs if run.end > now and planned_end(run, now) > at)


def made_up(seed, n_jobs=300, n_users=8, capacity=32, load=1.1):
    """Jobs with heavy tails, users who differ and come in campaigns, and a rhythm of days; times in whole seconds."""
    rng = random.Random(seed)
    users = [f"u{i:02}" for i in range(n_users)]
    weights = [rng.paretovariate(0.9) for _ in users]
    habits = {user: (rng.choice([1, 1, 2, 4, 8]), rng.uniform(6.5, 9.0)) for user in users}
    jobs, now, number = [], 0.0, 0
    work = 0.0
    while len(jobs) < n_jobs:
        user = rng.choices(users, weights)[0]
        size, scale = habits[user]
        for _ in range(min(1 + int(rng.paretovariate(1.1)), 25)):
            lasts = min(max(60, round(rng.lognormvariate(scale, 1.3))), 4 * 86_400)
            limit = max(lasts, rng.choice([3600, 4 * 3600, 86_400, 4 * 86_400]), round(lasts * rng.uniform(1, 4)))
            nodes = min(capacity, max(1, round(size * rng.choice([0.5, 1, 1, 2]))))
            number += 1
            jobs.append(Job(number, user, float(round(now)), float(lasts), float(limit), nodes))
            work += lasts * nodes
            now += rng.expovariate(1 / 40)
        # The next campaign comes when the cluster would have done the work so far, later at night.
        behind = work / capacity / load - now
        now += max(rng.expovariate(1 / 600), behind * rng.uniform(0.5, 1.5))
        if (now % 86_400) < 7 * 3600 and rng.random() < 0.7:
            now += 7 * 3600 - now % 86_400
    return jobs[:n_jobs]


BEGAN = datetime(2026, 1, 5, tzinfo=UTC)


def sacct(jobs, starts):
    """What happened, as `sacct` prints it."""

    def text(at):
        return f"{BEGAN + timedelta(seconds=round(at)):%Y-%m-%dT%H:%M:%S}"

    def length(seconds):
        days, rest = divmod(round(seconds), 86_400)
        return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"

    rows = [
        f"{job.number}|{job.user}|{text(job.submit)}|{text(starts[job.number])}|"
        f"{text(starts[job.number] + job.lasts)}|{length(job.lasts)}|{length(job.limit)}|cpu={job.size}"
        for job in jobs
    ]
    return "\n".join(["JobID|User|Submit|Start|End|Elapsed|Timelimit|AllocTRES", *rows, ""])
