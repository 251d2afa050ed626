r"""One decay per agent.

`Discounted` has one $\gamma$ for all agents; an array there is one $\gamma$ per memory of a batch, as under `vmap`. One
per agent is a separate memory, so the recursion of `Discounted` stays fast and short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bygones import decay
from bygones._arrays import Array, Condition, Number, as_array, check_count, namespace, select
from bygones.memory.contract import Memory, Response, memories, with_parts
from bygones.memory.exact_sums import MemoryState, fade_and_add, per_agent


@memories.add
@dataclass(frozen=True, init=False, eq=False)
class PerAgent(Memory[MemoryState]):
    r"""Discounted recall with a decay per agent: $Z_i^t = \gamma_i\,Z_i^{t-1} + u_i^t$.

    Give one number per agent, in exactly one way: `gammas`, or `half_lives` in steps, or effective `windows` in steps
    (see `bygones.decay`). With `average=True` the memory is $Z_i^t/d_i^t$. For the same utilities, the additive memory
    of an agent with a longer half-life is larger, as if it had received more; averaged memories can be compared.
    """

    can_be_negative, keeps_agents_apart = False, True

    gammas: Array
    forgets: Array = field(init=False, repr=False, compare=False)
    """1 − γ of each agent, kept for the same reason as in `Discounted`."""
    average: Condition

    def __init__(
        self,
        gammas: Sequence[Number] | Array | None = None,
        *,
        half_lives: Sequence[Number] | Array | None = None,
        windows: Sequence[Number] | Array | None = None,
        average: Condition = False,
    ) -> None:
        given = {"gammas": gammas, "half_lives": half_lives, "windows": windows}
        numbers = {name: _one_per_agent(name, value) for name, value in given.items() if value is not None}
        if len(numbers) != 1:
            raise ValueError(
                f"give exactly one of gammas, half_lives or windows, got {' and '.join(numbers) or 'none of them'}"
            )
        in_one_unit = {"gamma": numbers.get("gammas"), "half_life": numbers.get("half_lives")}
        options: Any = {**in_one_unit, "window": numbers.get("windows")}
        object.__setattr__(self, "gammas", decay.gamma(**options))
        takes = decay.share_of_last(1, **options) if gammas is None else 1 - numbers["gammas"]
        object.__setattr__(self, "forgets", takes)
        object.__setattr__(self, "average", average)

    def init(self, n_agents: int) -> MemoryState:
        n_agents, given = check_count("n_agents", n_agents), self.gammas.shape[0]
        if n_agents != given:
            raise ValueError(f"this memory has a decay for each of {given} agents, got {n_agents} agents")
        return MemoryState(*(np.zeros(n_agents) for _ in MemoryState._fields))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        left, taken = decay.kept(self.gammas, per_agent(elapsed), self.forgets)
        Z, Z_lost = fade_and_add(state.Z, state.Z_lost, utilities, left, taken)
        d, d_lost = fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        if self.average is False:
            return state.Z
        # From the first utility on d is at least one; an empty memory divides zero by one.
        mean = state.Z / namespace(state.d).maximum(state.d, 1.0)
        return select(self.average, mean, state.Z)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        additive = decay.additive_bound(u_max, float(np.max(self.gammas)), steps)
        return float(select(self.average, decay.averaged_bound(u_max), additive))

    def response(self, state: MemoryState, elapsed: Number = 1) -> Response:
        faded = self.advance(state, np.zeros(self.n_agents(state)), elapsed)
        gain = 1.0 / np.asarray(faded.d, dtype=float) if self.average else 1.0
        return Response(np.asarray(self.read(faded), dtype=float), gain)

    @property
    def forgets_at_once(self) -> bool:
        return bool(np.max(self.gammas) == 0)

    @property
    def half_life(self) -> Number:
        """The half-life of each agent."""
        return decay.half_life(gamma=self.gammas)

    def denominator(self, state: MemoryState) -> Array:
        return state.d.mean(axis=-1)

    def largest_denominator(self, steps: float) -> float:
        return float(np.mean(decay.denominator(self.gammas, steps)))

    def after_ones(self, n_agents: int, steps: int) -> float:
        return float(select(self.average, 1.0, self.largest_denominator(steps)))

    def canonical(self) -> PerAgent:
        plain = {name: np.asarray(getattr(self, name), dtype=float) for name in ("gammas", "forgets")}
        return with_parts(self, **plain, average=bool(self.average))


def _one_per_agent(name: str, value: Sequence[Number] | Array) -> Array:
    numbers = as_array(value)
    if numbers.ndim != 1 or numbers.shape[0] == 0:
        raise ValueError(f"{name} must be a list of one number per agent, got {value!r}")
    return numbers
