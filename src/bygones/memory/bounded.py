r"""Memories around another memory: one with a ceiling, one that is counted from the lowest agent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Number, check_between, namespace
from bygones.memory.around import Around
from bygones.memory.contract import AnyState, Memory, Response, memories, with_parts


@memories.add
@dataclass(frozen=True, eq=False)
class Capped(Around[AnyState]):
    r"""Any memory that keeps agents apart, with a ceiling: utility that would lift $Z_i$ above $c$ = `cap` is lost.

    This is how credit caps work: $Z^t = \min(\gamma\,Z^{t-1} + u^t,\, c)$ for a discounted memory. The excess is gone
    for good; it does not come back when the rest has faded. (A cap on the reading alone would keep it: an agent far
    above the cap would stay there for a long time.) Of the utilities $u$ the memory inside receives the part that
    leads to $c$. A capped memory is not affine in the utilities, so `allocate` looks at every allocation, and refuses
    problems with too many of them.

    The memory inside must be affine in the utilities, must not mix agents and must not fall below 0: `Discounted`,
    `PerAgent`, `SlidingWindow`, `Reset`, and `Multiscale` with weights of at least 0.
    """

    keeps = ("forgets_at_once", "half_life", "keeps_agents_apart")
    can_be_negative = False

    cap: Number

    def __post_init__(self) -> None:
        inside = self.memory
        is_affine = type(inside).response is not Memory.response
        if not (is_affine and inside.keeps_agents_apart) or inside.can_be_negative:
            raise ValueError(
                "memory must keep agents apart, promise its response to utilities and never fall below 0 to be capped, "
                f"as Discounted does, got {inside!r}"
            )
        check_between("cap", self.cap, 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True)

    def advance(self, state: AnyState, utilities: Array, elapsed: Number = 1) -> AnyState:
        inside, xp = self.memory, namespace(utilities)
        Z, Z_of_none, Z_of_ones = (
            inside.read(inside.advance(state, some, elapsed))
            for some in (utilities, xp.zeros_like(utilities), xp.ones_like(utilities))
        )
        xp = namespace(Z, self.cap)
        excess = xp.maximum(Z - self.cap, 0.0)
        gain = xp.where(excess > 0, Z_of_ones - Z_of_none, 1.0)
        # At the cap, rounding must not take more than was received.
        taken = xp.maximum(utilities - excess / gain, xp.minimum(utilities, 0.0))
        return inside.advance(state, taken, elapsed)

    def read(self, state: AnyState) -> Array:
        # The utilities of the memory inside were rounded, so its Z may exceed the cap by its last digit.
        Z = self.memory.read(state)
        return namespace(Z, self.cap).minimum(Z, self.cap)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        return float(min(self.memory.bound(u_max, steps), self.cap))

    def canonical(self) -> Memory[AnyState]:
        return with_parts(super().canonical(), cap=float(self.cap))


class RelativeState(NamedTuple):
    """The state of a relative memory.

    Attributes:
        inside: the state of the memory inside.
        floor: the memory of the lowest agent before the latest utilities arrived.
    """

    inside: AnyState
    floor: Array


@memories.add
@dataclass(frozen=True, eq=False)
class Relative(Around[RelativeState]):
    r"""Any memory counted from its lowest agent, as round-robin counters are.

    Before new utilities arrive, the memory of the lowest agent by then is taken off everyone. For a discounted memory:

    $$ Z^t = \gamma\,Z^{t-1} - \min_j \gamma\,Z_j^{t-1} + u^t. $$

    Only differences between agents are left. Where welfare depends on differences (egalitarian, utilitarian,
    generalised Gini) decisions stay the same; where it depends on ratios (Nash, α-fair) the lowest agents count more.
    $Z$ of perfect recall stays small as long as nobody is left behind. (Taking the minimum off after the utilities have
    arrived would turn decisions round: serving the lowest agent would lower everyone else.)
    """

    keeps = ("can_be_negative", "forgets_at_once", "half_life")

    def inner(self, state: RelativeState) -> AnyState:
        return state.inside

    def init(self, n_agents: int) -> RelativeState:
        return RelativeState(self.memory.init(n_agents), np.zeros(()))

    def advance(self, state: RelativeState, utilities: Array, elapsed: Number = 1) -> RelativeState:
        nothing = namespace(utilities).zeros_like(utilities)
        before = self.memory.read(self.memory.advance(state.inside, nothing, elapsed))
        return RelativeState(self.memory.advance(state.inside, utilities, elapsed), before.min(axis=-1))

    def read(self, state: RelativeState) -> Array:
        return self.memory.read(state.inside) - state.floor[..., None]

    def response(self, state: RelativeState, elapsed: Number = 1) -> Response | None:
        response = self.memory.response(state.inside, elapsed)
        return None if response is None else response._replace(base=response.base - response.base.min())

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        # From the lowest to the highest: twice as far where the memory inside reaches below 0 too.
        return self.memory.bound(u_max, steps) * (2.0 if self.memory.can_be_negative else 1.0)
