"""Killed while writing, and many deciding at once."""

import contextlib
import os
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from bygones.ledger import Ledger
from support.ledger_jobs import NAMES, decide_many, new_team, processes, write_until_killed


def live_and_be_killed(path, life, draw):
    """Events that a writer acknowledged before it was killed, some time after a number of them."""
    here, there = processes.Pipe(duplex=False)
    child = processes.Process(target=write_until_killed, args=(path, there, life))
    child.start()
    there.close()
    acknowledged = [here.recv() for _ in range(draw.randint(1, 60))]
    time.sleep(draw.uniform(0.0, 0.1))
    os.kill(child.pid, signal.SIGKILL)
    with contextlib.suppress(EOFError, OSError):  # the end, or the end in the middle of a message
        while True:
            acknowledged.append(here.recv())
    child.join()
    assert child.exitcode == -signal.SIGKILL
    here.close()
    return acknowledged


@pytest.mark.soak
def test_killed_fifty_times_every_acknowledged_event_is_there(tmp_path):
    path, draw, acknowledged = tmp_path / "team.db", random.Random(7), {}
    new_team(path)
    for life in range(50):
        acknowledged |= live_and_be_killed(path, life, draw)
        if life % 10 == 9:
            with Ledger.open(path) as ledger:
                assert ledger.verify().problems == ()
    with Ledger.open(path) as ledger:
        events = {event.seq: event for event, _ in ledger.events()}
        assert ledger.verify().problems == ()
    assert list(events) == list(range(1, len(events) + 1))
    assert len(acknowledged) > 1000
    assert {seq: events[seq].amount for seq in acknowledged} == acknowledged
    decisions = {seq for seq, event in events.items() if event.kind == "decision"}
    assert decisions == {event.refers for event in events.values() if event.kind == "received" and event.refers}


def decided_at_once(target, n_processes, times):
    """What each decision of these processes gave to whom."""
    with ProcessPoolExecutor(n_processes, processes) as pool:
        decided = [pool.submit(decide_many, target, times) for _ in range(n_processes)]
        return [told for each in decided for told in each.result()]


def check_eight_at_once(target, times):
    new_team(target)
    told = decided_at_once(target, 8, times)
    with Ledger.open(target) as ledger:
        assert ledger.verify().problems == ()
        events = [event for event, _ in ledger.events()]
    received = [event for event in events if event.kind == "received"]
    assert len(received) == 8 * times
    assert sorted(name for utilities in told for name in utilities) == sorted(event.agent for event in received)
    # Each in its turn served one of those with least, as everything before it says: no two from the same standing.
    remembered, then = dict.fromkeys(NAMES, 0.0), received[0].time
    for event in received:
        assert event.time >= then
        faded = 0.5 ** ((event.time - then) / 3_600_000_000)
        remembered, then = {name: u * faded for name, u in remembered.items()}, event.time
        assert remembered[event.agent] <= min(remembered.values()) + 1e-9
        remembered[event.agent] += event.amount


@pytest.mark.soak
def test_eight_processes_decide_at_once_on_sqlite(tmp_path):
    check_eight_at_once(tmp_path / "team.db", times=15)


@pytest.mark.soak
def test_eight_processes_decide_at_once_on_postgresql(new_database):
    check_eight_at_once(new_database(), times=40)


def test_two_processes_decide_at_once(new_target):
    target = new_target()
    new_team(target)
    assert sorted(name for told in decided_at_once(target, 2, 6) for name in told) == sorted(NAMES)
