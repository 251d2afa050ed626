"""A ledger and a model of it in plain Python, driven with every operation and through every fault, side by side.

Hypothesis draws what is done: whatever a command does, with clocks that jump forth and back, processes that die between
two statements, disks that are full, answers that get lost and are asked for again, and bits that flip in a copy. The
model says what must be accepted and what refused, what must be recorded, and where everybody must stand at any instant,
past or future, as known now or as it was known then.

`COUNTS` says how often each fault struck; that none did harm is what the machine checks.

To see that it notices, these changes were made to the ledger by hand, each alone, and the machine failed within sixty
examples of forty steps: late events enter unfaded (`snapshot.add`); a hold counts from before the event
(`turns.Clocks`); corrections of what was received stay when the decision is void (`voids.make_void`); a key can be used
for something else (`keys.recorded_entries`); events ahead count at once (`writing._added`); a commit is forgotten now
and then (`store._commit`); the next decision draws with the same seed (`draws.reveal`); stale proposals are accepted
(`deciding.accept`); past standings come from the snapshot (`standing.known_at`); the first half-life counts for ever
(`rules._Integral`); an import is taken back twice (`importing.undo`); a swap gives the turns back (`replanning.swap`);
the settled instant is not compared (`verifying._compare`); what was decided again does not count for later decisions
(`redeciding`); the dates of a plan do not count for each other (`planning.draft`); a copy has no voids
(`copying._tables`).
"""

import math
import random
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bygones.ledger import (
    Amount,
    DateNeeds,
    Entry,
    Ledger,
    LedgerError,
    Places,
    Rules,
    StaleProposalError,
    copying,
    rows,
)
from bygones.ledger.repairing import rebuild
from support.ledger_faults import CRASH, FULL, LOST, Crash, Fault
from support.ledger_model import CLOSE, DAY, GIVES, HOUR, MINUTE, SKEW, Model, hashed

NAMES = ("ana", "ben", "cem", "dan")
JUMP, RETRY, FLIP = "clock jump", "retry with the same key", "flipped bit"
SPOIL, FORGERY = "spoilt snapshot", "forged event"
SPOILS = (
    "UPDATE agents SET remembered = remembered + 1 WHERE id = 1",
    "UPDATE agents SET received = received + 1, last = last + 1 WHERE id = 2",
    "UPDATE agents SET turns = '[[0,\"join\"]]' WHERE id = 3",
    "UPDATE ledger SET settled = settled + 1",
    "DELETE FROM voids",
    "INSERT INTO voids VALUES (2, 3, NULL)",
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
COUNTS = Counter()

names = st.sampled_from(NAMES)
amounts = st.integers(1, 400).map(lambda number: number / 4)
past = st.integers(0, 90)
near = st.integers(-60, 60)
which = st.one_of(st.integers(0, 7), st.integers(0, 7), st.integers(0, 99))
"""Which fact, counted from the latest; mostly a late one, so that what happens is about what has just happened."""

settings_of_rules = st.one_of(
    st.fixed_dictionaries({"half_life": st.sampled_from(["1d", "7d", "30d", "inf"])}),
    st.fixed_dictionaries({"hold_stops_clock": st.booleans()}),
    st.fixed_dictionaries({"newcomers": st.sampled_from(["zero", "mean", "median", "entitled share", "3.0"])}),
    st.fixed_dictionaries(
        {"entitlements": st.dictionaries(names, st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=2)}
    ),
)


def moment(instant):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)


def told(events):
    """What events say, without their numbers."""
    return [(event.kind, event.agent, event.time, event.amount) for event in events]


class LedgerMachine(RuleBasedStateMachine):
    """Does the same to a ledger and to the model. Subclasses say where ledgers are kept."""

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
        self.ledgers, self.fault, self.keyed, self.numbers = [], None, {}, 0

    @initialize(
        half_life=st.sampled_from(["1d", "7d", "7d", "inf"]),
        newcomers=st.sampled_from(["zero", "mean", "entitled share"]),
        stops=st.booleans(),
    )
    def begin(self, half_life, newcomers, stops):
        self.target = self.new_target()
        self.began = self.now - 10 * DAY
        rules = Rules(half_life, newcomers=newcomers, hold_stops_clock=stops)
        self.ledgers = [Ledger.new(self.target, rules, began=moment(self.began)), Ledger.open(self.target)]
        self.model = Model()
        self.adopt()
        self.write(lambda ledger: ledger.join_all(NAMES[:3], at=moment(self.began)), True)
        self.record("ana", 150, 8.0, keyed=True)
        self.pause("ben", 120, 48, 3.0)
        self.import_table([("cem", 40, 5.0), ("ana", 30, 1.0)], join=False, keyed=True)

    def teardown(self):
        rows.clock = self._clock
        try:
            if self.ledgers and self.ledger.n_events() == len(self.model):  # otherwise something has failed before
                self.check_verified(self.ledger)
        finally:
            for ledger in self.ledgers:
                ledger.close()

    # --------------------------------------------------------------------------------- doing, and what comes of it

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
                expected = self.model.start([fact.agent], fact.time, fact.details["start"])[fact.agent]
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
                what(ledger)
            else:
                with fault.on(ledger):
                    what(ledger)
        except (Crash, LedgerError) as error:
            if fault is None or not fault.struck:
                return self.refused(error, allowed)
            return self.after(fault, what, allowed, key)
        except ValueError as error:
            return self.refused(error, allowed)
        assert allowed is not False, "was to be refused"
        new = self.adopt()
        if key is not None and new:
            self.keyed[key] = what, new
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

    # ---------------------------------------------------------------------------------------------------- faults

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
        what(self.ledger)
        assert all(event.note == "imported again" for event in self.adopt())  # if the import had been taken back
        assert {event.seq for event in self.ledger.with_key(key)} <= {event.seq for event in first}
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

    # ------------------------------------------------------------------------------------------------- recording

    @rule(agent=names, hours=past, amount=amounts, keyed=st.booleans())
    def record(self, agent, hours, amount, keyed):
        at, key = self.now - hours * HOUR, self.new_key(keyed)
        allowed = at >= self.began and self.model.was_member(agent, at)
        new = self.write(lambda ledger: ledger.record(agent, amount, at=moment(at), key=key), allowed, key)
        assert new is None or told(new) == [("received", agent, at, amount)]

    @rule(agent=names, minutes=st.sampled_from([1, 3, 7, 60, 525_600]), amount=st.integers(-40, 40))
    def record_ahead_or_offset(self, agent, minutes, amount):
        if amount >= 0:
            at = self.now + MINUTE + 1 + minutes * MINUTE
            allowed = minutes * MINUTE <= SKEW and self.model.was_member(agent, at)
            self.write(lambda ledger: ledger.record(agent, amount, at=moment(at)), allowed)
        else:
            at = self.now - minutes * MINUTE
            allowed = at >= self.began and self.model.was_member(agent, at)
            new = self.write(lambda ledger: ledger.offset(agent, amount, at=moment(at)), allowed)
            assert new is None or told(new) == [("offset", agent, at, amount)]

    @rule(number=which, amount=amounts, keyed=st.booleans())
    def correct(self, number, amount, keyed):
        fact, key = self.some_fact(number), self.new_key(keyed)
        allowed = fact.kind in (*GIVES, "offset", "join") and fact.seq not in self.model.void
        before = self.model
        new = self.write(lambda ledger: ledger.correct(fact.seq, amount, key=key), allowed, key)
        if new:
            by = amount - fact.amount - sum(f.amount for f in before.counting("correction") if f.refers == fact.seq)
            assert math.isclose(new[0].amount, by, abs_tol=CLOSE)
            assert (new[0].kind, new[0].agent, new[0].time) == ("correction", fact.agent, fact.time)

    @rule(
        entries=st.lists(st.tuples(names, past, amounts), min_size=1, max_size=4),
        join=st.booleans(),
        keyed=st.booleans(),
    )
    def import_table(self, entries, join, keyed):
        rows_, key = [(name, self.now - hours * HOUR, amount) for name, hours, amount in entries], self.new_key(keyed)
        first = {name: min(at for who, at, _ in rows_ if who == name) for name, _, _ in rows_}
        unknown = [name for name in first if name not in self.model.turns]
        allowed = all(at >= self.began for _, at, _ in rows_) and (join or not unknown)
        allowed = allowed and all(name in unknown or self.model.was_member(name, at) for name, at, _ in rows_)
        table = [Entry(name, amount, moment(at)) for name, at, amount in rows_]
        new = self.write(lambda ledger: ledger.record_all(table, join=join, key=key, source="table"), allowed, key)
        joined = [("join", name, first[name], 0.0) for name in unknown]
        received = [("received", name, at, amount) for name, at, amount in rows_]
        assert new is None or (sorted(told(new[: len(joined)])), told(new[len(joined) :])) == (sorted(joined), received)

    @rule(number=which)
    def undo_import(self, number):
        fact, before = self.some_fact(number), self.model
        of_import = next(
            (
                range(first.seq, first.seq + first.details["batch"]["events"])
                for first in before.facts
                if "source" in ((first.details or {}).get("batch") or {})
                and first.seq <= fact.seq < first.seq + first.details["batch"]["events"]
            ),
            (),
        )
        mine = [f.seq for f in before.counting("received") if f.seq in of_import]
        left = {
            seq: before.facts[seq - 1].amount + sum(f.amount for f in before.counting("correction") if f.refers == seq)
            for seq in mine
        }
        allowed = any(abs(amount) > CLOSE for amount in left.values())
        new = self.write(lambda ledger: ledger.undo_import(fact.seq), allowed)
        if new:
            for event in new:
                left[event.refers] += event.amount
            assert all(abs(amount) < CLOSE for amount in left.values())

    # ---------------------------------------------------------------------------------------------- coming, going

    @rule(
        agent=names,
        hours=st.one_of(st.just(0), near),
        start=st.sampled_from([None, "zero", "median", 2.0]),
        entitlement=st.sampled_from([None, None, 2.0]),
        keyed=st.booleans(),
    )
    def join(self, agent, hours, start, entitlement, keyed):
        at, key = self.now + MINUTE + 1 + hours * HOUR, self.new_key(keyed)
        after = self.model.with_fact("join", agent=agent, time=at, amount=0.0)
        allowed = at >= self.began and after.makes_sense() and (True if hours >= 0 else None)
        expected = None if at < self.began else self.model.start([agent], at, start and str(start), entitlement)[agent]
        ahead = at > max(self.now + MINUTE + 1, *(fact.recorded for fact in self.model.facts))
        new = self.write(
            lambda ledger: ledger.join(agent, at=moment(at), newcomers=start, entitlement=entitlement, key=key),
            allowed,
            key,
        )
        if new:
            assert [event.kind for event in new] == ["join"] if entitlement is None else ["rules", "join"]
            assert (new[-1].agent, new[-1].time) == (agent, at)
            assert math.isclose(new[-1].amount, 0.0 if ahead else expected, rel_tol=1e-9, abs_tol=CLOSE)

    @rule(
        kind=st.sampled_from(["leave", "hold", "hold", "resume", "resume"]),
        agent=names,
        hours=st.one_of(st.just(0), near),
        keyed=st.booleans(),
    )
    def turn(self, kind, agent, hours, keyed):
        at, key = self.now + MINUTE + 1 + hours * HOUR, self.new_key(keyed)
        after = self.model.with_fact(kind, agent=agent, time=at)
        allowed = at >= self.began and after.makes_sense() and (None if kind == "leave" and hours < 0 else True)
        new = self.write(lambda ledger: getattr(ledger, kind)(agent, at=moment(at), key=key), allowed, key)
        assert new is None or told(new) == [(kind, agent, at, None)]

    @rule(agent=names, hours=st.integers(2, 90), length=st.integers(1, 60), amount=amounts)
    def pause(self, agent, hours, length, amount):
        """A hold and a resume, and something that was received after it."""
        start = self.now - hours * HOUR
        for kind, at in (("hold", start), ("resume", start + length * HOUR)):
            after = self.model.with_fact(kind, agent=agent, time=at)
            self.write(
                lambda ledger, kind=kind, at=at: getattr(ledger, kind)(agent, at=moment(at)),
                at >= self.began and after.makes_sense(),
            )
        self.record(agent, 0, amount, keyed=False)

    @rule(settings=settings_of_rules, hours=st.one_of(st.just(0), near), keyed=st.booleans())
    def change_rules(self, settings, hours, keyed):
        at, key = self.now + MINUTE + 1 + hours * HOUR, self.new_key(keyed)
        known = all(name in self.model.turns for name in settings.get("entitlements", ()))
        allowed = known and (at >= self.began) and (True if hours >= 0 else None)
        new = self.write(lambda ledger: ledger.change_rules(at=moment(at), key=key, **settings), allowed, key)
        assert new is None or told(new) == [("rules", None, at, None)]

    # ------------------------------------------------------------------------------------------------- deciding

    def present(self, at):
        return [name for name, each in self.model.standing(at).items() if each.status == "present"]

    @rule(needs=st.fixed_dictionaries(dict.fromkeys(NAMES, amounts)), k=st.integers(0, 2), keyed=st.booleans())
    def decide(self, needs, k, keyed):
        if k == 0:
            self.divide(needs["ana"])
            return
        at, key, before = self.now + MINUTE + 1, self.new_key(keyed), self.model
        asked = {name: needs[name] for name in self.present(at)}
        request = Places(asked, k)
        allowed = 1 <= k <= len(asked)
        new = self.write(lambda ledger: ledger.decide(request, key=key), allowed, key)
        if new:
            utilities = self.check_made(new, before)
            assert new[0].time == at
            assert before.is_best(at, asked, k, utilities)

    def divide(self, amount):
        at, before = self.now + MINUTE + 1, self.model
        asked = self.present(at)
        new = self.write(lambda ledger: ledger.decide(Amount(amount, dict.fromkeys(asked, 1.0))), bool(asked))
        if new:
            assert before.is_level(at, amount, self.check_made(new, before))

    def check_made(self, new, before):
        """A decision says what was received through it, and reveals the seed that was committed to."""
        decision, *received = new
        assert decision.kind == "decision"
        drawn = decision.details["draw"]
        assert hashed(drawn["seed"]) == before.commitment()
        assert drawn["next"] != before.commitment(), "the next decision draws with a seed that is known"
        assert all((e.kind, e.time, e.refers) == ("received", decision.time, decision.seq) for e in received)
        utilities = {event.agent: event.amount for event in received}
        assert utilities == decision.details["utilities"]
        return utilities

    @rule(amount=amounts)
    def propose_and_accept(self, amount):
        """A proposal is the same until something is decided; it is accepted only while nothing else was recorded."""
        at = self.now + MINUTE + 1
        asked = dict.fromkeys(self.present(at), amount)
        if not asked:
            return
        one, other = self.ledgers
        self.now = at
        proposal, again = one.propose(Places(asked)), other.propose(Places(asked))
        assert (proposal.gets(), proposal.commitment) == (again.gets(), self.model.commitment())
        name = next(iter(asked))
        other.record(name, 0.0)
        self.adopt()
        assert other.propose(Places(asked)).gets() == proposal.gets()
        try:
            one.accept(proposal)
        except StaleProposalError:
            return
        raise AssertionError("a proposal was accepted that others had overtaken")

    @rule(hours=past, length=st.integers(1, 60), accept=st.booleans())
    def redecide(self, hours, length, accept):
        start, before = self.now - hours * HOUR, self.model
        end = start + length * HOUR
        found = []

        def again(ledger):
            found[:] = ledger.redecide(moment(start), moment(end), accept=accept)

        new = self.write(again)
        changed = {each.seq for each in found if each.in_period}
        if not accept:
            assert not new
        elif new is not None:
            assert {event.refers for event in new if event.kind == "void"} == changed
            for event in new:
                if event.kind == "decision":
                    request = event.details["request"]
                    without = self.model.until(event.seq - 1)
                    if "needs" in request and self.is_settled(event.time):
                        assert without.is_best(event.time, request["needs"], request["k"], event.details["utilities"])
            assert not [each for each in self.ledger.redecide(moment(start), moment(end)) if each.in_period]
        assert before.void <= self.model.void

    def is_settled(self, at):
        """Whether nothing else was given at that instant, which might have been decided after."""
        return sum(fact.time == at for fact in self.model.counting("decision", "plan")) == 1

    # ------------------------------------------------------------------------------------------------- planning

    @rule(days=st.sets(st.integers(1, 9), min_size=1, max_size=3), amount=amounts, k=st.integers(1, 2))
    def plan(self, days, amount, k):
        dates = [self.now + day * DAY for day in sorted(days)]
        asked = {name: amount for name in NAMES if self.model.turns.get(name, [(math.inf, "")])[0][0] <= dates[0]}
        allowed = all(len(self.present(at)) >= k for at in dates)
        allowed = allowed and not {fact.time for fact in self.model.counting("plan")} & set(dates)
        if not all(set(self.present(at)) & set(asked) for at in dates):
            allowed = None
        wanted = [DateNeeds(at, False, Places(asked, k)) for at in dates]
        new = self.write(lambda ledger: ledger.plans.publish(wanted), allowed)
        for date in new or ():
            if date.kind == "plan":
                turns = {event.agent: event.amount for event in new if event.refers == date.seq}
                assert self.model.until(date.seq - 1).is_best(date.time, asked, k, turns)

    def planned_ahead(self):
        return [fact for fact in self.model.counting("planned") if fact.time > self.now]

    @rule(accept=st.booleans())
    def replan(self, accept):
        before = self.planned_ahead()
        stays = {(f.time, f.agent) for f in before if self.model.status(f.agent, f.time) == "present"}
        new = self.write(lambda ledger: ledger.plans.redecide(accept=accept))
        if new is not None and accept:
            ahead = self.planned_ahead()
            assert stays <= {(fact.time, fact.agent) for fact in ahead} | {
                (time, agent) for time, agent in stays if time <= self.now
            }
            assert all(self.model.status(f.agent, f.time) == "present" for f in ahead)

    @rule(days=st.integers(0, 5))
    def unplan(self, days):
        start = self.now + MINUTE + 1 + days * DAY
        allowed = any(fact.time >= start for fact in self.model.counting("plan"))
        if self.write(lambda ledger: ledger.plans.void(moment(start)), allowed):
            assert not [fact for fact in self.model.counting("plan") if fact.time >= start]

    @rule(one=st.integers(0, 99), other=st.integers(0, 99))
    def swap(self, one, other):
        turns = self.model.counting(*GIVES)
        if not turns:
            return
        first, second = turns[one % len(turns)], turns[other % len(turns)]
        new = self.write(lambda ledger: ledger.plans.swap(first.seq, second.seq))
        if new:
            given = [event for event in new if event.kind in GIVES]
            assert {first.seq, second.seq} <= self.model.void
            assert [(e.agent, e.time, e.refers, e.kind) for e in given] == [
                (second.agent, first.time, first.refers, first.kind),
                (first.agent, second.time, second.refers, second.kind),
            ]

    # ------------------------------------------------------------------------------------------------- voiding

    @rule(number=which, keep=st.integers(0, 3))
    def void(self, number, keep):
        recent = [fact for fact in self.model.facts if fact.kind != "received" or keep == 0]
        fact = recent[-1 - number % len(recent)]
        allowed = self.can_be_void(fact)
        new = self.write(lambda ledger: ledger.void(fact.seq), allowed)
        assert new is None or [(event.kind, event.refers) for event in new] == [("void", fact.seq)]

    @rule(amount=amounts)
    def regret(self, amount):
        """What was given through the latest decision is corrected, and then the decision is void."""
        given = [fact for fact in self.model.counting(*GIVES) if fact.refers is not None]
        if given:
            self.write(lambda ledger: ledger.correct(given[-1].seq, amount), True)
            decision = self.model.facts[given[-1].refers - 1]
            self.write(lambda ledger: ledger.void(decision.seq), self.can_be_void(decision))

    def can_be_void(self, fact):
        model = self.model
        if fact.seq == 1 or fact.seq in model.void:
            return False
        if fact.kind == "void" and fact.seq not in model.voids:
            return False
        swaps = {tuple(f.details["swapped"]): f.seq for f in model.facts if "swapped" in (f.details or {})}
        if "swapped" in (fact.details or {}) or (fact.kind == "void" and any(fact.refers in swap for swap in swaps)):
            return False
        after = model.with_fact("void", refers=fact.seq)
        if not after.makes_sense():
            return False
        changed = model.void ^ after.void
        for seq in changed:
            corrected = model.facts[seq - 1].refers
            if model.facts[seq - 1].kind == "correction" and corrected not in changed:
                later = [f.seq for f in after.counting("correction") if f.refers == corrected and f.seq > seq]
                if later:
                    return False
        if fact.kind == "void":
            made_again = {f.details.get("redecides") for f in model.counting("decision", "plan")}
            return fact.refers not in made_again
        return True

    # ------------------------------------------------------------------------------------------------- keeping

    @rule(how=st.sampled_from(["copy", "restore", "rebuild", "verify"]))
    def keep(self, how):
        if how == "rebuild":
            rebuild(self.ledger._store)
        elif how == "verify":
            self.check_verified(self.ledger)
        else:
            self.move_house(how == "restore")

    def move_house(self, restored):
        target = self.new_target()
        if restored:
            file = self.new_path()
            copying.backup(self.target, file)
            found = copying.restore(file, target)
        else:
            found = copying.copy(self.target, target)
        assert found.ok
        assert found.head == self.ledger.head()
        self.move_to(target)

    # ------------------------------------------------------------------------------------------------- reading

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

    @rule(hours=st.integers(-300, 400), number=which, agent=names)
    def look(self, hours, number, agent):
        """At another time, at what was known before some event, and at what makes up one agent's standing."""
        at = max(self.now + hours * HOUR, self.began)
        self.compare(self.ledger.standing(moment(at)), self.model, at)
        fact = self.some_fact(number)
        if fact.seq > 1:
            known = self.model.until(fact.seq - 1)
            self.compare(self.ledger.standing(before=fact.seq), known, max(fact.time, known.began))
        now = self.model.standing(self.now)
        if agent in now:
            parts = self.ledger.contributions(agent)
            assert math.isclose(sum(part.counts for part in parts), now[agent].remembered, rel_tol=1e-9, abs_tol=CLOSE)
        since = self.ledger.owed_since()
        for name, each in now.items():
            if each.owed is not None and abs(each.owed) > 1e-4:
                assert (name in since) == (each.owed > 0)
