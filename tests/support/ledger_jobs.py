"""What other processes do to a ledger in tests: many decide at once, and one writes until it is killed."""

import multiprocessing
import random
from contextlib import suppress

from bygones.allocation import ChooseK
from bygones.ledger import Entry, Ledger, LedgerError, Rules

NAMES = [f"agent {i}" for i in range(12)]

# Processes are forked from one that has loaded the ledger and has no threads, so that each starts in no time and holds
# no lock that a thread of the tests had at that moment.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["bygones.ledger"])


def new_team(target):
    with Ledger.new(target, Rules(half_life="1h"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")


def write_until_killed(path, acknowledge, seed):
    """Writes until the process is killed, or the server is gone."""
    draw = random.Random(seed)
    with suppress(LedgerError), Ledger.open(path) as ledger:
        while True:
            if draw.random() < 0.2:
                ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0)))
                continue
            batch = [Entry(draw.choice(NAMES), draw.random()) for _ in range(draw.randint(1, 20))]
            for event in ledger.record_all(batch):
                acknowledge.send((event.seq, event.amount))


def decide_many(target, times):
    with Ledger.open(target, timeout=600) as ledger:
        return [dict(ledger.decide(ChooseK(dict.fromkeys(NAMES, 1.0))).utilities) for _ in range(times)]
