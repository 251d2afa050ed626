r"""What is remembered of past utilities: one recursion, several names.

A fairness memory sums up, for each of $n$ agents, the utilities $u^1, u^2, \dots$ received so far. Between two
utilities the past fades by $\gamma$ per step, then the new utility is added; beside it runs the denominator $d$,
what the memory would hold had every utility been one:

$$ Z^t = \gamma\,Z^{t-1} + u^t, \qquad d_t = \gamma\,d_{t-1} + 1, \qquad Z^0 = 0,\; d_0 = 0. $$

The additive memory is $Z^t$ (Definition 4); the averaged memory is $Z^t/d_t$ (Definition 5), which is the paper's
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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bygones import decay, stability
from bygones._arrays import Array, Number, as_array, check_between, check_count, check_finite, namespace, select


class MemoryState(NamedTuple):
    """What a memory holds between two steps; under JAX a pytree. Read it with `Memory.values`.

    Attributes:
        Z: the discounted sums of utilities, agents along the last axis.
        d: the discounted denominator, what `Z` would be had every utility been one.
        Z_lost: what rounding has dropped from `Z` so far.
        d_lost: what rounding has dropped from `d` so far.
    """

    Z: Array
    d: Array
    Z_lost: Array
    d_lost: Array


class Memory(ABC):
    """The interface that every memory fits. Memories are frozen and pure: they hold rules, states hold the past."""

    @abstractmethod
    def init(self, n_agents: int) -> MemoryState:
        """The empty memory of `n_agents` agents."""

    @abstractmethod
    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        """`update` without its checks, for inner loops that have checked already."""

    @abstractmethod
    def read(self, state: MemoryState) -> Array:
        """The remembered utilities Z, before entitlements."""

    @abstractmethod
    def bound(self, u_max: float, steps: float = math.inf) -> float:
        r"""The largest $|Z_i|$ that utilities in $[0, u_{\max}]$ can reach within `steps` steps, or infinity."""

    @property
    def can_be_negative(self) -> bool:
        """Whether utilities of at least 0 can leave something below 0; of a memory that does not say, it is assumed."""
        return True

    def update(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        """The memory after `utilities` arrive, `elapsed` steps after the previous ones.

        Args:
            state: the memory so far; it is not changed.
            utilities: one finite number per agent along the last axis; leading axes are a batch.
            elapsed: real time since the last update, in steps: the past fades by γ**elapsed. Zero means
                the same instant.
        """
        utilities = check_finite("utilities", utilities)
        n_agents = self.n_agents(state)
        if utilities.ndim == 0 or utilities.shape[-1] != n_agents:
            raise ValueError(
                f"utilities must have one entry per agent ({n_agents}) along the last axis, got shape {utilities.shape}"
            )
        check_between("elapsed", elapsed, 0.0, math.inf, "a finite time of at least 0", open_high=True)
        return self.advance(state, utilities, elapsed)

    def values(self, state: MemoryState, entitlements: Array | None = None) -> Array:
        """The remembered utilities Z; with entitlements, per unit of entitlement."""
        Z = self.read(state)
        return Z if entitlements is None else Z / check_entitlements(entitlements, Z.shape[-1])

    def ahead(
        self, state: MemoryState, utilities: Array, elapsed: Number = 1, entitlements: Array | None = None
    ) -> Array:
        """Z given these candidate utilities, Zᵗ|A: what `values` would be after `update`.

        Any number of candidates at once: with utilities of shape (..., n) the answer has shape (..., n).
        """
        return self.values(self.update(state, utilities, elapsed), entitlements)

    def n_agents(self, state: MemoryState) -> int:
        """The number of agents whose past the state holds."""
        return int(state.Z.shape[-1])


@dataclass(frozen=True, init=False)
class Discounted(Memory):
    r"""Discounted recall: a utility received $k$ steps ago counts with weight $\gamma^k$ (Definitions 4 and 5).

    Say the decay in exactly one way: `gamma`, or `half_life` in steps, or effective `window` in steps (see
    `bygones.decay`). With `average=True` the memory is the weighted mean of the past instead of its weighted sum.
    Both numbers may be JAX tracers.
    """

    gamma: Number
    average: Any
    forgets: Number = field(init=False, repr=False, compare=False)
    """1 − γ, kept beside γ because float32 would lose its digits: at γ = 0.999 all but the first five."""

    def __init__(
        self, *, gamma: Number = None, half_life: Number = None, window: Number = None, average: Any = False
    ) -> None:
        object.__setattr__(self, "gamma", decay.gamma(gamma=gamma, half_life=half_life, window=window))
        takes = decay.share_of_last(1, half_life=half_life, window=window) if gamma is None else 1 - gamma
        object.__setattr__(self, "forgets", takes)
        object.__setattr__(self, "average", average)

    @property
    def can_be_negative(self) -> bool:
        return False

    @property
    def half_life(self) -> Number:
        """Steps after which a past utility counts half."""
        return decay.half_life(gamma=self.gamma)

    def init(self, n_agents: int) -> MemoryState:
        n_agents = check_count("n_agents", n_agents)
        return MemoryState(np.zeros(n_agents), np.zeros(()), np.zeros(n_agents), np.zeros(()))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        left, taken = decay.kept(self.gamma, elapsed, self.forgets)
        Z, Z_lost = _fade_and_add(state.Z, state.Z_lost, utilities, _per_agent(left), _per_agent(taken))
        d, d_lost = _fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        if self.average is False:
            return state.Z
        mean = state.Z / _per_agent(_never_zero(state.d))
        return mean if self.average is True else select(self.average, mean, state.Z)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        additive = decay.additive_bound(u_max, self.gamma, steps)
        return float(select(self.average, decay.averaged_bound(u_max), additive))


@dataclass(frozen=True, init=False, repr=False)
class Instantaneous(Discounted):
    r"""Only the latest utility is remembered (Definition 1): $\gamma = 0$ of the discounted memory."""

    def __init__(self) -> None:
        super().__init__(gamma=0.0)

    def __repr__(self) -> str:
        return "Instantaneous()"


@dataclass(frozen=True, init=False, repr=False)
class PerfectRecall(Discounted):
    r"""Every utility is remembered for ever (Definition 2): $\gamma = 1$ of the discounted memory."""

    def __init__(self, average: Any = False) -> None:
        super().__init__(gamma=1.0, average=average)

    def __repr__(self) -> str:
        return f"PerfectRecall(average={self.average})"


@dataclass(frozen=True)
class Linear(Memory):
    r"""A linear memory $Z^t = A\,Z^{t-1} + u^t$ (Theorem 5), read out as $R\,Z^t$.

    `matrix` is $A$, of size $N \times N$. Usually $N$ is the number of agents $n$. With $N = S\,n$ the memory has $S$
    blocks of $n$, each of which receives the utilities, and the readout $R$ ($n \times N$) says how they are seen:
    the way to several time scales with mixing between agents. Whether such a memory is bounded, and why not, is
    told by `bygones.stability`.
    """

    matrix: Array
    readout: Array | None = None

    def __post_init__(self) -> None:
        matrix = stability.check_square("matrix", self.matrix)
        object.__setattr__(self, "matrix", matrix)
        if self.readout is not None:
            readout = check_finite("readout", self.readout)
            if readout.ndim != 2 or readout.shape[1] != matrix.shape[0]:
                raise ValueError(
                    f"readout must have shape (n_agents, {matrix.shape[0]}) to read the matrix's memory, "
                    f"got {readout.shape}"
                )
            object.__setattr__(self, "readout", readout)

    def init(self, n_agents: int) -> MemoryState:
        n_agents = check_count("n_agents", n_agents)
        size, seen = self.matrix.shape[0], self._seen
        if seen != n_agents or size % n_agents:
            raise ValueError(f"this linear memory is read out for {seen} agents in {size} cells, got {n_agents} agents")
        return MemoryState(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        xp = namespace(state.Z, utilities, self.matrix)
        fade = xp.asarray(stability.power(self.matrix, elapsed)).T
        received = xp.concatenate([xp.asarray(utilities)] * (fade.shape[0] // self._seen), axis=-1)
        Z, Z_lost = _add(state.Z @ fade, received + state.Z_lost @ fade)
        d, d_lost = _add(state.d @ fade, 1.0 + state.d_lost @ fade)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        return state.Z if self.readout is None else state.Z @ self.readout.T

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        reach = stability.bound(self.matrix, u_max, steps).value
        return reach if self.readout is None else reach * float(np.abs(self.readout).sum(axis=1).max())

    def n_agents(self, state: MemoryState) -> int:
        return self._seen

    @property
    def can_be_negative(self) -> bool:
        return bool((self.matrix < 0).any() or (self.readout is not None and (self.readout < 0).any()))

    @property
    def _seen(self) -> int:
        return int(self.matrix.shape[0] if self.readout is None else self.readout.shape[0])


@dataclass(frozen=True)
class Multiscale(Memory):
    r"""Several decay rates per agent, $Z = \sum_j w_j Z_j$ with $Z_j^t = \gamma_j Z_j^{t-1} + u^t$.

    The linear memory whose matrix is $\operatorname{diag}(\gamma_1,\dots,\gamma_S)\otimes I$ and whose readout is
    $w^\top\otimes I$, kept as one row per time scale instead of a matrix. For instance a fast and a slow
    time scale: `Multiscale(gammas=(0.9, 0.999), weights=(0.5, 0.5))`.
    """

    gammas: Sequence[Number] | Array
    weights: Sequence[Number] | Array
    forgets: Array = field(init=False, repr=False, compare=False)
    """1 − γ of each time scale, kept for the same reason as in `Discounted`."""

    def __post_init__(self) -> None:
        gammas = check_between("gammas", as_array(self.gammas), 0.0, 1.0, "between 0 and 1, each of them")
        weights = check_finite("weights", self.weights)
        if gammas.ndim != 1 or gammas.shape[0] == 0 or weights.shape != gammas.shape:
            raise ValueError(
                f"gammas and weights must be two lists of the same length of at least 1, "
                f"got shapes {gammas.shape} and {weights.shape}"
            )
        object.__setattr__(self, "gammas", gammas)
        object.__setattr__(self, "forgets", 1 - gammas)
        object.__setattr__(self, "weights", weights)

    def init(self, n_agents: int) -> MemoryState:
        scales, n_agents = self.gammas.shape[0], check_count("n_agents", n_agents)  # type: ignore[union-attr]
        zeros = np.zeros((scales, n_agents))
        return MemoryState(zeros, np.zeros(scales), zeros, np.zeros(scales))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        left, taken = decay.kept(self.gammas, _per_agent(elapsed), self.forgets)
        Z, Z_lost = _fade_and_add(state.Z, state.Z_lost, utilities[..., None, :], _per_agent(left), _per_agent(taken))
        d, d_lost = _fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        return (state.Z * _per_agent(self.weights)).sum(axis=-2)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        scales = [decay.denominator(float(g), steps) for g in self.gammas]
        return float(u_max * sum(abs(float(w)) * d for w, d in zip(self.weights, scales, strict=True) if w != 0))

    @property
    def can_be_negative(self) -> bool:
        return bool((np.asarray(self.weights) < 0).any())


def check_entitlements(entitlements: Array, n_agents: int) -> Array:
    """The entitlements as an array, refused unless they are one finite number above zero per agent."""
    weights = check_finite("entitlements", entitlements)
    if weights.shape != (n_agents,):
        raise ValueError(f"entitlements must have one entry per agent ({n_agents}), got shape {weights.shape}")
    return check_between("entitlements", weights, 0.0, math.inf, "above 0 for every agent", open_low=True)


def _fade_and_add(total: Array, lost: Array, new: Array | float, left: Number, taken: Number) -> tuple[Array, Array]:
    """`left * total + new`, and what rounding dropped from it.

    Where most is left, what is taken is subtracted instead: the product then rounds at the size of one
    utility, not at the size of the whole past.
    """
    most_is_left = left >= 0.5
    if most_is_left is True:
        return _add(total, new - taken * total + left * lost)
    scale, taken_off = select(most_is_left, 1.0, left), select(most_is_left, taken, 0.0)
    return _add(scale * total, new - taken_off * total + left * lost)


def _add(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its rounding error, exactly (Knuth's two-sum)."""
    total = a + b
    b_seen = total - a
    return total, (a - (total - b_seen)) + (b - b_seen)


def _per_agent(value: Any) -> Any:
    """A number per batch entry, made to multiply a row of agents."""
    return value[..., None] if getattr(value, "ndim", 0) else value


def _never_zero(d: Array) -> Array:
    """The denominator, which is at least one from the first utility on; an empty memory divides zero by one."""
    return max(d, 1.0) if isinstance(d, float) else namespace(d).maximum(d, 1.0)
