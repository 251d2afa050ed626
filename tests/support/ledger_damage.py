"""What goes wrong: clocks jump, answers are asked for again, and files are damaged."""

import random
import sqlite3
from contextlib import closing, suppress

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from bygones.ledger import Ledger, LedgerError
from bygones.ledger.proof import copies as copying
from bygones.ledger.proof.verification import rebuild
from support.ledger_driver import COUNTS, LedgerDriver, comparable, moment
from support.ledger_faults import CRASH, FULL, LOST, Fault
from support.ledger_model import DAY, HOUR

JUMP, RETRY, FLIP = "clock jump", "retry with the same key", "flipped bit"
SPOIL, FORGERY = "spoilt snapshot", "forged event"
SPOILS = (
    "UPDATE agents SET counters = replace(counters, 'remembered\":[', 'remembered\":[9') WHERE id = 1",
    "UPDATE agents SET counters = replace(counters, 'received\":[', 'received\":[9'), last = last + 1 WHERE id = 2",
    "UPDATE agents SET participation = '[[0,\"join\"]]' WHERE id = 3",
    "UPDATE ledger SET settled = settled + 1",
    "DELETE FROM revised",
    "INSERT INTO revised VALUES (2, 3, NULL, NULL)",
)
FORGERIES = (
    "DELETE FROM events",
    *(
        f"UPDATE events SET {change}"
        for change in (
            "amount = 1.5", "time = time + 1", "recorded = recorded + 1", "agent = 1", "note = 'x'", "author = 'x'",
            "refers = 2", "kind = 'offset'", "key = 'x'",
        )
    ),
)  # fmt: skip


class Damage(LedgerDriver):
    """Rules for faults, and what must come of them."""

    @rule(kind=st.sampled_from([CRASH, CRASH, FULL, LOST]), statement=st.integers(1, 14))
    def wait_for_fault(self, kind, statement):
        self.fault = Fault(kind, statement, self.new_path)

    @rule(hours=st.one_of(st.integers(1, 24 * 20), st.integers(-48, -1)))
    def jump(self, hours):
        COUNTS[JUMP] += 1
        self.now = max(self.now + hours * HOUR, self.began + DAY)

    @precondition(lambda self: self.keyed)
    @rule(number=st.integers(0, 99))
    def retry_something(self, number):
        self.retry(sorted(self.keyed)[number % len(self.keyed)])

    def retry(self, key):
        COUNTS[RETRY] += 1
        what, first = self.keyed[key]
        answer = comparable(what(self.ledger))
        assert all(event.note == "imported again" for event in self.adopt())  # if the import had been taken back
        assert self.ledger.with_key(key) == first
        assert answer == self.answers.setdefault(key, answer)
        try:
            self.ledger.record("ana", 12345.0, key=key)
        except ValueError:
            return
        raise AssertionError("a key was used for something else")

    @rule(how=st.sampled_from(["flip", "spoil", "forge"]), seed=st.integers(0, 10**6))
    def damage(self, how, seed):
        """Something happens to a copy."""
        file = self.new_path()
        copying.backup(self.target, file)
        {"flip": self.flip, "spoil": self.spoil, "forge": self.forge}[how](file, random.Random(seed))

    def flip(self, file, draw):
        """A file with a flipped bit is refused or reported, or says what it said before."""
        content = bytearray(file.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        file.write_bytes(content)
        COUNTS[FLIP] += 1
        with suppress(LedgerError), Ledger.open(file) as damaged:
            if damaged.verify().ok:
                self.compare(damaged.standing(moment(self.now)), self.model, self.now)
                assert list(damaged.events()) == list(self.ledger.events())

    def spoil(self, file, draw):
        """A standing that does not follow from the events is reported, and can be made anew from them."""
        with closing(sqlite3.connect(file)) as connection, connection:
            if not connection.execute(draw.choice(SPOILS)).rowcount:
                return
        COUNTS[SPOIL] += 1
        with Ledger.open(file) as spoilt:
            assert not spoilt.verify().ok
            rebuild(spoilt._store)
            assert spoilt.verify().ok
            self.compare(spoilt.standing(moment(self.now)), self.model, self.now)

    def forge(self, file, draw):
        """An event that is not as it was recorded is reported."""
        fact = draw.choice(self.model.facts)
        with closing(sqlite3.connect(file)) as connection, connection:
            before = connection.execute("SELECT * FROM events").fetchall()
            connection.execute(f"{draw.choice(FORGERIES)} WHERE seq = {fact.seq}")
            if connection.execute("SELECT * FROM events").fetchall() == before:
                return
        COUNTS[FORGERY] += 1
        with Ledger.open(file) as forged:
            assert not forged.verify().ok
