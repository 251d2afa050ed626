r"""Memories that forget all at once: everything outside the window, or before the last reset.

Both count a past utility in full or not at all, so both are bounded like a discounted memory, and both have a cliff: at
the window's edge, or at the end of the period, the memory of an agent drops although nothing has happened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bygones._arrays import Array, Number, check_count, is_traced, namespace, select
from bygones.memory.contract import Memory, Response, memories
from bygones.memory.exact_sums import fade_and_add, per_agent


class WindowState(NamedTuple):
    """The state of a sliding window: its steps one by one, the newest last.

    Attributes:
        utilities: per agent the utilities of the last steps, steps along the last axis.
        counts: how many times utilities arrived in each of these steps.
    """

    utilities: Array
    counts: Array


@memories.add
@dataclass(frozen=True, eq=False)
class SlidingWindow(Memory[WindowState]):
    r"""The sum of the utilities of the last $m$ = `length` steps, $Z^t = u^{t-m+1} + \dots + u^t$.

    A utility counts in full until it is $m$ steps old, and then not at all. The state keeps $m$ numbers per agent,
    because utilities that leave the window must be known. $Z$ is summed again at each reading, so rounding errors do
    not pile up. With `length=1` it is `Instantaneous`.

    Time between utilities must be whole steps. Under JAX tracing, where a number cannot be looked at, part of a step is
    dropped.
    """

    can_be_negative, keeps_agents_apart = False, True

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_count("length", self.length))

    def init(self, n_agents: int) -> WindowState:
        n_agents = check_count("n_agents", n_agents)
        return WindowState(np.zeros((n_agents, self.length)), np.zeros(self.length))

    def advance(self, state: WindowState, utilities: Array, elapsed: Number = 1) -> WindowState:
        steps = self._whole_steps(elapsed)
        return WindowState(
            _slide(state.utilities, per_agent(steps), utilities), _slide(state.counts, steps, np.ones(np.shape(steps)))
        )

    def read(self, state: WindowState) -> Array:
        return state.utilities.sum(axis=-1)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        return float(u_max * min(self.length, steps))

    def response(self, state: WindowState, elapsed: Number = 1) -> Response:
        return Response(np.asarray(self.faded(state, elapsed), dtype=float), 1.0)

    @property
    def forgets_at_once(self) -> bool:
        return self.length == 1

    def denominator(self, state: WindowState) -> Array:
        return state.counts.sum(axis=-1)

    def after_ones(self, n_agents: int, steps: int) -> float:
        return float(min(self.length, steps))

    def n_agents(self, state: WindowState) -> int:
        return int(state.utilities.shape[-2])

    def _whole_steps(self, elapsed: Number) -> Array:
        """The time as a number of steps; from `length` steps on, always `length`."""
        if not is_traced(elapsed) and np.any(np.floor(elapsed) != elapsed):
            raise ValueError(f"elapsed must be a whole number of steps for a sliding window, got {elapsed}")
        return namespace(elapsed).minimum(elapsed, self.length).astype(int)


class ResetState(NamedTuple):
    """The state of a memory with resets.

    Attributes:
        Z: the sums of utilities since the last reset.
        d: how many times utilities have arrived since then.
        Z_lost: what rounding has dropped from `Z`.
        d_lost: what rounding has dropped from `d`.
        clock: the steps since the last reset.
    """

    Z: Array
    d: Array
    Z_lost: Array
    d_lost: Array
    clock: Array


@memories.add
@dataclass(frozen=True, eq=False)
class Reset(Memory[ResetState]):
    r"""Perfect recall that starts over every $p$ = `every` steps, as quotas per week or month do.

    Steps $1, \dots, p$ are the first period, steps $p+1, \dots, 2p$ the second, and so on:
    $Z^t = \gamma_t\,Z^{t-1} + u^t$ with $\gamma_t = 0$ at the first step of a period and $\gamma_t = 1$ at the others.
    A time that falls on the end of a period belongs to that period. The clock is part of the state but not of $Z$: who
    sees $Z$ alone does not know how much of the period is left.
    """

    can_be_negative, keeps_agents_apart = False, True

    every: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", check_count("every", self.every))

    def init(self, n_agents: int) -> ResetState:
        n_agents = check_count("n_agents", n_agents)
        return ResetState(np.zeros(n_agents), np.zeros(()), np.zeros(n_agents), np.zeros(()), np.zeros(()))

    def advance(self, state: ResetState, utilities: Array, elapsed: Number = 1) -> ResetState:
        time = state.clock + elapsed
        starts_over = time > self.every
        left, taken = select(starts_over, 0.0, 1.0), select(starts_over, 1.0, 0.0)
        Z, Z_lost = fade_and_add(state.Z, state.Z_lost, utilities, per_agent(left), per_agent(taken))
        d, d_lost = fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        periods = namespace(time, self.every).ceil(time / self.every) - 1.0
        return ResetState(Z, d, Z_lost, d_lost, select(starts_over, time - periods * self.every, time))

    def read(self, state: ResetState) -> Array:
        return state.Z

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        return float(u_max * min(self.every, steps))

    def response(self, state: ResetState, elapsed: Number = 1) -> Response:
        return Response(np.asarray(self.faded(state, elapsed), dtype=float), 1.0)

    @property
    def forgets_at_once(self) -> bool:
        return bool(self.every == 1)

    def denominator(self, state: ResetState) -> Array:
        return state.d

    def after_ones(self, n_agents: int, steps: int) -> float:
        return float((steps - 1) % int(self.every) + 1) if steps else 0.0


def _slide(rows: Array, steps: Array, newest: Array) -> Array:
    """The rows moved on by these steps, with the newest utilities added to the last of them."""
    xp = namespace(rows, steps, newest)
    length = rows.shape[-1]
    source = xp.arange(length) + per_agent(steps)
    is_kept = source < length
    source = xp.where(is_kept, source, 0)
    if source.ndim == 1:
        moved = xp.take(rows, source, axis=-1)
    else:
        shape = np.broadcast_shapes(rows.shape, source.shape)
        moved = xp.take_along_axis(xp.broadcast_to(rows, shape), xp.broadcast_to(source, shape), axis=-1)
    is_last = xp.arange(length) == length - 1
    return xp.where(is_kept, moved, 0.0) + xp.where(is_last, newest[..., None], 0.0)
