"""What is decided: now, again, and on dates ahead."""

import math

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bygones.allocation import Assign, ChooseK, Divide
from bygones.ledger import DateNeeds, StaleProposalError
from support.ledger_driver import NAMES, LedgerDriver, amounts, moment, past
from support.ledger_model import DAY, GIVES, HOUR, MINUTE, hashed


def given(decision):
    """What each agent was given through a decision."""
    return {agent: utility for agent, _, _, utility in decision.details["given"]}


class Deciding(LedgerDriver):
    """Rules for decisions and plans."""

    def present(self, at):
        return [name for name, each in self.model.standing(at).items() if each.status == "present"]

    @rule(needs=st.fixed_dictionaries(dict.fromkeys(NAMES, amounts)), k=st.integers(0, 2), keyed=st.booleans())
    def decide(self, needs, k, keyed):
        if k == 0:
            self.divide(needs["ana"])
            return
        at, key, before = self.now + MINUTE + 1, self.new_key(keyed), self.model
        asked = {name: needs[name] for name in self.present(at)}
        request = ChooseK(asked, k)
        allowed = 1 <= k <= len(asked)
        new = self.write(lambda ledger: ledger.decide(request, key=key), allowed, key)
        if new:
            utilities = self.check_made(new, before)
            assert new[0].time == at
            assert before.is_best(at, asked, k, utilities)

    def divide(self, amount):
        at, before = self.now + MINUTE + 1, self.model
        asked = self.present(at)
        new = self.write(lambda ledger: ledger.decide(Divide(amount, dict.fromkeys(asked, 1.0))), bool(asked))
        if new:
            assert before.is_level(at, amount, self.check_made(new, before))

    @rule(ward=amounts, more=st.sampled_from([0.0, 0.0, 3.0]))
    def assign(self, ward, more):
        """Items that are not in alphabetical order, and often worth the same: the draw depends on their order."""
        at, before = self.now + MINUTE + 1, self.model
        worth = {name: {"ward": ward, "icu": ward + more} for name in self.present(at)}
        new = self.write(lambda ledger: ledger.decide(Assign(worth)), bool(worth))
        if new:
            utilities = self.check_made(new, before)
            gets = {agent: item for agent, item, _, _ in new[0].details["given"]}
            assert utilities == {name: worth[name][item] for name, item in gets.items()}
            assert before.is_best_assignment(at, worth, gets)

    def check_made(self, new, before):
        """A decision says what was received through it, and reveals the seed that was committed to."""
        decision, *received = new
        assert decision.kind == "decision"
        drawn = decision.details["draw"]
        assert hashed(drawn["seed"]) == before.commitment(decision.time, decision.details["request"])
        assert all((e.kind, e.time, e.refers) == ("received", decision.time, decision.seq) for e in received)
        utilities = {event.agent: event.amount for event in received}
        assert utilities == given(decision)
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
        request = ChooseK(asked)
        proposal, again = one.propose(request), other.propose(request)
        assert (proposal.gets(), proposal.commitment) == (again.gets(), self.model.commitment(at, request.to_dict()))
        name = next(iter(asked))
        other.record(name, 0.0)
        self.adopt()
        assert other.propose(request).gets() == proposal.gets()
        try:
            one.accept(proposal)
        except StaleProposalError:
            return
        raise AssertionError("a proposal was accepted that others had overtaken")

    @rule(hours=past, length=st.integers(1, 60), accept=st.booleans(), keyed=st.booleans())
    def redecide(self, hours, length, accept, keyed):
        start, before, key = self.now - hours * HOUR, self.model, self.new_key(accept and keyed)
        end = start + length * HOUR
        answers = []

        def again(ledger):
            answers.append(ledger.redecide(moment(start), moment(end), accept=accept, key=key))
            return answers[-1]

        new = self.write(again, key=key)
        if not accept:
            assert not new
        elif new is not None:
            for found in answers:  # none, if it was lost and there is no key with which to ask again
                changed = {each.seq for each in found if each.in_period}
                assert {event.refers for event in new if event.kind == "void"} == changed
            for event in new:
                if event.kind == "decision":
                    request = event.details["request"]
                    without = self.model.until(event.seq - 1)
                    if "needs" in request and self.is_settled(event.time):
                        assert without.is_best(event.time, request["needs"], request["k"], given(event))
            assert not [each for each in self.ledger.redecide(moment(start), moment(end)) if each.in_period]
        assert before.void <= self.model.void

    def is_settled(self, at):
        """Whether nothing else was given at that instant, which might have been decided after."""
        return sum(fact.time == at for fact in self.model.counting("decision", "plan")) == 1

    @rule(
        days=st.sets(st.integers(1, 9), min_size=1, max_size=3),
        amount=amounts,
        k=st.integers(1, 2),
        keyed=st.booleans(),
    )
    def plan(self, days, amount, k, keyed):
        key = self.new_key(keyed)
        dates = [self.now + day * DAY for day in sorted(days)]
        asked = {name: amount for name in NAMES if self.model.turns.get(name, [(math.inf, "")])[0][0] <= dates[0]}
        allowed = all(len(self.present(at)) >= k for at in dates)
        allowed = allowed and not {fact.time for fact in self.model.counting("plan")} & set(dates)
        if not all(set(self.present(at)) & set(asked) for at in dates):
            allowed = None
        wanted = [DateNeeds(at, False, ChooseK(asked, k)) for at in dates]
        new = self.write(lambda ledger: ledger.plans.publish(wanted, key=key), allowed, key)
        for date in new or ():
            if date.kind == "plan":
                turns = {event.agent: event.amount for event in new if event.refers == date.seq}
                assert self.model.until(date.seq - 1).is_best(date.time, asked, k, turns)

    def planned_ahead(self):
        return [fact for fact in self.model.counting("planned") if fact.time > self.now]

    @rule(accept=st.booleans(), keyed=st.booleans())
    def replan(self, accept, keyed=False):
        before, key = self.planned_ahead(), self.new_key(accept and keyed)
        stays = {(f.time, f.agent) for f in before if self.model.status(f.agent, f.time) == "present"}
        new = self.write(lambda ledger: ledger.plans.redecide(accept=accept, key=key), key=key)
        if new is not None and accept:
            ahead = self.planned_ahead()
            assert stays <= {(fact.time, fact.agent) for fact in ahead} | {
                (time, agent) for time, agent in stays if time <= self.now
            }
            assert all(self.model.status(f.agent, f.time) == "present" for f in ahead)

    @rule(days=st.integers(0, 5), keyed=st.booleans())
    def unplan(self, days, keyed):
        key = self.new_key(keyed)
        start = self.now + MINUTE + 1 + days * DAY
        allowed = any(fact.time >= start for fact in self.model.counting("plan"))
        if self.write(lambda ledger: ledger.plans.void(moment(start), key=key), allowed, key):
            assert not [fact for fact in self.model.counting("plan") if fact.time >= start]

    @rule(one=st.integers(0, 99), other=st.integers(0, 99), keyed=st.booleans())
    def swap(self, one, other, keyed):
        turns, key = self.model.counting(*GIVES), self.new_key(keyed)
        if not turns:
            return
        first, second = turns[one % len(turns)], turns[other % len(turns)]
        new = self.write(lambda ledger: ledger.plans.swap(first.seq, second.seq, key=key), key=key)
        if new:
            given = [event for event in new if event.kind in GIVES]
            assert {first.seq, second.seq} <= self.model.void
            assert [(e.agent, e.time, e.refers, e.kind) for e in given] == [
                (second.agent, first.time, first.refers, first.kind),
                (first.agent, second.time, second.refers, second.kind),
            ]
