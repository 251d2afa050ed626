"""The jobs of a cluster, as a replay of its queue needs them: submitted, started, how long, how large, and whose."""

from __future__ import annotations

from dataclasses import dataclass

import ibis
import numpy as np

from bygones._text import counted
from bygones.audit.read.history import History

MOST_JOBS = 1_000_000
"""The largest number of jobs that are replayed."""

SECOND = 1e6
MINUTE = 60e6
HOUR = 3600e6


@dataclass(frozen=True, eq=False)
class Jobs:
    """The jobs of a history in the order in which they were submitted; all times are in microseconds.

    Attributes:
        names: the users.
        who: for each job, the row of its user.
        accounts: for each job, the account that it was charged to; empty if the log does not tell.
        number: its number in the log.
        submit: the time at which it was submitted.
        start: the time at which it started.
        lasts: how long it ran.
        requested: how long it could have run at most; NaN if the log does not tell.
        size: how much of the cluster it used at a time.
        notes: jobs that are left out, in sentences.
    """

    names: tuple[str, ...]
    who: np.ndarray
    accounts: tuple[str, ...]
    number: tuple[str, ...]
    submit: np.ndarray
    start: np.ndarray
    lasts: np.ndarray
    requested: np.ndarray
    size: np.ndarray
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, history: History) -> Jobs:
        """The jobs of a history that records when they were submitted."""
        events = history.events
        if "submit" not in events.columns:
            raise ValueError(
                f"{history.source.label} does not record when jobs were submitted: add Submit to the --format of sacct"
            )
        if history.n_events > MOST_JOBS:
            raise ValueError(
                f"up to {MOST_JOBS:,} jobs can be replayed, got {history.n_events:,}: choose some with --where"
            )
        # A run before an eviction has no name of a job: it was not started from the queue in one piece.
        jobs = events.filter(events.job.notnull())
        table = history.fetch(
            jobs.select(
                "agent", "job", "submit", "start", "time", "utility",
                size=jobs["size"] if "size" in jobs.columns else ibis.null("float64"),
                requested=jobs["requested"] if "requested" in jobs.columns else ibis.null("float64"),
                account=jobs["account"] if "account" in jobs.columns else ibis.null("string"),
            )
        )  # fmt: skip
        columns = {
            name: np.asarray(table[name].to_numpy(), dtype=float)
            for name in ("submit", "start", "time", "utility", "size", "requested")
        }
        start, lasts = columns["start"], np.maximum(columns["time"] - columns["start"], 1.0)
        submit = np.where(np.isnan(columns["submit"]), start, np.minimum(columns["submit"], start))
        size = np.where(np.isnan(columns["size"]), columns["utility"] / (lasts / HOUR), columns["size"])
        agents = [history.source.clean_name(str(name)) for name in table["agent"].to_pylist()]
        numbers, accounts = table["job"].to_pylist(), table["account"].to_pylist()
        order = [int(i) for i in np.lexsort((start, submit)) if size[i] > 0]
        names = tuple(sorted({agents[i] for i in order}))
        row_of = {name: row for row, name in enumerate(names)}
        none = len(agents) - len(order)
        unit = history.columns["utility"].removesuffix("-hours")
        return cls(
            names,
            np.array([row_of[agents[i]] for i in order], dtype=np.int64),
            tuple(str(accounts[i] or "") for i in order),
            tuple(str(numbers[i]) for i in order),
            submit[order], start[order], lasts[order], columns["requested"][order] * SECOND, size[order],
            (f"Left out {counted(none, 'job')} that used none of the resource that is counted ({unit}).",)
            if none else (),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.number)

    def most_in_use(self) -> float:
        """The most that jobs used at once in what happened."""
        return most_in_use(self.start, self.lasts, self.size)

    def mean_wait(self, start: np.ndarray) -> np.ndarray:
        """Each user's mean wait, if jobs start at these times."""
        counts = np.maximum(np.bincount(self.who, minlength=len(self.names)), 1)
        return np.asarray(np.bincount(self.who, start - self.submit, len(self.names)) / counts)


def most_in_use(start: np.ndarray, lasts: np.ndarray, size: np.ndarray) -> float:
    """The most that jobs use at once; a job that ends makes room for one that starts at the same time."""
    times, changes = np.concatenate([start + lasts, start]), np.concatenate([-size, size])
    order = np.argsort(times, kind="stable")  # ends come before starts
    return float(np.cumsum(changes[order]).max(initial=0.0))
