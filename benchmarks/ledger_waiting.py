"""How long writers of one ledger wait for one another, and for a slow reader.

python -m benchmarks.ledger_waiting                                     # eight writers for ten seconds, SQLite
python -m benchmarks.ledger_waiting --target postgresql://user@host/empty

Each writer records one event after the other as fast as it can; a wait is the time from asking to having recorded.
Eight writers on two busy cores: with a rollback journal and SQLite's own waiting, the longest wait was 10.1 s and the
writer with the fewest recorded 0.1 events/s of 53; with a write-ahead log and waiting in turn, 0.74 s and 11 of 96.

With --reader, a reader has begun to read all events and pauses, as `bygones ledger export | less` does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bygones.ledger import Entry, Ledger, LedgerError, Rules

ready: Barrier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--reader", action="store_true", help="a reader keeps reading")
    parser.add_argument("--target", help="a new file or an empty database; by default a file that is removed again")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        target = options.target or str(Path(folder) / "ledger.db")
        names = [f"agent {i}" for i in range(options.writers)]
        with Ledger.new(target, Rules(), began="2026-01-01") as ledger:
            ledger.join_all(names, at="2026-01-01")
            ledger.record_all([Entry(names[0], 1.0)] * 100_000)
        if options.reader:
            reading = stack.enter_context(Ledger.open(target)).events()
            next(reading)
            stack.callback(reading.close)
        processes = multiprocessing.get_context("forkserver")
        ready = processes.Barrier(options.writers)
        with ProcessPoolExecutor(options.writers, processes, initializer=keep, initargs=(ready,)) as pool:
            asked = [pool.submit(write, target, name, options.seconds) for name in names]
            waits = [each.result() for each in asked]
        report("recorded", sum(map(len, waits)) / options.seconds, "events/s")
        report("by the writer with the fewest", min(map(len, waits)) / options.seconds, "events/s")
        every = [wait for each in waits for wait in each]
        report("wait, median", statistics.median(every), "s")
        report("wait, one in a hundred", statistics.quantiles(every, n=100)[-1], "s")
        report("wait, longest", max(every), "s")


def keep(barrier: Barrier) -> None:
    """Remembers in a process what all processes wait at."""
    global ready
    ready = barrier


def write(target: str, name: str, seconds: float) -> list[float]:
    """The waits of one writer."""
    waits = []
    with Ledger.open(target) as ledger:
        ready.wait()
        until = time.perf_counter() + seconds
        while (asked := time.perf_counter()) < until:
            try:
                ledger.record(name, 1.0)
            except LedgerError as error:
                print(error, flush=True)
            waits.append(time.perf_counter() - asked)
    return waits


def report(what: str, number: float, unit: str) -> None:
    print(f"{what:<40} {number:>12,.4g} {unit}", flush=True)


if __name__ == "__main__":
    main()
