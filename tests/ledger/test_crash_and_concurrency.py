"""Killed while writing, and many deciding at once. Processes are forked, so that each starts in no time."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from bygones.ledger import Entry, Ledger, Places, Rules

# Newer Pythons, and JAX where another test has imported it, warn of forking a process that has threads; the children
# here use none of the parent's.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),
]

fork = multiprocessing.get_context("fork")
NAMES = [f"agent {i}" for i in range(12)]


def new_team(target):
    with Ledger.new(target, Rules(half_life="1h"), began="2026-01-01") as ledger:
        ledger.join_all(NAMES, at="2026-01-01")


def write_until_killed(path, acknowledge, seed):
    draw = random.Random(seed)
    with Ledger.open(path) as ledger:
        while True:
            if draw.random() < 0.2:
                ledger.decide(Places(dict.fromkeys(NAMES, 1.0)))
                continue
            batch = [Entry(draw.choice(NAMES), draw.random()) for _ in range(draw.randint(1, 20))]
            events = ledger.record_all(batch)
            os.write(acknowledge, b"".join(b"%d %r\n" % (event.seq, event.amount) for event in events))


@pytest.mark.soak
def test_killed_fifty_times_every_acknowledged_event_is_there(tmp_path):
    path, draw, acknowledged = tmp_path / "team.db", random.Random(7), {}
    new_team(path)
    for life in range(50):
        reader, writer = os.pipe()
        child = fork.Process(target=write_until_killed, args=(path, writer, life))
        child.start()
        os.close(writer)
        with os.fdopen(reader) as pipe:
            first = pipe.readline()
            assert first, "the writer died before it wrote anything"
            time.sleep(draw.uniform(0.0, 0.5))
            os.kill(child.pid, signal.SIGKILL)
            lines = [first, *pipe.readlines()]
        child.join()
        assert child.exitcode == -signal.SIGKILL
        for line in lines:
            if line.endswith("\n"):
                seq, amount = line.split()
                acknowledged[int(seq)] = float(amount)
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


def decide_many(target, times, decided):
    with Ledger.open(target, timeout=240) as ledger:
        for _ in range(times):
            decided.put(dict(ledger.decide(Places(dict.fromkeys(NAMES, 1.0))).utilities))


def check_eight_at_once(target, times):
    new_team(target)
    decided = fork.Queue()
    children = [fork.Process(target=decide_many, args=(target, times, decided)) for _ in range(8)]
    for child in children:
        child.start()
    told = [decided.get(timeout=250) for _ in range(8 * times)]
    for child in children:
        child.join()
        assert child.exitcode == 0
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
    decided = fork.Queue()
    children = [fork.Process(target=decide_many, args=(target, 6, decided)) for _ in range(2)]
    for child in children:
        child.start()
    served = [name for _ in range(12) for name in decided.get(timeout=100)]
    for child in children:
        child.join()
    assert sorted(served) == sorted(NAMES)
