r"""The memory of past utilities: one recursion, several names.

A fairness memory sums up, for each of $n$ agents, the utilities $u^1, u^2, \dots$ received so far. Between two
utilities the past fades by $\gamma$ per step, then the new utility is added. The denominator $d$ is the value that
the memory would have if every utility had been one:

$$ Z^t = \gamma\,Z^{t-1} + u^t, \qquad d_t = \gamma\,d_{t-1} + 1, \qquad Z^0 = 0,\; d_0 = 0. $$

The additive memory is $Z^t$ (Definition 3); the averaged memory is $Z^t/d_t$ (Definition 4), which is the paper's
$(\gamma\,d_{t-1}Z^{t-1} + u^t)/(\gamma\,d_{t-1} + 1)$ without the multiplying back and forth. Instantaneous fairness
is $\gamma=0$ and perfect recall $\gamma=1$ of the same lines of code. Replacing the number $\gamma$ by a matrix gives
linear memories (Theorem 5), replacing it by several numbers read out with weights gives several time scales.

Rounding. A large $Z$ swallows the low digits of a small $u$: in float32, perfect recall of utilities of 0.1 stops
growing near two million. The state therefore also keeps what rounding has dropped so far (compensated summation
after Kahan and Neumaier), and where $\gamma$ is close to one the fading is computed as $Z - (1-\gamma)Z$. A million
updates are then as exact as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bygones import decay
from bygones._arrays import Array, Condition, Number, check_count, namespace, select
from bygones.memory.contract import Memory, Response, memories, with_parts
from bygones.memory.exact_sums import MemoryState, fade_and_add, per_agent


@memories.add
@dataclass(frozen=True, init=False, eq=False)
class Discounted(Memory[MemoryState]):
    r"""Discounted recall: a utility received $k$ steps ago counts with weight $\gamma^k$ (Definitions 3 and 4).

    Give the decay in exactly one way: `gamma`, or `half_life` in steps, or effective `window` in steps (see
    `bygones.decay`). With `average=True` the memory is the weighted mean of the past instead of its weighted sum.
    Both numbers may be JAX tracers.
    """

    can_be_negative, keeps_agents_apart = False, True

    gamma: Number
    forgets: Number = field(init=False, repr=False, compare=False)
    """1 − γ, kept next to γ because float32 would lose its digits: at γ = 0.999 all but the first five."""
    average: Condition

    def __init__(
        self,
        *,
        gamma: Number | None = None,
        half_life: Number | None = None,
        window: Number | None = None,
        average: Condition = False,
    ) -> None:
        object.__setattr__(self, "gamma", decay.gamma(gamma=gamma, half_life=half_life, window=window))
        takes = decay.share_of_last(1, half_life=half_life, window=window) if gamma is None else 1 - gamma
        object.__setattr__(self, "forgets", takes)
        object.__setattr__(self, "average", average)

    def init(self, n_agents: int) -> MemoryState:
        n_agents = check_count("n_agents", n_agents)
        return MemoryState(np.zeros(n_agents), np.zeros(()), np.zeros(n_agents), np.zeros(()))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        left, taken = decay.kept(self.gamma, elapsed, self.forgets)
        Z, Z_lost = fade_and_add(state.Z, state.Z_lost, utilities, per_agent(left), per_agent(taken))
        d, d_lost = fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        if self.average is False:
            return state.Z
        mean = state.Z / per_agent(_never_zero(state.d))
        return mean if self.average is True else select(self.average, mean, state.Z)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        additive = decay.additive_bound(u_max, self.gamma, steps)
        return float(select(self.average, decay.averaged_bound(u_max), additive))

    def response(self, state: MemoryState, elapsed: Number = 1) -> Response:
        if not self.average:
            return Response(self.faded(state, elapsed), 1.0)
        left, _ = decay.kept(self.gamma, elapsed, self.forgets)
        return Response(self.faded(state, elapsed), 1.0 / (float(left) * float(state.d) + 1.0))

    def faded(self, state: MemoryState, elapsed: Number = 1) -> np.ndarray:
        # `advance` without keeping book of rounding errors: two thirds of its work go into what rounding drops from
        # its result, which a decision does not need. The parts dropped before that count only in single precision.
        left, taken = (float(share) for share in decay.kept(self.gamma, elapsed, self.forgets))
        left = left if left < 0.5 else 1.0 - taken
        Z = np.asarray(left * np.asarray(state.Z, dtype=float))
        if state.Z.dtype != np.float64:
            Z += left * np.asarray(state.Z_lost, dtype=float)
        return Z / per_agent(left * np.asarray(state.d, dtype=float) + 1.0) if self.average else Z

    @property
    def forgets_at_once(self) -> bool:
        return bool(self.gamma == 0)

    @property
    def half_life(self) -> Number:
        return decay.half_life(gamma=self.gamma)

    def denominator(self, state: MemoryState) -> Array:
        return state.d

    def largest_denominator(self, steps: float) -> float:
        return float(decay.denominator(self.gamma, steps))

    def after_ones(self, n_agents: int, steps: int) -> float:
        return float(select(self.average, 1.0, decay.denominator(self.gamma, steps)))

    def canonical(self) -> Discounted:
        plain = {"gamma": float(self.gamma), "forgets": float(self.forgets), "average": bool(self.average)}
        return with_parts(self, **plain)


@memories.add
def Instantaneous() -> Discounted:
    r"""Only the latest utility is remembered (Definition 1): $\gamma = 0$ of the discounted memory."""
    return Discounted(gamma=0.0)


@memories.add
def PerfectRecall(average: Condition = False) -> Discounted:
    r"""Every utility is remembered for ever (Definition 2): $\gamma = 1$ of the discounted memory."""
    return Discounted(gamma=1.0, average=average)


def _never_zero(d: Number) -> Number:
    """The denominator, which is at least one from the first utility on; an empty memory divides zero by one."""
    return max(d, 1.0) if isinstance(d, float) else namespace(d).maximum(d, 1.0)
