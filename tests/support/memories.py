"""Memories as somebody outside the project would write them, from `docs/extending.md` and `Memory` alone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones.memory import Around, Memory
from bygones.pytrees import register


class Recent(NamedTuple):
    utilities: object
    """The utilities of the last steps, the newest last, agents along the last axis."""


@register(fixed=("length",))
@dataclass(frozen=True)
class LastSteps(Memory[Recent]):
    """A sliding window: the sum of the utilities of the last `length` steps. Its state is not like bygones' own."""

    length: int

    def init(self, n_agents):
        return Recent(np.zeros((self.length, n_agents)))

    def advance(self, state, utilities, elapsed=1):
        xp = state.utilities.__array_namespace__()
        rows = xp.arange(self.length) + elapsed
        kept = xp.where((rows < self.length)[:, None], xp.take(state.utilities, rows % self.length, axis=-2), 0.0)
        newest = (xp.arange(self.length) == self.length - 1)[:, None]
        return Recent(kept + xp.where(newest, utilities[..., None, :], 0.0))

    def read(self, state):
        return state.utilities.sum(axis=-2)

    def bound(self, u_max, steps=np.inf):
        return u_max * min(self.length, steps)

    @property
    def can_be_negative(self):
        return False


@register("memory", "cap")
@dataclass(frozen=True)
class CappedRecall(Around):
    """A memory that never shows more than `cap`: it has another inside, and reads otherwise."""

    keeps = ()
    can_be_negative = False

    cap: float

    def read(self, state):
        return self.memory.read(state).clip(None, self.cap)

    def bound(self, u_max, steps=np.inf):
        return self.cap
