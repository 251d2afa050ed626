"""The draw between equally good choices: fixed before anyone knows who will ask, and open to checks afterwards.

**Seeds.** When a ledger is made it draws one secret number and hashes it ten thousand times. The last hash is published
in the ledger's first event. Draw number 1 reveals the hash before it, draw number 2 the one before that, and so on
backwards. Nobody can find a seed from those revealed before it, and nobody can choose one, since

    printf %s SEED | sha256sum

of each seed is the seed before. The person who decides has no influence on it. The last draw of a chain publishes the
next chain.

**Lots.** With a seed each agent draws a lot, the hash of the seed and the agent's name, and of equals those with the
smallest lots come first. A lot does not depend on who else asks, for how much, or at which minute. For dates of a plan
the hash is also over the day, and another date is another draw.

**Once.** A draw is used once. A decision that was made void was no decision, so the next one has its draw; a date that
is planned again has the draw with which it was first planned; and a decision that is made again keeps its own. So
drafting, moving or taking back draws nothing new.

The secret is in the table `draws`, and a person who can read the database can foresee draws. Version 2 drew a new seed
for each decision, and its events are checked as they were made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bygones.allocation.ties import InOrder
from bygones.ledger.model.events import DECISIONS, Event

LENGTH = 10_000
"""Draws in a chain of seeds."""


class Draw(NamedTuple):
    """A draw.

    Attributes:
        seed: as 64 hexadecimal digits.
        number: counted from 1 over the whole ledger, 0 for the one to which version 2 had committed; None for a draw of
            version 2.
        day: the day of a date that is planned, else empty.
        before: the seed or hash that the hash of this seed must be.
    """

    seed: str
    number: int | None = None
    day: str = ""
    before: str = ""

    def order(self, agents: Sequence[str]) -> list[int]:
        """The positions of agents in the order of their lots."""
        if self.number is None:
            return list(range(len(agents)))
        lots = [hashlib.sha256(f"{self.seed} {self.day} {agent}".encode()).digest() for agent in agents]
        return sorted(range(len(agents)), key=lots.__getitem__)

    @property
    def rng(self) -> np.random.Generator:
        """The generator that decides between equally good choices, once the agents are in order."""
        return InOrder() if self.number is not None else np.random.default_rng(int(self.seed, 16))

    @property
    def commitment(self) -> str:
        """The hash that was published before the seed."""
        return self.before or hashed(self.seed)


def hashed(seed: str, times: int = 1) -> str:
    """The SHA-256 of a seed's text in hexadecimal digits, or the hash of that, and so on."""
    for _ in range(times):
        seed = hashlib.sha256(seed.encode()).hexdigest()
    return seed


def seed_of(secret: str, number: int) -> str:
    """The seed of a draw of a chain; number 0 is published before the first."""
    if not 0 <= number <= LENGTH:  # beyond the end of the chain is the secret itself, and before it no end
        raise ValueError(f"a chain of seeds has draws 0 to {LENGTH}, got {number}: the table draws is damaged")
    return hashed(secret, LENGTH - number)


def check_draw(decision: Event, published: Event) -> bool:
    """Whether a decision reveals the seed that an earlier event had committed to, directly or through a chain."""
    drawn, committed = (decision.details or {}).get("draw", {}), (published.details or {}).get("draw", {})
    if "seed" not in drawn or not published.seq < decision.seq:
        return False
    if "number" in drawn and "chain" in committed:
        steps = drawn["number"] - committed.get("before", 0)
        return bool(0 < steps <= LENGTH and hashed(drawn["seed"], steps) == committed["chain"])
    return bool(hashed(drawn["seed"]) == committed.get("next"))


class Commitments:
    """Follows the events of a ledger and finds seeds that do not fit the hashes published before them."""

    def __init__(self) -> None:
        self._next: str | None = None  # what the hash of the next new seed must be
        self._event = 0  # the event that committed to it
        self._is_chain = False
        self._seeds: dict[int, str] = {}

    def follow(self, event: Event) -> list[str]:
        """The problems with the draw of this event."""
        details = event.details or {}
        drawn = details.get("draw", {})
        # A decision of version 2 that was made again had the draw of the first, without a record of it.
        problems = self._check(event, drawn) if "redecides" not in details or "number" in drawn else []
        if "number" in drawn and "seed" in drawn:
            self._seeds.setdefault(int(drawn["number"]), str(drawn["seed"]))
            if self._is_chain and int(drawn["number"]) == max(self._seeds):
                self._next, self._event = str(drawn["seed"]), event.seq
        if "chain" in drawn:
            self._next, self._event, self._is_chain = str(drawn["chain"]), event.seq, True
        elif "next" in drawn and not self._is_chain:
            self._next, self._event = str(drawn["next"]), event.seq
        return problems

    def _check(self, event: Event, drawn: dict[str, object]) -> list[str]:
        seed, number = drawn.get("seed"), drawn.get("number")
        if seed is not None and isinstance(number, int) and number in self._seeds:
            if self._seeds[number] == seed:
                return []
            return [f"the seed of decision {event.seq} is not that of draw {number}, which was revealed before"]
        problems = []
        if self._next is not None:
            decides = event.kind == "decision" or (event.kind in DECISIONS and self._is_chain)
            if seed is not None and hashed(str(seed)) != self._next:
                problems.append(
                    f"the seed of decision {event.seq} is not the one that event {self._event} committed to"
                )
            elif seed is None and decides:
                problems.append(f"decision {event.seq} does not reveal the seed that event {self._event} committed to")
            elif seed is None and drawn.get("next", self._next) != self._next:
                problems.append(
                    f"event {event.seq} commits to another seed, but that of event {self._event} was not revealed"
                )
        if "chain" in drawn and self._next is not None and (seed is None or not self._may_begin(number)):
            problems.append(f"event {event.seq} begins another chain of seeds, but that of event {self._event} goes on")
        return problems

    def _may_begin(self, number: object) -> bool:
        """Whether a draw of this number is the last of a chain, or the last of version 2."""
        return isinstance(number, int) and (number == 0 or number % LENGTH == 0)

    def end(self, held: str | None) -> list[str]:
        """The problem with the seed that the ledger holds for its next draw, also if it holds none."""
        if self._next is None or (held is not None and hashed(held) == self._next):
            return []
        return [f"the seed of the next draw is not the one that event {self._event} committed to"]
