"""A ledger and a model of it in plain Python, driven with every operation and through every fault, side by side.

Hypothesis draws what is done: whatever a command does, with clocks that jump forth and back, processes that die between
two statements, disks that are full, answers that get lost and are asked for again, and bits that flip in a copy. The
model says what must be accepted and what refused, what must be recorded, and where everybody must stand at any instant,
past or future, as known now or as it was known then.

`ledger_driver.COUNTS` says how often each fault struck; that none did harm is what the machine checks.

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

Seventeen more, which it finds within sixty examples of forty steps too, half of them through `ledger_twists` only: the
rules of an instant count only after it (`rules.at`); the instant of leaving does not count (`turns.was_member`); what
was put back is known one event late (`voids.in_effect`); the median start is the mean, and who returns ahead is given
all of it (`starting`); a correction forgets earlier ones, an import is taken back without its corrections, and the
skew is counted from the snapshot (`writing`); offsets count as received (`snapshot.add`); the share is taken of all,
not of those present (`standing.owed`); an early correction can be void alone (`records.void`); a swapped turn is worth
what it was to the other, and all turns of a date are decided again (`replanning`); verify counts turns that are void
(`chain`); contributions show what is void (`contributions`); an import that comes back has the wrong sign
(`importing.put_back`); what is decided again for the second time draws anew (`redeciding._draw`).
"""

import math

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from bygones.ledger import Ledger, Rules
from bygones.ledger.proof import copies as copying
from bygones.ledger.proof.verification import rebuild
from support.ledger_damage import Damage
from support.ledger_driver import NAMES, amounts, moment, names, which
from support.ledger_model import CLOSE, DAY, GIVES, HOUR, Model
from support.ledger_twists import Twists


class LedgerMachine(Twists, Damage):
    """Everything that can be done to a ledger. Subclasses say where ledgers are kept."""

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

    @rule(number=which, keep=st.integers(0, 3), keyed=st.booleans())
    def void(self, number, keep, keyed):
        recent = [fact for fact in self.model.facts if fact.kind != "received" or keep == 0]
        fact = recent[-1 - number % len(recent)]
        allowed, key = self.can_be_void(fact), self.new_key(keyed)
        new = self.write(lambda ledger: ledger.void(fact.seq, key=key), allowed, key)
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
            target = model.facts[fact.refers - 1]
            return model.slot(target) not in {model.slot(f) for f in model.counting("decision", "plan")}
        return True

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
