r"""The memory that an allocation would leave.

Where the memory responds to a candidate's utilities $u$ by a sum, $Z \mid \mathcal{A} = \text{base} + R\,u$
(`Memory.response`), the base is the memory if nobody gets anything. Where $R$ is diagonal and not
negative an agent's memory depends on its own utility alone, and the fast algorithms apply; a linear memory whose
readout mixes agents has a full $R$. Of any other memory only its answer to given candidates is known
(`Unstructured`). All numbers are per unit of entitlement.

Burdens count against an agent: $-Z$ is judged, so a larger number is better here as well, and an agent's
burden lowers it. An exempt agent, of entitlement 0, has nothing to be judged by and stands at 0 whatever is decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bygones._arrays import AnyArray, Number, check_between
from bygones.kinds import Kind
from bygones.memory import Memory, check_entitlements
from bygones.memory.contract import AnyState, State

_AT_ONCE = 1024
"""How many candidates a memory is asked about at once."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """The memory that an allocation would leave: `base` plus the response to the utilities.

    Attributes:
        base: the memory of each agent without new utilities.
        slope: per agent, the gain per unit of its utility, the loss (below 0) for burdens; None where agents mix or the
            memory turns a gain into a loss.
        mixing: the matrix R, where `slope` is None.
    """

    base: np.ndarray
    slope: Any
    mixing: np.ndarray | None = None

    def gain(self, utilities: np.ndarray) -> np.ndarray:
        """The factor with which utilities add to the memory, where agents do not mix."""
        return utilities if np.ndim(self.slope) == 0 and self.slope == 1.0 else np.asarray(self.slope * utilities)

    def after(self, utilities: np.ndarray) -> np.ndarray:
        """Z given these utilities, agents along the last axis."""
        if self.mixing is not None:
            return np.asarray(self.base + utilities @ self.mixing.T)
        return np.asarray(self.base + self.slope * utilities)


@dataclass(frozen=True, eq=False)
class Unstructured:
    """The memory that an allocation would leave, where the memory itself has to be asked.

    Attributes:
        factor: per agent, the weight of a unit of memory.
        base: the memory of each agent if nobody gets anything.
    """

    memory: Memory
    state: AnyState
    elapsed: Number
    factor: float | np.ndarray
    base: np.ndarray

    def after(self, utilities: np.ndarray) -> np.ndarray:
        """Z given these utilities, agents along the last axis; a memory with a large state is asked in parts."""
        rows = utilities.reshape(-1, utilities.shape[-1])
        parts = [
            self.factor * self.memory.ahead(self.state, rows[i : i + _AT_ONCE], self.elapsed)
            for i in range(0, len(rows), _AT_ONCE)
        ]
        return np.concatenate(parts, dtype=float).reshape(utilities.shape)


def outlook(
    memory: Memory[State],
    state: State,
    n_agents: int,
    elapsed: Number = 1,
    entitlements: AnyArray | None = None,
    kind: Kind = "good",
) -> Outlook | Unstructured:
    """How the memory will respond, `elapsed` steps after its last utilities."""
    check_state(memory, state, n_agents, elapsed)
    factor = _factor(entitlements, n_agents, kind)
    response = memory.response(state, elapsed)
    if response is None:
        base = np.asarray(memory.read(memory.advance(state, np.zeros(n_agents), elapsed)), dtype=float)
        return Unstructured(memory, state, elapsed, factor, _counted(base, factor))
    base, gain = _counted(response.base, factor), np.asarray(response.gain)
    if gain.ndim == 2:
        own = np.diag(gain)
        if (gain != np.diag(own)).any():
            return Outlook(base, None, gain * np.reshape(factor, (-1, 1)))
        gain = own
    if np.min(gain) < 0:
        return Outlook(base, None, np.diag(np.broadcast_to(gain * factor, n_agents)))
    return Outlook(base, gain * factor)


def priced_outlook(past: np.ndarray, entitlements: AnyArray | None, kind: Kind) -> Outlook:
    """The outlook of a decision by prices: utilities, and the past where their priced sums tie."""
    factor = _factor(entitlements, len(past), kind)
    return Outlook(_counted(past, factor), factor)


def check_state(memory: Memory[State], state: State, n_agents: int, elapsed: Number) -> None:
    """Refuses a state of other agents, or of a batch of memories, and a time that cannot have passed."""
    held = memory.n_agents(state)
    if held != n_agents:
        raise ValueError(f"state must hold the memory of the problem's {n_agents} agents, got {held}")
    shape = memory.read(state).shape
    if shape != (n_agents,):
        raise ValueError(f"state must be one memory, not a batch of them, got a memory of shape {shape}")
    check_between("elapsed", elapsed, 0.0, math.inf, "a finite time of at least 0", open_high=True)


def _counted(past: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    return past if np.ndim(factor) == 0 and factor == 1.0 else past * factor


def _factor(entitlements: AnyArray | None, n_agents: int, kind: Kind) -> float | np.ndarray:
    """The weight of a unit of memory per agent: negative for burdens, 0 for the exempt."""
    sign = -1.0 if kind == "burden" else 1.0
    if entitlements is None:
        return sign
    weights = np.asarray(check_entitlements(entitlements, n_agents, exempt=kind == "burden"), dtype=float)
    return np.asarray(sign * np.divide(1.0, weights, out=np.zeros(n_agents), where=weights > 0))
