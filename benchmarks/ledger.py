"""How fast the ledger records and decides, on this disk, with a long history.

python -m benchmarks.ledger                                       # 10 million events, 10,000 agents, SQLite
python -m benchmarks.ledger --target postgresql://user@host/empty --events 1000000

Wanted: at least 3,000 durable events a second in batches, and a decision among 10,000 agents after 10 million events
in less than 0.2 s.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bygones.allocation import ChooseK
from bygones.ledger import Entry, Ledger, Rules

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--decisions", type=int, default=20)
    parser.add_argument("--target", help="a new file or an empty database; by default a file that is removed again")
    parser.add_argument("--keep", action="store_true", help="use the ledger that is at --target already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = options.target or Path(folder) / "ledger.db"
        if not options.keep:
            fill(target, options.events, options.agents)
        with Ledger.open(target) as ledger:
            measure(ledger, options.agents, options.decisions)


def fill(target: str | Path, events: int, agents: int) -> None:
    """A history of a year, evenly spread over the agents."""
    draw = random.Random(0)
    names = [f"agent {i}" for i in range(agents)]
    with Ledger.new(target, Rules(half_life="30d"), began=BEGAN) as ledger:
        ledger.record_all([Entry(name, 1.0, BEGAN) for name in names], join=True)
        for size in (1, 10, 100, 1_000):
            batches = [entries(draw, names, 0, size) for _ in range(20)]
            start = time.perf_counter()
            for batch in batches:
                ledger.record_all(batch)
            report(f"recorded in batches of {size:,}", 20 * size / (time.perf_counter() - start), "events/s")
        size, begun = 50_000, time.perf_counter()
        while (done := ledger.n_events()) < events:
            ledger.record_all(entries(draw, names, done / events, size))
        report(f"recorded in batches of {size:,}", done / (time.perf_counter() - begun), "events/s")


def entries(draw: random.Random, names: list[str], share: float, size: int) -> list[Entry]:
    """Some events somewhere after that share of the year, not quite in order."""
    day = BEGAN + timedelta(days=360 * share)
    return [
        Entry(name, float(draw.randint(1, 8)), day + timedelta(seconds=draw.randrange(86_400)))
        for name in draw.choices(names, k=size)
    ]


def measure(ledger: Ledger, agents: int, decisions: int) -> None:
    stood = ledger.standing()
    report("history", float(ledger.n_events()), "events")
    needs = {name: 1.0 + row % 7 for row, name in enumerate(stood.names)}
    for places in (1, agents // 10):
        seconds, processor = [], []  # on a machine with much else to do, only the latter is meaningful
        for _ in range(decisions):
            start, busy = time.perf_counter(), time.process_time()
            ledger.decide(ChooseK(needs, places))
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - busy)
        report(f"decision for {places:,} of {agents:,} agents, median", statistics.median(seconds), "s")
        report(f"decision for {places:,} of {agents:,} agents, slowest", max(seconds), "s")
        report(f"decision for {places:,} of {agents:,} agents, median", statistics.median(processor), "s of processor")
    for what, ask in (("standing of all agents", ledger.standing), ("since when they are owed", ledger.owed_since)):
        start = time.perf_counter()
        ask()
        report(what, time.perf_counter() - start, "s")


def report(what: str, number: float, unit: str) -> None:
    print(f"{what:<60} {number:>14,.4g} {unit}", flush=True)


if __name__ == "__main__":
    main()
