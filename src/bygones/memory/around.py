"""A memory around another: the base of all memories that differ from another in one thing, and of custom memories.

A memory that is like another but for one of `init`, `advance` and `read` holds the other and inherits from `Around`. It
lists which promises of the memory inside it keeps. The others are then inherited from `Memory`, which promises nothing,
or its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, cast

from bygones._arrays import Array, Condition, Number
from bygones._text import listed
from bygones.memory.contract import AnyState, Memory, Response, State, with_parts

PROMISES = (
    "after_ones",
    "bound",
    "can_be_negative",
    "denominator",
    "faded",
    "forgets_at_once",
    "half_life",
    "keeps_agents_apart",
    "largest_denominator",
    "response",
)
"""The promises that a memory can keep of the memory inside it."""


@dataclass(frozen=True, eq=False)
class Around(Memory[State]):
    """A memory around another, which does all that a subclass does not do itself.

    A subclass with another `init`, `advance` or `read` must have a class attribute `keeps`, the names of those promises
    of the memory inside that still hold. If its state is not that of the memory inside, `inner` shows where that is.

    Attributes:
        memory: the memory inside.
    """

    _is_final = False
    keeps: ClassVar[Collection[str]] = PROMISES

    memory: Memory[AnyState]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        changed = [name for name in ("init", "advance", "read") if getattr(cls, name) is not getattr(Around, name)]
        if (changed and "keeps" not in cls.__dict__) or not set(cls.keeps) <= set(PROMISES):
            raise TypeError(
                f"{cls.__name__} has its own {listed(changed)}, so it must list which promises of the memory inside "
                f"still hold: keeps = (), or some of {', '.join(PROMISES)}"
            )
        for name in set(PROMISES) - set(cls.keeps):
            if getattr(cls, name) is getattr(Around, name):
                setattr(cls, name, Memory.__dict__[name])

    def inner(self, state: State) -> AnyState:
        """The state of the memory inside, by default all there is."""
        return state

    @property
    def average(self) -> Condition:
        """Whether Z is on the scale of a mean, as in the memory inside."""
        return self.memory.average

    def init(self, n_agents: int) -> State:
        return cast(State, self.memory.init(n_agents))

    def advance(self, state: State, utilities: Array, elapsed: Number = 1) -> State:
        return cast(State, self.memory.advance(state, utilities, elapsed))

    def read(self, state: State) -> Array:
        return self.memory.read(self.inner(state))

    def response(self, state: State, elapsed: Number = 1) -> Response | None:
        return self.memory.response(self.inner(state), elapsed)

    def faded(self, state: State, elapsed: Number = 1) -> Array:
        return self.memory.faded(self.inner(state), elapsed)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        return self.memory.bound(u_max, steps)

    @property
    def can_be_negative(self) -> bool:
        return self.memory.can_be_negative

    @property
    def keeps_agents_apart(self) -> bool:
        return self.memory.keeps_agents_apart

    @property
    def forgets_at_once(self) -> bool:
        return self.memory.forgets_at_once

    @property
    def half_life(self) -> Number | None:
        return self.memory.half_life

    def denominator(self, state: State) -> Array | None:
        return self.memory.denominator(self.inner(state))

    def largest_denominator(self, steps: float) -> float:
        return self.memory.largest_denominator(steps)

    def after_ones(self, n_agents: int, steps: int) -> float:
        return self.memory.after_ones(n_agents, steps)

    def n_agents(self, state: State) -> int:
        return self.memory.n_agents(self.inner(state))

    def canonical(self) -> Memory[State]:
        return with_parts(self, memory=self.memory.canonical())
