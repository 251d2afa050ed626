"""What is rare if everything is drawn by chance: steps that only together show whether a ledger is right."""

import math

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bygones.allocation import Assign, ChooseK
from bygones.ledger import DateNeeds
from support.ledger_deciding import Deciding
from support.ledger_driver import amounts, moment, names
from support.ledger_model import CLOSE, DAY, GIVES, HOUR, MINUTE
from support.ledger_recording import Recording

two_amounts = st.tuples(amounts, amounts)


class Twists(Recording, Deciding):
    """Rules that do several things in a row, about the same agent or event."""

    def can_be_void(self, fact):
        """Whether the model would accept that a fact becomes void."""
        raise NotImplementedError

    def make_void(self, fact):
        return self.write(lambda ledger: ledger.void(fact.seq), self.can_be_void(fact))

    @rule(agent=names, hours=st.integers(1, 90), by=two_amounts, undone=st.booleans())
    def correct_twice(self, agent, hours, by, undone):
        """The second correction counts from the first, which cannot be void before it."""
        self.import_table([(agent, hours, 2.0), (agent, hours, 3.0)], join=True, keyed=False)
        given = self.model.facts[-1]
        if given.kind != "received" or given.agent != agent:
            return
        for amount in by:
            self.write(lambda ledger, amount=amount: ledger.correct(given.seq, amount), True)
        corrections = [fact for fact in self.model.counting("correction") if fact.refers == given.seq]
        assert math.isclose(given.amount + sum(fact.amount for fact in corrections), by[-1], abs_tol=CLOSE)
        if undone:
            self.undo_import(self.model.facts[-1].seq - given.seq)
        else:
            self.make_void(corrections[0])
            self.make_void(corrections[-1])

    @rule(agent=names, amount=amounts, start=st.sampled_from(["mean", "median", 2.0]), days=st.integers(1, 5))
    def leave_and_return(self, agent, amount, start, days):
        """Something received at the instant of leaving counts, and who returns is lifted to the start, not beyond."""
        self.turn("leave", agent, 0, keyed=False)
        last = self.model.facts[-1]
        if (last.kind, last.agent) == ("leave", agent):
            self.write(lambda ledger: ledger.record(agent, amount, at=moment(last.time)), True)
        self.join(agent, 24 * days, start, None, keyed=False)
        self.now += (days + 1) * DAY
        self.record("ana", 1, 1.0, keyed=False)

    @rule(agent=names, hours=st.integers(1, 90), amount=amounts)
    def put_back(self, agent, hours, amount):
        """What was known before a void, between it and its own void, and after that."""
        self.record(agent, hours, amount, keyed=False)
        given = self.model.facts[-1]
        if given.kind != "received":
            return
        for _ in range(2):
            self.make_void(self.model.facts[-1])
        self.record("ana", 1, 1.0, keyed=False)
        for seq in range(given.seq + 1, len(self.model) + 1):
            known, time = self.model.until(seq - 1), self.model.facts[seq - 1].time
            self.compare(self.ledger.standing(before=seq), known, max(time, known.began))

    @rule(by=two_amounts, ahead=st.booleans())
    def swap_unlike(self, by, ahead):
        """A turn is worth to whoever takes it over what it is worth to them."""
        at = self.now + (DAY if ahead else 0)
        here = self.present(at)[:2]
        if len(here) < 2:
            return
        needs = [dict(zip(here, amounts, strict=True)) for amounts in (by, by[::-1])]
        if ahead:
            wanted = [DateNeeds(at + i * HOUR, False, ChooseK(each)) for i, each in enumerate(needs)]
            self.write(lambda ledger: ledger.plans.publish(wanted))
        else:
            for each in needs:
                self.write(lambda ledger, each=each: ledger.decide(ChooseK(each)))
        made = {
            fact.seq: fact.details["request"]["needs"]
            for fact in self.model.counting("decision", "plan")
            if fact.details["request"].get("needs") in needs
        }
        turns = [fact for fact in self.model.counting(*GIVES) if fact.refers in made][-2:]
        if len(turns) < 2:
            return
        new = self.write(lambda ledger: ledger.plans.swap(turns[0].seq, turns[1].seq))
        for event in [event for event in new or () if event.kind in GIVES]:
            assert event.amount == made[event.refers][event.agent]

    @rule(agent=names, hours=st.integers(0, 60))
    def hold_by_mistake(self, agent, hours):
        """A hold that is void leaves no trace in a standing, now or ahead."""
        self.turn("hold", agent, hours, keyed=False)
        held = self.model.facts[-1]
        if held.kind == "hold":
            self.make_void(held)
            self.check_verified(self.ledger)

    @rule(days=st.integers(1, 5), need=amounts)
    def fall_ill(self, days, need):
        """Of two turns on a date, the one that can be taken stays, though its agent has much by now."""
        at = self.now + days * DAY
        asked = dict.fromkeys(self.present(at), need)
        if len(asked) < 4 or any(fact.time == at for fact in self.model.counting("plan")):
            return
        new = self.write(lambda ledger: ledger.plans.publish([DateNeeds(at, False, ChooseK(asked, 2))]))
        turns = [event for event in new or () if event.kind == "planned"]
        if len(turns) == 2:
            ill, other = turns
            self.record(other.agent, 0, 400.0, keyed=False)
            self.write(lambda ledger: ledger.hold(ill.agent, at=moment(at)))
            self.replan(accept=True, keyed=True)

    @rule(agent=names, amount=amounts, keyed=st.booleans())
    def decide_again(self, agent, amount, keyed):
        """Who gets which of two like items is drawn; what is recorded late changes who gets one, and not the lot."""
        start, made, found = self.now, set(), []
        for _ in range(2):
            asked = {name: {"ward": amount, "icu": amount} for name in self.present(self.now + MINUTE + 1)}
            new = self.write(lambda ledger, asked=asked: ledger.decide(Assign(asked)), bool(asked))
            made |= {event.seq for event in new or () if event.kind == "decision"}
        self.write(lambda ledger: found.extend(ledger.redecide(moment(start))))
        assert not made & {each.seq for each in found}, "nothing is new, and the lot fell otherwise"
        self.write(lambda ledger: ledger.record(agent, 400.0, at=moment(start)), self.model.was_member(agent, start))
        self.redecide(1, 60, accept=True, keyed=keyed)

    @rule(agent=names, hours=st.integers(1, 90))
    def import_again(self, agent, hours):
        """What was taken back with its import, and is imported again with its key, counts as before."""
        self.import_table([(agent, hours, 2.0), (agent, hours, 3.0)], join=True, keyed=True)
        given, key = self.model.facts[-1], f"key {self.numbers}"
        if key in self.keyed:
            self.undo_import(0)
            self.retry(key)
            by = sum(fact.amount for fact in self.model.counting("correction") if fact.refers == given.seq)
            assert abs(by) < CLOSE

    @rule(agent=names, minutes=st.sampled_from([1, 60]))
    def run_ahead(self, agent, minutes):
        """After a clock that ran ahead was put back, what was received may still not lie ahead of it."""
        self.now += 2 * DAY
        self.record("ana", 0, 1.0, keyed=False)
        self.now -= 2 * DAY
        self.record_ahead_or_offset(agent, minutes, 5)
