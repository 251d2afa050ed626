"""The draw between equally good choices: fixed before anyone knows who will ask, and open to checks afterwards.

**Seeds.** When a ledger is made it draws one secret number and hashes it ten thousand times. The last hash is published
in the ledger's first event. Draw number 1 reveals the hash before it, draw number 2 the one before that, and so on
backwards. Nobody can find a seed from those revealed before it, and nobody can choose one, since

    printf %s SEED | sha256sum

of each seed is the seed before. The person who decides has no influence on it. The last draw of a chain publishes the
next chain.

**Days.** A second chain has a seed for each day from 2020 to 2119, in the order of the calendar. A date of a plan has
the seed of its day. So its draw does not depend on the dates that were planned before it, or on any decision.

**Lots.** With a seed each agent draws a lot, the hash of the seed and the agent's name, and of equals those with the
smallest lots come first. A lot does not depend on who else asks, for how much, or at which minute. For dates of a plan
the hash is also over the day, as `2026-12-24`.

**Once.** A draw is used once. All decisions with one draw are versions of one decision, and at most one of them counts.
A decision that is made again in place of another keeps its draw. After a decision was made void, the next decision of
the same request or the same day has its draw. So drafting, moving or taking back draws nothing new.

The secrets are in the table `draws`, and a person who can read the database can foresee draws. Version 2 drew a new
seed for each decision, and its events are checked as they were made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bygones.allocation.ties import InOrder
from bygones.ledger.model.events import DECISIONS, Event

LENGTH = 10_000
"""Draws in a chain of seeds."""

FIRST_DAY = date(2020, 1, 1)
"""The first day of the chain of days."""

DAYS = 36_524
"""Days in the chain of days, up to the end of 2119."""

_STRIDE = 250
"""Every so many hashes of a chain are kept in memory, since the seeds that are needed lie close to each other."""


class Draw(NamedTuple):
    """A draw.

    Attributes:
        seed: as 64 hexadecimal digits.
        number: counted from 1 over the whole ledger, 0 for the one to which version 2 had committed; for a date that
            is planned, the number of its day; None for a draw of version 2.
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


def seed_of(secret: str, number: int, length: int = LENGTH) -> str:
    """The seed of a draw of a chain; number 0 is published before the first."""
    if not 0 <= number <= length:  # beyond the end of the chain is the secret itself, and before it no end
        raise ValueError(f"a chain of seeds has draws 0 to {length}, got {number}: the table draws is damaged")
    strides, rest = divmod(length - number, _STRIDE)
    return hashed(_after_strides(secret, strides), rest)


@lru_cache(maxsize=1_000)
def _after_strides(secret: str, strides: int) -> str:
    return hashed(_after_strides(secret, strides - 1), _STRIDE) if strides else secret


def number_of_day(day: str) -> int:
    """The number of a day, in ISO form, in the chain of days."""
    number = (date.fromisoformat(day) - FIRST_DAY).days + 1
    if not 1 <= number <= DAYS:
        raise ValueError(f"a date that is planned must be from the year 2020 to 2119, got {day}")
    return number


def check_draw(decision: Event, published: Event) -> bool:
    """Whether a decision reveals the seed that an earlier event had committed to, directly or through a chain."""
    drawn, committed = (decision.details or {}).get("draw", {}), (published.details or {}).get("draw", {})
    if "seed" not in drawn or not published.seq < decision.seq:
        return False
    if "day" in drawn:
        return bool(hashed(drawn["seed"], number_of_day(drawn["day"])) == committed.get("days"))
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
        self._before = 0  # how many draws were made before this chain
        self._seeds: dict[int, str] = {}
        self._days: dict[int, str] = {}  # day 0 is the beginning of the chain

    def follow(self, event: Event) -> list[str]:
        """The problems with the draw of this event."""
        details = event.details or {}
        drawn = details.get("draw", {})
        had_committed = self._next is not None
        problems = self._commit_to_days(event, drawn) + ([] if had_committed else self._commit(event, drawn))
        if "seed" in drawn and event.kind not in DECISIONS:
            problems.append(f"event {event.seq} reveals a seed, but it is no decision")
        elif event.kind == "plan" and self._days:
            problems += self._check_day(event, drawn)
        elif "redecides" not in details or "number" in drawn:
            # A decision of version 2 that was made again had the draw of the first, without a record of it.
            problems += self._check(event, drawn)
        return problems + self._commit(event, drawn) if had_committed else problems

    def _commit(self, event: Event, drawn: dict[str, Any]) -> list[str]:
        """Notes the hash that an event publishes for the next draw, if it may."""
        problems = []
        if "chain" in drawn:
            if self._next is not None and not self._may_begin(drawn):
                problems.append(
                    f"event {event.seq} begins another chain of seeds, but that of event {self._event} goes on"
                )
            self._next, self._event, self._is_chain = str(drawn["chain"]), event.seq, True
            self._before = drawn.get("before", 0)
        elif "next" in drawn and not self._is_chain:
            self._next, self._event = str(drawn["next"]), event.seq
        return problems

    def _commit_to_days(self, event: Event, drawn: dict[str, Any]) -> list[str]:
        if "days" not in drawn:
            return []
        is_first = not self._days
        self._days.setdefault(0, str(drawn["days"]))
        return [] if is_first else [f"event {event.seq} begins another chain of days"]

    def _check(self, event: Event, drawn: dict[str, Any]) -> list[str]:
        seed, number = drawn.get("seed"), drawn.get("number")
        if seed is not None and number in self._seeds:
            if self._seeds[number] == seed:
                return []
            return [f"the seed of decision {event.seq} is not that of draw {number}, which was revealed before"]
        if self._next is None:
            return []
        if seed is None:
            if event.kind == "decision" and self._event < event.seq:
                return [f"decision {event.seq} does not reveal the seed that event {self._event} committed to"]
            if not self._is_chain and drawn.get("next", self._next) != self._next:
                return [f"event {event.seq} commits to another seed, but that of event {self._event} was not revealed"]
            return []
        problems = []
        if hashed(str(seed)) != self._next:
            problems.append(f"the seed of decision {event.seq} is not the one that event {self._event} committed to")
        if self._is_chain:
            expected = max(self._seeds, default=self._before) + 1
            if number != expected:
                problems.append(f"decision {event.seq} reveals draw {number} of the chain, but {expected} is the next")
            self._next, self._event = str(seed), event.seq
            self._seeds[expected] = str(seed)
        elif number is not None:
            self._seeds[number] = str(seed)
        return problems

    def _check_day(self, event: Event, drawn: dict[str, Any]) -> list[str]:
        """The problem with the seed of a date, which must lead to that of the last day before whose seed is known."""
        if "seed" not in drawn or "day" not in drawn:
            return [f"decision {event.seq} does not reveal the seed of its day"]
        number, seed = number_of_day(drawn["day"]), str(drawn["seed"])
        known = max(each for each in self._days if each <= number)
        if hashed(seed, number - known) != self._days[known]:
            return [f"the seed of decision {event.seq} is not the one published for {drawn['day']}"]
        self._days[number] = seed
        return []

    def _may_begin(self, drawn: dict[str, Any]) -> bool:
        """Whether a draw is the last of a chain, or the last of version 2."""
        last = self._before + LENGTH if self._is_chain else 0
        return "seed" in drawn and drawn.get("number") == last == drawn.get("before", 0)

    def end(self, held: str | None, days: str) -> list[str]:
        """The problems with the seed that the ledger holds for its next draw, also if it holds none, and for days."""
        problems = []
        if self._next is not None and (held is None or hashed(held) != self._next):
            problems.append(f"the seed of the next draw is not the one that event {self._event} committed to")
        if self._days and seed_of(days, 0, DAYS) != self._days[0]:
            problems.append("the seeds of the coming days do not fit the published chain")
        return problems
