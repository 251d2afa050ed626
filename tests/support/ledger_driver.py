"""Does the same to a ledger and to the model of it, and compares them."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from bygones.ledger import Ledger, LedgerError, Plan, Proposal
from bygones.ledger.storage import rows
from support.ledger_faults import CRASH, LOST, Crash
from support.ledger_model import CLOSE, MINUTE, Model

NAMES = ("ana", "ben", "cem", "dan")
COUNTS = Counter()
"""How often each fault struck."""

names = st.sampled_from(NAMES)
amounts = st.integers(1, 400).map(lambda number: number / 4)
past = st.integers(0, 90)
near = st.integers(-60, 60)
which = st.one_of(st.integers(0, 7), st.integers(0, 7), st.integers(0, 99))
"""Which fact, counted from the latest; mostly a late one, so that what happens is about what has just happened."""


def moment(instant):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)


def told(events):
    """What events say, without their numbers."""
    return [(event.kind, event.agent, event.time, event.amount) for event in events]


def comparable(answer):
    """An answer as data that can be compared with another."""
    return answer.to_dict() if isinstance(answer, Proposal | Plan) else answer


class LedgerDriver(RuleBasedStateMachine):
    """A ledger, open twice, and its model. Subclasses say where ledgers are kept, and add what is done to them."""

    @staticmethod
    def new_target():
        """A place for a new ledger."""
        raise NotImplementedError

    @staticmethod
    def new_path():
        """The path of a new SQLite file."""
        raise NotImplementedError

    def __init__(self):
        super().__init__()
        self.now = 1_780_000_000_000_000
        self._clock, rows.clock = rows.clock, lambda _: self.now
        self.ledgers, self.fault, self.keyed, self.answers, self.numbers = [], None, {}, {}, 0

    def teardown(self):
        rows.clock = self._clock
        try:
            if self.ledgers and self.ledger.n_events() == len(self.model):  # otherwise something has failed before
                self.check_verified(self.ledger)
        finally:
            for ledger in self.ledgers:
                ledger.close()

    @property
    def ledger(self):
        """One of two that are open, in turns."""
        self.ledgers.reverse()
        return self.ledgers[0]

    def adopt(self):
        """Takes what was recorded into the model; the new events."""
        new = [event for event, _ in self.ledger.events() if event.seq > len(self.model)]
        due = [fact for fact in self.model.waiting if fact.time <= self.now] if len(self.model) else []
        if new:
            for fact in due:
                start, *new = new
                expected = self.model.start([fact.agent], fact.time, fact.details["start"], ahead=True)[fact.agent]
                assert (start.kind, start.refers, start.agent) == ("correction", fact.seq, fact.agent)
                assert math.isclose(start.amount, expected, rel_tol=1e-9, abs_tol=CLOSE)
                self.model = Model([*self.model.facts, start])
        assert [event.seq for event in new] == list(range(len(self.model) + 1, len(self.model) + len(new) + 1))
        assert all(event.recorded == self.now for event in new)
        self.model = Model([*self.model.facts, *new])
        return new

    def write(self, what, allowed=None, key=None):
        """Does something to the ledger and adopts it, through a fault if one waits; None if it is refused.

        `allowed` says whether it must be accepted (True) or refused (False), or may be either (None).
        """
        self.now += MINUTE + 1
        fault, self.fault = self.fault, None
        ledger = self.ledger
        try:
            if fault is None:
                answer = comparable(what(ledger))
            else:
                with fault.on(ledger):
                    answer = comparable(what(ledger))
        except (Crash, LedgerError) as error:
            if fault is None or not fault.struck:
                return self.refused(error, allowed)
            return self.after(fault, what, allowed, key)
        except ValueError as error:
            return self.refused(error, allowed)
        assert allowed is not False, "was to be refused"
        new = self.adopt()
        if key is not None and new:
            self.keyed[key], self.answers[key] = (what, new), answer
        return new

    def refused(self, error, allowed):
        assert not isinstance(error, Crash)
        assert allowed is not True, f"was to be accepted: {error}"
        assert self.ledger.n_events() == len(self.model)

    def after(self, fault, what, allowed, key):
        """Everything is recorded or nothing; whoever asked asks again, if they have a key or nothing is there."""
        COUNTS[fault.kind] += 1
        if fault.kind == CRASH:
            self.move_to(fault.left or self.target)
        done = self.ledger.n_events()
        if fault.kind == LOST and allowed:
            assert done > len(self.model), "was committed, and is not there"
        self.now -= MINUTE + 1
        if done == len(self.model):
            return self.write(what, allowed, key)
        self.now += MINUTE + 1
        new = self.adopt()
        if key is not None:
            self.keyed[key] = what, new
            self.retry(key)
        return new

    def check_verified(self, ledger):
        found = ledger.verify()
        assert not found.problems, found.problems
        assert found.events == len(self.model)

    def move_to(self, target):
        for ledger in self.ledgers:
            ledger.close()
        self.target, self.ledgers = target, [Ledger.open(target), Ledger.open(target)]

    def new_key(self, keyed):
        self.numbers += 1
        return f"key {self.numbers}" if keyed else None

    def some_fact(self, number):
        return self.model.facts[-1 - number % len(self.model)]

    def compare(self, stood, model, at):
        expected = model.standing(at)
        assert set(stood.names) == set(expected)
        for i, name in enumerate(stood.names):
            want = expected[name]
            assert stood.status[i] == want.status, name
            assert math.isclose(stood.received[i], want.received, rel_tol=1e-9, abs_tol=CLOSE), name
            assert math.isclose(stood.remembered[i], want.remembered, rel_tol=1e-9, abs_tol=CLOSE), name
            assert stood.entitlements[i] == want.entitlement, name
            assert math.isnan(stood.owed[i]) == (want.owed is None), name
            assert want.owed is None or math.isclose(stood.owed[i], want.owed, rel_tol=1e-6, abs_tol=1e-6), name

    @invariant()
    def everybody_stands_where_the_model_says(self):
        if self.ledgers:
            assert self.ledger.n_events() == len(self.model)
            self.compare(self.ledger.standing(), self.model, self.now)
