r"""Linear memories: a matrix in place of $\gamma$ (Theorem 5), or several $\gamma$ side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bygones import decay, stability
from bygones._arrays import (
    AnyArray,
    Array,
    Number,
    as_array,
    check_between,
    check_count,
    check_finite,
    is_traced,
    namespace,
)
from bygones.memory.contract import Memory, Response, memories
from bygones.memory.exact_sums import MemoryState, add, fade_and_add, per_agent


@memories.add
@dataclass(frozen=True, eq=False)
class Linear(Memory[MemoryState]):
    r"""A linear memory $Z^t = A\,Z^{t-1} + u^t$ (Theorem 5), read out as $R\,Z^t$.

    `matrix` is $A$, of size $N \times N$. Usually $N$ is the number of agents $n$. With $N = S\,n$ the memory has $S$
    blocks of $n$, each of which receives the utilities, and the readout $R$ ($n \times N$) maps them to Z. This is the
    way to several time scales with mixing between agents. `bygones.stability` shows whether such a memory is bounded,
    and the reason if it is not.
    """

    matrix: Array
    readout: Array | None = None

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(self, matrix: AnyArray, readout: AnyArray | None = None) -> None: ...

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
            object.__setattr__(self, "readout", _check_normal("readout", readout))

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
        Z, Z_lost = add(state.Z @ fade, received + state.Z_lost @ fade)
        d, d_lost = add(state.d @ fade, 1.0 + state.d_lost @ fade)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        return state.Z if self.readout is None else state.Z @ self.readout.T

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        reach = stability.bound(self.matrix, u_max, steps).value
        return reach if self.readout is None else reach * float(np.abs(self.readout).sum(axis=1).max())

    def response(self, state: MemoryState, elapsed: Number = 1) -> Response:
        n = self._seen
        base = np.asarray(self.faded(state, elapsed), dtype=float)
        if self.readout is None:
            return Response(base, 1.0)
        # Every block of the memory receives the utilities, so the readouts of all blocks add up.
        return Response(base, np.asarray(self.readout, dtype=float).reshape(n, -1, n).sum(axis=1))

    def denominator(self, state: MemoryState) -> Array:
        return self.read(state._replace(Z=state.d)).mean(axis=-1)

    def n_agents(self, state: MemoryState) -> int:
        return self._seen

    @property
    def can_be_negative(self) -> bool:
        return bool((self.matrix < 0).any() or (self.readout is not None and (self.readout < 0).any()))

    @property
    def _seen(self) -> int:
        return int(self.matrix.shape[0] if self.readout is None else self.readout.shape[0])


@memories.add
@dataclass(frozen=True, eq=False)
class Multiscale(Memory[MemoryState]):
    r"""Several decay rates per agent, $Z = \sum_j w_j Z_j$ with $Z_j^t = \gamma_j Z_j^{t-1} + u^t$.

    The linear memory whose matrix is $\operatorname{diag}(\gamma_1,\dots,\gamma_S)\otimes I$ and whose readout is
    $w^\top\otimes I$, kept as one row per time scale instead of a matrix. For instance a fast and a slow
    time scale: `Multiscale(gammas=(0.9, 0.999), weights=(0.5, 0.5))`.
    """

    keeps_agents_apart = True

    gammas: Array
    forgets: Array = field(init=False, repr=False, compare=False)
    """1 − γ of each time scale, kept for the same reason as in `Discounted`."""
    weights: Array

    if TYPE_CHECKING:  # lists are welcome too; they become arrays

        def __init__(self, gammas: AnyArray, weights: AnyArray) -> None: ...

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
        object.__setattr__(self, "weights", _check_normal("weights", weights))

    def init(self, n_agents: int) -> MemoryState:
        scales, n_agents = self.gammas.shape[0], check_count("n_agents", n_agents)
        zeros = np.zeros((scales, n_agents))
        return MemoryState(zeros, np.zeros(scales), zeros, np.zeros(scales))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        left, taken = decay.kept(self.gammas, per_agent(elapsed), self.forgets)
        Z, Z_lost = fade_and_add(state.Z, state.Z_lost, utilities[..., None, :], per_agent(left), per_agent(taken))
        d, d_lost = fade_and_add(state.d, state.d_lost, 1.0, left, taken)
        return MemoryState(Z, d, Z_lost, d_lost)

    def read(self, state: MemoryState) -> Array:
        return (state.Z * per_agent(self.weights)).sum(axis=-2)

    def bound(self, u_max: float, steps: float = math.inf) -> float:
        scales = [decay.denominator(float(g), steps) for g in self.gammas]
        return float(u_max * sum(abs(float(w)) * d for w, d in zip(self.weights, scales, strict=True) if w != 0))

    def response(self, state: MemoryState, elapsed: Number = 1) -> Response:
        return Response(np.asarray(self.faded(state, elapsed), dtype=float), float(np.sum(self.weights)))

    def denominator(self, state: MemoryState) -> Array:
        return self.read(state._replace(Z=state.d[..., None])).mean(axis=-1)

    def n_agents(self, state: MemoryState) -> int:
        return int(state.Z.shape[-1])

    @property
    def can_be_negative(self) -> bool:
        return bool((np.asarray(self.weights) < 0).any())


def _check_normal(name: str, numbers: Array) -> Array:
    """The numbers, refused where one is so close to 0 that products with it lose their digits."""
    if not is_traced(numbers):
        size = np.abs(np.asarray(numbers, dtype=float))
        if ((size > 0) & (size < np.finfo(float).tiny)).any():
            raise ValueError(
                f"{name} must be 0 or at least {np.finfo(float).tiny:.3g} in size, got {size[size > 0].min()}: use 0"
            )
    return numbers
