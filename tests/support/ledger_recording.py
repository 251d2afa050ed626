"""What people record: what was received, who comes and goes, and which rules hold."""

import math

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bygones.ledger import (
    Entry,
)
from support.ledger_driver import LedgerDriver, amounts, moment, names, near, past, told, which
from support.ledger_model import CLOSE, GIVES, HOUR, MINUTE, SKEW

settings_of_rules = st.one_of(
    st.fixed_dictionaries({"half_life": st.sampled_from(["1d", "7d", "30d", "inf"])}),
    st.fixed_dictionaries({"hold_stops_clock": st.booleans()}),
    st.fixed_dictionaries({"newcomers": st.sampled_from(["zero", "mean", "median", "entitled share", "3.0"])}),
    st.fixed_dictionaries(
        {"entitlements": st.dictionaries(names, st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=2)}
    ),
)


class Recording(LedgerDriver):
    """Rules for recording, importing, coming and going."""

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

    @rule(number=which, keyed=st.booleans())
    def undo_import(self, number, keyed=False):
        fact, before, key = self.some_fact(number), self.model, self.new_key(keyed)
        of_import = next(
            (
                range(first.seq, first.seq + first.details["batch"]["events"])
                for first in before.facts
                if "source" in ((first.details or {}).get("batch") or {})
                and first.seq <= fact.seq < first.seq + first.details["batch"]["events"]
            ),
            (),
        )
        imported, halves = set(of_import), set()
        for swapped in before.facts:  # the first half of a swap takes over the first turn, the second the other
            turns = tuple((swapped.details or {}).get("swapped", ())) if swapped.kind == "received" else ()
            if turns and turns[turns in halves] in imported:
                imported.add(swapped.seq)
            halves.add(turns)
        mine = [f.seq for f in before.counting("received") if f.seq in imported]
        left = {
            seq: before.facts[seq - 1].amount + sum(f.amount for f in before.counting("correction") if f.refers == seq)
            for seq in mine
        }
        allowed = any(abs(amount) > CLOSE for amount in left.values())
        new = self.write(lambda ledger: ledger.undo_import(fact.seq, key=key), allowed, key)
        if new:
            for event in new:
                left[event.refers] += event.amount
            assert all(abs(amount) < CLOSE for amount in left.values())

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
