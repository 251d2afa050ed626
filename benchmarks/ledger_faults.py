"""Losses and wrong numbers of a ledger under faults: one line of figures for each kind of fault.

python -m benchmarks.ledger_faults                    # every kind, as a table for docs/guides/keeping-a-ledger.md
python -m benchmarks.ledger_faults --scale 0.1        # a tenth of the trials

*Lost* counts events that were acknowledged and are not there. *Wrong* counts standings or decisions that differ from
the model in plain Python, or from the earlier ones. *Silent* counts damage that changed something and that neither
opening the ledger nor `verify` reported. The tests in `make soak` fail on the first of any of these; this counts them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from bygones.allocation import ChooseK
from bygones.ledger import Entry, Ledger, LedgerError, Rules
from support.ledger_driver import COUNTS
from support.ledger_jobs import NAMES, decide_many, new_team, processes, write_until_killed
from support.ledger_machine import LedgerMachine
from support.servers import Server, create_database, installed, running

Counts = dict[str, int]
Line = tuple[str, str, Counts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="a factor for the number of trials")
    parser.add_argument("--only", nargs="*", default=[], help="the beginnings of the kinds of fault")
    options = parser.parse_args()

    def times(number: int) -> int:
        return max(1, round(options.scale * number))

    print("| fault | where | trials | lost | wrong | silent |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        numbers = itertools.count()

        def new_path() -> Path:
            return Path(folder) / f"{next(numbers)}.db"

        programs = installed()
        kinds: dict[str, Callable[[], Iterator[Line]]] = {
            "killed": lambda: kills(new_path(), times(100)),
            "flipped": lambda: flips(new_path, times(400)),
            "concurrent": lambda: at_once(new_path(), "SQLite", times(100)),
            "machine": lambda: machine(new_path, new_path, "SQLite", times(150)),
        }
        if programs is None:
            report(kinds, options.only)
            return
        with running(programs) as server:
            kinds |= {
                "restarted": lambda: restarts(server, times(14)),
                "concurrent in PostgreSQL": lambda: at_once(create_database(server.url), "PostgreSQL", times(100)),
                "machine on PostgreSQL": lambda: machine(
                    lambda: create_database(server.url), new_path, "PostgreSQL", times(50)
                ),
            }
            report(kinds, options.only)


def report(kinds: dict[str, Callable[[], Iterator[Line]]], only: list[str]) -> None:
    for name, measure in kinds.items():
        if not only or any(name.startswith(each) for each in only):
            for what, where, counts in measure():
                numbers = [f"{counts.get(each, 0):,}" for each in ("trials", "lost", "wrong", "silent")]
                print("| " + " | ".join([what, where, *numbers]) + " |", flush=True)


def missing(target: str | Path, acknowledged: dict[int, float]) -> Counts:
    """What of the acknowledged events is not there, and whether the ledger is in order."""
    with Ledger.open(target, timeout=60) as ledger:
        there = {event.seq: event.amount for event, _ in ledger.events()}
        lost = sum(there.get(seq) != amount for seq, amount in acknowledged.items())
        return {"lost": lost, "wrong": len(ledger.verify().problems)}


def kills(path: Path, number: int) -> Iterator[Line]:
    """A process that writes is killed at any moment."""
    new_team(path)
    draw, acknowledged = random.Random(7), dict[int, float]()
    for life in range(number):
        here, there = processes.Pipe(duplex=False)
        child = processes.Process(target=write_until_killed, args=(path, there, life))
        child.start()
        there.close()
        acknowledged |= dict(here.recv() for _ in range(draw.randint(1, 60)))
        time.sleep(draw.uniform(0.0, 0.1))
        os.kill(child.pid, signal.SIGKILL)
        with suppress(EOFError, OSError):
            while True:
                acknowledged |= [here.recv()]
        child.join()
    what = f"process killed while it writes ({len(acknowledged):,} acknowledged events)"
    yield what, "SQLite", {"trials": number, **missing(path, acknowledged)}


def restarts(server: Server, number: int) -> Iterator[Line]:
    """The database server goes down at once while a client writes, and comes up again."""
    target, draw, acknowledged = create_database(server.url), random.Random(3), dict[int, float]()
    new_team(target)
    for life in range(number):
        here, there = processes.Pipe(duplex=False)
        child = processes.Process(target=write_until_killed, args=(target, there, life))
        child.start()
        there.close()
        acknowledged |= dict(here.recv() for _ in range(draw.randint(1, 60)))
        server.stop()
        with suppress(EOFError, OSError):
            while True:
                acknowledged |= [here.recv()]
        child.join()
        server.start()
    what = f"server stopped at once while a client writes ({len(acknowledged):,} acknowledged events)"
    yield what, "PostgreSQL", {"trials": number, **missing(target, acknowledged)}


def flips(new_path: Callable[[], Path], number: int) -> Iterator[Line]:
    """One bit of the file flips, anywhere."""
    path, draw = new_path(), random.Random(5)
    moments = ("2026-01-05", "2026-02-01", "2026-04-01")

    def told(ledger: Ledger) -> object:
        return [ledger.standing(at).to_dict() for at in moments], list(ledger.events())

    with Ledger.new(path, Rules(half_life="30d", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")
        days = [f"2026-01-{draw.randint(10, 28)}" for _ in range(300)]
        ledger.record_all([Entry(draw.choice(NAMES), draw.randint(1, 9), day) for day in days])
        ledger.decide(ChooseK(dict.fromkeys(NAMES, 4.0), k=3), at="2026-03-01")
        known = told(ledger)
    whole, counts = path.read_bytes(), {"trials": number, "silent": 0}
    for _ in range(number):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        with suppress(LedgerError), Ledger.open(path) as ledger:
            counts["silent"] += ledger.verify().ok and told(ledger) != known
    yield "bit flipped anywhere in the file", "SQLite", counts


def at_once(target: str | Path, where: str, number: int) -> Iterator[Line]:
    """Eight processes decide at once; each decision must be the one that all before it lead to."""
    new_team(target)
    share = -(-number // 8)
    with processes.Pool(8) as pool:
        told = [each for part in pool.starmap(decide_many, [(target, share)] * 8) for each in part]
    with Ledger.open(target) as ledger:
        received = [event.agent for event, _ in ledger.events() if event.kind == "received"]
        wrong = len(ledger.verify().problems)
    lost = sum(abs(received.count(name) - sum(name in each for each in told)) for name in NAMES)
    yield "decisions by eight processes at once", where, {"trials": len(told), "lost": lost, "wrong": wrong}


def machine(
    new_target: Callable[[], str | Path], new_path: Callable[[], Path], where: str, examples: int
) -> Iterator[Line]:
    """The state machine, which fails on the first loss or wrong answer, and counts the faults that it went through."""

    class Machine(LedgerMachine):
        pass

    Machine.new_target, Machine.new_path = staticmethod(new_target), staticmethod(new_path)
    COUNTS.clear()
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples, stateful_step_count=50, deadline=None, derandomize=True, phases=[Phase.generate]
        ),
    )
    for what, trials in sorted(COUNTS.items()):
        yield f"{what} (state machine)", where, {"trials": trials}


if __name__ == "__main__":
    main()
