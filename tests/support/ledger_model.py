"""A ledger in plain Python: a list of facts, and sums over it. Slow, and made to be read.

Nothing here is imported from bygones. A fact is what an event says; what is remembered of an agent at an instant is the
sum of amount · ½^(age in half-lives) over the facts about it that are not void, with the time on hold left out of the
age where the rules say so.
"""

import hashlib
from functools import cached_property
from itertools import combinations, pairwise, permutations
from statistics import mean, median
from types import SimpleNamespace

MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000
SKEW, YEAR = 5 * MINUTE, 366 * DAY
GIVES = ("received", "planned")
TURNS = ("join", "leave", "hold", "resume")
AFTER = {
    ("away", "join"): "present",
    ("present", "hold"): "on hold",
    ("on hold", "resume"): "present",
    ("present", "leave"): "away",
    ("on hold", "leave"): "away",
}
CLOSE = 1e-7
"""Sums of a hundred amounts of up to a hundred, added in another order."""


class Model:
    """What a ledger should say, given the facts that were recorded so far. Further facts make another model."""

    def __init__(self, facts=()):
        self.facts = tuple(facts)

    def __len__(self):
        return len(self.facts)

    def until(self, seq):
        """The model as it was after so many facts."""
        return Model(self.facts[:seq])

    def without(self, *seqs):
        """The model if facts, and what rests on them, had not been recorded."""
        kept = list(self.facts)
        for seq in seqs:
            kept.append(SimpleNamespace(seq=len(kept) + 1, kind="void", refers=seq, recorded=0))
        return Model(kept)

    # ------------------------------------------------------------------------------------------- what counts

    @cached_property
    def voids(self):
        """By the number of each fact that makes others void, and was not taken back itself, the numbers of those."""
        made = {}
        for fact in self.facts:
            if fact.kind == "void" and fact.refers in made:
                del made[fact.refers]
            elif fact.kind == "void":
                made[fact.seq] = self._resting(fact.refers, before=fact.seq)
        return made

    @cached_property
    def void(self):
        """The numbers of the facts that are void."""
        return set().union(*self.voids.values())

    def _resting(self, seq, before):
        """A fact, what was given through it, and the corrections of either."""
        rests = {seq}
        for fact in self.facts[seq : before - 1]:
            if fact.refers in rests and (
                fact.kind == "correction" or (fact.kind in GIVES and self.facts[seq - 1].kind in ("decision", "plan"))
            ):
                rests.add(fact.seq)
        return rests

    @cached_property
    def in_effect(self):
        """The facts that count, in the order of time."""
        found = [fact for fact in self.facts if fact.kind != "void" and fact.seq not in self.void]
        return sorted(found, key=lambda fact: (fact.time, fact.seq))

    def counting(self, *kinds):
        """The facts in effect of these kinds, in the order of time."""
        return [fact for fact in self.in_effect if fact.kind in kinds]

    @property
    def began(self):
        return self.facts[0].time

    def rules(self, at):
        """The settings in force at an instant."""
        found = {"entitlements": {}}
        for fact in self.counting("rules"):
            if fact.time <= at:
                weights = {**found["entitlements"], **fact.details.get("entitlements", {})}
                found = {**found, **fact.details, "entitlements": weights}
        return found

    # --------------------------------------------------------------------------------------------- who is there

    @cached_property
    def turns(self):
        """By agent, when they joined, left, went on hold and resumed."""
        found = {}
        for fact in self.counting(*TURNS):
            found.setdefault(fact.agent, []).append((fact.time, fact.kind))
        return found

    def status(self, agent, at):
        state = "away"
        for time, kind in self.turns.get(agent, []):
            if time <= at:
                state = AFTER[state, kind]
        return state

    def was_member(self, agent, at):
        return self.status(agent, at) != "away" or any(time == at for time, _ in self.turns.get(agent, []))

    def makes_sense(self):
        """Whether every turn follows from the one before, and nobody was given anything while away.

        What is planned for somebody who will be away can be decided again, but not what is planned for nobody.
        """
        for turns in self.turns.values():
            state = "away"
            for _, kind in turns:
                state = AFTER.get((state, kind))
                if state is None:
                    return False
        if not all(fact.agent in self.turns for fact in self.counting("planned")):
            return False
        return all(self.was_member(fact.agent, fact.time) for fact in self.counting("received", "offset"))

    def with_fact(self, kind, **fields):
        """The model with one more fact."""
        blank = {"agent": None, "amount": None, "refers": None, "details": None, "recorded": 0}
        return Model([*self.facts, SimpleNamespace(seq=len(self) + 1, kind=kind, **{**blank, **fields})])

    # --------------------------------------------------------------------------------------- what is remembered

    def half_lives(self, agent, since, until):
        """How many half-lives passed for an agent."""
        changes = {fact.time for fact in self.counting("rules")}
        turns = {time for time, _ in self.turns.get(agent, [])}
        cuts = sorted({since, until, *(time for time in changes | turns if since < time < until)})
        passed = 0.0
        for start, end in pairwise(cuts):
            rules = self.rules(start)
            if not (rules["hold_stops_clock"] and self.status(agent, start) == "on hold"):
                passed += (end - start) / _microseconds(rules["half_life"])
        return passed

    @cached_property
    def waiting(self):
        """The joins that lay ahead when they were recorded, and whose time has not come in any transaction since."""
        latest = max(fact.recorded for fact in self.facts)
        corrected = {fact.refers for fact in self.counting("correction")}
        joins = [fact for fact in self.counting("join") if "start" in (fact.details or {})]
        return [fact for fact in joins if fact.time > latest and fact.seq not in corrected]

    def standing(self, at, before=float("inf"), counting_before=float("inf")):
        """By agent who has joined: status, received, remembered, entitlement and owed.

        Of those who join ahead, only those before an instant have what they start with. Amounts count before another.
        """
        turns = self.turns
        names = [name for name, each in turns.items() if each[0][0] <= at]
        kinds = {fact.seq: fact.kind for fact in self.facts}
        found = {}
        for name in names:
            mine = [
                fact
                for fact in self.counting(*GIVES, "offset", "correction", "join")
                if fact.agent == name and fact.time <= at and fact.time < counting_before
            ]
            given = [
                fact.amount
                for fact in mine
                if (kinds[fact.refers] if fact.kind == "correction" else fact.kind) in GIVES
            ]
            found[name] = SimpleNamespace(
                status=self.status(name, at),
                received=sum(given),
                remembered=sum(fact.amount * 0.5 ** self.half_lives(name, fact.time, at) for fact in mine)
                + sum(
                    self.start([name], fact.time, fact.details["start"], ahead=True)[name]
                    * 0.5 ** self.half_lives(name, fact.time, at)
                    for fact in self.waiting
                    if fact.agent == name and fact.time <= at and fact.time < before
                ),
                entitlement=self.rules(at)["entitlements"].get(name, 1.0),
                owed=None,
            )
        present = [each for each in found.values() if each.status == "present"]
        for each in present:
            share = each.entitlement / sum(other.entitlement for other in present)
            each.owed = share * sum(other.remembered for other in present) - each.remembered
        return found

    def start(self, names, at, rule=None, entitlement=None, ahead=False):
        """What newcomers start with, and whoever returns is raised to; ahead, without the amounts of that instant."""
        stood, rule = (
            self.standing(at, before=at, counting_before=at if ahead else float("inf")),
            rule or self.rules(at)["newcomers"],
        )
        joining = {fact.agent for fact in self.waiting if fact.time == at}
        present = [each for name, each in stood.items() if each.status == "present" and name not in joining]
        found = {}
        for name in names:
            weight = self.rules(at)["entitlements"].get(name, 1.0) if entitlement is None else entitlement
            each_unit = [each.remembered / each.entitlement for each in present]
            if rule == "zero" or (not present and rule in ("mean", "median", "entitled share")):
                start = 0.0
            elif rule in ("mean", "median"):
                start = weight * {"mean": mean, "median": median}[rule](each_unit)
            elif rule == "entitled share":
                start = weight * sum(e.remembered for e in present) / sum(e.entitlement for e in present)
            else:
                start = float(rule)
            found[name] = max(start - (stood[name].remembered if name in stood else 0.0), 0.0)
        return found

    # ------------------------------------------------------------------------------------------------- decisions

    def is_best(self, at, needs, k, utilities):
        """Whether no other k of those who ask would leave the worst off, or if equal the next, better off."""
        stood = {name: each for name, each in self.standing(at).items() if each.status == "present"}
        asking = [name for name in needs if name in stood]
        k = min(k, len(asking))
        if len(utilities) != k or not set(utilities) <= set(asking):
            return False

        def levels(served):
            gains = {name: needs[name] for name in served}
            return sorted((each.remembered + gains.get(name, 0.0)) / each.entitlement for name, each in stood.items())

        got = levels(utilities)
        return not any(_is_above(levels(others), got) for others in combinations(asking, k))

    def is_best_assignment(self, at, worth, gets):
        """Whether no other assignment of the items, one each, would leave the worst off, or the next, better off."""
        stood = {name: each for name, each in self.standing(at).items() if each.status == "present"}
        items = list(next(iter(worth.values())))
        given = {item: name for name, item in gets.items()}
        if len(gets) != min(len(worth), len(items)) or not set(given) <= set(items):
            return False

        def levels(given):
            gains = {name: worth[name][item] for item, name in given.items()}
            return sorted((each.remembered + gains.get(name, 0.0)) / each.entitlement for name, each in stood.items())

        got = levels(given)
        every = (
            dict(zip(chosen, agents, strict=True))
            for chosen in combinations(items, len(gets))
            for agents in permutations(worth, len(gets))
        )
        return not any(_is_above(levels(other), got) for other in every)

    def is_level(self, at, amount, utilities):
        """Whether an amount is divided so that whoever gets a part ends up level, and nobody below goes without."""
        stood = {name: each for name, each in self.standing(at).items() if each.status == "present"}
        after = {name: (each.remembered + utilities.get(name, 0.0)) / each.entitlement for name, each in stood.items()}
        served = [after[name] for name, part in utilities.items() if part > CLOSE]
        lowest = min(after.values())
        return abs(sum(utilities.values()) - amount) < CLOSE and all(level < lowest + 1e-6 for level in served)

    def commitment(self, at, request):
        """The hash of the seed of the next decision: the one before it in the chain, which was published or revealed.

        The draw of a void decision of the same request or day is used again, if nothing with that draw counts.
        """
        drawn = [f for f in self.facts if "number" in (f.details or {}).get("draw", {})]
        seeds = {f.details["draw"]["number"]: f.details["draw"]["seed"] for f in drawn}
        taken = {f.details["draw"]["number"] for f in drawn if f.seq not in self.void}
        free = [
            (f.details["request"] != request, f.details["draw"]["number"])
            for f in drawn
            if f.details["draw"]["number"] not in taken
            and (f.details["request"] == request or f.time // DAY == at // DAY)
        ]
        if free:
            return hashed(seeds[min(free)[1]])
        return seeds[max(seeds)] if seeds else self.facts[0].details["draw"]["chain"]

    @staticmethod
    def slot(fact):
        """What versions of one decision have in common: the draw, or the instant of a plan."""
        if fact.kind == "plan":
            return fact.kind, fact.time
        return fact.kind, (fact.details or {}).get("draw", {}).get("number")


def hashed(seed):
    """What a seed is committed to by."""
    return hashlib.sha256(seed.encode()).hexdigest()


def _is_above(one, other):
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > 1e-6:
            return a > b
    return False


def _microseconds(half_life):
    return float("inf") if half_life == "inf" else float(half_life.removesuffix("d")) * DAY
